/* All-reduce in shared memory.
 *
 * Small: every member publishes its elements in its head or slot, and reduces those of all.
 * Cost: one step; p times the bytes read and added by each.
 *
 * Chunks: the array goes through staging memory that stays in the caches, a chunk at a time,
 * double-buffered:
 *
 *   copy in    my chunk to my staging memory                 n bytes
 *   reduce     my slice of the chunk over all members        n bytes read, n/p added and written
 *   copy out   everybody's reduced slices to my array        n bytes
 *
 * Cost: 3 steps a chunk; each process moves its array three times, only once from and once to
 * memory itself.
 *
 * Arrays: if all members' arrays lie in shared memory anyway (tp_alloc), each reduces its slice of
 * all of them, and writes the sums straight into all members' results, in blocks that stay in the
 * L1 cache. If results overwrite the operands, each line of memory is read once and written once.
 * Cost: 2 steps; n bytes read, n/p added, n bytes written. */
#include <string.h>

#include "transport/shm/shm_group.h"

#define REDUCED_BYTES ((size_t)64 << 10) /* bytes reduced at a time and written to all results */

/* --- small --- */

static hr_status_t reduce_small(tp_request_t *request, tp_shm_op_t *op) {
  int size = op->group->size;
  const char *in[size];
  HR_TRY(tp_shm_check_sizes(op));
  for (int k = 0; k < size; k++) in[k] = tp_shm_small(op, k);
  return tp_shm_reduce(&request->args.reducer, size, in, request->args.count, request->args.out,
                       request->memory.scratch.data);
}

static hr_status_t step_small(tp_shm_op_t *op, bool *out_done) {
  tp_request_t *request = op->request;
  if (!op->steps) {
    memcpy(tp_shm_small(op, op->group->my_index), request->args.in, op->size_bytes);
    tp_shm_signal(op);
  }
  *out_done = tp_shm_all_signaled(op, 1);
  return *out_done ? reduce_small(request, op) : NULL;
}

hr_status_t tp_all_reduce_shm_small(tp_request_t *request) {
  if (request->args.reducer.acc_bytes)
    HR_TRY(tp_space_reserve(&request->memory.scratch, 1, TP_SHM_WIDE));
  tp_shm_begin(request, &request->shm_ops[0], request->group->shm,
               (size_t)request->args.count * request->args.reducer.element_bytes, step_small);
  return NULL;
}

/* --- chunks --- */

typedef struct span { /* range of elements */
  int64_t start, count;
} span_t;

/* Elements of a chunk. */
static int64_t chunk_count(const tp_request_t *request) {
  size_t each = request->args.reducer.element_bytes;
  int64_t count =
      (int64_t)(tp_shm_chunk(request->groups, (size_t)request->args.count * each) / each);
  if (count >= request->args.count) return request->args.count;
  return count ? count : 1;
}

/* Member k's slice of a chunk of `count` elements, cut at cache lines. */
static span_t slice_of(const tp_request_t *request, int64_t count, int member) {
  int64_t size = request->group->size, line = (int64_t)(64 / request->args.reducer.element_bytes);
  if (line < 1) line = 1;
  int64_t each = ((count + size - 1) / size + line - 1) / line * line;
  int64_t start = each * member < count ? each * member : count;
  return (span_t){start, each < count - start ? each : count - start};
}

/* Staging memory: two chunks, then two reduced slices. */
static size_t staged_bytes(const tp_request_t *request) {
  return ((size_t)request->state.segment * request->args.reducer.element_bytes + 63) / 64 * 64;
}
static char *chunk_at(const tp_request_t *request, char *staged, int64_t round) {
  return staged + (size_t)(round & 1) * staged_bytes(request);
}
static char *slice_at(const tp_request_t *request, char *staged, int64_t round) {
  return staged + (size_t)(2 + (round & 1)) * staged_bytes(request);
}

static span_t chunk_of(const tp_request_t *request, int64_t round) {
  int64_t start = round * request->state.segment, left = request->args.count - start;
  return (span_t){start, left < request->state.segment ? left : request->state.segment};
}

static void copy_in(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  span_t chunk = chunk_of(request, op->round);
  size_t each = request->args.reducer.element_bytes;
  memcpy(chunk_at(request, op->stage_memory, op->round),
         request->args.in + (size_t)chunk.start * each, (size_t)chunk.count * each);
}

static hr_status_t reduce_slice(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  int size = op->group->size;
  const char *in[size];
  span_t slice = slice_of(request, chunk_of(request, op->round).count, op->group->my_index);
  size_t offset = (size_t)slice.start * request->args.reducer.element_bytes;
  for (int k = 0; k < size; k++)
    in[k] = chunk_at(request, tp_shm_staged(op, k), op->round) + offset;
  return tp_shm_reduce(&request->args.reducer, size, in, slice.count,
                       slice_at(request, op->stage_memory, op->round),
                       request->memory.scratch.data);
}

/* Each member starts with its own slice, so that not all read the same memory at once. */
static void copy_out(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  int size = op->group->size;
  span_t chunk = chunk_of(request, op->round);
  size_t each = request->args.reducer.element_bytes;
  for (int i = 0; i < size; i++) {
    int k = (op->group->my_index + i) % size;
    span_t slice = slice_of(request, chunk.count, k);
    tp_shm_copy(request->args.out + (size_t)(chunk.start + slice.start) * each,
                slice_at(request, tp_shm_staged(op, k), op->round), (size_t)slice.count * each,
                tp_shm_streams(op->size_bytes, size));
  }
}

