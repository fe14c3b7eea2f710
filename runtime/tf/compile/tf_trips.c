/* A loop is run at compile time as far as its condition needs it: the instructions that the
 * condition depends on, from iteration to iteration, are evaluated with the reference kernels.
 * Values that depend on anything else are unknown; the loop ends when the condition is known to be
 * false, and a conjunction is false if one side is.
 *
 *   condition: i < 10 and sum(x) < 1    next: i + 1, f(x)    start: 0, ?    bound: 10
 *
 * Cost: per iteration the instructions, of small arrays, that the condition depends on. */
#include "tf/compile/tf_trips.h"

#include "passes/lib/pass_evaluate.h"

#define TRIPS_MAX 100000
#define STATES_MAX 10000
#define CHECK_AFTER 8     /* iterations before the check whether the condition stays unknown */
#define CHECK_BUDGET 1000 /* instructions that this check visits */
#define DEPTH_MAX 500
#define OPERANDS_MAX 16
#define ELEMENTS_MAX 64 /* larger arrays do not decide about loops */

/* An instruction that the condition depends on. Operands come before their users. */
typedef struct step {
  expr_t instr;
  int value_index;    /* it is the parameter of this value; -1: none */
  hlo_value_t *value; /* in this iteration; NULL: not known */
  bool is_owned;      /* by this step; else by the state or the module */
} step_t;

typedef struct run {
  tf_compiler_t *compiler;
  const tf_trips_t *trips;
  HR_VEC(step_t) steps;
  hr_map_t numbers;     /* position in `steps` plus one, by instruction */
  bool *needed;         /* by value: the condition depends on it */
  hlo_value_t **values; /* by value, in this iteration; NULL: not known */
} run_t;

/* --- dependencies of the condition --- */

static int value_of(const tf_trips_t *trips, expr_t instr) {
  if (!trips->inside)
    return instr->op == HLO_GET_TUPLE_ELEMENT && instr->operands[0]->op == HLO_PARAMETER
               ? (int)hlo_attr_int(instr, HLO_ATTR_INDEX)
               : -1;
  for (int i = 0; i < trips->count; i++)
    if (trips->inside[i] && trips->inside[i] == instr) return i;
  return -1;
}

/* Position of an instruction in `steps`, plus one; 0: not there. */
static size_t step_number(const run_t *run, expr_t instr) {
  const size_t *number = hr_map_get(&run->numbers, (hr_str_t){(const char *)&instr, sizeof instr});
  return number ? *number : 0;
}

/* Appends a step, and its number to the map. */
static hr_status_t add_step(run_t *run, expr_t instr, int value_index) {
  struct key {
    expr_t instr;
    size_t number;
  } * key;
  HR_TRY(HR_NEW(run->compiler->arena, &key));
  *key = (struct key){instr, run->steps.count + 1};
  HR_VEC_PUSH(&run->steps, (step_t){.instr = instr, .value_index = value_index});
  return hr_map_put(&run->numbers, (hr_str_t){(const char *)&key->instr, sizeof key->instr},
                    &key->number, NULL);
}

/* Instructions below the depth bound are left out and so not known. */
static hr_status_t add_steps(run_t *run, expr_t instr, int depth, bool *more) {
  if (!instr || depth > DEPTH_MAX || step_number(run, instr)) return NULL;
  int value_index = value_of(run->trips, instr);
  if (value_index >= 0 && !run->needed[value_index]) *more = run->needed[value_index] = true;
  for (int k = 0; k < instr->operand_count; k++)
    HR_TRY(add_steps(run, instr->operands[k], depth + 1, more));
  return add_step(run, instr, value_index);
}

/* States and results have all values, not only those that the condition depends on. */
static hr_status_t need_all(run_t *run) {
  bool more;
  for (int i = 0; i < run->trips->count; i++) {
    run->needed[i] = true;
    HR_TRY(add_steps(run, run->trips->next[i], 0, &more));
  }
  return NULL;
}

