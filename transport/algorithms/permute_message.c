/* Permute by a message of the transport. Cost: one message. */
#include "transport/core/request.h"

hr_status_t tp_permute_message(tp_request_t *request) {
  const tp_p2p_t *p2p = &request->args.p2p;
  if (p2p->sends)
    return tp_request_send_to(request, p2p->peer, p2p->block->data, p2p->block->size_bytes);
  return tp_request_recv_from(request, p2p->peer, p2p->block->data, p2p->block->size_bytes, -1);
}
