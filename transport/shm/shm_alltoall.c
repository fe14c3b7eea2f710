/* All-to-all in shared memory: every member copies in a part of its block for each member, and
 * copies out the others' blocks for it. The slots hold the table of sizes, from which all members
 * compute the same number of rounds. Cost: one step per round; each process copies its bytes once
 * in, and once out.
 *
 * Small, of equal sizes: every member writes its blocks for the others beside its counter. Cost:
 * one step.
 *
 * Arrays: if all sent blocks lie in shared memory, or fit into the slots, each member reads them
 * there. Cost: 2 steps, 1 for data in slots; each process copies its bytes once. */
#include <string.h>

#include "transport/shm/shm_group.h"

#define SECTIONS_OF \
  ((size_t)4 << 20) /* every rank's arrays may have other sizes, but sections are the same */

/* Tables in a slot: sizes of the blocks for each member; then, if there is room (MAX_WITH_OFFSETS
 * members), their offsets, and the offsets of the destinations of received blocks. */
typedef struct sizes {
  uint64_t rounds;
  uint64_t to[];
} sizes_t;
#define MAX_WITH_OFFSETS 80

static size_t tables_bytes(int members) {
  return sizeof(sizes_t) + 3 * (size_t)members * sizeof(uint64_t);
}
static uint64_t *offsets_of(sizes_t *sizes, int members) { return sizes->to + members; }
static uint64_t *targets_of(sizes_t *sizes, int members) { return sizes->to + 2 * members; }

/* Bytes of one section: each member's staging memory has two sections per receiver. */
static size_t section_bytes(const tp_request_t *request) {
  size_t bytes =
      tp_shm_chunk(request->groups, SECTIONS_OF) / (size_t)request->group->size / 64 * 64;
  return bytes ? bytes : 64;
}
static char *section_at(const tp_request_t *request, char *staged, int64_t round, int to) {
  return staged +
         ((size_t)(round & 1) * (size_t)request->group->size + (size_t)to) * section_bytes(request);
}

/* The part of a block that is copied in this round. */
static hr_block_t part_of(const tp_shm_op_t *op, const hr_block_t *block) {
  size_t section = section_bytes(op->request), start = (size_t)op->round * section;
  if (start >= block->size_bytes) return (hr_block_t){NULL, 0};
  size_t left = block->size_bytes - start;
  return (hr_block_t){(char *)block->data + start, left < section ? left : section};
}

static sizes_t *sizes_of(const tp_shm_op_t *op, int member) {
  return (sizes_t *)tp_shm_slot(op, member)->data;
}

static void publish_sizes(tp_shm_op_t *op) {
  tp_request_t *request = op->request;
  sizes_t *mine = sizes_of(op, op->group->my_index);
  size_t section = section_bytes(request);
  mine->rounds = 1;
  for (int k = 0; k < op->group->size; k++) {
    mine->to[k] = request->args.sends[k].size_bytes;
    uint64_t rounds = k == op->group->my_index ? 0 : (mine->to[k] + section - 1) / section;
    if (rounds > mine->rounds) mine->rounds = rounds;
  }
}

static hr_status_t read_sizes(tp_shm_op_t *op) {
  for (int k = 0; k < op->group->size; k++) {
    HR_TRY(tp_shm_check_member(op, k));
    const sizes_t *theirs = sizes_of(op, k);
    size_t wanted = op->request->args.recvs[k].size_bytes;
    uint64_t sent = theirs->to[op->group->my_index];
    if (sent != wanted)
      return hr_error(HR_DISAGREE, "rank %d sent %llu bytes, want %zu", op->group->ranks[k],
                      (unsigned long long)sent, wanted);
    if ((int64_t)theirs->rounds > op->rounds) op->rounds = (int64_t)theirs->rounds;
  }
  return NULL;
}

static void copy_in(tp_shm_op_t *op) {
  for (int k = 0; k < op->group->size; k++) {
    if (k == op->group->my_index) continue;
    hr_block_t part = part_of(op, &op->request->args.sends[k]);
    if (part.size_bytes)
      memcpy(section_at(op->request, op->stage_memory, op->round, k), part.data, part.size_bytes);
  }
}

