/* Compilation of modules to objects, in parallel on the workers. */
#ifndef JIT_COMPILE_POOL_H
#define JIT_COMPILE_POOL_H

#include "base/buffer.h"
#include "base/workers.h"
#include "jit/element/code_builder.h"

/* Writes module number `index` into `code`, which is empty but for its target.
 * Thread: any worker, several at a time, each with another index. */
typedef hr_status_t (*jit_build_fn)(void *context, int index, jit_code_t *code);

typedef struct jit_compile_options {
  hr_workers_t *workers;      /* NULL: the caller alone */
  const jit_target_t *target; /* usually jit_target_host() */
  /* callback: may module number `index` be compiled quickly (llvm_compile.h)? NULL: no module */
  bool (*is_quick)(void *context, int index);
  /* Callback with the text of a module before its compilation: kernel IR (ending "kir") or LLVM IR
   * (ending "ll"). Calls do not overlap. NULL: nothing is printed. */
  void (*dump)(void *context, int index, const char *ending, const char *text);
  void *dump_context;
} jit_compile_options_t;

/* Builds and compiles `count` modules into ELF relocatable objects, which object_loader.h links.
 * jit/x64 compiles the modules that it supports, LLVM the others; LLVM is loaded for the first of
 * these. out_objects: `count` objects, each released by the caller; unspecified after a failure,
 * with nothing to release. Errors: of `build`, the one of the lowest index; INTERNAL if a module is
 * not well-formed; UNAVAILABLE if a module needs LLVM and LLVM is missing. */
hr_status_t jit_compile_modules(const jit_compile_options_t *options, int count, jit_build_fn build,
                                void *context, hr_buffer_t **out_objects);

#endif
