/* Starting executables. An executable is recognised by the content of its file, like programs of
 * XLA: machine code ("\x7f" "ELF") or "#!". This must come before anything reads the launcher's
 * environment variables, which are for the executable. JAX gets the location of the plugin, unless
 * it is set in the environment, and several processes get the address of their coordinator. */
#include "cli/launch/cli_exec.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "cli/cli.h"
#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_launch.h"
#include "cli/run/cli_signals.h"

static bool is_one_of(const char *word, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(word, words[i])) return true;
  return false;
}

/* Index of the first word after `run`, -n and --hosts; argc if there is none, or after other
 * options, which are for programs. */
static int find_word(int argc, char *const *argv) {
  static const char *const with_value[] = {"-n", "-np", "--np", "--processes", "-H", "--hosts"};
  int i = 1;
  if (i < argc && !strcmp(argv[i], "run") && access("run", F_OK) != 0) i++;
  while (i < argc && argv[i][0] == '-' && argv[i][1]) {
    bool has_value = is_one_of(argv[i], with_value, sizeof with_value / sizeof *with_value);
    bool is_joined = !strncmp(argv[i], "--processes=", 12) || !strncmp(argv[i], "--hosts=", 8) ||
                     !strncmp(argv[i], "--np=", 5) || (argv[i][1] == 'n' && argv[i][2] != '\0');
    if (!has_value && !is_joined) return argc;
    i += has_value ? 2 : 1;
  }
  return i < argc ? i : argc;
}

static bool is_executable(const char *path) {
  char head[4] = "";
  struct stat info;
  if (stat(path, &info) || !S_ISREG(info.st_mode) || access(path, X_OK) != 0) return false;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ssize_t size = fd >= 0 ? read(fd, head, sizeof head) : 0;
  if (fd >= 0) close(fd);
  return size == sizeof head && (!memcmp(head, "\177ELF", 4) || !memcmp(head, "#!", 2));
}

/* Whether execvp would find the command in PATH. */
static bool is_in_path(const char *name) {
  char file[PATH_MAX];
  const char *path = getenv("PATH");
  for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
    size_t size = strcspn(at, ":");
    int written = snprintf(file, sizeof file, "%.*s/%s", (int)size, at, name);
    if (written < (int)sizeof file && is_executable(file)) return true;
    at += size + (at[size] == ':');
  }
  return false;
}

/* True for a path, or a name in PATH if there is no file or command of that name: `hlorun test` is
 * always the command. */
static bool names_executable(const char *word) {
  if (strchr(word, '/')) return is_executable(word);
  return !cli_is_command(word) && access(word, F_OK) != 0 && is_in_path(word);
}

static bool is_launched(void) {
  return getenv("HLORUN_LAUNCHED") || getenv("OMPI_COMM_WORLD_RANK") || getenv("PMI_RANK") ||
         (getenv("SLURM_STEP_ID") && getenv("PMIX_RANK"));
}

/* Prepends a folder to Python's module search path. */
static void prepend_python_path(const char *folder) {
  char value[2 * PATH_MAX];
  const char *path = getenv("PYTHONPATH");
  size_t size = strlen(folder);
  if (path && !strncmp(path, folder, size) && (!path[size] || path[size] == ':')) return;
  int written = path ? snprintf(value, sizeof value, "%s:%s", folder, path)
                     : snprintf(value, sizeof value, "%s", folder);
  if (written < (int)sizeof value) setenv("PYTHONPATH", value, 1);
}

/* Sets the location of the plugin: beside this command, or where it is installed. */
static void tell_jax(void) {
  static const char *const places[] = {"/.libs", "", "/../lib/hlorun"};
  char self[PATH_MAX], value[2 * PATH_MAX];
  hr_status_t st = cli_launch_this_executable(self);
  hr_status_release(st);
  char *slash = st ? NULL : strrchr(self, '/');
  if (!slash) return;
  *slash = '\0';
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    int prefix = (int)strlen("hlorun:");
    snprintf(value, sizeof value, "hlorun:%s%s/libpjrt_hlorun.so", self, places[i]);
    if (access(value + prefix, R_OK) != 0) continue;
    setenv("PJRT_NAMES_AND_LIBRARY_PATHS", value, 0);
    setenv("JAX_PLATFORMS", "hlorun", 0);
    snprintf(strrchr(value, '/'), sizeof "/start", "/start");
    if (getenv("HLORUN_LAUNCHED") && access(value + prefix, R_OK) == 0)
      prepend_python_path(value + prefix);
    return;
  }
}

/* For jax.distributed.initialize(): a free port, the same for all processes, and the folder of the
 * module that passes it to JAX, which is beside the plugin. */
static void offer_coordinator(void) {
  char address[32];
  struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof local;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool is_bound = fd >= 0 && bind(fd, (struct sockaddr *)&local, size) == 0 &&
                  getsockname(fd, (struct sockaddr *)&local, &size) == 0;
  if (fd >= 0) close(fd);
  if (!is_bound) return;
  snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(local.sin_port));
  setenv("JAX_COORDINATOR_ADDRESS", address, 0);
}

static hr_status_t become(char *const *argv) {
  tell_jax();
  cli_exit_code_report_exec();
  cli_signals_restore();
  execvp(argv[0], argv);
  return hr_error(HR_UNAVAILABLE, "cannot start %s: %s", argv[0], strerror(errno));
}

hr_status_t cli_exec(int argc, char *const *argv, bool *out_is_done) {
  int word = find_word(argc, argv), processes = 0;
  *out_is_done = false;
  if (word == argc || !names_executable(argv[word])) return NULL;
  *out_is_done = true;
  if (is_launched()) return become(argv + word);
  hr_options_t options;
  int first = word > 1 && !strcmp(argv[1], "run") ? 2 : 1;
  hr_status_t st = hr_options_parse(HR_COMMAND_RUN, word - first, argv + first, &options);
  const char *hosts = st ? NULL : hr_option_text(&options, HR_OPTION_HOSTS);
  if (!st) st = cli_launch_needed(&options, &processes);
  if (!st && processes && !hosts) offer_coordinator();
  if (!st && processes)
    st = cli_launch_run(processes, hosts, argc - 1, argv + 1);
  else if (!st)
    st = become(argv + word);
  hr_options_deinit(&options);
  return st;
}
