/* Facts about a loop that a dry run of its body finds before the loop is built: the shapes
 * of empty lists and stacks, the growth of those without a bound, and constants among the elements
 * of lists. A list reserved without an element shape has no array yet, but a loop's state needs a
 * static shape. XlaCompiler finds the size of a TensorArray in a loop in the same way. */
#include "tf/lower/tf_list.h"
#include "tf/compile/tf_trips.h"
#include "tf/compile/tf_while.h"

/* The dry run's values, by loop value. */
typedef struct dry_run {
  const tf_loop_t *loop;
  tf_value_t *values;  /* before the loop */
  tf_value_t *inside;  /* at the start of an iteration: parameters, or constants that stay */
  tf_value_t *results; /* after it */
  hlo_builder_t b;     /* builder of the computation, which is dropped */
} dry_run_t;

static bool is_stack(const tf_value_t *value) {
  return value->kind == TF_VALUE_RESOURCE && value->resource->kind == XLA_RESOURCE_STACK;
}

/* --- inputs of the dry run --- */

/* The dry run changes copies of resources; values that name the same one share it. */
static hr_status_t copy_resource(tf_op_t *op, dry_run_t *t, int i) {
  tf_resource_t *resource = t->values[i].resource;
  for (int k = 0; k < i; k++)
    if (t->values[k].kind == TF_VALUE_RESOURCE && t->values[k].resource == resource) {
      t->inside[i].resource = t->inside[k].resource;
      return NULL;
    }
  HR_TRY(HR_NEW(op->arena, &t->inside[i].resource));
  *t->inside[i].resource = *resource;
  if (resource->value)
    t->inside[i].resource->value = hlo_build_parameter(&t->b, i, resource->value->shape);
  return NULL;
}

static void set_counts(dry_run_t *t, int number, expr_t outside, expr_t *out_inside) {
  if (outside) *out_inside = hlo_build_parameter(&t->b, number, outside->shape);
}

/* A parameter, as sizes must not depend on the state. */
static hr_status_t set_inside(tf_op_t *op, dry_run_t *t, int i) {
  tf_value_t value = t->values[i];
  t->inside[i] = t->values[i];
  if (value.kind == TF_VALUE_RESOURCE) return copy_resource(op, t, i);
  expr_t instr = tf_value_instr(op->scope->compiler, op->b, &value);
  bool is_list = value.kind == TF_VALUE_LIST;
  int count = t->loop->count;
  set_counts(t, count + i, value.count, &t->inside[i].count);
  set_counts(t, 2 * count + i, value.element_counts, &t->inside[i].element_counts);
  t->inside[i].instr = NULL;
  if (!instr || (!is_list && value.constant && t->loop->keep[i])) return NULL;
  t->inside[i].instr = hlo_build_parameter(&t->b, i, instr->shape);
  if (!is_list) t->inside[i].constant = NULL;
  return NULL;
}

/* --- facts about elements --- */

/* Whether an iteration pushes the constant that is there already, or the first one, or numbers with
 * the same bound. */
static bool stays_pushed(const tf_value_t *before, const tf_value_t *after) {
  if (after->kind != TF_VALUE_LIST || !after->list_pushed) return false;
  if (!tf_list_is_known(before)) return true;
  if (!before->constant) return !after->constant && after->list_bound == before->list_bound;
  return after->constant && hlo_value_equal(before->constant, after->constant);
}

/* Whether stays_pushed holds of the lists that are the list's elements. */
static bool lists_stay(const tf_value_t *before, const tf_value_t *after) {
  return after->kind == TF_VALUE_LIST && after->element &&
         stays_pushed(before->element, after->element);
}

/* A fact about the elements of a list holds in every iteration if the body preserves it. If one
 * fact is not preserved, all facts are dropped, as the element may have been pushed on another
 * list. */
static hr_status_t keep_pushed(hr_arena_t *arena, int count, tf_value_t *values,
                               const tf_value_t *results) {
  bool all_stay = true;
  for (int i = 0; i < count; i++) {
    if (tf_list_is_known(&values[i])) all_stay &= stays_pushed(&values[i], &results[i]);
    if (tf_has_known_lists(&values[i])) all_stay &= lists_stay(&values[i], &results[i]);
  }
  for (int i = 0; i < count; i++) {
    if (!all_stay) HR_TRY(tf_forget_lists(arena, &values[i]));
    if (values[i].kind != TF_VALUE_LIST || !values[i].list_pushed) continue;
    values[i].list_pushed = all_stay && stays_pushed(&values[i], &results[i]);
    values[i].constant = values[i].list_pushed ? results[i].constant : NULL;
    values[i].list_bound = results[i].list_bound;
  }
  return NULL;
}

