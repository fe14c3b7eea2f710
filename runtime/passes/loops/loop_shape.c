/* While loops over a tuple, as loop passes see them: recognition, counters, cloning of iterations
 * and rebuilding with another state.
 *
 *   init = tuple(a, 0, w)                        element 0: carried
 *   while(init), condition: lt(gte(p, 1), n)     element 1: counter, start 0, step 1, limit n
 *                body: tuple(f(...), gte(p, 1) + 1, gte(p, 2))     element 2: invariant
 *
 * The trip count follows from start, step, limit and the comparison's direction
 * (ops/query/trip_count). Loops with control dependencies, or whose state is read as a whole, are
 * not matched. */
#include "passes/loops/loop_shape.h"

#include <string.h>

#include "ops/query/trip_count.h"

/* ---- recognition ---- */

/* Is the state read only by its elements? */
static bool reads_elements_only(const hlo_computation_t *computation) {
  if (computation->params.count != 1 || computation->root == computation->params.data[0])
    return false;
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (instr->op == HLO_GET_TUPLE_ELEMENT) continue;
    if (instr->extra && instr->extra->control_count) return false;
    for (int k = 0; k < instr->operand_count; k++)
      if (instr->operands[k]->op == HLO_PARAMETER) return false;
  }
  return true;
}

bool loop_match(hlo_instr_t *instr, loop_t *out_loop) {
  if (instr->op != HLO_WHILE || !hlo_shape_is_tuple(instr->shape)) return false;
  if (instr->extra && instr->extra->control_count) return false;
  *out_loop = (loop_t){.instr = instr,
                       .condition = instr->called[0],
                       .body = instr->called[1],
                       .init = instr->operands[0],
                       .next = instr->called[1]->root,
                       .count = instr->shape->element_count};
  return out_loop->next->op == HLO_TUPLE && reads_elements_only(out_loop->condition) &&
         reads_elements_only(out_loop->body);
}

int loop_element_read(const hlo_instr_t *instr) {
  bool reads = instr->op == HLO_GET_TUPLE_ELEMENT && instr->operands[0]->op == HLO_PARAMETER;
  return reads ? (int)hlo_attr_int(instr, HLO_ATTR_INDEX) : -1;
}

/* The instruction that calls a computation; NULL: none does, or several, or one several times. */
static hlo_instr_t *only_caller(const hlo_computation_t *callee) {
  const hlo_module_t *module = callee->module;
  hlo_instr_t *caller = NULL;
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      for (int k = 0; k < instr->called_count; k++) {
        if (instr->called[k] != callee) continue;
        if (caller) return NULL;
        caller = instr;
      }
    }
  return caller;
}

bool loop_owns_body(const loop_t *loop) { return only_caller(loop->body) == loop->instr; }

hlo_instr_t *loop_init_operand(const loop_t *loop, int k) {
  return loop->init->op == HLO_TUPLE ? loop->init->operands[k] : NULL;
}

hlo_instr_t *loop_init_element(pass_rewrite_t *rewrite, const loop_t *loop, int k) {
  hlo_instr_t *known = loop_init_operand(loop, k);
  return known ? known : hlo_build_element(&rewrite->builder, loop->init, k);
}

bool loop_is_rematerialisable(const hlo_instr_t *instr) {
  if (instr->op == HLO_BROADCAST) instr = instr->operands[0];
  return (instr->op == HLO_CONSTANT && instr->literal && hlo_shape_is_array(instr->shape)) ||
         instr->op == HLO_IOTA;
}

/* ---- counters ---- */

enum { MAX_OUTER_LOOPS = 8 }; /* loops around one in which its bound is looked for */

/* Initial value of an instruction of body or condition, if it is a constant integer. A loop inside
 * of another one may get it from an invariant element of that one's state. */
