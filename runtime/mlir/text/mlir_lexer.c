/* Lexer of MLIR text. One token at a time; texts point into the source, except strings with
 * escapes, which are copied. Line numbers are not tracked: a position counts lines from the last
 * requested position, so that plain reading is a single pass over the bytes.
 * Shapes ("4x?x5xf32") are not tokens; the parser of types restarts the lexer inside them. */
#include "mlir/text/mlir_lexer.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void mlir_lexer_init(mlir_lexer_t *lexer, const hr_source_t *source, hr_arena_t *arena) {
  *lexer = (mlir_lexer_t){.source = source,
                          .arena = arena,
                          .at = source->text,
                          .end = source->text + source->size_bytes,
                          .line_start = source->text,
                          .counted = source->text,
                          .line = 1};
}

/* Counts lines from the last requested position; only messages ask for an earlier one, which
 * starts over. */
hr_pos_t mlir_lexer_pos(mlir_lexer_t *lexer) {
  const char *at = lexer->token.start ? lexer->token.start : lexer->at;
  if (at < lexer->counted) {
    lexer->counted = lexer->source->text;
    lexer->line_start = lexer->source->text;
    lexer->line = 1;
  }
  for (const char *newline;
       (newline = memchr(lexer->counted, '\n', (size_t)(at - lexer->counted)));) {
    lexer->line++;
    lexer->line_start = newline + 1;
    lexer->counted = newline + 1;
  }
  lexer->counted = at;
  return (hr_pos_t){lexer->source, lexer->line, (uint32_t)(at - lexer->line_start) + 1};
}

/* The position is the token's start, or the current byte if no token has begun. */
static hr_status_t lex_error(mlir_lexer_t *lexer, const char *message) {
  hr_pos_t pos = mlir_lexer_pos(lexer);
  return hr_error_at(HR_INVALID, &pos, "%s", message);
}

/* Skips blanks and // comments. */
static void skip_blanks(mlir_lexer_t *lexer) {
  while (lexer->at < lexer->end) {
    char c = *lexer->at;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      lexer->at++;
    } else if (c == '/' && lexer->at + 1 < lexer->end && lexer->at[1] == '/') {
      const char *newline = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
      lexer->at = newline ? newline : lexer->end;
    } else {
      return;
    }
  }
}

/* Comparisons instead of isalnum(), which is a call: this is the lexer's hot loop. */
static inline bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '.';
}

/* 0 to 15, or -1 if not a hexadecimal digit. */
static int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes the escape after a backslash: \" \\ \n \t or two hex digits. Returns the number of
 * characters read; 0: invalid. */
static int unescape(const char *at, const char *end, char *out) {
  if (at >= end) return 0;
  switch (*at) {
    case '"':
      *out = '"';
      return 1;
    case '\\':
      *out = '\\';
      return 1;
    case 'n':
      *out = '\n';
      return 1;
    case 't':
      *out = '\t';
      return 1;
  }
  if (at + 1 >= end || hex_value(at[0]) < 0 || hex_value(at[1]) < 0) return 0;
  *out = (char)(hex_value(at[0]) * 16 + hex_value(at[1]));
  return 2;
}

/* Reads a string after its opening quote. Without escapes it is not copied: the token points into
 * the source. Strings cannot contain a line break. */
static hr_status_t lex_string(mlir_lexer_t *lexer, hr_str_t *out_text) {
  const char *start = lexer->at;
  const char *at = start;
  bool escaped = false;
  /* blobs have no escapes: memchr finds their end without a loop over bytes */
  const char *quote = memchr(at, '"', (size_t)(lexer->end - at));
  size_t room = quote ? (size_t)(quote - at) : 0;
  if (quote && !memchr(at, '\\', room) && !memchr(at, '\n', room)) at = quote;
  while (at < lexer->end && *at != '"' && *at != '\n') {
    escaped |= *at == '\\';
    at += *at == '\\' && at + 1 < lexer->end ? 2 : 1;
  }
  if (at >= lexer->end || *at != '"')
    return lex_error(lexer, "the string does not end on its line");
  lexer->at = at + 1;
  *out_text = (hr_str_t){start, (size_t)(at - start)};
  if (!escaped) return NULL;
  void *memory;
  HR_TRY(hr_arena_alloc(lexer->arena, out_text->size + 1, &memory));
  char *to = memory;
  for (const char *from = start; from < at;) {
    if (*from != '\\') {
      *to++ = *from++;
      continue;
    }
    int used = unescape(from + 1, at, to);
    if (!used)
      return lex_error(lexer,
                       "a string has an escape other than \\\" \\\\ \\n \\t or two hex digits");
    from += 1 + used;
    to++;
  }
  *out_text = (hr_str_t){memory, (size_t)(to - (char *)memory)};
  return NULL;
}

static hr_status_t no_name(mlir_lexer_t *lexer, char sigil) {
  char message[32];
  snprintf(message, sizeof message, "want a name after '%c'", sigil);
  return lex_error(lexer, message);
}

/* A name after its sigil: digits alone ("%0"), or letters, digits and $ . _ - ("%arg0", "#loc-1").
 * A name that starts with a digit ends at the first other character, so that "%0x" is %0 and x. */
static hr_status_t lex_suffix(mlir_lexer_t *lexer, mlir_token_kind_t kind) {
  const char *start = ++lexer->at;
  while (lexer->at < lexer->end && (is_word_char(*lexer->at) || *lexer->at == '-')) {
    if (isdigit((unsigned char)*start) && !isdigit((unsigned char)*lexer->at)) break;
    if (*lexer->at == '-' && lexer->at + 1 < lexer->end && lexer->at[1] == '>')
      break; /* "#a->#b" */
    lexer->at++;
  }
  if (lexer->at == start) return no_name(lexer, start[-1]);
  lexer->token.kind = kind;
  lexer->token.text = (hr_str_t){start, (size_t)(lexer->at - start)};
  return NULL;
}

