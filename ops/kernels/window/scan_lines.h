/* Running totals along a line of neighbours, a vector at a time: f32, f64 and the integers of 32
 * and 64 bits, under add, multiply, maximum and minimum. */
#ifndef HLO_OPS_SCAN_LINES_H
#define HLO_OPS_SCAN_LINES_H

#include "ops/kernels/window/window_rows.h"

#define SCAN_LINES_ALIGN 64 /* bytes; enough for results that go past the caches */

/* out[i] = carry op in[0] op ... in[i], or from the end; the carry moves on. out may be in.
 * Shape:  count is a multiple of SCAN_LINES_ALIGN bytes.
 * past:   results go past the caches: out is aligned, and native_stream_end follows. */
typedef void (*scan_lines_fn)(const void *in, void *out, int64_t count, bool back, bool past,
                              window_carry_t *carry);

/* NULL if there is none for it. */
scan_lines_fn scan_lines_find(hlo_opcode_t op, hr_dtype_t dtype);

#endif
