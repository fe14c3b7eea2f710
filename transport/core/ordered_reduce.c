/* Left folds in listed order of the members, which makes results independent of timing. Members are
 * folded in as their elements arrive. If possible, the accumulator is memory that already holds
 * member 0's elements: the result, or member 0's slot. Cost: size - 1 calls of the reducer. */
#include <string.h>

#include "transport/core/request.h"

static const char *member_elements(const tp_fold_t *fold, int member) {
  return member == fold->my_index ? fold->local : fold->slots + (size_t)member * fold->slot_bytes;
}

void tp_fold_begin(tp_fold_t *fold, char *wide) {
  fold->folded = 0;
  fold->acc = fold->my_index == 0 ? fold->out : fold->slots;
  if (fold->reducer->acc_bytes) fold->acc = wide;
}

static void init_accumulator(tp_fold_t *fold) {
  const hr_reducer_t *reducer = fold->reducer;
  const char *first = member_elements(fold, 0);
  if (reducer->acc_bytes)
    reducer->widen(reducer->context, first, fold->acc, fold->count);
  else if (fold->acc != first)
    memcpy(fold->acc, first, (size_t)fold->count * reducer->element_bytes);
}

hr_status_t tp_fold_up_to(tp_fold_t *fold, int member) {
  const hr_reducer_t *reducer = fold->reducer;
  for (; fold->folded <= member; fold->folded++) {
    if (fold->folded == 0)
      init_accumulator(fold);
    else
      HR_TRY(reducer->reduce(reducer->context, fold->acc, member_elements(fold, fold->folded),
                             fold->count));
  }
  return NULL;
}

hr_status_t tp_fold_end(tp_fold_t *fold) {
  HR_TRY(tp_fold_up_to(fold, fold->size - 1));
  const hr_reducer_t *reducer = fold->reducer;
  if (reducer->acc_bytes)
    reducer->narrow(reducer->context, fold->acc, fold->out, fold->count);
  else if (fold->acc != fold->out)
    memcpy(fold->out, fold->acc, (size_t)fold->count * reducer->element_bytes);
  return NULL;
}
