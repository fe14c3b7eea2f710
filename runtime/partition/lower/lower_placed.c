/* Updates at a place that is known: dynamic-update-slice with constant starts, and scatters of one
 * window with constant indices, such as x.at[1:-1].set(y).
 *
 *   f32[512] with f32[510] at 1, parts of 128    part 1 needs update elements 127 to 254, one of
 *                                                which is part 0's
 *
 * The update is a window of the result, as the operand of a pad: each part fetches what is placed
 * in it, combines that with its part of the operand, and selects. */
#include <math.h>

#include "partition/lower/fetch_window.h"
#include "partition/lower/lower_ops.h"
#include "passes/lib/pass_match.h"

typedef struct placed {
  int update;      /* number of the operand */
  hlo_opcode_t op; /* combines an element with its update; HLO_COPY: the update replaces it */
  /* By dimension of the operand: start of the update, its elements, its dimension or -1. */
  int64_t starts[HLO_MAX_RANK], sizes[HLO_MAX_RANK];
  int dims[HLO_MAX_RANK];
} placed_t;

/* Element `at` of a list, or a scalar, if it is known. */
static bool known_index(const hlo_instr_t *x, int64_t at, int64_t *out_index) {
  if (pass_splat_int(x, out_index)) return true;
  if (x->op == HLO_CONSTANT && x->literal && hr_dtype_is_integer(x->shape->dtype)) {
    *out_index = hlo_value_int_at(x->literal, at);
    return true;
  }
  if (x->op == HLO_RESHAPE || x->op == HLO_CONVERT)
    return known_index(x->operands[0], at, out_index);
  if (x->op != HLO_CONCATENATE || x->shape->rank != 1) return false;
  for (int k = 0; k < x->operand_count; k++) {
    int64_t size = x->operands[k]->shape->dims[0];
    if (at < size) return known_index(x->operands[k], at, out_index);
    at -= size;
  }
  return false;
}

static bool lists(hr_ints_t list, int64_t value) {
  for (int64_t i = 0; i < list.count; i++)
    if (list.data[i] == value) return true;
  return false;
}

/* Starts are clamped. */
static bool match_update_slice(const hlo_instr_t *instr, placed_t *out) {
  *out = (placed_t){.update = 1, .op = HLO_COPY};
  for (int d = 0; d < instr->shape->rank; d++) {
    int64_t size = instr->operands[1]->shape->dims[d], last = instr->shape->dims[d] - size;
    if (last && !known_index(instr->operands[2 + d], 0, &out->starts[d])) return false;
    if (!last || out->starts[d] < 0) out->starts[d] = 0;
    if (out->starts[d] > last) out->starts[d] = last;
    out->sizes[d] = size;
    out->dims[d] = d;
  }
  return true;
}

/* The combiner replaces elements, or is one operation. */
static bool match_combiner(const hlo_computation_t *combiner, hlo_opcode_t *out_op) {
  const hlo_instr_t *root = combiner->root;
  *out_op = HLO_COPY;
  if (root->op == HLO_PARAMETER) return hlo_parameter_number(root) == 1;
  return pass_body_is_binary(combiner, out_op);
}

