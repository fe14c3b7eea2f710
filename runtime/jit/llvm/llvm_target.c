/* Target machines of LLVM for the host: triple, processor, features, and the optimisation level of
 * the back end, which is lower for memory-bound code (quick). */
#include "jit/llvm/llvm_target.h"

#include <stdio.h>

#include "jit/llvm/llvm_compile.h"

/* Features that LLVM must not use although the processor has them. */
static const char *withheld(const jit_target_t *target) {
#if defined(__x86_64__)
  if (target->vector_bytes == 32) return ",-avx512f,-avx10.1-256,-avx10.1-512";
  if (target->vector_bytes < 32) return ",-avx,-fma,-f16c";
#endif
  (void)target;
  return "";
}

static hr_status_t make_machine(const jit_target_t *target, const char *triple, bool quick,
                                LLVMTargetMachineRef *out_machine) {
  LLVMTargetRef kind;
  char *message = NULL, features[4096];
  if (llvm_api.GetTargetFromTriple(triple, &kind, &message)) {
    hr_status_t st =
        hr_error(HR_UNSUPPORTED, "LLVM has no code generator for %s: %s", triple, message);
    llvm_api.DisposeMessage(message);
    return st;
  }
  char *cpu = llvm_api.GetHostCPUName(), *own = llvm_api.GetHostCPUFeatures();
  snprintf(features, sizeof features, "%s%s", own, withheld(target));
  LLVMCodeGenOptLevel level =
      quick && llvm_is_module() ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
  *out_machine = llvm_api.CreateTargetMachine(kind, triple, cpu, features, level, LLVMRelocPIC,
                                              LLVMCodeModelSmall);
  llvm_api.DisposeMessage(cpu);
  llvm_api.DisposeMessage(own);
  if (!*out_machine) return hr_error(HR_UNSUPPORTED, "LLVM cannot generate code for %s", triple);
  return NULL;
}

hr_status_t llvm_target_machine_create(const jit_target_t *target, bool quick,
                                       LLVMTargetMachineRef *out_machine) {
  HR_TRY(llvm_load());
  char *triple = llvm_api.GetDefaultTargetTriple();
  hr_status_t st = make_machine(target, triple, quick, out_machine);
  llvm_api.DisposeMessage(triple);
  return st;
}
