/* The compiled engine: memory of warm runs, results that outlive it, donation, checks, failures,
 * cancellation. */
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/arith.h"
#include "tests/lib/api_driver.h"
#include "tests/lib/flat_fixture.h"
#include "topo/topo.h"

#define CONDITION                                                                               \
  "cond { s = (s32[], f32[64], f32[64]) parameter(0) i = s32[] get-tuple-element(s), index=0\n" \
  "  n = s32[] constant(7) ROOT c = pred[] compare(i, n), direction=LT }\n"

static const char *const loop_program =
    "HloModule m\n"
    "body { s = (s32[], f32[64], f32[64]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
    "  a = f32[64] get-tuple-element(s), index=1 b = f32[64] get-tuple-element(s), index=2\n"
    "  one = s32[] constant(1) j = s32[] add(i, one) c = f32[64] add(a, b)\n"
    "  ROOT t = (s32[], f32[64], f32[64]) tuple(j, b, c) }\n" CONDITION
    "ENTRY e { x = f32[64] parameter(0) y = f32[64] parameter(1) zero = s32[] constant(0)\n"
    "  t = (s32[], f32[64], f32[64]) tuple(zero, x, y)\n"
    "  w = (s32[], f32[64], f32[64]) while(t), condition=cond, body=body\n"
    "  p = f32[64] get-tuple-element(w), index=1 q = f32[64] get-tuple-element(w), index=2\n"
    "  k = f32[64] multiply(p, q) ROOT r = (f32[64], f32[64], f32[64], f32[64]) tuple(p, q, k, y) "
    "}";

/* --- memory --- */

/* Results come back when they are released, and what is donated becomes a result: the third run
 * allocates nothing. */
static void test_warm_runs(void) {
  flat_fixture_t f;
  hlo_value_t *args[2], *results[4];
  CHECK_OK(fixture_load(loop_program, &fixture_native, &f));
  exec_compiled_destroy(f.compiled);
  CHECK_OK(exec_compiled_create(f.flat, &(exec_compiled_options_t){.check = false}, &f.compiled));
  for (int p = 0; p < 2; p++) args[p] = fixture_argument(&f, p);
  size_t before = 0;
  for (int run = 0; run < 10; run++) {
    if (run == 2) before = hr_mem_total_allocations();
    CHECK_OK(exec_compiled_run(f.compiled, args, NULL, results));
    for (int r = 0; r < 4; r++) hlo_value_release(results[r]);
  }
  CU_ASSERT_EQUAL(hr_mem_total_allocations(), before);
  for (int run = 0; run < 10; run++) { /* what comes out goes in */
    if (run == 4) before = hr_mem_total_allocations();
    CHECK_OK(exec_compiled_run(f.compiled, args, (bool[]){true, true}, results));
    args[0] = results[0];
    args[1] = results[1];
    for (int r = 2; r < 4; r++) hlo_value_release(results[r]);
  }
  CU_ASSERT_EQUAL(hr_mem_total_allocations(), before);
  for (int p = 0; p < 2; p++) hlo_value_release(args[p]);
  fixture_deinit(&f);
}