static bool constant_at_start(const loop_t *loop, const hlo_instr_t *instr, int64_t *out_value) {
  loop_t outer = *loop;
  for (int depth = 0; depth <= MAX_OUTER_LOOPS; depth++) {
    int k = loop_element_read(instr);
    const hlo_instr_t *value = k < 0 ? instr : loop_init_operand(&outer, k);
    if (!value || !hr_dtype_is_integer(value->shape->dtype)) return false;
    if (pass_splat_int(value, out_value)) return true;
    int next = k < 0 ? -1 : loop_element_read(value);
    hlo_instr_t *around = next < 0 ? NULL : only_caller(value->parent);
    if (!around || !loop_match(around, &outer) || outer.body != value->parent ||
        !loop_is_invariant(&outer, next))
      return false;
    instr = value;
  }
  return false;
}

static bool is_invariant_read(const loop_t *loop, const hlo_instr_t *instr) {
  int k = loop_element_read(instr);
  return k < 0 || loop_is_invariant(loop, k);
}

bool loop_find_step(const loop_t *loop, int k, int64_t *out_step) {
  const hlo_instr_t *next = loop->next->operands[k];
  if (next->op != HLO_ADD) return false;
  for (int j = 0; j < 2; j++) {
    const hlo_instr_t *step = next->operands[1 - j];
    if (loop_element_read(next->operands[j]) == k && is_invariant_read(loop, step) &&
        constant_at_start(loop, step, out_step))
      return true;
  }
  return false;
}

bool loop_find_counter(const loop_t *loop, loop_counter_t *out_counter) {
  const hlo_instr_t *test = loop->condition->root;
  if (test->op != HLO_COMPARE) return false;
  for (int side = 0; side < 2; side++) {
    const hlo_instr_t *read = test->operands[side], *limit = test->operands[1 - side];
    int direction = hlo_attr_enum(test, HLO_ATTR_DIRECTION);
    loop_counter_t counter = {.index = loop_element_read(read)};
    int64_t end;
    if (counter.index < 0 || !loop_find_step(loop, counter.index, &counter.step) ||
        !is_invariant_read(loop, limit) || !constant_at_start(loop, limit, &end) ||
        !constant_at_start(loop, read, &counter.start))
      continue;
    counter.trips =
        loop_trip_count(read->shape->dtype, side ? op_direction_mirrored(direction) : direction,
                        counter.start, counter.step, end);
    if (counter.trips < 0) continue;
    *out_counter = counter;
    return true;
  }
  return false;
}

/* ---- copies ---- */

void loop_mark_operands(const hlo_computation_t *computation, bool *wanted) {
  for (size_t i = computation->instrs.count; i-- > 0;) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (!wanted[i]) continue;
    for (int k = 0; k < instr->operand_count; k++)
      wanted[instr->operands[k]->id] |= instr->operands[k]->op != HLO_PARAMETER;
  }
}

void loop_clone_marked(pass_rewrite_t *rewrite, const hlo_computation_t *callee,
                       hlo_instr_t *const *elements, const bool *wanted, hlo_instr_t **copies) {
  hlo_instr_t **operands = NULL;
  int capacity = 0;
  size_t count =
      callee->instrs.count; /* number before cloning, which may append to the same list */
  for (size_t i = 0; i < count && !rewrite->builder.status; i++) {
    const hlo_instr_t *instr = callee->instrs.data[i];
    if (!wanted[i] || copies[i]) continue;
    int element = loop_element_read(instr);
    if (element >= 0) {
      copies[i] = elements[element];
      continue;
    }
    if (instr->operand_count > capacity) {
      capacity = instr->operand_count;
      rewrite->builder.status = HR_NEW_ARRAY(&rewrite->scratch, capacity, &operands);
    }
    for (int k = 0; k < instr->operand_count && !rewrite->builder.status; k++)
      operands[k] = copies[instr->operands[k]->id];
    if (!rewrite->builder.status) copies[i] = pass_clone(rewrite, instr, operands);
  }
}

