/* Execution contexts: reference counts, and the user data that handlers of the FFI ask for. */
#include "pjrt/execute/pjrt_context.h"

#include "base/mem_object.h"

hr_status_t pjrt_context_create(pjrt_context_args_t *args) {
  void *memory;
  HR_TRY(hr_alloc_object(sizeof(pjrt_context_t), &memory));
  args->context = memory;
  *args->context = (pjrt_context_t){.first = NULL};
  atomic_init(&args->context->references, 1);
  return NULL;
}

hr_status_t pjrt_context_destroy(pjrt_context_args_t *args) {
  pjrt_context_release(args->context);
  return NULL;
}

pjrt_context_t *pjrt_context_retain(pjrt_context_t *context) {
  if (context) atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
  return context;
}

void pjrt_context_release(pjrt_context_t *context) {
  if (!context || atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) != 1)
    return;
  for (pjrt_user_data_t *next, *data = context->first; data; data = next) {
    next = data->next;
    hr_free(data);
  }
  hr_free(context);
}
