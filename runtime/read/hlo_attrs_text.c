/* HLO text of op attributes: a dispatch on the kind of the attribute (attrs.def). A name is looked
 * up in the op's row first (op_attrs.def), then among attributes that any op may have
 * (hlo_extra_text.c), those of asynchronous ops, and those of old versions (hlo_legacy.c). */
#include <string.h>

#include "read/hlo_reader.h"

/* Attributes of instructions: op_attrs.def lists those of each op, attrs.def their kinds. */

/* One computation, or several in braces, pushed on r->called. */
static hr_status_t read_called(read_hlo_t *r, bool several, int64_t *out_count) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->called.count;
  if (several) HR_TRY(read_expect(l, READ_OPEN_BRACE));
  for (bool more = !several || !read_is(l, READ_CLOSE_BRACE); more;) {
    hlo_computation_t *computation;
    HR_TRY(read_computation_ref(r, &computation));
    HR_VEC_PUSH(&r->called, computation);
    more = several;
    if (several) HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  *out_count = (int64_t)(r->called.count - from);
  return several ? read_expect(l, READ_CLOSE_BRACE) : NULL;
}

/* "EQ, NE, LT": the words of an enumeration, for messages. */
static void list_words(const hlo_enum_info_t *info, char *into, size_t size) {
  size_t used = 0;
  for (int i = 0; i < info->count && used < size; i++)
    if (*info->texts[i])
      used += (size_t)snprintf(into + used, size - used, "%s%s", used ? ", " : "", info->texts[i]);
}

/* A word of the enumeration; messages list all words. */
static READ_OP_FRAME hr_status_t read_enum(read_hlo_t *r, hlo_attr_key_t key, int64_t *out_value) {
  read_lexer_t *l = &r->lexer;
  hlo_enum_id_t id = hlo_attr_table[key].enum_id;
  bool word = read_is(l, READ_WORD) || read_is(l, READ_KEYWORD);
  int value = word ? hlo_enum_find(id, l->token.text) : -1;
  if (key == HLO_ATTR_CUSTOM_CALL_API_VERSION && value == HLO_API_VERSION_UNSPECIFIED) value = -1;
  if (value < 0) {
    char words[512] = "";
    list_words(&hlo_enum_table[id], words, sizeof words);
    return read_want(l, "one of %s", words);
  }
  *out_value = value;
  return read_advance(l);
}

/* {a,b,...} */
static hr_status_t read_enums(read_hlo_t *r, hlo_attr_key_t key, hr_ints_t *out_values) {
  read_lexer_t *l = &r->lexer;
  size_t from = r->ints.count;
  HR_TRY(read_expect(l, READ_OPEN_BRACE));
  for (bool more = !read_is(l, READ_CLOSE_BRACE); more;) {
    int64_t value;
    HR_TRY(read_enum(r, key, &value));
    HR_VEC_PUSH(&r->ints, value);
    HR_TRY(read_list_next(l, READ_CLOSE_BRACE, &more));
  }
  HR_TRY(read_expect(l, READ_CLOSE_BRACE));
  HR_TRY(hr_arena_ints(r->arena, r->ints.data + from, (int64_t)(r->ints.count - from), out_values));
  r->ints.count = from;
  return NULL;
}

/* {shape, shape} */
static hr_status_t read_shapes(read_hlo_t *r, const hlo_shapes_t **out_shapes) {
  hlo_shapes_t *shapes;
  HR_TRY(HR_NEW(r->arena, &shapes));
  *out_shapes = shapes;
  return read_shape_list(r, READ_OPEN_BRACE, READ_CLOSE_BRACE, shapes);
}

/* Reads a number, a string, an enum, a list of them, or a shape. */
static hr_status_t read_plain_value(read_hlo_t *r, hlo_attr_key_t key, hlo_attr_kind_t kind,
                                    hlo_attr_t *out_attr) {
  read_lexer_t *l = &r->lexer;
  switch ((int)kind) {
    case HLO_KIND_BOOL:
      return read_bool(l, &out_attr->flag);
    case HLO_KIND_INT:
      return read_int(l, &out_attr->integer);
    case HLO_KIND_FLOAT:
      return read_number(r, &out_attr->number);
    case HLO_KIND_STRING:
      return read_string(l, &out_attr->text);
    case HLO_KIND_ENUM:
      return read_enum(r, key, &out_attr->integer);
    case HLO_KIND_ENUMS:
      return read_enums(r, key, &out_attr->ints);
    case HLO_KIND_INTS:
      return read_ints(r, READ_OPEN_BRACE, READ_CLOSE_BRACE, &out_attr->ints);
    case HLO_KIND_INT_LISTS:
      return read_int_lists(r, &out_attr->lists);
    case HLO_KIND_SHAPE:
      return read_shape(r, &out_attr->shape);
    case HLO_KIND_SHAPES:
      return read_shapes(r, &out_attr->shapes);
    default:
      return NULL;
  }
}

