/* Evaluates instructions on what is known of their operands. */
#ifndef CHECK_ABSTRACT_EVAL_H
#define CHECK_ABSTRACT_EVAL_H

#include "comm/model/abstract_value.h"
#include "comm/model/comm_analysis.h"

typedef struct check_evaluator {
  hr_arena_t *arena; /* for kernels' preparations */
  hr_arena_t scratch;
  hr_map_t *plans; /* prepared steps, by instruction */
  int rank, num_replicas, num_partitions, program;
  bool by_rank; /* asked who it is */
} check_evaluator_t;

void check_evaluator_init(check_evaluator_t *evaluator, hr_arena_t *arena, hr_map_t *plans);
void check_evaluator_deinit(check_evaluator_t *evaluator);

/* An instruction without effects that calls nothing of the program's control flow. */
hr_status_t check_evaluate(check_evaluator_t *evaluator, const hlo_instr_t *instr,
                           const check_value_t *in, check_value_t *out_value);
/* A parameter of the entry: equal everywhere only as far as the program declares it. */
check_value_t check_entry_parameter(check_evaluator_t *evaluator, const hlo_instr_t *param);
/* A value of which nothing is known but where it comes from; `symbol` tells it from others of this
 * process. */
check_value_t check_private_value(check_evaluator_t *evaluator, const hlo_instr_t *cause,
                                  uint64_t symbol);

#endif
