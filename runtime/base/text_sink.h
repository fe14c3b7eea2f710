/* Output of long texts in pieces: a printer passes its buffer to a sink from time to time, so that
 * the whole text is never in memory.
 * Thread: one per sink. */
#ifndef HR_TEXT_SINK_H
#define HR_TEXT_SINK_H

#include "base/text.h"

/* Takes the pieces of a text in order. */
typedef struct hr_text_sink {
  hr_status_t (*write)(void *context, const hr_strbuf_t *piece);
  void *context;
  hr_status_t status; /* the first failure, after which pieces are dropped */
} hr_text_sink_t;

/* Writes the text to the sink if it is longer than a piece, and empties it. sink NULL: no
 * effect. */
void hr_text_drain(hr_strbuf_t *text, hr_text_sink_t *sink);
/* Writes the rest of the text. Returns the sink's status; the caller owns it. */
hr_status_t hr_text_finish(hr_strbuf_t *text, hr_text_sink_t *sink);

#endif
