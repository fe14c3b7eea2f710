/* Partition of a product among workers, and the entry points of gemm.h. gemm_loops.h has the loops
 * for one vector width and type; it is included below for all of them.
 *
 * Three nested ranges of one product:
 *
 *   partition   rows, columns and k of a task; chosen by a cost model (partition_cost) among all
 *               numbers of parts of rows and columns
 *   block       rows x depth of A, BLOCK_BYTES
 *   group       depth x some panels of B that stay in the second-level cache, GROUP_BYTES
 *
 * Only the cost decides, so the partition of rows and columns depends on sizes, types and the
 * number of workers. The partition of k decides the order of sums, and depends on sizes and types
 * alone (gemm_depth_parts). k is divided only if no callback waits for final rows (can_split_k). */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#include "ops/kernels/gemm/gemm.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/simd/simd_target.h"

#define DEPTH_MAX 384 /* most rows of a panel */
/* Most bytes of panels packed at once. They and the elements that are prefetched for the next ones
 * stay in a second-level cache. */
#define GROUP_BYTES (1 << 18)
#define BLOCK_BYTES (1 << 20) /* most bytes of a block of A: B is packed again for each block */
#define PANEL_BYTES 192       /* bytes of a row of the widest panel */
#define SHORT_DEPTH 64        /* most terms for which C is most of the traffic */
#define UNIT_PANELS 4         /* most panels in a finish_unit */
#define CONFLICT_BYTES 2048   /* bytes between rows that share few sets of the first-level cache */
#define PLACE_ROWS 128        /* most rows of A for which B is read in place */
#define PLACE_BYTES (1 << 19) /* most bytes of B in place: a second-level cache keeps them */
#define DEPTH_UNIT 8          /* divisor of the terms of a depth block */
/* Least columns of C for which A with dense columns is packed. The other two hold for AVX2. */
#define PACK_A_COLUMNS 64
#define PACK_ALIASED_COLUMNS 24 /* all columns of A share one set of the first-level cache */
#define PACK_SPREAD_COLUMNS 128 /* the columns of A are spread over most of its sets */
#define COLUMN_BYTES \
  128 /* least stride of dense columns for which A is packed: shorter ones share cache lines */
#define FINISHED_BYTES \
  (1 << 19) /* most bytes of whole rows that are finished together: a second-level cache */
#define FINISHED_ROWS 64 /* least number of such rows: B is packed again for each block of them */

typedef struct gemm_range {
  int64_t row, rows, column, columns, first, depth; /* `columns`, `first` and `depth` count reals */
  bool packed;                                      /* A is copied to scratch memory */
} gemm_range_t;

static inline int64_t gemm_tile_rows(void) { return GEMM_TILE_ROWS(gemm_vector_bytes()); }

/* Depth of the panels of a sum of `depth` terms: equal parts, rounded up to DEPTH_UNIT. */
static inline int64_t gemm_panel_depth(int64_t depth) {
  int64_t parts = hr_max(hr_div_ceil(depth, DEPTH_MAX), 1);
  return hr_div_ceil(hr_div_ceil(depth, parts), DEPTH_UNIT) * DEPTH_UNIT;
}

/* Rows of A in a block. */
static inline int64_t gemm_block_rows(int64_t depth, int64_t real_bytes) {
  int64_t unit = gemm_tile_rows();
  return BLOCK_BYTES / (gemm_panel_depth(depth) * real_bytes) / unit * unit;
}

/* Rows of a block: fewer than gemm_block_rows if whole rows have to be finished while they are
 * cached. */
static inline int64_t gemm_part_rows(const gemm_job_t *job, int64_t depth, int64_t real_bytes) {
  int64_t rows = gemm_block_rows(depth, real_bytes);
  int64_t unit = gemm_tile_rows(), least = hr_round_up(FINISHED_ROWS, unit);
  if (!job->finish || job->finish_unit) return rows;
  int64_t cached = FINISHED_BYTES / (job->n * real_bytes) / unit * unit;
  if (rows < least || cached >= rows) return rows;
  return hr_max(cached, least);
}

