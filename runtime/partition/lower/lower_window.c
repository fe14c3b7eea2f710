/* Windows over dimensions that are cut. Every partition fetches the elements under the windows of
 * its results (spmd_emit_window), with padding and holes filled in, and then executes the operation
 * without padding. Cumulative reductions are scans (lower_scan.c).
 * In a convolution, feature dimensions are reductions. If the kernel is larger than the result
 * along a spatial dimension (a weight gradient), its parts stay and the input is fetched for them.
 * Not cut: such spatial dimensions of a reversed kernel. */
#include <string.h>

#include "partition/lower/comm_cost.h"
#include "partition/lower/fetch_window.h"
#include "partition/lower/lower_ops.h"
#include "passes/cleanup/inline_calls.h"
#include "passes/lib/pass_match.h"

/* Along dimension d of the tensor as it is chosen. */
static bool is_cut(const spmd_choice_t *choice, int tensor, int64_t d) {
  return choice->tensors[tensor]->dims[d].axes.count > 0;
}

/* Elements of one part. */
static int64_t chunk_of(const spmd_choice_t *choice, int tensor, int64_t d, int64_t size) {
  return spmd_local_size(choice->tensors[tensor], (int)d, size);
}

bool spmd_window_is_trivial(const hlo_window_dim_t *dim) {
  return dim->size == 1 && dim->stride == 1 && !dim->pad_low && !dim->pad_high &&
         dim->base_dilation == 1;
}

/* The window of elements under the windows of a part's results, along dimension d of operand k. */
static spmd_window_t covered(spmd_lower_t *lower, const spmd_choice_t *choice, int k, int d,
                             const hlo_window_dim_t *dim, int64_t chunk, hlo_instr_t *fill) {
  int64_t size = choice->instr->operands[k]->shape->dims[d];
  spmd_window_t window = {.d = d,
                          .axes = choice->tensors[k]->dims[d].axes,
                          .size = size,
                          .past = size,
                          .fill = fill,
                          .is_halo = true};
  spmd_reads_t reads = spmd_reads_of_window(dim);
  spmd_window_over(lower, &window, &reads, chunk);
  return window;
}

/* Fetches all windows, then fills in holes, so that holes are not sent. */
static hlo_instr_t *fetch_all(spmd_lower_t *lower, hlo_instr_t *x, int count,
                              spmd_window_t *windows) {
  for (int i = 0; i < count; i++) {
    windows[i].x = x;
    x = spmd_fetch_window(lower, &windows[i]);
  }
  for (int i = 0; i < count; i++) x = spmd_spread_window(lower, &windows[i], x);
  return x;
}

hlo_attr_t spmd_window_attr(spmd_lower_t *lower, int rank, const hlo_window_dim_t *dims) {
  hlo_window_t *window;
  void *copy;
  hlo_attr_t attr = {.key = HLO_ATTR_WINDOW};
  if (spmd_emit_failed(&lower->emit, HR_NEW(lower->arena, &window)) ||
      spmd_emit_failed(&lower->emit,
                       hr_arena_copy(lower->arena, dims, (size_t)rank * sizeof *dims, &copy)))
    return attr;
  *window = (hlo_window_t){rank, copy};
  attr.window = window;
  return attr;
}

/* Adapts a window dimension to a fetched window, which contains the padding. */
static void drop_padding(hlo_window_dim_t *dim) {
  dim->pad_low = dim->pad_high = 0;
  dim->base_dilation = 1;
}

/* --- reduce-window --- */

/* True if the dimension has places without an element. */
static bool is_padded(const hlo_window_dim_t *dim) {
  return dim->pad_low > 0 || dim->pad_high > 0 || dim->base_dilation > 1;
}

/* True if initial values in place of elements that are not there change nothing. */
static bool has_neutral_init(const hlo_instr_t *instr) {
  hlo_opcode_t op;
  return instr->operand_count == 2 && pass_body_is_binary(instr->called[0], &op) &&
         pass_is_neutral(op, instr->operands[1]);
}

/* The operation skips places without an element. Fetched windows have the initial value there,
 * which must be the identity; else places beyond the ends are masked, but not those of dilation. */
bool spmd_can_cut_window(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor) {
  const hlo_window_t *window = hlo_attr_window(instr);
  for (int d = 0; d < window->rank; d++)
    for (int i = 0; i < rule->tensors[0].dims[d].count; i++)
      if (rule->tensors[0].dims[d].factors[i] == factor)
        return window->dims[d].base_dilation == 1 || has_neutral_init(instr);
  return false;
}

/* --- windows whose places are masked --- */

static bool is_any(const hlo_instr_t *call, const void *context) {
  (void)call;
  (void)context;
  return true;
}

/* Makes the function (a..., is_a), (b..., is_b) -> f(a..., b...) if both are there, else the one
 * that is; f is the function of `n` arrays of a reduce-window. */
