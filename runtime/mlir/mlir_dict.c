/* Parser of MLIR attribute dictionaries in backend_config texts. It is independent of the MLIR
 * reader, since users outside mlir/ need no tree: values are a small variant type.
 *   dict  ::= "{" (entry ("," entry)*)? "}"        entry ::= name ("=" value)?
 *   value ::= bare (":" type)?
 *   bare  ::= string | dict | "[" value,* "]" | "dense<" nested ">"
 *           | "array<" type (":" value,*)? ">" | number | "true" | "false" | "unit"
 *           | any balanced text
 * Recursive descent over the characters, to a depth of MAX_DEPTH, linear in the text. Strings and
 * lists are copied to the arena, other texts point into the input. Symbols, types and attributes
 * of dialects are kept as text (DICT_OTHER). */
#include "mlir/mlir_dict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/vec.h"

#define MAX_DEPTH 32 /* nesting of braces */

typedef struct parser {
  hr_arena_t *arena;
  const char *start; /* whole text, for positions in messages */
  const char *at;
  const char *end;
  int depth;
} parser_t;

typedef HR_VEC(dict_value_t) values_t;

static hr_status_t parse_value(parser_t *p, dict_value_t *value);

/* Shows at most 20 bytes of what was found; the position is a byte offset in the dictionary. */
static hr_status_t expected_error(const parser_t *p, const char *what) {
  int rest = p->end - p->at > 20 ? 20 : (int)(p->end - p->at);
  return hr_error(HR_INVALID, "attribute dictionary: found '%.*s' at byte %ld, want %s", rest,
                  p->at, (long)(p->at - p->start), what);
}

static void skip_space(parser_t *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
    p->at++;
}

/* True if `c` comes next, after blanks; does not consume it. */
static bool next_is(parser_t *p, char c) {
  skip_space(p);
  return p->at < p->end && *p->at == c;
}

/* Consumes `word` if it comes next, after blanks; it may be the prefix of a longer word. */
static bool accept(parser_t *p, const char *word) {
  size_t size = strlen(word);
  skip_space(p);
  if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0) return false;
  p->at += size;
  return true;
}

static bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$';
}

