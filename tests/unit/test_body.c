/* Bodies of reductions and the like that kernels run without the interpreter: which are
 * recognised, and what they give. */
#include "ops/kernels/elementwise/body.h"

#include <math.h>

#include "tests/lib/faults.h"
#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

static hlo_instr_t *scalar_op(kernel_env_t *k, hlo_computation_t *body, hlo_opcode_t op,
                              hr_dtype_t dtype, hlo_instr_t *a, hlo_instr_t *b) {
  hlo_instr_t *operands[] = {a, b};
  return kernel_instr(k, body, op, hlo_shape_scalar(dtype), b ? 2 : 1, operands, 0, NULL, 0, NULL);
}

static hlo_instr_t *parameter(kernel_env_t *k, hlo_computation_t *body, hr_dtype_t dtype) {
  return kernel_parameter(k, body, (int)body->params.count, hlo_shape_scalar(dtype));
}

static hlo_instr_t *constant(kernel_env_t *k, hlo_computation_t *body, float number) {
  hlo_value_t *value = kernel_value(HR_F32, KERNEL_SCALAR, &number);
  CU_ASSERT_PTR_NULL_FATAL(hlo_module_adopt_value(k->module, value));
  hlo_instr_t *instr =
      kernel_instr(k, body, HLO_CONSTANT, hlo_shape_scalar(HR_F32), 0, NULL, 0, NULL, 0, NULL);
  instr->literal = value;
  return instr;
}

static hlo_instr_t *tuple(kernel_env_t *k, hlo_computation_t *body, hlo_instr_t *a,
                          hlo_instr_t *b) {
  const hlo_shape_t *shapes[] = {a->shape, b->shape};
  hlo_instr_t *operands[] = {a, b};
  return kernel_instr(k, body, HLO_TUPLE, kernel_tuple_shape(k, 2, shapes), 2, operands, 0, NULL, 0,
                      NULL);
}

static hlo_instr_t *element(kernel_env_t *k, hlo_computation_t *body, hlo_instr_t *of, int index) {
  hlo_attr_t attr = KERNEL_INT(INDEX, index);
  return kernel_instr(k, body, HLO_GET_TUPLE_ELEMENT, of->shape->elements[index], 1, &of, 1, &attr,
                      0, NULL);
}

static hlo_instr_t *call(kernel_env_t *k, hlo_computation_t *body, hlo_computation_t *callee,
                         hlo_instr_t *a, hlo_instr_t *b) {
  hlo_instr_t *operands[] = {a, b};
  return kernel_instr(k, body, HLO_CALL, callee->root->shape, 2, operands, 0, NULL, 1, &callee);
}

static const op_body_t *prepare(kernel_env_t *k, const hlo_computation_t *computation) {
  const op_body_t *body = NULL;
  CHECK_OK(op_body_prepare(&k->module->arena, computation, &body));
  CU_ASSERT_PTR_NOT_NULL_FATAL(body);
  return body;
}

/* --- what a body is recognised as ------------------------------------------------------------- */

static void recognises_binary(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_opcode_t op;
  const ew_kernel_t *kernel;
  hlo_computation_t *add = kernel_binary_body(&k, HLO_ADD, HR_F32, 2, 0, 1);
  CU_ASSERT(op_body_is_binary(prepare(&k, add), &op, &kernel) && op == HLO_ADD);
  CU_ASSERT(op_body_is_binary(prepare(&k, kernel_binary_body(&k, HLO_MAXIMUM, HR_S4, 2, 1, 0)), &op,
                              &kernel));
  CU_ASSERT_EQUAL(op, HLO_MAXIMUM);
  CU_ASSERT_FALSE(op_body_is_binary(
      prepare(&k, kernel_binary_body(&k, HLO_SUBTRACT, HR_F32, 2, 0, 1)), &op, &kernel));
  CU_ASSERT_FALSE(op_body_is_binary(prepare(&k, kernel_binary_body(&k, HLO_ADD, HR_F32, 2, 0, 0)),
                                    &op, &kernel));
  hlo_computation_t *outer = kernel_body(&k);
  hlo_instr_t *a = parameter(&k, outer, HR_F32), *b = parameter(&k, outer, HR_F32);
  scalar_op(&k, outer, HLO_COPY, HR_F32, call(&k, outer, add, b, a), NULL);
  CU_ASSERT(op_body_is_binary(prepare(&k, outer), &op, &kernel) && op == HLO_ADD);
  hlo_computation_t *rounding = kernel_body(&k);
  a = parameter(&k, rounding, HR_F32);
  b = parameter(&k, rounding, HR_F32);
  scalar_op(&k, rounding, HLO_CONVERT, HR_BF16, scalar_op(&k, rounding, HLO_ADD, HR_F32, a, b),
            NULL);
  CU_ASSERT_FALSE(op_body_is_binary(prepare(&k, rounding), &op, &kernel));
  kernel_env_deinit(&k);
}

