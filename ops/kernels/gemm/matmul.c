#include "ops/kernels/gemm/matmul.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/clones.h"
#include "base/fp_mode.h"

/* The product is blocked so that a BLOCK_K x BLOCK_N block of b stays in an outer cache and a
 * BLOCK_M x BLOCK_K block of a in an inner one. A panel of packed a has TILE_M rows, a panel of
 * packed b the columns of one tile. The innermost loop therefore reads consecutive addresses and
 * keeps a tile of c, TILE_M rows of two vectors, in registers:
 *
 *        k                       columns of a tile
 *   a: [ | ] x TILE_M    b: k  [ v0 | v1 ]       c tile += column of a * row of b
 */
#define TILE_M 6
#define SIMD_VECTOR_BYTES 32
#define TILE_BYTES (2 * SIMD_VECTOR_BYTES)
#define BLOCK_M 192
#define BLOCK_K 256
#define BLOCK_N 512

#define FOR_EACH_CPU HR_CLONES("avx2", "default")
#if HR_HAS_CLONES
#define VECTORISED FOR_EACH_CPU __attribute__((optimize("O3")))
#else
#define VECTORISED
#endif

struct matmul_space {
  void *a, *b, *filled;
};

hr_status_t matmul_space_new(hr_arena_t *scratch, hr_dtype_t real, int64_t m, int64_t n, int64_t k,
                             matmul_space_t **out_space) {
  size_t each = hr_dtype_bytes(real);
  /* The operands may be exchanged, so both blocks must hold either. */
  size_t rows = (size_t)hr_round_up(hr_min(m > n ? m : n, BLOCK_M), TILE_M);
  size_t depth = (size_t)hr_min(k, BLOCK_K);
  size_t columns = (size_t)hr_round_up(hr_min(m > n ? m : n, BLOCK_N), TILE_BYTES / (int64_t)each);
  matmul_space_t *space;
  HR_TRY(HR_NEW(scratch, &space));
  HR_TRY(hr_arena_alloc(scratch, rows * depth * each + HR_ALIGNMENT, &space->a));
  HR_TRY(hr_arena_alloc(scratch, columns * depth * each + HR_ALIGNMENT, &space->b));
  HR_TRY(hr_arena_alloc(scratch, rows * depth * each + HR_ALIGNMENT, &space->filled));
  *out_space = space;
  return NULL;
}

