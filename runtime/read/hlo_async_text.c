/* Asynchronous ops written as OP-start, OP-update and OP-done. The text has no body: a computation
 * of one op on its parameters is generated for OP-start, and marked hidden so that the printer
 * writes the short notation again. Attributes belong to the wrapped op. */
#include <string.h>

#include "read/hlo_reader.h"

/* OP-start(operands) stands for an async-start that calls a computation with OP alone. */

/* Splits NAME-start; ops such as copy-start that exist under that name are not asynchronous
 * wrappers. */
bool read_async_op(hr_str_t name, hlo_opcode_t *out_async, hlo_opcode_t *out_wrapped) {
  static const struct {
    const char *suffix;
    hlo_opcode_t op;
  } suffixes[] = {
      {"-start", HLO_ASYNC_START}, {"-update", HLO_ASYNC_UPDATE}, {"-done", HLO_ASYNC_DONE}};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    size_t size = strlen(suffixes[i].suffix);
    if (name.size <= size || memcmp(name.data + name.size - size, suffixes[i].suffix, size) != 0)
      continue;
    hlo_opcode_t wrapped;
    if (!hlo_op_from_name((hr_str_t){name.data, name.size - size}, &wrapped)) return false;
    *out_async = suffixes[i].op;
    *out_wrapped = wrapped;
    return true;
  }
  return false;
}

/* The op that an async-start, -update or -done is about; HLO_OPCODE_COUNT if it is about none. */
static hlo_opcode_t wrapped_op(const hlo_instr_t *instr) {
  while (instr->op == HLO_ASYNC_UPDATE && instr->operand_count) instr = instr->operands[0];
  if (instr->op != HLO_ASYNC_START || !instr->called_count || !instr->called[0]->root)
    return HLO_OPCODE_COUNT;
  return instr->called[0]->root->op;
}

/* The body: a parameter per operand, and the op. */
static hr_status_t fill_wrapper(read_hlo_t *r, read_draft_t *draft) {
  read_draft_t inner = *draft;
  hlo_instr_t *root;
  int count = (int)(r->instrs.count - draft->operands_from);
  inner.async = HLO_OPCODE_COUNT;
  inner.shape = draft->shape->elements[1];
  inner.name = hr_str_from(hlo_op_name(draft->op));
  inner.extras_seen = 0;
  inner.operands_from = r->instrs.count;
  for (int i = 0; i < count; i++) {
    hlo_attr_t number = {.key = HLO_ATTR_PARAMETER_NUMBER, .integer = i};
    hlo_instr_t *parameter;
    const hlo_shape_t *shape = r->instrs.data[draft->operands_from + (size_t)i]->shape;
    HR_TRY(read_append_simple(r, draft, HLO_PARAMETER, shape, 0, NULL, &number, &parameter));
    HR_VEC_PUSH(&r->instrs, parameter);
  }
  HR_TRY(read_append(r, &inner, &root));
  r->instrs.count = inner.operands_from;
  r->scope->computation->root = root;
  return NULL;
}

/* Generates the body: parameters and the wrapped op. */
static hr_status_t make_wrapper(read_hlo_t *r, read_draft_t *draft,
                                hlo_computation_t **out_wrapper) {
  read_scope_t scope;
  HR_TRY(read_generate_computation(r, "async_wrapped", out_wrapper));
  (*out_wrapper)->is_async_wrapper = true;
  HR_TRY(read_scope_open(r, &scope, *out_wrapper));
  hr_status_t st = fill_wrapper(r, draft);
  return hr_status_join(st, read_scope_close(r, &scope));
}

/* async-start with the generated body. */
static hr_status_t append_start(read_hlo_t *r, read_draft_t *draft, hlo_instr_t **out_instr) {
  const hlo_shape_t *shape = draft->shape;
  hlo_computation_t *wrapper;
  if (!shape || !hlo_shape_is_tuple(shape) || shape->element_count < 2 ||
      !hlo_shape_is_tuple(shape->elements[0]))
    return READ_ERROR_AT(&r->lexer, draft->op_at,
                         "%s-start needs a result such as ((operands), result, ...)",
                         hlo_op_name(draft->op));
  HR_TRY(make_wrapper(r, draft, &wrapper));
  draft->op = HLO_ASYNC_START;
  r->attrs.count = draft->attrs_from;
  hlo_attr_t thread = {.key = HLO_ATTR_ASYNC_EXECUTION_THREAD, .text = draft->thread};
  hlo_attr_t calls = {.key = HLO_ATTR_CALLS, .called_count = 1};
  if (draft->has_thread) HR_VEC_PUSH(&r->attrs, (read_attr_t){thread, 0});
  HR_VEC_PUSH(&r->attrs, (read_attr_t){calls, r->called.count});
  HR_VEC_PUSH(&r->called, wrapper);
  return read_append(r, draft, out_instr);
}

/* async-update and async-done find the wrapped op through their operand. */
static hr_status_t append_rest(read_hlo_t *r, read_draft_t *draft, hlo_instr_t **out_instr) {
  hlo_opcode_t wrapped = draft->wrapped;
  hlo_opcode_t found = HLO_OPCODE_COUNT;
  if (r->instrs.count - draft->operands_from == 1)
    found = wrapped_op(r->instrs.data[draft->operands_from]);
  if (found != wrapped)
    return READ_ERROR_AT(&r->lexer, draft->op_at,
                         "the operand is no pending %s, want the result of %s-start",
                         hlo_op_name(wrapped), hlo_op_name(wrapped));
  return read_append(r, draft, out_instr);
}

/* OP-start, -update or -done, which stand for async ops with a wrapped computation. The mark makes
 * the printer write the short form again. */
hr_status_t read_append_async(read_hlo_t *r, read_draft_t *draft, hlo_instr_t **out_instr) {
  HR_TRY(draft->async == HLO_ASYNC_START ? append_start(r, draft, out_instr)
                                         : append_rest(r, draft, out_instr));
  (*out_instr)->async_sugar = true;
  return NULL;
}
