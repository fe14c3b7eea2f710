/* Lifetimes of arrays in a computation: every leaf that an instruction makes is a buffer, and its
 * users are those that read it, also through views (tuples, their elements, reshapes). Parameters,
 * constants and the program's results, which have memory of their own, cost nothing. A result of
 * generated code, of an update or of a loop reuses the bytes of an operand of the same size that
 * dies there. This is only a model for comparing orders. Cost: linear in the leaves of operands. */
#include "passes/cleanup/order_buffers.h"

#include <string.h>

#include "base/arith.h"

#define NO_BUFFER UINT32_MAX

typedef struct finder {
  order_buffers_t *to;
  hr_arena_t *arena;
  const uint32_t **leaves; /* by instruction id: the buffer of each leaf, or NO_BUFFER */
  uint32_t *last_user;     /* by buffer: 1 + the id of the last user found */
} finder_t;

/* Is the result a view of existing bytes? */
static bool is_view(const hlo_instr_t *instr) {
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
  return instr->op == HLO_PARAMETER || instr->op == HLO_CONSTANT || is_view(instr);
}

static int64_t leaf_bytes(const hlo_shape_t *shape) {
  int64_t count;
  if (!hlo_shape_is_array(shape)) return 0;
  hr_status_t st = hlo_shape_count(shape, &count);
  if (st) hr_status_release(st);
  return st ? 0 : count * (int64_t)hr_dtype_bytes(shape->dtype);
}

/* The leaves of a tuple are those of its operands, one after the other. */
static hr_status_t join_leaves(finder_t *finder, const hlo_instr_t *tuple) {
  uint32_t *leaves;
  HR_TRY(HR_NEW_ARRAY(finder->arena, hlo_shape_leaf_count(tuple->shape), &leaves));
  finder->leaves[tuple->id] = leaves;
  for (int k = 0; k < tuple->operand_count; k++) {
    const hlo_instr_t *operand = tuple->operands[k];
    size_t count = (size_t)hlo_shape_leaf_count(operand->shape);
    memcpy(leaves, finder->leaves[operand->id], count * sizeof *leaves);
    leaves += count;
  }
  return NULL;
}

static hr_status_t make_leaves(finder_t *finder, const hlo_instr_t *instr) {
  const order_buffers_t *to = finder->to;
  int count = hlo_shape_leaf_count(instr->shape);
  uint32_t made = to->made[instr->id], *leaves;
  HR_TRY(HR_NEW_ARRAY(finder->arena, count, &leaves));
  for (int leaf = 0; leaf < count; leaf++) {
    leaves[leaf] = is_free(instr) ? NO_BUFFER : made + (uint32_t)leaf;
    if (!is_free(instr))
      to->buffers[leaves[leaf]].bytes = leaf_bytes(hlo_shape_leaf(instr->shape, leaf));
  }
  finder->leaves[instr->id] = leaves;
  return NULL;
}

static hr_status_t find_leaves(finder_t *finder, const hlo_instr_t *instr) {
  if (!is_view(instr)) return make_leaves(finder, instr);
  if (instr->op == HLO_TUPLE) return join_leaves(finder, instr);
  const hlo_instr_t *operand = instr->operands[0];
  int64_t element = instr->op == HLO_GET_TUPLE_ELEMENT ? hlo_attr_int(instr, HLO_ATTR_INDEX) : -1;
  int start = element < 0 ? 0 : hlo_shape_leaf_start(operand->shape, element);
  finder->leaves[instr->id] = finder->leaves[operand->id] + start;
  return NULL;
}

/* Called for each buffer that an instruction reads, once. */
typedef void (*read_fn)(order_buffer_t *buffer, uint32_t *users, uint32_t user);

static void count_user(order_buffer_t *buffer, uint32_t *users, uint32_t user) {
  (void)users;
  (void)user;
  buffer->count++;
}

static void list_user(order_buffer_t *buffer, uint32_t *users, uint32_t user) {
  users[buffer->first + buffer->count++] = user;
}

static void visit_operands(finder_t *finder, const hlo_instr_t *instr, read_fn visit) {
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    int count = hlo_shape_leaf_count(operand->shape);
    for (int leaf = 0; leaf < count; leaf++) {
      uint32_t b = finder->leaves[operand->id][leaf];
      if (b == NO_BUFFER || finder->last_user[b] == instr->id + 1) continue;
      finder->last_user[b] = instr->id + 1;
      visit(&finder->to->buffers[b], finder->to->users, instr->id);
    }
  }
}

static void visit_reads(finder_t *finder, read_fn visit) {
  const hlo_computation_t *computation = finder->to->computation;
  uint32_t buffers = finder->to->made[computation->instrs.count];
  memset(finder->last_user, 0, buffers * sizeof *finder->last_user);
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (!is_view(computation->instrs.data[i]))
      visit_operands(finder, computation->instrs.data[i], visit);
}

/* The buffers of the root stay; in the entry they are the caller's. */
static void mark_results(finder_t *finder) {
  const hlo_computation_t *computation = finder->to->computation;
  const hlo_instr_t *root = computation->root;
  int count = hlo_shape_leaf_count(root->shape);
  for (int leaf = 0; leaf < count; leaf++) {
    uint32_t b = finder->leaves[root->id][leaf];
    if (b == NO_BUFFER) continue;
    finder->to->buffers[b].stays = true;
    if (computation == computation->module->entry) finder->to->buffers[b].bytes = 0;
  }
}

/* Lists the users of each buffer, in the order of their ids: counts, sums, then lists. */
static hr_status_t list_users(finder_t *finder) {
  order_buffers_t *to = finder->to;
  const hlo_computation_t *computation = to->computation;
  uint32_t total = 0;
  for (size_t i = 0; i < computation->instrs.count; i++)
    HR_TRY(find_leaves(finder, computation->instrs.data[i]));
  visit_reads(finder, count_user);
  for (uint32_t b = 0; b < to->made[computation->instrs.count]; b++) {
    to->buffers[b].first = total;
    total += to->buffers[b].count;
    to->buffers[b].count = 0;
  }
  HR_TRY(HR_NEW_ARRAY(finder->arena, total, &to->users));
  visit_reads(finder, list_user);
  mark_results(finder);
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

hr_status_t order_buffers_find(hr_arena_t *arena, const hlo_computation_t *computation,
                               order_buffers_t *out_buffers) {
  finder_t finder = {.to = out_buffers, .arena = arena};
  size_t count = computation->instrs.count;
  *out_buffers = (order_buffers_t){.computation = computation};
  HR_TRY(HR_NEW_ARRAY(arena, count + 1, &out_buffers->made));
  for (size_t i = 0; i < count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    uint32_t leaves = is_free(instr) ? 0 : (uint32_t)hlo_shape_leaf_count(instr->shape);
    out_buffers->made[i + 1] = out_buffers->made[i] + leaves;
  }
  HR_TRY(HR_NEW_ARRAY(arena, out_buffers->made[count] + 1, &out_buffers->buffers));
  HR_TRY(HR_NEW_ARRAY(arena, out_buffers->made[count] + 1, &finder.last_user));
  HR_TRY(HR_NEW_ARRAY(arena, count, &finder.leaves));
  HR_TRY(list_users(&finder));
  return list_reads(arena, out_buffers);
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
