/* Every function of hlorun.h with every argument that cannot be meant: a status of the code USAGE
 * that names what was found, or the value that stands for nothing; never a crash, and nothing
 * changes. Builds with sanitizers see whether memory is touched. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tests/lib/api_driver.h"
#include "tests/lib/source_files.h"

typedef struct fixture {
  hlorun_client_options_t options;
  hlorun_program_options_t program_options;
  hlorun_client_t *client;
  hlorun_program_t *program;
  hlorun_buffer_t *array;
} fixture_t;

static fixture_t f;

static void open_fixture(void) {
  float values[2] = {1, 2};
  hlorun_client_options_init(&f.options);
  hlorun_program_options_init(&f.program_options);
  f.options.world = HLORUN_WORLD_SINGLE;
  CHECK_OK(hlorun_client_create(&f.options, &f.client));
  f.program = api_load(f.client, "ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }");
  CHECK_OK(hlorun_buffer_create("f32", 1, (int64_t[]){2}, values, NULL, NULL, &f.array));
}

static void close_fixture(void) {
  hlorun_buffer_release(f.array);
  hlorun_program_release(f.program);
  hlorun_client_release(f.client, 0);
}

/* The call was refused as wrong usage, with this text in the message. */
static void check_refused(const char *call, hlorun_status_t status, const char *text) {
  bool refused =
      hlorun_status_exit_code(status) == 2 && strstr(hlorun_status_message(status), text);
  CU_ASSERT_TRUE(refused);
  if (!refused)
    fprintf(stderr, "%s: exit code %d, \"%s\", want 2 and \"%s\"\n", call,
            hlorun_status_exit_code(status), hlorun_status_message(status), text);
  hlorun_status_release(status);
}
#define REFUSED(text, call) check_refused(#call, call, text)

/* --- arrays --- */

static void test_shapes(void) {
  static const struct {
    int rank;
    int64_t dims[3];
    const char *says;
  } rows[] = {{-1, {2}, "rank -1"},
              {INT_MIN, {2}, "rank -2147483648"},
              {33, {2}, "rank 33"},
              {INT_MAX, {2}, "rank 2147483647"},
              {1, {-3}, "-3"},
              {2, {2, INT64_MIN}, "-9223372036854775808"},
              {3, {0, 4, -1}, "dimension 2 is -1"}};
  float values[2] = {1, 2};
  hlorun_buffer_t *array = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int borrows = 0; borrows < 2; borrows++)
      REFUSED(rows[i].says,
              hlorun_buffer_create("f32", rows[i].rank, rows[i].dims, values,
                                   borrows ? (hlorun_release_fn)abort : NULL, NULL, &array));
  CU_ASSERT_PTR_NULL(array);
}

/* Sizes whose product no machine holds, or no integer: not wrong in themselves. */
static void test_large_shapes(void) {
  static const int64_t rows[][3] = {{INT64_MAX, INT64_MAX, INT64_MAX},
                                    {INT64_C(1) << 32, INT64_C(1) << 31, 1},
                                    {INT64_MAX, 2, 1},
                                    {INT64_C(1) << 62, 1, 1},
                                    {INT64_C(1) << 61, 1, 1},
                                    {3037000500, 3037000500, 1}};
  float value = 0;
  hlorun_buffer_t *array = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_FAILS(HR_NO_MEMORY, hlorun_buffer_create("f32", 3, rows[i], &value, NULL, NULL, &array));
    CHECK_FAILS(HR_NO_MEMORY, hlorun_buffer_create("c128", 3, rows[i], &value,
                                                   (hlorun_release_fn)abort, NULL, &array));
  }
  CU_ASSERT_PTR_NULL(array);
}

