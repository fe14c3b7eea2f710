/* Planning of fft_lanes: factorisation, twiddle factors, and Bluestein's chirp. The transforms
 * themselves are fft_lanes_template.h, compiled for each type and vector width.
 *
 * Bluestein: with jk = (j^2 + k^2 - (j - k)^2) / 2, X_k = c_k sum over j of (x_j c_j)
 * conj(c_(k-j)), c_k = e^(-pi i k^2 / n): a cyclic convolution of a length >= 2 n - 1 with factors
 * 2, 3 and 5. The spectrum of the chirp, divided by that length, is computed once in double
 * precision. */
#include <math.h>
#include <string.h>

#include "ops/kernels/fft/fft_lanes_plan.h"
#include "ops/kernels/simd/simd_target.h"

#define ODD_PART 100                      /* odd cofactor of a length from which FFTW is slower */
#define PAIRED_LENGTH 64                  /* odd real lines from which two share a complex one */
#define MAX_SPACE_BYTES ((size_t)1 << 20) /* two buffers that stay in a core's L2 cache */

/* The code for the widest vectors of the processor; NULL below 256 bits, where FFTW is as fast. */
static const fft_lanes_code_t *find_code(bool is_double) {
#if HR_HAS_CLONES
  if (simd_width() == SIMD_512) return is_double ? &fft_lanes_code_f64_64 : &fft_lanes_code_f32_64;
  if (simd_width() == SIMD_256) return is_double ? &fft_lanes_code_f64_32 : &fft_lanes_code_f32_32;
#endif
  (void)is_double;
  return NULL;
}

/* --- lengths ---------------------------------------------------------------------------------- */

/* The cofactor of a length after division by all prime factors that have passes. */
static int64_t unsupported_cofactor(int64_t length) {
  for (int factor = 2; factor <= FFT_MAX_PRIME; factor++)
    while (length % factor == 0) length /= factor;
  return length;
}

bool fft_lanes_is_odd(int64_t length) {
  while (length % 2 == 0) length /= 2;
  if (length > ODD_PART) return true;
  for (int factor = 3; factor <= 7; factor += 2)
    while (length % factor == 0) length /= factor;
  return length > 1;
}

/* The smallest length, at least `least`, with factors 2, 3 and 5 only. */
static int64_t convolution_length(int64_t least) {
  for (int64_t length = least;; length++) {
    int64_t rest = length;
    for (int factor = 2; factor <= 5; factor++)
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return length;
  }
}

/* --- roots of unity --------------------------------------------------------------------------- */

/* Stores e^(sign * 2 pi i k / n) at pair `at`. */
static void store_root(void *numbers, bool is_double, int64_t at, int64_t k, int64_t n,
                       double sign) {
  double angle = 2 * M_PI * (double)(k % n) / (double)n, re = cos(angle), im = sign * sin(angle);
  if (is_double) {
    ((double *)numbers)[2 * at] = re;
    ((double *)numbers)[2 * at + 1] = im;
  } else {
    ((float *)numbers)[2 * at] = (float)re;
    ((float *)numbers)[2 * at + 1] = (float)im;
  }
}

static hr_status_t new_pairs(hr_arena_t *arena, bool is_double, int64_t count, void **out_numbers) {
  return hr_arena_alloc(
      arena, (size_t)(count + 1) * 2 * (is_double ? sizeof(double) : sizeof(float)), out_numbers);
}

/* Twiddle factors of one pass: w^(j i l1) for j < radix, i < ido, and the roots of the radix
 * itself. */
