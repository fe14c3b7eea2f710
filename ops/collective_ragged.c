/* ragged-all-to-all: every process sends rows of its input to the members of its group, as many and from where it says,
 * and says where in the receiver's output they go.
 *   operands: input, output, input_offsets, send_sizes, output_offsets, recv_sizes
 * Offsets and sizes count rows (dimension 0). Each of the four lists has n entries for each member, member after
 * member (n = 1 mostly): entries k * n ... of the first three are about what goes to member k, those of recv_sizes
 * about what comes from it. The rest of the output stays as it is.
 * The receiver does not know the offsets, so two exchanges are needed: one for offsets and sizes, one for rows. */
#include <string.h>

#include "ops/collective_common.h"

typedef struct piece { /* as the sender tells the receiver */
  int64_t offset, rows;
} piece_t;

typedef struct ragged {
  const op_step_t *step;
  const op_group_t *group;
  hlo_value_t *const *in;
  hlo_value_t *out;
  int64_t each; /* pieces per pair of processes */
  size_t row_bytes;
  piece_t *leaving, *arriving; /* group->size * each */
} ragged_t;

static int64_t entry(const ragged_t *ragged, int operand, int64_t i) {
  return hlo_value_int_at(ragged->in[operand], i);
}

static bool is_within(int64_t offset, int64_t rows, int64_t limit) {
  return offset >= 0 && rows >= 0 && rows <= limit && offset <= limit - rows;
}

static hr_status_t read_lists(ragged_t *ragged) {
  const hlo_instr_t *instr = ragged->step->instr;
  int64_t members = ragged->group->size, entries = ragged->in[2]->count;
  if (entries % members)
    return hlo_error(instr, NULL, "%ld offsets in a group of %ld, want a multiple", (long)entries, (long)members);
  for (int k = 3; k < 6; k++)
    if (ragged->in[k]->count != entries)
      return hlo_error(instr, NULL, "operand %d has %ld entries, want %ld", k, (long)ragged->in[k]->count,
                       (long)entries);
  ragged->each = entries / members;
  for (int64_t i = 0; i < entries; i++) {
    int64_t from = entry(ragged, 2, i), rows = entry(ragged, 3, i);
    if (!is_within(from, rows, ragged->in[0]->dims[0]))
      return hlo_error(instr, NULL, "%ld rows from %ld on are to be sent, of an input of %ld", (long)rows, (long)from,
                       (long)ragged->in[0]->dims[0]);
    ragged->leaving[i] = (piece_t){entry(ragged, 4, i), rows};
  }
  return NULL;
}

static hr_status_t check_arriving(const ragged_t *ragged) {
  const hlo_instr_t *instr = ragged->step->instr;
  for (int64_t i = 0; i < ragged->group->size * ragged->each; i++) {
    const piece_t *piece = &ragged->arriving[i];
    int from = ragged->group->ranks[i / ragged->each];
    if (piece->rows != entry(ragged, 5, i))
      return hlo_error(instr, NULL, "process %d sends %ld rows, recv_sizes says %ld", from, (long)piece->rows,
                       (long)entry(ragged, 5, i));
    if (!is_within(piece->offset, piece->rows, ragged->out->dims[0]))
      return hlo_error(instr, NULL, "process %d sends %ld rows for %ld on, to an output of %ld", from,
                       (long)piece->rows, (long)piece->offset, (long)ragged->out->dims[0]);
  }
  return NULL;
}

static hr_status_t exchange(op_env_t *env, const op_group_t *group, const op_block_t *sends, const op_block_t *recvs) {
  op_request_t *request = NULL;
  HR_TRY(coll_all_to_all(env, group, sends, recvs, &request));
  return request ? env->wait(env, request) : NULL;
}

static hr_status_t exchange_pieces(op_env_t *env, ragged_t *ragged, op_block_t *sends, op_block_t *recvs) {
  size_t bytes = (size_t)ragged->each * sizeof(piece_t);
  for (int k = 0; k < ragged->group->size; k++) {
    sends[k] = (op_block_t){ragged->leaving + k * ragged->each, bytes};
    recvs[k] = (op_block_t){ragged->arriving + k * ragged->each, bytes};
  }
  return exchange(env, ragged->group, sends, recvs);
}

