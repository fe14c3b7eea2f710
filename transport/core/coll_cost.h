/* Estimated times of collectives, for those who plan programs instead of running them: the formulas
 * of algorithms.def and the table of `hlorun --tune`, by which transfers choose their algorithms.
 * No endpoint is needed. All processes of a world come to equal numbers as long as they read equal
 * tables: tables count on one machine only, where there is one file.
 * Units:   microseconds; bytes as algorithms.def counts them for each collective.
 * Source:  the alpha-beta model (Hockney), extended for shared memory in algorithms.def. */
#ifndef TP_COLL_COST_H
#define TP_COLL_COST_H

#include "transport/core/request.h"

typedef struct tp_cost_model {
  int machines;                   /* machines that the ranks are spread over, in equal shares */
  const struct tp_tuning *tuning; /* measured times; NULL: formulas alone */
} tp_cost_model_t;

/* The model of the world that this process was started in, as its launcher's variables say, with
 * the table of this machine. Read once, by the first call; lives as long as the process.
 * Thread:  any. */
const tp_cost_model_t *tp_cost_model(void);

/* Time of one collective of a group of so many ranks by the algorithm that would be chosen. A group
 * of at least as many ranks as there are machines is on all of them. */
double tp_collective_us(const tp_cost_model_t *model, tp_collective_t collective, int ranks,
                        double bytes);

#endif