static void recognises_parameter(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  int which = -1;
  hlo_computation_t *second = kernel_body(&k);
  parameter(&k, second, HR_F32);
  hlo_instr_t *b = parameter(&k, second, HR_F32);
  scalar_op(&k, second, HLO_RESHAPE, HR_F32, b, NULL);
  CU_ASSERT(op_body_is_parameter(prepare(&k, second), &which) && which == 1);
  CU_ASSERT_FALSE(
      op_body_is_parameter(prepare(&k, kernel_binary_body(&k, HLO_ADD, HR_F32, 2, 0, 1)), &which));
  kernel_env_deinit(&k);
}

/* --- running in lanes ------------------------------------------------------------------------- */

/* (x, i) = max of two (value, index) pairs, with a call, a constant, a cast of bits, and an op that
 * nobody needs. */
static hlo_computation_t *pair_body(kernel_env_t *k) {
  hlo_computation_t *greater =
      kernel_compare_body(k, HLO_DIRECTION_GT, HLO_COMPARISON_FLOAT, HR_F32, 2, 0, 1);
  hlo_computation_t *body = kernel_body(k);
  hlo_instr_t *a = parameter(k, body, HR_F32), *i = parameter(k, body, HR_S32);
  hlo_instr_t *b = parameter(k, body, HR_F32), *j = parameter(k, body, HR_S32);
  scalar_op(k, body, HLO_EXPONENTIAL, HR_F32, a, NULL);
  hlo_instr_t *doubled = scalar_op(k, body, HLO_MULTIPLY, HR_F32, b, constant(k, body, 2));
  hlo_instr_t *first = call(k, body, greater, a, doubled);
  hlo_instr_t *x[] = {first, a, doubled}, *index[] = {first, i, j};
  hlo_instr_t *value =
      kernel_instr(k, body, HLO_SELECT, hlo_shape_scalar(HR_F32), 3, x, 0, NULL, 0, NULL);
  hlo_instr_t *place =
      kernel_instr(k, body, HLO_SELECT, hlo_shape_scalar(HR_S32), 3, index, 0, NULL, 0, NULL);
  hlo_instr_t *both = tuple(k, body, value, place);
  hlo_instr_t *bits =
      scalar_op(k, body, HLO_BITCAST_CONVERT, HR_S32, element(k, body, both, 0), NULL);
  hlo_instr_t *back = scalar_op(k, body, HLO_BITCAST_CONVERT, HR_F32, bits, NULL);
  tuple(k, body, back, element(k, body, both, 1));
  return body;
}

static void runs_pairs(void) {
  enum { N = 1000 };
  kernel_env_t k;
  kernel_env_init(&k);
  const op_body_t *body = prepare(&k, pair_body(&k));
  CU_ASSERT(op_body_param_count(body) == 4 && op_body_result_count(body) == 2);
  CU_ASSERT(op_body_param_dtype(body, 1) == HR_S32 && op_body_result_dtype(body, 0) == HR_F32);
  static float a[N], b[2 * N];
  static int32_t i[N], j[1] = {-1};
  for (int n = 0; n < N; n++) {
    a[n] = (float)(n * 37 % 101);
    b[2 * n] = (float)(n * 53 % 59);
    i[n] = n;
  }
  static float want[N];
  static int32_t want_place[N];
  for (int n = 0; n < N; n++) {
    bool first = a[n] > 2 * b[2 * n];
    want[n] = first ? a[n] : 2 * b[2 * n];
    want_place[n] = first ? i[n] : -1;
  }
  /* Results over the first two operands; the other two with steps 2 and 0. */
  CHECK_OK(op_body_run(&k.env, body, N, (const void *[]){a, i, b, j}, (int64_t[]){1, 1, 2, 0},
                       (void *[]){a, i}));
  CU_ASSERT_EQUAL(memcmp(a, want, sizeof want), 0);
  CU_ASSERT_EQUAL(memcmp(i, want_place, sizeof want_place), 0);
  kernel_env_deinit(&k);
}

