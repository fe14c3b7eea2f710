/* Long texts in pieces: a printer hands what it has to a sink now and then, so that the text is
 * never whole in memory.
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

/* Hands a text that is long enough to the sink, and begins it again. NULL: there is none. */
void hr_text_drain(hr_strbuf_t *text, hr_text_sink_t *sink);
/* Hands over the rest; the sink's status, which is the caller's then. */
hr_status_t hr_text_finish(hr_strbuf_t *text, hr_text_sink_t *sink);

#endif
