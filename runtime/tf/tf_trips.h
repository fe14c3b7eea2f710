/* How often a loop runs at most. */
#ifndef TF_TRIPS_H
#define TF_TRIPS_H

#include "tf/tf_lower.h"

/* A loop as instructions of one computation, which is dropped afterwards. */
typedef struct tf_trips {
  int count;                 /* values that go round */
  const expr_t *inside;      /* their parameters; NULL: no array */
  const expr_t *next;        /* their next values; NULL: no array */
  hlo_value_t *const *start; /* what they begin with; NULL: not known */
  expr_t pred;               /* the condition */
} tf_trips_t;

/* *out_bound: -1 if no bound is found. Errors: NO_MEMORY. */
hr_status_t tf_trip_bound(tf_compiler_t *compiler, const tf_trips_t *trips, int64_t *out_bound);

#endif
