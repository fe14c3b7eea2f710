/* What the process that loads a program does for its partitioner: custom calls whose code lives in
 * that process are asked while the program is partitioned.
 * Thread: a host is that of one thread. */
#ifndef HR_PARTITION_HOST_H
#define HR_PARTITION_HOST_H

#include "ir/sharding.h"

/* A custom call that the host divides among the partitions. `cuts` lists the operands, then the
 * leaves of the result, in the shardings of the propagation. The answer is a program of one
 * partition, whose parameters are the operands' parts, and the shardings that it wants and gives;
 * they live in its arena. */
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
  /* Errors: those of the host's code, and of the program that it answers. */
  hr_status_t (*divide)(void *context, spmd_host_call_t *call);
  /* Changes a program of one partition, with the parameters and results that it has, before passes
   * run; NULL: it never does. *out_changed: another module, the caller's; NULL: the program stays
   * as it is. Errors: those of the host's code, and of the program that it answers. */
  hr_status_t (*change)(void *context, hlo_module_t *module, hlo_module_t **out_changed);
  void *context;
} spmd_host_t;

/* Makes the host that of the calling thread and returns the one before; NULL: none. */
const spmd_host_t *spmd_host_enter(const spmd_host_t *host);
const spmd_host_t *spmd_host_current(void);

#endif
