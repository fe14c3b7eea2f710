/* Generated code for fusions, and for single instructions that op_can_codegen: asked for while a
 * plan is made, written, compiled and loaded together by jit_finish.
 *
 *   jit_t *jit;
 *   jit_create(&options, &jit);
 *   jit_native.prepare(...)   any number of times: the target's emitter is jit
 *   jit_finish(jit);
 *   jit_native.run(...)
 *
 * Kernels that are equal but for names and for where their arrays are share one function.
 * Thread: one at a time, but for jit_native.run. */
#ifndef JIT_JIT_H
#define JIT_JIT_H

#include "base/workers.h"
#include "jit/cache/object_cache.h"
#include "ops/kernels/native.h"

struct flat_plan;

typedef struct jit jit_t;

typedef struct jit_options {
  hr_workers_t *workers; /* compile side by side; NULL: the caller alone */
  jit_cache_t *cache;    /* NULL: none; must outlive jit_finish */
  const char *dump_to;   /* folder for the modules' IR; NULL: not written */
} jit_options_t;

hr_status_t jit_create(const jit_options_t *options, jit_t **out_jit);
/* Unloads the code: no plan of it may run any more. Accepts NULL. */
void jit_destroy(jit_t *jit);

/* The kernel for instructions; op_native_target_t.emitter is the jit_t. Declines what has no code.
 * Plans run only after jit_finish, and while the jit lives. */
extern const op_native_t jit_native;
/* A number that plans of jit_native of the same kernels share. */
uint64_t jit_plan_hash(const void *plan);
/* The kernel of loops that jit_find_regions found. */
extern const op_native_t jit_region_native;
static inline bool jit_is_generated(const op_native_t *native) {
  return native == &jit_native || native == &jit_region_native;
}
/* Loops of the plan whose bodies have small kernels become one function each, step by step; before
 * jit_finish. The plan must live as long as the code. Errors: NO_MEMORY. */
hr_status_t jit_find_regions(jit_t *jit, struct flat_plan *flat);

/* Makes the code of all kernels that were asked for since the last call. LLVM is opened only if the
 * cache lacks some. Errors: NO_MEMORY; INTERNAL; UNAVAILABLE if there is no LLVM. */
hr_status_t jit_finish(jit_t *jit);

typedef struct jit_counts {
  int requests, kernels, modules, modules_cached;
  size_t code_bytes;
  double compile_ms;
} jit_counts_t;
jit_counts_t jit_counts(const jit_t *jit);

#endif
