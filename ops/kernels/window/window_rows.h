/* Typed loops of reduce-window, one set for each op and element type: f32, f64 and the integers of
 * 32 and 64 bits, under add, multiply, maximum and minimum; complex numbers under add and multiply.
 * Units: elements. */
#ifndef HLO_OPS_WINDOW_ROWS_H
#define HLO_OPS_WINDOW_ROWS_H

#include "base/dtype.h"
#include "ops/table/opcode.h"

#define WINDOW_SCAN_COLUMNS 64 /* neighbours that are scanned together, at most */

/* An accumulator. */
typedef struct window_carry {
  uint64_t bits[2];
} window_carry_t;

typedef struct window_rows {
  hlo_opcode_t op;
  hr_dtype_t dtype;
  /* out[l] = op(... op(init, in[offsets[0] + l]) ..., in[offsets[count - 1] + l]) for l < lanes.
   * Without init the first place starts it; there is one then. */
  void (*lanes)(void *out, const void *init, const void *in, const int64_t *offsets, int64_t count,
                int64_t lanes);
  /* out[i] = op(out[i], in[i * step]). */
  void (*row)(void *out, const void *in, int64_t count, int64_t stride);
  /* Running totals of lines that follow each other: out[i] = carry op in[0] op ... in[i], or from
   * the end. The carry becomes that of the last line. */
  void (*scan)(const void *in, void *out, int64_t lines, int64_t count, bool back,
               window_carry_t *carry);
  /* carry = carry op in[0] op in[1] ...; in any order. */
  void (*total)(const void *in, int64_t count, window_carry_t *carry);
  /* Running totals down `count` rows, row_stride apart, of up to WINDOW_SCAN_COLUMNS neighbours,
   * all from one carry.
   */
  void (*scan_columns)(const void *in, void *out, int64_t count, int64_t row_stride,
                       int64_t columns, window_carry_t carry);
  /* An accumulator that starts at an element, and the combination of two. */
  window_carry_t (*start)(const void *element);
  window_carry_t (*combine)(window_carry_t a, window_carry_t b);
} window_rows_t;

/* NULL if there is no such set. */
const window_rows_t *window_rows_find(hlo_opcode_t op, hr_dtype_t dtype);

#endif
