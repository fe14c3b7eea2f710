/* Parallel copy: at the end of a loop's body, or of a branch, all carried values are assigned at
 * once. It is sequentialised into copies:
 *
 *   (a, b, c) = (b, a, f)   ->   t = a;  a = b;  b = t;  c = f
 *
 * A copy may be emitted when no pending copy reads its target. If only cycles are left, one target
 * is saved to a temporary buffer, which breaks its cycle. Cost: O(n^2) in the worst case, for n
 * values, linear without dependences. Most copies are coalesced away later (flat_coalesce.c).
 * Source: the sequentialisation of parallel copies when SSA form is left (Boissinot et al., 2009).
 */
#include "plan/flat_build.h"

typedef struct copy {
  flat_ref_t from;
  int to; /* buffer */
  bool done;
} copy_t;

typedef struct copies {
  flat_builder_t *builder;
  const flat_parallel_copy_t *request;
  copy_t *list;
  int count;
  int *readers; /* per carried buffer: pending copies that read it */
} copies_t;

static int carrier_index(const flat_parallel_copy_t *request, int buffer) {
  int index = buffer - request->first_buffer;
  return index >= 0 && index < request->buffer_count ? index : -1;
}

static hr_status_t list_copies(copies_t *copies) {
  const flat_parallel_copy_t *request = copies->request;
  HR_TRY(HR_NEW_ARRAY(&copies->builder->scratch, request->count, &copies->list));
  HR_TRY(HR_NEW_ARRAY(&copies->builder->scratch, request->buffer_count, &copies->readers));
  for (int i = 0; i < request->count; i++) {
    flat_ref_t to = request->state[i], from = request->next[i];
    if (to.buffer < 0 || (from.buffer == to.buffer && from.offset_bytes == to.offset_bytes))
      continue;
    if (carrier_index(request, to.buffer) < 0) continue;
    copies->list[copies->count++] = (copy_t){from, to.buffer, false};
    if (carrier_index(request, from.buffer) >= 0)
      copies->readers[carrier_index(request, from.buffer)]++;
  }
  return NULL;
}

static hr_status_t emit_copy(copies_t *copies, copy_t *copy) {
  flat_builder_t *builder = copies->builder;
  flat_carry_t carry = {.buffer = copy->to,
                        .copy_step = flat_now(builder),
                        .start = copies->request->start,
                        .last_read = builder->buffers.data[copy->to].end};
  int reads = carrier_index(copies->request, copy->from.buffer);
  size_t bytes = builder->buffers.data[copy->to].size_bytes;
  HR_TRY(flat_copy_add(builder, copies->request->source, copy->from, (flat_ref_t){copy->to, 0},
                       bytes));
  HR_VEC_PUSH(&builder->carries, carry);
  if (reads >= 0) copies->readers[reads]--;
  copy->done = true;
  return NULL;
}

/* All pending copies form cycles: saves one target in a temporary buffer, from which its readers
 * then read. */
static hr_status_t break_cycle(copies_t *copies, const copy_t *copy) {
  flat_builder_t *builder = copies->builder;
  int temporary, old = copy->to;
  size_t bytes = builder->buffers.data[old].size_bytes;
  HR_TRY(flat_buffer_add(builder, FLAT_ARENA, bytes, &temporary));
  HR_TRY(flat_copy_add(builder, copies->request->source, (flat_ref_t){old, 0},
                       (flat_ref_t){temporary, 0}, bytes));
  for (int i = 0; i < copies->count; i++)
    if (!copies->list[i].done && copies->list[i].from.buffer == old)
      copies->list[i].from.buffer = temporary;
  copies->readers[carrier_index(copies->request, old)] = 0;
  return NULL;
}

/* Emits copies whose target no pending copy reads, until all are emitted. */
static hr_status_t emit_copies(copies_t *copies) {
  for (int left = copies->count; left;) {
    int before = left;
    const copy_t *blocked = NULL;
    for (int i = 0; i < copies->count; i++) {
      copy_t *copy = &copies->list[i];
      if (copy->done) continue;
      int self_reads = copy->from.buffer == copy->to;
      if (copies->readers[carrier_index(copies->request, copy->to)] > self_reads) {
        blocked = copy;
        continue;
      }
      HR_TRY(emit_copy(copies, copy));
      left--;
    }
    if (left && left == before) HR_TRY(break_cycle(copies, blocked));
  }
  return NULL;
}

hr_status_t flat_parallel_copy_add(flat_builder_t *builder, const flat_parallel_copy_t *request) {
  copies_t copies = {.builder = builder, .request = request};
  size_t first = builder->carries.count;
  HR_TRY(list_copies(&copies));
  HR_TRY(emit_copies(&copies));
  for (size_t c = first; c < builder->carries.count; c++)
    builder->carries.data[c].end = flat_now(builder) - 1;
  return NULL;
}