hr_status_t loop_clone_iteration(pass_rewrite_t *rewrite, const loop_t *loop, hlo_instr_t **state) {
  size_t count = loop->body->instrs.count;
  hr_arena_mark_t mark = hr_arena_mark(&rewrite->scratch);
  hlo_instr_t **copies;
  bool *wanted;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &copies));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &wanted));
  for (size_t i = 0; i < count; i++)
    wanted[i] =
        loop->body->instrs.data[i] != loop->next && loop->body->instrs.data[i]->op != HLO_PARAMETER;
  loop_clone_marked(rewrite, loop->body, state, wanted, copies);
  HR_TRY(hlo_builder_finish(&rewrite->builder));
  for (int k = 0; k < loop->count; k++) state[k] = copies[loop->next->operands[k]->id];
  hr_arena_rewind(&rewrite->scratch, mark);
  return NULL;
}

hr_status_t loop_peel(pass_rewrite_t *rewrite, const loop_t *loop, int64_t iterations,
                      hlo_instr_t **out_state) {
  hlo_instr_t **state;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, loop->count, &state));
  for (int k = 0; k < loop->count; k++) state[k] = loop_init_element(rewrite, loop, k);
  for (int64_t i = 0; i < iterations; i++) HR_TRY(loop_clone_iteration(rewrite, loop, state));
  *out_state = hlo_build(&rewrite->builder, HLO_TUPLE, loop->instr->shape, loop->count, state, 0,
                         NULL, 0, NULL);
  return NULL;
}

/* ---- rebuilding ---- */

typedef struct rebuilder {
  pass_rewrite_t *outer;
  const loop_t *loop;
  const loop_change_t *change;
  const hlo_shape_t *state; /* shape of the new loop */
  hlo_instr_t **inits;      /* initial values of the new state */
  hlo_computation_t *called[2];
} rebuilder_t;

static int new_count(const rebuilder_t *rebuilder) {
  return rebuilder->change->kept_count + rebuilder->change->hoisted_count;
}

static hr_status_t build_state(rebuilder_t *rebuilder) {
  const loop_change_t *change = rebuilder->change;
  pass_rewrite_t *outer = rebuilder->outer;
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(&outer->scratch, new_count(rebuilder), &rebuilder->inits));
  HR_TRY(HR_NEW_ARRAY(&outer->scratch, new_count(rebuilder), &shapes));
  for (int k = 0; k < rebuilder->loop->count; k++) {
    if (change->to[k] < 0) continue;
    rebuilder->inits[change->to[k]] = loop_init_element(outer, rebuilder->loop, k);
    shapes[change->to[k]] = rebuilder->loop->instr->shape->elements[k];
  }
  for (int h = 0; h < change->hoisted_count; h++) {
    rebuilder->inits[change->kept_count + h] = change->values[h];
    shapes[change->kept_count + h] = change->values[h]->shape;
  }
  return hlo_shape_tuple(outer->arena, new_count(rebuilder), shapes, &rebuilder->state);
}

/* A clone of a constant, an iota, or a broadcast of one. */
static hlo_instr_t *rematerialise(pass_rewrite_t *rewrite, const hlo_instr_t *instr) {
  hlo_instr_t *operand =
      instr->operand_count ? pass_clone(rewrite, instr->operands[0], NULL) : NULL;
  return pass_clone(rewrite, instr, &operand);
}

/* Values of the old state's elements in a new computation; NULL for elements that nothing reads. */
static hr_status_t build_elements(const rebuilder_t *rebuilder, pass_rewrite_t *inner,
                                  const hlo_computation_t *from, const bool *wanted,
                                  hlo_instr_t ***out_elements) {
  hlo_instr_t **elements, *param = inner->computation->params.data[0];
  const loop_change_t *change = rebuilder->change;
  HR_TRY(HR_NEW_ARRAY(&inner->scratch, rebuilder->loop->count, &elements));
  for (size_t i = 0; i < from->instrs.count; i++) {
    int k = wanted[i] ? loop_element_read(from->instrs.data[i]) : -1;
    if (k < 0 || elements[k]) continue;
    int to = change->to[change->same[k]];
    const hlo_instr_t *init = to < 0 ? loop_init_operand(rebuilder->loop, k) : NULL;
    hr_assert(to >= 0 || (init && loop_is_rematerialisable(init)));
    elements[k] = init ? rematerialise(inner, init) : hlo_build_element(&inner->builder, param, to);
  }
  *out_elements = elements;
  return NULL;
}

