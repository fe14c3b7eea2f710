/* Collectives of programs, on grids of threads: every process computes v = 10 * replica +
 * partition, and what it gets is compared with what the definition says. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hlorun.h"
#include "tests/lib/unit.h"

#define MOST_RANKS 8

typedef struct test_case {
  int replicas, partitions;
  const char *body; /* defines ROOT from v (s32[]) and x (s32[1]) */
  const char *want; /* results of rank 0, "|", results of rank 1, ... all s32 */
} test_case_t;

static const char preamble[] =
    "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }\n"
    "horner { a = s32[] parameter(0) b = s32[] parameter(1) t = s32[] constant(3) m = s32[] "
    "multiply(a, t)\n"
    "  ROOT r = s32[] add(m, b) }\n"
    "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }\n"
    "addbf { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = bf16[] add(a, b) }\n"
    "ENTRY e {\n"
    "  r = u32[] replica-id()\n  p = u32[] partition-id()\n"
    "  rs = s32[] convert(r)\n  ps = s32[] convert(p)\n  ten = s32[] constant(10)\n"
    "  r10 = s32[] multiply(rs, ten)\n  v = s32[] add(r10, ps)\n  x = s32[1] reshape(v)\n";

typedef struct rank_run {
  pthread_t thread;
  hlorun_client_t *client;
  const test_case_t *test;
  char got[512];
  hlorun_status_t status;
} rank_run_t;

static void print_results(rank_run_t *run, hlorun_buffer_t **results, int count) {
  char *to = run->got, *end = run->got + sizeof run->got;
  for (int k = 0; k < count; k++) {
    const int32_t *values = hlorun_buffer_data(results[k]);
    size_t elements = hlorun_buffer_size_bytes(results[k]) / sizeof *values;
    for (size_t i = 0; i < elements && end - to > 16; i++)
      to += snprintf(to, (size_t)(end - to), "%s%d", to == run->got ? "" : " ", values[i]);
    hlorun_buffer_release(results[k]);
  }
}

static void *run_rank(void *context) {
  rank_run_t *run = context;
  char text[4096];
  snprintf(text, sizeof text, "HloModule m, replica_count=%d, num_partitions=%d\n%s%s}\n",
           run->test->replicas, run->test->partitions, preamble, run->test->body);
  hlorun_program_options_t options;
  hlorun_program_options_init(&options);
  hlorun_program_t *program = NULL;
  hlorun_buffer_t *results[16] = {NULL};
  run->status =
      hlorun_program_load_bytes(run->client, "test.hlo", text, strlen(text), &options, &program);
  if (!run->status) run->status = hlorun_execute(program, NULL, NULL, results);
  if (!run->status) print_results(run, results, hlorun_program_result_count(program));
  hlorun_program_release(program);
  hlorun_client_release(run->client, hlorun_status_exit_code(run->status));
  return NULL;
}

/* Runs the case on its grid; *out_status is the first failure that says more than "another rank
 * failed". */
static void run_case(const test_case_t *test, char *got, size_t size, hlorun_status_t *out_status) {
  int ranks = test->replicas * test->partitions;
  hlorun_client_t *clients[MOST_RANKS];
  rank_run_t runs[MOST_RANKS] = {0};
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_THREADS;
  CHECK_OK(hlorun_clients_create_local(&options, ranks, clients));
  for (int r = 0; r < ranks; r++) {
    runs[r].client = clients[r];
    runs[r].test = test;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&runs[r].thread, NULL, run_rank, &runs[r]), 0);
  }
  *got = 0;
  *out_status = NULL;
  for (int r = 0; r < ranks; r++) {
    pthread_join(runs[r].thread, NULL);
    snprintf(got + strlen(got), size - strlen(got), "%s%s", r ? " | " : "", runs[r].got);
    bool tells_more =
        runs[r].status && (!*out_status || hr_status_code(*out_status) == HR_CANCELLED);
    hlorun_status_release(tells_more ? *out_status : runs[r].status);
    if (tells_more) *out_status = runs[r].status;
  }
}

static void check_cases(const test_case_t *tests, size_t count) {
  size_t live = hr_mem_live_blocks();
  for (size_t i = 0; i < count; i++) {
    char got[4096];
    hlorun_status_t status;
    run_case(&tests[i], got, sizeof got, &status);
    if (status) hr_status_print(stdout, status);
    if (status || strcmp(got, tests[i].want)) {
      printf("%s\n  got  %s\n  want %s\n", tests[i].body, got, tests[i].want);
      CU_FAIL("a collective's result is wrong");
    }
    hlorun_status_release(status);
  }
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}
#define CHECK_CASES(tests) check_cases(tests, sizeof tests / sizeof *tests)

