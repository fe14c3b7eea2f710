#include "transport/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "transport/core/collective.h"
#include "transport/shm/shm_heap.h"

#define BLOCKS 8192
#define HEAP_BYTES (UINT64_C(1) << 34) /* of addresses: memory is taken as it is needed */
#define READ_AT_ONCE ((size_t)1 << 30) /* the kernel reads no more than 2 GiB in one call */
#define LOOK_POLLS 64 /* of a wait that found nothing before the clock is looked at */
#define LOOK_MS 100   /* how often a process asks whether those that it waits for are there */

/* --- who is here --- */

typedef struct card { /* how a process introduces itself */
  uint64_t machine;
  uint64_t number;    /* made up by each process: the first one's names the file */
  uint64_t number_at; /* address of the number in its memory */
  int process;
  cpu_set_t processors; /* that it may use */
} card_t;

/* The same for all processes that could share memory, and no others: the running kernel, and the
 * file system in which the file would be. */
static uint64_t machine_number(const tp_endpoint_t *endpoint) {
  char text[512] = "";
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
  size_t size = file ? fread(text, 1, 64, file) : 0;
  if (file) fclose(file);
  ssize_t space = readlink("/proc/self/ns/ipc", text + size, sizeof text - size - 1);
  if (space > 0) size += (size_t)space;
  const char *nodes = getenv("HLORUN_NODE_SIZE"); /* for tests: so many ranks make a machine */
  int each = nodes ? atoi(nodes) : 0;
  uint64_t number =
      hr_hash_bytes(text, size, hr_hash_bytes(endpoint->host, strlen(endpoint->host), 3));
  return each > 0 ? number + (uint64_t)(endpoint->rank / each) : number;
}

static hr_status_t sync_all(tp_shm_t *shm, card_t *cards) {
  tp_request_t *request;
  shm->number = hr_clock_realtime_ns() ^ (uint64_t)getpid() << 44;
  card_t mine = {.machine = machine_number(shm->groups->endpoint),
                 .number = shm->number,
                 .number_at = (uint64_t)(uintptr_t)&shm->number,
                 .process = getpid()};
  if (sched_getaffinity(0, sizeof mine.processors, &mine.processors)) CPU_ZERO(&mine.processors);
  HR_TRY(tp_all_gather(shm->groups->world, &mine, sizeof mine, cards, &request));
  return tp_request_wait(request);
}

/* By the first rank of each. */
static hr_status_t number_machines(tp_groups_t *groups, const card_t *cards) {
  int *machine_of, world = groups->endpoint->world_size;
  HR_TRY(HR_NEW_ARRAY(&groups->arena, world, &machine_of));
  for (int r = 0; r < world; r++)
    while (cards[machine_of[r]].machine != cards[r].machine) machine_of[r]++;
  groups->machine_of = machine_of;
  return NULL;
}

static hr_status_t find_locals(tp_shm_t *shm, const card_t *cards, tp_group_t **out_group) {
  tp_endpoint_t *endpoint = shm->groups->endpoint;
  int *ranks;
  cpu_set_t all;
  CPU_ZERO(&all);
  HR_TRY(HR_NEW_ARRAY(&shm->arena, endpoint->world_size, &shm->local_of));
  HR_TRY(HR_NEW_ARRAY(&shm->arena, endpoint->world_size, &shm->process_of));
  shm->local_size = 0;
  HR_TRY(HR_NEW_ARRAY(&shm->groups->arena, endpoint->world_size, &ranks));
  for (int r = 0; r < endpoint->world_size; r++) {
    bool here = cards[r].machine == cards[endpoint->rank].machine;
    shm->local_of[r] = here ? shm->local_size : -1;
    shm->process_of[r] = cards[r].process;
    if (here) ranks[shm->local_size++] = r;
    if (here) CPU_OR(&all, &all, &cards[r].processors);
  }
  shm->my_local = shm->local_of[endpoint->rank];
  bool is_part =
      shm->local_size < endpoint->local_size; /* of those that have these processors, for tests */
  endpoint->oversubscribed =
      shm->local_size > CPU_COUNT(&all) || (is_part && endpoint->oversubscribed);
  return tp_group_get(shm->groups, shm->local_size, ranks, 0, out_group);
}