static hlo_computation_t *masked_body(spmd_lower_t *lower, const hlo_instr_t *instr, int n) {
  spmd_emit_t *emit = &lower->emit;
  const hlo_computation_t *f = instr->called[0];
  hlo_computation_t *body;
  hlo_instr_t **in, **args, **out;
  if (spmd_emit_failed(emit,
                       hlo_computation_add(emit->shared->module, HR_STR("window.spmd"), &body)) ||
      spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, 2 * n + 2, &in)) ||
      spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, 2 * n, &args)) ||
      spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, n + 1, &out)))
    return NULL;
  hlo_builder_t b = hlo_builder_at(body, emit->b.line, emit->b.column);
  for (int k = 0; k < 2 * n + 2; k++) {
    int array = k % (n + 1);
    hr_dtype_t type = array == n ? HR_PRED : f->params.data[array]->shape->dtype;
    in[k] = hlo_build_parameter(&b, k, hlo_shape_scalar(type));
    if (array < n) args[k < n ? k : k - 1] = in[k];
  }
  hlo_attr_t attr = hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1);
  hlo_instr_t *both =
      hlo_build(&b, HLO_CALL, f->root->shape, 2 * n, args, 1, &attr, 1, &instr->called[0]);
  for (int k = 0; k < n; k++) {
    hlo_instr_t *x = hlo_shape_is_tuple(f->root->shape) ? hlo_build_element(&b, both, k) : both;
    x = hlo_build_select(&b, in[n], x, in[n + 1 + k]);
    out[k] = hlo_build_select(&b, in[2 * n + 1], x, in[k]);
  }
  out[n] = hlo_build_binary(&b, HLO_OR, in[n], in[2 * n + 1]);
  body->root = hlo_build_tuple(&b, n + 1, out);
  if (spmd_emit_failed(emit, hlo_builder_finish(&b)) ||
      spmd_emit_failed(emit, pass_inline(body, is_any, NULL)))
    return NULL;
  return body;
}

/* Reduces fetched windows by a function that skips places outside of the array. `operands`: n
 * fetched arrays, then initial values; windows: those of the first array. */
static hlo_instr_t *reduce_masked(spmd_lower_t *lower, const spmd_choice_t *choice,
                                  hlo_instr_t **operands, int cut, const spmd_window_t *windows,
                                  const hlo_attr_t *window) {
  spmd_emit_t *emit = &lower->emit;
  int n = choice->instr->operand_count / 2;
  hlo_instr_t **all;
  hlo_computation_t *body = masked_body(lower, choice->instr, n);
  if (!body || !operands[0] || spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, 2 * n + 2, &all)))
    return NULL;
  const hlo_shape_t *shape = operands[0]->shape;
  hlo_instr_t *yes = hlo_build_number(&emit->b, 1, HR_PRED);
  hlo_instr_t *no = hlo_build_number(&emit->b, 0, HR_PRED);
  hlo_instr_t *there = spmd_emit_fill_like(emit, yes, operands[0]);
  for (int i = 0; i < cut; i++)
    there = spmd_emit_mask(emit, there, windows[i].d,
                           spmd_emit_table(emit, windows[i].axes, windows[i].starts), 0,
                           windows[i].size, no);
  if (!there || !shape) return NULL;
  for (int k = 0; k < n; k++) {
    all[k] = operands[k];
    all[n + 1 + k] = operands[n + k];
  }
  all[n] = there;
  all[2 * n + 1] = yes;
  hlo_attr_t attrs[] = {*window, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  hlo_instr_t *x = hlo_build(&emit->b, HLO_REDUCE_WINDOW, NULL, 2 * n + 2, all, 2, attrs, 1, &body);
  for (int k = 0; k < n && x; k++) all[k] = hlo_build_element(&emit->b, x, k);
  if (!x || n == 1) return x ? all[0] : NULL;
  return hlo_build_tuple(&emit->b, n, all);
}

/* A single cumulative dimension is scanned. Other dimensions fetch their windows one after another,
 * the later ones including the halos of the earlier. */