static void group_modes(void) {
  static const test_case_t tests[] = {
      {2, 2, "ROOT o = s32[2] all-gather(x), replica_groups={}, dimensions={0}",
       "0 10 | 1 11 | 0 10 | 1 11"},
      {2, 2, "ROOT o = s32[2] all-gather(x), replica_groups={{1,0}}, dimensions={0}",
       "10 0 | 11 1 | 10 0 | 11 1"},
      {2, 2, "ROOT o = s32[4] all-gather(x), channel_id=1, replica_groups={{1,0}}, dimensions={0}",
       "10 11 0 1 | 10 11 0 1 | 10 11 0 1 | 10 11 0 1"},
      {2, 2,
       "ROOT o = s32[2] all-gather(x), channel_id=7, replica_groups={{0},{1}}, dimensions={0}",
       "0 1 | 0 1 | 10 11 | 10 11"},
      {2, 2, "ROOT o = s32[4] all-gather(x), channel_id=1, replica_groups={}, dimensions={0}",
       "0 1 10 11 | 0 1 10 11 | 0 1 10 11 | 0 1 10 11"},
      {2, 2,
       "ROOT o = s32[2] all-gather(x), channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), "
       "dimensions={0}, "
       "use_global_device_ids=true",
       "0 10 | 1 11 | 0 10 | 1 11"},
      {1, 4,
       "ROOT o = s32[2] all-gather(x), channel_id=1, replica_groups=mesh['a'=2,'b'=2] {'a'}, "
       "dimensions={0}, "
       "use_global_device_ids=true",
       "0 2 | 1 3 | 0 2 | 1 3"},
      {2, 2,
       "ROOT o = s32[1] all-to-all(x), channel_id=1, replica_groups={{0},{1}}, dimensions={0}",
       "0 | 1 | 10 | 11"},
      {2, 2, "ROOT o = s32[1] collective-permute(x), source_target_pairs={{0,1}}", "0 | 0 | 0 | 1"},
      {2, 2, "ROOT o = s32[1] collective-permute(x), channel_id=1, source_target_pairs={{1,0}}",
       "1 | 0 | 11 | 0"},
  };
  CHECK_CASES(tests);
}

/* All-reduce and reduce-scatter: replicas, partitions, the instructions after x and v, and the
 * results of all processes. */
static const test_case_t reduction_cases[] = {
    {4, 1, "ROOT o = s32[1] all-reduce(x), replica_groups={}, to_apply=add", "60 | 60 | 60 | 60"},
    /* in listed order: ((30 * 3 + 10) * 3 + 0) * 3 + 20 */
    {4, 1, "ROOT o = s32[1] all-reduce(x), replica_groups={{3,1,0,2}}, to_apply=horner",
     "920 | 920 | 920 | 920"},
    {4, 1, "ROOT o = s32[] all-reduce(v), replica_groups={{0},{1,2,3}}, to_apply=add",
     "0 | 60 | 60 | 60"},
    {2, 1,
     "w = s32[1] add(x, x)\n ROOT o = (s32[1], s32[1], s32[1]) all-reduce(x, w, x), "
     "replica_groups={}, "
     "to_apply=add",
     "10 20 10 | 10 20 10"},
    /* more than are under way at once */
    {2, 1,
     "ROOT o = (s32[1], s32[], s32[1], s32[], s32[1], s32[], s32[1], s32[], s32[1], s32[], "
     "s32[1]) "
     "all-reduce(x, v, x, v, x, v, x, v, x, v, x), replica_groups={}, to_apply=horner",
     "10 10 10 10 10 10 10 10 10 10 10 | 10 10 10 10 10 10 10 10 10 10 10"},
    {2, 1,
     "t = (s32[1], s32[]) tuple(x, v)\n"
     " ROOT o = (s32[1], s32[]) all-reduce(t), replica_groups={}, to_apply=add",
     "10 10 | 10 10"},
    {2, 1,
     "s = s32[1] all-reduce-start(x), replica_groups={}, to_apply=add\n ROOT o = s32[1] "
     "all-reduce-done(s)",
     "10 | 10"},
    {2, 1,
     "e = s32[0] constant({})\n a = s32[0] all-reduce(e), replica_groups={}, to_apply=add\n"
     " ROOT o = (s32[0], s32[1]) tuple(a, x)",
     "0 | 10"},
    {1, 2,
     "b = s32[2,2] broadcast(v), dimensions={}\n i = s32[2,2] iota(), iota_dimension=1\n"
     " t = s32[2,2] add(b, i)\n ROOT o = s32[2,1] reduce-scatter(t), channel_id=1, "
     "replica_groups={{1,0}}, use_global_device_ids=true, dimensions={1}, to_apply=add",
     "3 3 | 1 1"},
    {2, 1,
     "b = s32[4] broadcast(v), dimensions={}\n i = s32[4] iota(), iota_dimension=0\n t = s32[4] "
     "add(b, i)\n"
     " ROOT o = (s32[2], s32[2]) reduce-scatter(t, b), replica_groups={}, dimensions={0}, "
     "to_apply=horner",
     "10 14 10 10 | 18 22 10 10"},
    {2, 1,
     "b = s32[2] broadcast(v), dimensions={}\n s = ((s32[2]), s32[1]) reduce-scatter-start(b), "
     "replica_groups={}, dimensions={0}, to_apply=add\n ROOT o = s32[1] reduce-scatter-done(s)",
     "10 | 10"},
};

