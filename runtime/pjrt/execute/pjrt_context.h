/* Execution contexts: data for the functions that a program calls. */
#ifndef PJRT_CONTEXT_H
#define PJRT_CONTEXT_H

#include <stdatomic.h>

#include "pjrt/abi/pjrt_api.h"

/* One entry of a context; the data are the framework's. */
typedef struct pjrt_user_data {
  struct pjrt_user_data *next;
  /* number of the type, by which handlers ask for the data */
  int64_t type_id;
  void *data;
} pjrt_user_data_t;

/* Owner: refcounted, as executions outlive the caller's reference. Immutable once an execution has
 * it. */
struct pjrt_context {
  atomic_int references;
  pjrt_user_data_t *first;
};

pjrt_context_t *pjrt_context_retain(pjrt_context_t *context); /* accepts NULL */
void pjrt_context_release(pjrt_context_t *context);           /* accepts NULL */

#endif