/* --- growth --- */

static int64_t capacity(const tf_value_t *value) {
  return is_stack(value) ? value->resource->size : value->list_size;
}

static bool is_unbounded(const tf_value_t *value) {
  return is_stack(value) ? value->resource->unbounded
                         : value->kind == TF_VALUE_LIST && value->list_unbounded;
}

/* Entries that one iteration adds; of a stack, it is asked for the first value that names it. */
static int64_t growth_of(const dry_run_t *t, int i) {
  if (!is_unbounded(&t->values[i])) return 0;
  for (int k = 0; k < i; k++)
    if (is_stack(&t->values[i]) && t->values[k].resource == t->values[i].resource) return 0;
  const tf_value_t *after = is_stack(&t->values[i]) ? &t->inside[i] : &t->results[i];
  return capacity(after) - capacity(&t->values[i]);
}

/* The loop as instructions, its values and after them the counts of its lists; `starts` are those
 * before it, `known` their values if they are constants. */
static hr_status_t describe_loop(tf_op_t *op, dry_run_t *t, expr_t *starts, hlo_value_t **known,
                                 tf_trips_t *out) {
  tf_value_t pred;
  expr_t *inside, *next;
  int count = t->loop->count;
  tf_compiler_t *compiler = op->scope->compiler;
  HR_TRY(HR_NEW_ARRAY(op->arena, 2 * count, &inside));
  HR_TRY(HR_NEW_ARRAY(op->arena, 2 * count, &next));
  HR_TRY(t->loop->condition(t->loop->context, op, &t->b, t->inside, &pred));
  for (int i = 0; i < count; i++) {
    inside[count + i] = t->inside[i].count;
    next[count + i] = t->results[i].count;
    starts[count + i] = t->values[i].count;
    if (t->values[i].count) HR_TRY(tf_evaluate(compiler, t->values[i].count, &known[count + i]));
    if (t->values[i].kind != TF_VALUE_ARRAY) continue;
    tf_value_t before = t->values[i];
    inside[i] = t->inside[i].instr;
    next[i] = tf_value_instr(compiler, &t->b, &t->results[i]);
    known[i] = before.constant;
    starts[i] = before.instr;
    if (!known[i] && before.instr) HR_TRY(tf_evaluate(compiler, before.instr, &known[i]));
    if (!known[i] && before.instr) HR_TRY(tf_loop_result(compiler, before.instr, &known[i]));
  }
  *out = (tf_trips_t){2 * count, inside, next, known, tf_value_instr(compiler, &t->b, &pred)};
  return NULL;
}

/* Finds the bound in each state of the loop around this one, and takes the largest. */
static hr_status_t find_largest_bound(tf_op_t *op, const tf_states_t *outer, const expr_t *starts,
                                      const tf_trips_t *trips, tf_states_t *states,
                                      int64_t *out_bound) {
  hlo_value_t ***values;
  tf_compiler_t *compiler = op->scope->compiler;
  int64_t largest = 0, bound;
  HR_TRY(tf_evaluate_in(compiler, outer, trips->count, starts, &values));
  for (size_t n = 0; n < outer->all.count; n++) {
    tf_trips_t one = *trips;
    one.start = values[n];
    for (int i = 0; i < trips->count; i++)
      if (trips->start[i]) values[n][i] = trips->start[i];
    HR_TRY(tf_trip_bound(compiler, &one, states, &bound));
    if (bound < 0) return NULL;
    if (bound > largest) largest = bound;
  }
  *out_bound = largest;
  return NULL;
}

static void request_states(tf_states_t *states) {
  while (states && !states->is_loop) states = states->up;
  if (states) states->is_needed = true;
}

/* The largest trip count of the loop, -1 if that is not known. `states`, if not NULL, gets its
 * states; `outer` are those of the loop outer it. */
static hr_status_t find_trip_bound(tf_op_t *op, dry_run_t *t, tf_states_t *outer,
                                   tf_states_t *states, int64_t *out_bound) {
  tf_trips_t trips;
  expr_t *starts;
  hlo_value_t **known;
  *out_bound = -1;
  HR_TRY(HR_NEW_ARRAY(op->arena, 2 * t->loop->count, &starts));
  HR_TRY(HR_NEW_ARRAY(op->arena, 2 * t->loop->count, &known));
  HR_TRY(describe_loop(op, t, starts, known, &trips));
  HR_TRY(tf_trip_bound(op->scope->compiler, &trips, states, out_bound));
  if (*out_bound >= 0 || !outer) return NULL;
  if (states) states->all.count = 0;
  if (outer->is_known) return find_largest_bound(op, outer, starts, &trips, states, out_bound);
  request_states(outer);
  return NULL;
}