static bool received_streams(const tp_shm_op_t *op) {
  size_t bytes = 0;
  for (int k = 0; k < op->group->size; k++) bytes += op->request->args.recvs[k].size_bytes;
  return tp_shm_streams(bytes, op->group->size);
}

/* Copies a member's block for itself, while others wait for data sent before. */
static void copy_self_block(tp_shm_op_t *op) {
  const hr_block_t *send = &op->request->args.sends[op->group->my_index];
  tp_shm_copy(op->request->args.recvs[op->group->my_index].data, send->data, send->size_bytes,
              received_streams(op));
}

static hr_status_t copy_out(tp_shm_op_t *op) {
  int size = op->group->size, mine = op->group->my_index;
  bool streams = received_streams(op);
  for (int i = 1; i < size; i++) {
    int k = (mine + i) % size;
    hr_block_t part = part_of(op, &op->request->args.recvs[k]);
    if (part.size_bytes)
      tp_shm_copy(part.data, section_at(op->request, tp_shm_staged(op, k), op->round, mine),
                  part.size_bytes, streams);
  }
  return NULL;
}

static size_t stage_bytes(const tp_shm_op_t *op) {
  return 2 * (size_t)op->group->size * section_bytes(op->request);
}

static hr_status_t step_chunks(tp_shm_op_t *op, bool *out_done) {
  return tp_shm_chunks(op, stage_bytes(op), copy_in, copy_out, out_done);
}

/* --- arrays --- */

/* Copies small blocks for the others into the slot, after the tables. False: they do not fit. */
static bool publish_in_slot(tp_shm_op_t *op) {
  int size = op->group->size;
  size_t at = tables_bytes(size);
  tp_shm_slot_t *slot = tp_shm_slot(op, op->group->my_index);
  for (int k = 0; k < size; k++) {
    const hr_block_t *block = &op->request->args.sends[k];
    if (k == op->group->my_index || !block->size_bytes) continue;
    if (block->size_bytes > TP_SHM_SMALL - at) return false;
    memcpy(slot->data + at, block->data, block->size_bytes);
    offsets_of(sizes_of(op, op->group->my_index), size)[k] =
        tp_shm_offset(op->group->shm, slot->data + at);
    at += block->size_bytes;
  }
  return true;
}

static bool publish_buffers(tp_shm_op_t *op) {
  const tp_shm_t *shm = op->group->shm;
  for (int k = 0; k < op->group->size; k++) {
    const hr_block_t *block = &op->request->args.sends[k];
    if (k == op->group->my_index || !block->size_bytes) continue;
    if (!tp_shm_has(shm, block->data)) return false;
    offsets_of(sizes_of(op, op->group->my_index), op->group->size)[k] =
        tp_shm_offset(shm, block->data);
  }
  return true;
}

/* Publishes the destinations of received blocks; false: others cannot access them. */
static bool publish_targets(tp_shm_op_t *op) {
  const tp_shm_t *shm = op->group->shm;
  uint64_t *targets = targets_of(sizes_of(op, op->group->my_index), op->group->size);
  for (int k = 0; k < op->group->size; k++) {
    const hr_block_t *block = &op->request->args.recvs[k];
    if (block->size_bytes && !tp_shm_has(shm, block->data)) return false;
    targets[k] = block->size_bytes ? tp_shm_offset(shm, block->data) : 0;
  }
  return true;
}

#define PIECE_BYTES ((size_t)64 << 10)

/* Small blocks of one size are received together. */
static int64_t pieces(const tp_shm_op_t *op, bool shares_work) {
  (void)shares_work;
  size_t each = op->request->args.size_bytes, size = (size_t)op->group->size;
  return each && each * size <= PIECE_BYTES ? 1 : (int64_t)size;
}

/* Copies the block from another member. */
static void take_block(tp_shm_op_t *op, int member, int64_t number) {
  int size = op->group->size, mine = op->group->my_index, from = (int)((member + number) % size);
  tp_shm_t *shm = op->group->shm;
  size_t bytes = sizes_of(op, from)->to[member];
  if (from == member || !bytes) return;
  char *to = member == mine ? op->request->args.recvs[from].data
                            : tp_shm_at(shm, targets_of(sizes_of(op, member), size)[from]);
  tp_shm_copy(to, tp_shm_at(shm, offsets_of(sizes_of(op, from), size)[member]), bytes,
              received_streams(op));
}

