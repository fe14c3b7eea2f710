/* Random numbers: known values of Philox and Threefry, distributions, streams over several
 * executions. */
#include <math.h>

#include "tests/lib/kernel_env.h"
#include "tests/lib/unit.h"

/* --- rng-bit-generator ------------------------------------------------------------------------ */

#define KEY UINT64_C(0x0123456789abcdef)

/* Runs the generator and compares the new state and the bits; the expected numbers come from
 * XLA:CPU. */
static void check_bits(int algorithm, int words, const uint64_t *state, const uint64_t *new_state,
                       hr_dtype_t type, int rank, const int64_t *dims, const void *bits) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *in = kernel_value(HR_U64, 1, (int64_t[]){words}, state);
  const hlo_shape_t *parts[] = {kernel_shape(&k, HR_U64, 1, (int64_t[]){words}),
                                kernel_shape(&k, type, rank, dims)};
  hlo_attr_t attr = KERNEL_INT(RNG_ALGORITHM, algorithm);
  hlo_value_t *out = kernel_run(&k, HLO_RNG_BIT_GENERATOR, kernel_tuple_shape(&k, 2, parts), 1, &in,
                                1, &attr, 0, NULL);
  CU_ASSERT(kernel_is(out->elements[0], HR_U64, 1, (int64_t[]){words}, new_state));
  CU_ASSERT(kernel_is(out->elements[1], type, rank, dims, bits));
  CU_ASSERT_EQUAL(memcmp(in->data, state, (size_t)words * 8), 0);
  hlo_value_release(out);
  hlo_value_release(in);
  kernel_env_deinit(&k);
}
#define STATE(...) \
  (int)(sizeof((uint64_t[]){__VA_ARGS__}) / 8), (uint64_t[]) { __VA_ARGS__ }
#define NEW_STATE(...) \
  (uint64_t[]) { __VA_ARGS__ }

static void philox(void) {
  check_bits(HLO_RNG_ALGORITHM_PHILOX, STATE(KEY, 0xfedcba9876543210),
             NEW_STATE(KEY, 0xfedcba9876543212), HR_U32, KERNEL_DIMS(6),
             (uint32_t[]){0x1ec53d42, 0xcfa390b5, 0xf2235702, 0xe71ff917, 0xcb472319, 0xd682777a});
  check_bits(HLO_RNG_ALGORITHM_PHILOX, STATE(KEY, UINT64_MAX, 5), NEW_STATE(KEY, 1, 6), HR_U64,
             KERNEL_DIMS(3),
             (uint64_t[]){0xea2026eef02791c6, 0xc174f57d4fe73934, 0x6ae9fc6315706cf1});
  check_bits(HLO_RNG_ALGORITHM_PHILOX, STATE(KEY, UINT64_MAX), NEW_STATE(KEY, 1), HR_U8,
             KERNEL_DIMS(5), (uint8_t[]){0xf3, 0xe0, 0x89, 0x7c, 0x64});
  check_bits(HLO_RNG_ALGORITHM_DEFAULT, STATE(1, 2), NEW_STATE(1, 4), HR_U4, KERNEL_DIMS(5),
             (uint8_t[]){9, 8, 7, 9, 14});
  check_bits(HLO_RNG_ALGORITHM_DEFAULT, STATE(1, 2), NEW_STATE(1, 4), HR_S4, KERNEL_DIMS(5),
             (int8_t[]){-7, -8, 7, -7, -2});
  check_bits(HLO_RNG_ALGORITHM_DEFAULT, STATE(1, 2), NEW_STATE(1, 2), HR_U32, KERNEL_DIMS(3, 0),
             NULL);
}