/* Reports columns of the rows `now` as final if `now` is the last depth block of `range`. */
static inline void gemm_report_finished(const gemm_job_t *job, const gemm_range_t *range,
                                        const gemm_range_t *now, int worker, int64_t column,
                                        int64_t columns) {
  if (job->finish && now->first + now->depth == range->first + range->depth)
    job->finish(job->finish_context, worker, now->row, now->rows, column, columns);
}

/* Divisor of the columns of a group: a panel, or what is reported as final at once. */
static inline int64_t gemm_group_unit(const gemm_job_t *job, int64_t panel) {
  return job->finish && job->finish_unit ? job->finish_unit : panel;
}

/* Columns of a group, that is, whose panels are packed at once. `columns` is divided into groups of
 * equal size that stay in the second-level cache, or have one unit. */
static inline int64_t gemm_group_columns(const gemm_job_t *job, int64_t columns, int64_t depth,
                                         int64_t panel, int64_t real_bytes) {
  int64_t unit = gemm_group_unit(job, panel);
  int64_t units = hr_div_ceil(columns, unit);
  int64_t most = hr_max(GROUP_BYTES / (depth * unit * real_bytes), 1);
  return hr_div_ceil(units, hr_div_ceil(units, most)) * unit;
}

/* Mode of a depth block: blocks after the first one accumulate. */
static inline gemm_mode_t gemm_mode_of(const gemm_job_t *job, const gemm_range_t *range,
                                       int64_t first) {
  return job->mode == GEMM_SET && first > range->first ? GEMM_ADD : job->mode;
}

/* The largest gemm_panel_depth of any sum of at most `depth` terms. */
static inline int64_t gemm_deepest_panel(int64_t depth) {
  return hr_min(hr_round_up(depth, DEPTH_UNIT), DEPTH_MAX);
}

/* Bytes of the panels of B that are packed at once. */
static inline int64_t gemm_panels_bytes(const gemm_job_t *job, int64_t depth, int64_t real_bytes) {
  int64_t parts = hr_dtype_is_complex(job->dtype) ? 2 : 1;
  int64_t column_bytes = gemm_deepest_panel(depth) * real_bytes, panel = PANEL_BYTES / real_bytes;
  int64_t group_bytes = hr_max(GROUP_BYTES, column_bytes * gemm_group_unit(job, panel));
  return hr_min(group_bytes, hr_round_up(column_bytes * hr_round_up(job->n * parts, panel), 64));
}

/* The enumerators of simd_width double in width from 16 bytes. */
int64_t gemm_vector_bytes(void) { return (int64_t)16 << simd_width(); }

gemm_panels_t gemm_panels_of(const gemm_job_t *job) {
  int64_t lanes = gemm_vector_bytes() / (int64_t)hr_dtype_bytes(hr_dtype_real(job->dtype));
  int64_t width = GEMM_TILE_VECTORS(gemm_vector_bytes()) * lanes;
  int64_t n = job->packed_n ? job->packed_n : job->n;
  int64_t k = job->packed_k ? job->packed_k : job->k;
  return (gemm_panels_t){width, hr_div_ceil(n, width), gemm_panel_depth(k), k};
}

#define TILES_FILE "ops/kernels/gemm/gemm_loops.h"
#include "ops/kernels/simd/simd_foreach_real.h"

typedef void (*part_fn)(const gemm_job_t *job, const gemm_range_t *range, int worker, void *space);

void gemm_pack(const gemm_job_t *job, void *to) {
  if (job->dtype == HR_F64)
    SIMD_FOREACH_REAL_OF(f64, pack_all)(job, to);
  else
    SIMD_FOREACH_REAL_OF(f32, pack_all)(job, to);
}

size_t gemm_packed_bytes(const gemm_job_t *job) {
  gemm_panels_t panels = gemm_panels_of(job);
  return (size_t)(panels.count * panels.width * job->k) * hr_dtype_bytes(job->dtype);
}

/* --- sizes --- */

static int64_t reals_per_element(const gemm_job_t *job) {
  return hr_dtype_is_complex(job->dtype) ? 2 : 1;
}
static int64_t real_bytes(const gemm_job_t *job) {
  return (int64_t)hr_dtype_bytes(hr_dtype_real(job->dtype));
}

