/* Lexer of HLO text. Every byte has a class (blank, start and part of words, digit) in a table of
 * 256, so that most tokens are found by their first byte. The difficult ones are numbers, which are
 * patterns of hlo_patterns.h, tried in an order (lex_number).
 * Words are looked up once in a map of keywords and element types. "name:" and "name=" are one
 * token each. Positions are offsets; lines are counted on demand, from the last position asked for.
 * Programs that were cut out of logs have log prefixes at the start of their lines; the lexer skips
 * them like blanks. */
#include "read/hlo_lexer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "read/hlo_patterns.h"

#define LONGEST_RESERVED 23 /* last_tile_dim_replicate */
#define QUOTED_TOKEN_MAX 48 /* characters of a token that a message quotes */

/* Classes of bytes, as bits of a table. */
enum { BLANK = 1, WORD_START = 2, WORD_PART = 4, DIGIT = 8 };

static const unsigned char classes[256] = {
    [' '] = BLANK,
    ['\t'] = BLANK,
    ['\r'] = BLANK,
    ['\n'] = BLANK,
    ['0' ... '9'] = WORD_PART | DIGIT,
    ['a' ... 'z'] = WORD_START | WORD_PART,
    ['A' ... 'Z'] = WORD_START | WORD_PART,
    ['_'] = WORD_START | WORD_PART,
    ['-'] = WORD_PART,
    ['.'] = WORD_PART,
};

static inline bool is(char c, int class_) { return classes[(unsigned char)c] & class_; }

/* 0 after the end: no token contains it. */
static char byte_at(const read_lexer_t *l, size_t at) { return at < l->size ? l->text[at] : 0; }

/* Words are stored as their number plus one: types first, then keywords. */
static hr_status_t fill_words(hr_map_t *words) {
  static const char *const keywords[] = {
#define KEYWORD(id, text) text,
#include "read/hlo_keywords.def"
#undef KEYWORD
  };
  for (uintptr_t type = 0; type < HR_TUPLE; type++)
    HR_TRY(
        hr_map_put(words, hr_str_from(hr_dtype_name((hr_dtype_t)type)), (void *)(type + 1), NULL));
  for (uintptr_t word = 0; word < READ_KEYWORD_COUNT; word++)
    HR_TRY(
        hr_map_put(words, hr_str_from(keywords[word]), (void *)(HR_DTYPE_COUNT + word + 1), NULL));
  return NULL;
}

/* The first token is not yet read. */
hr_status_t read_lexer_init(read_lexer_t *l, const hr_source_t *source, hr_arena_t *arena) {
  static hr_kept_map_t words = HR_KEPT_MAP(fill_words);
  *l = (read_lexer_t){.source = source,
                      .text = source->text,
                      .size = source->size_bytes,
                      .arena = arena,
                      .line = 1};
  return hr_kept_map_get(&words, &l->words);
}

/* Counts lines from the last position asked for; an earlier offset starts again. */
hr_pos_t read_pos(read_lexer_t *l, size_t offset) {
  if (offset < l->line_start) {
    l->line_start = 0;
    l->line = 1;
  }
  for (;;) {
    const char *from = l->text + l->line_start;
    const char *newline =
        offset > l->line_start ? memchr(from, '\n', offset - l->line_start) : NULL;
    if (!newline) break;
    l->line_start = (size_t)(newline - l->text) + 1;
    l->line++;
  }
  return (hr_pos_t){l->source, l->line, (uint32_t)(offset - l->line_start) + 1};
}

/* The current token as messages quote it, cut to QUOTED_TOKEN_MAX characters. */
static void token_text(const read_lexer_t *l, char *into, size_t size) {
  const read_token_t *t = &l->token;
  size_t length = t->end - t->at;
  if (t->kind == READ_END)
    snprintf(into, size, "the end of the text");
  else if (length > QUOTED_TOKEN_MAX)
    snprintf(into, size, "'%.*s...'", QUOTED_TOKEN_MAX, l->text + t->at);
  else
    snprintf(into, size, "'%.*s'", (int)length, l->text + t->at);
}

/* Long tokens are cut in the message. */
hr_status_t read_want(read_lexer_t *l, const char *format, ...) {
  char found[QUOTED_TOKEN_MAX + 32], *want = NULL;
  token_text(l, found, sizeof found);
  va_list args;
  va_start(args, format);
  int size = hr_vasprintf(&want, format, args);
  va_end(args);
  if (size < 0) return hr_error(HR_NO_MEMORY, "cannot allocate a message");
  hr_status_t st = READ_ERROR_AT(l, l->token.at, "found %s, want %s", found, want);
  free(want);
  return st;
}

