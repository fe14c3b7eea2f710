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
  /* May module number `index` be compiled quickly (llvm_compile.h)? NULL: none. */
  bool (*is_quick)(void *context, int index);
  /* Called with the module's text before it is compiled, one at a time, as the kernel IR (ending
   * "kir") and as LLVM's
   * ("ll"); NULL: not printed. */
  void (*dump)(void *context, int index, const char *ending, const char *text);
  void *dump_context;
} jit_compile_options_t;

/* Builds and compiles `count` modules into ELF relocatable objects, which object_loader.h links: by
 * jit/x64 what that has code for, the rest by LLVM, which is loaded then. out_objects: count of
 * them, the caller releases each; unspecified after a failure, with nothing to release. Errors: of
 * `build`, the one of the lowest index; INTERNAL if a module is not well-formed; UNAVAILABLE if
 * there is no LLVM and a module needs it. */
hr_status_t jit_compile_modules(const jit_compile_options_t *options, int count, jit_build_fn build,
                                void *context, hr_buffer_t **out_objects);

#endif
