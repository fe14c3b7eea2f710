/* Sends and receives in two halves, for engines that store the handle between them themselves. */
#ifndef HLO_OPS_POINT_TO_POINT_H
#define HLO_OPS_POINT_TO_POINT_H

#include "ops/kernels/kernel.h"

/* What the result of a send or recv says about its transfer. */
uint32_t op_channel_handle(const hlo_value_t *state);
/* What the send-done or recv-done `instr` does: waits for the transfer. */
hr_status_t op_channel_done(op_env_t *env, const hlo_instr_t *instr, uint32_t handle);

#endif
