/* A growing text, for printers. Failed allocations are recorded, and hr_strbuf_finish reports them.
 */
#ifndef HR_BASE_TEXT_H
#define HR_BASE_TEXT_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct hr_strbuf {
  char *data; /* NUL-terminated, or NULL while empty */
  size_t size;
  size_t capacity;
  bool failed;
} hr_strbuf_t;

void hr_strbuf_init(hr_strbuf_t *text);
void hr_strbuf_deinit(hr_strbuf_t *text);
void hr_strbuf_printf(hr_strbuf_t *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void hr_strbuf_add(hr_strbuf_t *text, const char *bytes, size_t size);
void hr_strbuf_add_str(hr_strbuf_t *text, const char *cstr);
void hr_strbuf_add_int(hr_strbuf_t *text, int64_t value);
void hr_strbuf_cut(hr_strbuf_t *text, size_t size); /* back to this size */
void hr_strbuf_add_char(hr_strbuf_t *text, char c);
hr_status_t hr_strbuf_finish(const hr_strbuf_t *text); /* NO_MEMORY if something was lost */
/* Transfers the malloc'd text to the caller, who frees it; NULL if something was lost. Leaves
 * `text` empty. */
char *hr_strbuf_steal(hr_strbuf_t *text);

/* Replaces control characters of a UTF-8 text by question marks; newlines and tabs stay. Accepts
 * NULL. */
void hr_text_hide_controls(char *text);

#endif
