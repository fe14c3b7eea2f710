/* Outlining of GSPMD's manual parts. GSPMD marks each array that enters or leaves, but not the
 * instructions between:
 *
 *   l = SPMDFullToShardShape(x)           e = GlobalToLocalShape(x)
 *   m = f(l)                        ->    c = call(e), to_apply=manual_computation_body
 *   y = SPMDShardToFullShape(m)           y = LocalToGlobalShape(c)
 *
 * An instruction is inside if it depends on a value that entered. So is one that depends on no
 * outer value and has users inside only (constants, partition-id). Instructions inside that depend
 * on each other form one part. The markers carry the GSPMD shardings at the border, the call the
 * manual sharding. Nested parts are found when the new body is visited. Not handled: a part that
 * needs outer values that are computed from its own results. */
#include "partition/annotations/outline_manual.h"

#include <stdlib.h>

#include "partition/annotations/outline_part.h"

/* --- members of parts --- */

uint32_t spmd_outline_part_of(spmd_outliner_t *o, uint32_t id) {
  while (o->parent[id] != id) {
    o->parent[id] = o->parent[o->parent[id]];
    id = o->parent[id];
  }
  return id;
}

static void find_depths(spmd_outliner_t *o) {
  for (uint32_t i = 0; i < o->count; i++) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    spmd_marker_t marker = spmd_marker_of(instr);
    int depth = o->forced[i];
    for (int k = 0; k < instr->operand_count; k++)
      if (o->depth[instr->operands[k]->id] > depth) depth = o->depth[instr->operands[k]->id];
    depth += marker == SPMD_FULL_TO_SHARD;
    depth -= marker == SPMD_SHARD_TO_FULL && depth > 0;
    o->depth[i] = depth;
  }
}

/* Makes the operands of exit markers members, even if no value entered. */
static bool force_results(spmd_outliner_t *o) {
  bool any = false;
  for (uint32_t i = 0; i < o->count; i++) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    if (spmd_marker_of(instr) != SPMD_SHARD_TO_FULL || instr->operand_count != 1) continue;
    uint32_t from = instr->operands[0]->id;
    if (o->depth[from] || instr->operands[0]->op == HLO_PARAMETER) continue;
    o->forced[from] = any = true;
  }
  return any;
}

static void join_members(spmd_outliner_t *o) {
  for (uint32_t i = 0; i < o->count; i++) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    o->parent[i] = i;
    if (!spmd_outline_is_member(o, instr)) continue;
    for (int k = 0; k < instr->operand_count; k++)
      if (spmd_outline_is_member(o, instr->operands[k]))
        o->parent[spmd_outline_part_of(o, instr->operands[k]->id)] = spmd_outline_part_of(o, i);
  }
}

/* The part of which all users are members; -1: there is none. */
static int64_t part_of_users(spmd_outliner_t *o, const hlo_instr_t *instr) {
  int64_t part = -1;
  for (uint32_t u = o->users.first[instr->id]; u < o->users.first[instr->id + 1]; u++) {
    const hlo_instr_t *user = o->users.users[u];
    if (!spmd_outline_is_member(o, user)) return -1;
    uint32_t of_user = spmd_outline_part_of(o, user->id);
    if (part >= 0 && part != of_user) return -1;
    part = of_user;
  }
  return part;
}

/* Adds free instructions that only one part uses to that part. */
static void absorb(spmd_outliner_t *o) {
  for (uint32_t i = 0; i < o->count; i++) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    o->free[i] = instr->op != HLO_PARAMETER;
    for (int k = 0; k < instr->operand_count; k++) o->free[i] &= o->free[instr->operands[k]->id];
  }
  for (uint32_t i = o->count; i-- > 0;) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    int64_t part = o->free[i] && !o->depth[i] ? part_of_users(o, instr) : -1;
    if (part < 0 || instr == o->computation->root) continue;
    o->depth[i] = 1;
    o->parent[i] = (uint32_t)part;
  }
}

static hr_status_t check_borders(const spmd_outliner_t *o) {
  const hlo_instr_t *root = o->computation->root;
  if (o->depth[root->id])
    return hlo_unsupported(root,
                           "a value of a manual part is returned as it is, want it to leave by "
                           "SPMDShardToFullShape");
  for (uint32_t i = 0; i < o->count; i++) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    if (spmd_marker_of(instr) < SPMD_FULL_TO_SHARD) continue;
    if (instr->operand_count != 1 || !hlo_shape_is_array(instr->shape) ||
        instr->operands[0]->shape->rank != instr->shape->rank)
      return hlo_error(instr, NULL, "want one array, and a result of its rank");
  }
  return NULL;
}

/* --- one computation --- */

static bool stays(const spmd_outliner_t *o, const hlo_instr_t *instr) {
  return instr->id >= o->count ||
         !(o->depth[instr->id] || spmd_marker_of(instr) == SPMD_SHARD_TO_FULL);
}

typedef struct piece {
  uint32_t root, first;
  size_t begin, end; /* range of its call and markers in the list before sorting */
} piece_t;

