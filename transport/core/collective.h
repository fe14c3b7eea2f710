/* Collectives: transfers among the members of a group. A call starts a transfer, which goes on
 * while its request is tested or waited for. Data stays valid and untouched by others until then.
 * Every member of a group makes the same calls with the same sizes in the same order.
 * Order:   reductions run in listed order, ((x0 + x1) + x2) + ..., whatever the size of the
 * message; over several machines those that may be combined in any order run machine by machine.
 * Equal inputs give equal bits on all ranks, in every run. Errors:  UNAVAILABLE a peer is gone;
 * DISAGREE sizes differ; CANCELLED another rank failed; NO_MEMORY; what the reducer or
 * endpoint->interrupted says. Outputs are then unspecified. Memory:  requests and their scratch
 * space are kept and reused: a warmed-up transfer allocates nothing. Thread:  that of the endpoint.
 */
#ifndef TP_COLLECTIVE_H
#define TP_COLLECTIVE_H

#include "base/comm_types.h"
#include "transport/core/group.h"

/* Memory where transfers with processes of this machine find their data without copying: arrays to
 * be all-reduced are best made in it. NULL: there is none (any memory will do). Any thread; it may
 * be freed after tp_close. */
void *tp_alloc(tp_groups_t *groups, size_t size_bytes, void **out_owner);
void tp_free(void *owner, void *memory);
bool tp_is_shared(const tp_groups_t *groups, const void *memory); /* is it of tp_alloc? */

/* Member k's `in` arrives at out + k * size_bytes. `in` may be its own place in `out`. */
hr_status_t tp_all_gather(tp_group_t *group, const void *in, size_t size_bytes, void *out,
                          tp_request_t **out_request);
/* out = reduction over the members' `in`, which may be `out` itself. */
hr_status_t tp_all_reduce(tp_group_t *group, const void *in, void *out, int64_t count,
                          const hr_reducer_t *reducer, tp_request_t **out_request);
/* Member k gets chunk k (count elements) of the reduction of the members' `in` (size * count
 * elements). */
hr_status_t tp_reduce_scatter(tp_group_t *group, const void *in, int64_t count,
                              const hr_reducer_t *reducer, void *out, tp_request_t **out_request);
/* sends[k] goes to member k, recvs[k] comes from it; sizes agree pairwise and may be 0. The lists
 * are read at once. `equal_bytes`: the size of every block of every member; 0: they may differ. */
hr_status_t tp_all_to_all(tp_group_t *group, const hr_block_t *sends, const hr_block_t *recvs,
                          size_t equal_bytes, tp_request_t **out_request);
/* Member `root`'s data arrives everywhere. */
hr_status_t tp_broadcast(tp_group_t *group, int root, void *data, size_t size_bytes,
                         tp_request_t **out_request);
/* Done when every member has started it. */
hr_status_t tp_barrier(tp_group_t *group, tp_request_t **out_request);
/* To rank `to` and from rank `from` of the world (-1: none). Only the two ends of a transfer need
 * to call. Those between two ranks meet in the order of the calls, for each stream of its own. */
hr_status_t tp_permute(tp_groups_t *groups, int64_t stream, int to, const hr_block_t *send,
                       int from, const hr_block_t *recv, tp_request_t **out_request);

/* Moves a transfer on as far as it goes without waiting. Frees the request when it is done, or when
 * it failed. */
hr_status_t tp_request_test(tp_request_t *request, bool *out_done);
/* Until it is done, or the endpoint is interrupted; frees the request. Accepts NULL. */
hr_status_t tp_request_wait(tp_request_t *request);
/* Moves every transfer of the endpoint on, as far as it goes without waiting. Any wait does so too:
 * what one rank waits for may need another's part in a transfer that nobody waits for there yet. */
void tp_requests_progress(tp_groups_t *groups);
/* The same at once, for somebody who has other things to do: a look at each. Nothing if another
 * thread moves them. */
void tp_requests_poll(tp_groups_t *groups);
/* When a transfer that was not waited for yet came to its end, by the monotonic clock; 0: it has
 * not, or groups->notes_times is not set. */
uint64_t tp_request_over_ns(const tp_request_t *request);
/* Gives it up. Accepts NULL. */
void tp_request_cancel(tp_request_t *request);

#endif
