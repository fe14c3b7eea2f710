/* Reading of computations and instructions, and the marking of asynchronous ops.
 * Ids of operands and callees must have been defined before: a file in a wrong order or with a
 * cycle is refused. Ids are computation << 32 | position in current files, and numbers unique in
 * the module in old ones. A draft (proto_draft_t) collects the parts of an instruction before it
 * is created; its scratch memory is released after each instruction. Names are made unique and
 * valid in HLO text, as in XLA. Cost: one hash lookup for each operand. */
#include <stdio.h>
#include <string.h>

#include "ir/name.h"
#include "ops/rules/builder.h"
#include "proto/proto_read.h"

/* Names ---------------------------------------------------------------------------------------- */

/* The first suffix tried is the number of names, so that equal names need few attempts. */
hr_status_t proto_make_name(proto_reader_t *p, hr_str_t wanted, hr_map_t *taken, void *holder,
                            hr_str_t *out_name) {
  hr_str_t base;
  HR_TRY(hlo_name_make_valid(p->arena, wanted, &base));
  *out_name = base;
  for (size_t next = taken->count; hr_map_get(taken, *out_name); next++) {
    const char *name;
    HR_TRY(hr_arena_printf(p->arena, &name, "%.*s.%zu", HR_STR_ARGS(base), next));
    *out_name = hr_str_from(name);
  }
  return hr_map_put(taken, *out_name, holder, NULL);
}

/* Opcodes -------------------------------------------------------------------------------------- */

/* Opcodes of old files. Six of them are comparisons with a direction. */
static const struct {
  const char *name;
  hlo_opcode_t op;
  const char *direction;
} old_ops[] = {
    {"equal-to", HLO_COMPARE, "EQ"},
    {"not-equal-to", HLO_COMPARE, "NE"},
    {"greater-than", HLO_COMPARE, "GT"},
    {"greater-than-or-equal-to", HLO_COMPARE, "GE"},
    {"less-than", HLO_COMPARE, "LT"},
    {"less-than-or-equal-to", HLO_COMPARE, "LE"},
    {"cross-replica-sum", HLO_ALL_REDUCE, NULL},
    {"generate-token", HLO_AFTER_ALL, NULL},
};

/* Finds the opcode by its name in HLO text or in old files. */
static hr_status_t find_opcode(proto_draft_t *draft) {
  hr_str_t name = draft->in.opcode;
  if (hlo_op_from_name(name, &draft->op)) return NULL;
  for (size_t i = 0; i < sizeof old_ops / sizeof *old_ops; i++) {
    if (!hr_str_is(name, old_ops[i].name)) continue;
    draft->op = old_ops[i].op;
    if (old_ops[i].direction) draft->in.comparison_direction = hr_str_from(old_ops[i].direction);
    return NULL;
  }
  return PROTO_ERROR("unknown opcode '%.*s'", HR_STR_ARGS(name));
}

/* Finds operands by id. A negative count -1 - n in the op table means at least n. */
static hr_status_t find_operands(proto_reader_t *p, proto_draft_t *draft) {
  hr_ints_t ids;
  int want = hlo_op_table[draft->op].operands;
  HR_TRY(proto_ints(&p->scratch, draft->in.operand_ids, &ids));
  HR_TRY(HR_NEW_ARRAY(&p->scratch, ids.count, &draft->operands));
  for (int64_t i = 0; i < ids.count; i++) {
    draft->operands[i] = proto_find_instr(p, ids.data[i]);
    if (!draft->operands[i])
      return PROTO_ERROR("operand %ld, of id %ld, is not defined before this", (long)i,
                         (long)ids.data[i]);
  }
  draft->operand_count = (int)ids.count;
  if (want >= 0 ? ids.count == want : ids.count >= -1 - want) return NULL;
  const char *bound = want < 0 ? "at least " : "";
  int limit = want < 0 ? -1 - want : want;
  return PROTO_ERROR("%s has %ld operands, want %s%d", hlo_op_name(draft->op), (long)ids.count,
                     bound, limit);
}

