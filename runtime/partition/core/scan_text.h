/* A scanner for the tokens of Shardy's attributes and of the options --mesh and --sharding. Skips
 * blanks between tokens. The text is borrowed. */
#ifndef HR_PARTITION_SCAN_TEXT_H
#define HR_PARTITION_SCAN_TEXT_H

#include "base/arena.h"
#include "base/status.h"

typedef struct spmd_scan {
  const char *at, *end;
  const char *what; /* for messages: "sharding" */
} spmd_scan_t;

static inline spmd_scan_t spmd_scan(hr_str_t text, const char *what) {
  return (spmd_scan_t){text.data, text.data + text.size, what};
}
/* If the text continues with the word, skips it and returns true. */
bool spmd_scan_take(spmd_scan_t *scan, const char *word);
/* Skips a word that must follow. Errors: INVALID with what was found. */
hr_status_t spmd_scan_want(spmd_scan_t *scan, const char *word);
/* Error INVALID: what the text continues with, and what was wanted instead. */
hr_status_t spmd_scan_unexpected(const spmd_scan_t *scan, const char *wanted);
/* A name of letters, digits, '_', '-', '.', '$'; empty if none follows. */
hr_str_t spmd_scan_name(spmd_scan_t *scan);
/* The contents of "...". Errors: INVALID. */
hr_status_t spmd_scan_quoted(spmd_scan_t *scan, hr_str_t *out_text);
/* A decimal number up to 2^31. Errors: INVALID. */
hr_status_t spmd_scan_number(spmd_scan_t *scan, int64_t *out_number);
bool spmd_scan_is_done(spmd_scan_t *scan);
/* Skips what follows a member of a list: a comma (*out_more: true), or else the word `close`. */
hr_status_t spmd_scan_more(spmd_scan_t *scan, const char *close, bool *out_more);

#endif
