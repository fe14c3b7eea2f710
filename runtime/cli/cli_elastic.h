/* --elastic MIN:MAX: a run over --hosts goes on with the hosts that can be reached, as Horovod's
 * and torchrun's elastic runs do. Before each start the hosts are probed; with fewer than MIN
 * processes it waits. While a run has fewer than it could have, the missing hosts are probed again,
 * and once one is back the run is ended after its next checkpoint, to be started with more. */
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

/* *out_elastic is NULL without --elastic. Owner: `arena`. Errors: USAGE. */
hr_status_t cli_elastic_create(hr_arena_t *arena, const hr_options_t *options,
                               cli_elastic_t **out_elastic);

/* Probes the hosts, waits until there are enough, and tells on standard error which ones take part.
 * Then missing hosts are watched until cli_elastic_end. Owner of the share: `arena`. Errors:
 * CANCELLED by a signal; DEADLINE when the time of --max-time is over. */
hr_status_t cli_elastic_begin(cli_elastic_t *elastic, hr_arena_t *arena,
                              cli_elastic_share_t *out_share);

/* After the run. True: it was ended because hosts are back. */
bool cli_elastic_end(cli_elastic_t *elastic);

#endif
