/* Programs that memory limits, beside plain loops by as many workers that read and write as many
 * bytes, with stores past the caches: how near the programs come to what memory gives. Both take
 * turns. bench_memory [-w WORKERS] [NAME...]   rows whose names begin so; without names: all */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clones.h"
#include "base/mem.h"
#include "base/workers.h"
#include "bench_tools.h"
#include "hlorun.h"
#include "read/read.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define MOST_ARRAYS 8
#define SECONDS 0.6 /* that a row is run for */
#define WANTED 0.8

typedef struct row {
  const char *name;
  int64_t limit;
  const char *text;
} row_t;

static const row_t rows[] = {
#define ROW(name, limit, text) {name, limit, "HloModule m\n" text},
#include "bench/bench_memory.def"
};

/* --- the plain loops --- */

typedef struct move {
  const float *from;
  float *to;
  int64_t read, written; /* in blocks */
  float sums[64];        /* a sum of each worker: what is read must be used */
} move_t;

#define BLOCK 128              /* floats */
#define PREFETCH_DISTANCE 1024 /* floats that are asked for before their use */

static inline float read_block(const float *from) {
  float sum = 0;
  for (int i = 0; i < BLOCK; i += 16) __builtin_prefetch(from + i + PREFETCH_DISTANCE);
  for (int i = 0; i < BLOCK; i += 16) sum += from[i];
  return sum;
}

static inline void write_block(float *to) {
#if defined(__x86_64__)
  for (int i = 0; i < BLOCK; i += 4) _mm_stream_ps(to + i, _mm_set1_ps(1));
#else
  for (int i = 0; i < BLOCK; i++) to[i] = 1;
#endif
}

/* Each worker's share is of blocks, read and written by turns. */
static void move_part(void *context, int64_t begin, int64_t end, int worker) {
  move_t *move = context;
  int64_t parts = move->read > move->written ? move->read : move->written;
  int64_t read = begin * move->read / parts, written = begin * move->written / parts;
  float sum = 0;
  for (int64_t i = begin + 1; i <= end; i++) {
    for (; read < i * move->read / parts; read++) sum += read_block(move->from + read * BLOCK);
    for (; written < i * move->written / parts; written++) write_block(move->to + written * BLOCK);
  }
  move->sums[worker] += sum;
}

/* --- a row --- */

typedef struct bench {
  hlorun_client_t *client;
  hlorun_program_t *program;
  hlo_module_t *module;
  hr_workers_t *workers;
  move_t move;
  hlorun_buffer_t *in[MOST_ARRAYS];
  int in_count, out_count;
  double bytes, program_s, move_s;
} bench_t;

static void must(hlorun_status_t status) {
  if (!status) return;
  fprintf(stderr, "%s\n", hlorun_status_message(status));
  exit(hlorun_status_exit_code(status));
}

static size_t bytes_of(const hlo_shape_t *shape) {
  size_t bytes;
  bench_check(hlo_shape_bytes(shape, &bytes));
  return bytes;
}

static void fill(const hlo_shape_t *shape, int64_t limit, char *data) {
  size_t each = hr_dtype_bytes(shape->dtype), count = bytes_of(shape) / each;
  uint64_t random = 1;
  for (size_t i = 0; i < count; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    uint64_t bits = random >> 40;
    bits = hr_dtype_is_float(shape->dtype)
               ? hr_float_encode(shape->dtype, (double)bits * 0x1p-23 - 1)
               : bits % (uint64_t)(shape->dtype == HR_PRED ? 2 : limit);
    memcpy(data + i * each, &bits, each);
  }
}

static void release(void *context, void *data, size_t size_bytes) {
  (void)context, (void)size_bytes;
  hr_free(data);
}

static void load(bench_t *bench, const row_t *row) {
  hr_buffer_t *bytes;
  hlorun_program_options_t options;
  hlorun_program_options_init(&options);
  must(hlorun_program_load_bytes(bench->client, row->name, row->text, strlen(row->text), &options,
                                 &bench->program));
  bench_check(hr_buffer_create(strlen(row->text), &bytes));
  memcpy(hr_buffer_data(bytes), row->text, strlen(row->text));
  bench_check(read_module(row->name, bytes, &bench->module));
  hr_buffer_release(bytes);
}

