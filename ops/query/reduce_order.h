/* In which orders a reduction may combine its elements: StableHLO allows any full binary tree whose
 * in-order traversal has them in ascending index order, and code that is not commutative is held to
 * that. */
#ifndef HLO_OPS_REDUCE_ORDER_H
#define HLO_OPS_REDUCE_ORDER_H

#include "ir/module.h"

typedef enum op_reduce_order {
  OP_REDUCE_ANY,       /* each result is one commutative, associative op with an identity */
  OP_REDUCE_SELECTION, /* (value, index) pairs, one of which is chosen whatever the order: any, as
                          often as wanted */
  OP_REDUCE_BY_INDEX,  /* (value, index) pairs: any, if the pair with the smaller index is the left
                          operand */
  OP_REDUCE_ASCENDING, /* any tree of elements in ascending order */
  OP_REDUCE_LEFT       /* from left to right, from the initial value on: comparisons with NaN make
                          other trees lose elements */
} op_reduce_order_t;

/* Is result k of the reducer one op with an identity of its parameters k and count + k, and nothing
 * else? */
bool op_reducer_component_op(const hlo_computation_t *reducer, int k, int count,
                              hlo_opcode_t *out_op);
/* The order of a reduce instruction. */
op_reduce_order_t op_reduce_order(const hlo_instr_t *reduce);
/* May elements, NaN among them, be combined by any tree that has them in ascending order? `count`:
 * results of the reducer. */
bool op_reducer_is_tree(const hlo_computation_t *reducer, int count);

#endif
