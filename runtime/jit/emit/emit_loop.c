/* Loops and conditionals of kernels: levels, phis of carried values, and the vector loop.
 *
 *     preheader -> header: i = phi, carried = phi; body; i + step < to ? header : exit
 *
 * Loops are bottom-tested, since the callers guarantee a first iteration. The innermost loop
 * processes `unroll` vectors per iteration; the remainder is one masked vector at a time where the
 * target has masks or their lanes are known, else vectors and then scalars. Trip counts known at
 * compile time remove loops of one iteration and the test for a remainder. */
#include "jit/emit/emit_kernel.h"

static kir_block_t *new_block(jit_emit_t *emit) { return kir_append_block(emit->function, ""); }

void jit_level_enter(jit_emit_t *emit, int var, kir_value_t *value) {
  kir_block_t *block = emit->levels[emit->level].block;
  emit->level++;
  emit->levels[emit->level].block = block;
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  emit->variables[var] = value;
  emit->depths[var] = emit->level;
}

void jit_level_leave(jit_emit_t *emit) {
  kir_block_t *block = emit->levels[emit->level].block;
  emit->level--;
  emit->levels[emit->level].block = block;
}

void jit_loop_begin(jit_emit_t *emit, int var, kir_value_t *from, jit_loop_t *out_loop) {
  kir_builder_t *b = emit->code->builder;
  jit_loop_t loop = {.before = emit->levels[emit->level].block,
                     .header = new_block(emit),
                     .level = emit->level + 1};
  jit_emit_at(emit, emit->level);
  kir_br(b, loop.header);
  kir_position_at_end(b, loop.header);
  loop.variable = kir_phi(b, kir_type_of(from));
  kir_add_incoming(loop.variable, &from, &loop.before, 1);
  for (int c = 0; c < emit->carry.count; c++) {
    loop.carries[c] = kir_phi(b, kir_type_of(emit->carry.values[c]));
    kir_add_incoming(loop.carries[c], &emit->carry.values[c], &loop.before, 1);
    emit->carry.values[c] = loop.carries[c];
  }
  jit_level_enter(emit, var, loop.variable);
  emit->levels[emit->level].block = loop.header;
  *out_loop = loop;
}

void jit_loop_end(jit_emit_t *emit, const jit_loop_t *loop, kir_value_t *to, int64_t step) {
  kir_builder_t *b = emit->code->builder;
  kir_block_t *last = emit->levels[emit->level].block, *after = new_block(emit);
  jit_emit_at(emit, emit->level);
  kir_value_t *next = kir_nsw_add(b, loop->variable, jit_emit_i64(emit, step));
  kir_value_t *more = kir_icmp(b, KIR_ICMP_SLT, next, to);
  kir_cond_br(b, more, loop->header, after);
  kir_add_incoming(loop->variable, &next, &last, 1);
  for (int c = 0; c < emit->carry.count; c++)
    kir_add_incoming(loop->carries[c], &emit->carry.values[c], &last, 1);
  emit->level--;
  emit->levels[emit->level].block = after;
}

void jit_units_begin(jit_emit_t *emit, jit_loop_t *out_loop) {
  if (emit->args.end != jit_emit_i64(emit, 1) || emit->args.begin != jit_emit_i64(emit, 0)) {
    jit_loop_begin(emit, JIT_UNIT_LOOP, emit->args.begin, out_loop);
    return;
  }
  *out_loop = (jit_loop_t){.variable = emit->args.begin};
  jit_level_enter(emit, JIT_UNIT_LOOP, emit->args.begin);
}

void jit_units_end(jit_emit_t *emit, const jit_loop_t *loop) {
  if (loop->header)
    jit_loop_end(emit, loop, emit->args.end, 1);
  else
    jit_level_leave(emit);
}

void jit_if_begin(jit_emit_t *emit, kir_value_t *condition, jit_if_t *out_if) {
  kir_block_t *inside = new_block(emit);
  out_if->before = emit->levels[emit->level].block;
  out_if->after = new_block(emit);
  for (int c = 0; c < emit->carry.count; c++) out_if->carried[c] = emit->carry.values[c];
  jit_emit_at(emit, emit->level);
  kir_cond_br(emit->code->builder, condition, inside, out_if->after);
  emit->levels[emit->level].block = inside;
}

