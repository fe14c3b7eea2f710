/* HLO text of instructions:
 *   instruction ::= "ROOT"? name "=" shape? opcode "(" operands ")" ("," attribute)*
 *   operand     ::= shape? (name ("#" int)* | opcode "(" operands ")")
 *   attribute   ::= key "=" value                  the keys of an op are its row in op_attrs.def
 * A draft (read_draft_t) collects the parts; operands, attributes and called computations are on
 * the reader's stacks, from the draft's marks up. Operands may be instructions themselves (nested
 * form of old texts); frames of that recursion are kept small (READ_OP_FRAME). Shapes that the
 * text leaves out are inferred. Unknown opcodes are reported with the nearest known one. */
#include <string.h>

#include "base/nearest_name.h"
#include "ops/rules/build_rules.h"
#include "ops/rules/builder.h"
#include "read/hlo_reader.h"

/* Instructions: NAME = SHAPE OPCODE(OPERANDS), ATTRIBUTES. */

/* Counts one level; INVALID beyond READ_DEPTH_MAX. */
hr_status_t read_deeper(read_hlo_t *r, const char *what) {
  if (++r->depth <= READ_DEPTH_MAX) return NULL;
  return READ_ERROR_AT(&r->lexer, r->lexer.token.at, "%s nested more than %d deep", what,
                       READ_DEPTH_MAX);
}

/* Appending ------------------------------------------------------------------------------------ */

/* Number of nodes of a shape, at most `limit`: shapes that share elements may be far larger than
 * they look. A shape that is nested too deep counts as too large. */
static int64_t count_nodes(const hlo_shape_t *shape, int64_t limit, int depth) {
  int64_t count = depth > READ_DEPTH_MAX ? limit + 1 : 1;
  for (int i = 0; i < shape->element_count && count <= limit; i++)
    count += count_nodes(shape->elements[i], limit - count, depth + 1);
  return count;
}

/* Such shapes share elements, so that their nodes are counted rather than their memory. */
hr_status_t read_charge_tuple(read_hlo_t *r, size_t at, const hlo_shape_t *shape) {
  if (!hlo_shape_is_tuple(shape)) return NULL;
  int64_t limit = 65536 + 16 * (int64_t)r->lexer.size - r->inferred_nodes;
  int64_t nodes = count_nodes(shape, limit, 1);
  r->inferred_nodes += nodes;
  return nodes <= limit ? NULL
                        : READ_ERROR_AT(&r->lexer, at,
                                        "the tuple that is meant is far larger than the program");
}

/* Numbers of parameters have no gaps. */
static hr_status_t check_parameter(read_hlo_t *r, const read_draft_t *draft) {
  read_attr_t *attr = read_find_attr(r, draft, HLO_ATTR_PARAMETER_NUMBER);
  int64_t number = attr->attr.integer;
  int64_t have = (int64_t)r->scope->computation->params.count;
  int64_t slots = number >= have && number < INT64_MAX ? number + 1 - have : 0;
  /* Each parameter takes some bytes of text, so that numbers without gaps stay below its size. */
  if (number < 0 || number > (int64_t)r->lexer.size ||
      r->parameter_slots + slots > (int64_t)r->lexer.size)
    return READ_ERROR_AT(&r->lexer, draft->op_at,
                         "parameter number %ld, want numbers from 0 on, without gaps",
                         (long)number);
  r->parameter_slots += slots;
  return NULL;
}

/* A negative count -1 - n in the op's row means at least n. */
static hr_status_t check_operand_count(read_hlo_t *r, const read_draft_t *draft) {
  int row = hlo_op_table[draft->op].operands;
  int found = (int)(r->instrs.count - draft->operands_from);
  bool is_minimum = row < 0;
  int want = is_minimum ? -1 - row : row;
  if (is_minimum ? found >= want : found == want) return NULL;
  if (draft->op == HLO_RNG && found == 3) return NULL; /* sizes: read_unify_types drops them */
  return READ_ERROR_AT(&r->lexer, draft->op_at, "%s has %d operand%s, want %s%d",
                       hlo_op_name(draft->op), found, found == 1 ? "" : "s",
                       is_minimum ? "at least " : "", want);
}

