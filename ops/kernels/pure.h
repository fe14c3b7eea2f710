/* Single instructions computed outside of a program's run, by their reference kernels: constant
 * folding in the passes, and known values in the proof of a schedule. Thread: any; a prepared step
 * is immutable. */
#ifndef HLO_OPS_PURE_H
#define HLO_OPS_PURE_H

#include "ops/query/op_step.h"

/* True if the kernel needs nothing but its operands: no peers, feeds, random numbers, called
 * control flow or library of custom calls. */
bool op_is_pure(const hlo_instr_t *instr);
/* The step of a pure instruction whose operands have the shapes declared in the program. Its plan
 * lives in `arena`. Errors: those of the kernel's `prepare`. */
hr_status_t op_pure_prepare(hr_arena_t *arena, const hlo_instr_t *instr, op_step_t *out_step);
/* Computes a prepared step; *out_value is a new reference, `in` is borrowed. `scratch` is used
 * until the return. Errors: those of the kernel; UNSUPPORTED if it calls a computation. */
hr_status_t op_pure_run(const op_step_t *step, hr_arena_t *scratch, hlo_value_t *const *in,
                        hlo_value_t **out_value);

#endif
