/* Native sorts and selections against the reference: keys of every type, ties, long lines. */
#include "ops/rules/builder.h"
#include "tests/lib/native_harness.h"

static hlo_instr_t *constant(kernel_env_t *k, hlo_computation_t *body, hr_dtype_t dtype,
                             double number) {
  uint64_t bits = hr_float_encode(dtype, number);
  hlo_value_t *value = kernel_value(dtype, KERNEL_SCALAR, &bits);
  hlo_instr_def_t def = {
      .op = HLO_CONSTANT, .name = HR_STR("c"), .shape = hlo_shape_scalar(dtype), .literal = value};
  char name[32];
  snprintf(name, sizeof name, "c%d", k->next_name++);
  def.name = hr_str_from(name);
  hlo_instr_t *instr = NULL;
  CU_ASSERT_PTR_NULL_FATAL(hlo_module_adopt_value(k->module, value));
  CU_ASSERT_PTR_NULL_FATAL(hlo_instr_add(body, &def, &instr));
  return instr;
}

static hlo_instr_t *compare(kernel_env_t *k, hlo_computation_t *body, int direction, int type,
                            hlo_instr_t *a, hlo_instr_t *b) {
  hlo_attr_t attrs[] = {KERNEL_INT(DIRECTION, direction), KERNEL_INT(TYPE, type)};
  return kernel_instr(k, body, HLO_COMPARE, hlo_shape_scalar(HR_PRED), 2, (hlo_instr_t *[]){a, b},
                      2, attrs, 0, NULL);
}

static int plain_type(hr_dtype_t dtype) {
  return hr_dtype_is_float(dtype)                   ? HLO_COMPARISON_FLOAT
         : hr_dtype_class(dtype) == HR_CLASS_SIGNED ? HLO_COMPARISON_SIGNED
                                                    : HLO_COMPARISON_UNSIGNED;
}

/* select(x != x, nan, select(x == 0, 0, x)), as JAX writes it. */
static hlo_instr_t *canonical(kernel_env_t *k, hlo_computation_t *body, hr_dtype_t dtype,
                              hlo_instr_t *x) {
  hlo_instr_t *zero = constant(k, body, dtype, 0), *nan = constant(k, body, dtype, NAN);
  hlo_instr_t *is_nan = compare(k, body, HLO_DIRECTION_NE, HLO_COMPARISON_FLOAT, x, x);
  hlo_instr_t *is_zero = compare(k, body, HLO_DIRECTION_EQ, HLO_COMPARISON_FLOAT, x, zero);
  hlo_instr_t *inner = kernel_instr(k, body, HLO_SELECT, hlo_shape_scalar(dtype), 3,
                                    (hlo_instr_t *[]){is_zero, zero, x}, 0, NULL, 0, NULL);
  return kernel_instr(k, body, HLO_SELECT, hlo_shape_scalar(dtype), 3,
                      (hlo_instr_t *[]){is_nan, nan, inner}, 0, NULL, 0, NULL);
}

typedef enum form { PLAIN, TOTAL, CANONICAL, NEGATED, FORMS } form_t;

typedef struct order {
  int operands, keys; /* the first `keys` operands are keys */
  hr_dtype_t dtypes[4];
  form_t form;
  bool descending, stable;
} order_t;

static hlo_instr_t *key_of(kernel_env_t *k, hlo_computation_t *body, const order_t *order,
                           int operand, int side) {
  hr_dtype_t dtype = order->dtypes[operand];
  hlo_instr_t *x = body->params.data[2 * operand + side];
  if (order->form == CANONICAL && hr_dtype_is_float(dtype)) return canonical(k, body, dtype, x);
  if (order->form == NEGATED)
    return kernel_instr(k, body, hr_dtype_is_float(dtype) ? HLO_NEGATE : HLO_NOT,
                        hlo_shape_scalar(dtype), 1, (hlo_instr_t *[]){x}, 0, NULL, 0, NULL);
  return x;
}

/* less0 | (equal0 & (less1 | ...)) */
static hlo_instr_t *lexicographic(kernel_env_t *k, hlo_computation_t *body, const order_t *order,
                                  int from) {
  hr_dtype_t dtype = order->dtypes[from];
  hlo_instr_t *a = key_of(k, body, order, from, 0), *b = key_of(k, body, order, from, 1);
  int type = order->form == PLAIN || !hr_dtype_is_float(dtype) ? plain_type(dtype)
                                                               : HLO_COMPARISON_TOTALORDER;
  int direction = order->descending ? HLO_DIRECTION_GT : HLO_DIRECTION_LT;
  hlo_instr_t *less = compare(k, body, direction, type, a, b);
  if (from + 1 == order->keys) return less;
  hlo_instr_t *equal = compare(k, body, HLO_DIRECTION_EQ, type, a, b);
  hlo_instr_t *rest = lexicographic(k, body, order, from + 1);
  const hlo_shape_t *pred = hlo_shape_scalar(HR_PRED);
  hlo_instr_t *both =
      kernel_instr(k, body, HLO_AND, pred, 2, (hlo_instr_t *[]){equal, rest}, 0, NULL, 0, NULL);
  return kernel_instr(k, body, HLO_OR, pred, 2, (hlo_instr_t *[]){less, both}, 0, NULL, 0, NULL);
}

