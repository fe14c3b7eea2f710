/* Argument checks of the embedding API. An invalid argument is a USAGE error that names function
 * and argument. */
#ifndef HLORUN_API_CHECK_H
#define HLORUN_API_CHECK_H

#include "base/status.h"

/* Returns USAGE from a function of the API if the pointer is NULL. */
#define API_NOT_NULL(argument)                                                         \
  do {                                                                                 \
    if (!(argument)) return hr_error(HR_USAGE, "%s: %s is NULL", __func__, #argument); \
  } while (0)

/* Errors: USAGE if the argument is NULL; it may be if `count`, its number of elements, is 0. */
#define API_NOT_NULL_FOR(count, argument)                                                \
  do {                                                                                   \
    if ((count) && !(argument))                                                          \
      return hr_error(HR_USAGE, "%s: %s is NULL, want %zu of them", __func__, #argument, \
                      (size_t)(count));                                                  \
  } while (0)

#endif
