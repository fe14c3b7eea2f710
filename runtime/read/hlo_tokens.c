/* What the parser of HLO text asks the lexer for: tokens of a kind, integers, strings, and brace
 * dictionaries. */
#include "read/hlo_lexer.h"

/* The table has the words for messages; kinds of one character are quoted. */
hr_status_t read_expect(read_lexer_t *l, read_kind_t kind) {
  static const char *const wants[] = {
      [READ_END] = "the end of the text",
      [READ_COMMA] = "','",
      [READ_COLON] = "':'",
      [READ_EQUAL] = "'='",
      [READ_STAR] = "'*'",
      [READ_HASH] = "'#'",
      [READ_PLUS] = "'+'",
      [READ_TILDE] = "'~'",
      [READ_OPEN_BRACKET] = "'['",
      [READ_CLOSE_BRACKET] = "']'",
      [READ_OPEN_BRACE] = "'{'",
      [READ_CLOSE_BRACE] = "'}'",
      [READ_OPEN_PAREN] = "'('",
      [READ_CLOSE_PAREN] = "')'",
      [READ_ARROW] = "'->'",
      [READ_AT_MOST] = "'<='",
      [READ_DOTS] = "'...'",
      [READ_QUESTION] = "'?'",
      [READ_INT] = "an integer",
      [READ_FLOAT] = "a number",
      [READ_LABELS] = "labels such as b01f_01io->b01f",
      [READ_SIZES] = "sizes such as 3x3",
      [READ_PADS] = "padding such as 1_1x0_2",
      [READ_NAME] = "a name",
      [READ_ATTR] = "an attribute, its name directly followed by '='",
      [READ_TYPE] = "an element type",
      [READ_KEYWORD] = "a keyword",
      [READ_WORD] = "a word",
      [READ_STRING] = "a string",
  };
  return l->token.kind == kind ? read_advance(l) : read_want(l, "%s", wants[kind]);
}

hr_status_t read_accept(read_lexer_t *l, read_kind_t kind, bool *out_found) {
  *out_found = l->token.kind == kind;
  return *out_found ? read_advance(l) : NULL;
}

/* After an item: a comma and another item, or the end of the list. */
hr_status_t read_list_next(read_lexer_t *l, read_kind_t close, bool *out_more) {
  *out_more = read_is(l, READ_COMMA);
  if (*out_more) return read_advance(l);
  if (l->token.kind == close) return NULL;
  return read_want(l, "',' or '%c'",
                   ")]}"[close == READ_CLOSE_PAREN ? 0 : 1 + (close == READ_CLOSE_BRACE)]);
}

/* INT tokens carry their value modulo 2^64, so that u64 values fit; the caller checks the range. */
hr_status_t read_int(read_lexer_t *l, int64_t *out_value) {
  if (!read_is(l, READ_INT)) return read_want(l, "an integer");
  *out_value = (int64_t)l->token.bits;
  return read_advance(l);
}

hr_status_t read_bool(read_lexer_t *l, bool *out_value) {
  if (!read_is_keyword(l, READ_KEYWORD_TRUE) && !read_is_keyword(l, READ_KEYWORD_FALSE))
    return read_want(l, "true or false");
  *out_value = l->token.keyword == READ_KEYWORD_TRUE;
  return read_advance(l);
}

/* The text is unescaped: in the source if it has no escapes, else in the arena. */
hr_status_t read_string(read_lexer_t *l, hr_str_t *out_text) {
  if (!read_is(l, READ_STRING)) return read_want(l, "a string in quotes");
  *out_text = l->token.text;
  return read_advance(l);
}

/* The text of a balanced dictionary with its braces; braces in strings do not count. The bytes are
 * not tokens of HLO: they may be JSON or MLIR. */
hr_status_t read_braces(read_lexer_t *l, hr_str_t *out_text) {
  size_t start = l->token.at;
  size_t at = start;
  size_t depth = 0;
  bool quoted = false;
  do {
    if (at >= l->size) return READ_ERROR_AT(l, start, "the brace that opens here is not closed");
    char c = l->text[at];
    if (c == '"')
      quoted = !quoted;
    else if (c == '\\' && quoted)
      at++;
    else if (c == '{' && !quoted)
      depth++;
    else if (c == '}' && !quoted)
      depth--;
    at++;
  } while (depth);
  *out_text = (hr_str_t){l->text + start, at - start};
  return read_resume(l, at);
}

hr_status_t read_string_or_braces(read_lexer_t *l, hr_str_t *out_text) {
  if (read_is(l, READ_OPEN_BRACE)) return read_braces(l, out_text);
  if (!read_is(l, READ_STRING)) return read_want(l, "a string in quotes or a dictionary in braces");
  return read_string(l, out_text);
}
