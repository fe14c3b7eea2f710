/* Runs the suites of suites.def, each in a process of its own with a time limit, so that a crash or
 * a hang of one takes none of the others along. unit_tests [SUITE...]   default: all; TEST_SECONDS
 * changes the limit of a suite's processor time (60). Four times as long may pass by the clock, as
 * other processes may use the processors. The last line is "N passed, N failed[, N skipped]",
 * counted by tests. */
#include <CUnit/CUnit.h>
#include <CUnit/TestDB.h>
#include <CUnit/TestRun.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/lib/unit.h"

#define SUITE(name) extern CU_TestInfo suite_##name[];
#include "suites.def"
#undef SUITE

typedef struct suite {
  const char *name;
  CU_TestInfo *tests;
} suite_t;

static const suite_t suites[] = {
#define SUITE(name) {#name, suite_##name},
#include "suites.def"
#undef SUITE
};
#define SUITE_COUNT (sizeof suites / sizeof suites[0])

typedef struct counts {
  unsigned passed, failed, skipped;
} counts_t;

#define MAX_SKIPPED 100

/* The tests of this suite that called SKIP, each once. */
static CU_pTest skipped_tests[MAX_SKIPPED];
static unsigned skipped_count;

void unit_skip(const char *what, const char *why) {
  CU_pTest test = CU_get_current_test();
  printf("  skipped: %s: %s\n", what, why);
  if (skipped_count && skipped_tests[skipped_count - 1] == test) return;
  if (skipped_count < MAX_SKIPPED) skipped_tests[skipped_count++] = test;
}

static bool has_failed(CU_pTest test) {
  for (CU_pFailureRecord record = CU_get_failure_list(); record; record = record->pNext)
    if (record->pTest == test) return true;
  return false;
}

/* Skipped tests that did not fail as well. */
static unsigned count_skipped(void) {
  unsigned count = 0;
  for (unsigned i = 0; i < skipped_count; i++) count += !has_failed(skipped_tests[i]);
  return count;
}

static void print_failures(void) {
  for (CU_pFailureRecord record = CU_get_failure_list(); record; record = record->pNext)
    printf("  %s:%u: %s: %s\n", record->strFileName ? record->strFileName : "?",
           record->uiLineNumber, record->pTest ? record->pTest->pName : "(suite)",
           record->strCondition ? record->strCondition : "");
}

/* The suite itself, in the child: counts go to the parent through the pipe. */
static int run_in_child(const suite_t *suite, int result_fd) {
  CU_SuiteInfo info[] = {{suite->name, NULL, NULL, NULL, NULL, suite->tests}, CU_SUITE_INFO_NULL};
  size_t live_before = hr_mem_live_blocks();
  if (CU_initialize_registry() || CU_register_suites(info)) return 1;
  CU_run_all_tests();
  print_failures();
  counts_t counts = {.failed = CU_get_number_of_tests_failed()};
  counts.skipped = count_skipped();
  counts.passed = CU_get_number_of_tests_run() - counts.failed - counts.skipped;
  CU_cleanup_registry();
  size_t leaked = hr_mem_live_blocks() - live_before;
  if (leaked) {
    printf("  %zu blocks of memory were not freed\n", leaked);
    counts.failed++;
  }
  fflush(stdout);
  return write(result_fd, &counts, sizeof counts) == (ssize_t)sizeof counts ? 0 : 1;
}

static unsigned time_limit(void) {
  const char *text = getenv("TEST_SECONDS");
  return text && atoi(text) > 0 ? (unsigned)atoi(text) : 60;
}

static void print_counts(const char *suite, const counts_t *counts) {
  if (suite) printf("%-20s ", suite);
  printf("%u passed, %u failed", counts->passed, counts->failed);
  if (counts->skipped) printf(", %u skipped", counts->skipped);
  printf("\n");
}

static void limit_time(void) {
  unsigned seconds = time_limit();
  setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds + 1});
  alarm(4 * seconds);
}

static bool is_time_limit(int signal) { return signal == SIGALRM || signal == SIGXCPU; }

static counts_t run_suite(const suite_t *suite) {
  counts_t counts = {0};
  int ends[2], wait_status = 0;
  if (pipe(ends)) return (counts_t){.failed = 1};
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    limit_time();
    exit(run_in_child(suite, ends[1]));
  }
  close(ends[1]);
  ssize_t got = child < 0 ? 0 : read(ends[0], &counts, sizeof counts);
  close(ends[0]);
  if (child > 0) waitpid(child, &wait_status, 0);
  if (got != (ssize_t)sizeof counts)
    counts = (counts_t){.failed = 1};
  else if (wait_status)
    counts.failed++; /* it broke down afterwards: a leak checker's verdict */
  if (WIFSIGNALED(wait_status))
    printf("  ended by signal %d%s\n", WTERMSIG(wait_status),
           is_time_limit(WTERMSIG(wait_status)) ? " (time limit)" : "");
  print_counts(suite->name, &counts);
  return counts;
}

static bool is_wanted(const suite_t *suite, int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], suite->name) == 0) return true;
  return argc < 2;
}

int main(int argc, char **argv) {
  counts_t total = {0};
  for (size_t i = 0; i < SUITE_COUNT; i++) {
    if (!is_wanted(&suites[i], argc, argv)) continue;
    counts_t counts = run_suite(&suites[i]);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
  }
  print_counts(NULL, &total);
  return total.failed || total.passed + total.skipped == 0;
}
