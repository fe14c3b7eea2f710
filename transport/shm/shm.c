/* Opening the memory that the processes of one machine share (layout: shm.h), and its use.
 *
 * tp_shm_open: an all-gather over the endpoint tells every rank which ranks are on its machine. The
 * first of these creates a file; the others open it through /proc/PID/fd, or, if that is forbidden,
 * by name in /dev/shm or $TMPDIR. All agree on the result, so that all ranks of a machine share
 * memory or none does. tp_shm_attach: children of one parent inherit the file and need no messages.
 */
#include "transport/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/processors.h"
#include "transport/core/collective.h"
#include "transport/shm/shm_file.h"
#include "transport/shm/shm_heap.h"

#define MAX_READ_BYTES ((size_t)1 << 30) /* process_vm_readv reads at most 2 GiB in one call */
#define POLLS_PER_CLOCK 64               /* failed polls of a wait per reading of the clock */
#define ALIVE_PERIOD_MS 100              /* period of the check whether an awaited peer lives */

/* --- ranks of this machine --- */

/* Data that each rank sends to all others. */
typedef struct identity {
  uint64_t machine;     /* machine_id */
  uint64_t number;      /* shm->number: identifies the file of the first process of a machine */
  uint64_t number_at;   /* address of that number in the process, for the test in can_read_next */
  int process;          /* process id */
  cpu_set_t processors; /* affinity mask */
} identity_t;

/* Equal for exactly the processes that could share memory: a hash of host name, boot id of the
 * kernel and IPC name space. */
static uint64_t machine_id(const tp_endpoint_t *endpoint) {
  char text[512] = "";
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
  size_t size = file ? fread(text, 1, 64, file) : 0;
  if (file) fclose(file);
  ssize_t space = readlink("/proc/self/ns/ipc", text + size, sizeof text - size - 1);
  if (space > 0) size += (size_t)space;
  const char *nodes = getenv("HLORUN_NODE_SIZE"); /* for tests: ranks per simulated machine */
  int each = nodes ? atoi(nodes) : 0;
  uint64_t number =
      hr_hash_bytes(text, size, hr_hash_bytes(endpoint->host, strlen(endpoint->host), 3));
  return each > 0 ? number + (uint64_t)(endpoint->rank / each) : number;
}

static hr_status_t sync_all(tp_shm_t *shm, identity_t *identities) {
  tp_request_t *request;
  shm->number = hr_clock_realtime_ns() ^ (uint64_t)getpid() << 44;
  identity_t mine = {.machine = machine_id(shm->groups->endpoint),
                     .number = shm->number,
                     .number_at = (uint64_t)(uintptr_t)&shm->number,
                     .process = getpid()};
  if (sched_getaffinity(0, sizeof mine.processors, &mine.processors)) CPU_ZERO(&mine.processors);
  HR_TRY(tp_all_gather(shm->groups->world, &mine, sizeof mine, identities, &request));
  return tp_request_wait(request);
}

/* Numbers a machine by its first rank. */
static hr_status_t number_machines(tp_groups_t *groups, const identity_t *identities) {
  int *machine_of, world = groups->endpoint->world_size;
  HR_TRY(HR_NEW_ARRAY(&groups->arena, world, &machine_of));
  for (int r = 0; r < world; r++)
    while (identities[machine_of[r]].machine != identities[r].machine) machine_of[r]++;
  groups->machine_of = machine_of;
  return NULL;
}

static hr_status_t find_locals(tp_shm_t *shm, const identity_t *identities,
                               tp_group_t **out_group) {
  tp_endpoint_t *endpoint = shm->groups->endpoint;
  int *ranks;
  cpu_set_t all;
  CPU_ZERO(&all);
  HR_TRY(HR_NEW_ARRAY(&shm->arena, endpoint->world_size, &shm->local_of));
  HR_TRY(HR_NEW_ARRAY(&shm->arena, endpoint->world_size, &shm->process_of));
  shm->local_size = 0;
  HR_TRY(HR_NEW_ARRAY(&shm->groups->arena, endpoint->world_size, &ranks));
  for (int r = 0; r < endpoint->world_size; r++) {
    bool here = identities[r].machine == identities[endpoint->rank].machine;
    shm->local_of[r] = here ? shm->local_size : -1;
    shm->process_of[r] = identities[r].process;
    if (here) ranks[shm->local_size++] = r;
    if (here) CPU_OR(&all, &all, &identities[r].processors);
  }
  shm->my_local = shm->local_of[endpoint->rank];
  bool is_part =
      shm->local_size < endpoint->local_size; /* tests leave out some processes of the host */
  endpoint->oversubscribed = shm->local_size > hr_processor_limit(CPU_COUNT(&all)) ||
                             (is_part && endpoint->oversubscribed);
  return tp_group_get(shm->groups, shm->local_size, ranks, 0, out_group);
}

/* --- the memory of other processes --- */

