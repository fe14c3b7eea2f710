/* Loops over strided arrays: which dimensions are merged, tiles, order. */
#include <CUnit/CUnit.h>
#include <CUnit/TestDB.h>
#include <stdlib.h>
#include <string.h>

#include "ops/kernels/common/strided_loops.h"

static void dense_strides(void) {
  int64_t strides[3];
  loop_dense_strides(3, (int64_t[]){2, 3, 4}, 4, strides);
  CU_ASSERT_EQUAL(strides[0], 48);
  CU_ASSERT_EQUAL(strides[1], 16);
  CU_ASSERT_EQUAL(strides[2], 4);
}

static void dense_operands_are_one_row(void) {
  int64_t dims[] = {2, 3, 4}, strides[3];
  loop_nest_t nest;
  loop_dense_strides(3, dims, 8, strides);
  loop_nest_init(&nest, 3, dims, 2, (const int64_t *[]){strides, strides}, LOOP_ANY_ORDER);
  CU_ASSERT_EQUAL(nest.rank, 0);
  CU_ASSERT_EQUAL(nest.row_count, 24);
  CU_ASSERT_EQUAL(nest.row_strides[1], 8);
}

static void scalars_are_one_element(void) {
  loop_nest_t nest;
  int visits = 0;
  loop_nest_init(&nest, 0, NULL, 1, (const int64_t *[]){NULL}, LOOP_ANY_ORDER);
  for (loop_walk_t walk = loop_walk_first(&nest); walk.live; loop_walk_next(&nest, &walk)) visits++;
  CU_ASSERT_EQUAL(visits, 1);
  CU_ASSERT_EQUAL(nest.row_count, 1);
}

static void empty_arrays_are_not_visited(void) {
  int64_t dims[] = {INT64_MAX, 0, INT64_MAX}, strides[3];
  loop_nest_t nest;
  loop_dense_strides(3, dims, 16, strides);
  loop_nest_init(&nest, 3, dims, 1, (const int64_t *[]){strides}, LOOP_ANY_ORDER);
  CU_ASSERT_TRUE(nest.empty);
  CU_ASSERT_FALSE(loop_walk_first(&nest).live);
  CU_ASSERT_FALSE(loop_first(&nest, (char *[]){NULL}).live);
}

static void program_order_is_kept(void) {
  int64_t dims[] = {2, 3}, turned[] = {1, 2}; /* column-major */
  loop_nest_t nest;
  loop_nest_init(&nest, 2, dims, 1, (const int64_t *[]){turned}, LOOP_PROGRAM_ORDER);
  CU_ASSERT_EQUAL(nest.rank, 1);
  CU_ASSERT_EQUAL(nest.row_count, 3);
  CU_ASSERT_EQUAL(nest.row_strides[0], 2);
  loop_nest_init(&nest, 2, dims, 1, (const int64_t *[]){turned}, LOOP_ANY_ORDER);
  CU_ASSERT_EQUAL(nest.rank, 0);
  CU_ASSERT_EQUAL(nest.row_count, 6);
}

/* Copies every element by its index, for comparison. */
static void copy_plainly(int bytes, int rank, const int64_t *dims, const int64_t *to_strides,
                         const int64_t *from_strides, char *to, const char *from) {
  int64_t index[8] = {0}, count = 1;
  for (int d = 0; d < rank; d++) count *= dims[d];
  for (int64_t i = 0; i < count; i++) {
    int64_t a = 0, b = 0;
    for (int d = 0; d < rank; d++) a += index[d] * to_strides[d], b += index[d] * from_strides[d];
    memcpy(to + a, from + b, (size_t)bytes);
    for (int d = rank - 1; d >= 0 && ++index[d] == dims[d]; d--) index[d] = 0;
  }
}

