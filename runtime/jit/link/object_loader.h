/* Links one ELF relocatable object, as LLVM writes it, into memory; needs no LLVM. Code and
 * constants lie in pages that are never writable and executable at a time. Errors: INVALID if the
 * object is damaged or uses what is not known here, with what; NO_MEMORY. Any bytes may be given.
 */
#ifndef JIT_OBJECT_LOADER_H
#define JIT_OBJECT_LOADER_H

#include <stddef.h>

#include "base/status.h"

typedef struct jit_object jit_object_t;

/* The bytes are not needed afterwards. */
hr_status_t jit_object_load(const void *bytes, size_t size_bytes, jit_object_t **out_object);
/* Its functions must not be running. Accepts NULL. */
void jit_object_unload(jit_object_t *object);
/* The address of a global function. Errors: INVALID if there is none of this name. */
hr_status_t jit_object_find(const jit_object_t *object, const char *name, void **out_address);
size_t jit_object_code_bytes(const jit_object_t *object); /* bytes of memory mapped */

#endif