static void test_buffers(void) {
  int64_t two = 2, none = 0;
  float values[3] = {1, 2, 3};
  hlorun_buffer_t *array = NULL, *nothing = NULL;
  const char *const types[] = {"", "f33", "F32", "token", "tuple", "opaque_type", "f32[2]"};
  REFUSED("dtype is NULL", hlorun_buffer_create(NULL, 1, &two, values, NULL, NULL, &array));
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    REFUSED("unknown element type",
            hlorun_buffer_create(types[i], 1, &two, values, NULL, NULL, &array));
  REFUSED("dims is NULL", hlorun_buffer_create("f32", 1, NULL, values, NULL, NULL, &array));
  REFUSED("data is NULL", hlorun_buffer_create("f32", 1, &two, NULL, NULL, NULL, &array));
  REFUSED("data is NULL", hlorun_buffer_create("f32", 0, NULL, NULL, NULL, NULL, &array));
  REFUSED("data is NULL",
          hlorun_buffer_create("f32", 1, &two, NULL, (hlorun_release_fn)abort, NULL, &array));
  REFUSED("multiple of 4", hlorun_buffer_create("f32", 1, &two, (char *)values + 1,
                                                (hlorun_release_fn)abort, NULL, &array));
  REFUSED("out_buffer is NULL", hlorun_buffer_create("f32", 1, &two, values, NULL, NULL, NULL));
  CU_ASSERT_PTR_NULL(array);
  CHECK_OK(hlorun_buffer_create("f32", 1, &none, NULL, NULL, NULL, &array));
  CU_ASSERT_EQUAL(hlorun_buffer_size_bytes(array), 0);
  hlorun_buffer_release(array);
  REFUSED("client is NULL", hlorun_buffer_share(NULL, &f.array));
  REFUSED("buffer is NULL", hlorun_buffer_share(f.client, NULL));
  REFUSED("*buffer is NULL", hlorun_buffer_share(f.client, &nothing));
  CU_ASSERT_PTR_NULL(hlorun_buffer_retain(NULL));
  CU_ASSERT_PTR_NULL(hlorun_buffer_dtype(NULL));
  CU_ASSERT_EQUAL(hlorun_buffer_rank(NULL), 0);
  CU_ASSERT_PTR_NULL(hlorun_buffer_dims(NULL));
  CU_ASSERT_PTR_NULL(hlorun_buffer_data(NULL));
  CU_ASSERT_EQUAL(hlorun_buffer_size_bytes(NULL), 0);
  hlorun_buffer_release(NULL);
}

/* --- statuses --- */

static void test_statuses(void) {
  CU_ASSERT_EQUAL(hlorun_status_exit_code(NULL), 0);
  CU_ASSERT_STRING_EQUAL(hlorun_status_message(NULL), "ok");
  char *report = hlorun_status_format(NULL);
  CU_ASSERT_PTR_NOT_NULL(report);
  free(report);
  hlorun_status_release(NULL);
  CU_ASSERT_PTR_NOT_NULL(hlorun_version());
}

/* --- clients --- */

static void refuse_options(const char *says, hlorun_client_options_t options) {
  hlorun_client_t *clients[2] = {NULL, NULL};
  REFUSED(says, hlorun_client_create(&options, &clients[0]));
  REFUSED(says, hlorun_clients_create_local(&options, 2, clients));
  CU_ASSERT_PTR_NULL(clients[0]);
}

#define WITH(field, value) \
  ((hlorun_client_options_t){.struct_size = sizeof(hlorun_client_options_t), .field = (value)})