/* Vectors of other widths than AVX2's were not measured with columns that are spread or aliased. */
static int64_t least_packed_columns(int64_t step_bytes) {
  if (gemm_vector_bytes() != 32) return PACK_A_COLUMNS;
  if (step_bytes % (2 * CONFLICT_BYTES) == 0) return PACK_ALIASED_COLUMNS;
  return step_bytes % CONFLICT_BYTES == 0 ? PACK_A_COLUMNS : PACK_SPREAD_COLUMNS;
}

/* True if A is packed. A kernel needs the copy if A comes from a callback or from lists of offsets,
 * or if the rows of a complex A are not dense. Otherwise the copy must pay:
 *
 *   A                 packed if
 *   dense in neither  more than one panel of B uses the copy
 *   dense columns     least_packed_columns use the copy, and columns are longer than cache lines,
 *                     of each of which a tile would read a part
 *   dense rows        never: those of a tile fit into the cache even if they share its sets */
static bool packs_a(const gemm_job_t *job, int64_t columns) {
  if (job->fill || job->a_rows || (reals_per_element(job) == 2 && job->a_col != 1)) return true;
  int64_t stride = job->a_col == 1 ? job->a_row : job->a_col;
  if (job->a_col != 1 && job->a_row != 1) return columns > PANEL_BYTES / real_bytes(job);
  int64_t step_bytes = stride * reals_per_element(job) * real_bytes(job);
  return job->a_col != 1 && columns >= least_packed_columns(step_bytes) &&
         step_bytes >= COLUMN_BYTES;
}

static gemm_range_t full_range(const gemm_job_t *job) {
  int64_t parts = reals_per_element(job);
  return (gemm_range_t){.rows = job->m,
                        .columns = job->n * parts,
                        .depth = job->k * parts,
                        .packed = packs_a(job, job->n * parts)};
}

/* The size suffices for products of fewer rows, columns or terms, too. Parts of fewer terms may
 * have blocks of more rows, and sums of fewer terms may have deeper panels. */
size_t gemm_space_bytes(const gemm_job_t *job) {
  int64_t bytes = real_bytes(job), terms = job->k * reals_per_element(job);
  int64_t unit = gemm_tile_rows(), rows = hr_round_up(job->m, unit);
  int64_t block = hr_min(BLOCK_BYTES, rows * gemm_deepest_panel(terms) * bytes);
  block += hr_min(gemm_block_rows(1, bytes), rows) / unit *
           64; /* a vector of padding after each panel */
  bool packed = packs_a(job, job->n * reals_per_element(job));
  return (size_t)(gemm_panels_bytes(job, terms, bytes) + (packed ? hr_round_up(block, 64) : 0));
}

void gemm_run_serial(const gemm_job_t *job, int worker, void *space) {
  gemm_range_t range = full_range(job);
  SIMD_FOREACH_REAL(part, real_bytes(job) == 8)(job, &range, worker, space);
}

/* --- partition --- */

/* Cost of the slowest worker in multiply-adds:
 *   1    each product
 *   8    each element of B that is packed
 *   4    each element of A that is packed, or 24 if `fill` produces A
 *   16   each element of the result, for adding partial sums, if k is divided */
static double partition_cost(const gemm_job_t *job, int64_t row_parts, int64_t col_parts,
                             int64_t depth_parts) {
  int64_t parts = reals_per_element(job);
  int64_t panel = PANEL_BYTES / real_bytes(job);
  if (col_parts > 1) panel = gemm_group_unit(job, panel);
  int64_t unit = gemm_tile_rows();
  double rows = (double)(hr_div_ceil(hr_div_ceil(job->m, unit), row_parts) * unit);
  double columns = (double)(hr_div_ceil(hr_div_ceil(job->n * parts, panel), col_parts) * panel);
  double depth = (double)hr_div_ceil(job->k * parts, depth_parts);
  double sums = depth_parts > 1 ? 16 * (double)job->m * (double)(job->n * parts) : 0;
  double packing = (job->fill ? 24 : 4) * rows;
  if (!job->packed_b) packing += 8 * columns;
  return rows * columns * depth + depth * packing + sums;
}

