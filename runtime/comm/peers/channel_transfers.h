/* Channels between processes: send, recv and transfer_done of op_env_t over the transport, for one
 * program in one process. A start posts its transfer and returns; data is not buffered: a send
 * completes once its recv has started (rendezvous). Thread: that of the execution. */
#ifndef EXEC_CHANNEL_TRANSFERS_H
#define EXEC_CHANNEL_TRANSFERS_H

#include "comm/peers/process_comm.h"
#include "plan/plan.h"

typedef struct exec_channels exec_channels_t;

typedef struct exec_channels_options {
  const plan_t *plan;
  exec_comm_t *comm;
  bool mpmd; /* ranks may run different programs: they exchange their ends */
} exec_channels_options_t;

/* Finds the other ends of all channels. Comm and plan must outlive the channels. Errors: DISAGREE
 * as exec_channel_routes_find, on all ranks alike; INVALID for pairs that do not fit the grid;
 * UNSUPPORTED for data of dynamic sizes. */
hr_status_t exec_channels_create(const exec_channels_options_t *options,
                                 exec_channels_t **out_channels);
void exec_channels_destroy(
    exec_channels_t *channels); /* accepts NULL; no transfer may be in flight */
/* The peer of a send or recv, and the index of its route; false if this rank has no peer. */
bool exec_channels_peer(exec_channels_t *channels, const hlo_instr_t *instr, int *out_peer,
                        uint32_t *out_number);
void exec_channels_attach(op_env_t *env, exec_channels_t *channels);
/* To be called after each execution, with its status: waits for transfers without a done, or
 * cancels them after a failure. Returns `st` joined with new failures. */
hr_status_t exec_channels_end(exec_channels_t *channels, hr_status_t st);

#endif
