/* Placement of processes and workers: the host as hwloc sees it, divided among its local ranks.
 * Thread: any, one at a time per share. */
#ifndef TOPO_TOPO_H
#define TOPO_TOPO_H

#include <stdbool.h>

#include "base/text.h"

typedef enum topo_bind {
  TOPO_BIND_CORE, /* one core per worker */
  TOPO_BIND_NUMA, /* per worker the NUMA node of its core */
  TOPO_BIND_NONE  /* no affinity */
} topo_bind_t;

typedef struct topo_share topo_share_t;

/* Initialises hwloc. Changes the process's environment temporarily, so the first call must not run
 * concurrently with getenv. Later calls do nothing; the other functions call it themselves. */
void topo_begin(void);

/* The cores of one of `local_size` ranks on this machine: its part of the cores that this process
 * may use (control group, taskset, what the launcher bound it to), no more of them than the control
 * group's limit of processor time keeps busy. Neighbouring ranks get neighbouring cores; with more
 * ranks than cores several ranks have the same one.
 * Errors: * UNAVAILABLE if the machine cannot be examined. */
hr_status_t topo_share_create(int local_rank, int local_size, topo_share_t **out_share);
void topo_share_destroy(topo_share_t *share);    /* accepts NULL */
int topo_share_cores(const topo_share_t *share); /* at least 1 */
/* The NUMA node of the core of worker `worker`, which is any number >= 0; 0 where none is known. */
int topo_share_node(const topo_share_t *share, int worker);
/* Binds the calling thread as worker `worker` (any number >= 0: workers go round the cores). Where
 * ranks share cores, or the control group's limit leaves some idle, none is bound, so that the
 * kernel can balance them. What a system refuses is
 * no error: the thread then stays where it may be. */
hr_status_t topo_share_bind(const topo_share_t *share, int worker, topo_bind_t bind);

/* Prints the host, the cores that this process may use, and the share of each of `local_size`
 * ranks. */
hr_status_t topo_print_shares(FILE *stream, int local_size);
/* The same as a picture: SVG with a box for each package, cache and core, cores in the colours of
 * their ranks. */
hr_status_t topo_draw_shares(hr_strbuf_t *text, int local_size);
/* How many ranks the launcher started on this host; false: another one of them speaks for all. */
bool topo_speaks_for_host(int *out_local_size);

#endif
