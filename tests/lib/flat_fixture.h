/* Programs under the flat plan, for unit tests: a text becomes a module, a plan, a flat plan and
 * two machines. Generated code is played by a few loops (`fixture_native`), so that steps are
 * native where the real engine's would be. */
#ifndef HLO_TESTS_FLAT_FIXTURE_H
#define HLO_TESTS_FLAT_FIXTURE_H

#include <string.h>

#include "base/mem.h"
#include "exec/compiled.h"
#include "ops/rules/verify.h"
#include "plan/flat.h"
#include "read_text.h"
#include "unit.h"

typedef struct flat_fixture {
  hlo_module_t *module;
  plan_t *plan;
  flat_plan_t *flat;
  exec_machine_t *reference;
  exec_compiled_t *compiled;
} flat_fixture_t;

/* --- the code generator of the tests: add, multiply, compare and dynamic-update-slice of f32 and
 * s32 lines --- */

typedef struct fixture_code {
  hlo_opcode_t op;
  bool is_float;
  int direction;
  int64_t count, update_count, steps[2]; /* steps: 0 for a scalar operand */
} fixture_code_t;

/* Declines all but the operations of fixture_code_t. */
static inline hr_status_t fixture_prepare(const op_native_target_t *target, const op_step_t *step,
                                          op_native_step_t *out) {
  static const uint64_t elementwise[1] = {3}, update[1] = {1};
  const hlo_instr_t *instr = step->instr;
  const hlo_shape_t *first = instr->operand_count ? step->in_shapes[0] : NULL;
  fixture_code_t *code;
  bool is_update = instr->op == HLO_DYNAMIC_UPDATE_SLICE;
  if (!first || (first->dtype != HR_F32 && first->dtype != HR_S32)) return NULL;
  if (is_update ? first->rank != 1
                : instr->op != HLO_ADD && instr->op != HLO_MULTIPLY && instr->op != HLO_COMPARE)
    return NULL;
  HR_TRY(HR_NEW(target->arena, &code));
  *code = (fixture_code_t){.op = instr->op, .is_float = first->dtype == HR_F32};
  HR_TRY(hlo_shape_count(step->out_shape, &code->count));
  for (int k = 0; k < 2; k++) {
    int64_t count;
    HR_TRY(hlo_shape_count(step->in_shapes[k], &count));
    code->steps[k] = count == code->count;
    if (k == 1) code->update_count = count;
  }
  if (instr->op == HLO_COMPARE) code->direction = hlo_attr_enum(instr, HLO_ATTR_DIRECTION);
  out->plan = code;
  out->reuse = is_update ? update : elementwise;
  if (instr->op == HLO_COMPARE && !is_update) out->reuse = NULL;
  return NULL;
}

#define FIXTURE_LOOP(T, expression)                                                           \
  for (int64_t i = 0; i < code->count; i++) {                                                 \
    T a = ((const T *)in[0])[i * code->steps[0]], b = ((const T *)in[1])[i * code->steps[1]]; \
    ((T *)out[0])[i] = expression;                                                            \
  }

/* The start of an update is clamped, as in HLO. */
static inline hr_status_t fixture_run(const op_native_run_t *run, const void *plan, void *const *in,
                                      void *const *out) {
  const fixture_code_t *code = plan;
  (void)run;
  if (code->op == HLO_COMPARE) {
    *(uint8_t *)out[0] = code->direction == HLO_DIRECTION_LT
                             ? *(const int32_t *)in[0] < *(const int32_t *)in[1]
                             : *(const int32_t *)in[0] > *(const int32_t *)in[1];
  } else if (code->op == HLO_DYNAMIC_UPDATE_SLICE) {
    int64_t start = *(const int32_t *)in[2], last = code->count - code->update_count;
    if (start > last) start = last;
    if (start < 0) start = 0;
    if (in[0] != out[0]) memmove(out[0], in[0], (size_t)code->count * 4);
    memmove((char *)out[0] + start * 4, in[1], (size_t)code->update_count * 4);
  } else if (code->is_float) {
    bool adds = code->op == HLO_ADD;
    FIXTURE_LOOP(float, adds ? a + b : a *b)
  } else {
    bool adds = code->op == HLO_ADD;
    FIXTURE_LOOP(uint32_t, adds ? a + b : a * b)
  }
  return NULL;
}

static const op_native_t fixture_native = {"fixture", fixture_prepare, fixture_run};

/* --- programs --- */

