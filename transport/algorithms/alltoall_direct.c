/* All-to-all: every pair exchanges its blocks, all at once, each rank starting with its next
 * neighbour. Cost: one round, p - 1 messages. */
#include <string.h>

#include "transport/core/request.h"

hr_status_t tp_all_to_all_direct(tp_request_t *request) {
  const hr_block_t *sends = request->args.sends, *recvs = request->args.recvs;
  int size = request->group->size, mine = request->group->my_index;
  if (sends[mine].size_bytes != recvs[mine].size_bytes)
    return hr_error(HR_DISAGREE, "%zu bytes sent to itself, %zu wanted", sends[mine].size_bytes,
                    recvs[mine].size_bytes);
  for (int k = 1; k < size; k++) {
    int from = (mine - k + size) % size;
    HR_TRY(tp_request_recv(request, from, recvs[from].data, recvs[from].size_bytes, -1));
  }
  for (int k = 1; k < size; k++) {
    int to = (mine + k) % size;
    HR_TRY(tp_request_send(request, to, sends[to].data, sends[to].size_bytes));
  }
  if (sends[mine].size_bytes && recvs[mine].data != sends[mine].data)
    memmove(recvs[mine].data, sends[mine].data, sends[mine].size_bytes);
  return NULL;
}
