/* Messages between two ranks on numbered channels, with tags distinct from those of groups.
 * Order:   messages of one channel from one rank to another match in the order in which they were
 * sent.
 * Buffering: none. Sends are synchronous, so that a program that can deadlock does so whatever the
 * sizes of its messages.
 * Errors, thread: as in collective.h. */
#ifndef TP_CHANNEL_H
#define TP_CHANNEL_H

#include "transport/core/collective.h"

#define TP_CHANNEL_COUNT (UINT32_C(1) << (TP_TAG_BITS - 2)) /* channels of a pair of ranks */

/* A message is a list of `count` blocks of the same sizes at both ends; an empty list is a message,
 * too. The list is read before the return; the blocks belong to the transfer until it is done. */
hr_status_t tp_channel_send(tp_groups_t *groups, int to, uint32_t channel, const hr_block_t *blocks,
                            int count, tp_request_t **out_request);
hr_status_t tp_channel_recv(tp_groups_t *groups, int from, uint32_t channel,
                            const hr_block_t *blocks, int count, tp_request_t **out_request);

#endif
