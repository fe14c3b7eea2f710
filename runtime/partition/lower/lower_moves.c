/* Slice, pad and reverse. Along a dimension that is cut and changes, every partition fetches the
 * range of the operand that its part of the result comes from; along the others the operation is
 * local. */
#include "partition/lower/lower_ops.h"
#include "partition/lower/fetch_window.h"
#include "passes/lib/pass_match.h"

/* Does a slice take dimension d as it is? */
static bool takes_all(const hlo_instr_t *slice, int d) {
  const hlo_slice_dim_t *dim = &hlo_attr_slice(slice)->dims[d];
  return dim->start == 0 && dim->stride == 1 && dim->limit == slice->operands[0]->shape->dims[d];
}

int spmd_run_dim(const hlo_instr_t *slice) {
  int found = -1;
  for (int d = 0; d < slice->shape->rank; d++) {
    if (takes_all(slice, d)) continue;
    if (found >= 0 || hlo_attr_slice(slice)->dims[d].stride != 1) return -1;
    found = d;
  }
  return found;
}

const hlo_instr_t *spmd_padded_slice(const spmd_lower_t *lower, const hlo_instr_t *pad,
                                     const spmd_sharding_t *sharding) {
  const hlo_instr_t *slice = pad->operands[0];
  int d = pad->op == HLO_PAD && slice->op == HLO_SLICE ? spmd_run_dim(slice) : -1;
  if (d < 0 || lower->uses[slice->id] != 1 || hlo_attr_padding(pad)->dims[d].interior) return NULL;
  return sharding->dims[d].axes.count ? slice : NULL;
}

/* Operand k of a concatenation if it is a slice along the concatenated dimension, and `sharding`
 * cuts that; else NULL. */
static const hlo_instr_t *cut_piece(const hlo_instr_t *instr, int k,
                                    const spmd_sharding_t *sharding) {
  int d = (int)hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
  const hlo_instr_t *operand = instr->operands[k];
  bool is_piece = operand->op == HLO_SLICE && spmd_run_dim(operand) == d;
  return is_piece && sharding->dims[d].axes.count ? operand : NULL;
}

const hlo_instr_t *spmd_reader_of(const spmd_lower_t *lower, const hlo_instr_t *instr, int k,
                                  const spmd_sharding_t *const *shardings, int *out_k) {
  const hlo_instr_t *slice = NULL;
  if (instr->op == HLO_CONCATENATE) slice = cut_piece(instr, k, shardings[k]);
  if (instr->op == HLO_PAD && k == 0) slice = spmd_padded_slice(lower, instr, shardings[0]);
  *out_k = slice ? 0 : k;
  return slice ? slice : instr;
}

bool spmd_window_along(spmd_lower_t *lower, const hlo_instr_t *instr, int r,
                       const spmd_sharding_t *sharding, int d, int64_t chunk,
                       spmd_window_t *out_window) {
  const hlo_instr_t *slice = spmd_padded_slice(lower, instr, sharding);
  int64_t size = instr->operands[r]->shape->dims[d];
  spmd_window_t window = {.d = d, .axes = sharding->dims[d].axes, .size = size, .past = size};
  spmd_reads_t reads;
  if (!spmd_reads_along(instr, d, &reads)) return false;
  if (slice && !takes_all(slice, d)) {
    window.first = hlo_attr_slice(slice)->dims[d].start;
    window.past = hlo_attr_slice(slice)->dims[d].limit;
    window.size = slice->operands[0]->shape->dims[d];
    reads.offset += window.first;
  }
  window.is_halo = instr->op != HLO_REVERSE;
  spmd_window_over(lower, &window, &reads, chunk);
  *out_window = window;
  return true;
}

/* Elements of the result that one part has along d. */
static int64_t result_chunk(const spmd_choice_t *choice, int d) {
  const spmd_sharding_t *sharding = choice->tensors[choice->rule->operand_count];
  return spmd_local_size(sharding, d, choice->instr->shape->dims[d]);
}

/* What this partition's part of the result reads along d of x. */
static hlo_instr_t *window_along(spmd_lower_t *lower, const spmd_choice_t *choice, hlo_instr_t *x,
                                 int d, hlo_instr_t *fill) {
  spmd_window_t window;
  if (!spmd_window_along(lower, choice->instr, 0, choice->tensors[0], d, result_chunk(choice, d),
                         &window))
    return NULL;
  window.x = x;
  window.fill = fill;
  return spmd_emit_window(lower, &window);
}

/* The operand, and with it the result: both have one factor. */
static bool is_cut(const spmd_choice_t *choice, int d) {
  return choice->tensors[0]->dims[d].axes.count > 0;
}

/* True if the result of a slice is whole along d, to which each part contributes what it has. */
static bool is_held(const spmd_choice_t *choice, int d) {
  int factor = choice->rule->tensors[0].dims[d].factors[0];
  return is_cut(choice, d) && choice->rule->factors[factor].kind == SPMD_REDUCTION;
}

/* Does the slice cut off what the pad puts on along d, where parts would have to fetch it? */
static bool cuts_pad(const spmd_choice_t *choice, int d) {
  const hlo_padding_dim_t *dim = &hlo_attr_padding(choice->instr->operands[0])->dims[d];
  return (dim->low || dim->high) && is_cut(choice, d) && !is_held(choice, d);
}

/* The pad that a slice cuts from, if both together are windows of what is padded: without holes. */
static const hlo_instr_t *sliced_pad(const spmd_choice_t *choice) {
  const hlo_instr_t *pad = choice->instr->operands[0];
  bool cuts = false;
  if (pad->op != HLO_PAD) return NULL;
  const hlo_padding_t *padding = hlo_attr_padding(pad);
  for (int d = 0; d < padding->rank; d++) {
    if (padding->dims[d].interior || is_held(choice, d)) return NULL;
    cuts |= cuts_pad(choice, d);
  }
  return cuts ? pad : NULL;
}

