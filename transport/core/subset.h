/* A part of a world as a world of its own, as MPI_Comm_create_group makes one: an ordered list of
 * members, whose positions are the ranks of the part. Its messages are those of the whole world
 * with other numbers; on one machine its members share memory of their own, so that collectives
 * cost what they cost in any world.
 * A process may be several members, each used by a thread of its own: they are its lanes. A lane of
 * a process is the same thread in every part, so that two parts never mix up their messages.
 * Limits:  lanes above 0 need a transport with TP_LANE_TAG_BITS bits in its tags. */
#ifndef TP_SUBSET_H
#define TP_SUBSET_H

#include "transport/core/transport.h"

#define TP_LANE_BITS 4
#define TP_LANES (1 << TP_LANE_BITS) /* lanes of a process at most */
#define TP_LANE_TAG_BITS (TP_TAG_BITS + 2 * TP_LANE_BITS)

typedef struct tp_member {
  int rank; /* in the whole world */
  int lane; /* which thread of that process */
} tp_member_t;

/* This process's end of the part for members[self]. `whole` must outlive it, and is not used by
 * another thread but through its parts while transfers of a part are under way.
 * Errors: INVALID an unknown or repeated member; UNSUPPORTED lanes over this transport. */
hr_status_t tp_subset_open(tp_endpoint_t *whole, int count, const tp_member_t *members, int self,
                           tp_endpoint_t **out_endpoint);

#endif
