/* Select-and-scatter over dimensions that are cut. Each partition fetches the sources whose windows
 * overlap its part of the result, and all elements under these windows. It selects by itself and
 * scatters the sources that fall into its part:
 *
 *   elements  0 1 2 3 | 4 5 6 7       window 3, stride 2, no padding: sources s = 0, 1, 2
 *   windows   [0 1 2] s=0             part 0 takes s = 0, 1 and elements 0 .. 4
 *                 [2 3 4] s=1         part 1 takes s = 1, 2 and elements 2 .. 6
 *                     [4 5 6] s=2     element 4 may receive from s = 1 and s = 2, both are there
 *
 * Selection is a reduce-window of pairs (element, place), followed by a scatter:
 *   place = -1 for padding: it loses against every element, whatever the comparison returns
 *   place = -1 for windows of padding alone: scatter drops the source
 * Sources are scattered in the same order as in the global program, so that sums have the same
 * bits. Cost: windows across a border are selected on both sides of it. Dimensions with dilated
 * windows are not cut. */
#include <string.h>

#include "partition/lower/fetch_window.h"
#include "partition/lower/lower_ops.h"
#include "passes/cleanup/inline_calls.h"

static bool is_plain(const hlo_window_dim_t *dim) {
  return dim->size == 1 && dim->stride == 1 && !dim->pad_low && !dim->pad_high;
}

static bool is_dilated(const hlo_window_dim_t *dim) {
  return dim->base_dilation > 1 || dim->window_dilation > 1;
}

/* One factor per dimension, shared by operand, source and result, of the operand's size. */
hr_status_t spmd_rule_select_and_scatter(spmd_lower_t *lower, const hlo_instr_t *instr,
                                         const spmd_rule_t **out_rule) {
  spmd_rule_maker_t maker;
  const hlo_window_t *window = hlo_attr_window(instr);
  const hlo_shape_t *shape = instr->operands[0]->shape;
  HR_TRY(spmd_rule_begin(lower->arena, instr, 2 * shape->rank, &maker));
  for (int d = 0; d < shape->rank; d++) {
    bool plain = !window || is_plain(&window->dims[d]);
    spmd_factor_kind_t kind = plain ? SPMD_PASS_THROUGH : SPMD_PERMUTATION;
    if (window && is_dilated(&window->dims[d])) kind = SPMD_NEED_REPLICATION;
    int factor = spmd_rule_factor(&maker, shape->dims[d], kind);
    const int tensors[] = {0, 1, instr->operand_count};
    for (int t = 0; t < 3; t++) HR_TRY(spmd_rule_place(&maker, tensors[t], d, factor));
  }
  *out_rule = maker.rule;
  return NULL;
}

/* --- sources and elements of a part --- */

/* Ranges along one cut dimension. By part: starts of the fetched ranges; `offsets`: the first
 * fetched element relative to the part's own first element. */
typedef struct reach {
  bool cut;
  int64_t size, sources; /* global numbers of elements and sources */
  spmd_reach_t needs;
  int64_t *offsets;
} reach_t;

typedef struct selection {
  spmd_lower_t *lower;
  const spmd_choice_t *choice;
  const hlo_window_t *window;
  int rank;
  reach_t along[HLO_MAX_RANK];
} selection_t;

static bool find_reach(selection_t *sel, int d) {
  const hlo_window_dim_t *dim = &sel->window->dims[d];
  spmd_axes_t axes = sel->choice->tensors[0]->dims[d].axes;
  reach_t *reach = &sel->along[d];
  int64_t parts = spmd_axes_parts(axes);
  reach->size = sel->choice->instr->operands[0]->shape->dims[d];
  reach->sources = sel->choice->instr->operands[1]->shape->dims[d];
  reach->cut = parts > 1 && !is_plain(dim);
  if (!reach->cut) return true;
  int64_t chunk = spmd_local_size(sel->choice->tensors[0], d, reach->size);
  reach->offsets = spmd_window_starts(sel->lower, axes, 0, 0);
  if (!reach->offsets ||
      spmd_emit_failed(&sel->lower->emit, spmd_reach_of(sel->lower->arena, parts, chunk, dim->size,
                                                        dim->stride, dim->pad_low, &reach->needs)))
    return false;
  for (int64_t j = 0; j < parts; j++) reach->offsets[j] = reach->needs.starts[j] - j * chunk;
  return true;
}

/* Operand k with the window of every dimension that is cut. */
static hlo_instr_t *fetch(selection_t *sel, int k) {
  hlo_instr_t *x = spmd_chosen_operand(sel->lower, sel->choice, k);
  for (int d = 0; d < sel->rank && x; d++) {
    const reach_t *reach = &sel->along[d];
    int64_t size = k ? reach->sources : reach->size;
    if (!reach->cut) continue;
    spmd_window_t window = {.x = x,
                            .d = d,
                            .axes = sel->choice->tensors[k]->dims[d].axes,
                            .size = size,
                            .past = size,
                            .starts = k ? reach->needs.source_starts : reach->needs.starts,
                            .ends = k ? reach->needs.source_ends : reach->needs.ends,
                            .width = k ? reach->needs.source_width : reach->needs.width,
                            .dilation = 1};
    x = spmd_emit_window(sel->lower, &window);
  }
  return x;
}