/* The functions of a product that depend on the type T. */
#define DEFINE_PRODUCT(NAME, T)                                                                   \
  enum { NAME##_lanes = SIMD_VECTOR_BYTES / sizeof(T), NAME##_width = TILE_BYTES / sizeof(T) };   \
  typedef T NAME##_vec_t __attribute__((vector_size(SIMD_VECTOR_BYTES)));                         \
                                                                                                  \
  FOR_EACH_CPU static void NAME##_tile(int64_t k, const T *a, const T *b, T *tile) {              \
    NAME##_vec_t c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0}, c20 = {0}, c21 = {0};                \
    NAME##_vec_t c30 = {0}, c31 = {0}, c40 = {0}, c41 = {0}, c50 = {0}, c51 = {0};                \
    for (; k > 0; k--, a += TILE_M, b += NAME##_width) {                                          \
      NAME##_vec_t b0 = *(const NAME##_vec_t *)b, b1 = *(const NAME##_vec_t *)(b + NAME##_lanes); \
      c00 += a[0] * b0, c01 += a[0] * b1, c10 += a[1] * b0, c11 += a[1] * b1;                     \
      c20 += a[2] * b0, c21 += a[2] * b1, c30 += a[3] * b0, c31 += a[3] * b1;                     \
      c40 += a[4] * b0, c41 += a[4] * b1, c50 += a[5] * b0, c51 += a[5] * b1;                     \
    }                                                                                             \
    NAME##_vec_t *to = (NAME##_vec_t *)tile;                                                      \
    to[0] = c00, to[1] = c01, to[2] = c10, to[3] = c11, to[4] = c20, to[5] = c21;                 \
    to[6] = c30, to[7] = c31, to[8] = c40, to[9] = c41, to[10] = c50, to[11] = c51;               \
  }                                                                                               \
                                                                                                  \
  /* Packs panels of `width` lines of the operand, each [count][width]; absent lines are 0. */    \
  static void NAME##_pack(const T *from, int64_t line, int64_t stride, int64_t lines,             \
                          int64_t count, int64_t width, T *to) {                                  \
    for (int64_t first = 0; first < lines; first += width, to += width * count) {                 \
      int64_t live = hr_min(width, lines - first);                                                \
      const T *start = from + first * line;                                                       \
      if (live < width) memset(to, 0, (size_t)(width * count) * sizeof(T));                       \
      if (line == 1) {                                                                            \
        for (int64_t p = 0; p < count; p++)                                                       \
          for (int64_t i = 0; i < live; i++) to[p * width + i] = start[p * stride + i];           \
      } else {                                                                                    \
        for (int64_t i = 0; i < live; i++)                                                        \
          for (int64_t p = 0; p < count; p++) to[p * width + i] = start[i * line + p * stride];   \
      }                                                                                           \
    }                                                                                             \
  }                                                                                               \
                                                                                                  \
  static void NAME##_add_tile(const T *tile, int64_t rows, int64_t columns, bool add, T *c,       \
                              int64_t c_row, int64_t c_col) {                                     \
    for (int64_t i = 0; i < rows; i++, c += c_row, tile += NAME##_width) {                        \
      if (add)                                                                                    \
        for (int64_t j = 0; j < columns; j++) c[j * c_col] += tile[j];                            \
      else                                                                                        \
        for (int64_t j = 0; j < columns; j++) c[j * c_col] = tile[j];                             \
    }                                                                                             \
  }                                                                                               \
                                                                                                  \
  static void NAME##_block(const T *a, const T *b, int64_t m, int64_t n, int64_t k, bool add,     \
                           T *c, int64_t c_row, int64_t c_col) {                                  \
    T tile[TILE_M * NAME##_width] __attribute__((aligned(SIMD_VECTOR_BYTES)));                    \
    for (int64_t j = 0; j < n; j += NAME##_width)                                                 \
      for (int64_t i = 0; i < m; i += TILE_M) {                                                   \
        NAME##_tile(k, a + i * k, b + j * k, tile);                                               \
        NAME##_add_tile(tile, hr_min(TILE_M, m - i), hr_min(NAME##_width, n - j), add,            \
                        c + i * c_row + j * c_col, c_row, c_col);                                 \
      }                                                                                           \
  }                                                                                               \
                                                                                                  \
  static void NAME##_pack_left(const matmul_job_t *job, int64_t row, int64_t rows, int64_t first, \
                               int64_t count, matmul_space_t *space) {                            \
    const T *from = (const T *)job->a + row * job->a_row + first * job->a_col;                    \
    if (job->fill) job->fill(job->context, row, rows, first, count, space->filled);               \
    if (job->fill)                                                                                \
      NAME##_pack(space->filled, count, 1, rows, count, TILE_M, space->a);                        \
    else                                                                                          \
      NAME##_pack(from, job->a_row, job->a_col, rows, count, TILE_M, space->a);                   \
  }                                                                                               \
                                                                                                  \
  static void NAME##_product(const matmul_job_t *job, matmul_space_t *space) {                    \
    for (int64_t j = 0; j < job->n; j += BLOCK_N)                                                 \
      for (int64_t p = 0; p < job->k; p += BLOCK_K) {                                             \
        int64_t columns = hr_min(BLOCK_N, job->n - j), depth = hr_min(BLOCK_K, job->k - p);       \
        NAME##_pack((const T *)job->b + p * job->b_row + j * job->b_col, job->b_col, job->b_row,  \
                    columns, depth, NAME##_width, space->b);                                      \
        for (int64_t i = 0; i < job->m; i += BLOCK_M) {                                           \
          int64_t rows = hr_min(BLOCK_M, job->m - i);                                             \
          NAME##_pack_left(job, i, rows, p, depth, space);                                        \
          NAME##_block(space->a, space->b, rows, columns, depth, job->accumulate || p > 0,        \
                       (T *)job->c + i * job->c_row + j * job->c_col, job->c_row, job->c_col);    \
        }                                                                                         \
      }                                                                                           \
  }                                                                                               \
                                                                                                  \
  static void NAME##_clear(const matmul_job_t *job) {                                             \
    for (int64_t i = 0; i < job->m; i++)                                                          \
      for (int64_t j = 0; j < job->n; j++) ((T *)job->c)[i * job->c_row + j * job->c_col] = 0;    \
  }

DEFINE_PRODUCT(f32, float)
DEFINE_PRODUCT(f64, double)
DEFINE_PRODUCT(u32, uint32_t)
DEFINE_PRODUCT(u64, uint64_t)

