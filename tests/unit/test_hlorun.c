/* The public C API: arguments and results, donation, executions in the background, cancellation,
 * several clients. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "tests/lib/api_driver.h"

static hlorun_client_t *single_client(void) {
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_SINGLE;
  hlorun_client_t *client = NULL;
  CHECK_OK(hlorun_client_create(&options, &client));
  return client;
}

static hlorun_buffer_t *floats(int64_t count, const float *values) {
  hlorun_buffer_t *buffer = NULL;
  CHECK_OK(hlorun_buffer_create("f32", 1, &count, (void *)values, NULL, NULL, &buffer));
  return buffer;
}

static const char *const nested_program =
    "HloModule m\n"
    "ENTRY e {\n"
    "  p = (f32[2], (f32[2], f32[])) parameter(0)\n"
    "  a = f32[2] get-tuple-element(p), index=0\n"
    "  q = (f32[2], f32[]) get-tuple-element(p), index=1\n"
    "  b = f32[2] get-tuple-element(q), index=0\n"
    "  sum = f32[2] add(a, b)\n"
    "  ROOT r = (f32[2], (f32[2])) tuple(sum, (f32[2]) tuple(a))\n"
    "}\n";

static void test_flattened_tuples(void) {
  size_t live = hr_mem_live_blocks();
  hlorun_client_t *client = single_client();
  hlorun_program_t *program = api_load(client, nested_program);
  CU_ASSERT_EQUAL_FATAL(hlorun_program_param_count(program), 3);
  CU_ASSERT_EQUAL_FATAL(hlorun_program_result_count(program), 2);
  CU_ASSERT_STRING_EQUAL(hlorun_program_param_shape(program, 1), "f32[2]");
  CU_ASSERT_STRING_EQUAL(hlorun_program_param_shape(program, 2), "f32[]");
  hlorun_buffer_t *args[3] = {floats(2, (float[]){1, 2}), floats(2, (float[]){10, 20}), NULL},
                  *results[2];
  float scalar = 0;
  CHECK_OK(hlorun_buffer_create("f32", 0, NULL, &scalar, NULL, NULL, &args[2]));
  CHECK_OK(hlorun_execute(program, args, NULL, results));
  CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(results[0]))[1], 22);
  CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(results[1]))[1], 2);
  for (int i = 0; i < 3; i++) hlorun_buffer_release(args[i]);
  for (int i = 0; i < 2; i++) hlorun_buffer_release(results[i]);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* Who has no peers has nothing to gain. */
static void test_sharing_alone(void) {
  hlorun_client_t *client = single_client();
  float values[3] = {1, 2, 3};
  hlorun_buffer_t *buffer = floats(3, values), *before = buffer;
  CHECK_OK(hlorun_buffer_share(client, &buffer));
  CU_ASSERT_PTR_EQUAL(buffer, before);
  hlorun_buffer_release(buffer);
  hlorun_client_release(client, 0);
}

static void test_wrong_arguments(void) {
  hlorun_client_t *client = single_client();
  hlorun_program_t *program =
      api_load(client, "ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }");
  hlorun_buffer_t *arg = floats(3, (float[]){1, 2, 3}), *result;
  hlorun_status_t status = hlorun_execute(program, &arg, NULL, &result);
  CU_ASSERT_EQUAL(hlorun_status_exit_code(status), 2);
  CU_ASSERT_PTR_NOT_NULL(strstr(hlorun_status_message(status), "f32[3]"));
  CU_ASSERT_PTR_NOT_NULL(strstr(hlorun_status_message(status), "f32[2]"));
  hlorun_status_release(status);
  hlorun_buffer_release(arg);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
}

/* A donated argument is updated where it lies; one that the caller keeps is not touched. */
static void test_donation(void) {
  hlorun_client_t *client = single_client();
  hlorun_program_t *program =
      api_load(client,
               "ENTRY e { p = f32[4] parameter(0) u = f32[1] constant({9}) i = s32[] constant(2)\n"
               "ROOT d = f32[4] dynamic-update-slice(p, u, i) }");
  hlorun_buffer_t *kept = floats(4, (float[]){1, 2, 3, 4}), *result;
  CHECK_OK(hlorun_execute(program, &kept, NULL, &result));
  CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(kept))[2], 3);
  CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(result))[2], 9);
  hlorun_buffer_release(result);
  const void *place = hlorun_buffer_data(kept);
  CHECK_OK(hlorun_execute(program, &kept, (bool[]){true}, &result));
  CU_ASSERT_PTR_EQUAL(hlorun_buffer_data(result), place);
  hlorun_buffer_release(result);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
}

