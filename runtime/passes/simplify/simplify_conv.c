/* Ops on the operands of a convolution become part of it:
 *
 *   conv(x, transpose(w))      ->   conv(x, w) with other dimension labels
 *   transpose(conv(x, w))      ->   conv(x, w) with other output labels
 *   conv(x, reverse(w))        ->   conv(x, w) with window reversal
 *   conv(pad(x, 0), w)         ->   conv(x, w) with padding and base dilation
 *
 * Gradients of convolutions are written this way. Labels change only for operands whose layout does
 * not matter to the kernel (weights are packed anyway); for the others see layout assignment.
 * Exact. */
#include <string.h>

#include "ops/query/conv_problem.h"
#include "passes/lib/pass_conv.h"
#include "passes/simplify/simplify.h"

hlo_instr_t *simplify_build_windowed(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                                     hlo_instr_t *const *operands, const hlo_window_dim_t *dims,
                                     int rank, const hlo_shape_t *shape) {
  hlo_window_t *window;
  void *copy;
  hlo_builder_t *builder = &rewrite->builder;
  if (builder->status) return NULL;
  builder->status = hr_arena_copy(rewrite->arena, dims, (size_t)rank * sizeof *dims, &copy);
  if (!builder->status) builder->status = HR_NEW(rewrite->arena, &window);
  if (builder->status) return NULL;
  *window = (hlo_window_t){rank, copy};
  hlo_attr_t attr = {.key = HLO_ATTR_WINDOW, .window = window};
  return pass_build_with(rewrite, from, operands, shape, &attr);
}

/* ---- transposes ---- */

/* Does the kernel accept the operand in any dimension order? True for weights, which it packs, and
 * for all operands of convolutions without a preferred order. Other arrays are handled by the pass
 * "layout_assignment". */
static bool accepts_any_layout(const hlo_instr_t *conv, int side) {
  conv_orders_t orders;
  return !conv_orders_find(conv, &orders) || !orders.matters[side];
}

static hlo_instr_t *fold_operand_transposes(pass_rewrite_t *rewrite, hlo_instr_t *conv) {
  hlo_instr_t *operands[] = {conv->operands[0], conv->operands[1]};
  const int64_t *positions[PASS_CONV_SIDES] = {NULL};
  for (int k = 0; k < 2; k++) {
    if (operands[k]->op != HLO_TRANSPOSE || !accepts_any_layout(conv, k)) continue;
    positions[k] = hlo_attr_ints(operands[k], HLO_ATTR_DIMENSIONS).data;
    operands[k] = operands[k]->operands[0];
  }
  return positions[0] || positions[1]
             ? pass_conv_relabel(rewrite, conv, operands, conv->shape, positions)
             : NULL;
}

/* A convolution whose result is transposed writes it in that order. */
static hlo_instr_t *fold_result_transpose(pass_rewrite_t *rewrite, hlo_instr_t *transpose) {
  hlo_instr_t *conv = transpose->operands[0];
  hr_ints_t permutation = hlo_attr_ints(transpose, HLO_ATTR_DIMENSIONS);
  int64_t inverse[HLO_MAX_RANK];
  if (!pass_conv_is_plain(conv) || pass_use_count(rewrite, conv) > 1 ||
      !accepts_any_layout(conv, PASS_CONV_OUT))
    return NULL;
  for (int64_t d = 0; d < permutation.count; d++) inverse[permutation.data[d]] = d;
  const int64_t *const positions[PASS_CONV_SIDES] = {NULL, NULL, inverse};
  return pass_conv_relabel(rewrite, conv, conv->operands, transpose->shape, positions);
}

/* ---- windows ---- */

/* The reversed spatial dimensions of the kernel, as bits; -1: other dimensions are reversed,
 * too. */
static int reversed_spatial(const hlo_instr_t *reverse, const hlo_dim_labels_t *labels) {
  hr_ints_t dims = hlo_attr_ints(reverse, HLO_ATTR_DIMENSIONS);
  int bits = 0;
  for (int64_t i = 0; i < dims.count; i++) {
    int s = 0;
    while (s < labels->spatial_rank && labels->rhs_spatial[s] != dims.data[i]) s++;
    if (s == labels->spatial_rank) return -1;
    bits |= 1 << s;
  }
  return bits;
}

static hlo_instr_t *fold_reverse(pass_rewrite_t *rewrite, hlo_instr_t *conv) {
  hlo_instr_t *kernel = conv->operands[1];
  const hlo_window_t *window = hlo_attr_window(conv);
  hlo_window_dim_t dims[HLO_MAX_RANK];
  int bits =
      kernel->op == HLO_REVERSE && window ? reversed_spatial(kernel, hlo_attr_labels(conv)) : -1;
  if (bits < 0) return NULL;
  for (int s = 0; s < window->rank; s++) {
    dims[s] = window->dims[s];
    dims[s].reversal ^= bits >> s & 1;
  }
  return simplify_build_windowed(rewrite, conv,
                                 (hlo_instr_t *[]){conv->operands[0], kernel->operands[0]}, dims,
                                 window->rank, conv->shape);
}

/* Folds zeros around the input and between its elements. */
static hlo_instr_t *fold_pad(pass_rewrite_t *rewrite, hlo_instr_t *conv) {
  hlo_instr_t *pad = conv->operands[0];
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  const hlo_window_t *window = hlo_attr_window(conv);
  hlo_window_dim_t dims[HLO_MAX_RANK];
  if (pad->op != HLO_PAD || !window || !pass_is_number(pad->operands[1], 0)) return NULL;
  const hlo_padding_dim_t *edges = hlo_attr_padding(pad)->dims, none = {0, 0, 0};
  if (memcmp(&edges[labels->lhs_batch], &none, sizeof none) ||
      memcmp(&edges[labels->lhs_feature], &none, sizeof none))
    return NULL;
  for (int s = 0; s < window->rank; s++) {
    const hlo_padding_dim_t *edge = &edges[labels->lhs_spatial[s]];
    dims[s] = window->dims[s];
    if (dims[s].base_dilation != 1 && (edge->low || edge->high || edge->interior)) return NULL;
    if (edge->low < 0 || edge->high < 0) return NULL;
    dims[s].pad_low += edge->low;
    dims[s].pad_high += edge->high;
    dims[s].base_dilation *= 1 + edge->interior;
  }
  return simplify_build_windowed(rewrite, conv,
                                 (hlo_instr_t *[]){pad->operands[0], conv->operands[1]}, dims,
                                 window->rank, conv->shape);
}

hlo_instr_t *simplify_conv(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  if (instr->op == HLO_TRANSPOSE && instr->operands[0]->op == HLO_CONVOLUTION)
    return fold_result_transpose(rewrite, instr);
  if (instr->op != HLO_CONVOLUTION || !pass_conv_is_plain(instr)) return NULL;
  hlo_instr_t *replacement = fold_operand_transposes(rewrite, instr);
  if (!replacement) replacement = fold_reverse(rewrite, instr);
  if (!replacement) replacement = fold_pad(rewrite, instr);
  return replacement ? replacement : simplify_conv_taps(rewrite, instr);
}
