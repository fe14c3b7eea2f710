/* TensorFlow's formats without a graph's execution: the tensor bundle, written and read again, its
 * damage; the text format; names of devices; channels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/lib/unit.h"
#include "tf/file/crc32c.h"
#include "tf/file/tensor_bundle.h"
#include "tf/file/tf_graph.h"
#include "tf/compile/xla_channels.h"
#include "tf/compile/xla_compilation.h"

/* A folder of its own; the bundle in it is "b". */
static void make_prefix(char prefix[64]) {
  char folder[] = "/tmp/test_tf.XXXXXX";
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  snprintf(prefix, 64, "%s/b", folder);
}

static void remove_bundle(const char *prefix) {
  static const char *const suffixes[] = {".index", ".data-00000-of-00001"};
  char path[96];
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s%s", prefix, suffixes[i]);
    unlink(path);
  }
  snprintf(path, sizeof path, "%.*s", (int)strlen(prefix) - 2, prefix);
  rmdir(path);
}

static hlo_value_t *numbers(int64_t count, float first) {
  hlo_value_t *value;
  CHECK_OK(hlo_value_array(HR_F32, 1, &count, &value));
  for (int64_t i = 0; i < count; i++) ((float *)value->data)[i] = first + (float)i;
  return value;
}

/* The published check values of CRC-32C. */
static void test_check_sum(void) {
  char zeros[32] = {0};
  CU_ASSERT_EQUAL(crc32c("123456789", 9), 0xe3069283u);
  CU_ASSERT_EQUAL(crc32c(zeros, sizeof zeros), 0x8a9136aau);
  CU_ASSERT_EQUAL(crc32c("", 0), 0);
}

/* Names come back in any order, and a change replaces one tensor alone. */
static void test_bundle_round_trip(void) {
  char prefix[64];
  hr_arena_t arena;
  tensor_bundle_t bundle;
  hlo_value_t *a = numbers(3, 1), *b = numbers(5, 10), *c = numbers(3, 100), *read;
  tensor_change_t both[] = {{HR_STR("w/value"), a}, {HR_STR("a"), b}};
  tensor_change_t one = {HR_STR("w/value"), c};
  make_prefix(prefix);
  hr_arena_init(&arena);
  CHECK_OK(tensor_bundle_write(prefix, NULL, 2, both));
  CHECK_OK(tensor_bundle_open(&arena, prefix, &bundle));
  CU_ASSERT_EQUAL(bundle.entry_count, 3);
  CHECK_OK(tensor_bundle_read(&bundle, HR_STR("w/value"), &read));
  CU_ASSERT_EQUAL(((float *)read->data)[2], 3);
  hlo_value_release(read);
  CHECK_OK(tensor_bundle_write(prefix, &bundle, 1, &one));
  tensor_bundle_close(&bundle);
  CHECK_OK(tensor_bundle_open(&arena, prefix, &bundle));
  CHECK_OK(tensor_bundle_read(&bundle, HR_STR("w/value"), &read));
  CU_ASSERT_EQUAL(((float *)read->data)[0], 100);
  hlo_value_release(read);
  CHECK_OK(tensor_bundle_read(&bundle, HR_STR("a"), &read));
  CU_ASSERT_EQUAL(read->count, 5);
  CU_ASSERT_EQUAL(((float *)read->data)[4], 14);
  hlo_value_release(read);
  CHECK_FAILS(HR_INVALID, tensor_bundle_read(&bundle, HR_STR("b"), &read));
  tensor_bundle_close(&bundle);
  remove_bundle(prefix);
  hr_arena_deinit(&arena);
  hlo_value_release(a);
  hlo_value_release(b);
  hlo_value_release(c);
}

/* Each byte of the index changed in turn: the bundle is refused, as blocks have check sums. Only
 * zeros of the footer are not looked at. */
static void test_bundle_damage(void) {
  char prefix[64], path[96], bytes[1024];
  hr_arena_t arena;
  tensor_bundle_t bundle;
  hlo_value_t *a = numbers(3, 1);
  tensor_change_t change = {HR_STR("w"), a};
  int accepted = 0;
  make_prefix(prefix);
  CHECK_OK(tensor_bundle_write(prefix, NULL, 1, &change));
  snprintf(path, sizeof path, "%s.index", prefix);
  FILE *file = fopen(path, "rb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  for (size_t i = 0; i < size; i++) {
    bytes[i] ^= 0x15;
    file = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fwrite(bytes, 1, size, file);
    fclose(file);
    bytes[i] ^= 0x15;
    hr_arena_init(&arena);
    hr_status_t st = tensor_bundle_open(&arena, prefix, &bundle);
    if (!st) tensor_bundle_close(&bundle);
    accepted += st == NULL;
    hr_status_release(st);
    hr_arena_deinit(&arena);
  }
  CU_ASSERT(size > 90);
  CU_ASSERT(accepted < 64); /* the footer's zeros, and the block of filters */
  remove_bundle(prefix);
  hlo_value_release(a);
}

