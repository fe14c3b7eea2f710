/* Access to Python, if the plugin is in a Python process: handlers of custom calls that JAX has
 * registered for its own CPU client, including Python callbacks. */
#ifndef PJRT_PYTHON_H
#define PJRT_PYTHON_H

/* Makes the handlers of JAX available to programs; no effect outside of Python. Thread: any. */
void pjrt_python_begin(void);

#endif
