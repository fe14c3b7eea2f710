/* LLVM's view of a target. */
#ifndef JIT_LLVM_TARGET_H
#define JIT_LLVM_TARGET_H

#include "jit/llvm/llvm_api.h"
#include "jit/target.h"

/* A target machine for code that object_loader.h can link (position independent, small model).
 * quick:  code generation takes two thirds of the time, and the code is as good where little is
 * computed from loaded values (jit_kernel_is_simple). For single modules only: the shared library's
 * quick code would be far worse.
 * Owner:  the caller disposes of it: llvm_api.DisposeTargetMachine.
 * Thread: a machine belongs to one thread at a time.
 * Errors: as llvm_load; UNSUPPORTED if LLVM has no code generator for it. */
hr_status_t llvm_target_machine_create(const jit_target_t *target, bool quick,
                                       LLVMTargetMachineRef *out_machine);

#endif
