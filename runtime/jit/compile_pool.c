#include "jit/compile_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "jit/own.h"

typedef struct compile_job {
  const jit_compile_options_t *options;
  jit_build_fn build;
  void *context;
  hr_buffer_t **objects;
  hr_status_t *statuses;            /* one a module */
  LLVMTargetMachineRef *machines;   /* two a worker, the second the quick one, each made by its first module */
  pthread_mutex_t dump_lock;
} compile_job_t;

static void free_object(void *context, void *data, size_t size_bytes) {
  (void)data, (void)size_bytes;
  llvm()->DisposeMemoryBuffer(context);
}

/* LLVM's own way with an error is to end the process. */
static void keep_diagnostic(LLVMDiagnosticInfoRef info, void *context) {
  hr_status_t *status = context;
  if (llvm()->GetDiagInfoSeverity(info) != LLVMDSError || *status) return;
  char *text = llvm()->GetDiagInfoDescription(info);
  *status = hr_error(HR_INTERNAL, "LLVM: %s", text);
  llvm()->DisposeMessage(text);
}

static hr_status_t emit_object(const jit_code_t *code, LLVMTargetMachineRef machine, hr_buffer_t **out_object) {
  LLVMMemoryBufferRef bytes = NULL;
  char *message = NULL;
  if (llvm()->TargetMachineEmitToMemoryBuffer(machine, code->module, LLVMObjectFile, &message, &bytes)) {
    hr_status_t st = hr_error(HR_INTERNAL, "LLVM cannot compile a module: %s", message);
    llvm()->DisposeMessage(message);
    return st;
  }
  hr_status_t st = hr_buffer_wrap((void *)llvm()->GetBufferStart(bytes), llvm()->GetBufferSize(bytes), false,
                                  free_object, bytes, out_object);
  if (st) llvm()->DisposeMemoryBuffer(bytes);
  return st;
}

static void dump_module(compile_job_t *job, int index, const jit_code_t *code) {
  if (!job->options->dump) return;
  char *text = jit_code_print(code);
  pthread_mutex_lock(&job->dump_lock);
  job->options->dump(job->options->dump_context, index, text);
  pthread_mutex_unlock(&job->dump_lock);
  llvm()->DisposeMessage(text);
}

static void lay_out_for(jit_code_t *code, LLVMTargetMachineRef machine) {
  LLVMTargetDataRef layout = llvm()->CreateTargetDataLayout(machine);
  llvm()->SetModuleDataLayout(code->module, layout);
  llvm()->DisposeTargetData(layout);
}

static hr_status_t compile_one(compile_job_t *job, int index, LLVMTargetMachineRef machine) {
  jit_code_t code;
  hr_status_t st = NULL, diagnostic = NULL;
  jit_code_init(&code, job->options->target, "kernels");
  llvm()->ContextSetDiagnosticHandler(code.context, keep_diagnostic, &diagnostic);
  lay_out_for(&code, machine);
  HR_TRY_GOTO(done, st, job->build(job->context, index, &code));
  dump_module(job, index, &code);
  HR_TRY_GOTO(done, st, jit_code_verify(&code));
  HR_TRY_GOTO(done, st, emit_object(&code, machine, &job->objects[index]));
done:
  jit_code_deinit(&code);
  return hr_status_join(st, diagnostic);
}

/* Without LLVM. *out_object is NULL if that cannot be. */
static hr_status_t compile_own(compile_job_t *job, int index, hr_buffer_t **out_object) {
  jit_code_t code;
  llvm_use(&own_api);
  jit_code_init(&code, job->options->target, "kernels");
  hr_status_t st = job->build(job->context, index, &code);
  if (!st) st = own_compile(code.module, out_object);
  jit_code_deinit(&code);
  llvm_use(NULL);
  return st;
}

static hr_status_t compile_with_llvm(compile_job_t *job, int index, int worker) {
  bool quick = job->options->is_quick && job->options->is_quick(job->context, index);
  LLVMTargetMachineRef *machine = &job->machines[2 * worker + quick];
  HR_TRY(llvm_load());
  if (!*machine) HR_TRY(jit_target_machine_create(job->options->target, quick, machine));
  return compile_one(job, index, *machine);
}

static bool may_be_own(const jit_compile_options_t *options) {
  const char *wanted = getenv("HLORUN_X64");
  return !options->dump && own_is_able(options->target) && !(wanted && *wanted == '0');
}

static void compile_some(void *context, int64_t begin, int64_t end, int worker) {
  compile_job_t *job = context;
  for (int64_t i = begin; i < end; i++) {
    hr_status_t st = NULL;
    if (may_be_own(job->options)) st = compile_own(job, (int)i, &job->objects[i]);
    if (!st && !job->objects[i]) st = compile_with_llvm(job, (int)i, worker);
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

static hr_status_t run_job(compile_job_t *job, int count, int workers) {
  size_t machine_bytes = 2 * (size_t)workers * sizeof *job->machines;
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)count * sizeof(hr_status_t) + machine_bytes, &memory));
  job->machines = memory;
  job->statuses = (hr_status_t *)((char *)memory + machine_bytes);
  hr_workers_for(job->options->workers, count, 1, compile_some, job);
  hr_status_t st = first_failure(job->statuses, count);
  for (int i = 0; i < 2 * workers; i++)
    if (job->machines[i]) llvm()->DisposeTargetMachine(job->machines[i]);
  hr_free(memory);
  return st;
}

hr_status_t jit_compile_modules(const jit_compile_options_t *options, int count, jit_build_fn build, void *context,
                                hr_buffer_t **out_objects) {
  compile_job_t job = {.options = options, .build = build, .context = context, .objects = out_objects,
                       .dump_lock = PTHREAD_MUTEX_INITIALIZER};
  if (count > 0) memset(out_objects, 0, (size_t)count * sizeof *out_objects);
  hr_status_t st = run_job(&job, count, hr_workers_count(options->workers));
  if (st) release_objects(out_objects, count);
  return st;
}