static void raise_to(const hlo_value_t *count, int64_t *largest, bool *all_known) {
  *all_known &= count != NULL;
  if (count && hlo_value_int_at(count, 0) > *largest) *largest = hlo_value_int_at(count, 0);
}

/* Most elements of list i, if its counts are known in all states; else -1. */
static int64_t largest_count(const tf_states_t *states, int i) {
  int64_t largest = 0;
  bool all_known = states->last != NULL;
  for (size_t n = 0; n < states->all.count; n++)
    raise_to(states->all.data[n][i], &largest, &all_known);
  if (states->last) raise_to(states->last[i], &largest, &all_known);
  return all_known ? largest : -1;
}

/* Number of elements that the loop adds to value i, -1 if that is not known. */
static int64_t added_capacity(const dry_run_t *t, int i, int64_t bound, const tf_states_t *states) {
  int64_t added, each = growth_of(t, i);
  if (t->results[i].kind == TF_VALUE_LIST && t->results[i].list_sparse_write) {
    int64_t most = bound < 0 ? -1 : largest_count(states, t->loop->count + i);
    if (most < 0) return -1;
    return most < t->values[i].list_size ? 0 : most - t->values[i].list_size;
  }
  if (bound < 0 || __builtin_mul_overflow(bound, each, &added) || added > INT32_MAX) return -1;
  return added;
}

/* Enlarges each list and stack by what all iterations add. Errors: UNSUPPORTED if that is not
 * known. */
static hr_status_t add_capacity(tf_op_t *op, dry_run_t *t, int64_t bound,
                                const tf_states_t *states) {
  for (int i = 0; i < t->loop->count; i++) {
    if (!growth_of(t, i)) continue;
    int64_t added = added_capacity(t, i, bound, states);
    if (added < 0 && op->scope->compiler->is_state_enumeration) added = 1;
    if (added < 0)
      return tf_unsupported(op,
                            "a stack or list without a bound, in a loop of which it is not "
                            "known at compile time how often it runs: maximum_iterations "
                            "must be a constant");
    if (is_stack(&t->values[i]))
      tf_stack_grow(op->b, t->values[i].resource, added);
    else
      tf_list_grow(op, &t->values[i], added);
  }
  return NULL;
}

/* Makes added for the elements that all iterations push, or write at counters. */
static hr_status_t reserve_capacity(tf_op_t *op, dry_run_t *t) {
  int64_t bound = -1;
  bool grows = false, jumps = false;
  tf_compiler_t *compiler = op->scope->compiler;
  tf_states_t states = {.count = 2 * t->loop->count};
  for (int i = 0; i < t->loop->count; i++) {
    grows |= growth_of(t, i) != 0;
    jumps |= t->results[i].kind == TF_VALUE_LIST && t->results[i].list_sparse_write;
  }
  if (!grows) return NULL;
  hr_status_t st = find_trip_bound(op, t, compiler->states->up, jumps ? &states : NULL, &bound);
  if (!st && bound < 0 && compiler->is_state_enumeration) bound = 1;
  if (!st) st = add_capacity(op, t, bound, &states);
  HR_VEC_FREE(&states.all);
  return st;
}

/* Lists whose lengths the body changes, although they were full. */
static bool add_missing_counts(tf_op_t *op, dry_run_t *t) {
  bool changed = false;
  for (int i = 0; i < t->loop->count; i++) {
    tf_value_t *value = &t->values[i];
    if (value->kind != TF_VALUE_LIST || value->count || !value->list_unbounded) continue;
    bool is_longer = t->results[i].list_size != value->list_size;
    if (!t->results[i].count && !is_longer) continue;
    value->count = tf_scalar_int(op->b, value->list_size, HR_S32);
    value->list_grown_by_write = t->results[i].list_grown_by_write;
    changed = true;
  }
  return changed;
}

/* --- results of the dry run --- */

/* The dry run's pushes show the shape of an entry. */
static hr_status_t start_stack(tf_op_t *op, tf_resource_t *stack, const tf_resource_t *inside) {
  int64_t dims[HLO_MAX_RANK];
  const hlo_shape_t *entry;
  stack->entry = inside->entry;
  stack->entry_shape = inside->entry_shape;
  if (!inside->value) return NULL;
  const hlo_shape_t *all = inside->value->shape->elements[0];
  for (int d = 1; d < all->rank; d++) dims[d - 1] = all->dims[d];
  HR_TRY(hlo_shape_array(op->arena, all->dtype, all->rank - 1, dims, &entry));
  return tf_stack_start(op->b, stack, entry);
}

