/* Result shapes of triangular-solve, cholesky, fft and batch normalisation. Leading dimensions of
 * the matrix ops are batch dimensions; the matrices are the last two. */
#include "ops/rules/constraint.h"

static hr_status_t want_float_or_complex(const hlo_instr_t *instr, const hlo_shape_t *const *in) {
  HR_TRY(op_want_arrays(instr, in, "I1"));
  op_kind_t kind = op_kind(in[0]->dtype);
  OP_WANT(instr, kind == OP_KIND_FLOAT || kind == OP_KIND_COMPLEX, "I1",
          "operand 0 is %s, want floats or complex numbers", OP_TEXT(in[0]));
  return NULL;
}

hr_status_t infer_cholesky(hr_arena_t *arena, const hlo_instr_t *instr,
                           const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  (void)arena;
  int rank = in[0]->rank;
  HR_TRY(want_float_or_complex(instr, in));
  OP_WANT(instr, rank >= 2, "C2", "the operand is %s, want at least 2 dimensions", OP_TEXT(in[0]));
  OP_WANT(instr, op_dims_agree(in[0], rank - 2, in[0], rank - 1), "C3",
          "the operand is %s, want square matrices", OP_TEXT(in[0]));
  *out_shape = in[0];
  return NULL;
}

hr_status_t infer_triangular_solve(hr_arena_t *arena, const hlo_instr_t *instr,
                                   const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  (void)arena;
  const hlo_shape_t *a = in[0], *b = in[1];
  int rank = a->rank, side = hlo_attr_bool(instr, HLO_ATTR_LEFT_SIDE) ? rank - 2 : rank - 1;
  HR_TRY(want_float_or_complex(instr, in));
  OP_WANT(instr, a->dtype == b->dtype, "C1", "operands of types %s and %s, want equal types",
          hr_dtype_name(a->dtype), hr_dtype_name(b->dtype));
  OP_WANT(instr, rank >= 2 && b->rank == rank, "C2",
          "operands %s and %s, want equal ranks of at least 2", OP_TEXT(a), OP_TEXT(b));
  for (int d = 0; d < rank - 2; d++)
    OP_WANT(instr, op_dims_agree(a, d, b, d), "C3",
            "operands %s and %s, want equal sizes in dimension %d", OP_TEXT(a), OP_TEXT(b), d);
  OP_WANT(instr, op_dims_agree(a, rank - 2, a, rank - 1), "C3",
          "operand 0 is %s, want square matrices", OP_TEXT(a));
  OP_WANT(instr, op_dims_agree(a, rank - 1, b, side), "C3",
          "operand 1 is %s, want the size of %s in dimension %d", OP_TEXT(b), OP_TEXT(a), side);
  OP_WANT(instr,
          !hlo_attr_has(instr, HLO_ATTR_TRANSPOSE_A) ||
              hlo_attr_enum(instr, HLO_ATTR_TRANSPOSE_A) != HLO_TRANSPOSE_INVALID,
          "I6", "transpose_a is TRANSPOSE_INVALID, want NO_TRANSPOSE, TRANSPOSE or ADJOINT");
  *out_shape = b;
  return NULL;
}

/* ---- fft ---- */

static hr_status_t check_fft_types(const hlo_instr_t *instr, const hlo_shape_t *operand, int type,
                                   hr_dtype_t *out_dtype) {
  hr_dtype_t dtype = operand->dtype;
  if (type == HLO_FFT_TYPE_RFFT) {
    OP_WANT(instr, dtype == HR_F32 || dtype == HR_F64, "C2", "an RFFT of %s, want f32 or f64",
            OP_TEXT(operand));
    *out_dtype = dtype == HR_F64 ? HR_C128 : HR_C64;
    return NULL;
  }
  OP_WANT(instr, hr_dtype_is_complex(dtype), "C2", "an %s of %s, want complex numbers",
          hlo_enum_table[HLO_ENUM_FFT_TYPE].texts[type], OP_TEXT(operand));
  *out_dtype = type == HLO_FFT_TYPE_IRFFT ? hr_dtype_real(dtype) : dtype;
  return NULL;
}

/* Compares length `i` of the last dimensions with the operand: an IRFFT's last length is that of
 * the result, about twice the operand's. */
static hr_status_t check_fft_length(const hlo_instr_t *instr, const hlo_shape_t *operand, int type,
                                    hr_ints_t lengths, int64_t i) {
  int64_t d = operand->rank - lengths.count + i, length = lengths.data[i], wanted = length;
  if (type == HLO_FFT_TYPE_IRFFT && i == lengths.count - 1) wanted = length ? length / 2 + 1 : 0;
  OP_WANT(instr, length >= 0, "C4", "fft_length lists %ld, want no negative lengths", (long)length);
  OP_WANT(instr, operand->dims[d] == wanted || op_is_dynamic(operand, d),
          type < HLO_FFT_TYPE_RFFT ? NULL : "C4",
          "dimension %ld of %s with fft_length %ld, want size %ld", (long)d, OP_TEXT(operand),
          (long)length, (long)wanted);
  return NULL;
}