/* --- the memory of other processes --- */

int tp_shm_read(const tp_shm_t *shm, int rank, void *into, uint64_t address, size_t size_bytes) {
  for (size_t done = 0; done < size_bytes;) {
    size_t left = size_bytes - done;
    struct iovec here = {(char *)into + done, left < READ_AT_ONCE ? left : READ_AT_ONCE};
    struct iovec there = {(void *)(uintptr_t)(address + done), here.iov_len};
    ssize_t got = process_vm_readv(shm->process_of[rank], &here, 1, &there, 1, 0);
    if (got <= 0) return got < 0 ? errno : EFAULT;
    done += (size_t)got;
  }
  return 0;
}

/* Where the kernel lets only those read whom a process names, all may: as Open MPI does. */
static void let_others_read(void) {
#ifdef PR_SET_PTRACER
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}

/* Each process tries to read the next one's number. */
static bool reads_next(const tp_shm_t *shm, const tp_group_t *locals, const card_t *cards) {
  int next = locals->ranks[(shm->my_local + 1) % shm->local_size];
  uint64_t number = 0;
  return !tp_shm_read(shm, next, &number, cards[next].number_at, sizeof number) &&
         number == cards[next].number;
}

/* --- the file --- */

/* Where the file is: kept by the kernel, which needs no file system that has room, or else in a
 * folder. */
typedef enum file_dir { DIR_MEMORY, DIR_SHARED_FOLDER, DIR_TEMPORARY_FOLDER, DIR_COUNT } file_dir_t;

static void name_file(tp_shm_t *shm, const card_t *first, file_dir_t file_dir) {
  const char *temporary = getenv("TMPDIR");
  const char *const starts[DIR_COUNT] = {"", "/dev/shm/",
                                         temporary && *temporary ? temporary : "/tmp"};
  snprintf(shm->name, sizeof shm->name, "%s%shlorun.%d.%016llx", starts[file_dir],
           file_dir == DIR_TEMPORARY_FOLDER ? "/" : "", (int)getuid(),
           (unsigned long long)first->number);
}

static size_t desks_bytes(const tp_shm_t *shm) {
  return ((size_t)shm->local_size * sizeof(tp_shm_rank_state_t) + 4095) / 4096 * 4096;
}
static size_t table_bytes(const tp_shm_t *shm) { return BLOCKS * shm->block_bytes; }
/* Heaps begin where large pages do. */
static size_t heaps_at(const tp_shm_t *shm) {
  return (desks_bytes(shm) + table_bytes(shm) + TP_SHM_LARGE_PAGE - 1) / TP_SHM_LARGE_PAGE *
         TP_SHM_LARGE_PAGE;
}
static char *heap_of(const tp_shm_t *shm, int local) {
  return shm->base + heaps_at(shm) + (size_t)local * HEAP_BYTES;
}

static void reckon(tp_shm_t *shm, int local_size) {
  shm->local_size = local_size;
  shm->block_bytes = sizeof(tp_shm_block_t) + (size_t)local_size * sizeof(tp_shm_line_t);
  shm->block_bytes = (shm->block_bytes + 4095) / 4096 * 4096;
  shm->mapped_bytes = heaps_at(shm) + (size_t)local_size * HEAP_BYTES;
}

static bool make_long(const tp_shm_t *shm) {
  return ftruncate(shm->fd, (off_t)shm->mapped_bytes) == 0 &&
         posix_fallocate(shm->fd, 0, (off_t)desks_bytes(shm)) == 0;
}

