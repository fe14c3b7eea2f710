/* Blocked matrix products on every kernel of this machine: sizes, few rows, division into tasks. */
#include "ops/kernels/gemm/gemm.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/kernels/linalg/lu.h"
#include "tests/lib/unit.h"

static const hr_dtype_t types[] = {HR_F32, HR_F64, HR_C64, HR_C128};

/* Whole numbers, which every order of summing gives the same sums of. */
static double complex get(hr_dtype_t dtype, const void *data, int64_t i) {
  switch (dtype) {
    case HR_F32:
      return ((const float *)data)[i];
    case HR_F64:
      return ((const double *)data)[i];
    case HR_C64:
      return ((const float complex *)data)[i];
    default:
      return ((const double complex *)data)[i];
  }
}

static void set(hr_dtype_t dtype, void *data, int64_t i, double complex value) {
  switch (dtype) {
    case HR_F32:
      ((float *)data)[i] = (float)creal(value);
      break;
    case HR_F64:
      ((double *)data)[i] = creal(value);
      break;
    case HR_C64:
      ((float complex *)data)[i] = (float complex)value;
      break;
    default:
      ((double complex *)data)[i] = value;
  }
}

static void *numbers(hr_dtype_t dtype, int64_t count, unsigned seed) {
  void *data = aligned_alloc(64, ((size_t)count * hr_dtype_bytes(dtype) + 63) / 64 * 64);
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    set(dtype, data, i, (int)(seed >> 24) % 7 - 3 + I * ((int)(seed >> 16 & 255) % 5 - 2));
  }
  return data;
}

/* The left matrix as a function. */
typedef struct source {
  const gemm_job_t *job;
} source_t;

static void fill(const void *context, int worker, int64_t row, int64_t rows, int64_t first,
                 int64_t count, void *to) {
  const gemm_job_t *job = ((const source_t *)context)->job;
  bool is_complex = hr_dtype_is_complex(job->dtype);
  hr_dtype_t real = hr_dtype_real(job->dtype);
  (void)worker;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t p = 0; p < count; p++) {
      int64_t term = is_complex ? (first + p) / 2 : first + p;
      double complex a = get(job->dtype, job->a, (row + i) * job->a_row + term * job->a_col);
      set(real, to, i * count + p, is_complex && (first + p) % 2 ? cimag(a) : creal(a));
    }
}

static int count_wrong(const gemm_job_t *job, const void *before) {
  int wrong = 0;
  for (int64_t i = 0; i < job->m; i++)
    for (int64_t j = 0; j < job->n; j++) {
      double complex sum = 0, old = get(job->dtype, before, i * job->c_row + j);
      for (int64_t p = 0; p < job->k; p++)
        sum += get(job->dtype, job->a, i * job->a_row + p * job->a_col) *
               get(job->dtype, job->b, p * job->b_row + j * job->b_col);
      if (job->mode == GEMM_ADD) sum = old + sum;
      if (job->mode == GEMM_SUBTRACT) sum = old - sum;
      wrong += get(job->dtype, job->c, i * job->c_row + j) != sum;
    }
  return wrong;
}

/* form: how a and b lie, two bits each, whether `fill` makes a, and the mode. */
static void check(hr_workers_t *workers, hr_dtype_t dtype, int64_t m, int64_t n, int64_t k,
                  int form) {
  bool a_transposed = form & 1, b_transposed = form & 2, apart = form & 4, fills = form & 8;
  int64_t gap = apart ? 2 : 1, c_row = n + 3;
  gemm_job_t job = {
      .dtype = dtype, .m = m, .n = n, .k = k, .c_row = c_row, .mode = (gemm_mode_t)(form / 16 % 3)};
  job.a_row = a_transposed ? gap : k * gap;
  job.a_col = a_transposed ? m * gap : gap;
  job.b_row = b_transposed ? gap : n * gap;
  job.b_col = b_transposed ? k * gap : gap;
  void *a = numbers(dtype, m * k * gap, 1), *b = numbers(dtype, k * n * gap, 2);
  void *before = numbers(dtype, m * c_row, 3), *c = numbers(dtype, m * c_row, 3);
  job.a = a;
  job.b = b;
  job.c = c;
  gemm_job_t given = job;
  source_t source = {&given};
  if (fills) job.fill = fill, job.context = &source, job.a = NULL;
  gemm_partition_t partition = gemm_partition_choose(&job, hr_workers_count(workers));
  size_t scratch_bytes = gemm_scratch_bytes(&job, &partition, hr_workers_count(workers));
  char *scratch = aligned_alloc(64, (scratch_bytes + 127) / 64 * 64);
  memset(scratch + scratch_bytes, 0x5a, 64);
  gemm_run(workers, &job, &partition, scratch);
  for (int i = 0; i < 64; i++) CU_ASSERT_EQUAL(scratch[scratch_bytes + (size_t)i], 0x5a);
  int wrong = count_wrong(&given, before);
  if (wrong)
    printf("    %s %ldx%ldx%ld, form %d: %d wrong\n", hr_dtype_name(dtype), (long)m, (long)n,
           (long)k, form, wrong);
  CU_ASSERT_EQUAL(wrong, 0);
  free(a);
  free(b);
  free(c);
  free(before);
  free(scratch);
}

