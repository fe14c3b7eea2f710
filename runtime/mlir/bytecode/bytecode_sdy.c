/* Attributes of the sdy dialect: the tree keeps them as text, "#sdy.sharding<@mesh, [{"x"}, {}]>".
 * Entries refer to each other, and an entry's text contains those of its parts without their
 * mnemonics:
 *   axis_ref "x":(1)2, dimension_sharding {"x", ?}p1, sharding @mesh, [dims], replicated={axes}
 * Texts are bounded (TEXT_MAX) and charged to the budget. Source: Shardy's bytecode.cc (codes). */
#include <string.h>

#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/text/mlir_print.h"

#define TEXT_MAX 65536 /* bytes of one attribute: entries repeat each other's text */

/* The text between the angle brackets of an attribute that this file printed. */
static hr_str_t body_of(const mlir_attr_t *attr) {
  const char *open =
      attr->kind == MLIR_ATTR_OPAQUE ? memchr(attr->text.data, '<', attr->text.size) : NULL;
  if (!open) return attr->text;
  size_t skipped = (size_t)(open - attr->text.data) + 1;
  return (hr_str_t){open + 1, attr->text.size - skipped - 1};
}

/* Appends text that needs no quotes: words of the dialect and numbers. */
static void add_str(hr_strbuf_t *text, hr_str_t string) {
  hr_strbuf_add(text, string.data, string.size);
}

/* Appends a name of an axis or a mesh in MLIR's quotes and escapes. */
static void add_quoted(hr_strbuf_t *text, hr_str_t string) {
  const mlir_attr_t attr = {.kind = MLIR_ATTR_STRING, .text = string};
  mlir_print_attr(text, &attr);
}

/* A bracketed list of the bodies of entries; `angled` puts each body into angle brackets. */
static hr_status_t add_list(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                            const char *brackets, bool angled, hr_strbuf_t *text, int *out_count) {
  const mlir_attr_t **items;
  HR_TRY(bytecode_take_attrs(reader, cursor, out_count, &items));
  hr_strbuf_add_char(text, brackets[0]);
  for (int i = 0; i < *out_count && text->size < TEXT_MAX; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    if (angled) hr_strbuf_add_char(text, '<');
    if (items[i]->kind == MLIR_ATTR_STRING)
      add_quoted(text, items[i]->text);
    else
      add_str(text, body_of(items[i]));
    if (angled) hr_strbuf_add_char(text, '>');
  }
  hr_strbuf_add_char(text, brackets[1]);
  return NULL;
}

/* "x"=2 */
static hr_status_t print_mesh_axis(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                   hr_strbuf_t *text) {
  hr_str_t name;
  int64_t size;
  HR_TRY(bytecode_take_string(reader, cursor, &name));
  HR_TRY(bytecode_take_svar(reader, cursor, &size));
  add_quoted(text, name);
  hr_strbuf_printf(text, "=%ld", (long)size);
  return NULL;
}

/* ["x"=2, ...], device_ids=[...]; the ids are optional. */
static hr_status_t print_mesh(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              hr_strbuf_t *text) {
  int count;
  hr_ints_t ids;
  HR_TRY(add_list(reader, cursor, "[]", false, text, &count));
  HR_TRY(bytecode_take_ints(reader, cursor, &ids));
  for (int64_t i = 0; i < ids.count; i++)
    hr_strbuf_printf(text, "%s%ld", i ? ", " : ", device_ids=[", (long)ids.data[i]);
  if (ids.count) hr_strbuf_add_char(text, ']');
  return NULL;
}

/* (pre_size)size */
static hr_status_t print_sub_axis(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  hr_strbuf_t *text) {
  int64_t pre, size;
  HR_TRY(bytecode_take_svar(reader, cursor, &pre));
  HR_TRY(bytecode_take_svar(reader, cursor, &size));
  hr_strbuf_printf(text, "(%ld)%ld", (long)pre, (long)size);
  return NULL;
}

/* "x" or "x":(1)2 */
static hr_status_t print_axis_ref(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                  hr_strbuf_t *text) {
  hr_str_t name;
  uint64_t index;
  const mlir_attr_t *sub;
  HR_TRY(bytecode_take_string(reader, cursor, &name));
  HR_TRY(bytecode_take_var(reader, cursor, &index));
  add_quoted(text, name);
  if (!(index & 1)) return NULL;
  HR_TRY(bytecode_attr_at(reader, cursor, index >> 1, &sub));
  hr_strbuf_add_char(text, ':');
  add_str(text, body_of(sub));
  return NULL;
}

