/* The transforms of fft_lanes for one type and vector width: T, BYTES of a vector, CODE the name of
 * the result. A `cell` holds one complex element of LANES lines. All
 * transforms run forward; inverse ones swap real and imaginary parts before and after.
 *
 *   load (transpose lines to lanes)  ->  passes between two buffers  ->  store (transpose back) */
#define LANES (BYTES / (int)sizeof(T))

typedef T vector_t __attribute__((vector_size(BYTES), may_alias));
typedef T unaligned_t __attribute__((vector_size(BYTES), may_alias, aligned(sizeof(T))));

typedef struct cell { /* one complex element of LANES lines */
  vector_t re, im;
} cell_t;

NATIVE_INLINE cell_t cell_add(cell_t a, cell_t b) { return (cell_t){a.re + b.re, a.im + b.im}; }
NATIVE_INLINE cell_t cell_sub(cell_t a, cell_t b) { return (cell_t){a.re - b.re, a.im - b.im}; }
NATIVE_INLINE cell_t cell_scale(cell_t a, T k) { return (cell_t){a.re * k, a.im * k}; }
/* a + k b */
NATIVE_INLINE cell_t cell_fma(cell_t a, T k, cell_t b) {
  return (cell_t){a.re + k * b.re, a.im + k * b.im};
}
/* a - i b and a + i b */
NATIVE_INLINE cell_t cell_sub_i(cell_t a, cell_t b) { return (cell_t){a.re + b.im, a.im - b.re}; }
NATIVE_INLINE cell_t cell_add_i(cell_t a, cell_t b) { return (cell_t){a.re - b.im, a.im + b.re}; }
NATIVE_INLINE cell_t cell_times(cell_t a, const T *w) {
  return (cell_t){a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0]};
}
NATIVE_INLINE cell_t cell_swap(cell_t a) { return (cell_t){a.im, a.re}; }

/* --- short transforms ------------------------------------------------------------------------- */

NATIVE_INLINE void dft_2(cell_t *t) {
  cell_t sum = cell_add(t[0], t[1]);
  t[1] = cell_sub(t[0], t[1]);
  t[0] = sum;
}

NATIVE_INLINE void dft_3(cell_t *t) {
  cell_t sum = cell_add(t[1], t[2]),
         rotated = cell_scale(cell_sub(t[1], t[2]), (T)0.86602540378443864676);
  cell_t middle = cell_fma(t[0], (T)-0.5, sum);
  t[0] = cell_add(t[0], sum);
  t[1] = cell_sub_i(middle, rotated);
  t[2] = cell_add_i(middle, rotated);
}

NATIVE_INLINE void dft_4(cell_t *t) {
  cell_t a = cell_add(t[0], t[2]), b = cell_sub(t[0], t[2]), c = cell_add(t[1], t[3]),
         d = cell_sub(t[1], t[3]);
  t[0] = cell_add(a, c);
  t[2] = cell_sub(a, c);
  t[1] = cell_sub_i(b, d);
  t[3] = cell_add_i(b, d);
}

NATIVE_INLINE void dft_8(cell_t *t) {
  const T half = (T)0.70710678118654752440;
  cell_t even[4] = {t[0], t[2], t[4], t[6]}, odd[4] = {t[1], t[3], t[5], t[7]};
  dft_4(even), dft_4(odd);
  odd[1] = cell_scale((cell_t){odd[1].re + odd[1].im, odd[1].im - odd[1].re}, half);
  odd[3] = cell_scale((cell_t){odd[3].im - odd[3].re, -odd[3].im - odd[3].re}, half);
  t[0] = cell_add(even[0], odd[0]);
  t[4] = cell_sub(even[0], odd[0]);
  t[1] = cell_add(even[1], odd[1]);
  t[5] = cell_sub(even[1], odd[1]);
  t[2] = cell_sub_i(even[2], odd[2]);
  t[6] = cell_add_i(even[2], odd[2]);
  t[3] = cell_add(even[3], odd[3]);
  t[7] = cell_sub(even[3], odd[3]);
}

/* Odd radix: elements at equal distances from the first are combined in pairs, which halves the
 * number of products. */
