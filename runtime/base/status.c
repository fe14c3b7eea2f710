/* Statuses are heap records made by malloc, apart from the counted allocator, with one static
 * record for the case that malloc fails. The location in the user's program is a thread-local stack
 * of frames (hr_where_push), copied as text into a status when the status is made. */
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/foreign_code.h"
#include "base/text.h"

#define QUOTED_LINE_MAX 160 /* characters of a source line that a message quotes */

/* Statuses use malloc, not hr_alloc: reporting that memory ran out must not depend on hr_alloc's
 * fault injection. */
struct hr_status {
  hr_code_t code;
  int foreign_code; /* code of the failure in another interface; 0: none */
  char *message;
  char *where; /* "in instruction %x of computation y", or NULL */
  char *path;  /* program's path, or NULL */
  uint32_t line, column;
  char *quoted; /* the source line and a caret line, or NULL */
  char *notes;  /* lines, or NULL */
  const char *source_file;
  int source_line;
};

static struct hr_status no_memory_status = {.code = HR_NO_MEMORY, .message = "out of memory"};
static _Thread_local hr_where_t *innermost;

void hr_where_push(hr_where_t *where) {
  where->outer = innermost;
  innermost = where;
}

void hr_where_pop(hr_where_t *where) { innermost = where->outer; }

_Noreturn void hr_assert_failed(const char *condition, const char *file, int line) {
  fprintf(stderr, "%s:%d: hlorun has a bug: %s does not hold\n", file, line, condition);
  abort();
}

static char *format_text(const char *format, va_list args) {
  char *text = NULL;
  return hr_vasprintf(&text, format, args) < 0 ? NULL : text;
}

/* Finds the line of `pos` and draws a caret under its column; long lines are cut around it. */
static char *quote_line(const hr_pos_t *pos) {
  const hr_source_t *source = pos->source;
  if (!source || !source->text || !pos->line) return NULL;
  const char *start = source->text, *end = source->text + source->size_bytes;
  for (uint32_t line = 1; line < pos->line; line++) {
    start = memchr(start, '\n', (size_t)(end - start));
    if (!start++) return NULL;
  }
  /* The rest of a huge line is not looked at. */
  size_t most = (size_t)pos->column + QUOTED_LINE_MAX;
  if ((size_t)(end - start) > most) end = start + most;
  const char *stop = memchr(start, '\n', (size_t)(end - start));
  if (!stop) stop = end;
  size_t length = (size_t)(stop - start), caret = pos->column ? pos->column - 1 : 0, from = 0;
  if (caret > length) caret = length;
  if (length > QUOTED_LINE_MAX) {
    from = caret > QUOTED_LINE_MAX / 2 ? caret - QUOTED_LINE_MAX / 2 : 0;
    length = length - from < QUOTED_LINE_MAX ? length - from : QUOTED_LINE_MAX;
  }
  char *text = malloc(2 * length + 64);
  if (!text) return NULL;
  char *to = text;
  to += sprintf(to, "%s", from ? "... " : "");
  size_t indent = from ? 4 : 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)start[from + i];
    *to++ = c < ' ' ? ' ' : (char)c;
  }
  *to++ = '\n';
  memset(to, ' ', indent + caret - from);
  strcpy(to + indent + caret - from, "^");
  return text;
}

hr_status_t hr_error_from(const char *file, int line, hr_code_t code, const hr_pos_t *pos,
                          const char *format, ...) {
  struct hr_status *status = calloc(1, sizeof *status);
  if (!status) return &no_memory_status;
  status->code = code;
  status->source_file = file;
  status->source_line = line;
  va_list args;
  va_start(args, format);
  status->message = format_text(format, args);
  va_end(args);
  if (innermost && innermost->locate) innermost->locate(innermost);
  if (!pos && innermost) pos = &innermost->pos;
  if (pos && pos->source) {
    status->path = pos->source->path ? strdup(pos->source->path) : NULL;
    status->line = pos->line;
    status->column = pos->column;
    status->quoted = quote_line(pos);
  }
  if (innermost && innermost->instruction &&
      asprintf(&status->where, "in instruction %%%s of computation %s", innermost->instruction,
               innermost->computation) < 0)
    status->where = NULL;
  return status;
}

