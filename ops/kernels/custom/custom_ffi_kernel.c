/* Kernel of the custom calls of XLA's typed convention (ops/query/custom_ffi.h): builds the call
 * frame, with attributes decoded once from backend_config, and calls the handler of each stage.
 * Instantiation happens when the step is prepared; the other stages at each run. Elements narrower
 * than a byte are packed for the handler, the first in the low bits. The handler is trusted not to
 * write beyond the results. */
#include <stdlib.h>
#include <string.h>

#include "base/arena_own.h"
#include "ops/kernels/custom/custom_ffi_api.h"
#include "ops/kernels/custom/custom_guard.h"
#include "ops/kernels/custom/custom_layout.h"
#include "ops/query/custom_ffi.h"

/* One call: its handlers, its decoded attributes, and the state of its instantiation. */
typedef struct ffi_plan {
  const custom_ffi_bundle_t *bundle;
  const char *target;
  ffi_attrs_t attrs;
  ffi_states_t *states;
  int arg_count, ret_count;
} ffi_plan_t;

/* --- attributes --- */

/* Element type of MLIR's suffix (7 : i32, 1.0 : f32); without one, i64 and f64 as in MLIR. */
static hr_dtype_t type_of(const dict_value_t *value) {
  hr_dtype_t dtype = value->kind == DICT_FLOAT ? HR_F64 : HR_S64;
  char name[32];
  if (value->kind == DICT_BOOL || hr_str_is(value->type, "i1")) return HR_PRED;
  for (int t = 0; t < HR_DTYPE_COUNT; t++) {
    snprintf(name, sizeof name, "%.*s", HR_STR_ARGS(value->type));
    if (name[0] && !strcmp(hr_dtype_table[t].mlir_name, name)) return (hr_dtype_t)t;
  }
  return dtype;
}

/* Element type of "tensor<2xi64>" or array<...>: the text after the last 'x' or '<', without the
 * closing '>'. A list without a type has that of its first element. */
static hr_dtype_t list_type(const dict_value_t *list) {
  dict_value_t element = *list;
  for (size_t i = 0; i < list->type.size; i++)
    if (list->type.data[i] == 'x' || list->type.data[i] == '<')
      element.type = (hr_str_t){list->type.data + i + 1, list->type.size - i - 1};
  if (element.type.size && element.type.data[element.type.size - 1] == '>') element.type.size--;
  element.kind = list->count ? list->items[0].kind : DICT_INT;
  return type_of(&element);
}

/* Texts have no complex numbers; such a type would need more bytes than a number has. */
static hr_status_t check_number(const dict_value_t *value, hr_dtype_t dtype) {
  if (!hr_dtype_is_complex(dtype)) return NULL;
  return hr_error(HR_UNSUPPORTED, "attribute %.*s of a custom call: a number of type %s",
                  HR_STR_ARGS(value->name), hr_dtype_name(dtype));
}

/* Writes a number in the encoding of `dtype`. Little-endian: the low bytes of the integer are
 * copied. */
static void store_number(const dict_value_t *value, hr_dtype_t dtype, void *to) {
  double number = value->kind == DICT_FLOAT ? value->number : (double)value->integer;
  if (!hr_dtype_is_float(dtype)) {
    memcpy(to, &value->integer, hr_dtype_bytes(dtype));
    return;
  }
  if (dtype == HR_F64) {
    memcpy(to, &number, sizeof number);
  } else {
    uint64_t bits = hr_float_encode(dtype, number);
    memcpy(to, &bits, hr_dtype_bytes(dtype));
  }
}

/* The handler gets a pointer to 8 bytes, which begin with the number. */
static hr_status_t make_scalar(hr_arena_t *arena, const dict_value_t *value, void **out) {
  ffi_scalar_t *scalar;
  uint64_t *bytes;
  HR_TRY(HR_NEW(arena, &scalar));
  HR_TRY(HR_NEW(arena, &bytes));
  hr_dtype_t dtype = type_of(value);
  HR_TRY(check_number(value, dtype));
  store_number(value, dtype, bytes);
  *scalar = (ffi_scalar_t){hr_dtype_table[dtype].proto, bytes};
  *out = scalar;
  return NULL;
}

/* 8 more bytes are reserved, so that an empty array has an address, too. */
static hr_status_t make_array(hr_arena_t *arena, const dict_value_t *list, void **out) {
  ffi_array_t *array;
  char *bytes;
  hr_dtype_t dtype = list_type(list);
  size_t each = hr_dtype_bytes(dtype);
  HR_TRY(check_number(list, dtype));
  HR_TRY(HR_NEW(arena, &array));
  HR_TRY(HR_NEW_ARRAY(arena, (size_t)list->count * each + 8, &bytes));
  for (int i = 0; i < list->count; i++)
    store_number(&list->items[i], dtype, bytes + (size_t)i * each);
  *array = (ffi_array_t){hr_dtype_table[dtype].proto, (size_t)list->count, bytes};
  *out = array;
  return NULL;
}

