/* A pool of threads for parallel loops, which several callers may share: one has it at a time. A
 * loop (region) is published by incrementing `generation`, on which idle workers spin and then
 * sleep (futex). Workers join through `door`, a counter with an OPEN bit: the caller closes it when
 * no chunk is left and waits only for those that have joined, so that a worker that sleeps, or
 * whose core is busy, delays nobody.
 *
 * Chunks are cut into a range for each worker, which takes those first and then what others have
 * left (work stealing). In loops over equal arrays a worker thus gets the same places again: memory
 * stays on the NUMA node of the worker that first touched it, and no counter is shared while all
 * are at work.
 *
 *     chunks   | 0 1 2 3 | 4 5 6 7 | 8 9 10 11 |
 *     worker        0         1          2         then 1, 2 / 2, 0 / 0, 1
 *
 * Cost: about a microsecond a loop while the workers spin. */
#include "base/workers.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fp_mode.h"
#include "base/mem.h"

#define SPINS 4000 /* about 20 us of pauses before a worker goes to sleep */

/* Bit of `door`. Nobody waits for a worker that sleeps or whose core is busy: a late worker finds
 * the door closed. */
#define OPEN (1u << 31)

typedef struct region {
  hr_workers_fn fn;
  void *context;
  int64_t count, chunk;
  int64_t units;     /* amount of work of the region, for traces */
  int64_t chunks;    /* at most CURSOR_CHUNKS for each worker */
  uint64_t id;       /* number of the region, from 1 on */
  hr_fp_mode_t mode; /* the caller's mode, which the workers take over */
} region_t;

/* Progress in a worker's range: the region's id, and in the lowest bits the number of chunks taken.
 * The id of an earlier region means no chunks, so that cursors need no reset. */
typedef struct cursor {
  _Alignas(64) atomic_uint_least64_t taken;
} cursor_t;

#define CURSOR_BITS 16
#define CURSOR_CHUNKS ((1 << CURSOR_BITS) - 1)

struct hr_workers {
  hr_workers_options_t options;
  pthread_t *threads;
  hr_trace_slice_t *shares; /* one slice per worker of the region, written by it; NULL: no trace */
  int started;
  region_t region;
  atomic_bool busy;                    /* a region is under way, of this caller or of another */
  _Alignas(64) atomic_uint generation; /* counter of regions, raised to wake sleepers; futex */
  atomic_uint sleepers;
  cursor_t *cursors; /* one per worker */
  _Alignas(64)
      atomic_uint door; /* OPEN while workers may join, plus the number that have joined; futex */
  atomic_bool stopping;
};

static _Thread_local bool is_inside; /* this thread runs a chunk */

typedef struct worker_start {
  hr_workers_t *workers;
  int worker;
} worker_start_t;

