/* All-reduce of small arrays: every rank gathers all elements and reduces them itself, in listed
 * order. One all-gather instead of two exchanges, and no rank waits for another's arithmetic. Cost:
 * one all-gather of the whole array, and p times the arithmetic. */
#include "transport/core/request.h"

static hr_status_t reduce_gathered(tp_request_t *request) {
  size_t bytes = (size_t)request->args.count * request->args.reducer.element_bytes;
  request->fold = (tp_fold_t){.reducer = &request->args.reducer,
                              .size = request->group->size,
                              .my_index = request->group->my_index,
                              .local = request->args.in,
                              .slots = request->args.out,
                              .slot_bytes = bytes,
                              .out = request->state.result,
                              .count = request->args.count};
  tp_fold_begin(&request->fold, request->memory.gathered.data);
  return tp_fold_end(&request->fold);
}

hr_status_t tp_all_reduce_gather(tp_request_t *request) {
  const hr_reducer_t *reducer = &request->args.reducer;
  size_t size = (size_t)request->group->size,
         each = size * reducer->element_bytes + reducer->acc_bytes;
  request->args.size_bytes = (size_t)request->args.count * reducer->element_bytes;
  HR_TRY(tp_space_reserve(&request->memory.gathered, (size_t)request->args.count, each));
  request->state.result = request->args.out;
  request->args.out =
      request->memory.gathered.data +
      (size_t)request->args.count * reducer->acc_bytes; /* follows the accumulators */
  request->hooks.finish = reduce_gathered;
  return tp_algorithm_start(TP_ALL_GATHER, request, size * request->args.size_bytes);
}
