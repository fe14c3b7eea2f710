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

/* "<@mesh, [...]>" of "#sdy.sharding<@mesh, [...]>", as lists of shardings are printed; other texts
 * as they are. */
static hr_str_t without_name(hr_str_t text) {
  static const char name[] = "#sdy.sharding<";
  const size_t size = sizeof name - 2;
  if (text.size <= size || memcmp(text.data, name, size + 1)) return text;
  return (hr_str_t){text.data + size, text.size - size};
}

/* Appends `text` with its aliases replaced, whose texts have none. */
static hr_status_t append(mlir_parser_t *parser, hr_str_t text, hr_strbuf_t *out) {
  for (const mlir_attr_t *alias;;) {
    size_t name_size = 0, size = find_alias(parser, text, &name_size, &alias);
    hr_strbuf_add(out, text.data, size);
    if (!alias) return hr_strbuf_finish(out);
    hr_str_t short_text = without_name(alias->text);
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

hr_status_t mlir_take_sharding(mlir_parser_t *parser, hr_str_t *out_text) {
  const mlir_attr_t *alias;
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind != MLIR_TOKEN_HASH) return mlir_take_balanced(parser, out_text);
  if (hr_str_is(token->text, "sdy.sharding")) {
    HR_TRY(mlir_lexer_next(&parser->lexer));
    return mlir_take_balanced(parser, out_text);
  }
  HR_TRY(mlir_find_alias(parser, token->text, &alias));
  hr_str_t text =
      alias && alias->kind == MLIR_ATTR_OPAQUE ? without_name(alias->text) : (hr_str_t){0};
  if (!text.size || text.data[0] != '<')
    return mlir_expected(parser, "a sharding, or the alias of one that is defined before");
  *out_text = (hr_str_t){text.data + 1, text.size - 2};
  return mlir_lexer_next(&parser->lexer);
}
