/* Messages between the processes of one machine through shared memory: a transport (tp_vtable_t)
 * for the ranks of this machine, including this one, used beside the endpoint of the whole world.
 * Nothing is buffered: a send of any size is done when its receive has read it. shm_p2p.c explains
 * the protocols.
 * Cost:    four cache lines from core to core for the header; payloads are copied once, those that
 *          are first copied to shared memory twice.
 * Errors:  UNAVAILABLE the peer has ended, or the kernel refused to read its memory; DISAGREE the
 *          other side names another size; NO_MEMORY shared memory is used up.
 * Thread:  as in transport.h. */
#ifndef TP_SHM_P2P_H
#define TP_SHM_P2P_H

#include "transport/shm/shm.h"

/* Opens the transport over `shm`, which it retains. fallback: endpoint with the same rank numbers,
 * which carries large payloads if the kernel does not let processes read each other's memory; it
 * must outlive the result. NULL: the ranks of `shm` are the whole world. identity: endpoint whose
 * rank, sizes and host are copied. */
hr_status_t tp_shm_p2p_open(tp_shm_t *shm, tp_endpoint_t *fallback, const tp_endpoint_t *identity,
                            tp_endpoint_t **out_endpoint);
void tp_shm_p2p_close(tp_endpoint_t *endpoint); /* accepts NULL */

#endif