/* Finds the values that the condition depends on, directly or through the body. */
static hr_status_t find_steps(run_t *run) {
  bool more = true;
  HR_TRY(add_steps(run, run->trips->pred, 0, &more));
  while (more) {
    more = false;
    for (int i = 0; i < run->trips->count; i++)
      if (run->needed[i]) HR_TRY(add_steps(run, run->trips->next[i], 0, &more));
  }
  return NULL;
}

/* --- one iteration --- */

static hlo_value_t *known(const run_t *run, expr_t instr) {
  size_t number = step_number(run, instr);
  return number ? run->steps.data[number - 1].value : NULL;
}

/* The false side of a conjunction, which makes it false whatever the other is. */
static hlo_value_t *false_side(expr_t instr, hlo_value_t *const *in) {
  if (instr->op != HLO_AND || instr->shape->dtype != HR_PRED || instr->shape->rank) return NULL;
  for (int k = 0; k < 2; k++)
    if (in[k] && !hlo_value_int_at(in[k], 0)) return in[k];
  return NULL;
}

/* A result of a conditional whose predicate is known, if that branch gives a constant. */
static hr_status_t constant_of_branch(run_t *run, expr_t instr, hlo_value_t **out_value) {
  expr_t conditional = instr->operands[0];
  if (conditional->op != HLO_CONDITIONAL || conditional->operands[0]->shape->dtype != HR_PRED)
    return NULL;
  hlo_value_t *pred = known(run, conditional->operands[0]);
  if (!pred) return NULL;
  expr_t root = conditional->called[hlo_value_int_at(pred, 0) ? 0 : 1]->root;
  int64_t index = hlo_attr_int(instr, HLO_ATTR_INDEX);
  if (root->op != HLO_TUPLE || index >= root->operand_count) return NULL;
  return tf_evaluate(run->compiler, root->operands[index], out_value);
}

/* Evaluates one step, if all of its operands are known and it is cheap. */
static hr_status_t evaluate(run_t *run, step_t *step) {
  hlo_value_t *in[OPERANDS_MAX];
  bool all = true;
  expr_t instr = step->instr;
  if (step->value_index >= 0) step->value = run->values[step->value_index];
  if (instr->op == HLO_CONSTANT) step->value = instr->literal;
  if (instr->op == HLO_GET_TUPLE_ELEMENT) return constant_of_branch(run, instr, &step->value);
  if (instr->op == HLO_PARAMETER || instr->op == HLO_CONSTANT ||
      instr->operand_count > OPERANDS_MAX || !pass_can_evaluate(instr) ||
      hlo_shape_elements(instr->shape) > ELEMENTS_MAX)
    return NULL;
  for (int k = 0; k < instr->operand_count; k++) {
    in[k] = known(run, instr->operands[k]);
    all &= in[k] != NULL;
  }
  if (!all) {
    step->value = false_side(instr, in);
    return NULL;
  }
  HR_TRY(pass_evaluate(instr, in, &step->value));
  step->is_owned = step->value != NULL;
  return NULL;
}

static void release_values(run_t *run) {
  for (size_t i = 0; i < run->steps.count; i++) {
    step_t *step = &run->steps.data[i];
    if (step->is_owned) hlo_value_release(step->value);
    step->value = NULL;
    step->is_owned = false;
  }
}

/* The state before the loop, or after an iteration. */
static void set_values(run_t *run, bool is_start) {
  hlo_value_t *old;
  for (int i = 0; i < run->trips->count; i++) {
    old = run->values[i];
    hlo_value_t *next = is_start ? run->trips->start[i] : known(run, run->trips->next[i]);
    run->values[i] = run->needed[i] && next ? hlo_value_retain(next) : NULL;
    hlo_value_release(old);
  }
}

/* Whether any value that decides is known; otherwise the evaluation would run for ever. */
static bool is_known(const run_t *run) {
  for (int i = 0; i < run->trips->count; i++)
    if (run->values[i]) return true;
  return false;
}

/* Whether an unknown value stays unknown in all later iterations. Checked after some iterations,
 * when values that become known gradually are known. */
