/* Split-complex matrices: storage, conversion and the BLAS level 2 and 3 operations on them.
 *
 * A complex operation is up to four operations on real parts:
 *   (ar + i ai)(br + i bi) = (ar br - ai bi) + i (ar bi + ai br)
 * with signs changed for conjugated operands. Loops over rows come from split_matrix_tiles.h, one
 * set per vector width and real type; matrix products are gemm.h's. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("O3", "fp-contract=fast")
#endif
#include "ops/kernels/linalg/split_matrix.h"

#include <math.h>
#include <string.h>

#define TILES_FILE "ops/kernels/linalg/split_matrix_tiles.h"
#include "ops/kernels/simd/simd_foreach_real.h"

bool split_matrix_kind(hr_dtype_t dtype, split_matrix_kind_t *out) {
  if (!gemm_has_type(dtype)) return false;
  hr_dtype_t real = hr_dtype_real(dtype);
  *out = (split_matrix_kind_t){dtype, real, (int64_t)hr_dtype_bytes(real), dtype == real ? 1 : 2,
                               SIMD_FOREACH_REAL(loops, real == HR_F64)};
  return true;
}

/* A stride that is a multiple of 1024 bytes would map all rows to the same few sets of the L1
 * cache. */
int64_t split_matrix_stride(const split_matrix_kind_t *kind, int64_t columns) {
  int64_t stride = split_matrix_ceil(columns);
  return stride * kind->bytes % 1024 == 0 ? stride + SPLIT_MATRIX_UNIT : stride;
}

size_t split_matrix_bytes(const split_matrix_kind_t *kind, int64_t rows, int64_t columns) {
  return (size_t)(rows * split_matrix_stride(kind, columns) * kind->bytes * kind->parts);
}

split_matrix_t split_matrix_init(const split_matrix_kind_t *kind, int64_t rows, int64_t columns,
                                 void *memory, bool clear) {
  int64_t stride = split_matrix_stride(kind, columns);
  split_matrix_t a = {
      {memory, kind->parts == 2 ? (char *)memory + rows * stride * kind->bytes : NULL}, stride, 1};
  if (clear) memset(memory, 0, split_matrix_bytes(kind, rows, columns));
  return a;
}

/* --- conversion: in blocks that stay in the L1 cache on both sides --- */

#define SIDE 16 /* rows and columns of such a block */

/* A copy of rows x columns reals between arrays of any strides, in reals. */
typedef struct reals_copy {
  const char *from;
  int64_t from_row, from_col;
  char *to;
  int64_t to_row, to_col;
  int64_t rows, columns;
} reals_copy_t;

#define DEFINE_COPY(T)                                                \
  static void copy_##T(const reals_copy_t *copy) {                    \
    const T *from = (const T *)copy->from;                            \
    T *to = (T *)copy->to;                                            \
    for (int64_t i = 0; i < copy->rows; i += SIDE)                    \
      for (int64_t j = 0; j < copy->columns; j += SIDE)               \
        for (int64_t r = i; r < i + SIDE && r < copy->rows; r++)      \
          for (int64_t c = j; c < j + SIDE && c < copy->columns; c++) \
            to[r * copy->to_row + c * copy->to_col] =                 \
                from[r * copy->from_row + c * copy->from_col];        \
  }
DEFINE_COPY(float)
DEFINE_COPY(double)

static void copy_rows(const split_matrix_kind_t *kind, const reals_copy_t *copy) {
  for (int64_t i = 0; i < copy->rows; i++)
    memcpy(copy->to + i * copy->to_row * kind->bytes, copy->from + i * copy->from_row * kind->bytes,
           (size_t)(copy->columns * kind->bytes));
}

static void copy_reals(const split_matrix_kind_t *kind, const reals_copy_t *copy) {
  if (copy->from_col == 1 && copy->to_col == 1)
    copy_rows(kind, copy);
  else if (kind->bytes == 4)
    copy_float(copy);
  else
    copy_double(copy);
}

void split_matrix_load(const split_matrix_kind_t *kind, const void *from, int64_t stride,
                       int64_t rows, int64_t columns, split_matrix_t to) {
  for (int p = 0; p < kind->parts; p++)
    copy_reals(kind, &(reals_copy_t){.from = (const char *)from + p * kind->bytes,
                                     .from_row = stride * kind->parts,
                                     .from_col = kind->parts,
                                     .to = to.part[p],
                                     .to_row = to.row,
                                     .to_col = to.col,
                                     .rows = rows,
                                     .columns = columns});
}

