/* Ranks that end while MPI is starting: which of them was the first. The launcher is a process that
 * starts programs with mpirun's variables. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_rank_watch.h"
#include "tests/lib/unit.h"

#define WORLD 4
#define LARGE_BYTES 100000
#define LOOKS 500 /* up to 20 ms each */

typedef struct job {
  pid_t launcher, ranks[WORLD]; /* 0: has not been started */
  cli_rank_watch_t *watch;
} job_t;

static char large[LARGE_BYTES] = "LARGE="; /* before the variables of ranks */

static pid_t start_rank(int rank) {
  char variable[40], world[40];
  snprintf(variable, sizeof variable, "OMPI_COMM_WORLD_RANK=%d", rank);
  snprintf(world, sizeof world, "OMPI_COMM_WORLD_SIZE=%d", WORLD);
  char *const variables[] = {large, variable, world, "PMIX_NAMESPACE=12345", NULL};
  pid_t pid = fork();
  if (pid) return pid;
  execle("/bin/sleep", "sleep", "60", (char *)NULL, variables);
  _exit(127);
}

/* Starts the launcher with all ranks but `missing`. */
static void start_job(job_t *job, int missing) {
  int ends[2];
  CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
  job->launcher = fork();
  if (!job->launcher) {
    for (int i = 0; i < WORLD; i++) job->ranks[i] = i == missing ? 0 : start_rank(i);
    if (write(ends[1], job->ranks, sizeof job->ranks) > 0) pause();
    _exit(0);
  }
  CU_ASSERT_EQUAL_FATAL(read(ends[0], job->ranks, sizeof job->ranks), sizeof job->ranks);
  close(ends[0]);
  close(ends[1]);
  cli_exit_code_open(false);
  cli_exit_code_keep();
  job->watch = cli_rank_watch_create(job->launcher);
}

static void end_job(job_t *job) {
  for (int i = 0; i < WORLD; i++)
    if (job->ranks[i]) kill(job->ranks[i], SIGKILL);
  kill(job->launcher, SIGKILL);
  waitpid(job->launcher, NULL, 0);
  cli_rank_watch_destroy(job->watch);
  cli_exit_code_close();
}

/* Waits until the ranks are seen: a kernel without pidfd sees none. */
static bool sees_ranks(const job_t *job, int count) {
  for (int i = 0; i < LOOKS && cli_rank_watch_count(job->watch) < count; i++)
    cli_rank_watch_wait(job->watch, 20);
  return cli_rank_watch_count(job->watch) == count;
}

static int find_lost(const job_t *job) {
  for (int i = 0; i < LOOKS && cli_rank_watch_lost(job->watch) < 0; i++)
    cli_rank_watch_wait(job->watch, 20);
  return cli_rank_watch_lost(job->watch);
}

static void end_by_launcher(const job_t *job, int rank) {
  cli_exit_code_report_termination(rank);
  kill(job->ranks[rank], SIGKILL);
}

/* Rank 2 was killed before it was seen; the launcher ended the others. */
static void test_rank_never_seen(void) {
  job_t job;
  start_job(&job, 2);
  if (sees_ranks(&job, WORLD - 1)) {
    end_by_launcher(&job, 0);
    end_by_launcher(&job, 1);
    CU_ASSERT_EQUAL(find_lost(&job), 2);
  }
  end_job(&job);
}

/* All have ended before the next look. */
static void test_ranks_ended_by_launcher(void) {
  job_t job;
  start_job(&job, -1);
  if (sees_ranks(&job, WORLD)) {
    kill(job.ranks[1], SIGKILL);
    end_by_launcher(&job, 3);
    end_by_launcher(&job, 0);
    end_by_launcher(&job, 2);
    usleep(20000);
    CU_ASSERT_EQUAL(find_lost(&job), 1);
    CU_ASSERT_EQUAL(cli_exit_code_terminated(), 3);
  }
  end_job(&job);
}

static bool sees_all(void) {
  job_t job;
  start_job(&job, -1);
  bool sees = sees_ranks(&job, WORLD);
  end_job(&job);
  return sees;
}

static void test_large_environment(void) {
  if (!sees_all()) return;
  memset(large + strlen("LARGE="), 'x', sizeof large - sizeof "LARGE=");
  CU_ASSERT(sees_all());
}

/* Marks and exit codes share a file. */
static void test_marks(void) {
  cli_exit_code_open(false);
  cli_exit_code_keep();
  cli_exit_code_report_termination(0);
  cli_exit_code_report(0);
  cli_exit_code_report_termination(2147483647);
  cli_exit_code_report(5);
  cli_exit_code_report(3);
  CU_ASSERT_EQUAL(cli_exit_code_read(), 5);
  CU_ASSERT_EQUAL(cli_exit_code_told(), 3);
  CU_ASSERT_EQUAL(cli_exit_code_terminated(), 2);
  CU_ASSERT(cli_exit_code_has_terminated(0));
  CU_ASSERT(cli_exit_code_has_terminated(2147483647));
  CU_ASSERT_FALSE(cli_exit_code_has_terminated(1));
  cli_exit_code_close();
}

CU_TestInfo suite_rank_watch[] = {
    {"a rank that was never seen", test_rank_never_seen},
    {"ranks that the launcher ended", test_ranks_ended_by_launcher},
    {"a large environment", test_large_environment},
    {"marks", test_marks},
    CU_TEST_INFO_NULL,
};
