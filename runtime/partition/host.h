/* Callbacks of the process that loads a program. The partitioner calls them for custom calls whose
 * code lives in that process.
 * Thread: each thread has its own host. */
#ifndef HR_PARTITION_HOST_H
#define HR_PARTITION_HOST_H

#include "ir/sharding.h"

/* A custom call that the host divides among the partitions. `cuts` lists the propagated shardings
 * of the operands, then of the leaves of the result. The host sets `body`, a program of one
 * partition with the operands' parts as parameters, and `wanted`, the shardings of those parameters
 * and of its results; these live in the arena of `body`. */
typedef struct spmd_host_call {
  const hlo_instr_t *instr;
  const hlo_sharding_t *const *cuts;
  hlo_module_t *body;            /* out; the caller's */
  const hlo_sharding_t **wanted; /* out, in the order of `cuts` */
} spmd_host_call_t;

typedef struct spmd_host {
  /* A call of InspectSharding: `config` is its backend_config, `sharding` that of its operand,
   * which has `rank` dimensions. Errors: stop the compilation. */
  hr_status_t (*inspect)(void *context, hr_str_t config, const hlo_sharding_t *sharding, int rank);
  /* Whether the host divides calls of this target; NULL: none. */
  bool (*divides)(void *context, hr_str_t target);
  /* Fills in the outputs of `call`. Errors: those of the host's code and of the program that it
   * returns. */
  hr_status_t (*divide)(void *context, spmd_host_call_t *call);
  /* Replaces a program of one partition before passes run; parameters and results stay the same.
   * NULL: the host never does. *out_changed: another module, owned by the caller; NULL: no
   * replacement. Errors: those of the host's code and of the program that it returns. */
  hr_status_t (*change)(void *context, hlo_module_t *module, hlo_module_t **out_changed);
  void *context;
} spmd_host_t;

/* Makes the host that of the calling thread and returns the one before; NULL: none. */
const spmd_host_t *spmd_host_enter(const spmd_host_t *host);
const spmd_host_t *spmd_host_current(void);
/* True for a custom call that the host of the calling thread divides. */
bool spmd_is_hosted(const hlo_instr_t *instr);

#endif
