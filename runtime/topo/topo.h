/* Placement of processes and workers: the host as hwloc sees it, divided among its local ranks.
 * Thread: any, one at a time per share. */
#ifndef TOPO_TOPO_H
#define TOPO_TOPO_H

#include <stdbool.h>

#include "base/text.h"

typedef enum topo_bind {
  TOPO_BIND_CORE, /* one core per worker */
  TOPO_BIND_NUMA, /* per worker, the NUMA node of its core */
  TOPO_BIND_NONE  /* no affinity */
} topo_bind_t;

typedef struct topo_share topo_share_t;

/* Initialises hwloc. Changes the process's environment temporarily, so the first call must not run
 * concurrently with getenv. Later calls do nothing; the other functions call it themselves. */
void topo_begin(void);

/* The cores of one of `local_size` ranks on this machine: its part of the cores that this process
 * may use (control group, taskset, launcher's binding), but not more than the control group's limit
 * of processor time allows. Neighbouring ranks get neighbouring cores; with more ranks than cores
 * several ranks share one. Errors: UNAVAILABLE if the machine cannot be examined. */
hr_status_t topo_share_create(int local_rank, int local_size, topo_share_t **out_share);
void topo_share_destroy(topo_share_t *share);    /* accepts NULL */
int topo_share_cores(const topo_share_t *share); /* at least 1 */
/* The NUMA node of the core of worker `worker`, which is any number >= 0; 0 if unknown. */
int topo_share_node(const topo_share_t *share, int worker);
/* Binds the calling thread as worker `worker` (any number >= 0, modulo the number of cores). If
 * ranks share cores, or the control group's limit leaves some idle, no worker is bound, so that the
 * kernel can balance them. A refusal by the system is no error: the thread stays unbound. */
hr_status_t topo_share_bind(const topo_share_t *share, int worker, topo_bind_t bind);

/* Prints the host, the cores that this process may use, and the share of each of `local_size`
 * ranks. */
hr_status_t topo_print_shares(FILE *stream, int local_size);
/* Draws what topo_print_shares prints as an SVG picture: a box for each package, cache and core,
 * cores in the colours of their ranks. */
hr_status_t topo_draw_shares(hr_strbuf_t *text, int local_size);
/* Gives the number of ranks that the launcher started on this host; false: another rank prints for
 * the host. */
bool topo_speaks_for_host(int *out_local_size);

#endif
