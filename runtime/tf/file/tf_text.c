/* Protocol buffers text format (pbtxt) to wire format, by the tables of tf_proto.def:
 *
 *   message := { name [":"] value }      value := scalar | "{" message "}" | "<" message ">"
 *            | name ":" "[" value, ... "]"
 *
 * Fields that the tables do not have are skipped, whatever their values. Strings may be several
 * literals in a row. Cost: linear; nested messages move once per level when their length is
 * known. Not handled: extensions and Any ("[type.url/name]"), which are skipped. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "tf/file/tf_proto.h"

#define TEXT_DEPTH_MAX 200

/* How the text of a value is read and which wire type it gets. A nested message is TEXT_MSG plus
 * its number in tf_message_id_t. */
typedef enum text_kind {
  TEXT_INT,
  TEXT_BOOL,
  TEXT_FLOAT,
  TEXT_DOUBLE,
  TEXT_STRING,
  TEXT_TYPE,
  TEXT_MSG /* and the message's number */
} text_kind_t;

enum {
#define MESSAGE(id, text) TEXT_MSG_##id = TEXT_MSG + TF_MESSAGE_##id,
#define FIELD(message, name, number, kind, text)
#define END(id)
#include "tf/file/tf_proto.def"
#undef MESSAGE
#undef FIELD
#undef END
};

typedef struct text_field {
  tf_message_id_t message;
  const char *name;
  uint32_t number;
  int kind; /* text_kind_t, or TEXT_MSG plus a message's number */
} text_field_t;

static const text_field_t text_fields[] = {
#define MESSAGE(id, text)
#define FIELD(message, name, number, kind, text) {TF_MESSAGE_##message, #name, number, TEXT_##text},
#define END(id)
#include "tf/file/tf_proto.def"
#undef MESSAGE
#undef FIELD
#undef END
};

/* Names of DataType and of the reference types, whose numbers are greater by 100. */
static const struct {
  const char *name;
  int64_t number;
} type_names[] = {
#define TYPE(id, number, dtype) {"DT_" #id, number}, {"DT_" #id "_REF", number + 100},
#include "tf/compile/tf_dtypes.def"
#undef TYPE
};

/* `at` moves from `start` to `end` once; bytes go to `out`. `start` is kept for line and column. */
typedef struct text_reader {
  const char *path;
  const char *start;
  const char *at;
  const char *end;
  hr_strbuf_t *out;
  int depth;
} text_reader_t;

/* Line and column of `at`, counted from the start of the file, and the next 20 bytes. */
static hr_status_t text_error(const text_reader_t *r, const char *wanted) {
  hr_source_t source = {r->path, r->start, (size_t)(r->end - r->start)};
  hr_pos_t pos = {&source, 1, 1};
  for (const char *p = r->start; p < r->at; p++) {
    pos.line += *p == '\n';
    pos.column = *p == '\n' ? 1 : pos.column + 1;
  }
  int size = r->end - r->at < 20 ? (int)(r->end - r->at) : 20;
  return hr_error_at(HR_INVALID, &pos, "found \"%.*s\", want %s", size, r->at, wanted);
}

/* Blanks, separators and # comments. */
static void skip_blanks(text_reader_t *r) {
  for (; r->at < r->end; r->at++) {
    if (*r->at == '#')
      while (r->at + 1 < r->end && *r->at != '\n') r->at++;
    else if (!isspace((unsigned char)*r->at) && *r->at != ',' && *r->at != ';')
      return;
  }
}

/* Takes the character after blanks, if it is there. */
static bool accept_char(text_reader_t *r, char c) {
  skip_blanks(r);
  if (r->at >= r->end || *r->at != c) return false;
  r->at++;
  return true;
}

/* A word is a name, a number, an enumerator or true and false. */
static bool is_word_char(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-' || c == '+';
}

static hr_str_t scan_word(text_reader_t *r) {
  skip_blanks(r);
  const char *start = r->at;
  while (r->at < r->end && is_word_char(*r->at)) r->at++;
  return (hr_str_t){start, (size_t)(r->at - start)};
}

