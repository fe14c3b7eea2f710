/* Prefix sums along a contiguous line, a vector at a time: f32, f64 and the integers of 32 and 64
 * bits, under add, multiply, maximum and minimum. */
#ifndef HLO_OPS_SCAN_LINES_H
#define HLO_OPS_SCAN_LINES_H

#include "ops/kernels/window/window_rows.h"

#define SCAN_LINES_ALIGN 64 /* bytes; the alignment of non-temporal stores */

/* out[i] = carry op in[0] op ... in[i], or from the end if `back`; *carry becomes the line's total.
 * Shape:  count is a multiple of SCAN_LINES_ALIGN bytes. out may be in.
 * past:   non-temporal stores: out is aligned, and the caller ends with native_stream_end. */
typedef void (*scan_lines_fn)(const void *in, void *out, int64_t count, bool back, bool past,
                              window_carry_t *carry);

/* The loop for an op and type at the machine's vector width; NULL if there is none. */
scan_lines_fn scan_lines_find(hlo_opcode_t op, hr_dtype_t dtype);

#endif