/* Zeros for all elements, as many as the result has unless the list grows. */
static void start_list(tf_op_t *op, tf_value_t *list, const tf_value_t *result) {
  int64_t dims[HLO_MAX_RANK];
  const hlo_shape_t *shape = result->instr->shape;
  if (!list->list_unbounded) list->list_size = shape->dims[0];
  for (int d = 0; d < shape->rank; d++) dims[d] = d ? shape->dims[d] : list->list_size;
  list->instr = tf_fill(op->b, 0, shape->dtype, shape->rank, dims);
  list->list_dtype = shape->dtype;
  list->element = result->element;
  if (result->element_counts) list->element_counts = tf_fill(op->b, 0, HR_S32, 1, &list->list_size);
}

/* The flow of a TensorArray's gradient begins as the number 0, and is a list after an iteration. */
static void start_flow(tf_op_t *op, tf_value_t *value, const tf_value_t *result) {
  if (value->kind != TF_VALUE_ARRAY || result->kind != TF_VALUE_LIST || !result->instr) return;
  const tf_live_t *live = value->live;
  *value = *result;
  value->live = live;
  value->instr = hlo_build_number_like(op->b, 0, result->instr);
  value->list_accumulates = true;
}

/* Gives stacks, lists and flows without a shape those that the dry run has found. */
static hr_status_t start_values(tf_op_t *op, dry_run_t *t) {
  for (int i = 0; i < t->loop->count; i++) {
    tf_value_t *value = &t->values[i];
    start_flow(op, value, &t->results[i]);
    if (is_stack(value) && !value->resource->value)
      HR_TRY(start_stack(op, value->resource, t->inside[i].resource));
    if (value->kind == TF_VALUE_LIST && !value->instr && t->results[i].instr)
      start_list(op, value, &t->results[i]);
  }
  return NULL;
}

/* Whether a number may represent the gradient of a TensorArray. */
static bool may_be_flow(const tf_value_t *value) {
  if (value->kind != TF_VALUE_ARRAY) return false;
  if (value->constant) return !value->constant->rank && value->constant->dtype == HR_F32;
  return value->instr && !value->instr->shape->rank && value->instr->shape->dtype == HR_F32;
}

/* Only for these the dry run of the body is worth its cost. */
static bool needs_dry_run(int count, const tf_value_t *values) {
  bool has_flow = false;
  for (int i = 0; i < count; i++) has_flow |= may_be_flow(&values[i]);
  for (int i = 0; i < count; i++) {
    bool is_list = values[i].kind == TF_VALUE_LIST;
    if (is_unbounded(&values[i]) || tf_has_known_lists(&values[i]) ||
        (is_list && (!values[i].instr || values[i].list_pushed)) || (is_list && has_flow) ||
        (is_stack(&values[i]) && !values[i].resource->value))
      return true;
  }
  return false;
}

/* Executes the body once, in a computation that is dropped. */
static hr_status_t run_body_once(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values,
                                 dry_run_t *out) {
  *out = (dry_run_t){.loop = loop, .values = values};
  HR_TRY(HR_NEW_ARRAY(op->arena, loop->count, &out->inside));
  HR_TRY(HR_NEW_ARRAY(op->arena, loop->count, &out->results));
  HR_TRY(tf_computation_begin(op->scope->compiler, "dry_run", &out->b));
  for (int i = 0; i < loop->count; i++) HR_TRY(set_inside(op, out, i));
  HR_TRY(hlo_builder_finish(op->b));
  HR_TRY(tf_states_enter(op, loop->count, out->inside));
  tf_states_t *states = op->scope->compiler->states;
  states->is_dry_run = true;
  hr_status_t st = loop->body(loop->context, op, &out->b, out->inside, out->results);
  states->is_dry_run = false;
  return st;
}

hr_status_t tf_loop_dry_run(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values) {
  dry_run_t t;
  if (!needs_dry_run(loop->count, values)) return NULL;
  HR_TRY(run_body_once(op, loop, values, &t));
  if (add_missing_counts(op, &t)) HR_TRY(run_body_once(op, loop, values, &t));
  HR_TRY(reserve_capacity(op, &t));
  HR_TRY(start_values(op, &t));
  HR_TRY(keep_pushed(op->arena, loop->count, values, t.results));
  return hlo_builder_finish(op->b);
}

hr_status_t tf_loop_enumerate_states(tf_op_t *op, const tf_loop_t *loop, tf_value_t *values) {
  dry_run_t t;
  int64_t bound;
  tf_compiler_t *compiler = op->scope->compiler;
  tf_states_t *states = compiler->states;
  compiler->is_state_enumeration = true;
  hr_status_t st = run_body_once(op, loop, values, &t);
  compiler->is_state_enumeration = false;
  if (!st) st = find_trip_bound(op, &t, states->up, states, &bound);
  states->is_known = !st && bound >= 0;
  return st;
}
