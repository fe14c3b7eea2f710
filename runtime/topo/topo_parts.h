/* Shared by the files of this folder: a rank's share of the machine, in hwloc's types. */
#ifndef TOPO_TOPO_PARTS_H
#define TOPO_TOPO_PARTS_H

#include <hwloc.h>
#include <stdbool.h>

#include "topo/topo.h"

struct topo_share {
  hwloc_topology_t topology;
  hwloc_cpuset_t allowed; /* processors that this process may use */
  bool oversubscribed;    /* other ranks share the cores */
  bool is_limited;        /* the control group's limit is less than the allowed cores */
  int core_count;         /* cores of the share */
  hwloc_obj_t *cores;
};

/* topo_share_create, with or without the caches in the topology. */
hr_status_t topo_share_examine(bool with_caches, int local_rank, int local_size,
                               topo_share_t **out_share);

/* CORE, or PU if hwloc finds no cores. */
hwloc_obj_type_t topo_core_type(hwloc_topology_t topology);
int topo_count_cores(hwloc_topology_t topology, hwloc_const_cpuset_t within);

#endif
