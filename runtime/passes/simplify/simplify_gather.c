/* Gathers and scatters of one window:
 *
 *   gather(x, at)       ->   dynamic-slice(x, at)
 *   scatter(x, at, u)   ->   dynamic-update-slice(x, v, at)
 *                            where v = select(at is inside, body(x[at], u), x[at])
 *
 * Gather and dynamic-slice both clamp starts that are out of range. A scatter drops a window that
 * is not inside; the update then writes the old values. Element updates in loops (a.at[i].add(v))
 * become generated code this way. Exact. */
#include "passes/simplify/simplify.h"

static hr_ints_t attr_ints(const hlo_instr_t *instr, hlo_attr_key_t key) {
  return hlo_attr_ints(instr, key);
}

/* Element j of the only index vector, as a scalar. */
static hlo_instr_t *build_start_index(pass_rewrite_t *rewrite, hlo_instr_t *flat, int64_t j) {
  hlo_slice_dim_t part = {j, j + 1, 1};
  hlo_instr_t *one =
      hlo_shape_elements(flat->shape) == 1 ? flat : pass_build_slice(rewrite, flat, &part);
  return one ? hlo_build_reshape(&rewrite->builder, one, hlo_shape_scalar(flat->shape->dtype))
             : NULL;
}

static hlo_instr_t *flat_indices(pass_rewrite_t *rewrite, hlo_instr_t *indices) {
  int64_t count = hlo_shape_elements(indices->shape);
  const hlo_shape_t *shape = pass_shape(rewrite, indices->shape->dtype, 1, &count);
  return shape ? hlo_build_reshape(&rewrite->builder, indices, shape) : NULL;
}

/* Starts of all dimensions; those in the map come from the array of indices, the others are 0. */
static void build_starts(pass_rewrite_t *rewrite, hlo_instr_t *flat, hr_ints_t map, int rank,
                         hlo_instr_t **out_starts) {
  for (int d = 0; d < rank; d++)
    out_starts[d] = hlo_build_number(&rewrite->builder, 0, flat->shape->dtype);
  for (int64_t j = 0; j < map.count; j++)
    out_starts[map.data[j]] = build_start_index(rewrite, flat, j);
}

static hlo_instr_t *build_slice(pass_rewrite_t *rewrite, hlo_instr_t *x, hlo_instr_t *const *starts,
                                hr_ints_t sizes) {
  hlo_instr_t *operands[1 + HLO_MAX_RANK] = {x};
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) operands[1 + d] = starts[d];
  const hlo_shape_t *shape = pass_shape(rewrite, x->shape->dtype, rank, sizes.data);
  hlo_attr_t attr =
      hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DYNAMIC_SLICE_SIZES, sizes.count, sizes.data);
  return shape ? hlo_build(&rewrite->builder, HLO_DYNAMIC_SLICE, shape, 1 + rank, operands, 1,
                           &attr, 0, NULL)
               : NULL;
}

static hlo_instr_t *simplify_one_gather(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (attr_ints(instr, HLO_ATTR_OPERAND_BATCHING_DIMS).count) return NULL;
  hlo_instr_t *starts[HLO_MAX_RANK], *indices = instr->operands[1], *x = instr->operands[0];
  hr_ints_t map = attr_ints(instr, HLO_ATTR_START_INDEX_MAP);
  if (hlo_shape_elements(indices->shape) != map.count || !map.count || x->shape->rank == 0)
    return NULL;
  hlo_instr_t *flat = flat_indices(rewrite, indices);
  if (!flat) return NULL;
  build_starts(rewrite, flat, map, x->shape->rank, starts);
  hlo_instr_t *part = build_slice(rewrite, x, starts, attr_ints(instr, HLO_ATTR_SLICE_SIZES));
  return part ? hlo_build_reshape(&rewrite->builder, part, instr->shape) : NULL;
}

/* --- scatters --------------------------------------------------------------------------------- */

/* Sizes of the window in the operand; inserted dimensions are 1. */
static bool find_window(const hlo_instr_t *scatter, int64_t sizes[HLO_MAX_RANK]) {
  const hlo_shape_t *whole = scatter->operands[0]->shape, *updates = scatter->operands[2]->shape;
  hr_ints_t inserted = attr_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS);
  hr_ints_t window = attr_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS);
  int64_t next = 0, written = 1;
  for (int d = 0; d < whole->rank; d++) {
    bool is_inserted = false;
    for (int64_t i = 0; i < inserted.count; i++) is_inserted = is_inserted || inserted.data[i] == d;
    sizes[d] = is_inserted ? 1 : updates->dims[window.data[next++]];
    if (sizes[d] > whole->dims[d]) return false;
    written *= sizes[d];
  }
  return written == hlo_shape_elements(updates);
}

