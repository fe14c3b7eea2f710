/* States of FFI handlers: one of the instantiation lives as long as the program, others as long as
 * an execution. */
#include "ops/kernels/custom/ffi_abi.h"
#include "ops/query/custom_ffi.h"
#include "tests/lib/api_driver.h"

static int64_t type; /* type of the states, which count calls */
static int made, ended, counters[64];

static void end_state(void *object) {
  ended++;
  *(int *)object = -1;
}

static ffi_error_t *set_state(const ffi_frame_t *frame) {
  ffi_state_args_t args = {.struct_size = sizeof args,
                           .execution = frame->execution,
                           .stage = frame->stage,
                           .type_id = &type,
                           .state = &counters[made++ % 64]};
  *(int *)args.state = 0;
  return frame->api->state_set(&args);
}

static int *state_of(const ffi_frame_t *frame, int stage, const int64_t *type_id) {
  ffi_state_args_t args = {.struct_size = sizeof args,
                           .execution = frame->execution,
                           .stage = stage,
                           .type_id = type_id};
  ffi_error_t *error = frame->api->state_get(&args);
  ffi_error_args_t given = {.struct_size = sizeof given, .error = error};
  if (error) frame->api->error_destroy(&given);
  return error ? NULL : args.state;
}

static ffi_error_t *make_state(ffi_frame_t *frame) { return set_state(frame); }

/* Adds the number of this call of its state. */
static ffi_error_t *count_call(ffi_frame_t *frame) {
  static const int64_t other = 7;
  int *calls = state_of(frame, FFI_INSTANTIATE, &type);
  CU_ASSERT_PTR_NOT_NULL_FATAL(calls);
  CU_ASSERT_PTR_NULL(state_of(frame, FFI_INSTANTIATE, &other));
  const float *in = ((const ffi_buffer_t *)frame->args.buffers[0])->data;
  float *out = ((const ffi_buffer_t *)frame->rets.buffers[0])->data;
  *out = *in + (float)++*calls;
  return NULL;
}

/* The state of the stage before is there, and is this execution's own. */
static ffi_error_t *use_prepared(ffi_frame_t *frame) {
  int *calls = state_of(frame, FFI_PREPARE, &type);
  CU_ASSERT_PTR_NOT_NULL_FATAL(calls);
  CU_ASSERT_EQUAL(++*calls, 1);
  *(float *)((const ffi_buffer_t *)frame->rets.buffers[0])->data = 1;
  return NULL;
}

static void register_all(void) {
  const custom_ffi_bundle_t counts = {.instantiate = (void *)make_state,
                                      .execute = (void *)count_call},
                            prepared = {.prepare = (void *)make_state,
                                        .execute = (void *)use_prepared};
  made = ended = 0;
  CHECK_OK(custom_ffi_type(HR_STR("counter"), end_state, &type));
  CHECK_OK(custom_ffi_register(HR_STR("counts"), &counts));
  CHECK_OK(custom_ffi_register(HR_STR("prepared"), &prepared));
}

/* Runs the program of f32[] -> f32[] on 10 twice. */
static void run_twice(const char *text, float want, float want_then) {
  hlorun_client_options_t options;
  hlorun_client_t *client = NULL;
  float ten = 10;
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_SINGLE;
  CHECK_OK(hlorun_client_create(&options, &client));
  hlorun_program_t *program = api_load(client, text);
  hlorun_buffer_t *arg = NULL;
  CHECK_OK(hlorun_buffer_create("f32", 0, NULL, &ten, NULL, NULL, &arg));
  for (int k = 0; k < 2; k++) {
    hlorun_buffer_t *result = NULL;
    CHECK_OK(hlorun_execute(program, &arg, NULL, &result));
    CU_ASSERT_EQUAL(*(const float *)hlorun_buffer_data(result), k ? want_then : want);
    hlorun_buffer_release(result);
  }
  hlorun_buffer_release(arg);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
  CU_ASSERT(made > 0);
  CU_ASSERT_EQUAL(ended, made);
}

#define CALL(target, from)                                    \
  "f32[] custom-call(" from "), custom_call_target=\"" target \
  "\", api_version=API_VERSION_TYPED_FFI\n"

static void test_program(void) {
  register_all();
  run_twice("ENTRY e { p = f32[] parameter(0)\nROOT c = " CALL("counts", "p") "}", 11, 12);
}

static void test_execution(void) {
  register_all();
  run_twice("ENTRY e { p = f32[] parameter(0)\nROOT c = " CALL("prepared", "p") "}", 1, 1);
}

/* A loop of 3 iterations has one call, as it is written: 10 + 1 + 2 + 3. */
static void test_loop(void) {
  register_all();
  run_twice("body { t = (s32[], f32[]) parameter(0)\ni = s32[] get-tuple-element(t), index=0\n"
            "x = f32[] get-tuple-element(t), index=1\none = s32[] constant(1)\n"
            "j = s32[] add(i, one)\ny = " CALL("counts", "x")
            "ROOT r = (s32[], f32[]) tuple(j, y) }\n"
            "condition { t = (s32[], f32[]) parameter(0)\n"
            "i = s32[] get-tuple-element(t), index=0\nthree = s32[] constant(3)\n"
            "ROOT c = pred[] compare(i, three), direction=LT }\n"
            "ENTRY e { p = f32[] parameter(0)\nzero = s32[] constant(0)\n"
            "t = (s32[], f32[]) tuple(zero, p)\n"
            "w = (s32[], f32[]) while(t), condition=condition, body=body\n"
            "ROOT r = f32[] get-tuple-element(w), index=1 }",
            16, 25);
}

CU_TestInfo suite_custom_state[] = {{"as long as the program", test_program},
                                    {"as long as an execution", test_execution},
                                    {"one of a loop", test_loop},
                                    CU_TEST_INFO_NULL};