/* Where text is wrong, the message has line and column. */
static void test_text_errors(void) {
  static const struct {
    const char *text, *place;
  } cases[] = {
      {"node { name: 'a'\n  op }", "2:"}, {"node { nam: 'a' }", ""},
      {"node { name: \"a }", "1:"},       {"node { input: [a", "1:"}, /* was read for ever */
      {"node { op: Add }", "1:"},         {"node {", "1:"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hr_strbuf_t bytes;
    hr_strbuf_init(&bytes);
    hr_status_t st =
        tf_text_to_bytes("t.pbtxt", hr_str_from(cases[i].text), TF_MESSAGE_graph, &bytes);
    if (*cases[i].place) CU_ASSERT_EQUAL(hr_status_code(st), HR_INVALID);
    hr_status_release(st);
    hr_strbuf_deinit(&bytes);
  }
}

static void test_devices(void) {
  CU_ASSERT_EQUAL(xla_core_of_device(HR_STR("/job:w/device:TPU_REPLICATED_CORE:3")), 3);
  CU_ASSERT_EQUAL(xla_core_of_device(HR_STR("/device:TPU_REPLICATED_CORE:12/x")), 12);
  CU_ASSERT_EQUAL(xla_core_of_device(HR_STR("/device:TPU_REPLICATED_CORE:")), -1);
  CU_ASSERT_EQUAL(xla_core_of_device(HR_STR("/device:CPU:0")), -1);
  CU_ASSERT_EQUAL(xla_core_of_device((hr_str_t){0}), -1);
}

static void test_channels(void) {
  xla_channels_t channels;
  int64_t first, second, again;
  xla_channels_init(&channels);
  CHECK_OK(xla_channel(&channels, HR_STR("a"), &first));
  CHECK_OK(xla_channel(&channels, HR_STR("b"), &second));
  CHECK_OK(xla_channel(&channels, HR_STR("a"), &again));
  CU_ASSERT_EQUAL(first, again);
  CU_ASSERT_NOT_EQUAL(first, second);
  CHECK_OK(xla_host_channel(&channels, HR_STR("a"), 0, hlo_shape_scalar(HR_F32), true, &again));
  CU_ASSERT(again > second);
  CHECK_OK(xla_host_channel(&channels, HR_STR("a"), 0, hlo_shape_scalar(HR_F32), false, &again));
  CHECK_FAILS(HR_INVALID,
              xla_host_channel(&channels, HR_STR("a"), 0, hlo_shape_scalar(HR_F32), true, &again));
  CHECK_FAILS(HR_INVALID, xla_channel(&channels, HR_STR(""), &first));
  xla_channels_deinit(&channels);
}

/* The library's gradient of a function. */
static void test_gradient_of_library(void) {
  hr_arena_t arena;
  hr_strbuf_t bytes;
  tf_graph_t graph;
  hr_str_t piece;
  hr_arena_init(&arena);
  hr_strbuf_init(&bytes);
  CHECK_OK(tf_text_to_bytes("t",
                            HR_STR("library { function { signature { name: 'f' } }"
                                   " function { signature { name: 'df' } }"
                                   " gradient { function_name: 'f' gradient_func: 'df' } }"),
                            TF_MESSAGE_graph, &bytes));
  piece = (hr_str_t){bytes.data, bytes.size};
  CHECK_OK(tf_graph_read(&arena, proto_piece(&piece), &graph));
  CU_ASSERT_PTR_EQUAL(tf_graph_gradient(&graph, HR_STR("f")),
                      tf_graph_function(&graph, HR_STR("df")));
  CU_ASSERT_PTR_NULL(tf_graph_gradient(&graph, HR_STR("df")));
  tf_graph_deinit(&graph);
  hr_strbuf_deinit(&bytes);
  hr_arena_deinit(&arena);
}

CU_TestInfo suite_tf[] = {{"check sum", test_check_sum},
                          {"bundle, written and read", test_bundle_round_trip},
                          {"bundle, damaged", test_bundle_damage},
                          {"text errors", test_text_errors},
                          {"devices", test_devices},
                          {"channels", test_channels},
                          {"gradient of the library", test_gradient_of_library},
                          CU_TEST_INFO_NULL};