static bool stays_unknown(const run_t *run, expr_t instr, int *budget) {
  size_t number = step_number(run, instr);
  if (!number || --*budget < 0) return *budget >= 0;
  const step_t *step = &run->steps.data[number - 1];
  if (step->value) return false;
  if (step->value_index >= 0) return !known(run, run->trips->next[step->value_index]);
  bool is_branch = instr->op == HLO_GET_TUPLE_ELEMENT && instr->operands[0]->op == HLO_CONDITIONAL;
  if (is_branch) return stays_unknown(run, instr->operands[0]->operands[0], budget);
  int unknown = 0;
  for (int k = 0; k < instr->operand_count; k++)
    unknown += stays_unknown(run, instr->operands[k], budget);
  return instr->op == HLO_AND ? unknown == 2 : unknown > 0 || !instr->operand_count;
}

/* The values of this iteration, for the module to own. */
static hr_status_t take_state(run_t *run, hlo_value_t ***out_values) {
  hlo_value_t **values;
  HR_TRY(HR_NEW_ARRAY(run->compiler->arena, run->trips->count, &values));
  for (int i = 0; i < run->trips->count; i++) {
    if (!run->values[i]) continue;
    values[i] = hlo_value_retain(run->values[i]);
    HR_TRY(hlo_module_adopt_value(run->compiler->module, values[i]));
  }
  *out_values = values;
  return NULL;
}

static hr_status_t add_state(run_t *run, tf_states_t *states) {
  hlo_value_t **values;
  HR_TRY(take_state(run, &values));
  HR_VEC_PUSH(&states->all, values);
  return NULL;
}

static hr_status_t evaluate_all(run_t *run) {
  for (size_t i = 0; i < run->steps.count; i++) HR_TRY(evaluate(run, &run->steps.data[i]));
  return NULL;
}

/* The new state is set before the old steps are dropped, as it retains their values. */
static hr_status_t count_trips(run_t *run, tf_states_t *states, int64_t *out_bound) {
  set_values(run, true);
  for (int64_t n = 0; n <= TRIPS_MAX; n++) {
    HR_TRY(evaluate_all(run));
    hlo_value_t *pred = known(run, run->trips->pred);
    if (pred && !hlo_value_int_at(pred, 0)) {
      *out_bound = n;
      return states ? take_state(run, &states->last) : NULL;
    }
    int budget = CHECK_BUDGET;
    if (!pred && n == CHECK_AFTER && stays_unknown(run, run->trips->pred, &budget)) return NULL;
    if (states && states->all.count < STATES_MAX) HR_TRY(add_state(run, states));
    set_values(run, false);
    release_values(run);
    if (!is_known(run)) return NULL;
  }
  return NULL;
}

static hr_status_t begin_run(run_t *run, tf_compiler_t *compiler, const tf_trips_t *trips) {
  *run = (run_t){.compiler = compiler, .trips = trips};
  HR_TRY(HR_NEW_ARRAY(compiler->arena, trips->count, &run->needed));
  HR_TRY(HR_NEW_ARRAY(compiler->arena, trips->count, &run->values));
  hr_map_init(&run->numbers);
  return NULL;
}

static void end_run(run_t *run) {
  release_values(run);
  for (int i = 0; i < run->trips->count; i++) hlo_value_release(run->values[i]);
  hr_map_deinit(&run->numbers);
  HR_VEC_FREE(&run->steps);
}

hr_status_t tf_trip_bound(tf_compiler_t *compiler, const tf_trips_t *trips, tf_states_t *states,
                          int64_t *out_bound) {
  run_t run;
  size_t before = states ? states->all.count : 0;
  *out_bound = -1;
  HR_TRY(begin_run(&run, compiler, trips));
  hr_status_t st = states ? need_all(&run) : NULL;
  if (!st) st = find_steps(&run);
  if (!st) st = count_trips(&run, states, out_bound);
  end_run(&run);
  if (states && *out_bound > (int64_t)(states->all.count - before)) *out_bound = -1;
  return st;
}

