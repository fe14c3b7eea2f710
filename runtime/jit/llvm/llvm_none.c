/* Replaces the other files of this folder where LLVM's headers are not installed. */
#include "jit/llvm/llvm_compile.h"

const bool llvm_is_built = false;

hr_status_t llvm_load(void) {
  return hr_error(
      HR_UNAVAILABLE,
      "there are kernels that jit/x64 has no code for, and hlorun was built without LLVM: "
      "install llvm-19-dev, configure and build again");
}

hr_status_t llvm_compile(const llvm_compile_options_t *options, llvm_worker_t *worker,
                         kir_module_t *module, hr_buffer_t **out_object) {
  (void)options, (void)worker, (void)module;
  *out_object = NULL;
  return llvm_load();
}

void llvm_worker_end(llvm_worker_t *worker) { (void)worker; }
