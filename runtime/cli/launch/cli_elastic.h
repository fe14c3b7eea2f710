/* --elastic MIN:MAX: a run over --hosts uses the hosts that can be reached, like elastic runs of
 * Horovod and torchrun. Hosts are probed before each start; with fewer than MIN processes, the
 * start is delayed. During a run with fewer than MAX processes, missing hosts are probed again.
 * When one is back, the run is ended after its next checkpoint and restarted with more processes.
 */
#ifndef CLI_ELASTIC_H
#define CLI_ELASTIC_H

#include "base/arena.h"
#include "base/options.h"

typedef struct cli_elastic cli_elastic_t;

/* One run's share of the hosts. */
typedef struct cli_elastic_share {
  const char *hosts; /* for mpirun's --host */
  int processes;
  const char *replicas; /* for --num-replicas */
} cli_elastic_share_t;

/* *out_elastic is NULL without --elastic.
 * Owner:   `arena`.
 * Errors:  USAGE. */
hr_status_t cli_elastic_create(hr_arena_t *arena, const hr_options_t *options,
                               cli_elastic_t **out_elastic);

/* Probes the hosts, waits until there are enough, and prints the participating ones to standard
 * error. Then a thread probes missing hosts until cli_elastic_end. Owner of the share: `arena`.
 * Errors: CANCELLED by a signal; DEADLINE when the time of --max-time is over. */
hr_status_t cli_elastic_begin(cli_elastic_t *elastic, hr_arena_t *arena,
                              cli_elastic_share_t *out_share);

/* Called after the run. True: the run was ended because hosts are back. */
bool cli_elastic_end(cli_elastic_t *elastic);

/* Called with the failure of a run. True: the program or an option does not fit this number of
 * processes, another one has written checkpoints, and some are left to try, now or when hosts are
 * back. This number is not used again. */
bool cli_elastic_refuses(cli_elastic_t *elastic, hr_status_t failure);

#endif