static hlo_computation_t *comparator(kernel_env_t *k, const order_t *order) {
  hlo_computation_t *body = kernel_body(k);
  for (int p = 0; p < 2 * order->operands; p++)
    kernel_parameter(k, body, p, hlo_shape_scalar(order->dtypes[p / 2]));
  body->root = lexicographic(k, body, order, 0);
  return body;
}

static bool check_order(const order_t *order, int rank, const int64_t *dims, int64_t d) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_computation_t *body = comparator(&k, order);
  hlo_value_t *values[4];
  const hlo_shape_t *parts[4];
  for (int i = 0; i < order->operands; i++) {
    values[i] = kernel_value(order->dtypes[i], rank, dims, NULL);
    parts[i] = kernel_shape(&k, order->dtypes[i], rank, dims);
    native_fill(values[i], true);
    if (i > 0 && i >= order->keys && order->dtypes[i] == HR_S32)
      for (int64_t j = 0; j < values[i]->count; j++)
        ((int32_t *)values[i]->data)[j] = (int32_t)(j % dims[rank - 1]);
  }
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_DIMENSIONS, .ints = {&d, 1}},
                        {.key = HLO_ATTR_IS_STABLE, .flag = order->stable}};
  const hlo_shape_t *shape =
      order->operands == 1 ? parts[0] : kernel_tuple_shape(&k, order->operands, parts);
  bool accepted = native_check(&k, 0, HLO_SORT, shape, order->operands, values, 2, attrs, 1, &body);
  for (int i = 0; i < order->operands; i++) hlo_value_release(values[i]);
  kernel_env_deinit(&k);
  return accepted;
}

static const hr_dtype_t types[] = {HR_PRED, HR_S4,  HR_S8,     HR_U8,         HR_S16,      HR_U16,
                                   HR_S32,  HR_U32, HR_S64,    HR_U64,        HR_F16,      HR_BF16,
                                   HR_F32,  HR_F64, HR_F8E5M2, HR_F8E4M3FNUZ, HR_F8E8M0FNU};
#define TYPES (int)(sizeof types / sizeof *types)

static void one_key_of_every_type(void) {
  srand(1);
  for (int t = 0; t < TYPES; t++)
    for (int form = 0; form < FORMS; form++)
      for (int bits = 0; bits < 4; bits++)
        for (int operands = 1; operands <= 2; operands++) {
          order_t order = {operands, 1, {types[t], HR_S32}, (form_t)form, bits & 1, bits & 2};
          if (form == CANONICAL && (!hr_dtype_is_float(types[t]) || hr_dtype_bytes(types[t]) == 1))
            continue;
          CU_ASSERT_TRUE(check_order(&order, KERNEL_DIMS(3, 97), 1));
        }
}

static void lines_along_any_dimension(void) {
  static const int64_t sizes[][3] = {{1, 1, 1}, {3, 17, 2}, {1, 300, 1}, {2, 1, 5},  {40, 33, 3},
                                     {0, 3, 2}, {2, 0, 3},  {7, 600, 5}, {20, 3, 40}};
  srand(2);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int64_t d = 0; d < 3; d++)
      for (int form = 0; form < FORMS; form++) {
        order_t one = {1, 1, {HR_F32}, (form_t)form, rand() % 2, rand() % 2};
        order_t two = {2, 1, {HR_F32, HR_S32}, (form_t)form, rand() % 2, true};
        order_t three = {3, 1, {HR_F64, HR_C128, HR_U8}, (form_t)form, rand() % 2, rand() % 2};
        CU_ASSERT_TRUE(check_order(&one, 3, sizes[i], d));
        CU_ASSERT_TRUE(check_order(&two, 3, sizes[i], d));
        CU_ASSERT_TRUE(check_order(&three, 3, sizes[i], d));
      }
}

static void several_keys(void) {
  srand(3);
  for (int round = 0; round < 40; round++) {
    order_t order = {
        .operands = 4, .form = (form_t)(rand() % FORMS), .stable = true, .descending = rand() % 2};
    static const hr_dtype_t of[] = {HR_PRED, HR_S8, HR_U16, HR_S32, HR_F32, HR_F64};
    if (order.form == PLAIN) order.form = TOTAL;
    for (int i = 0; i < 4; i++) order.dtypes[i] = of[rand() % 6];
    order.keys = 1 + rand() % 4;
    CU_ASSERT_TRUE(check_order(&order, KERNEL_DIMS(2, 500), 1));
  }
}

/* Many short lines: several at a time, the last ones of a group alone, with zeros and NaNs of both
 * signs, up to the longest that are sorted so and beyond. */
