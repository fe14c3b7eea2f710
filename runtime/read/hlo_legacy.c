/* Old versions of HLO text, back to 2018. Renamed ops and attributes are rows of hlo_legacy.def;
 * forms that take several instructions today (select of tuples, sort without comparator, dynamic
 * slices with a vector of starts) are expanded here. The last instruction of an expansion has the
 * name that the text gives. */
#include <string.h>

#include "read/hlo_reader.h"

/* Changes the draft of an old op, in addition to its present opcode. */
typedef hr_status_t (*modernize_op_fn)(read_hlo_t *r, read_draft_t *draft);
/* Converts the value of an old attribute into the present one. */
typedef hr_status_t (*modernize_attr_fn)(read_hlo_t *r, size_t at, hlo_attr_t *attr);

/* A row OLD_OP: an opcode of old versions, the present opcode, and a comparison's direction (-1:
 * none). */
typedef struct read_old_op {
  const char *text;
  hlo_opcode_t op;
  int direction;
  modernize_op_fn modernize;
} read_old_op_t;

/* A row OLD_ATTR: an old attribute of an op, and the present one. */
typedef struct old_attr {
  hlo_opcode_t op;
  const char *text;
  hlo_attr_kind_t kind;
  hlo_attr_key_t key;
  modernize_attr_fn modernize;
} old_attr_t;

/* For an old op that was only renamed: no operand or attribute changes. */
static hr_status_t op_none(read_hlo_t *r, read_draft_t *draft) {
  (void)r, (void)draft;
  return NULL;
}

/* A trace had no result. */
static hr_status_t op_drop_operands(read_hlo_t *r, read_draft_t *draft) {
  r->instrs.count = draft->operands_from;
  return hlo_shape_tuple(r->arena, 0, NULL, &draft->shape);
}

/* host-compute was an op of its own; today it is a custom call. */
static hr_status_t op_name_target(read_hlo_t *r, read_draft_t *draft) {
  (void)draft;
  hlo_attr_t target = {.key = HLO_ATTR_CUSTOM_CALL_TARGET, .text = HR_STR("host-compute")};
  HR_VEC_PUSH(&r->attrs, (read_attr_t){target, 0});
  return NULL;
}

/* For an old attribute of which only the name or kind has changed. */
static hr_status_t attr_none(read_hlo_t *r, size_t at, hlo_attr_t *attr) {
  (void)r, (void)at, (void)attr;
  return NULL;
}

/* is_cross_program_prefetch=true is index 0 today. */
static hr_status_t attr_prefetch(read_hlo_t *r, size_t at, hlo_attr_t *attr) {
  (void)r, (void)at;
  if (attr->flag)
    attr->integer = 0;
  else
    attr->key = HLO_ATTR_COUNT;
  return NULL;
}

/* replica_group_ids={0,0,1,1} gives each replica's group. */
static hr_status_t attr_group_ids(read_hlo_t *r, size_t at, hlo_attr_t *attr) {
  hr_ints_t ids = attr->ints;
  hr_ints_t *lists;
  int64_t count = 0, *members;
  hlo_groups_t *groups;
  for (int64_t i = 0; i < ids.count; i++) {
    if (ids.data[i] < 0 || ids.data[i] >= ids.count)
      return READ_ERROR_AT(&r->lexer, at, "found group %ld, want 0 to %ld", (long)ids.data[i],
                           (long)ids.count - 1);
    if (ids.data[i] >= count) count = ids.data[i] + 1;
  }
  HR_TRY(HR_NEW(r->arena, &groups));
  HR_TRY(HR_NEW_ARRAY(r->arena, count, &lists));
  HR_TRY(HR_NEW_ARRAY(r->arena, ids.count, &members));
  for (int64_t i = 0; i < ids.count; i++) lists[ids.data[i]].count++;
  for (int64_t g = 0, from = 0; g < count; g++) {
    lists[g].data = members + from;
    from += lists[g].count;
    lists[g].count = 0;
  }
  for (int64_t i = 0; i < ids.count; i++) {
    hr_ints_t *list = &lists[ids.data[i]];
    ((int64_t *)list->data)[list->count++] = i;
  }
  groups->groups = (hlo_int_lists_t){count, lists};
  attr->groups = groups;
  return NULL;
}

