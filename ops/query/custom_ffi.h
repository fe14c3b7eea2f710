/* Custom calls to functions of the typed convention: XLA's FFI, in which a handler gets a call
 * frame with buffers, attributes and a table of functions. Handlers are registered by the process;
 * those that another library keeps are asked for by a resolver.
 * Thread: any. What is registered stays. */
#ifndef HLO_OPS_CUSTOM_FFI_H
#define HLO_OPS_CUSTOM_FFI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

/* Handlers of a target by stage, each of the type of ops/kernels/custom/ffi_abi.h; NULL: the target
 * has nothing to do in that stage. */
typedef struct custom_ffi_bundle {
  void *instantiate, *prepare, *initialize, *execute;
  bool takes_bytes; /* elements of types below a byte take one byte each: they are not packed */
} custom_ffi_bundle_t;

/* The last one of a name counts. Errors: NO_MEMORY; USAGE for an empty name. */
hr_status_t custom_ffi_register(hr_str_t target, const custom_ffi_bundle_t *bundle);
/* Asked for a target that nobody registered: registers it, if it knows it. */
typedef void (*custom_ffi_resolver_fn)(hr_str_t target);
void custom_ffi_set_resolver(custom_ffi_resolver_fn resolver);
/* NULL: nobody has it. Owner: lives as long as the process. */
const custom_ffi_bundle_t *custom_ffi_find(hr_str_t target);

#define CUSTOM_FFI_ANY_TYPE INT64_MIN /* in `find`: the first data of any type */

/* What an execution brings for its handlers. */
typedef struct custom_ffi_context {
  void *(*find)(const void *context, int64_t type_id); /* data of the caller by type; or NULL */
  const void *context;
  int device; /* ordinal among the devices of the process */
} custom_ffi_context_t;

/* Makes the context that of the calling thread and returns the one before; NULL: none. */
const custom_ffi_context_t *custom_ffi_enter(const custom_ffi_context_t *context);
const custom_ffi_context_t *custom_ffi_current(void);

typedef void (*custom_ffi_delete_fn)(void *object);
/* A type of handlers' data. *id is the caller's own number of it; 0: it gets one, the same for the
 * same name. `destroy` ends data of the type; NULL: as it was, at first nothing does. */
hr_status_t custom_ffi_type(hr_str_t name, custom_ffi_delete_fn destroy, int64_t *id);
/* NULL: nothing ends data of this type. */
custom_ffi_delete_fn custom_ffi_destroyer(int64_t id);

#endif
