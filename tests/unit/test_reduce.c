/* Reference reductions and scans: order, empty arrays, promoted operands, several results. */
#include <math.h>
#include <stdlib.h>

#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

/* Reduces with a body of one binary op. */
static hlo_value_t *reduce(kernel_env_t *k, hlo_opcode_t op, hlo_value_t *in, const void *init,
                           hlo_attr_t dimensions, int rank, const int64_t *dims) {
  hlo_value_t *operands[] = {in, kernel_value(in->dtype, KERNEL_SCALAR, init)};
  hlo_computation_t *body = kernel_binary_body(k, op, in->dtype, 2, 0, 1);
  hlo_value_t *out = kernel_run(k, HLO_REDUCE, kernel_shape(k, in->dtype, rank, dims), 2, operands,
                                1, &dimensions, 1, &body);
  hlo_value_release(operands[1]);
  return out;
}

static void small_sums(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in = kernel_value(HR_S32, KERNEL_DIMS(2, 3), (int32_t[]){1, 2, 3, 4, 5, 6});
  hlo_value_t *rows = reduce(&k, HLO_ADD, in, (int32_t[]){10},
                             (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 1), KERNEL_DIMS(2));
  CU_ASSERT_TRUE(kernel_is(rows, HR_S32, KERNEL_DIMS(2), (int32_t[]){16, 25}));
  hlo_value_t *columns = reduce(&k, HLO_ADD, in, (int32_t[]){0},
                                (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 0), KERNEL_DIMS(3));
  CU_ASSERT_TRUE(kernel_is(columns, HR_S32, KERNEL_DIMS(3), (int32_t[]){5, 7, 9}));
  hlo_value_t *all = reduce(&k, HLO_MULTIPLY, in, (int32_t[]){1},
                            (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 1, 0), KERNEL_SCALAR);
  CU_ASSERT_EQUAL(*(int32_t *)all->data, 720);
  hlo_value_t *none = reduce(&k, HLO_ADD, in, (int32_t[]){1},
                             (hlo_attr_t)KERNEL_NO_INTS(DIMENSIONS), KERNEL_DIMS(2, 3));
  CU_ASSERT_TRUE(kernel_is(none, HR_S32, KERNEL_DIMS(2, 3), (int32_t[]){2, 3, 4, 5, 6, 7}));
  hlo_value_release(none);
  hlo_value_release(all);
  hlo_value_release(columns);
  hlo_value_release(rows);
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

static void empty_is_init(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in = kernel_value(HR_F32, KERNEL_DIMS(2, 0), NULL);
  hlo_value_t *out =
      reduce(&k, HLO_ADD, in, (float[]){7}, (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 1), KERNEL_DIMS(2));
  CU_ASSERT_TRUE(kernel_is(out, HR_F32, KERNEL_DIMS(2), (float[]){7, 7}));
  hlo_value_t *nothing =
      reduce(&k, HLO_ADD, in, (float[]){7}, (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 0), KERNEL_DIMS(0));
  CU_ASSERT_EQUAL(nothing->count, 0);
  hlo_value_release(nothing);
  hlo_value_release(out);
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

/* Every way to split dimensions into kept and reduced ones, of many sizes, against sums in plain
 * order. Integers, so that order does not matter. */
static void random_sums(void) {
  srand(3);
  for (int round = 0; round < 200; round++) {
    int64_t dims[4], out_dims[4], list[4], index[4] = {0};
    int rank = rand() % 5, kept = 0;
    hlo_attr_t reduced = {.key = HLO_ATTR_DIMENSIONS, .ints = {list, 0}};
    for (int d = 0; d < rank; d++) {
      dims[d] = rand() % 8 == 0 ? 100 + rand() % 100 : rand() % 7;
      if (rand() % 2)
        list[reduced.ints.count++] = d;
      else
        out_dims[kept++] = dims[d];
    }
    kernel_env_t k;
    kernel_env_init(&k);
    hlo_value_t *in = kernel_value(HR_S64, rank, dims, NULL),
                *want = kernel_value(HR_S64, kept, out_dims, NULL);
    for (int64_t i = 0; i < want->count; i++) ((int64_t *)want->data)[i] = 5;
    for (int64_t i = 0; i < in->count; i++) {
      int64_t place = 0;
      ((int64_t *)in->data)[i] = rand();
      for (int d = 0, j = 0; d < rank; d++) {
        bool is_reduced = j < reduced.ints.count && list[j] == d;
        if (is_reduced)
          j++;
        else
          place = place * dims[d] + index[d];
      }
      ((int64_t *)want->data)[place] += ((int64_t *)in->data)[i];
      for (int d = rank - 1; d >= 0 && ++index[d] == dims[d]; d--) index[d] = 0;
    }
    hlo_value_t *out = reduce(&k, HLO_ADD, in, (int64_t[]){5}, reduced, kept, out_dims);
    CU_ASSERT_TRUE(hlo_value_equal(out, want));
    hlo_value_release(out);
    hlo_value_release(want);
    hlo_value_release(in);
    kernel_env_deinit(&k);
  }
}

/* A running f32 sum of as many tenths would be off by a per cent; one of bf16 would stop at 256. */
static void long_sums_are_exact(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  enum { COUNT = 3000000 };
  hlo_value_t *in = kernel_value(HR_F32, KERNEL_DIMS(COUNT), NULL),
              *narrow = kernel_value(HR_BF16, KERNEL_DIMS(4096, 3), NULL);
  for (int i = 0; i < COUNT; i++) ((float *)in->data)[i] = 0.1f;
  hlo_value_t *out =
      reduce(&k, HLO_ADD, in, (float[]){0}, (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 0), KERNEL_SCALAR);
  CU_ASSERT_TRUE(fabs(*(float *)out->data / ((double)0.1f * COUNT) - 1) < 1e-6);
  for (int i = 0; i < 4096 * 3; i++) ((uint16_t *)narrow->data)[i] = hr_f32_to_bf16(1);
  hlo_value_t *sums = reduce(&k, HLO_ADD, narrow, (uint16_t[]){0},
                             (hlo_attr_t)KERNEL_INTS(DIMENSIONS, 0), KERNEL_DIMS(3));
  CU_ASSERT_EQUAL(hr_bf16_to_f32(((uint16_t *)sums->data)[2]), 4096);
  hlo_value_release(sums);
  hlo_value_release(out);
  hlo_value_release(narrow);
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

/* The body of argmax: (value, index) of the larger value, of equal values the lower index. */
static hlo_computation_t *argmax_body(kernel_env_t *k) {
  hlo_computation_t *body = kernel_body(k);
  const hlo_shape_t *f = hlo_shape_scalar(HR_F32), *s = hlo_shape_scalar(HR_S32),
                    *p = hlo_shape_scalar(HR_PRED);
  hlo_instr_t *a = kernel_parameter(k, body, 0, f), *i = kernel_parameter(k, body, 1, s);
  hlo_instr_t *b = kernel_parameter(k, body, 2, f), *j = kernel_parameter(k, body, 3, s);
  hlo_attr_t gt = KERNEL_INT(DIRECTION, HLO_DIRECTION_GT),
             eq = KERNEL_INT(DIRECTION, HLO_DIRECTION_EQ);
  hlo_attr_t lt = KERNEL_INT(DIRECTION, HLO_DIRECTION_LT);
  hlo_instr_t *larger =
      kernel_instr(k, body, HLO_COMPARE, p, 2, (hlo_instr_t *[]){a, b}, 1, &gt, 0, NULL);
  hlo_instr_t *equal =
      kernel_instr(k, body, HLO_COMPARE, p, 2, (hlo_instr_t *[]){a, b}, 1, &eq, 0, NULL);
  hlo_instr_t *lower =
      kernel_instr(k, body, HLO_COMPARE, p, 2, (hlo_instr_t *[]){i, j}, 1, &lt, 0, NULL);
  hlo_instr_t *tie =
      kernel_instr(k, body, HLO_AND, p, 2, (hlo_instr_t *[]){equal, lower}, 0, NULL, 0, NULL);
  hlo_instr_t *first =
      kernel_instr(k, body, HLO_OR, p, 2, (hlo_instr_t *[]){larger, tie}, 0, NULL, 0, NULL);
  hlo_instr_t *value =
      kernel_instr(k, body, HLO_SELECT, f, 3, (hlo_instr_t *[]){larger, a, b}, 0, NULL, 0, NULL);
  hlo_instr_t *index =
      kernel_instr(k, body, HLO_SELECT, s, 3, (hlo_instr_t *[]){first, i, j}, 0, NULL, 0, NULL);
  const hlo_shape_t *pair = kernel_tuple_shape(k, 2, (const hlo_shape_t *[]){f, s});
  kernel_instr(k, body, HLO_TUPLE, pair, 2, (hlo_instr_t *[]){value, index}, 0, NULL, 0, NULL);
  return body;
}

static void check_argmax(int64_t rows, int64_t columns, int d) {
  kernel_env_t k;
  kernel_env_init(&k);
  int64_t dims[] = {rows, columns}, kept = dims[1 - d];
  hlo_value_t *in[] = {kernel_value(HR_F32, 2, dims, NULL), kernel_value(HR_S32, 2, dims, NULL),
                       kernel_value(HR_F32, KERNEL_SCALAR, (float[]){-INFINITY}),
                       kernel_value(HR_S32, KERNEL_SCALAR, NULL)};
  for (int64_t i = 0; i < in[0]->count; i++) {
    ((float *)in[0]->data)[i] = (float)(rand() % 500);
    ((int32_t *)in[1]->data)[i] = (int32_t)(d ? i % columns : i / columns);
  }
  const hlo_shape_t *parts[] = {kernel_shape(&k, HR_F32, 1, &kept),
                                kernel_shape(&k, HR_S32, 1, &kept)};
  hlo_attr_t attr = KERNEL_INTS(DIMENSIONS, d);
  hlo_computation_t *body = argmax_body(&k);
  const hlo_shape_t *out_shape = kernel_tuple_shape(&k, 2, parts);
  hlo_value_t *out = kernel_run(&k, HLO_REDUCE, out_shape, 4, in, 1, &attr, 1, &body);
  kernel_survives_faults(&k, HLO_REDUCE, out_shape, 4, in, 1, &attr, 1, &body);
  for (int64_t o = 0; o < kept; o++) {
    float best = -1;
    int32_t at = 0;
    for (int64_t r = 0; r < dims[d]; r++) {
      float value = ((float *)in[0]->data)[d ? o * columns + r : r * columns + o];
      if (value > best) best = value, at = (int32_t)r;
    }
    CU_ASSERT_EQUAL(((float *)out->elements[0]->data)[o], best);
    CU_ASSERT_EQUAL(((int32_t *)out->elements[1]->data)[o], at);
  }
  hlo_value_release(out);
  for (int i = 0; i < 4; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

static void argmaxes(void) {
  check_argmax(7, 5, 0);
  check_argmax(7, 5, 1);
  check_argmax(600, 70, 1);
  check_argmax(3, 5001, 1);
  check_argmax(5001, 3, 0);
  check_argmax(1, 100000, 1);
}

/* f32 operands under a body on f64. */
static void promoted_operands(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(2), (float[]){16777216, 1}),
                       kernel_value(HR_F32, KERNEL_SCALAR, (float[]){1})};
  hlo_computation_t *body = kernel_binary_body(&k, HLO_ADD, HR_F64, 2, 0, 1);
  hlo_attr_t attr = KERNEL_INTS(DIMENSIONS, 0);
  hlo_value_t *out =
      kernel_run(&k, HLO_REDUCE, hlo_shape_scalar(HR_F64), 2, in, 1, &attr, 1, &body);
  CU_ASSERT_EQUAL(*(double *)out->data, 16777218.0);
  hlo_value_release(out);
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&k);
}

/* add(slice, carry), as output and as carry: a running sum. */
static hr_status_t call_add(op_env_t *env, const hlo_computation_t *computation, hlo_value_t **args,
                            int arg_count, hlo_value_t **out_value) {
  (void)env, (void)computation, (void)arg_count;
  float sum = *(float *)args[0]->data + *(float *)args[1]->data;
  hlo_value_t *scalar = kernel_value(HR_F32, KERNEL_SCALAR, &sum);
  hr_status_t st = hlo_value_tuple(2, (hlo_value_t *[]){scalar, scalar}, out_value);
  hlo_value_release(scalar);
  hlo_value_release(args[0]);
  hlo_value_release(args[1]);
  return st;
}

static void scans(void) {
  for (int reverse = 0; reverse < 2; reverse++) {
    kernel_env_t k;
    kernel_env_init(&k);
    k.engine_ops.call = call_add;
    hlo_value_t *in[] = {kernel_value(HR_F32, KERNEL_DIMS(3), (float[]){1, 2, 3}),
                         kernel_value(HR_F32, KERNEL_SCALAR, (float[]){10})};
    const hlo_shape_t *parts[] = {kernel_shape(&k, HR_F32, KERNEL_DIMS(3)),
                                  hlo_shape_scalar(HR_F32)};
    hlo_attr_t attrs[] = {KERNEL_INTS(DIMENSIONS, 0),
                          KERNEL_INT(NUM_CARRIES, 1),
                          {.key = HLO_ATTR_IS_REVERSE, .flag = reverse}};
    hlo_computation_t *body = kernel_body(&k);
    hlo_value_t *out =
        kernel_run(&k, HLO_SCAN, kernel_tuple_shape(&k, 2, parts), 2, in, 3, attrs, 1, &body);
    CU_ASSERT_TRUE(kernel_is(out->elements[0], HR_F32, KERNEL_DIMS(3),
                             reverse ? (float[]){16, 15, 13} : (float[]){11, 13, 16}));
    CU_ASSERT_EQUAL(*(float *)out->elements[1]->data, 16);
    hlo_value_release(out);
    hlo_value_release(in[0]);
    hlo_value_release(in[1]);
    kernel_env_deinit(&k);
  }
}

CU_TestInfo suite_reduce[] = {{"small sums", small_sums},
                              {"empty is init", empty_is_init},
                              {"random sums", random_sums},
                              {"long sums are exact", long_sums_are_exact},
                              {"argmaxes", argmaxes},
                              {"promoted operands", promoted_operands},
                              {"scans", scans},
                              CU_TEST_INFO_NULL};