/* Values of instructions in one state, for the module to own. */
static hr_status_t evaluate_state(run_t *run, hlo_value_t **values, int count, const expr_t *instrs,
                                  hlo_value_t **out_values) {
  for (int i = 0; i < run->trips->count; i++) run->values[i] = values[i];
  HR_TRY(evaluate_all(run));
  for (int k = 0; k < count; k++) {
    hlo_value_t *value = instrs[k] ? known(run, instrs[k]) : NULL;
    if (!value) continue;
    out_values[k] = hlo_value_retain(value);
    HR_TRY(hlo_module_adopt_value(run->compiler->module, value));
  }
  release_values(run);
  return NULL;
}

hr_status_t tf_evaluate_in(tf_compiler_t *compiler, const tf_states_t *states, int count,
                           const expr_t *instrs, hlo_value_t ****out_values) {
  run_t run;
  bool more;
  tf_trips_t trips = {.count = states->count, .inside = states->inside};
  HR_TRY(begin_run(&run, compiler, &trips));
  hr_status_t st = HR_NEW_ARRAY(compiler->arena, states->all.count, out_values);
  for (int k = 0; k < count && !st; k++) st = add_steps(&run, instrs[k], 0, &more);
  for (size_t n = 0; n < states->all.count && !st; n++) {
    st = HR_NEW_ARRAY(compiler->arena, count, &(*out_values)[n]);
    if (!st) st = evaluate_state(&run, states->all.data[n], count, instrs, (*out_values)[n]);
  }
  for (int i = 0; i < trips.count; i++) run.values[i] = NULL;
  end_run(&run);
  return st;
}

/* --- results --- */

/* Results of a loop, whose state is a tuple in HLO. The condition must be known in each
 * iteration. */
static hr_status_t run_to_end(run_t *run, expr_t loop, hlo_value_t **out_values) {
  HR_TRY(need_all(run));
  HR_TRY(find_steps(run));
  set_values(run, true);
  for (int64_t n = 0; n <= TRIPS_MAX; n++) {
    HR_TRY(evaluate_all(run));
    hlo_value_t *pred = known(run, run->trips->pred);
    if (!pred) return NULL;
    if (!hlo_value_int_at(pred, 0)) break;
    if (n == TRIPS_MAX) return NULL;
    set_values(run, false);
    release_values(run);
  }
  for (int i = 0; i < loop->shape->element_count; i++) {
    out_values[i] = run->values[i] ? hlo_value_retain(run->values[i]) : NULL;
    if (out_values[i]) HR_TRY(hlo_module_adopt_value(run->compiler->module, out_values[i]));
  }
  return NULL;
}

hr_status_t tf_loop_result(tf_compiler_t *compiler, expr_t instr, hlo_value_t **out_value) {
  run_t run;
  hlo_value_t **start, **values;
  *out_value = NULL;
  if (instr->op != HLO_GET_TUPLE_ELEMENT || instr->operands[0]->op != HLO_WHILE) return NULL;
  expr_t loop = instr->operands[0], init = loop->operands[0], root = loop->called[1]->root;
  if (init->op != HLO_TUPLE || root->op != HLO_TUPLE) return NULL;
  HR_TRY(HR_NEW_ARRAY(compiler->arena, init->operand_count, &start));
  HR_TRY(HR_NEW_ARRAY(compiler->arena, init->operand_count, &values));
  for (int i = 0; i < init->operand_count; i++) {
    HR_TRY(tf_evaluate(compiler, init->operands[i], &start[i]));
    if (!start[i]) HR_TRY(tf_loop_result(compiler, init->operands[i], &start[i]));
  }
  tf_trips_t trips = {.count = init->operand_count,
                      .next = root->operands,
                      .start = start,
                      .pred = loop->called[0]->root};
  HR_TRY(begin_run(&run, compiler, &trips));
  hr_status_t st = run_to_end(&run, loop, values);
  end_run(&run);
  *out_value = values[hlo_attr_int(instr, HLO_ATTR_INDEX)];
  return st;
}
