/* A subset of a world as a world of its own, like MPI_Comm_create_group: an ordered list of
 * members, whose positions are the ranks in the subset. Its messages are messages of the whole
 * world with other numbers; on one machine its members have their own shared memory, so that
 * collectives cost the same as in any world. A process may be several members, called its lanes,
 * each used by its own thread. A lane is the same thread in every subset, so that two subsets never
 * confuse their messages. Limits: lanes above 0 need a transport with TP_LANE_TAG_BITS bits in its
 * tags. */
#ifndef TP_SUBSET_H
#define TP_SUBSET_H

#include "transport/core/transport.h"

#define TP_LANE_BITS 4
#define TP_LANES (1 << TP_LANE_BITS) /* most lanes of a process */
#define TP_LANE_TAG_BITS (TP_TAG_BITS + 2 * TP_LANE_BITS)

typedef struct tp_member {
  int rank; /* rank in the whole world */
  int lane; /* thread of that process */
} tp_member_t;

/* This process's endpoint in the subset, for members[self]. `whole` must outlive it; while
 * transfers of a subset are under way, other threads may use `whole` only through its subsets.
 * Errors: INVALID an unknown or repeated member; UNSUPPORTED lanes over this transport. */
hr_status_t tp_subset_open(tp_endpoint_t *whole, int count, const tp_member_t *members, int self,
                           tp_endpoint_t **out_endpoint);

#endif