static void threefry(void) {
  const uint32_t odd[] = {0xc8124617, 0x2077496e, 0xb530f815, 0xedce8403, 0x95fbb24b,
                          0xea74752e, 0x2b05d54b, 0xea2b23bf, 0x2c35630d, 0x39150ea8,
                          0x6c5a184d, 0x2243d3ef, 0x642c8d1d, 0x8f1c7399, 0x1b832cd0};
  check_bits(HLO_RNG_ALGORITHM_THREE_FRY, STATE(KEY, 7), NEW_STATE(KEY, 16), HR_U32,
             KERNEL_DIMS(3, 5), odd);
  check_bits(HLO_RNG_ALGORITHM_THREE_FRY, STATE(KEY, 7), NEW_STATE(KEY, 10), HR_U16,
             KERNEL_DIMS(3, 2), (uint16_t[]){0x4617, 0x496e, 0xf815, 0x8403, 0xb24b, 0xa180});
  check_bits(HLO_RNG_ALGORITHM_THREE_FRY, STATE(KEY, 7), NEW_STATE(KEY, 9), HR_F64, KERNEL_DIMS(2),
             (uint64_t[]){0x2077496ec8124617, 0xedce8403b530f815});
  check_bits(HLO_RNG_ALGORITHM_THREE_FRY, STATE(KEY, 7), NEW_STATE(KEY, 8), HR_U32, KERNEL_SCALAR,
             odd);
}

/* --- rng, and the state of instructions ------------------------------------------------------- */

typedef struct state_env {
  kernel_env_t k;
  uint64_t state[2];
} state_env_t;

static hr_status_t give_state(op_env_t *env, const hlo_instr_t *instr, size_t size_bytes,
                              void **out_state) {
  (void)instr;
  CU_ASSERT_FATAL(size_bytes <= sizeof(uint64_t[2]));
  *out_state = ((state_env_t *)env)->state; /* env is the first thing in kernel_env_t */
  return NULL;
}

static void state_env_init(state_env_t *s) {
  memset(s, 0, sizeof *s);
  kernel_env_init(&s->k);
  s->k.engine_ops.state = give_state;
  s->k.env.rng_seed = 42;
}

/* `count` numbers; a and b are one element each. */
static hlo_value_t *draw(state_env_t *s, int distribution, hr_dtype_t type, const void *a,
                         const void *b, int64_t count) {
  hlo_value_t *in[] = {kernel_value(type, KERNEL_SCALAR, a), kernel_value(type, KERNEL_SCALAR, b)};
  hlo_attr_t attr = KERNEL_INT(DISTRIBUTION, distribution);
  hlo_value_t *out =
      kernel_run(&s->k, HLO_RNG, kernel_shape(&s->k, type, 1, &count), 2, in, 1, &attr, 0, NULL);
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  return out;
}

static void uniform_floats(void) {
  enum { N = 20000 };
  state_env_t s;
  state_env_init(&s);
  hlo_value_t *out = draw(&s, HLO_DISTRIBUTION_UNIFORM, HR_F32, &(float){-2}, &(float){6}, N);
  const float *x = out->data;
  double sum = 0, squares = 0;
  for (int i = 0; i < N; i++) {
    CU_ASSERT_FATAL(x[i] >= -2 && x[i] < 6);
    sum += x[i];
    squares += (x[i] - 2) * (x[i] - 2);
  }
  CU_ASSERT(fabs(sum / N - 2) < 0.1 && fabs(squares / N - 64.0 / 12) < 0.2);
  hlo_value_release(out);
  kernel_env_deinit(&s.k);
}

/* Types so coarse that sums round to the upper limit: it is never reached. */
static void narrow_uniform(void) {
  static const hr_dtype_t types[] = {HR_BF16, HR_F16, HR_F8E4M3FN, HR_F8E5M2FNUZ, HR_F4E2M1FN};
  state_env_t s;
  state_env_init(&s);
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    uint16_t a = (uint16_t)hr_float_encode(types[t], -1),
             b = (uint16_t)hr_float_encode(types[t], 1);
    size_t bytes = hr_dtype_bytes(types[t]);
    hlo_value_t *out = draw(&s, HLO_DISTRIBUTION_UNIFORM, types[t], &a, &b, 2000);
    for (int64_t i = 0; i < 2000; i++) {
      uint16_t bits = 0;
      memcpy(&bits, (char *)out->data + (size_t)i * bytes, bytes);
      double x = hr_float_decode(types[t], bits);
      CU_ASSERT_FATAL(x >= -1 && x < 1);
    }
    hlo_value_release(out);
  }
  kernel_env_deinit(&s.k);
}

