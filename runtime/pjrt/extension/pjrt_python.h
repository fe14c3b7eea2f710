/* Access to Python, if the plugin is in a Python process: handlers of custom calls that JAX has
 * registered for its own CPU client, including Python callbacks. */
#ifndef PJRT_PYTHON_H
#define PJRT_PYTHON_H

#include "base/arena.h"

/* Makes the handlers of JAX available to programs; no effect outside of Python. Thread: any. */
void pjrt_python_begin(void);

/* True for the target of a custom call that is a callback of JAX. */
bool pjrt_python_is_callback(hr_str_t target);
/* The devices that JAX's configuration asks of its CPU backend (jax_num_cpu_devices); 0 if it does
 * not, and outside of Python. Thread: any that does not keep Python's lock from others. */
long pjrt_python_device_count(void);

#endif
