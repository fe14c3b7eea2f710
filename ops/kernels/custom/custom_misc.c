/* Custom calls without arithmetic: markers (identity, nothing), shards of one device, dynamic and
 * padded forms of an array, 64-bit integers as two halves, assertions on shapes, and targets that
 * are refused or skipped with the note in their row of custom_calls.def. */
#include <string.h>

#include "base/log.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/kernels/custom/custom_call.h"

/* Checks for `least` to `most` operands. */
static hr_status_t check_operands(const op_step_t *step, int least, int most) {
  int count = step->instr->operand_count;
  if (count >= least && count <= most) return NULL;
  return hlo_error(step->instr, NULL, "%d operands, want %d%s", count, least,
                   most > least ? " or more" : "");
}

/* identity: the result is the operand if shapes are equal; otherwise the result is a tuple with an
 * element for each operand, which the verifier has checked. The value is shared, not copied:
 * kernels do not write values with several owners. */
static hr_status_t run_identity(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                hlo_value_t **out_value) {
  (void)env;
  if (step->instr->operand_count != 1 || !hlo_shape_compatible(step->in_shapes[0], step->out_shape))
    return hlo_value_tuple(step->instr->operand_count, in, out_value);
  *out_value = hlo_value_retain(in[0]);
  return NULL;
}

const op_kernel_t custom_identity = {NULL, run_identity};

/* zeros and nothing: a result without contents, that is tokens, empty tuples, uninitialised
 * buffers. */
static hr_status_t run_zeros(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  (void)env, (void)in;
  return hlo_value_zeros(step->out_shape, out_value);
}

const op_kernel_t custom_zeros = {NULL, run_zeros};

/* True if a value of this shape has contents. Tokens and tuples of them have none. */
static bool has_data(const hlo_shape_t *shape) {
  for (int k = 0; k < shape->element_count && hlo_shape_is_tuple(shape); k++)
    if (has_data(shape->elements[k])) return true;
  return hlo_shape_is_array(shape) || shape->dtype == HR_OPAQUE || shape->dtype == HR_BUFFER;
}

/* A target without results may have tokens or an empty tuple as its result, but no array that would
 * be all zeros. */
static hr_status_t prepare_nothing(hr_arena_t *arena, const op_step_t *step,
                                   const void **out_plan) {
  (void)arena, (void)out_plan;
  char text[HLO_SHAPE_TEXT];
  if (!has_data(step->out_shape)) return NULL;
  return hlo_error(step->instr, NULL, "the result is %s, want none",
                   hlo_shape_text(step->out_shape, text));
}

const op_kernel_t custom_nothing = {prepare_nothing, run_zeros};

/* inspect: its result is its operand, or nothing in the form of earlier versions. */
static hr_status_t run_inspect(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                               hlo_value_t **out_value) {
  return op_custom_call_is_marker(step->instr) ? run_identity(env, step, in, out_value)
                                               : run_zeros(env, step, in, out_value);
}

const op_kernel_t custom_inspect = {NULL, run_inspect};

/* shard: between the whole program's arrays and one device's. The partitioner leaves those alone
 * that do nothing: both shapes are the same. The marker's error would name shapes only. */
static hr_status_t prepare_shard(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  hr_str_t target = op_custom_call_target(step->instr);
  (void)arena, (void)out_plan;
  hr_status_t st = op_custom_call_check_marker(step->instr);
  if (!st) return NULL;
  hr_status_release(st);
  return hlo_unsupported(step->instr,
                         "'%.*s' divides arrays among devices, want a program that is partitioned",
                         HR_STR_ARGS(target));
}

const op_kernel_t custom_shard = {prepare_shard, run_identity};

/* SliceToDynamic: x, then the size of each dimension (of each dynamic one, if there are fewer) ->
 * the first elements. */
static bool sizes_all_dims(const op_step_t *step) {
  return step->instr->operand_count - 1 == step->in_shapes[0]->rank;
}

