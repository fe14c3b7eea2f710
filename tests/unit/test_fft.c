/* The reference FFT against sums over its definition: lengths, real transforms, refusals. */
#include <complex.h>
#include <math.h>

#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

static hlo_value_t *run_fft(kernel_env_t *k, int type, hlo_value_t *in, hr_dtype_t out, int rank,
                            const int64_t *dims, hr_ints_t lengths) {
  hlo_attr_t attrs[] = {KERNEL_INT(FFT_TYPE, type), {.key = HLO_ATTR_FFT_LENGTH, .ints = lengths}};
  return kernel_run(k, HLO_FFT, kernel_shape(k, out, rank, dims), 1, &in, 2, attrs, 0, NULL);
}

#define LENGTHS(...)                           \
  ((hr_ints_t){(const int64_t[]){__VA_ARGS__}, \
               (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))})

/* Two lines of any length against the definition, there and back. */
static void lengths(void) {
  static const int64_t sizes[] = {1, 2, 3, 5, 8, 12, 31};
  kernel_env_t k;
  kernel_env_init(&k);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    int64_t n = sizes[s];
    hlo_value_t *x = kernel_value(HR_C128, KERNEL_DIMS(2, n), NULL);
    double _Complex *v = x->data;
    for (int64_t i = 0; i < 2 * n; i++) v[i] = (double)(i * 7 % 5) - 2 + (double)(i * 3 % 4) * I;
    hlo_value_t *y = run_fft(&k, HLO_FFT_TYPE_FFT, x, HR_C128, KERNEL_DIMS(2, n), LENGTHS(n));
    hlo_value_t *z = run_fft(&k, HLO_FFT_TYPE_IFFT, y, HR_C128, KERNEL_DIMS(2, n), LENGTHS(n));
    for (int64_t i = 0; i < 2 * n; i++) {
      double _Complex sum = 0;
      for (int64_t j = 0; j < n; j++)
        sum += v[i / n * n + j] * cexp(-2 * M_PI * I * (double)(i % n * j) / (double)n);
      CU_ASSERT_TRUE(cabs(((double _Complex *)y->data)[i] - sum) < 1e-12);
      CU_ASSERT_TRUE(cabs(((double _Complex *)z->data)[i] - v[i]) < 1e-13);
    }
    hlo_value_release(x);
    hlo_value_release(y);
    hlo_value_release(z);
  }
  kernel_env_deinit(&k);
}

/* A real transform of three dimensions, and back, of odd and even last lengths. */
static void real_transforms(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  for (int64_t n = 4; n <= 5; n++) {
    int64_t half = n / 2 + 1;
    hlo_value_t *x = kernel_value(HR_F32, KERNEL_DIMS(2, 2, 3, n), NULL);
    for (int64_t i = 0; i < x->count; i++) ((float *)x->data)[i] = (float)(i * 7 % 11);
    hlo_value_t *y =
        run_fft(&k, HLO_FFT_TYPE_RFFT, x, HR_C64, KERNEL_DIMS(2, 2, 3, half), LENGTHS(2, 3, n));
    hlo_value_t *z =
        run_fft(&k, HLO_FFT_TYPE_IRFFT, y, HR_F32, KERNEL_DIMS(2, 2, 3, n), LENGTHS(2, 3, n));
    float sum = 0;
    for (int64_t i = 0; i < 6 * n; i++) sum += ((float *)x->data)[i];
    CU_ASSERT_DOUBLE_EQUAL(((float *)y->data)[0], sum, 1e-4);
    for (int64_t i = 0; i < x->count; i++)
      CU_ASSERT_DOUBLE_EQUAL(((float *)z->data)[i], ((float *)x->data)[i], 1e-5);
    hlo_value_release(x);
    hlo_value_release(y);
    hlo_value_release(z);
  }
  kernel_env_deinit(&k);
}

static void imaginary_ends_are_ignored(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *x = kernel_value(HR_C128, KERNEL_DIMS(2), (double[]){3, 77, 1, -55});
  hlo_value_t *y = run_fft(&k, HLO_FFT_TYPE_IRFFT, x, HR_F64, KERNEL_DIMS(2), LENGTHS(2));
  CU_ASSERT_TRUE(kernel_is(y, HR_F64, KERNEL_DIMS(2), (double[]){2, 1}));
  hlo_value_release(x);
  hlo_value_release(y);
  kernel_env_deinit(&k);
}

static void empty_arrays(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *x = kernel_value(HR_C64, KERNEL_DIMS(0, 4), NULL),
              *y = kernel_value(HR_C64, KERNEL_DIMS(3, 0), NULL);
  hlo_value_t *a = run_fft(&k, HLO_FFT_TYPE_FFT, x, HR_C64, KERNEL_DIMS(0, 4), LENGTHS(4));
  hlo_value_t *b = run_fft(&k, HLO_FFT_TYPE_IFFT, y, HR_C64, KERNEL_DIMS(3, 0), LENGTHS(0));
  CU_ASSERT_EQUAL(a->count + b->count, 0);
  hlo_value_release(x);
  hlo_value_release(y);
  hlo_value_release(a);
  hlo_value_release(b);
  kernel_env_deinit(&k);
}

static void wrong_sizes_are_refused(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *x = kernel_value(HR_C64, KERNEL_DIMS(2, 4), NULL), *out = NULL;
  hr_ints_t bad[] = {LENGTHS(5), LENGTHS(3, 4), LENGTHS(2, 2, 4), {NULL, 0}, LENGTHS(-4)};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    hlo_attr_t attrs[] = {KERNEL_INT(FFT_TYPE, HLO_FFT_TYPE_FFT),
                          {.key = HLO_ATTR_FFT_LENGTH, .ints = bad[i]}};
    hlo_instr_t *fft =
        kernel_build(&k, HLO_FFT, kernel_shape(&k, HR_C64, 2, x->dims), 1, &x, 2, attrs, 0, NULL);
    CHECK_FAILS(HR_INVALID, kernel_try(&k, fft, &x, 0, &out));
  }
  hlo_value_release(x);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_fft[] = {{"lengths", lengths},
                           {"real transforms", real_transforms},
                           {"imaginary ends are ignored", imaginary_ends_are_ignored},
                           {"empty arrays", empty_arrays},
                           {"wrong sizes are refused", wrong_sizes_are_refused},
                           CU_TEST_INFO_NULL};
