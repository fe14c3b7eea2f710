/* Random bits: the native kernel gives those of the reference kernel, for all types and shapes. */
#include "tests/lib/native_harness.h"

/* `low` is the low word of the counter: near its end, the carry into the next word is reached. */
static void check_bits(hr_dtype_t dtype, int rank, const int64_t *dims, int algorithm,
                       int64_t words, uint64_t low) {
  kernel_env_t k;
  kernel_env_init(&k);
  uint64_t state[3] = {(uint64_t)rand() * (uint64_t)rand(), low, (uint64_t)rand()};
  hlo_value_t *in = kernel_value(HR_U64, KERNEL_DIMS(words), state);
  const hlo_shape_t *parts[] = {kernel_shape(&k, HR_U64, KERNEL_DIMS(words)),
                                kernel_shape(&k, dtype, rank, dims)};
  hlo_attr_t attr = KERNEL_INT(RNG_ALGORITHM, algorithm);
  CU_ASSERT_TRUE(native_check(&k, 0, HLO_RNG_BIT_GENERATOR, kernel_tuple_shape(&k, 2, parts), 1,
                              &in, 1, &attr, 0, NULL));
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

/* Some shapes are empty, and some counters lie close below the overflow of a word. */
static void bits_of_every_shape(void) {
  static const hr_dtype_t types[] = {HR_U8, HR_U16, HR_U32, HR_U64, HR_S32, HR_F32};
  srand(1);
  for (int round = 0; round < 300; round++) {
    int rank = rand() % 4;
    int64_t dims[4], most = rank == 1 ? 3000 : 20;
    for (int d = 0; d < rank; d++) dims[d] = rand() % 30 ? 1 + rand() % most : 0;
    int algorithm = rand() % 2 ? HLO_RNG_ALGORITHM_THREE_FRY : HLO_RNG_ALGORITHM_PHILOX;
    uint64_t low = rand() % 3 ? (uint64_t)rand() : UINT64_MAX - (uint64_t)(rand() % 500);
    check_bits(types[rand() % 6], rank, dims, algorithm,
               algorithm == HLO_RNG_ALGORITHM_PHILOX ? 2 + rand() % 2 : 2, low);
  }
  check_bits(HR_U32, KERNEL_DIMS(100001), HLO_RNG_ALGORITHM_THREE_FRY, 2, 5);
  check_bits(HR_U64, KERNEL_DIMS(3, 20001), HLO_RNG_ALGORITHM_PHILOX, 3, UINT64_MAX - 7);
  check_bits(HR_U32, KERNEL_DIMS(101, 501), HLO_RNG_ALGORITHM_DEFAULT, 3, 9);
}

CU_TestInfo suite_native_random[] = {{"bits of every shape", bits_of_every_shape},
                                     CU_TEST_INFO_NULL};