/* Random permuted, reversed, repeated and gapped sources against the plain copy. */
static void random_copies(void) {
  static _Alignas(16) char from[1 << 18], to[1 << 18], want[1 << 18];
  srand(7);
  for (size_t i = 0; i < sizeof from; i++) from[i] = (char)rand();
  for (int round = 0; round < 2000; round++) {
    int rank = rand() % 5, bytes = 1 << rand() % 5;
    int64_t dims[4], to_strides[4], from_strides[4], extent = bytes, start = 0;
    for (int d = 0; d < rank; d++) dims[d] = rand() % 5 ? rand() % 6 + 1 : rand() % 2 * 9;
    loop_dense_strides(rank, dims, bytes, to_strides);
    for (int d = rank - 1; d >= 0; d--) {
      int kind = rand() % 4;
      from_strides[d] = kind ? extent : 0;
      if (kind == 1) from_strides[d] = -extent;
      if (kind == 1 && dims[d]) start += (dims[d] - 1) * extent;
      if (kind) extent *= dims[d] ? dims[d] + rand() % 2 : 1;
    }
    for (int d = 0; d + 1 < rank; d++) { /* transpose at random */
      int e = d + rand() % (rank - d);
      int64_t stride = from_strides[d], size = dims[d];
      if (dims[d] != dims[e]) continue;
      from_strides[d] = from_strides[e];
      from_strides[e] = stride;
      dims[d] = dims[e];
      dims[e] = size;
    }
    memset(to, 0, 8192 * 16);
    memset(want, 0, 8192 * 16);
    loop_copy_t copy;
    loop_copy_init(&copy, bytes, rank, dims, to_strides, from_strides);
    loop_copy_run(&copy, to, from + start);
    copy_plainly(bytes, rank, dims, to_strides, from_strides, want, from + start);
    CU_ASSERT_EQUAL(memcmp(to, want, 8192 * 16), 0);
  }
}

/* Transposes large enough for several tiles, with ragged ends. */
static void tiles(void) {
  static _Alignas(16) char from[70 * 150 * 3 * 16], to[sizeof from], want[sizeof from];
  for (size_t i = 0; i < sizeof from; i++) from[i] = (char)(i * 7 + i / 251);
  for (int bytes = 1; bytes <= 16; bytes *= 2)
    for (int iteration = 0; iteration < 3; iteration++) {
      int64_t plain[] = {70, 150, 3}, in[3], to_strides[3], from_strides[3], dims[3];
      static const int orders[3][3] = {{1, 0, 2}, {2, 1, 0}, {1, 2, 0}};
      loop_dense_strides(3, plain, bytes, in);
      for (int d = 0; d < 3; d++) {
        dims[d] = plain[orders[iteration][d]];
        from_strides[d] = in[orders[iteration][d]];
      }
      loop_dense_strides(3, dims, bytes, to_strides);
      loop_copy_t copy;
      loop_copy_init(&copy, bytes, 3, dims, to_strides, from_strides);
      loop_copy_run(&copy, to, from);
      copy_plainly(bytes, 3, dims, to_strides, from_strides, want, from);
      CU_ASSERT_EQUAL(memcmp(to, want, (size_t)(70 * 150 * 3 * bytes)), 0);
    }
}

static void runs_are_known(void) {
  loop_copy_t copy;
  int64_t dims[] = {2, 3}, dense[] = {12, 4}, gapped[] = {16, 4};
  loop_copy_init(&copy, 4, 2, dims, dense, dense);
  CU_ASSERT_TRUE(loop_copy_is_run(&copy));
  loop_copy_init(&copy, 4, 2, dims, dense, gapped);
  CU_ASSERT_FALSE(loop_copy_is_run(&copy));
  loop_copy_init(&copy, 4, 2, (int64_t[]){1, 1}, dense, gapped);
  CU_ASSERT_TRUE(loop_copy_is_run(&copy));
  loop_copy_init(&copy, 4, 2, (int64_t[]){0, 3}, dense, dense);
  CU_ASSERT_FALSE(loop_copy_is_run(&copy));
}

static void fills(void) {
  uint16_t to[5] = {0}, seven = 7;
  loop_fill(to, &seven, 2, 4);
  CU_ASSERT_EQUAL(to[0], 7);
  CU_ASSERT_EQUAL(to[3], 7);
  CU_ASSERT_EQUAL(to[4], 0);
  loop_fill(NULL, &seven, 2, 0);
}

CU_TestInfo suite_strided_loops[] = {{"dense strides", dense_strides},
                                     {"dense operands are one row", dense_operands_are_one_row},
                                     {"scalars are one element", scalars_are_one_element},
                                     {"empty arrays are not visited", empty_arrays_are_not_visited},
                                     {"program order is kept", program_order_is_kept},
                                     {"random copies", random_copies},
                                     {"tiles", tiles},
                                     {"runs are known", runs_are_known},
                                     {"fills", fills},
                                     CU_TEST_INFO_NULL};
