/* Calls of the user's functions that may throw a C++ exception. */
#ifndef HLO_OPS_CUSTOM_GUARD_H
#define HLO_OPS_CUSTOM_GUARD_H

#include "base/status.h"

#define CUSTOM_GUARD_ARGS 3

/* Calls `function` with the arguments; *out_result is what it returns as an address, undefined for
 * a function without a result. A C++ exception, which must not pass the frames of C above, is
 * destroyed here.
 * Errors: INTERNAL with the exception's type and text, and the foreign code 2 (UNKNOWN).
 * On processors other than x86-64 exceptions are not caught. */
hr_status_t custom_guard_call(void (*function)(void), void *const args[CUSTOM_GUARD_ARGS],
                              void **out_result);

#endif
