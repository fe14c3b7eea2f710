/* Bringing values to the buffers that carry them, all at once: at the end of a loop's body, or of a
 * branch. */
#include "plan/flat_build.h"

typedef struct move {
  flat_ref_t from;
  int to; /* buffer */
  bool done;
} move_t;

typedef struct moves {
  flat_builder_t *builder;
  const flat_parallel_copy_t *wanted;
  move_t *list;
  int count;
  int *readers; /* per carrying buffer: moves not yet done that read it */
} moves_t;

static int carrier_index(const flat_parallel_copy_t *wanted, int buffer) {
  int index = buffer - wanted->first_buffer;
  return index >= 0 && index < wanted->buffer_count ? index : -1;
}

static hr_status_t list_moves(moves_t *moves) {
  const flat_parallel_copy_t *wanted = moves->wanted;
  HR_TRY(HR_NEW_ARRAY(&moves->builder->scratch, wanted->count, &moves->list));
  HR_TRY(HR_NEW_ARRAY(&moves->builder->scratch, wanted->buffer_count, &moves->readers));
  for (int i = 0; i < wanted->count; i++) {
    flat_ref_t to = wanted->state[i], from = wanted->next[i];
    if (to.buffer < 0 || (from.buffer == to.buffer && from.offset_bytes == to.offset_bytes))
      continue;
    if (carrier_index(wanted, to.buffer) < 0) continue;
    moves->list[moves->count++] = (move_t){from, to.buffer, false};
    if (carrier_index(wanted, from.buffer) >= 0)
      moves->readers[carrier_index(wanted, from.buffer)]++;
  }
  return NULL;
}

static hr_status_t do_move(moves_t *moves, move_t *move) {
  flat_builder_t *builder = moves->builder;
  flat_carry_t carry = {.buffer = move->to,
                        .copy_step = flat_now(builder),
                        .start = moves->wanted->start,
                        .last_read = builder->buffers.data[move->to].end};
  int reads = carrier_index(moves->wanted, move->from.buffer);
  size_t bytes = builder->buffers.data[move->to].size_bytes;
  HR_TRY(
      flat_copy_add(builder, moves->wanted->source, move->from, (flat_ref_t){move->to, 0}, bytes));
  HR_VEC_PUSH(&builder->carries, carry);
  if (reads >= 0) moves->readers[reads]--;
  move->done = true;
  return NULL;
}

/* A value goes round: it is put aside, and those who want it read it there. */
static hr_status_t break_cycle(moves_t *moves, const move_t *move) {
  flat_builder_t *builder = moves->builder;
  int aside, old = move->to;
  size_t bytes = builder->buffers.data[old].size_bytes;
  HR_TRY(flat_buffer_add(builder, FLAT_ARENA, bytes, &aside));
  HR_TRY(flat_copy_add(builder, moves->wanted->source, (flat_ref_t){old, 0}, (flat_ref_t){aside, 0},
                       bytes));
  for (int i = 0; i < moves->count; i++)
    if (!moves->list[i].done && moves->list[i].from.buffer == old)
      moves->list[i].from.buffer = aside;
  moves->readers[carrier_index(moves->wanted, old)] = 0;
  return NULL;
}

/* Does the moves whose targets nobody reads any more, until all are done. */
static hr_status_t do_moves(moves_t *moves) {
  for (int left = moves->count; left;) {
    int before = left;
    const move_t *stuck = NULL;
    for (int i = 0; i < moves->count; i++) {
      move_t *move = &moves->list[i];
      if (move->done) continue;
      int own = move->from.buffer == move->to;
      if (moves->readers[carrier_index(moves->wanted, move->to)] > own) {
        stuck = move;
        continue;
      }
      HR_TRY(do_move(moves, move));
      left--;
    }
    if (left && left == before) HR_TRY(break_cycle(moves, stuck));
  }
  return NULL;
}

hr_status_t flat_parallel_copy_add(flat_builder_t *builder, const flat_parallel_copy_t *wanted) {
  moves_t moves = {.builder = builder, .wanted = wanted};
  size_t first = builder->carries.count;
  HR_TRY(list_moves(&moves));
  HR_TRY(do_moves(&moves));
  for (size_t c = first; c < builder->carries.count; c++)
    builder->carries.data[c].end = flat_now(builder) - 1;
  return NULL;
}
