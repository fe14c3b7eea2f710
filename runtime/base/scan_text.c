/* Tokens of attribute texts. A message quotes the next 20 characters; the caller adds the place of
 * the instruction that has the attribute. Cost: linear in the text. */
#include "base/scan_text.h"

#include <string.h>

static void skip_blanks(hr_scan_t *scan) {
  while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t'))
    scan->at++;
}

/* The text after the word does not matter: "p" is taken from "p1". */
bool hr_scan_take(hr_scan_t *scan, const char *word) {
  size_t size = strlen(word);
  skip_blanks(scan);
  if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, word, size)) return false;
  scan->at += size;
  return true;
}

hr_status_t hr_scan_unexpected(const hr_scan_t *scan, const char *wanted) {
  size_t left = (size_t)(scan->end - scan->at);
  if (!left) return hr_error(HR_INVALID, "the %s ends early, want %s", scan->what, wanted);
  int size = left > 20 ? 20 : (int)left;
  return hr_error(HR_INVALID, "the %s has \"%.*s\", want %s", scan->what, size, scan->at, wanted);
}

hr_status_t hr_scan_want(hr_scan_t *scan, const char *word) {
  char wanted[40];
  if (hr_scan_take(scan, word)) return NULL;
  snprintf(wanted, sizeof wanted, "\"%s\"", word);
  return hr_scan_unexpected(scan, wanted);
}

/* Names of meshes and axes, as MLIR writes them without quotes. */
static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '$';
}

hr_str_t hr_scan_name(hr_scan_t *scan) {
  skip_blanks(scan);
  const char *start = scan->at;
  while (scan->at < scan->end && is_name_char(*scan->at)) scan->at++;
  return (hr_str_t){start, (size_t)(scan->at - start)};
}

/* A quoted text has no escapes in it: it ends at the next quote. */
hr_status_t hr_scan_quoted(hr_scan_t *scan, hr_str_t *out_text) {
  HR_TRY(hr_scan_want(scan, "\""));
  const char *start = scan->at;
  while (scan->at < scan->end && *scan->at != '"') scan->at++;
  *out_text = (hr_str_t){start, (size_t)(scan->at - start)};
  return hr_scan_want(scan, "\"");
}

/* Digits alone, without a sign. */
static hr_status_t take_number(hr_scan_t *scan, int64_t limit, const char *wanted,
                               int64_t *out_number) {
  skip_blanks(scan);
  const char *start = scan->at;
  int64_t number = 0;
  bool fits = true;
  for (; fits && scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++)
    fits = !__builtin_mul_overflow(number, 10, &number) &&
           !__builtin_add_overflow(number, *scan->at - '0', &number) && number <= limit;
  if (scan->at == start || !fits) {
    scan->at = start;
    return hr_scan_unexpected(scan, wanted);
  }
  *out_number = number;
  return NULL;
}

hr_status_t hr_scan_number(hr_scan_t *scan, int64_t *out_number) {
  return take_number(scan, INT32_MAX, "a number below 2^31", out_number);
}

hr_status_t hr_scan_large_number(hr_scan_t *scan, int64_t *out_number) {
  return take_number(scan, INT64_MAX, "a number below 2^63", out_number);
}

bool hr_scan_is_done(hr_scan_t *scan) {
  skip_blanks(scan);
  return scan->at == scan->end;
}

hr_status_t hr_scan_more(hr_scan_t *scan, const char *close, bool *out_more) {
  *out_more = hr_scan_take(scan, ",");
  return *out_more ? NULL : hr_scan_want(scan, close);
}
