#include "ops/kernels/comm/collective_reducer.h"

#include "base/arith.h"
#include "ops/kernels/comm/collective_common.h"

#define WIDEN_BLOCK 1024 /* elements widened at a time */

/* A conversion kernel between two element types; NULL if they are the same. */
static hr_status_t prepare_convert(hr_arena_t *arena, hr_dtype_t from, hr_dtype_t to,
                                   const ew_kernel_t **out_kernel) {
  *out_kernel = NULL;
  if (from == to) return NULL;
  hlo_instr_t operand = {.op = HLO_PARAMETER, .shape = hlo_shape_scalar(from)},
              *operands[] = {&operand};
  hlo_instr_t convert = {
      .op = HLO_CONVERT, .shape = hlo_shape_scalar(to), .operand_count = 1, .operands = operands};
  return ew_kernel_prepare(arena, &convert, out_kernel);
}

hr_status_t coll_reduction_prepare(hr_arena_t *arena, const op_body_t *body, hr_dtype_t from,
                                   hr_dtype_t to, coll_reduction_t *reduction) {
  hlo_opcode_t op = HLO_OPCODE_COUNT;
  reduction->body = body;
  reduction->dtype = op_body_param_dtype(body, 0);
  if (!op_body_is_binary(body, &op, &reduction->binary)) reduction->binary = NULL;
  reduction->fast = reduction->binary ? reduce_local_of(op, reduction->dtype) : NULL;
  bool is_narrow = reduction->dtype == HR_BF16 || reduction->dtype == HR_F16;
  reduction->wide = reduction->binary && op == HLO_ADD && is_narrow;
  HR_TRY(prepare_convert(arena, from, reduction->dtype, &reduction->convert_in));
  return prepare_convert(arena, reduction->dtype, to, &reduction->convert_out);
}

/* Context of the transport's callbacks; `combiner` is generated code for the body, if there is
 * any. */
typedef struct reducer_context {
  op_env_t *env;
  const coll_reduction_t *reduction;
  op_combiner_t combiner;
} reducer_context_t;

/* Combines by generated code, else by one op's loop, else by the interpreted body. */
static hr_status_t combine_two(const reducer_context_t *of, void *out, const void *a, const void *b,
                               int64_t count) {
  const coll_reduction_t *reduction = of->reduction;
  const void *ins[] = {a, b};
  int64_t steps[] = {1, 1};
  if (of->combiner.run) return of->combiner.run(of->combiner.code, out, a, b, count);
  if (!reduction->binary)
    return op_body_run(of->env, reduction->body, count, ins, steps, (void *const[]){out});
  ew_kernel_run(reduction->binary, count, ins, steps, out);
  return NULL;
}

/* Left fold of several members' parts, in their listed order. */
static hr_status_t combine_arrays(void *context, void *out, const void *const *in, int arrays,
                                  int64_t count) {
  const reducer_context_t *of = context;
  if (of->reduction->fast) {
    of->reduction->fast(out, in, arrays, count);
    return NULL;
  }
  HR_TRY(combine_two(of, out, in[0], in[1], count));
  for (int k = 2; k < arrays; k++) HR_TRY(combine_two(of, out, out, in[k], count));
  return NULL;
}

/* acc = acc op in: the callback for two arrays. */
static hr_status_t reduce_elements(void *context, void *acc, const void *in, int64_t count) {
  return combine_arrays(context, acc, (const void *const[]){acc, in}, 2, count);
}

/* A body with control flow, evaluated by the engine element by element. */
static hr_status_t call_for_elements(void *context, void *acc, const void *in, int64_t count) {
  const reducer_context_t *of = context;
  const void *ins[] = {acc, in};
  int64_t steps[] = {1, 1};
  hr_arena_mark_t mark = hr_arena_mark(of->env->scratch);
  hr_status_t st =
      op_body_run(of->env, of->reduction->body, count, ins, steps, (void *const[]){acc});
  hr_arena_rewind(of->env->scratch, mark);
  return st;
}

/* Widens elements in blocks that stay in the cache, then adds them. */
static hr_status_t add_wide(void *context, void *acc, const void *in, int64_t count) {
  const reducer_context_t *of = context;
  float wide[WIDEN_BLOCK], *sums = acc;
  for (int64_t start = 0; start < count; start += WIDEN_BLOCK) {
    int64_t size = hr_min(count - start, WIDEN_BLOCK);
    hr_floats_to_f32(of->reduction->dtype, (const uint16_t *)in + start, wide, size);
    for (int64_t i = 0; i < size; i++) sums[start + i] += wide[i];
  }
  return NULL;
}

/* Converts elements to the accumulator's type, f32. */
static void widen_to_f32(void *context, const void *in, void *acc, int64_t count) {
  hr_floats_to_f32(((const reducer_context_t *)context)->reduction->dtype, in, acc, count);
}

/* Rounds accumulators once to the element type. */
static void narrow_from_f32(void *context, const void *acc, void *out, int64_t count) {
  hr_floats_from_f32(((const reducer_context_t *)context)->reduction->dtype, acc, out, count);
}

hr_status_t coll_reducer_new(op_env_t *env, hr_arena_t *arena, const coll_reduction_t *reduction,
                             hr_reducer_t *out_reducer) {
  reducer_context_t *context;
  HR_TRY(HR_NEW(arena, &context));
  *context = (reducer_context_t){.env = env, .reduction = reduction};
  if (!reduction->fast && !reduction->wide && env->combiner)
    context->combiner = env->combiner(env, op_body_computation(reduction->body));
  bool is_free = context->combiner.run || op_body_is_flat(reduction->body);
  *out_reducer = (hr_reducer_t){.reduce = is_free ? reduce_elements : call_for_elements,
                                .context = context,
                                .any_thread = is_free,
                                .is_reorderable = reduction->binary && !reduction->wide,
                                .combine = is_free && !reduction->wide ? combine_arrays : NULL,
                                .element_bytes = hr_dtype_bytes(reduction->dtype)};
  if (!reduction->wide) return NULL;
  out_reducer->reduce = add_wide;
  out_reducer->acc_bytes = sizeof(float);
  out_reducer->widen = widen_to_f32;
  out_reducer->narrow = narrow_from_f32;
  return NULL;
}