static hr_status_t take_piece(tp_shm_op_t *op, int member, int64_t piece) {
  for (int64_t i = piece; i < (op->rounds > 1 ? piece + 1 : op->group->size); i++)
    take_block(op, member, i);
  return NULL;
}

/* --- common --- */

static hr_status_t publish(tp_shm_op_t *op) {
  bool has_offsets = op->group->size <= MAX_WITH_OFFSETS;
  op->in_slot = has_offsets && publish_in_slot(op);
  bool is_shared = op->in_slot || (has_offsets && publish_buffers(op));
  tp_shm_slot_t *slot = tp_shm_slot(op, op->group->my_index);
  slot->is_shared = is_shared;
  slot->shares_work = op->request->groups->endpoint->oversubscribed && is_shared && !op->in_slot &&
                      !received_streams(op) && publish_targets(op);
  publish_sizes(op);
  if (!is_shared) {
    HR_TRY(tp_shm_stage(op, stage_bytes(op), &op->stage_memory));
    copy_in(op);
  }
  tp_shm_signal(op);
  copy_self_block(op);
  return NULL;
}

static hr_status_t step_first(tp_shm_op_t *op, bool *out_done) {
  static const tp_shm_steps_t phases = {publish, read_sizes, pieces, take_piece, step_chunks};
  return tp_shm_sync(op, &phases, out_done);
}

/* The caller's lists are valid only during the start, so they are copied. */
static hr_status_t keep_lists(tp_request_t *request) {
  size_t size = (size_t)request->group->size;
  HR_TRY(tp_space_reserve(&request->memory.gathered, 2 * size, sizeof(hr_block_t)));
  hr_block_t *kept = (hr_block_t *)request->memory.gathered.data;
  memcpy(kept, request->args.sends, size * sizeof *kept);
  memcpy(kept + size, request->args.recvs, size * sizeof *kept);
  request->args.sends = kept;
  request->args.recvs = kept + size;
  return NULL;
}

static hr_status_t prepare(tp_request_t *request) {
  const hr_block_t *send = &request->args.sends[request->group->my_index];
  const hr_block_t *recv = &request->args.recvs[request->group->my_index];
  if (send->size_bytes != recv->size_bytes)
    return hr_error(HR_DISAGREE, "%zu bytes sent to itself, %zu wanted", send->size_bytes,
                    recv->size_bytes);
  return keep_lists(request);
}

hr_status_t tp_all_to_all_shm(tp_request_t *request) {
  HR_TRY(prepare(request));
  tp_shm_begin(request, &request->shm_ops[0], request->group->shm, 0, step_first);
  return NULL;
}

/* --- small: all blocks are in the slot, one after the other --- */

static void write_small(tp_shm_op_t *op) {
  const tp_request_t *request = op->request;
  char *to = tp_shm_small(op, op->group->my_index);
  for (int k = 0; k < op->group->size; k++, to += request->args.size_bytes)
    memcpy(to, request->args.sends[k].data, request->args.size_bytes);
}

static hr_status_t read_small(tp_shm_op_t *op) {
  const tp_request_t *request = op->request;
  int mine = op->group->my_index;
  HR_TRY(tp_shm_check_sizes(op));
  for (int k = 0; k < op->group->size; k++)
    if (k != mine)
      memcpy(request->args.recvs[k].data,
             tp_shm_small(op, k) + (size_t)mine * request->args.size_bytes,
             request->args.size_bytes);
  return NULL;
}

static hr_status_t step_small(tp_shm_op_t *op, bool *out_done) {
  if (!op->steps) {
    write_small(op);
    tp_shm_signal(op);
    copy_self_block(op);
  }
  *out_done = tp_shm_all_signaled(op, 1);
  return *out_done ? read_small(op) : NULL;
}

hr_status_t tp_all_to_all_shm_small(tp_request_t *request) {
  if (!request->args.size_bytes) return tp_all_to_all_shm(request); /* sizes may differ */
  HR_TRY(prepare(request));
  tp_shm_begin(request, &request->shm_ops[0], request->group->shm,
               request->args.size_bytes * (size_t)request->group->size, step_small);
  return NULL;
}
