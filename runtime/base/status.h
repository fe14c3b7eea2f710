/* Errors as values. A status is a pointer, NULL is success. A failure has a code, a message, a
 * position in the user's program, notes ("while loading a.hlo") and the place in hlorun's source
 * that reported it.
 * Owner: the holder of a non-NULL status releases, prints or returns it.
 * Thread: a status belongs to one thread at a time. */
#ifndef HR_BASE_STATUS_H
#define HR_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum hr_code {
  HR_OK = 0,
#define STATUS(id, exit_code, text, advice) HR_##id,
#include "base/status.def"
#undef STATUS
} hr_code_t;

typedef struct hr_status *hr_status_t;

/* A text that positions refer to: a program as read from a file. Bytes need not end in NUL. */
typedef struct hr_source {
  const char *path;
  const char *text;
  size_t size_bytes;
} hr_source_t;

/* A place in a source; line and column count from 1, 0 means unknown. */
typedef struct hr_pos {
  const hr_source_t *source;
  uint32_t line;
  uint32_t column;
} hr_pos_t;

/* The current thread's position in the user's program. Frames live on the C stack. */
typedef struct hr_where {
  const char *computation;
  const char *instruction;
  hr_pos_t pos;
  struct hr_where *outer;
  /* Fills in the fields above from `at` when a failure needs them, for hot loops that do not update
   * them. NULL: they are always up to date. */
  void (*locate)(struct hr_where *where);
  const void *at;
} hr_where_t;

void hr_where_push(hr_where_t *where);
void hr_where_pop(hr_where_t *where);

hr_status_t hr_error_from(const char *file, int line, hr_code_t code, const hr_pos_t *pos,
                          const char *format, ...)
    __attribute__((format(printf, 5, 6), returns_nonnull));

/* A failure whose position, if any, is the innermost hr_where_t frame of this thread. */
#define hr_error(code, ...) hr_error_from(__FILE__, __LINE__, (code), NULL, __VA_ARGS__)
/* A failure at a position of the user's program; the line is quoted with a caret when it is
 * printed. */
#define hr_error_at(code, pos, ...) hr_error_from(__FILE__, __LINE__, (code), (pos), __VA_ARGS__)

/* Adds "while ..." context; passes NULL through, so that callers can return it directly. */
hr_status_t hr_status_note(hr_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Keeps `first` and attaches `second` to it; either may be NULL. */
hr_status_t hr_status_join(hr_status_t first, hr_status_t second);
void hr_status_release(hr_status_t status); /* accepts NULL */

hr_code_t hr_status_code(hr_status_t status); /* HR_OK for NULL */
int hr_status_exit_code(hr_status_t status);  /* 0 for NULL */
const char *hr_status_message(hr_status_t status);
const char *hr_code_text(hr_code_t code);
/* The whole report as users see it: "file:line:column: error: message", the line with a caret, the
 * notes. Returns a malloc'd string that the caller frees. */
char *hr_status_format(hr_status_t status);
void hr_status_print(FILE *stream, hr_status_t status);
/* Prints "message:" and the notes, for a status that is no failure. */
void hr_status_print_notes(FILE *stream, hr_status_t status);

/* Returns the failure of `expr` from the current function. */
#define HR_TRY(expr)                         \
  do {                                       \
    hr_status_t hr_try_status = (expr);      \
    if (hr_try_status) return hr_try_status; \
  } while (0)
/* Stores the failure of `expr` in `status` and jumps to the cleanup label. */
#define HR_TRY_GOTO(label, status, expr) \
  do {                                   \
    (status) = (expr);                   \
    if (status) goto label;              \
  } while (0)

/* For conditions that no input can violate. */
#define hr_assert(condition) \
  ((condition) ? (void)0 : hr_assert_failed(#condition, __FILE__, __LINE__))
_Noreturn void hr_assert_failed(const char *condition, const char *file, int line);

#endif