/* Blanks --------------------------------------------------------------------------------------- */

/* Length of a log prefix such as "I0521 12:04:45.883483 1509 service.cc:186] "; 0 if there is
 * none. A letter for the severity, the date, the time, and a place that ends with "]". */
static size_t match_log_prefix(const char *text, size_t size) {
  size_t at = 1, digits = 0;
  if (size < 20 || !memchr("IWEF", text[0], 4)) return 0;
  for (; at < size && is(text[at], DIGIT); at++) digits++;
  if (digits < 4 || at >= size || text[at] != ' ') return 0;
  while (at < size && (is(text[at], DIGIT) || memchr(" :.", text[at], 3))) at++;
  const char *bracket = memchr(text + at, ']', size - at < 200 ? size - at : 200);
  if (!bracket || memchr(text + at, '\n', (size_t)(bracket - text) - at)) return 0;
  if (!memchr(text + at, ':', (size_t)(bracket - text) - at) || !is(bracket[-1], DIGIT)) return 0;
  return (size_t)(bracket - text) + 1;
}

/* The end of a line; '\r' alone ends one, too, as in XLA. */
static const char *find_line_end(const char *from, size_t size) {
  const char *end = memchr(from, '\n', size);
  const char *carriage_return = memchr(from, '\r', end ? (size_t)(end - from) : size);
  return carriage_return ? carriage_return : end;
}

/* Block comments do not nest; line comments end with their line. */
static hr_status_t skip_comment(read_lexer_t *l, size_t *at) {
  const char *from = l->text + *at;
  const char *end;
  if (from[1] == '/') {
    end = find_line_end(from, l->size - *at);
    *at = end ? (size_t)(end - l->text) : l->size;
    return NULL;
  }
  end = memmem(from + 2, l->size - *at - 2, "*/", 2);
  if (!end) return READ_ERROR_AT(l, *at, "the comment that starts here has no end");
  *at = (size_t)(end - l->text) + 2;
  return NULL;
}

/* Blanks, comments and log prefixes. The usual case is a single blank. */
hr_status_t read_skip_blanks(read_lexer_t *l, size_t *at) {
  if (*at == 0) *at += match_log_prefix(l->text, l->size);
  for (;;) {
    char c = byte_at(l, *at);
    if (is(c, BLANK)) {
      ++*at;
      if (c == '\n' && *at < l->size && l->text[*at] <= 'W')
        *at += match_log_prefix(l->text + *at, l->size - *at);
    } else if (c == '/' && (byte_at(l, *at + 1) == '/' || byte_at(l, *at + 1) == '*')) {
      HR_TRY(skip_comment(l, at));
    } else {
      return NULL;
    }
  }
}

/* Does not change the lexer: a failure within a comment is reported by the next read_advance. */
char read_peek(const read_lexer_t *l) {
  size_t at = l->at;
  hr_status_t st = read_skip_blanks((read_lexer_t *)l, &at);
  hr_status_release(st); /* the next read_advance reports it again */
  return byte_at(l, at);
}

/* Numbers -------------------------------------------------------------------------------------- */

/* A token of `length` bytes from the current position. */
static void set_token(read_lexer_t *l, read_kind_t kind, size_t length) {
  l->token.kind = kind;
  l->token.text = (hr_str_t){l->text + l->token.at, length};
  l->at = l->token.at + length;
}

/* A token that needs nothing more than its kind and length. */
static hr_status_t take_token(read_lexer_t *l, read_kind_t kind, size_t length) {
  set_token(l, kind, length);
  return NULL;
}

/* Value of an INT token; digits beyond 2^64 wrap, for types whose range the parser checks. */
static hr_status_t set_int(read_lexer_t *l, size_t length) {
  set_token(l, READ_INT, length);
  const char *text = l->token.text.data;
  bool negative = *text == '-';
  uint64_t magnitude = 0;
  for (size_t i = negative; i < length; i++)
    if (__builtin_mul_overflow(magnitude, 10, &magnitude) ||
        __builtin_add_overflow(magnitude, (uint64_t)(text[i] - '0'), &magnitude))
      return READ_ERROR_AT(l, l->token.at, "found an integer beyond 64 bits");
  if (negative && magnitude > UINT64_C(1) << 63)
    return READ_ERROR_AT(l, l->token.at, "found an integer below -2^63");
  l->token.bits = negative ? 0 - magnitude : magnitude;
  return NULL;
}

/* An integer, if the byte after it cannot continue another pattern; else the patterns in turn; else
 * other tokens that begin with a digit, '-' or '?'. */
