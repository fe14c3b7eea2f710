/* Result shapes of ops that apply a computation to elements or slices: map, reduce, scan, sort; and
 * topk. Element types come from the body's root, sizes from the operands; bodies are verified in
 * verify_body.c. */
#include "ops/rules/constraint.h"

/* Operands are inputs, then as many scalar initial values; inputs have equal sizes, and each
 * initial value the type of its input. */
hr_status_t op_check_reduction(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                               const op_reduction_rules_t *rules) {
  int count = instr->operand_count / 2;
  OP_WANT(instr, instr->operand_count % 2 == 0, rules->count,
          "%d operands, want as many inputs as initial values", instr->operand_count);
  HR_TRY(op_want_arrays(instr, in, "I1"));
  for (int k = 0; k < count; k++) {
    OP_WANT(instr, hlo_shape_same_dims(in[k], in[0]), rules->shapes,
            "input %d is %s, want the sizes of %s", k, OP_TEXT(in[k]), OP_TEXT(in[0]));
    HR_TRY(op_want_scalar(instr, in[count + k], "an initial value", "I2"));
    OP_WANT(instr, in[count + k]->dtype == in[k]->dtype, rules->types,
            "initial value %d has type %s, want %s", k, hr_dtype_name(in[count + k]->dtype),
            hr_dtype_name(in[k]->dtype));
  }
  return NULL;
}

/* Elementwise by a computation, over all dimensions in order. */
hr_status_t infer_map(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                      const hlo_shape_t **out_shape) {
  hr_ints_t dimensions = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  const hlo_shape_t *result = op_body_of(instr)->root->shape;
  op_dims_t dims;
  HR_TRY(op_want_arrays(instr, in, "I1"));
  op_dims_of(in[0], &dims);
  for (int k = 1; k < instr->operand_count; k++) {
    OP_WANT(instr, hlo_shape_same_dims(in[k], in[0]), "C1",
            "operand %d is %s, want the sizes of %s", k, OP_TEXT(in[k]), OP_TEXT(in[0]));
    op_dims_refine(&dims, in[k]);
  }
  bool all = dimensions.count == in[0]->rank || dimensions.count == 0; /* programs may omit them */
  for (int64_t i = 0; all && i < dimensions.count; i++) all = dimensions.data[i] == i;
  OP_WANT(instr, all, "C3", "dimensions are not all %d dimensions in order", in[0]->rank);
  OP_WANT(instr, hlo_shape_is_scalar(result), "C4", "%%%.*s returns %s, want a scalar",
          HR_STR_ARGS(op_body_of(instr)->name), OP_TEXT(result));
  return op_dims_shape(arena, result->dtype, &dims, out_shape);
}

/* The input's shape without the reduced dimensions; element types are those of the body's
 * arithmetic, which may be wider. */
hr_status_t infer_reduce(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                         const hlo_shape_t **out_shape) {
  int count = instr->operand_count / 2;
  hr_ints_t dimensions = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  const hlo_shape_t **shapes;
  uint64_t seen = 0;
  op_dims_t dims = {.rank = 0};
  HR_TRY(op_check_reduction(instr, in, &(op_reduction_rules_t){"C3", "C1", "C2"}));
  HR_TRY(op_check_range(instr, "C4", "dimensions", dimensions, in[0]->rank));
  HR_TRY(op_check_unique(instr, "C5", "dimensions", dimensions, &seen));
  for (int d = 0; d < in[0]->rank; d++)
    if (!(seen >> d & 1)) HR_TRY(op_dims_push_from(instr, &dims, in[0], d));
  HR_TRY(HR_NEW_ARRAY(arena, count, &shapes));
  for (int k = 0; k < count; k++) {
    hr_dtype_t dtype = HR_PRED;
    HR_TRY(op_reducer_dtype(instr, "C6", op_body_of(instr), count, k, &dtype));
    HR_TRY(op_dims_shape(arena, dtype, &dims, &shapes[k]));
  }
  return op_results_shape(arena, count, shapes, out_shape);
}

