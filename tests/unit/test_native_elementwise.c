#include "tests/unit/native_driver.h"
#include "tests/unit/unit.h"

static hlo_instr_t *operand_of(native_env_t *env, hr_dtype_t dtype, int64_t count) {
  const hlo_shape_t *shape = kernel_shape(&env->k, dtype, 1, &count);
  return kernel_parameter(&env->k, env->k.entry, (int)env->k.entry->params.count, shape);
}

static int wrong(native_env_t *env, uint64_t *seed, hlo_opcode_t op, hr_dtype_t result, const hr_dtype_t *types,
                 int operand_count, int64_t count, int *declined) {
  hlo_instr_t *operands[3];
  for (int k = 0; k < operand_count; k++) operands[k] = operand_of(env, types[k], count);
  const hlo_shape_t *shape = kernel_shape(&env->k, result, 1, &count);
  const hlo_instr_t *instr =
      kernel_instr(&env->k, env->k.entry, op, shape, operand_count, operands, 0, NULL, 0, NULL);
  bool fine = native_agrees(env, seed, instr, declined);
  if (!fine) printf("    %s of %ld\n", hlo_op_name(op), (long)count);
  return !fine;
}

/* Sizes of no, one and many parts, none of them a multiple of a vector. */
static void complex_numbers(void) {
  static const hlo_opcode_t unary[] = {HLO_NEGATE, HLO_EXPONENTIAL, HLO_SQRT};
  static const hlo_opcode_t binary[] = {HLO_ADD, HLO_SUBTRACT, HLO_MULTIPLY, HLO_DIVIDE, HLO_MAXIMUM};
  static const hlo_opcode_t parts[] = {HLO_REAL, HLO_IMAG, HLO_ABS};
  native_env_t env;
  uint64_t seed = 1;
  int bad = 0, declined = 0;
  native_env_init(&env, 2);
  for (int i = 0; i < 8; i++) {
    hr_dtype_t type = i % 2 ? HR_C128 : HR_C64, real = hr_dtype_real(type);
    hr_dtype_t same[] = {type, type}, reals[] = {real, real}, choice[] = {HR_PRED, type, type};
    int64_t count = (int64_t[]){0, 3, 8195, 40001}[i / 2];
    for (int k = 0; k < 3; k++) bad += wrong(&env, &seed, unary[k], type, same, 1, count, &declined);
    for (int k = 0; k < 5; k++) bad += wrong(&env, &seed, binary[k], type, same, 2, count, &declined);
    for (int k = 0; k < 3; k++) bad += wrong(&env, &seed, parts[k], real, same, 1, count, &declined);
    bad += wrong(&env, &seed, HLO_COMPLEX, type, reals, 2, count, &declined);
    bad += wrong(&env, &seed, HLO_SELECT, type, choice, 3, count, &declined);
  }
  CU_ASSERT_EQUAL(bad, 0);
  CU_ASSERT_EQUAL(declined, 0);
  native_env_deinit(&env);
}

/* Generated code does those. */
static void real_numbers_are_declined(void) {
  native_env_t env;
  uint64_t seed = 2;
  int declined = 0;
  native_env_init(&env, 1);
  CU_ASSERT_EQUAL(wrong(&env, &seed, HLO_ADD, HR_F32, (hr_dtype_t[]){HR_F32, HR_F32}, 2, 100, &declined), 0);
  CU_ASSERT_EQUAL(wrong(&env, &seed, HLO_ABS, HR_S32, (hr_dtype_t[]){HR_S32}, 1, 100, &declined), 0);
  CU_ASSERT_EQUAL(declined, 2);
  native_env_deinit(&env);
}

CU_TestInfo suite_native_elementwise[] = {{"complex numbers", complex_numbers},
                                          {"real numbers are declined", real_numbers_are_declined},
                                          CU_TEST_INFO_NULL};
