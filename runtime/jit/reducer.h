/* What reductions apply, on values in registers. */
#ifndef JIT_REDUCER_H
#define JIT_REDUCER_H

#include "jit/code.h"
#include "jit/formula.h"

#define JIT_MAX_RESULTS 8 /* of one reduction */

typedef struct jit_reducer {
  const hlo_computation_t *computation;
  int count;           /* of operands and results */
  hr_dtype_t dtypes[JIT_MAX_RESULTS];
  bool is_plain;       /* one op of its two parameters, with an identity: `op` */
  hlo_opcode_t op;
} jit_reducer_t;

/* Does a computation apply one op with an identity to its two parameters, and nothing else? */
bool jit_reducer_is_plain(const hlo_computation_t *computation);
/* False: there is no code for it. */
bool jit_reducer_init(const jit_target_t *target, const hlo_instr_t *reduce, jit_reducer_t *out_reducer);
/* What accumulators begin with: the op's identity, else the initial values, which may be put in any number of times.
 * `inits` and results are scalars. */
void jit_reducer_start(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **inits,
                       kir_value_t **out_starts);
/* acc = reducer(acc, x), scalars or vectors. Sums of f16 and bf16 are not rounded before the end. */
void jit_reducer_apply(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs,
                       kir_value_t **x);
/* Accumulators over lanes to scalars. */
void jit_reducer_fold(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs);
/* Scalars or vectors: the initial values come in where accumulators began with an identity, then rounding. */
void jit_reducer_finish(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **inits,
                        kir_value_t **accs);

#endif
