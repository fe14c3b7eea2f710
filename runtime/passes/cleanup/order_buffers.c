/* Lifetimes of arrays in a computation: every leaf that an instruction makes is a buffer, and its
 * users are found by following views (tuples, their elements, reshapes). Parameters, constants and
 * the program's results, which have memory of their own, cost nothing. A result of generated code,
 * of an update or of a loop reuses the bytes of an operand of the same size that dies there. This
 * is only a model for comparing orders. Cost: linear in uses, except that tuples are followed per
 * leaf. */
#include "passes/cleanup/order_buffers.h"

#include <string.h>

#include "base/arith.h"

typedef struct finder {
  order_buffers_t *to;
  pass_users_t users;
  uint32_t *seen; /* by instruction id: 1 + the buffer that listed it last */
  HR_VEC(uint32_t) list;
  uint32_t buffer;
} finder_t;

bool order_is_view(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_TUPLE:
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_RESHAPE:
    case HLO_BITCAST:
    case HLO_OPT_BARRIER:
    case HLO_ADD_DEPENDENCY:
      return true;
    default:
      return false;
  }
}

static bool is_free(const hlo_instr_t *instr) {
  return instr->op == HLO_PARAMETER || instr->op == HLO_CONSTANT || order_is_view(instr);
}

static int64_t leaf_bytes(const hlo_shape_t *shape) {
  int64_t count;
  if (!hlo_shape_is_array(shape)) return 0;
  hr_status_t st = hlo_shape_count(shape, &count);
  if (st) hr_status_release(st);
  return st ? 0 : count * (int64_t)hr_dtype_bytes(shape->dtype);
}

static hr_status_t follow(finder_t *finder, const hlo_instr_t *instr, int leaf);

/* Follows leaf `leaf` of `instr` into one of its users. */
static hr_status_t follow_user(finder_t *finder, const hlo_instr_t *instr, int leaf,
                               const hlo_instr_t *user) {
  if (user->op == HLO_GET_TUPLE_ELEMENT) {
    int64_t index = hlo_attr_int(user, HLO_ATTR_INDEX);
    int start = hlo_shape_leaf_start(instr->shape, index),
        count = hlo_shape_leaf_count(user->shape);
    return leaf >= start && leaf < start + count ? follow(finder, user, leaf - start) : NULL;
  }
  if (user->op == HLO_TUPLE) {
    for (int k = 0; k < user->operand_count; k++)
      if (user->operands[k] == instr)
        HR_TRY(follow(finder, user, hlo_shape_leaf_start(user->shape, k) + leaf));
    return NULL;
  }
  if (order_is_view(user)) return user->operands[0] == instr ? follow(finder, user, leaf) : NULL;
  if (finder->seen[user->id] == finder->buffer + 1) return NULL;
  finder->seen[user->id] = finder->buffer + 1;
  HR_VEC_PUSH(&finder->list, user->id);
  return NULL;
}

static hr_status_t follow(finder_t *finder, const hlo_instr_t *instr, int leaf) {
  const hlo_instr_t *before = NULL;
  if (instr == finder->to->computation->root) finder->to->buffers[finder->buffer].stays = true;
  for (uint32_t u = finder->users.first[instr->id]; u < finder->users.first[instr->id + 1]; u++) {
    const hlo_instr_t *user = finder->users.users[u];
    if (user != before) HR_TRY(follow_user(finder, instr, leaf, user));
    before = user;
  }
  return NULL;
}

static hr_status_t list_users(finder_t *finder) {
  order_buffers_t *to = finder->to;
  bool is_entry = to->computation == to->computation->module->entry;
  for (size_t i = 0; i < to->computation->instrs.count; i++) {
    const hlo_instr_t *instr = to->computation->instrs.data[i];
    for (uint32_t b = to->made[i]; b < to->made[i + 1]; b++) {
      int leaf = (int)(b - to->made[i]);
      to->buffers[b].bytes = leaf_bytes(hlo_shape_leaf(instr->shape, leaf));
      to->buffers[b].first = (uint32_t)finder->list.count;
      finder->buffer = b;
      HR_TRY(follow(finder, instr, leaf));
      to->buffers[b].count = (uint32_t)finder->list.count - to->buffers[b].first;
      if (to->buffers[b].stays && is_entry) to->buffers[b].bytes = 0;
    }
  }
  return NULL;
}

/* Inverts the relation: buffers read, by instruction. */
static hr_status_t list_reads(hr_arena_t *arena, order_buffers_t *to) {
  size_t count = to->computation->instrs.count;
  uint32_t buffers = to->made[count], *first;
  HR_TRY(HR_NEW_ARRAY(arena, count + 2, &first));
  for (uint32_t b = 0; b < buffers; b++)
    for (uint32_t u = 0; u < to->buffers[b].count; u++)
      first[to->users[to->buffers[b].first + u] + 2]++;
  for (size_t i = 0; i < count; i++) first[i + 2] += first[i + 1];
  HR_TRY(HR_NEW_ARRAY(arena, first[count + 1] + 1, &to->read));
  for (uint32_t b = 0; b < buffers; b++)
    for (uint32_t u = 0; u < to->buffers[b].count; u++)
      to->read[first[to->users[to->buffers[b].first + u] + 1]++] = b;
  to->read_first = first;
  return NULL;
}