static void test_results_outlive_the_machine(void) {
  size_t live = hr_mem_live_blocks();
  flat_fixture_t f;
  hlo_value_t *args[2], *results[4], *view;
  CHECK_OK(fixture_load(loop_program, &fixture_native, &f));
  for (int p = 0; p < 2; p++) args[p] = fixture_argument(&f, p);
  CHECK_OK(exec_compiled_run(f.compiled, args, NULL, results));
  CHECK_OK(hlo_value_view(results[0], HR_F32, 2, (int64_t[]){8, 8}, &view));
  void *seen = results[0]->data;
  for (int r = 0; r < 4; r++) hlo_value_release(results[r]);
  CHECK_OK(exec_compiled_run(f.compiled, args, (bool[]){true, true}, results));
  for (int r = 0; r < 4; r++)
    CU_ASSERT_PTR_NOT_EQUAL(results[r]->data, seen); /* the view has these bytes */
  fixture_deinit(&f);
  for (int r = 0; r < 4; r++) hlo_value_release(results[r]);
  hlo_value_release(view);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* --- donation --- */

static void test_donation(void) {
  flat_fixture_t f;
  hlo_value_t *result, *args[2], *other;
  CHECK_OK(
      fixture_load("HloModule m\nENTRY e { x = f32[64] parameter(0) y = f32[64] parameter(1)\n"
                   "ROOT r = f32[64] add(x, y) }",
                   &fixture_native, &f));
  CU_ASSERT_EQUAL(f.flat->results[0].alias_param, 0);
  args[0] = fixture_argument(&f, 0);
  args[1] = fixture_argument(&f, 1);
  other = hlo_value_retain(args[0]); /* somebody else sees it: it is left alone */
  CHECK_OK(exec_compiled_run(f.compiled, args, (bool[]){true, false}, &result));
  CU_ASSERT_PTR_NOT_EQUAL(result->data, other->data);
  hlo_value_release(result);
  args[0] = other;
  void *place = args[0]->data;
  CHECK_OK(exec_compiled_run(f.compiled, args, (bool[]){true, false}, &result));
  CU_ASSERT_PTR_EQUAL(result->data, place);
  hlo_value_release(result);
  /* One array as both, given away once. */
  hlo_value_t *same = fixture_argument(&f, 1);
  CHECK_OK(exec_compiled_run(f.compiled, (hlo_value_t *[]){hlo_value_retain(args[1]), args[1]},
                             (bool[]){true, false}, &result));
  CU_ASSERT(hlo_value_equal(args[1], same));
  hlo_value_release(same);
  hlo_value_release(result);
  hlo_value_release(args[1]);
  fixture_deinit(&f);
}

/* --- failures --- */

static hr_status_t wrong_run(const op_native_run_t *run, const void *plan, void *const *in,
                             void *const *out) {
  HR_TRY(fixture_run(run, plan, in, out));
  if (((const fixture_code_t *)plan)->op == HLO_MULTIPLY) ((float *)out[0])[5] += 1e9f;
  return NULL;
}
static const op_native_t wrong_native = {"wrong", fixture_prepare, wrong_run};

static void test_check_names_the_first_difference(void) {
  flat_fixture_t f;
  hlo_value_t *args[2], *results[4];
  CHECK_OK(fixture_load(loop_program, &wrong_native, &f));
  for (int p = 0; p < 2; p++) args[p] = fixture_argument(&f, p);
  hr_status_t st = exec_compiled_run(f.compiled, args, NULL, results);
  CU_ASSERT_EQUAL(hr_status_code(st), HR_MISMATCH);
  char *text = hr_status_format(st);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "multiply"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "[5]"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "test.hlo:12:"));
  free(text);
  hr_status_release(st);
  for (int p = 0; p < 2; p++) hlo_value_release(args[p]);
  fixture_deinit(&f);
}

static hr_status_t failing_run(const op_native_run_t *run, const void *plan, void *const *in,
                               void *const *out) {
  (void)run, (void)plan, (void)in, (void)out;
  return hr_error(HR_UNAVAILABLE, "it went wrong");
}
static const op_native_t failing_native = {"failing", fixture_prepare, failing_run};

static void test_failures_have_a_location(void) {
  size_t live = hr_mem_live_blocks();
  flat_fixture_t f;
  hlo_value_t *args[2], *results[4];
  CHECK_OK(fixture_load(loop_program, &failing_native, &f));
  for (int p = 0; p < 2; p++) args[p] = fixture_argument(&f, p);
  hr_status_t st = exec_compiled_run(f.compiled, args, (bool[]){true, true}, results);
  char *text = hr_status_format(st);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "it went wrong"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "body"));
  free(text);
  hr_status_release(st);
  fixture_deinit(&f);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

