/* A loop that reads a stack of arrays and writes another stack of the same shape, one entry of each
 * per iteration, updates one stack in place. Example: the caches of keys and values that a scan
 * over the layers of a model extends by one row each.
 *
 *   state (old, new), new = 0 at first             state (new), new = old at first
 *     x = dynamic-slice(old, i)                      new' = dynamic-update-slice(new, row, i, at)
 *     y = dynamic-update-slice(x, row, at)     ->    y = dynamic-slice(new', i)
 *     new' = dynamic-update-slice(new, y, i)
 *
 * i counts from 0 through all entries, so entry i of `new` equals that of `old` when iteration i
 * reads it, and no entry keeps its initial value. Two rewrites: merge_stacks drops `old` from the
 * state of a loop; the other moves the row's update from the entry to the stack. Not applied if
 * `old` is used elsewhere, since it would be copied. Exact. */
#include "base/log.h"
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

/* Is `part` the shape of an entry of the stack `whole`? */
static bool is_entry_shape(const hlo_shape_t *part, const hlo_shape_t *whole) {
  if (part->rank != whole->rank || part->rank < 2 || part->dims[0] != 1) return false;
  for (int d = 1; d < part->rank; d++)
    if (part->dims[d] != whole->dims[d]) return false;
  return true;
}

/* Does `instr` read a whole entry of a stack? Starts of other dimensions are clamped to 0. */
static bool is_entry_read(const hlo_instr_t *instr) {
  return instr->op == HLO_DYNAMIC_SLICE && pass_has_static_arrays(instr) &&
         instr->operand_count == instr->shape->rank + 1 &&
         is_entry_shape(instr->shape, instr->operands[0]->shape);
}

static bool is_entry_write(const hlo_instr_t *instr) {
  return instr->op == HLO_DYNAMIC_UPDATE_SLICE && pass_has_static_arrays(instr) &&
         instr->operand_count == instr->shape->rank + 2 &&
         is_entry_shape(instr->operands[1]->shape, instr->shape);
}

/* Are both the same instruction, or reads of the same state element? */
static bool is_same_value(const hlo_instr_t *a, const hlo_instr_t *b) {
  int element = loop_element_read(a);
  return a == b || (element >= 0 && element == loop_element_read(b) && a->parent == b->parent);
}

/* The origin of x before reshapes that only add or drop dimensions of size 1. */
static hlo_instr_t *without_ones(hlo_instr_t *x) {
  while (x->op == HLO_RESHAPE && pass_same_without_ones(x->shape, x->operands[0]->shape))
    x = x->operands[0];
  return x;
}

/* The read of the entry into which `row_update` writes a row; NULL: not of this form. */
static hlo_instr_t *updated_entry(const hlo_instr_t *row_update) {
  if (row_update->op != HLO_DYNAMIC_UPDATE_SLICE || !pass_has_static_arrays(row_update) ||
      row_update->operand_count != row_update->shape->rank + 2)
    return NULL;
  hlo_instr_t *entry = without_ones(row_update->operands[0]);
  bool fits = is_entry_read(entry) && entry->shape->rank == row_update->shape->rank + 1;
  for (int d = 0; fits && d < row_update->shape->rank; d++)
    fits = entry->shape->dims[d + 1] == row_update->shape->dims[d];
  return fits ? entry : NULL;
}

/* --- merging two stacks --- */

/* The other state element whose entries, each with a row updated, become the entries of element
 * `k`; -1: none. */
static int find_old_stack(const loop_t *loop, const loop_counter_t *counter, int k) {
  const hlo_instr_t *write = loop->next->operands[k];
  if (!is_entry_write(write) || loop_element_read(write->operands[0]) != k ||
      loop_element_read(write->operands[2]) != counter->index ||
      counter->trips != write->shape->dims[0])
    return -1;
  const hlo_instr_t *read = updated_entry(without_ones(write->operands[1]));
  if (!read || !is_same_value(read->operands[1], write->operands[2])) return -1;
  int old = loop_element_read(read->operands[0]);
  bool same = old >= 0 && old != k && hlo_shape_equal(read->operands[0]->shape, write->shape);
  return same && loop_is_invariant(loop, old) ? old : -1;
}

/* Is element k used only for reads of an entry, or, if `writes`, for its update, in body and
 * condition? */
static bool is_used_by_entries(const loop_t *loop, int k, const loop_counter_t *counter,
                               bool writes) {
  const hlo_computation_t *both[] = {loop->condition, loop->body};
  for (int c = 0; c < 2; c++)
    for (size_t i = 0; i < both[c]->instrs.count; i++) {
      const hlo_instr_t *user = both[c]->instrs.data[i];
      for (int o = 0; o < user->operand_count; o++) {
        if (loop_element_read(user->operands[o]) != k) continue;
        bool reads = !writes && o == 0 && is_entry_read(user) &&
                     loop_element_read(user->operands[1]) == counter->index;
        bool is_next = user == loop->next && o == k;
        bool updates = writes && user == loop->next->operands[k];
        if (c == 0 || !(reads || is_next || updates)) return false;
      }
    }
  return true;
}

/* `k` starts with the value of `old`, and replaces it. */
static hr_status_t drop_old_stack(pass_rewrite_t *rewrite, const loop_t *loop, int old, int k) {
  loop_t merged = *loop;
  hlo_instr_t **inits;
  int *to, *same;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, loop->count, &inits));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, loop->count, &to));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, loop->count, &same));
  for (int i = 0; i < loop->count; i++) {
    inits[i] = loop->init->operands[i == k ? old : i];
    same[i] = i;
    to[i] = i - (i > old);
  }
  same[old] = k;
  to[old] = -1;
  merged.init = hlo_build_tuple(&rewrite->builder, loop->count, inits);
  HR_TRY(hlo_builder_finish(&rewrite->builder));
  const loop_change_t change = {.to = to, .same = same, .kept_count = loop->count - 1};
  hr_log(HR_LOG_PLAN, HR_LOG_DEBUG, "%.*s: stack %d is updated where it is, instead of %d",
         HR_STR_ARGS(loop->body->name), k, old);
  return loop_rebuild(rewrite, &merged, &change);
}

