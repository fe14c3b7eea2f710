/* Upper bounds of trip counts. */
#ifndef TF_TRIPS_H
#define TF_TRIPS_H

#include "tf/compile/tf_lower.h"

/* A loop as instructions of one temporary computation. */
typedef struct tf_trips {
  int count;                 /* number of state values */
  const expr_t *inside;      /* parameters, NULL: no array; or NULL: elements of a tuple */
  const expr_t *next;        /* next values; NULL: no array */
  hlo_value_t *const *start; /* initial values; NULL: not known */
  expr_t pred;               /* the condition */
} tf_trips_t;

/* Known states of a loop or branch under construction, from which trip counts of inner loops are
 * derived. A computation sees only the innermost states, as all values that it uses are passed to
 * it. */
typedef struct tf_states {
  struct tf_states *up; /* states of the enclosing computation; NULL: none */
  bool is_loop;
  bool is_dry_run;            /* the body is built for analysis only, and built again later */
  bool is_needed;             /* an inner loop needs these states for its bound */
  bool is_known;              /* `all` is complete */
  int count;                  /* number of state values */
  expr_t *inside;             /* instructions of the state values; NULL: no array */
  HR_VEC(hlo_value_t **) all; /* values by iteration, NULL: not known; owned by the module */
  hlo_value_t **last;         /* values after the last iteration */
} tf_states_t;

/* *out_bound: -1 if no bound is found. If there is one, the states of all iterations are added to
 * `states`, unless it is NULL. Errors: NO_MEMORY. */
hr_status_t tf_trip_bound(tf_compiler_t *compiler, const tf_trips_t *trips, tf_states_t *states,
                          int64_t *out_bound);
/* (*out_values)[state][k] is the value of instruction k in a state; NULL: not known. The
 * instructions may be NULL. */
hr_status_t tf_evaluate_in(tf_compiler_t *compiler, const tf_states_t *states, int count,
                           const expr_t *instrs, hlo_value_t ****out_values);
/* The value of an instruction if it is a result of a loop with known states; else NULL. */
hr_status_t tf_loop_result(tf_compiler_t *compiler, expr_t instr, hlo_value_t **out_value);

#endif
