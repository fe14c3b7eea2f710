/* Custom calls that are other spellings of ops: TopK, ApproxTopK, and mhlo.* and chlo.* names of
 * opcodes. The call is prepared as an instruction of that op and run by its kernel. ApproxTopK is
 * computed exactly, by sorting each row. */
#include <string.h>

#include "ops/kernels/custom/custom_call.h"
#include "ops/kernels/reference/sort_keys.h"
#include "ops/rules/verify.h"

/* A copy of the custom call's instruction with another opcode, and the plan of that op's kernel.
 * The operands are those of the call; the kernel gets only the first operand_count. */
typedef struct stand_in {
  hlo_instr_t instr;
  const op_kernel_t *kernel;
  const void *plan;
} stand_in_t;

/* Attributes and the copy live in the plan's arena, as the kernel may keep pointers to them. */
static hr_status_t prepare_stand_in(hr_arena_t *arena, const op_step_t *step, hlo_opcode_t op,
                                    int operand_count, int attr_count, const hlo_attr_t *attrs,
                                    const void **out_plan) {
  stand_in_t *stand_in;
  void *copy = NULL;
  HR_TRY(HR_NEW(arena, &stand_in));
  if (attr_count) HR_TRY(hr_arena_copy(arena, attrs, (size_t)attr_count * sizeof *attrs, &copy));
  stand_in->instr = *step->instr;
  stand_in->instr.op = op;
  stand_in->instr.operand_count = operand_count;
  stand_in->instr.attrs = copy;
  stand_in->instr.attr_count = attr_count;
  stand_in->kernel = op_kernels[op];
  op_step_t inner = *step;
  inner.instr = &stand_in->instr;
  if (stand_in->kernel->prepare) HR_TRY(stand_in->kernel->prepare(arena, &inner, &stand_in->plan));
  *out_plan = stand_in;
  return NULL;
}

/* The kernel gets its own instruction and plan; shapes and out_shape are the call's. */
static hr_status_t run_stand_in(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                hlo_value_t **out_value) {
  const stand_in_t *stand_in = step->plan;
  op_step_t inner = *step;
  inner.instr = &stand_in->instr;
  inner.plan = stand_in->plan;
  return stand_in->kernel->run(env, &inner, in, out_value);
}

/* Results of a top k along `dim`: like the operands, except for the size of that dimension. */
static hr_status_t check_top(const op_step_t *step, int results, int64_t dim) {
  const hlo_shape_t *x = step->in_shapes[0], *out = step->out_shape;
  if (!hlo_shape_is_array(x) || dim < 0 || dim >= x->rank)
    return hlo_error(step->instr, NULL, "dimension %ld of an operand of rank %d", (long)dim,
                     x->rank);
  if (!hlo_shape_is_tuple(out) || out->element_count != results)
    return hlo_error(step->instr, NULL, "the result must be a tuple of %d", results);
  for (int k = 0; k < results; k++) {
    bool fits = hlo_shape_is_array(out->elements[k]) && out->elements[k]->rank == x->rank;
    for (int d = 0; fits && d < x->rank; d++)
      fits = d == dim ? out->elements[k]->dims[d] <= x->dims[d]
                      : out->elements[k]->dims[d] == x->dims[d];
    if (!fits || out->elements[k]->dims[dim] != out->elements[0]->dims[dim])
      return hlo_error(step->instr, NULL,
                       "result %d has not the operand's sizes with k instead of one of them", k);
  }
  return NULL;
}

/* k is the last size of the values: an operand with k, if any, is not read. */
static hr_status_t prepare_plain_top_k(hr_arena_t *arena, const op_step_t *step, bool largest,
                                       const void **out_plan) {
  if (step->instr->operand_count < 1) return hlo_error(step->instr, NULL, "no operand");
  const hlo_shape_t *x = step->in_shapes[0];
  HR_TRY(check_top(step, 2, x->rank - 1));
  if (step->out_shape->elements[0]->dtype != x->dtype ||
      step->out_shape->elements[1]->dtype != HR_S32 || hr_dtype_is_complex(x->dtype))
    return hlo_error(step->instr, NULL,
                     "results must be values of the operand's type, and s32 indices");
  hlo_attr_t attrs[] = {
      {.key = HLO_ATTR_K, .integer = step->out_shape->elements[0]->dims[x->rank - 1]},
      {.key = HLO_ATTR_LARGEST, .flag = largest}};
  return prepare_stand_in(arena, step, HLO_TOPK, 1, 2, attrs, out_plan);
}