/* Operands are inputs, then initial carries; the body returns outputs (one slice each), then
 * carries. */
hr_status_t infer_scan(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                       const hlo_shape_t **out_shape) {
  int64_t carries = hlo_attr_int(instr, HLO_ATTR_NUM_CARRIES), dimension;
  const hlo_shape_t *root = op_body_of(instr)->root->shape;
  int count = hlo_shape_is_tuple(root) ? root->element_count : 1;
  const hlo_shape_t **shapes;
  OP_WANT(instr, carries >= 0 && carries < instr->operand_count && carries <= count, NULL,
          "num_carries %ld, want a value from 0 to %d", (long)carries,
          count < instr->operand_count ? count : instr->operand_count - 1);
  HR_TRY(op_want_arrays(instr, in, NULL));
  HR_TRY(op_one_dimension(instr, NULL, in[0]->rank, &dimension));
  HR_TRY(HR_NEW_ARRAY(arena, count, &shapes));
  for (int k = 0; k < count; k++) {
    const hlo_shape_t *result = hlo_shape_is_tuple(root) ? root->elements[k] : root;
    op_dims_t dims = {.rank = 0};
    shapes[k] = result;
    if (k >= count - carries) continue;
    OP_WANT(instr, hlo_shape_is_array(result) && dimension <= result->rank, NULL,
            "result %d of the body is %s, want an array of at least %ld dimensions", k,
            OP_TEXT(result), (long)dimension);
    for (int d = 0; d < result->rank + 1; d++)
      HR_TRY(op_dims_push_from(instr, &dims, d == dimension ? in[0] : result,
                               d > dimension ? d - 1 : d));
    HR_TRY(op_dims_shape(arena, result->dtype, &dims, &shapes[k]));
  }
  if (hlo_shape_is_tuple(root)) return hlo_shape_tuple(arena, count, shapes, out_shape);
  *out_shape = shapes[0];
  return NULL;
}

/* All operands, sorted by one order along one dimension. */
hr_status_t infer_sort(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                       const hlo_shape_t **out_shape) {
  int64_t dimension;
  HR_TRY(op_want_arrays(instr, in, "I1"));
  for (int k = 1; k < instr->operand_count; k++)
    OP_WANT(instr, hlo_shape_same_dims(in[k], in[0]), "C3",
            "operand %d is %s, want the sizes of %s", k, OP_TEXT(in[k]), OP_TEXT(in[0]));
  HR_TRY(op_one_dimension(instr, "C4", in[0]->rank, &dimension));
  return op_results_shape(arena, instr->operand_count, in, out_shape);
}

/* (values, indices s32); the last size is k. */
hr_status_t infer_topk(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                       const hlo_shape_t **out_shape) {
  int64_t k = hlo_attr_int(instr, HLO_ATTR_K);
  const hlo_shape_t *shapes[2];
  op_dims_t dims;
  HR_TRY(op_want_array(instr, in[0], 0, NULL));
  OP_WANT(instr, in[0]->rank > 0, NULL, "the operand is %s, want at least one dimension",
          OP_TEXT(in[0]));
  op_dims_of(in[0], &dims);
  int last = dims.rank - 1;
  OP_WANT(instr, k >= 0 && (k <= dims.sizes[last] || dims.dynamic[last]), NULL,
          "k is %ld, want a value from 0 to the last size %ld", (long)k, (long)dims.sizes[last]);
  dims.sizes[last] = k;
  dims.dynamic[last] = false;
  HR_TRY(op_dims_shape(arena, in[0]->dtype, &dims, &shapes[0]));
  HR_TRY(op_dims_shape(arena, HR_S32, &dims, &shapes[1]));
  return hlo_shape_tuple(arena, 2, shapes, out_shape);
}
