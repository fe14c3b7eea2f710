/* Asynchronous collectives in generic form: async-start whose computation is one collective. */
#ifndef HLO_OPS_ASYNC_COLLECTIVE_H
#define HLO_OPS_ASYNC_COLLECTIVE_H

#include "ir/module.h"

/* The collective in the computation of an async-start, if the computation otherwise only passes
 * parameters and results; else NULL. Ops that are a -start themselves (all-reduce-start) do not
 * count. */
const hlo_instr_t *op_wrapped_collective(const hlo_instr_t *async_start);

#endif