void split_matrix_store(const split_matrix_kind_t *kind, split_matrix_t from, int64_t rows,
                        int64_t columns, void *to, int64_t stride) {
  for (int p = 0; p < kind->parts; p++)
    copy_reals(kind, &(reals_copy_t){.from = from.part[p],
                                     .from_row = from.row,
                                     .from_col = from.col,
                                     .to = (char *)to + p * kind->bytes,
                                     .to_row = stride * kind->parts,
                                     .to_col = kind->parts,
                                     .rows = rows,
                                     .columns = columns});
}

void split_matrix_copy(const split_matrix_kind_t *kind, split_matrix_t from, int64_t rows,
                       int64_t columns, split_matrix_t to) {
  for (int p = 0; p < kind->parts; p++)
    copy_reals(kind, &(reals_copy_t){.from = from.part[p],
                                     .from_row = from.row,
                                     .from_col = from.col,
                                     .to = to.part[p],
                                     .to_row = to.row,
                                     .to_col = to.col,
                                     .rows = rows,
                                     .columns = columns});
}

void split_matrix_clear(const split_matrix_kind_t *kind, split_matrix_t a, int64_t rows,
                        int64_t columns) {
  for (int p = 0; p < kind->parts; p++)
    for (int64_t i = 0; i < rows; i++)
      memset(a.part[p] + i * a.row * kind->bytes, 0, (size_t)(columns * kind->bytes));
}

#define DEFINE_LARGEST(T)                                  \
  static double largest_##T(const T *x, int64_t count) {   \
    T most = 0, none = 0;                                  \
    for (int64_t i = 0; i < count; i++) {                  \
      T size = x[i] < 0 ? -x[i] : x[i];                    \
      most = size > most ? size : most;                    \
      none += x[i] - x[i]; /* NaN if x[i] is not finite */ \
    }                                                      \
    return (double)most + (double)none;                    \
  }
DEFINE_LARGEST(float)
DEFINE_LARGEST(double)

double split_matrix_largest(const split_matrix_kind_t *kind, const void *reals, int64_t count,
                            double least) {
  double most = kind->bytes == 4 ? largest_float(reals, count) : largest_double(reals, count);
  if (most != most || least != least) return most + least; /* NaN propagates */
  return fmax(most, least);
}

double split_matrix_scale_factor(const split_matrix_kind_t *kind, double largest) {
  double low = kind->bytes == 4 ? 0x1p-50 : 0x1p-450;
  return !isnormal(largest) || (largest >= low && largest <= 1 / low)
             ? 1
             : exp2(-(double)ilogb(largest));
}

/* --- level 2: four loops over reals for complex kinds --- */

void split_gemv_t(const split_matrix_kind_t *kind, split_matrix_conj_t conj, int64_t rows,
                  split_matrix_t a, split_vector_t vector, split_matrix_t out) {
  int64_t first = split_matrix_floor(vector.begin);
  int64_t count = split_matrix_ceil(vector.end) - first;
  double a_sign = conj == SPLIT_MATRIX_CONJ_ROWS ? -1 : 1,
         x_sign = conj == SPLIT_MATRIX_CONJ_VECTOR ? -1 : 1;
  split_matrix_t x = split_matrix_at(kind, vector.row, 0, first);
  a = split_matrix_at(kind, a, 0, first);
  split_matrix_clear(kind, out, 1, rows);
  if (count <= 0) return;
  kind->loops->gemv_t(rows, count, a.part[0], a.row, x.part[0], 1, out.part[0]);
  if (kind->parts == 1) return;
  kind->loops->gemv_t(rows, count, a.part[1], a.row, x.part[1], -a_sign * x_sign, out.part[0]);
  kind->loops->gemv_t(rows, count, a.part[0], a.row, x.part[1], x_sign, out.part[1]);
  kind->loops->gemv_t(rows, count, a.part[1], a.row, x.part[0], a_sign, out.part[1]);
}

void split_gemv(const split_matrix_kind_t *kind, split_matrix_conj_t conj, int64_t rows,
                split_matrix_t a, split_matrix_t factors, double sign, split_vector_t vector) {
  int64_t first = split_matrix_floor(vector.begin);
  int64_t count = split_matrix_ceil(vector.end) - first;
  double a_sign = conj == SPLIT_MATRIX_CONJ_ROWS ? -sign : sign;
  split_matrix_t y = split_matrix_at(kind, vector.row, 0, first);
  a = split_matrix_at(kind, a, 0, first);
  if (count <= 0) return;
  kind->loops->gemv(rows, count, a.part[0], a.row, factors.part[0], sign, y.part[0]);
  if (kind->parts == 1) return;
  kind->loops->gemv(rows, count, a.part[1], a.row, factors.part[1], -a_sign, y.part[0]);
  kind->loops->gemv(rows, count, a.part[1], a.row, factors.part[0], a_sign, y.part[1]);
  kind->loops->gemv(rows, count, a.part[0], a.row, factors.part[1], sign, y.part[1]);
}

