/* Custom calls to functions of the user: registered by the process, or found by name in the plugins
 * that it has opened. Calling convention: f(out, in), where in[k] points to the bytes of operand k,
 * and `out` to the bytes of the result, or to a list of pointers if the result is a tuple. A tuple
 * operand is a list of pointers, too. Arrays are row-major, unless the call has
 * operand_layout_constraints: then these and the layouts of the results are the orders. Types
 * narrower than a byte take a byte. Thread: any. Registrations are permanent. */
#ifndef HLO_OPS_CUSTOM_HOST_H
#define HLO_OPS_CUSTOM_HOST_H

#include "base/status.h"
#include "base/text.h"

typedef void (*custom_host_fn)(void *out, void **in);

/* The last registration of a name counts; NULL removes it. Errors: NO_MEMORY. */
hr_status_t custom_host_register(const char *name, custom_host_fn fn);
/* Opens a shared library and calls its hlorun_plugin_init(register) if it has one. Targets that
 * nobody registered are looked up in it: functions that the library itself defines and exports,
 * never those of its dependencies, nor _init and the like. Errors: UNAVAILABLE with the loader's
 * reason. */
hr_status_t custom_host_open(const char *path);
custom_host_fn custom_host_find(hr_str_t target); /* NULL: not found */
/* The reason why a target was not found, for the end of a message: "" if no plugin is open. */
const char *custom_host_refusal(hr_str_t target);

#endif