/* A chain of a thousand steps keeps few values alive; one result in place, and single elements. */
static void runs_chains(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_computation_t *body = kernel_body(&k);
  hlo_instr_t *a = parameter(&k, body, HR_BF16), *b = parameter(&k, body, HR_BF16), *sum = a;
  for (int n = 0; n < 1000; n++)
    sum = scalar_op(&k, body, n % 2 ? HLO_SUBTRACT : HLO_ADD, HR_BF16, sum, b);
  scalar_op(&k, body, HLO_ADD, HR_BF16, sum, b);
  const op_body_t *chain = prepare(&k, body);
  uint16_t x[] = {0x3f80, 0x4000, 0x4040}, y[] = {0x3f80, 0x3f80, 0x3f80};
  CHECK_OK(op_body_run(&k.env, chain, 3, (const void *[]){x, y}, (int64_t[]){1, 1}, (void *[]){x}));
  CU_ASSERT(x[0] == 0x4000 && x[1] == 0x4040 && x[2] == 0x4080);
  CHECK_OK(op_body_run(&k.env, chain, 1, (const void *[]){x, y}, (int64_t[]){1, 1}, (void *[]){x}));
  CU_ASSERT_EQUAL(x[0], 0x4040);
  CHECK_OK(op_body_run(&k.env, chain, 0, (const void *[]){x, y}, (int64_t[]){1, 1}, (void *[]){x}));
  kernel_env_deinit(&k);
}

/* Constants and parameters as results are spread or gathered. */
static void returns_constants(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_computation_t *body = kernel_body(&k);
  hlo_instr_t *a = parameter(&k, body, HR_F32);
  tuple(&k, body, constant(&k, body, 5), a);
  float x[] = {1, 2, 3, 4, 5, 6}, fives[3], odd[3];
  CHECK_OK(op_body_run(&k.env, prepare(&k, body), 3, (const void *[]){x}, (int64_t[]){2},
                       (void *[]){fives, odd}));
  CU_ASSERT(fives[0] == 5 && fives[2] == 5 && odd[0] == 1 && odd[1] == 3 && odd[2] == 5);
  kernel_env_deinit(&k);
}

/* --- running by calls ------------------------------------------------------------------------- */

/* Plays the engine: gives (second argument, replica id). */
static hr_status_t swap_call(op_env_t *env, const hlo_computation_t *computation,
                             hlo_value_t **args, int arg_count, hlo_value_t **out_value) {
  (void)computation;
  uint32_t id = (uint32_t)env->replica;
  hlo_value_t *number = kernel_value(HR_U32, KERNEL_SCALAR, &id),
              *parts[] = {args[arg_count - 1], number};
  hr_status_t st =
      env->replica < 0 ? hr_error(HR_CANCELLED, "stop") : hlo_value_tuple(2, parts, out_value);
  hlo_value_release(number);
  for (int n = 0; n < arg_count; n++) hlo_value_release(args[n]);
  return st;
}