void split_ger(const split_matrix_kind_t *kind, int64_t rows, split_vector_t vector,
               split_matrix_t factors, double sign, split_matrix_t a) {
  int64_t first = split_matrix_floor(vector.begin);
  int64_t count = split_matrix_ceil(vector.end) - first;
  split_matrix_t x = split_matrix_at(kind, vector.row, 0, first);
  a = split_matrix_at(kind, a, 0, first);
  if (count <= 0) return;
  kind->loops->ger(rows, count, x.part[0], factors.part[0], sign, a.part[0], a.row);
  if (kind->parts == 1) return;
  kind->loops->ger(rows, count, x.part[1], factors.part[1], -sign, a.part[0], a.row);
  kind->loops->ger(rows, count, x.part[1], factors.part[0], sign, a.part[1], a.row);
  kind->loops->ger(rows, count, x.part[0], factors.part[1], sign, a.part[1], a.row);
}

void split_matrix_conj_column(const split_matrix_kind_t *kind, split_matrix_t rows, int64_t count,
                              int64_t column, split_matrix_t factors) {
  for (int64_t k = 0; k < count; k++)
    split_matrix_set(kind, factors, 0, k, conj(split_matrix_get(kind, rows, k, column)));
}

/* --- level 3 --- */

/* One of the real products of a complex one: c's part c from a's part a and b's part b. */
static void multiply_parts(const split_matrix_kind_t *kind, const split_matrix_product_t *p,
                           gemm_mode_t mode, int a, int b, int c, void *space) {
  gemm_job_t job = {.dtype = kind->real,
                    .mode = mode,
                    .m = p->m,
                    .n = p->n,
                    .k = p->k,
                    .a = p->a.part[a],
                    .a_row = p->a.row,
                    .a_col = p->a.col,
                    .b = p->b.part[b],
                    .b_row = p->b.row,
                    .b_col = p->b.col,
                    .c = p->c.part[c],
                    .c_row = p->c.row};
  gemm_run_serial(&job, 0, space);
}

/* Real parts first with the caller's mode; the imaginary part of a GEMM_SET product is zeroed
 * and then accumulated. */
void split_matrix_multiply(const split_matrix_kind_t *kind, const split_matrix_product_t *p,
                           void *space) {
  if (p->m <= 0 || p->n <= 0 || p->k <= 0) return;
  multiply_parts(kind, p, p->mode, 0, 0, 0, space);
  if (kind->parts == 1) return;
  gemm_mode_t more = p->mode == GEMM_SUBTRACT ? GEMM_SUBTRACT : GEMM_ADD;
  gemm_mode_t less = p->mode == GEMM_SUBTRACT ? GEMM_ADD : GEMM_SUBTRACT;
  multiply_parts(kind, p, p->conj_a == p->conj_b ? less : more, 1, 1, 0, space);
  if (p->mode == GEMM_SET)
    split_matrix_clear(kind, (split_matrix_t){{p->c.part[1], p->c.part[1]}, p->c.row, 1}, p->m,
                       p->n);
  multiply_parts(kind, p, p->conj_b ? less : more, 0, 1, 1, space);
  multiply_parts(kind, p, p->conj_a ? less : more, 1, 0, 1, space);
}

void split_matrix_rank_2k_update(const split_matrix_kind_t *kind,
                                 const split_matrix_update_t *update, void *space) {
  for (int i = 0; i < 2; i++) {
    split_matrix_product_t product = {GEMM_SUBTRACT,
                                      update->rows,
                                      update->columns,
                                      update->k,
                                      split_matrix_transposed(update->a[i]),
                                      update->b[i],
                                      update->c,
                                      .conj_b = true};
    split_matrix_multiply(kind, &product, space);
  }
}

size_t split_matrix_multiply_bytes(const split_matrix_kind_t *kind) {
  gemm_job_t largest = {
      .dtype = kind->real, .m = 1 << 20, .n = 1 << 20, .k = 1 << 20, .a_row = 1 << 20, .a_col = 1};
  return (gemm_space_bytes(&largest) + 63) / 64 * 64;
}
