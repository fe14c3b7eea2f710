/* Software prefetching of weights that are packed a part at a time: while one part is multiplied,
 * the cache lines of the next part are requested, a few at each step of the multiplication, so that
 * reads from memory and arithmetic overlap. */
#ifndef HLO_OPS_CONV_PREFETCH_H
#define HLO_OPS_CONV_PREFETCH_H

#include <stdint.h>

#define CONV_CACHE_LINE 64 /* bytes */

/* The same rows of several taps. */
typedef struct conv_prefetch {
  const char *from;           /* first row of a tap, before the tap's offset */
  const int64_t *tap_offsets; /* element offset of each tap */
  int64_t element_bytes;      /* size of an element */
  int64_t rows;               /* rows of each tap; 0: nothing to prefetch */
  int64_t row_stride;         /* bytes from one row to the next */
  int64_t row_bytes;          /* contiguous bytes of a row */
  int64_t share;              /* rows of each tap that one step prefetches */
} conv_prefetch_t;

/* Prefetches the share of step `step` of one tap into the caches. Rows past the end are
 * left out. */
static inline void conv_prefetch_rows(const conv_prefetch_t *p, int64_t tap, int64_t step) {
  int64_t row = step * p->share, end = row + p->share < p->rows ? row + p->share : p->rows;
  const char *from = p->from + p->tap_offsets[tap] * p->element_bytes + row * p->row_stride;
  for (; row < end; row++, from += p->row_stride)
    for (int64_t at = 0; at < p->row_bytes; at += CONV_CACHE_LINE)
      __builtin_prefetch(from + at, 0, 3);
}

#endif
