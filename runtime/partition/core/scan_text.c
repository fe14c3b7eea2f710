/* Tokens of attribute texts. A message quotes the next 20 characters; the caller adds the place of
 * the instruction that has the attribute. Cost: linear in the text. */
#include "partition/core/scan_text.h"

#include <string.h>

static void skip_blanks(spmd_scan_t *scan) {
  while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t'))
    scan->at++;
}

/* The text after the word does not matter: "p" is taken from "p1". */
bool spmd_scan_take(spmd_scan_t *scan, const char *word) {
  size_t size = strlen(word);
  skip_blanks(scan);
  if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, word, size)) return false;
  scan->at += size;
  return true;
}

hr_status_t spmd_scan_unexpected(const spmd_scan_t *scan, const char *wanted) {
  size_t left = (size_t)(scan->end - scan->at);
  if (!left) return hr_error(HR_INVALID, "the %s ends early, want %s", scan->what, wanted);
  int size = left > 20 ? 20 : (int)left;
  return hr_error(HR_INVALID, "the %s has \"%.*s\", want %s", scan->what, size, scan->at, wanted);
}

hr_status_t spmd_scan_want(spmd_scan_t *scan, const char *word) {
  char wanted[40];
  if (spmd_scan_take(scan, word)) return NULL;
  snprintf(wanted, sizeof wanted, "\"%s\"", word);
  return spmd_scan_unexpected(scan, wanted);
}

/* Names of meshes and axes, as MLIR writes them without quotes. */
static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '$';
}

hr_str_t spmd_scan_name(spmd_scan_t *scan) {
  skip_blanks(scan);
  const char *start = scan->at;
  while (scan->at < scan->end && is_name_char(*scan->at)) scan->at++;
  return (hr_str_t){start, (size_t)(scan->at - start)};
}

/* A quoted text has no escapes in it: it ends at the next quote. */
hr_status_t spmd_scan_quoted(spmd_scan_t *scan, hr_str_t *out_text) {
  HR_TRY(spmd_scan_want(scan, "\""));
  const char *start = scan->at;
  while (scan->at < scan->end && *scan->at != '"') scan->at++;
  *out_text = (hr_str_t){start, (size_t)(scan->at - start)};
  return spmd_scan_want(scan, "\"");
}

/* Digits alone, without a sign. The bound is tested before each digit, so nothing overflows. */
hr_status_t spmd_scan_number(spmd_scan_t *scan, int64_t *out_number) {
  skip_blanks(scan);
  const char *start = scan->at;
  int64_t number = 0;
  while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9' && number <= INT32_MAX)
    number = number * 10 + (*scan->at++ - '0');
  if (scan->at == start || number > INT32_MAX) {
    scan->at = start;
    return spmd_scan_unexpected(scan, "a number below 2^31");
  }
  *out_number = number;
  return NULL;
}

bool spmd_scan_is_done(spmd_scan_t *scan) {
  skip_blanks(scan);
  return scan->at == scan->end;
}

hr_status_t spmd_scan_more(spmd_scan_t *scan, const char *close, bool *out_more) {
  *out_more = spmd_scan_take(scan, ",");
  return *out_more ? NULL : spmd_scan_want(scan, close);
}