static hr_status_t make_pass(hr_arena_t *arena, bool is_double, int64_t length, int64_t l1,
                             int64_t radix, fft_pass_t *out_pass) {
  int64_t ido = length / (l1 * radix);
  void *twiddles, *roots;
  HR_TRY(new_pairs(arena, is_double, (radix - 1) * ido, &twiddles));
  HR_TRY(new_pairs(arena, is_double, radix, &roots));
  for (int64_t j = 1; j < radix; j++)
    for (int64_t i = 0; i < ido; i++)
      store_root(twiddles, is_double, (j - 1) * ido + i, j * i * l1, length, -1);
  for (int64_t k = 0; k < radix; k++) store_root(roots, is_double, k, k, radix, 1);
  *out_pass = (fft_pass_t){radix, l1, ido, twiddles, roots};
  return NULL;
}

/* One pass of this radix. */
static hr_status_t add_pass(hr_arena_t *arena, bool is_double, int64_t l1, int64_t radix,
                            fft_plain_t *plain) {
  return make_pass(arena, is_double, plain->length, l1, radix, &plain->passes[plain->pass_count++]);
}

/* Order of passes: primes without special code, large odd radices, then 3, 8, 4 and 2. Autosort
 * passes, each with its own tables. In the first loop every factor that divides is prime, as
 * smaller ones have been divided out. */
static hr_status_t plan_stockham(hr_arena_t *arena, bool is_double, int64_t length,
                                 fft_plain_t *plain) {
  static const int radices[] = {13, 11, 7, 5, 3, 8, 4, 2};
  int64_t l1 = 1, rest = length;
  plain->length = length;
  for (int64_t factor = 2; factor <= FFT_MAX_PRIME; factor++)
    for (; rest % factor == 0; rest /= factor) {
      if (factor <= FFT_MAX_FACTOR) continue;
      HR_TRY(add_pass(arena, is_double, l1, factor, plain));
      l1 *= factor;
    }
  for (size_t i = 0; i < sizeof radices / sizeof *radices; i++)
    for (; length / l1 % radices[i] == 0; l1 *= radices[i]) {
      if (radices[i] == 8 && length / l1 == 16) break; /* 4 * 4 is faster than 8 * 2 */
      HR_TRY(add_pass(arena, is_double, l1, radices[i], plain));
    }
  return NULL;
}

/* --- convolutions ----------------------------------------------------------------------------- */

/* The transform of the conjugated chirp, divided by the convolution's length, computed as one
 * line of doubles. */
static hr_status_t compute_chirp_spectrum(hr_arena_t *arena, bool is_double, int64_t length,
                                          int64_t padded_length, const void **out_spectrum) {
  const fft_lanes_t *plan;
  double *line;
  void *space, *numbers;
  HR_TRY(HR_NEW_ARRAY(arena, 2 * padded_length, &line));
  HR_TRY(fft_lanes_plan(arena, HLO_FFT_TYPE_FFT, padded_length, true, 1.0 / (double)padded_length,
                        &plan));
  HR_TRY(hr_arena_alloc(arena, fft_lanes_space_bytes(plan), &space));
  for (int64_t k = 0; k < length; k++) {
    store_root(line, true, k, k * k, 2 * length, 1);
    if (k) store_root(line, true, padded_length - k, k * k, 2 * length, 1);
  }
  fft_lanes_rows(plan, line, line, 1, space);
  HR_TRY(new_pairs(arena, is_double, padded_length, &numbers));
  for (int64_t i = 0; i < 2 * padded_length; i++)
    if (is_double)
      ((double *)numbers)[i] = line[i];
    else
      ((float *)numbers)[i] = (float)line[i];
  *out_spectrum = numbers;
  return NULL;
}

/* c_k = e^(-pi i k^2 / n); k^2 is exact in 64 bits for every length that fits in memory. */
static hr_status_t plan_bluestein(hr_arena_t *arena, fft_lanes_t *plan) {
  void *chirp;
  int64_t padded_length = convolution_length(2 * plan->length - 1);
  HR_TRY(new_pairs(arena, plan->is_double, plan->length, &chirp));
  for (int64_t k = 0; k < plan->length; k++)
    store_root(chirp, plan->is_double, k, k * k, 2 * plan->length, -1);
  plan->chirp = chirp;
  HR_TRY(plan_stockham(arena, plan->is_double, padded_length, &plan->plain));
  return compute_chirp_spectrum(arena, plan->is_double, plan->length, padded_length,
                                &plan->spectrum);
}