/* Root of the new body: kept elements, followed by hoisted values passed through. */
static hlo_instr_t *build_next_state(const rebuilder_t *rebuilder, pass_rewrite_t *inner,
                                     hlo_instr_t *const *copies) {
  const loop_change_t *change = rebuilder->change;
  hlo_instr_t **list;
  if (inner->builder.status) return NULL;
  inner->builder.status = HR_NEW_ARRAY(&inner->scratch, new_count(rebuilder), &list);
  for (int k = 0; k < rebuilder->loop->count && !inner->builder.status; k++)
    if (change->to[k] >= 0) list[change->to[k]] = copies[rebuilder->loop->next->operands[k]->id];
  for (int h = 0; h < change->hoisted_count && !inner->builder.status; h++)
    list[change->kept_count + h] = copies[change->hoisted[h]->id];
  return hlo_build_tuple(&inner->builder, new_count(rebuilder), list);
}

static void mark_root(const rebuilder_t *rebuilder, const hlo_computation_t *from, bool *wanted) {
  bool is_body = from == rebuilder->loop->body;
  for (int k = 0; is_body && k < rebuilder->loop->count; k++)
    wanted[from->root->operands[k]->id] |= rebuilder->change->to[k] >= 0;
  wanted[from->root->id] = !is_body;
  for (size_t i = 0; i < from->instrs.count; i++) wanted[i] |= pass_must_stay(from->instrs.data[i]);
  loop_mark_operands(from, wanted);
}

static hr_status_t build_body(const rebuilder_t *rebuilder, pass_rewrite_t *inner,
                              const hlo_computation_t *from) {
  const loop_change_t *change = rebuilder->change;
  hlo_instr_t **copies, **elements, *param = inner->computation->params.data[0];
  bool *wanted, is_body = from == rebuilder->loop->body;
  HR_TRY(HR_NEW_ARRAY(&inner->scratch, from->instrs.count, &copies));
  HR_TRY(HR_NEW_ARRAY(&inner->scratch, from->instrs.count, &wanted));
  for (int h = 0; is_body && h < change->hoisted_count; h++)
    copies[change->hoisted[h]->id] =
        hlo_build_element(&inner->builder, param, change->kept_count + h);
  mark_root(rebuilder, from, wanted);
  HR_TRY(build_elements(rebuilder, inner, from, wanted, &elements));
  loop_clone_marked(inner, from, elements, wanted, copies);
  hlo_instr_t *root = is_body ? build_next_state(rebuilder, inner, copies) : copies[from->root->id];
  if (root) inner->computation->root = root;
  return hlo_builder_finish(&inner->builder);
}

/* A new condition or body; pass_names_settle makes its name unique. */
static hr_status_t build_computation(rebuilder_t *rebuilder, const hlo_computation_t *from,
                                     hlo_computation_t **out_new) {
  hlo_computation_t *computation;
  pass_rewrite_t inner;
  HR_TRY(hlo_computation_add(from->module, from->name, &computation));
  computation->line = from->line;
  computation->column = from->column;
  computation->execution_thread = from->execution_thread;
  hlo_builder_t builder = hlo_builder_at(computation, from->line, from->column);
  computation->root = hlo_build_parameter(&builder, 0, rebuilder->state);
  HR_TRY(hlo_builder_finish(&builder));
  HR_TRY(pass_rewrite_begin(&inner, computation));
  HR_TRY(pass_rewrite_end(&inner, build_body(rebuilder, &inner, from)));
  *out_new = computation;
  return NULL;
}

