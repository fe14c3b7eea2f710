/* Aliases in attributes that are kept as text, such as #s in #sdy.sharding_per_value<[#s, #s]>:
 * each is replaced by the text that it stands for. */
#include <string.h>

#include "mlir/text/mlir_parser.h"

/* All aliases of a file may stand for so much text, and for 16 times the file besides. */
#define MAX_ALIAS_BYTES ((size_t)1 << 20)

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '.';
}

/* Bytes of `text` before an alias, which *out_attr is then; all of them if there is none. */
static size_t find_alias(const mlir_parser_t *parser, hr_str_t text, size_t *out_name_size,
                         const mlir_attr_t **out_attr) {
  bool is_quoted = false;
  *out_attr = NULL;
  for (size_t i = 0; i < text.size; i++) {
    size_t size = 0;
    if (text.data[i] == '"') is_quoted = !is_quoted;
    if (text.data[i] != '#' || is_quoted) continue;
    while (i + 1 + size < text.size && is_name_char(text.data[i + 1 + size])) size++;
    const mlir_attr_t *attr =
        hr_map_get(&parser->attr_aliases, (hr_str_t){text.data + i + 1, size});
    if (!attr || attr->kind != MLIR_ATTR_OPAQUE) continue;
    *out_name_size = size;
    *out_attr = attr;
    return i;
  }
  return text.size;
}

/* "<...>" of "#name<...>"; nothing of another text. */
static hr_str_t brackets_of(hr_str_t text, const char *name) {
  size_t size = strlen(name) + 1;
  bool is_named = text.size > size && text.data[0] == '#' && text.data[size] == '<' &&
                  !memcmp(text.data + 1, name, size - 1);
  return is_named ? (hr_str_t){text.data + size, text.size - size} : (hr_str_t){0};
}

/* The text of an attribute as it is printed inside of another one: "<@mesh, [...]>" of a sharding,
 * "mesh<[...]>" of a mesh. */
static hr_str_t inner_text(hr_str_t text) {
  const size_t dialect = sizeof "#sdy." - 1;
  hr_str_t sharding = brackets_of(text, "sdy.sharding");
  if (sharding.size) return sharding;
  bool is_mesh = brackets_of(text, "sdy.mesh").size > 0;
  return is_mesh ? (hr_str_t){text.data + dialect, text.size - dialect} : text;
}

/* Appends `text` with its aliases replaced, whose texts have none. */
static hr_status_t append(mlir_parser_t *parser, hr_str_t text, hr_strbuf_t *out) {
  for (const mlir_attr_t *alias;;) {
    size_t name_size = 0, size = find_alias(parser, text, &name_size, &alias);
    hr_strbuf_add(out, text.data, size);
    if (!alias) return hr_strbuf_finish(out);
    hr_str_t short_text = inner_text(alias->text);
    hr_strbuf_add(out, short_text.data, short_text.size);
    parser->alias_bytes += alias->text.size;
    if (parser->alias_bytes > MAX_ALIAS_BYTES + 16 * parser->module->source.size_bytes)
      return mlir_expected(parser, "aliases of shardings that stand for less text");
    size += 1 + name_size;
    text = (hr_str_t){text.data + size, text.size - size};
  }
}

hr_status_t mlir_replace_aliases(mlir_parser_t *parser, hr_str_t *text) {
  const mlir_attr_t *alias;
  size_t ignored;
  hr_strbuf_t expanded;
  find_alias(parser, *text, &ignored, &alias);
  if (!alias) return NULL; /* the text stays where it is in the source */
  hr_strbuf_init(&expanded);
  hr_status_t st = append(parser, *text, &expanded);
  if (!st) st = hr_arena_str(parser->arena, (hr_str_t){expanded.data, expanded.size}, text);
  hr_strbuf_deinit(&expanded);
  return st;
}

/* `wanted` is said of another attribute. */
static hr_status_t take_named(mlir_parser_t *parser, const char *name, const char *wanted,
                              hr_str_t *out_text) {
  const mlir_attr_t *alias;
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind != MLIR_TOKEN_HASH) return mlir_take_balanced(parser, out_text);
  if (hr_str_is(token->text, name)) {
    HR_TRY(mlir_lexer_next(&parser->lexer));
    return mlir_take_balanced(parser, out_text);
  }
  HR_TRY(mlir_find_alias(parser, token->text, &alias));
  bool is_text = alias && alias->kind == MLIR_ATTR_OPAQUE;
  hr_str_t text = is_text ? brackets_of(alias->text, name) : (hr_str_t){0};
  if (!text.size) return mlir_expected(parser, wanted);
  *out_text = (hr_str_t){text.data + 1, text.size - 2};
  return mlir_lexer_next(&parser->lexer);
}

hr_status_t mlir_take_sharding(mlir_parser_t *parser, hr_str_t *out_text) {
  return take_named(parser, "sdy.sharding",
                    "a sharding, or the alias of one that is defined before", out_text);
}

hr_status_t mlir_take_mesh(mlir_parser_t *parser, hr_str_t *out_text) {
  return take_named(parser, "sdy.mesh", "a mesh, or the alias of one that is defined before",
                    out_text);
}