/* Finds called computations, which must have been read before. */
static hr_status_t find_called(proto_reader_t *p, proto_draft_t *draft) {
  hr_ints_t ids;
  HR_TRY(proto_ints(&p->scratch, draft->in.called_computation_ids, &ids));
  HR_TRY(HR_NEW_ARRAY(&p->scratch, ids.count, &draft->called));
  for (int64_t i = 0; i < ids.count; i++) {
    draft->called[i] = hr_map_get(&p->computations, (hr_str_t){(const char *)&ids.data[i], 8});
    if (!draft->called[i])
      return PROTO_ERROR("calls computation %ld, which is not defined before this",
                         (long)ids.data[i]);
  }
  draft->called_count = (int)ids.count;
  return NULL;
}

/* Reads the literal of a constant. Constants are static: dynamic sizes become their bounds. A
 * constant without a literal (elided by the writer) has no value. */
static hr_status_t read_constant(proto_reader_t *p, proto_draft_t *draft) {
  const hlo_shape_t *literal_shape;
  const hlo_shape_t *dynamic_shape = draft->shape;
  char found[HLO_SHAPE_TEXT], want[HLO_SHAPE_TEXT];
  if (dynamic_shape->dynamic) {
    HR_TRY(hlo_shape_array(p->arena, dynamic_shape->dtype, dynamic_shape->rank, dynamic_shape->dims,
                           &draft->shape));
    HR_TRY(hlo_shape_with_layout(p->arena, draft->shape, dynamic_shape->layout, &draft->shape));
  }
  if (!draft->in.literal.count) return NULL;
  HR_TRY(proto_read_literal(p, draft->in.literal, &literal_shape, &draft->literal));
  if (hlo_value_fits(draft->literal, draft->shape)) return NULL;
  return PROTO_ERROR("the literal is %s, want %s", hlo_shape_text(literal_shape, found),
                     hlo_shape_text(draft->shape, want));
}

/* Parameter numbers have no gaps. Checking them against the size of the file bounds the list of
 * parameters for hostile numbers. */
static hr_status_t check_parameter(proto_reader_t *p, const proto_draft_t *draft,
                                   const hlo_computation_t *computation) {
  int64_t number = draft->in.parameter_number;
  int64_t have = (int64_t)computation->params.count;
  int64_t limit = (int64_t)p->module->source.size_bytes;
  if (draft->op != HLO_PARAMETER) return NULL;
  int64_t slots = number >= have && number <= limit ? number + 1 - have : 0;
  if (number < 0 || number > limit || p->parameter_slots + slots > limit)
    return PROTO_ERROR("parameter number %ld, want numbers from 0 on, without gaps", (long)number);
  p->parameter_slots += slots;
  return NULL;
}