/* Reads the value after "name=" by kind; computations go to the `called` stack. */
hr_status_t read_attr_value(read_hlo_t *r, hlo_attr_key_t key, hlo_attr_kind_t kind,
                            hlo_attr_t *out_attr) {
  memset(out_attr, 0, sizeof *out_attr);
  out_attr->key = (uint16_t)key;
  switch ((int)kind) {
    case HLO_KIND_COMPUTATION:
      return read_called(r, false, &out_attr->called_count);
    case HLO_KIND_COMPUTATIONS:
      return read_called(r, true, &out_attr->called_count);
    case HLO_KIND_WINDOW:
      return read_window(r, &out_attr->window);
    case HLO_KIND_DIM_LABELS:
      return read_labels(r, &out_attr->labels);
    case HLO_KIND_PADDING:
      return read_padding(r, &out_attr->padding);
    case HLO_KIND_SLICE:
      return read_slice(r, &out_attr->slice);
    case HLO_KIND_GROUPS:
      return read_groups(r, &out_attr->groups);
    case HLO_KIND_ALIASING:
      return read_aliasing(r, &out_attr->aliasing);
    case HLO_KIND_LITERAL:
      return read_typed_literal(r, &out_attr->literal);
    case HLO_KIND_DOMAIN:
      return read_domain(r, &out_attr->domain);
    case HLO_KIND_SPARSITY:
      return read_sparsity(r, &out_attr->sparsity);
    case HLO_KIND_RESULT_ACCURACY:
      return read_accuracy(r, &out_attr->accuracy);
    default:
      return read_plain_value(r, key, kind, out_attr);
  }
}

/* The draft's attribute of this key; NULL: not given so far. */
read_attr_t *read_find_attr(read_hlo_t *r, const read_draft_t *draft, hlo_attr_key_t key) {
  for (size_t i = draft->attrs_from; i < r->attrs.count; i++)
    if (r->attrs.data[i].attr.key == key) return &r->attrs.data[i];
  return NULL;
}

/* An attribute of the op's row; its name is the current token. */
static hr_status_t read_op_attr(read_hlo_t *r, read_draft_t *draft, hr_str_t name,
                                bool *out_found) {
  const hlo_op_info_t *op = &hlo_op_table[draft->op];
  for (int i = 0; i < op->attr_count; i++) {
    hlo_attr_key_t key = (hlo_attr_key_t)op->attrs[i].key;
    if (!hr_str_is(name, hlo_attr_table[key].text)) continue;
    *out_found = true;
    if (read_find_attr(r, draft, key)) return read_want(&r->lexer, "each attribute once");
    read_attr_t attr = {.called_from = r->called.count};
    HR_TRY(read_advance(&r->lexer));
    HR_TRY(read_attr_value(r, key, hlo_attr_table[key].kind, &attr.attr));
    if (key != HLO_ATTR_RESULT_ACCURACY || attr.attr.accuracy) HR_VEC_PUSH(&r->attrs, attr);
    return NULL;
  }
  return NULL;
}

/* async_execution_thread of OP-start. */
static hr_status_t read_async_thread(read_hlo_t *r, read_draft_t *draft, hr_str_t name,
                                     bool *out_found) {
  if (draft->async != HLO_ASYNC_START || !hr_str_is(name, "async_execution_thread")) return NULL;
  *out_found = true;
  if (draft->has_thread) return read_want(&r->lexer, "each attribute once");
  draft->has_thread = true;
  HR_TRY(read_advance(&r->lexer));
  return read_string(&r->lexer, &draft->thread);
}

/* The error lists the attributes that the op takes. */
static READ_OP_FRAME hr_status_t unknown_attr(read_hlo_t *r, const read_draft_t *draft) {
  char list[1024] = "";
  size_t used = 0;
  const hlo_op_info_t *op = &hlo_op_table[draft->op];
  for (int i = 0; i < op->attr_count && used < sizeof list; i++) {
    const char *text = hlo_attr_table[op->attrs[i].key].text;
    if (*text) used += (size_t)snprintf(list + used, sizeof list - used, "%s, ", text);
  }
  for (int i = 0; read_extra_name(i) && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                             read_extra_name(i));
  return READ_ERROR_AT(&r->lexer, r->lexer.token.at, "%s has no attribute '%.*s'; it takes %s",
                       op->name, HR_STR_ARGS(r->lexer.token.text), list);
}

/* ", name=value" until the list ends. */
hr_status_t read_attributes(read_hlo_t *r, read_draft_t *draft) {
  read_lexer_t *l = &r->lexer;
  while (read_is(l, READ_COMMA)) {
    HR_TRY(read_advance(l));
    if (!read_is(l, READ_ATTR))
      return read_want(l, "an attribute, its name directly followed by '='");
    hr_str_t name = l->token.text;
    bool found = false;
    HR_TRY(read_op_attr(r, draft, name, &found));
    if (!found) HR_TRY(read_extra(r, draft, name, &found));
    if (!found) HR_TRY(read_async_thread(r, draft, name, &found));
    if (!found) HR_TRY(read_old_attr(r, draft, name, &found));
    if (!found) return unknown_attr(r, draft);
  }
  return NULL;
}
