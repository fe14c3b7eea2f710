/* Drops the layouts of XLA's optimised HLO: arrays are dense and row-major from here on. A bitcast
 * depends on layouts and is expanded first, into the ops that it stands for:
 *
 *   f32[3,2]{0,1} bitcast(f32[2,3]{1,0} x)   ->   transpose(reshape(x))
 *
 * Custom calls keep the layouts of operands and results, which are part of their interface, and so
 * do bitcasts that change the type or use tiled layouts. Exact. */
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

/* Does the layout only permute dimensions, without tiles or padding? */
static bool is_permutation_only(const hlo_layout_t *layout) {
  return !layout ||
         (layout->tile_count == 0 && layout->minor_to_major.count > 0 && !layout->physical_shape &&
          !layout->level_types.size && layout->element_bits == 0);
}

static bool is_default(const hlo_shape_t *shape) {
  for (int i = 0; i < shape->element_count; i++)
    if (!is_default(shape->elements[i])) return false;
  return hlo_layout_is_default(shape->layout);
}

/* ---- bitcasts ---- */

/* Dimensions from the slowest to the fastest. */
static void major_to_minor(const hlo_shape_t *shape, int64_t *out_order) {
  for (int d = 0; d < shape->rank; d++)
    out_order[d] = hlo_layout_is_default(shape->layout)
                       ? d
                       : shape->layout->minor_to_major.data[shape->rank - 1 - d];
}

static bool is_transpose_reshape(const hlo_instr_t *bitcast) {
  if (bitcast->op != HLO_BITCAST) return false;
  const hlo_shape_t *in = bitcast->operands[0]->shape, *out = bitcast->shape;
  return in->dtype == out->dtype && hlo_shape_is_array(in) && !hlo_shape_is_dynamic(in) &&
         !hlo_shape_is_dynamic(out) && is_permutation_only(in->layout) &&
         is_permutation_only(out->layout);
}

static hlo_instr_t *bitcast_as_movement(pass_rewrite_t *rewrite, hlo_instr_t *bitcast) {
  hlo_instr_t *x = bitcast->operands[0];
  const hlo_shape_t *out = bitcast->shape;
  int64_t order[HLO_MAX_RANK], sizes[HLO_MAX_RANK], inverse[HLO_MAX_RANK];
  major_to_minor(x->shape, order);
  hlo_instr_t *physical = x->shape->rank ? pass_build_transpose(rewrite, x, order) : x;
  major_to_minor(out, order);
  for (int d = 0; d < out->rank; d++) {
    sizes[d] = out->dims[order[d]];
    inverse[order[d]] = d;
  }
  const hlo_shape_t *shape = pass_shape(rewrite, out->dtype, out->rank, sizes);
  hlo_instr_t *flat =
      physical && shape ? hlo_build_reshape(&rewrite->builder, physical, shape) : NULL;
  return flat && out->rank ? pass_build_transpose(rewrite, flat, inverse) : flat;
}

static hr_status_t expand_bitcast(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  return is_transpose_reshape(instr)
             ? pass_replace(rewrite, instr, bitcast_as_movement(rewrite, instr))
             : NULL;
}

/* ---- shapes ---- */

static hr_status_t drop_layout(hr_arena_t *arena, const hlo_shape_t *shape,
                               const hlo_shape_t **out_shape) {
  hlo_shape_t *bare;
  const hlo_shape_t **elements;
  *out_shape = shape;
  if (is_default(shape)) return NULL;
  HR_TRY(HR_NEW(arena, &bare));
  *bare = *shape;
  bare->layout = NULL;
  *out_shape = bare;
  if (!shape->element_count) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, shape->element_count, &elements));
  for (int i = 0; i < shape->element_count; i++)
    HR_TRY(drop_layout(arena, shape->elements[i], &elements[i]));
  bare->elements = elements;
  return NULL;
}

/* Instructions whose layout is still read: custom calls, remaining bitcasts, and their operands. */
static hr_status_t find_layout_uses(hr_arena_t *scratch, const hlo_computation_t *computation,
                                    bool **out_is_used) {
  bool *is_used;
  HR_TRY(HR_NEW_ARRAY(scratch, computation->instrs.count, &is_used));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    bool reads_layouts =
        instr->op == HLO_CUSTOM_CALL || (instr->op == HLO_BITCAST && !is_transpose_reshape(instr));
    for (int k = 0; k < instr->operand_count && reads_layouts; k++)
      is_used[instr->operands[k]->id] = true;
    is_used[i] |= reads_layouts;
  }
  *out_is_used = is_used;
  return NULL;
}

static hr_status_t drop_layouts(hlo_computation_t *computation, bool *out_changed) {
  hr_arena_t scratch, *arena = &computation->module->arena;
  bool *is_used = NULL;
  hr_arena_init(&scratch);
  hr_status_t st = find_layout_uses(&scratch, computation, &is_used);
  for (size_t i = 0; i < computation->instrs.count && !st; i++) {
    hlo_instr_t *instr = computation->instrs.data[i];
    const hlo_shape_t *before = instr->shape;
    if (!is_used[i]) st = drop_layout(arena, before, &instr->shape);
    *out_changed |= instr->shape != before;
  }
  hr_arena_deinit(&scratch);
  return st;
}

hr_status_t pass_normalize_layouts(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++) {
    HR_TRY(pass_rewrite_each(module->computations.data[c], expand_bitcast, NULL, out_changed));
    HR_TRY(drop_layouts(module->computations.data[c], out_changed));
  }
  return NULL;
}