/* One window that is not out of bounds: updates without scatter dimensions. */
static bool match_scatter(const hlo_instr_t *instr, placed_t *out) {
  hr_ints_t inserted = hlo_attr_ints(instr, HLO_ATTR_INSERTED_WINDOW_DIMS);
  hr_ints_t map = hlo_attr_ints(instr, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  *out = (placed_t){.update = 2};
  if (instr->operand_count != 3 || hlo_attr_ints(instr, HLO_ATTR_INPUT_BATCHING_DIMS).count ||
      !match_combiner(instr->called[0], &out->op))
    return false;
  const hlo_shape_t *update = instr->operands[2]->shape;
  int rank = 0;
  if (hlo_attr_ints(instr, HLO_ATTR_UPDATE_WINDOW_DIMS).count != update->rank) return false;
  for (int d = 0; d < instr->shape->rank; d++) {
    out->dims[d] = lists(inserted, d) ? -1 : rank++;
    out->sizes[d] = out->dims[d] < 0 ? 1 : update->dims[out->dims[d]];
  }
  for (int64_t c = 0; c < map.count; c++) {
    int d = (int)map.data[c];
    int64_t last = instr->shape->dims[d] - out->sizes[d];
    if (!known_index(instr->operands[1], c, &out->starts[d]) || out->starts[d] < 0 ||
        out->starts[d] > last)
      return false;
  }
  return true;
}

static bool match(const hlo_instr_t *instr, placed_t *out) {
  if (!hlo_shape_is_array(instr->shape)) return false;
  return instr->op == HLO_SCATTER ? match_scatter(instr, out) : match_update_slice(instr, out);
}

/* Does the update fill only a part of dimension d? */
static bool is_part(const hlo_instr_t *instr, const placed_t *placed, int d) {
  return placed->sizes[d] != instr->shape->dims[d];
}

hr_status_t spmd_rule_placed(spmd_lower_t *lower, const hlo_instr_t *instr,
                             const spmd_rule_t *other, const spmd_rule_t **out_rule) {
  placed_t placed;
  spmd_rule_maker_t maker;
  bool moves = false, matches = match(instr, &placed);
  *out_rule = other;
  for (int d = 0; matches && d < instr->shape->rank; d++)
    moves |= placed.dims[d] >= 0 && placed.sizes[d] > 1 && is_part(instr, &placed, d);
  if (!moves || (other && other->custom)) return NULL;
  HR_TRY(spmd_rule_begin(lower->arena, instr, instr->shape->rank, &maker));
  for (int d = 0; d < instr->shape->rank; d++) {
    bool part = placed.dims[d] >= 0 && is_part(instr, &placed, d);
    int factor = spmd_rule_factor(&maker, instr->shape->dims[d],
                                  part ? SPMD_PERMUTATION : SPMD_PASS_THROUGH);
    HR_TRY(spmd_rule_place(&maker, 0, d, factor));
    HR_TRY(spmd_rule_place(&maker, instr->operand_count, d, factor));
    if (placed.dims[d] >= 0) HR_TRY(spmd_rule_place(&maker, placed.update, placed.dims[d], factor));
  }
  maker.rule->alternative = other;
  *out_rule = maker.rule;
  return NULL;
}

/* What is placed in parts of `chunk` elements of the result. */
static spmd_window_t window_of(spmd_lower_t *lower, const placed_t *placed, int d, spmd_axes_t axes,
                               int64_t chunk) {
  spmd_reads_t reads = {.offset = -placed->starts[d], .step = 1, .footprint = 1, .dilation = 1};
  spmd_window_t window = {.d = placed->dims[d],
                          .axes = axes,
                          .size = placed->sizes[d],
                          .past = placed->sizes[d],
                          .is_halo = true};
  spmd_window_over(lower, &window, &reads, chunk);
  return window;
}

double spmd_placed_us(spmd_lower_t *lower, const hlo_instr_t *instr,
                      const spmd_sharding_t *const *tensors, int d) {
  placed_t placed;
  if (!match(instr, &placed) || placed.dims[d] < 0) return INFINITY;
  const spmd_sharding_t *cut = tensors[placed.update];
  const hlo_shape_t *update = instr->operands[placed.update]->shape;
  int64_t held = spmd_local_size(cut, placed.dims[d], placed.sizes[d]);
  spmd_window_t window = window_of(lower, &placed, d, cut->dims[placed.dims[d]].axes,
                                   spmd_local_size(tensors[0], d, instr->shape->dims[d]));
  return spmd_window_us(lower, &window, held, spmd_local_bytes(cut, update) / (double)held);
}

bool spmd_is_placed(const spmd_choice_t *choice) {
  const spmd_rule_t *rule = choice->rule;
  for (int f = 0; f < rule->factor_count; f++)
    if (rule->factors[f].kind == SPMD_PERMUTATION && choice->axes[f].count) return true;
  return false;
}

/* --- the local update --- */

/* The update with the operand's rank: sizes of 1 for inserted dimensions. */
static hlo_instr_t *with_all_dims(spmd_lower_t *lower, placed_t *placed, int rank, hlo_instr_t *x) {
  int64_t dims[HLO_MAX_RANK];
  for (int d = 0; d < rank && x; d++)
    dims[d] = placed->dims[d] < 0 ? 1 : x->shape->dims[placed->dims[d]];
  for (int d = 0; d < rank; d++) placed->dims[d] = d;
  return spmd_emit_reshape(&lower->emit, x, rank, dims);
}

/* The update along dimension d of the operand's part: fetched, or put in its place; contents
 * elsewhere are undefined. */
static hlo_instr_t *extend(spmd_lower_t *lower, const spmd_choice_t *choice, const placed_t *placed,
                           int d, int64_t chunk, bool is_window, hlo_instr_t *x) {
  spmd_emit_t *emit = &lower->emit;
  spmd_axes_t axes = choice->tensors[0]->dims[d].axes;
  if (!x) return NULL;
  if (axes.count && is_window) {
    spmd_window_t window = window_of(lower, placed, d, axes, chunk);
    window.x = x;
    return spmd_emit_window(lower, &window);
  }
  if (!axes.count)
    return spmd_emit_pad(emit, x, d, placed->starts[d],
                         chunk - placed->starts[d] - placed->sizes[d], 0, NULL);
  int64_t dims[HLO_MAX_RANK], map[HLO_MAX_RANK], rank = 0, sizes[HLO_MAX_RANK];
  for (int i = 0; i < x->shape->rank; i++) {
    dims[i] = i == d ? chunk : x->shape->dims[i];
    if (i != d) sizes[rank] = x->shape->dims[i], map[rank++] = i;
  }
  const hlo_shape_t *shape = spmd_emit_shape(emit, x->shape->dtype, x->shape->rank, dims);
  x = spmd_emit_reshape(emit, x, (int)rank, sizes);
  return x && shape ? hlo_build_broadcast(&emit->b, x, shape, (hr_ints_t){map, rank}) : NULL;
}

/* `inside` where dimension d is in the update, x elsewhere. */
static hlo_instr_t *select_along(spmd_lower_t *lower, const spmd_choice_t *choice,
                                 const placed_t *placed, int d, hlo_instr_t *inside,
                                 hlo_instr_t *x) {
  spmd_emit_t *emit = &lower->emit;
  hlo_instr_t *at = spmd_emit_positions(
      emit, x, d, spmd_part_start(lower, choice, 0, d, choice->instr->shape->dims[d]));
  if (!at) return NULL;
  hlo_instr_t *first = spmd_emit_fill_like(emit, spmd_emit_index(emit, placed->starts[d]), at);
  hlo_instr_t *end =
      spmd_emit_fill_like(emit, spmd_emit_index(emit, placed->starts[d] + placed->sizes[d]), at);
  hlo_instr_t *is_inside =
      hlo_build_binary(&emit->b, HLO_AND, hlo_build_compare(&emit->b, HLO_DIRECTION_GE, at, first),
                       hlo_build_compare(&emit->b, HLO_DIRECTION_LT, at, end));
  return hlo_build_select(&emit->b, is_inside, inside, x);
}

hlo_instr_t *spmd_lower_placed(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  bool is_window[HLO_MAX_RANK];
  placed_t placed;
  if (!match(instr, &placed)) return NULL;
  hlo_instr_t *x = spmd_chosen_operand(lower, choice, 0);
  hlo_instr_t *update = spmd_chosen_operand(lower, choice, placed.update);
  for (int d = 0; d < instr->shape->rank; d++) is_window[d] = placed.dims[d] >= 0;
  update = with_all_dims(lower, &placed, instr->shape->rank, update);
  for (int d = 0; d < instr->shape->rank && x; d++)
    if (is_part(instr, &placed, d))
      update = extend(lower, choice, &placed, d, x->shape->dims[d], is_window[d], update);
  if (placed.op != HLO_COPY) update = hlo_build_binary(&lower->emit.b, placed.op, x, update);
  for (int d = 0; d < instr->shape->rank && x; d++)
    if (is_part(instr, &placed, d)) update = select_along(lower, choice, &placed, d, update, x);
  return update;
}
