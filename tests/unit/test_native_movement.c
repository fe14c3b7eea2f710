#include "native_env.h"

static int64_t below(int64_t n) { return rand() % n; }

static const hr_dtype_t types[] = {HR_U8, HR_BF16, HR_F32, HR_F64, HR_C64, HR_C128, HR_PRED, HR_S16};

static void check_transpose(hr_dtype_t dtype, int rank, const int64_t *dims, const int64_t *order) {
  kernel_env_t k;
  kernel_env_init(&k);
  int64_t out_dims[8];
  for (int d = 0; d < rank; d++) out_dims[d] = dims[order[d]];
  hlo_attr_t attr = {.key = HLO_ATTR_DIMENSIONS, .ints = {order, rank}};
  hlo_value_t *in = kernel_value(dtype, rank, dims, NULL);
  native_fill(in, false);
  CU_ASSERT_TRUE(native_check(&k, 0, HLO_TRANSPOSE, kernel_shape(&k, dtype, rank, out_dims), 1, &in, 1, &attr, 0, NULL));
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

static void transposes(void) {
  srand(1);
  for (int round = 0; round < 600; round++) {
    int rank = (int)below(6);
    int64_t dims[6], order[6], most = rank < 3 ? 150 : rank == 3 ? 40 : 12;
    for (int d = 0; d < rank; d++) {
      dims[d] = below(40) == 0 ? 0 : 1 + below(below(3) ? most : 4);
      int64_t e = below(d + 1);
      order[d] = order[e], order[e] = d;
    }
    check_transpose(types[below(8)], rank, dims, order);
  }
}

/* Results that are written past the caches. */
static void large_transposes(void) {
  srand(2);
  check_transpose(HR_F32, 2, (int64_t[]){2501, 2599}, (int64_t[]){1, 0});
  check_transpose(HR_F64, 3, (int64_t[]){64, 2, 26003}, (int64_t[]){0, 2, 1});
  check_transpose(HR_U8, 3, (int64_t[]){31, 600, 1500}, (int64_t[]){1, 0, 2});
}

CU_TestInfo suite_native_movement[] = {{"transposes", transposes},
                                       {"large transposes", large_transposes},
                                       CU_TEST_INFO_NULL};