/* Never one of the standard streams, which may be closed. */
static int file_without_name(const char *title) {
  int fd = memfd_create(title, MFD_CLOEXEC), moved = -1;
  if (fd < 0) return fd;
  moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(fd);
  return moved;
}

static void create_file(tp_shm_t *shm, file_dir_t file_dir) {
  bool is_named = file_dir != DIR_MEMORY;
  shm->fd = is_named ? open(shm->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                     : file_without_name(shm->name);
  if (shm->fd < 0 || make_long(shm)) return;
  close(shm->fd);
  if (is_named) unlink(shm->name);
  shm->fd = -1;
}

/* A file of the first process that has no name is found among those that it has open, where another
 * one may be by now, or another process. */
static void open_file(tp_shm_t *shm, const card_t *first, file_dir_t file_dir, int first_fd) {
  char path[64], found[PATH_MAX] = "", wanted[sizeof shm->name + 32];
  if (file_dir != DIR_MEMORY) {
    shm->fd = open(shm->name, O_RDWR | O_CLOEXEC);
    return;
  }
  snprintf(path, sizeof path, "/proc/%d/fd/%d", first->process, first_fd);
  snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", shm->name);
  ssize_t size = readlink(path, found, sizeof found - 1);
  if (size > 0 && !strcmp(found, wanted)) shm->fd = open(path, O_RDWR | O_CLOEXEC);
}

/* At an address that is a multiple of a large page, as offsets in the file are: else there are
 * none. */
static char *map_at_large_page(const tp_shm_t *shm) {
  size_t size = shm->mapped_bytes;
  char *space = mmap(NULL, size + TP_SHM_LARGE_PAGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return NULL;
  size_t head = -(uintptr_t)space % TP_SHM_LARGE_PAGE;
  void *at = mmap(space + head, size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE | MAP_FIXED, shm->fd, 0);
  if (head) munmap(space, head);
  munmap(space + head + size, TP_SHM_LARGE_PAGE - head);
  if (at != MAP_FAILED) return at;
  munmap(space + head, size);
  return NULL;
}

static bool map_file(tp_shm_t *shm) {
  shm->base = map_at_large_page(shm);
  if (!shm->base) return false;
  struct flock alive = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = shm->my_local, .l_len = 1};
  if (fcntl(shm->fd, F_SETLK, &alive)) return false;
  atomic_store(&tp_shm_rank_state(shm, shm->my_local)->state, TP_SHM_HERE);
  return tp_shm_heap_create(shm->fd, shm->base, heap_of(shm, shm->my_local), HEAP_BYTES,
                            &shm->heap);
}

static hr_status_t notify_all(tp_group_t *group, int mine, int *answers) {
  tp_request_t *request;
  HR_TRY(tp_all_gather(group, &mine, sizeof mine, answers, &request));
  return tp_request_wait(request);
}

/* Did everybody of `group` say yes? */
static hr_status_t all_agree(tp_group_t *group, bool mine, bool *out_all) {
  int answers[group->size];
  HR_TRY(notify_all(group, mine, answers));
  *out_all = true;
  for (int k = 0; k < group->size; k++) *out_all = *out_all && answers[k];
  return NULL;
}

/* The first process makes the file, the others open it; then its name is not needed any more. */
static hr_status_t share_file(tp_shm_t *shm, tp_group_t *locals, const card_t *first,
                              file_dir_t file_dir, bool *out_shared) {
  bool is_first = shm->my_local == 0;
  int fds[locals->size];
  name_file(shm, first, file_dir);
  if (is_first) create_file(shm, file_dir);
  HR_TRY(notify_all(locals, shm->fd, fds));
  if (fds[0] >= 0 && !is_first) open_file(shm, first, file_dir, fds[0]);
  HR_TRY(all_agree(locals, shm->fd >= 0 && map_file(shm), out_shared));
  if (is_first && shm->fd >= 0 && file_dir != DIR_MEMORY) unlink(shm->name);
  return NULL;
}

static void unmap(tp_shm_t *shm) {
  tp_shm_heap_destroy(shm->heap);
  if (shm->base) munmap(shm->base, shm->mapped_bytes);
  if (shm->fd >= 0) close(shm->fd);
  shm->heap = NULL, shm->base = NULL, shm->fd = -1;
}

static hr_status_t share_memory(tp_shm_t *shm, tp_group_t *locals, const card_t *first,
                                bool *out_shared) {
  reckon(shm, shm->local_size);
  for (file_dir_t file_dir = 0; file_dir < DIR_COUNT; file_dir++) {
    HR_TRY(share_file(shm, locals, first, file_dir, out_shared));
    if (*out_shared) return NULL;
    unmap(shm);
  }
  return NULL;
}

/* --- life --- */

static hr_status_t open_with(tp_shm_t *shm, card_t *cards, bool *out_shared) {
  tp_group_t *locals;
  bool has_memory = shm->base != NULL;
  HR_TRY(sync_all(shm, cards));
  HR_TRY(number_machines(shm->groups, cards));
  HR_TRY(find_locals(shm, cards, &locals));
  *out_shared = has_memory;
  if (shm->local_size == 1) return NULL;
  if (!has_memory) HR_TRY(share_memory(shm, locals, &cards[locals->ranks[0]], out_shared));
  return *out_shared ? all_agree(locals, reads_next(shm, locals, cards), &shm->reads_directly)
                     : NULL;
}

static hr_status_t shm_new(tp_shm_t **out_shm) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(tp_shm_t), &memory));
  tp_shm_t *shm = memory;
  *shm = (tp_shm_t){.fd = -1, .holders = 1};
  hr_arena_init(&shm->arena);
  let_others_read();
  *out_shm = shm;
  return NULL;
}

