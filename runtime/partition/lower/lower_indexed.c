/* Indexed operations. Indices are clamped, or tested, against global sizes; then the start of the
 * partition's part is subtracted.
 *
 *   dynamic-slice, gather   elements of other partitions are the identity of a sum: partial results
 *   dynamic-update-slice    an update for another partition lands in a margin
 *   scatter                 indices of other partitions are out of bounds, so dropped; windows of
 *                           several elements that cross a border write into a margin; if updates
 *                           are cut, only the first partition starts from the operand */
#include "partition/lower/lower_ops.h"
#include "passes/lib/pass_match.h"

/* Largest value of an integer type: an upper bound above it is not representable. */
static int64_t largest_of(hr_dtype_t dtype) {
  int bits = (int)hr_dtype_bytes(dtype) * 8;
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  return bits - is_signed >= 63 ? INT64_MAX : (INT64_C(1) << (bits - is_signed)) - 1;
}

/* Clamps indices of any integer type to low .. high and converts them to the offset type. */
static hlo_instr_t *clamp_index(spmd_lower_t *lower, hlo_instr_t *x, int64_t low, int64_t high) {
  spmd_emit_t *emit = &lower->emit;
  if (!x) return NULL;
  hr_dtype_t dtype = x->shape->dtype;
  if (hr_dtype_class(dtype) == HR_CLASS_SIGNED) {
    hlo_instr_t *least = hlo_build_number(&emit->b, (double)low, dtype);
    x = hlo_build_binary(&emit->b, HLO_MAXIMUM, x, spmd_emit_fill_like(emit, least, x));
  }
  if (high < largest_of(dtype)) {
    hlo_instr_t *most = hlo_build_number(&emit->b, (double)high, dtype);
    x = hlo_build_binary(&emit->b, HLO_MINIMUM, x, spmd_emit_fill_like(emit, most, x));
  }
  return hlo_build_convert(&emit->b, x, emit->shared->index_type);
}

static hlo_instr_t *minus(spmd_lower_t *lower, hlo_instr_t *x, hlo_instr_t *scalar) {
  return hlo_build_binary(&lower->emit.b, HLO_SUBTRACT, x,
                          spmd_emit_fill_like(&lower->emit, scalar, x));
}

static bool is_cut(const spmd_choice_t *choice, int tensor, int d) {
  return choice->tensors[tensor]->dims[d].axes.count > 0;
}

static bool lists(hr_ints_t list, int64_t value) {
  for (int64_t i = 0; i < list.count; i++)
    if (list.data[i] == value) return true;
  return false;
}

/* --- dynamic slice and update --- */

/* f32[16,5] -> f32[3,5] with rows over 8 parts: each part contributes the rows of the slice that it
 * holds, so that the rows are a reduction. Dimensions of unchanged size pass through. */
hr_status_t spmd_rule_dynamic_slice(spmd_lower_t *lower, const hlo_instr_t *instr,
                                    const spmd_rule_t **out_rule) {
  spmd_rule_maker_t maker;
  const hlo_shape_t *shape = instr->operands[0]->shape;
  int result = instr->operand_count;
  HR_TRY(spmd_rule_begin(lower->arena, instr, 2 * shape->rank, &maker));
  for (int d = 0; d < shape->rank; d++) {
    bool whole = shape->dims[d] == instr->shape->dims[d];
    int factor =
        spmd_rule_factor(&maker, shape->dims[d], whole ? SPMD_PASS_THROUGH : SPMD_REDUCTION);
    HR_TRY(spmd_rule_place(&maker, 0, d, factor));
    if (!whole) factor = spmd_rule_factor(&maker, instr->shape->dims[d], SPMD_NEED_REPLICATION);
    HR_TRY(spmd_rule_place(&maker, result, d, factor));
  }
  *out_rule = maker.rule;
  return NULL;
}

/* Example: 3 rows from row 5, parts of 2. Part 2 has rows 4 and 5, so its local start is 5 - 4 = 1
 * and it holds one of the three rows; part 3 holds the other two, with local start -1. */
