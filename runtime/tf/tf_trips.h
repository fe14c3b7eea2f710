/* How often a loop runs at most. */
#ifndef TF_TRIPS_H
#define TF_TRIPS_H

#include "tf/tf_lower.h"

/* A loop as instructions of one computation, which is dropped afterwards. */
typedef struct tf_trips {
  int count;                 /* values that go round */
  const expr_t *inside;      /* their parameters, NULL: no array; or NULL: elements of a tuple */
  const expr_t *next;        /* their next values; NULL: no array */
  hlo_value_t *const *start; /* what they begin with; NULL: not known */
  expr_t pred;               /* the condition */
} tf_trips_t;

/* What is known of the states of a loop or branch that is being built: inner loops may run as often
 * as its values say. In a computation only the innermost ones are seen, as all that it uses is
 * handed to it. */
typedef struct tf_states {
  struct tf_states *up; /* states of the computation around it; NULL: none */
  bool is_loop;
  bool is_trial;              /* its body is executed to learn about it, and built again */
  bool is_wanted;             /* an inner loop has no bound without them */
  bool is_known;              /* `all` is complete */
  int count;                  /* values of a state */
  expr_t *inside;             /* what stands for them; NULL: no array */
  HR_VEC(hlo_value_t **) all; /* by iteration the values, NULL: not known; owned by the module */
  hlo_value_t **last;         /* the same after the last iteration */
} tf_states_t;

/* *out_bound: -1 if no bound is found. If there is one, the states of all iterations are added to
 * `states`, unless it is NULL. Errors: NO_MEMORY. */
hr_status_t tf_trip_bound(tf_compiler_t *compiler, const tf_trips_t *trips, tf_states_t *states,
                          int64_t *out_bound);
/* (*out_values)[state][k] is the value of instruction k in a state; NULL: not known. The
 * instructions may be NULL. */
hr_status_t tf_evaluate_in(tf_compiler_t *compiler, const tf_states_t *states, int count,
                           const expr_t *instrs, hlo_value_t ****out_values);
/* The value of an instruction if it is a result of a loop that runs as often as is known here; else
 * NULL. */
hr_status_t tf_loop_result(tf_compiler_t *compiler, expr_t instr, hlo_value_t **out_value);

#endif
