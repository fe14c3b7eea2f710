/* Extensions of the function table. Each is a struct of function pointers with its type in front;
 * the file that implements it defines it. */
#ifndef PJRT_EXTENSIONS_H
#define PJRT_EXTENSIONS_H

#include "pjrt/pjrt_abi.h"

/* Shardings of parameters, of results. */
typedef struct pjrt_shardings_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[2];
} pjrt_shardings_extension_t;

/* Layouts: destroy, serialize, default of a client, of a buffer, default of a topology, of
 * results. */
typedef struct pjrt_layouts_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[6];
} pjrt_layouts_extension_t;

/* Memories of a device that may be elsewhere, kind of a memory. */
typedef struct pjrt_memories_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[2];
} pjrt_memories_extension_t;

/* Registration of a custom partitioner, of calls that are many independent ones. */
typedef struct pjrt_partitioner_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[2];
} pjrt_partitioner_extension_t;

/* Types of user data, user data of an execution, handlers. */
typedef struct pjrt_ffi_extension {
  pjrt_extension_t base;
  pjrt_function_t functions[3];
} pjrt_ffi_extension_t;

extern pjrt_shardings_extension_t pjrt_shardings_extension;     /* pjrt_shardings.c */
extern pjrt_layouts_extension_t pjrt_layouts_extension;         /* pjrt_layouts.c */
extern pjrt_memories_extension_t pjrt_memories_extension;       /* pjrt_layouts.c */
extern pjrt_ffi_extension_t pjrt_ffi_extension;                 /* pjrt_ffi.c */
extern pjrt_partitioner_extension_t pjrt_partitioner_extension; /* pjrt_custom_partitioner.c */

#endif