static void products(void) {
  static const int64_t sizes[][3] = {{1, 1, 1},     {8, 32, 16},  {13, 45, 300}, {70, 33, 257},
                                     {300, 40, 70}, {40, 300, 5}, {5, 7, 3000},  {9, 1100, 20},
                                     {67, 66, 520}, {520, 300, 8}};
  for (int count = 1; count <= 3; count++) {
    hr_workers_t *workers;
    CU_ASSERT_PTR_NULL_FATAL(hr_workers_create(&(hr_workers_options_t){.count = count}, &workers));
    for (int s = 0; s < 10; s++)
      for (int i = 0; i < 12; i++)
        check(workers, types[i % 4], sizes[s][0], sizes[s][1], sizes[s][2],
              (s * 12 + i * 5 + count) % 48);
    hr_workers_destroy(workers);
  }
}

static void large_blocks(void) {
  for (int t = 0; t < 4; t++) check(NULL, types[t], t & 1 ? 280 : 530, 270, 700, t * 5 + 16);
}

/* Few rows, and columns that fill vectors of every width or do not: B is read in place, or packed.
 * Columns of either matrix are dense. Half a vector of columns and fewer pair terms or rows. */
static void few_rows(void) {
  static const int64_t rows[] = {1, 7, 8, 9, 33, 64, 128, 136};
  static const int64_t columns[] = {64, 80, 256, 150, 40, 20, 48, 7, 29, 81};
  static const int64_t terms[] = {3, 64, 400};
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 10; j++)
      for (int t = 0; t < 8; t++)
        check(NULL, types[t % 4], rows[i], columns[j], terms[(i + j) % 3],
              (i + j + t) % 6 * 8 + t / 4);
}

/* Computes rows [row, row + rows) of an f32 product with dense rows. */
static void some_rows(const gemm_job_t *job, int64_t row, int64_t rows) {
  gemm_job_t part = *job;
  part.m = rows;
  part.a = (const float *)job->a + row * job->a_row;
  part.c = (float *)job->c + row * job->c_row;
  char *space = aligned_alloc(64, (gemm_space_bytes(&part) + 63) / 64 * 64);
  gemm_run_serial(&part, 0, space);
  free(space);
}

/* Columns that take half of the last vector have the same bits however rows are divided, though the
 * tiles pair their terms. An infinity in the last term, which has no partner, stays one. */
static void paired_terms(void) {
  enum { ROWS = 21, COLUMNS = 40, TERMS = 33 };
  float a[ROWS * TERMS], b[TERMS * COLUMNS], whole[ROWS * COLUMNS], parts[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * TERMS; i++) a[i] = 1.0f / (float)(i % 97 + 3);
  for (int i = 0; i < TERMS * COLUMNS; i++) b[i] = 1.0f / (float)(i % 89 + 5);
  a[ROWS / 2 * TERMS + TERMS - 1] = INFINITY;
  gemm_job_t job = {.dtype = HR_F32, .m = ROWS, .n = COLUMNS, .k = TERMS, .a = a, .b = b};
  job.a_col = job.b_col = 1;
  job.a_row = TERMS;
  job.b_row = job.c_row = COLUMNS;
  job.c = whole;
  some_rows(&job, 0, ROWS);
  for (int j = 0; j < COLUMNS; j++) CU_ASSERT_EQUAL(whole[ROWS / 2 * COLUMNS + j], INFINITY);
  job.c = parts;
  for (int step = 1; step <= 9; step += 4) {
    memset(parts, 0, sizeof parts);
    for (int row = 0; row < ROWS; row += step)
      some_rows(&job, row, row + step < ROWS ? step : ROWS - row);
    CU_ASSERT_EQUAL(memcmp(parts, whole, sizeof whole), 0);
  }
}

static int64_t count_tasks(int64_t size, int workers) {
  gemm_job_t job = {.dtype = HR_F32, .m = size, .n = size, .k = size, .a_row = size, .a_col = 1};
  job.b_row = job.c_row = size;
  job.b_col = 1;
  gemm_partition_t partition = gemm_partition_choose(&job, workers);
  return partition.row_parts * partition.col_parts * partition.depth_parts;
}

/* Of a large product a worker that is slow leaves some tasks to others; of a small one each worker
 * has one, and one worker does all at once. */
