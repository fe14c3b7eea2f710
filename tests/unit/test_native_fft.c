/* Native FFTs against the reference: types, lengths, dimensions. */
#include "tests/lib/native_harness.h"
#include "tests/lib/unit.h"

static int run_one(native_env_t *env, uint64_t *seed, int type, bool is_double, int rank,
                   int batch_rank, const int64_t *sizes) {
  int declined = 0;
  int64_t dims[5], half[5], *lengths;
  int all = batch_rank + rank;
  void *kept;
  memcpy(dims, sizes, (size_t)all * sizeof *dims);
  memcpy(half, sizes, (size_t)all * sizeof *half);
  half[all - 1] = sizes[all - 1] / 2 + 1;
  hr_dtype_t real = is_double ? HR_F64 : HR_F32;
  hr_dtype_t complex_ = is_double ? HR_C128 : HR_C64;
  bool real_in = type == HLO_FFT_TYPE_RFFT, real_out = type == HLO_FFT_TYPE_IRFFT;
  hr_dtype_t in_type = real_in ? real : complex_;
  hr_dtype_t out_type = real_out ? real : complex_;
  CU_ASSERT_PTR_NULL_FATAL(hr_arena_copy(&env->k.module->arena, sizes + batch_rank,
                                         (size_t)rank * sizeof *sizes, &kept));
  lengths = kept;
  hlo_attr_t attrs[] = {KERNEL_INT(FFT_TYPE, type),
                        {.key = HLO_ATTR_FFT_LENGTH, .ints = {lengths, rank}}};
  const hlo_shape_t *in = kernel_shape(&env->k, in_type, all, real_out ? half : dims);
  const hlo_shape_t *out = kernel_shape(&env->k, out_type, all, real_in ? half : dims);
  hlo_instr_t *operand =
      kernel_parameter(&env->k, env->k.entry, (int)env->k.entry->params.count, in);
  const hlo_instr_t *fft =
      kernel_instr(&env->k, env->k.entry, HLO_FFT, out, 1, &operand, 2, attrs, 0, NULL);
  bool fine = native_agrees(env, seed, fft, &declined) && !declined;
  if (!fine)
    printf("    type %d, rank %d and %d, last %ld\n", type, batch_rank, rank, (long)sizes[all - 1]);
  return !fine;
}

static void all_types_and_sizes(void) {
  native_env_t env;
  uint64_t seed = 1;
  int wrong = 0;
  native_env_init(&env, 2);
  for (int i = 0; i < 200; i++) {
    int rank = 1 + (int)native_pick(&seed, 3), batch_rank = (int)native_pick(&seed, 3);
    int64_t sizes[5];
    for (int d = 0; d < 5; d++) {
      int most = rank == 3 ? 20 : 70;
      sizes[d] = 1 + native_pick(&seed, d < batch_rank ? 5 : most);
    }
    wrong += run_one(&env, &seed, i % 4, native_pick(&seed, 2), rank, batch_rank, sizes);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  native_env_deinit(&env);
}

static void long_lines(void) {
  native_env_t env;
  uint64_t seed = 2;
  native_env_init(&env, 2);
  for (int type = 0; type < 4; type++) {
    CU_ASSERT_EQUAL(run_one(&env, &seed, type, false, 2, 0, (int64_t[]){512, 256}), 0);
    CU_ASSERT_EQUAL(run_one(&env, &seed, type, false, 1, 1, (int64_t[]){3, 30000}), 0);
    CU_ASSERT_EQUAL(run_one(&env, &seed, type, true, 1, 0, (int64_t[]){65536}), 0);
  }
  native_env_deinit(&env);
}

/* One or two columns after the last whole block of vector lanes, which FFTW transforms. */
static void columns_left_over(void) {
  native_env_t env;
  uint64_t seed = 4;
  native_env_init(&env, 2);
  for (int type = 0; type < 4; type++)
    for (int is_double = 0; is_double < 2; is_double++) {
      CU_ASSERT_EQUAL(run_one(&env, &seed, type, is_double, 2, 0, (int64_t[]){40, 33}), 0);
      CU_ASSERT_EQUAL(run_one(&env, &seed, type, is_double, 2, 1, (int64_t[]){3, 128, 34}), 0);
      CU_ASSERT_EQUAL(run_one(&env, &seed, type, is_double, 2, 0, (int64_t[]){24, 128}), 0);
    }
  native_env_deinit(&env);
}

/* As matrices: with blocks that are not full, by one worker's share and by a core's cache, several
 * of them. */
static void lines_as_matrices(void) {
  native_env_t env;
  uint64_t seed = 3;
  native_env_init(&env, 2);
  for (int type = HLO_FFT_TYPE_FFT; type <= HLO_FFT_TYPE_IFFT; type++) {
    CU_ASSERT_EQUAL(run_one(&env, &seed, type, false, 1, 0, (int64_t[]){200 * 171}), 0);
    CU_ASSERT_EQUAL(run_one(&env, &seed, type, true, 1, 0, (int64_t[]){65 * 1009}), 0);
    CU_ASSERT_EQUAL(run_one(&env, &seed, type, false, 1, 1, (int64_t[]){3, 1 << 17}), 0);
  }
  native_env_deinit(&env);
}

/* Odd lengths in vector lanes: passes of small and large primes, convolutions, remainders of a
 * vector, and a last block that is not full. */
static void odd_lines(void) {
  static const int64_t lengths[] = {1, 3, 9, 15, 37, 111, 127, 131, 243, 17 * 19, 999};
  native_env_t env;
  uint64_t seed = 5;
  int wrong = 0;
  native_env_init(&env, 2);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    for (int type = 0; type < 4; type++)
      for (int is_double = 0; is_double < 2; is_double++)
        wrong += run_one(&env, &seed, type, is_double, 1, 1, (int64_t[]){19, lengths[i]});
  CU_ASSERT_EQUAL(wrong, 0);
  native_env_deinit(&env);
}

CU_TestInfo suite_native_fft[] = {{"all types and sizes", all_types_and_sizes},
                                  {"odd lines", odd_lines},
                                  {"long lines", long_lines},
                                  {"columns left over", columns_left_over},
                                  {"lines as matrices", lines_as_matrices},
                                  CU_TEST_INFO_NULL};