/* The old state, for users of the loop: elements of the new loop, or initial values of invariant
 * elements. */
static hlo_instr_t *build_old_state(const rebuilder_t *rebuilder, hlo_instr_t *new_loop) {
  const loop_t *loop = rebuilder->loop;
  pass_rewrite_t *outer = rebuilder->outer;
  hlo_instr_t **list;
  if (outer->builder.status) return NULL;
  outer->builder.status = HR_NEW_ARRAY(&outer->scratch, loop->count, &list);
  for (int k = 0; k < loop->count && !outer->builder.status; k++) {
    int to = rebuilder->change->to[rebuilder->change->same[k]];
    list[k] = to < 0 || loop_is_invariant(loop, k)
                  ? loop_init_element(outer, loop, k)
                  : hlo_build_element(&outer->builder, new_loop, to);
  }
  return hlo_build(&outer->builder, HLO_TUPLE, loop->instr->shape, loop->count, list, 0, NULL, 0,
                   NULL);
}

hr_status_t loop_rebuild(pass_rewrite_t *rewrite, const loop_t *loop, const loop_change_t *change) {
  rebuilder_t rebuilder = {.outer = rewrite, .loop = loop, .change = change};
  const hlo_instr_t *instr = loop->instr;
  HR_TRY(build_state(&rebuilder));
  HR_TRY(hlo_builder_finish(&rewrite->builder));
  HR_TRY(build_computation(&rebuilder, loop->condition, &rebuilder.called[0]));
  HR_TRY(build_computation(&rebuilder, loop->body, &rebuilder.called[1]));
  hlo_instr_t *init = hlo_build_tuple(&rewrite->builder, new_count(&rebuilder), rebuilder.inits);
  hlo_instr_t *new_while = hlo_build(&rewrite->builder, HLO_WHILE, rebuilder.state, 1, &init,
                                     instr->attr_count, instr->attrs, 2, rebuilder.called);
  if (new_while && instr->extra && instr->extra->metadata) {
    hlo_extra_t *extra;
    HR_TRY(HR_NEW(rewrite->arena, &extra));
    extra->metadata = instr->extra->metadata;
    new_while->extra = extra;
  }
  return pass_replace(rewrite, loop->instr, build_old_state(&rebuilder, new_while));
}

/* ---- the driver ---- */

typedef struct loop_driver {
  loop_rewrite_fn rewrite_loop;
} loop_driver_t;

static hr_status_t visit_loop(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  const loop_driver_t *driver = context;
  loop_t loop;
  return loop_match(instr, &loop) ? driver->rewrite_loop(rewrite, &loop) : NULL;
}

hr_status_t loop_rewrite_each(hlo_module_t *module, loop_rewrite_fn rewrite_loop,
                              bool *out_changed) {
  loop_driver_t driver = {rewrite_loop};
  size_t count = module->computations.count;
  bool changed = false;
  for (size_t c = 0; c < count; c++)
    HR_TRY(pass_rewrite_each(module->computations.data[c], visit_loop, &driver, &changed));
  *out_changed |= changed;
  return changed ? pass_computations_order(module) : NULL;
}

/* --- products --- */

enum { LARGE_LINES = 64, LARGE_MULTIPLICATIONS = 1 << 21 };

bool loop_is_large_product(const hlo_instr_t *instr) {
  int64_t terms = 1;
  if (instr->op != HLO_DOT || hlo_attr_ints(instr, HLO_ATTR_LHS_BATCH_DIMS).count) return false;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_LHS_CONTRACTING_DIMS);
  for (int64_t i = 0; i < dims.count; i++) terms *= instr->operands[0]->shape->dims[dims.data[i]];
  for (int k = 0; k < 2; k++)
    if (hlo_shape_elements(instr->operands[k]->shape) < LARGE_LINES * terms) return false;
  return terms * hlo_shape_elements(instr->shape) >= LARGE_MULTIPLICATIONS;
}