/* {axes, ?}pN: '?' for a dimension that propagation may shard further, pN for its priority. */
static hr_status_t print_dimension(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                   hr_strbuf_t *text) {
  int count;
  uint8_t closed;
  uint64_t priority;
  HR_TRY(add_list(reader, cursor, "{}", false, text, &count));
  HR_TRY(bytecode_take_byte(reader, cursor, &closed));
  HR_TRY(bytecode_take_var(reader, cursor, &priority));
  if (!closed && text->size) {
    text->size--; /* the bracket */
    hr_strbuf_add_str(text, count ? ", ?}" : "?}");
  }
  if (priority & 1) hr_strbuf_printf(text, "p%lu", (unsigned long)(priority >> 1));
  return NULL;
}

/* List of axis references in braces. */
static hr_status_t add_axes(bytecode_reader_t *reader, bytecode_cursor_t *cursor, const char *label,
                            hr_strbuf_t *text) {
  int count;
  size_t before = text->size;
  hr_strbuf_printf(text, strchr(label, '=') ? ", %s" : ", %s=", label);
  HR_TRY(add_list(reader, cursor, "{}", false, text, &count));
  if (!count) text->size = before;
  return NULL;
}

/* The reduction kind follows its axes; the default, a sum, is not printed. */
static hr_status_t add_unreduced(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 bool has_reduction, hr_strbuf_t *text) {
  static const char *const labels[] = {"unreduced", "unreduced=max", "unreduced=min"};
  int64_t reduction = 0;
  bytecode_cursor_t lookahead = *cursor;
  if (has_reduction) {
    int count;
    uint64_t axis;
    HR_TRY(bytecode_take_count(reader, &lookahead, &count));
    for (int i = 0; i < count; i++) HR_TRY(bytecode_take_var(reader, &lookahead, &axis));
    HR_TRY(bytecode_take_svar(reader, &lookahead, &reduction));
    if (reduction < 0 || reduction >= (int64_t)(sizeof labels / sizeof *labels))
      return bytecode_error(reader, cursor, "the reduction %ld of a sharding", (long)reduction);
  }
  HR_TRY(add_axes(reader, cursor, labels[reduction], text));
  if (has_reduction) *cursor = lookahead;
  return NULL;
}

/* @mesh, [dims], replicated={...}, unreduced={...} */
static hr_status_t print_sharding(bytecode_reader_t *reader, bytecode_cursor_t *cursor, int version,
                                  hr_strbuf_t *text) {
  const mlir_attr_t *mesh;
  int count;
  HR_TRY(bytecode_take_attr(reader, cursor, &mesh));
  if (mesh->kind == MLIR_ATTR_SYMBOL)
    mlir_print_attr(text, mesh);
  else
    hr_strbuf_printf(text, "mesh<%.*s>", HR_STR_ARGS(body_of(mesh)));
  hr_strbuf_add_str(text, ", ");
  HR_TRY(add_list(reader, cursor, "[]", false, text, &count));
  HR_TRY(add_axes(reader, cursor, "replicated", text));
  return version >= 2 ? add_unreduced(reader, cursor, version >= 3, text) : NULL;
}

/* --- rules: ([i, j], [j, k])->([i, k]) {i=8, j=2, k=4} reduction={j} --- */

/* Factors are called i to z, then z_1, z_2, ... */
static void add_factor(hr_strbuf_t *text, int64_t factor) {
  if (factor >= 0 && factor <= 'z' - 'i')
    hr_strbuf_add_char(text, (char)('i' + factor));
  else
    hr_strbuf_printf(text, "z_%ld", (long)(factor - ('z' - 'i')));
}

/* The factors of one dimension without separators: "ij" is a dimension made of two factors. */
static hr_status_t print_factors(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                 hr_strbuf_t *text) {
  hr_ints_t factors;
  HR_TRY(bytecode_take_ints(reader, cursor, &factors));
  for (int64_t i = 0; i < factors.count; i++) add_factor(text, factors.data[i]);
  return NULL;
}

/* " label={i, j}"; nothing if there are no factors. */
static hr_status_t add_factor_list(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                   const char *label, hr_strbuf_t *text) {
  hr_ints_t factors;
  HR_TRY(bytecode_take_ints(reader, cursor, &factors));
  for (int64_t i = 0; i < factors.count; i++) {
    if (i)
      hr_strbuf_add_str(text, ", ");
    else
      hr_strbuf_printf(text, " %s={", label);
    add_factor(text, factors.data[i]);
  }
  if (factors.count) hr_strbuf_add_char(text, '}');
  return NULL;
}

/* ([i, j], [j, k])->([i, k]) {i=8, j=2, k=4} reduction={j}: the factors of operands and results,
 * their sizes, and lists of special factors. */
