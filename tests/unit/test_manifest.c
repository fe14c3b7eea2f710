/* Manifests of checkpoints: names, every bit of a file counts, earlier versions, damaged text. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/checkpoint/cli_manifest.h"
#include "tests/lib/unit.h"

static void make_folder(char path[64], cli_folder_t *folder) {
  strcpy(path, "/tmp/hlorun-unit-XXXXXX");
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(path));
  CHECK_OK(cli_folder_open(path, folder));
}

static void remove_folder(const char *path, cli_folder_t *folder) {
  hr_arena_t arena;
  const char **names;
  int count;
  hr_arena_init(&arena);
  CHECK_OK(cli_folder_list(folder, &arena, &names, &count));
  for (int i = 0; i < count; i++) cli_folder_remove(folder, names[i]);
  hr_arena_deinit(&arena);
  cli_folder_close(folder);
  CU_ASSERT_EQUAL(rmdir(path), 0);
}

static hr_status_t read_text(const cli_folder_t *folder, const char *text, size_t size,
                             uint64_t step) {
  cli_manifest_t manifest;
  hr_arena_t arena;
  CHECK_OK(cli_folder_write(folder, "manifest", false, text, size));
  hr_arena_init(&arena);
  hr_status_t st = cli_manifest_read(&arena, folder, step, &manifest);
  hr_arena_deinit(&arena);
  return st;
}

static void test_step_names(void) {
  static const char *const wrong[] = {"step-1",
                                      "step-",
                                      "step-000000000000",
                                      "step-99999999999999999999",
                                      "step-000000000040x",
                                      "step- 00000000040",
                                      "step-+00000000040",
                                      "Step-000000000040",
                                      "torn-step-000000000040",
                                      "step--00000000040",
                                      "step-0000000000040"};
  char name[CLI_STEP_NAME];
  uint64_t step;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CU_ASSERT_FALSE(cli_step_parse(wrong[i], &step));
  static const uint64_t steps[] = {1, 40, 999999999999, 1000000000000, UINT64_MAX};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    cli_step_name(name, steps[i]);
    CU_ASSERT_TRUE(cli_step_parse(name, &step));
    CU_ASSERT_EQUAL(step, steps[i]);
  }
}

static hr_buffer_t *write_manifest(const cli_folder_t *folder) {
  cli_sum_t sums[2] = {{100, 1, 2, {"train", ""}}, {200, 3, 4, {"train", ""}}};
  for (int r = 0; r < 2; r++) memset(sums[r].program.digest, '0' + r, HR_DIGEST_TEXT - 1);
  cli_manifest_t manifest = {.step = 60,
                             .began = 17,
                             .num_replicas = 2,
                             .num_partitions = 1,
                             .sums = sums},
                 read;
  hr_buffer_t *bytes;
  hr_arena_t arena;
  hr_arena_init(&arena);
  CHECK_OK(cli_manifest_write(folder, &manifest));
  CHECK_OK(cli_manifest_read(&arena, folder, 60, &read));
  CU_ASSERT_EQUAL(read.began, 17);
  CU_ASSERT_EQUAL(read.num_replicas, 2);
  CU_ASSERT_EQUAL(read.sums[1].size_bytes, 200);
  CU_ASSERT_STRING_EQUAL(read.sums[1].program.name, "train");
  CHECK_FAILS(HR_INVALID, cli_manifest_read(&arena, folder, 68, &read));
  hr_arena_deinit(&arena);
  CHECK_OK(cli_folder_map(folder, "manifest", &bytes));
  return bytes;
}

/* No bit can be another one, no byte can be missing. */
static void test_every_bit_counts(void) {
  size_t live = hr_mem_live_blocks();
  char path[64], text[4096];
  cli_folder_t folder;
  make_folder(path, &folder);
  hr_buffer_t *bytes = write_manifest(&folder);
  size_t size = hr_buffer_size(bytes);
  CU_ASSERT_TRUE_FATAL(size < sizeof text);
  memcpy(text, hr_buffer_data(bytes), size);
  hr_buffer_release(bytes);
  for (size_t i = 0; i < size; i++) {
    text[i] ^= (char)(1 << (i % 8));
    CHECK_FAILS(HR_INVALID, read_text(&folder, text, size, 60));
    text[i] ^= (char)(1 << (i % 8));
    if (i % 7 == 0) CHECK_FAILS(HR_INVALID, read_text(&folder, text, i, 60));
  }
  CHECK_OK(read_text(&folder, text, size, 60));
  remove_folder(path, &folder);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* Manifests of the first version are read, and their step is compared with the folder's, too. */
static void test_first_version(void) {
  static const char text[] =
      "hlorun checkpoint 1\nstep 60\ngrid 1 2\nrank0.npz 16640 1f 2f\nrank1.npz 16640 3f 4f\nend\n";
  char path[64], other[sizeof text];
  cli_folder_t folder;
  make_folder(path, &folder);
  CHECK_OK(read_text(&folder, text, sizeof text - 1, 60));
  CHECK_FAILS(HR_INVALID, read_text(&folder, text, sizeof text - 1, 68));
  for (size_t size = 0; size < sizeof text - 1; size++)
    CHECK_FAILS(HR_INVALID, read_text(&folder, text, size, 60));
  memcpy(other, text, sizeof text);
  *strstr(other, "1 2") = '9';
  CHECK_FAILS(HR_INVALID, read_text(&folder, other, sizeof text - 1, 60));
  *strchr(other, '1') = '3';
  CHECK_FAILS(HR_INVALID, read_text(&folder, other, sizeof text - 1, 60));
  remove_folder(path, &folder);
}

/* Links are never followed, and what is no file is neither waited for nor read. */
static void test_strange_files(void) {
  char path[64], outside[64], precious[80];
  cli_folder_t folder, elsewhere, inner;
  hr_buffer_t *bytes;
  make_folder(path, &folder);
  make_folder(outside, &elsewhere);
  CHECK_OK(cli_folder_write(&elsewhere, "precious", false, "x", 1));
  snprintf(precious, sizeof precious, "%s/precious", outside);
  CU_ASSERT_EQUAL_FATAL(symlinkat(outside, folder.fd, "link"), 0);
  CU_ASSERT_EQUAL_FATAL(symlinkat(precious, folder.fd, "manifest"), 0);
  CU_ASSERT_EQUAL_FATAL(mkfifoat(folder.fd, "fifo", 0600), 0);
  CHECK_FAILS(HR_INVALID, cli_folder_enter(&folder, "link", &inner));
  CHECK_FAILS(HR_INVALID, cli_folder_make(&folder, "link", &inner));
  CHECK_FAILS(HR_INVALID, cli_folder_map(&folder, "manifest", &bytes));
  CHECK_FAILS(HR_INVALID, cli_folder_map(&folder, "fifo", &bytes));
  CHECK_FAILS(HR_INVALID, cli_folder_map(&folder, "missing", &bytes));
  CHECK_OK(cli_folder_write(&folder, "manifest", false, "y", 1)); /* takes the link's place */
  cli_folder_remove(&folder, "link");
  CU_ASSERT_FALSE(cli_folder_has(&folder, "link"));
  CHECK_OK(cli_folder_map(&elsewhere, "precious", &bytes));
  CU_ASSERT_EQUAL(*(char *)hr_buffer_data(bytes), 'x');
  hr_buffer_release(bytes);
  remove_folder(path, &folder);
  remove_folder(outside, &elsewhere);
}

/* The folder is the one that was opened, wherever its path leads now. */
static void test_moved_folder(void) {
  char path[64], moved[80];
  cli_folder_t folder;
  make_folder(path, &folder);
  snprintf(moved, sizeof moved, "%s.moved", path);
  CU_ASSERT_EQUAL_FATAL(rename(path, moved), 0);
  CHECK_OK(cli_folder_write(&folder, "x", false, "1", 1));
  CU_ASSERT_TRUE(cli_folder_has(&folder, "x"));
  remove_folder(moved, &folder);
}

CU_TestInfo suite_manifest[] = {
    {"step names", test_step_names},       {"every bit counts", test_every_bit_counts},
    {"first version", test_first_version}, {"strange files", test_strange_files},
    {"moved folder", test_moved_folder},   CU_TEST_INFO_NULL};