static void make_arrays(bench_t *bench, const row_t *row) {
  const hlo_computation_t *entry = bench->module->entry;
  size_t read = 0, written = 0;
  bench->in_count = (int)entry->params.count,
  bench->out_count = hlo_shape_leaf_count(entry->root->shape);
  for (int k = 0; k < bench->in_count; k++) {
    const hlo_shape_t *shape = entry->params.data[k]->shape;
    void *data;
    bench_check(hr_alloc(bytes_of(shape), &data));
    fill(shape, row->limit, data);
    const char *dtype = hr_dtype_name(shape->dtype);
    must(hlorun_buffer_create(dtype, shape->rank, shape->dims, data, release, NULL, &bench->in[k]));
    read += bytes_of(shape);
  }
  for (int k = 0; k < bench->out_count; k++)
    written += bytes_of(hlo_shape_leaf(entry->root->shape, k));
  bench->bytes = (double)(read + written);
  bench->move.read = (int64_t)(read / (BLOCK * sizeof(float)));
  bench->move.written = (int64_t)(written / (BLOCK * sizeof(float)));
}

static double run_program(bench_t *bench) {
  hlorun_buffer_t *out[MOST_ARRAYS];
  double start = hr_clock_s();
  must(hlorun_execute(bench->program, bench->in, NULL, out));
  double taken = hr_clock_s() - start;
  for (int k = 0; k < bench->out_count; k++) hlorun_buffer_release(out[k]);
  return taken;
}

static double run_move(bench_t *bench) {
  int64_t parts = bench->move.read > bench->move.written ? bench->move.read : bench->move.written;
  double start = hr_clock_s();
  hr_workers_split(bench->workers, parts, 1, move_part, &bench->move);
  return hr_clock_s() - start;
}

/* Returns how much of memory's speed the program reaches. */
static double bench_row(bench_t *bench, const row_t *row) {
  load(bench, row);
  make_arrays(bench, row);
  bench->program_s = 1e9;
  bench->move_s = 1e9;
  for (double start = hr_clock_s(); hr_clock_s() - start < SECONDS;) {
    double moved = run_move(bench), run = run_program(bench);
    if (moved < bench->move_s) bench->move_s = moved;
    if (run < bench->program_s) bench->program_s = run;
  }
  printf("%-18s %8.1f MB  %8.3f ms %7.1f GB/s   plain loops %8.3f ms %7.1f GB/s   %4.0f%%\n",
         row->name, bench->bytes * 1e-6, bench->program_s * 1e3,
         bench->bytes / bench->program_s * 1e-9, bench->move_s * 1e3,
         bench->bytes / bench->move_s * 1e-9, 100 * bench->move_s / bench->program_s);
  for (int k = 0; k < bench->in_count; k++) hlorun_buffer_release(bench->in[k]);
  hlorun_program_release(bench->program);
  hlo_module_destroy(bench->module);
  return bench->move_s / bench->program_s;
}

static void begin(bench_t *bench, int workers) {
  size_t most = (size_t)256 << 20;
  void *from, *to;
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_SINGLE;
  options.threads = workers;
  must(hlorun_client_create(&options, &bench->client));
  bench_check(hr_workers_create(&(hr_workers_options_t){.count = workers, .may_spin = true},
                                &bench->workers));
  bench_check(hr_alloc(most, &from));
  bench_check(hr_alloc(most, &to));
  memset(from, 1, most);
  memset(to, 1, most);
  bench->move.from = from;
  bench->move.to = to;
}

static void end(bench_t *bench) {
  hr_free((void *)bench->move.from);
  hr_free(bench->move.to);
  hr_workers_destroy(bench->workers);
  hlorun_client_release(bench->client, 0);
}

int main(int argc, char **argv) {
  bench_t bench = {0};
  int option, workers = 2, count = 0, near = 0;
  while ((option = getopt(argc, argv, "w:")) != -1)
    if (option == 'w') workers = atoi(optarg);
  begin(&bench, workers);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bool wanted = optind == argc;
    for (int a = optind; a < argc; a++)
      wanted |= strncmp(rows[i].name, argv[a], strlen(argv[a])) == 0;
    if (!wanted) continue;
    count++;
    near += bench_row(&bench, &rows[i]) >= WANTED;
  }
  printf("%d of %d at %.0f%% of memory's speed or above\n", near, count, 100 * WANTED);
  end(&bench);
  return 0;
}
