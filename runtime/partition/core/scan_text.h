/* A cursor over the text of an attribute: the small pieces of which Shardy's attributes and the
 * options --mesh and --sharding consist. Blanks between pieces are skipped. The text is borrowed.
 */
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
/* True, and the word is skipped, if the text goes on with it. */
bool spmd_scan_take(spmd_scan_t *scan, const char *word);
/* The same for a word that must be there. Errors: INVALID with what was found. */
hr_status_t spmd_scan_want(spmd_scan_t *scan, const char *word);
/* Letters, digits, '_', '-', '.', '$'; empty if there are none. */
hr_str_t spmd_scan_name(spmd_scan_t *scan);
/* "..." without the quotes. Errors: INVALID. */
hr_status_t spmd_scan_quoted(spmd_scan_t *scan, hr_str_t *out_text);
/* Digits. Errors: INVALID; also for numbers beyond 2^31. */
hr_status_t spmd_scan_number(spmd_scan_t *scan, int64_t *out_number);
bool spmd_scan_is_done(spmd_scan_t *scan);
/* After a list's member: true if a comma announces another; else the closing word must follow. */
hr_status_t spmd_scan_more(spmd_scan_t *scan, const char *close, bool *out_more);

#endif
