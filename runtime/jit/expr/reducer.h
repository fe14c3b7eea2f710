/* What reductions apply, on values in registers. */
#ifndef JIT_REDUCER_H
#define JIT_REDUCER_H

#include "jit/element/code_builder.h"
#include "jit/expr/expr_graph.h"
#include "ops/query/reduce_order.h"

#define JIT_MAX_RESULTS 8 /* results of one reduction */

typedef struct jit_reducer {
  const hlo_computation_t *computation;
  int count; /* operands, and as many results */
  hr_dtype_t dtypes[JIT_MAX_RESULTS];
  op_reduce_order_t order;
  bool is_plain; /* OP_REDUCE_ANY: result k is `ops[k]` of its two parameters */
  hlo_opcode_t ops[JIT_MAX_RESULTS];
} jit_reducer_t;

/* Does a computation apply one op with an identity to its two parameters, and nothing else? */
bool jit_reducer_is_plain(const hlo_computation_t *computation);
/* Do the elements go into one accumulator, in ascending order? */
static inline bool jit_reducer_is_ordered(const jit_reducer_t *reducer) {
  return reducer->order >= OP_REDUCE_ASCENDING;
}
/* False: there is no code for it. */
bool jit_reducer_init(const jit_target_t *target, const hlo_instr_t *reduce,
                      jit_reducer_t *out_reducer);
/* What accumulators begin with: the ops' identities, else the initial values. These may be put in
 * any number of times where the order is by index; in ascending order they stand before the first
 * element alone. `inits` and results are scalars. */
void jit_reducer_start(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **inits,
                       kir_value_t **out_starts);
/* acc = reducer(acc, x), scalars or vectors. Sums of f16 and bf16 are not rounded before the end.
 */
void jit_reducer_apply(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs,
                       kir_value_t **x);
/* The same for accumulators of disjoint sets of elements: in ascending order those of `x` all stand
 * behind the others. */
void jit_reducer_join(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs,
                      kir_value_t **x);
/* accs = is_first ? x : reducer(accs, x), for accumulators that begin with their first element.
 * `is_first` is a scalar; NULL: never. */
void jit_reducer_take(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t *is_first,
                      kir_value_t **accs, kir_value_t **x);
/* Elements in ascending order, in the lanes of 1 or 4 vectors, to one that is in lane 0 of x[0].
 * `mask`: which lanes of the only vector there are, the first ones and at least one; NULL: all. */
void jit_reducer_tree(jit_code_t *code, const jit_reducer_t *reducer, int vectors,
                      kir_value_t *(*x)[JIT_MAX_RESULTS], kir_value_t *mask);
/* Accumulators over lanes to scalars; where the order is ascending only lane 0 counts. */
void jit_reducer_fold(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs);
/* Scalars or vectors: the initial values come in where accumulators began with an identity, then
 * rounding. */
void jit_reducer_finish(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **inits,
                        kir_value_t **accs);

#endif
