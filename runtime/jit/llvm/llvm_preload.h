/* LLVM opened on a thread of its own, while the caller reads and plans: for a program whose code
 * has most probably to be made. What opening it takes is then hidden but for a part. */
#ifndef JIT_LLVM_PRELOAD_H
#define JIT_LLVM_PRELOAD_H

#include <pthread.h>
#include <stdbool.h>

#include "ir/module.h"

typedef struct llvm_preload {
  pthread_t thread;
  bool is_running;
} llvm_preload_t;

/* Begins it, if the program has instructions for generated code, and jit/x64 does not take most of
 * them. Where no thread can be made nothing happens, and what fails is found again by those who
 * need LLVM. */
void llvm_preload_begin(const hlo_module_t *module, llvm_preload_t *out_preload);
/* Waits for its end: no thread stays behind. Accepts a zeroed one. */
void llvm_preload_end(llvm_preload_t *preload);

#endif
