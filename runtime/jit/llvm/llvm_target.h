/* LLVM's view of a target. */
#ifndef JIT_LLVM_TARGET_H
#define JIT_LLVM_TARGET_H

#include "jit/llvm/llvm_api.h"
#include "jit/target.h"

/* Creates a target machine for code that object_loader.h can link (position independent, small
 * model).
 * quick:  takes two thirds of the time; its code is equally good for kernels with few ops per load
 *         (jit_kernel_is_simple). Only for the module jit_llvm: quick code of the shared library
 *         would be far worse.
 * Owner:  the caller disposes of it by llvm_api.DisposeTargetMachine.
 * Thread: a machine belongs to one thread at a time.
 * Errors: as llvm_load; UNSUPPORTED if LLVM has no code generator for the target. */
hr_status_t llvm_target_machine_create(const jit_target_t *target, bool quick,
                                       LLVMTargetMachineRef *out_machine);

#endif
