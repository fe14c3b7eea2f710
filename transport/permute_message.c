/* Point to point by a message of the transport.
 * Cost: one message. */
#include "transport/request.h"

hr_status_t tp_permute_message(tp_request_t *request) {
  const tp_half_t *half = &request->half;
  if (half->sends) return tp_request_send_to(request, half->peer, half->block->data, half->block->size_bytes);
  return tp_request_recv_from(request, half->peer, half->block->data, half->block->size_bytes, -1);
}