hlo_instr_t *spmd_slice_held(spmd_lower_t *lower, const spmd_choice_t *choice, hlo_instr_t *x,
                             int d, hlo_instr_t *start, int64_t size) {
  int64_t whole = choice->instr->operands[0]->shape->dims[d];
  spmd_emit_t *emit = &lower->emit;
  if (!x) return NULL;
  int64_t chunk = x->shape->dims[d];
  hlo_instr_t *at = minus(lower, clamp_index(lower, start, 0, whole - size),
                          spmd_part_start(lower, choice, 0, d, whole));
  x = spmd_emit_pad(emit, x, d, size, size, 0, NULL);
  x = spmd_emit_dynamic_slice(emit, x, d, spmd_emit_add(emit, at, size), size);
  if (!x) return NULL;
  return spmd_emit_mask(emit, x, d, at, 0, chunk,
                        spmd_emit_identity(emit, HLO_ADD, x->shape->dtype));
}

/* Dimensions that are whole are sliced first, so that less is masked. */
hlo_instr_t *spmd_lower_dynamic_slice(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  hlo_instr_t *x = spmd_chosen_operand(lower, choice, 0);
  for (int cut = 0; cut < 2; cut++)
    for (int d = 0; d < instr->shape->rank && x; d++) {
      if (instr->shape->dims[d] == instr->operands[0]->shape->dims[d]) continue;
      if (is_cut(choice, 0, d) != cut) continue;
      hlo_instr_t *start = spmd_chosen_operand(lower, choice, 1 + d);
      x = cut ? spmd_slice_held(lower, choice, x, d, start, instr->shape->dims[d])
              : spmd_emit_dynamic_slice(&lower->emit, x, d, start, instr->shape->dims[d]);
    }
  return x;
}

/* Start indices get the offset type; they are zero for dimensions that the update fills. */
hlo_instr_t *spmd_lower_dynamic_update(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  spmd_emit_t *emit = &lower->emit;
  hlo_instr_t *operands[HLO_MAX_RANK + 2];
  if (spmd_is_placed(choice)) return spmd_lower_placed(lower, choice);
  hlo_instr_t *x = spmd_chosen_operand(lower, choice, 0);
  operands[1] = spmd_chosen_operand(lower, choice, 1);
  for (int d = 0; d < instr->shape->rank && x; d++) {
    int64_t whole = instr->shape->dims[d], size = instr->operands[1]->shape->dims[d];
    hlo_instr_t *start = spmd_chosen_operand(lower, choice, 2 + d);
    if (size == whole) {
      operands[2 + d] = spmd_emit_index(emit, 0);
      continue;
    }
    operands[2 + d] = clamp_index(lower, start, 0, whole - size);
    if (!is_cut(choice, 0, d)) continue;
    operands[2 + d] = spmd_emit_add(
        emit, minus(lower, operands[2 + d], spmd_part_start(lower, choice, 0, d, whole)), size);
    x = spmd_emit_pad(emit, x, d, size, size, 0, NULL);
  }
  operands[0] = x;
  if (x) x = spmd_emit_like(emit, instr, operands, x->shape);
  for (int d = 0; d < instr->shape->rank && x; d++) {
    int64_t size = instr->operands[1]->shape->dims[d];
    if (is_cut(choice, 0, d) && size != instr->shape->dims[d])
      x = spmd_emit_slice(emit, x, d, size, x->shape->dims[d] - 2 * size);
  }
  return x;
}

/* --- gather and scatter --- */

typedef struct indexing { /* how a gather or scatter gets from indices to places */
  const spmd_choice_t *choice;
  int indices;    /* tensor of the indices */
  hr_ints_t map;  /* operand dimension of each index component */
  int64_t vector; /* dimension of the components */
} indexing_t;

/* Column c of the indices; there is only one where they have no dimension for it. */
static hlo_instr_t *component(spmd_lower_t *lower, const indexing_t *of, hlo_instr_t *indices,
                              int64_t c) {
  if (!indices || of->vector == indices->shape->rank) return indices;
  return spmd_emit_slice(&lower->emit, indices, (int)of->vector, c, 1);
}