/* Up to max_digits digits of the base; *at ends after them. */
static int digits_value(const char **at, const char *end, int base, int max_digits) {
  int value = 0;
  for (int i = 0; i < max_digits && *at < end; i++, ++*at) {
    int c = tolower((unsigned char)**at);
    int digit = isdigit(c) ? c - '0' : c - 'a' + 10;
    if (digit < 0 || digit >= base || (!isdigit(c) && !isalpha(c))) break;
    value = value * base + digit;
  }
  return value;
}

/* One escape after the backslash: C's, octal and hexadecimal ones. */
static char read_escape(text_reader_t *r) {
  static const char names[] = "n\nt\tr\ra\ab\bf\fv\v";
  char c = *r->at;
  if (c >= '0' && c <= '7') return (char)digits_value(&r->at, r->end, 8, 3);
  r->at++;
  if (c == 'x' || c == 'X') return (char)digits_value(&r->at, r->end, 16, 2);
  for (const char *pair = names; *pair; pair += 2)
    if (c == pair[0]) return pair[1];
  return c;
}

/* String literals in a row, appended to `out` (NULL: skipped). */
static hr_status_t read_string(text_reader_t *r, hr_strbuf_t *out) {
  skip_blanks(r);
  if (r->at >= r->end || (*r->at != '"' && *r->at != '\'')) return text_error(r, "a string");
  for (skip_blanks(r); r->at < r->end && (*r->at == '"' || *r->at == '\''); skip_blanks(r)) {
    char quote = *r->at++;
    while (r->at < r->end && *r->at != quote) {
      char c = *r->at++;
      if (c == '\\' && r->at < r->end) c = read_escape(r);
      if (out) hr_strbuf_add_char(out, c);
    }
    if (r->at >= r->end) return text_error(r, "the end of a string");
    r->at++;
  }
  return NULL;
}

static hr_status_t read_message(text_reader_t *r, int message, char close);

/* Skips a value of a field that is not known. */
static hr_status_t skip_value(text_reader_t *r) {
  skip_blanks(r);
  if (r->at < r->end && (*r->at == '"' || *r->at == '\'')) return read_string(r, NULL);
  if (accept_char(r, '{')) return read_message(r, -1, '}');
  if (accept_char(r, '<')) return read_message(r, -1, '>');
  if (accept_char(r, '[')) {
    while (!accept_char(r, ']')) HR_TRY(skip_value(r));
    return NULL;
  }
  return scan_word(r).size ? NULL : text_error(r, "a value");
}

/* inf, infinity and nan may have a sign. */
static double word_to_double(hr_str_t word) {
  bool negative = word.size && word.data[0] == '-';
  hr_str_t rest = {word.data + negative, word.size - negative};
  double value = 0;
  if (hr_str_is(rest, "inf") || hr_str_is(rest, "infinity"))
    value = __builtin_inf();
  else if (hr_str_is(rest, "nan"))
    value = __builtin_nan("");
  else
    value = hr_decimal_read(rest.data, rest.size, NULL);
  return negative ? -value : value;
}

/* Decimal, octal (0...) and hexadecimal (0x...) numbers; unsigned ones up to 2^64 - 1 keep their
 * bits. */
static bool word_to_int(hr_str_t word, int kind, int64_t *out_value) {
  char digits[32];
  char *stop;
  if (hr_str_is(word, "true") || hr_str_is(word, "false")) {
    *out_value = hr_str_is(word, "true");
    return true;
  }
  for (size_t i = 0; kind == TEXT_TYPE && i < sizeof type_names / sizeof *type_names; i++)
    if (hr_str_is(word, type_names[i].name)) {
      *out_value = type_names[i].number;
      return true;
    }
  if (!word.size || word.size >= sizeof digits) return false;
  memcpy(digits, word.data, word.size);
  digits[word.size] = 0;
  *out_value = digits[0] == '-' ? strtoll(digits, &stop, 0) : (int64_t)strtoull(digits, &stop, 0);
  return !*stop;
}