/* Signature of loop_rewrite_fn. Merges one pair; the pass is repeated. */
static hr_status_t merge_stacks(pass_rewrite_t *rewrite, const loop_t *loop) {
  loop_counter_t counter;
  if (loop->init->op != HLO_TUPLE || !loop_find_counter(loop, &counter) || counter.start ||
      counter.step != 1)
    return NULL;
  for (int k = 0; k < loop->count; k++) {
    int old = find_old_stack(loop, &counter, k);
    if (old < 0 || !is_used_by_entries(loop, old, &counter, false) ||
        !is_used_by_entries(loop, k, &counter, true))
      continue;
    const hlo_instr_t *init = loop->init->operands[old];
    bool owned = init->op != HLO_PARAMETER && pass_use_count(rewrite, init) == 1;
    if (owned || loop_is_rematerialisable(init)) return drop_old_stack(rewrite, loop, old, k);
  }
  return NULL;
}

/* --- updating a row of a stack --- */

/* Is the entry made by `row_update` written back to the index it was read from? */
static bool is_written_back(const pass_users_t *users, const hlo_instr_t *x,
                            const hlo_instr_t *read) {
  for (uint32_t u = users->first[x->id]; u < users->first[x->id + 1]; u++) {
    const hlo_instr_t *user = users->users[u];
    if (user->op == HLO_RESHAPE && is_written_back(users, user, read)) return true;
    if (is_entry_write(user) && user->operands[1] == x &&
        is_same_value(user->operands[0], read->operands[0]) &&
        is_same_value(user->operands[2], read->operands[1]))
      return true;
  }
  return false;
}

/* Builds the stack with the updated row, and the entry read from it. */
static hr_status_t update_stack(pass_rewrite_t *rewrite, hlo_instr_t *row_update,
                                hlo_instr_t *read) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t *operands[HLO_MAX_RANK + 2], *row = row_update->operands[1];
  int64_t dims[HLO_MAX_RANK] = {1};
  int rank = row->shape->rank;
  if (rank + 1 >= HLO_MAX_RANK) return NULL;
  for (int d = 0; d < rank; d++) dims[d + 1] = row->shape->dims[d];
  const hlo_shape_t *shape = pass_shape(rewrite, row->shape->dtype, rank + 1, dims);
  operands[0] = read->operands[0];
  operands[1] = shape ? hlo_build(builder, HLO_RESHAPE, shape, 1, &row, 0, NULL, 0, NULL) : NULL;
  operands[2] = read->operands[1];
  for (int d = 0; d < rank; d++) operands[d + 3] = row_update->operands[d + 2];
  if (!operands[1]) return hlo_builder_finish(builder);
  hlo_instr_t *stack = hlo_build(builder, HLO_DYNAMIC_UPDATE_SLICE, operands[0]->shape, rank + 3,
                                 operands, 0, NULL, 0, NULL);
  if (!stack) return hlo_builder_finish(builder);
  for (int d = 0; d <= rank; d++) operands[d + 1] = read->operands[d + 1];
  operands[0] = stack;
  hlo_instr_t *entry = pass_build_like(rewrite, read, operands, read->shape);
  if (entry)
    entry = hlo_build(builder, HLO_RESHAPE, row_update->shape, 1, &entry, 0, NULL, 0, NULL);
  return pass_replace(rewrite, row_update, entry);
}

/* Is it a write of an entry just read from a stack that differs from the old stack only in that
 * entry? Its result is that stack. */
static bool is_same_stack(const hlo_instr_t *write, hlo_instr_t **out_stack) {
  const hlo_instr_t *read = without_ones(write->operands[1]);
  if (!is_entry_read(read) || !is_same_value(read->operands[1], write->operands[2])) return false;
  hlo_instr_t *stack = read->operands[0];
  *out_stack = stack;
  return stack->op == HLO_DYNAMIC_UPDATE_SLICE && stack->operand_count > 2 &&
         is_same_value(stack->operands[0], write->operands[0]) &&
         is_same_value(stack->operands[2], write->operands[2]) &&
         stack->operands[1]->shape->dims[0] == 1;
}

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  hlo_instr_t *stack, *read = updated_entry(instr);
  if (is_entry_write(instr) && is_same_stack(instr, &stack))
    return pass_replace(rewrite, instr, stack);
  if (!read || instr->id >= rewrite->old_count ||
      instr->operands[2]->shape->dtype != read->operands[1]->shape->dtype ||
      !is_written_back(context, instr, read))
    return NULL;
  return update_stack(rewrite, instr, read);
}

static hr_status_t update_rows(hlo_computation_t *computation, bool *out_changed) {
  hr_arena_t arena;
  pass_users_t users;
  hr_arena_init(&arena);
  hr_status_t st = pass_users_find(&arena, computation, &users);
  if (!st) st = pass_rewrite_each(computation, visit, &users, out_changed);
  hr_arena_deinit(&arena);
  return st;
}

hr_status_t pass_stacks_in_place(hlo_module_t *module, bool *out_changed) {
  HR_TRY(loop_rewrite_each(module, merge_stacks, out_changed));
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(update_rows(module->computations.data[c], out_changed));
  return NULL;
}
