/* Divides the cores of a host among its ranks with hwloc. The cores that this process may use
 * (cgroup, affinity mask, launcher) are listed in logical order, so that neighbours share caches,
 * and divided into equal consecutive parts by local rank. With more ranks than cores several ranks
 * get the same core, and placement is left to the kernel. */
#include "topo/topo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/processors.h"
#include "topo/topo_parts.h"

/* --- the machine --- */

/* hwloc's plugins search for displays, accelerators and XML files, with libraries that take longer
 * to open than the rest of the discovery. hwloc searches only while no topology exists, so this one
 * is kept. */
static void start_without_plugins(void) {
  static hwloc_topology_t first;
  bool chosen = getenv("HWLOC_PLUGINS_PATH");
  if (!chosen) setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
  if (hwloc_topology_init(&first)) first = NULL;
  if (!chosen) unsetenv("HWLOC_PLUGINS_PATH");
}

void topo_begin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start_without_plugins);
}

/* Linux provides all that is needed; hwloc's other discovery would visit every processor. Caches
 * take as long as everything else together. */
static void limit_discovery(hwloc_topology_t topology, bool with_caches) {
  unsigned long flags = 0;
#if HWLOC_API_VERSION >= 0x00020800
  flags = HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
          HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
  hwloc_topology_set_flags(topology, flags);
  if (!with_caches) hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
#if defined(__linux__)
  hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#endif
}

static hr_status_t load_machine(bool with_caches, hwloc_topology_t *out_topology,
                                hwloc_cpuset_t *out_allowed) {
  hwloc_topology_t topology;
  topo_begin();
  if (hwloc_topology_init(&topology)) return hr_error(HR_UNAVAILABLE, "hwloc cannot start");
  limit_discovery(topology, with_caches);
  if (hwloc_topology_load(topology)) {
    hwloc_topology_destroy(topology);
    return hr_error(HR_UNAVAILABLE, "hwloc cannot examine this machine");
  }
  hwloc_cpuset_t allowed = hwloc_bitmap_alloc();
  hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology);
  if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS)) hwloc_bitmap_copy(allowed, all);
  hwloc_bitmap_and(allowed, allowed, all);
  if (hwloc_bitmap_iszero(allowed)) hwloc_bitmap_copy(allowed, all);
  *out_topology = topology;
  *out_allowed = allowed;
  return NULL;
}

static void unload_machine(hwloc_topology_t topology, hwloc_cpuset_t allowed) {
  hwloc_bitmap_free(allowed);
  hwloc_topology_destroy(topology);
}

/* Some machines (emulators, containers) show processors but no cores. */
hwloc_obj_type_t topo_core_type(hwloc_topology_t topology) {
  return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

int topo_count_cores(hwloc_topology_t topology, hwloc_const_cpuset_t within) {
  hwloc_obj_type_t type = topo_core_type(topology);
  int count = 0;
  for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_type(topology, type, core));)
    count += hwloc_bitmap_intersects(core->cpuset, within);
  return count;
}

static hwloc_obj_t core_within(hwloc_topology_t topology, hwloc_const_cpuset_t within, int number) {
  hwloc_obj_type_t type = topo_core_type(topology);
  for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_type(topology, type, core));)
    if (hwloc_bitmap_intersects(core->cpuset, within) && number-- == 0) return core;
  return NULL;
}

/* --- shares --- */

typedef struct span {
  int start, count;
} span_t;

/* True if the launcher bound each rank to its own processors, rather than all ranks to one set that
 * they divide. */
static bool bound_by_launcher(void) {
  const char *slurm = getenv("SLURM_CPU_BIND_TYPE");
  return getenv("OMPI_MCA_orte_bound_at_launch") || (slurm && *slurm && !strstr(slurm, "none"));
}

/* The number of ranks that share the allowed cores, and this rank's number among them. A launcher
 * that binds ranks to packages or NUMA nodes does so round-robin, so the ranks of one set are
 * `sets` apart. */
