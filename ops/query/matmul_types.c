/* f32 computes products of floats of at most 32 bits and of integers that it represents exactly;
 * all other mixed products are computed in f64. Integer products wrap, so terms need no more bits
 * than the result. */
#include "ops/query/matmul_types.h"

static bool is_integer(hr_dtype_t type) { return hr_dtype_is_integer(type) || type == HR_PRED; }

/* The real type of a product unless all types are integers. */
static hr_dtype_t float_for(hr_dtype_t lhs, hr_dtype_t rhs, hr_dtype_t out) {
  hr_dtype_t types[] = {lhs, rhs, out};
  for (int i = 0; i < 3; i++) {
    if (hr_dtype_real(types[i]) == HR_F64) return HR_F64;
    if (is_integer(types[i]) && hr_dtype_bytes(types[i]) > 2)
      return HR_F64; /* f32 does not represent all values */
  }
  return HR_F32;
}

hr_status_t matmul_types_init(const hlo_instr_t *instr, hr_dtype_t lhs, hr_dtype_t rhs,
                              hr_dtype_t out, matmul_types_t *out_types) {
  matmul_types_t t = {.lhs = lhs, .rhs = rhs, .out = out};
  if (!hr_dtype_is_array(lhs) || !hr_dtype_is_array(rhs) || !hr_dtype_is_array(out))
    return hlo_error(instr, NULL, "operands and result must be arrays");
  t.is_complex = hr_dtype_is_complex(lhs) || hr_dtype_is_complex(rhs) || hr_dtype_is_complex(out);
  bool whole = is_integer(lhs) && is_integer(rhs) && is_integer(out);
  hr_dtype_t integer = hr_dtype_bytes(out) == 8 ? HR_U64 : HR_U32;
  t.real = whole ? integer : float_for(lhs, rhs, out);
  t.parts = t.is_complex ? 2 : 1;
  t.element_bytes = t.parts * (int)hr_dtype_bytes(t.real);
  *out_types = t;
  return NULL;
}