typedef struct product_row {
  void (*product)(const matmul_job_t *job, matmul_space_t *space);
  void (*clear)(const matmul_job_t *job);
} product_row_t;

static const product_row_t *product_of(hr_dtype_t real) {
  static const product_row_t f32 = {f32_product, f32_clear};
  static const product_row_t f64 = {f64_product, f64_clear};
  static const product_row_t u32 = {u32_product, u32_clear};
  static const product_row_t u64 = {u64_product, u64_clear};
  switch (real) {
    case HR_F32:
      return &f32;
    case HR_F64:
      return &f64;
    case HR_U32:
      return &u32;
    default:
      return &u64;
  }
}

/* The same product transposed: c' = b' a'. A tile has many more columns than rows, so a result of
 * few columns fills more of its tiles when it is computed as one of few rows. */
static matmul_job_t exchanged(const matmul_job_t *job) {
  matmul_job_t other = *job;
  other.m = job->n;
  other.n = job->m;
  other.a = job->b;
  other.a_row = job->b_col;
  other.a_col = job->b_row;
  other.b = job->a;
  other.b_row = job->a_col;
  other.b_col = job->a_row;
  other.c_row = job->c_col;
  other.c_col = job->c_row;
  return other;
}

void matmul_run(const matmul_job_t *job, matmul_space_t *space) {
  const product_row_t *row = product_of(job->real);
  hr_fp_mode_t mode = hr_fp_mode_flush();
  if (job->k == 0) {
    if (!job->accumulate) row->clear(job);
  } else if (!job->fill && job->n < TILE_M && job->m > job->n) {
    matmul_job_t other = exchanged(job);
    row->product(&other, space);
  } else {
    row->product(job, space);
  }
  hr_fp_mode_set(mode);
}

/* Sets to[i * parts] = from[i], for a source type S that C converts as specified. */
#define WIDEN(S)                                                                          \
  do {                                                                                    \
    const S *in = from;                                                                   \
    if (real == HR_F32)                                                                   \
      for (int64_t i = 0; i < count; i++) ((float *)to)[i * parts] = (float)in[i];        \
    else if (real == HR_F64)                                                              \
      for (int64_t i = 0; i < count; i++) ((double *)to)[i * parts] = (double)in[i];      \
    else if (real == HR_U32)                                                              \
      for (int64_t i = 0; i < count; i++) ((uint32_t *)to)[i] = (uint32_t)(int64_t)in[i]; \
    else                                                                                  \
      for (int64_t i = 0; i < count; i++) ((uint64_t *)to)[i] = (uint64_t)(int64_t)in[i]; \
  } while (0)

VECTORISED static void widen_numbers(hr_dtype_t dtype, const void *from, int64_t count,
                                     hr_dtype_t real, int parts, void *to) {
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  switch (hr_dtype_is_integer(dtype) || dtype == HR_PRED ? (int)hr_dtype_bytes(dtype) : 0) {
    case 1:
      if (is_signed)
        WIDEN(int8_t);
      else
        WIDEN(uint8_t);
      return;
    case 2:
      if (is_signed)
        WIDEN(int16_t);
      else
        WIDEN(uint16_t);
      return;
    case 4:
      if (is_signed)
        WIDEN(int32_t);
      else
        WIDEN(uint32_t);
      return;
    case 8:
      if (is_signed)
        WIDEN(int64_t);
      else
        WIDEN(uint64_t);
      return;
  }
  if (dtype == HR_F64)
    WIDEN(double);
  else
    WIDEN(float);
}

/* Widens floats of at most 32 bits by way of f32, PIECE elements at a time. */
static void widen_floats(hr_dtype_t dtype, const void *from, int64_t count, hr_dtype_t real,
                         int parts, void *to) {
  enum { PIECE = 1024 };
  float piece[PIECE];
  size_t each = hr_dtype_bytes(dtype);
  size_t stride = hr_dtype_bytes(real) * (size_t)parts;
  for (int64_t i = 0; i < count; i += PIECE) {
    int64_t live = hr_min(PIECE, count - i);
    hr_floats_to_f32(dtype, (const char *)from + (size_t)i * each, piece, live);
    widen_numbers(HR_F32, piece, live, real, parts, (char *)to + (size_t)i * stride);
  }
}

