/* Generated code for fusions, and for single instructions that op_can_codegen: requested while a
 * plan is made, then emitted, compiled and loaded together by jit_finish.
 *
 *   jit_t *jit;
 *   jit_create(&options, &jit);
 *   jit_native.prepare(...)   any number of times: the target's emitter is jit
 *   jit_finish(jit);
 *   jit_native.run(...)
 *
 * Kernels that differ only in names and in the addresses of their arrays share one function.
 * Thread: one at a time, but for jit_native.run. */
#ifndef JIT_JIT_H
#define JIT_JIT_H

#include "base/workers.h"
#include "jit/cache/object_cache.h"
#include "ops/kernels/native.h"

struct flat_plan;

typedef struct jit jit_t;

typedef struct jit_options {
  hr_workers_t *workers; /* compile in parallel; NULL: the calling thread only */
  jit_cache_t *cache;    /* NULL: none; must outlive jit_finish */
  const char *dump_to;   /* folder for the modules' IR; NULL: not written */
} jit_options_t;

hr_status_t jit_create(const jit_options_t *options, jit_t **out_jit);
/* Unloads the code: no plan may run afterwards. Accepts NULL. */
void jit_destroy(jit_t *jit);

/* Native kernel of generated code; op_native_target_t.emitter is the jit_t. Declines instructions
 * without code. Plans run only between jit_finish and jit_destroy. */
extern const op_native_t jit_native;
/* Hash of the kernels of a plan of jit_native. */
uint64_t jit_plan_hash(const void *plan);
/* Reason why the largest kernel of such a plan stays below the limits of memory and arithmetic;
 * NULL: no reason is known. */
const char *jit_plan_bottleneck(const void *plan);
/* Native kernel of the regions that jit_find_regions found. */
extern const op_native_t jit_region_native;
static inline bool jit_is_generated(const op_native_t *native) {
  return native == &jit_native || native == &jit_region_native;
}
/* Replaces while loops with small kernels by regions, one function each. Must precede jit_finish;
 * the plan must outlive the code. Errors: NO_MEMORY. */
hr_status_t jit_find_regions(jit_t *jit, struct flat_plan *flat);

/* Compiles and loads all kernels requested since the last call. LLVM is opened only for modules
 * that neither the cache nor jit/x64 provides. Errors: NO_MEMORY; INTERNAL; UNAVAILABLE if LLVM is
 * needed and not installed. */
hr_status_t jit_finish(jit_t *jit);

typedef struct jit_counts {
  int requests, kernels, modules, modules_cached;
  size_t code_bytes;
  double compile_ms;
} jit_counts_t;
jit_counts_t jit_counts(const jit_t *jit);

#endif