static hr_status_t make_text(hr_arena_t *arena, hr_str_t from, void **out) {
  ffi_text_t *text;
  HR_TRY(HR_NEW(arena, &text));
  *text = (ffi_text_t){from.data, from.size};
  *out = text;
  return NULL;
}

static hr_status_t make_attrs(hr_arena_t *arena, const dict_value_t *dict, ffi_attrs_t *attrs);

/* An attribute by its kind; dictionaries nest. Unit and unknown attributes have no C form. */
static hr_status_t make_attr(hr_arena_t *arena, const dict_value_t *value, int *out_type,
                             void **out) {
  ffi_attrs_t *attrs;
  switch (value->kind) {
    case DICT_STRING:
      *out_type = FFI_ATTR_STRING;
      return make_text(arena, value->text, out);
    case DICT_LIST:
      *out_type = FFI_ATTR_ARRAY;
      return make_array(arena, value, out);
    case DICT_DICT:
      *out_type = FFI_ATTR_DICTIONARY;
      HR_TRY(HR_NEW(arena, &attrs));
      *out = attrs;
      return make_attrs(arena, value, attrs);
    case DICT_BOOL:
    case DICT_INT:
    case DICT_FLOAT:
      *out_type = FFI_ATTR_SCALAR;
      return make_scalar(arena, value, out);
    case DICT_UNIT:
    case DICT_OTHER:
      break;
  }
  return hr_error(HR_UNSUPPORTED,
                  "attribute %.*s of a custom call: want a number, text, array or "
                  "dictionary",
                  HR_STR_ARGS(value->name));
}

/* Handlers look attributes up by binary search: names are in the order of their bytes. */
static int compare_names(const void *a, const void *b) {
  const dict_value_t *const *x = a, *const *y = b;
  size_t size = (*x)->name.size < (*y)->name.size ? (*x)->name.size : (*y)->name.size;
  int order = memcmp((*x)->name.data, (*y)->name.data, size);
  return order ? order : (int)(*x)->name.size - (int)(*y)->name.size;
}

/* struct_size is the convention's version of a struct: handlers check it before they read. */
static hr_status_t make_attrs(hr_arena_t *arena, const dict_value_t *dict, ffi_attrs_t *attrs) {
  int count = dict ? dict->count : 0;
  const dict_value_t **sorted;
  *attrs = (ffi_attrs_t){.struct_size = sizeof *attrs, .count = count};
  HR_TRY(HR_NEW_ARRAY(arena, count, &sorted));
  HR_TRY(HR_NEW_ARRAY(arena, count, &attrs->types));
  HR_TRY(HR_NEW_ARRAY(arena, count, &attrs->names));
  HR_TRY(HR_NEW_ARRAY(arena, count, &attrs->values));
  for (int i = 0; i < count; i++) sorted[i] = &dict->items[i];
  if (count) qsort(sorted, (size_t)count, sizeof(dict_value_t *), compare_names);
  for (int i = 0; i < count; i++) {
    void *name;
    HR_TRY(make_text(arena, sorted[i]->name, &name));
    attrs->names[i] = name;
    HR_TRY(make_attr(arena, sorted[i], &attrs->types[i], &attrs->values[i]));
  }
  return NULL;
}

/* --- the stages --- */

/* Calls the handler of one stage, if there is one, and waits for its future. struct_size ends
 * before `future`, a field that handlers of older versions do not know. */
static hr_status_t call_stage(const ffi_plan_t *plan, int stage, ffi_states_t *states,
                              const ffi_buffers_t *args, const ffi_buffers_t *rets) {
  void *const handlers[] = {plan->bundle->instantiate, plan->bundle->prepare,
                            plan->bundle->initialize, plan->bundle->execute};
  if (!handlers[stage]) return NULL;
  const custom_ffi_context_t *context = custom_ffi_current();
  ffi_execution_t execution = {.states = states, .run_id = context ? context->run_id : 0};
  ffi_frame_t frame = {.struct_size = offsetof(ffi_frame_t, future),
                       .api = &custom_ffi_api,
                       .execution = &execution,
                       .stage = stage,
                       .args = {.struct_size = sizeof frame.args},
                       .rets = {.struct_size = sizeof frame.rets},
                       .attrs = plan->attrs};
  if (args) frame.args = *args;
  if (rets) frame.rets = *rets;
  void *error, *call[CUSTOM_GUARD_ARGS] = {&frame};
  hr_status_t st = custom_guard_call((void (*)(void))handlers[stage], call, &error);
  if (st) return hr_status_note(st, "while calling %s", plan->target);
  if (!error) error = custom_ffi_await(frame.future);
  return custom_ffi_status(error, plan->target);
}

