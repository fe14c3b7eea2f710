/* Compilation of modules to objects, in parallel on the workers.
 *
 * Each module is built and compiled by one worker in contexts of its own, so that nothing is
 * shared but the queue of indices. The x86-64 back end goes first; a module that it has no code
 * for is built again for LLVM, with a target that keeps LLVM's operations. Text of LLVM's IR is
 * asked for only by --dump, which therefore compiles everything by LLVM. A failure does not stop
 * the others; the one of the lowest index is reported, so that messages do not depend on timing. */
#include "jit/compile_pool.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "jit/kir/kir_print.h"
#include "jit/llvm/llvm_compile.h"
#include "jit/x64/x64.h"

typedef struct compile_job {
  const jit_compile_options_t *options;
  jit_build_fn build;
  void *context;
  hr_buffer_t **objects;
  hr_status_t *statuses;  /* one per module */
  llvm_worker_t *workers; /* one per worker */
  pthread_mutex_t dump_lock;
} compile_job_t;

/* A module whose text is given to the caller. */
typedef struct dump {
  compile_job_t *job;
  int index;
} dump_t;

static void dump_text(const dump_t *dump, const char *ending, const char *text) {
  const jit_compile_options_t *options = dump->job->options;
  pthread_mutex_lock(&dump->job->dump_lock);
  options->dump(options->dump_context, dump->index, ending, text);
  pthread_mutex_unlock(&dump->job->dump_lock);
}

static void dump_llvm(void *context, const char *text) { dump_text(context, "ll", text); }

static hr_status_t dump_kir(const dump_t *dump, const kir_module_t *module) {
  hr_strbuf_t text;
  if (!dump->job->options->dump) return NULL;
  hr_strbuf_init(&text);
  kir_print(&text, module);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) dump_text(dump, "kir", text.data);
  hr_strbuf_deinit(&text);
  return st;
}

/* The same emitters build for both back ends; `lowering` says which ops a back end has. */
static hr_status_t build_module(compile_job_t *job, int index, const kir_target_t *lowering,
                                jit_code_t *code) {
  const dump_t dump = {job, index};
  HR_TRY(jit_code_init(code, job->options->target, lowering, "kernels"));
  HR_TRY(job->build(job->context, index, code));
  return dump_kir(&dump, code->module);
}

/* *out_object is NULL if the back end lacks something. */
static hr_status_t compile_by_x64(compile_job_t *job, int index, hr_buffer_t **out_object) {
  jit_code_t code = {0};
  const kir_target_t *target = x64_kir_target(job->options->target);
  hr_status_t st = build_module(job, index, target, &code);
  if (!st) st = x64_compile(code.module, out_object);
  jit_code_deinit(&code);
  return st;
}

/* LLVM is loaded when the first module needs it. */
static hr_status_t compile_by_llvm(compile_job_t *job, int index, int worker) {
  const jit_compile_options_t *options = job->options;
  jit_code_t code = {0};
  dump_t dump = {job, index};
  llvm_compile_options_t how = {.target = options->target, .dump_context = &dump};
  how.quick = options->is_quick && options->is_quick(job->context, index);
  how.dump = options->dump ? dump_llvm : NULL;
  HR_TRY(llvm_load());
  hr_status_t st = build_module(job, index, &kir_generic_target, &code);
  if (!st) st = llvm_compile(&how, &job->workers[worker], code.module, &job->objects[index]);
  jit_code_deinit(&code);
  return st;
}

/* Only LLVM's modules are dumped: x64 may compile if no dump is wanted or LLVM is missing. */
static bool may_use_x64(const jit_compile_options_t *options) {
  bool wants_llvm = options->dump && llvm_is_built;
  return !wants_llvm && x64_is_supported(options->target) && !jit_target_wants_llvm();
}

/* A NULL object without a failure means that the x86-64 back end declined. */
static void compile_some(void *context, int64_t begin, int64_t end, int worker) {
  compile_job_t *job = context;
  for (int64_t i = begin; i < end; i++) {
    hr_status_t st = NULL;
    if (may_use_x64(job->options)) st = compile_by_x64(job, (int)i, &job->objects[i]);
    if (!st && !job->objects[i]) st = compile_by_llvm(job, (int)i, worker);
    job->statuses[i] = st;
  }
}

/* The failure of the lowest index; the others are dropped. */
static hr_status_t first_failure(hr_status_t *statuses, int count) {
  hr_status_t first = NULL;
  for (int i = 0; i < count; i++) {
    if (first)
      hr_status_release(statuses[i]);
    else
      first = statuses[i];
  }
  return first;
}

static void release_objects(hr_buffer_t **objects, int count) {
  for (int i = 0; i < count; i++) {
    hr_buffer_release(objects[i]);
    objects[i] = NULL;
  }
}

/* One allocation holds the workers' LLVM contexts and the statuses. */
static hr_status_t run_job(compile_job_t *job, int count, int workers) {
  size_t worker_bytes = (size_t)workers * sizeof *job->workers;
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)count * sizeof(hr_status_t) + worker_bytes, &memory));
  job->workers = memory;
  job->statuses = (hr_status_t *)((char *)memory + worker_bytes);
  hr_workers_for(job->options->workers, count, 1, compile_some, job);
  hr_status_t st = first_failure(job->statuses, count);
  for (int i = 0; i < workers; i++) llvm_worker_end(&job->workers[i]);
  hr_free(memory);
  return st;
}

/* On failure no object is left. */
hr_status_t jit_compile_modules(const jit_compile_options_t *options, int count, jit_build_fn build,
                                void *context, hr_buffer_t **out_objects) {
  compile_job_t job = {.options = options,
                       .build = build,
                       .context = context,
                       .objects = out_objects,
                       .dump_lock = PTHREAD_MUTEX_INITIALIZER};
  if (count > 0) memset(out_objects, 0, (size_t)count * sizeof *out_objects);
  hr_status_t st = run_job(&job, count, hr_workers_count(options->workers));
  if (st) release_objects(out_objects, count);
  return st;
}
