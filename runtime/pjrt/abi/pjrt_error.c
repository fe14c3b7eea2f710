/* Errors of the interface, and their translation from statuses: the code decides which exception
 * Python sees; the text is the whole report, with place and notes. If no memory is left for an
 * error, a static one is used. A status keeps a code of the interface that base/status.def does not
 * have as its foreign code. */
#include "pjrt/abi/pjrt_error.h"

#include <stdlib.h>
#include <string.h>

#include "base/foreign_code.h"
#include "base/mem.h"
#include "pjrt/abi/pjrt_api.h"

/* An error and its text are one block. */
struct pjrt_error {
  pjrt_code_t code;
  size_t size;         /* bytes of the message, without the NUL */
  const char *message; /* ends in NUL */
};

/* Static error in place of one that could not be allocated; pjrt_error_free leaves it alone. */
static pjrt_error_t out_of_memory = {PJRT_RESOURCE_EXHAUSTED, 13, "out of memory"};

/* Code of the interface for each code of base/status.def. */
static const pjrt_code_t codes[] = {
    [HR_OK] = PJRT_OK,
    [HR_MISMATCH] = PJRT_INTERNAL,
    [HR_USAGE] = PJRT_INVALID_ARGUMENT,
    [HR_INVALID] = PJRT_INVALID_ARGUMENT,
    [HR_UNSUPPORTED] = PJRT_UNIMPLEMENTED,
    [HR_DISAGREE] = PJRT_FAILED_PRECONDITION,
    [HR_UNAVAILABLE] = PJRT_UNAVAILABLE,
    [HR_NO_MEMORY] = PJRT_RESOURCE_EXHAUSTED,
    [HR_CANCELLED] = PJRT_CANCELLED,
    [HR_INTERNAL] = PJRT_INTERNAL,
    [HR_DEADLINE] = PJRT_DEADLINE_EXCEEDED,
};

pjrt_error_t *pjrt_error_create(pjrt_code_t code, const char *message, size_t size) {
  void *memory;
  hr_status_t st = hr_alloc(sizeof(pjrt_error_t) + size + 1, &memory);
  hr_status_release(st);
  if (st) return &out_of_memory;
  pjrt_error_t *error = memory;
  char *text = (char *)(error + 1);
  if (size) memcpy(text, message, size);
  text[size] = '\0';
  *error = (pjrt_error_t){code, size, text};
  return error;
}

pjrt_error_t *pjrt_error_given(pjrt_code_t code, const char *message, size_t size) {
  if (code == PJRT_OK) return NULL;
  return pjrt_error_create(code, message, message ? size : 0);
}

pjrt_error_t *pjrt_error_copy(const pjrt_error_t *error) {
  return error ? pjrt_error_create(error->code, error->message, error->size) : NULL;
}

const char *pjrt_error_text(const pjrt_error_t *error) { return error->message; }

void pjrt_error_free(pjrt_error_t *error) {
  if (error != &out_of_memory) hr_free(error);
}

/* An array that this machine cannot hold makes a program invalid for the command; the framework
 * expects it among the failures for want of memory. */
static pjrt_code_t code_of(hr_status_t status) {
  hr_code_t code = hr_status_code(status);
  int given = hr_status_foreign_code(status);
  if (given > PJRT_OK && given < PJRT_CODE_LIMIT) return (pjrt_code_t)given;
  bool is_too_big = code == HR_UNSUPPORTED && strstr(hr_status_message(status), " is too big: ");
  return is_too_big ? PJRT_RESOURCE_EXHAUSTED : codes[code];
}

/* Line ends at the end of the report go, as Python appends its own. */
pjrt_error_t *pjrt_error_from_status(hr_status_t status) {
  if (!status) return NULL;
  char *report = hr_status_format(status);
  const char *text = report ? report : hr_status_message(status);
  size_t size = strlen(text);
  while (size && text[size - 1] == '\n') size--;
  pjrt_error_t *error = pjrt_error_create(code_of(status), text, size);
  free(report);
  hr_status_release(status);
  return error;
}

/* The search finds the last code that fits: INVALID_ARGUMENT becomes HR_INVALID. */
hr_status_t pjrt_error_status(const pjrt_error_t *error) {
  if (!error) return NULL;
  hr_code_t code = HR_INTERNAL;
  for (size_t c = 1; c < sizeof codes / sizeof *codes; c++)
    if (codes[c] == error->code && error->code != PJRT_INTERNAL) code = (hr_code_t)c;
  hr_status_t st = hr_error(code, "%s", error->message);
  hr_status_set_foreign_code(st, (int)error->code);
  return st;
}

hr_status_t pjrt_answer_status(const pjrt_answer_header_t *header) {
  if (!header->has_error) return NULL;
  return hr_error(HR_INTERNAL, "%.*s", (int)header->message.size, header->message.data);
}

/* Error_Destroy; NULL is accepted. */
pjrt_error_t *pjrt_error_destroy(pjrt_error_args_t *args) {
  pjrt_error_free(args->error);
  return NULL;
}

/* Error_Message: the text belongs to the error. */
pjrt_error_t *pjrt_error_message(pjrt_error_message_args_t *args) {
  args->message = args->error ? args->error->message : "";
  args->message_size = args->error ? args->error->size : 0;
  return NULL;
}

/* Error_ForEachPayload: errors have none. Frameworks ask for the payloads of every error. */
hr_status_t pjrt_error_payloads(pjrt_error_payloads_args_t *args) {
  (void)args;
  return NULL;
}

pjrt_error_t *pjrt_error_get_code(pjrt_error_code_args_t *args) {
  args->code = args->error ? args->error->code : PJRT_OK;
  return NULL;
}
