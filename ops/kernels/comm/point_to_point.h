/* Sends and receives as start and done, for engines that store the handle between them
 * themselves. */
#ifndef HLO_OPS_POINT_TO_POINT_H
#define HLO_OPS_POINT_TO_POINT_H

#include "ops/kernels/kernel.h"

/* The transfer's handle in the result of a send or recv. */
uint32_t op_channel_handle(const hlo_value_t *state);
/* Runs the send-done or recv-done `instr`: waits for the transfer. */
hr_status_t op_channel_done(op_env_t *env, const hlo_instr_t *instr, uint32_t handle);

#endif