/* A name: letters, digits and the characters that MLIR allows in bare identifiers. */
static hr_str_t scan_word(parser_t *p) {
  skip_space(p);
  const char *first = p->at;
  while (p->at < p->end && is_word_char(*p->at)) p->at++;
  return (hr_str_t){first, (size_t)(p->at - first)};
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads one character of a string: plain, \n, \t, \\, \" or two hexadecimal digits. */
static bool read_string_char(parser_t *p, char *out_char) {
  char c = *p->at++;
  if (c == '\\') {
    if (p->at == p->end) return false;
    c = *p->at++;
    if (p->at < p->end && hex_digit(c) >= 0 && hex_digit(*p->at) >= 0)
      c = (char)(hex_digit(c) * 16 + hex_digit(*p->at++));
    else if (c == 'n')
      c = '\n';
    else if (c == 't')
      c = '\t';
  }
  *out_char = c;
  return true;
}

/* "text" with escapes resolved. The copy is never longer than the rest of the input. */
static hr_status_t parse_string(parser_t *p, hr_str_t *out_text) {
  size_t size = 0;
  char *text;
  p->at++; /* opening quote */
  HR_TRY(hr_arena_alloc(p->arena, (size_t)(p->end - p->at) + 1, (void **)&text));
  while (p->at < p->end && *p->at != '"')
    if (!read_string_char(p, &text[size++])) return expected_error(p, "a character after '\\'");
  if (!accept(p, "\"")) return expected_error(p, "'\"'");
  text[size] = 0;
  *out_text = (hr_str_t){text, size};
  return NULL;
}

/* Text up to a comma or closing bracket outside of nested brackets and strings. */
static hr_str_t scan_balanced(parser_t *p) {
  skip_space(p);
  const char *first = p->at;
  int depth = 0;
  for (; p->at < p->end; p->at++) {
    char c = *p->at;
    bool arrow = c == '>' && p->at > first && p->at[-1] == '-';
    if (c == '"') {
      for (p->at++; p->at < p->end && *p->at != '"'; p->at++)
        if (*p->at == '\\') p->at++;
      if (p->at >= p->end) break;
      continue;
    }
    if (c == '<' || c == '(' || c == '[' || c == '{') depth++;
    if ((c == '>' && !arrow) || c == ')' || c == ']' || c == '}')
      if (depth-- == 0) break;
    if (c == ',' && depth == 0) break;
  }
  if (p->at > p->end) p->at = p->end;
  return (hr_str_t){first, (size_t)(p->at - first)};
}

/* Copies the gathered values to the arena as items of `into`. */
static hr_status_t copy_values(parser_t *p, const values_t *values, dict_value_t *into) {
  void *copy = NULL;
  if (values->count)
    HR_TRY(hr_arena_copy(p->arena, values->data, values->count * sizeof *values->data, &copy));
  into->items = copy;
  into->count = (int)values->count;
  return NULL;
}

static hr_status_t append(values_t *values, const dict_value_t *value) {
  HR_VEC_PUSH(values, *value);
  return NULL;
}

/* Elements up to the closing bracket; with `nested`, lists among them are flattened. */
static hr_status_t parse_items(parser_t *p, const char *close, bool nested, values_t *values) {
  if (accept(p, close)) return NULL;
  if (++p->depth > MAX_DEPTH) return expected_error(p, "fewer brackets within brackets");
  do {
    dict_value_t item = {0};
    if (nested && accept(p, "[")) {
      HR_TRY(parse_items(p, "]", true, values));
    } else {
      HR_TRY(parse_value(p, &item));
      HR_TRY(append(values, &item));
    }
  } while (accept(p, ","));
  p->depth--;
  return accept(p, close) ? NULL : expected_error(p, close);
}

/* Items up to `close`; the list grows outside the arena. */
static hr_status_t parse_list(parser_t *p, const char *close, bool nested, dict_value_t *value) {
  values_t values = {0};
  value->kind = DICT_LIST;
  hr_status_t st = parse_items(p, close, nested, &values);
  if (!st) st = copy_values(p, &values, value);
  HR_VEC_FREE(&values);
  return st;
}

/* name = value, or only a name, which is a unit. */
static hr_status_t parse_entry(parser_t *p, values_t *values) {
  dict_value_t entry = {0};
  hr_str_t name = {0};
  if (next_is(p, '"'))
    HR_TRY(parse_string(p, &name));
  else
    name = scan_word(p);
  if (name.size == 0) return expected_error(p, "a name");
  if (accept(p, "=")) HR_TRY(parse_value(p, &entry));
  entry.name = name;
  return append(values, &entry);
}

/* Entries up to the closing brace. */
static hr_status_t parse_entries(parser_t *p, values_t *values) {
  if (accept(p, "}")) return NULL;
  if (++p->depth > MAX_DEPTH) return expected_error(p, "fewer braces within braces");
  do HR_TRY(parse_entry(p, values));
  while (accept(p, ","));
  p->depth--;
  return accept(p, "}") ? NULL : expected_error(p, "'}'");
}

static hr_status_t parse_dict(parser_t *p, dict_value_t *value) {
  values_t values = {0};
  value->kind = DICT_DICT;
  hr_status_t st = parse_entries(p, &values);
  if (!st) st = copy_values(p, &values, value);
  HR_VEC_FREE(&values);
  return st;
}

/* Scans the characters of a word and the signs of exponents. Hexadecimal digits are kept as an
 * integer until the type shows whether they are the bits of a float (apply_type). */
static hr_status_t parse_number(parser_t *p, dict_value_t *value) {
  char digits[64], *rest;
  skip_space(p);
  size_t size = 0;
  while (p->at + size < p->end && size < sizeof digits - 1 &&
         (is_word_char(p->at[size]) ||
          ((p->at[size] == '-' || p->at[size] == '+') &&
           (size == 0 || p->at[size - 1] == 'e' || p->at[size - 1] == 'E'))))
    size++;
  memcpy(digits, p->at, size);
  digits[size] = 0;
  bool hex = strncmp(digits, "0x", 2) == 0 || strncmp(digits, "-0x", 3) == 0;
  value->kind = !hex && strpbrk(digits, ".eEnN") ? DICT_FLOAT : DICT_INT;
  errno = 0;
  value->number = hr_strtod(digits, &rest);
  if (value->kind == DICT_INT) {
    value->integer = (int64_t)strtoll(digits, &rest, hex ? 16 : 10);
    if (errno == ERANGE) errno = 0;
    value->integer = (int64_t)strtoull(digits, &rest, hex ? 16 : 10);
  }
  if (rest == digits || *rest || (errno == ERANGE && value->kind == DICT_INT))
    return expected_error(p, "a number");
  p->at += size;
  return NULL;
}

/* Reinterprets an integer as the bits of a float if its type begins with 'f' or 'b' (f32, f64,
 * bf16): "0x7FC00000 : f32" is a NaN. Widths other than 32 and 64 keep the decimal value. */
static void apply_type(dict_value_t *value) {
  union {
    uint64_t u;
    double d;
  } wide = {.u = (uint64_t)value->integer};
  union {
    uint32_t u;
    float f;
  } narrow = {.u = (uint32_t)value->integer};
  bool is_float = value->type.size && (value->type.data[0] == 'f' || value->type.data[0] == 'b');
  if (value->kind != DICT_INT || !is_float) return;
  value->kind = DICT_FLOAT;
  value->number = hr_str_is(value->type, "f64")   ? wide.d
                  : hr_str_is(value->type, "f32") ? narrow.f
                                                  : value->number;
}

/* array<i64: 1, 2> or array<i64>, after "array<". */
static hr_status_t parse_array(parser_t *p, dict_value_t *value) {
  hr_str_t type = scan_word(p);
  if (accept(p, ":"))
    HR_TRY(parse_list(p, ">", false, value));
  else if (accept(p, ">"))
    value->kind = DICT_LIST;
  else
    return expected_error(p, "':' or '>'");
  value->type = type;
  return NULL;
}

/* A value without its type. Unknown syntax is kept as text up to the next comma or bracket. */
static hr_status_t parse_bare(parser_t *p, dict_value_t *value) {
  skip_space(p);
  char c = p->at < p->end ? *p->at : 0;
  if (c == '"') {
    value->kind = DICT_STRING;
    return parse_string(p, &value->text);
  }
  if (accept(p, "{")) return parse_dict(p, value);
  if (accept(p, "[")) return parse_list(p, "]", false, value);
  if (accept(p, "dense<")) return parse_list(p, ">", true, value);
  if (accept(p, "array<")) return parse_array(p, value);
  if ((c >= '0' && c <= '9') || c == '-' || c == '+') return parse_number(p, value);
  const char *before = p->at;
  hr_str_t word = scan_word(p);
  if (hr_str_is(word, "true") || hr_str_is(word, "false")) {
    value->kind = DICT_BOOL;
    value->integer = hr_str_is(word, "true");
    return NULL;
  }
  if (hr_str_is(word, "unit")) return NULL;
  p->at = before;
  value->kind = DICT_OTHER;
  value->text = scan_balanced(p);
  return value->text.size ? NULL : expected_error(p, "a value");
}

/* A value and its type, which follows a colon and is kept as text. */
static hr_status_t parse_value(parser_t *p, dict_value_t *value) {
  HR_TRY(parse_bare(p, value));
  if (!accept(p, ":")) return NULL;
  value->type = scan_balanced(p);
  apply_type(value);
  return NULL;
}

/* The whole text must be one dictionary. */
hr_status_t mlir_dict_parse(hr_arena_t *arena, hr_str_t text, const dict_value_t **out_dict) {
  parser_t p = {.arena = arena, .start = text.data, .at = text.data, .end = text.data + text.size};
  dict_value_t *dict;
  HR_TRY(HR_NEW(arena, &dict));
  dict->kind = DICT_DICT;
  skip_space(&p);
  if (p.at < p.end) {
    if (!accept(&p, "{")) return expected_error(&p, "'{'");
    HR_TRY(parse_dict(&p, dict));
    skip_space(&p);
    if (p.at < p.end) return expected_error(&p, "the end");
  }
  *out_dict = dict;
  return NULL;
}

/* Malformed texts may repeat a name; the first entry counts. */
const dict_value_t *mlir_dict_find(const dict_value_t *dict, const char *name) {
  for (int i = 0; dict && i < dict->count; i++)
    if (hr_str_is(dict->items[i].name, name)) return &dict->items[i];
  return NULL;
}

int64_t mlir_dict_int(const dict_value_t *dict, const char *name, int64_t fallback) {
  const dict_value_t *value = mlir_dict_find(dict, name);
  return value && (value->kind == DICT_INT || value->kind == DICT_BOOL) ? value->integer : fallback;
}