static void add_note(hr_status_t status, const char *note) {
  if (status == &no_memory_status || !note) return;
  char *notes = NULL;
  if (asprintf(&notes, "%s%s\n", status->notes ? status->notes : "", note) < 0) return;
  free(status->notes);
  status->notes = notes;
}

hr_status_t hr_status_note(hr_status_t status, const char *format, ...) {
  if (!status) return NULL;
  va_list args;
  va_start(args, format);
  char *note = format_text(format, args);
  va_end(args);
  add_note(status, note);
  free(note);
  return status;
}

hr_status_t hr_status_join(hr_status_t first, hr_status_t second) {
  if (!first || !second) return first ? first : second;
  char *note = NULL;
  if (asprintf(&note, "then: %s", hr_status_message(second)) >= 0) add_note(first, note);
  free(note);
  hr_status_release(second);
  return first;
}

void hr_status_release(hr_status_t status) {
  if (!status || status == &no_memory_status) return;
  free(status->message);
  free(status->where);
  free(status->path);
  free(status->quoted);
  free(status->notes);
  free(status);
}

void hr_status_set_foreign_code(hr_status_t status, int code) {
  if (status && status != &no_memory_status) status->foreign_code = code;
}

int hr_status_foreign_code(hr_status_t status) { return status ? status->foreign_code : 0; }

hr_code_t hr_status_code(hr_status_t status) { return status ? status->code : HR_OK; }

const char *hr_status_message(hr_status_t status) {
  if (!status) return "ok";
  return status->message ? status->message : hr_code_text(status->code);
}

const char *hr_code_text(hr_code_t code) {
  static const char *const texts[] = {
      "ok",
#define STATUS(id, exit_code, text, advice) text,
#include "base/status.def"
#undef STATUS
  };
  return texts[code];
}

int hr_status_exit_code(hr_status_t status) {
  static const int codes[] = {
      0,
#define STATUS(id, exit_code, text, advice) exit_code,
#include "base/status.def"
#undef STATUS
  };
  return codes[hr_status_code(status)];
}

static void add_notes(hr_strbuf_t *text, hr_status_t status) {
  for (const char *note = status ? status->notes : NULL; note && *note;) {
    const char *end = strchr(note, '\n');
    hr_strbuf_printf(text, "  %.*s\n", (int)(end - note), note);
    note = end + 1;
  }
}

char *hr_status_format(hr_status_t status) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  if (status && status->path) {
    hr_strbuf_printf(&text, "%s:", status->path);
    if (status->line)
      hr_strbuf_printf(&text, "%u:%u:", status->line, status->column ? status->column : 1);
    hr_strbuf_printf(&text, " ");
  }
  hr_strbuf_printf(&text, "error: %s", hr_status_message(status));
  if (status && status->code == HR_INTERNAL)
    hr_strbuf_printf(&text, " (%s:%d)", status->source_file, status->source_line);
  hr_strbuf_printf(&text, "\n");
  if (status && status->quoted) hr_strbuf_printf(&text, "%s\n", status->quoted);
  if (status && status->where) hr_strbuf_printf(&text, "  %s\n", status->where);
  add_notes(&text, status);
  char *shown = hr_strbuf_steal(&text);
  hr_text_hide_controls(shown);
  return shown;
}

/* In one piece, so that lines of several processes do not mix. */
static void print_text(FILE *stream, char *text) {
  hr_text_hide_controls(text);
  fputs(text ? text : "error: out of memory\n", stream);
  fflush(stream);
  free(text);
}

void hr_status_print_notes(FILE *stream, hr_status_t status) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "%s:\n", hr_status_message(status));
  add_notes(&text, status);
  print_text(stream, hr_strbuf_steal(&text));
}

void hr_status_print(FILE *stream, hr_status_t status) {
  print_text(stream, hr_status_format(status));
}