/* Sizes follow x: one for each dimension, or one for each dynamic dimension of the result. */
static hr_status_t prepare_slice(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  (void)arena, (void)out_plan;
  const hlo_shape_t *x = step->in_shapes[0], *out = step->instr->shape;
  HR_TRY(check_operands(step, 1, HLO_MAX_RANK + 1));
  int dynamic = 0;
  for (int d = 0; d < out->rank; d++) dynamic += out->dynamic && out->dynamic[d];
  if (out->dtype != x->dtype || out->rank != x->rank || !hlo_shape_is_array(x))
    return hlo_error(step->instr, NULL, "operand and result have different types or ranks");
  if (!sizes_all_dims(step) && step->instr->operand_count - 1 != dynamic)
    return hlo_error(step->instr, NULL, "%d sizes, want one per dimension",
                     step->instr->operand_count - 1);
  for (int k = 1; k < step->instr->operand_count; k++)
    if (!hlo_shape_is_scalar(step->in_shapes[k]) || !hr_dtype_is_integer(step->in_shapes[k]->dtype))
      return hlo_error(step->instr, NULL, "operand %d must be a size", k);
  return NULL;
}

/* Copies the corner that is common to two arrays. */
static void copy_corner(const hlo_value_t *from, hlo_value_t *to) {
  int64_t dims[HLO_MAX_RANK], to_strides[HLO_MAX_RANK], from_strides[HLO_MAX_RANK];
  int bytes = (int)hr_dtype_bytes(from->dtype);
  loop_copy_t copy;
  loop_dense_strides(from->rank, from->dims, bytes, from_strides);
  loop_dense_strides(to->rank, to->dims, bytes, to_strides);
  for (int d = 0; d < to->rank; d++)
    dims[d] = to->dims[d] < from->dims[d] ? to->dims[d] : from->dims[d];
  loop_copy_init(&copy, bytes, to->rank, dims, to_strides, from_strides);
  loop_copy_run(&copy, to->data, from->data);
}

/* Sizes beyond the operand are an error of the program: there are no such elements. */
static hr_status_t run_slice(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  (void)env;
  const hlo_shape_t *out = step->instr->shape;
  int64_t dims[HLO_MAX_RANK];
  int next = 1;
  for (int d = 0; d < out->rank; d++) {
    dims[d] = in[0]->dims[d];
    if (!sizes_all_dims(step) && !(out->dynamic && out->dynamic[d])) continue;
    int64_t size = hlo_value_int_at(in[next++], 0);
    if (size < 0 || size > dims[d])
      return hlo_error(step->instr, NULL, "size %ld of dimension %d, want 0 to %ld", (long)size, d,
                       (long)dims[d]);
    dims[d] = size;
  }
  HR_TRY(hlo_value_array(in[0]->dtype, out->rank, dims, out_value));
  copy_corner(in[0], *out_value);
  return NULL;
}

const op_kernel_t custom_slice_to_dynamic = {prepare_slice, run_slice};

/* PadToStatic: x of dynamic sizes -> x padded with zeros to its bounds, then its sizes. The
 * bounds of the result may be larger than those of the operand, never smaller. */
static hr_status_t prepare_pad(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  (void)arena, (void)out_plan;
  const hlo_shape_t *out = step->out_shape, *x;
  HR_TRY(check_operands(step, 1, 1));
  x = step->in_shapes[0];
  if (!hlo_shape_is_tuple(out) || out->element_count != x->rank + 1 ||
      out->elements[0]->dtype != x->dtype || out->elements[0]->rank != x->rank)
    return hlo_error(step->instr, NULL,
                     "the result must be the padded array and the size of each dimension");
  for (int d = 0; d < x->rank; d++) {
    const hlo_shape_t *size = out->elements[1 + d];
    if (!hlo_shape_is_scalar(size) || size->dtype != HR_S32)
      return hlo_error(step->instr, NULL, "result %d must be a size", 1 + d);
    if (out->elements[0]->dims[d] < x->dims[d])
      return hlo_error(step->instr, NULL, "dimension %d has %ld elements, the result room for %ld",
                       d, (long)x->dims[d], (long)out->elements[0]->dims[d]);
  }
  return NULL;
}

/* hlo_value_zeros makes the padding; the corner and the sizes are then written over it. */
static hr_status_t run_pad(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                           hlo_value_t **out_value) {
  (void)env;
  hlo_value_t *out;
  HR_TRY(hlo_value_zeros(step->out_shape, &out));
  copy_corner(in[0], out->elements[0]);
  for (int d = 0; d < in[0]->rank; d++)
    *(int32_t *)out->elements[1 + d]->data = (int32_t)in[0]->dims[d];
  *out_value = out;
  return NULL;
}

const op_kernel_t custom_pad_to_static = {prepare_pad, run_pad};

/* X64SplitLow, X64SplitHigh: 64-bit integers -> their halves. X64Combine: low, high -> 64-bit
 * integers. */