static hr_status_t find_in(hr_arena_t *arena, finder_t *finder) {
  order_buffers_t *to = finder->to;
  size_t count = to->computation->instrs.count;
  void *copy;
  HR_TRY(pass_users_find(arena, to->computation, &finder->users));
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &to->made));
  for (size_t i = 0; i < count; i++) {
    const hlo_instr_t *instr = to->computation->instrs.data[i];
    uint32_t leaves = is_free(instr) ? 0 : (uint32_t)hlo_shape_leaf_count(instr->shape);
    to->made[i + 1] = to->made[i] + leaves;
  }
  HR_TRY(HR_NEW_ARRAY(arena, to->made[count] + 1, &to->buffers));
  HR_TRY(HR_NEW_ARRAY(arena, count, &finder->seen));
  HR_TRY(list_users(finder));
  HR_TRY(hr_arena_copy(arena, finder->list.data, finder->list.count * sizeof(uint32_t), &copy));
  to->users = copy;
  return list_reads(arena, to);
}

hr_status_t order_buffers_find(hr_arena_t *arena, const hlo_computation_t *computation,
                               order_buffers_t *out_buffers) {
  *out_buffers = (order_buffers_t){.computation = computation};
  finder_t finder = {.to = out_buffers};
  hr_status_t st = find_in(arena, &finder);
  HR_VEC_FREE(&finder.list);
  return st;
}

/* Can results of the instruction reuse the bytes of operands? */
static bool works_in_place(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_FUSION:
      return hlo_attr_enum(instr, HLO_ATTR_KIND) != HLO_FUSION_KIND_CUSTOM;
    case HLO_DYNAMIC_UPDATE_SLICE:
    case HLO_SCATTER:
    case HLO_SORT:
    case HLO_WHILE:
      return true;
    default:
      return hlo_op_is(instr->op, OP_ELEMENTWISE);
  }
}

/* Bytes of operands that die with the instruction and are reused by results of the same size. */
static int64_t shared_bytes(const order_buffers_t *buffers, uint32_t id, const uint32_t *left) {
  const hlo_instr_t *instr = buffers->computation->instrs.data[id];
  int64_t bytes = 0;
  uint32_t next = buffers->made[id];
  if (!works_in_place(instr)) return 0;
  for (uint32_t r = buffers->read_first[id]; r < buffers->read_first[id + 1]; r++) {
    const order_buffer_t *operand = &buffers->buffers[buffers->read[r]];
    if (left[buffers->read[r]] != 1 || operand->stays) continue;
    for (uint32_t b = next; b < buffers->made[id + 1]; b++) {
      if (buffers->buffers[b].bytes != operand->bytes) continue;
      bytes += operand->bytes;
      next = b + 1;
      break;
    }
  }
  return bytes;
}

/* `left`: number of remaining readers of each buffer. */
static int64_t simulate(const order_buffers_t *buffers, const uint32_t *order,
                        const int64_t *inside, uint32_t *left) {
  int64_t alive = 0, peak = 0;
  for (size_t i = 0; i < buffers->computation->instrs.count; i++) {
    uint32_t id = order[i];
    for (uint32_t b = buffers->made[id]; b < buffers->made[id + 1]; b++)
      alive += buffers->buffers[b].bytes;
    peak = hr_max(peak, alive + inside[id] - shared_bytes(buffers, id, left));
    for (uint32_t r = buffers->read_first[id]; r < buffers->read_first[id + 1]; r++) {
      const order_buffer_t *buffer = &buffers->buffers[buffers->read[r]];
      if (--left[buffers->read[r]] == 0 && !buffer->stays) alive -= buffer->bytes;
    }
    for (uint32_t b = buffers->made[id]; b < buffers->made[id + 1]; b++)
      if (!buffers->buffers[b].count && !buffers->buffers[b].stays)
        alive -= buffers->buffers[b].bytes;
  }
  return peak;
}

int64_t order_peak(hr_arena_t *arena, const order_buffers_t *buffers, const uint32_t *order,
                   const int64_t *inside) {
  uint32_t *left, count = buffers->made[buffers->computation->instrs.count];
  hr_arena_mark_t mark = hr_arena_mark(arena);
  hr_status_t st = HR_NEW_ARRAY(arena, count + 1, &left);
  if (st) {
    hr_status_release(st);
    return INT64_MAX;
  }
  for (uint32_t b = 0; b < count; b++) left[b] = buffers->buffers[b].count;
  int64_t peak = simulate(buffers, order, inside, left);
  hr_arena_rewind(arena, mark);
  return peak;
}
