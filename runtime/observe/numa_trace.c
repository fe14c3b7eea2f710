/* Counts accesses by page protection (base/page_watch.h): at the beginning of a worker's part all
 * pages of the step are protected; at its end the node of each touched page is looked up in a
 * map. */
#include "observe/numa_trace.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/page_watch.h"

typedef struct page_owner {
  uintptr_t page;
  int node;
} page_owner_t;

struct numa_trace {
  hr_trace_t *trace;
  hr_page_watch_t *watch;
  hr_arena_t arena; /* entries of `owners`, and `nodes` */
  hr_map_t owners;  /* page_owner_t by page; the key is part of it */
  const int *nodes; /* per worker */
  int worker;       /* worker whose accesses are being counted */
  bool is_running;  /* between numa_trace_run and numa_trace_end */
  hr_trace_span_t *span;
  hr_status_t failure; /* first failure of a visit; NULL: none */
};

static const int one_node[] = {0};

hr_status_t numa_trace_create(hr_trace_t *trace, numa_trace_t **out_numa) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(numa_trace_t), &memory));
  numa_trace_t *numa = memory;
  numa->trace = trace;
  numa->nodes = one_node;
  trace->numa_nodes = 1;
  hr_arena_init(&numa->arena);
  hr_map_init(&numa->owners);
  hr_status_t st = hr_page_watch_create(&numa->watch);
  if (st)
    numa_trace_destroy(numa);
  else
    *out_numa = numa;
  return st;
}

void numa_trace_destroy(numa_trace_t *numa) {
  if (!numa) return;
  hr_page_watch_destroy(numa->watch);
  hr_map_deinit(&numa->owners);
  hr_arena_deinit(&numa->arena);
  hr_status_release(numa->failure);
  hr_free(numa);
}

static int count_nodes(const int *nodes, int count) {
  int different = 0;
  for (int w = 0; w < count; w++) {
    int v = 0;
    while (nodes[v] != nodes[w]) v++;
    different += v == w;
  }
  return different;
}

hr_status_t numa_trace_set_workers(numa_trace_t *numa, const int *nodes, int count) {
  int *copy;
  HR_TRY(HR_NEW_ARRAY(&numa->arena, count, &copy));
  for (int w = 0; w < count; w++) copy[w] = nodes[w];
  numa->nodes = copy;
  numa->trace->numa_nodes = count_nodes(nodes, count);
  return NULL;
}

void numa_trace_begin(numa_trace_t *numa) { hr_page_watch_clear(numa->watch); }

hr_status_t numa_trace_add(numa_trace_t *numa, const void *memory, size_t size_bytes) {
  return hr_page_watch_add(numa->watch, memory, size_bytes);
}

void numa_trace_run(numa_trace_t *numa, hr_trace_span_t *span) {
  numa->span = span;
  numa->worker = 0;
  numa->is_running = true;
  hr_page_watch_arm(numa->watch);
}

static hr_status_t put_owner(numa_trace_t *numa, uintptr_t page, int node) {
  page_owner_t *owner;
  HR_TRY(HR_NEW(&numa->arena, &owner));
  *owner = (page_owner_t){page, node};
  hr_str_t key = {(const char *)&owner->page, sizeof owner->page};
  return hr_map_put(&numa->owners, key, owner, NULL);
}

/* The node of a page. A page without memory is placed by this access, even if other memory was at
 * its address before. */
static hr_status_t find_owner(numa_trace_t *numa, uintptr_t page, bool is_present, int *out_node) {
  hr_str_t key = {(const char *)&page, sizeof page};
  page_owner_t *owner = hr_map_get(&numa->owners, key);
  *out_node = is_present ? numa->nodes[0] : numa->nodes[numa->worker];
  if (!owner) return put_owner(numa, page, *out_node);
  if (!is_present) owner->node = *out_node;
  *out_node = owner->node;
  return NULL;
}

/* Signature of hr_page_visit_fn. */
static void count_page(void *context, uintptr_t page, bool is_present) {
  numa_trace_t *numa = context;
  int node = 0;
  hr_status_t st = find_owner(numa, page, is_present, &node);
  if (st) {
    numa->failure = numa->failure ? numa->failure : st;
    if (numa->failure != st) hr_status_release(st);
    return;
  }
  numa->span->page_bytes += HR_PAGE_BYTES;
  if (node != numa->nodes[numa->worker]) numa->span->remote_bytes += HR_PAGE_BYTES;
}

void numa_trace_worker(void *context, int worker) {
  numa_trace_t *numa = context;
  if (!numa->is_running || worker == numa->worker) return;
  hr_page_watch_disarm(numa->watch, count_page, numa);
  numa->worker = worker;
  hr_page_watch_arm(numa->watch);
}

hr_status_t numa_trace_end(numa_trace_t *numa) {
  hr_page_watch_disarm(numa->watch, count_page, numa);
  numa->is_running = false;
  hr_status_t st = numa->failure;
  numa->failure = NULL;
  return st;
}
