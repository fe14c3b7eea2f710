/* ragged-all-to-all: every process sends rows of its input to the members of its group. The sender
 * chooses the rows, and where in the receiver's output they go.
 *
 *     operands   input, output, input_offsets, send_sizes, output_offsets, recv_sizes
 *
 * Offsets and sizes count rows (dimension 0). Each of the four lists has n entries for each member,
 * member after member (n = 1 mostly): entries k * n ... of the first three are about what goes to
 * member k, those of recv_sizes about what comes from it. Rows of the output that no piece covers
 * keep the values of the operand `output`. The receiver does not know the offsets, so two exchanges
 * are needed, which are under way together: one for offsets and sizes, one for rows, as many as
 * recv_sizes says. */
#include <string.h>

#include "ops/kernels/comm/collective_common.h"

typedef struct piece { /* as the sender announces it to the receiver */
  int64_t offset, rows;
} piece_t;

typedef struct ragged {
  const op_step_t *step;
  const op_group_t *group;
  hlo_value_t *in[6];
  hlo_value_t *out;
  int64_t each; /* pieces per pair of processes */
  size_t row_bytes;
  piece_t *leaving, *arriving; /* group->size * each */
  hr_block_t *sends, *recvs;   /* one block per row */
  op_transfer_t *transfer;
} ragged_t;

static int64_t entry(const ragged_t *ragged, int operand, int64_t i) {
  return hlo_value_int_at(ragged->in[operand], i);
}

static bool is_within(int64_t offset, int64_t rows, int64_t limit) {
  return offset >= 0 && rows >= 0 && rows <= limit && offset <= limit - rows;
}

/* Checks sizes and the rows to send, and records the destination of each piece to send. */
static hr_status_t read_lists(ragged_t *ragged) {
  const hlo_instr_t *instr = ragged->step->instr;
  int64_t members = ragged->group->size, entries = ragged->in[2]->count;
  if (entries % members)
    return hlo_error(instr, NULL, "%ld offsets in a group of %ld, want a multiple", (long)entries,
                     (long)members);
  for (int k = 3; k < 6; k++)
    if (ragged->in[k]->count != entries)
      return hlo_error(instr, NULL, "operand %d has %ld entries, want %ld", k,
                       (long)ragged->in[k]->count, (long)entries);
  ragged->each = entries / members;
  for (int64_t i = 0; i < entries; i++) {
    int64_t from = entry(ragged, 2, i), rows = entry(ragged, 3, i);
    if (!is_within(from, rows, ragged->in[0]->dims[0]))
      return hlo_error(instr, NULL, "%ld rows from %ld on are to be sent, of an input of %ld",
                       (long)rows, (long)from, (long)ragged->in[0]->dims[0]);
    ragged->leaving[i] = (piece_t){entry(ragged, 4, i), rows};
  }
  return NULL;
}

/* The senders' announcements are compared with recv_sizes before the wait for the rows, so that the
 * error message names the difference. */
static hr_status_t check_pieces(op_env_t *env, op_transfer_t *transfer) {
  (void)env;
  const ragged_t *ragged = transfer->context;
  const hlo_instr_t *instr = ragged->step->instr;
  for (int64_t i = 0; i < ragged->group->size * ragged->each; i++) {
    const piece_t *piece = &ragged->arriving[i];
    int from = ragged->group->ranks[i / ragged->each];
    if (piece->rows != entry(ragged, 5, i))
      return hlo_error(instr, NULL, "process %d sends %ld rows, recv_sizes says %ld", from,
                       (long)piece->rows, (long)entry(ragged, 5, i));
    if (!is_within(piece->offset, piece->rows, ragged->out->dims[0]))
      return hlo_error(instr, NULL, "process %d sends %ld rows for %ld on, to an output of %ld",
                       from, (long)piece->rows, (long)piece->offset, (long)ragged->out->dims[0]);
  }
  return NULL;
}

/* The first exchange: every member gets its `each` pairs (offset, rows). */
static hr_status_t exchange_pieces(op_env_t *env, ragged_t *ragged) {
  size_t bytes = (size_t)ragged->each * sizeof(piece_t);
  hr_block_t *sends, *recvs;
  HR_TRY(HR_NEW_ARRAY(ragged->transfer->arena, ragged->group->size, &sends));
  HR_TRY(HR_NEW_ARRAY(ragged->transfer->arena, ragged->group->size, &recvs));
  for (int k = 0; k < ragged->group->size; k++) {
    sends[k] = (hr_block_t){ragged->leaving + k * ragged->each, bytes};
    recvs[k] = (hr_block_t){ragged->arriving + k * ragged->each, bytes};
  }
  return coll_exchange(env, ragged->transfer, ragged->group, sends, recvs, bytes);
}

/* Bytes of the rows that entries of `operand` count for member k; 0 for invalid entries, which are
 * reported later. */
static size_t rows_bytes(const ragged_t *ragged, int operand, int k) {
  int64_t rows = 0;
  for (int64_t i = 0; i < ragged->each; i++) {
    int64_t each = entry(ragged, operand, k * ragged->each + i);
    if (each > 0 && each <= ragged->in[operand == 5]->dims[0]) rows += each;
  }
  return (size_t)rows * ragged->row_bytes;
}