/* @name or @"any text". */
static hr_status_t lex_symbol(mlir_lexer_t *lexer) {
  if (lexer->at + 1 >= lexer->end || lexer->at[1] != '"')
    return lex_suffix(lexer, MLIR_TOKEN_SYMBOL);
  lexer->at += 2;
  lexer->token.kind = MLIR_TOKEN_SYMBOL;
  return lex_string(lexer, &lexer->token.text);
}

/* Decimal digits only. */
static void skip_digits(mlir_lexer_t *lexer) {
  while (lexer->at < lexer->end && isdigit((unsigned char)*lexer->at)) lexer->at++;
}

/* Skips [eE] [+-]? digits; an "e" without digits is the start of another token. */
static void skip_exponent(mlir_lexer_t *lexer) {
  const char *at = lexer->at;
  if (at == lexer->end || (*at != 'e' && *at != 'E')) return;
  at++;
  if (at < lexer->end && (*at == '+' || *at == '-')) at++;
  if (at == lexer->end || !isdigit((unsigned char)*at)) return;
  lexer->at = at;
  skip_digits(lexer);
}

/* INTEGER ::= digits | "0x" hex+
 * FLOAT   ::= digits "." digits* ([eE] [+-]? digits)?
 *
 * "0x" before another character than a hexadecimal digit is the integer 0, as in
 * tensor<0xi32>. */
static void lex_number(mlir_lexer_t *lexer) {
  const char *start = lexer->at;
  lexer->token.kind = MLIR_TOKEN_INTEGER;
  if (*start == '0' && start + 2 < lexer->end && start[1] == 'x' && hex_value(start[2]) >= 0) {
    for (lexer->at += 2; lexer->at < lexer->end && hex_value(*lexer->at) >= 0;) lexer->at++;
  } else {
    skip_digits(lexer);
    if (lexer->at < lexer->end && *lexer->at == '.') {
      lexer->token.kind = MLIR_TOKEN_FLOAT;
      lexer->at++;
      skip_digits(lexer);
      skip_exponent(lexer);
    }
  }
  lexer->token.text = (hr_str_t){start, (size_t)(lexer->at - start)};
}

/* `text` has two or three characters. */
static bool starts_with(const mlir_lexer_t *lexer, const char *text) {
  if (lexer->end - lexer->at < 2 || lexer->at[0] != text[0] || lexer->at[1] != text[1])
    return false;
  return !text[2] || (lexer->end - lexer->at >= 3 && lexer->at[2] == text[2]);
}

/* Order: longer punctuation, names with a sigil, single characters. */
static hr_status_t lex_punct(mlir_lexer_t *lexer) {
  static const struct {
    const char text[4];
    mlir_token_kind_t kind;
  } longer[] = {{"->", MLIR_TOKEN_ARROW},
                {"::", MLIR_TOKEN_COLON_COLON},
                {"...", MLIR_TOKEN_ELLIPSIS},
                {"{-#", MLIR_TOKEN_RESOURCES_BEGIN},
                {"#-}", MLIR_TOKEN_RESOURCES_END}};
  for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
    if (starts_with(lexer, longer[i].text)) {
      lexer->token.kind = longer[i].kind;
      lexer->at += strlen(longer[i].text);
      return NULL;
    }
  switch (*lexer->at) {
    case '%':
      return lex_suffix(lexer, MLIR_TOKEN_VALUE);
    case '^':
      return lex_suffix(lexer, MLIR_TOKEN_BLOCK);
    case '#':
      /* "%0#1": a bare '#' before a number selects one of several results */
      if (lexer->at + 1 < lexer->end && isdigit((unsigned char)lexer->at[1])) break;
      return lex_suffix(lexer, MLIR_TOKEN_HASH);
    case '!':
      return lex_suffix(lexer, MLIR_TOKEN_BANG);
    case '@':
      return lex_symbol(lexer);
  }
  if (!*lexer->at || !strchr(":,=(){}[]<>?*+-/|#", *lexer->at))
    return lex_error(lexer, "a character that MLIR does not use");
  lexer->token.kind = MLIR_TOKEN_PUNCT;
  lexer->token.punct = *lexer->at++;
  return NULL;
}

/* The first character after the blanks selects the kind of token; words and names are ASCII. */
hr_status_t mlir_lexer_next(mlir_lexer_t *lexer) {
  skip_blanks(lexer);
  lexer->token = (mlir_token_t){.kind = MLIR_TOKEN_END, .start = lexer->at};
  if (lexer->at >= lexer->end) return NULL;
  char c = *lexer->at;
  if (isalpha((unsigned char)c) || c == '_') {
    while (lexer->at < lexer->end && is_word_char(*lexer->at)) lexer->at++;
    lexer->token.kind = MLIR_TOKEN_WORD;
    lexer->token.text = (hr_str_t){lexer->token.start, (size_t)(lexer->at - lexer->token.start)};
    return NULL;
  }
  if (isdigit((unsigned char)c)) {
    lex_number(lexer);
    return NULL;
  }
  if (c != '"') return lex_punct(lexer);
  lexer->at++;
  lexer->token.kind = MLIR_TOKEN_STRING;
  return lex_string(lexer, &lexer->token.text);
}

hr_status_t mlir_lexer_restart_at(mlir_lexer_t *lexer, const char *at) {
  lexer->at = at;
  return mlir_lexer_next(lexer);
}