hlo_instr_t *spmd_lower_reduce_window(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  const hlo_window_t *window = hlo_attr_window(instr);
  int count = instr->operand_count / 2;
  hlo_window_dim_t dims[HLO_MAX_RANK];
  hlo_instr_t **operands;
  bool fetched[HLO_MAX_RANK] = {false}, padded = false;
  spmd_window_t windows[HLO_MAX_RANK];
  int cut = 0;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, 2 * count, &operands))) return NULL;
  for (int k = 0; k < 2 * count; k++) operands[k] = spmd_chosen_operand(lower, choice, k);
  memcpy(dims, window->dims, (size_t)window->rank * sizeof *dims);
  for (int d = 0; d < window->rank; d++) {
    if (!is_cut(choice, 0, d) || spmd_window_is_trivial(&dims[d])) continue;
    if (spmd_is_scan(lower, instr, d)) return spmd_lower_scan(lower, choice, d, operands);
    fetched[d] = true;
    padded |= is_padded(&dims[d]);
    drop_padding(&dims[d]);
  }
  for (int k = count; k-- > 0;) {
    cut = 0;
    for (int d = 0; d < window->rank; d++) {
      if (!fetched[d]) continue;
      int64_t chunk = chunk_of(choice, 2 * count, d, hlo_shape_leaf(instr->shape, 0)->dims[d]);
      windows[cut++] = covered(lower, choice, k, d, &window->dims[d], chunk, operands[count + k]);
    }
    operands[k] = fetch_all(lower, operands[k], cut, windows);
  }
  hlo_attr_t attr = spmd_window_attr(lower, window->rank, dims);
  if (padded && !has_neutral_init(instr))
    return reduce_masked(lower, choice, operands, cut, windows, &attr);
  return spmd_emit_with(&lower->emit, instr, operands, NULL, &attr);
}

/* --- convolution --- */

/* True if the kernel is larger than the result along spatial dimension i: then its parts stay. */
static bool kernel_stays(const hlo_instr_t *instr, int i) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  hlo_window_dim_t dim = spmd_spatial_window(instr, i);
  return dim.size > instr->shape->dims[labels->out_spatial[i]] && dim.size > 1 && !dim.reversal;
}

/* Adds spatial factors: either of input and result (whole kernel), or a reduction of input and
 * kernel (whole result). */
static hr_status_t spatial_factors(spmd_rule_maker_t *maker, const hlo_instr_t *instr) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  for (int i = 0; i < labels->spatial_rank; i++) {
    int lhs = (int)labels->lhs_spatial[i], rhs = (int)labels->rhs_spatial[i];
    int out = (int)labels->out_spatial[i];
    bool stays = kernel_stays(instr, i);
    int moved = spmd_rule_factor(maker, instr->operands[0]->shape->dims[lhs],
                                 stays ? SPMD_REDUCTION : SPMD_PERMUTATION);
    int whole = spmd_rule_factor(
        maker, stays ? instr->shape->dims[out] : instr->operands[1]->shape->dims[rhs],
        SPMD_NEED_REPLICATION);
    HR_TRY(spmd_rule_place(maker, 0, lhs, moved));
    HR_TRY(spmd_rule_place(maker, 1, rhs, stays ? moved : whole));
    HR_TRY(spmd_rule_place(maker, 2, out, stays ? whole : moved));
  }
  return NULL;
}

typedef struct conv_place { /* where a factor goes: a dimension per tensor, -1: none */
  int64_t size;
  spmd_factor_kind_t kind;
  int64_t dims[3];
  bool even; /* cut into equal parts only */
} conv_place_t;

/* Ignores factors of size 1. */
static hr_status_t place_factor(spmd_rule_maker_t *maker, const conv_place_t *place) {
  if (place->size == 1) return NULL;
  int factor = spmd_rule_factor(maker, place->size, place->kind);
  maker->factors[factor].even = place->even;
  for (int t = 0; t < 3; t++)
    if (place->dims[t] >= 0) HR_TRY(spmd_rule_place(maker, t, (int)place->dims[t], factor));
  return NULL;
}

/* The groups are the major factor of the dimensions that they divide. */
hr_status_t spmd_rule_convolution(spmd_lower_t *lower, const hlo_instr_t *instr,
                                  const spmd_rule_t **out_rule) {
  const hlo_dim_labels_t *l = hlo_attr_labels(instr);
  const int64_t *lhs = instr->operands[0]->shape->dims, *rhs = instr->operands[1]->shape->dims;
  int64_t groups = hlo_attr_int(instr, HLO_ATTR_FEATURE_GROUP_COUNT);
  int64_t batches = hlo_attr_int(instr, HLO_ATTR_BATCH_GROUP_COUNT);
  spmd_rule_maker_t maker;
  HR_TRY(spmd_rule_begin(lower->arena, instr, 8 + 2 * l->spatial_rank, &maker));
  const conv_place_t places[] = {
      {batches, SPMD_PASS_THROUGH, {l->lhs_batch, l->rhs_output_feature, l->out_feature}, true},
      {lhs[l->lhs_batch] / batches, SPMD_PASS_THROUGH, {l->lhs_batch, -1, l->out_batch}, false},
      {groups, SPMD_PASS_THROUGH, {l->lhs_feature, l->rhs_output_feature, l->out_feature}, true},
      {rhs[l->rhs_input_feature],
       SPMD_REDUCTION,
       {l->lhs_feature, l->rhs_input_feature, -1},
       false},
      {rhs[l->rhs_output_feature] / (groups * batches),
       SPMD_PASS_THROUGH,
       {-1, l->rhs_output_feature, l->out_feature},
       false},
  };
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    HR_TRY(place_factor(&maker, &places[i]));
  HR_TRY(spatial_factors(&maker, instr));
  *out_rule = maker.rule;
  return NULL;
}