hr_status_t tp_shm_open(tp_groups_t *groups, tp_shm_t **out_shm) {
  void *cards;
  bool shared = false;
  tp_shm_t *shm = groups->endpoint->memory;
  if (shm)
    tp_shm_retain(shm);
  else
    HR_TRY(shm_new(&shm));
  shm->groups = groups;
  hr_status_t st = hr_alloc((size_t)groups->endpoint->world_size * sizeof(card_t), &cards);
  if (!st) {
    st = open_with(shm, cards, &shared);
    hr_free(cards);
  }
  *out_shm = NULL;
  if (shared)
    *out_shm = shm;
  else
    tp_shm_close(shm);
  return st;
}

/* --- with a file that is inherited --- */

hr_status_t tp_shm_file_new(int local_size, int *out_fd) {
  tp_shm_t shm = {.fd = file_without_name("hlorun")};
  reckon(&shm, local_size);
  if (shm.fd >= 0 && make_long(&shm)) {
    *out_fd = shm.fd;
    return NULL;
  }
  hr_status_t st = hr_error(HR_UNAVAILABLE, "cannot make memory for %d processes to share: %s",
                            local_size, strerror(errno));
  if (shm.fd >= 0) close(shm.fd);
  return st;
}

static hr_status_t be_local(tp_shm_t *shm) {
  HR_TRY(HR_NEW_ARRAY(&shm->arena, shm->local_size, &shm->local_of));
  for (int r = 0; r < shm->local_size; r++) shm->local_of[r] = r;
  if (map_file(shm)) return NULL;
  return hr_error(HR_UNAVAILABLE,
                  "cannot map the %.3g GB that %d processes share (of addresses: ulimit -v): %s",
                  (double)shm->mapped_bytes / 1e9, shm->local_size, strerror(errno));
}

hr_status_t tp_shm_over(int fd, int local_size, int my_local, tp_shm_t **out_shm) {
  tp_shm_t *shm;
  HR_TRY(shm_new(&shm));
  shm->fd = fd;
  shm->my_local = my_local;
  reckon(shm, local_size);
  hr_status_t st = be_local(shm);
  if (st)
    tp_shm_release(shm);
  else
    *out_shm = shm;
  return st;
}