int tp_shm_read(const tp_shm_t *shm, int rank, void *into, uint64_t address, size_t size_bytes) {
  for (size_t done = 0; done < size_bytes;) {
    size_t left = size_bytes - done;
    struct iovec here = {(char *)into + done, left < MAX_READ_BYTES ? left : MAX_READ_BYTES};
    struct iovec there = {(void *)(uintptr_t)(address + done), here.iov_len};
    ssize_t got = process_vm_readv(shm->process_of[rank], &here, 1, &there, 1, 0);
    if (got <= 0) return got < 0 ? errno : EFAULT;
    done += (size_t)got;
  }
  return 0;
}

/* Lets every process of the user read this one by process_vm_readv, which the kernel (Yama) may
 * restrict to descendants; Open MPI does the same. */
static void allow_cma(void) {
#ifdef PR_SET_PTRACER
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}

/* Tests cross-memory attach: each process reads the next one's number. */
static bool can_read_next(const tp_shm_t *shm, const tp_group_t *locals,
                          const identity_t *identities) {
  int next = locals->ranks[(shm->my_local + 1) % shm->local_size];
  uint64_t number = 0;
  return !tp_shm_read(shm, next, &number, identities[next].number_at, sizeof number) &&
         number == identities[next].number;
}

/* --- the file --- */

static hr_status_t notify_all(tp_group_t *group, int mine, int *answers) {
  tp_request_t *request;
  HR_TRY(tp_all_gather(group, &mine, sizeof mine, answers, &request));
  return tp_request_wait(request);
}

/* *out_all: the conjunction of all members' answers. */
static hr_status_t all_agree(tp_group_t *group, bool mine, bool *out_all) {
  int answers[group->size];
  HR_TRY(notify_all(group, mine, answers));
  *out_all = true;
  for (int k = 0; k < group->size; k++) *out_all = *out_all && answers[k];
  return NULL;
}

/* The first process creates the file and the others open it; then its name is removed. */
static hr_status_t share_file(tp_shm_t *shm, tp_group_t *locals, const identity_t *first,
                              tp_shm_dir_t dir, bool *out_shared) {
  bool is_first = shm->my_local == 0;
  int fds[locals->size];
  tp_shm_file_name(shm, first->number, dir);
  if (is_first) tp_shm_file_create(shm, dir);
  HR_TRY(notify_all(locals, shm->fd, fds));
  if (fds[0] >= 0 && !is_first) tp_shm_file_open(shm, dir, first->process, fds[0]);
  HR_TRY(all_agree(locals, shm->fd >= 0 && tp_shm_file_map(shm), out_shared));
  if (is_first && shm->fd >= 0 && dir != TP_SHM_DIR_NONE) unlink(shm->name);
  return NULL;
}

static hr_status_t share_memory(tp_shm_t *shm, tp_group_t *locals, const identity_t *first,
                                bool *out_shared) {
  tp_shm_file_choose_sizes(shm, shm->local_size);
  for (tp_shm_dir_t dir = 0; dir < TP_SHM_DIR_COUNT; dir++) {
    HR_TRY(share_file(shm, locals, first, dir, out_shared));
    if (*out_shared) return NULL;
    tp_shm_file_unmap(shm);
  }
  return NULL;
}

/* --- opening and closing --- */

static hr_status_t open_with(tp_shm_t *shm, identity_t *identities, bool *out_shared) {
  tp_group_t *locals;
  bool has_memory = shm->base != NULL;
  HR_TRY(sync_all(shm, identities));
  HR_TRY(number_machines(shm->groups, identities));
  HR_TRY(find_locals(shm, identities, &locals));
  *out_shared = has_memory;
  if (shm->local_size == 1) return NULL;
  if (!has_memory) HR_TRY(share_memory(shm, locals, &identities[locals->ranks[0]], out_shared));
  return *out_shared
             ? all_agree(locals, can_read_next(shm, locals, identities), &shm->reads_directly)
             : NULL;
}

static hr_status_t shm_new(tp_shm_t **out_shm) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(tp_shm_t), &memory));
  tp_shm_t *shm = memory;
  *shm = (tp_shm_t){.fd = -1, .holders = 1};
  hr_arena_init(&shm->arena);
  allow_cma();
  *out_shm = shm;
  return NULL;
}

hr_status_t tp_shm_open(tp_groups_t *groups, tp_shm_t **out_shm) {
  void *identities;
  bool shared = false;
  tp_shm_t *shm = groups->endpoint->memory;
  if (shm)
    tp_shm_retain(shm);
  else
    HR_TRY(shm_new(&shm));
  shm->groups = groups;
  hr_status_t st = hr_alloc((size_t)groups->endpoint->world_size * sizeof(identity_t), &identities);
  if (!st) {
    st = open_with(shm, identities, &shared);
    hr_free(identities);
  }
  *out_shm = NULL;
  if (shared)
    *out_shm = shm;
  else
    tp_shm_close(shm);
  return st;
}

/* --- inherited file --- */

static hr_status_t map_inherited(tp_shm_t *shm) {
  HR_TRY(HR_NEW_ARRAY(&shm->arena, shm->local_size, &shm->local_of));
  for (int r = 0; r < shm->local_size; r++) shm->local_of[r] = r;
  if (tp_shm_file_map(shm)) return NULL;
  return hr_error(HR_UNAVAILABLE,
                  "cannot map the %.3g GB that %d processes share (of addresses: ulimit -v): %s",
                  (double)shm->mapped_bytes / 1e9, shm->local_size, strerror(errno));
}