void matmul_widen_to(const matmul_types_t *types, hr_dtype_t dtype, const void *from, int64_t count,
                     void *to) {
  int parts = types->parts;
  if (parts == 2 && !hr_dtype_is_complex(dtype))
    memset(to, 0, (size_t)count * (size_t)types->element_bytes); /* imaginary parts */
  if (hr_dtype_is_complex(dtype)) {
    count *= 2;
    parts = 1;
  }
  hr_dtype_t part = hr_dtype_real(dtype);
  if (hr_dtype_is_float(part) && part != HR_F64)
    widen_floats(part, from, count, types->real, parts, to);
  else
    widen_numbers(part, from, count, types->real, parts, to);
}

hr_status_t matmul_widen_copy(hr_arena_t *scratch, const matmul_types_t *types, hr_dtype_t dtype,
                              const void *from, int64_t count, void **out_data) {
  size_t bytes;
  HR_TRY(hr_size_product((size_t)count, (size_t)types->element_bytes, &bytes));
  HR_TRY(hr_arena_alloc(scratch, bytes, out_data));
  matmul_widen_to(types, dtype, from, count, *out_data);
  return NULL;
}

hr_status_t matmul_widen(hr_arena_t *scratch, const matmul_types_t *types, hr_dtype_t dtype,
                         const void *from, int64_t count, const void **out_data) {
  void *copy;
  if (matmul_is_widened(types, dtype)) {
    *out_data = from;
    return NULL;
  }
  HR_TRY(matmul_widen_copy(scratch, types, dtype, from, count, &copy));
  *out_data = copy;
  return NULL;
}

static void narrow_doubles(hr_dtype_t dtype, const double *from, void *to, int64_t count) {
  size_t bytes = hr_dtype_bytes(dtype);
  for (int64_t i = 0; dtype == HR_F32 && i < count; i++) ((float *)to)[i] = (float)from[i];
  for (int64_t i = 0; dtype != HR_F32 && i < count; i++) {
    uint64_t bits = hr_float_encode(dtype, from[i]);
    memcpy((char *)to + (size_t)i * bytes, &bits, bytes);
  }
}

#define NARROW(S, T) \
  for (int64_t i = 0; i < count; i++) ((T *)to)[i] = (T)((const S *)from)[i]

/* Stores the low `bytes` bytes of each number. */
VECTORISED static void keep_bytes(int bytes, hr_dtype_t real, const void *from, void *to,
                                  int64_t count) {
  if (real == HR_U32 && bytes == 1)
    NARROW(uint32_t, uint8_t);
  else if (real == HR_U32)
    NARROW(uint32_t, uint16_t);
  else if (bytes == 1)
    NARROW(uint64_t, uint8_t);
  else if (bytes == 2)
    NARROW(uint64_t, uint16_t);
  else
    NARROW(uint64_t, uint32_t);
}

/* Keeps the low bits of each number. A type of fewer than 8 bits is extended to a byte by its sign
 * or by zeros. */
static void narrow_integers(hr_dtype_t dtype, hr_dtype_t real, const void *from, void *to,
                            int64_t count) {
  int bytes = (int)hr_dtype_bytes(dtype);
  int spare = 64 - hr_dtype_table[dtype].bits;
  bool is_signed = hr_dtype_class(dtype) == HR_CLASS_SIGNED;
  if (dtype != HR_PRED && spare == 64 - 8 * bytes && bytes < (int)hr_dtype_bytes(real)) {
    keep_bytes(bytes, real, from, to, count);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    uint64_t value = real == HR_U32 ? ((const uint32_t *)from)[i] : ((const uint64_t *)from)[i];
    if (dtype == HR_PRED)
      value = value != 0;
    else
      value = is_signed ? (uint64_t)((int64_t)(value << spare) >> spare) : value << spare >> spare;
    memcpy((char *)to + i * bytes, &value, (size_t)bytes); /* little endian */
  }
}

/* Converts floats to integers: rounded towards zero, saturated to the type's range; NaN gives 0.
 * pred is true for all values but 0, NaN included. */
static void narrow_to_integers(const matmul_types_t *types, const void *from, void *to,
                               int64_t count) {
  int bytes = (int)hr_dtype_bytes(types->out);
  int bits = hr_dtype_table[types->out].bits;
  bool is_signed = hr_dtype_class(types->out) == HR_CLASS_SIGNED;
  double high = ldexp(1, is_signed ? bits - 1 : bits);
  double low = is_signed ? -high : 0;
  uint64_t most = (is_signed    ? UINT64_C(1) << (bits - 1)
                   : bits == 64 ? 0
                                : UINT64_C(1) << bits) -
                  1;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = i * types->parts;
    double x = types->real == HR_F32 ? ((const float *)from)[at] : ((const double *)from)[at];
    uint64_t value;
    if (x >= high)
      value = most;
    else if (is_signed)
      value = (uint64_t)(int64_t)(x <= low ? low : x);
    else
      value = x > 0 ? (uint64_t)x : 0;
    if (isnan(x)) value = 0;
    if (types->out == HR_PRED) value = x != 0;
    memcpy((char *)to + i * bytes, &value, (size_t)bytes); /* little endian */
  }
}