static void normal(void) {
  enum { N = 20001 };
  state_env_t s;
  state_env_init(&s);
  hlo_value_t *out = draw(&s, HLO_DISTRIBUTION_NORMAL, HR_F64, &(double){5}, &(double){2}, N);
  const double *x = out->data;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < N; i++) {
    double z = (x[i] - 5) / 2;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  CU_ASSERT(fabs(sum / N) < 0.04 && fabs(squares / N - 1) < 0.05 && fabs(fourth / N - 3) < 0.3);
  hlo_value_release(out);
  kernel_env_deinit(&s.k);
}

static void integers(void) {
  state_env_t s;
  state_env_init(&s);
  unsigned seen = 0;
  hlo_value_t *out = draw(&s, HLO_DISTRIBUTION_UNIFORM, HR_S4, (int8_t[]){-3}, (int8_t[]){4}, 1000);
  for (int i = 0; i < 1000; i++) {
    int x = ((int8_t *)out->data)[i];
    CU_ASSERT_FATAL(x >= -3 && x < 4);
    seen |= 1u << (x + 3);
  }
  CU_ASSERT_EQUAL(seen, 0x7f);
  hlo_value_release(out);
  out = draw(&s, HLO_DISTRIBUTION_UNIFORM, HR_S64, (int64_t[]){INT64_MIN}, (int64_t[]){INT64_MAX},
             64);
  int negative = 0;
  for (int i = 0; i < 64; i++) negative += ((int64_t *)out->data)[i] < 0;
  CU_ASSERT(negative > 16 && negative < 48);
  hlo_value_release(out);
  out = draw(&s, HLO_DISTRIBUTION_UNIFORM, HR_U8, (uint8_t[]){9}, (uint8_t[]){9},
             1); /* an empty interval */
  CU_ASSERT_EQUAL(*(uint8_t *)out->data, 9);
  hlo_value_release(out);
  out = draw(&s, HLO_DISTRIBUTION_UNIFORM, HR_PRED, (uint8_t[]){0}, (uint8_t[]){1}, 1000);
  int truths = 0;
  for (int i = 0; i < 1000; i++) truths += ((uint8_t *)out->data)[i];
  CU_ASSERT(truths > 400 && truths < 600);
  hlo_value_release(out);
  kernel_env_deinit(&s.k);
}

/* Executions go on in the stream; the same seed and state give the same numbers. */
static void streams_go_on(void) {
  hlo_value_t *out[3];
  state_env_t s, again;
  state_env_init(&s);
  state_env_init(&again);
  out[0] = draw(&s, HLO_DISTRIBUTION_UNIFORM, HR_F32, &(float){0}, &(float){1}, 7);
  out[1] = draw(&s, HLO_DISTRIBUTION_UNIFORM, HR_F32, &(float){0}, &(float){1}, 7);
  out[2] = draw(&again, HLO_DISTRIBUTION_UNIFORM, HR_F32, &(float){0}, &(float){1}, 7);
  CU_ASSERT_EQUAL(memcmp(out[0]->data, out[2]->data, 28), 0);
  CU_ASSERT_NOT_EQUAL(memcmp(out[0]->data, out[1]->data, 28), 0);
  CU_ASSERT_EQUAL(s.state[0], 4); /* blocks of four words */
  for (int i = 0; i < 3; i++) hlo_value_release(out[i]);
  kernel_env_deinit(&s.k);
  kernel_env_deinit(&again.k);
}

static void refuses(void) {
  state_env_t s;
  state_env_init(&s);
  hlo_value_t *in[] = {kernel_value(HR_S32, KERNEL_SCALAR, NULL),
                       kernel_value(HR_S32, KERNEL_SCALAR, NULL)},
              *out;
  hlo_attr_t attr = KERNEL_INT(DISTRIBUTION, HLO_DISTRIBUTION_NORMAL);
  hlo_instr_t *instr = kernel_build(&s.k, HLO_RNG, kernel_shape(&s.k, HR_S32, KERNEL_DIMS(2)), 2,
                                    in, 1, &attr, 0, NULL);
  CHECK_FAILS(HR_UNSUPPORTED, kernel_try(&s.k, instr, in, 0, &out));
  hlo_value_release(in[0]);
  hlo_value_release(in[1]);
  kernel_env_deinit(&s.k);
}

