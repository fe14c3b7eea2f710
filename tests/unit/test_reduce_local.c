/* Sums and products of any number of arrays have the bits of one operation after the other. */
#include "ops/kernels/comm/reduce_local.h"

#include <string.h>

#include "tests/lib/unit.h"

#define ARRAYS 20
#define COUNT 133

static float floats[ARRAYS][COUNT], float_sums[COUNT];
static uint32_t integers[ARRAYS][COUNT], integer_sums[COUNT];

static void fill(void) {
  for (int k = 0; k < ARRAYS; k++)
    for (int i = 0; i < COUNT; i++) {
      floats[k][i] = 1.0f / (float)(1 + (i * 7 + k * 13) % 101) + (float)k;
      integers[k][i] = (uint32_t)(i + 1) * 2654435761u * (uint32_t)(k + 3);
    }
}

static void expect(int arrays, bool is_product) {
  for (int i = 0; i < COUNT; i++) {
    float_sums[i] = floats[0][i];
    integer_sums[i] = integers[0][i];
    for (int k = 1; k < arrays; k++) {
      float_sums[i] = is_product ? float_sums[i] * floats[k][i] : float_sums[i] + floats[k][i];
      integer_sums[i] += integers[k][i];
    }
  }
}

static void test_any_number(void) {
  for (int arrays = 2; arrays <= ARRAYS; arrays++) {
    const void *in[ARRAYS], *integer_in[ARRAYS];
    float out[COUNT];
    uint32_t integer_out[COUNT];
    fill();
    for (int k = 0; k < arrays; k++) in[k] = floats[k], integer_in[k] = integers[k];
    expect(arrays, true);
    reduce_local_of(HLO_MULTIPLY, HR_F32)(out, in, arrays, COUNT);
    CU_ASSERT(!memcmp(out, float_sums, sizeof out));
    expect(arrays, false);
    reduce_local_of(HLO_ADD, HR_S32)(integer_out, integer_in, arrays, COUNT);
    CU_ASSERT(!memcmp(integer_out, integer_sums, sizeof integer_out));
    reduce_local_of(HLO_ADD, HR_F32)(floats[0], in, arrays, COUNT);
    CU_ASSERT(!memcmp(floats[0], float_sums, sizeof float_sums));
  }
}

static void test_types(void) {
  CU_ASSERT_PTR_NOT_NULL(reduce_local_of(HLO_ADD, HR_U64));
  CU_ASSERT_PTR_NULL(reduce_local_of(HLO_ADD, HR_BF16));
  CU_ASSERT_PTR_NULL(reduce_local_of(HLO_MAXIMUM, HR_F32));
}

CU_TestInfo suite_reduce_local[] = {
    {"any number of arrays", test_any_number}, {"types", test_types}, CU_TEST_INFO_NULL};