static hr_status_t print_rule(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                              hr_strbuf_t *text) {
  static const char *const labels[] = {"reduction", "need_replication", "permutation",
                                       "blocked_propagation"};
  hr_ints_t sizes;
  int count;
  uint8_t custom;
  HR_TRY(bytecode_take_ints(reader, cursor, &sizes));
  HR_TRY(add_list(reader, cursor, "()", false, text, &count));
  hr_strbuf_add_str(text, "->");
  HR_TRY(add_list(reader, cursor, "()", false, text, &count));
  hr_strbuf_add_str(text, " {");
  for (int64_t i = 0; i < sizes.count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    add_factor(text, i);
    hr_strbuf_printf(text, "=%ld", (long)sizes.data[i]);
  }
  hr_strbuf_add_char(text, '}');
  for (int i = 0; i < 4; i++) HR_TRY(add_factor_list(reader, cursor, labels[i], text));
  HR_TRY(bytecode_take_byte(reader, cursor, &custom));
  if (custom) hr_strbuf_add_str(text, ", custom");
  return NULL;
}

/* {axes}: from->to */
static hr_status_t print_param(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               hr_strbuf_t *text) {
  int count;
  int64_t from, to;
  HR_TRY(add_list(reader, cursor, "{}", false, text, &count));
  HR_TRY(bytecode_take_svar(reader, cursor, &from));
  HR_TRY(bytecode_take_svar(reader, cursor, &to));
  hr_strbuf_printf(text, ": %ld->%ld", (long)from, (long)to);
  return NULL;
}

/* Prints the text between "#sdy.name<" and ">" for a code. */
static hr_status_t print_body(bytecode_reader_t *reader, bytecode_cursor_t *cursor, uint64_t code,
                              hr_strbuf_t *text) {
  int count;
  switch (code) {
    case 0:
    case 11:
      return add_list(reader, cursor, "{}", false, text, &count);
    case 1:
      return print_mesh_axis(reader, cursor, text);
    case 2:
      return print_mesh(reader, cursor, text);
    case 3:
      return print_sub_axis(reader, cursor, text);
    case 4:
      return print_axis_ref(reader, cursor, text);
    case 5:
      return print_dimension(reader, cursor, text);
    case 6:
      return print_sharding(reader, cursor, 1, text);
    case 15:
      return print_sharding(reader, cursor, 2, text);
    case 17:
      return print_sharding(reader, cursor, 3, text);
    case 7:
    case 16:
      return add_list(reader, cursor, "[]", true, text, &count);
    case 12:
    case 14:
      return add_list(reader, cursor, "[]", false, text, &count);
    case 8:
      return print_factors(reader, cursor, text);
    case 9:
      return add_list(reader, cursor, "[]", false, text, &count);
    case 10:
      return print_rule(reader, cursor, text);
    default:
      return print_param(reader, cursor, text);
  }
}

/* Decodes to an OPAQUE attribute with the same text as in the text form. */
hr_status_t bytecode_sdy_attr(bytecode_reader_t *reader, bytecode_cursor_t *cursor, uint64_t code,
                              const mlir_attr_t **out_attr) {
  static const char *const names[] = {"manual_axes",
                                      "mesh_axis",
                                      "mesh",
                                      "sub_axis_info",
                                      "axis_ref",
                                      "dimension_sharding",
                                      "sharding",
                                      "sharding_per_value",
                                      "dim_mapping",
                                      "tensor_mapping",
                                      "op_sharding_rule",
                                      "axis_ref_list",
                                      "list_of_axis_ref_lists",
                                      "all_to_all_param",
                                      "all_to_all_param_list",
                                      "sharding",
                                      "sharding_per_value",
                                      "sharding"};
  if (code >= sizeof names / sizeof *names)
    return bytecode_error(reader, cursor, "the attribute of code %lu is not known",
                          (unsigned long)code);
  mlir_attr_t *attr;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "#sdy.%s<", names[code]);
  hr_status_t st = print_body(reader, cursor, code, &text);
  hr_strbuf_add_char(&text, '>');
  if (!st) st = hr_strbuf_finish(&text);
  if (!st && text.size > TEXT_MAX)
    st = bytecode_error(reader, cursor, "an attribute of %zu bytes of text", text.size);
  if (!st) st = bytecode_charge(reader, text.size / 16);
  if (!st) st = HR_NEW(reader->arena, &attr);
  if (!st) attr->kind = MLIR_ATTR_OPAQUE;
  if (!st) st = hr_arena_str(reader->arena, (hr_str_t){text.data, text.size}, &attr->text);
  if (!st) *out_attr = attr;
  hr_strbuf_deinit(&text);
  return st;
}
