#include "read/hlo_patterns.h"

#include <stdbool.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t match_digits(const char *text, size_t size) {
  size_t at = 0;
  while (at < size && is_digit(text[at])) at++;
  return at;
}

size_t read_match_int(const char *text, size_t size) {
  size_t sign = size && text[0] == '-';
  size_t digits = match_digits(text + sign, size - sign);
  return digits ? sign + digits : 0;
}

size_t read_match_float(const char *text, size_t size) {
  size_t at = size && text[0] == '-';
  size_t whole = match_digits(text + at, size - at);
  size_t fraction = 0;
  at += whole;
  bool point = at < size && text[at] == '.';
  if (point) {
    fraction = match_digits(text + at + 1, size - at - 1);
    at += 1 + fraction;
  }
  if (!whole && !fraction) return 0;
  if (at < size && (text[at] == 'e' || text[at] == 'E')) {
    size_t sign = at + 1 < size && (text[at + 1] == '+' || text[at + 1] == '-');
    size_t exponent = match_digits(text + at + 1 + sign, size - at - 1 - sign);
    if (exponent) return at + 1 + sign + exponent;
  }
  return point ? at : 0;
}

/* Two or more characters of the set or digits: one side of dimension labels. */
static size_t match_set(const char *text, size_t size, const char *set) {
  size_t at = 0;
  while (at < size && (is_digit(text[at]) || (text[at] && strchr(set, text[at])))) at++;
  return at >= 2 ? at : 0;
}

size_t read_match_labels(const char *text, size_t size) {
  size_t at = match_set(text, size, "bf?");
  size_t part;
  if (!at || at >= size || text[at] != '_') return 0;
  part = match_set(text + at + 1, size - at - 1, "io?");
  at += 1 + part;
  if (!part || size - at < 2 || text[at] != '-' || text[at + 1] != '>') return 0;
  part = match_set(text + at + 2, size - at - 2, "bf?");
  return part ? at + 2 + part : 0;
}

size_t read_match_sizes(const char *text, size_t size) {
  size_t at = match_digits(text, size);
  size_t first = at;
  while (at && at + 1 < size && text[at] == 'x' && is_digit(text[at + 1]))
    at += 1 + match_digits(text + at + 1, size - at - 1);
  return at > first ? at : 0;
}

/* low_high or low_high_interior, with signs. */
static size_t match_pad(const char *text, size_t size) {
  size_t at = read_match_int(text, size);
  size_t part;
  if (!at || at >= size || text[at] != '_' ||
      !(part = read_match_int(text + at + 1, size - at - 1)))
    return 0;
  at += 1 + part;
  if (at < size && text[at] == '_' && (part = read_match_int(text + at + 1, size - at - 1)))
    at += 1 + part;
  return at;
}

size_t read_match_pads(const char *text, size_t size) {
  size_t at = match_pad(text, size);
  size_t part;
  while (at && at < size && text[at] == 'x' && (part = match_pad(text + at + 1, size - at - 1)))
    at += 1 + part;
  return at;
}

size_t read_match_payload(const char *text, size_t size) {
  size_t at = 3;
  if (size < 5 || memcmp(text, "(0x", 3) != 0) return 0;
  while (at < size && strchr("0123456789abcdefABCDEF", text[at]) && text[at]) at++;
  return at > 3 && at < size && text[at] == ')' ? at + 1 : 0;
}