/* --- plans ------------------------------------------------------------------------------------ */

/* e^(-pi i k / n) separates the half-length transform of a real line into its spectrum. */
static hr_status_t compute_half_twiddles(hr_arena_t *arena, fft_lanes_t *plan) {
  void *halves;
  HR_TRY(new_pairs(arena, plan->is_double, plan->length / 2 + 1, &halves));
  for (int64_t k = 0; k <= plan->length / 2; k++)
    store_root(halves, plan->is_double, k, k, 2 * plan->length, -1);
  plan->halves = halves;
  return NULL;
}

static size_t space_bytes(const fft_lanes_code_t *code, int64_t length) {
  return 2 * 2 * code->vector_bytes * (size_t)(length + code->lanes);
}

/* Lengths with large prime factors are computed as a convolution. */
static hr_status_t plan_transform(hr_arena_t *arena, bool has_halves, fft_lanes_t *plan) {
  bool is_smooth = unsupported_cofactor(plan->length) == 1;
  if (has_halves) HR_TRY(compute_half_twiddles(arena, plan));
  return is_smooth ? plan_stockham(arena, plan->is_double, plan->length, &plan->plain)
                   : plan_bluestein(arena, plan);
}

/* Reals in half a spectrum. */
static int64_t half_count(int64_t length) { return 2 * (length / 2 + 1); }

/* Declines lengths whose working set exceeds the caches. */
hr_status_t fft_lanes_plan(hr_arena_t *arena, hlo_enum_FFT_TYPE_t type, int64_t length,
                           bool is_double, double scale, const fft_lanes_t **out_plan) {
  const fft_lanes_code_t *code = find_code(is_double);
  bool real_in = type == HLO_FFT_TYPE_RFFT, real_out = type == HLO_FFT_TYPE_IRFFT,
       has_halves = (real_in || real_out) && length % 2 == 0;
  int64_t lines = has_halves ? length / 2 : length;
  fft_lanes_t *plan;
  *out_plan = NULL;
  if (!code || lines < 1) return NULL;
  int64_t longest = unsupported_cofactor(lines) == 1 ? lines : convolution_length(2 * lines - 1);
  if (space_bytes(code, longest) > MAX_SPACE_BYTES) return NULL;
  HR_TRY(HR_NEW(arena, &plan));
  *plan = (fft_lanes_t){.type = type,
                        .length = lines,
                        .is_double = is_double,
                        .scale = scale,
                        .code = code,
                        .is_inverse = type == HLO_FFT_TYPE_IFFT || real_out,
                        .in_count = real_in    ? length
                                    : real_out ? half_count(length)
                                               : 2 * length,
                        .out_count = real_out  ? length
                                     : real_in ? half_count(length)
                                               : 2 * length};
  HR_TRY(plan_transform(arena, has_halves, plan));
  *out_plan = plan;
  return NULL;
}

int64_t fft_lanes_count(const fft_lanes_t *plan) {
  bool is_real = plan->type == HLO_FFT_TYPE_RFFT || plan->type == HLO_FFT_TYPE_IRFFT;
  bool is_paired = is_real && !plan->halves && plan->length >= PAIRED_LENGTH;
  return plan->code->lanes * (is_paired ? 2 : 1);
}

size_t fft_lanes_space_bytes(const fft_lanes_t *plan) {
  return space_bytes(plan->code, plan->plain.length);
}

void fft_lanes_rows(const fft_lanes_t *plan, const void *from, void *to, int64_t count,
                    void *space) {
  plan->code->rows(plan, from, to, count, space);
}

void fft_lanes_columns(const fft_lanes_t *plan, const void *from, void *to, int64_t stride,
                       int64_t count, void *space) {
  plan->code->columns(plan, from, to, stride, count, space);
}
