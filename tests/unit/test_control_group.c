/* Limits of control groups: trees of files as the kernel and container runtimes show them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/control_group.h"
#include "tests/lib/unit.h"

enum { PATH_BYTES = 512 };

typedef struct tree_file {
  const char *path, *text; /* path below the root */
} tree_file_t;

/* Writes a file, and the folders that it is in. */
static void write_file(const char *root, const tree_file_t *file) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", root, file->path);
  for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
    *at = '\0';
    mkdir(path, 0700);
  }
  FILE *stream = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
  fputs(file->text, stream);
  fclose(stream);
}

/* The limits of a tree, which ends with a file without a path. */
static void check(const tree_file_t *files, uint64_t memory_bytes, int processors) {
  char root[] = "/tmp/hlorun-groups.XXXXXX", command[64];
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
  for (; files->path; files++) write_file(root, files);
  hr_control_group_t limits = hr_control_group_read(root);
  CU_ASSERT_EQUAL(limits.memory_bytes, memory_bytes);
  CU_ASSERT_EQUAL(limits.processors, processors);
  snprintf(command, sizeof command, "rm -r %s", root);
  CU_ASSERT_EQUAL(system(command), 0);
}

/* A Slurm step: limits of the job count for the step. */
static void test_version_2(void) {
  check((tree_file_t[]){{"proc/self/cgroup", "0::/slurm/job_7/step_0\n"},
                        {"sys/fs/cgroup/slurm/job_7/memory.max", "4294967296\n"},
                        {"sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n"},
                        {"sys/fs/cgroup/slurm/job_7/cpu.max", "250000 100000\n"},
                        {"sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n"},
                        {NULL, NULL}},
        UINT64_C(4) << 30, 3);
}

/* A container whose mount shows its own group alone. */
static void test_container(void) {
  check((tree_file_t[]){{"proc/self/cgroup", "0::/\n"},
                        {"sys/fs/cgroup/memory.max", "1000000\n"},
                        {"sys/fs/cgroup/cpu.max", "50000 100000\n"},
                        {NULL, NULL}},
        1000000, 1);
}

/* Version 1 with version 2 beside it; the path is that of the host, which the mount does not
 * have. */
static void test_version_1(void) {
  check((tree_file_t[]){{"proc/self/cgroup",
                         "3:cpu,cpuacct:/docker/ab\n2:memory:/docker/ab\n1:name=systemd:/\n0::/\n"},
                        {"sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n"},
                        {"sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "3000000\n"},
                        {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
                        {"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
                        {"sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "400000\n"},
                        {"sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_period_us", "100000\n"},
                        {NULL, NULL}},
        2000000, 4);
}

static void test_no_limits(void) {
  check((tree_file_t[]){{NULL, NULL}}, 0, 0);
  check((tree_file_t[]){{"proc/self/cgroup", "0::/a/b\nnonsense\n:\n"},
                        {"sys/fs/cgroup/a/memory.max", "max\n"},
                        {"sys/fs/cgroup/a/cpu.max", "100000 0\n"},
                        {NULL, NULL}},
        0, 0);
}

CU_TestInfo suite_control_group[] = {
    {"version 2: groups around a process", test_version_2},
    {"a container's own group", test_container},
    {"version 1, seen from a container", test_version_1},
    {"no limits", test_no_limits},
    CU_TEST_INFO_NULL,
};
