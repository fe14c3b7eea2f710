/* A loop is run at compile time as far as its condition needs it: the instructions that the
 * condition depends on, from iteration to iteration, are evaluated with the reference kernels. What
 * depends on anything else is not known; the loop ends when the condition is known to be false, and
 * a conjunction is false if one side is.
 *
 *   condition: i < 10 and sum(x) < 1    next: i + 1, f(x)    start: 0, ?    bound: 10
 *
 * Cost: per iteration the instructions, of small arrays, that the condition depends on. */
#include "tf/tf_trips.h"

#include "passes/lib/pass_evaluate.h"

#define TRIPS_MAX 100000
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
  hr_map_t places;      /* place in `steps`, as expr_t *, by instruction */
  bool *needed;         /* by value: the condition depends on it */
  hlo_value_t **values; /* by value, in this iteration; NULL: not known */
} run_t;

/* --- what the condition depends on --- */

static int value_of(const tf_trips_t *trips, expr_t instr) {
  for (int i = 0; i < trips->count; i++)
    if (trips->inside[i] == instr) return i;
  return -1;
}

/* Place of an instruction in `steps`, stored as the number after it; 0: not there. */
static size_t place_of(const run_t *run, expr_t instr) {
  const size_t *place = hr_map_get(&run->places, (hr_str_t){(const char *)&instr, sizeof instr});
  return place ? *place : 0;
}

static hr_status_t add_step(run_t *run, expr_t instr, int value_index) {
  struct key {
    expr_t instr;
    size_t place;
  } * key;
  HR_TRY(HR_NEW(run->compiler->arena, &key));
  *key = (struct key){instr, run->steps.count + 1};
  HR_VEC_PUSH(&run->steps, (step_t){.instr = instr, .value_index = value_index});
  return hr_map_put(&run->places, (hr_str_t){(const char *)&key->instr, sizeof key->instr},
                    &key->place, NULL);
}

/* Instructions below the depth bound are left out and so not known. */
static hr_status_t add_steps(run_t *run, expr_t instr, int depth, bool *more) {
  if (!instr || depth > DEPTH_MAX || place_of(run, instr)) return NULL;
  int value_index = value_of(run->trips, instr);
  if (value_index >= 0 && !run->needed[value_index]) *more = run->needed[value_index] = true;
  for (int k = 0; k < instr->operand_count; k++)
    HR_TRY(add_steps(run, instr->operands[k], depth + 1, more));
  return add_step(run, instr, value_index);
}

/* The values that the condition depends on, and those that these do. */
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
  size_t place = place_of(run, instr);
  return place ? run->steps.data[place - 1].value : NULL;
}

/* False and anything is false. */
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

static void forget(run_t *run) {
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

/* Whether anything that decides is known; otherwise the loop would run for ever here. */
static bool is_known(const run_t *run) {
  for (int i = 0; i < run->trips->count; i++)
    if (run->values[i]) return true;
  return false;
}

/* The new state is set before the old steps are forgotten, which it retains. */
static hr_status_t count_trips(run_t *run, int64_t *out_bound) {
  set_values(run, true);
  for (int64_t n = 0; n <= TRIPS_MAX; n++) {
    for (size_t i = 0; i < run->steps.count; i++) HR_TRY(evaluate(run, &run->steps.data[i]));
    hlo_value_t *pred = known(run, run->trips->pred);
    if (pred && !hlo_value_int_at(pred, 0)) {
      *out_bound = n;
      return NULL;
    }
    set_values(run, false);
    forget(run);
    if (!is_known(run)) return NULL;
  }
  return NULL;
}

hr_status_t tf_trip_bound(tf_compiler_t *compiler, const tf_trips_t *trips, int64_t *out_bound) {
  run_t run = {.compiler = compiler, .trips = trips};
  *out_bound = -1;
  HR_TRY(HR_NEW_ARRAY(compiler->arena, trips->count, &run.needed));
  HR_TRY(HR_NEW_ARRAY(compiler->arena, trips->count, &run.values));
  hr_map_init(&run.places);
  hr_status_t st = find_steps(&run);
  if (!st) st = count_trips(&run, out_bound);
  forget(&run);
  for (int i = 0; i < trips->count; i++) hlo_value_release(run.values[i]);
  hr_map_deinit(&run.places);
  HR_VEC_FREE(&run.steps);
  return st;
}