/* The window of input elements that a part of the kernel is multiplied with, for all results. */
static spmd_window_t met_by_kernel(spmd_lower_t *lower, const spmd_choice_t *choice, int i,
                                   const hlo_window_dim_t *dim, int64_t taps, hlo_instr_t *zero) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(choice->instr);
  int d = (int)labels->lhs_spatial[i];
  int64_t size = choice->instr->operands[0]->shape->dims[d];
  int64_t results = choice->instr->shape->dims[labels->out_spatial[i]];
  spmd_window_t window = {
      .d = d,
      .axes = choice->tensors[0]->dims[d].axes,
      .size = size,
      .past = size,
      .width = (results - 1) * dim->stride + (taps - 1) * dim->window_dilation + 1,
      .dilation = dim->base_dilation,
      .fill = zero};
  window.starts =
      spmd_window_starts(lower, window.axes, -dim->pad_low, taps * dim->window_dilation);
  return window;
}

/* Appends the window of the input along spatial dimension i, if it is cut. The fetched input
 * contains the padding, so that of `dim` becomes 0. */
static void add_spatial(spmd_lower_t *lower, const spmd_choice_t *choice, int i,
                        hlo_window_dim_t *dim, hlo_instr_t *zero, spmd_window_t *windows,
                        int *count) {
  const hlo_instr_t *instr = choice->instr;
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  int64_t lhs = labels->lhs_spatial[i], rhs = labels->rhs_spatial[i], out = labels->out_spatial[i];
  if (!is_cut(choice, 0, lhs)) return;
  if (kernel_stays(instr, i)) {
    dim->size = chunk_of(choice, 1, rhs, instr->operands[1]->shape->dims[rhs]);
    windows[(*count)++] = met_by_kernel(lower, choice, i, dim, dim->size, zero);
  } else if (!spmd_window_is_trivial(dim)) {
    int64_t chunk = chunk_of(choice, 2, out, instr->shape->dims[out]);
    windows[(*count)++] = covered(lower, choice, 0, (int)lhs, dim, chunk, zero);
  }
  drop_padding(dim);
}

/* Number of groups that remain on one partition. */
static hlo_attr_t local_groups(const spmd_choice_t *choice, hlo_attr_key_t key, int64_t d) {
  int64_t groups = hlo_attr_int(choice->instr, key), parts = spmd_chosen_parts(choice, 0, (int)d);
  int64_t left = groups > 1 && parts > groups ? 1 : groups;
  if (groups > 1 && parts <= groups) left = groups / parts;
  return hlo_attr_of_int(key, left);
}

/* Padding of uneven features is masked in both operands, as 0 times infinity is not 0. */
hlo_instr_t *spmd_lower_convolution(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  const hlo_dim_labels_t *labels = hlo_attr_labels(instr);
  hlo_window_dim_t dims[HLO_MAX_RANK];
  hlo_attr_t *attrs;
  hlo_instr_t *operands[2], *zero[2];
  spmd_window_t windows[HLO_MAX_RANK];
  int count = 0;
  for (int k = 0; k < 2; k++) {
    zero[k] = hlo_build_number(&lower->emit.b, 0, instr->operands[k]->shape->dtype);
    operands[k] = spmd_masked_operand(lower, choice, k, HLO_ADD, zero[k]);
  }
  for (int i = 0; i < labels->spatial_rank; i++) {
    dims[i] = spmd_spatial_window(instr, i);
    add_spatial(lower, choice, i, &dims[i], zero[0], windows, &count);
  }
  operands[0] = fetch_all(lower, operands[0], count, windows);
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, instr->attr_count + 3, &attrs)))
    return NULL;
  count = 0;
  for (int i = 0; i < instr->attr_count; i++) {
    int key = instr->attrs[i].key;
    bool replaced = key == HLO_ATTR_WINDOW || key == HLO_ATTR_FEATURE_GROUP_COUNT ||
                    key == HLO_ATTR_BATCH_GROUP_COUNT;
    if (!replaced) attrs[count++] = instr->attrs[i];
  }
  attrs[count++] = spmd_window_attr(lower, labels->spatial_rank, dims);
  attrs[count++] = local_groups(choice, HLO_ATTR_FEATURE_GROUP_COUNT, labels->lhs_feature);
  attrs[count++] = local_groups(choice, HLO_ATTR_BATCH_GROUP_COUNT, labels->lhs_batch);
  return hlo_build(&lower->emit.b, HLO_CONVOLUTION, spmd_chosen_shape(lower, choice, 0), 2,
                   operands, count, attrs, 0, NULL);
}
