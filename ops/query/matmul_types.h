/* The types of a sum of products (dot, convolution, triangular solve): operands of any element type
 * are widened to one of four real types, multiplied and added in it, and the result is narrowed
 * once. See ops/kernels/gemm/matmul.h for the table of types. */
#ifndef HLO_OPS_MATMUL_TYPES_H
#define HLO_OPS_MATMUL_TYPES_H

#include "ir/module.h"

typedef struct matmul_types {
  hr_dtype_t lhs, rhs, out; /* types of the program */
  hr_dtype_t real;          /* F32, F64, U32 or U64: type of products and sums */
  bool is_complex;
  int parts;         /* reals per element: 2 if complex */
  int element_bytes; /* size of a widened element, in bytes */
} matmul_types_t;

/* Errors: INVALID for types that are not array elements. */
hr_status_t matmul_types_init(const hlo_instr_t *instr, hr_dtype_t lhs, hr_dtype_t rhs,
                              hr_dtype_t out, matmul_types_t *out_types);

/* True for the widened type and integers of the same width. */
static inline bool matmul_is_widened(const matmul_types_t *types, hr_dtype_t dtype) {
  bool is_integer = types->real == HR_U32 || types->real == HR_U64;
  if (is_integer)
    return hr_dtype_is_integer(dtype) && hr_dtype_bytes(dtype) == hr_dtype_bytes(types->real);
  if (!types->is_complex) return dtype == types->real;
  return dtype == (types->real == HR_F32 ? HR_C64 : HR_C128);
}

#endif