static span_t find_sharers(int allowed_cores, int all_cores, int local_rank, int local_size) {
  if (allowed_cores == all_cores || !bound_by_launcher()) return (span_t){local_rank, local_size};
  int count = (int)(((long)local_size * allowed_cores + all_cores / 2) / all_cores);
  if (count < 1) count = 1;
  int sets = local_size / count > 0 ? local_size / count : 1;
  return (span_t){local_rank / sets % count, count};
}

/* The allowed cores that belong to sharer `who.start` of `who.count`. */
static span_t share_span(span_t who, int cores) {
  int start = (int)((long)cores * who.start / who.count),
      end = (int)((long)cores * (who.start + 1) / who.count);
  return (span_t){start, end > start ? end - start : 1};
}

/* A synthetic topology, for tests, has no control group. */
static int count_usable(hwloc_topology_t topology, int allowed) {
  return hwloc_topology_is_thissystem(topology) ? hr_processor_limit(allowed) : allowed;
}

static hr_status_t fill_share(topo_share_t *share, int local_rank, int local_size) {
  int allowed = topo_count_cores(share->topology, share->allowed);
  int all = topo_count_cores(share->topology, hwloc_topology_get_topology_cpuset(share->topology));
  if (allowed == 0) return hr_error(HR_UNAVAILABLE, "this process may not use any processor");
  span_t who = find_sharers(allowed, all, local_rank, local_size);
  int usable = count_usable(share->topology, allowed);
  span_t span = share_span(who, usable);
  share->is_limited = usable < allowed;
  share->oversubscribed = who.count > usable;
  void *memory;
  HR_TRY(hr_alloc((size_t)span.count * sizeof(hwloc_obj_t), &memory));
  share->cores = memory;
  share->core_count = span.count;
  for (int i = 0; i < span.count; i++)
    share->cores[i] = core_within(share->topology, share->allowed, span.start + i);
  return NULL;
}

hr_status_t topo_share_examine(bool with_caches, int local_rank, int local_size,
                               topo_share_t **out_share) {
  hr_assert(local_rank >= 0 && local_rank < local_size);
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(topo_share_t), &memory));
  topo_share_t *share = memory;
  hr_status_t st = load_machine(with_caches, &share->topology, &share->allowed);
  if (st) {
    hr_free(share);
    return st;
  }
  st = fill_share(share, local_rank, local_size);
  if (st)
    topo_share_destroy(share);
  else
    *out_share = share;
  return st;
}

hr_status_t topo_share_create(int local_rank, int local_size, topo_share_t **out_share) {
  return topo_share_examine(false, local_rank, local_size, out_share);
}

void topo_share_destroy(topo_share_t *share) {
  if (!share) return;
  unload_machine(share->topology, share->allowed);
  hr_free(share->cores);
  hr_free(share);
}

int topo_share_cores(const topo_share_t *share) { return share->core_count; }

int topo_share_node(const topo_share_t *share, int worker) {
  hwloc_obj_t core = share->cores[worker % share->core_count], node = NULL;
  while ((node = hwloc_get_next_obj_by_type(share->topology, HWLOC_OBJ_NUMANODE, node)))
    if (hwloc_bitmap_intersects(node->cpuset, core->cpuset)) return (int)node->logical_index;
  return 0;
}

hr_status_t topo_share_bind(const topo_share_t *share, int worker, topo_bind_t bind) {
  hwloc_obj_t core = share->cores[worker % share->core_count];
  if (bind == TOPO_BIND_NONE || share->oversubscribed || share->is_limited) return NULL;
  hwloc_cpuset_t set = hwloc_bitmap_dup(core->cpuset);
  if (!set) return hr_error(HR_NO_MEMORY, "cannot allocate a set of processors");
  if (bind == TOPO_BIND_NUMA) {
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(share->topology, HWLOC_OBJ_NUMANODE, node)))
      if (hwloc_bitmap_intersects(node->cpuset, core->cpuset))
        hwloc_bitmap_or(set, set, node->cpuset);
  }
  hwloc_bitmap_and(set, set, share->allowed);
  hwloc_set_cpubind(share->topology, set, HWLOC_CPUBIND_THREAD);
  hwloc_bitmap_free(set);
  return NULL;
}
