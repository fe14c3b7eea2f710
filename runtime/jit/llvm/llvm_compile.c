/* Compilation of one module by LLVM: lowering, verification, code generation to an object in
 * memory.
 *
 * No middle-end passes run: the emitters hoist, reuse and vectorise during emission, so only LLVM's
 * back end is needed, which keeps compile time proportional to the code. A context and a target
 * machine belong to a worker and are reused. LLVM's diagnostics become statuses instead of ending
 * the process. */
#include "jit/llvm/llvm_compile.h"

#include "jit/llvm/kir_to_llvm.h"
#include "jit/llvm/llvm_target.h"

const bool llvm_is_built = true;

static void free_object(void *context, void *data, size_t size_bytes) {
  (void)data, (void)size_bytes;
  llvm_api.DisposeMemoryBuffer(context);
}

/* Keeps an error as a status; by default LLVM ends the process. */
static void keep_diagnostic(LLVMDiagnosticInfoRef info, void *context) {
  hr_status_t *status = context;
  if (llvm_api.GetDiagInfoSeverity(info) != LLVMDSError || *status) return;
  char *text = llvm_api.GetDiagInfoDescription(info);
  *status = hr_error(HR_INTERNAL, "LLVM: %s", text);
  llvm_api.DisposeMessage(text);
}

static void dump(const llvm_compile_options_t *options, LLVMModuleRef module) {
  if (!options->dump) return;
  char *text = llvm_api.PrintModuleToString(module);
  options->dump(options->dump_context, text);
  llvm_api.DisposeMessage(text);
}

static hr_status_t verify(LLVMModuleRef module) {
  char *message = NULL;
  hr_status_t st = NULL;
  if (llvm_api.VerifyModule(module, LLVMReturnStatusAction, &message))
    st = hr_error(HR_INTERNAL, "generated code is not well-formed: %s", message);
  llvm_api.DisposeMessage(message);
  return st;
}

static void set_layout(LLVMModuleRef module, LLVMTargetMachineRef machine) {
  LLVMTargetDataRef layout = llvm_api.CreateTargetDataLayout(machine);
  llvm_api.SetModuleDataLayout(module, layout);
  llvm_api.DisposeTargetData(layout);
}

static hr_status_t emit_object(LLVMModuleRef module, LLVMTargetMachineRef machine,
                               hr_buffer_t **out_object) {
  LLVMMemoryBufferRef bytes = NULL;
  char *message = NULL;
  if (llvm_api.TargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &bytes)) {
    hr_status_t st = hr_error(HR_INTERNAL, "LLVM cannot compile a module: %s", message);
    llvm_api.DisposeMessage(message);
    return st;
  }
  void *start = (void *)llvm_api.GetBufferStart(bytes);
  size_t size = llvm_api.GetBufferSize(bytes);
  hr_status_t st = hr_buffer_wrap(start, size, false, free_object, bytes, out_object);
  if (st) llvm_api.DisposeMemoryBuffer(bytes);
  return st;
}

static hr_status_t compile_in(const llvm_compile_options_t *options, kir_module_t *from,
                              LLVMContextRef context, LLVMModuleRef module,
                              LLVMTargetMachineRef machine, hr_buffer_t **out_object) {
  set_layout(module, machine);
  HR_TRY(kir_to_llvm(from, context, module));
  dump(options, module);
  HR_TRY(verify(module));
  return emit_object(module, machine, out_object);
}

hr_status_t llvm_compile(const llvm_compile_options_t *options, llvm_worker_t *worker,
                         kir_module_t *module, hr_buffer_t **out_object) {
  LLVMTargetMachineRef *machine = &worker->machines[options->quick];
  hr_status_t diagnostic = NULL;
  if (!*machine) HR_TRY(llvm_target_machine_create(options->target, options->quick, machine));
  LLVMContextRef context = llvm_api.ContextCreate();
  LLVMModuleRef to = llvm_api.ModuleCreateWithNameInContext(module->name, context);
  llvm_api.ContextSetDiagnosticHandler(context, keep_diagnostic, &diagnostic);
  hr_status_t st = compile_in(options, module, context, to, *machine, out_object);
  llvm_api.DisposeModule(to);
  llvm_api.ContextDispose(context);
  return hr_status_join(st, diagnostic);
}

void llvm_worker_end(llvm_worker_t *worker) {
  for (int i = 0; i < 2; i++)
    if (worker->machines[i]) llvm_api.DisposeTargetMachine(worker->machines[i]);
}
