/* What the process that loads a program does for its partitioner: custom calls whose code lives in
 * that process are asked while the program is partitioned.
 * Thread: a host is that of one thread. */
#ifndef HR_PARTITION_HOST_H
#define HR_PARTITION_HOST_H

#include "ir/sharding.h"

typedef struct spmd_host {
  /* A call of InspectSharding: `config` is its backend_config, `sharding` that of its operand,
   * which has `rank` dimensions. Errors: stop the compilation. */
  hr_status_t (*inspect)(void *context, hr_str_t config, const hlo_sharding_t *sharding, int rank);
  void *context;
} spmd_host_t;

/* Makes the host that of the calling thread and returns the one before; NULL: none. */
const spmd_host_t *spmd_host_enter(const spmd_host_t *host);
const spmd_host_t *spmd_host_current(void);

#endif
