#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("O3", "fp-contract=fast")
#endif
#include "ops/planes.h"

#include <math.h>
#include <string.h>

#define TILES_FILE "ops/planes_loops.h"
#include "ops/each_width.h"

bool planes_kind(hr_dtype_t dtype, planes_kind_t *out) {
  if (!gemm_has_type(dtype)) return false;
  hr_dtype_t real = hr_dtype_real(dtype);
  *out = (planes_kind_t){dtype, real, (int64_t)hr_dtype_bytes(real), dtype == real ? 1 : 2,
                         EACH_WIDTH(loops, real == HR_F64)};
  return true;
}

/* Rows that lie a power of two apart would share the same few lines of the cache. */
int64_t planes_step(const planes_kind_t *kind, int64_t columns) {
  int64_t step = planes_ceil(columns);
  return step * kind->bytes % 1024 == 0 ? step + PLANES_UNIT : step;
}

size_t planes_bytes(const planes_kind_t *kind, int64_t rows, int64_t columns) {
  return (size_t)(rows * planes_step(kind, columns) * kind->bytes * kind->parts);
}

planes_t planes_init(const planes_kind_t *kind, int64_t rows, int64_t columns, void *memory, bool clear) {
  int64_t step = planes_step(kind, columns);
  planes_t a = {{memory, kind->parts == 2 ? (char *)memory + rows * step * kind->bytes : NULL}, step, 1};
  if (clear) memset(memory, 0, planes_bytes(kind, rows, columns));
  return a;
}

static double get_real(const planes_kind_t *kind, const char *at) {
  return kind->bytes == 4 ? *(const float *)at : *(const double *)at;
}
static void set_real(const planes_kind_t *kind, char *at, double value) {
  if (kind->bytes == 4)
    *(float *)at = (float)value;
  else
    *(double *)at = value;
}

double complex planes_get(const planes_kind_t *kind, planes_t a, int64_t i, int64_t j) {
  planes_t at = planes_at(kind, a, i, j);
  double complex value = get_real(kind, at.part[0]);
  if (at.part[1]) __imag__ value = get_real(kind, at.part[1]);
  return value;
}

void planes_set(const planes_kind_t *kind, planes_t a, int64_t i, int64_t j, double complex value) {
  planes_t at = planes_at(kind, a, i, j);
  set_real(kind, at.part[0], creal(value));
  if (at.part[1]) set_real(kind, at.part[1], cimag(value));
}

/* --- to and from arrays: blocks that both sides have in the cache --- */

#define SIDE 16

#define DEFINE_COPY(T)                                                                                              \
  static void copy_##T(const T *from, int64_t from_row, int64_t from_col, int64_t rows, int64_t columns, T *to,     \
                       int64_t to_row, int64_t to_col) {                                                            \
    for (int64_t i = 0; i < rows; i += SIDE)                                                                        \
      for (int64_t j = 0; j < columns; j += SIDE)                                                                   \
        for (int64_t r = i; r < i + SIDE && r < rows; r++)                                                          \
          for (int64_t c = j; c < j + SIDE && c < columns; c++)                                                     \
            to[r * to_row + c * to_col] = from[r * from_row + c * from_col];                                        \
  }
DEFINE_COPY(float)
DEFINE_COPY(double)

static void copy_reals(const planes_kind_t *kind, const void *from, int64_t from_row, int64_t from_col, int64_t rows,
                       int64_t columns, void *to, int64_t to_row, int64_t to_col) {
  if (from_col == 1 && to_col == 1)
    for (int64_t i = 0; i < rows; i++)
      memcpy((char *)to + i * to_row * kind->bytes, (const char *)from + i * from_row * kind->bytes,
             (size_t)(columns * kind->bytes));
  else if (kind->bytes == 4)
    copy_float(from, from_row, from_col, rows, columns, to, to_row, to_col);
  else
    copy_double(from, from_row, from_col, rows, columns, to, to_row, to_col);
}

void planes_load(const planes_kind_t *kind, const void *from, int64_t step, int64_t rows, int64_t columns,
                 planes_t to) {
  for (int p = 0; p < kind->parts; p++)
    copy_reals(kind, (const char *)from + p * kind->bytes, step * kind->parts, kind->parts, rows, columns, to.part[p],
               to.row, to.col);
}

void planes_store(const planes_kind_t *kind, planes_t from, int64_t rows, int64_t columns, void *to, int64_t step) {
  for (int p = 0; p < kind->parts; p++)
    copy_reals(kind, from.part[p], from.row, from.col, rows, columns, (char *)to + p * kind->bytes, step * kind->parts,
               kind->parts);
}

void planes_copy(const planes_kind_t *kind, planes_t from, int64_t rows, int64_t columns, planes_t to) {
  for (int p = 0; p < kind->parts; p++)
    copy_reals(kind, from.part[p], from.row, from.col, rows, columns, to.part[p], to.row, to.col);
}

void planes_clear(const planes_kind_t *kind, planes_t a, int64_t rows, int64_t columns) {
  for (int p = 0; p < kind->parts; p++)
    for (int64_t i = 0; i < rows; i++)
      memset(a.part[p] + i * a.row * kind->bytes, 0, (size_t)(columns * kind->bytes));
}

#define DEFINE_LARGEST(T)                                                  \
  static double largest_##T(const T *x, int64_t count) {                  \
    T most = 0, none = 0;                                                 \
    for (int64_t i = 0; i < count; i++) {                                 \
      T size = x[i] < 0 ? -x[i] : x[i];                                   \
      most = size > most ? size : most;                                   \
      none += x[i] - x[i]; /* NaN for what is not finite */               \
    }                                                                     \
    return (double)most + (double)none;                                   \
  }