/* Signature of a function for hr_arena_own. */
static void end_all_states(void *states) { custom_ffi_end_states(states, FFI_INSTANTIATE); }

/* Instantiation may fail with the handler's own error, which then is a compile-time error. */
static hr_status_t prepare_ffi(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  ffi_plan_t *plan;
  const dict_value_t *config;
  hr_str_t target = op_custom_call_target(step->instr);
  HR_TRY(HR_NEW(arena, &plan));
  HR_TRY(HR_NEW(arena, &plan->states));
  HR_TRY(hr_arena_own(arena, plan->states, end_all_states));
  HR_TRY(hr_arena_cstr(arena, target, &plan->target));
  plan->bundle = custom_ffi_find(target);
  if (!plan->bundle) return hlo_unsupported(step->instr, "its handler has been taken away");
  HR_TRY(custom_config(arena, step->instr, &config));
  HR_TRY(make_attrs(arena, config, &plan->attrs));
  plan->arg_count = step->instr->operand_count;
  plan->ret_count = custom_result_count(step->out_shape);
  *out_plan = plan;
  return call_stage(plan, FFI_INSTANTIATE, plan->states, NULL, NULL);
}

/* pred has a byte per element in memory; other types narrower than 8 bits are packed. */
static bool is_packed(hr_dtype_t dtype) {
  return hr_dtype_table[dtype].bits < 8 && dtype != HR_PRED && hr_dtype_is_array(dtype);
}

/* Element i goes to bits i % each * bits of byte i / each; a byte holds `each` elements. */
static void pack(const hlo_value_t *value, uint8_t *to) {
  int bits = hr_dtype_table[value->dtype].bits, each = 8 / bits;
  const uint8_t *from = value->data;
  memset(to, 0, (size_t)((value->count + each - 1) / each));
  for (int64_t i = 0; i < value->count; i++)
    to[i / each] |= (uint8_t)((from[i] & ((1u << bits) - 1)) << (i % each * bits));
}

/* The inverse of pack; the element is first shifted to the top of the byte, then back with its
 * sign. */
static void unpack(const uint8_t *from, hlo_value_t *value) {
  int bits = hr_dtype_table[value->dtype].bits, each = 8 / bits;
  bool is_signed = hr_dtype_class(value->dtype) == HR_CLASS_SIGNED;
  uint8_t *to = value->data;
  for (int64_t i = 0; i < value->count; i++) {
    uint8_t raised = (uint8_t)(from[i / each] >> (i % each * bits) << (8 - bits));
    to[i] = is_signed ? (uint8_t)((int8_t)raised >> (8 - bits)) : (uint8_t)(raised >> (8 - bits));
  }
}

/* One operand or result as a buffer of the handler. */
static hr_status_t make_buffer(hr_arena_t *arena, hlo_value_t *value, bool packs, void **out) {
  ffi_buffer_t *buffer;
  uint8_t *packed;
  HR_TRY(HR_NEW(arena, &buffer));
  *buffer = (ffi_buffer_t){.struct_size = sizeof *buffer,
                           .dtype = hr_dtype_table[value->dtype].proto,
                           .data = value->data,
                           .rank = value->rank,
                           .dims = (int64_t *)(uintptr_t)value->dims};
  if (packs && is_packed(value->dtype)) {
    HR_TRY(HR_NEW_ARRAY(arena, value->count + 1, &packed));
    pack(value, packed);
    buffer->data = packed;
  }
  *out = buffer;
  return NULL;
}

/* The handler gets one struct per operand or result, all of them described as buffers. */
static hr_status_t make_buffers(hr_arena_t *arena, int count, hlo_value_t *const *values,
                                bool packs, ffi_buffers_t *out) {
  *out = (ffi_buffers_t){.struct_size = sizeof *out, .count = count};
  HR_TRY(HR_NEW_ARRAY(arena, count, &out->types));
  HR_TRY(HR_NEW_ARRAY(arena, count, &out->buffers));
  for (int k = 0; k < count; k++) {
    out->types[k] = FFI_BUFFER;
    HR_TRY(make_buffer(arena, values[k], packs, &out->buffers[k]));
  }
  return NULL;
}

