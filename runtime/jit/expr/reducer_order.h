/* In which orders a reduction may combine its elements: StableHLO allows any full binary tree whose
 * in-order traversal has them in ascending index order, and code that is not commutative is held to
 * that. */
#ifndef JIT_REDUCER_ORDER_H
#define JIT_REDUCER_ORDER_H

#include "ir/module.h"

typedef enum jit_order {
  JIT_ORDER_ANY,       /* each result is one commutative, associative op with an identity */
  JIT_ORDER_SELECTION, /* (value, index) pairs, one of which is chosen whatever the order: any, as
                          often as wanted */
  JIT_ORDER_BY_INDEX,  /* (value, index) pairs: any, if the pair with the smaller index is the left
                          operand */
  JIT_ORDER_ASCENDING  /* nothing is known */
} jit_order_t;

/* Is result k of the reducer one op with an identity of its parameters k and count + k, and nothing
 * else? */
bool jit_reducer_component_op(const hlo_computation_t *reducer, int k, int count,
                              hlo_opcode_t *out_op);
/* The order of a reduce instruction. */
jit_order_t jit_reducer_order(const hlo_instr_t *reduce);

#endif