static void test_client_options(void) {
  hlorun_client_t *clients[2] = {NULL, NULL};
  hlorun_client_options_init(NULL);
  refuse_options("not initialised", (hlorun_client_options_t){0});
  refuse_options("not initialised", (hlorun_client_options_t){.struct_size = SIZE_MAX});
  refuse_options("world is 3", WITH(world, (hlorun_world_t)3));
  refuse_options("want 0 to", WITH(world, (hlorun_world_t)-1));
  refuse_options("threads is -1", WITH(threads, -1));
  refuse_options("bind is 3", WITH(bind, (hlorun_bind_t)3));
  refuse_options("engine is 3", WITH(engine, (hlorun_engine_t)3));
  refuse_options("timeout_s is -1", WITH(timeout_s, -1));
  refuse_options("timeout_s is ", WITH(timeout_s, (double)NAN));
  refuse_options("trace_events", WITH(trace_events, SIZE_MAX));
  REFUSED("hlorun_clients_create_local",
          hlorun_client_create(&WITH(world, HLORUN_WORLD_THREADS), clients));
  REFUSED("options is NULL", hlorun_client_create(NULL, clients));
  REFUSED("out_client is NULL", hlorun_client_create(&f.options, NULL));
  REFUSED("options is NULL", hlorun_clients_create_local(NULL, 2, clients));
  REFUSED("out_clients is NULL", hlorun_clients_create_local(&f.options, 2, NULL));
  for (int i = 0; i < 4; i++)
    REFUSED("want 1 to 1024",
            hlorun_clients_create_local(&f.options, (int[]){0, -1, INT_MAX, INT_MIN}[i], clients));
}

static void test_clients(void) {
  char byte = 0;
  CU_ASSERT_EQUAL(hlorun_client_rank(NULL), -1);
  CU_ASSERT_EQUAL(hlorun_client_world_size(NULL), 0);
  hlorun_client_cancel(NULL, "nobody");
  REFUSED("client is NULL", hlorun_client_resume(NULL));
  hlorun_client_print_state(NULL);
  hlorun_client_release(NULL, 1);
  REFUSED("client is NULL", hlorun_client_barrier(NULL));
  REFUSED("client is NULL", hlorun_client_gather(NULL, &byte, 1, &byte));
  REFUSED("bytes is NULL", hlorun_client_gather(f.client, NULL, 1, &byte));
  REFUSED("out is NULL", hlorun_client_gather(f.client, &byte, 1, NULL));
  REFUSED("do not fit", hlorun_client_gather(f.client, &byte, SIZE_MAX, &byte));
  CHECK_OK(hlorun_client_gather(f.client, NULL, 0, NULL));
  REFUSED("client is NULL", hlorun_client_send(NULL, 0, &byte, 1));
  REFUSED("client is NULL", hlorun_client_recv(NULL, 0, &byte, 1));
  for (int i = 0; i < 5; i++) {
    int rank = (int[]){-1, 0, 1, INT_MAX, INT_MIN}[i];
    REFUSED("is not a peer", hlorun_client_send(f.client, rank, &byte, 1));
    REFUSED("is not a peer", hlorun_client_recv(f.client, rank, &byte, 1));
  }
  REFUSED("bytes is NULL", hlorun_client_send(f.client, 1, NULL, 1));
  REFUSED("bytes is NULL", hlorun_client_recv(f.client, 1, NULL, 1));
}

static void test_traces(void) {
  char *text = NULL;
  REFUSED("client is NULL", hlorun_client_trace(NULL, &text));
  REFUSED("client is NULL", hlorun_client_trace_alone(NULL, &text));
  REFUSED("client is NULL", hlorun_client_explain(NULL, &text));
  REFUSED("client is NULL", hlorun_client_explain_limits(NULL, &text));
  REFUSED("out_table is NULL", hlorun_client_explain_limits(f.client, NULL));
  REFUSED("does not trace", hlorun_client_explain_limits(f.client, &text));
  REFUSED("client is NULL", hlorun_client_explain_json(NULL, &text));
  REFUSED("out_json is NULL", hlorun_client_explain_json(f.client, NULL));
  REFUSED("does not trace", hlorun_client_explain_json(f.client, &text));
  REFUSED("out_json is NULL", hlorun_client_trace(f.client, NULL));
  REFUSED("out_json is NULL", hlorun_client_trace_alone(f.client, NULL));
  REFUSED("out_table is NULL", hlorun_client_explain(f.client, NULL));
  REFUSED("does not trace", hlorun_client_trace(f.client, &text));
  REFUSED("does not trace", hlorun_client_trace_alone(f.client, &text));
  REFUSED("does not trace", hlorun_client_explain(f.client, &text));
  CU_ASSERT_EQUAL(hlorun_client_trace_dropped(NULL), 0);
  CU_ASSERT_PTR_NULL(text);
}

