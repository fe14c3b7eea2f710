/* Attributes of an instruction, between HloInstructionProto and the IR. The op's row in ops.def
 * lists its attributes. Numbers, strings and lists of numbers that are one field of a message are
 * rows of proto_attrs.def, read and written by their kinds. Attributes that are messages are in
 * proto_values.c and proto_devices.c. Values of fields that moved between versions of the proto
 * are copied to the current field before attributes are read. */
#include <string.h>

#include "proto/proto_parts.h"

/* Location of a plain attribute: a row of proto_attrs.def. */
typedef struct attr_field {
  hlo_opcode_t op;             /* HLO_OPCODE_COUNT: every op */
  uint16_t key;                /* hlo_attr_key_t */
  const proto_message_t *part; /* message that has the field; NULL: the instruction itself */
  uint16_t part_offset;        /* member of proto_instr_t with that message */
  uint16_t offset;             /* member with the value */
  uint32_t part_number;        /* field number of the message; 0: the instruction itself */
  uint32_t number;             /* field number of the value */
  proto_kind_t kind;
} attr_field_t;

static const attr_field_t attr_fields[] = {
#define ATTR_INSTR_FIELD(op, key, field) \
  {HLO_##op,                             \
   HLO_ATTR_##key,                       \
   NULL,                                 \
   0,                                    \
   offsetof(proto_instr_t, field),       \
   0,                                    \
   PROTO_instr_##field,                  \
   (proto_kind_t)PROTO_KIND_instr_##field},
#define ATTR_FIELD(op, key, part, field) \
  {HLO_##op,                             \
   HLO_ATTR_##key,                       \
   &proto_##part##_message,              \
   offsetof(proto_instr_t, part),        \
   offsetof(proto_##part##_t, field),    \
   PROTO_instr_##part,                   \
   PROTO_##part##_##field,               \
   (proto_kind_t)PROTO_KIND_##part##_##field},
#include "proto/proto_attrs.def"
#undef ATTR_INSTR_FIELD
#undef ATTR_FIELD
};
#define ATTR_FIELD_COUNT (sizeof attr_fields / sizeof *attr_fields)

/* HLO_OPCODE_COUNT in a row stands for every op. If several rows match, find_attr_field takes the
 * first. */
static bool field_applies_to_op(const attr_field_t *field, hlo_opcode_t op) {
  return field->op == HLO_OPCODE_COUNT || field->op == op;
}

/* The row of an op's attribute; NULL: it is not a single field. Cost: a scan of the table. */
static const attr_field_t *find_attr_field(hlo_opcode_t op, hlo_attr_key_t key) {
  for (size_t i = 0; i < ATTR_FIELD_COUNT; i++)
    if (attr_fields[i].key == key && field_applies_to_op(&attr_fields[i], op))
      return &attr_fields[i];
  return NULL;
}

/* Reading -------------------------------------------------------------------------------------- */

/* Copies the dot's dimension numbers, which ragged-dot has one message deeper. */
static hr_status_t unwrap_ragged_dot(proto_reader_t *p, proto_draft_t *draft) {
  proto_ragged_dot_t ragged;
  if (draft->op != HLO_RAGGED_DOT) return NULL;
  HR_TRY(PROTO_DECODE(&p->scratch, ragged_dot, draft->in.ragged_dot, &ragged));
  draft->in.dot = ragged.dot_dimension_numbers;
  return NULL;
}

/* Moves values of old fields to the current ones. */
static void upgrade_old_fields(proto_draft_t *draft) {
  proto_instr_t *in = &draft->in;
  if (in->channel_id <= 0) in->channel_id = in->all_reduce_id > 0 ? in->all_reduce_id : 0;
  if (in->is_cross_program_prefetch && !in->cross_program_prefetch_index.present)
    in->cross_program_prefetch_index = (proto_maybe_t){true, 0};
  if (draft->op == HLO_SCAN && !in->num_carries) in->num_carries = draft->operand_count / 2;
}

/* Refuses numbers outside the enum's table, which printers index without a check. */
static hr_status_t check_enum(hlo_attr_key_t key, int64_t value) {
  const hlo_attr_info_t *info = &hlo_attr_table[key];
  if (value >= 0 && value < hlo_enum_table[info->enum_id].count) return NULL;
  return PROTO_ERROR("attribute %s is %ld, want 0 to %d", info->text, (long)value,
                     hlo_enum_table[info->enum_id].count - 1);
}

/* Number of an enum value stored as text, such as a comparison direction; empty text is 0. */
static hr_status_t find_enum_text(hlo_attr_key_t key, hr_str_t word, int64_t *out_value) {
  const hlo_attr_info_t *info = &hlo_attr_table[key];
  *out_value = word.size ? hlo_enum_find(info->enum_id, word) : 0;
  if (*out_value >= 0) return NULL;
  return PROTO_ERROR("attribute %s is '%.*s', which is none of its words", info->text,
                     HR_STR_ARGS(word));
}

/* Reads operand_precision, one number per operand. Missing ones are DEFAULT; a list of DEFAULTs is
 * read as absent. */
static hr_status_t read_precision(proto_reader_t *p, const proto_draft_t *draft, proto_list_t list,
                                  hlo_attr_t *attr) {
  hr_ints_t precisions;
  int64_t *ints;
  int64_t count = draft->op == HLO_RAGGED_DOT ? 2 : draft->operand_count;
  bool all_default = true;
  HR_TRY(proto_ints(&p->scratch, list, &precisions));
  if (precisions.count > count) count = precisions.count;
  for (int64_t i = 0; i < precisions.count; i++) {
    HR_TRY(check_enum(HLO_ATTR_OPERAND_PRECISION, precisions.data[i]));
    all_default &= !precisions.data[i];
  }
  if (all_default) return NULL;
  HR_TRY(HR_NEW_ARRAY(p->arena, count, &ints));
  memcpy(ints, precisions.data, (size_t)precisions.count * sizeof *ints);
  attr->ints = (hr_ints_t){ints, count};
  return NULL;
}

/* Reads an attribute by its row. A message with several attributes is decoded again for each of
 * them; they are few. *out_present stays true for required kinds. */
static hr_status_t read_plain_attr(proto_reader_t *p, const proto_draft_t *draft,
                                   const attr_field_t *field, hlo_attr_t *attr, bool *out_present) {
  const hlo_attr_info_t *info = &hlo_attr_table[attr->key];
  const void *holder = &draft->in;
  if (field->part) {
    void *part;
    HR_TRY(hr_arena_zeroed(&p->scratch, field->part->size_bytes, &part));
    proto_list_t pieces = *(const proto_list_t *)((const char *)&draft->in + field->part_offset);
    HR_TRY(proto_decode(&p->scratch, field->part, pieces, part));
    holder = part;
  }
  const void *member = (const char *)holder + field->offset;
  switch (info->kind) {
    case HLO_KIND_BOOL:
      attr->flag = *(const bool *)member;
      *out_present = attr->flag != (info->fallback != 0);
      return NULL;
    case HLO_KIND_FLOAT:
      attr->number = *(const double *)member;
      return NULL;
    case HLO_KIND_STRING:
      attr->text = *(const hr_str_t *)member;
      *out_present = attr->text.size > 0;
      return NULL;
    case HLO_KIND_INTS:
      HR_TRY(proto_ints(p->arena, *(const proto_list_t *)member, &attr->ints));
      *out_present = attr->ints.count > 0;
      return NULL;
    case HLO_KIND_ENUMS:
      HR_TRY(read_precision(p, draft, *(const proto_list_t *)member, attr));
      *out_present = attr->ints.count > 0;
      return NULL;
    default:
      break;
  }
  if (field->kind == PROTO_MAYBE) {
    *out_present = ((const proto_maybe_t *)member)->present;
    attr->integer = ((const proto_maybe_t *)member)->value;
    return NULL;
  }
  if (field->kind == PROTO_BYTES)
    HR_TRY(find_enum_text((hlo_attr_key_t)attr->key, *(const hr_str_t *)member, &attr->integer));
  else
    attr->integer = *(const int64_t *)member;
  *out_present = attr->integer != 0;
  return info->kind == HLO_KIND_ENUM ? check_enum((hlo_attr_key_t)attr->key, attr->integer) : NULL;
}

/* Reads an attribute stored as the only entry of `dimensions`; absent if it is the default. */
static hr_status_t read_dimension_attr(proto_reader_t *p, const proto_draft_t *draft,
                                       hlo_attr_t *attr, bool *out_present) {
  hr_ints_t dims;
  HR_TRY(proto_ints(&p->scratch, draft->in.dimensions, &dims));
  *out_present = dims.count > 0 && dims.data[0] != hlo_attr_table[attr->key].fallback;
  if (dims.count) attr->integer = dims.data[0];
  return NULL;
}

/* xla_data.proto, TriState. */
enum { TRI_STATE_TRUE = 1, TRI_STATE_FALSE = 2 };

/* The literal of an attribute, not of a constant; its shape is in the literal. */
static hr_status_t read_literal_attr(proto_reader_t *p, const proto_draft_t *draft,
                                     hlo_attr_t *attr) {
  const hlo_shape_t *shape;
  return proto_read_literal(p, draft->in.literal, &shape, &attr->literal);
}

static hr_status_t read_shapes_attr(proto_reader_t *p, const proto_draft_t *draft,
                                    hlo_attr_t *attr) {
  hlo_shapes_t *shapes;
  HR_TRY(HR_NEW(p->arena, &shapes));
  attr->shapes = shapes;
  return proto_read_shapes(p, draft->in.operand_shapes_with_layout, shapes);
}

/* Selects the called computations of an attribute. The proto lists them without names. Order:
 * while has body, condition; select-and-scatter select, scatter; a conditional on pred true,
 * false. */
static void select_called(const proto_draft_t *draft, hlo_attr_t *attr, int *out_first) {
  bool branches = draft->op == HLO_CONDITIONAL;
  bool pred = branches && draft->operand_count && draft->operands[0]->shape->dtype == HR_PRED;
  bool list = hlo_attr_table[attr->key].kind == HLO_KIND_COMPUTATIONS;
  bool second = attr->key == HLO_ATTR_CONDITION || attr->key == HLO_ATTR_SCATTER ||
                attr->key == HLO_ATTR_FALSE_COMPUTATION;
  *out_first = second;
  if (list)
    attr->called_count = draft->called_count;
  else
    attr->called_count = draft->called_count > (second ? 1 : 0);
  if (branches && pred == list) attr->called_count = 0;
}

/* Appends the attribute's computations to def->called. */
static hr_status_t read_called(proto_draft_t *draft, hlo_attr_t *attr, hlo_instr_def_t *def,
                               bool *out_present) {
  int first;
  select_called(draft, attr, &first);
  hlo_computation_t **called = (hlo_computation_t **)def->called;
  for (int64_t k = 0; k < attr->called_count; k++)
    called[def->called_count++] = draft->called[first + k];
  *out_present = attr->called_count > 0;
  return NULL;
}

/* Reads an attribute that is a message of its own, or a list of them. */
static hr_status_t read_message_attr(proto_reader_t *p, proto_draft_t *draft, hlo_attr_t *attr,
                                     bool *out_present) {
  const proto_instr_t *in = &draft->in;
  switch (hlo_attr_table[attr->key].kind) {
    case HLO_KIND_SHAPE:
      *out_present = in->outfeed_shape.count > 0;
      return *out_present ? proto_read_shape(p, in->outfeed_shape, &attr->shape) : NULL;
    case HLO_KIND_SHAPES:
      *out_present = in->constrain_layout;
      return *out_present ? read_shapes_attr(p, draft, attr) : NULL;
    case HLO_KIND_WINDOW:
      *out_present = in->window.count > 0;
      return *out_present ? proto_read_window(p, in->window, &attr->window) : NULL;
    case HLO_KIND_DIM_LABELS:
      *out_present = in->convolution.count > 0;
      return *out_present ? proto_read_labels(p, draft, &attr->labels) : NULL;
    case HLO_KIND_PADDING:
      return proto_read_padding(p, in->padding, &attr->padding);
    case HLO_KIND_SLICE:
      return proto_read_slice(p, in->slice_dimensions, &attr->slice);
    case HLO_KIND_GROUPS:
      return proto_read_groups(p, in, &attr->groups);
    case HLO_KIND_ALIASING:
      *out_present = in->output_operand_aliasing.count > 0;
      return proto_read_aliasing(p, in->output_operand_aliasing, &attr->aliasing);
    case HLO_KIND_LITERAL:
      *out_present = in->literal.count > 0;
      return *out_present ? read_literal_attr(p, draft, attr) : NULL;
    case HLO_KIND_DOMAIN:
      return proto_read_domain(p, in, &attr->domain);
    case HLO_KIND_SPARSITY:
      HR_TRY(proto_read_sparsity(p, in->sparsity, &attr->sparsity));
      *out_present = attr->sparsity->lhs.present || attr->sparsity->rhs.present;
      return NULL;
    case HLO_KIND_RESULT_ACCURACY:
      HR_TRY(proto_read_accuracy(p, in->result_accuracy, &attr->accuracy));
      *out_present = attr->accuracy != NULL;
      return NULL;
    default:
      return NULL;
  }
}

/* Reads any attribute; *out_present is false if the proto does not have it. */
static hr_status_t read_attr(proto_reader_t *p, proto_draft_t *draft, hlo_attr_t *attr,
                             hlo_instr_def_t *def, bool *out_present) {
  const proto_instr_t *in = &draft->in;
  const attr_field_t *field = find_attr_field(draft->op, (hlo_attr_key_t)attr->key);
  *out_present = true;
  if (field) return read_plain_attr(p, draft, field, attr, out_present);
  switch (hlo_attr_table[attr->key].kind) {
    case HLO_KIND_INT:
      return read_dimension_attr(p, draft, attr, out_present);
    case HLO_KIND_BOOL: /* is_associative */
      attr->flag = in->is_associative == TRI_STATE_TRUE;
      *out_present = in->is_associative == TRI_STATE_TRUE || in->is_associative == TRI_STATE_FALSE;
      return NULL;
    case HLO_KIND_COMPUTATION:
    case HLO_KIND_COMPUTATIONS:
      return read_called(draft, attr, def, out_present);
    case HLO_KIND_INT_LISTS:
      if (attr->key == HLO_ATTR_SOURCE_TARGET_PAIRS)
        return proto_read_pairs_of_ids(p, in->source_target_pairs, &attr->lists);
      *out_present = in->dynamic_slice_sizes.count > 0;
      return *out_present ? proto_read_slice_lists(p, draft, &attr->lists) : NULL;
    default:
      return read_message_attr(p, draft, attr, out_present);
  }
}

/* True if an absent field means 0 or "", which proto3 does not write. An absent list of lists or
 * message of a required attribute is an error. */
static bool may_be_zero(hlo_attr_key_t key) {
  switch (hlo_attr_table[key].kind) {
    case HLO_KIND_BOOL:
    case HLO_KIND_INT:
    case HLO_KIND_FLOAT:
    case HLO_KIND_STRING:
    case HLO_KIND_ENUM:
    case HLO_KIND_INTS:
      return true;
    default:
      return false;
  }
}

/* Every called computation must belong to an attribute; otherwise the op is malformed. */
hr_status_t proto_read_attrs(proto_reader_t *p, proto_draft_t *draft, hlo_attr_t *attrs,
                             hlo_instr_def_t *def) {
  const hlo_op_info_t *op = &hlo_op_table[draft->op];
  hlo_computation_t **called;
  HR_TRY(HR_NEW_ARRAY(&p->scratch, draft->called_count, &called));
  def->attrs = attrs;
  def->called = called;
  upgrade_old_fields(draft);
  HR_TRY(unwrap_ragged_dot(p, draft));
  for (int i = 0; i < op->attr_count; i++) {
    hlo_attr_t attr = {.key = op->attrs[i].key};
    bool is_present;
    bool needed = op->attrs[i].use == HLO_USE_NEED;
    HR_TRY(read_attr(p, draft, &attr, def, &is_present));
    if (!is_present && needed && !may_be_zero((hlo_attr_key_t)attr.key))
      return PROTO_ERROR("%s lacks its attribute %s", op->name, hlo_attr_table[attr.key].text);
    if (is_present || needed) attrs[def->attr_count++] = attr;
  }
  if (def->called_count == draft->called_count) return NULL;
  return PROTO_ERROR("%s calls %d computations, want %d", op->name, draft->called_count,
                     def->called_count);
}

/* Writing -------------------------------------------------------------------------------------- */

/* Writes a plain attribute. If the default is not 0, XLA writes it for an absent attribute. */
static void write_plain_attr(hr_strbuf_t *out, const hlo_instr_t *instr,
                             const attr_field_t *field) {
  hlo_attr_key_t key = (hlo_attr_key_t)field->key;
  const hlo_attr_info_t *info = &hlo_attr_table[key];
  const hlo_attr_t *attr = hlo_attr_find(instr, key);
  switch (info->kind) {
    case HLO_KIND_BOOL:
      proto_put_int(out, field->number, attr ? attr->flag : info->fallback);
      return;
    case HLO_KIND_FLOAT:
      proto_put_f32(out, field->number, attr ? attr->number : 0);
      return;
    case HLO_KIND_STRING:
      if (attr) proto_put_bytes(out, field->number, attr->text);
      return;
    case HLO_KIND_INTS:
    case HLO_KIND_ENUMS:
      if (attr) proto_put_ints(out, field->number, attr->ints);
      return;
    default:
      break;
  }
  int64_t value = attr ? attr->integer : info->fallback;
  if (field->kind == PROTO_MAYBE) {
    if (attr) proto_put_present_int(out, field->number, value);
  } else if (field->kind == PROTO_BYTES) {
    proto_put_bytes(out, field->number, hr_str_from(hlo_enum_table[info->enum_id].texts[value]));
  } else {
    proto_put_int(out, field->number, value);
  }
}

/* True if the op's row in ops.def lists the attribute. */
static bool op_has_attr(const hlo_op_info_t *op, hlo_attr_key_t key) {
  for (int i = 0; i < op->attr_count; i++)
    if (op->attrs[i].key == key) return true;
  return false;
}

/* Writes the fields of one message, which are consecutive rows of the table from `from` on. */
static void write_message_fields(hr_strbuf_t *out, const hlo_instr_t *instr, size_t from) {
  const hlo_op_info_t *op = &hlo_op_table[instr->op];
  for (size_t i = from; i < ATTR_FIELD_COUNT && attr_fields[i].part == attr_fields[from].part; i++)
    if (field_applies_to_op(&attr_fields[i], instr->op) &&
        op_has_attr(op, (hlo_attr_key_t)attr_fields[i].key))
      write_plain_attr(out, instr, &attr_fields[i]);
}

/* First of the consecutive rows of a message; callers ask only for messages that have rows. */
static size_t first_row_of_message(uint32_t part_number) {
  size_t i = 0;
  while (attr_fields[i].part_number != part_number) i++;
  return i;
}

/* A nested message: the dot's numbers are inside the ragged dot's. */
static void write_ragged_dot(hr_strbuf_t *out, const hlo_instr_t *instr) {
  size_t opened = proto_open(out, PROTO_instr_ragged_dot);
  size_t dot = proto_open(out, PROTO_ragged_dot_dot_dimension_numbers);
  write_message_fields(out, instr, first_row_of_message(PROTO_instr_dot));
  proto_close(out, dot);
  write_message_fields(out, instr, first_row_of_message(PROTO_instr_ragged_dot));
  proto_close(out, opened);
}

/* Writes each message that has an attribute of the op, with its fields. Rows of a message are
 * consecutive, so that `written` suffices to write it once. */
static void write_messages(hr_strbuf_t *out, const hlo_instr_t *instr) {
  const hlo_op_info_t *op = &hlo_op_table[instr->op];
  uint32_t written = 0;
  for (size_t i = 0; i < ATTR_FIELD_COUNT; i++) {
    const attr_field_t *field = &attr_fields[i];
    if (!field->part || field->part_number == written || !field_applies_to_op(field, instr->op) ||
        !op_has_attr(op, (hlo_attr_key_t)field->key))
      continue;
    written = field->part_number;
    if (instr->op == HLO_RAGGED_DOT &&
        (written == PROTO_instr_dot || written == PROTO_instr_ragged_dot))
      continue;
    size_t opened = proto_open(out, written);
    write_message_fields(out, instr, first_row_of_message(written));
    proto_close(out, opened);
  }
  if (instr->op == HLO_RAGGED_DOT) write_ragged_dot(out, instr);
}

/* Called computations in the proto's order: the body of a while before its condition. */
static void write_called(hr_strbuf_t *out, const hlo_instr_t *instr) {
  if (!instr->called_count) return;
  size_t opened = proto_open(out, PROTO_instr_called_computation_ids);
  for (int k = 0; k < instr->called_count; k++) {
    int index = instr->op == HLO_WHILE ? instr->called_count - 1 - k : k;
    proto_put_varint(out, instr->called[index]->id);
  }
  proto_close(out, opened);
}

/* Writes attributes stored in `dimensions`, and attributes that are messages. */
static void write_other_attr(hr_strbuf_t *out, const hlo_attr_t *attr) {
  switch (attr->key) {
    case HLO_ATTR_IOTA_DIMENSION:
    case HLO_ATTR_INFERRED_DIMENSION:
      if (attr->key == HLO_ATTR_IOTA_DIMENSION || attr->integer >= 0)
        proto_put_ints(out, PROTO_instr_dimensions, (hr_ints_t){&attr->integer, 1});
      return;
    case HLO_ATTR_IS_ASSOCIATIVE:
      proto_put_int(out, PROTO_instr_is_associative, attr->flag ? TRI_STATE_TRUE : TRI_STATE_FALSE);
      return;
    default:
      proto_write_value(out, attr);
  }
}

/* Order: plain fields of the instruction as in the op's row, messages, called computations. */
void proto_write_attrs(hr_strbuf_t *out, const hlo_instr_t *instr) {
  const hlo_op_info_t *op = &hlo_op_table[instr->op];
  for (int i = 0; i < op->attr_count; i++) {
    hlo_attr_key_t key = (hlo_attr_key_t)op->attrs[i].key;
    const attr_field_t *field = find_attr_field(instr->op, key);
    const hlo_attr_t *attr = hlo_attr_find(instr, key);
    if (field && !field->part) write_plain_attr(out, instr, field);
    if (!field && attr) write_other_attr(out, attr);
  }
  write_messages(out, instr);
  write_called(out, instr);
}