void jit_if_end(jit_emit_t *emit, const jit_if_t *taken) {
  kir_block_t *last = emit->levels[emit->level].block;
  jit_emit_at(emit, emit->level);
  kir_br(emit->code->builder, taken->after);
  emit->levels[emit->level].block = taken->after;
  kir_position_at_end(emit->code->builder, taken->after);
  for (int c = 0; c < emit->carry.count; c++) {
    kir_value_t *either = kir_phi(emit->code->builder, kir_type_of(emit->carry.values[c]));
    kir_add_incoming(either, &emit->carry.values[c], &last, 1);
    kir_add_incoming(either, (kir_value_t **)&taken->carried[c], (kir_block_t **)&taken->before, 1);
    emit->carry.values[c] = either;
  }
}

/* --- lanes ------------------------------------------------------------------------------------ */

/* is_phased: `copy` gives the position of lane 0 in an iteration. */
static void emit_body(jit_emit_t *emit, const jit_lanes_t *how, int lanes, kir_value_t *mask,
                      int copy, bool is_phased) {
  emit->lane.var = how->var;
  emit->lane.count = lanes;
  emit->lane.mask = mask;
  emit->lane.from = how->from;
  emit->lane.to = how->to;
  emit->lane.period = is_phased && lanes == how->lanes ? lanes * how->unroll : 0;
  emit->lane.phase = copy * lanes;
  emit->lane.is_only = emit->lane.period && how->from == 0 && how->to > 0 &&
                       how->to == how->count && how->count <= emit->lane.period;
  how->body(emit, how->context, copy);
  emit->lane.count = 1;
  emit->lane.mask = NULL;
  emit->lane.is_only = false;
  emit->lane.var = -1;
}

/* The main loop: `lanes` * `unroll` values per iteration. */
static void emit_vector_loop(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from,
                             kir_value_t *to, int lanes, int unroll, bool is_once) {
  jit_loop_t loop = {.variable = from};
  if (is_once)
    jit_level_enter(emit, how->var, from);
  else
    jit_loop_begin(emit, how->var, from, &loop);
  emit_body(emit, how, lanes, NULL, 0, how->is_phased);
  for (int copy = 1; copy < unroll; copy++) {
    jit_emit_at(emit, emit->level);
    kir_value_t *next =
        kir_nsw_add(emit->code->builder, loop.variable, jit_emit_i64(emit, copy * lanes));
    emit->variables[how->var] = next;
    emit->levels[emit->level].epoch = ++emit->last_epoch;
    emit_body(emit, how, lanes, NULL, copy, how->is_phased);
  }
  if (is_once)
    jit_level_leave(emit);
  else
    jit_loop_end(emit, &loop, to, unroll * lanes);
}

/* Emits the last `left` values as one masked vector. */
static void emit_masked(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *left) {
  kir_type_t *i32 = kir_int_type(emit->code->module, 32);
  jit_emit_at(emit, emit->level);
  emit->lane.count = how->lanes;
  kir_type_t *type = kir_vector_type(i32, (unsigned)how->lanes);
  kir_value_t *bound =
      jit_splat(emit->code, type, kir_int_cast(emit->code->builder, left, i32, true));
  kir_value_t *mask =
      kir_icmp(emit->code->builder, KIR_ICMP_SLT, jit_emit_lane_numbers(emit, i32), bound);
  emit_body(emit, how, how->lanes, mask, 0, false);
}

static void emit_known_count(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from,
                             kir_value_t *to);
static void emit_unknown_count(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from,
                               kir_value_t *to);

/* Vectors one at a time, then scalars. */
static void emit_without_masks(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from,
                               kir_value_t *to, int64_t left) {
  jit_lanes_t single = *how;
  single.unroll = 1;
  single.is_phased = false;
  single.is_whole = false;
  single.count = left;
  if (how->unroll == 1 || (left >= 0 && left < how->lanes))
    emit_vector_loop(emit, how, from, to, 1, 1, false);
  else if (left >= 0)
    emit_known_count(emit, &single, from, to);
  else
    emit_unknown_count(emit, &single, from, to);
}

/* Emits the remainder, fewer than unroll * lanes values: masked vectors, or a scalar loop without
 * masks. */
