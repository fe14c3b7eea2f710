/* Locations: the tree keeps their text between the parentheses of loc(...).
 *   %0 = stablehlo.add %a, %b : tensor<f32> loc(#loc2)      an alias, defined at the file's end
 *   #loc1 = loc("model.py":12:3)
 *   #loc2 = loc("add"(#loc1))                               aliases refer to aliases
 * Each alias is expanded once, to loc("add"("model.py":12:3)), and shared by the ops that name it.
 * Expanded chains of call sites double with each level: a text beyond LOCATION_MAX is cut to its
 * innermost place, so that the cost is linear in the file. */
#include <string.h>

#include "mlir/text/mlir_parser.h"

#define LOCATION_MAX \
  2048 /* bytes of a chain of calls; longer ones are cut to their innermost place */
#define ALIAS_DEPTH 200 /* nesting of aliases */

static hr_status_t finish_text(mlir_parser_t *parser, hr_str_t *text, int depth);

/* Characters of the name after '#'. */
static bool is_alias_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '-';
}

/* --- reading --- */

/* "loc" is 0, "loc12" is 12; false for other names, and for leading zeros. A number beyond the
 * length of the text is refused, since the table of aliases is indexed by it. */
static bool alias_number(const mlir_parser_t *parser, hr_str_t name, size_t *out_number) {
  size_t number = 0;
  if (name.size < 3 || memcmp(name.data, "loc", 3)) return false;
  for (size_t i = 3; i < name.size; i++) {
    bool fits = name.data[i] >= (i == 3 ? '1' : '0') && name.data[i] <= '9';
    number = 10 * number + (size_t)(name.data[i] - '0');
    if (!fits || number > parser->module->source.size_bytes) return false;
  }
  *out_number = number;
  return true;
}

/* True for names that MLIR's printer generates, such as "loc" and "loc12"; only these are resolved
 * late. */
bool mlir_is_location_alias(const mlir_parser_t *parser, hr_str_t name) {
  size_t number;
  return alias_number(parser, name, &number);
}

/* The attribute shared by all ops that name this alias; its text is "unknown" until the
 * definition. */
static hr_status_t shared_location(mlir_parser_t *parser, mlir_location_alias_t *alias,
                                   mlir_attr_t **out_location) {
  if (!alias->attr) {
    HR_TRY(HR_NEW(parser->arena, &alias->attr));
    alias->attr->kind = MLIR_ATTR_LOCATION;
    alias->attr->text = alias->text.size ? alias->text : HR_STR("unknown");
  }
  *out_location = alias->attr;
  return NULL;
}

/* The table's entry for a name; NULL if the name has no number or is beyond the table. */
static mlir_location_alias_t *numbered_alias(mlir_parser_t *parser, hr_str_t name) {
  size_t number;
  bool seen = alias_number(parser, name, &number) && number < parser->location_aliases.count;
  return seen ? &parser->location_aliases.data[number] : NULL;
}

hr_status_t mlir_find_alias(mlir_parser_t *parser, hr_str_t name, const mlir_attr_t **out_attr) {
  mlir_location_alias_t *alias = numbered_alias(parser, name);
  if (alias && alias->text.size) return shared_location(parser, alias, (mlir_attr_t **)out_attr);
  *out_attr = hr_map_get(&parser->attr_aliases, name);
  return NULL;
}

/* Extends the table up to `number`; entries without a definition stay empty. */
static hr_status_t new_alias(mlir_parser_t *parser, size_t number,
                             mlir_location_alias_t **out_alias) {
  while (parser->location_aliases.count <= number)
    HR_VEC_PUSH(&parser->location_aliases, (mlir_location_alias_t){{"", 0}, NULL});
  *out_alias = &parser->location_aliases.data[number];
  return NULL;
}

/* "loc(" ... ")": the text between the parentheses. */
static hr_status_t take_location(mlir_parser_t *parser, hr_str_t *out_text) {
  HR_TRY(mlir_take_word(parser, "loc"));
  if (!mlir_at(parser, '(')) return mlir_expected(parser, "'('");
  const char *start = mlir_peek(parser)->start + 1;
  const char *stop = start;
  int depth = 0;
  do {
    if (mlir_peek(parser)->kind == MLIR_TOKEN_END) return mlir_expected(parser, "')'");
    depth += mlir_at(parser, '(') - mlir_at(parser, ')');
    stop = mlir_peek(parser)->start;
    HR_TRY(mlir_lexer_next(&parser->lexer));
  } while (depth);
  *out_text = (hr_str_t){start, (size_t)(stop - start)};
  return NULL;
}

/* Ops whose location is only an alias share the alias's attribute. */
hr_status_t mlir_parse_location(mlir_parser_t *parser, const mlir_attr_t **out_attr) {
  hr_str_t text;
  mlir_attr_t *attr;
  mlir_location_alias_t *alias;
  size_t number;
  HR_TRY(take_location(parser, &text));
  bool is_alias = text.size && text.data[0] == '#' &&
                  alias_number(parser, (hr_str_t){text.data + 1, text.size - 1}, &number);
  if (is_alias) {
    HR_TRY(new_alias(parser, number, &alias));
    return shared_location(parser, alias, (mlir_attr_t **)out_attr);
  }
  HR_TRY(HR_NEW(parser->arena, &attr));
  attr->kind = MLIR_ATTR_LOCATION;
  attr->text = text;
  *out_attr = attr;
  return NULL;
}

