/* The picture of a timeline. */
#ifndef CLI_TIMELINE_H
#define CLI_TIMELINE_H

#include "base/text.h"

/* Draws the trace `json`, as hlorun_client_trace writes it, one event a line, as SVG: a row for
 * each process with what its first thread does from the first kernel to the last. Errors stick to
 * the text. */
void cli_timeline_draw(hr_strbuf_t *text, const char *json);

#endif