static void short_lines(void) {
  static const int64_t counts[] = {2, 3, 5, 8, 16, 31, 100, 511, 512, 513};
  srand(6);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    for (int t = 0; t < TYPES; t++) {
      int form = t % 2 ? PLAIN : CANONICAL;
      if (form == CANONICAL && (!hr_dtype_is_float(types[t]) || hr_dtype_bytes(types[t]) == 1))
        form = TOTAL;
      order_t one = {1, 1, {types[t]}, (form_t)form, rand() % 2, rand() % 3};
      order_t two = {2, 1, {types[t], i % 2 ? HR_S32 : HR_C128}, (form_t)form, rand() % 2, true};
      int64_t lines = 1 + rand() % (counts[i] > 100 ? 20 : 70);
      CU_ASSERT_TRUE(check_order(&one, KERNEL_DIMS(lines, counts[i]), 1));
      CU_ASSERT_TRUE(check_order(&two, KERNEL_DIMS(lines, counts[i]), 1));
      CU_ASSERT_TRUE(check_order(&one, KERNEL_DIMS(2, counts[i], lines), 1));
      CU_ASSERT_TRUE(check_order(&two, KERNEL_DIMS(2, counts[i], lines), 1));
    }
}

/* Lines that all workers sort together; equal keys, one key, few keys. */
static void long_lines(void) {
  srand(4);
  for (int round = 0; round < 12; round++) {
    order_t one = {
        1, 1, {types[round % TYPES]}, round % 2 ? PLAIN : TOTAL, round & 1, round % 3 > 0};
    order_t two = {2,         1,         {round % 2 ? HR_F32 : HR_S64, HR_S32},
                   CANONICAL, round & 1, round % 3 > 0};
    CU_ASSERT_TRUE(check_order(&one, KERNEL_DIMS(40000), 0));
    CU_ASSERT_TRUE(check_order(&two, KERNEL_DIMS(40001), 0));
    CU_ASSERT_TRUE(check_order(&two, KERNEL_DIMS(33000, 2), 0));
  }
}

static void declines_what_is_no_key(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_computation_t *body = kernel_compare_body(&k, HLO_DIRECTION_LT, 0, HR_S32, 2, 0, 1);
  kernel_instr(&k, body, HLO_OR, hlo_shape_scalar(HR_PRED), 2,
               (hlo_instr_t *[]){body->root, body->root}, 0, NULL, 0, NULL);
  hlo_value_t *value = kernel_value(HR_S32, KERNEL_DIMS(5), NULL);
  hlo_attr_t attr = KERNEL_INTS(DIMENSIONS, 0);
  CU_ASSERT_FALSE(native_check(&k, 0, HLO_SORT, kernel_shape(&k, HR_S32, KERNEL_DIMS(5)), 1, &value,
                               1, &attr, 1, &body));
  hlo_value_release(value);
  kernel_env_deinit(&k);
}

static void check_top(hr_dtype_t dtype, int64_t lines, int64_t count, int64_t top, bool largest,
                      bool by_call) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in = kernel_value(dtype, KERNEL_DIMS(lines, count), NULL);
  native_fill(in, true);
  const hlo_shape_t *parts[] = {kernel_shape(&k, dtype, KERNEL_DIMS(lines, top)),
                                kernel_shape(&k, HR_S32, KERNEL_DIMS(lines, top))};
  hlo_attr_t attrs[] = {KERNEL_INT(K, top), {.key = HLO_ATTR_LARGEST, .flag = largest}};
  hlo_attr_t call[] = {{.key = HLO_ATTR_CUSTOM_CALL_TARGET, .text = HR_STR("TopK")}};
  CU_ASSERT_TRUE(native_check(&k, 0, by_call ? HLO_CUSTOM_CALL : HLO_TOPK,
                              kernel_tuple_shape(&k, 2, parts), 1, &in, by_call ? 1 : 2,
                              by_call ? call : attrs, 0, NULL));
  hlo_value_release(in);
  kernel_env_deinit(&k);
}

static void selects(void) {
  srand(5);
  for (int round = 0; round < 200; round++) {
    int64_t count = rand() % (round % 5 ? 300 : 9000), top = 0;
    if (count) top = rand() % (round % 3 ? 20 : count);
    check_top(types[rand() % TYPES], rand() % 5, count, top > count ? count : top, rand() % 2,
              false);
  }
  check_top(HR_F32, 1, 100000, 10, true, true);
  check_top(HR_F64, 1, 100001, 1000, true, false);
  check_top(HR_S32, 3, 200000, 100, false, false);
}

CU_TestInfo suite_native_sort[] = {{"one key of every type", one_key_of_every_type},
                                   {"short lines", short_lines},
                                   {"lines along any dimension", lines_along_any_dimension},
                                   {"several keys", several_keys},
                                   {"long lines", long_lines},
                                   {"selects", selects},
                                   {"declines what is no key", declines_what_is_no_key},
                                   CU_TEST_INFO_NULL};
