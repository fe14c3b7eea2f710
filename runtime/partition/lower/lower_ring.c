/* Products in which no process holds the whole of a large array. Parts of an operand that would be
 * gathered travel around a ring of processes, and each step multiplies by the part at hand:
 *
 *   w = all-gather(part)            for step in 0 .. n - 1:
 *   y = dot(x, w)                     y = update(y, dot(x, part), place of the part)
 *                             ->      part = collective-permute(part)
 *
 * Parts of a result that would be reduced and scattered travel themselves, and each process adds
 * its contribution to the part at hand:
 *
 *   y = dot(x, w)                   for step in 0 .. n - 1:
 *   z = reduce-scatter(y)     ->      z = collective-permute(z) + dot(x, part of w)
 *
 * The same bytes are sent, in smaller messages that overlap with the next product. The ring saves
 * memory: it is used for arrays of at least gather_limit bytes. It is a loop, so that no order of
 * instructions keeps several parts alive. */
#include "partition/lower/lower_ops.h"

enum { LHS, RHS, RESULT, ARRAYS };
#define COUNTER ARRAYS /* index of the step counter in the loop's state */
#define STATE (ARRAYS + 1)

typedef struct ring {
  spmd_lower_t *lower;
  const spmd_choice_t *choice;
  const spmd_sharding_t *tensors[ARRAYS]; /* shardings of the ring's operands and of its result */
  int moving;                             /* the array whose parts travel */
  int dims[ARRAYS];                       /* dimension that each step takes a part of; -1: none */
  spmd_axes_t axes;                       /* axes of the ring */
  int64_t count, chunk;                   /* number of parts; elements of a part along dims */
  hr_dtype_t sum_type;                    /* element type in which partial products are added */
} ring_t;

/* --- choice of products --- */

static double bytes_of(const spmd_choice_t *choice, int t) {
  const hlo_shape_t *shape = t == RESULT ? choice->instr->shape : choice->instr->operands[t]->shape;
  return spmd_local_bytes(choice->tensors[t], shape);
}

/* The only dimension that `parts` cuts by more axes than `whole` does, at the end of its list; -1:
 * there is another difference, or none. */
static int extended_dim(const spmd_sharding_t *parts, const spmd_sharding_t *whole) {
  int found = -1;
  if (parts->unreduced.count) return -1;
  for (int d = 0; d < parts->rank; d++) {
    if (spmd_axes_equal(parts->dims[d].axes, whole->dims[d].axes)) continue;
    if (found >= 0 || !spmd_axes_is_prefix(whole->dims[d].axes, parts->dims[d].axes)) return -1;
    found = d;
  }
  return found;
}

/* Chooses array `moving`, cut as `parts`, to travel. False: the parts are not adjacent in a
 * process's part of the dimension. */
static bool set_moving(ring_t *ring, int moving, const spmd_sharding_t *parts,
                       const spmd_sharding_t *whole) {
  spmd_lower_t *lower = ring->lower;
  const spmd_rule_t *rule = ring->choice->rule;
  const hlo_instr_t *instr = ring->choice->instr;
  int d = extended_dim(parts, whole);
  if (d < 0 || rule->tensors[moving].dims[d].count != 1) return false;
  const hlo_shape_t *shape = moving == RESULT ? instr->shape : instr->operands[moving]->shape;
  int64_t size = shape->dims[d];
  if (whole->dims[d].axes.count && size % spmd_sharding_parts(parts, d)) return false;
  if (spmd_emit_failed(&lower->emit, spmd_axes_drop_prefix(lower->arena, parts->dims[d].axes,
                                                           whole->dims[d].axes, &ring->axes)))
    return false;
  for (int t = 0; t < ARRAYS; t++)
    ring->dims[t] = spmd_dim_of_factor(rule, t, rule->tensors[moving].dims[d].factors[0]);
  ring->moving = moving;
  ring->tensors[moving] = parts;
  ring->count = spmd_axes_parts(ring->axes);
  ring->chunk = spmd_local_size(parts, d, size);
  return true;
}

/* True if no two processes have the same elements of the result. Each process begins the sum with
 * another part, so that rounding would make copies differ. */
