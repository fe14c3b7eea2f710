/* A growing text, for printers. Growth failures are remembered and reported once, at the end, by hr_text_finish. */
#ifndef HR_BASE_TEXT_H
#define HR_BASE_TEXT_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct hr_text {
  char *data; /* NUL-terminated, or NULL while empty */
  size_t size;
  size_t capacity;
  bool failed;
} hr_text_t;

void hr_text_init(hr_text_t *text);
void hr_text_deinit(hr_text_t *text);
void hr_text_printf(hr_text_t *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hr_text_add(hr_text_t *text, const char *bytes, size_t size);
void hr_text_add_str(hr_text_t *text, const char *cstr);
void hr_text_add_int(hr_text_t *text, int64_t value);
void hr_text_cut(hr_text_t *text, size_t size); /* back to this size */
void hr_text_add_char(hr_text_t *text, char c);
hr_status_t hr_text_finish(const hr_text_t *text); /* NO_MEMORY if something was lost */
/* Gives the text away: malloc'd, the caller frees it; NULL if something was lost. Leaves `text` empty. */
char *hr_text_steal(hr_text_t *text);

#endif
