/* Opens LLVM on a separate thread while the caller reads and plans, for programs that most probably
 * need LLVM. This hides most of the loading time. */
#ifndef JIT_LLVM_PRELOAD_H
#define JIT_LLVM_PRELOAD_H

#include <pthread.h>
#include <stdbool.h>

#include "ir/module.h"

typedef struct llvm_preload {
  pthread_t thread;
  bool is_running;
} llvm_preload_t;

/* Starts the thread if the program has ops for generated code and jit/x64 does not support the
 * host. If the thread cannot be created, nothing happens. Failures of loading are ignored: whoever
 * needs LLVM later gets them again. */
void llvm_preload_begin(const hlo_module_t *module, llvm_preload_t *out_preload);
/* Waits for the thread to end. Accepts a zeroed preload. */
void llvm_preload_end(llvm_preload_t *preload);

#endif
