/* Rewrites a computation as the layout assignment of layout_plan.h says. Convolutions get new
 * dimension numbers, layout-agnostic ops between them are computed transposed, and transposes
 * remain only at the borders:
 *
 *   conv bf01 -> bf01                     transpose -> conv b01f -> b01f
 *   maximum(.., 0)                   ->   maximum(.., 0)
 *   conv bf01 -> bf01                     conv b01f -> b01f -> transpose
 *
 * Every rewritten instruction is followed by the transpose back, and every read of a transpose
 * cancels it (permute_dims), so that no pass over the result is needed. Exact, except that
 * reductions add their terms in another order. */
#include "base/log.h"
#include "passes/layout/layout_plan.h"
#include "passes/lib/pass_conv.h"
#include "passes/passes.h"

typedef struct assign_layouts {
  pass_rewrite_t *rewrite;
  const layout_plan_t *plan;
} layout_rewrite_t;

/* ---- transposes ---- */

static bool is_identity(int rank, const int64_t *dims) {
  for (int d = 0; d < rank; d++)
    if (dims[d] != d) return false;
  return true;
}

/* Permutes x by `layout`. Transposes that produce x are composed with the permutation first, and
 * may cancel it. */
static hlo_instr_t *permute_dims(const layout_rewrite_t *r, hlo_instr_t *x, const int64_t *layout) {
  int64_t dims[HLO_MAX_RANK];
  int rank = x->shape->rank;
  for (int d = 0; d < rank; d++) dims[d] = layout[d];
  for (; x->op == HLO_TRANSPOSE; x = pass_resolve(r->rewrite, x->operands[0]))
    for (int d = 0; d < rank; d++) dims[d] = hlo_attr_ints(x, HLO_ATTR_DIMENSIONS).data[dims[d]];
  return is_identity(rank, dims) ? x : pass_build_transpose(r->rewrite, x, dims);
}

static hlo_instr_t *transpose_to(const layout_rewrite_t *r, hlo_instr_t *x,
                                 const layout_t *layout) {
  int64_t dims[HLO_MAX_RANK];
  layout_write(layout, dims);
  return layout->rank ? permute_dims(r, x, dims) : x;
}

static hlo_instr_t *restore_layout(const layout_rewrite_t *r, hlo_instr_t *x,
                                   const layout_t *layout) {
  int64_t positions[HLO_MAX_RANK];
  layout_positions(layout, positions);
  return x && layout->rank ? permute_dims(r, x, positions) : x;
}

static const hlo_shape_t *transposed_shape(const layout_rewrite_t *r, const hlo_shape_t *shape,
                                           const layout_t *layout) {
  int64_t sizes[HLO_MAX_RANK];
  for (int d = 0; d < layout->rank; d++) sizes[d] = shape->dims[layout->dims[d]];
  return pass_shape(r->rewrite, shape->dtype, layout->rank, sizes);
}

/* ---- attributes ---- */

static hlo_attr_t permuted_offsets(const layout_rewrite_t *r, const hlo_attr_t *attr,
                                   const int64_t *positions) {
  int64_t moved[HLO_MAX_RANK];
  for (int64_t i = 0; i < attr->ints.count; i++) moved[i] = positions[attr->ints.data[i]];
  return hlo_attr_of_ints(&r->rewrite->builder, (hlo_attr_key_t)attr->key, attr->ints.count, moved);
}

/* Dimensions of a broadcast whose operand was permuted, too: its dimension i was
 * operand->dims[i]. */
static hlo_attr_t expand_positions(const layout_rewrite_t *r, const hlo_attr_t *attr,
                                   const layout_t *operand, const int64_t *positions) {
  int64_t moved[HLO_MAX_RANK];
  for (int i = 0; i < operand->rank; i++) moved[i] = positions[attr->ints.data[operand->dims[i]]];
  return hlo_attr_of_ints(&r->rewrite->builder, (hlo_attr_key_t)attr->key, operand->rank, moved);
}