static void test_cancelled_loop(void) {
  flat_fixture_t f;
  exec_cancel_t cancel = {0};
  exec_progress_t progress = {0};
  hlo_value_t *args[2], *results[4];
  CHECK_OK(fixture_load(loop_program, &fixture_native, &f));
  exec_compiled_destroy(f.compiled);
  exec_compiled_options_t options = {.machine = {.cancel = &cancel, .progress = &progress}};
  CHECK_OK(exec_compiled_create(f.flat, &options, &f.compiled));
  for (int p = 0; p < 2; p++) args[p] = fixture_argument(&f, p);
  CHECK_OK(exec_compiled_run(f.compiled, args, NULL, results));
  CU_ASSERT_EQUAL(atomic_load(&progress.steps), 2); /* the loop begins, and ends */
  CU_ASSERT_PTR_NULL(atomic_load(&progress.outer.loop));
  for (int r = 0; r < 4; r++) hlo_value_release(results[r]);
  atomic_store(&cancel.reason, "enough");
  CHECK_FAILS(HR_CANCELLED, exec_compiled_run(f.compiled, args, NULL, results));
  for (int p = 0; p < 2; p++) hlo_value_release(args[p]);
  fixture_deinit(&f);
}

/* --- through the API --- */

static int thread_count(void) {
  DIR *tasks = opendir("/proc/self/task");
  int count = 0;
  for (const struct dirent *entry; tasks && (entry = readdir(tasks));)
    count += entry->d_name[0] != '.';
  if (tasks) closedir(tasks);
  return count;
}

static void wait_a_little(void) { nanosleep(&(struct timespec){0, 1000000}, NULL); }

static void *end_at_once(void *context) { return context; }

/* How many threads there are without any of ours, but with that which sanitizers start beside the
 * first one. */
static int threads_before(void) {
  pthread_t first;
  CU_ASSERT_EQUAL_FATAL(pthread_create(&first, NULL, end_at_once, NULL), 0);
  pthread_join(first, NULL);
  for (int iteration = 0; iteration < 20; iteration++) wait_a_little();
  return thread_count();
}

/* A thread that was joined may still be listed for a moment. */
static bool has_threads(int count) {
  for (int iteration = 0; iteration < 1000 && thread_count() != count; iteration++) wait_a_little();
  return thread_count() == count;
}

static hlorun_client_t *client_with(int threads) {
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_SINGLE;
  options.engine = HLORUN_ENGINE_COMPILED;
  options.bind = HLORUN_BIND_NONE;
  options.threads = threads;
  hlorun_client_t *client = NULL;
  CHECK_OK(hlorun_client_create(&options, &client));
  return client;
}

static const char *const large_program =
    "HloModule m ENTRY e { x = f32[100000] parameter(0) ROOT n = f32[100000] negate(x) }";

static int core_count(void) {
  topo_share_t *share = NULL;
  CHECK_OK(topo_share_create(0, 1, &share));
  int cores = topo_share_cores(share);
  topo_share_destroy(share);
  return cores;
}

/* A small program starts no threads; a large one starts exactly as many as it was told, once, but
 * no more than there are cores. */
static void test_threads(void) {
  int cores = core_count(), before = threads_before();
  for (int threads = 1; threads <= 4; threads++) {
    hlorun_client_t *client = client_with(threads);
    hlorun_program_t *small = api_load(client, loop_program);
    CU_ASSERT_TRUE(has_threads(before));
    int started = (int)hr_min(threads, cores) - 1;
    hlorun_program_t *large = api_load(client, large_program);
    CU_ASSERT_TRUE(has_threads(before + started));
    hlorun_program_t *again = api_load(client, large_program);
    CU_ASSERT_TRUE(has_threads(before + started));
    hlorun_program_release(small);
    hlorun_program_release(large);
    hlorun_program_release(again);
    hlorun_client_release(client, 0);
    CU_ASSERT_TRUE(has_threads(before));
  }
}