/* The argument that the program says is given away is updated, not one that is read beside it. */
static void test_declared_donation(void) {
  static const char *const lists[] = {"input_output_alias={ {}: (1, {}, may-alias) }",
                                      "buffer_donor={ (1, {}) }"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "HloModule m, %s\nENTRY e { p = f32[4] parameter(0) q = f32[4] parameter(1)\n"
             "ROOT s = f32[4] add(p, q) }",
             lists[i]);
    hlorun_client_t *client = single_client();
    hlorun_program_t *program = api_load(client, text);
    hlorun_buffer_t *args[] = {floats(4, (float[]){1, 2, 3, 4}), floats(4, (float[]){5, 6, 7, 8})};
    hlorun_buffer_t *result;
    const void *place = hlorun_buffer_data(args[1]);
    CHECK_OK(hlorun_execute(program, args, (bool[]){false, true}, &result));
    CU_ASSERT_PTR_EQUAL(hlorun_buffer_data(result), place);
    CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(result))[3], 12);
    CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(args[0]))[3], 4);
    hlorun_buffer_release(args[0]);
    hlorun_buffer_release(result);
    hlorun_program_release(program);
    hlorun_client_release(client, 0);
  }
}

/* A while loop of 10 adds, run in the background several times at once. */
static const char *const loop_program =
    "body { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
    "  x = f32[2] get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, one)\n"
    "  y = f32[2] add(x, x) ROOT t = (s32[], f32[2]) tuple(j, y) }\n"
    "cond { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
    "  ten = s32[] constant(10) ROOT c = pred[] compare(i, ten), direction=LT }\n"
    "ENTRY e { x = f32[2] parameter(0) zero = s32[] constant(0) t = (s32[], f32[2]) tuple(zero, "
    "x)\n"
    "  w = (s32[], f32[2]) while(t), condition=cond, body=body\n"
    "  ROOT r = f32[2] get-tuple-element(w), index=1 }\n";

static void test_asynchronous(void) {
  hlorun_client_t *client = single_client();
  char text[2048] = "HloModule m\n";
  hlorun_program_t *program = api_load(client, strcat(text, loop_program));
  hlorun_execution_t *runs[8];
  for (int i = 0; i < 8; i++) {
    hlorun_buffer_t *arg = floats(2, (float[]){(float)i, 1});
    CHECK_OK(hlorun_execute_start(program, &arg, NULL, &runs[i]));
    hlorun_buffer_release(arg);
  }
  for (int i = 7; i >= 0; i--) {
    hlorun_buffer_t *result;
    CHECK_OK(hlorun_execution_await(runs[i], &result));
    CU_ASSERT_TRUE(hlorun_execution_is_done(runs[i]));
    CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(result))[0], 1024.0f * (float)i);
    hlorun_buffer_release(result);
    hlorun_execution_release(runs[i]);
  }
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
}

static void test_cancel(void) {
  hlorun_client_t *client = single_client();
  hlorun_program_t *program =
      api_load(client,
               "HloModule m\n"
               "body { ROOT p = f32[2] parameter(0) }\n"
               "cond { p = f32[2] parameter(0) ROOT t = pred[] constant(true) }\n"
               "ENTRY e { p = f32[2] parameter(0)\n"
               "  ROOT w = f32[2] while(p), condition=cond, body=body }\n");
  hlorun_buffer_t *arg = floats(2, (float[]){1, 2}), *result;
  hlorun_execution_t *run;
  CHECK_OK(hlorun_execute_start(program, &arg, NULL, &run));
  hlorun_client_cancel(client, "the test says so");
  CHECK_FAILS(HR_CANCELLED, hlorun_execution_await(run, &result));
  hlorun_execution_release(run);
  hlorun_buffer_release(arg);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
}

static hlorun_client_t *cancelled_client;

/* A custom call: whoever cancels does so while the program is under way. */
static void cancel_it(void *out, void **in) {
  memcpy(out, in[0], 2 * sizeof(float));
  hlorun_client_cancel(cancelled_client, "the program says so");
}

static hlorun_client_t *client_of(hlorun_engine_t engine) {
  hlorun_client_options_t options;
  hlorun_client_t *client = NULL;
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_SINGLE;
  options.engine = engine;
  CHECK_OK(hlorun_client_create(&options, &client));
  return client;
}

/* Straight lines, too: before they begin, and while they are under way, be it in their last step.
 */
static void check_cancel(hlorun_engine_t engine, const char *text, bool by_itself) {
  size_t live = hr_mem_live_blocks();
  hlorun_client_t *client = cancelled_client = client_of(engine);
  hlorun_program_t *program = api_load(client, text);
  hlorun_buffer_t *arg = floats(2, (float[]){1, 2}), *result = NULL;
  hlorun_execution_t *run;
  if (!by_itself) hlorun_client_cancel(client, "the test says so");
  CHECK_FAILS(HR_CANCELLED, hlorun_execute(program, &arg, NULL, &result));
  CHECK_FAILS(HR_CANCELLED, hlorun_execute(program, &arg, NULL, &result));
  CHECK_OK(hlorun_execute_start(program, &arg, NULL, &run));
  CHECK_FAILS(HR_CANCELLED, hlorun_execution_await(run, &result));
  hlorun_execution_release(run);
  CHECK_OK(hlorun_client_resume(client));
  if (by_itself) {
    CHECK_FAILS(HR_CANCELLED, hlorun_execute(program, &arg, NULL, &result));
  } else {
    CHECK_OK(hlorun_execute(program, &arg, NULL, &result));
    CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(result))[1], -2);
    hlorun_buffer_release(result);
    hlorun_client_cancel(client, "once more");
    CHECK_FAILS(HR_CANCELLED, hlorun_execute(program, &arg, (bool[]){true}, &result));
    arg = NULL;
  }
  hlorun_buffer_release(arg);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