static const read_old_op_t old_ops[] = {
#define OLD_OP(text, op, direction, modernize) {text, HLO_##op, direction, op_##modernize},
#define OLD_ATTR(...)
#include "read/hlo_legacy.def"
#undef OLD_OP
#undef OLD_ATTR
};

static const old_attr_t old_attrs[] = {
#define OLD_OP(...)
#define OLD_ATTR(op, text, kind, key, modernize) \
  {HLO_##op, text, HLO_KIND_##kind, HLO_ATTR_##key, attr_##modernize},
#include "read/hlo_legacy.def"
#undef OLD_OP
#undef OLD_ATTR
};

/* Linear search: only opcodes that are unknown come here. */
const read_old_op_t *read_old_op_find(hr_str_t name, hlo_opcode_t *out_op) {
  for (size_t i = 0; i < sizeof old_ops / sizeof *old_ops; i++) {
    if (!hr_str_is(name, old_ops[i].text)) continue;
    *out_op = old_ops[i].op;
    return &old_ops[i];
  }
  return NULL;
}

/* Linear search: only names that no attribute has today come here. */
static const old_attr_t *find_old_attr(hlo_opcode_t op, hr_str_t name) {
  for (size_t i = 0; i < sizeof old_attrs / sizeof *old_attrs; i++)
    if ((old_attrs[i].op == op || old_attrs[i].op == HLO_OPCODE_COUNT) &&
        hr_str_is(name, old_attrs[i].text))
      return &old_attrs[i];
  return NULL;
}

/* An old enumeration without a key of its own is read as a mode. */
hr_status_t read_old_attr(read_hlo_t *r, read_draft_t *draft, hr_str_t name, bool *out_found) {
  read_lexer_t *l = &r->lexer;
  if (draft->op == HLO_CUSTOM_CALL && hr_str_is(name, "opaque"))
    return read_extra(r, draft, HR_STR("backend_config"), out_found);
  if (draft->op == HLO_DOT && hr_str_is(name, "sparsity")) {
    hr_pos_t pos = read_pos(l, l->token.at);
    return hr_error_at(HR_UNSUPPORTED, &pos, "sparse dot, which newer versions of HLO dropped");
  }
  const old_attr_t *old = find_old_attr(draft->op, name);
  *out_found = old != NULL;
  if (!old) return NULL;
  if (old->key < HLO_ATTR_COUNT && read_find_attr(r, draft, old->key))
    return read_want(l, "each attribute once");
  read_attr_t attr = {.called_from = r->called.count};
  HR_TRY(read_advance(l));
  size_t at = l->token.at;
  hlo_attr_key_t read_as =
      old->kind == HLO_KIND_ENUM && old->key == HLO_ATTR_COUNT ? HLO_ATTR_MODE : old->key;
  HR_TRY(read_attr_value(r, read_as, old->kind, &attr.attr));
  HR_TRY(old->modernize(r, at, &attr.attr));
  if (attr.attr.key < HLO_ATTR_COUNT && old->key < HLO_ATTR_COUNT) HR_VEC_PUSH(&r->attrs, attr);
  return NULL;
}

/* Forms that take several instructions today --------------------------------------------------- */

/* A select between tuples becomes one per element. Recursion is as deep as the tuple, which
 * read_shape has bounded. */
static hr_status_t select_elements(read_hlo_t *r, const read_draft_t *at, hlo_instr_t *const in[3],
                                   hlo_instr_t **out_instr) {
  const hlo_shape_t *shape = in[1]->shape;
  size_t from = r->nodes.count;
  if (!hlo_shape_is_tuple(shape))
    return read_append_simple(r, at, HLO_SELECT, shape, 3, in, NULL, out_instr);
  for (int i = 0; i < shape->element_count; i++) {
    hlo_instr_t *parts[3] = {in[0]};
    hlo_instr_t *element;
    hlo_attr_t index = {.key = HLO_ATTR_INDEX, .integer = i};
    for (int k = 1; k < 3; k++)
      HR_TRY(read_append_simple(r, at, HLO_GET_TUPLE_ELEMENT, shape->elements[i], 1, &in[k], &index,
                                &parts[k]));
    HR_TRY(select_elements(r, at, parts, &element));
    HR_VEC_PUSH(&r->nodes, element);
  }
  int count = (int)(r->nodes.count - from);
  hlo_instr_t *const *elements = (hlo_instr_t *const *)(r->nodes.data + from);
  HR_TRY(read_append_simple(r, at, HLO_TUPLE, shape, count, elements, NULL, out_instr));
  r->nodes.count = from;
  return NULL;
}

/* The last instruction of an expansion has the name that the text gave to the whole. */
static hr_status_t rename_last(read_hlo_t *r, const read_draft_t *draft, hlo_instr_t *instr) {
  if (!draft->name.size) return NULL;
  void *old;
  HR_TRY(hr_arena_str(r->arena, draft->name, &instr->name));
  HR_TRY(hr_map_put(&r->scope->names, instr->name, instr, &old));
  r->anonymous.count--; /* the name was the last to be added */
  if (!old) return NULL;
  return hr_error_at(HR_INVALID, &draft->pos, "instruction '%.*s' is defined twice",
                     HR_STR_ARGS(draft->name));
}

/* Both tuples must have the same shape. */
static hr_status_t select_tuples(read_hlo_t *r, read_draft_t *draft, hlo_instr_t **out_instr) {
  hlo_instr_t *in[3];
  memcpy(in, r->instrs.data + draft->operands_from, sizeof in);
  if (!hlo_shape_compatible(in[1]->shape, in[2]->shape))
    return READ_ERROR_AT(&r->lexer, draft->op_at,
                         "the tuples to select from have different shapes");
  HR_TRY(read_charge_tuple(r, draft->op_at, in[1]->shape));
  HR_TRY(select_elements(r, draft, in, out_instr));
  return rename_last(r, draft, *out_instr);
}

/* A vector of start indices, operand number `at`, becomes a scalar for each dimension. */
static hr_status_t split_starts(read_hlo_t *r, read_draft_t *draft, size_t at) {
  hlo_instr_t *vector = r->instrs.data[draft->operands_from + at];
  int64_t count = vector->shape->dims[0];
  int64_t one = 1;
  if (count > HLO_MAX_RANK || count < 0)
    return READ_ERROR_AT(&r->lexer, draft->op_at, "found %ld start indices, want at most %d",
                         (long)count, HLO_MAX_RANK);
  r->instrs.count--;
  for (int64_t i = 0; i < count; i++) {
    hlo_slice_dim_t *range;
    hlo_slice_t *slice;
    hlo_instr_t *part, *scalar;
    const hlo_shape_t *shape;
    HR_TRY(HR_NEW(r->arena, &range));
    HR_TRY(HR_NEW(r->arena, &slice));
    *range = (hlo_slice_dim_t){i, i + 1, 1};
    *slice = (hlo_slice_t){1, range};
    hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = slice};
    HR_TRY(hlo_shape_array(r->arena, vector->shape->dtype, 1, &one, &shape));
    HR_TRY(read_append_simple(r, draft, HLO_SLICE, shape, 1, &vector, &attr, &part));
    shape = hlo_shape_scalar(vector->shape->dtype);
    HR_TRY(read_append_simple(r, draft, HLO_RESHAPE, shape, 1, &part, NULL, &scalar));
    HR_VEC_PUSH(&r->instrs, scalar);
  }
  return NULL;
}