static size_t rows_bytes(const ragged_t *ragged, const piece_t *pieces) {
  int64_t rows = 0;
  for (int64_t i = 0; i < ragged->each; i++) rows += pieces[i].rows;
  return (size_t)rows * ragged->row_bytes;
}

/* The rows for member k, one piece after the other. */
static hr_status_t pack_rows(op_env_t *env, const ragged_t *ragged, int k, op_block_t *out_block) {
  const piece_t *pieces = ragged->leaving + k * ragged->each;
  void *memory;
  *out_block = (op_block_t){NULL, rows_bytes(ragged, pieces)};
  HR_TRY(hr_arena_alloc(env->scratch, out_block->size_bytes, &memory));
  char *to = out_block->data = memory;
  for (int64_t i = 0; i < ragged->each; i++) {
    size_t bytes = (size_t)pieces[i].rows * ragged->row_bytes;
    int64_t from = entry(ragged, 2, k * ragged->each + i);
    if (bytes) memcpy(to, (const char *)ragged->in[0]->data + (size_t)from * ragged->row_bytes, bytes);
    to += bytes;
  }
  return NULL;
}

static void unpack_rows(const ragged_t *ragged, int k, const char *from) {
  const piece_t *pieces = ragged->arriving + k * ragged->each;
  for (int64_t i = 0; i < ragged->each; i++) {
    size_t bytes = (size_t)pieces[i].rows * ragged->row_bytes;
    if (bytes) memcpy((char *)ragged->out->data + (size_t)pieces[i].offset * ragged->row_bytes, from, bytes);
    from += bytes;
  }
}

static hr_status_t exchange_rows(op_env_t *env, ragged_t *ragged, op_block_t *sends, op_block_t *recvs) {
  int size = ragged->group->size;
  for (int k = 0; k < size; k++) {
    void *memory;
    recvs[k].size_bytes = rows_bytes(ragged, ragged->arriving + k * ragged->each);
    HR_TRY(hr_arena_alloc(env->scratch, recvs[k].size_bytes, &memory));
    recvs[k].data = memory;
    HR_TRY(pack_rows(env, ragged, k, &sends[k]));
  }
  HR_TRY(exchange(env, ragged->group, sends, recvs));
  for (int k = 0; k < size; k++) unpack_rows(ragged, k, recvs[k].data);
  return NULL;
}

static hr_status_t run_exchanges(op_env_t *env, ragged_t *ragged) {
  op_block_t *sends, *recvs;
  HR_TRY(HR_NEW_ARRAY(env->scratch, ragged->in[2]->count, &ragged->leaving));
  HR_TRY(HR_NEW_ARRAY(env->scratch, ragged->in[2]->count, &ragged->arriving));
  HR_TRY(HR_NEW_ARRAY(env->scratch, ragged->group->size, &sends));
  HR_TRY(HR_NEW_ARRAY(env->scratch, ragged->group->size, &recvs));
  HR_TRY(read_lists(ragged));
  HR_TRY(exchange_pieces(env, ragged, sends, recvs));
  HR_TRY(check_arriving(ragged));
  return exchange_rows(env, ragged, sends, recvs);
}

static hr_status_t run_ragged_all_to_all(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                         hlo_value_t **out_value) {
  const op_group_t *group;
  HR_TRY(coll_group(env, step, &group));
  if (!group) return hlo_error(step->instr, NULL, "process %d is in no group", env->rank);
  size_t row_bytes = hr_dtype_bytes(in[0]->dtype);
  for (int d = 1; d < in[0]->rank; d++) row_bytes *= (size_t)in[0]->dims[d];
  hlo_value_t *out;
  HR_TRY(op_reuse_or_copy(env, step, in, 1, &out));
  ragged_t ragged = {.step = step, .group = group, .in = in, .out = out, .row_bytes = row_bytes};
  hr_status_t st = run_exchanges(env, &ragged);
  if (st)
    hlo_value_release(out);
  else
    *out_value = out;
  return st;
}
const op_kernel_t kernel_ragged_all_to_all = {NULL, run_ragged_all_to_all};