/* Results start as zeros; share_aliased fills those that alias an operand. */
static hr_status_t make_results(op_env_t *env, const op_step_t *step, int count,
                                hlo_value_t ***out_parts) {
  HR_TRY(HR_NEW_ARRAY(env->scratch, count, out_parts));
  for (int k = 0; k < count; k++)
    HR_TRY(hlo_value_zeros(custom_result_shape(step->out_shape, k), &(*out_parts)[k]));
  return NULL;
}

static hr_status_t call_stages(const ffi_plan_t *plan, const ffi_buffers_t *args,
                               const ffi_buffers_t *rets) {
  ffi_states_t states = *plan->states;
  hr_status_t st = NULL;
  for (int stage = FFI_PREPARE; !st && stage <= FFI_EXECUTE; stage++)
    st = call_stage(plan, stage, &states, args, rets);
  custom_ffi_end_states(&states, FFI_PREPARE);
  return st;
}

/* Packed results are unpacked into the values at the end; other handlers write the values
 * directly. */
static hr_status_t run_stages(op_env_t *env, const ffi_plan_t *plan, hlo_value_t *const *in,
                              hlo_value_t **parts) {
  ffi_buffers_t args, rets;
  bool packs = !plan->bundle->takes_bytes;
  HR_TRY(make_buffers(env->scratch, plan->arg_count, in, packs, &args));
  HR_TRY(make_buffers(env->scratch, plan->ret_count, parts, packs, &rets));
  HR_TRY(call_stages(plan, &args, &rets));
  for (int k = 0; k < plan->ret_count; k++)
    if (packs && is_packed(parts[k]->dtype))
      unpack(((const ffi_buffer_t *)rets.buffers[k])->data, parts[k]);
  return NULL;
}

/* The operands in the layouts of the call, as copies if these are not row-major. */
static hr_status_t order_operands(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                  hlo_value_t ***out_in) {
  int count = step->instr->operand_count;
  HR_TRY(HR_NEW_ARRAY(env->scratch, count, out_in));
  for (int k = 0; k < count; k++) {
    const hlo_shape_t *shape = custom_constrained_operand(step->instr, k);
    void *bytes;
    (*out_in)[k] = in[k];
    if (!shape || in[k]->dtype == HR_TUPLE) continue;
    HR_TRY(custom_in_layout(env, shape->layout, in[k], &bytes));
    if (bytes == in[k]->data) continue;
    HR_TRY(HR_NEW(env->scratch, &(*out_in)[k]));
    *(*out_in)[k] = *in[k];
    (*out_in)[k]->data = bytes;
  }
  return NULL;
}

/* Reorders the results, which the handler has written in the layouts of the call, to row-major. */
static hr_status_t order_results(op_env_t *env, const op_step_t *step, int count,
                                 hlo_value_t *const *parts) {
  const hlo_shape_t *shape = custom_constrained_result(step->instr);
  for (int k = 0; shape && k < count; k++)
    HR_TRY(custom_from_layout(env, custom_result_shape(shape, k)->layout, parts[k]));
  return NULL;
}

/* A result that aliases an operand starts with the operand's contents, and the handler gets it as
 * the operand, too: it updates this array in place, and the caller's array is unchanged. */
static void share_aliased(const op_step_t *step, hlo_value_t *const *parts, hlo_value_t **in) {
  const ffi_plan_t *plan = step->plan;
  const hlo_attr_t *attr = hlo_attr_find(step->instr, HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  const hlo_aliasing_t *list = attr ? attr->aliasing : NULL;
  for (int i = 0; list && i < list->count; i++) {
    const hlo_alias_t *alias = &list->aliases[i];
    int64_t k = alias->output_index.count ? alias->output_index.data[0] : 0;
    if (k >= plan->ret_count || alias->operand >= plan->arg_count || !parts[k]->data) continue;
    memcpy(parts[k]->data, in[alias->operand]->data, hlo_value_bytes(parts[k]));
    in[alias->operand] = parts[k];
  }
}

/* On failure the results are released here, as no tuple owns them. */
static hr_status_t run_ffi(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                           hlo_value_t **out_value) {
  const ffi_plan_t *plan = step->plan;
  hlo_value_t **parts = NULL, **ordered = NULL;
  hr_status_t st = make_results(env, step, plan->ret_count, &parts);
  if (!st) st = order_operands(env, step, in, &ordered);
  if (!st) share_aliased(step, parts, ordered);
  if (!st) st = run_stages(env, plan, ordered, parts);
  if (!st) st = order_results(env, step, plan->ret_count, parts);
  if (!st) return custom_result(step->out_shape, plan->ret_count, parts, out_value);
  for (int k = 0; parts && k < plan->ret_count; k++) hlo_value_release(parts[k]);
  return st;
}

const op_kernel_t custom_ffi = {prepare_ffi, run_ffi};
