/* The picture of a timeline. */
#ifndef CLI_TIMELINE_H
#define CLI_TIMELINE_H

#include "base/text.h"

/* Draws the trace `json`, in the form of hlorun_client_trace with one event per line, as SVG: a row
 * for each process with the events of its first thread from the first kernel to the last. Errors
 * are kept in `text`. */
void cli_timeline_draw(hr_strbuf_t *text, const char *json);

#endif
