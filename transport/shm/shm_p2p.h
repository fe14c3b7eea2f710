/* Messages between processes of one machine, through memory that they share: a transport
 * (tp_vtable_t) of its own beside that of the endpoint, for the ranks of this machine, this one
 * too. A send writes a message slot and puts it on the receiver's inbox; the receiver finds the
 * receive that it is meant for, takes the bytes straight from where they are, and says so in the
 * message slot. Nothing is buffered: a send of any size is done when its receive has got it. Cost:
 * four cache lines from core to core; the bytes move once. Where the kernel lets nobody read
 * another process's memory, large ones that do not lie in shared memory travel over the endpoint
 * instead. Errors: UNAVAILABLE the peer has ended; DISAGREE it has another size. Thread: as in
 * transport.h. */
#ifndef TP_SHM_P2P_H
#define TP_SHM_P2P_H

#include "transport/shm/shm.h"

/* `fallback` is the endpoint whose ranks these are; NULL: there is no other way between them, and
 * the world is those of shm. `offset` says who this rank is. Beside must outlive the result, which
 * holds shm. */
hr_status_t tp_shm_p2p_open(tp_shm_t *shm, tp_endpoint_t *fallback, const tp_endpoint_t *offset,
                            tp_endpoint_t **out_endpoint);
void tp_shm_p2p_close(tp_endpoint_t *endpoint); /* accepts NULL */

#endif