/* True if dimension d of operand 0 is cut and indexed (not taken whole). */
static bool is_indexed(const indexing_t *of, int64_t d, int64_t slice) {
  const hlo_shape_t *shape = of->choice->instr->operands[0]->shape;
  return is_cut(of->choice, 0, (int)d) && slice != shape->dims[d];
}

/* Concatenates the columns of the indices. */
static hlo_instr_t *join(spmd_lower_t *lower, const indexing_t *of, hlo_instr_t **parts) {
  if (of->map.count == 1) return parts[0];
  return spmd_emit_concat(&lower->emit, (int)of->map.count, parts, (int)of->vector);
}

/* By index of the component: true if it is within this partition's part. */
static hlo_instr_t *within(spmd_lower_t *lower, hlo_instr_t *x, int64_t chunk) {
  spmd_emit_t *emit = &lower->emit;
  hlo_instr_t *zero = spmd_emit_fill_like(emit, spmd_emit_index(emit, 0), x);
  hlo_instr_t *end = spmd_emit_fill_like(emit, spmd_emit_index(emit, chunk), x);
  return hlo_build_binary(&emit->b, HLO_AND, hlo_build_compare(&emit->b, HLO_DIRECTION_GE, x, zero),
                          hlo_build_compare(&emit->b, HLO_DIRECTION_LT, x, end));
}

/* Masks the result: the identity where the index is not in this partition's part. */
static hlo_instr_t *keep_held(spmd_lower_t *lower, const indexing_t *of, hlo_instr_t *held,
                              hlo_instr_t *x) {
  spmd_emit_t *emit = &lower->emit;
  hr_ints_t offset = hlo_attr_ints(of->choice->instr, HLO_ATTR_OFFSET_DIMS);
  int64_t sizes[HLO_MAX_RANK], dims[HLO_MAX_RANK], count = 0, rank = 0;
  if (!held || !x) return x;
  for (int d = 0; d < held->shape->rank; d++)
    if (d != of->vector) sizes[rank++] = held->shape->dims[d];
  for (int d = 0; d < x->shape->rank; d++)
    if (!lists(offset, d)) dims[count++] = d;
  held = spmd_emit_reshape(emit, held, (int)rank, sizes);
  const hlo_shape_t *shape = spmd_emit_shape(emit, HR_PRED, x->shape->rank, x->shape->dims);
  if (!held || !shape) return NULL;
  held = hlo_build_broadcast(&emit->b, held, shape, (hr_ints_t){dims, count});
  hlo_instr_t *identity = spmd_emit_identity(emit, HLO_ADD, x->shape->dtype);
  return hlo_build_select(&emit->b, held, x, spmd_emit_fill_like(emit, identity, x));
}

/* Indices are clamped to global sizes and made relative to the part's first row. Indices of other
 * parts read arbitrary rows, which are replaced by the identity. */
hlo_instr_t *spmd_lower_gather(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  const hlo_shape_t *whole = instr->operands[0]->shape;
  hr_ints_t slices = hlo_attr_ints(instr, HLO_ATTR_SLICE_SIZES);
  indexing_t of = {.choice = choice,
                   .indices = 1,
                   .map = hlo_attr_ints(instr, HLO_ATTR_START_INDEX_MAP),
                   .vector = hlo_attr_int(instr, HLO_ATTR_INDEX_VECTOR_DIM)};
  spmd_emit_t *emit = &lower->emit;
  int64_t sizes[HLO_MAX_RANK];
  hlo_instr_t *operands[2], *parts[HLO_MAX_RANK], *held = NULL;
  operands[0] = spmd_chosen_operand(lower, choice, 0);
  operands[1] = spmd_chosen_operand(lower, choice, 1);
  if (!operands[0] || !operands[1]) return NULL;
  for (int d = 0; d < whole->rank; d++)
    sizes[d] = slices.data[d] == whole->dims[d] ? operands[0]->shape->dims[d] : slices.data[d];
  for (int64_t c = 0; c < of.map.count; c++) {
    int64_t d = of.map.data[c], size = slices.data[d];
    parts[c] = clamp_index(lower, component(lower, &of, operands[1], c), 0, whole->dims[d] - size);
    if (!is_indexed(&of, d, size)) continue;
    parts[c] = minus(lower, parts[c], spmd_part_start(lower, choice, 0, (int)d, whole->dims[d]));
    hlo_instr_t *ok = within(lower, parts[c], operands[0]->shape->dims[d]);
    held = held ? hlo_build_binary(&emit->b, HLO_AND, held, ok) : ok;
  }
  if (of.map.count) operands[1] = join(lower, &of, parts);
  hlo_attr_t attr = hlo_attr_of_ints(&emit->b, HLO_ATTR_SLICE_SIZES, whole->rank, sizes);
  hlo_instr_t *x =
      spmd_emit_with(emit, instr, operands, spmd_chosen_shape(lower, choice, 0), &attr);
  return keep_held(lower, &of, held, x);
}