static void futex_wait(atomic_uint *word, unsigned seen) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}
static void futex_wake_all(atomic_uint *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

/* Tells the core that this is a spin loop. */
static inline void pause_a_little(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Waits until *word differs from `seen`; returns its new value. */
static unsigned await_change(const hr_workers_t *workers, atomic_uint *word, unsigned seen,
                             atomic_uint *sleepers) {
  unsigned now;
  for (int i = 0; workers->options.may_spin && i < SPINS; i++) {
    if ((now = atomic_load_explicit(word, memory_order_acquire)) != seen) return now;
    pause_a_little();
  }
  if (sleepers) atomic_fetch_add(sleepers, 1);
  while ((now = atomic_load(word)) == seen) futex_wait(word, seen);
  if (sleepers) atomic_fetch_sub(sleepers, 1);
  return now;
}

/* The first chunk of a worker's range. */
static int64_t range_begin(const hr_workers_t *workers, int worker) {
  return workers->region.chunks * worker / workers->options.count;
}

/* Takes the next chunk of a range; -1: nothing is left of it. */
static int64_t take_chunk(hr_workers_t *workers, int owner) {
  int64_t first = range_begin(workers, owner);
  uint64_t limit = (uint64_t)(range_begin(workers, owner + 1) - first);
  uint64_t none = workers->region.id << CURSOR_BITS;
  if (!limit) return -1;
  atomic_uint_least64_t *taken = &workers->cursors[owner].taken;
  uint64_t seen = atomic_load_explicit(taken, memory_order_relaxed), now;
  do {
    now = seen < none ? none : seen;
    if (now - none >= limit) return -1;
  } while (!atomic_compare_exchange_weak_explicit(taken, &seen, now + 1, memory_order_relaxed,
                                                  memory_order_relaxed));
  return first + (int64_t)(now - none);
}

/* Runs all chunks of a range that nobody has taken; returns their part of the region's count. */
static int64_t take_range(hr_workers_t *workers, int owner, int worker) {
  const region_t *region = &workers->region;
  int64_t done = 0, chunk;
  while ((chunk = take_chunk(workers, owner)) >= 0) {
    int64_t begin = chunk * region->chunk, left = region->count - begin;
    int64_t count = left < region->chunk ? left : region->chunk;
    region->fn(region->context, begin, begin + count, worker);
    done += count;
  }
  return done;
}

/* Runs the worker's own range, then those of the workers after it, whose cores are near its own.
 * Returns the part of the region's count that this worker did. */
static int64_t take_chunks(hr_workers_t *workers, int worker) {
  int64_t done = 0;
  for (int k = 0; k < workers->options.count; k++)
    done += take_range(workers, (worker + k) % workers->options.count, worker);
  return done;
}

/* Runs chunks until none is left, and notes the time if there is a trace. */
static void take_share(hr_workers_t *workers, int worker) {
  const region_t *region = &workers->region;
  if (!workers->shares) {
    take_chunks(workers, worker);
    return;
  }
  uint64_t begin_ns = hr_clock_ns();
  int64_t done = take_chunks(workers, worker);
  if (!done && worker)
    return; /* keeps an earlier share; the caller's share tells when it began to wait */
  int64_t units = done == region->count ? region->units : region->units / region->count * done;
  workers->shares[worker] = (hr_trace_slice_t){begin_ns, hr_clock_ns() - begin_ns, units};
}

/* Increments the count of joined workers, unless the door is closed. */
static bool join_region(hr_workers_t *workers) {
  unsigned door = atomic_load_explicit(&workers->door, memory_order_relaxed);
  while (door & OPEN)
    if (atomic_compare_exchange_weak_explicit(&workers->door, &door, door + 1, memory_order_acquire,
                                              memory_order_relaxed))
      return true;
  return false;
}

static void leave_region(hr_workers_t *workers) {
  if (atomic_fetch_sub_explicit(&workers->door, 1, memory_order_release) == 1)
    futex_wake_all(&workers->door);
}

/* Called when all units are taken: closes the door, then waits for the workers that have joined. */
static void close_region(hr_workers_t *workers) {
  unsigned left = atomic_fetch_and_explicit(&workers->door, ~OPEN, memory_order_acquire) & ~OPEN;
  while (left) left = await_change(workers, &workers->door, left, NULL);
}

/* A worker that wakes too late finds the door closed and waits for the next generation. */
static void *worker_main(void *argument) {
  worker_start_t start = *(worker_start_t *)argument;
  hr_workers_t *workers = start.workers;
  unsigned seen = 0;
  hr_fp_mode_t mode = hr_fp_mode();
  hr_free(argument);
  is_inside = true;
  if (workers->options.started) workers->options.started(workers->options.context, start.worker);
  for (;;) {
    seen = await_change(workers, &workers->generation, seen, &workers->sleepers);
    if (atomic_load(&workers->stopping)) return NULL;
    if (!join_region(workers)) continue;
    if (workers->region.mode != mode) hr_fp_mode_set(mode = workers->region.mode);
    take_share(workers, start.worker);
    leave_region(workers);
  }
}

static void next_generation(hr_workers_t *workers) {
  atomic_fetch_add(&workers->generation, 1);
  if (atomic_load(&workers->sleepers)) futex_wake_all(&workers->generation);
}

static int thread_count(const hr_workers_t *workers) {
  const hr_workers_options_t *options = &workers->options;
  if (options->part_begins) return 1;
  return options->threads ? options->threads : options->count;
}

static hr_status_t start_threads(hr_workers_t *workers) {
  int threads = thread_count(workers);
  for (int w = 1; w < threads; w++) {
    void *memory;
    HR_TRY(hr_alloc(sizeof(worker_start_t), &memory));
    *(worker_start_t *)memory = (worker_start_t){workers, w};
    if (pthread_create(&workers->threads[w], NULL, worker_main, memory)) {
      hr_free(memory);
      return hr_error(HR_UNAVAILABLE, "thread %d of %d could not be started", w, threads);
    }
    workers->started++;
  }
  return NULL;
}

static hr_status_t note_shares(hr_workers_t *workers) {
  void *memory;
  if (!workers->options.trace) return NULL;
  HR_TRY(hr_alloc_zeroed((size_t)workers->options.count * sizeof *workers->shares, &memory));
  workers->shares = memory;
  return hr_trace_workers_set(workers->options.trace, thread_count(workers));
}

hr_status_t hr_workers_create(const hr_workers_options_t *options, hr_workers_t **out_workers) {
  void *memory;
  hr_assert(options->count >= 1);
  HR_TRY(hr_alloc_zeroed(sizeof(hr_workers_t), &memory));
  hr_workers_t *workers = memory;
  workers->options = *options;
  hr_status_t st = hr_alloc_zeroed((size_t)options->count * sizeof(pthread_t), &memory);
  workers->threads = st ? NULL : memory;
  if (!st) st = hr_alloc_zeroed((size_t)options->count * sizeof(cursor_t), &memory);
  workers->cursors = st ? NULL : memory;
  if (!st) st = note_shares(workers);
  if (!st) st = start_threads(workers);
  if (st)
    hr_workers_destroy(workers);
  else
    *out_workers = workers;
  return st;
}

void hr_workers_destroy(hr_workers_t *workers) {
  if (!workers) return;
  atomic_store(&workers->stopping, true);
  next_generation(workers);
  for (int w = 1; w <= workers->started; w++) pthread_join(workers->threads[w], NULL);
  hr_free(workers->threads);
  hr_free(workers->cursors);
  hr_free(workers->shares);
  hr_free(workers);
}

int hr_workers_count(const hr_workers_t *workers) { return workers ? workers->options.count : 1; }

/* Runs each worker's range on the caller, in order. */
static void run_parts(hr_workers_t *workers) {
  const hr_workers_options_t *options = &workers->options;
  for (int w = 0; w < options->count; w++) {
    options->part_begins(options->part_context, w);
    take_range(workers, w, w);
  }
  options->part_begins(options->part_context, 0);
}

/* The caller, who has set `busy`, is worker 0. Release on `door` publishes the region's fields. */
static void run_region(hr_workers_t *workers, const region_t *region) {
  uint64_t id = workers->region.id + 1;
  workers->region = *region;
  workers->region.id = id;
  workers->region.mode = hr_fp_mode();
  workers->region.chunks = (region->count + region->chunk - 1) / region->chunk;
  is_inside = true;
  for (int w = 0; workers->shares && w < workers->options.count; w++) workers->shares[w].units = 0;
  atomic_store_explicit(&workers->door, OPEN, memory_order_release);
  next_generation(workers);
  if (workers->options.part_begins) run_parts(workers);
  take_share(workers, 0);
  close_region(workers);
  if (workers->shares)
    hr_trace_slices_add(workers->options.trace, workers->shares, thread_count(workers),
                        region->units);
  is_inside = false;
  atomic_store_explicit(&workers->busy, false, memory_order_release);
}

/* Takes the workers, unless the loop is not worth it or another caller has them: then it runs on
 * its caller alone. */
static bool take_workers(hr_workers_t *workers, int64_t count, int64_t grain) {
  if (!workers || workers->options.count == 1 || count <= grain || is_inside) return false;
  return !atomic_load_explicit(&workers->busy, memory_order_relaxed) &&
         !atomic_exchange_explicit(&workers->busy, true, memory_order_acquire);
}

/* HR_WORKERS_CHUNKS chunks per worker balance the load; none is smaller than the grain. */
void hr_workers_for(hr_workers_t *workers, int64_t count, int64_t grain, hr_workers_fn fn,
                    void *context) {
  if (count <= 0) return;
  if (!take_workers(workers, count, grain)) {
    fn(context, 0, count, 0);
    return;
  }
  int64_t chunk = (count + (int64_t)workers->options.count * HR_WORKERS_CHUNKS - 1) /
                  ((int64_t)workers->options.count * HR_WORKERS_CHUNKS);
  run_region(workers, &(region_t){.fn = fn,
                                  .context = context,
                                  .count = count,
                                  .chunk = chunk < grain ? grain : chunk,
                                  .units = count});
}

typedef struct split {
  hr_workers_fn fn;
  void *context;
  int64_t count;
  int parts;
} split_t;

static void run_part(void *context, int64_t begin, int64_t end, int worker) {
  const split_t *split = context;
  for (int64_t part = begin; part < end; part++) {
    int64_t from = split->count * part / split->parts,
            to = split->count * (part + 1) / split->parts;
    if (from < to) split->fn(split->context, from, to, worker);
  }
}

/* Equal parts, one per worker at most: part p has the same range whoever runs it. */
void hr_workers_split(hr_workers_t *workers, int64_t count, int64_t grain, hr_workers_fn fn,
                      void *context) {
  if (count <= 0) return;
  if (!take_workers(workers, count, grain)) {
    fn(context, 0, count, 0);
    return;
  }
  int64_t parts = grain > 0 ? (count + grain - 1) / grain : count;
  if (parts > workers->options.count) parts = workers->options.count;
  split_t split = {fn, context, count, (int)parts};
  region_t region = {.fn = run_part, .context = &split, .count = parts, .chunk = 1, .units = count};
  run_region(workers, &region);
}