static inline hr_status_t fixture_load(const char *text, const op_native_t *emitter,
                                       flat_fixture_t *f) {
  flat_options_t options = {.workers = 1, .emitter = emitter};
  exec_machine_options_t machine = {0};
  exec_compiled_options_t compiled = {.check = emitter != NULL};
  memset(f, 0, sizeof *f);
  HR_TRY(read_text(text, &f->module));
  HR_TRY(hlo_verify(f->module));
  HR_TRY(plan_create(f->module, (plan_grid_t){1, 1}, &f->plan));
  HR_TRY(flat_plan_create(f->plan, &options, &f->flat));
  HR_TRY(exec_machine_create(f->plan, &machine, &f->reference));
  return f->flat->is_reference ? NULL : exec_compiled_create(f->flat, &compiled, &f->compiled);
}

static inline void fixture_deinit(flat_fixture_t *f) {
  exec_compiled_destroy(f->compiled);
  exec_machine_destroy(f->reference);
  flat_plan_destroy(f->flat);
  plan_destroy(f->plan);
  hlo_module_destroy(f->module);
}

/* An array of the parameter's shape: small integers, different for each parameter. */
static inline hlo_value_t *fixture_argument(const flat_fixture_t *f, int p) {
  const hlo_shape_t *shape = f->module->entry->params.data[p]->shape;
  hlo_value_t *value = NULL;
  CHECK_OK(hlo_value_zeros(shape, &value));
  for (int64_t i = 0; i < value->count; i++) {
    int number = (int)(i * 3 + p * 7 + 1) % 11;
    if (value->dtype == HR_F32) ((float *)value->data)[i] = (float)number;
    if (value->dtype == HR_S32) ((int32_t *)value->data)[i] = number;
    if (value->dtype == HR_PRED) ((uint8_t *)value->data)[i] = number & 1;
  }
  return value;
}

#define FIXTURE_MAX 160

/* The reference engine's results. */
static inline void fixture_expect(flat_fixture_t *f, hlo_value_t **out_results) {
  hlo_value_t *args[FIXTURE_MAX], *root = NULL;
  for (int p = 0; p < f->flat->param_count; p++) args[p] = fixture_argument(f, p);
  CHECK_OK(exec_machine_run(f->reference, args, &root));
  for (int r = 0; r < f->flat->result_count; r++)
    out_results[r] = hlo_value_retain(hlo_value_leaf(root, r));
  hlo_value_release(root);
}

/* Runs the compiled engine, giving every argument away or none, and compares with the reference
 * engine. */
static inline void fixture_compare(flat_fixture_t *f, bool give_away) {
  hlo_value_t *args[FIXTURE_MAX], *got[FIXTURE_MAX], *want[FIXTURE_MAX];
  bool donate[FIXTURE_MAX];
  fixture_expect(f, want);
  for (int p = 0; p < f->flat->param_count; p++) {
    args[p] = fixture_argument(f, p);
    donate[p] = give_away;
  }
  CHECK_OK(exec_compiled_run(f->compiled, args, give_away ? donate : NULL, got));
  for (int p = 0; p < f->flat->param_count && !give_away; p++) {
    hlo_value_t *before = fixture_argument(f, p);
    CU_ASSERT(hlo_value_equal(args[p], before));
    hlo_value_release(before);
    hlo_value_release(args[p]);
  }
  for (int r = 0; r < f->flat->result_count; r++) {
    CU_ASSERT_FATAL(got[r] != NULL);
    CU_ASSERT(hlo_value_equal(got[r], want[r]));
    hlo_value_release(got[r]);
    hlo_value_release(want[r]);
  }
}

static inline int fixture_count(const flat_fixture_t *f, flat_kind_t kind) {
  int count = 0;
  for (int s = 0; s < f->flat->step_count; s++) count += f->flat->steps[s].kind == kind;
  return count;
}

/* Both engines agree, with native steps and with reference steps, from kept and from donated
 * arguments, several times. Gives the number of copies that the plan with native steps has. */
static inline int fixture_agree(const char *text) {
  size_t live = hr_mem_live_blocks();
  int copies = 0;
  for (int native = 0; native < 2; native++) {
    flat_fixture_t f;
    CHECK_OK(fixture_load(text, native ? &fixture_native : NULL, &f));
    CU_ASSERT_FATAL(f.compiled != NULL);
    for (int run = 0; run < 4; run++) fixture_compare(&f, run & 1);
    copies = fixture_count(&f, FLAT_COPY);
    fixture_deinit(&f);
  }
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
  return copies;
}

#endif