static void reductions(void) { CHECK_CASES(reduction_cases); }

/* NaN goes through a maximum; a sum of bf16 is rounded once: 256 + 1 + 1 + 1 is 259 and rounds to
 * 260 (each addition rounded by itself would give 256). */
static void floats(void) {
  static const test_case_t tests[] = {
      {3, 1,
       "n = f32[] constant(nan)\n one = s32[] constant(10)\n is = pred[] compare(v, one), "
       "direction=EQ\n"
       " f = f32[] convert(v)\n w = f32[] select(is, n, f)\n"
       " m = f32[] all-reduce(w), replica_groups={}, to_apply=max\n"
       " ROOT o = s32[] bitcast-convert(m)",
       "2143289344 | 2143289344 | 2143289344"},
      {4, 1,
       "z = s32[] constant(0)\n is = pred[] compare(v, z), direction=EQ\n big = bf16[] "
       "constant(256)\n"
       " one = bf16[] constant(1)\n w = bf16[] select(is, big, one)\n"
       " m = bf16[] all-reduce(w), replica_groups={}, to_apply=addbf\n ROOT o = s32[] convert(m)",
       "260 | 260 | 260 | 260"},
  };
  CHECK_CASES(tests);
}

static void gathers_and_all_to_alls(void) {
  static const test_case_t tests[] = {
      {2, 1,
       "b = s32[2,1] broadcast(v), dimensions={}\n i = s32[2,1] iota(), iota_dimension=0\n"
       " t = s32[2,1] add(b, i)\n ROOT o = s32[2,2] all-gather(t), replica_groups={}, "
       "dimensions={1}",
       "0 10 1 11 | 0 10 1 11"},
      {2, 1,
       "s = (s32[1], s32[2]) all-gather-start(x), replica_groups={}, dimensions={0}\n"
       " ROOT o = s32[2] all-gather-done(s)",
       "0 10 | 0 10"},
      {2, 1,
       "h = s32[1] constant({100})\n y = s32[1] add(x, h)\n s = ((s32[1], s32[1]), (s32[2], "
       "s32[2])) "
       "all-gather-start(x, y), replica_groups={}, dimensions={0}\n"
       " ROOT o = (s32[2], s32[2]) all-gather-done(s)",
       "0 10 100 110 | 0 10 100 110"},
      {1, 2,
       "b = s32[2,2] broadcast(v), dimensions={}\n i = s32[2,2] iota(), iota_dimension=1\n"
       " h = s32[] constant(100)\n hb = s32[2,2] broadcast(h), dimensions={}\n ih = s32[2,2] "
       "multiply(i, hb)\n t = s32[2,2] add(b, ih)\n"
       " ROOT o = s32[2,2] all-to-all(t), channel_id=1, replica_groups={}, dimensions={1}",
       "0 1 0 1 | 100 101 100 101"},
      {1, 3,
       "h = s32[1] constant({100})\n y = s32[1] add(x, h)\n z = s32[1] add(y, h)\n"
       " ROOT o = (s32[1], s32[1], s32[1]) all-to-all(x, y, z), channel_id=1, "
       "replica_groups={{2,0,1}}",
       "102 100 101 | 202 200 201 | 2 0 1"},
  };
  CHECK_CASES(tests);
}