static void test_execute(void) {
  size_t live = hr_mem_live_blocks();
  hlorun_client_t *client = client_with(1);
  hlorun_program_t *program =
      api_load(client,
               "HloModule m ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1)\n"
               "a = f32[4] add(x, y) ROOT t = (f32[4], f32[4]) tuple(a, y) }");
  float numbers[4] = {1, 2, 3, 4};
  int64_t count = 4;
  hlorun_buffer_t *args[2], *results[2];
  for (int p = 0; p < 2; p++)
    CHECK_OK(hlorun_buffer_create("f32", 1, &count, numbers, NULL, NULL, &args[p]));
  CHECK_OK(hlorun_execute(program, args, (bool[]){true, false}, results));
  CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(results[0]))[3], 8);
  CU_ASSERT_PTR_EQUAL(results[1], args[1]);
  args[0] = results[0];
  hlorun_buffer_release(results[1]);
  hlorun_execution_t *runs[4];
  for (int i = 0; i < 4; i++) CHECK_OK(hlorun_execute_start(program, args, NULL, &runs[i]));
  for (int i = 0; i < 4; i++) {
    CHECK_OK(hlorun_execution_await(runs[i], results));
    CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(results[0]))[3], 12);
    for (int r = 0; r < 2; r++) hlorun_buffer_release(results[r]);
    hlorun_execution_release(runs[i]);
  }
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
  for (int p = 0; p < 2; p++) hlorun_buffer_release(args[p]);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* Warm executions through the API, with generated code and a library's kernels, on two workers. */
static void test_warm_executions(void) {
  hlorun_client_t *client = client_with(2);
  hlorun_program_t *program = api_load(
      client,
      "HloModule m\nENTRY e { x = f32[256,256] parameter(0) w = f32[256,256] parameter(1)\n"
      "d = f32[256,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "t = f32[256,256] tanh(d) u = f32[256,256] subtract(w, t)\n"
      "s = f32[256,256] multiply(t, x) ROOT r = (f32[256,256], f32[256,256]) tuple(u, s) }");
  static float numbers[256 * 256];
  hlorun_buffer_t *args[2], *results[2];
  for (int p = 0; p < 2; p++)
    CHECK_OK(hlorun_buffer_create("f32", 2, (int64_t[]){256, 256}, numbers, NULL, NULL, &args[p]));
  size_t before = 0;
  for (int run = 0; run < 10; run++) {
    if (run == 4) before = hr_mem_total_allocations();
    CHECK_OK(hlorun_execute(program, args, (bool[]){false, true}, results));
    args[1] = results[0];
    hlorun_buffer_release(results[1]);
  }
  CU_ASSERT_EQUAL(hr_mem_total_allocations(), before);
  for (int p = 0; p < 2; p++) hlorun_buffer_release(args[p]);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
}

/* Whatever allocation fails while a program is loaded or run: a clean status, and nothing is lost.
 */
static void test_every_failing_allocation(void) {
  size_t live = hr_mem_live_blocks();
  for (size_t n = 1; n < 4000; n++) {
    flat_fixture_t f;
    hlo_value_t *args[2] = {NULL, NULL}, *results[4];
    hr_mem_fail_at(n);
    hr_status_t st = fixture_load(loop_program, n % 2 ? &fixture_native : NULL, &f);
    bool loaded = !st && f.compiled;
    if (loaded) {
      hr_mem_fail_at(0);
      for (int p = 0; p < 2; p++) args[p] = fixture_argument(&f, p);
      hr_mem_fail_at(n % 60 + 1);
      st = exec_compiled_run(f.compiled, args, n % 3 ? (bool[]){true, true} : NULL, results);
      for (int r = 0; !st && r < 4; r++) hlo_value_release(results[r]);
      for (int p = 0; n % 3 == 0 && p < 2; p++) hlo_value_release(args[p]);
    }
    hr_mem_fail_at(0);
    hr_status_release(st);
    fixture_deinit(&f);
    if (loaded && n > 300 && n % 60 == 59) break;
  }
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

CU_TestInfo suite_compiled[] = {
    {"a warm run allocates nothing", test_warm_runs},
    {"results outlive the machine", test_results_outlive_the_machine},
    {"donation", test_donation},
    {"a check names the first difference", test_check_names_the_first_difference},
    {"failures have a place", test_failures_have_a_location},
    {"loops can be cancelled", test_cancelled_loop},
    {"threads are as many as told", test_threads},
    {"executions", test_execute},
    {"warm executions allocate nothing", test_warm_executions},
    {"every allocation may fail", test_every_failing_allocation},
    CU_TEST_INFO_NULL};