static char *leaving_rows(const ragged_t *ragged, int64_t i) {
  return (char *)ragged->in[0]->data + (size_t)entry(ragged, 2, i) * ragged->row_bytes;
}

/* The rows for member k: in place if there is one piece, else packed one after the other. */
static hr_status_t pack_rows(op_env_t *env, const ragged_t *ragged, int k, hr_block_t *out_block) {
  const piece_t *pieces = ragged->leaving + k * ragged->each;
  *out_block = (hr_block_t){NULL, rows_bytes(ragged, 3, k)};
  if (ragged->each == 1) {
    out_block->data = leaving_rows(ragged, k);
    return NULL;
  }
  HR_TRY(coll_scratch(env, ragged->transfer, out_block->size_bytes, &out_block->data));
  char *to = out_block->data;
  for (int64_t i = 0; i < ragged->each; i++) {
    size_t bytes = (size_t)pieces[i].rows * ragged->row_bytes;
    if (bytes) memcpy(to, leaving_rows(ragged, k * ragged->each + i), bytes);
    to += bytes;
  }
  return NULL;
}

static void unpack_rows(const ragged_t *ragged, int k, const char *from) {
  const piece_t *pieces = ragged->arriving + k * ragged->each;
  for (int64_t i = 0; i < ragged->each; i++) {
    size_t bytes = (size_t)pieces[i].rows * ragged->row_bytes;
    if (bytes)
      memcpy((char *)ragged->out->data + (size_t)pieces[i].offset * ragged->row_bytes, from, bytes);
    from += bytes;
  }
}

static hr_status_t swap_rows(op_env_t *env, ragged_t *ragged) {
  for (int k = 0; k < ragged->group->size; k++) {
    void *memory;
    ragged->recvs[k].size_bytes = rows_bytes(ragged, 5, k);
    HR_TRY(hr_arena_alloc(ragged->transfer->arena, ragged->recvs[k].size_bytes, &memory));
    ragged->recvs[k].data = memory;
    HR_TRY(pack_rows(env, ragged, k, &ragged->sends[k]));
  }
  return coll_exchange(env, ragged->transfer, ragged->group, ragged->sends, ragged->recvs, 0);
}

static hr_status_t place_rows(op_env_t *env, op_transfer_t *transfer) {
  (void)env;
  const ragged_t *ragged = transfer->context;
  for (int k = 0; k < ragged->group->size; k++) unpack_rows(ragged, k, ragged->recvs[k].data);
  return NULL;
}

static hr_status_t begin_exchanges(op_env_t *env, ragged_t *ragged) {
  hr_arena_t *arena = ragged->transfer->arena;
  HR_TRY(HR_NEW_ARRAY(arena, ragged->in[2]->count, &ragged->leaving));
  HR_TRY(HR_NEW_ARRAY(arena, ragged->in[2]->count, &ragged->arriving));
  HR_TRY(HR_NEW_ARRAY(arena, ragged->group->size, &ragged->sends));
  HR_TRY(HR_NEW_ARRAY(arena, ragged->group->size, &ragged->recvs));
  HR_TRY(read_lists(ragged));
  HR_TRY(exchange_pieces(env, ragged));
  return swap_rows(env, ragged);
}

/* The initial contents of the output, in its final place if that is known. */
static hr_status_t move_output(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                               op_transfer_t *transfer) {
  if (!transfer->out_buffers) return op_reuse_or_copy(env, step, in, 1, &transfer->value);
  transfer->value = hlo_value_retain(transfer->out_buffers[0]);
  if (in[1]->count && in[1]->data != transfer->value->data)
    memcpy(transfer->value->data, in[1]->data, hlo_value_bytes(in[1]));
  return NULL;
}

static hr_status_t begin_ragged(op_env_t *env, const op_step_t *step, const hlo_shape_t *shape,
                                hlo_value_t *const *in, op_transfer_t *transfer) {
  (void)shape;
  const op_group_t *group;
  ragged_t *ragged;
  HR_TRY(coll_group(env, step, &group));
  if (!group) return hlo_error(step->instr, NULL, "process %d is in no group", env->rank);
  HR_TRY(HR_NEW(transfer->arena, &ragged));
  HR_TRY(move_output(env, step, in, transfer));
  size_t row_bytes = hr_dtype_bytes(in[0]->dtype);
  for (int d = 1; d < in[0]->rank; d++) row_bytes *= (size_t)in[0]->dims[d];
  *ragged = (ragged_t){.step = step,
                       .group = group,
                       .out = transfer->value,
                       .row_bytes = row_bytes,
                       .transfer = transfer};
  for (int k = 0; k < 6; k++) ragged->in[k] = in[k];
  transfer->context = ragged;
  transfer->arrived = check_pieces;
  transfer->finish = place_rows;
  return begin_exchanges(env, ragged);
}

static hr_status_t run_ragged_all_to_all(op_env_t *env, const op_step_t *step,
                                         hlo_value_t *const *in, hlo_value_t **out_value) {
  return op_transfer_run(env, step, begin_ragged, in, out_value);
}
const op_kernel_t kernel_ragged_all_to_all = {NULL, run_ragged_all_to_all};
