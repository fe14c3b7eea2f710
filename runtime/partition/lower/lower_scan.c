/* Cumulative reductions, windows that grow with the result's index. Every partition scans its part
 * and combines it with the total of the parts before it, for which the parts' totals are gathered.
 */
#include <string.h>

#include "partition/lower/comm_cost.h"
#include "partition/lower/fetch_window.h"
#include "partition/lower/lower_ops.h"
#include "passes/lib/pass_evaluate.h"
#include "passes/lib/pass_match.h"

/* True if result i reduces all elements up to i (`backward`: from i on). */
static bool is_cumulative(const hlo_instr_t *instr, int d, bool *out_backward) {
  const hlo_window_dim_t *dim = &hlo_attr_window(instr)->dims[d];
  int64_t size = instr->operands[0]->shape->dims[d];
  *out_backward = dim->pad_high == size - 1 && dim->pad_low == 0;
  bool forward = dim->pad_low == size - 1 && dim->pad_high == 0;
  return size > 1 && (forward || *out_backward) && dim->size == size && dim->stride == 1 &&
         dim->base_dilation == 1 && dim->window_dilation == 1;
}

/* A scalar whose bytes are all `byte`. NULL: no memory. */
static hlo_value_t *filled_scalar(spmd_lower_t *lower, hr_dtype_t dtype, int byte) {
  hlo_value_t *value = NULL;
  if (spmd_emit_failed(&lower->emit, hlo_value_array(dtype, 0, NULL, &value))) return NULL;
  memset(value->data, byte, hlo_value_bytes(value));
  return value;
}

/* True if f(args[0], args[1]) has the bits of `want`. */
static bool gives(spmd_lower_t *lower, const hlo_instr_t *call, hlo_value_t *const *args,
                  const hlo_value_t *want) {
  hlo_value_t *result = NULL;
  if (spmd_emit_failed(&lower->emit, pass_evaluate(call, args, &result)) || !result) return false;
  bool same = hlo_value_equal(result, want);
  hlo_value_release(result);
  return same;
}

/* True if f(x, init) and f(init, x) are x for the scalar of these bytes. */
static bool keeps_scalar(spmd_lower_t *lower, const hlo_instr_t *call, hlo_value_t *init,
                         int byte) {
  hlo_value_t *x = filled_scalar(lower, init->dtype, byte);
  bool keeps = x && gives(lower, call, (hlo_value_t *[]){x, init}, x) &&
               gives(lower, call, (hlo_value_t *[]){init, x}, x);
  hlo_value_release(x);
  return keeps;
}

/* A call of the function of a reduce-window, which is in no computation. NULL: no memory. */
static hlo_instr_t *scalar_call(spmd_lower_t *lower, const hlo_instr_t *instr,
                                const hlo_instr_t *init) {
  hlo_attr_t attr = hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1);
  hlo_instr_t *operands[] = {(hlo_instr_t *)init, (hlo_instr_t *)init}, *call = NULL;
  hlo_instr_def_t def = {.op = HLO_MAP,
                         .shape = init->shape,
                         .operand_count = 2,
                         .operands = operands,
                         .attr_count = 1,
                         .attrs = &attr,
                         .called_count = 1,
                         .called = instr->called};
  return spmd_emit_failed(&lower->emit, hlo_instr_create(lower->emit.b.computation, &def, &call))
             ? NULL
             : call;
}

/* True if the initial value is the identity for some numbers of either sign, whose bytes are equal:
 * 0.012, 3, -0.37 and -24 as f32. */
static bool keeps_samples(spmd_lower_t *lower, const hlo_instr_t *instr, const hlo_instr_t *init) {
  static const int numbers[] = {0x3c, 0x40, 0xbe, 0xc1}, truths[] = {0, 1, 0, 1};
  bool is_pred = init->shape->dtype == HR_PRED;
  bool is_known = init->op == HLO_CONSTANT && init->literal && !init->shape->rank;
  if (!is_known || (!is_pred && hr_dtype_table[init->shape->dtype].bits % 8)) return false;
  const hlo_instr_t *call = scalar_call(lower, instr, init);
  bool keeps = call != NULL;
  for (int i = 0; i < 4 && keeps; i++)
    keeps = keeps_scalar(lower, call, init->literal, is_pred ? truths[i] : numbers[i]);
  return keeps;
}