static void tasks(void) {
  CU_ASSERT_TRUE(count_tasks(1024, 2) >= 2 * 2);
  CU_ASSERT_TRUE(count_tasks(1024, 2) <= 2 * HR_WORKERS_CHUNKS);
  CU_ASSERT_EQUAL(count_tasks(192, 2), 2);
  CU_ASSERT_EQUAL(count_tasks(1024, 1), 1);
}

/* Space for some terms is enough for fewer, whose panels may be deeper. */
static void fewer_terms(void) {
  static const int64_t terms[][2] = {{330, 320}, {400, 384}, {648, 640}};
  enum { ROWS = 16, COLUMNS = 300, STRIDE = 300 };
  for (int i = 0; i < 3; i++) {
    int64_t most = terms[i][0];
    gemm_job_t job = {.dtype = HR_F32, .m = ROWS, .n = COLUMNS, .k = most, .c_row = COLUMNS};
    job.a_row = job.b_col = 1;
    job.a_col = STRIDE;
    job.b_row = COLUMNS;
    void *a = numbers(HR_F32, most * STRIDE, 1), *b = numbers(HR_F32, most * COLUMNS, 2);
    void *c = numbers(HR_F32, ROWS * COLUMNS, 3);
    size_t bytes = gemm_space_bytes(&job);
    char *space = aligned_alloc(64, (bytes + 127) / 64 * 64);
    memset(space + bytes, 0x5a, 64);
    job.a = a;
    job.b = b;
    job.c = c;
    job.k = terms[i][1];
    gemm_run_serial(&job, 0, space);
    for (int j = 0; j < 64; j++) CU_ASSERT_EQUAL(space[bytes + (size_t)j], 0x5a);
    CU_ASSERT_EQUAL(count_wrong(&job, c), 0);
    free(a);
    free(b);
    free(c);
    free(space);
  }
}

static void no_pivot(void) {
  double a[9] = {0, 2, 1, 0, 1, 1, 0, 4, 2};
  int32_t pivots[3];
  lu_matrix_t matrix = {HR_F64, 3, 3, a, 3, pivots};
  char space[4096] __attribute__((aligned(64)));
  CU_ASSERT_TRUE_FATAL(lu_space_bytes(HR_F64, 3, 3) <= sizeof space);
  CU_ASSERT_EQUAL(lu_factor(NULL, &matrix, space, 0), 1);
  CU_ASSERT_EQUAL(pivots[0], 1);
  CU_ASSERT_EQUAL(pivots[1], 3);
}

/* Largest difference of P A and L U. */
static double factor_error(const lu_matrix_t *lu, double *a) {
  const double *f = lu->data;
  double error = 0;
  for (int64_t i = 0; i < lu->m && i < lu->n; i++)
    for (int64_t j = 0; j < lu->n; j++) {
      double *swapped = &a[(lu->pivots[i] - 1) * lu->n + j], saved = a[i * lu->n + j];
      a[i * lu->n + j] = *swapped;
      *swapped = saved;
    }
  for (int64_t i = 0; i < lu->m; i++)
    for (int64_t j = 0; j < lu->n; j++) {
      double sum = i <= j ? f[i * lu->n + j] : 0;
      for (int64_t k = 0; k < i && k <= j; k++) sum += f[i * lu->n + k] * f[k * lu->n + j];
      error = fmax(error, fabs(sum - a[i * lu->n + j]));
    }
  return error;
}

/* The scratch memory of factorisations is that of a matrix of their size. */
static void factor_space(void) {
  const int64_t sizes[][2] = {{20, 20}, {17, 70}, {70, 17}, {200, 200}, {40, 500}, {500, 40}};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    int64_t m = sizes[s][0], n = sizes[s][1];
    double *a = numbers(HR_F64, m * n, 5), *f = numbers(HR_F64, m * n, 5);
    int32_t pivots[500];
    lu_matrix_t matrix = {HR_F64, m, n, f, n, pivots};
    size_t bytes = (lu_space_bytes(HR_F64, m, n) + 63) / 64 * 64;
    char *space = aligned_alloc(64, bytes + 64);
    memset(space + bytes, 0x5a, 64);
    CU_ASSERT_EQUAL(lu_factor(NULL, &matrix, space, bytes), 0);
    for (int j = 0; j < 64; j++) CU_ASSERT_EQUAL(space[bytes + (size_t)j], 0x5a);
    CU_ASSERT_TRUE(factor_error(&matrix, a) < 1e-10);
    free(a);
    free(f);
    free(space);
  }
  CU_ASSERT_TRUE(lu_space_bytes(HR_F64, 20, 20) < 20000);
}

CU_TestInfo suite_gemm[] = {{"products", products},
                            {"large blocks", large_blocks},
                            {"few rows", few_rows},
                            {"paired terms", paired_terms},
                            {"tasks", tasks},
                            {"space for fewer terms", fewer_terms},
                            {"a column without pivot", no_pivot},
                            {"space of factorisations", factor_space},
                            CU_TEST_INFO_NULL};
