/* Products of matrices of f32, f64, c64 and c128 by built-in kernels, blocked for the caches: what
 * dot, convolution and the factorisations share. A complex product is a real one (see matmul.h): of
 * the left matrix every element is two reals of a row, of the right one two rows of two.
 *
 *   tile     8 rows by 2 vectors of columns, or fewer, in registers
 *   strip    2 vectors of columns of b, GEMM_DEPTH rows of it, packed: stays in the innermost cache
 *   block    some rows of a, GEMM_DEPTH columns of it: stays in the next cache while all strips go
 * past
 *
 * Parts of the result are independent of each other, and every worker packs what it needs. Thread:
 * any. */
#ifndef HLO_OPS_GEMM_H
#define HLO_OPS_GEMM_H

#include "base/dtype.h"
#include "base/workers.h"

typedef enum gemm_mode { GEMM_SET, GEMM_ADD, GEMM_SUBTRACT } gemm_mode_t;

/* c = a b, or c += a b, or c -= a b. Sizes and steps in elements; steps may be negative. */
typedef struct gemm_job {
  hr_dtype_t dtype;
  gemm_mode_t mode;
  int64_t m, n, k;
  const void *a;
  int64_t a_row, a_col;
  /* If not NULL, makes the left matrix instead of reading `a`: rows x count reals from (row,
   * first), row-major. `worker` as of gemm_run. */
  void (*fill)(const void *context, int worker, int64_t row, int64_t rows, int64_t first,
               int64_t count, void *to);
  const void *context;
  const void *b;
  int64_t b_row, b_col;
  /* Operands whose rows or columns have no one step: where each row and each column starts. NULL:
   * by steps. */
  const int64_t *a_rows, *a_cols, *b_rows, *b_cols;
  /* If not NULL, what gemm_pack made of b, or the caller in its place: b is not read then. Of real
   * numbers only. */
  const void *packed_b;
  void *c;
  int64_t c_row; /* columns of c are dense */
  /* If not NULL, called once for each part of c, as soon as it is final: columns from a multiple of
   * `finish_unit` on, to another or to the end; finish_unit 0: whole rows. Of real numbers only. */
  void (*finish)(const void *context, int worker, int64_t row, int64_t rows, int64_t column,
                 int64_t columns);
  const void *finish_context;
  int64_t finish_unit;
} gemm_job_t;

/* How a product is shared out: rows, columns and, where those are too few, terms of the sums. */
typedef struct gemm_partition {
  int64_t row_unit, col_unit, depth_unit;
  int64_t row_parts, col_parts, depth_parts;
  double cost; /* what the slowest worker does, in products */
} gemm_partition_t;

/* Size of the vectors that the kernels use on this processor. */
int64_t gemm_vector_bytes(void);

static inline bool gemm_has_type(hr_dtype_t dtype) {
  return dtype == HR_F32 || dtype == HR_F64 || dtype == HR_C64 || dtype == HR_C128;
}

/* Only sizes and type of the job count, and whether it has `fill` and `finish`. */
gemm_partition_t gemm_partition_choose(const gemm_job_t *job, int workers);
/* Scratch memory of gemm_run: undefined before and after; aligned to 64 bytes. */
size_t gemm_scratch_bytes(const gemm_job_t *job, const gemm_partition_t *partition, int workers);
/* workers: at most as many as scratch memory is for; may be NULL. */
void gemm_run(hr_workers_t *workers, const gemm_job_t *job, const gemm_partition_t *partition,
              void *scratch);

/* The right matrix, packed once for many products: strips of columns, side by side, of as many
 * terms as fit, then of the next terms. Sizes, type and b of the job count. */
size_t gemm_packed_bytes(const gemm_job_t *job);
void gemm_pack(const gemm_job_t *job, void *to);
/* Offset of element (row, column) in packed B, for callers that pack it themselves: its neighbours
 * as far as `lanes` columns, a vector's, follow it. */
typedef struct gemm_panels {
  int64_t width, count, depth,
      k; /* columns of a strip; strips; terms of each but the last; of all */
} gemm_panels_t;
gemm_panels_t gemm_panels_of(const gemm_job_t *job);
static inline int64_t gemm_packed_at(const gemm_panels_t *panels, int64_t row, int64_t column) {
  int64_t first = row / panels->depth * panels->depth;
  int64_t panel = column / panels->width;
  int64_t depth = panels->k - first < panels->depth ? panels->k - first : panels->depth;
  return (first * panels->count + panel * depth + row - first) * panels->width +
         column % panels->width;
}

/* The largest finish_unit, of a job that has `finish`, with which sharing out costs at most `cost`,
 * as gemm_partition_t has it; 0: none. */
int64_t gemm_finish_unit(const gemm_job_t *job, int workers, double cost);

/* The whole product on one worker, which is told to `fill`, and its scratch memory. */
size_t gemm_space_bytes(const gemm_job_t *job);
void gemm_run_serial(const gemm_job_t *job, int worker, void *space);

#endif
