/* Abstract evaluation of single instructions. Thread: one per evaluator. */
#ifndef CHECK_ABSTRACT_EVAL_H
#define CHECK_ABSTRACT_EVAL_H

#include "comm/model/abstract_value.h"
#include "comm/model/comm_analysis.h"

typedef struct check_evaluator {
  hr_arena_t *arena; /* prepared kernels */
  hr_arena_t scratch;
  hr_map_t *plans; /* prepared steps, by instruction */
  int rank, num_replicas, num_partitions, program;
  bool by_rank; /* output: a result depended on the rank */
} check_evaluator_t;

void check_evaluator_init(check_evaluator_t *evaluator, hr_arena_t *arena, hr_map_t *plans);
void check_evaluator_deinit(check_evaluator_t *evaluator);

/* Evaluates an instruction without effects and without control flow.
 * Owner:   *out_value is a new reference.
 * Errors:  NO_MEMORY; a failing kernel gives an unknown value. */
hr_status_t check_evaluate(check_evaluator_t *evaluator, const hlo_instr_t *instr,
                           const check_value_t *in, check_value_t *out_value);
/* The value of an entry parameter: equal on two ranks only if the program declares replication. */
check_value_t check_entry_parameter(check_evaluator_t *evaluator, const hlo_instr_t *param);
/* An unknown value private to this rank; `symbol` distinguishes it from others of the rank. */
check_value_t check_private_value(check_evaluator_t *evaluator, const hlo_instr_t *cause,
                                  uint64_t symbol);

#endif
