/* Checks of channels between the processes of mpi_collectives: order, sizes, cancellation. */
#include "tests/mpi/channel_checks.h"

#include <string.h>

#include "base/mem.h"
#include "transport/core/tp_channel.h"
#include "transport/shm/shm.h"

#define MESSAGES 4    /* under way at once on one channel */
#define BLOCKS 3      /* blocks of a message, of different sizes */
#define CHANNELS 1000 /* under way at once */
#define LONGEST ((size_t)300000)
static const size_t sizes[] = {1, 16, 208, 209, 5000, 70000, LONGEST};

typedef struct bench {
  tp_groups_t *groups;
  int next, before; /* ranks */
  char *out, *in;   /* MESSAGES * LONGEST bytes each */
} bench_t;

static char element(int rank, size_t i) { return (char)(rank * 31 + (int)(i % 251)); }

static hr_status_t wrong(const bench_t *bench, const char *what, size_t size_bytes) {
  return hr_error(HR_MISMATCH, "%s of %zu bytes, rank %d: something else arrived", what, size_bytes,
                  bench->groups->endpoint->rank);
}

/* A message cut in pieces: the first of no bytes, the second of one. */
static void cut(char *data, size_t size_bytes, hr_block_t blocks[BLOCKS]) {
  blocks[0] = (hr_block_t){data, 0};
  blocks[1] = (hr_block_t){data, 1};
  blocks[2] = (hr_block_t){data + 1, size_bytes - 1};
}

static hr_status_t start_message(bench_t *bench, bool sends, int number, size_t size_bytes,
                                 tp_request_t **out_request) {
  hr_block_t blocks[BLOCKS];
  cut((sends ? bench->out : bench->in) + (size_t)number * size_bytes, size_bytes, blocks);
  if (sends) return tp_channel_send(bench->groups, bench->next, 5, blocks, BLOCKS, out_request);
  return tp_channel_recv(bench->groups, bench->before, 5, blocks, BLOCKS, out_request);
}

/* Several messages are under way to the next process, and as many from the one before. */
static hr_status_t check_ring(bench_t *bench, size_t size_bytes) {
  tp_request_t *requests[2][MESSAGES];
  size_t all = MESSAGES * size_bytes;
  for (size_t i = 0; i < all; i++) bench->out[i] = element(bench->groups->endpoint->rank, i);
  memset(bench->in, 0, all);
  for (int i = 0; i < MESSAGES; i++)
    HR_TRY(start_message(bench, true, i, size_bytes, &requests[0][i]));
  for (int i = 0; i < MESSAGES; i++)
    HR_TRY(start_message(bench, false, i, size_bytes, &requests[1][i]));
  for (int i = 0; i < 2 * MESSAGES; i++) HR_TRY(tp_request_wait(requests[i % 2][i / 2]));
  for (size_t i = 0; i < all; i++)
    if (bench->in[i] != element(bench->before, i)) return wrong(bench, "messages", size_bytes);
  return NULL;
}

/* All is sent before anything is received, and that in another order. */
static hr_status_t check_many(bench_t *bench) {
  tp_request_t *sends[CHANNELS];
  uint32_t out[CHANNELS];
  for (uint32_t c = 0; c < CHANNELS; c++) {
    out[c] = c * 7 + (uint32_t)bench->groups->endpoint->rank;
    HR_TRY(tp_channel_send(bench->groups, bench->next, c, &(hr_block_t){&out[c], sizeof *out}, 1,
                           &sends[c]));
  }
  for (uint32_t c = CHANNELS, in; c-- > 0;) {
    tp_request_t *request;
    HR_TRY(tp_channel_recv(bench->groups, bench->before, c, &(hr_block_t){&in, sizeof in}, 1,
                           &request));
    HR_TRY(tp_request_wait(request));
    if (in != c * 7 + (uint32_t)bench->before)
      return wrong(bench, "one of many channels", sizeof in);
  }
  for (int c = 0; c < CHANNELS; c++) HR_TRY(tp_request_wait(sends[c]));
  return NULL;
}

/* A send is over when it is received, not before. */
static hr_status_t check_meeting(bench_t *bench) {
  tp_request_t *send, *request;
  bool done;
  char byte = 1, got = 0;
  HR_TRY(tp_channel_send(bench->groups, bench->next, 6, &(hr_block_t){&byte, 1}, 1, &send));
  HR_TRY(tp_barrier(bench->groups->world, &request));
  HR_TRY(tp_request_wait(request));
  for (int polls = 0; polls < 100; polls++) {
    HR_TRY(tp_request_test(send, &done));
    if (done) return wrong(bench, "a send that nobody receives", 1);
  }
  HR_TRY(tp_barrier(bench->groups->world, &request));
  HR_TRY(tp_request_wait(request));
  HR_TRY(tp_channel_recv(bench->groups, bench->before, 6, &(hr_block_t){&got, 1}, 1, &request));
  HR_TRY(tp_request_wait(request));
  return tp_request_wait(send);
}

static hr_status_t check_sizes(bench_t *bench) {
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) HR_TRY(check_ring(bench, sizes[s]));
  return NULL;
}

/* Where no process may read another's memory, too. */
static hr_status_t check_without_reading(bench_t *bench) {
  tp_shm_t *shm = bench->groups->shm;
  bool reads = shm && shm->reads_directly;
  if (shm) shm->reads_directly = false;
  hr_status_t st = check_sizes(bench);
  if (shm) shm->reads_directly = reads;
  return st;
}

/* A rank without shared memory takes part with its own. */
static hr_status_t check_shared(const bench_t *bench) {
  bench_t shared = *bench;
  void *owner, *memory = tp_alloc(bench->groups, MESSAGES * LONGEST, &owner);
  if (memory) shared.out = memory;
  hr_status_t st = check_sizes(&shared);
  tp_free(owner, memory);
  return st;
}

static hr_status_t check_all(bench_t *bench) {
  HR_TRY(check_sizes(bench));
  HR_TRY(check_shared(bench));
  HR_TRY(check_without_reading(bench));
  HR_TRY(check_many(bench));
  HR_TRY(check_meeting(bench));
  bench->before = bench->groups->endpoint->rank;
  bench->next = bench->before;
  return check_sizes(bench);
}

hr_status_t check_channels(tp_groups_t *groups) {
  int size = groups->endpoint->world_size, rank = groups->endpoint->rank;
  bench_t bench = {.groups = groups, .next = (rank + 1) % size, .before = (rank + size - 1) % size};
  void *out = NULL, *in = NULL;
  hr_status_t st = hr_alloc(MESSAGES * LONGEST, &out);
  if (!st) st = hr_alloc(MESSAGES * LONGEST, &in);
  bench.out = out;
  bench.in = in;
  if (!st) st = check_all(&bench);
  hr_free(in);
  hr_free(out);
  return st;
}