DEFINE_LARGEST(float)
DEFINE_LARGEST(double)

double planes_largest(const planes_kind_t *kind, const void *reals, int64_t count, double least) {
  double most = kind->bytes == 4 ? largest_float(reals, count) : largest_double(reals, count);
  return most < least ? least : most != most || least != least ? most + least : most;
}

double planes_safe_factor(const planes_kind_t *kind, double largest) {
  double low = kind->bytes == 4 ? 0x1p-50 : 0x1p-450;
  return !isnormal(largest) || (largest >= low && largest <= 1 / low) ? 1 : exp2(-(double)ilogb(largest));
}

/* --- vectors: a complex one is up to four loops over reals --- */

void planes_dots(const planes_kind_t *kind, planes_conj_t conj, int64_t rows, planes_t a, planes_t x, int64_t begin,
                 int64_t end, planes_t out) {
  int64_t first = planes_floor(begin), count = planes_ceil(end) - first;
  double a_sign = conj == PLANES_CONJ_ROWS ? -1 : 1, x_sign = conj == PLANES_CONJ_VECTOR ? -1 : 1;
  a = planes_at(kind, a, 0, first), x = planes_at(kind, x, 0, first);
  planes_clear(kind, out, 1, rows);
  if (count <= 0) return;
  kind->loops->dots(rows, count, a.part[0], a.row, x.part[0], 1, out.part[0]);
  if (kind->parts == 1) return;
  kind->loops->dots(rows, count, a.part[1], a.row, x.part[1], -a_sign * x_sign, out.part[0]);
  kind->loops->dots(rows, count, a.part[0], a.row, x.part[1], x_sign, out.part[1]);
  kind->loops->dots(rows, count, a.part[1], a.row, x.part[0], a_sign, out.part[1]);
}

void planes_add_rows(const planes_kind_t *kind, planes_conj_t conj, int64_t rows, planes_t a, planes_t factors,
                     double sign, planes_t y, int64_t begin, int64_t end) {
  int64_t first = planes_floor(begin), count = planes_ceil(end) - first;
  double a_sign = conj == PLANES_CONJ_ROWS ? -sign : sign;
  a = planes_at(kind, a, 0, first), y = planes_at(kind, y, 0, first);
  if (count <= 0) return;
  kind->loops->add_rows(rows, count, a.part[0], a.row, factors.part[0], sign, y.part[0]);
  if (kind->parts == 1) return;
  kind->loops->add_rows(rows, count, a.part[1], a.row, factors.part[1], -a_sign, y.part[0]);
  kind->loops->add_rows(rows, count, a.part[1], a.row, factors.part[0], a_sign, y.part[1]);
  kind->loops->add_rows(rows, count, a.part[0], a.row, factors.part[1], sign, y.part[1]);
}

void planes_spread(const planes_kind_t *kind, int64_t rows, planes_t x, planes_t factors, double sign, planes_t a,
                   int64_t begin, int64_t end) {
  int64_t first = planes_floor(begin), count = planes_ceil(end) - first;
  a = planes_at(kind, a, 0, first), x = planes_at(kind, x, 0, first);
  if (count <= 0) return;
  kind->loops->spread(rows, count, x.part[0], factors.part[0], sign, a.part[0], a.row);
  if (kind->parts == 1) return;
  kind->loops->spread(rows, count, x.part[1], factors.part[1], -sign, a.part[0], a.row);
  kind->loops->spread(rows, count, x.part[1], factors.part[0], sign, a.part[1], a.row);
  kind->loops->spread(rows, count, x.part[0], factors.part[1], sign, a.part[1], a.row);
}

/* --- products --- */

static void multiply_parts(const planes_kind_t *kind, const planes_product_t *p, gemm_mode_t mode, int a, int b, int c,
                           void *space) {
  gemm_job_t job = {.dtype = kind->real, .mode = mode, .m = p->m, .n = p->n, .k = p->k, .a = p->a.part[a],
                    .a_row = p->a.row, .a_col = p->a.col, .b = p->b.part[b], .b_row = p->b.row, .b_col = p->b.col,
                    .c = p->c.part[c], .c_row = p->c.row};
  gemm_run_alone(&job, 0, space);
}

void planes_multiply(const planes_kind_t *kind, const planes_product_t *p, void *space) {
  if (p->m <= 0 || p->n <= 0 || p->k <= 0) return;
  multiply_parts(kind, p, p->mode, 0, 0, 0, space);
  if (kind->parts == 1) return;
  gemm_mode_t more = p->mode == GEMM_SUBTRACT ? GEMM_SUBTRACT : GEMM_ADD;
  gemm_mode_t less = p->mode == GEMM_SUBTRACT ? GEMM_ADD : GEMM_SUBTRACT;
  multiply_parts(kind, p, p->conj_a == p->conj_b ? less : more, 1, 1, 0, space);
  if (p->mode == GEMM_SET) planes_clear(kind, (planes_t){{p->c.part[1], p->c.part[1]}, p->c.row, 1}, p->m, p->n);
  multiply_parts(kind, p, p->conj_b ? less : more, 0, 1, 1, space);
  multiply_parts(kind, p, p->conj_a ? less : more, 1, 0, 1, space);
}

size_t planes_multiply_bytes(const planes_kind_t *kind) {
  gemm_job_t largest = {.dtype = kind->real, .m = 1 << 20, .n = 1 << 20, .k = 1 << 20, .a_row = 1 << 20, .a_col = 1};
  return (gemm_space_bytes(&largest) + 63) / 64 * 64;
}
