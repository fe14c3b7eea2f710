/* Hosts of --hosts: their list, and whether each can be reached. */
#ifndef CLI_HOSTS_H
#define CLI_HOSTS_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct cli_host {
  const char *name;
  int slots;         /* most processes on the host */
  bool is_reachable; /* set by cli_hosts_probe */
  const char *fault; /* reason if it is not reachable */
} cli_host_t;

typedef struct cli_hosts {
  cli_host_t *hosts; /* in the order of the list */
  int count;
  int slots; /* processes that all hosts together take */
} cli_hosts_t;

/* Reads "a:8,b": a host without a number has one slot.
 * Owner:   `arena`.
 * Errors:  USAGE. */
hr_status_t cli_hosts_parse(hr_arena_t *arena, const char *text, cli_hosts_t *out_hosts);

/* Probes all hosts at the same time, for PROBE_S seconds: a host is reachable if it runs a command
 * by mpirun's remote shell (OMPI_MCA_plm_rsh_agent), else ssh. This machine is always reachable.
 * With `only_missing`, reachable hosts are not probed again. When is_over(context) is true, hosts
 * that have not answered count as unreachable. *out_has_shell: a remote shell exists; without one
 * no other host can be reached. Thread: any; blocks. */
typedef bool (*cli_hosts_over_fn)(void *context);
void cli_hosts_probe(cli_hosts_t *hosts, bool only_missing, cli_hosts_over_fn is_over,
                     void *context, bool *out_has_shell);

/* Processes that the reachable hosts take. */
int cli_hosts_slots(const cli_hosts_t *hosts);

/* The list of the reachable hosts with `slots` slots in all, no more than they have; *out_text is
 * for mpirun's --host. Owner: `arena`. */
hr_status_t cli_hosts_choose(hr_arena_t *arena, const cli_hosts_t *hosts, int slots,
                             const char **out_text);

#endif
