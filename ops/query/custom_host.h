/* Custom calls to functions of the user: registered by the process, or found by name in the plugins
 * that it has opened. The classic convention: f(out, in), where in[k] is the bytes of operand k,
 * and `out` the bytes of the result, or a list of them where the result is a tuple. A tuple as an
 * operand is a list, too. Arrays are row-major; where the call has operand_layout_constraints they,
 * and the layouts of the results, say the order. Types below a byte take one.
 * Thread: any. What is registered stays. */
#ifndef HLO_OPS_CUSTOM_HOST_H
#define HLO_OPS_CUSTOM_HOST_H

#include "base/status.h"
#include "base/text.h"

typedef void (*custom_host_fn)(void *out, void **in);

/* The last one of a name counts; NULL takes it away. Errors: NO_MEMORY. */
hr_status_t custom_host_register(const char *name, custom_host_fn fn);
/* Opens a shared library, calls its hlorun_plugin_init(register) if it has one, and looks into it
 * for targets that nobody registered: functions that the library itself defines and exports, never
 * those of libraries that it needs, nor _init and the like. Errors: UNAVAILABLE with the loader's
 * reason. */
hr_status_t custom_host_open(const char *path);
custom_host_fn custom_host_find(hr_str_t target); /* NULL: nobody has it */
/* Why there is none, for the end of a message: "" if no plugin is open. */
const char *custom_host_refusal(hr_str_t target);

#endif