/* A peer that is there, but asked for more than memory holds. */
static void test_peers(void) {
  hlorun_client_t *clients[2] = {NULL, NULL};
  char byte = 0;
  CHECK_OK(hlorun_clients_create_local(&WITH(threads, 1), 2, clients));
  REFUSED("do not fit", hlorun_client_send(clients[0], 1, &byte, SIZE_MAX));
  REFUSED("do not fit", hlorun_client_recv(clients[0], 1, &byte, SIZE_MAX));
  REFUSED("is not a peer", hlorun_client_send(clients[0], 2, &byte, 1));
  REFUSED("is not a peer", hlorun_client_recv(clients[1], 1, &byte, 1));
  REFUSED("whole is NULL", hlorun_clients_create_part(NULL, 1, 1, (int[]){0}, clients));
  REFUSED("members is NULL", hlorun_clients_create_part(clients[0], 1, 1, NULL, clients));
  REFUSED("out_clients is NULL", hlorun_clients_create_part(clients[0], 1, 1, (int[]){0}, NULL));
  hlorun_client_cancel(clients[0], "the test says so");
  REFUSED("create new clients", hlorun_client_resume(clients[0]));
  for (int i = 0; i < 2; i++) hlorun_client_release(clients[i], 0);
}

/* --- programs --- */

static const char text[] = "ENTRY e { ROOT c = f32[] constant(1) }";

static void refuse_program(const char *says, hlorun_program_options_t options) {
  hlorun_program_t *program = NULL;
  REFUSED(says,
          hlorun_program_load_bytes(f.client, "test", text, strlen(text), &options, &program));
  REFUSED(says, hlorun_program_load(f.client, "/nowhere", &options, &program));
  CU_ASSERT_PTR_NULL(program);
}

static void test_loading(void) {
  hlorun_program_t *program = NULL;
  hlorun_program_options_t options = f.program_options;
  size_t size = strlen(text);
  hlorun_program_options_init(NULL);
  REFUSED("client is NULL", hlorun_program_load(NULL, "x", &options, &program));
  REFUSED("path is NULL", hlorun_program_load(f.client, NULL, &options, &program));
  REFUSED("options is NULL", hlorun_program_load(f.client, "x", NULL, &program));
  REFUSED("out_program is NULL", hlorun_program_load(f.client, "x", &options, NULL));
  REFUSED("client is NULL", hlorun_program_load_bytes(NULL, "x", text, size, &options, &program));
  REFUSED("name is NULL",
          hlorun_program_load_bytes(f.client, NULL, text, size, &options, &program));
  REFUSED("bytes is NULL",
          hlorun_program_load_bytes(f.client, "x", NULL, size, &options, &program));
  REFUSED("options is NULL", hlorun_program_load_bytes(f.client, "x", text, size, NULL, &program));
  REFUSED("out_program is NULL",
          hlorun_program_load_bytes(f.client, "x", text, size, &options, NULL));
  CHECK_FAILS(HR_INVALID, hlorun_program_load_bytes(f.client, "x", NULL, 0, &options, &program));
  CHECK_FAILS(HR_NO_MEMORY,
              hlorun_program_load_bytes(f.client, "x", text, SIZE_MAX, &options, &program));
  CHECK_FAILS(HR_UNAVAILABLE, hlorun_program_load(f.client, "", &options, &program));
  size_t whole = sizeof options;
  refuse_program("not initialised", (hlorun_program_options_t){0});
  refuse_program("num_replicas is -1",
                 (hlorun_program_options_t){.struct_size = whole, .num_replicas = -1});
  refuse_program("num_partitions is -2",
                 (hlorun_program_options_t){.struct_size = whole, .num_partitions = -2});
  options.num_replicas = INT_MAX;
  options.num_partitions = INT_MAX;
  REFUSED("grid", hlorun_program_load_bytes(f.client, "x", text, size, &options, &program));
  options = (hlorun_program_options_t){.struct_size = whole, .probe = "("};
  REFUSED("probe", hlorun_program_load_bytes(f.client, "x", text, size, &options, &program));
  CU_ASSERT_PTR_NULL(program);
}