/* Two parameters per operand, and a comparison of the first two. -0 and NaN have their places in
 * the total order. */
static hr_status_t fill_comparator(read_hlo_t *r, const read_draft_t *draft) {
  size_t operands = r->instrs.count - draft->operands_from;
  hlo_instr_t *parameter;
  read_draft_t compare = {.op = HLO_COMPARE,
                          .async = HLO_OPCODE_COUNT,
                          .pos = draft->pos,
                          .op_at = draft->op_at,
                          .shape = hlo_shape_scalar(HR_PRED),
                          .operands_from = r->instrs.count,
                          .attrs_from = r->attrs.count,
                          .called_from = r->called.count};
  for (size_t i = 0; i < 2 * operands; i++) {
    hlo_attr_t number = {.key = HLO_ATTR_PARAMETER_NUMBER, .integer = (int64_t)i};
    const hlo_shape_t *shape =
        hlo_shape_scalar(r->instrs.data[draft->operands_from + i / 2]->shape->dtype);
    HR_TRY(read_append_simple(r, draft, HLO_PARAMETER, shape, 0, NULL, &number, &parameter));
  }
  for (size_t i = 0; i < 2; i++) HR_VEC_PUSH(&r->instrs, r->scope->computation->instrs.data[i]);
  hlo_attr_t direction = {.key = HLO_ATTR_DIRECTION, .integer = HLO_DIRECTION_LT};
  hlo_attr_t order = {.key = HLO_ATTR_TYPE, .integer = HLO_COMPARISON_TOTALORDER};
  HR_VEC_PUSH(&r->attrs, (read_attr_t){direction, 0});
  if (hr_dtype_is_float(r->instrs.data[compare.operands_from]->shape->dtype))
    HR_VEC_PUSH(&r->attrs, (read_attr_t){order, 0});
  HR_TRY(read_append(r, &compare, &r->scope->computation->root));
  r->instrs.count = compare.operands_from;
  r->attrs.count = compare.attrs_from;
  return NULL;
}