/* Puts the attributes into the op's order, and the computations into theirs. */
static hr_status_t order_attrs(read_hlo_t *r, const read_draft_t *draft, hlo_attr_t *attrs,
                               hlo_instr_def_t *def) {
  const hlo_op_info_t *op = &hlo_op_table[draft->op];
  size_t first = r->called.count;
  for (int i = 0; i < op->attr_count; i++) {
    hlo_attr_key_t key = (hlo_attr_key_t)op->attrs[i].key;
    const read_attr_t *attr = read_find_attr(r, draft, key);
    if (!attr && op->attrs[i].use == HLO_USE_NEED)
      return READ_ERROR_AT(&r->lexer, draft->op_at, "%s lacks its attribute %s=", op->name,
                           hlo_attr_table[key].text);
    if (!attr) continue;
    attrs[def->attr_count++] = attr->attr;
    bool calls = hlo_attr_table[key].kind == HLO_KIND_COMPUTATION ||
                 hlo_attr_table[key].kind == HLO_KIND_COMPUTATIONS;
    for (int64_t k = 0; calls && k < attr->attr.called_count; k++)
      HR_VEC_PUSH(&r->called, r->called.data[attr->called_from + (size_t)k]);
  }
  def->attrs = attrs;
  def->called = r->called.data + first;
  def->called_count = (int)(r->called.count - first);
  return NULL;
}

/* Repeats the sharding of a tuple-shaped instruction for each of its leaves. */
static hr_status_t expand_sharding(read_hlo_t *r, const hlo_instr_t *instr, hlo_extra_t *extra) {
  const hlo_sharding_t *leaf = extra->sharding;
  const hlo_sharding_t **elements;
  if (!leaf || leaf->kind == HLO_TILE_KIND_TUPLE || !hlo_shape_is_tuple(instr->shape)) return NULL;
  int count = hlo_shape_leaf_count(instr->shape);
  hlo_sharding_t *tuple;
  if (!count) return NULL;
  HR_TRY(HR_NEW(r->arena, &tuple));
  HR_TRY(HR_NEW_ARRAY(r->arena, count, &elements));
  for (int i = 0; i < count; i++) elements[i] = leaf;
  tuple->kind = HLO_TILE_KIND_TUPLE;
  tuple->element_count = count;
  tuple->elements = elements;
  extra->sharding = tuple;
  return NULL;
}

/* Instructions without names wait for the end of the scope, when all written names are known. */
static hr_status_t register_name(read_hlo_t *r, const read_draft_t *draft, hlo_instr_t *instr) {
  if (!draft->name.size) {
    HR_VEC_PUSH(&r->anonymous, instr);
    return NULL;
  }
  void *old;
  HR_TRY(hr_map_put(&r->scope->names, instr->name, instr, &old));
  if (!old) return NULL;
  return hr_error_at(HR_INVALID, &draft->pos,
                     "instruction '%.*s' is defined twice, first in line %u",
                     HR_STR_ARGS(draft->name), ((hlo_instr_t *)old)->line);
}