static const char sum_text[] =
    "HloModule m, replica_count=2\n"
    "a { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
    "ENTRY e { p = f32[2] parameter(0) ROOT r = f32[2] all-reduce(p), to_apply=a }";

typedef struct rank_run {
  hlorun_program_t *program;
  hlorun_buffer_t *arg, *result;
  hlorun_status_t status;
} rank_run_t;

static void *run_rank(void *context) {
  rank_run_t *run = context;
  run->status = hlorun_execute(run->program, &run->arg, NULL, &run->result);
  return NULL;
}

/* Two threads add their arrays by programs that were compiled once. */
static void run_together(hlorun_program_t *const *programs) {
  rank_run_t runs[2];
  pthread_t thread;
  for (int i = 0; i < 2; i++) {
    float values[] = {(float)i + 1, 10};
    runs[i] = (rank_run_t){.program = programs[i]};
    CHECK_OK(hlorun_buffer_create("f32", 1, (int64_t[]){2}, values, NULL, NULL, &runs[i].arg));
  }
  CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_rank, &runs[1]), 0);
  run_rank(&runs[0]);
  pthread_join(thread, NULL);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(runs[i].status);
    const float *sums = hlorun_buffer_data(runs[i].result);
    CU_ASSERT_EQUAL(sums[0], 3.0f);
    CU_ASSERT_EQUAL(sums[1], 20.0f);
    hlorun_buffer_release(runs[i].result);
    hlorun_buffer_release(runs[i].arg);
  }
}

static void test_local_programs(void) {
  hlorun_client_t *clients[2] = {NULL, NULL};
  hlorun_program_t *programs[2] = {NULL, NULL};
  hlorun_program_options_t options = f.program_options, verified = options;
  size_t size = strlen(sum_text);
  verified.verify_comm = true;
  CHECK_OK(hlorun_clients_create_local(&f.options, 2, clients));
#define LOAD(clients, name, text, options, out) \
  hlorun_programs_load_local(clients, 2, name, text, size, options, out)
  REFUSED("clients is NULL", LOAD(NULL, "x", sum_text, &options, programs));
  REFUSED("name is NULL", LOAD(clients, NULL, sum_text, &options, programs));
  REFUSED("bytes is NULL", LOAD(clients, "x", NULL, &options, programs));
  REFUSED("options is NULL", LOAD(clients, "x", sum_text, NULL, programs));
  REFUSED("out_programs is NULL", LOAD(clients, "x", sum_text, &options, NULL));
  REFUSED("verify_comm", LOAD(clients, "x", sum_text, &verified, programs));
  hlorun_client_t *swapped[] = {clients[1], clients[0]};
  REFUSED("is not rank 0 of 2", LOAD(swapped, "x", sum_text, &options, programs));
  CHECK_FAILS(HR_INVALID, hlorun_programs_load_local(clients, 2, "x", NULL, 0, &options, programs));
  CHECK_OK(LOAD(clients, "x", sum_text, &options, programs));
#undef LOAD
  run_together(programs);
  for (int i = 0; i < 2; i++) {
    hlorun_program_release(programs[i]);
    hlorun_client_release(clients[i], 0);
  }
}