static void test_cancel_straight(void) {
  CHECK_OK(hlorun_register_custom_call("cancel_it", cancel_it));
  for (int e = HLORUN_ENGINE_REFERENCE; e <= HLORUN_ENGINE_COMPILED; e++) {
    hlorun_engine_t engine = (hlorun_engine_t)e;
    check_cancel(engine, "ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }", false);
    check_cancel(engine,
                 "ENTRY e { p = f32[2] parameter(0)\n"
                 "c = f32[2] custom-call(p), custom_call_target=\"cancel_it\"\n"
                 "ROOT n = f32[2] negate(c) }",
                 true);
    check_cancel(engine,
                 "ENTRY e { p = f32[2] parameter(0)\n"
                 "ROOT c = f32[2] custom-call(p), custom_call_target=\"cancel_it\" }",
                 true);
  }
}

static void test_local_grid(void) {
  enum { MEMBERS = 5 };
  api_member_t members[MEMBERS];
  for (int i = 0; i < MEMBERS; i++) {
    float mine = (float)i + 1;
    members[i] =
        (api_member_t){.program =
                           "HloModule m\n"
                           "sum { a = f32[] parameter(0) b = f32[] parameter(1)\n"
                           "  ROOT c = f32[] add(a, b) }\n"
                           "ENTRY e { p = f32[1] parameter(0)\n"
                           "  ROOT r = f32[1] all-reduce(p), replica_groups={}, to_apply=sum }\n",
                       .arg = floats(1, &mine)};
  }
  api_grid_run(MEMBERS, members);
  for (int i = 0; i < MEMBERS; i++) CU_ASSERT_EQUAL(members[i].got, 15);
}

/* A program with so many infeeds that the list of their shapes grows while it is made. */
static void write_infeeds(hr_strbuf_t *text, int count) {
  hr_strbuf_init(text);
  hr_strbuf_add_str(text, "HloModule feeds\nENTRY e {\n  t0 = token[] after-all()\n");
  for (int i = 1; i <= count; i++)
    hr_strbuf_printf(text,
                     "  p%d = (f32[%d], token[]) infeed(t%d)\n"
                     "  t%d = token[] get-tuple-element(p%d), index=1\n",
                     i, i, i - 1, i, i);
  hr_strbuf_printf(text, "  ROOT x = f32[1] get-tuple-element(p1), index=0\n}\n");
}

/* Feeds are opened at the end of loading: the last allocations are theirs. */
static void test_infeeds_without_memory(void) {
  enum { INFEEDS = 20, LAST = 150 };
  hr_strbuf_t text;
  hlorun_program_options_t options;
  hlorun_program_t *program = NULL;
  write_infeeds(&text, INFEEDS);
  hlorun_program_options_init(&options);
  options.infeed = "file:/dev/null";
  hlorun_client_t *client = single_client();
  size_t total = 0, failed = 0;
  for (int warm = 0; warm < 2; warm++) {
    total = hr_mem_total_allocations();
    CHECK_OK(hlorun_program_load_bytes(client, "feeds", text.data, text.size, &options, &program));
    total = hr_mem_total_allocations() - total;
    hlorun_program_release(program);
  }
  size_t live = hr_mem_live_blocks();
  for (size_t n = total > LAST ? total - LAST : 1; n <= total; n++) {
    hr_mem_fail_at(n);
    hr_status_t st =
        hlorun_program_load_bytes(client, "feeds", text.data, text.size, &options, &program);
    hr_mem_fail_at(0);
    if (st) CU_ASSERT_EQUAL(hr_status_code(st), HR_NO_MEMORY);
    if (!st) hlorun_program_release(program);
    failed += st != NULL;
    hr_status_release(st);
    CU_ASSERT_EQUAL_FATAL(hr_mem_live_blocks(), live);
  }
  CU_ASSERT_TRUE(failed > LAST / 2);
  hlorun_client_release(client, 0);
  hr_strbuf_deinit(&text);
}

CU_TestInfo suite_hlorun[] = {
    {"tuples are flattened", test_flattened_tuples},
    {"sharing with nobody", test_sharing_alone},
    {"a wrong argument is refused", test_wrong_arguments},
    {"donated arguments are updated in place", test_donation},
    {"the program says which of its arguments is updated", test_declared_donation},
    {"executions run in the background", test_asynchronous},
    {"a cancelled loop ends", test_cancel},
    {"a cancelled client runs nothing until it resumes", test_cancel_straight},
    {"five clients in one process", test_local_grid},
    {"infeeds without memory", test_infeeds_without_memory},
    CU_TEST_INFO_NULL};