/* TopK: x (, k) -> values, indices, along the last dimension, largest first. */
static hr_status_t prepare_top_k(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  return prepare_plain_top_k(arena, step, true, out_plan);
}

const op_kernel_t custom_top_k = {prepare_top_k, run_stand_in};

/* mhlo.erf, chlo.tan, ...: elementwise ops and top_k by the names of other dialects. `name` is
 * without the dialect's prefix. */
static bool find_op(hr_str_t name, hlo_opcode_t *out_op) {
  for (int op = 0; op < HLO_OPCODE_COUNT; op++)
    if (hr_str_is(name, hlo_op_table[op].name) ||
        hr_str_is(name, hlo_op_table[op].stablehlo_name)) {
      *out_op = (hlo_opcode_t)op;
      return true;
    }
  return false;
}

/* Attributes of a call that was converted from MHLO are a text in its frontend attributes; those of
 * other calls are in backend_config. */
static hr_status_t other_attributes(hr_arena_t *arena, const hlo_instr_t *instr,
                                    const dict_value_t **out_dict) {
  hr_str_t text = hlo_frontend_attribute(instr, "mhlo.attributes");
  return text.size ? mlir_dict_parse(arena, text, out_dict) : custom_config(arena, instr, out_dict);
}

/* Inference of the op itself checks the operands; the arena holds only the inferred shape. */
static hr_status_t check_elementwise(const op_step_t *step, hlo_opcode_t op) {
  const hlo_shape_t *out;
  hr_arena_t arena;
  hlo_instr_t instr = *step->instr;
  instr.op = op;
  if (instr.operand_count != hlo_op_table[op].operands)
    return hlo_error(step->instr, NULL, "%d operands, want %d", instr.operand_count,
                     hlo_op_table[op].operands);
  hr_arena_init(&arena);
  hr_status_t st = hlo_infer_shape(&arena, &instr, step->in_shapes, &out);
  if (!st && !hlo_shape_compatible(out, step->out_shape))
    st =
        hlo_error(step->instr, NULL, "the result has not the shape that %s gives", hlo_op_name(op));
  hr_arena_deinit(&arena);
  return st;
}

/* The name after the first dot is looked up. compare is excluded: its direction is an attribute. */
static hr_status_t prepare_mhlo(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  hr_str_t target = op_custom_call_target(step->instr);
  const char *dot = memchr(target.data, '.', target.size);
  hr_str_t name = {dot + 1, (size_t)(target.data + target.size - dot - 1)};
  hlo_opcode_t op;
  if (hr_str_is(name, "topk") || hr_str_is(name, "top_k")) {
    const dict_value_t *attributes;
    HR_TRY(other_attributes(arena, step->instr, &attributes));
    return prepare_plain_top_k(arena, step, mlir_dict_int(attributes, "largest", 1), out_plan);
  }
  if (!find_op(name, &op) || !hlo_op_is(op, OP_ELEMENTWISE) || op == HLO_COMPARE)
    return hlo_unsupported(
        step->instr, "custom call '%.*s': only elementwise ops and top_k are known by such names",
        HR_STR_ARGS(target));
  HR_TRY(check_elementwise(step, op));
  return prepare_stand_in(arena, step, op, step->instr->operand_count, 0, NULL, out_plan);
}

const op_kernel_t custom_mhlo = {prepare_mhlo, run_stand_in};

/* ApproxTopK: n arrays, then n initial values (, k) -> n arrays; the comparator (greater or less,
 * on the first array) orders them along reduction_dim. The exact answer is a valid approximate
 * one. */