static void test_programs(void) {
  const int wrong[] = {-1, 1, INT_MAX, INT_MIN};
  hlorun_program_figures_t figures;
  int64_t start = 0, size = 2;
  hlorun_program_release(NULL);
  CU_ASSERT_EQUAL(hlorun_program_num_replicas(NULL), 0);
  CU_ASSERT_EQUAL(hlorun_program_num_partitions(NULL), 0);
  CU_ASSERT_EQUAL(hlorun_program_param_count(NULL), 0);
  CU_ASSERT_EQUAL(hlorun_program_result_count(NULL), 0);
  for (int k = 0; k < 4; k++) {
    CU_ASSERT_PTR_NULL(hlorun_program_param_name(f.program, wrong[k]));
    CU_ASSERT_PTR_NULL(hlorun_program_param_shape(f.program, wrong[k]));
    CU_ASSERT_PTR_NULL(hlorun_program_result_shape(f.program, wrong[k]));
    CU_ASSERT_FALSE(hlorun_program_shard(f.program, false, wrong[k], 1, &size, &start));
    CU_ASSERT_FALSE(hlorun_program_shard(f.program, true, wrong[k], 1, &size, &start));
    CU_ASSERT_FALSE(hlorun_program_part(f.program, false, wrong[k], 0, &size, &start));
    if (wrong[k] != 1)
      CU_ASSERT_FALSE(hlorun_program_shard(f.program, true, 0, wrong[k], &size, &start));
  }
  CU_ASSERT_PTR_NULL(hlorun_program_param_name(NULL, 0));
  CU_ASSERT_PTR_NULL(hlorun_program_param_shape(NULL, 0));
  CU_ASSERT_PTR_NULL(hlorun_program_result_shape(NULL, 0));
  CU_ASSERT_FALSE(hlorun_program_shard(NULL, true, 0, 1, &size, &start));
  CU_ASSERT_FALSE(hlorun_program_shard(f.program, true, 0, 1, NULL, &start));
  CU_ASSERT_FALSE(hlorun_program_shard(f.program, true, 0, 1, &size, NULL));
  /* The program is no part of a global one. */
  CU_ASSERT_FALSE(hlorun_program_part(f.program, true, 0, 0, &size, &start));
  CU_ASSERT_FALSE(hlorun_program_part(NULL, true, 0, 0, &size, &start));
  CU_ASSERT_FALSE(hlorun_program_make_global(NULL));
  CU_ASSERT_FALSE(hlorun_program_make_global(f.program));
  hlorun_program_get_figures(f.program, NULL);
  hlorun_program_get_figures(NULL, &figures);
  CU_ASSERT_EQUAL(figures.struct_size, sizeof figures);
}

static void test_states(void) {
  hlorun_buffer_t *bytes = NULL;
  REFUSED("program is NULL", hlorun_program_save_state(NULL, &bytes));
  REFUSED("out_bytes is NULL", hlorun_program_save_state(f.program, NULL));
  REFUSED("program is NULL", hlorun_program_load_state(NULL, f.array));
  REFUSED("bytes is NULL", hlorun_program_load_state(f.program, NULL));
  REFUSED("f32 of rank 1", hlorun_program_load_state(f.program, f.array));
  REFUSED("program is NULL", hlorun_program_finish_feeds(NULL));
  CU_ASSERT_PTR_NULL(bytes);
}

static void do_nothing(void *out, void **in) { (void)out, (void)in; }

static void test_custom_calls(void) {
  REFUSED("target is NULL", hlorun_register_custom_call(NULL, do_nothing));
  REFUSED("want a name", hlorun_register_custom_call("", do_nothing));
  CHECK_OK(hlorun_register_custom_call("taken_away", NULL));
  REFUSED("path is NULL", hlorun_plugin_open(NULL));
  CHECK_FAILS(HR_UNAVAILABLE, hlorun_plugin_open(""));
  CHECK_FAILS(HR_UNAVAILABLE, hlorun_plugin_open("/"));
}

/* --- executions --- */

