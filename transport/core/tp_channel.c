/* A channel message is one round of synchronous sends or receives of a request, tagged with the
 * channel's number. */
#include "transport/core/tp_channel.h"

#include "transport/core/request.h"

typedef hr_status_t (*post_fn)(tp_request_t *request, int rank, const hr_block_t *block);

static hr_status_t post_send(tp_request_t *request, int rank, const hr_block_t *block) {
  return tp_request_ssend(request, rank, block->data, block->size_bytes);
}

static hr_status_t post_recv(tp_request_t *request, int rank, const hr_block_t *block) {
  return tp_request_recv_ssend(request, rank, block->data, block->size_bytes);
}

/* Posts all blocks at once with one tag: they match in order. */
static hr_status_t start(tp_groups_t *groups, post_fn post, int rank, uint32_t channel,
                         const hr_block_t *blocks, int count, tp_request_t **out_request) {
  tp_request_t *request;
  hr_block_t nothing = {NULL, 0};
  hr_assert(channel < TP_CHANNEL_COUNT);
  HR_TRY(tp_request_new(groups, NULL, &request));
  request->tag = TP_TAG_CLASS_CHANNEL | channel;
  hr_status_t st = count ? NULL : post(request, rank, &nothing);
  for (int i = 0; i < count && !st; i++) st = post(request, rank, &blocks[i]);
  return tp_request_started(st, request, out_request);
}

hr_status_t tp_channel_send(tp_groups_t *groups, int to, uint32_t channel, const hr_block_t *blocks,
                            int count, tp_request_t **out_request) {
  return start(groups, post_send, to, channel, blocks, count, out_request);
}

hr_status_t tp_channel_recv(tp_groups_t *groups, int from, uint32_t channel,
                            const hr_block_t *blocks, int count, tp_request_t **out_request) {
  return start(groups, post_recv, from, channel, blocks, count, out_request);
}