static gemm_partition_t make_partition(const gemm_job_t *job, int64_t row_parts, int64_t col_parts,
                                       int64_t depth_parts) {
  int64_t panel = PANEL_BYTES / real_bytes(job) / reals_per_element(job);
  panel = gemm_group_unit(job, panel);
  int64_t unit = gemm_tile_rows();
  gemm_partition_t partition = {
      .row_unit = hr_div_ceil(hr_div_ceil(job->m, unit), row_parts) * unit,
      .col_unit = hr_div_ceil(hr_div_ceil(job->n, panel), col_parts) * panel,
      .depth_unit = hr_div_ceil(job->k, depth_parts),
      .cost = partition_cost(job, row_parts, col_parts, depth_parts)};
  if (depth_parts > 1) partition.depth_unit = hr_div_ceil(partition.depth_unit, 16) * 16;
  partition.row_parts = hr_div_ceil(job->m, partition.row_unit);
  partition.col_parts = hr_div_ceil(job->n, partition.col_unit);
  partition.depth_parts = hr_div_ceil(job->k, partition.depth_unit);
  return partition;
}

static bool can_split_k(const gemm_job_t *job) {
  return !job->fill && !job->packed_b && job->mode == GEMM_SET && !job->finish && !job->whole_depth;
}

static bool can_split_columns(const gemm_job_t *job) { return !job->finish || job->finish_unit; }

#define SPLIT_PRODUCTS 1e5 /* products up to which one worker is as fast */
#define TASK_PRODUCTS 8e6  /* least products of a task, if a worker has several tasks */
#define IMBALANCE 0.1      /* idle time of workers at the end, as a fraction of one task */
#define SUM_WORKERS \
  8 /* number of workers assumed for the division of k, whatever their actual number */
#define SUM_TERMS 512 /* least terms of a partial sum */
#define SUM_GAIN \
  0.75 /* largest cost ratio at which k is divided: it must save a quarter of the time */

/* Most tasks of a product. A large product has several tasks per worker, so that other workers take
 * over the tasks of a worker that is late or interrupted. */
static int most_tasks(int workers, double products) {
  double chunks = products / (TASK_PRODUCTS * workers);
  if (workers == 1 || chunks < 2) return workers;
  return workers * (chunks < HR_WORKERS_CHUNKS ? (int)chunks : HR_WORKERS_CHUNKS);
}

/* The division of rows and columns of least cost for a division of k into `depths` parts. */
static gemm_partition_t choose_blocks(const gemm_job_t *job, int workers, int64_t depths) {
  gemm_partition_t best = make_partition(job, 1, 1, depths);
  double products = (double)job->m * (double)job->n * (double)job->k * reals_per_element(job);
  best.cost *= (double)hr_div_ceil(depths, workers) + IMBALANCE;
  if (products < SPLIT_PRODUCTS) return best;
  int most = most_tasks(workers, products);
  for (int rows = 1; rows <= most; rows++)
    for (int columns = 1; columns * rows <= most; columns++) {
      double rounds = (double)hr_div_ceil(rows * columns * depths, workers);
      double cost = (rounds + IMBALANCE) * partition_cost(job, rows, columns, depths);
      if (cost >= 0.98 * best.cost || (columns > 1 && !can_split_columns(job))) continue;
      best = make_partition(job, rows, columns, depths);
      best.cost = cost;
    }
  return best;
}

int64_t gemm_depth_parts(const gemm_job_t *job) {
  if (!can_split_k(job) || job->k < 2 * SUM_TERMS) return 1;
  double whole = choose_blocks(job, SUM_WORKERS, 1).cost;
  for (int64_t depths = 2; depths <= SUM_WORKERS && depths * SUM_TERMS <= job->k; depths *= 2)
    if (choose_blocks(job, SUM_WORKERS, depths).cost <= SUM_GAIN * whole) return depths;
  return 1;
}

gemm_partition_t gemm_partition_choose(const gemm_job_t *job, int workers) {
  return choose_blocks(job, workers, gemm_depth_parts(job));
}

int64_t gemm_finish_unit(const gemm_job_t *job, int workers, double cost) {
  gemm_job_t finished = *job;
  for (int panels = UNIT_PANELS; panels > 0; panels /= 2) {
    finished.finish_unit = panels * gemm_panels_of(job).width;
    if (gemm_partition_choose(&finished, workers).cost <= cost) return finished.finish_unit;
  }
  return 0;
}