NATIVE_INLINE void dft_odd(cell_t *t, int radix, const T *roots) {
  cell_t sums[FFT_MAX_FACTOR / 2], differences[FFT_MAX_FACTOR / 2], first = t[0], all = t[0];
  int half = radix / 2;
  for (int j = 0; j < half; j++) {
    sums[j] = cell_add(t[j + 1], t[radix - 1 - j]),
    differences[j] = cell_sub(t[j + 1], t[radix - 1 - j]);
    all = cell_add(all, sums[j]);
  }
  t[0] = all;
  for (int q = 1; q <= half; q++) {
    cell_t middle = first, rotated = {0};
    for (int j = 0; j < half; j++) {
      int k = (j + 1) * q % radix;
      middle = cell_fma(middle, roots[2 * k], sums[j]),
      rotated = cell_fma(rotated, roots[2 * k + 1], differences[j]);
    }
    t[q] = cell_sub_i(middle, rotated);
    t[radix - q] = cell_add_i(middle, rotated);
  }
}

/* --- passes ----------------------------------------------------------------------------------- */

/* A Stockham pass: elements i + ido (j + radix k) of `from`, transformed over j and multiplied
 * by twiddles, go to i + ido (k + l1 j). The result of the last pass is in natural order. */
#define DEFINE_PASS(NAME, RADIX, DFT)                                                            \
  static void NAME(const fft_pass_t *pass, const cell_t *from, cell_t *to) {                     \
    const int64_t ido = pass->ido, l1 = pass->l1;                                                \
    const T *w = pass->twiddles, *roots = pass->roots;                                           \
    (void)roots;                                                                                 \
    for (int64_t k = 0; k < l1; k++)                                                             \
      for (int64_t i = 0; i < ido; i++) {                                                        \
        cell_t t[RADIX];                                                                         \
        for (int j = 0; j < RADIX; j++) t[j] = from[i + ido * (j + RADIX * k)];                  \
        DFT;                                                                                     \
        to[i + ido * k] = t[0];                                                                  \
        for (int j = 1; j < RADIX; j++)                                                          \
          to[i + ido * (k + l1 * j)] = i ? cell_times(t[j], w + 2 * ((j - 1) * ido + i)) : t[j]; \
      }                                                                                          \
  }
DEFINE_PASS(pass_2, 2, dft_2(t))
DEFINE_PASS(pass_3, 3, dft_3(t))
DEFINE_PASS(pass_4, 4, dft_4(t))
DEFINE_PASS(pass_5, 5, dft_odd(t, 5, roots))
DEFINE_PASS(pass_7, 7, dft_odd(t, 7, roots))
DEFINE_PASS(pass_8, 8, dft_8(t))
DEFINE_PASS(pass_11, 11, dft_odd(t, 11, roots))
DEFINE_PASS(pass_13, 13, dft_odd(t, 13, roots))

/* Elements q and q + 1 of a transform of any odd length, from pairs as in dft_odd: the real
 * combinations, and those multiplied by i. */
NATIVE_INLINE void two_terms(const fft_pass_t *pass, const cell_t *sums, const cell_t *differences,
                             int64_t q, cell_t *middle, cell_t *rotated) {
  const T *roots = pass->roots;
  int64_t radix = pass->radix, k0 = 0, k1 = 0;
  for (int64_t j = 0; j < radix / 2; j++) {
    k0 = k0 + q < radix ? k0 + q : k0 + q - radix;
    k1 = k1 + q + 1 < radix ? k1 + q + 1 : k1 + q + 1 - radix;
    middle[0] = cell_fma(middle[0], roots[2 * k0], sums[j]);
    middle[1] = cell_fma(middle[1], roots[2 * k1], sums[j]);
    rotated[0] = cell_fma(rotated[0], roots[2 * k0 + 1], differences[j]);
    rotated[1] = cell_fma(rotated[1], roots[2 * k1 + 1], differences[j]);
  }
}

/* Elements from, from + step, ...: their sums and differences in pairs; returns the sum of all. */
static cell_t combine_pairs(int64_t radix, const cell_t *from, int64_t step, cell_t *sums,
                            cell_t *differences) {
  cell_t all = from[0];
  for (int64_t j = 0; j < radix / 2; j++) {
    cell_t a = from[step * (j + 1)], b = from[step * (radix - 1 - j)];
    sums[j] = cell_add(a, b);
    differences[j] = cell_sub(a, b);
    all = cell_add(all, sums[j]);
  }
  return all;
}