/* Sets flags of the computations that the new instruction calls. */
static void mark_called(hlo_instr_t *instr) {
  if (instr->op == HLO_FUSION && instr->called_count) instr->called[0]->is_fusion = true;
  hr_str_t thread = hlo_attr_str(instr, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  if (instr->op == HLO_ASYNC_START && instr->called_count && thread.size &&
      !instr->called[0]->execution_thread.size)
    instr->called[0]->execution_thread = thread;
}

/* Ops without inference, such as constants, must have written shapes. */
static hr_status_t check_shape_written(read_hlo_t *r, const read_draft_t *draft) {
  if (draft->shape || op_has_inference(draft->op)) return NULL;
  return READ_ERROR_AT(&r->lexer, draft->op_at,
                       "the shape of %s does not follow from its operands, want it written",
                       hlo_op_name(draft->op));
}

#define ATTRS_MAX 32 /* more than any op has */

/* Creates the instruction from the draft; shapes that the text omits are inferred. */
READ_OP_FRAME hr_status_t read_append(read_hlo_t *r, const read_draft_t *draft,
                                      hlo_instr_t **out_instr) {
  hlo_attr_t attrs[ATTRS_MAX];
  hlo_instr_def_t def = {.op = draft->op,
                         .name = draft->name,
                         .shape = draft->shape,
                         .literal = draft->literal,
                         .line = draft->pos.line,
                         .column = draft->pos.column};
  char anonymous[64];
  hlo_extra_t *extra = NULL;
  HR_TRY(check_shape_written(r, draft));
  HR_TRY(check_operand_count(r, draft));
  HR_TRY(order_attrs(r, draft, attrs, &def));
  if (draft->op == HLO_PARAMETER) HR_TRY(check_parameter(r, draft));
  if (!draft->name.size) {
    snprintf(anonymous, sizeof anonymous, "%s.anon", hlo_op_name(draft->op));
    def.name = hr_str_from(anonymous);
  }
  if (draft->extras_seen) {
    HR_TRY(HR_NEW(r->arena, &extra));
    *extra = draft->extra;
    def.extra = extra;
  }
  def.operand_count = (int)(r->instrs.count - draft->operands_from);
  def.operands = r->instrs.data + draft->operands_from;
  HR_TRY(hlo_instr_add(r->scope->computation, &def, out_instr));
  if (!draft->shape) HR_TRY(read_charge_tuple(r, draft->op_at, (*out_instr)->shape));
  if (extra) HR_TRY(expand_sharding(r, *out_instr, extra));
  mark_called(*out_instr);
  return register_name(r, draft, *out_instr);
}

/* The position is that of the instruction being expanded. */
READ_OP_FRAME hr_status_t read_append_simple(read_hlo_t *r, const read_draft_t *at, hlo_opcode_t op,
                                             const hlo_shape_t *shape, int operand_count,
                                             hlo_instr_t *const *operands, const hlo_attr_t *attr,
                                             hlo_instr_t **out_instr) {
  read_draft_t draft = {.op = op,
                        .async = HLO_OPCODE_COUNT,
                        .pos = at->pos,
                        .op_at = at->op_at,
                        .shape = shape,
                        .operands_from = r->instrs.count,
                        .attrs_from = r->attrs.count,
                        .called_from = r->called.count};
  for (int i = 0; i < operand_count; i++) HR_VEC_PUSH(&r->instrs, operands[i]);
  if (attr) HR_VEC_PUSH(&r->attrs, (read_attr_t){*attr, r->called.count});
  HR_TRY(read_append(r, &draft, out_instr));
  r->instrs.count = draft.operands_from;
  r->attrs.count = draft.attrs_from;
  r->called.count = draft.called_from;
  return NULL;
}

/* Opcodes -------------------------------------------------------------------------------------- */

/* Suggests the nearest known opcode. */
static READ_OP_FRAME hr_status_t unknown_opcode(read_hlo_t *r) {
  const char *names[HLO_OPCODE_COUNT], *nearest = NULL;
  char word[HR_NEAREST_WORD_MAX + 1];
  hr_str_t name = r->lexer.token.text;
  for (int op = 0; op < HLO_OPCODE_COUNT; op++) names[op] = hlo_op_name((hlo_opcode_t)op);
  if (name.size < sizeof word) {
    snprintf(word, sizeof word, "%.*s", HR_STR_ARGS(name));
    nearest = hr_nearest_name(word, names, HLO_OPCODE_COUNT);
  }
  if (!nearest)
    return READ_ERROR_AT(&r->lexer, r->lexer.token.at, "unknown opcode '%.*s'", HR_STR_ARGS(name));
  return READ_ERROR_AT(&r->lexer, r->lexer.token.at, "unknown opcode '%.*s'; did you mean '%s'?",
                       HR_STR_ARGS(name), nearest);
}

/* An opcode of today; OP-start, OP-update and OP-done; one of old versions. */
static hr_status_t read_opcode(read_hlo_t *r, read_draft_t *draft) {
  read_lexer_t *l = &r->lexer;
  if (!read_is(l, READ_WORD))
    return read_want(l, draft->shape ? "an opcode" : "a shape or an opcode");
  hr_str_t name = l->token.text;
  draft->op_at = l->token.at;
  draft->async = HLO_OPCODE_COUNT;
  draft->old = NULL;
  if (!hlo_op_from_name(name, &draft->op)) {
    draft->old = read_old_op_find(name, &draft->op);
    if (!draft->old && !read_async_op(name, &draft->async, &draft->wrapped))
      return unknown_opcode(r);
    if (!draft->old) draft->op = draft->async == HLO_ASYNC_START ? draft->wrapped : draft->async;
  }
  return read_advance(l);
}

/* Operands ------------------------------------------------------------------------------------- */

/* Whether the current word is the opcode of a nested instruction. */
static bool at_nested(const read_hlo_t *r) {
  return read_is(&r->lexer, READ_WORD) && read_peek(&r->lexer) == '(';
}

static hr_status_t read_instruction_body(read_hlo_t *r, read_draft_t *draft, bool nested,
                                         hlo_instr_t **out_instr);

/* An operand that is an instruction has no attributes of its own. */
static hr_status_t read_nested(read_hlo_t *r, const hlo_shape_t *shape, hlo_instr_t **out_instr) {
  read_draft_t draft = {.shape = shape, .pos = read_pos(&r->lexer, r->lexer.token.at)};
  HR_TRY(read_deeper(r, "operands"));
  HR_TRY(read_instruction_body(r, &draft, true, out_instr));
  read_shallower(r);
  return NULL;
}

/* In a text of a single instruction, operands that nothing defines are its parameters. */
static READ_OP_FRAME hr_status_t add_parameter(read_hlo_t *r, hr_str_t name,
                                               const hlo_shape_t *shape, hlo_instr_t **out_instr) {
  read_draft_t draft = {.op = HLO_PARAMETER,
                        .async = HLO_OPCODE_COUNT,
                        .name = name,
                        .pos = read_pos(&r->lexer, r->lexer.token.at),
                        .op_at = r->lexer.token.at,
                        .shape = shape,
                        .operands_from = r->instrs.count,
                        .attrs_from = r->attrs.count,
                        .called_from = r->called.count};
  hlo_attr_t number = {.key = HLO_ATTR_PARAMETER_NUMBER,
                       .integer = (int64_t)r->scope->computation->params.count};
  HR_VEC_PUSH(&r->attrs, (read_attr_t){number, 0});
  HR_TRY(read_append(r, &draft, out_instr));
  r->attrs.count = draft.attrs_from;
  return NULL;
}

/* A name that is unknown becomes a parameter in a single instruction. */
static hr_status_t read_operand_name(read_hlo_t *r, const hlo_shape_t *shape,
                                     hlo_instr_t **out_instr) {
  read_lexer_t *l = &r->lexer;
  hr_str_t name = l->token.text;
  if (!read_is(l, READ_NAME) && !read_is(l, READ_WORD))
    return read_want(l, "the name of an operand");
  *out_instr = hr_map_get(&r->scope->names, name);
  if (!*out_instr && r->single && shape) HR_TRY(add_parameter(r, name, shape, out_instr));
  if (!*out_instr)
    return READ_ERROR_AT(l, l->token.at, "operand '%.*s' is not defined before this",
                         HR_STR_ARGS(name));
  return read_advance(l);
}

/* The error for an operand whose written shape is not its own. */
static READ_OP_FRAME hr_status_t other_shape(read_hlo_t *r, size_t at, const hlo_shape_t *shape,
                                             const hlo_instr_t *operand) {
  char found[HLO_SHAPE_TEXT], want[HLO_SHAPE_TEXT];
  return READ_ERROR_AT(&r->lexer, at, "found shape %s, want %s as operand '%.*s' has",
                       hlo_shape_text(shape, found), hlo_shape_text(operand->shape, want),
                       HR_STR_ARGS(operand->name));
}

/* Element `index` of a tuple that was named, as an instruction of its own. */
static hr_status_t append_element(read_hlo_t *r, size_t at, int64_t index, hlo_instr_t **instr) {
  const hlo_shape_t *tuple = (*instr)->shape;
  read_draft_t draft = {.pos = read_pos(&r->lexer, at), .op_at = at};
  hlo_attr_t attr = {.key = HLO_ATTR_INDEX, .integer = index};
  char text[HLO_SHAPE_TEXT];
  if (!hlo_shape_is_tuple(tuple) || index < 0 || index >= tuple->element_count)
    return READ_ERROR_AT(&r->lexer, at, "'%.*s' is %s, which has no element %lld",
                         HR_STR_ARGS((*instr)->name), hlo_shape_text(tuple, text),
                         (long long)index);
  return read_append_simple(r, &draft, HLO_GET_TUPLE_ELEMENT, tuple->elements[index], 1, instr,
                            &attr, instr);
}

/* "#1#0" after a name, the compact form of get-tuple-elements. Equal ones are one instruction,
 * which is found again by the text from the name on. */
static hr_status_t read_elements_of(read_hlo_t *r, size_t from, hlo_instr_t **instr) {
  read_lexer_t *l = &r->lexer;
  while (read_is(l, READ_HASH)) {
    int64_t index;
    hr_str_t name;
    size_t at = l->token.at;
    HR_TRY(read_advance(l));
    size_t end = l->token.at + l->token.text.size;
    HR_TRY(hr_arena_str(r->arena, (hr_str_t){l->text + from, end - from}, &name));
    HR_TRY(read_int(l, &index));
    hlo_instr_t *known = hr_map_get(&r->scope->names, name);
    if (!known) HR_TRY(append_element(r, at, index, instr));
    if (!known) HR_TRY(hr_map_put(&r->scope->names, name, *instr, NULL));
    if (known) *instr = known;
  }
  return NULL;
}

/* [shape] name, a nested instruction, or a literal in old texts. */
static hr_status_t read_operand(read_hlo_t *r) {
  read_lexer_t *l = &r->lexer;
  const hlo_shape_t *shape = NULL;
  hlo_instr_t *instr = NULL;
  size_t at = l->token.at;
  if (read_at_shape(r)) HR_TRY(read_shape(r, &shape));
  bool nested = at_nested(r);
  size_t name_at = l->token.at;
  if (nested) {
    HR_TRY(read_nested(r, shape, &instr));
  } else {
    HR_TRY(read_operand_name(r, shape, &instr));
    HR_TRY(read_elements_of(r, name_at, &instr));
  }
  if (shape && !hlo_shape_compatible(shape, instr->shape)) return other_shape(r, at, shape, instr);
  HR_VEC_PUSH(&r->instrs, instr);
  return NULL;
}

/* The one entry between the parentheses of a parameter. */
static hr_status_t read_parameter_number(read_hlo_t *r) {
  hlo_attr_t number = {.key = HLO_ATTR_PARAMETER_NUMBER};
  HR_TRY(read_int(&r->lexer, &number.integer));
  HR_VEC_PUSH(&r->attrs, (read_attr_t){number, 0});
  return NULL;
}

/* Old versions repeated the shape inside the parentheses, for rank 2 and more. */
static hr_status_t read_constant(read_hlo_t *r, read_draft_t *draft) {
  HR_TRY(check_shape_written(r, draft));
  if (read_is(&r->lexer, READ_TYPE) && draft->shape->rank >= 2) {
    const hlo_shape_t *again;
    size_t at = r->lexer.token.at;
    HR_TRY(read_shape(r, &again));
    if (!hlo_shape_equal(again, draft->shape))
      return READ_ERROR_AT(&r->lexer, at, "the literal has another shape");
  }
  return read_literal_text(r, &draft->shape, &draft->literal);
}

/* The contents of the parentheses: operands, except of constants and parameters. */
static hr_status_t read_operands(read_hlo_t *r, read_draft_t *draft) {
  read_lexer_t *l = &r->lexer;
  HR_TRY(read_expect(l, READ_OPEN_PAREN));
  if (draft->op == HLO_PARAMETER && draft->async == HLO_OPCODE_COUNT) {
    HR_TRY(read_parameter_number(r));
  } else if (draft->op == HLO_CONSTANT && draft->async == HLO_OPCODE_COUNT) {
    HR_TRY(read_constant(r, draft));
  } else {
    for (bool more = true;
         more;) { /* XLA takes spare commas here, and so do programs written by hand */
      while (read_is(l, READ_COMMA)) HR_TRY(read_advance(l));
      more = !read_is(l, READ_CLOSE_PAREN);
      if (more) HR_TRY(read_operand(r));
      if (more) HR_TRY(read_list_next(l, READ_CLOSE_PAREN, &more));
    }
  }
  return read_expect(l, READ_CLOSE_PAREN);
}

/* A conditional has two named branches for a pred, a list of branches for an index. */
static hr_status_t check_conditional(read_hlo_t *r, const read_draft_t *draft) {
  if (draft->op != HLO_CONDITIONAL || r->instrs.count == draft->operands_from) return NULL;
  bool pred = r->instrs.data[draft->operands_from]->shape->dtype == HR_PRED;
  bool list = read_find_attr(r, draft, HLO_ATTR_BRANCH_COMPUTATIONS);
  bool yes = read_find_attr(r, draft, HLO_ATTR_TRUE_COMPUTATION);
  bool no = read_find_attr(r, draft, HLO_ATTR_FALSE_COMPUTATION);
  if (pred ? yes && no && !list : list && !yes && !no) return NULL;
  return READ_ERROR_AT(&r->lexer, draft->op_at, "conditional on a %s index, want %s",
                       pred ? "pred" : "s32",
                       pred ? "true_computation= and false_computation=" : "branch_computations=");
}

/* Reads an instruction from its opcode on. The stacks are then as high as before. */
static hr_status_t read_instruction_body(read_hlo_t *r, read_draft_t *draft, bool nested,
                                         hlo_instr_t **out_instr) {
  draft->operands_from = r->instrs.count;
  draft->attrs_from = r->attrs.count;
  draft->called_from = r->called.count;
  *out_instr = NULL;
  HR_TRY(read_opcode(r, draft));
  HR_TRY(read_operands(r, draft));
  if (!nested) HR_TRY(read_attributes(r, draft));
  HR_TRY(read_modernize(r, draft, out_instr));
  if (!*out_instr) {
    HR_TRY(check_conditional(r, draft));
    HR_TRY(draft->async < HLO_OPCODE_COUNT ? read_append_async(r, draft, out_instr)
                                           : read_append(r, draft, out_instr));
  }
  r->instrs.count = draft->operands_from;
  r->attrs.count = draft->attrs_from;
  r->called.count = draft->called_from;
  return NULL;
}

/* [shape] opcode(operands), attributes: the text after "name =". */
hr_status_t read_rhs(read_hlo_t *r, read_draft_t *draft, hlo_instr_t **out_instr) {
  draft->shape = NULL;
  if (read_at_shape(r)) HR_TRY(read_shape(r, &draft->shape));
  return read_instruction_body(r, draft, false, out_instr);
}

/* One instruction of a body. A computation has at most one ROOT. */
hr_status_t read_instruction(read_hlo_t *r) {
  read_lexer_t *l = &r->lexer;
  bool root = read_is_keyword(l, READ_KEYWORD_ROOT);
  size_t root_at = l->token.at;
  hlo_instr_t *instr;
  if (root) HR_TRY(read_advance(l));
  read_draft_t draft = {.pos = read_pos(l, l->token.at)};
  if (read_is(l, READ_ATTR))
    return read_want(l, "a blank between the name of an instruction and '='");
  HR_TRY(read_name(r, "the name of an instruction, or '}'", &draft.name));
  HR_TRY(read_expect(l, READ_EQUAL));
  HR_TRY(read_rhs(r, &draft, &instr));
  if (!root) return NULL;
  if (r->scope->computation->root)
    return READ_ERROR_AT(l, root_at, "found a second ROOT, want one in a computation");
  r->scope->computation->root = instr;
  return NULL;
}
