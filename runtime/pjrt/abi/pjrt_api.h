/* Declarations of the functions of the table, from pjrt_functions.def. Those of PJRT_FUNCTION
 * return a status; the table's entry checks struct_size before it calls them. */
#ifndef PJRT_API_H
#define PJRT_API_H

#include "base/status.h"
#include "pjrt/abi/pjrt_abi.h"
#include "pjrt/abi/pjrt_abi_buffer.h"
#include "pjrt/abi/pjrt_abi_client.h"
#include "pjrt/abi/pjrt_abi_executable.h"
#include "pjrt/abi/pjrt_abi_transfer.h"
#include "pjrt/abi/pjrt_error.h"

#define PJRT_FUNCTION(name, fn, args, last) hr_status_t pjrt_##fn(pjrt_##args##_args_t *);
#define PJRT_DIRECT(name, fn, args, last) pjrt_error_t *pjrt_##fn(pjrt_##args##_args_t *);
#include "pjrt/abi/pjrt_functions.def"
#undef PJRT_FUNCTION
#undef PJRT_DIRECT

/* Returns USAGE with the object's name if a required object is NULL. */
#define PJRT_NOT_NULL(object)                                                      \
  do {                                                                             \
    if (!(object)) return hr_error(HR_USAGE, "%s: %s is NULL", __func__, #object); \
  } while (0)

/* True if the caller's struct has this field. Fields that are newer than the first version of the
 * interface are accessed only after this test. */
#define PJRT_HAS(args, field) \
  ((args)->struct_size >= offsetof(__typeof__(*(args)), field) + sizeof((args)->field))

/* True if the caller's struct has this pjrt_stat_t: a struct with this last field ends after its
 * flag. */
#define PJRT_HAS_STAT(args, field) \
  ((args)->struct_size >= offsetof(__typeof__(*(args)), field) + offsetof(pjrt_stat_t, is_set) + 1)

/* For the sanitizer of threads: what this thread did is done before calls that begin from now on.
 */
#ifdef __SANITIZE_THREAD__
void pjrt_note_end(void);
#else
static inline void pjrt_note_end(void) {}
#endif

/* Checks of arguments of extensions, whose functions are not in the table.
 * USAGE if `args` is NULL or its struct_size is below `size_bytes`; `name` is for the message. */
hr_status_t pjrt_check_args(const void *args, size_t size_bytes, const char *name);
/* Entry of an extension's table: as an entry of the main table.
 * It defines `call_<fn>`, which checks that the struct reaches to the field `last`. */
#define PJRT_ENTRY(name, fn, args_type, last)                                             \
  static pjrt_error_t *call_##fn(void *args) {                                            \
    hr_status_t st = pjrt_check_args(                                                     \
        args, offsetof(args_type, last) + sizeof(((args_type *)0)->last), "PJRT_" #name); \
    pjrt_error_t *error = pjrt_error_from_status(st ? st : pjrt_##fn(args));              \
    pjrt_note_end();                                                                      \
    return error;                                                                         \
  }

#endif
