/* The functions that a handler may call, and the state of its calls. */
#ifndef HLO_OPS_CUSTOM_FFI_API_H
#define HLO_OPS_CUSTOM_FFI_API_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"
#include "ops/kernels/custom/ffi_abi.h"

/* State of a handler by the stage that set it: for the first stage it lives as long as the plan,
 * for the others as long as the execution. */
typedef struct ffi_states {
  struct {
    void *object; /* NULL: none */
    int64_t type;
  } states[FFI_STAGES];
} ffi_states_t;

/* Destroys the objects of stages first .. FFI_STAGES - 1. */
void custom_ffi_end_states(ffi_states_t *states, int first);

struct ffi_execution {
  ffi_states_t *states;
  int64_t run_id;
};

extern const ffi_api_t custom_ffi_api;

/* Waits for a handler that ends asynchronously, and frees the future. NULL: it has ended. */
ffi_error_t *custom_ffi_await(ffi_future_t *future);
/* Turns a handler's error into a status, and frees it. NULL for NULL. `target` is for the
 * message. */
hr_status_t custom_ffi_status(ffi_error_t *error, const char *target);

#endif