/* A slice of a padded array as windows of the array itself: x[1:] of it is one window, and what is
 * cut off again is never fetched. The parts of the pad, which has another size, are never made if
 * it has no other users. */
static hlo_instr_t *slice_pad(spmd_lower_t *lower, const spmd_choice_t *choice,
                              const hlo_instr_t *pad) {
  hlo_instr_t *x = spmd_use(lower, spmd_operand(lower, pad, 0), choice->tensors[0]);
  hlo_instr_t *fill = spmd_use_whole(lower, spmd_operand(lower, pad, 1));
  for (int d = 0; d < pad->shape->rank && x; d++) {
    const hlo_slice_dim_t *dim = &hlo_attr_slice(choice->instr)->dims[d];
    const hlo_padding_dim_t *ends = &hlo_attr_padding(pad)->dims[d];
    int64_t chunk = result_chunk(choice, d), size = pad->operands[0]->shape->dims[d];
    if (!is_cut(choice, d)) {
      x = spmd_emit_pad(&lower->emit, x, d, ends->low, ends->high, 0, fill);
      x = spmd_emit_strided(&lower->emit, x, d, dim->start, dim->limit, dim->stride);
      continue;
    }
    spmd_window_t window = {.x = x,
                            .d = d,
                            .axes = choice->tensors[0]->dims[d].axes,
                            .size = size,
                            .past = size,
                            .width = (chunk - 1) * dim->stride + 1,
                            .dilation = 1,
                            .fill = fill};
    window.starts =
        spmd_window_starts(lower, window.axes, dim->start - ends->low, chunk * dim->stride);
    x = spmd_emit_strided(&lower->emit, spmd_emit_window(lower, &window), d, 0, window.width,
                          dim->stride);
  }
  return x;
}

/* 8 elements in 4 parts of 2, [1:8:2]: part j of the result has one element, 1 + 2j, which is its
 * own second one. Nothing moves. */
hlo_instr_t *spmd_lower_slice(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *pad = sliced_pad(choice);
  if (pad) return slice_pad(lower, choice, pad);
  hlo_instr_t *x = spmd_chosen_operand(lower, choice, 0);
  const hlo_slice_t *slice = hlo_attr_slice(choice->instr);
  for (int d = 0; d < slice->rank && x; d++) {
    const hlo_slice_dim_t *dim = &slice->dims[d];
    if (takes_all(choice->instr, d)) continue;
    if (!is_cut(choice, d)) {
      x = spmd_emit_strided(&lower->emit, x, d, dim->start, dim->limit, dim->stride);
      continue;
    }
    x = is_held(choice, d)
            ? spmd_slice_held(lower, choice, x, d, spmd_emit_index(&lower->emit, dim->start),
                              (choice->instr->shape->dims[d] - 1) * dim->stride + 1)
            : window_along(lower, choice, x, d, NULL);
    if (x) x = spmd_emit_strided(&lower->emit, x, d, 0, x->shape->dims[d], dim->stride);
  }
  return x;
}

/* A window that begins low elements earlier; negative amounts begin later. Holes between elements
 * are a dilation. */
hlo_instr_t *spmd_lower_pad(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *slice = spmd_padded_slice(lower, choice->instr, choice->tensors[0]);
  hlo_instr_t *x =
      spmd_use(lower, spmd_operand(lower, slice ? slice : choice->instr, 0), choice->tensors[0]);
  hlo_instr_t *fill = spmd_chosen_operand(lower, choice, 1);
  const hlo_padding_t *padding = hlo_attr_padding(choice->instr);
  for (int d = 0; d < padding->rank && x; d++) {
    const hlo_padding_dim_t *dim = &padding->dims[d];
    if (!is_cut(choice, d)) {
      x = spmd_emit_pad(&lower->emit, x, d, dim->low, dim->high, dim->interior, fill);
      continue;
    }
    if (!dim->low && !dim->high && !dim->interior) continue;
    x = window_along(lower, choice, x, d, fill);
  }
  return x;
}

/* Part j of x becomes part n - 1 - j along d. */
static hlo_instr_t *mirror_parts(spmd_lower_t *lower, hlo_instr_t *x, spmd_axes_t axes) {
  int64_t parts = spmd_axes_parts(axes), *sources;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, parts, &sources))) return NULL;
  for (int64_t j = 0; j < parts; j++) sources[j] = parts - 1 - j;
  return spmd_send_round(lower, axes, &(spmd_round_t){.sources = sources}, x);
}

/* Part j of the result is part n - 1 - j, turned round. Uneven sizes shift it by the padding, so
 * that its elements may come from two parts. */
hlo_instr_t *spmd_lower_reverse(spmd_lower_t *lower, const spmd_choice_t *choice) {
  hlo_instr_t *x = spmd_chosen_operand(lower, choice, 0);
  hr_ints_t dims = hlo_attr_ints(choice->instr, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count && x; i++) {
    int d = (int)dims.data[i];
    if (!is_cut(choice, d)) continue;
    bool even = choice->instr->shape->dims[d] % spmd_chosen_parts(choice, 0, d) == 0;
    x = even ? mirror_parts(lower, x, choice->tensors[0]->dims[d].axes)
             : window_along(lower, choice, x, d, NULL);
  }
  return x ? spmd_emit_like(&lower->emit, choice->instr, &x, x->shape) : NULL;
}