static hr_status_t lex_number(read_lexer_t *l) {
  const char *text = l->text + l->at;
  size_t size = l->size - l->at;
  size_t length = read_match_int(text, size);
  if (length && (length == size || (!is(text[length], WORD_PART) && text[length] != '?')))
    return set_int(l, length);
  static const struct {
    read_kind_t kind;
    size_t (*match)(const char *, size_t);
  } patterns[] = {{READ_FLOAT, read_match_float},
                  {READ_LABELS, read_match_labels},
                  {READ_SIZES, read_match_sizes},
                  {READ_PADS, read_match_pads}};
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    size_t match = patterns[i].match(text, size);
    if (!match) continue;
    set_token(l, patterns[i].kind, match);
    return NULL;
  }
  if (length) return set_int(l, length);
  if (size >= 4 && !memcmp(text, "-inf", 4)) return take_token(l, READ_FLOAT, 4);
  if (size >= 4 && !memcmp(text, "-nan", 4))
    return take_token(l, READ_FLOAT, 4 + read_match_payload(text + 4, size - 4));
  if (*text == '?') return take_token(l, READ_QUESTION, 1);
  return READ_ERROR_AT(l, l->at, "found '%c', which starts no number here", *text);
}

/* Words and strings ---------------------------------------------------------------------------- */

/* Letters, digits, '_', '-' and '.'. */
static size_t word_length(const read_lexer_t *l, size_t at) {
  size_t end = at;
  while (end < l->size && is(l->text[end], WORD_PART)) end++;
  return end - at;
}

/* %name: any word, without regard to keywords. */
static hr_status_t lex_percent(read_lexer_t *l) {
  size_t at = l->at + 1;
  if (!is(byte_at(l, at), WORD_START))
    return READ_ERROR_AT(l, l->at,
                         "found '%%', want a name that starts with a letter or '_' right after it");
  size_t length = word_length(l, at);
  set_token(l, READ_NAME, length + 1);
  l->token.text = (hr_str_t){l->text + at, length};
  l->token.percent = true;
  return NULL;
}

/* Words that are element types, keywords or nan. None of them contains '-' or '.'. */
static void classify_word(read_lexer_t *l) {
  hr_str_t text = l->token.text;
  if (text.size < 2 || text.size > LONGEST_RESERVED) return;
  uintptr_t number = (uintptr_t)hr_map_get(l->words, text);
  if (number > HR_DTYPE_COUNT) {
    l->token.kind = READ_KEYWORD;
    l->token.keyword = (read_keyword_t)(number - 1 - HR_DTYPE_COUNT);
  } else if (number) {
    l->token.kind = READ_TYPE;
    l->token.dtype = (hr_dtype_t)(number - 1);
  } else if (text.size == 3 && !memcmp(text.data, "nan", 3)) {
    set_token(l, READ_FLOAT, 3 + read_match_payload(l->text + l->at, l->size - l->at));
  }
}

/* name: and attr= are one token each, as the text never has a blank there. */
static hr_status_t lex_word(read_lexer_t *l) {
  size_t length = word_length(l, l->at);
  char next = byte_at(l, l->at + length);
  if (next == ':' || next == '=') {
    set_token(l, next == ':' ? READ_NAME : READ_ATTR, length + 1);
    l->token.text.size = length;
    return NULL;
  }
  if (next == '>' || next == '?') {
    size_t labels = read_match_labels(l->text + l->at, l->size - l->at);
    if (labels) return take_token(l, READ_LABELS, labels);
    if (l->text[l->at + length - 1] == '-') length--; /* the arrow is a token of its own */
  }
  set_token(l, READ_WORD, length);
  classify_word(l);
  return NULL;
}

/* 0 to 15, or -1. */
static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A code point up to 0x10ffff in 1 to 4 bytes. */
static char *add_utf8(char *to, uint32_t code) {
  if (code < 0x80) {
    *to++ = (char)code;
    return to;
  }
  int more = code < 0x800 ? 1 : 2;
  if (code >= 0x10000) more = 3;
  *to++ = (char)((0xff00 >> (more + 1) & 0xff) | (code >> (6 * more)));
  while (more--) *to++ = (char)(0x80 | (code >> (6 * more) & 0x3f));
  return to;
}

/* Reads the escape at *from, after the backslash: \n and the like, octal, \x, \u, \U. False if it
 * is none. */
