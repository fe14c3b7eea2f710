/* Nonblocking collectives among the members of a group, like MPI_Iallreduce. A call starts a
 * transfer, which advances while any request is tested or waited for, or by the progress thread.
 * Inputs and outputs belong to the transfer until its request is done. Every member of a group
 * makes the same calls with the same sizes in the same order.
 * Order:   reductions combine in listed order, ((x0 + x1) + x2) + ..., whatever the size of the
 *          message; over several machines, reorderable reductions combine machine by machine. Equal
 *          inputs give equal bits on all ranks, in every run.
 * Errors:  UNAVAILABLE a peer is gone; DISAGREE sizes differ; CANCELLED another rank failed;
 *          NO_MEMORY; errors of the reducer and of endpoint->interrupted. Outputs are then
 *          unspecified.
 * Memory:  requests and their scratch space are reused: a warmed-up transfer allocates nothing.
 * Thread:  that of the endpoint. */
#ifndef TP_COLLECTIVE_H
#define TP_COLLECTIVE_H

#include "base/comm_types.h"
#include "transport/core/group.h"

/* Memory shared with the processes of this machine: transfers among them access it in place, while
 * other memory is copied through staging buffers. NULL: none is left, or the endpoint shares none;
 * use any memory instead. *out_owner is for tp_free.
 * Thread:   any.
 * Lifetime: may outlive tp_close. */
void *tp_alloc(tp_groups_t *groups, size_t size_bytes, void **out_owner);
void tp_free(void *owner, void *memory);
bool tp_is_shared(const tp_groups_t *groups, const void *memory); /* true for memory of tp_alloc */

/* An array that all members of a group access at one place in memory. Opening it is a blocking
 * collective; *out_array stays NULL, on all of them, if they share no memory, if none is left, or
 * if their keys differ. All members must have ended their use of the array when its member 0 does
 * the first transfer of the group after closing it. */
typedef struct tp_shared_array tp_shared_array_t;
hr_status_t tp_shared_array_open(tp_group_t *group, size_t size_bytes, uint64_t key,
                                 tp_shared_array_t **out_array);
void *tp_shared_array_data(const tp_shared_array_t *array);
void tp_shared_array_close(tp_shared_array_t *array); /* accepts NULL */
bool tp_shares_world(const tp_groups_t *groups);      /* true if all ranks share memory */

/* out + k * size_bytes = `in` of member k. `in` may be this member's part of `out`. */
hr_status_t tp_all_gather(tp_group_t *group, const void *in, size_t size_bytes, void *out,
                          tp_request_t **out_request);
/* out = reduction over the members' `in`; count in elements. `in` may be `out`. */
hr_status_t tp_all_reduce(tp_group_t *group, const void *in, void *out, int64_t count,
                          const hr_reducer_t *reducer, tp_request_t **out_request);
/* Member k gets chunk k (count elements) of the reduction of the members' `in` (size * count
 * elements). */
hr_status_t tp_reduce_scatter(tp_group_t *group, const void *in, int64_t count,
                              const hr_reducer_t *reducer, void *out, tp_request_t **out_request);
/* sends[k] goes to member k, recvs[k] comes from it; sizes agree pairwise and may be 0. The lists
 * are read before the return. `equal_bytes`: the size of every block of every member; 0: they may
 * differ. */
hr_status_t tp_all_to_all(tp_group_t *group, const hr_block_t *sends, const hr_block_t *recvs,
                          size_t equal_bytes, tp_request_t **out_request);
/* `data` = member `root`'s data, on all members. */
hr_status_t tp_broadcast(tp_group_t *group, int root, void *data, size_t size_bytes,
                         tp_request_t **out_request);
/* Done when every member has started its barrier. */
hr_status_t tp_barrier(tp_group_t *group, tp_request_t **out_request);
/* Sends to rank `to` and receives from rank `from` of the world (-1: none). Point-to-point: only
 * the ranks involved call it. Transfers between two ranks match in the order of the calls, per
 * stream. */
hr_status_t tp_permute(tp_groups_t *groups, int64_t stream, int to, const hr_block_t *send,
                       int from, const hr_block_t *recv, tp_request_t **out_request);

/* Advances a transfer without blocking. Frees the request when it is done or has failed. */
hr_status_t tp_request_test(tp_request_t *request, bool *out_done);
/* Waits until the request is done or the endpoint is interrupted; frees it. Accepts NULL. */
hr_status_t tp_request_wait(tp_request_t *request);
/* Advances every transfer of the endpoint by a single poll of each, without spinning, for callers
 * that compute. Every wait advances them, too: a transfer that one rank waits for may need the part
 * of a rank that waits for another transfer. No effect if a progress thread runs. */
void tp_requests_poll(tp_groups_t *groups);
/* Time at which a transfer ended that was not waited for yet, by hr_clock_ns; 0: it has not ended,
 * or groups->notes_times is not set. */
uint64_t tp_request_over_ns(const tp_request_t *request);
/* Cancels a transfer and frees its request. The group cannot be used afterwards. Accepts NULL. */
void tp_request_cancel(tp_request_t *request);

#endif
