/* Estimated times of collectives, for callers that plan programs instead of running them: the
 * formulas of algorithms.def and the table of `hlorun --tune`, by which transfers choose their
 * algorithms. No endpoint is needed. All processes of a world compute equal numbers as long as they
 * read equal tables; tables are used on one machine only, where all read one file.
 * Units:   microseconds; bytes as algorithms.def counts them for each collective.
 * Source:  the alpha-beta model (Hockney), extended for shared memory in algorithms.def. */
#ifndef TP_COLL_COST_H
#define TP_COLL_COST_H

#include "transport/core/request.h"

typedef struct tp_cost_model {
  int machines;                   /* machines, each with an equal share of the ranks */
  const struct tp_tuning *tuning; /* measured times; NULL: formulas only */
} tp_cost_model_t;

/* The model of the world that this process was started in, by its launcher's variables, with the
 * table of this machine. The first call creates it; it lives as long as the process. Thread:
 * any. */
const tp_cost_model_t *tp_cost_model(void);

/* True if groups of `ranks` ranks share memory. */
bool tp_cost_shares_memory(const tp_cost_model_t *model, int ranks);
/* Time in microseconds of one collective of a group of `ranks` ranks, by the algorithm that would
 * be chosen. A group of at least as many ranks as machines is taken to be on all machines. */
double tp_collective_us(const tp_cost_model_t *model, tp_collective_t collective, int ranks,
                        double bytes);

#endif
