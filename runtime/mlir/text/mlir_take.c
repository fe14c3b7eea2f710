/* Functions by which all parsers of MLIR text test and consume the current token. An error has the
 * token that was found and the expected one, with line and column. */
#include "mlir/text/mlir_parser.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_BYTES 40 /* most bytes of a token in a message */

/* The current token in quotes, cut to 40 bytes. */
static const char *describe_token(const mlir_parser_t *parser, char into[64]) {
  const mlir_token_t *token = mlir_peek(parser);
  const mlir_lexer_t *lexer = &parser->lexer;
  if (token->kind == MLIR_TOKEN_END) return "the end of the file";
  size_t size = (size_t)(lexer->at - token->start);
  bool is_cut = size >= SHOWN_BYTES;
  snprintf(into, 64, "'%.*s%s'", is_cut ? SHOWN_BYTES : (int)size, token->start,
           is_cut ? "..." : "");
  return into;
}

/* The only syntax error: "found ..., want ..." at the current token. */
hr_status_t mlir_expected(mlir_parser_t *parser, const char *wanted) {
  char found[64];
  hr_pos_t pos = mlir_lexer_pos(&parser->lexer);
  return hr_error_at(HR_INVALID, &pos, "found %s, want %s", describe_token(parser, found), wanted);
}

/* Consumes a punctuation character, which must come next. */
hr_status_t mlir_take(mlir_parser_t *parser, char punct) {
  if (mlir_at(parser, punct)) return mlir_lexer_next(&parser->lexer);
  char wanted[4] = {'\'', punct, '\'', 0};
  return mlir_expected(parser, wanted);
}

hr_status_t mlir_take_word(mlir_parser_t *parser, const char *word) {
  return mlir_at_word(parser, word) ? mlir_lexer_next(&parser->lexer) : mlir_expected(parser, word);
}

/* `wanted` is for the message. The text stays valid after the token: it points into the source or
 * the arena. */
hr_status_t mlir_take_kind(mlir_parser_t *parser, mlir_token_kind_t kind, const char *wanted,
                           hr_str_t *out_text) {
  if (mlir_peek(parser)->kind != kind) return mlir_expected(parser, wanted);
  if (out_text) *out_text = mlir_peek(parser)->text;
  return mlir_lexer_next(&parser->lexer);
}

hr_status_t mlir_take_if(mlir_parser_t *parser, char punct, bool *out_taken) {
  *out_taken = mlir_at(parser, punct);
  return *out_taken ? mlir_lexer_next(&parser->lexer) : NULL;
}

hr_status_t mlir_take_word_if(mlir_parser_t *parser, const char *word, bool *out_taken) {
  *out_taken = mlir_at_word(parser, word);
  return *out_taken ? mlir_lexer_next(&parser->lexer) : NULL;
}

/* Recursive parsers call mlir_enter first and mlir_leave last; after an error the count does not
 * matter, as parsing ends. */
hr_status_t mlir_enter(mlir_parser_t *parser) {
  return ++parser->depth > MLIR_MAX_DEPTH
             ? mlir_expected(parser, "less nesting (at most 1000 levels)")
             : NULL;
}

void mlir_leave(mlir_parser_t *parser) { parser->depth--; }

/* A decimal or hexadecimal number. Non-negative ones may use all 64 bits and wrap:
 * 0xFFFFFFFFFFFFFFFF is -1. */
hr_status_t mlir_take_integer(mlir_parser_t *parser, int64_t *out_value) {
  bool negative;
  char digits[32];
  HR_TRY(mlir_take_if(parser, '-', &negative));
  const mlir_token_t *token = mlir_peek(parser);
  if (token->kind != MLIR_TOKEN_INTEGER || token->text.size >= sizeof digits)
    return mlir_expected(parser, "an integer");
  memcpy(digits, token->text.data, token->text.size);
  digits[token->text.size] = 0;
  errno = 0;
  uint64_t magnitude = strtoull(digits, NULL, 0);
  if (errno || (negative && magnitude > UINT64_C(1) << 63))
    return mlir_expected(parser, "an integer of 64 bits");
  *out_value = (int64_t)(negative ? 0 - magnitude : magnitude);
  return mlir_lexer_next(&parser->lexer);
}

/* Counts angle brackets only; "->" is one token and does not close any. The text includes blanks
 * and comments. */
hr_status_t mlir_take_balanced(mlir_parser_t *parser, hr_str_t *out_text) {
  if (!mlir_at(parser, '<')) return mlir_expected(parser, "'<'");
  const char *start = mlir_peek(parser)->start + 1;
  const char *stop = start;
  int depth = 0;
  do {
    if (mlir_peek(parser)->kind == MLIR_TOKEN_END) return mlir_expected(parser, "'>'");
    depth += mlir_at(parser, '<') - mlir_at(parser, '>');
    stop = mlir_peek(parser)->start;
    HR_TRY(mlir_lexer_next(&parser->lexer));
  } while (depth);
  *out_text = (hr_str_t){start, (size_t)(stop - start)};
  return NULL;
}
