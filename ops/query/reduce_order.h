/* The orders in which a reduction may combine its elements: StableHLO allows any full binary tree
 * whose in-order traversal has them in ascending index order; reducers that are not commutative
 * need that order. */
#ifndef HLO_OPS_REDUCE_ORDER_H
#define HLO_OPS_REDUCE_ORDER_H

#include "ir/module.h"

typedef enum op_reduce_order {
  OP_REDUCE_ANY,       /* each result is one commutative, associative op with an identity */
  OP_REDUCE_SELECTION, /* (value, index) pairs, of which one is chosen: any order, and elements may
                          repeat */
  OP_REDUCE_BY_INDEX,  /* (value, index) pairs: any order, if the pair with the smaller index is the
                          left operand */
  OP_REDUCE_ASCENDING, /* any tree of elements in ascending order */
  OP_REDUCE_LEFT /* from left to right, from the initial value on: other trees may lose elements, by
                    comparisons with NaN */
} op_reduce_order_t;

/* True if result k of the reducer is one op with an identity, of its parameters k and count + k
 * only. */
bool op_reducer_component_op(const hlo_computation_t *reducer, int k, int count,
                              hlo_opcode_t *out_op);
/* The order of a reduce instruction. */
op_reduce_order_t op_reduce_order(const hlo_instr_t *reduce);
/* True if elements, NaN included, may be combined by any tree in ascending order. `count`: results
 * of the reducer. */
bool op_reducer_is_tree(const hlo_computation_t *reducer, int count);

#endif
