#include "base/text_sink.h"

/* A write call takes as long as some kilobytes; more than a few of a megabyte gain nothing. */
#define PIECE_BYTES (1 << 20)

static void write_piece(hr_strbuf_t *text, hr_text_sink_t *sink) {
  if (!sink->status) sink->status = hr_strbuf_finish(text);
  if (!sink->status) sink->status = sink->write(sink->context, text);
  hr_strbuf_cut(text, 0);
}

void hr_text_drain(hr_strbuf_t *text, hr_text_sink_t *sink) {
  if (sink && text->size >= PIECE_BYTES) write_piece(text, sink);
}

hr_status_t hr_text_finish(hr_strbuf_t *text, hr_text_sink_t *sink) {
  write_piece(text, sink);
  return sink->status;
}
