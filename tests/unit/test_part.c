/* Parts of a world: threads of one process as ranks, in any order, and lists that are refused. */
#include <pthread.h>

#include "tests/lib/api_driver.h"

enum { LANES = 3 };

static hlorun_client_t *whole;

/* Each rank gives what the one before it has, and 10 times its own place. */
static const char program_text[] =
    "HloModule part, num_partitions=%d\n"
    "ENTRY main { x = f32[1] parameter(0)\n"
    "  p = f32[1] collective-permute(x), channel_id=1, source_target_pairs={%s}\n"
    "  i = u32[] partition-id()\n  f = f32[] convert(i)\n  c = f32[] constant(10)\n"
    "  g = f32[] multiply(f, c)\n  b = f32[1] broadcast(g), dimensions={}\n"
    "  ROOT r = f32[1] add(p, b) }\n";

typedef struct rank {
  hlorun_client_t *client;
  hlorun_program_t *program;
  float own, got;
  pthread_t thread;
} rank_t;

static void *execute(void *context) {
  rank_t *rank = context;
  int64_t one = 1;
  hlorun_buffer_t *arg = NULL, *result = NULL;
  CHECK_OK(hlorun_buffer_create("f32", 1, &one, &rank->own, NULL, NULL, &arg));
  for (int run = 0; run < 20; run++) {
    CHECK_OK(hlorun_execute(rank->program, &arg, NULL, &result));
    rank->got = *(const float *)hlorun_buffer_data(result);
    hlorun_buffer_release(result);
  }
  hlorun_buffer_release(arg);
  return NULL;
}

/* A part of these members, whose values are their numbers; a ring moves them on by one. */
static void run_ring(int count, const int *members, const char *pairs) {
  rank_t ranks[LANES];
  hlorun_client_t *clients[LANES];
  hlorun_program_t *programs[LANES];
  hlorun_program_options_t options;
  char text[1024];
  snprintf(text, sizeof text, program_text, count, pairs);
  hlorun_program_options_init(&options);
  CHECK_OK(hlorun_clients_create_part(whole, LANES, count, members, clients));
  CHECK_OK(hlorun_programs_load_local(clients, count, "part.hlo", text, strlen(text), &options,
                                      programs));
  for (int k = 0; k < count; k++) {
    CU_ASSERT_EQUAL(hlorun_client_rank(clients[k]), k);
    CU_ASSERT_EQUAL(hlorun_client_world_size(clients[k]), count);
    ranks[k] = (rank_t){.client = clients[k], .program = programs[k], .own = (float)members[k]};
    pthread_create(&ranks[k].thread, NULL, execute, &ranks[k]);
  }
  for (int k = 0; k < count; k++) pthread_join(ranks[k].thread, NULL);
  for (int k = 0; k < count; k++) {
    CU_ASSERT_EQUAL(ranks[k].got, (float)(members[(k + count - 1) % count] + 10 * k));
    hlorun_program_release(programs[k]);
    hlorun_client_release(clients[k], 0);
  }
}

static void open_whole(void) {
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_SINGLE;
  CHECK_OK(hlorun_client_create(&options, &whole));
}

static void test_rings(void) {
  open_whole();
  run_ring(3, (int[]){2, 0, 1}, "{0,1},{1,2},{2,0}");
  run_ring(2, (int[]){2, 0}, "{0,1},{1,0}");
  run_ring(1, (int[]){1}, "{0,0}");
  run_ring(3, (int[]){0, 1, 2}, "{0,1},{1,2},{2,0}");
  hlorun_client_release(whole, 0);
}

static void refuse(hr_code_t code, const char *says, int lanes, int count, const int *members) {
  hlorun_client_t *clients[LANES];
  hlorun_status_t status = hlorun_clients_create_part(whole, lanes, count, members, clients);
  CU_ASSERT_EQUAL(hr_status_code(status), code);
  CU_ASSERT_PTR_NOT_NULL(strstr(hlorun_status_message(status), says));
  hlorun_status_release(status);
}

static void test_refused(void) {
  open_whole();
  refuse(HR_USAGE, "0 ranks for each process, want 1 to 16", 0, 1, (int[]){0});
  refuse(HR_USAGE, "17 ranks for each process", 17, 1, (int[]){0});
  refuse(HR_USAGE, "a part of 4 ranks, want 1 to 3", LANES, 4, (int[]){0, 1, 2, 3});
  refuse(HR_USAGE, "a part of 0 ranks", LANES, 0, (int[]){0});
  refuse(HR_INVALID, "lists rank 1, want ranks below 1", LANES, 2, (int[]){0, 3});
  refuse(HR_INVALID, "lists rank -1", LANES, 2, (int[]){0, -5});
  refuse(HR_INVALID, "lists thread 2 of rank 0 twice", LANES, 2, (int[]){2, 2});
  refuse(HR_USAGE, "rank 0 is not a member", LANES, 1, (int[]){4});
  hlorun_client_release(whole, 0);
}

CU_TestInfo suite_part[] = {
    {"threads of a process as ranks, in any order", test_rings},
    {"lists that are refused", test_refused},
    CU_TEST_INFO_NULL,
};