void tp_shm_retain(tp_shm_t *shm) { atomic_fetch_add(&shm->holders, 1); }

void tp_shm_release(tp_shm_t *shm) {
  if (atomic_fetch_sub(&shm->holders, 1) != 1) return;
  unmap(shm);
  hr_arena_deinit(&shm->arena);
  hr_free(shm);
}

void tp_shm_close(tp_shm_t *shm) {
  if (!shm) return;
  tp_shm_staging_destroy(shm);
  tp_shm_release(shm);
}

bool tp_shm_is_alive(const tp_shm_t *shm, int rank) {
  int local = shm->local_of[rank];
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = local, .l_len = 1};
  if (local == shm->my_local ||
      atomic_load(&tp_shm_rank_state(shm, local)->state) == TP_SHM_EXPECTED)
    return true;
  return fcntl(shm->fd, F_GETLK, &lock) || lock.l_type != F_UNLCK;
}

hr_status_t tp_shm_peer_failed(const tp_shm_t *shm, int rank, const char *host) {
  if (atomic_load(&tp_shm_rank_state(shm, shm->local_of[rank])->state) == TP_SHM_FAILED)
    return hr_error(HR_CANCELLED, "because rank %d failed", rank);
  return hr_error(HR_UNAVAILABLE, "rank %d has ended on %s, and left the others waiting", rank,
                  host);
}

bool tp_shm_watch_is_due(tp_shm_watch_t *watch) {
  if (++watch->polls % LOOK_POLLS) return false;
  int64_t now = hr_clock_coarse_ms();
  if (!watch->looked_ms) watch->looked_ms = now;
  if (now - watch->looked_ms < LOOK_MS) return false;
  watch->looked_ms = now;
  return true;
}

/* --- blocks and memory --- */

static tp_shm_block_t *block_at(const tp_shm_t *shm, uint64_t number) {
  return (tp_shm_block_t *)(shm->base + desks_bytes(shm) + number * shm->block_bytes);
}

/* Entries are never given back, so whoever asks first makes it, and the others find it. A file
 * system may be full. */
tp_shm_block_t *tp_shm_block_of(tp_shm_t *shm, uint64_t key, int members) {
  off_t used = (off_t)(sizeof(tp_shm_block_t) + (size_t)members * sizeof(tp_shm_line_t));
  key |= 1;
  for (uint64_t i = 0; i < BLOCKS; i++) {
    tp_shm_block_t *block = block_at(shm, (key + i) / 2 % BLOCKS);
    uint64_t found = 0;
    if (posix_fallocate(shm->fd, (char *)block - shm->base, used)) return NULL;
    if (atomic_compare_exchange_strong(&block->key, &found, key) || found == key) return block;
  }
  return NULL;
}

void *tp_shm_alloc(tp_shm_t *shm, size_t size_bytes) {
  void *memory = tp_shm_heap_alloc(shm->heap, size_bytes);
  if (memory) tp_shm_retain(shm);
  return memory;
}

hr_status_t tp_shm_used_up(const tp_shm_t *shm) {
  return hr_error(HR_NO_MEMORY,
                  "the processes of this machine have no more memory to share: %s%s%s",
                  shm->name[0] == '/' ? shm->name : "", shm->name[0] == '/' ? ": " : "",
                  strerror(tp_shm_heap_error(shm->heap)));
}

void tp_shm_free(tp_shm_t *shm, void *memory) {
  if (!memory) return;
  tp_shm_heap_free(shm->heap, memory);
  tp_shm_release(shm);
}

bool tp_shm_has(const tp_shm_t *shm, const void *memory) {
  const char *heap = heap_of(shm, shm->my_local), *at = memory;
  return at >= heap && at < heap + HEAP_BYTES;
}
