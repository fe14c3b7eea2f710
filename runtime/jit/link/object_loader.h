/* Links one ELF relocatable object, as LLVM writes it, into memory; needs no LLVM. No page is ever
 * writable and executable at the same time. Errors: INVALID, with the reason, if the object is
 * damaged or uses an unsupported feature; NO_MEMORY. The input is validated: any bytes are
 * allowed. */
#ifndef JIT_OBJECT_LOADER_H
#define JIT_OBJECT_LOADER_H

#include <stddef.h>

#include "base/status.h"

typedef struct jit_object jit_object_t;

/* The bytes are not needed after the call. */
hr_status_t jit_object_load(const void *bytes, size_t size_bytes, jit_object_t **out_object);
/* Requires: none of its functions is running. Accepts NULL. */
void jit_object_unload(jit_object_t *object);
/* Finds the address of a global function. Errors: INVALID if no function has this name. */
hr_status_t jit_object_find(const jit_object_t *object, const char *name, void **out_address);
size_t jit_object_code_bytes(const jit_object_t *object); /* bytes of memory mapped */

#endif