static void emit_remainder(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from,
                           kir_value_t *to, int64_t left) {
  kir_builder_t *b = emit->code->builder;
  jit_loop_t loop = {.variable = from};
  if (!emit->code->target->has_masks && !emit->carry.count) {
    emit_without_masks(emit, how, from, to, left);
    return;
  }
  bool is_once = how->unroll == 1 || (left >= 0 && left <= how->lanes);
  if (is_once)
    jit_level_enter(emit, how->var, from);
  else
    jit_loop_begin(emit, how->var, from, &loop);
  jit_emit_at(emit, emit->level);
  emit_masked(emit, how, kir_sub(b, to, loop.variable));
  if (is_once)
    jit_level_leave(emit);
  else
    jit_loop_end(emit, &loop, to, how->lanes);
}

/* The same with known phases, since whole iterations precede it: loads that are windows in the main
 * loop are windows here. */
static void emit_phased_remainder(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from,
                                  int64_t left) {
  kir_type_t *bit = kir_int_type(emit->code->module, 1);
  kir_value_t *bits[JIT_MAX_LANES];
  for (int copy = 0; copy * how->lanes < left; copy++) {
    int64_t lanes_left = left - copy * how->lanes;
    kir_value_t *mask = NULL;
    for (int k = 0; k < how->lanes; k++) bits[k] = kir_const_int(bit, k < lanes_left);
    if (lanes_left < how->lanes) mask = kir_const_vector(bits, (unsigned)how->lanes);
    jit_emit_at(emit, emit->level);
    jit_level_enter(emit, how->var,
                    kir_add(emit->code->builder, from, jit_emit_i64(emit, copy * how->lanes)));
    emit->lane.in_bounds = mask ? (int)lanes_left : 0;
    emit_body(emit, how, how->lanes, mask, copy, true);
    emit->lane.in_bounds = 0;
    jit_level_leave(emit);
  }
}

static void emit_known_count(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from,
                             kir_value_t *to) {
  int64_t step = (int64_t)how->lanes * how->unroll, whole = how->count / step * step;
  jit_emit_at(emit, emit->level);
  kir_value_t *middle = kir_add(emit->code->builder, from, jit_emit_i64(emit, whole));
  if (whole) emit_vector_loop(emit, how, from, middle, how->lanes, how->unroll, whole == step);
  if (whole == how->count) return;
  if (how->is_small && how->lanes <= JIT_MAX_LANES)
    emit_phased_remainder(emit, how, middle, how->count - whole);
  else
    emit_remainder(emit, how, middle, to, how->count - whole);
}

static void emit_unknown_count(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from,
                               kir_value_t *to) {
  kir_builder_t *b = emit->code->builder;
  jit_if_t taken;
  jit_emit_at(emit, emit->level);
  kir_value_t *step = jit_emit_i64(emit, (int64_t)how->lanes * how->unroll),
              *count = kir_sub(b, to, from);
  kir_value_t *whole = kir_sub(b, count, kir_urem(b, count, step));
  kir_value_t *middle = kir_add(b, from, whole);
  kir_value_t *any = kir_icmp(b, KIR_ICMP_SGT, whole, jit_emit_i64(emit, 0));
  kir_value_t *some = kir_icmp(b, KIR_ICMP_SLT, middle, to);
  jit_if_begin(emit, any, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  emit_vector_loop(emit, how, from, middle, how->lanes, how->unroll, false);
  jit_if_end(emit, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  if (how->is_whole) return;
  jit_if_begin(emit, some, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
  emit_remainder(emit, how, middle, to, -1);
  jit_if_end(emit, &taken);
  emit->levels[emit->level].epoch = ++emit->last_epoch;
}

/* The scalar loop; a few iterations are fully unrolled. */
static void emit_scalars(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from,
                         kir_value_t *to) {
  jit_lanes_t scalars = *how;
  bool is_once = how->count == 1 || (how->is_few && how->count > 0);
  scalars.unroll = is_once ? (int)how->count : 1;
  emit_vector_loop(emit, &scalars, from, to, 1, scalars.unroll, is_once);
}

void jit_loop_lanes(jit_emit_t *emit, const jit_lanes_t *how, kir_value_t *from, kir_value_t *to) {
  if (how->lanes == 1 && !emit->carry.count)
    emit_scalars(emit, how, from, to);
  else if (how->count >= 0)
    emit_known_count(emit, how, from, to);
  else
    emit_unknown_count(emit, how, from, to);
}
