/* Training from feeds: how an epoch is divided among processes, sets that do not fit, curves. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/run/cli_feed.h"
#include "cli/arrays/cli_index_bounds.h"
#include "cli/picture/cli_plot.h"
#include "cli/arrays/cli_random.h"
#include "tests/lib/unit.h"

#define EXAMPLES 11

/* images[i] = {i, i + 0.5}, labels[i] = i. */
static void write_set(char path[64]) {
  strcpy(path, "/tmp/hlorun-unit-XXXXXX");
  close(mkstemp(path));
  float images[EXAMPLES][2];
  int32_t labels[EXAMPLES];
  for (int i = 0; i < EXAMPLES; i++) {
    images[i][0] = (float)i;
    images[i][1] = (float)i + 0.5f;
    labels[i] = i;
  }
  zip_writer_t *writer;
  char with_ending[80];
  snprintf(with_ending, sizeof with_ending, "%s.npz", path);
  CHECK_OK(zip_create(with_ending, &writer));
  hr_status_t st =
      npz_add(writer, "images", HR_F32, 2, (int64_t[]){EXAMPLES, 2}, images, sizeof images);
  if (!st) st = npz_add(writer, "labels", HR_S32, 1, (int64_t[]){EXAMPLES}, labels, sizeof labels);
  CHECK_OK(zip_finish(writer, st));
  unlink(path);
  strcpy(path, with_ending);
}

static void make_interface(cli_signature_t *interface, const char *images, const char *labels) {
  *interface = (cli_signature_t){.param_count = 2};
  hr_arena_init(&interface->arena);
  CHECK_OK(HR_NEW_ARRAY(&interface->arena, 2, &interface->params));
  CHECK_OK(cli_shape_parse(&interface->arena, images, &interface->params[0]));
  CHECK_OK(cli_shape_parse(&interface->arena, labels, &interface->params[1]));
  interface->whole_params = interface->params;
}

static hr_status_t create(const char *path, const cli_signature_t *interface, int replica,
                          int replicas, cli_feed_t **out_feed) {
  char images[160], labels[160];
  snprintf(images, sizeof images, "--feed=0=%s:images", path);
  snprintf(labels, sizeof labels, "--feed=1=%s:labels", path);
  char *const words[] = {images, labels, "--seed=3"};
  hr_options_t options;
  hr_status_t st = hr_options_parse(HR_COMMAND_RUN, 3, words, &options);
  if (!st) st = cli_feed_create(&options, interface, replica, replicas, 1, out_feed);
  hr_options_deinit(&options);
  return st;
}

/* Notes which examples a replica sees in a step; images must keep their labels. */
static void note_step(cli_feed_t *feed, uint64_t step, hlo_value_t **params, int *seen) {
  CHECK_OK(cli_feed_step(feed, step, params));
  const float *images = params[0]->data;
  const int32_t *labels = params[1]->data;
  for (int64_t i = 0; i < params[1]->count; i++) {
    CU_ASSERT_EQUAL(images[2 * i], (float)labels[i]);
    CU_ASSERT_EQUAL(images[2 * i + 1], (float)labels[i] + 0.5f);
    seen[labels[i]]++;
  }
}