static bool is_wide(const hlo_shape_t *shape) {
  return shape->dtype == HR_U64 || shape->dtype == HR_S64;
}
static bool is_half(const hlo_shape_t *shape) {
  return shape->dtype == HR_U32 || shape->dtype == HR_S32;
}

/* Operand and result may differ in signedness: only bits are moved. */
static hr_status_t prepare_split(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  (void)arena, (void)out_plan;
  HR_TRY(check_operands(step, 1, 1));
  if (is_wide(step->in_shapes[0]) && is_half(step->out_shape) &&
      hlo_shape_same_dims(step->in_shapes[0], step->out_shape))
    return NULL;
  return hlo_error(step->instr, NULL,
                   "want 64-bit integers, and a result of 32 bits of the same sizes");
}

/* The high half is the value shifted by 32, the low half is its conversion to 32 bits. */
static hr_status_t run_split(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                             hlo_value_t **out_value) {
  int shift = hr_str_is(op_custom_call_target(step->instr), "X64SplitHigh") ? 32 : 0;
  HR_TRY(op_output(env, step, out_value));
  for (int64_t i = 0; i < in[0]->count; i++)
    ((uint32_t *)(*out_value)->data)[i] = (uint32_t)(((const uint64_t *)in[0]->data)[i] >> shift);
  return NULL;
}

const op_kernel_t custom_split_x64 = {prepare_split, run_split};

/* The halves are operands low, high, of any signedness. */
static hr_status_t prepare_combine(hr_arena_t *arena, const op_step_t *step,
                                   const void **out_plan) {
  (void)arena, (void)out_plan;
  HR_TRY(check_operands(step, 2, 2));
  const hlo_shape_t *low = step->in_shapes[0], *high = step->in_shapes[1];
  if (is_half(low) && is_half(high) && is_wide(step->out_shape) && hlo_shape_same_dims(low, high) &&
      hlo_shape_same_dims(low, step->out_shape))
    return NULL;
  return hlo_error(step->instr, NULL,
                   "want two arrays of 32-bit integers, and a result of 64 bits of the same sizes");
}

static hr_status_t run_combine(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                               hlo_value_t **out_value) {
  HR_TRY(op_output(env, step, out_value));
  const uint32_t *low = in[0]->data, *high = in[1]->data;
  for (int64_t i = 0; i < in[0]->count; i++)
    ((uint64_t *)(*out_value)->data)[i] = low[i] | (uint64_t)high[i] << 32;
  return NULL;
}

const op_kernel_t custom_combine_x64 = {prepare_combine, run_combine};

/* shape_assertion: pred, then the integers that its message names by {0}, {1}, ... The result is
 * a token or an empty tuple. */
static hr_status_t prepare_assertion(hr_arena_t *arena, const op_step_t *step,
                                     const void **out_plan) {
  (void)arena, (void)out_plan;
  HR_TRY(check_operands(step, 1, 1 << 20));
  if (step->in_shapes[0]->dtype != HR_PRED || step->in_shapes[0]->rank != 0)
    return hlo_error(step->instr, NULL, "operand 0 must be a truth value");
  for (int k = 1; k < step->instr->operand_count; k++)
    if (!hlo_shape_is_scalar(step->in_shapes[k]) || !hr_dtype_is_integer(step->in_shapes[k]->dtype))
      return hlo_error(step->instr, NULL, "operand %d must be an integer", k);
  return prepare_nothing(arena, step, out_plan);
}

/* The program's own message, if a reader kept it. */
static hr_str_t assertion_message(hr_arena_t *arena, const hlo_instr_t *instr) {
  const dict_value_t *config, *message = NULL;
  hr_str_t text = hlo_frontend_attribute(instr, "error_message");
  hr_status_t st = text.size ? NULL : custom_config(arena, instr, &config);
  if (!st && !text.size) message = mlir_dict_find(config, "error_message");
  hr_status_release(st);
  return message ? message->text : text;
}

/* Replaces {k} by operand k + 1 as a decimal number. A number in braces beyond the operands, and
 * any other brace, is printed as it stands. Without a message, all operands are listed. */
