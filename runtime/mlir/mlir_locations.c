/* Locations: the tree keeps their text, as it stands between the parentheses of loc(...). Aliases, which most files
 * write behind everything else, are put in at the end; each is written out once and shared by the ops that name it. */
#include <string.h>

#include "mlir/mlir_parser.h"

#define LOCATION_MAX 2048 /* bytes of a chain of calls; of longer ones the innermost place is kept */
#define ALIAS_DEPTH 200   /* aliases within aliases */

static hr_status_t finish_location(mlir_parser_t *parser, mlir_attr_t *location, int depth);

static bool is_alias_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_.$-", c));
}

/* Bytes up to the next '#' that is not in a string. */
static size_t plain_part(hr_str_t text) {
  bool quoted = false;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] == '"') quoted = !quoted;
    if (text.data[i] == '\\' && quoted) i++;
    if (text.data[i] == '#' && !quoted) return i;
  }
  return text.size;
}

/* What the alias at `at` says, nothing if it is no location: *out_size bytes of the text are its name. */
static hr_status_t alias_text(mlir_parser_t *parser, hr_str_t at, int depth, size_t *out_size, hr_str_t *out_text) {
  size_t size = 1;
  while (size < at.size && is_alias_char(at.data[size])) size++;
  *out_size = size;
  *out_text = (hr_str_t){"", 0};
  mlir_attr_t *alias = hr_map_get(&parser->attr_aliases, (hr_str_t){at.data + 1, size - 1});
  if (!alias || alias->kind != MLIR_ATTR_LOCATION) return NULL;
  HR_TRY(finish_location(parser, alias, depth + 1));
  *out_text = alias->text;
  return NULL;
}

/* False: something else than a location is named (metadata of other tools), and the place is given up. */
static hr_status_t write_out(mlir_parser_t *parser, hr_str_t from, int depth, hr_text_t *text, hr_str_t *out_first,
                             bool *out_whole) {
  *out_whole = true;
  while (from.size) {
    size_t size = plain_part(from);
    hr_str_t part;
    hr_text_add(text, from.data, size);
    from = (hr_str_t){from.data + size, from.size - size};
    if (!from.size) break;
    HR_TRY(alias_text(parser, from, depth, &size, &part));
    *out_whole &= part.size > 0;
    if (!out_first->size) *out_first = part;
    hr_text_add(text, part.data, part.size);
    from = (hr_str_t){from.data + size, from.size - size};
  }
  return hr_text_finish(text);
}

/* Puts its aliases in. A chain of calls that becomes too long is cut down to the place that was called. */
static hr_status_t finish_location(mlir_parser_t *parser, mlir_attr_t *location, int depth) {
  hr_str_t first = {"", 0};
  hr_text_t text;
  bool whole;
  if (depth > ALIAS_DEPTH) location->text = HR_STR("unknown");
  if (plain_part(location->text) == location->text.size) return NULL;
  hr_str_t from = location->text;
  location->text = HR_STR("unknown"); /* for an alias that leads back here */
  hr_text_init(&text);
  hr_status_t st = write_out(parser, from, depth, &text, &first, &whole);
  if (!st && whole && text.size > LOCATION_MAX && from.size > 9 && !memcmp(from.data, "callsite(", 9))
    location->text = first;
  else if (!st && whole && text.size <= 2 * LOCATION_MAX)
    st = hr_arena_str(parser->arena, (hr_str_t){text.data, text.size}, &location->text);
  hr_text_deinit(&text);
  return st;
}

/* An op that names nothing but an alias shares the alias's location. */
static hr_status_t finish_op(mlir_parser_t *parser, mlir_op_t *op) {
  if (!op->location || op->location->kind != MLIR_ATTR_LOCATION || !op->location->text.size) return NULL;
  hr_str_t text = op->location->text;
  mlir_attr_t *location = (mlir_attr_t *)op->location;
  if (text.data[0] == '#') {
    mlir_attr_t *alias = hr_map_get(&parser->attr_aliases, (hr_str_t){text.data + 1, text.size - 1});
    if (alias && alias->kind == MLIR_ATTR_LOCATION) op->location = location = alias;
  }
  return finish_location(parser, location, 0);
}

hr_status_t mlir_finish_locations(mlir_parser_t *parser) {
  const mlir_module_t *module = parser->module;
  for (size_t b = 0; b < module->all_blocks.count; b++)
    for (size_t i = 0; i < module->all_blocks.data[b]->ops.count; i++)
      HR_TRY(finish_op(parser, module->all_blocks.data[b]->ops.data[i]));
  return NULL;
}