hr_status_t tp_shm_attach(int fd, int local_size, int my_local, tp_shm_t **out_shm) {
  tp_shm_t *shm;
  HR_TRY(shm_new(&shm));
  shm->fd = fd;
  shm->my_local = my_local;
  tp_shm_file_choose_sizes(shm, local_size);
  hr_status_t st = map_inherited(shm);
  if (st)
    tp_shm_release(shm);
  else
    *out_shm = shm;
  return st;
}

void tp_shm_retain(tp_shm_t *shm) { atomic_fetch_add(&shm->holders, 1); }

void tp_shm_release(tp_shm_t *shm) {
  if (atomic_fetch_sub(&shm->holders, 1) != 1) return;
  tp_shm_file_unmap(shm);
  hr_arena_deinit(&shm->arena);
  hr_free(shm);
}

void tp_shm_close(tp_shm_t *shm) {
  if (!shm) return;
  tp_shm_staging_destroy(shm);
  tp_shm_release(shm);
}

/* The kernel does not report a process's own locks; ranks of one process live equally long. */
bool tp_shm_is_alive(const tp_shm_t *shm, int rank) {
  int local = shm->local_of[rank];
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = local, .l_len = 1};
  uint32_t state = atomic_load(&tp_shm_rank_state(shm, local)->state);
  if (local == shm->my_local || state == TP_SHM_EXPECTED) return true;
  if (shm->process_of && shm->process_of[rank] == getpid()) return state == TP_SHM_HERE;
  return fcntl(shm->fd, F_GETLK, &lock) || lock.l_type != F_UNLCK;
}

hr_status_t tp_shm_peer_failed(const tp_shm_t *shm, int rank, const char *host) {
  if (atomic_load(&tp_shm_rank_state(shm, shm->local_of[rank])->state) == TP_SHM_FAILED)
    return hr_error(HR_CANCELLED, "because rank %d failed", rank);
  return hr_error(HR_UNAVAILABLE, "rank %d has ended on %s, and left the others waiting", rank,
                  host);
}

bool tp_shm_watch_is_due(tp_shm_watch_t *watch) {
  if (++watch->polls % POLLS_PER_CLOCK) return false;
  int64_t now = hr_clock_coarse_ms();
  if (!watch->looked_ms) watch->looked_ms = now;
  if (now - watch->looked_ms < ALIVE_PERIOD_MS) return false;
  watch->looked_ms = now;
  return true;
}

/* --- control blocks and heap --- */

static tp_shm_control_t *control_at(const tp_shm_t *shm, uint64_t number) {
  return (tp_shm_control_t *)(shm->base + tp_shm_rank_states_bytes(shm) +
                              number * shm->control_bytes);
}

static hr_status_t no_memory(const tp_shm_t *shm, int error) {
  const char *path = shm->name[0] == '/' ? shm->name : "";
  return hr_error(HR_NO_MEMORY,
                  "the processes of this machine have no more memory to share: %s%s%s", path,
                  *path ? ": " : "", strerror(error));
}

/* An open-addressing table in shared memory, without deletion: the first process claims an entry by
 * compare-and-swap of its key, the others find it. New entries are zero, like the file. */
hr_status_t tp_shm_control_of(tp_shm_t *shm, uint64_t key, int members,
                              tp_shm_control_t **out_control) {
  size_t used = sizeof(tp_shm_control_t) + (size_t)members * sizeof(tp_shm_member_t);
  key |= 1;
  *out_control = NULL;
  for (uint64_t i = 0; i < TP_SHM_CONTROL_BLOCKS && !*out_control; i++) {
    tp_shm_control_t *control = control_at(shm, (key + i) / 2 % TP_SHM_CONTROL_BLOCKS);
    uint64_t found = 0;
    int error = tp_shm_file_reserve(shm->fd, (uint64_t)((char *)control - shm->base), used);
    if (error) return no_memory(shm, error);
    if (atomic_compare_exchange_strong(&control->key, &found, key) || found == key)
      *out_control = control;
  }
  return NULL;
}

void *tp_shm_alloc(tp_shm_t *shm, size_t size_bytes) {
  void *memory = tp_shm_heap_alloc(shm->heap, size_bytes);
  if (memory) tp_shm_retain(shm);
  return memory;
}

hr_status_t tp_shm_used_up(const tp_shm_t *shm) {
  int error = tp_shm_heap_error(shm->heap); /* 0: this process has no memory for its lists */
  return no_memory(shm, error ? error : ENOMEM);
}

void tp_shm_free(tp_shm_t *shm, void *memory) {
  if (!memory) return;
  tp_shm_heap_free(shm->heap, memory);
  tp_shm_release(shm);
}

bool tp_shm_has(const tp_shm_t *shm, const void *memory) {
  const char *heap = tp_shm_heap_start(shm, shm->my_local), *at = memory;
  return at >= heap && at < heap + shm->heap_bytes;
}
