/* Errors of the PJRT interface: a code and a text, immutable once made. Functions of the plugin
 * return statuses of base/status.h, which the function table translates. */
#ifndef PJRT_ERROR_H
#define PJRT_ERROR_H

#include "base/status.h"
#include "pjrt/abi/pjrt_abi.h"

/* A new error; a shared one if memory runs out. `message` is copied. */
pjrt_error_t *pjrt_error_create(pjrt_code_t code, const char *message, size_t size);
/* The error that the framework hands over: NULL for PJRT_OK. `message` may be NULL and is
 * copied. */
pjrt_error_t *pjrt_error_given(pjrt_code_t code, const char *message, size_t size);
pjrt_error_t *pjrt_error_copy(const pjrt_error_t *error); /* NULL for NULL */
void pjrt_error_free(pjrt_error_t *error);                /* accepts NULL */
const char *pjrt_error_text(const pjrt_error_t *error);   /* lives as long as the error */
/* Translates and releases a status; NULL for NULL. */
pjrt_error_t *pjrt_error_from_status(hr_status_t status);
/* A status with the text of the error, which is borrowed; NULL for NULL. */
hr_status_t pjrt_error_status(const pjrt_error_t *error);
/* The error that a callback of the framework answers, if it does. */
struct pjrt_answer_header;
hr_status_t pjrt_answer_status(const struct pjrt_answer_header *header);

#endif
