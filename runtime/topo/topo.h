/* Where this process and its workers sit: the machine as hwloc sees it, divided among the ranks on
 * it. Thread: any, one at a time per share. */
#ifndef TOPO_TOPO_H
#define TOPO_TOPO_H

#include "base/status.h"

typedef enum topo_bind {
  TOPO_BIND_CORE, /* each worker on a core of its own */
  TOPO_BIND_NUMA, /* each worker anywhere in the NUMA node of its core */
  TOPO_BIND_NONE  /* wherever the kernel wants */
} topo_bind_t;

typedef struct topo_share topo_share_t;

/* What the others do first, and it changes the process's environment for a moment: to be called
 * while no other thread reads that. Later calls do nothing. */
void topo_begin(void);

/* The cores of one of `local_size` ranks on this machine: its part of the cores that this process
 * may use (control group, taskset, what the launcher bound it to). Neighbouring ranks get
 * neighbouring cores; with more ranks than cores several ranks have the same one. Errors:
 * UNAVAILABLE if the machine cannot be examined. */
hr_status_t topo_share_create(int local_rank, int local_size, topo_share_t **out_share);
void topo_share_destroy(topo_share_t *share);    /* accepts NULL */
int topo_share_cores(const topo_share_t *share); /* at least 1: how many workers it has room for */
/* Binds the calling thread as worker `worker` (any number >= 0: workers go round the cores). Where
 * ranks share cores, none is bound, so that the kernel can balance them. What a system refuses is
 * no error: the thread then stays where it may be. */
hr_status_t topo_share_bind(const topo_share_t *share, int worker, topo_bind_t bind);

/* For people: the machine, the cores that this process may use, and who gets which with
 * `local_size` ranks on it. */
hr_status_t topo_print_shares(FILE *stream, int local_size);
hr_status_t topo_print(FILE *stream); /* this process's share alone */

#endif