static bool sums_are_apart(const ring_t *ring) {
  spmd_axes_t used, rest;
  hr_arena_t *arena = ring->lower->arena;
  if (ring->dims[RESULT] >= 0) return true;
  if (spmd_emit_failed(&ring->lower->emit,
                       spmd_sharding_used_axes(arena, ring->tensors[RESULT], &used)) ||
      spmd_emit_failed(&ring->lower->emit, spmd_axes_subtract(arena, ring->axes, used, &rest)))
    return false;
  return rest.count == 0;
}

/* True if operand k is cut but wanted whole: its parts may travel. */
static bool gathers(ring_t *ring, int k) {
  const spmd_local_t *value = spmd_operand(ring->lower, ring->choice->instr, k);
  const spmd_sharding_t *whole = ring->choice->tensors[k];
  if (value->recipe) return false;
  for (const spmd_form_t *form = value->forms; form; form = form->next)
    if (!form->is_tentative && spmd_sharding_same_layout(form->sharding, whole)) return false;
  for (const spmd_form_t *form = value->forms; form; form = form->next)
    if (!form->is_tentative && set_moving(ring, k, form->sharding, whole) && sums_are_apart(ring))
      return true;
  ring->tensors[k] = whole;
  return false;
}

/* True if the result is reduced over the axes that cut it: its parts may travel. */
static bool scatters(ring_t *ring) {
  const spmd_choice_t *choice = ring->choice;
  const spmd_sharding_t *wanted = spmd_preferred(ring->lower, choice->instr, 0);
  if (!choice->reduced.count || spmd_is_merged_later(ring->lower, choice->instr)) return false;
  if (!wanted || wanted->unreduced.count ||
      !set_moving(ring, RESULT, wanted, choice->tensors[RESULT]))
    return false;
  return spmd_axes_equal(ring->axes, choice->reduced);
}

/* Tries the operands, the larger one first, then the result. */
static bool find_ring(spmd_lower_t *lower, const spmd_choice_t *choice, ring_t *ring) {
  double limit = (double)lower->shared->program->gather_limit;
  double bytes[ARRAYS];
  *ring = (ring_t){.lower = lower, .choice = choice};
  for (int t = 0; t < ARRAYS; t++) {
    ring->tensors[t] = choice->tensors[t];
    bytes[t] = bytes_of(choice, t);
  }
  int first = bytes[RHS] > bytes[LHS] ? RHS : LHS;
  if (bytes[first] >= limit && gathers(ring, first)) return true;
  if (bytes[1 - first] >= limit && gathers(ring, 1 - first)) return true;
  return bytes[RESULT] >= limit && scatters(ring);
}

/* --- the loop --- */

/* Every process receives x from the next one of the ring. */
static hlo_instr_t *pass_round(const ring_t *ring, spmd_emit_t *emit, hlo_instr_t *x) {
  int64_t devices = emit->mesh->device_count, *positions, *pairs, n = ring->count;
  hr_arena_t *arena = ring->lower->arena;
  if (spmd_emit_failed(emit, spmd_axes_groups(arena, emit->mesh, ring->axes, &positions)) ||
      spmd_emit_failed(emit, HR_NEW_ARRAY(arena, 2 * devices, &pairs)))
    return NULL;
  for (int64_t i = 0; i < devices; i++) {
    pairs[2 * i] = positions[i / n * n + (i + 1) % n];
    pairs[2 * i + 1] = positions[i];
  }
  return spmd_emit_permute(emit, x, devices, pairs);
}

/* Offset of the part of this step. A part of the result must arrive at its owner after the last
 * step, so it starts at the next process. */
static hlo_instr_t *part_start(const ring_t *ring, spmd_emit_t *emit, hlo_instr_t *step) {
  hlo_instr_t *at = spmd_emit_coordinate(emit, ring->axes);
  at = hlo_build_binary(&emit->b, HLO_ADD, at, step);
  if (ring->moving == RESULT) at = spmd_emit_add(emit, at, 1);
  at = hlo_build_binary(&emit->b, HLO_REMAINDER, at, spmd_emit_index(emit, ring->count));
  return hlo_build_binary(&emit->b, HLO_MULTIPLY, at, spmd_emit_index(emit, ring->chunk));
}

