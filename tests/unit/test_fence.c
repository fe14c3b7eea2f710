/* Fences find what a step does beyond its arrays, and name it: in a child, where that ends the
 * process. */
#include "base/fence.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hlorun.h"
#include "tests/lib/unit.h"

/* Runs in a child; what it writes to standard error. */
static int run_child(void (*run)(void), char *text, size_t size) {
  int ends[2], how;
  CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    run();
    _exit(0);
  }
  close(ends[1]);
  size_t at = 0;
  for (ssize_t got; at + 1 < size && (got = read(ends[0], text + at, size - 1 - at)) > 0;)
    at += (size_t)got;
  text[at] = 0;
  close(ends[0]);
  CU_ASSERT_EQUAL(waitpid(child, &how, 0), child);
  return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

static void test_blocks(void) {
  for (int mode = HR_FENCE_END; mode <= HR_FENCE_START; mode++) {
    hr_fence_set_mode((hr_fence_mode_t)mode);
    for (size_t size = 0; size < 9000; size = size * 2 + 1) {
      hr_fence_t *fence;
      CHECK_OK(hr_fence_create(size, &fence));
      char *data = hr_fence_data(fence);
      memset(data, 1, size);
      CU_ASSERT_EQUAL((uintptr_t)data % 64, 0);
      CHECK_OK(hr_fence_check());
      CU_ASSERT_TRUE(hr_fence_owns(data));
      hr_fence_destroy(fence);
    }
  }
  hr_fence_set_mode(HR_FENCE_NONE);
}

static void test_bytes_beside(void) {
  hr_fence_t *fence;
  hr_fence_set_mode(HR_FENCE_END);
  CHECK_OK(hr_fence_create(100, &fence));
  char *data = hr_fence_data(fence);
  for (int before = 0; before < 2; before++) {
    data[before ? -1 : 100] ^= 1;
    CHECK_FAILS(HR_INTERNAL, hr_fence_check());
    CHECK_OK(hr_fence_check());
  }
  hr_fence_repaint();
  CHECK_OK(hr_fence_check());
  hr_fence_destroy(fence);
  hr_fence_set_mode(HR_FENCE_NONE);
}

static volatile int sink;

static void read_behind(void) {
  hr_fence_t *fence;
  hr_fence_set_mode(HR_FENCE_END);
  hr_status_release(hr_fence_create(128, &fence));
  sink = ((char *)hr_fence_data(fence))[128];
}

static void write_before(void) {
  hr_fence_t *fence;
  hr_fence_set_mode(HR_FENCE_START);
  hr_status_release(hr_fence_create(128, &fence));
  ((char *)hr_fence_data(fence))[-3] = 1;
}

static void write_sealed(void) {
  hr_fence_t *fence;
  hr_fence_set_mode(HR_FENCE_START);
  hr_status_release(hr_fence_create(128, &fence));
  hr_fence_seal(fence, true);
  ((char *)hr_fence_data(fence))[5] = 1;
}

static void test_pages(void) {
  char text[1024];
  CU_ASSERT_EQUAL(run_child(read_behind, text, sizeof text), 5);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "reads 0 bytes after an array of 128"));
  CU_ASSERT_EQUAL(run_child(write_before, text, sizeof text), 5);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "3 bytes before an array of 128"));
  CU_ASSERT_EQUAL(run_child(write_sealed, text, sizeof text), 5);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "only to be read"));
}

/* --- steps of programs --- */

static int reach; /* elements beyond the end */

static void stray(void *out, void **in) {
  memcpy(out, in[0], 8 * sizeof(int32_t));
  ((int32_t *)out)[7 + reach] = 1;
}

static const char *const program_text =
    "HloModule stray\n"
    "ENTRY main {\n"
    "  x = s32[8] parameter(0)\n"
    "  y = s32[8] add(x, x)\n"
    "  wanders = s32[8] custom-call(y), custom_call_target=\"test_fence_stray\"\n"
    "  ROOT z = s32[8] add(wanders, y)\n"
    "}\n";

/* What the run of the program says; NULL: nothing. The caller frees it. */
static char *run_program(hlorun_engine_t engine) {
  hlorun_client_options_t options;
  hlorun_program_options_t how;
  hlorun_client_t *client;
  hlorun_program_t *program;
  int32_t values[8] = {0};
  int64_t dims[1] = {8};
  hlorun_buffer_t *arg, *result = NULL;
  hlorun_client_options_init(&options);
  hlorun_program_options_init(&how);
  options.world = HLORUN_WORLD_SINGLE;
  options.engine = engine;
  options.threads = 1;
  CHECK_OK(hlorun_client_create(&options, &client));
  CHECK_OK(hlorun_program_load_bytes(client, "stray.hlo", program_text, strlen(program_text), &how,
                                     &program));
  CHECK_OK(hlorun_buffer_create("s32", 1, dims, values, NULL, NULL, &arg));
  hlorun_status_t status = hlorun_execute(program, &arg, NULL, &result);
  char *said = status ? hlorun_status_format(status) : NULL;
  hlorun_status_release(status);
  hlorun_buffer_release(arg);
  hlorun_buffer_release(result);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
  return said;
}

static hlorun_engine_t child_engine;
static void run_far(void) {
  hr_fence_set_mode(HR_FENCE_END);
  free(run_program(child_engine));
}

static void test_steps(void) {
  char text[2048];
  CHECK_OK(hlorun_register_custom_call("test_fence_stray", stray));
  for (int engine = HLORUN_ENGINE_REFERENCE; engine <= HLORUN_ENGINE_COMPILED; engine++) {
    hr_fence_set_mode(HR_FENCE_END);
    reach = 0;
    CU_ASSERT_PTR_NULL(run_program((hlorun_engine_t)engine));
    reach = 1;
    char *said = run_program((hlorun_engine_t)engine);
    CU_ASSERT_PTR_NOT_NULL_FATAL(said);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "custom-call of %wanders of computation main"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "writes 0 bytes after an array of 32"));
    free(said);
    hr_fence_set_mode(HR_FENCE_NONE);
    reach = 100;
    child_engine = (hlorun_engine_t)engine;
    CU_ASSERT_EQUAL(run_child(run_far, text, sizeof text), 5);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "custom-call of %wanders of computation main"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "after an array of 32"));
  }
}

CU_TestInfo suite_fence[] = {{"blocks", test_blocks},
                             {"bytes beside blocks", test_bytes_beside},
                             {"pages beside blocks", test_pages},
                             {"steps are named", test_steps},
                             CU_TEST_INFO_NULL};