/* True if the initial value is the function's identity: parts may be scanned apart. That of more
 * than one operation, such as logaddexp, is tried on numbers. */
static bool can_scan(spmd_lower_t *lower, const hlo_instr_t *instr) {
  hlo_opcode_t op;
  if (instr->operand_count != 2) return false;
  const hlo_instr_t *init = spmd_operand(lower, instr, 1)->recipe;
  if (!init) return false;
  return pass_body_is_binary(instr->called[0], &op) ? pass_is_neutral(op, init)
                                                    : keeps_samples(lower, instr, init);
}

/* The function of two arrays. */
static hlo_instr_t *combine(spmd_lower_t *lower, const hlo_instr_t *instr, hlo_instr_t *x,
                            hlo_instr_t *y) {
  hlo_builder_t *b = &lower->emit.b;
  hlo_opcode_t op;
  if (pass_body_is_binary(instr->called[0], &op)) return hlo_build_binary(b, op, x, y);
  hlo_instr_t *operands[] = {x, y};
  int64_t all[HLO_MAX_RANK];
  for (int d = 0; d < HLO_MAX_RANK; d++) all[d] = d;
  if (!x || !y) return NULL;
  hlo_attr_t attrs[] = {hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, x->shape->rank, all),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  return hlo_build(b, HLO_MAP, x->shape, 2, operands, 2, attrs, 1, instr->called);
}