static void test_executions(void) {
  hlorun_buffer_t *nothing = NULL, *result = NULL;
  hlorun_execution_t *run = NULL;
  REFUSED("program is NULL", hlorun_execute(NULL, &f.array, NULL, &result));
  REFUSED("args is NULL", hlorun_execute(f.program, NULL, NULL, &result));
  REFUSED("results is NULL", hlorun_execute(f.program, &f.array, NULL, NULL));
  REFUSED("missing", hlorun_execute(f.program, &nothing, (bool[]){true}, &result));
  REFUSED("program is NULL", hlorun_execute_start(NULL, &f.array, NULL, &run));
  REFUSED("args is NULL", hlorun_execute_start(f.program, NULL, NULL, &run));
  REFUSED("missing", hlorun_execute_start(f.program, &nothing, NULL, &run));
  REFUSED("out_execution is NULL", hlorun_execute_start(f.program, &f.array, NULL, NULL));
  REFUSED("execution is NULL", hlorun_execution_await(NULL, &result));
  CU_ASSERT_TRUE(hlorun_execution_is_done(NULL));
  hlorun_execution_release(NULL);
  CU_ASSERT_PTR_NULL(result);
  CU_ASSERT_PTR_NULL(run);
  CHECK_OK(hlorun_execute_start(f.program, &f.array, NULL, &run));
  REFUSED("results is NULL", hlorun_execution_await(run, NULL));
  CHECK_OK(hlorun_execution_await(run, &result));
  REFUSED("already been awaited", hlorun_execution_await(run, &nothing));
  CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(result))[1], -2);
  hlorun_buffer_release(result);
  hlorun_execution_release(run);
}

/* --- all of them --- */

/* A file by its path in the source: build folders have folders of most names, too, but none of
 * cases. */
static char *read_source(const char *name) {
  char where[900], path[1200];
  DIR *directory = source_folder_open("tests/passes", where, sizeof where);
  CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
  closedir(directory);
  snprintf(path, sizeof path, "%s/../../%s", where, name);
  FILE *file = fopen(path, "r");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  char *contents = calloc(1, 1 << 18);
  size_t size = fread(contents, 1, (1 << 18) - 1, file);
  CU_ASSERT_TRUE(size > 0 && size < (1 << 18) - 1);
  fclose(file);
  return contents;
}

/* Functions are declared at the start of a line; the rest of the header's names stand in comments
 * and arguments. */
static void test_every_function(void) {
  char *header = read_source("runtime/hlorun.h"),
       *tests = read_source("tests/unit/test_api_arguments.c");
  int functions = 0;
  for (char *line = strtok(header, "\n"); line; line = strtok(NULL, "\n")) {
    char *open = strchr(line, '('), call[128];
    if (!open || strchr(" /*#}t", *line)) continue;
    *open = 0;
    const char *name =
        strstr(line, " hlorun_") ? strstr(line, " hlorun_") + 1 : strstr(line, "*hlorun_") + 1;
    snprintf(call, sizeof call, "%s(", name);
    functions++;
    if (!strstr(tests, call)) fprintf(stderr, "%s is not tested\n", name);
    CU_ASSERT_PTR_NOT_NULL(strstr(tests, call));
  }
  CU_ASSERT_TRUE(functions > 50);
  free(header);
  free(tests);
}

static void test_all(void) {
  static void (*const groups[])(void) = {
      test_shapes, test_large_shapes, test_buffers,        test_statuses,      test_clients,
      test_traces, test_peers,        test_client_options, test_loading,       test_programs,
      test_states, test_custom_calls, test_executions,     test_local_programs};
  open_fixture();
  size_t count = sizeof groups / sizeof *groups;
  for (size_t i = 0; i < count; i++) groups[i]();
  size_t live = hr_mem_live_blocks(); /* with what is kept to be used again */
  for (size_t i = 0; i < count; i++) groups[i]();
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
  close_fixture();
}

CU_TestInfo suite_api_arguments[] = {{"arguments that cannot be meant", test_all},
                                     {"every function of hlorun.h is tested", test_every_function},
                                     CU_TEST_INFO_NULL};