static bool is_one_scatter(const hlo_instr_t *instr, int64_t sizes[HLO_MAX_RANK]) {
  if (instr->operand_count != 3 || attr_ints(instr, HLO_ATTR_INPUT_BATCHING_DIMS).count)
    return false;
  hr_dtype_t dtype = instr->operands[1]->shape->dtype;
  int64_t components = attr_ints(instr, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS).count;
  if ((dtype != HR_S32 && dtype != HR_S64) || !components) return false;
  return hlo_shape_elements(instr->operands[1]->shape) == components && find_window(instr, sizes) &&
         hlo_shape_elements(instr->operands[2]->shape) > 0;
}

/* Is the whole window inside the operand? A scalar. */
static hlo_instr_t *build_inside(pass_rewrite_t *rewrite, const hlo_instr_t *scatter,
                                 hlo_instr_t *const *starts, const int64_t *sizes) {
  hlo_builder_t *builder = &rewrite->builder;
  hr_ints_t map = attr_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  hlo_instr_t *all = NULL;
  for (int64_t j = 0; j < map.count; j++) {
    int64_t d = map.data[j];
    hlo_instr_t *start = starts[d], *least = hlo_build_number_like(builder, 0, start);
    hlo_instr_t *most =
        hlo_build_number_like(builder, (double)(scatter->shape->dims[d] - sizes[d]), start);
    hlo_instr_t *inside = hlo_build_binary(
        builder, HLO_AND, hlo_build_compare(builder, HLO_DIRECTION_GE, start, least),
        hlo_build_compare(builder, HLO_DIRECTION_LE, start, most));
    all = all ? hlo_build_binary(builder, HLO_AND, all, inside) : inside;
  }
  return all;
}

static hlo_instr_t *build_update(pass_rewrite_t *rewrite, hlo_instr_t *x, hlo_instr_t *part,
                                 hlo_instr_t *const *starts) {
  hlo_instr_t *operands[2 + HLO_MAX_RANK] = {x, part};
  for (int d = 0; d < x->shape->rank; d++) operands[2 + d] = starts[d];
  int count = 2 + x->shape->rank;
  return hlo_build(&rewrite->builder, HLO_DYNAMIC_UPDATE_SLICE, x->shape, count, operands, 0, NULL,
                   0, NULL);
}

static hlo_instr_t *simplify_one_scatter(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_builder_t *builder = &rewrite->builder;
  int64_t sizes[HLO_MAX_RANK];
  hlo_instr_t *starts[HLO_MAX_RANK], *x = instr->operands[0];
  hlo_opcode_t op = HLO_PARAMETER;
  const hlo_instr_t *root = instr->called[0]->root;
  bool is_set = root->op == HLO_PARAMETER && hlo_parameter_number(root) == 1;
  if (!is_one_scatter(instr, sizes) || (!is_set && !pass_body_is_binary(instr->called[0], &op)))
    return NULL;
  hlo_instr_t *flat = flat_indices(rewrite, instr->operands[1]);
  if (!flat) return NULL;
  build_starts(rewrite, flat, attr_ints(instr, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
               x->shape->rank, starts);
  hlo_instr_t *old = build_slice(rewrite, x, starts, (hr_ints_t){sizes, x->shape->rank});
  hlo_instr_t *made = old ? hlo_build_reshape(builder, instr->operands[2], old->shape) : NULL;
  if (made && !is_set) made = hlo_build_binary(builder, op, old, made);
  hlo_instr_t *inside = build_inside(rewrite, instr, starts, sizes);
  if (!made || !inside) return NULL;
  const hlo_shape_t *preds = pass_shape(rewrite, HR_PRED, old->shape->rank, old->shape->dims);
  inside = preds ? hlo_build_broadcast(builder, inside, preds, (hr_ints_t){NULL, 0}) : NULL;
  hlo_instr_t *part = inside ? hlo_build_select(builder, inside, made, old) : NULL;
  return part ? build_update(rewrite, x, part, starts) : NULL;
}

hlo_instr_t *simplify_gather(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op == HLO_GATHER) return simplify_one_gather(rewrite, instr);
  return instr->op == HLO_SCATTER ? simplify_one_scatter(rewrite, instr) : NULL;
}