/* Makes indices in the padding of unevenly cut dimensions out of bounds. */
static hlo_instr_t *drop_padding(spmd_lower_t *lower, const indexing_t *of, hlo_instr_t *x) {
  const hlo_shape_t *shape = of->choice->instr->operands[of->indices]->shape;
  for (int d = 0; d < shape->rank && x; d++)
    if (d != of->vector)
      x = spmd_mask_padding(lower, x, d, of->choice->tensors[of->indices]->dims[d].axes,
                            shape->dims[d], spmd_emit_index(&lower->emit, -1));
  return x;
}

/* Elements of operand dimension d under the windows of a scatter's updates. */
static int64_t window_size(const hlo_instr_t *instr, int64_t d) {
  hr_ints_t inserted = hlo_attr_ints(instr, HLO_ATTR_INSERTED_WINDOW_DIMS);
  hr_ints_t batching = hlo_attr_ints(instr, HLO_ATTR_INPUT_BATCHING_DIMS);
  hr_ints_t window = hlo_attr_ints(instr, HLO_ATTR_UPDATE_WINDOW_DIMS);
  int64_t number = 0;
  if (lists(inserted, d) || lists(batching, d)) return 1;
  for (int64_t i = 0; i < d; i++) number += !lists(inserted, i) && !lists(batching, i);
  return instr->operands[(instr->operand_count - 1) / 2 + 1]->shape->dims[window.data[number]];
}

/* True if dimension d of the operands is cut, and windows take only a part of it. */
static bool crosses_parts(const spmd_choice_t *choice, int64_t d) {
  const hlo_instr_t *instr = choice->instr;
  bool mapped = lists(hlo_attr_ints(instr, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS), d);
  bool inserted = lists(hlo_attr_ints(instr, HLO_ATTR_INSERTED_WINDOW_DIMS), d);
  if (!mapped || !is_cut(choice, 0, (int)d)) return false;
  return inserted || window_size(instr, d) != instr->operands[0]->shape->dims[d];
}

/* Makes indices along dimension d relative to the part and its margin. Example: windows of 2, parts
 * of 3; index 2 is place 3 of part 0, whose margin has place 0, and place 0 of part 1. Indices out
 * of bounds would be places in the margin at either end, so they become -1. */
static hlo_instr_t *place_in_part(spmd_lower_t *lower, const spmd_choice_t *choice, int64_t d,
                                  hlo_instr_t *x) {
  spmd_emit_t *emit = &lower->emit;
  int64_t whole = choice->instr->operands[0]->shape->dims[d], size = window_size(choice->instr, d);
  hlo_instr_t *at = minus(lower, x, spmd_part_start(lower, choice, 0, (int)d, whole));
  if (size == 1 || !at) return at;
  hlo_instr_t *margin = spmd_emit_fill_like(emit, spmd_emit_index(emit, size - 1), at);
  at = hlo_build_binary(&emit->b, HLO_ADD, at, margin);
  return hlo_build_select(&emit->b, within(lower, x, whole - size + 1), at,
                          spmd_emit_fill_like(emit, spmd_emit_index(emit, -1), at));
}