/* Sets flags of the computations that the new instruction calls: fusion body, execution thread. */
static void mark_called_computations(hlo_instr_t *instr) {
  if (instr->op == HLO_FUSION && instr->called_count) instr->called[0]->is_fusion = true;
  hr_str_t thread = hlo_attr_str(instr, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  if (instr->op == HLO_ASYNC_START && instr->called_count && thread.size &&
      !instr->called[0]->execution_thread.size)
    instr->called[0]->execution_thread = thread;
}

#define ATTRS_MAX 32 /* larger than the number of attributes of any op */

/* Adds an instruction. `id` is the storage of its map key, which must outlive the computation. Ids
 * of old files have 32 bits: the map finds them by the low half. */
static hr_status_t read_instr(proto_reader_t *p, hlo_computation_t *computation,
                              proto_draft_t *draft, int64_t *id) {
  hlo_attr_t attrs[ATTRS_MAX];
  hlo_instr_def_t def = {.name = HR_STR("_")};
  hlo_instr_t *instr;
  HR_TRY(find_opcode(draft));
  HR_TRY(proto_read_shape(p, draft->in.shape, &draft->shape));
  HR_TRY(find_operands(p, draft));
  HR_TRY(find_called(p, draft));
  HR_TRY(check_parameter(p, draft, computation));
  if (draft->op == HLO_CONSTANT) HR_TRY(read_constant(p, draft));
  HR_TRY(proto_read_attrs(p, draft, attrs, &def));
  HR_TRY(proto_read_extra(p, draft, &def.extra));
  def.op = draft->op;
  def.shape = draft->shape;
  def.operand_count = draft->operand_count;
  def.operands = draft->operands;
  def.literal = draft->literal;
  HR_TRY(hlo_instr_add(computation, &def, &instr));
  hr_str_t wanted = draft->in.name.size ? draft->in.name : hr_str_from(hlo_op_name(draft->op));
  HR_TRY(proto_make_name(p, wanted, &p->names, instr, &instr->name));
  mark_called_computations(instr);
  void *old;
  *id = draft->in.id;
  HR_TRY(hr_map_put(&p->instrs, (hr_str_t){(const char *)id, 8}, instr, &old));
  if (old)
    return PROTO_ERROR("id %ld is that of %.*s already", (long)*id,
                       HR_STR_ARGS(((hlo_instr_t *)old)->name));
  return hr_map_put(&p->instrs, (hr_str_t){(const char *)id, 4}, instr, &old);
}

/* Errors include position, opcode and name of the instruction. */
static hr_status_t read_instrs(proto_reader_t *p, hlo_computation_t *computation,
                               proto_list_t list) {
  int64_t *ids;
  proto_draft_t *draft;
  HR_TRY(HR_NEW_ARRAY(&p->scratch, list.count, &ids));
  HR_TRY(HR_NEW(&p->scratch, &draft));
  for (int64_t i = 0; i < list.count; i++) {
    hr_arena_mark_t mark = hr_arena_mark(&p->scratch);
    *draft = (proto_draft_t){0};
    hr_status_t st = PROTO_DECODE(&p->scratch, instr, proto_piece(&list.items[i]), &draft->in);
    if (!st) st = read_instr(p, computation, draft, &ids[i]);
    if (st)
      return hr_status_note(st, "in instruction %ld of computation %.*s, %.*s '%.*s'", (long)i,
                            HR_STR_ARGS(computation->name), HR_STR_ARGS(draft->in.opcode),
                            HR_STR_ARGS(draft->in.name));
    hr_arena_rewind(&p->scratch, mark);
  }
  return NULL;
}

/* Computations --------------------------------------------------------------------------------- */

/* Sorts the instructions by the schedule. A slot becomes NULL when its instruction is scheduled,
 * which detects repetitions. */
static hr_status_t apply_schedule(proto_reader_t *p, hlo_computation_t *computation,
                                  const hr_ints_t *schedule) {
  hlo_instr_t **order;
  size_t count = computation->instrs.count;
  if ((size_t)schedule->count != count)
    return PROTO_ERROR("the schedule of %.*s has %ld instructions, want all %zu",
                       HR_STR_ARGS(computation->name), (long)schedule->count, count);
  HR_TRY(HR_NEW_ARRAY(&p->scratch, count, &order));
  for (size_t i = 0; i < count; i++) {
    hlo_instr_t *instr = proto_find_instr(p, schedule->data[i]);
    if (!instr || !computation->instrs.data[instr->id])
      return PROTO_ERROR(
          "the schedule of %.*s lists instruction %ld, which it does not have, or lists it twice",
          HR_STR_ARGS(computation->name), (long)schedule->data[i]);
    order[i] = instr;
    computation->instrs.data[instr->id] = NULL;
  }
  for (size_t i = 0; i < count; i++) {
    computation->instrs.data[i] = order[i];
    order[i]->id = (uint32_t)i;
  }
  return NULL;
}

/* Reads instructions, root, and the schedule if there is one. */
static hr_status_t read_body(proto_reader_t *p, hlo_computation_t *computation,
                             const proto_computation_t *in, const hr_ints_t *schedule) {
  HR_TRY(read_instrs(p, computation, in->instructions));
  computation->root = proto_find_instr(p, in->root_id);
  if (!computation->root)
    return PROTO_ERROR("computation %.*s does not have its root, of id %ld",
                       HR_STR_ARGS(computation->name), (long)in->root_id);
  return schedule->count ? apply_schedule(p, computation, schedule) : NULL;
}

/* The computation is entered into the map last, so that it cannot call itself. */
hr_status_t proto_read_computation(proto_reader_t *p, const proto_computation_t *in,
                                   const hr_ints_t *schedule) {
  hlo_computation_t *computation;
  int64_t *id;
  void *old;
  HR_TRY(hlo_computation_add(p->module, HR_STR("_"), &computation));
  HR_TRY(proto_make_name(p, in->name, &p->computation_names, computation, &computation->name));
  computation->execution_thread = in->execution_thread;
  computation->is_fusion = in->is_fusion;
  hr_map_clear(&p->instrs);
  hr_map_clear(&p->names);
  HR_TRY(read_body(p, computation, in, schedule));
  HR_TRY(HR_NEW(p->arena, &id)); /* entered last: it cannot call itself */
  *id = in->id;
  HR_TRY(hr_map_put(&p->computations, (hr_str_t){(const char *)id, 8}, computation, &old));
  return old ? PROTO_ERROR("two computations have the id %ld", (long)*id) : NULL;
}

/* Async operations ----------------------------------------------------------------------------- */

/* True if the computation is one op on its parameters in order, which HLO text can print as
 * OP-start. False if that is the name of another op. */
static bool wraps_one_op(const hlo_computation_t *computation) {
  const hlo_instr_t *root = computation->root;
  char name[64];
  hlo_opcode_t op;
  size_t params = computation->params.count;
  if (computation->instrs.count != params + 1 || (size_t)root->operand_count != params)
    return false;
  if (hlo_op_is(root->op, OP_LEAF)) return false;
  for (size_t i = 0; i < params; i++)
    if (root->operands[i] != computation->params.data[i]) return false;
  int size = snprintf(name, sizeof name, "%s-start", hlo_op_name(root->op));
  return !hlo_op_from_name((hr_str_t){name, (size_t)size}, &op);
}

/* The async-start of a chain of updates and done; NULL if the operands lead elsewhere. */
static const hlo_instr_t *chain_start(const hlo_instr_t *instr) {
  while (instr->op == HLO_ASYNC_UPDATE || instr->op == HLO_ASYNC_DONE) instr = instr->operands[0];
  return instr->op == HLO_ASYNC_START ? instr : NULL;
}

/* Sets async_sugar if the short notation loses nothing: one caller, a body of one op, and
 * async-start's tuple shapes. Updates and dones take the value of their start. */
static void mark_async(hlo_instr_t *instr, const int *callers) {
  bool async =
      instr->op == HLO_ASYNC_START || instr->op == HLO_ASYNC_UPDATE || instr->op == HLO_ASYNC_DONE;
  if (!async) return;
  if (instr->op != HLO_ASYNC_START) {
    const hlo_instr_t *start = chain_start(instr);
    instr->async_sugar = start && start->async_sugar;
    return;
  }
  const hlo_shape_t *shape = instr->shape;
  hlo_computation_t *body = instr->called[0];
  bool fits = hlo_shape_is_tuple(shape) && shape->element_count >= 2 &&
              hlo_shape_is_tuple(shape->elements[0]) &&
              (size_t)instr->operand_count == body->params.count;
  if (!fits || callers[body->id] != 1 || !wraps_one_op(body)) return;
  instr->async_sugar = true;
  body->is_async_wrapper = true;
}

/* Counts calls of each computation. async-update and async-done repeat the call of their start. */
static void count_callers(const hlo_computation_t *computation, int *callers) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    bool repeats = instr->op == HLO_ASYNC_UPDATE || instr->op == HLO_ASYNC_DONE;
    for (int k = 0; k < instr->called_count && !repeats; k++) callers[instr->called[k]->id]++;
  }
}

/* The entry counts as called, so that it is always printed separately. */
hr_status_t proto_mark_async(proto_reader_t *p) {
  const hlo_module_t *module = p->module;
  int *callers;
  HR_TRY(HR_NEW_ARRAY(&p->scratch, module->computations.count, &callers));
  callers[module->entry->id]++; /* always printed separately */
  for (size_t c = 0; c < module->computations.count; c++)
    count_callers(module->computations.data[c], callers);
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++)
      mark_async(module->computations.data[c]->instrs.data[i], callers);
  return NULL;
}