static void get_and_update_state(void) {
  state_env_t s;
  state_env_init(&s);
  hlo_attr_t attr = KERNEL_INT(DELTA, INT64_MAX);
  const uint64_t first[] = {117515157, 0}, third[] = {117515155, 1};
  for (int i = 0; i < 3; i++) {
    const hlo_shape_t *shape = kernel_shape(&s.k, HR_U64, KERNEL_DIMS(2));
    hlo_value_t *out =
        kernel_run(&s.k, HLO_RNG_GET_AND_UPDATE_STATE, shape, 0, NULL, 1, &attr, 0, NULL);
    if (i != 1) CU_ASSERT(kernel_is(out, HR_U64, KERNEL_DIMS(2), i ? third : first));
    hlo_value_release(out);
  }
  kernel_env_deinit(&s.k);
}

/* --- bitcast-convert -------------------------------------------------------------------------- */

static void check_bitcast(hr_dtype_t from, int from_rank, const int64_t *from_dims, const void *in,
                          hr_dtype_t to, int to_rank, const int64_t *to_dims, const void *want) {
  kernel_env_t k;
  kernel_env_init(&k);
  hlo_value_t *value = kernel_value(from, from_rank, from_dims, in);
  const hlo_shape_t *shape = kernel_shape(&k, to, to_rank, to_dims);
  hlo_value_t *out = kernel_run(&k, HLO_BITCAST_CONVERT, shape, 1, &value, 0, NULL, 0, NULL);
  CU_ASSERT(kernel_is(out, to, to_rank, to_dims, want));
  hlo_value_release(out);
  hlo_value_release(value);
  kernel_env_deinit(&k);
}

static void bitcasts(void) {
  check_bitcast(HR_F32, KERNEL_DIMS(2), (float[]){1, -2}, HR_U32, KERNEL_DIMS(2),
                (uint32_t[]){0x3f800000, 0xc0000000});
  check_bitcast(HR_U32, KERNEL_DIMS(1, 2), (uint32_t[]){1, 2}, HR_U64, KERNEL_DIMS(1),
                (uint64_t[]){0x200000001});
  check_bitcast(HR_U8, KERNEL_DIMS(2), (uint8_t[]){0x12, 0xf8}, HR_S4, KERNEL_DIMS(2, 2),
                (int8_t[]){2, 1, -8, -1});
  check_bitcast(HR_S4, KERNEL_DIMS(2, 2), (int8_t[]){2, 1, -8, -1}, HR_U8, KERNEL_DIMS(2),
                (uint8_t[]){0x12, 0xf8});
  check_bitcast(HR_U8, KERNEL_DIMS(1), (uint8_t[]){0xe4}, HR_U2, KERNEL_DIMS(1, 4),
                (uint8_t[]){0, 1, 2, 3});
  check_bitcast(HR_S2, KERNEL_DIMS(1, 2), (int8_t[]){1, -2}, HR_S4, KERNEL_DIMS(1), (int8_t[]){-7});
  check_bitcast(HR_S4, KERNEL_DIMS(3), (int8_t[]){-1, 7, -8}, HR_F4E2M1FN, KERNEL_DIMS(3),
                (uint8_t[]){15, 7, 8});
  check_bitcast(HR_U4, KERNEL_DIMS(1, 4), (uint8_t[]){1, 2, 3, 4}, HR_BF16, KERNEL_DIMS(1),
                (uint16_t[]){0x4321});
  check_bitcast(HR_U8, KERNEL_DIMS(3), (uint8_t[]){0x81, 0, 1}, HR_PRED, KERNEL_DIMS(3),
                (uint8_t[]){1, 0, 1});
  check_bitcast(HR_PRED, KERNEL_DIMS(4), (uint8_t[]){1, 0, 1, 1}, HR_U32, KERNEL_SCALAR,
                (uint32_t[]){0x01010001});
  check_bitcast(HR_PRED, KERNEL_DIMS(1, 4), (uint8_t[]){1, 0, 1, 1}, HR_U4, KERNEL_DIMS(1),
                (uint8_t[]){13});
}

CU_TestInfo suite_random[] = {{"Philox", philox},
                              {"Threefry", threefry},
                              {"uniform floats", uniform_floats},
                              {"narrow uniform floats", narrow_uniform},
                              {"normal", normal},
                              {"integers", integers},
                              {"streams go on", streams_go_on},
                              {"refuses", refuses},
                              {"rng-get-and-update-state", get_and_update_state},
                              {"bitcasts", bitcasts},
                              CU_TEST_INFO_NULL};