/* --- selection --- */

static bool is_any(const hlo_instr_t *call, const void *context) {
  (void)call;
  (void)context;
  return true;
}

/* Makes the function (v, i), (w, j) -> the first pair, if it is an element and either wins the
 * comparison or the second is none; else the second. Padding has a negative place. */
static hlo_computation_t *make_body(selection_t *sel, hr_dtype_t type, hr_dtype_t places) {
  spmd_emit_t *emit = &sel->lower->emit;
  hlo_computation_t *body;
  hlo_instr_t *in[4];
  if (spmd_emit_failed(emit,
                       hlo_computation_add(emit->shared->module, HR_STR("select.spmd"), &body)))
    return NULL;
  hlo_builder_t b = hlo_builder_at(body, emit->b.line, emit->b.column);
  for (int k = 0; k < 4; k++)
    in[k] = hlo_build_parameter(&b, k, hlo_shape_scalar(k % 2 ? places : type));
  hlo_attr_t attr = hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1);
  hlo_instr_t *stays =
      hlo_build(&b, HLO_CALL, hlo_shape_scalar(HR_PRED), 2, (hlo_instr_t *[]){in[0], in[2]}, 1,
                &attr, 1, &sel->choice->instr->called[0]);
  hlo_instr_t *none = hlo_build_number(&b, 0, places);
  hlo_instr_t *is_first = hlo_build_compare(&b, HLO_DIRECTION_GE, in[1], none);
  hlo_instr_t *no_second = hlo_build_compare(&b, HLO_DIRECTION_LT, in[3], none);
  hlo_instr_t *keep =
      hlo_build_binary(&b, HLO_AND, is_first, hlo_build_binary(&b, HLO_OR, no_second, stays));
  hlo_instr_t *chosen[] = {hlo_build_select(&b, keep, in[0], in[2]),
                           hlo_build_select(&b, keep, in[1], in[3])};
  body->root = hlo_build_tuple(&b, 2, chosen);
  if (spmd_emit_failed(emit, hlo_builder_finish(&b)) ||
      spmd_emit_failed(emit, pass_inline(body, is_any, NULL)))
    return NULL;
  return body;
}

/* Row-major places of x's elements; -1 outside of the global array. */
static hlo_instr_t *make_places(selection_t *sel, const hlo_instr_t *x) {
  spmd_emit_t *emit = &sel->lower->emit;
  int64_t count = hlo_shape_elements(x->shape);
  hlo_attr_t attr = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, 0);
  const hlo_shape_t *flat = spmd_emit_shape(emit, emit->shared->index_type, 1, &count);
  hlo_instr_t *places = hlo_build(&emit->b, HLO_IOTA, flat, 0, NULL, 1, &attr, 0, NULL);
  places = spmd_emit_reshape(emit, places, sel->rank, x->shape->dims);
  for (int d = 0; d < sel->rank; d++) {
    const reach_t *reach = &sel->along[d];
    if (!reach->cut) continue;
    hlo_instr_t *offset =
        spmd_emit_table(emit, sel->choice->tensors[0]->dims[d].axes, reach->needs.starts);
    places = spmd_emit_mask(emit, places, d, offset, 0, reach->size, spmd_emit_index(emit, -1));
  }
  return places;
}

/* The place that each source's window selects. Padding of whole dimensions is the initial pair,
 * which loses, too. */
static hlo_instr_t *select_places(selection_t *sel, hlo_instr_t *x) {
  spmd_emit_t *emit = &sel->lower->emit;
  hlo_window_dim_t *dims;
  hlo_window_t *window;
  void *copy;
  if (!x || spmd_emit_failed(emit, HR_NEW(sel->lower->arena, &window)) ||
      spmd_emit_failed(emit, hr_arena_copy(sel->lower->arena, sel->window->dims,
                                           (size_t)sel->rank * sizeof *dims, &copy)))
    return NULL;
  dims = copy;
  *window = (hlo_window_t){sel->rank, dims};
  for (int d = 0; d < sel->rank; d++)
    if (sel->along[d].cut) dims[d].pad_low = dims[d].pad_high = 0;
  hr_dtype_t places = emit->shared->index_type;
  hlo_computation_t *body = make_body(sel, x->shape->dtype, places);
  hlo_instr_t *operands[] = {x, make_places(sel, x), hlo_build_number(&emit->b, 0, x->shape->dtype),
                             spmd_emit_index(emit, -1)};
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_WINDOW, .window = window},
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  if (!body) return NULL;
  hlo_instr_t *pairs =
      hlo_build(&emit->b, HLO_REDUCE_WINDOW, NULL, 4, operands, 2, attrs, 1, &body);
  hlo_instr_t *chosen = pairs ? hlo_build_element(&emit->b, pairs, 1) : NULL;
  for (int d = 0; d < sel->rank; d++) {
    const reach_t *reach = &sel->along[d];
    if (!reach->cut) continue;
    hlo_instr_t *offset =
        spmd_emit_table(emit, sel->choice->tensors[1]->dims[d].axes, reach->needs.source_starts);
    chosen = spmd_emit_mask(emit, chosen, d, offset, 0, reach->sources, spmd_emit_index(emit, -1));
  }
  return chosen;
}