static size_t part_space_bytes(const gemm_job_t *job, const gemm_partition_t *partition) {
  gemm_job_t part = *job;
  part.m = hr_min(job->m, partition->row_unit);
  part.k = hr_min(job->k, partition->depth_unit);
  return gemm_space_bytes(&part);
}

static size_t partial_sum_bytes(const gemm_job_t *job) {
  return ((size_t)(job->m * job->n) * hr_dtype_bytes(job->dtype) + 63) / 64 * 64;
}

size_t gemm_scratch_bytes(const gemm_job_t *job, const gemm_partition_t *partition, int workers) {
  return part_space_bytes(job, partition) * (size_t)workers +
         partial_sum_bytes(job) * (size_t)(partition->depth_parts - 1);
}

typedef struct gemm_call {
  const gemm_job_t *job;
  const gemm_partition_t *partition;
  part_fn part;
  char *space; /* packed operands, one area per worker */
  char *sums;  /* partial sums of the parts of k after the first */
  size_t space_bytes;
} gemm_call_t;

/* Runs tasks [begin, end). Parts of k after the first write partial sums to scratch memory. */
static void run_parts(void *context, int64_t begin, int64_t end, int worker) {
  const gemm_call_t *call = context;
  const gemm_partition_t *partition = call->partition;
  for (int64_t task = begin; task < end; task++) {
    gemm_job_t job = *call->job;
    int64_t depth = task % partition->depth_parts;
    int64_t block = task / partition->depth_parts;
    int64_t parts = reals_per_element(&job);
    int64_t row = block % partition->row_parts * partition->row_unit;
    int64_t column = block / partition->row_parts * partition->col_unit;
    int64_t first = depth * partition->depth_unit;
    gemm_range_t range = {.row = row,
                          .rows = hr_min(partition->row_unit, job.m - row),
                          .column = column * parts,
                          .columns = hr_min(partition->col_unit, job.n - column) * parts,
                          .first = first * parts,
                          .depth = hr_min(partition->depth_unit, job.k - first) * parts};
    range.packed = packs_a(&job, range.columns);
    if (depth > 0) {
      job.mode = GEMM_SET;
      job.c = call->sums + (size_t)(depth - 1) * partial_sum_bytes(&job);
      job.c_row = job.n;
    }
    call->part(&job, &range, worker, call->space + (size_t)worker * call->space_bytes);
  }
}

static void add_rows_f32(float *c, const float *sum, int64_t count, bool subtract) {
  for (int64_t i = 0; i < count; i++) c[i] += subtract ? -sum[i] : sum[i];
}
static void add_rows_f64(double *c, const double *sum, int64_t count, bool subtract) {
  for (int64_t i = 0; i < count; i++) c[i] += subtract ? -sum[i] : sum[i];
}

static void add_partial_sums(const gemm_call_t *call) {
  const gemm_job_t *job = call->job;
  int64_t count = job->n * reals_per_element(job);
  int64_t bytes = real_bytes(job);
  for (int64_t d = 1; d < call->partition->depth_parts; d++)
    for (int64_t i = 0; i < job->m; i++) {
      char *c = (char *)job->c + i * job->c_row * reals_per_element(job) * bytes;
      const char *sum = call->sums + (size_t)(d - 1) * partial_sum_bytes(job) + i * count * bytes;
      if (bytes == 4)
        add_rows_f32((float *)c, (const float *)sum, count, job->mode == GEMM_SUBTRACT);
      else
        add_rows_f64((double *)c, (const double *)sum, count, job->mode == GEMM_SUBTRACT);
    }
}

void gemm_run(hr_workers_t *workers, const gemm_job_t *job, const gemm_partition_t *partition,
              void *scratch) {
  gemm_call_t call = {job,     partition, SIMD_FOREACH_REAL(part, real_bytes(job) == 8),
                      scratch, NULL,      part_space_bytes(job, partition)};
  call.sums = call.space + call.space_bytes * (size_t)hr_workers_count(workers);
  int64_t tasks = partition->row_parts * partition->col_parts * partition->depth_parts;
  if (tasks > 1)
    hr_workers_for(workers, tasks, 1, run_parts, &call);
  else
    run_parts(&call, 0, 1, 0);
  add_partial_sums(&call);
}
