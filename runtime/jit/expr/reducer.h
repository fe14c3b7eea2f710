/* Reducers: computations of reductions, applied to values in registers. */
#ifndef JIT_REDUCER_H
#define JIT_REDUCER_H

#include "jit/element/code_builder.h"
#include "jit/expr/expr_graph.h"
#include "ops/query/reduce_order.h"

#define JIT_MAX_RESULTS 8 /* results of one reduction */

typedef struct jit_reducer {
  const hlo_computation_t *computation;
  int count; /* number of operands, and of results */
  hr_dtype_t dtypes[JIT_MAX_RESULTS];
  op_reduce_order_t order;
  bool is_plain; /* OP_REDUCE_ANY: result k is `ops[k]` of its two parameters */
  hlo_opcode_t ops[JIT_MAX_RESULTS];
  bool has_keys;     /* operand, accumulators and initial value are keys (reducer_key.c) */
  hr_dtype_t key_of; /* type of the result then */
} jit_reducer_t;

/* Does a computation apply one op with an identity to its two parameters, and nothing else? */
bool jit_reducer_is_plain(const hlo_computation_t *computation);
/* Do all elements go into one accumulator, in ascending order? */
static inline bool jit_reducer_is_ordered(const jit_reducer_t *reducer) {
  return reducer->order >= OP_REDUCE_ASCENDING;
}
/* False: the reducer has no code. */
bool jit_reducer_init(const jit_target_t *target, const hlo_instr_t *reduce,
                      jit_reducer_t *out_reducer);
/* Makes it a reduction of keys, if it is a maximum or minimum of bf16 or f16. False: it is not. */
bool jit_reducer_use_keys(jit_reducer_t *reducer);
/* The key of an element whose bits are `bits`, of type s16. */
jit_node_t *jit_reducer_key(jit_graph_t *graph, const jit_reducer_t *reducer, jit_node_t *bits);
/* The number, in a register, whose key is `key`. */
kir_value_t *jit_reducer_decode(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t *key);
/* Start values of accumulators: the ops' identities, else the initial values. Where order is by
 * index, an initial value may be combined any number of times; in ascending order it precedes the
 * first element only. `inits` and results are scalars. */
void jit_reducer_start(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **inits,
                       kir_value_t **out_starts);
/* acc = reducer(acc, x), scalars or vectors. Sums of f16 and bf16 are rounded only at the end. */
void jit_reducer_apply(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs,
                       kir_value_t **x);
/* The same for accumulators of disjoint sets of elements; in ascending order, all elements of `x`
 * follow those of `accs`. */
void jit_reducer_join(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs,
                      kir_value_t **x);
/* accs = is_first ? x : reducer(accs, x), for accumulators that start with their first element.
 * `is_first` is a scalar; NULL: never. */
void jit_reducer_take(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t *is_first,
                      kir_value_t **accs, kir_value_t **x);
/* Reduces elements in ascending order, in the lanes of 1 or 4 vectors, to one element in lane 0 of
 * x[0]. `mask`: valid lanes if there is one vector, at least one, without gaps from lane 0; NULL:
 * all are valid. */
void jit_reducer_tree(jit_code_t *code, const jit_reducer_t *reducer, int vectors,
                      kir_value_t *(*x)[JIT_MAX_RESULTS], kir_value_t *mask);
/* Reduces accumulators over lanes to scalars. In ascending order only lane 0 is valid. */
void jit_reducer_fold(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **accs);
/* Combines the initial values with accumulators that started with an identity, then rounds. Scalars
 * or vectors. */
void jit_reducer_finish(jit_code_t *code, const jit_reducer_t *reducer, kir_value_t **inits,
                        kir_value_t **accs);

#endif