/* A sort without comparator is ascending by the first operand. */
static hr_status_t add_comparator(read_hlo_t *r, read_draft_t *draft) {
  read_scope_t scope;
  hlo_computation_t *computation;
  HR_TRY(read_generate_computation(r, "compare-less-than", &computation));
  HR_TRY(read_scope_open(r, &scope, computation));
  hr_status_t st = fill_comparator(r, draft);
  HR_TRY(hr_status_join(st, read_scope_close(r, &scope)));
  hlo_attr_t apply = {.key = HLO_ATTR_TO_APPLY, .called_count = 1};
  HR_VEC_PUSH(&r->attrs, (read_attr_t){apply, r->called.count});
  HR_VEC_PUSH(&r->called, computation);
  return NULL;
}

/* Called when operands and attributes of the draft are complete. */
hr_status_t read_modernize(read_hlo_t *r, read_draft_t *draft, hlo_instr_t **out_instr) {
  size_t count = r->instrs.count - draft->operands_from;
  hlo_instr_t *const *operands = r->instrs.data + draft->operands_from;
  if (draft->async < HLO_OPCODE_COUNT) return NULL;
  if (draft->old) {
    hlo_attr_t direction = {.key = HLO_ATTR_DIRECTION, .integer = draft->old->direction};
    if (draft->old->direction >= 0) HR_VEC_PUSH(&r->attrs, (read_attr_t){direction, 0});
    HR_TRY(draft->old->modernize(r, draft));
  }
  if (draft->op == HLO_SELECT && count == 3 && hlo_shape_is_tuple(operands[1]->shape))
    return select_tuples(r, draft, out_instr);
  if (draft->op == HLO_SORT && count && !read_find_attr(r, draft, HLO_ATTR_TO_APPLY))
    return add_comparator(r, draft);
  if (draft->op == HLO_DYNAMIC_SLICE && count == 2 && operands[1]->shape->rank == 1)
    return split_starts(r, draft, 1);
  if (draft->op == HLO_DYNAMIC_UPDATE_SLICE && count == 3 && operands[2]->shape->rank == 1)
    return split_starts(r, draft, 2);
  return NULL;
}
