/* A scanner for the tokens of Shardy's attributes and of the options --mesh and --sharding. Skips
 * blanks between tokens. The text is borrowed. */
#ifndef HR_BASE_SCAN_TEXT_H
#define HR_BASE_SCAN_TEXT_H

#include "base/arena.h"
#include "base/status.h"

typedef struct hr_scan {
  const char *at, *end;
  const char *what; /* for messages: "sharding" */
} hr_scan_t;

static inline hr_scan_t hr_scan(hr_str_t text, const char *what) {
  return (hr_scan_t){text.data, text.data + text.size, what};
}
/* If the text continues with the word, skips it and returns true. */
bool hr_scan_take(hr_scan_t *scan, const char *word);
/* Skips a word that must follow. Errors: INVALID with what was found. */
hr_status_t hr_scan_want(hr_scan_t *scan, const char *word);
/* Error INVALID: what the text continues with, and what was wanted instead. */
hr_status_t hr_scan_unexpected(const hr_scan_t *scan, const char *wanted);
/* A name of letters, digits, '_', '-', '.', '$'; empty if none follows. */
hr_str_t hr_scan_name(hr_scan_t *scan);
/* The contents of "...". Errors: INVALID. */
hr_status_t hr_scan_quoted(hr_scan_t *scan, hr_str_t *out_text);
/* A decimal number up to 2^31, and one below 2^63. Errors: INVALID. */
hr_status_t hr_scan_number(hr_scan_t *scan, int64_t *out_number);
hr_status_t hr_scan_large_number(hr_scan_t *scan, int64_t *out_number);
bool hr_scan_is_done(hr_scan_t *scan);
/* Skips what follows a member of a list: a comma (*out_more: true), or else the word `close`. */
hr_status_t hr_scan_more(hr_scan_t *scan, const char *close, bool *out_more);

#endif