/* Indices outside of the whole stay outside of every part: they are clamped to -1 and the first
 * invalid one, so that subtracting the part's start cannot wrap around. */
static hlo_instr_t *scatter_indices(spmd_lower_t *lower, const indexing_t *of) {
  const hlo_instr_t *instr = of->choice->instr;
  hlo_instr_t *x = spmd_chosen_operand(lower, of->choice, of->indices), *parts[HLO_MAX_RANK];
  for (int64_t c = 0; c < of->map.count; c++) {
    int64_t d = of->map.data[c], last = instr->operands[0]->shape->dims[d] - window_size(instr, d);
    parts[c] = clamp_index(lower, component(lower, of, x, c), -1, last + 1);
    if (crosses_parts(of->choice, d)) parts[c] = place_in_part(lower, of->choice, d, parts[c]);
  }
  return drop_padding(lower, of, of->map.count ? join(lower, of, parts) : x);
}

/* Adds (`cut`: removes) the margins of windows that may cross borders. */
static hlo_instr_t *with_margins(spmd_lower_t *lower, const spmd_choice_t *choice, bool cut,
                                 hlo_instr_t *x) {
  for (int d = 0; d < choice->instr->operands[0]->shape->rank && x; d++) {
    int64_t margin = crosses_parts(choice, d) ? window_size(choice->instr, d) - 1 : 0;
    if (!margin) continue;
    x = cut ? spmd_emit_slice(&lower->emit, x, d, margin, x->shape->dims[d] - 2 * margin)
            : spmd_emit_pad(&lower->emit, x, d, margin, margin, 0, NULL);
  }
  return x;
}

/* Operand k of a scatter. If each part has its own updates, only the first part starts from the
 * operand. */
static hlo_instr_t *scatter_into(spmd_lower_t *lower, const spmd_choice_t *choice, int k) {
  spmd_emit_t *emit = &lower->emit;
  hlo_opcode_t op = spmd_reducer_of(choice->instr);
  hlo_instr_t *x = spmd_chosen_operand(lower, choice, k);
  if (x && choice->reduced.count && !spmd_is_idempotent(op)) {
    hlo_instr_t *first =
        hlo_build_compare(&emit->b, HLO_DIRECTION_EQ, spmd_emit_coordinate(emit, choice->reduced),
                          spmd_emit_index(emit, 0));
    hlo_instr_t *identity = spmd_emit_identity(emit, op, x->shape->dtype);
    x = hlo_build_select(&emit->b, spmd_emit_fill_like(emit, first, x), x,
                         spmd_emit_fill_like(emit, identity, x));
  }
  return with_margins(lower, choice, false, x);
}

/* There are n operands, then the indices, then n updates. */
hlo_instr_t *spmd_lower_scatter(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *instr = choice->instr;
  spmd_emit_t *emit = &lower->emit;
  int n = (instr->operand_count - 1) / 2;
  indexing_t of = {.choice = choice,
                   .indices = n,
                   .map = hlo_attr_ints(instr, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
                   .vector = hlo_attr_int(instr, HLO_ATTR_INDEX_VECTOR_DIM)};
  hlo_instr_t **operands;
  if (spmd_is_placed(choice)) return spmd_lower_placed(lower, choice);
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(lower->arena, instr->operand_count, &operands)))
    return NULL;
  for (int k = 0; k < instr->operand_count; k++)
    operands[k] = k < n ? scatter_into(lower, choice, k) : spmd_chosen_operand(lower, choice, k);
  operands[n] = scatter_indices(lower, &of);
  if (!operands[0]) return NULL;
  hlo_instr_t *x = spmd_emit_like(emit, instr, operands, n == 1 ? operands[0]->shape : NULL);
  if (!x || n == 1) return with_margins(lower, choice, true, x);
  for (int k = 0; k < n; k++)
    operands[k] = with_margins(lower, choice, true, hlo_build_element(&emit->b, x, k));
  return hlo_build_tuple(&emit->b, n, operands);
}