/* The product of one step. */
static hlo_instr_t *multiply(const ring_t *ring, spmd_emit_t *emit, hlo_instr_t *const *state,
                             hlo_instr_t *start) {
  const hlo_instr_t *instr = ring->choice->instr;
  const hlo_shape_t *shape = spmd_shape_in(ring->lower, instr->shape, ring->tensors[RESULT]);
  hlo_instr_t *operands[2];
  int64_t dims[HLO_MAX_RANK];
  if (!shape) return NULL;
  for (int k = 0; k < 2; k++) {
    bool is_cut = k != ring->moving && ring->dims[k] >= 0;
    operands[k] = is_cut
                      ? spmd_emit_dynamic_slice(emit, state[k], ring->dims[k], start, ring->chunk)
                      : state[k];
  }
  for (int d = 0; d < shape->rank; d++)
    dims[d] = d == ring->dims[RESULT] ? ring->chunk : shape->dims[d];
  return spmd_emit_like(emit, instr, operands,
                        spmd_emit_shape(emit, ring->sum_type, shape->rank, dims));
}

/* One step. `first`: no part of the result was received before; `last`: the part of the operand is
 * not sent on. */
static void take_step(const ring_t *ring, spmd_emit_t *emit, hlo_instr_t **state, bool first,
                      bool last) {
  hlo_instr_t *start = part_start(ring, emit, state[COUNTER]);
  hlo_instr_t *product = multiply(ring, emit, state, start);
  hlo_opcode_t sum = spmd_reducer_of(ring->choice->instr);
  int moving = ring->moving;
  if (!first && !last) state[moving] = pass_round(ring, emit, state[moving]);
  if (moving == RESULT && first)
    state[RESULT] = product;
  else if (moving == RESULT || ring->dims[RESULT] < 0)
    state[RESULT] = hlo_build_binary(&emit->b, sum, state[RESULT], product);
  else
    state[RESULT] = spmd_emit_update(emit, state[RESULT], product, ring->dims[RESULT], start);
  state[COUNTER] = spmd_emit_add(emit, state[COUNTER], 1);
}

/* A computation whose parameter is the state. */
static spmd_emit_t begin_computation(const ring_t *ring, const char *name, const hlo_shape_t *shape,
                                     hlo_instr_t **out_state) {
  spmd_emit_t *outer = &ring->lower->emit;
  hlo_computation_t *computation = NULL;
  spmd_emit_t emit = {.shared = outer->shared, .mesh = outer->mesh, .cause = outer->cause};
  if (spmd_emit_failed(outer,
                       hlo_computation_add(outer->shared->module, hr_str_from(name), &computation)))
    return emit;
  emit.b = hlo_builder_at(computation, outer->b.line, outer->b.column);
  hlo_instr_t *param = hlo_build_parameter(&emit.b, 0, shape);
  for (int i = 0; i < STATE; i++) out_state[i] = hlo_build_element(&emit.b, param, i);
  return emit;
}

static hlo_computation_t *end_computation(const ring_t *ring, spmd_emit_t *emit,
                                          hlo_instr_t *root) {
  emit->b.computation->root = root;
  spmd_emit_failed(&ring->lower->emit, hlo_builder_finish(&emit->b));
  return emit->b.computation;
}

/* The loop over all steps but one. */
static void add_loop(const ring_t *ring, hlo_instr_t **state) {
  spmd_emit_t *emit = &ring->lower->emit, inner;
  hlo_instr_t *inside[STATE], *tuple = hlo_build_tuple(&emit->b, STATE, state);
  hlo_computation_t *called[2];
  if (!tuple) return;
  inner = begin_computation(ring, "ring.condition", tuple->shape, inside);
  if (emit->b.status) return;
  hlo_instr_t *end = spmd_emit_index(&inner, ring->count - (ring->moving != RESULT));
  called[0] = end_computation(ring, &inner,
                              hlo_build_compare(&inner.b, HLO_DIRECTION_LT, inside[COUNTER], end));
  inner = begin_computation(ring, "ring.step", tuple->shape, inside);
  if (emit->b.status) return;
  take_step(ring, &inner, inside, false, false);
  called[1] = end_computation(ring, &inner, hlo_build_tuple(&inner.b, STATE, inside));
  if (emit->b.status) return;
  hlo_attr_t attrs[] = {hlo_attr_of_called(HLO_ATTR_CONDITION, 1),
                        hlo_attr_of_called(HLO_ATTR_BODY, 1)};
  hlo_instr_t *loop = hlo_build(&emit->b, HLO_WHILE, tuple->shape, 1, &tuple, 2, attrs, 2, called);
  for (int i = 0; i < STATE; i++) state[i] = hlo_build_element(&emit->b, loop, i);
}