static void calls_what_is_not_elementwise(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  k.engine_ops.call = swap_call;
  k.env.replica = 3;
  hlo_computation_t *body = kernel_body(&k);
  parameter(&k, body, HR_F64);
  hlo_instr_t *b = parameter(&k, body, HR_F64);
  hlo_instr_t *id =
      kernel_instr(&k, body, HLO_REPLICA_ID, hlo_shape_scalar(HR_U32), 0, NULL, 0, NULL, 0, NULL);
  tuple(&k, body, b, id);
  const op_body_t *called = prepare(&k, body);
  double x[] = {1, 2}, y[] = {3, 4};
  uint32_t ids[2];
  CHECK_OK(op_body_run(&k.env, called, 2, (const void *[]){x, y}, (int64_t[]){1, 1},
                       (void *[]){x, ids}));
  CU_ASSERT(x[0] == 3 && x[1] == 4 && ids[0] == 3 && ids[1] == 3);
  k.env.replica = -1;
  CHECK_FAILS(HR_CANCELLED, op_body_run(&k.env, called, 2, (const void *[]){x, y},
                                        (int64_t[]){1, 1}, (void *[]){x, ids}));
  kernel_env_deinit(&k);
}

/* Calls that double at each of 60 levels are not inlined to the end. */
static void survives_doubling_calls(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  k.engine_ops.call = swap_call;
  hlo_computation_t *level = kernel_binary_body(&k, HLO_ADD, HR_F32, 2, 0, 1);
  for (int n = 0; n < 60; n++) {
    hlo_computation_t *next = kernel_body(&k);
    hlo_instr_t *a = parameter(&k, next, HR_F32), *b = parameter(&k, next, HR_F32);
    hlo_instr_t *inner = call(&k, next, level, a, b);
    call(&k, next, level, inner, b);
    level = next;
  }
  hlo_opcode_t op;
  const ew_kernel_t *kernel;
  CU_ASSERT_FALSE(op_body_is_binary(prepare(&k, level), &op, &kernel));
  kernel_env_deinit(&k);
}

static void refuses_arrays(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_computation_t *body = kernel_body(&k);
  kernel_parameter(&k, body, 0, kernel_shape(&k, HR_F32, KERNEL_DIMS(2)));
  const op_body_t *unused;
  CHECK_FAILS(HR_INVALID, op_body_prepare(&k.module->arena, body, &unused));
  kernel_env_deinit(&k);
}

static hr_status_t attempt_body(size_t n, void *context) {
  (void)context;
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_computation_t *computation = pair_body(&k);
  const op_body_t *body;
  hr_arena_t arena;
  hr_arena_init(&arena);
  faults_begin(n);
  hr_status_t st = op_body_prepare(&arena, computation, &body);
  faults_end();
  hr_arena_deinit(&arena);
  kernel_env_deinit(&k);
  return st;
}

static void survives_lack_of_memory(void) { CU_ASSERT(faults_try(attempt_body, NULL) > 0); }

/* --- map -------------------------------------------------------------------------------------- */

static void maps(void) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_computation_t *body = kernel_binary_body(&k, HLO_SUBTRACT, HR_S16, 2, 1, 0);
  hlo_value_t *in[] = {kernel_value(HR_S16, KERNEL_DIMS(2, 2), (int16_t[]){1, 2, 3, 4}),
                       kernel_value(HR_S16, KERNEL_DIMS(2, 2), (int16_t[]){10, 20, 30, 40})};
  hlo_attr_t attr = KERNEL_INTS(DIMENSIONS, 0, 1);
  hlo_value_t *out = kernel_run(&k, HLO_MAP, kernel_shape(&k, HR_S16, KERNEL_DIMS(2, 2)), 2, in, 1,
                                &attr, 1, &body);
  CU_ASSERT(kernel_is(out, HR_S16, KERNEL_DIMS(2, 2), (int16_t[]){9, 18, 27, 36}));
  hlo_value_release(out);
  for (int i = 0; i < 2; i++) hlo_value_release(in[i]);
  kernel_env_deinit(&k);
}

CU_TestInfo suite_body[] = {{"recognises binary ops", recognises_binary},
                            {"recognises a parameter", recognises_parameter},
                            {"runs pairs", runs_pairs},
                            {"runs chains", runs_chains},
                            {"returns constants", returns_constants},
                            {"calls what is not elementwise", calls_what_is_not_elementwise},
                            {"survives doubling calls", survives_doubling_calls},
                            {"refuses arrays", refuses_arrays},
                            {"survives lack of memory", survives_lack_of_memory},
                            {"maps", maps},
                            CU_TEST_INFO_NULL};