static void write_message(hr_strbuf_t *text, hr_str_t message, const op_step_t *step,
                          hlo_value_t *const *in) {
  for (size_t i = 0; i < message.size; i++) {
    size_t end = i + 1;
    int k = 0;
    while (end < message.size && message.data[end] >= '0' && message.data[end] <= '9' && k < 10000)
      k = k * 10 + message.data[end++] - '0';
    bool is_placeholder = message.data[i] == '{' && end > i + 1 && end < message.size &&
                          message.data[end] == '}' && k + 1 < step->instr->operand_count;
    if (is_placeholder)
      hr_strbuf_add_int(text, hlo_value_int_at(in[k + 1], 0));
    else
      hr_strbuf_add_char(text, message.data[i]);
    if (is_placeholder) i = end;
  }
  if (message.size) return;
  hr_strbuf_add_str(text, "a shape is not what the program was made for; the sizes it looked at:");
  for (int k = 1; k < step->instr->operand_count; k++)
    hr_strbuf_printf(text, " %ld", (long)hlo_value_int_at(in[k], 0));
}

/* A true condition gives the empty result; a false one ends the run with the message. */
static hr_status_t run_assertion(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                 hlo_value_t **out_value) {
  if (*(const uint8_t *)in[0]->data) return hlo_value_zeros(step->out_shape, out_value);
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  write_message(&text, assertion_message(env->scratch, step->instr), step, in);
  hr_status_t st = hlo_error(step->instr, NULL, "assertion failed: %s", text.data ? text.data : "");
  hr_strbuf_deinit(&text);
  return st;
}

const op_kernel_t custom_shape_assertion = {prepare_assertion, run_assertion};

/* refuse: known targets that cannot run here. */
static hr_status_t prepare_refuse(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  (void)out_plan;
  hr_str_t target = op_custom_call_target(step->instr);
  const char *origin;
  HR_TRY(custom_origin(arena, step->instr, &origin));
  return hlo_unsupported(step->instr, "custom call '%.*s'%s cannot run here: %s",
                         HR_STR_ARGS(target), origin, op_custom_call_find(target)->note);
}

const op_kernel_t custom_refuse = {prepare_refuse, run_zeros};

/* callback: a Python function of the process that made the program. A callback without results
 * (debug.print) can be skipped; its tokens pass through. Each target is warned about once. `warned`
 * is a lock-free set of at most 8 rows of custom_calls.def: a row that finds a free slot claims it
 * and warns, one that finds itself has warned before; targets beyond 8 are skipped silently. */
static void warn_once(hr_str_t target, const char *origin) {
  static const op_custom_call_t *warned[8];
  const op_custom_call_t *call = op_custom_call_find(target);
  for (int i = 0; i < 8; i++) {
    const op_custom_call_t *expected = NULL;
    if (__atomic_compare_exchange_n(&warned[i], &expected, call, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      hr_log(HR_LOG_EXEC, HR_LOG_WARN,
             "calls of '%.*s'%s are skipped: they return nothing, and need Python",
             HR_STR_ARGS(target), origin);
      return;
    }
    if (expected == call) return;
  }
}

/* A branch for failures, as in equinox and diffrax, may have a callback that no run reaches. */
static bool is_always_run(const hlo_instr_t *instr) {
  return instr->parent == instr->parent->module->entry;
}

/* The error for a callback whose result is needed, with alternatives for the user. */
static hr_status_t refuse_callback(hr_arena_t *arena, const hlo_instr_t *instr) {
  const char *origin;
  hr_str_t target = op_custom_call_target(instr);
  HR_TRY(custom_origin(arena, instr, &origin));
  hr_status_t st = hlo_unsupported(
      instr,
      "'%.*s'%s calls a Python function for its result, and there is no Python here: replace the "
      "callback (pure_callback, io_callback) by JAX operations, or pass its result as an "
      "argument",
      HR_STR_ARGS(target), origin);
  if (is_always_run(instr)) return st;
  return hr_status_note(st,
                        "if it belongs to a check of equinox (error_if), the check has failed; "
                        "a program exported with EQX_ON_ERROR=nan has no callback");
}

/* A callback with results outside of the entry computation is refused only when it is reached. */
static hr_status_t prepare_callback(hr_arena_t *arena, const op_step_t *step,
                                    const void **out_plan) {
  (void)out_plan;
  const char *origin;
  hr_str_t target = op_custom_call_target(step->instr);
  HR_TRY(custom_origin(arena, step->instr, &origin));
  bool has_result = has_data(step->out_shape);
  if (has_result && is_always_run(step->instr)) return refuse_callback(arena, step->instr);
  if (!has_result) warn_once(target, origin);
  return NULL;
}

static hr_status_t run_callback(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                hlo_value_t **out_value) {
  if (has_data(step->out_shape)) return refuse_callback(env->scratch, step->instr);
  return run_zeros(env, step, in, out_value);
}

const op_kernel_t custom_callback = {prepare_callback, run_callback};
