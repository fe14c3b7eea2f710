/* A string builder. A failed allocation is remembered (`failed`) and reported once, by
 * hr_strbuf_finish, so that callers can print without checking each call. */
#include "base/decimal.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hr_strbuf_init(hr_strbuf_t *text) { *text = (hr_strbuf_t){0}; }

void hr_strbuf_deinit(hr_strbuf_t *text) {
  free(text->data);
  hr_strbuf_init(text);
}

/* Makes room for `more` bytes and the final NUL. */
static bool reserve(hr_strbuf_t *text, size_t more) {
  if (text->failed) return false;
  size_t needed = text->size + more + 1;
  if (needed <= text->capacity) return true;
  size_t capacity = text->capacity ? text->capacity * 2 : 256;
  while (capacity < needed) capacity *= 2;
  char *data = realloc(text->data, capacity);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void hr_strbuf_add(hr_strbuf_t *text, const char *bytes, size_t size) {
  if (!reserve(text, size)) return;
  if (size) memcpy(text->data + text->size, bytes, size);
  text->size += size;
  text->data[text->size] = 0;
}

void hr_strbuf_add_str(hr_strbuf_t *text, const char *cstr) {
  hr_strbuf_add(text, cstr, strlen(cstr));
}

/* Only shortens. */
void hr_strbuf_cut(hr_strbuf_t *text, size_t size) {
  if (size >= text->size) return;
  text->size = size;
  text->data[size] = 0;
}

void hr_strbuf_add_char(hr_strbuf_t *text, char c) { hr_strbuf_add(text, &c, 1); }

/* The magnitude is unsigned, so that INT64_MIN has one. */
void hr_strbuf_add_int(hr_strbuf_t *text, int64_t value) {
  char digits[24];
  char *at = digits + sizeof digits;
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do *--at = (char)('0' + magnitude % 10);
  while (magnitude /= 10);
  if (value < 0) *--at = '-';
  hr_strbuf_add(text, at, (size_t)(digits + sizeof digits - at));
}

void hr_strbuf_printf(hr_strbuf_t *text, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int size = hr_vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (size >= 0 && reserve(text, (size_t)size)) {
    hr_vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
    text->size += (size_t)size;
  }
  va_end(again);
}

hr_status_t hr_strbuf_finish(const hr_strbuf_t *text) {
  return text->failed
             ? hr_error(HR_NO_MEMORY, "cannot allocate %zu bytes of text", text->capacity * 2)
             : NULL;
}

/* The caller frees it with free(); NULL if an allocation had failed. */
char *hr_strbuf_steal(hr_strbuf_t *text) {
  char *data = text->data;
  if (text->failed) {
    free(data);
    data = NULL;
  } else if (!data) {
    data = strdup("");
  }
  hr_strbuf_init(text);
  return data;
}

/* C0 and DEL are one byte; C1 is c2 80 to c2 9f. */
void hr_text_hide_controls(char *text) {
  for (unsigned char *at = (unsigned char *)text; at && *at; at++) {
    bool is_c0 = (*at < ' ' && *at != '\n' && *at != '\t') || *at == 0x7f;
    bool is_c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f;
    if (is_c0 || is_c1) *at = '?';
    if (is_c1) at[1] = '?';
  }
}
