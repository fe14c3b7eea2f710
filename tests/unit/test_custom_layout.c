/* Functions of the user get their operands, and give their results, in the layouts that the call
 * asks for: classic functions and FFI handlers, in both engines. */
#include "ops/kernels/custom/ffi_abi.h"
#include "ops/query/custom_ffi.h"
#include "tests/lib/api_driver.h"

enum { ROWS = 2, COLUMNS = 3, COUNT = ROWS * COLUMNS };

static float seen[COUNT]; /* operand 0 as the callee had it */

/* Results 0.5, 1.5, ... in the callee's order. */
static void note(const void *in, void *out) {
  memcpy(seen, in, sizeof seen);
  for (int i = 0; i < COUNT; i++) ((float *)out)[i] = (float)i + 0.5f;
}

static void classic(void *out, void **in) { note(in[0], out); }

static void classic_of_tuples(void *out, void **in) {
  note(((void **)in[0])[1], ((void **)out)[1]);
}

static ffi_error_t *handler(ffi_frame_t *frame) {
  const ffi_buffer_t *in = frame->args.buffers[0], *out = frame->rets.buffers[0];
  CU_ASSERT_EQUAL(in->dims[0], ROWS); /* the array's, whatever its order */
  CU_ASSERT_EQUAL(out->dims[1], COLUMNS);
  note(in->data, out->data);
  return NULL;
}

/* Adds 1 to what it was given: the one array is operand and result. */
static ffi_error_t *updater(ffi_frame_t *frame) {
  float *data = ((const ffi_buffer_t *)frame->rets.buffers[0])->data;
  CU_ASSERT_PTR_EQUAL(((const ffi_buffer_t *)frame->args.buffers[0])->data, data);
  memcpy(seen, data, sizeof seen);
  for (int i = 0; i < COUNT; i++) data[i] += 1;
  return NULL;
}

static void register_all(void) {
  const custom_ffi_bundle_t notes = {.execute = (void *)handler},
                            updates = {.execute = (void *)updater};
  CHECK_OK(hlorun_register_custom_call("classic", classic));
  CHECK_OK(hlorun_register_custom_call("classic_of_tuples", classic_of_tuples));
  CHECK_OK(custom_ffi_register(HR_STR("handler"), &notes));
  CHECK_OK(custom_ffi_register(HR_STR("updater"), &updates));
}

static void check_floats(const float *got, const float *want) {
  for (int i = 0; i < COUNT; i++) CU_ASSERT_EQUAL(got[i], want[i]);
}

/* Runs the program on 1 .. 6: what the callee saw, and the result. */
static void check_run(const char *text, const float *want_seen, const float *want) {
  for (int e = HLORUN_ENGINE_REFERENCE; e <= HLORUN_ENGINE_COMPILED; e++) {
    static float ones[COUNT] = {1, 2, 3, 4, 5, 6};
    hlorun_client_options_t options;
    hlorun_client_t *client = NULL;
    hlorun_client_options_init(&options);
    options.world = HLORUN_WORLD_SINGLE;
    options.engine = (hlorun_engine_t)e;
    CHECK_OK(hlorun_client_create(&options, &client));
    hlorun_program_t *program = api_load(client, text);
    hlorun_buffer_t *arg = NULL, *result = NULL;
    CHECK_OK(hlorun_buffer_create("f32", 2, (int64_t[]){ROWS, COLUMNS}, ones, NULL, NULL, &arg));
    CHECK_OK(hlorun_execute(program, &arg, NULL, &result));
    check_floats(seen, want_seen);
    check_floats(hlorun_buffer_data(result), want);
    hlorun_buffer_release(result);
    hlorun_buffer_release(arg);
    hlorun_program_release(program);
    hlorun_client_release(client, 0);
  }
}

static const float rows[] = {1, 2, 3, 4, 5, 6}, columns[] = {1, 4, 2, 5, 3, 6};
static const float results[] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f},
                   turned[] = {0.5f, 2.5f, 4.5f, 1.5f, 3.5f, 5.5f};

#define CALL(result, target, more)                                                        \
  "ENTRY e { p = f32[2,3]{1,0} parameter(0)\nROOT c = f32[2,3]" result " custom-call(p), " \
  "custom_call_target=\"" target "\"" more " }"
#define BY_COLUMNS ", operand_layout_constraints={f32[2,3]{0,1}}"
#define BY_ROWS ", operand_layout_constraints={f32[2,3]{1,0}}"
#define TYPED ", api_version=API_VERSION_TYPED_FFI"

static void test_operands(void) {
  register_all();
  check_run(CALL("{1,0}", "classic", ""), rows, results);
  check_run(CALL("{1,0}", "classic", BY_ROWS), rows, results);
  check_run(CALL("{1,0}", "classic", BY_COLUMNS), columns, results);
  check_run(CALL("{1,0}", "handler", TYPED BY_COLUMNS), columns, results);
}

static void test_results(void) {
  register_all();
  check_run(CALL("{0,1}", "classic", BY_ROWS), rows, turned);
  check_run(CALL("{0,1}", "handler", TYPED BY_ROWS), rows, turned);
  check_run(CALL("{0,1}", "handler", TYPED BY_COLUMNS), columns, turned);
}

static void test_aliased(void) {
  static const float next[] = {2, 3, 4, 5, 6, 7};
  register_all();
  check_run(CALL("{0,1}", "updater", TYPED BY_COLUMNS ", output_to_operand_aliasing={{}: (0, {})}"),
            columns, next);
}

static void test_tuples(void) {
  register_all();
  check_run(
      "ENTRY e { p = f32[2,3] parameter(0)\nz = f32[] constant(0)\n"
      "t = (f32[], f32[2,3]) tuple(z, p)\n"
      "c = (f32[], f32[2,3]{0,1}) custom-call(t), custom_call_target=\"classic_of_tuples\", "
      "operand_layout_constraints={(f32[], f32[2,3]{0,1})}\n"
      "ROOT r = f32[2,3] get-tuple-element(c), index=1 }",
      columns, turned);
}

CU_TestInfo suite_custom_layout[] = {{"operands", test_operands},
                                     {"results", test_results},
                                     {"arrays that are operand and result", test_aliased},
                                     {"elements of tuples", test_tuples},
                                     CU_TEST_INFO_NULL};
