/* Channels between processes that are threads of this one. */
#include <pthread.h>
#include <string.h>

#include "base/mem_limit.h"
#include "comm/model/channel_routes.h"
#include "comm/model/comm_analysis.h"
#include "hlorun.h"
#include "schedule/schedule.h"
#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

/* --- who is at the other end --- */

static hr_code_t routes_code_on(plan_grid_t grid, exec_channel_endpoint_t *ends, size_t count,
                                exec_channel_routes_t *routes, hr_arena_t *arena) {
  hr_status_t st = exec_channel_routes_find(arena, &grid, ends, count, routes);
  hr_code_t code = hr_status_code(st);
  hr_status_release(st);
  return code;
}

static hr_code_t routes_code(exec_channel_endpoint_t *ends, size_t count,
                             exec_channel_routes_t *routes, hr_arena_t *arena) {
  return routes_code_on((plan_grid_t){1, 3}, ends, count, routes, arena);
}

static exec_channel_endpoint_t end_of(int64_t channel, int rank, int peer, bool sends) {
  return (exec_channel_endpoint_t){channel, rank, peer, sends, "f32[2]", "somewhere"};
}

static void test_routes(void) {
  hr_arena_t arena;
  exec_channel_routes_t routes;
  hr_arena_init(&arena);
  exec_channel_endpoint_t ends[] = {end_of(7, 1, EXEC_ANY_PEER, false),
                                    end_of(7, 0, EXEC_ANY_PEER, true),
                                    end_of(3, 0, 1, true),
                                    end_of(3, 1, 0, false),
                                    end_of(3, 1, 0, true),
                                    end_of(3, 0, 1, false),
                                    end_of(7, 0, EXEC_ANY_PEER, true)};
  CU_ASSERT_EQUAL(routes_code(ends, 7, &routes, &arena), HR_OK);
  CU_ASSERT_EQUAL(routes.count, 3);
  const exec_channel_route_t *three = exec_channel_routes_get(&routes, 3, 0, 1),
                             *seven = exec_channel_routes_get(&routes, 7, 0, 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(three);
  CU_ASSERT_PTR_NOT_NULL_FATAL(seven);
  CU_ASSERT_NOT_EQUAL(three->number, seven->number);
  CU_ASSERT_PTR_NOT_NULL(exec_channel_routes_get(&routes, 3, 1, 0));
  CU_ASSERT_PTR_NULL(exec_channel_routes_get(&routes, 7, 1, 0));
  CU_ASSERT_EQUAL(routes_code(ends, 0, &routes, &arena), HR_OK);
  hr_arena_deinit(&arena);
}

static void test_wrong_routes(void) {
  hr_arena_t arena;
  exec_channel_routes_t routes;
  hr_arena_init(&arena);
  exec_channel_endpoint_t lonely[] = {end_of(1, 0, EXEC_ANY_PEER, true)};
  exec_channel_endpoint_t two[] = {end_of(1, 0, EXEC_ANY_PEER, true),
                                   end_of(1, 1, EXEC_ANY_PEER, true),
                                   end_of(1, 2, EXEC_ANY_PEER, false)};
  exec_channel_endpoint_t missed[] = {end_of(1, 0, 1, true), end_of(1, 2, 0, false)};
  exec_channel_endpoint_t shapes[] = {end_of(1, 0, 1, true), end_of(1, 1, 0, false)};
  shapes[1].shape = "f32[3]";
  CU_ASSERT_EQUAL(routes_code(lonely, 1, &routes, &arena), HR_DISAGREE);
  CU_ASSERT_EQUAL(routes_code(two, 3, &routes, &arena), HR_DISAGREE);
  CU_ASSERT_EQUAL(routes_code(missed, 2, &routes, &arena), HR_DISAGREE);
  CU_ASSERT_EQUAL(routes_code(shapes, 2, &routes, &arena), HR_DISAGREE);
  hr_arena_deinit(&arena);
}

/* Both replicas of two partitions use one channel: partition 0 of each sends to partition 1. */
static void test_routes_on_grid(void) {
  hr_arena_t arena;
  exec_channel_routes_t routes;
  hr_arena_init(&arena);
  exec_channel_endpoint_t ends[] = {
      end_of(7, 0, EXEC_ANY_PEER, true), end_of(7, 2, EXEC_ANY_PEER, true),
      end_of(7, 3, EXEC_ANY_PEER, false), end_of(7, 1, EXEC_ANY_PEER, false)};
  exec_channel_endpoint_t across[] = {end_of(7, 0, EXEC_ANY_PEER, true),
                                      end_of(7, 2, EXEC_ANY_PEER, false)};
  CU_ASSERT_EQUAL(routes_code_on((plan_grid_t){2, 2}, ends, 4, &routes, &arena), HR_OK);
  CU_ASSERT_EQUAL(routes.count, 2);
  CU_ASSERT_PTR_NOT_NULL(exec_channel_routes_get(&routes, 7, 0, 1));
  CU_ASSERT_PTR_NOT_NULL(exec_channel_routes_get(&routes, 7, 2, 3));
  CU_ASSERT_EQUAL(routes_code_on((plan_grid_t){2, 2}, across, 2, &routes, &arena), HR_DISAGREE);
  hr_arena_deinit(&arena);
}

/* --- programs --- */

enum { MOST = 8 };

typedef struct member {
  hlorun_client_t *client;
  const char *text;
  bool mpmd, unproved;
  float got[4];
  hr_code_t code;
} member_t;

static void *run_member(void *context) {
  member_t *member = context;
  hlorun_program_options_t options;
  hlorun_program_options_init(&options);
  options.mpmd = member->mpmd;
  options.unproved = member->unproved;
  hlorun_program_t *program = NULL;
  hlorun_buffer_t *results[16] = {NULL};
  hlorun_status_t st = hlorun_program_load_bytes(member->client, "m.hlo", member->text,
                                                 strlen(member->text), &options, &program);
  if (!st) st = hlorun_execute(program, NULL, NULL, results);
  if (!st) memcpy(member->got, hlorun_buffer_data(results[0]), sizeof member->got);
  for (int i = 0; i < 16; i++) hlorun_buffer_release(results[i]);
  hlorun_program_release(program);
  member->code = hr_status_code(st);
  hlorun_client_release(member->client, hlorun_status_exit_code(st));
  hlorun_status_release(st);
  return NULL;
}

static void run_members(member_t *members, int count, double timeout_s) {
  hlorun_client_options_t options;
  hlorun_client_t *clients[MOST];
  pthread_t threads[MOST];
  hlorun_client_options_init(&options);
  options.timeout_s = timeout_s;
  CHECK_OK(hlorun_clients_create_local(&options, count, clients));
  for (int i = 0; i < count; i++) {
    members[i].client = clients[i];
    pthread_create(&threads[i], NULL, run_member, &members[i]);
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

#define RING "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2},{2,0}}}"
static const char ring[] =
    "HloModule ring, is_scheduled=true\n"
    "ENTRY e {\n"
    "  r = u32[] replica-id()\n"
    "  f = f32[] convert(r)\n"
    "  x = f32[4] broadcast(f), dimensions={}\n"
    "  t = token[] after-all()\n"
    "  s = (f32[4], u32[], token[]) send(x, t), channel_id=1, " RING
    "\n"
    "  v = (f32[4], u32[], token[]) recv(t), channel_id=1, " RING
    "\n"
    "  vd = (f32[4], token[]) recv-done(v), channel_id=1\n"
    "  sd = token[] send-done(s), channel_id=1\n"
    "  ROOT d = f32[4] get-tuple-element(vd), index=0\n"
    "}\n";

/* Rank 3 is in no pair: it sends to nobody, and receives zeros. */
static void test_pairs(void) {
  member_t members[4] = {{.text = ring}, {.text = ring}, {.text = ring}, {.text = ring}};
  run_members(members, 4, 20);
  for (int i = 0; i < 4; i++) {
    CU_ASSERT_EQUAL(members[i].code, HR_OK);
    CU_ASSERT_EQUAL(members[i].got[2], i == 3 ? 0 : (i + 2) % 3);
  }
}

#define ON0 "sharding={maximal device=0}"
#define ON1 "sharding={maximal device=1}"
static const char split[] =
    "HloModule split, is_scheduled=true\n"
    "ENTRY e {\n"
    "  c = f32[4] constant({1,2,3,4})\n"
    "  t = token[] after-all()\n"
    "  s = (f32[4], u32[], token[]) send(c, t), channel_id=6, " ON0
    "\n"
    "  sd = token[] send-done(s), channel_id=6, " ON0
    "\n"
    "  v = (f32[4], u32[], token[]) recv(t), channel_id=6, " ON1
    "\n"
    "  vd = (f32[4], token[]) recv-done(v), channel_id=6, " ON1
    "\n"
    "  d = f32[4] get-tuple-element(vd), index=0, " ON1
    "\n"
    "  ROOT e = f32[4] add(d, d), " ON1
    "\n"
    "}\n";

static void test_split_by_device(void) {
  member_t members[2] = {{.text = split}, {.text = split}};
  run_members(members, 2, 20);
  CU_ASSERT_EQUAL(members[0].code, HR_OK);
  CU_ASSERT_EQUAL(members[1].code, HR_OK);
  CU_ASSERT_EQUAL(members[0].got[3], 0);
  CU_ASSERT_EQUAL(members[1].got[3], 8);
}

static const char branches[] =
    "HloModule branches\n"
    "first { x = f32[4] parameter(0)\n"
    "  t = token[] after-all()\n"
    "  s = (f32[4], u32[], token[]) send(x, t), channel_id=5\n"
    "  sd = token[] send-done(s), channel_id=5\n"
    "  ROOT y = f32[4] copy(x) }\n"
    "second { x = f32[4] parameter(0)\n"
    "  t = token[] after-all()\n"
    "  v = (f32[4], u32[], token[]) recv(t), channel_id=5\n"
    "  vd = (f32[4], token[]) recv-done(v), channel_id=5\n"
    "  d = f32[4] get-tuple-element(vd), index=0\n"
    "  ROOT y = f32[4] add(d, x) }\n"
    "ENTRY e {\n"
    "  c = f32[4] constant({1,2,3,4})\n"
    "  r = u32[] replica-id()\n"
    "  i = s32[] convert(r)\n"
    "  ROOT y = f32[4] conditional(i, c, c), branch_computations={first, second} }\n";

/* No pairs say who is meant, but only one process comes to each end. */
static void test_branches(void) {
  member_t members[2] = {{.text = branches}, {.text = branches}};
  run_members(members, 2, 20);
  CU_ASSERT_EQUAL(members[0].code, HR_OK);
  CU_ASSERT_EQUAL(members[1].code, HR_OK);
  CU_ASSERT_EQUAL(members[1].got[3], 8);
}

/* --- schedules --- */

static void run_schedule(schedule_t *schedule, bool unproved, member_t *members, double timeout_s) {
  hr_strbuf_t texts[MOST];
  for (int r = 0; r < schedule->rank_count; r++) {
    hr_strbuf_init(&texts[r]);
    CHECK_OK(schedule_to_hlo(schedule, r, &texts[r]));
    members[r] = (member_t){.text = texts[r].data, .mpmd = true, .unproved = unproved};
  }
  run_members(members, schedule->rank_count, timeout_s);
  for (int r = 0; r < schedule->rank_count; r++) hr_strbuf_deinit(&texts[r]);
}

static void run_text(const char *text, bool unproved, member_t *members, double timeout_s) {
  schedule_t schedule;
  hr_source_t source = {"schedule.txt", text, strlen(text)};
  CHECK_OK(schedule_read(&source, &schedule));
  run_schedule(&schedule, unproved, members, timeout_s);
  schedule_deinit(&schedule);
}

/* Messages of one channel keep their order, however many are under way. */
static void test_order(void) {
  member_t members[MOST];
  run_text(
      "ranks 2\n"
      "rank 0: a = const 1; b = const 2\n"
      "  send-start a 1 on c; send-start b 1 on c; send-start a 1 on d\n"
      "  send-done a 1 on d; send-done a 1 on c; send-done b 1 on c; output a\n"
      "rank 1: recv-start z 0 on d; recv-start x 0 on c; recv-start y 0 on c\n"
      "  recv-done x 0 on c; recv-done y 0 on c; recv-done z 0 on d\n"
      "  ten = const 10; y = mul y ten; x = add x y; output x\n",
      false, members, 20);
  CU_ASSERT_EQUAL(members[0].code, HR_OK);
  CU_ASSERT_EQUAL(members[1].code, HR_OK);
  CU_ASSERT_EQUAL(members[1].got[0], 21);
}

/* Nothing is buffered: sends that wait for each other are refused at load, or else get stuck, and
 * are given up. */
static void test_deadlock(void) {
  static const char text[] =
      "ranks 2\nrank 0: send a 1; recv b 1\n output b\nrank 1: send b 0; recv a 0\n output a\n";
  member_t members[MOST];
  run_text(text, false, members, 20);
  CU_ASSERT_EQUAL(members[0].code, HR_DISAGREE);
  CU_ASSERT_EQUAL(members[1].code, HR_DISAGREE);
  run_text(text, true, members, 0.3);
  CU_ASSERT(members[0].code == HR_DEADLINE || members[0].code == HR_CANCELLED);
  CU_ASSERT(members[1].code == HR_DEADLINE || members[1].code == HR_CANCELLED);
}

static void test_patterns(void) {
  schedule_gen_options_t options = {.ranks = 3, .microbatches = 4, .chunks = 2, .steps = 3};
  for (size_t p = 0; p < schedule_pattern_count; p++) {
    schedule_t schedule;
    schedule_results_t expected;
    member_t members[MOST];
    CHECK_OK(schedule_generate(schedule_patterns[p].name, &options, &schedule, &expected));
    run_schedule(&schedule, false, members, 20);
    for (int r = 0; r < 3; r++) {
      size_t first = 0;
      while (first < expected.count && expected.data[first].rank != r) first++;
      CU_ASSERT_EQUAL(members[r].code, HR_OK);
      CU_ASSERT_FATAL(first < expected.count);
      CU_ASSERT_EQUAL(members[r].got[0], (float)expected.data[first].value);
    }
    HR_VEC_FREE(&expected);
    schedule_deinit(&schedule);
  }
}

static void test_schedule_text(void) {
  static const char text[] =
      "ranks 2\nshape f32[4]\nrank 0:\n  a = const 3\n  repeat 2 {\n    send a 1\n  }\n"
      "  all-reduce a among 0,1\n  output a\nrank 1:\n  repeat 2 {\n    recv b 0 on a\n  }\n"
      "  b = add b b\n  all-reduce b among 0,1\n";
  hr_source_t source = {"schedule.txt", text, sizeof text - 1};
  schedule_t schedule;
  hr_strbuf_t printed;
  hr_strbuf_init(&printed);
  CHECK_OK(schedule_read(&source, &schedule));
  schedule_print(&printed, &schedule);
  CU_ASSERT_STRING_EQUAL(printed.data, text);
  hr_strbuf_deinit(&printed);
  schedule_deinit(&schedule);
}

/* --- dependencies --- */

/* A chain of all-reduces. */
static void print_chain(hr_strbuf_t *text, int count) {
  hr_strbuf_add_str(text,
                    "HloModule chain\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                    "  ROOT c = f32[] add(a, b)\n}\nENTRY main {\n  x0 = f32[] parameter(0)\n");
  for (int i = 0; i < count; i++)
    hr_strbuf_printf(text, "  %sx%d = f32[] all-reduce(x%d), replica_groups={}, to_apply=add\n",
                     i + 1 == count ? "ROOT " : "", i + 1, i);
  hr_strbuf_add_str(text, "}\n");
}

static hr_code_t order_code(int count, size_t memory_bytes) {
  hr_arena_t arena;
  hr_strbuf_t text;
  hlo_module_t *module;
  comm_analysis_t analysis;
  hr_strbuf_init(&text);
  hr_arena_init(&arena);
  print_chain(&text, count);
  CHECK_OK(read_text(text.data, &module));
  hr_mem_limit(memory_bytes);
  hr_status_t st = comm_analysis_init(&arena, module, true, &analysis);
  hr_mem_limit(0);
  hr_code_t code = hr_status_code(st);
  hr_status_release(st);
  hlo_module_destroy(module);
  hr_arena_deinit(&arena);
  hr_strbuf_deinit(&text);
  return code;
}

/* Rows of bits for 2000 instructions take 1 MB, of which memory must have four times as much. */
static void test_order_of_too_many(void) {
  CU_ASSERT_EQUAL(order_code(2000, 5000000), HR_OK);
  CU_ASSERT_EQUAL(order_code(2000, 3000000), HR_NO_MEMORY);
}

CU_TestInfo suite_channel_routes[] = {{"routes", test_routes},
                                      {"routes on a grid", test_routes_on_grid},
                                      {"routes that do not fit", test_wrong_routes},
                                      {"pairs, and a process in none", test_pairs},
                                      {"a program split by device", test_split_by_device},
                                      {"branches by rank", test_branches},
                                      {"messages keep their order", test_order},
                                      {"a deadlock gets stuck", test_deadlock},
                                      {"patterns give the right numbers", test_patterns},
                                      {"schedules print as they read", test_schedule_text},
                                      {"the order of too many", test_order_of_too_many},
                                      CU_TEST_INFO_NULL};
