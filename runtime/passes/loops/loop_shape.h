/* Analysis and rebuilding of `while` loops whose state is a tuple, for passes on loops. */
#ifndef PASS_LOOPS_H
#define PASS_LOOPS_H

#include "passes/lib/pass_match.h"

typedef struct loop {
  hlo_instr_t *instr; /* the while */
  hlo_computation_t *condition, *body;
  hlo_instr_t *init; /* operand of the while: any tuple */
  hlo_instr_t *next; /* root of the body: a `tuple` */
  int count;         /* elements of the state */
} loop_t;

/* Is `instr` a while over a tuple whose body and condition read the state only by
 * get-tuple-element, and whose body ends in a `tuple`? */
bool loop_match(hlo_instr_t *instr, loop_t *out_loop);
/* Number of the state element that an instruction of body or condition reads; -1: it is not a
 * get-tuple-element of the parameter. */
int loop_element_read(const hlo_instr_t *instr);
/* Is element k loop-invariant: passed through the body unchanged? */
static inline bool loop_is_invariant(const loop_t *loop, int k) {
  return loop_element_read(loop->next->operands[k]) == k;
}
/* Is it the only caller of its body? */
bool loop_owns_body(const loop_t *loop);
/* Initial value of element k. loop_init_operand returns NULL if the initial state is no `tuple`
 * instruction; loop_init_element then builds a get-tuple-element. */
hlo_instr_t *loop_init_element(pass_rewrite_t *rewrite, const loop_t *loop, int k);
hlo_instr_t *loop_init_operand(const loop_t *loop, int k);
/* Is it a constant, an iota or a broadcast of one, which a body can rematerialise at no cost? */
bool loop_is_rematerialisable(const hlo_instr_t *instr);

/* Element `index` increases by `step` in each iteration, from `start`, and alone decides that the
 * loop ends after `trips` iterations. */
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

/* Appends one iteration; state[k] becomes element k after it. Clones all instructions of the body,
 * including those with effects. */
hr_status_t loop_clone_iteration(pass_rewrite_t *rewrite, const loop_t *loop, hlo_instr_t **state);
/* Peels off the first `iterations` iterations. The result is the state after them as a tuple; NULL
 * if the builder failed. */
hr_status_t loop_peel(pass_rewrite_t *rewrite, const loop_t *loop, int64_t iterations,
                      hlo_instr_t **out_state);

/* A product that runs at full speed alone: several iterations' at once take no less time, but
 * memory for all of them. */
bool loop_is_large_product(const hlo_instr_t *instr);

/* Mapping from the state of an old loop to that of a new one: the kept elements, followed by
 * hoisted values. */
typedef struct loop_change {
  const int *to;   /* by old element: its number in the new state; -1: removed */
  const int *same; /* by old element: an equal element that replaces it, or the element itself */
  int kept_count;  /* old elements in the new state */
  int hoisted_count;
  hlo_instr_t *const *hoisted; /* instructions of the body, hoisted out of the loop */
  hlo_instr_t *const *values;  /* values of the hoisted instructions before the loop */
} loop_change_t;
/* Calls `rewrite_loop` for each while that loop_match accepts, callees first. Computations added
 * meanwhile are not visited; if anything changed, the list of computations is reordered at the
 * end. */
typedef hr_status_t (*loop_rewrite_fn)(pass_rewrite_t *rewrite, const loop_t *loop);
hr_status_t loop_rewrite_each(hlo_module_t *module, loop_rewrite_fn rewrite_loop,
                              bool *out_changed);

/* Replaces the loop by one with another state. Requires: removed elements that are read are
 * invariant, with a rematerialisable initial value, which users of the loop then read. Errors:
 * NO_MEMORY. */
hr_status_t loop_rebuild(pass_rewrite_t *rewrite, const loop_t *loop, const loop_change_t *change);

#endif
