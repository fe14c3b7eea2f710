/* Tokens of MLIR text. The lexer holds one token.
 * Owner:  texts point into the source, unescaped strings live in the arena.
 * Errors: INVALID with line and column.
 * Source: MLIR language reference. */
#ifndef MLIR_MLIR_LEXER_H
#define MLIR_MLIR_LEXER_H

#include "base/arena.h"

typedef enum mlir_token_kind {
  MLIR_TOKEN_END,
  MLIR_TOKEN_WORD,    /* stablehlo.add, tensor, f32, x */
  MLIR_TOKEN_VALUE,   /* %name: text is the name */
  MLIR_TOKEN_BLOCK,   /* ^name */
  MLIR_TOKEN_HASH,    /* #name */
  MLIR_TOKEN_BANG,    /* !name */
  MLIR_TOKEN_SYMBOL,  /* @name or @"name": text is the name, unescaped */
  MLIR_TOKEN_INTEGER, /* 12, 0xFF */
  MLIR_TOKEN_FLOAT,
  MLIR_TOKEN_STRING, /* text is unescaped */
  MLIR_TOKEN_ARROW,  /* -> */
  MLIR_TOKEN_COLON_COLON,
  MLIR_TOKEN_ELLIPSIS,
  MLIR_TOKEN_RESOURCES_BEGIN, /* {-# */
  MLIR_TOKEN_RESOURCES_END,   /* #-} */
  MLIR_TOKEN_PUNCT            /* one character: punct */
} mlir_token_kind_t;

typedef struct mlir_token {
  mlir_token_kind_t kind;
  char punct;
  hr_str_t text;     /* without the sigil; of a string or symbol the unescaped bytes */
  const char *start; /* first byte in the source */
} mlir_token_t;

typedef struct mlir_lexer {
  const hr_source_t *source;
  hr_arena_t *arena; /* for unescaped strings */
  const char *at, *end;
  mlir_token_t token;
  const char *line_start; /* start of the line that holds `counted` */
  const char *counted;    /* end of the text whose lines have been counted */
  uint32_t line;
} mlir_lexer_t;

void mlir_lexer_init(mlir_lexer_t *lexer, const hr_source_t *source, hr_arena_t *arena);
hr_status_t mlir_lexer_next(mlir_lexer_t *lexer); /* reads the next token into lexer->token */
/* Position of the current token, for messages and ops. */
hr_pos_t mlir_lexer_pos(mlir_lexer_t *lexer);
/* Continues inside the current token, for shapes such as "4x?x5xf32", which are no single token. */
hr_status_t mlir_lexer_restart_at(mlir_lexer_t *lexer, const char *at);

#endif