static hlo_attr_t permuted_sizes(const layout_rewrite_t *r, const hlo_attr_t *attr,
                                 const layout_t *layout) {
  int64_t moved[HLO_MAX_RANK];
  for (int d = 0; d < layout->rank; d++) moved[d] = attr->ints.data[layout->dims[d]];
  return hlo_attr_of_ints(&r->rewrite->builder, (hlo_attr_key_t)attr->key, layout->rank, moved);
}

/* Permutes an attribute that is a list with one entry per dimension: hlo_window_t, hlo_padding_t,
 * hlo_slice_t, which all start with rank and dims. */
#define PERMUTE_LIST(field, type)                                                        \
  do {                                                                                   \
    type##_t *list;                                                                      \
    type##_dim_t *dims;                                                                  \
    HR_TRY(HR_NEW(arena, &list));                                                        \
    HR_TRY(HR_NEW_ARRAY(arena, layout->rank, &dims));                                    \
    for (int d = 0; d < layout->rank; d++) dims[d] = attr->field->dims[layout->dims[d]]; \
    *list = (type##_t){layout->rank, dims};                                              \
    attr->field = list;                                                                  \
  } while (0)

static hr_status_t permute_lists(hr_arena_t *arena, const layout_t *layout, hlo_attr_t *attr) {
  switch (attr->key) {
    case HLO_ATTR_WINDOW:
      PERMUTE_LIST(window, hlo_window);
      break;
    case HLO_ATTR_PADDING:
      PERMUTE_LIST(padding, hlo_padding);
      break;
    case HLO_ATTR_SLICE:
      PERMUTE_LIST(slice, hlo_slice);
      break;
    default:
      break;
  }
  return NULL;
}

/* The attribute that names dimensions, for the instruction in this layout. False: it has none. */
static bool permuted_attr(const layout_rewrite_t *r, const hlo_instr_t *instr,
                          const layout_t *layout, hlo_attr_t *out_attr) {
  static const hlo_attr_key_t keys[] = {HLO_ATTR_DIMENSIONS, HLO_ATTR_DYNAMIC_SLICE_SIZES,
                                        HLO_ATTR_WINDOW, HLO_ATTR_PADDING, HLO_ATTR_SLICE};
  int64_t positions[HLO_MAX_RANK];
  const hlo_attr_t *attr = NULL;
  layout_t operand;
  hlo_builder_t *builder = &r->rewrite->builder;
  for (size_t i = 0; i < sizeof keys / sizeof *keys && !attr; i++)
    attr = hlo_attr_find(instr, keys[i]);
  if (!attr) return false;
  layout_positions(layout, positions);
  *out_attr = *attr;
  if (instr->op == HLO_BROADCAST && layout_of_array(instr, 0, layout, &operand))
    *out_attr = expand_positions(r, attr, &operand, positions);
  else if (attr->key == HLO_ATTR_DIMENSIONS)
    *out_attr = permuted_offsets(r, attr, positions);
  else if (attr->key == HLO_ATTR_DYNAMIC_SLICE_SIZES)
    *out_attr = permuted_sizes(r, attr, layout);
  else if (!builder->status)
    builder->status = permute_lists(r->rewrite->arena, layout, out_attr);
  return true;
}

/* ---- instructions ---- */

/* Number of the first start index of dynamic-slice and dynamic-update-slice: one per dimension
 * follows, and they are permuted, not transposed. */
static int first_index_operand(const hlo_instr_t *instr) {
  if (instr->op == HLO_DYNAMIC_SLICE) return 1;
  return instr->op == HLO_DYNAMIC_UPDATE_SLICE ? 2 : instr->operand_count;
}

static hr_status_t permuted_operands(const layout_rewrite_t *r, const hlo_instr_t *instr,
                                     const layout_t *layout, hlo_instr_t ***out_operands) {
  hlo_instr_t **operands;
  int positions = first_index_operand(instr);
  layout_t operand;
  HR_TRY(HR_NEW_ARRAY(&r->rewrite->scratch, instr->operand_count, &operands));
  for (int k = 0; k < positions; k++) {
    layout_of_array(instr, k, layout, &operand);
    operands[k] = transpose_to(r, instr->operands[k], &operand);
  }
  for (int k = positions; k < instr->operand_count; k++)
    operands[k] = instr->operands[positions + layout->dims[k - positions]];
  *out_operands = operands;
  return NULL;
}

static hr_status_t apply_layout(const layout_rewrite_t *r, hlo_instr_t *instr) {
  const layout_t *layout = &r->plan->choices[instr->id].layout;
  layout_t result;
  hlo_instr_t **operands, *transposed;
  hlo_attr_t attr;
  layout_of_array(instr, LAYOUT_RESULT, layout, &result);
  HR_TRY(permuted_operands(r, instr, layout, &operands));
  const hlo_shape_t *shape = transposed_shape(r, instr->shape, &result);
  if (permuted_attr(r, instr, layout, &attr))
    transposed = pass_build_with(r->rewrite, instr, operands, shape, &attr);
  else
    transposed = pass_build_like(r->rewrite, instr, operands, shape);
  return pass_replace(r->rewrite, instr, restore_layout(r, transposed, &result));
}

static hr_status_t relabel_conv(const layout_rewrite_t *r, hlo_instr_t *conv) {
  const layout_choice_t *choice = &r->plan->choices[conv->id];
  hlo_instr_t *operands[] = {conv->operands[0], conv->operands[1]};
  int64_t moved[PASS_CONV_SIDES][HLO_MAX_RANK];
  const int64_t *positions[PASS_CONV_SIDES] = {NULL};
  const hlo_shape_t *shape = conv->shape;
  conv_orders_t orders;
  conv_orders_find(conv, &orders);
  for (int k = 0; k < 2; k++) {
    if (!choice->operand_transposed[k]) continue;
    layout_t layout = layout_of_dims(operands[k]->shape->rank, orders.dims[k]);
    layout_positions(&layout, moved[k]);
    positions[k] = moved[k];
    operands[k] = transpose_to(r, operands[k], &layout);
  }
  if (choice->transposed) {
    layout_positions(&choice->layout, moved[PASS_CONV_OUT]);
    positions[PASS_CONV_OUT] = moved[PASS_CONV_OUT];
    shape = transposed_shape(r, conv->shape, &choice->layout);
  }
  if (!positions[0] && !positions[1] && !positions[2]) return NULL;
  hlo_instr_t *transposed = pass_conv_relabel(r->rewrite, conv, operands, shape, positions);
  return pass_replace(
      r->rewrite, conv,
      choice->transposed ? restore_layout(r, transposed, &choice->layout) : transposed);
}

/* Transposes of the program stay as they are: permute_dims looks through them at each use.  */
static hr_status_t apply_layouts(const layout_rewrite_t *r) {
  hr_status_t st = NULL;
  for (uint32_t i = 0; i < r->rewrite->old_count && !st; i++) {
    const layout_choice_t *choice = &r->plan->choices[i];
    hlo_instr_t *instr =
        choice->is_conv || choice->transposed ? pass_rewrite_visit(r->rewrite, i) : NULL;
    if (!instr || instr->op == HLO_TRANSPOSE) continue;
    st = choice->is_conv ? relabel_conv(r, instr) : apply_layout(r, instr);
  }
  return st;
}

static void report(const hlo_computation_t *computation, const layout_plan_t *plan) {
  hr_log(HR_LOG_PLAN, HR_LOG_INFO,
         "%.*s: %d arrays (%.4g MB) are transposed to other layouts, %d (%.4g MB) without "
         "layout assignment",
         (int)computation->name.size, computation->name.data, plan->after.count,
         plan->after.total / 1e6, plan->before.count, plan->before.total / 1e6);
}

static hr_status_t assign_layouts(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  layout_plan_t plan;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = layout_plan_find(&rewrite.scratch, computation, &plan);
  layout_rewrite_t r = {&rewrite, &plan};
  if (!st && plan.choices) report(computation, &plan);
  if (!st && plan.choices) st = apply_layouts(&r);
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_layout_assignment(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(assign_layouts(module->computations.data[c], out_changed));
  return NULL;
}
