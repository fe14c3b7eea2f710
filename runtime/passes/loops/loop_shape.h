/* What the passes on loops know of a `while` whose state is a tuple, and how they make it anew. */
#ifndef PASS_LOOPS_H
#define PASS_LOOPS_H

#include "passes/lib/pass_match.h"

typedef struct loop {
  hlo_instr_t *instr; /* the while */
  hlo_computation_t *condition, *body;
  hlo_instr_t *init; /* its operand: any tuple */
  hlo_instr_t *next; /* root of the body: a `tuple` */
  int count;         /* elements of the state */
} loop_t;

/* Is `instr` a while over a tuple, whose body and condition read the state by get-tuple-element
 * only, and whose body ends in a `tuple`? */
bool loop_match(hlo_instr_t *instr, loop_t *out_loop);
/* Number of the state element that an instruction of body or condition reads; -1: it is no
 * get-tuple-element of the parameter. */
int loop_element_read(const hlo_instr_t *instr);
/* Is element k loop-invariant: passed through the body unchanged? */
static inline bool loop_is_invariant(const loop_t *loop, int k) {
  return loop_element_read(loop->next->operands[k]) == k;
}
/* Initial value of element k. loop_init_operand: NULL if the initial state is no `tuple`
 * instruction; loop_init_element then builds a get-tuple-element. */
hlo_instr_t *loop_init_element(pass_rewrite_t *rewrite, const loop_t *loop, int k);
hlo_instr_t *loop_init_operand(const loop_t *loop, int k);
/* Is it a constant, an iota or a broadcast of one, which a body can rematerialise at no cost? */
bool loop_is_rematerialisable(const hlo_instr_t *instr);

/* Element `index` goes up by `step` each iteration, from `start`, and alone decides that the loop
 * ends after `trips` iterations. */
typedef struct loop_counter {
  int index;
  int64_t start, step, trips;
} loop_counter_t;
bool loop_find_counter(const loop_t *loop, loop_counter_t *out_counter);
/* Is element k an induction variable with a constant step? */
bool loop_find_step(const loop_t *loop, int k, int64_t *out_step);

/* Extends `wanted` (by id) to all transitive operands of marked instructions, except parameters. */
void loop_mark_operands(const hlo_computation_t *computation, bool *wanted);
/* Clones the instructions of `callee`, body or condition of a loop, that `wanted` (by id) marks and
 * that have no clone yet. elements[k] replaces element k of the state; copies[id] receives the
 * clone of instruction id. Failures stick to the builder. */
void loop_clone_marked(pass_rewrite_t *rewrite, const hlo_computation_t *callee,
                       hlo_instr_t *const *elements, const bool *wanted, hlo_instr_t **copies);

/* Appends one iteration: state[k] becomes element k after it. All instructions of the body are
 * cloned, those with effects included. */
hr_status_t loop_clone_iteration(pass_rewrite_t *rewrite, const loop_t *loop, hlo_instr_t **state);
/* The state after the first `iterations` iterations, peeled off as a tuple; NULL on the builder's
 * failure. */
hr_status_t loop_peel(pass_rewrite_t *rewrite, const loop_t *loop, int64_t iterations,
                      hlo_instr_t **out_state);

/* Mapping from the state of an old loop to that of a new one: the kept elements, then hoisted
 * values. */
typedef struct loop_change {
  const int *to;   /* by old element: its number in the new state; -1: removed */
  const int *same; /* by old element: an equal element that replaces it, or itself */
  int kept_count;  /* old elements in the new state */
  int hoisted_count;
  hlo_instr_t *const *hoisted; /* instructions of the body, hoisted out of the loop */
  hlo_instr_t *const *values;  /* their values before the loop */
} loop_change_t;
/* Calls `rewrite_loop` for each while of each computation that loop_match accepts, callees first;
 * computations added meanwhile are not visited. Afterwards the list of computations is put in order
 * if anything changed. */
typedef hr_status_t (*loop_rewrite_fn)(pass_rewrite_t *rewrite, const loop_t *loop);
hr_status_t loop_rewrite_each(hlo_module_t *module, loop_rewrite_fn rewrite_loop,
                              bool *out_changed);

/* Replaces the loop by one with another state. Removed elements may be read only if they are
 * invariant and their initial value is rematerialisable; users of the loop then read that value.
 * Errors: NO_MEMORY. */
hr_status_t loop_rebuild(pass_rewrite_t *rewrite, const loop_t *loop, const loop_change_t *change);

#endif