/* A chunk's buffer is reused two chunks later: all members have passed that step by then. */
static hr_status_t step_chunks(tp_shm_op_t *op, bool *out_done) {
  if (!op->stage) HR_TRY(tp_shm_stage(op, 4 * staged_bytes(op->request), &op->stage_memory));
  for (;; op->round++) {
    uint64_t first = op->first + 3 * (uint64_t)op->round;
    *out_done = op->round == op->rounds;
    if (*out_done) return NULL;
    if (op->steps == first) {
      copy_in(op);
      tp_shm_signal(op);
    }
    if (op->steps == first + 1) {
      if (!tp_shm_all_signaled(op, first + 1)) return NULL;
      HR_TRY(reduce_slice(op));
      tp_shm_signal(op);
    }
    if (!tp_shm_all_signaled(op, first + 2)) return NULL;
    copy_out(op);
    tp_shm_signal(op);
  }
}

/* --- arrays --- */

/* Destination of the sums of a block: the first member's result, which then needs no copy. A result
 * that does not overwrite its operand is written with non-temporal stores (`around`); its sums are
 * made elsewhere. */
static char *sums_at(const tp_shm_op_t *op, size_t offset, bool around) {
  bool in_place = tp_shm_in(op, 0) == tp_shm_out(op, 0);
  return around && !in_place ? op->request->memory.gathered.data : tp_shm_out(op, 0) + offset;
}

static hr_status_t reduce_block(tp_shm_op_t *op, size_t offset, int64_t count) {
  tp_request_t *request = op->request;
  int size = op->group->size;
  size_t bytes = (size_t)count * request->args.reducer.element_bytes;
  bool around = tp_shm_streams(op->size_bytes, size);
  hr_assert(size > 1);
  char *sums = sums_at(op, offset, around);
  const char *in[size];
  for (int k = 0; k < size; k++) in[k] = tp_shm_in(op, k) + offset;
  HR_TRY(
      tp_shm_reduce(&request->args.reducer, size, in, count, sums, request->memory.scratch.data));
  for (int k = 0; k < size; k++) {
    bool in_place = tp_shm_in(op, k) == tp_shm_out(op, k);
    tp_shm_copy(tp_shm_out(op, k) + offset, sums, bytes, around && !in_place);
  }
  return NULL;
}

/* Number of elements in a piece of a member's slice. */
static int64_t piece_count(const tp_shm_op_t *op) {
  int64_t most = (int64_t)(REDUCED_BYTES / op->request->args.reducer.element_bytes);
  return most < 1 ? 1 : most;
}

static int64_t pieces(const tp_shm_op_t *op, bool shares_work) {
  (void)shares_work;
  int64_t longest = slice_of(op->request, op->request->args.count, 0).count, most = piece_count(op);
  return (longest + most - 1) / most;
}

static hr_status_t reduce_piece(tp_shm_op_t *op, int member, int64_t piece) {
  span_t slice = slice_of(op->request, op->request->args.count, member);
  int64_t most = piece_count(op), left = slice.count - piece * most;
  if (left <= 0) return NULL;
  size_t offset = (size_t)(slice.start + piece * most) * op->request->args.reducer.element_bytes;
  return reduce_block(op, offset, left < most ? left : most);
}

/* --- common --- */

/* An operand that others cannot access is copied to the result, if that is accessible. */
static bool publish_buffers(tp_shm_op_t *op) {
  const tp_request_t *request = op->request;
  const tp_shm_t *shm = op->group->shm;
  if (tp_shm_has(shm, request->args.in) || !tp_shm_has(shm, request->args.out))
    return tp_shm_publish(op, request->args.in, request->args.out);
  tp_shm_copy(request->args.out, request->args.in, op->size_bytes, false);
  return tp_shm_publish(op, request->args.out, request->args.out);
}

/* A member with private arrays begins with its first chunk at once: if all have private arrays,
 * every first chunk is there after the first step. */
static hr_status_t publish(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  if (!publish_buffers(op)) {
    HR_TRY(tp_shm_stage(op, 4 * staged_bytes(request), &op->stage_memory));
    copy_in(op);
  }
  bool streams = tp_shm_streams(op->size_bytes, op->group->size);
  tp_shm_share_work(op, streams, tp_shm_in(op, op->group->my_index),
                    tp_shm_out(op, op->group->my_index));
  tp_shm_signal(op);
  return NULL;
}

static hr_status_t step_first(tp_shm_op_t *op, bool *out_done) {
  static const tp_shm_steps_t phases = {publish, tp_shm_check_sizes, pieces, reduce_piece,
                                        step_chunks};
  return tp_shm_sync(op, &phases, out_done);
}

hr_status_t tp_all_reduce_shm(tp_request_t *request) {
  size_t each = request->args.reducer.element_bytes;
  HR_TRY(tp_space_reserve(&request->memory.gathered, 1, REDUCED_BYTES + each));
  return tp_shm_begin_reduction(request, chunk_count(request), step_first);
}