/* Puts each call at the first exit marker of its part; drops members and old markers. */
static hr_status_t replace_members(spmd_outliner_t *o, const piece_t *parts, size_t count) {
  hlo_computation_t *computation = o->computation;
  size_t all = computation->instrs.count, kept = 0;
  hlo_instr_t **list;
  HR_TRY(HR_NEW_ARRAY(&o->scratch, all, &list));
  for (size_t i = 0; i < all; i++)
    for (int k = 0; k < computation->instrs.data[i]->operand_count; k++) {
      hlo_instr_t **operand = &computation->instrs.data[i]->operands[k];
      if ((*operand)->id < o->count && o->by[(*operand)->id]) *operand = o->by[(*operand)->id];
    }
  if (o->by[computation->root->id]) computation->root = o->by[computation->root->id];
  for (uint32_t i = 0; i < o->count; i++) {
    for (; count && parts->first == i; parts++, count--)
      for (size_t k = parts->begin; k < parts->end; k++) list[kept++] = computation->instrs.data[k];
    if (stays(o, computation->instrs.data[i])) list[kept++] = computation->instrs.data[i];
  }
  for (size_t i = 0; i < kept; i++) {
    computation->instrs.data[i] = list[i];
    list[i]->id = (uint32_t)i;
  }
  computation->instrs.count = kept;
  return NULL;
}

/* Sorts operands before users. A cycle means that a part needs its own results. */
static hr_status_t sort_instrs(hlo_computation_t *computation) {
  const hlo_instr_t *root = computation->root;
  hr_status_t st = pass_remove_dead(computation);
  if (hr_status_code(st) != HR_INTERNAL) return st;
  hr_status_release(st);
  return hlo_unsupported(root,
                         "a manual part needs what is computed from its own results outside, want "
                         "two parts");
}

static int by_first(const void *a, const void *b) {
  const piece_t *left = a, *right = b;
  return (left->first > right->first) - (left->first < right->first);
}

/* The parts in the order in which their first results leave. */
static hr_status_t list_parts(spmd_outliner_t *o, piece_t **out_parts, size_t *out_count) {
  uint32_t *first;
  size_t count = 0;
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &first));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, out_parts));
  for (uint32_t i = o->count; i-- > 0;) {
    const hlo_instr_t *instr = o->computation->instrs.data[i];
    if (spmd_outline_leaves(o, instr))
      first[spmd_outline_part_of(o, instr->operands[0]->id)] = i + 1;
  }
  for (uint32_t i = 0; i < o->count; i++) {
    bool known = spmd_outline_is_member(o, o->computation->instrs.data[i]) || first[i];
    if (!known || spmd_outline_part_of(o, i) != i) continue;
    (*out_parts)[count++] = (piece_t){.root = i, .first = first[i] ? first[i] - 1 : i};
  }
  qsort(*out_parts, count, sizeof **out_parts, by_first);
  *out_count = count;
  return NULL;
}

static hr_status_t outline_parts(spmd_outliner_t *o) {
  piece_t *parts;
  size_t count;
  HR_TRY(list_parts(o, &parts, &count));
  for (size_t p = 0; p < count; p++) {
    parts[p].begin = o->computation->instrs.count;
    HR_TRY(spmd_outline_part(o, parts[p].root));
    parts[p].end = o->computation->instrs.count;
  }
  HR_TRY(replace_members(o, parts, count));
  return sort_instrs(o->computation);
}

static hr_status_t find_members(spmd_outliner_t *o) {
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->depth));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->forced));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->free));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->parent));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->input));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->copies));
  HR_TRY(HR_NEW_ARRAY(&o->scratch, o->count, &o->by));
  HR_TRY(pass_users_find(&o->scratch, o->computation, &o->users));
  find_depths(o);
  if (force_results(o)) find_depths(o);
  HR_TRY(check_borders(o));
  join_members(o);
  absorb(o);
  return NULL;
}

static bool has_markers(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++)
    if (spmd_marker_of(computation->instrs.data[i]) >= SPMD_FULL_TO_SHARD) return true;
  return false;
}

static hr_status_t outline(hlo_module_t *module, hlo_computation_t *computation) {
  spmd_outliner_t outliner = {
      .module = module, .computation = computation, .count = (uint32_t)computation->instrs.count};
  hr_arena_init(&outliner.scratch);
  hr_status_t st = find_members(&outliner);
  if (!st) st = outline_parts(&outliner);
  hr_arena_deinit(&outliner.scratch);
  return st;
}

hr_status_t spmd_outline_manual(hlo_module_t *module) {
  bool any = false;
  for (size_t c = 0; c < module->computations.count; c++) { /* new bodies are appended */
    if (!has_markers(module->computations.data[c])) continue;
    HR_TRY(outline(module, module->computations.data[c]));
    any = true;
  }
  if (!any) return NULL;
  HR_TRY(pass_computations_order(module));
  return pass_names_settle(module);
}
