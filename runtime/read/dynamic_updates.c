/* In XLA a dynamic dimension has memory up to its bound: an update may lie beyond the current size,
 * and a later set-dimension-size uncovers the written elements. Arrays here have memory for the
 * current size only, so such an array grows first:
 *
 *   u = s32[<=4,2] dynamic-update-slice(x, v, n, zero)
 *   r = s32[<=4,2] set-dimension-size(u, m)
 *     ->   size = s32[] maximum(get-dimension-size(x), m);  w = set-dimension-size(x, size);
 *          u = dynamic-update-slice(w, v, n, zero);  r = set-dimension-size(u, m)
 *
 * The update moves to the place where its size is known. Cost: one pass; a second one where there
 * are updates of dynamic arrays. */
#include "read/dynamic_updates.h"

#include "ops/rules/builder.h"

static bool is_dynamic_update(const hlo_instr_t *instr) {
  if (instr->op != HLO_DYNAMIC_UPDATE_SLICE || !instr->operand_count) return false;
  const hlo_shape_t *shape = instr->operands[0]->shape;
  return shape && hlo_shape_is_array(shape) && hlo_shape_is_dynamic(shape);
}

static bool is_s32_scalar(const hlo_shape_t *shape) {
  return shape && hlo_shape_is_array(shape) && shape->rank == 0 && shape->dtype == HR_S32;
}

/* Is `user` a set-dimension-size of a dynamic dimension of the updated array? */
static bool uncovers(const hlo_instr_t *user, const hlo_shape_t *shape) {
  hr_ints_t dims = hlo_attr_ints(user, HLO_ATTR_DIMENSIONS);
  if (user->op != HLO_SET_DIMENSION_SIZE || user->operand_count != 2 || dims.count != 1)
    return false;
  bool has_dim = dims.data[0] >= 0 && dims.data[0] < shape->rank;
  return has_dim && shape->dynamic && shape->dynamic[dims.data[0]] &&
         is_s32_scalar(user->operands[1]->shape);
}

/* By instruction: the set-dimension-size that it waits for, its only user; NULL for most. */
static void find_waits(const hlo_computation_t *computation, hlo_instr_t **waits) {
  size_t count = computation->instrs.count;
  hlo_instr_t *const *instrs = computation->instrs.data;
  for (size_t i = 0; i < count; i++) waits[i] = NULL;
  for (size_t i = 0; i < count; i++)
    for (int k = 0; k < instrs[i]->operand_count; k++) {
      hlo_instr_t **wait = &waits[instrs[i]->operands[k]->id];
      *wait = *wait ? instrs[instrs[i]->operands[k]->id] : instrs[i]; /* itself: several users */
    }
  for (size_t i = 0; i < count; i++) {
    bool is_meant = waits[i] && is_dynamic_update(instrs[i]) && instrs[i] != computation->root &&
                    waits[i]->operands[0] == instrs[i] &&
                    uncovers(waits[i], instrs[i]->operands[0]->shape);
    if (!is_meant) waits[i] = NULL;
  }
}

/* Grows the updated array to the larger of its current size and the size that `user` sets. */
static hr_status_t grow(hlo_instr_t *update, const hlo_instr_t *user) {
  hlo_instr_t *array = update->operands[0], *wanted = user->operands[1];
  hlo_builder_t builder = hlo_builder_at(update->parent, update->line, update->column);
  hlo_attr_t dims = hlo_attr_of_ints(&builder, HLO_ATTR_DIMENSIONS, 1,
                                     hlo_attr_ints(user, HLO_ATTR_DIMENSIONS).data);
  hlo_instr_t *size = hlo_build(&builder, HLO_GET_DIMENSION_SIZE, NULL, 1, (hlo_instr_t *[]){array},
                                1, &dims, 0, NULL);
  size = hlo_build_binary(&builder, HLO_MAXIMUM, size, wanted);
  update->operands[0] = hlo_build(&builder, HLO_SET_DIMENSION_SIZE, array->shape, 2,
                                  (hlo_instr_t *[]){array, size}, 1, &dims, 0, NULL);
  return hlo_builder_finish(&builder);
}

static hr_status_t append(hlo_instr_t *instr) {
  instr->id = (uint32_t)instr->parent->instrs.count;
  HR_VEC_PUSH(&instr->parent->instrs, instr);
  return NULL;
}

/* An update that waits is appended together with its set-dimension-size. */
static hr_status_t rebuild(hlo_computation_t *computation, hlo_instr_t **old, hlo_instr_t **waits,
                           size_t count) {
  computation->instrs.count = 0;
  for (size_t i = 0; i < count; i++) {
    hlo_instr_t *update = old[i]->operand_count ? old[i]->operands[0] : NULL;
    bool ends_wait =
        update && update->id < count && old[update->id] == update && waits[update->id] == old[i];
    if (ends_wait) HR_TRY(grow(update, old[i]));
    if (ends_wait) HR_TRY(append(update));
    if (!waits[i]) HR_TRY(append(old[i]));
  }
  return NULL;
}

static hr_status_t grow_in(hlo_computation_t *computation) {
  hr_arena_t *arena = &computation->module->arena;
  size_t count = computation->instrs.count;
  hlo_instr_t **waits;
  void *copy;
  bool any = false;
  for (size_t i = 0; i < count && !any; i++) any = is_dynamic_update(computation->instrs.data[i]);
  if (!any) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, count, &waits));
  HR_TRY(hr_arena_copy(arena, computation->instrs.data, count * sizeof(hlo_instr_t *), &copy));
  find_waits(computation, waits);
  return rebuild(computation, copy, waits, count);
}

hr_status_t read_grow_before_updates(hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(grow_in(module->computations.data[c]));
  return NULL;
}