/* Sets the text in the attribute that ops before the definition already share. */
hr_status_t mlir_define_location(mlir_parser_t *parser, hr_str_t name) {
  size_t number = 0;
  mlir_location_alias_t *alias;
  alias_number(parser, name, &number);
  HR_TRY(new_alias(parser, number, &alias));
  HR_TRY(take_location(parser, &alias->text));
  if (alias->attr) alias->attr->text = alias->text;
  return NULL;
}

/* --- aliases --- */

/* Bytes before the next '#' that is not in a string. */
static size_t plain_part(hr_str_t text) {
  bool quoted = false;
  if (!text.size || !memchr(text.data, '#', text.size)) return text.size;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] == '"') quoted = !quoted;
    if (text.data[i] == '\\' && quoted) i++;
    if (text.data[i] == '#' && !quoted) return i;
  }
  return text.size;
}

/* Text of the alias at `at`, empty if it is not a location. *out_size is the size of its name. */
static hr_status_t alias_text(mlir_parser_t *parser, hr_str_t at, int depth, size_t *out_size,
                              hr_str_t *out_text) {
  size_t size = 1;
  while (size < at.size && is_alias_char(at.data[size])) size++;
  *out_size = size;
  *out_text = (hr_str_t){"", 0};
  hr_str_t name = {at.data + 1, size - 1};
  hr_str_t *text = NULL;
  mlir_location_alias_t *alias = numbered_alias(parser, name);
  mlir_attr_t *attr = alias ? NULL : hr_map_get(&parser->attr_aliases, name);
  if (alias) text = &alias->text;
  if (attr && attr->kind == MLIR_ATTR_LOCATION) text = &attr->text;
  if (!text) return NULL;
  HR_TRY(finish_text(parser, text, depth + 1));
  *out_text = *text;
  return NULL;
}

/* Copies `from` with its aliases expanded. *out_whole is false if one of them is not a location
 * (metadata of other tools), which drops the whole location; *out_first is the first alias's
 * text. */
static hr_status_t write_out(mlir_parser_t *parser, hr_str_t from, int depth, hr_strbuf_t *text,
                             hr_str_t *out_first, bool *out_whole) {
  *out_whole = true;
  while (from.size) {
    size_t size = plain_part(from);
    hr_str_t part;
    hr_strbuf_add(text, from.data, size);
    from = (hr_str_t){from.data + size, from.size - size};
    if (!from.size) break;
    HR_TRY(alias_text(parser, from, depth, &size, &part));
    *out_whole &= part.size > 0;
    if (!out_first->size) *out_first = part;
    hr_strbuf_add(text, part.data, part.size);
    from = (hr_str_t){from.data + size, from.size - size};
  }
  return hr_strbuf_finish(text);
}

/* Expands the aliases in a location's text. Meanwhile the text is "unknown", also for cycles of
 * aliases. */
static hr_status_t finish_text(mlir_parser_t *parser, hr_str_t *location, int depth) {
  hr_str_t first = {"", 0};
  hr_str_t from = *location;
  hr_strbuf_t text;
  bool whole;
  if (depth > ALIAS_DEPTH) *location = HR_STR("unknown");
  if (plain_part(*location) == location->size) return NULL;
  *location = HR_STR("unknown"); /* what a cycle of aliases finds */
  hr_strbuf_init(&text);
  hr_status_t st = write_out(parser, from, depth, &text, &first, &whole);
  if (!st && whole && text.size > LOCATION_MAX && from.size > 9 &&
      !memcmp(from.data, "callsite(", 9))
    *location = first;
  else if (!st && whole && text.size <= 2 * LOCATION_MAX)
    st = hr_arena_str(parser->arena, (hr_str_t){text.data, text.size}, location);
  hr_strbuf_deinit(&text);
  return st;
}

/* If the op's location is only an alias, it shares the alias's attribute instead of a copy. */
static hr_status_t finish_op(mlir_parser_t *parser, mlir_op_t *op) {
  if (!op->location || op->location->kind != MLIR_ATTR_LOCATION || !op->location->text.size)
    return NULL;
  hr_str_t text = op->location->text;
  mlir_attr_t *alias = NULL;
  if (text.data[0] == '#')
    alias = hr_map_get(&parser->attr_aliases, (hr_str_t){text.data + 1, text.size - 1});
  if (alias && alias->kind == MLIR_ATTR_LOCATION) op->location = alias;
  return finish_text(parser, &((mlir_attr_t *)op->location)->text, 0);
}

/* Called once, when all aliases of the file are known. */
hr_status_t mlir_finish_locations(mlir_parser_t *parser) {
  const mlir_module_t *module = parser->module;
  for (size_t b = 0; b < module->all_blocks.count; b++)
    for (size_t i = 0; i < module->all_blocks.data[b]->ops.count; i++)
      HR_TRY(finish_op(parser, module->all_blocks.data[b]->ops.data[i]));
  return NULL;
}
