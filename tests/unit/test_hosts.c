/* Probes of hosts whose remote shell does not answer. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/launch/cli_hosts.h"
#include "tests/lib/unit.h"

#define PROBES 20
#define SHELL_S 4.0 /* time after which the shell ends by itself */

static bool is_over(void *context) {
  (void)context;
  return true;
}

/* A remote shell that never answers; its file is removed by the caller. */
static void make_silent_shell(char path[32]) {
  static const char text[] = "#!/bin/sh\nexec sleep 4\n";
  strcpy(path, "/tmp/hlorun-shell-XXXXXX");
  int fd = mkstemp(path);
  CU_ASSERT_FATAL(fd >= 0);
  CU_ASSERT_EQUAL(write(fd, text, sizeof text - 1), (ssize_t)(sizeof text - 1));
  fchmod(fd, 0700);
  close(fd);
  setenv("OMPI_MCA_plm_rsh_agent", path, 1);
}

/* A probe is ended at once, also before its process has run. */
static void test_interrupted_probe(void) {
  char shell[32];
  bool has_shell;
  cli_host_t host = {.name = "nowhere.invalid", .slots = 1};
  cli_hosts_t hosts = {.hosts = &host, .count = 1, .slots = 1};
  make_silent_shell(shell);
  double began_s = hr_clock_s();
  for (int i = 0; i < PROBES; i++) cli_hosts_probe(&hosts, false, is_over, NULL, &has_shell);
  CU_ASSERT(hr_clock_s() - began_s < SHELL_S);
  CU_ASSERT_FALSE(host.is_reachable);
  unsetenv("OMPI_MCA_plm_rsh_agent");
  unlink(shell);
}

CU_TestInfo suite_hosts[] = {{"an interrupted probe", test_interrupted_probe}, CU_TEST_INFO_NULL};
