/* Hosts of --hosts: their list, and which of them can be reached. */
#ifndef CLI_HOSTS_H
#define CLI_HOSTS_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct cli_host {
  const char *name;
  int slots;         /* processes that it takes */
  bool is_reachable; /* after cli_hosts_probe */
  const char *fault; /* what its probe met, if it is not reachable */
} cli_host_t;

typedef struct cli_hosts {
  cli_host_t *hosts; /* in the order of the list */
  int count;
  int slots; /* of all hosts */
} cli_hosts_t;

/* Reads "a:8,b": a host without a number has one slot. Owner: `arena`. Errors: USAGE. */
hr_status_t cli_hosts_parse(hr_arena_t *arena, const char *text, cli_hosts_t *out_hosts);

/* Finds out which hosts start a command, all at once, within PROBE_S seconds: by mpirun's remote
 * shell (OMPI_MCA_plm_rsh_agent), else ssh. This machine is always there. With `only_missing` those
 * that were reachable are not asked again. Without a remote shell no other host can ever be
 * reached (*out_has_shell). Thread: blocks; any. */
void cli_hosts_probe(cli_hosts_t *hosts, bool only_missing, bool *out_has_shell);

/* The list of the reachable hosts, with `most` slots at most and a multiple of `multiple`;
 * *out_text is for mpirun's --host. Owner: `arena`. */
hr_status_t cli_hosts_choose(hr_arena_t *arena, const cli_hosts_t *hosts, int most, int multiple,
                             const char **out_text, int *out_slots);

#endif