/* The reduction of the totals of the parts before (`backward`: after) this one; size 1 along d. */
static hlo_instr_t *carry_in(spmd_lower_t *lower, const spmd_choice_t *choice, hlo_instr_t *totals,
                             int d, bool backward, hlo_instr_t *init) {
  spmd_emit_t *emit = &lower->emit;
  spmd_axes_t axes = choice->tensors[0]->dims[d].axes;
  int64_t dim = d;
  totals = spmd_emit_all_gather(emit, totals, d, axes);
  int64_t *starts = spmd_window_starts(lower, axes, 0, -1);
  if (!totals || !starts) return NULL;
  hlo_instr_t *offset = spmd_emit_table(emit, axes, starts); /* part 0 relative to this part */
  totals = backward ? spmd_emit_mask(emit, totals, d, offset, 1, INT64_MAX, init)
                    : spmd_emit_mask(emit, totals, d, offset, INT64_MIN, 0, init);
  hlo_attr_t attrs[] = {hlo_attr_of_ints(&emit->b, HLO_ATTR_DIMENSIONS, 1, &dim),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  return hlo_build(&emit->b, HLO_REDUCE, NULL, 2, (hlo_instr_t *[]){totals, init}, 2, attrs, 1,
                   choice->instr->called);
}

/* Example: the prefix sums of {1, 2 | 3, 4} are {1, 3} and {3, 7} locally, with totals 3 and 7; the
 * second part adds the first total: {6, 10}. */
static hlo_instr_t *scan(spmd_lower_t *lower, const spmd_choice_t *choice, hlo_instr_t *x,
                         hlo_instr_t *init, int d, bool backward) {
  spmd_emit_t *emit = &lower->emit;
  const hlo_window_t *window = hlo_attr_window(choice->instr);
  hlo_window_dim_t dims[HLO_MAX_RANK];
  int64_t kept[HLO_MAX_RANK], count = 0;
  x = spmd_mask_padding(lower, x, d, choice->tensors[0]->dims[d].axes,
                        choice->instr->operands[0]->shape->dims[d], init);
  if (!x) return NULL;
  int64_t chunk = x->shape->dims[d];
  memcpy(dims, window->dims, (size_t)window->rank * sizeof *dims);
  dims[d].size = chunk;
  dims[d].pad_low = backward ? 0 : chunk - 1;
  dims[d].pad_high = backward ? chunk - 1 : 0;
  hlo_attr_t attr = spmd_window_attr(lower, window->rank, dims);
  hlo_instr_t *operands[] = {x, init};
  hlo_instr_t *local = spmd_emit_with(emit, choice->instr, operands, NULL, &attr);
  int64_t last = backward ? 0 : chunk - 1;
  hlo_instr_t *total = local ? spmd_emit_slice(emit, local, d, last, 1) : NULL;
  hlo_instr_t *carry = carry_in(lower, choice, total, d, backward, init);
  if (!carry) return NULL;
  for (int i = 0; i < local->shape->rank; i++)
    if (i != d) kept[count++] = i;
  carry = hlo_build_broadcast(&emit->b, carry, local->shape, (hr_ints_t){kept, count});
  return backward ? combine(lower, choice->instr, local, carry)
                  : combine(lower, choice->instr, carry, local);
}

/* True if d is the only dimension that the windows change, and they are cumulative. */
static bool is_scan(spmd_lower_t *lower, const hlo_instr_t *instr, int d, bool *out_backward) {
  const hlo_window_t *window = hlo_attr_window(instr);
  for (int i = 0; i < window->rank; i++)
    if (i != d && !spmd_window_is_trivial(&window->dims[i])) return false;
  return is_cumulative(instr, d, out_backward) && can_scan(lower, instr);
}

bool spmd_is_scan(spmd_lower_t *lower, const hlo_instr_t *instr, int d) {
  bool backward;
  return is_scan(lower, instr, d, &backward);
}

/* True if scans of this array have more totals to gather together than a part has elements. */
static bool has_many_scans(const spmd_lower_t *lower, const hlo_instr_t *instr, int64_t chunk) {
  return lower->scans[instr->operands[0]->id] > chunk;
}

double spmd_scan_us(spmd_lower_t *lower, const hlo_instr_t *instr, int d, int64_t chunk,
                    int64_t parts, double row_bytes) {
  bool backward;
  if (instr->op != HLO_REDUCE_WINDOW || !is_scan(lower, instr, d, &backward)) return -1;
  double rows = has_many_scans(lower, instr, chunk) ? (double)chunk : 1;
  return spmd_step_us(SPMD_ALL_GATHER, rows * row_bytes, (double)parts);
}

/* Scans the gathered array, which all of its scans share, and keeps this partition's part. */
static hlo_instr_t *scan_gathered(spmd_lower_t *lower, const spmd_choice_t *choice, int d,
                                  hlo_instr_t *init) {
  const hlo_instr_t *instr = choice->instr;
  const spmd_sharding_t *own = choice->tensors[instr->operand_count], *whole;
  hr_status_t st = spmd_sharding_with_dim(lower->arena, own, d, (spmd_axes_t){0}, &whole);
  if (spmd_emit_failed(&lower->emit, st)) return NULL;
  hlo_instr_t *operands[] = {spmd_use(lower, spmd_operand(lower, instr, 0), whole), init};
  hlo_instr_t *all = operands[0] ? spmd_emit_like(&lower->emit, instr, operands, NULL) : NULL;
  return all ? spmd_emit_reshard(&lower->emit, all, instr->shape, whole, own, HLO_ADD) : NULL;
}

hlo_instr_t *spmd_lower_scan(spmd_lower_t *lower, const spmd_choice_t *choice, int d,
                             hlo_instr_t *const *operands) {
  const hlo_instr_t *instr = choice->instr;
  bool backward;
  int64_t chunk = spmd_local_size(choice->tensors[0], d, instr->shape->dims[d]);
  if (has_many_scans(lower, instr, chunk)) return scan_gathered(lower, choice, d, operands[1]);
  is_cumulative(instr, d, &backward);
  return scan(lower, choice, operands[0], operands[1], d, backward);
}
