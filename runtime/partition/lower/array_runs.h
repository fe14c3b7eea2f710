/* What an array is made of along one dimension: runs of elements of other arrays, which
 * concatenations, slices, reversals and repetitions take from these.
 *
 *   concatenate(reverse(x[1:3]), x)[0:5]     ->     x[2], x[1]; x[0], x[1], x[2] */
#ifndef HR_PARTITION_LOWER_ARRAY_RUNS_H
#define HR_PARTITION_LOWER_ARRAY_RUNS_H

#include "base/vec.h"
#include "ir/module.h"

typedef struct spmd_run {
  hlo_instr_t *source; /* its other dimensions are those of the array */
  int64_t from, count; /* element i of the run is number from + i * step of the source */
  int step;            /* 1; -1; 0: one element, again and again */
} spmd_run_t;
typedef HR_VEC(spmd_run_t) spmd_runs_t;

typedef struct spmd_run_rules { /* what runs are followed through */
  bool paddings_only;           /* concatenations that put little at the ends of an array */
  int64_t longest;              /* most elements of a reversal or repetition */
} spmd_run_rules_t;

/* True for an array with a little at its ends. */
bool spmd_is_padding(const hlo_instr_t *instr);
/* Appends the runs of `count` elements of x along d. Errors: NO_MEMORY. */
hr_status_t spmd_add_runs(spmd_runs_t *runs, hlo_instr_t *x, int d, int64_t from, int64_t count,
                          const spmd_run_rules_t *rules);
/* Joins runs that continue each other. */
void spmd_join_runs(spmd_runs_t *runs);

#endif