/* A pass of any odd radix, like those of DEFINE_PASS. */
static void pass_any(const fft_pass_t *pass, const cell_t *from, cell_t *to) {
  const int64_t ido = pass->ido, l1 = pass->l1, radix = pass->radix;
  const T *w = pass->twiddles;
  cell_t sums[FFT_MAX_PRIME / 2], differences[FFT_MAX_PRIME / 2];
  for (int64_t k = 0; k < l1; k++)
    for (int64_t i = 0; i < ido; i++) {
      const cell_t *first = from + i + ido * radix * k;
      to[i + ido * k] = combine_pairs(radix, first, ido, sums, differences);
      for (int64_t q = 1; q <= radix / 2; q += 2) {
        cell_t middle[2] = {*first, *first}, rotated[2] = {0};
        two_terms(pass, sums, differences, q, middle, rotated);
        for (int64_t j = q; j < q + 2 && j <= radix / 2; j++) {
          cell_t low = cell_sub_i(middle[j - q], rotated[j - q]),
                 high = cell_add_i(middle[j - q], rotated[j - q]);
          int64_t other = radix - j;
          to[i + ido * (k + l1 * j)] = i ? cell_times(low, w + 2 * ((j - 1) * ido + i)) : low;
          to[i + ido * (k + l1 * other)] =
              i ? cell_times(high, w + 2 * ((other - 1) * ido + i)) : high;
        }
      }
    }
}

static void run_pass(const fft_pass_t *pass, const cell_t *from, cell_t *to) {
  switch (pass->radix) {
    case 2:
      pass_2(pass, from, to);
      break;
    case 3:
      pass_3(pass, from, to);
      break;
    case 4:
      pass_4(pass, from, to);
      break;
    case 5:
      pass_5(pass, from, to);
      break;
    case 7:
      pass_7(pass, from, to);
      break;
    case 8:
      pass_8(pass, from, to);
      break;
    case 11:
      pass_11(pass, from, to);
      break;
    case 13:
      pass_13(pass, from, to);
      break;
    default:
      pass_any(pass, from, to);
      break;
  }
}

/* Returns the buffer with the result. */
static cell_t *run_stockham(const fft_plain_t *plain, cell_t *a, cell_t *b) {
  for (int p = 0; p < plain->pass_count; p++) {
    cell_t *from = a;
    run_pass(&plain->passes[p], a, b);
    a = b;
    b = from;
  }
  return a;
}

/* Bluestein's algorithm; see fft_lanes.c. The inverse transform is a forward one of swapped
 * parts. */
static cell_t *run_bluestein(const fft_lanes_t *plan, cell_t *a, cell_t *b) {
  const T *chirp = plan->chirp, *spectrum = plan->spectrum;
  for (int64_t k = 0; k < plan->length; k++) a[k] = cell_times(a[k], chirp + 2 * k);
  memset(a + plan->length, 0, (size_t)(plan->plain.length - plan->length) * sizeof *a);
  cell_t *c = run_stockham(&plan->plain, a, b), *other = c == a ? b : a;
  for (int64_t k = 0; k < plan->plain.length; k++)
    c[k] = cell_swap(cell_times(c[k], spectrum + 2 * k));
  c = run_stockham(&plan->plain, c, other);
  for (int64_t k = 0; k < plan->length; k++) c[k] = cell_times(cell_swap(c[k]), chirp + 2 * k);
  return c;
}

static cell_t *transform(const fft_lanes_t *plan, cell_t *a, cell_t *b) {
  return plan->chirp ? run_bluestein(plan, a, b) : run_stockham(&plan->plain, a, b);
}

/* --- real lines ------------------------------------------------------------------------------- */

/* Post-processing of a real line: the transform of z_k = x_2k + i x_(2k+1) becomes the transform of
 * x, which has one element more, by separating the transforms of even and odd elements. The
 * imaginary parts of the ends are set to 0. */
static void split_half_spectrum(const fft_lanes_t *plan, cell_t *z) {
  int64_t n = plan->length;
  const T *w = plan->halves;
  cell_t first = z[0];
  z[0] = (cell_t){first.re + first.im, (vector_t){0}};
  z[n] = (cell_t){first.re - first.im, (vector_t){0}};
  for (int64_t k = 1; k <= n / 2; k++) {
    cell_t a = z[k], b = {z[n - k].re, -z[n - k].im};
    cell_t even = cell_scale(cell_add(a, b), (T)0.5), odd = cell_scale(cell_sub(a, b), (T)0.5);
    cell_t rotated = cell_times((cell_t){odd.im, -odd.re}, w + 2 * k),
           other = cell_sub(even, rotated);
    z[n - k] = (cell_t){other.re, -other.im};
    z[k] = cell_add(even, rotated);
  }
}

