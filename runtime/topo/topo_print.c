/* --print-topology: the host, its caches, and the cores of the workers of each local rank, as
 * text. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/processors.h"
#include "base/text.h"
#include "topo/topo_parts.h"

static void add_set(hr_strbuf_t *text, hwloc_const_cpuset_t set) {
  char *list = NULL;
  hwloc_bitmap_list_asprintf(&list, set);
  hr_strbuf_add_str(text, list ? list : "?");
  free(list);
}

static void add_count(hr_strbuf_t *text, int count, const char *what) {
  hr_strbuf_printf(text, "%d %s%s", count, what, count == 1 ? "" : "s");
}

static void add_machine(hr_strbuf_t *text, hwloc_topology_t topology) {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  hr_strbuf_printf(text, "machine %s: ", host);
  int packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
  add_count(text, packages > 0 ? packages : 1, "package");
  hr_strbuf_add_str(text, ", ");
  add_count(text, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE), "NUMA node");
  hr_strbuf_add_str(text, ", ");
  hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology);
  add_count(text, topo_count_cores(topology, all), "core");
  hr_strbuf_add_str(text, ", ");
  add_count(text, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), "processor");
  hr_strbuf_printf(text, ", %.1f GiB\n", (double)hr_mem_physical_bytes() / (1 << 30));
}

static void add_nodes(hr_strbuf_t *text, hwloc_topology_t topology) {
  for (hwloc_obj_t node = NULL;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));) {
    hr_strbuf_printf(text, "  NUMA node %u: processors ", node->os_index);
    add_set(text, node->cpuset);
    hr_strbuf_printf(text, ", %.1f GiB", (double)node->attr->numanode.local_memory / (1 << 30));
    for (hwloc_obj_t part = node->parent; part; part = part->parent)
      if (part->type == HWLOC_OBJ_PACKAGE) hr_strbuf_printf(text, ", package %u", part->os_index);
    hr_strbuf_add_char(text, '\n');
  }
}

static void add_caches(hr_strbuf_t *text, hwloc_topology_t topology) {
  static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE};
  const char *separator = "  caches: ";
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    hwloc_obj_t cache = hwloc_get_obj_by_type(topology, types[i], 0);
    if (!cache) continue;
    hr_strbuf_printf(text, "%s%d x L%zu of %lu KiB", separator,
                     hwloc_get_nbobjs_by_type(topology, types[i]), i + 1,
                     (unsigned long)(cache->attr->cache.size >> 10));
    separator = ", ";
  }
  if (*separator == ',') hr_strbuf_add_char(text, '\n');
}

static void add_share(hr_strbuf_t *text, const topo_share_t *share, int local_rank) {
  hr_strbuf_printf(text, "rank %d: ", local_rank);
  add_count(text, share->core_count, "worker");
  hr_strbuf_add_str(text, " on processors");
  for (int i = 0; i < share->core_count; i++) {
    hr_strbuf_add_str(text, i ? " | " : " ");
    add_set(text, share->cores[i]->cpuset);
  }
  hr_strbuf_add_char(text, '\n');
}

/* The machine, and the share of each local rank. */
static hr_status_t add_shares(hr_strbuf_t *text, int local_size) {
  for (int r = 0; r < local_size; r++) {
    topo_share_t *share;
    HR_TRY(topo_share_examine(true, r, local_size, &share));
    if (r == 0) {
      add_machine(text, share->topology);
      add_nodes(text, share->topology);
      add_caches(text, share->topology);
      hr_strbuf_add_str(text, "this process may use processors ");
      add_set(text, share->allowed);
      if (share->is_limited)
        hr_strbuf_printf(text, ", and by its control group the time of %d",
                         hr_processor_limit(INT_MAX));
      hr_strbuf_add_char(text, '\n');
    }
    add_share(text, share, r);
    topo_share_destroy(share);
  }
  return NULL;
}

hr_status_t topo_print_shares(FILE *stream, int local_size) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_status_t st = add_shares(&text, local_size);
  if (!st) st = hr_strbuf_finish(&text);
  if (!st) fwrite(text.data, 1, text.size, stream);
  hr_strbuf_deinit(&text);
  return st;
}

/* The first of two variables that is set, as a number; `otherwise` if neither is. */
static int number_of(const char *variable, const char *other, int otherwise) {
  const char *text = getenv(variable) ? getenv(variable) : getenv(other);
  return text ? atoi(text) : otherwise;
}

bool topo_speaks_for_host(int *out_local_size) {
  int local_rank = number_of("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", 0);
  int local_size = number_of("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", 1);
  *out_local_size = local_size < 1 ? 1 : local_size;
  return local_rank <= 0 || local_rank >= local_size;
}