/* --- scatter --- */

static hlo_instr_t *by_scalar(selection_t *sel, hlo_opcode_t op, hlo_instr_t *x, int64_t number) {
  spmd_emit_t *emit = &sel->lower->emit;
  return hlo_build_binary(&emit->b, op, x,
                          spmd_emit_fill_like(emit, spmd_emit_index(emit, number), x));
}

/* Converts row-major places within x to indices within the part, in a new last dimension; place -1
 * becomes index -1, out of bounds. */
static hlo_instr_t *indices_of(selection_t *sel, hlo_instr_t *places, const hlo_instr_t *x) {
  spmd_emit_t *emit = &sel->lower->emit;
  hlo_instr_t *parts[HLO_MAX_RANK];
  int64_t dims[HLO_MAX_RANK + 1], stride = hlo_shape_elements(x->shape);
  if (!places) return NULL;
  hlo_instr_t *none = spmd_emit_fill_like(emit, spmd_emit_index(emit, -1), places);
  hlo_instr_t *is_none =
      hlo_build_compare(&emit->b, HLO_DIRECTION_LT, places, by_scalar(sel, HLO_SUBTRACT, none, -1));
  memcpy(dims, places->shape->dims, (size_t)sel->rank * sizeof *dims);
  dims[sel->rank] = 1;
  for (int d = 0; d < sel->rank; d++) {
    const reach_t *reach = &sel->along[d];
    stride /= x->shape->dims[d];
    hlo_instr_t *at = by_scalar(sel, HLO_DIVIDE, places, stride);
    at = by_scalar(sel, HLO_REMAINDER, at, x->shape->dims[d]);
    if (reach->cut) {
      spmd_axes_t axes = sel->choice->tensors[0]->dims[d].axes;
      hlo_instr_t *offset = spmd_emit_table(emit, axes, reach->offsets);
      at = hlo_build_binary(&emit->b, HLO_ADD, at, spmd_emit_fill_like(emit, offset, at));
    }
    at = hlo_build_select(&emit->b, is_none, none, at);
    parts[d] = spmd_emit_reshape(emit, at, sel->rank + 1, dims);
  }
  return spmd_emit_concat(emit, sel->rank, parts, sel->rank);
}

/* Scatters single elements; the last dimension of the indices has the components. */
static hlo_instr_t *scatter(selection_t *sel, hlo_instr_t *into, hlo_instr_t *indices,
                            hlo_instr_t *source) {
  spmd_emit_t *emit = &sel->lower->emit;
  int64_t all[HLO_MAX_RANK];
  hlo_instr_t *operands[] = {into, indices, source};
  for (int d = 0; d < sel->rank; d++) all[d] = d;
  hlo_attr_t attrs[] = {
      hlo_attr_of_ints(&emit->b, HLO_ATTR_UPDATE_WINDOW_DIMS, 0, all),
      hlo_attr_of_ints(&emit->b, HLO_ATTR_INSERTED_WINDOW_DIMS, sel->rank, all),
      hlo_attr_of_ints(&emit->b, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, sel->rank, all),
      hlo_attr_of_int(HLO_ATTR_INDEX_VECTOR_DIM, sel->rank),
      hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  return hlo_build(&emit->b, HLO_SCATTER, into ? into->shape : NULL, 3, operands, 5, attrs, 1,
                   &sel->choice->instr->called[1]);
}

hlo_instr_t *spmd_lower_select_and_scatter(spmd_lower_t *lower, const spmd_choice_t *choice) {
  spmd_emit_t *emit = &lower->emit;
  selection_t sel = {.lower = lower,
                     .choice = choice,
                     .window = hlo_attr_window(choice->instr),
                     .rank = choice->instr->shape->rank};
  bool any = false;
  for (int d = 0; d < sel.rank && sel.window; d++) {
    if (!find_reach(&sel, d)) return NULL;
    any |= sel.along[d].cut;
  }
  if (!any) return spmd_emit_local(lower, choice);
  hlo_instr_t *x = fetch(&sel, 0), *source = fetch(&sel, 1);
  hlo_instr_t *init = spmd_chosen_operand(lower, choice, 2);
  const hlo_shape_t *shape = spmd_chosen_shape(lower, choice, 0);
  hlo_instr_t *places = select_places(&sel, x);
  if (!places || !source || !shape) return NULL;
  hlo_instr_t *into = hlo_build_broadcast(&emit->b, init, shape, (hr_ints_t){NULL, 0});
  return scatter(&sel, into, indices_of(&sel, places, x), source);
}