/* The inverse of split_half_spectrum, scaled by 2. Imaginary parts of the first and last element
 * are ignored. */
static void merge_half_spectrum(const fft_lanes_t *plan, cell_t *x) {
  int64_t n = plan->length;
  const T *w = plan->halves;
  x[0] = (cell_t){x[0].re + x[n].re, x[0].re - x[n].re};
  for (int64_t k = 1; k <= n / 2; k++) {
    cell_t a = x[k], b = {x[n - k].re, -x[n - k].im};
    T back[2] = {w[2 * k], -w[2 * k + 1]};
    cell_t even = cell_add(a, b), rotated = cell_times(cell_sub(a, b), back);
    cell_t other = cell_sub_i(even, rotated);
    x[n - k] = (cell_t){other.re, -other.im};
    x[k] = cell_add_i(even, rotated);
  }
}

/* --- memory ----------------------------------------------------------------------------------- */

SIMD_DEFINE_SQUARE(square, NATIVE_INLINE, vector_t)

/* Transposes a square of LANES lines, `step` reals apart, to LANES vectors, and back. Vectors
 * alternate between real and imaginary parts; `swaps` exchanges the two. */
NATIVE_INLINE void load_square(const T *from, int64_t step, int swaps, vector_t *to) {
  vector_t rows[LANES];
#pragma GCC unroll 16
  for (int line = 0; line < LANES; line++) rows[line] = *(const unaligned_t *)(from + line * step);
  square_transpose(rows);
#pragma GCC unroll 16
  for (int j = 0; j < LANES; j++) to[j ^ swaps] = rows[j];
}

NATIVE_INLINE void store_square(const vector_t *from, int swaps, T scale, int64_t step, T *to) {
  vector_t rows[LANES];
#pragma GCC unroll 16
  for (int j = 0; j < LANES; j++) rows[j] = from[j ^ swaps] * scale;
  square_transpose(rows);
#pragma GCC unroll 16
  for (int line = 0; line < LANES; line++) *(unaligned_t *)(to + line * step) = rows[line];
}

/* Loads the remaining numbers of lines, from `at` on, to a square: whole vectors where another line
 * follows in memory, so that only the last lines are copied number by number. */
static void load_rest(const T *from, int64_t numbers, int64_t count, int64_t at, T *square) {
  for (int64_t line = 0; line < count; line++) {
    const T *rest = from + line * numbers + at;
    if (line * numbers + at + LANES <= count * numbers)
      *(vector_t *)(square + line * LANES) = *(const unaligned_t *)rest;
    else
      memcpy(square + line * LANES, rest, (size_t)(numbers - at) * sizeof(T));
  }
}

/* The same in the other direction: numbers stored into the next line are overwritten later. */
static void store_rest(const T *square, int64_t numbers, int64_t count, int64_t at, T *to) {
  for (int64_t line = 0; line < count; line++) {
    T *rest = to + line * numbers + at;
    if (line * numbers + at + LANES <= count * numbers)
      *(unaligned_t *)rest = *(const vector_t *)(square + line * LANES);
    else
      memcpy(rest, square + line * LANES, (size_t)(numbers - at) * sizeof(T));
  }
}

/* Loads lines of `numbers` interleaved reals; missing lines are zero. A remainder of less than a
 * square goes through a buffer; its cells beyond the line's end are undefined. */
static void load_rows(const T *from, int64_t numbers, int64_t count, int swaps, cell_t *to) {
  vector_t *cells = (vector_t *)to;
  int64_t whole = count < LANES ? 0 : numbers / LANES * LANES;
  T square[LANES * LANES] __attribute__((aligned(BYTES)));
  for (int64_t at = 0; at < whole; at += LANES) load_square(from + at, numbers, swaps, cells + at);
  if (whole < numbers) memset(square, 0, sizeof square);
  for (int64_t at = whole; at < numbers; at += LANES) {
    if (numbers - at < LANES)
      load_rest(from, numbers, count, at, square);
    else
      for (int64_t line = 0; line < count; line++)
        *(vector_t *)(square + line * LANES) = *(const unaligned_t *)(from + line * numbers + at);
    load_square(square, LANES, swaps, cells + at);
  }
}