/* Takes the operands, masked along reduced dimensions and padded to whole parts. */
static void take_operands(const ring_t *ring, hlo_instr_t **state) {
  spmd_lower_t *lower = ring->lower;
  const hlo_instr_t *instr = ring->choice->instr;
  spmd_choice_t taken = *ring->choice;
  taken.tensors = ring->tensors;
  for (int k = 0; k < 2; k++) {
    int d = ring->dims[k];
    hlo_instr_t *zero = hlo_build_number(&lower->emit.b, 0, instr->operands[k]->shape->dtype);
    state[k] = spmd_masked_operand(lower, &taken, k, HLO_ADD, zero);
    if (!state[k] || k == ring->moving || d < 0) continue;
    int64_t missing = ring->count * ring->chunk - state[k]->shape->dims[d];
    state[k] = spmd_emit_pad(&lower->emit, state[k], d, 0, missing, 0, NULL);
  }
}

/* The initial result: zeros with room for all parts. */
static hlo_instr_t *empty_result(const ring_t *ring) {
  spmd_emit_t *emit = &ring->lower->emit;
  const hlo_shape_t *shape =
      spmd_shape_in(ring->lower, ring->choice->instr->shape, ring->tensors[RESULT]);
  int64_t dims[HLO_MAX_RANK];
  if (!shape) return NULL;
  for (int d = 0; d < shape->rank; d++)
    dims[d] = d == ring->dims[RESULT] ? ring->count * ring->chunk : shape->dims[d];
  hlo_instr_t *zero = hlo_build_number(&emit->b, 0, ring->sum_type);
  shape = spmd_emit_shape(emit, ring->sum_type, shape->rank, dims);
  return shape ? hlo_build_broadcast(&emit->b, zero, shape, (hr_ints_t){NULL, 0}) : NULL;
}

/* The type of partial sums: f32 for narrower floats that several steps add up. */
static hr_dtype_t sum_type(const ring_t *ring) {
  hr_dtype_t type = ring->choice->instr->shape->dtype;
  bool sums = ring->moving != RESULT && ring->dims[RESULT] < 0;
  return sums && hr_dtype_is_float(type) && hr_dtype_bytes(type) < 4 ? HR_F32 : type;
}

/* Converts and trims the result of the loop. */
static hlo_instr_t *finish(const ring_t *ring, hlo_instr_t *x) {
  spmd_emit_t *emit = &ring->lower->emit;
  const hlo_shape_t *shape =
      spmd_shape_in(ring->lower, ring->choice->instr->shape, ring->tensors[RESULT]);
  int d = ring->dims[RESULT];
  if (!shape || !x) return NULL;
  if (ring->moving != RESULT && d >= 0) x = spmd_emit_slice(emit, x, d, 0, shape->dims[d]);
  return x ? hlo_build_convert(&emit->b, x, shape->dtype) : NULL;
}

/* The collectives of a step are executed once less often than there are parts. */
static void note_rounds(const ring_t *ring, size_t first) {
  spmd_report_notes_t *report = ring->lower->shared->emit.report;
  for (size_t i = first; i < report->items.count; i++)
    report->items.data[i].times = ring->count - 1;
}

bool spmd_lower_ring(spmd_lower_t *lower, const spmd_choice_t *choice) {
  ring_t ring;
  hlo_instr_t *state[STATE];
  spmd_emit_t *emit = &lower->emit;
  if (choice->instr->op != HLO_DOT || choice->instr->operand_count != 2) return false;
  if (!find_ring(lower, choice, &ring)) return false;
  ring.sum_type = sum_type(&ring);
  take_operands(&ring, state);
  state[COUNTER] = spmd_emit_index(emit, 0);
  state[RESULT] = ring.moving == RESULT ? NULL : empty_result(&ring);
  if (ring.moving == RESULT) take_step(&ring, emit, state, true, false);
  size_t first = lower->shared->emit.report->items.count;
  add_loop(&ring, state);
  note_rounds(&ring, first);
  if (ring.moving != RESULT) take_step(&ring, emit, state, false, true);
  spmd_define_results(lower, choice->instr, finish(&ring, state[RESULT]), &ring.tensors[RESULT]);
  return true;
}
