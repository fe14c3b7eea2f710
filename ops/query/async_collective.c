/* Parameters, tuples and their elements only pass values. With a second instruction of any other
 * kind, even a collective, the computation runs as a whole. */
#include "ops/query/async_collective.h"

const hlo_instr_t *op_wrapped_collective(const hlo_instr_t *async_start) {
  if (async_start->op != HLO_ASYNC_START || !async_start->called_count) return NULL;
  const hlo_computation_t *body = async_start->called[0];
  const hlo_instr_t *found = NULL;
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *inner = body->instrs.data[i];
    if (inner->op == HLO_PARAMETER || inner->op == HLO_TUPLE || inner->op == HLO_GET_TUPLE_ELEMENT)
      continue;
    if (found || !hlo_op_is(inner->op, OP_COLLECTIVE) || hlo_op_is(inner->op, OP_START))
      return NULL;
    found = inner;
  }
  return found;
}
