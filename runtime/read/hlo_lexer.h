/* Tokens of HLO text. One token of lookahead. Values that are not made of tokens (brace
 * dictionaries, literals) are read from the bytes, after which read_resume moves the lexer on.
 * Owner:  texts of tokens point into the source; unescaped strings live in the arena.
 * Errors: INVALID with line and column: what was found, and what was wanted.
 * Source: the grammar of XLA's HLO parser. */
#ifndef READ_HLO_LEXER_H
#define READ_HLO_LEXER_H

#include "base/dtype.h"
#include "base/map.h"

typedef enum read_kind {
  READ_END,
  READ_COMMA,
  READ_COLON,
  READ_EQUAL,
  READ_STAR,
  READ_HASH,
  READ_PLUS,
  READ_TILDE,
  READ_OPEN_BRACKET,
  READ_CLOSE_BRACKET,
  READ_OPEN_BRACE,
  READ_CLOSE_BRACE,
  READ_OPEN_PAREN,
  READ_CLOSE_PAREN,
  READ_ARROW,   /* -> */
  READ_AT_MOST, /* <= */
  READ_DOTS,    /* ... */
  READ_QUESTION,
  READ_INT,
  READ_FLOAT,  /* with a point or an exponent, nan, -nan, -inf */
  READ_LABELS, /* b01f_01io->b01f */
  READ_SIZES,  /* 3x3 */
  READ_PADS,   /* 1_1x0_2 */
  READ_NAME,   /* %x, or x: */
  READ_ATTR,   /* x= */
  READ_TYPE,   /* f32 */
  READ_KEYWORD,
  READ_WORD,
  READ_STRING
} read_kind_t;

typedef enum read_keyword {
#define KEYWORD(id, text) READ_KEYWORD_##id,
#include "read/hlo_keywords.def"
#undef KEYWORD
  READ_KEYWORD_COUNT
} read_keyword_t;

typedef struct read_token {
  read_kind_t kind;
  read_keyword_t keyword;
  hr_dtype_t dtype;
  bool percent;   /* a NAME written with '%' */
  uint64_t bits;  /* value of an INT, modulo 2^64 */
  size_t at, end; /* offsets in the text */
  hr_str_t text;  /* NAME, ATTR, WORD, KEYWORD: without '%', ':' and '='; STRING: unescaped; else as
                     written */
} read_token_t;

typedef struct read_lexer {
  const hr_source_t *source; /* borrowed; its name stands in messages */
  const char *text;
  size_t size, at;       /* `at` is where the token after the current one starts */
  read_token_t token;    /* current token */
  hr_arena_t *arena;     /* for unescaped strings */
  const hr_map_t *words; /* type names and keywords */
  /* Last position asked for: the next one is counted from here. */
  size_t line_start;
  uint32_t line;
} read_lexer_t;

/* Starts before the first token; call read_advance once. */
hr_status_t read_lexer_init(read_lexer_t *lexer, const hr_source_t *source, hr_arena_t *arena);

hr_status_t read_advance(read_lexer_t *lexer);
/* Makes the token that starts at or after `offset` the current one. */
hr_status_t read_resume(read_lexer_t *lexer, size_t offset);
/* Moves *at past blanks and comments. */
hr_status_t read_skip_blanks(read_lexer_t *lexer, size_t *at);
/* First byte of the token after the current one; 0 at the end. */
char read_peek(const read_lexer_t *lexer);

hr_pos_t read_pos(read_lexer_t *lexer, size_t offset);
/* INVALID at the current token: "found ..., want " and the message. */
hr_status_t read_want(read_lexer_t *lexer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define READ_ERROR_AT(lexer, offset, ...)                  \
  ({                                                       \
    hr_pos_t read_error_pos = read_pos((lexer), (offset)); \
    hr_error_at(HR_INVALID, &read_error_pos, __VA_ARGS__); \
  })

static inline bool read_is(const read_lexer_t *lexer, read_kind_t kind) {
  return lexer->token.kind == kind;
}
static inline bool read_is_keyword(const read_lexer_t *lexer, read_keyword_t keyword) {
  return lexer->token.kind == READ_KEYWORD && lexer->token.keyword == keyword;
}
static inline bool read_is_word(const read_lexer_t *lexer, const char *word) {
  return lexer->token.kind == READ_WORD && hr_str_is(lexer->token.text, word);
}
/* Moves past a token of this kind, or fails. */
hr_status_t read_expect(read_lexer_t *lexer, read_kind_t kind);
/* Passes a token of this kind if it is there. */
hr_status_t read_accept(read_lexer_t *lexer, read_kind_t kind, bool *out_found);
/* Between the elements of a list: passes a comma, or stops before `close`. Fails on anything else.
 */
hr_status_t read_list_next(read_lexer_t *lexer, read_kind_t close, bool *out_more);
hr_status_t read_int(read_lexer_t *lexer, int64_t *out_value);
hr_status_t read_bool(read_lexer_t *lexer, bool *out_value);
hr_status_t read_string(read_lexer_t *lexer, hr_str_t *out_text);
/* The bytes of a brace dictionary, braces included; the current token is its opening brace. */
hr_status_t read_braces(read_lexer_t *lexer, hr_str_t *out_text);
/* A string or a brace dictionary. */
hr_status_t read_string_or_braces(read_lexer_t *lexer, hr_str_t *out_text);

#endif
