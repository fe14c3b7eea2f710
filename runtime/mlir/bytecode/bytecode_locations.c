/* Locations: the tree keeps their text between the parentheses of loc(...). Locations refer to
 * others, so that texts can double with each level: a text beyond LOCATION_MAX is cut to its
 * innermost place, and copies are charged to the file's budget. When the budget is used up,
 * locations are "unknown" rather than an error. */
#include "mlir/bytecode/bytecode_reader.h"
#include "mlir/text/mlir_print.h"

#define LOCATION_MAX 512 /* bytes of text; longer ones are cut to their innermost place */

/* Stores the text; a sixteenth of its size is charged, as many ops share most locations. */
static hr_status_t make_location(bytecode_reader_t *reader, const hr_strbuf_t *text,
                                 const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  hr_str_t copy = HR_STR("unknown");
  HR_TRY(hr_strbuf_finish(text));
  HR_TRY(HR_NEW(reader->arena, &attr));
  attr->kind = MLIR_ATTR_LOCATION;
  if (text->size <= LOCATION_MAX && reader->budget > text->size) {
    reader->budget -= text->size / 16;
    HR_TRY(
        hr_arena_str(reader->arena, (hr_str_t){text->data ? text->data : "", text->size}, &copy));
  }
  attr->text = copy;
  *out_attr = attr;
  return NULL;
}

/* A name as a quoted string; omitted if too long. */
static void add_quoted(hr_strbuf_t *text, hr_str_t string) {
  const mlir_attr_t attr = {.kind = MLIR_ATTR_STRING, .text = string};
  if (string.size <= LOCATION_MAX) mlir_print_attr(text, &attr);
}

/* callsite(callee at caller); only the callee if both together are too long. */
static hr_status_t print_call_site(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                   hr_strbuf_t *text) {
  const mlir_attr_t *callee, *caller;
  HR_TRY(bytecode_take_attr(reader, cursor, &callee));
  HR_TRY(bytecode_take_attr(reader, cursor, &caller));
  if (callee->text.size + caller->text.size + 16 > LOCATION_MAX)
    hr_strbuf_add(text, callee->text.data, callee->text.size);
  else
    hr_strbuf_printf(text, "callsite(%.*s at %.*s)", HR_STR_ARGS(callee->text),
                     HR_STR_ARGS(caller->text));
  return NULL;
}

/* "file":line:column, or a range of up to four numbers: line, column, " to " line, column. The row
 * of separators is chosen by the count of numbers. */
static hr_status_t print_file_range(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                    bool is_range, hr_strbuf_t *text) {
  static const char *const separators[5][4] = {
      {""}, {":"}, {":", ":"}, {":", ":", " to :"}, {":", ":", " to ", ":"}};
  hr_str_t file;
  int count = 2;
  HR_TRY(bytecode_take_text(reader, cursor, &file));
  if (is_range) HR_TRY(bytecode_take_count(reader, cursor, &count));
  if (count > 4) return bytecode_error(reader, cursor, "a location of %d numbers", count);
  add_quoted(text, file);
  for (int i = 0; i < count; i++) {
    uint64_t number;
    HR_TRY(bytecode_take_var(reader, cursor, &number));
    hr_strbuf_printf(text, "%s%lu", separators[count][i], (unsigned long)number);
  }
  return NULL;
}

/* fused[...]: the parts, separated by commas, up to LOCATION_MAX; metadata is dropped. */
static hr_status_t print_fused(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                               bool has_metadata, hr_strbuf_t *text) {
  int count;
  const mlir_attr_t **items, *metadata;
  HR_TRY(bytecode_take_attrs(reader, cursor, &count, &items));
  if (has_metadata) HR_TRY(bytecode_take_attr(reader, cursor, &metadata));
  hr_strbuf_add_str(text, "fused[");
  for (int i = 0; i < count && text->size <= LOCATION_MAX; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    hr_strbuf_add(text, items[i]->text.data, items[i]->text.size);
  }
  hr_strbuf_add_char(text, ']');
  return NULL;
}

/* "name"(location) */
static hr_status_t print_name_location(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                       hr_strbuf_t *text) {
  hr_str_t name;
  const mlir_attr_t *child;
  HR_TRY(bytecode_take_text(reader, cursor, &name));
  HR_TRY(bytecode_take_attr(reader, cursor, &child));
  add_quoted(text, name);
  if (!hr_str_is(child->text, "unknown") && name.size + child->text.size + 4 <= LOCATION_MAX)
    hr_strbuf_printf(text, "(%.*s)", HR_STR_ARGS(child->text));
  return NULL;
}

/* Decodes a location by its code of builtin; BUILTIN_ATTR_UNKNOWN_LOC has no fields. */
hr_status_t bytecode_take_location(bytecode_reader_t *reader, bytecode_cursor_t *cursor,
                                   uint64_t code, const mlir_attr_t **out_attr) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_status_t st = NULL;
  switch (code) {
    case BUILTIN_ATTR_CALL_SITE_LOC:
      st = print_call_site(reader, cursor, &text);
      break;
    case BUILTIN_ATTR_FILE_LOC:
      st = print_file_range(reader, cursor, false, &text);
      break;
    case BUILTIN_ATTR_FUSED_LOC:
      st = print_fused(reader, cursor, false, &text);
      break;
    case BUILTIN_ATTR_FUSED_METADATA_LOC:
      st = print_fused(reader, cursor, true, &text);
      break;
    case BUILTIN_ATTR_NAME_LOC:
      st = print_name_location(reader, cursor, &text);
      break;
    case BUILTIN_ATTR_FILE_RANGE_LOC:
      st = print_file_range(reader, cursor, true, &text);
      break;
    default:
      hr_strbuf_add_str(&text, "unknown");
      break;
  }
  if (!st) st = make_location(reader, &text, out_attr);
  hr_strbuf_deinit(&text);
  return st;
}