/* Moves the real parts of complex numbers together, in place. */
static void drop_imaginary(const matmul_types_t *types, void *data, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (types->real == HR_F32)
      ((float *)data)[i] = ((const float *)data)[2 * i];
    else
      ((double *)data)[i] = ((const double *)data)[2 * i];
}

void matmul_narrow(const matmul_types_t *types, void *from, void *to, int64_t count) {
  hr_dtype_t part = hr_dtype_real(types->out);
  bool from_float = types->real == HR_F32 || types->real == HR_F64;
  if (from_float && (hr_dtype_is_integer(part) || part == HR_PRED)) {
    narrow_to_integers(types, from, to, count);
    return;
  }
  if (types->is_complex && !hr_dtype_is_complex(types->out))
    drop_imaginary(types, from, count);
  else
    count *= types->parts;
  if (part == types->real)
    memcpy(to, from, (size_t)count * hr_dtype_bytes(part));
  else if (types->real == HR_F32)
    hr_floats_from_f32(part, from, to, count);
  else if (types->real == HR_F64)
    narrow_doubles(part, from, to, count);
  else
    narrow_integers(part, types->real, from, to, count);
}

hr_status_t matmul_order_init(int rank, const int64_t *dims, const int64_t *strides,
                              int element_bytes, matmul_order_t *out_order) {
  int64_t dense[HLO_MAX_RANK], count = 1;
  *out_order = (matmul_order_t){.needed = false};
  for (int d = 0; d < rank; d++) count = dims[d] == 0 ? 0 : count;
  for (int d = 0; d < rank && count; d++)
    if (__builtin_mul_overflow(count, dims[d], &count))
      return hr_error(HR_NO_MEMORY, "the array is too large");
  if (count == 0) return NULL;
  HR_TRY(hr_size_product((size_t)count, (size_t)element_bytes, &out_order->size_bytes));
  loop_dense_strides(rank, dims, element_bytes, dense);
  for (int d = 0; d < rank; d++) {
    if (dims[d] != 1 && strides[d] != dense[d]) out_order->needed = true;
    if (strides[d] < 0) out_order->from_bytes -= (dims[d] - 1) * strides[d];
  }
  if (out_order->needed)
    loop_copy_init(&out_order->copy, element_bytes, rank, dims, dense, strides);
  return NULL;
}

hr_status_t matmul_order_run(hr_arena_t *scratch, const matmul_order_t *order, const void *from,
                             const void **out_data) {
  *out_data = from;
  if (!order->needed) return NULL;
  void *to;
  HR_TRY(hr_arena_alloc(scratch, order->size_bytes, &to));
  loop_copy_run(&order->copy, to, (const char *)from + order->from_bytes);
  *out_data = to;
  return NULL;
}

#define EXPAND(T)                                                \
  do {                                                           \
    const T *in = from;                                          \
    T *even = to, *odd = even + 2 * n;                           \
    for (int64_t p = 0; p < k; p++, even += 4 * n, odd += 4 * n) \
      for (int64_t j = 0; j < n; j++, in += 2) {                 \
        even[2 * j] = in[0], even[2 * j + 1] = in[1];            \
        odd[2 * j] = -in[1], odd[2 * j + 1] = in[0];             \
      }                                                          \
  } while (0)

hr_status_t matmul_expand_complex(hr_arena_t *scratch, const matmul_types_t *types,
                                  const void *from, int64_t k, int64_t n, const void **out_data) {
  size_t bytes;
  void *to;
  HR_TRY(hr_size_product((size_t)k, (size_t)n, &bytes));
  HR_TRY(hr_size_product(bytes, 2 * (size_t)types->element_bytes, &bytes));
  HR_TRY(hr_arena_alloc(scratch, bytes, &to));
  if (types->real == HR_F32)
    EXPAND(float);
  else
    EXPAND(double);
  *out_data = to;
  return NULL;
}