static void test_parts_are_disjoint(void) {
  size_t live = hr_mem_live_blocks();
  char path[64];
  write_set(path);
  cli_signature_t interface;
  make_interface(&interface, "f32[2,2]", "s32[2]");
  cli_feed_t *feeds[2];
  CHECK_OK(create(path, &interface, 0, 2, &feeds[0]));
  CHECK_OK(create(path, &interface, 1, 2, &feeds[1]));
  CU_ASSERT_EQUAL(cli_feed_steps_per_epoch(feeds[0]), 2);
  hlo_value_t *params[2] = {NULL, NULL};
  int first_epoch[EXAMPLES] = {0}, same = 0;
  for (int epoch = 0; epoch < 3; epoch++) {
    int seen[EXAMPLES] = {0}, total = 0;
    for (int r = 0; r < 2; r++)
      for (uint64_t step = 0; step < 2; step++)
        note_step(feeds[r], (uint64_t)epoch * 2 + step, params, seen);
    for (int i = 0; i < EXAMPLES; i++) {
      CU_ASSERT_TRUE(seen[i] <= 1);
      total += seen[i];
      if (epoch == 0) first_epoch[i] = seen[i];
      if (epoch == 1) same += seen[i] == first_epoch[i];
    }
    CU_ASSERT_EQUAL(total, 8);
  }
  CU_ASSERT_TRUE(same < EXAMPLES); /* another epoch leaves other examples out */
  hlo_value_release(params[0]);
  hlo_value_release(params[1]);
  cli_feed_destroy(feeds[0]);
  cli_feed_destroy(feeds[1]);
  cli_signature_deinit(&interface);
  unlink(path);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* A bound is shared among the replicas: together they see what one alone sees. */
static void test_bounds_are_shared(void) {
  char path[64];
  write_set(path);
  cli_signature_t interface;
  make_interface(&interface, "f32[<=4,2]", "s32[<=4]");
  cli_feed_t *alone, *part;
  hlo_value_t *params[2] = {NULL, NULL};
  int whole[EXAMPLES] = {0}, parts[EXAMPLES] = {0};
  CHECK_OK(create(path, &interface, 0, 1, &alone));
  note_step(alone, 1, params, whole);
  cli_feed_destroy(alone);
  for (int r = 0; r < 4; r++) {
    CHECK_OK(create(path, &interface, r, 4, &part));
    note_step(part, 1, params, parts);
    CU_ASSERT_EQUAL(params[1]->count, 1);
    cli_feed_destroy(part);
  }
  CU_ASSERT_EQUAL(memcmp(whole, parts, sizeof whole), 0);
  hlo_value_release(params[0]);
  hlo_value_release(params[1]);
  cli_signature_deinit(&interface);
  unlink(path);
}

static void test_sets_that_do_not_fit(void) {
  size_t live = hr_mem_live_blocks();
  char path[64];
  write_set(path);
  static const char *const shapes[][2] = {{"f32[2,3]", "s32[2]"}, {"f32[2,2]", "f32[2]"},
                                          {"f32[2,2]", "s32[3]"}, {"f32[12,2]", "s32[12]"},
                                          {"f32[]", "s32[]"},     {"f32[0,2]", "s32[0]"}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    cli_signature_t interface;
    cli_feed_t *feed;
    make_interface(&interface, shapes[i][0], shapes[i][1]);
    CHECK_FAILS(HR_USAGE, create(path, &interface, 0, 1, &feed));
    cli_signature_deinit(&interface);
  }
  unlink(path);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

static void test_random_values(void) {
  hr_arena_t arena;
  hr_arena_init(&arena);
  const hlo_shape_t *shape;
  hlo_value_t *value, *again, *other;
  CHECK_OK(cli_shape_parse(&arena, "s32[100]", &shape));
  CHECK_OK(cli_random_value(shape, 0, &(cli_random_t){1, 7, false}, &value));
  CHECK_OK(cli_random_value(shape, 0, &(cli_random_t){1, 7, false}, &again));
  CHECK_OK(cli_random_value(shape, 0, &(cli_random_t){2, 7, false}, &other));
  CU_ASSERT_TRUE(hlo_value_equal(value, again));
  CU_ASSERT_FALSE(hlo_value_equal(value, other));
  for (int64_t i = 0; i < 100; i++)
    CU_ASSERT_TRUE(hlo_value_int_at(value, i) >= 0 && hlo_value_int_at(value, i) < 7);
  hlo_value_release(value);
  hlo_value_release(again);
  hlo_value_release(other);
  CHECK_OK(cli_shape_parse(&arena, "s2[100]", &shape));
  CHECK_OK(cli_random_value(shape, 0, &(cli_random_t){1, CLI_NO_BOUND, false}, &value));
  for (int64_t i = 0; i < 100; i++)
    CU_ASSERT_TRUE(hlo_value_int_at(value, i) >= -2 && hlo_value_int_at(value, i) <= 1);
  hlo_value_release(value);
  for (uint64_t seed = 0; seed < 8; seed++) {
    CHECK_OK(cli_random_value(shape, 0, &(cli_random_t){seed, CLI_NO_BOUND, true}, &value));
    for (int64_t i = 0; i < 100; i++)
      CU_ASSERT_TRUE(hlo_value_int_at(value, i) >= -2 && hlo_value_int_at(value, i) <= 1);
    hlo_value_release(value);
  }
  hr_arena_deinit(&arena);
}

static void test_curves(void) {
  double first, step;
  cli_plot_ticks(0.03, 0.97, 6, &first, &step);
  CU_ASSERT_DOUBLE_EQUAL(step, 0.2, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(first, 0.2, 1e-12);
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  const double values[] = {3, 2, 0.0 / 0.0, 1, 0.5};
  cli_series_t series = {0};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    CHECK_OK(cli_series_add(&series, values[i]));
  cli_plot_print(&text, "a<b & \"c\"", &series);
  cli_series_deinit(&series);
  CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "a&#60;b &#38; &#34;c&#34;"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "</svg>\n"));
  CU_ASSERT_PTR_NULL(strstr(text.data, "nan"));
  hr_strbuf_deinit(&text);
  cli_plot_print(&text, "nothing", &series);
  CU_ASSERT_PTR_NULL(strstr(text.data, "nan"));
  hr_strbuf_deinit(&text);
}

CU_TestInfo suite_feed[] = {{"parts are disjoint", test_parts_are_disjoint},
                            {"bounds are shared", test_bounds_are_shared},
                            {"sets that do not fit", test_sets_that_do_not_fit},
                            {"random values", test_random_values},
                            {"curves", test_curves},
                            CU_TEST_INFO_NULL};
