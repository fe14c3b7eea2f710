/* Typed loops of reduce-window, one set per op and element type: f32, f64 and integers under add,
 * multiply, maximum and minimum; complex numbers under add and multiply; predicates under and, or.
 * Units: elements. */
#ifndef HLO_OPS_WINDOW_ROWS_H
#define HLO_OPS_WINDOW_ROWS_H

#include "base/dtype.h"
#include "ops/table/opcode.h"

#define WINDOW_SCAN_COLUMNS 64 /* most adjacent columns scanned together */

/* The bits of an accumulator of any type. */
typedef struct window_carry {
  uint64_t bits[2];
} window_carry_t;

typedef struct window_rows {
  hlo_opcode_t op;
  hr_dtype_t dtype;
  /* out[l] = op(... op(init, in[offsets[0] + l]) ..., in[offsets[count - 1] + l]) for l < lanes.
   * Without init (NULL) the first row starts the result; count is not 0 then. */
  void (*lanes)(void *out, const void *init, const void *in, const int64_t *offsets, int64_t count,
                int64_t lanes);
  /* out[i] = op(out[i], in[i * step]). */
  void (*row)(void *out, const void *in, int64_t count, int64_t stride);
  /* The same for four rows in this order, with stride 1. */
  void (*row4)(void *out, const void *const *in, int64_t count);
  /* Prefix sums of consecutive lines: out[i] = carry op in[0] op ... in[i], or from the end if
   * `back`. The carry becomes the last line's total. */
  void (*scan)(const void *in, void *out, int64_t lines, int64_t count, bool back,
               window_carry_t *carry);
  /* carry = carry op in[0] op in[1] ..., in any order of combination. */
  void (*total)(const void *in, int64_t count, window_carry_t *carry);
  /* Prefix sums down `count` rows, row_stride apart, of up to WINDOW_SCAN_COLUMNS columns, all
   * from one carry. */
  void (*scan_columns)(const void *in, void *out, int64_t count, int64_t row_stride,
                       int64_t columns, window_carry_t carry);
  /* An accumulator initialised with an element, and the combination of two. */
  window_carry_t (*start)(const void *element);
  window_carry_t (*combine)(window_carry_t a, window_carry_t b);
} window_rows_t;

/* NULL if there is no set for the op and type. */
const window_rows_t *window_rows_find(hlo_opcode_t op, hr_dtype_t dtype);

#endif
