/* Opens LLVM on a separate thread while the program is read and planned, which hides the
 * milliseconds of loading. Only where LLVM will most probably be needed: jit/x64 does not support
 * the host, and the entry computation has ops for generated code. */
#include "jit/llvm/llvm_preload.h"

#include "jit/llvm/llvm_compile.h"
#include "jit/x64/x64.h"
#include "ops/query/codegen_support.h"

static bool has_code(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    hlo_opcode_t op = computation->instrs.data[i]->op;
    if (op == HLO_FUSION || op_codegens[op] == CODEGEN_ELEMENTWISE ||
        op_codegens[op] == CODEGEN_REDUCE)
      return true;
  }
  return false;
}

static void *load(void *unused) {
  (void)unused;
  hr_status_release(llvm_load());
  return NULL;
}

void llvm_preload_begin(const hlo_module_t *module, llvm_preload_t *out_preload) {
  bool is_likely = llvm_is_built && !x64_is_supported(jit_target_host()) && has_code(module->entry);
  out_preload->is_running = is_likely && !pthread_create(&out_preload->thread, NULL, load, NULL);
}

void llvm_preload_end(llvm_preload_t *preload) {
  if (preload->is_running) pthread_join(preload->thread, NULL);
  preload->is_running = false;
}