static bool unescape_one(const char **from, const char *end, char **to) {
  static const char plain[] = "a\ab\bf\fn\nr\rt\tv\v\\\\?\?''\"\"";
  char c = *(*from)++;
  for (const char *pair = plain; *pair; pair += 2) {
    if (*pair != c) continue;
    *(*to)++ = pair[1];
    return true;
  }
  uint32_t code = 0;
  int limit = c == 'x' ? 2 : 3; /* digits */
  if (c == 'u') limit = 4;
  if (c == 'U') limit = 8;
  int digits = 0;
  int value;
  int base = c == 'x' || c == 'u' || c == 'U' ? 16 : 0;
  if (c >= '0' && c <= '7') base = 8;
  if (!base) return false;
  if (base == 8) --*from;
  for (; digits < limit && *from < end && (value = hex_digit(**from)) >= 0 && value < base;
       digits++, ++*from)
    code = code * (uint32_t)base + (uint32_t)value;
  bool unicode = c == 'u' || c == 'U';
  if (!digits || (unicode && (digits != limit || code > 0x10ffff)) || (!unicode && code > 0xff))
    return false;
  if (unicode)
    *to = add_utf8(*to, code);
  else
    *(*to)++ = (char)code;
  return true;
}

/* Escapes never grow: \u makes at most 3 bytes of 6, \U 4 of 10. */
static hr_status_t unescape(read_lexer_t *l, hr_str_t raw, hr_str_t *out_text) {
  void *memory;
  HR_TRY(hr_arena_alloc(l->arena, raw.size + 1, &memory));
  char *to = memory;
  const char *from = raw.data;
  const char *end = raw.data + raw.size;
  while (from < end) {
    if (*from != '\\') {
      *to++ = *from++;
      continue;
    }
    const char *escape = from++;
    if (from == end || !unescape_one(&from, end, &to))
      return READ_ERROR_AT(l, (size_t)(escape - l->text), "found '\\%c', which is no escape",
                           from < end ? escape[1] : ' ');
  }
  *to = 0;
  *out_text = (hr_str_t){memory, (size_t)(to - (char *)memory)};
  return NULL;
}

/* Between quotation marks of either kind. A string without a backslash is not copied. */
static hr_status_t lex_string(read_lexer_t *l) {
  char quote = l->text[l->at];
  size_t end = l->at + 1;
  bool escapes = false;
  for (; end < l->size && l->text[end] != quote; end++) {
    if (l->text[end] != '\\') continue;
    escapes = true;
    if (byte_at(l, ++end) == '\n') break;
  }
  if (byte_at(l, end) != quote)
    return READ_ERROR_AT(l, l->at, "the string that starts here has no end");
  set_token(l, READ_STRING, end + 1 - l->at);
  l->token.text = (hr_str_t){l->text + l->token.at + 1, end - 1 - l->token.at};
  return escapes ? unescape(l, l->token.text, &l->token.text) : NULL;
}

/* Tokens --------------------------------------------------------------------------------------- */

/* Punctuation of one to three characters, and errors for every other byte. */
static hr_status_t lex_sign(read_lexer_t *l) {
  static const char signs[] = ",:=*#+~[]{}()"; /* in the order of read_kind_t */
  char c = l->text[l->at];
  char next = byte_at(l, l->at + 1);
  const char *sign = c ? strchr(signs, c) : NULL;
  if (sign) return take_token(l, (read_kind_t)(READ_COMMA + (sign - signs)), 1);
  if (c == '<' && next == '=') return take_token(l, READ_AT_MOST, 2);
  if (c == '.' && next == '.' && byte_at(l, l->at + 2) == '.') return take_token(l, READ_DOTS, 3);
  if (c == '-' && next == '>') return take_token(l, READ_ARROW, 2);
  if (c >= ' ' && c < 127)
    return READ_ERROR_AT(l, l->at, "found '%c', which starts nothing here", c);
  return READ_ERROR_AT(l, l->at, "found byte 0x%02x, which no program contains", (unsigned char)c);
}

/* The first byte after the blanks decides. */
hr_status_t read_advance(read_lexer_t *l) {
  HR_TRY(read_skip_blanks(l, &l->at));
  l->token.at = l->at;
  l->token.percent = false;
  char c = byte_at(l, l->at);
  hr_status_t st = NULL;
  if (l->at >= l->size)
    set_token(l, READ_END, 0);
  else if (c == '%')
    st = lex_percent(l);
  else if (is(c, WORD_START))
    st = lex_word(l);
  else if (is(c, DIGIT) || c == '?' || (c == '-' && byte_at(l, l->at + 1) != '>'))
    st = lex_number(l);
  else if (c == '"' || c == '\'')
    st = lex_string(l);
  else
    st = lex_sign(l);
  l->token.end = l->at;
  return st;
}

/* Used after bytes that were read without the lexer. */
hr_status_t read_resume(read_lexer_t *l, size_t offset) {
  l->at = offset;
  return read_advance(l);
}