/* A number as one item of its field. Packed and single encodings read the same. */
static hr_status_t read_number(text_reader_t *r, const text_field_t *field) {
  hr_str_t word = scan_word(r);
  int64_t value = 0;
  if (field->kind == TEXT_FLOAT || field->kind == TEXT_DOUBLE) {
    if (!word.size) return text_error(r, "a number");
    double number = word_to_double(word);
    float narrow = (float)number;
    bool is_float = field->kind == TEXT_FLOAT;
    /* A tag is the field's number times 8 plus the wire type: 5 for 4 bytes, 1 for 8 bytes. */
    proto_put_varint(r->out, (uint64_t)field->number << 3 | (is_float ? 5 : 1));
    if (is_float)
      hr_strbuf_add(r->out, (const char *)&narrow, sizeof narrow);
    else
      hr_strbuf_add(r->out, (const char *)&number, sizeof number);
    return NULL;
  }
  if (!word_to_int(word, field->kind, &value)) {
    r->at = word.data;
    return text_error(r,
                      field->kind == TEXT_TYPE ? "an element type such as DT_FLOAT" : "an integer");
  }
  proto_put_present_int(r->out, field->number, value);
  return NULL;
}

/* A nested message is written in place; proto_close puts its length in front. */
static hr_status_t read_value(text_reader_t *r, const text_field_t *field) {
  if (field->kind < TEXT_STRING || field->kind == TEXT_TYPE) return read_number(r, field);
  size_t opened = proto_open(r->out, field->number);
  if (field->kind == TEXT_STRING) {
    HR_TRY(read_string(r, r->out));
  } else {
    bool brace = accept_char(r, '{');
    if (!brace && !accept_char(r, '<')) return text_error(r, "'{'");
    HR_TRY(read_message(r, field->kind - TEXT_MSG, brace ? '}' : '>'));
  }
  proto_close(r->out, opened);
  return NULL;
}

/* NULL: the field is not in tf_proto.def and is skipped. */
static const text_field_t *find_field(int message, hr_str_t name) {
  for (size_t i = 0; i < sizeof text_fields / sizeof *text_fields; i++)
    if ((int)text_fields[i].message == message && hr_str_is(name, text_fields[i].name))
      return &text_fields[i];
  return NULL;
}

/* The colon is optional before a message. "name: [a, b]" repeats the field. */
static hr_status_t read_field(text_reader_t *r, int message) {
  bool extension = accept_char(r, '[');
  hr_str_t name = scan_word(r);
  if (!name.size) return text_error(r, "the name of a field");
  while (extension && !accept_char(r, ']')) {
    if (r->at >= r->end) return text_error(r, "']'");
    r->at++;
  }
  const text_field_t *field = extension ? NULL : find_field(message, name);
  accept_char(r, ':');
  if (!field) return skip_value(r);
  if (!accept_char(r, '[')) return read_value(r, field);
  while (!accept_char(r, ']')) HR_TRY(read_value(r, field));
  return NULL;
}

/* Fields up to `close`; 0: up to the end of the text. `message` -1: all are skipped. */
static hr_status_t read_message(text_reader_t *r, int message, char close) {
  if (++r->depth > TEXT_DEPTH_MAX) return text_error(r, "messages nested less deep");
  for (skip_blanks(r); r->at < r->end && *r->at != close; skip_blanks(r))
    HR_TRY(read_field(r, message));
  if (close && !accept_char(r, close)) return text_error(r, "the end of a message");
  r->depth--;
  return NULL;
}

hr_status_t tf_text_to_bytes(const char *path, hr_str_t text, tf_message_id_t id,
                             hr_strbuf_t *out_bytes) {
  text_reader_t r = {.path = path,
                     .start = text.data,
                     .at = text.data,
                     .end = text.data + text.size,
                     .out = out_bytes};
  HR_TRY(read_message(&r, (int)id, 0));
  return hr_strbuf_finish(out_bytes);
}