/* Stores from the last line to the first, as a remainder is written beyond the end of its line. */
static void store_rows(const cell_t *from, int64_t numbers, int64_t count, int swaps, T scale,
                       T *to) {
  const vector_t *cells = (const vector_t *)from;
  int64_t whole = count < LANES ? 0 : numbers / LANES * LANES;
  T square[LANES * LANES] __attribute__((aligned(BYTES)));
  for (int64_t at = (numbers - 1) / LANES * LANES; at >= whole; at -= LANES) {
    store_square(cells + at, swaps, scale, LANES, square);
    if (numbers - at < LANES)
      store_rest(square, numbers, count, at, to);
    else
      for (int64_t line = 0; line < count; line++)
        *(unaligned_t *)(to + line * numbers + at) = *(const vector_t *)(square + line * LANES);
  }
  for (int64_t at = 0; at < whole; at += LANES)
    store_square(cells + at, swaps, scale, numbers, to + at);
}

/* Columns: adjacent complex numbers of a row are the lanes. Two vectors of pairs become one cell,
 * in an order of columns that store_pairs undoes, and back. */
NATIVE_INLINE void load_pairs(const T *from, int swaps, vector_t *to) {
  vector_t a = *(const unaligned_t *)from, b = *(const unaligned_t *)(from + LANES);
  to[swaps] = square_unzip(a, b, 0);
  to[1 - swaps] = square_unzip(a, b, 1);
}

NATIVE_INLINE void store_pairs(const vector_t *from, int swaps, T scale, T *to) {
  vector_t a = from[swaps] * scale, b = from[1 - swaps] * scale;
  *(unaligned_t *)to = square_zip(a, b, 1, 0);
  *(unaligned_t *)(to + LANES) = square_zip(a, b, 1, 1);
}

static void load_columns(const T *from, int64_t step, int64_t length, int64_t count, int swaps,
                         cell_t *to) {
  T pairs[2 * LANES] = {0};
  if (count == LANES) {
    for (int64_t k = 0; k < length; k++)
      load_pairs(from + 2 * k * step, swaps, (vector_t *)(to + k));
    return;
  }
  for (int64_t k = 0; k < length; k++) {
    memcpy(pairs, from + 2 * k * step, (size_t)count * 2 * sizeof(T));
    load_pairs(pairs, swaps, (vector_t *)(to + k));
  }
}

static void store_columns(const cell_t *from, int64_t step, int64_t length, int64_t count,
                          int swaps, T scale, T *to) {
  T pairs[2 * LANES];
  if (count == LANES) {
    for (int64_t k = 0; k < length; k++)
      store_pairs((const vector_t *)(from + k), swaps, scale, to + 2 * k * step);
    return;
  }
  for (int64_t k = 0; k < length; k++) {
    store_pairs((const vector_t *)(from + k), swaps, scale, pairs);
    memcpy(to + 2 * k * step, pairs, (size_t)count * 2 * sizeof(T));
  }
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The second buffer. Loads and stores use whole vectors, up to LANES cells beyond a line's end. */
static cell_t *second_buffer(const fft_lanes_t *plan, cell_t *first) {
  return first + plan->plain.length + LANES;
}

#include "ops/kernels/fft/fft_lanes_odd_template.h"

static void run_rows(const fft_lanes_t *plan, const void *from, void *to, int64_t count,
                     void *space) {
  cell_t *a = space, *b = second_buffer(plan, a);
  bool inverse = plan->is_inverse, real_in = plan->type == HLO_FFT_TYPE_RFFT,
       real_out = plan->type == HLO_FFT_TYPE_IRFFT;
  if ((real_in || real_out) && !plan->halves) {
    run_odd_rows(plan, from, to, count, a, b);
    return;
  }
  load_rows(from, plan->in_count, count, inverse && !real_out, a);
  if (real_out) {
    merge_half_spectrum(plan, a);
    for (int64_t k = 0; k < plan->length; k++) a[k] = cell_swap(a[k]);
  }
  cell_t *result = transform(plan, a, b);
  if (real_in) split_half_spectrum(plan, result);
  store_rows(result, plan->out_count, count, inverse, (T)plan->scale, to);
}

static void run_columns(const fft_lanes_t *plan, const void *from, void *to, int64_t step,
                        int64_t count, void *space) {
  cell_t *a = space, *b = second_buffer(plan, a);
  load_columns(from, step, plan->length, count, plan->is_inverse, a);
  cell_t *result = transform(plan, a, b);
  store_columns(result, step, plan->length, count, plan->is_inverse, (T)plan->scale, to);
}

const fft_lanes_code_t CODE = {LANES, BYTES, run_rows, run_columns};