hr_status_t infer_fft(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                      const hlo_shape_t **out_shape) {
  hr_ints_t lengths = hlo_attr_ints(instr, HLO_ATTR_FFT_LENGTH);
  int type = hlo_attr_enum(instr, HLO_ATTR_FFT_TYPE);
  hr_dtype_t dtype = HR_PRED;
  op_dims_t dims;
  HR_TRY(op_want_array(instr, in[0], 0, "I1"));
  OP_WANT(instr, lengths.count >= 1 && lengths.count <= 3, "C3",
          "fft_length lists %ld lengths, want 1 to 3", (long)lengths.count);
  OP_WANT(instr, lengths.count <= in[0]->rank, "C1",
          "fft_length lists %ld lengths, want at most %d, the rank", (long)lengths.count,
          in[0]->rank);
  HR_TRY(check_fft_types(instr, in[0], type, &dtype));
  for (int64_t i = 0; i < lengths.count; i++)
    HR_TRY(check_fft_length(instr, in[0], type, lengths, i));
  op_dims_of(in[0], &dims);
  int64_t last = lengths.data[lengths.count - 1];
  if (type == HLO_FFT_TYPE_RFFT) dims.sizes[dims.rank - 1] = last ? last / 2 + 1 : 0;
  if (type == HLO_FFT_TYPE_IRFFT) dims.sizes[dims.rank - 1] = last;
  return op_dims_shape(arena, dtype, &dims, out_shape);
}

/* ---- batch normalisation ---- */

/* Operand k has one element per feature. `rules[k]` is empty for the operands that have the input's
 * shape. */
static hr_status_t check_norm_operands(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                                       const char *const *rules) {
  int64_t feature = hlo_attr_int(instr, HLO_ATTR_FEATURE_INDEX);
  HR_TRY(op_want_arrays(instr, in, "I1"));
  OP_WANT(instr, hr_dtype_is_float(in[0]->dtype), "I1", "operand 0 is %s, want floats",
          OP_TEXT(in[0]));
  OP_WANT(instr, feature >= 0 && feature < in[0]->rank, "C1",
          "feature_index %ld, want a value from 0 to below %d", (long)feature, in[0]->rank);
  for (int k = 1; k < instr->operand_count; k++) {
    OP_WANT(instr, in[k]->dtype == in[0]->dtype, "C2",
            "operand %d has elements of type %s, want %s", k, hr_dtype_name(in[k]->dtype),
            hr_dtype_name(in[0]->dtype));
    if (!rules[k]) {
      OP_WANT(instr, hlo_shape_same_dims(in[k], in[0]), "C3",
              "operand %d is %s, want the sizes of %s", k, OP_TEXT(in[k]), OP_TEXT(in[0]));
      continue;
    }
    OP_WANT(instr, in[k]->rank == 1 && op_dims_agree(in[k], 0, in[0], feature), rules[k],
            "operand %d is %s, want one element for each of the %ld features", k, OP_TEXT(in[k]),
            (long)in[0]->dims[feature]);
  }
  return NULL;
}

/* (like operand 0, one per feature, one per feature) */
static hr_status_t norm_tuple(hr_arena_t *arena, const hlo_shape_t *const *in,
                              const hlo_shape_t **out_shape) {
  return hlo_shape_tuple(arena, 3, (const hlo_shape_t *const[]){in[0], in[1], in[1]}, out_shape);
}

hr_status_t infer_batch_norm_training(hr_arena_t *arena, const hlo_instr_t *instr,
                                      const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  HR_TRY(check_norm_operands(instr, in, (const char *const[]){NULL, "C3", "C4"}));
  return norm_tuple(arena, in, out_shape);
}

hr_status_t infer_batch_norm_inference(hr_arena_t *arena, const hlo_instr_t *instr,
                                       const hlo_shape_t *const *in,
                                       const hlo_shape_t **out_shape) {
  (void)arena;
  HR_TRY(check_norm_operands(instr, in, (const char *const[]){NULL, "C3", "C4", "C5", "C6"}));
  *out_shape = in[0];
  return NULL;
}

hr_status_t infer_batch_norm_grad(hr_arena_t *arena, const hlo_instr_t *instr,
                                  const hlo_shape_t *const *in, const hlo_shape_t **out_shape) {
  HR_TRY(check_norm_operands(instr, in, (const char *const[]){NULL, "C5", "C4", "C4", NULL}));
  return norm_tuple(arena, in, out_shape);
}
