/* Arrays that are needed for long lie in the memory of results that are computed later: what a
 * training step keeps for its backward pass, in what becomes the new weights.
 *
 *   steps       0 . . . . . . . . . . . . n
 *   result        [ a ][  b     ]  [ result ]      a and b: loans
 *                 [   c         ]
 *
 * Only arrays that live for some steps are lent: shorter ones share addresses in the arena that are
 * in the caches, which fresh memory is not. Scratch memory and all arrays of programs with
 * reference steps, transfers among them, stay in the arena, whose address is fixed. Where a result
 * takes the bytes of an argument that the caller gives away, the engine has memory of its own for
 * its loans. The largest results lend first, and each gives to the largest arrays first, at the
 * lowest offset that is free for as long as they live. Cost: pairs of results and arrays, at most
 * MAX_PAIRS, times the loans of a result. */
#include <stdlib.h>

#include "base/arith.h"
#include "base/log.h"
#include "plan/flat_build.h"

#define MIN_BYTES (64 << 10)  /* of a result that lends, and of an array */
#define MIN_STEPS 8           /* that an array lives, at least */
#define LARGE_BYTES (4 << 20) /* an array that no cache keeps may live shorter */
#define MAX_PAIRS 1000000

/* Buffers of one kind, by number. */
typedef struct buffer_list {
  int *numbers, count;
} buffer_list_t;

/* The loans of one result, by offset. */
typedef struct lender {
  const flat_buffer_t *result;
  const flat_buffer_t **loans;
  int count;
} lender_t;

/* Programs whose steps find all arrays by relocation. Marks scratch memory, which is not found so.
 */
static bool may_lend(const flat_builder_t *builder, bool *is_scratch) {
  for (int s = 0; s < flat_now(builder); s++) {
    const flat_step_t *step = &builder->steps.data[s];
    if (step->kind == FLAT_REFERENCE) return false;
    if (step->scratch.buffer >= 0)
      is_scratch[flat_root(builder->flat->buffers, step->scratch.buffer)] = true;
  }
  return true;
}

static bool is_lender(const flat_buffer_t *buffer) {
  return buffer->storage == FLAT_RESULT && buffer->coalesced_into < 0 &&
         buffer->size_bytes >= MIN_BYTES && buffer->start >= MIN_STEPS;
}

static bool is_borrower(const flat_buffer_t *buffer) {
  return buffer->storage == FLAT_ARENA && buffer->coalesced_into < 0 &&
         buffer->size_bytes >= MIN_BYTES &&
         (buffer->end - buffer->start >= MIN_STEPS || buffer->size_bytes >= LARGE_BYTES);
}

/* Larger ones first, then by number. */
static int by_size(const void *a, const void *b, void *context) {
  const flat_buffer_t *buffers = context;
  int x = *(const int *)a, y = *(const int *)b;
  if (buffers[x].size_bytes != buffers[y].size_bytes)
    return buffers[x].size_bytes < buffers[y].size_bytes ? 1 : -1;
  return x < y ? -1 : 1;
}

static hr_status_t list_buffers(flat_builder_t *builder, bool (*is_wanted)(const flat_buffer_t *),
                                const bool *is_excluded, buffer_list_t *out_list) {
  const flat_plan_t *flat = builder->flat;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, flat->buffer_count, &out_list->numbers));
  for (int b = 0; b < flat->buffer_count; b++)
    if (is_wanted(&flat->buffers[b]) && !is_excluded[b]) out_list->numbers[out_list->count++] = b;
  qsort_r(out_list->numbers, (size_t)out_list->count, sizeof(int), by_size, flat->buffers);
  return NULL;
}

/* The lowest offset that is free while `buffer` lives, and the number of loans before it. */
static bool find_gap(const lender_t *lender, const flat_buffer_t *buffer, size_t *out_offset,
                     int *out_place) {
  size_t at = 0;
  *out_place = 0;
  for (int i = 0; i < lender->count; i++) {
    const flat_buffer_t *loan = lender->loans[i];
    if (loan->start > buffer->end || buffer->start > loan->end) continue;
    if (loan->offset_bytes >= at + buffer->size_bytes) break;
    int64_t end = hr_round_up((int64_t)(loan->offset_bytes + loan->size_bytes), HR_ALIGNMENT);
    at = hr_max((int64_t)at, end);
  }
  while (*out_place < lender->count && lender->loans[*out_place]->offset_bytes < at) ++*out_place;
  *out_offset = at;
  return at <= lender->result->size_bytes && buffer->size_bytes <= lender->result->size_bytes - at;
}

static void add_loan(flat_plan_t *flat, lender_t *lender, flat_buffer_t *buffer, size_t offset,
                     int place) {
  flat_result_t *result = &flat->results[lender->result->index];
  for (int i = lender->count++; i > place; i--) lender->loans[i] = lender->loans[i - 1];
  lender->loans[place] = buffer;
  buffer->storage = FLAT_LOAN;
  buffer->index = lender->result->index;
  buffer->offset_bytes = offset;
  if (offset + buffer->size_bytes > result->loan_bytes)
    result->loan_bytes = offset + buffer->size_bytes;
}

/* All loans of one result. */
static void lend(flat_plan_t *flat, const buffer_list_t *borrowers, lender_t *lender) {
  for (int i = 0; i < borrowers->count; i++) {
    flat_buffer_t *buffer = &flat->buffers[borrowers->numbers[i]];
    size_t offset;
    int place;
    if (buffer->storage == FLAT_ARENA && buffer->end < lender->result->start &&
        find_gap(lender, buffer, &offset, &place))
      add_loan(flat, lender, buffer, offset, place);
  }
}

static void log_loans(const flat_plan_t *flat) {
  size_t lent = 0;
  for (int r = 0; r < flat->result_count; r++) lent += flat->results[r].loan_bytes;
  hr_log(HR_LOG_PLAN, HR_LOG_DEBUG, "%zu bytes of results hold other arrays before", lent);
}

hr_status_t flat_lend_results(flat_builder_t *builder) {
  flat_plan_t *flat = builder->flat;
  buffer_list_t lenders = {0}, borrowers = {0};
  lender_t lender = {0};
  bool *is_scratch;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, flat->buffer_count + 1, &is_scratch));
  if (!may_lend(builder, is_scratch)) return NULL;
  HR_TRY(list_buffers(builder, is_lender, is_scratch, &lenders));
  HR_TRY(list_buffers(builder, is_borrower, is_scratch, &borrowers));
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, borrowers.count + 1, &lender.loans));
  for (int i = 0; i < lenders.count && (int64_t)i * borrowers.count < MAX_PAIRS; i++) {
    lender.result = &flat->buffers[lenders.numbers[i]];
    lender.count = 0;
    lend(flat, &borrowers, &lender);
  }
  log_loans(flat);
  return NULL;
}