typedef struct approx_plan {
  int arrays;
  sort_key_t key;
  int64_t outer, count, inner,
      k; /* sizes before, of, and after the dimension; number of kept elements */
} approx_plan_t;

/* All arrays of an ApproxTopK are permuted equally, so they have the sizes of the first. */
static hr_status_t check_payloads(const op_step_t *step, int arrays) {
  for (int k = 0; k < arrays; k++) {
    const hlo_shape_t *shape = step->in_shapes[k], *out = step->out_shape->elements[k];
    if (!hlo_shape_same_dims(shape, step->in_shapes[0]) || shape->dtype != out->dtype)
      return hlo_error(step->instr, NULL,
                       "operand %d differs from the first in sizes, or from its result in type", k);
  }
  return NULL;
}

/* outer, count, inner: element j of line (o, i) is at (o * count + j) * inner + i. */
static hr_status_t prepare_approx(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  approx_plan_t *plan;
  int64_t dim;
  bool descends;
  HR_TRY(HR_NEW(arena, &plan));
  plan->arrays = step->instr->operand_count / 2;
  if (plan->arrays < 1) return hlo_error(step->instr, NULL, "no operands");
  const hlo_shape_t *x = step->in_shapes[0];
  HR_TRY(custom_approx_order(arena, step->instr, x->rank, &dim, &descends));
  HR_TRY(check_top(step, plan->arrays, dim));
  HR_TRY(check_payloads(step, plan->arrays));
  if (hr_dtype_is_complex(x->dtype))
    return hlo_unsupported(step->instr, "an order of complex numbers");
  plan->outer = 1;
  plan->inner = 1;
  for (int d = 0; d < x->rank; d++)
    if (d < dim)
      plan->outer *= x->dims[d];
    else if (d > dim)
      plan->inner *= x->dims[d];
  plan->count = x->dims[dim];
  plan->k = step->out_shape->elements[0]->dims[dim];
  plan->key = (sort_key_t){NULL, NULL, x->dtype, descends, true};
  *out_plan = plan;
  return NULL;
}

/* The first k sorted positions of one line, for every array. Results are strided by inner, too. */
static void copy_top_row(const approx_plan_t *plan, const sort_item_t *sorted, int64_t outer,
                         int64_t inner, hlo_value_t *const *in, hlo_value_t **out) {
  for (int a = 0; a < plan->arrays; a++) {
    size_t bytes = hr_dtype_bytes(in[a]->dtype);
    for (int64_t i = 0; i < plan->k; i++) {
      int64_t from = (outer * plan->count + sorted[i].index) * plan->inner + inner;
      int64_t to = (outer * plan->k + i) * plan->inner + inner;
      memcpy((char *)out[a]->data + (size_t)to * bytes,
             (const char *)in[a]->data + (size_t)from * bytes, bytes);
    }
  }
}

/* Every line is encoded to integer keys, sorted with its positions, and its first k kept.
 * O(lines * count log count). */
static hr_status_t run_approx(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                              hlo_value_t **out_value) {
  const approx_plan_t *plan = step->plan;
  hlo_value_t *out;
  sort_item_t *items, *spare;
  int64_t bytes = (int64_t)hr_dtype_bytes(in[0]->dtype);
  HR_TRY(HR_NEW_ARRAY(env->scratch, plan->count, &items));
  HR_TRY(HR_NEW_ARRAY(env->scratch, plan->count, &spare));
  HR_TRY(hlo_value_zeros(step->out_shape, &out));
  *out_value = out;
  if (plan->k == 0 || in[0]->count == 0) return NULL;
  for (int64_t o = 0; o < plan->outer; o++)
    for (int64_t i = 0; i < plan->inner; i++) {
      const char *line = (const char *)in[0]->data + (o * plan->count * plan->inner + i) * bytes;
      sort_encode(&plan->key, line, plan->inner, plan->count, items);
      for (int64_t j = 0; j < plan->count; j++) items[j].index = j;
      copy_top_row(plan, sort_items(items, spare, plan->count), o, i, in, out->elements);
    }
  return NULL;
}

const op_kernel_t custom_approx_top_k = {prepare_approx, run_approx};
