/* LLVM opened on a thread of its own, while the caller reads and plans: for a program whose code has most probably to be
 * made. What opening it takes is then hidden but for a part. */
#ifndef JIT_EARLY_H
#define JIT_EARLY_H

#include <pthread.h>
#include <stdbool.h>

#include "ir/module.h"

typedef struct jit_early {
  pthread_t thread;
  bool is_running;
} jit_early_t;

/* Begins it, if the program has instructions for generated code, and own code (own.h) does not take most of them. Where no thread can be made nothing happens, and what
 * fails is found again by those who need LLVM. */
void jit_early_begin(const hlo_module_t *module, jit_early_t *out_early);
/* Waits for its end: no thread stays behind. Accepts a zeroed one. */
void jit_early_end(jit_early_t *early);

#endif
