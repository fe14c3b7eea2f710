/* Integers computed from indices (expr_numbers.c). */
#ifndef JIT_EXPR_NUMBERS_H
#define JIT_EXPR_NUMBERS_H

#include "jit/expr/expr_graph.h"

/* The sum, difference or comparison of two nodes, one an index and the other an index or a
 * constant, as an index or a condition on an index; the product of an index and a constant; or an
 * index converted to another type. NULL: the nodes are of other kinds, or the result may
 * overflow. */
jit_node_t *jit_node_number(jit_graph_t *graph, hlo_opcode_t op, hr_dtype_t dtype, int64_t detail,
                            jit_node_t *const *args);

#endif
