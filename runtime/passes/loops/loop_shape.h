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

/* Is it a loop over a tuple whose body and condition read the state by get-tuple-element only, and
 * whose body ends in a `tuple`? */
bool loop_match(hlo_instr_t *instr, loop_t *out_loop);
/* Which element of the state does an instruction of body or condition read? -1: it is no
 * get-tuple-element of it. */
int loop_element_read(const hlo_instr_t *instr);
/* Does the body hand element k on as it is? */
static inline bool loop_is_invariant(const loop_t *loop, int k) {
  return loop_element_read(loop->next->operands[k]) == k;
}
/* Element k before the first iteration. loop_init_known: NULL if it would have to be taken out of a
 * tuple. */
hlo_instr_t *loop_init_element(pass_rewrite_t *rewrite, const loop_t *loop, int k);
hlo_instr_t *loop_init_known(const loop_t *loop, int k);
/* Is it a constant, or so easily made of constants, that a body better has its own? */
bool loop_is_easy(const hlo_instr_t *instr);

/* Element `index` goes up by `step` each iteration, from `start`, and alone decides that the loop
 * ends after `trips` turns */
typedef struct loop_counter {
  int index;
  int64_t start, step, trips;
} loop_counter_t;
bool loop_find_counter(const loop_t *loop, loop_counter_t *out_counter);
/* Does element k go up by the same known number each iteration? */
bool loop_find_step(const loop_t *loop, int k, int64_t *out_step);

/* Marks, by id, what the marked instructions of a computation need, parameters apart. */
void loop_want_needs(const hlo_computation_t *computation, bool *wanted);
/* Copies instructions of `callee`, a body or condition of a loop: those that `wanted` (by id) names
 * and that have no copy yet. elements[k] stands for element k of the state, copies[id] gets what
 * stands for instruction id. Failures stick to the builder. */
void loop_copy(pass_rewrite_t *rewrite, const hlo_computation_t *callee,
               hlo_instr_t *const *elements, const bool *wanted, hlo_instr_t **copies);

/* state[k], element k of the state, becomes what it is after one more iteration. All instructions
 * of the body are copied, so that effects happen. */
hr_status_t loop_clone_iteration(pass_rewrite_t *rewrite, const loop_t *loop, hlo_instr_t **state);
/* The state after so many iterations from the first one on, as a tuple; NULL on the builder's
 * failure. */
hr_status_t loop_after(pass_rewrite_t *rewrite, const loop_t *loop, int64_t iterations,
                       hlo_instr_t **out_state);

/* How the state of a new loop follows from that of an old one: first old elements, then what was
 * hoisted. */
typedef struct loop_change {
  const int *to;   /* by old element: its number in the new state; -1: it is gone */
  const int *same; /* by old element: the one that is read in its place; itself, if there is none */
  int kept_count;  /* old elements that stay */
  int hoisted_count;
  hlo_instr_t *const *hoisted; /* instructions of the body that are computed before the loop ... */
  hlo_instr_t *const *values;  /* ... as these */
} loop_change_t;
/* Puts a new loop in the place of the old one. Elements that are gone may be read only if their
 * value before the loop is easy, and they are invariant; users of the loop see that value. Errors:
 * NO_MEMORY. */
hr_status_t loop_rebuild(pass_rewrite_t *rewrite, const loop_t *loop, const loop_change_t *change);

#endif