static void broadcasts_and_permutes(void) {
  static const test_case_t tests[] = {
      {4, 1, "ROOT o = s32[1] collective-broadcast(x), replica_groups={{2,1}}", "0 | 20 | 20 | 0"},
      {3, 1,
       "k = s32[] constant(2)\n ROOT o = s32[1] collective-broadcast(x, k), replica_groups={}, "
       "has_dynamic_root=true",
       "20 | 20 | 20"},
      {3, 1, "ROOT o = s32[1] collective-reduce(x), replica_groups={{1,0,2}}, to_apply=add",
       "0 | 30 | 0"},
      {3, 1,
       "h = s32[1] constant({100})\n y = s32[1] add(x, h)\n"
       " ROOT o = (s32[1], s32[1]) collective-permute(x, y), "
       "source_target_pairs={{0,1},{1,2},{2,0}}",
       "20 120 | 0 100 | 10 110"},
      {2, 1,
       "s = (s32[1], s32[1], u32[], u32[]) collective-permute-start(x), "
       "source_target_pairs={{0,1},{1,0}}\n"
       " ROOT o = s32[1] collective-permute-done(s)",
       "10 | 0"},
      {2, 1,
       "in = s32[4] broadcast(v), dimensions={}\n c = s32[4] constant({-1,-2,-3,-4})\n o1 = s32[] "
       "constant(1)\n"
       " o2 = s32[] constant(2)\n t1 = (s32[]) tuple(o1)\n t2 = (s32[]) tuple(o2)\n"
       " ROOT o = s32[4] collective-permute(in, c, t1, t2), source_target_pairs={{0,1}}, "
       "slice_sizes={{2}}",
       "-1 -2 -3 -4 | -1 -2 0 0"},
  };
  CHECK_CASES(tests);
}

/* Process p sends p + 1 rows to process 0 and one to process 1. */
static void ragged(void) {
  static const test_case_t tests[] = {
      {2, 1,
       "i = s32[4] iota(), iota_dimension=0\n b = s32[4] broadcast(v), dimensions={}\n in = s32[4] "
       "add(i, b)\n"
       " c = s32[5] constant({-1,-1,-1,-1,-1})\n zero = s32[1] constant({0})\n one = s32[1] "
       "constant({1})\n"
       " two = s32[1] constant({2})\n p1 = s32[1] reshape(rs)\n mine = s32[1] add(p1, one)\n"
       " from = s32[2] concatenate(zero, mine), dimensions={0}\n"
       " sizes = s32[2] concatenate(mine, one), dimensions={0}\n"
       " at0 = s32[1] add(p1, p1)\n at = s32[2] concatenate(at0, p1), dimensions={0}\n"
       " is0 = pred[1] compare(p1, zero), direction=EQ\n r1 = s32[1] select(is0, two, one)\n"
       " recvs = s32[2] concatenate(one, r1), dimensions={0}\n"
       " ROOT o = s32[5] ragged-all-to-all(in, c, from, sizes, at, recvs), replica_groups={}",
       "0 -1 10 11 -1 | 1 12 -1 -1 -1"},
  };
  CHECK_CASES(tests);
}

static void check_refused(const test_case_t *test, hr_code_t code, const char *part) {
  char got[4096];
  hlorun_status_t status;
  run_case(test, got, sizeof got, &status);
  CU_ASSERT_EQUAL(hr_status_code(status), code);
  if (!strstr(hr_status_message(status), part)) {
    printf("message \"%s\" does not say \"%s\"\n", hr_status_message(status), part);
    CU_FAIL("the message is not what it should be");
  }
  hlorun_status_release(status);
}

static void bad_groups_are_refused(void) {
  static const test_case_t tests[] = {
      {2, 1, "ROOT o = s32[1] all-reduce(x), replica_groups={{0,1,2}}, to_apply=add", NULL},
      {2, 1, "ROOT o = s32[1] all-reduce(x), replica_groups={{0}}, to_apply=add", NULL},
      {2, 2, "ROOT o = s32[2] all-gather(x), channel_id=1, replica_groups={}, dimensions={0}",
       NULL},
      {2, 1, "ROOT o = s32[1] collective-permute(x), source_target_pairs={{0,3}}", NULL},
      {3, 1, "ROOT o = (s32[1], s32[1]) all-to-all(x, x), replica_groups={}", NULL},
  };
  check_refused(&tests[0], HR_INVALID, "lists replica 2");
  check_refused(&tests[1], HR_INVALID, "leaves out replica 1");
  check_refused(&tests[2], HR_INVALID, "want a factor of 4");
  check_refused(&tests[3], HR_INVALID, "lists replica 3");
  check_refused(&tests[4], HR_INVALID, "2 operands, want 3");
}

CU_TestInfo suite_collective_ops[] = {{"group modes", group_modes},
                                      {"reductions", reductions},
                                      {"floats", floats},
                                      {"gathers and all-to-alls", gathers_and_all_to_alls},
                                      {"broadcasts and permutes", broadcasts_and_permutes},
                                      {"ragged", ragged},
                                      {"bad groups are refused", bad_groups_are_refused},
                                      CU_TEST_INFO_NULL};
