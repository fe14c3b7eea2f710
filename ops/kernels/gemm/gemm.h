/* Matrix products C = A B of f32, f64, c64 and c128 by built-in kernels, blocked for the caches as
 * by Goto and van de Geijn (2008): shared by dot, convolution and the factorisations.
 *
 *   for each partition of C (and of k)                   one task of a worker
 *     for each block of A        rows x depth            packed or in place
 *       for each group of B      depth x some panels     packed, second-level cache
 *         for each row group of A (8 rows with AVX-512, else 6), for each panel of B
 *           a tile of C          8 x 3 vectors with AVX-512, else 6 x 2 or 3 x 3, in registers
 *             for each k: C[r][v] += A[r][k] * B[k][v]
 *
 * A complex product is a real one (see matmul.h): an element of A is two reals of a row, an element
 * of B a block of two rows by two columns. Parts of the result are independent, and every worker
 * packs its own operands. Sums run over ascending k, in depth blocks. If k is divided, the partial
 * sums are added in order. Where the last columns take at most half a vector and rows of A are
 * dense, sums of even and of odd k are separate until the end of a block. Results have the same
 * bits with any number of workers. Thread: any. */
#ifndef HLO_OPS_GEMM_H
#define HLO_OPS_GEMM_H

#include "base/dtype.h"
#include "base/workers.h"

typedef enum gemm_mode { GEMM_SET, GEMM_ADD, GEMM_SUBTRACT } gemm_mode_t;

/* The product c = a b, c += a b or c -= a b. Sizes and strides count elements; strides may be
 * negative. */
typedef struct gemm_job {
  hr_dtype_t dtype;
  gemm_mode_t mode;
  int64_t m, n, k;
  const void *a;
  int64_t a_row, a_col;
  /* Callback that produces A instead of reading `a`, or NULL: rows x count reals from (row, first),
   * row-major. `worker`: index of the calling worker in gemm_run. */
  void (*fill)(const void *context, int worker, int64_t row, int64_t rows, int64_t first,
               int64_t count, void *to);
  const void *context;
  const void *b;
  int64_t b_row, b_col;
  /* Offsets of each row and each column, for an operand without single strides, in elements; NULL:
   * the strides count. */
  const int64_t *a_rows, *a_cols, *b_rows, *b_cols;
  /* B as packed by gemm_pack or the caller, of a real type; `b` is not read then. NULL: `b` is
   * packed by each worker. */
  const void *packed_b;
  /* Columns and terms with which packed_b was packed, if they are more than those of the product,
   * which are then the first ones; 0: n and k. */
  int64_t packed_n, packed_k;
  void *c;
  int64_t c_row; /* row stride; columns of c are dense */
  /* Callback for each part of c as soon as the part is final, or NULL; of real types only. A part
   * begins at a multiple of finish_unit columns and ends at another one or at the last column.
   * finish_unit 0: parts are whole rows. */
  void (*finish)(const void *context, int worker, int64_t row, int64_t rows, int64_t column,
                 int64_t columns);
  const void *finish_context;
  int64_t finish_unit;
  bool whole_depth; /* k may not be divided */
} gemm_job_t;

/* Division of a product among workers: `row_parts` parts of `row_unit` rows, and so on for columns.
 * k is divided only if rows and columns give too few parts. */
typedef struct gemm_partition {
  int64_t row_unit, col_unit, depth_unit;
  int64_t row_parts, col_parts, depth_parts;
  double cost; /* multiply-adds of the slowest worker, including packing */
} gemm_partition_t;

/* Vectors in a row of a tile: 3 with the 32 registers of AVX-512, 2 with 16 registers. */
#define GEMM_TILE_VECTORS(vector_bytes) ((vector_bytes) > 32 ? 3 : 2)
/* Rows of a tile, and divisor of the rows of a block. */
#define GEMM_TILE_ROWS(vector_bytes) ((vector_bytes) > 32 ? 8 : 6)

/* Bytes of the vectors that the kernels use on this processor. */
int64_t gemm_vector_bytes(void);

static inline bool gemm_has_type(hr_dtype_t dtype) {
  return dtype == HR_F32 || dtype == HR_F64 || dtype == HR_C64 || dtype == HR_C128;
}

/* Number of parts into which gemm_run divides k. The number depends on sizes and type only, so that
 * sums have the same order with any number of workers. Reads the same members as
 * gemm_partition_choose. */
int64_t gemm_depth_parts(const gemm_job_t *job);
/* The partition of least cost for `workers` workers. Reads sizes and type of the job, `mode`,
 * `whole_depth` and finish_unit, and whether the job has `fill`, `finish` and `packed_b`. */
gemm_partition_t gemm_partition_choose(const gemm_job_t *job, int workers);
/* Bytes of the scratch memory of gemm_run. The memory is aligned to 64 bytes; its contents are
 * undefined before and after a run. */
size_t gemm_scratch_bytes(const gemm_job_t *job, const gemm_partition_t *partition, int workers);
/* Computes the product. workers: at most as many as were given to gemm_scratch_bytes; NULL: the
 * calling thread alone. */
void gemm_run(hr_workers_t *workers, const gemm_job_t *job, const gemm_partition_t *partition,
              void *scratch);

/* Packs B once for many products: the panels of all columns for the first depth block, then those
 * for the next one. Reads sizes, type and b of the job. */
size_t gemm_packed_bytes(const gemm_job_t *job);
void gemm_pack(const gemm_job_t *job, void *to);
/* Layout of packed B, for callers that pack it themselves. Element (row, column) is at
 * gemm_packed_at, and the following columns of the same vector follow it. */
typedef struct gemm_panels {
  int64_t width, count, depth, k; /* columns of a panel; panels; rows of a depth block; rows of B */
} gemm_panels_t;
gemm_panels_t gemm_panels_of(const gemm_job_t *job);
static inline int64_t gemm_packed_at(const gemm_panels_t *panels, int64_t row, int64_t column) {
  int64_t first = row / panels->depth * panels->depth;
  int64_t panel = column / panels->width;
  int64_t depth = panels->k - first < panels->depth ? panels->k - first : panels->depth;
  return (first * panels->count + panel * depth + row - first) * panels->width +
         column % panels->width;
}

/* The largest finish_unit with which the cheapest partition costs at most `cost`; 0: none does. The
 * job has `finish`. */
int64_t gemm_finish_unit(const gemm_job_t *job, int workers, double cost);

/* Computes the whole product on the calling worker, with k undivided; `space` has gemm_space_bytes
 * bytes. */
size_t gemm_space_bytes(const gemm_job_t *job);
void gemm_run_serial(const gemm_job_t *job, int worker, void *space);

#endif
