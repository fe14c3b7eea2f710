/* Custom calls to functions of the typed convention: XLA's FFI, in which a handler gets a call
 * frame with buffers, attributes and a table of functions. Handlers are registered by the process;
 * a resolver finds those of another library. Thread: any. Registrations are permanent. */
#ifndef HLO_OPS_CUSTOM_FFI_H
#define HLO_OPS_CUSTOM_FFI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

/* Handlers of a target by stage, each of the type of ops/kernels/custom/ffi_abi.h; NULL: no handler
 * for that stage. */
typedef struct custom_ffi_bundle {
  void *instantiate, *prepare, *initialize, *execute;
  bool takes_bytes; /* elements narrower than a byte have one byte each: they are not packed */
} custom_ffi_bundle_t;

/* The last registration of a name counts. Errors: NO_MEMORY; USAGE for an empty name. */
hr_status_t custom_ffi_register(hr_str_t target, const custom_ffi_bundle_t *bundle);
/* Called for a target without a handler: registers the target if it knows it. */
typedef void (*custom_ffi_resolver_fn)(hr_str_t target);
void custom_ffi_set_resolver(custom_ffi_resolver_fn resolver);
/* NULL: not found. Owner: lives as long as the process. */
const custom_ffi_bundle_t *custom_ffi_find(hr_str_t target);

#define CUSTOM_FFI_ANY_TYPE INT64_MIN /* in `find`: the first data of any type */

/* Data of an execution for its handlers. */
typedef struct custom_ffi_context {
  void *(*find)(const void *context, int64_t type_id); /* data of the caller by type; or NULL */
  const void *context;
  int device;     /* ordinal among the devices of the process */
  int64_t run_id; /* equal for all handlers of an execution, on all its devices */
} custom_ffi_context_t;

/* Sets the context of the calling thread and returns the previous one; NULL: none. */
const custom_ffi_context_t *custom_ffi_enter(const custom_ffi_context_t *context);
const custom_ffi_context_t *custom_ffi_current(void);

typedef void (*custom_ffi_delete_fn)(void *object);
/* A type of handlers' data. *id is the caller's own number of the type; 0: the function sets it,
 * equal for equal names. `destroy` destroys data of the type; NULL: unchanged, initially none. */
hr_status_t custom_ffi_type(hr_str_t name, custom_ffi_delete_fn destroy, int64_t *id);
/* NULL: data of this type is not destroyed. */
custom_ffi_delete_fn custom_ffi_destroyer(int64_t id);

#endif
