/* The files of --sandbox. For a file that is read, the file itself is allowed. A file that is
 * written is replaced by a complete new file, which needs its folder: the whole folder of an
 * output may be written. Arguments of --input and similar options name files in several ways
 * (K=FILE, FILE:NAME); each part that could be a path is allowed if it exists, since all of them
 * come from the user.
 *
 * Compiled code is not cached: a malicious program that took over the process could leave code
 * behind for another run.
 *
 * With MPI the library opens connections during the run, and keeps files in its session folder and
 * in /dev/shm: sockets and these folders stay allowed. */
#include "cli/cli_sandbox.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/executable.h"
#include "base/sandbox.h"
#include "cli/launch/cli_exit_code.h"
#include "transport/core/transport.h"
#include "transport/shm/local_launch.h"

/* Libraries, and files with facts of the machine that hwloc, the C library and OpenBLAS read. */
static const char *const system_paths[] = {
    "/usr",         "/lib",          "/lib64",        "/sys",         "/etc/ld.so.cache",
    "/proc/self",   "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",   "/etc/localtime",
    "/dev/urandom", "/dev/random",   "/dev/zero",     "/proc/sys/vm", "/proc/sys/kernel",
};

/* Variables whose value is a list of folders of libraries. */
static const char *const library_variables[] = {"LD_LIBRARY_PATH", "HLORUN_MODULE_DIR",
                                                "HLORUN_LLVM"};

/* Meaning of an option's argument. */
typedef enum use { READS_FILE, WRITES_FILE, WRITES_FOLDER, APPENDS_TO_REPORT } use_t;

static const struct {
  hr_option_id_t id;
  use_t use;
} uses[] = {
    {HR_OPTION_INPUT, READS_FILE},         {HR_OPTION_EXPECT, READS_FILE},
    {HR_OPTION_FEED, READS_FILE},          {HR_OPTION_PROGRAM, READS_FILE},
    {HR_OPTION_CONFIG, READS_FILE},        {HR_OPTION_PLUGIN, READS_FILE},
    {HR_OPTION_OUTPUT, WRITES_FILE},       {HR_OPTION_STATS, WRITES_FILE},
    {HR_OPTION_TRACE, WRITES_FILE},        {HR_OPTION_CURVE, WRITES_FILE},
    {HR_OPTION_GRAPH, WRITES_FILE},        {HR_OPTION_DUMP, WRITES_FOLDER},
    {HR_OPTION_CHECKPOINT, WRITES_FOLDER}, {HR_OPTION_FIX, WRITES_FOLDER},
    {HR_OPTION_LOG_DIR, WRITES_FOLDER},    {HR_OPTION_WORKER, APPENDS_TO_REPORT},
};
#define USE_COUNT (sizeof uses / sizeof *uses)

static bool is_over_mpi(void) {
  int processes, rank;
  return tp_launcher_world_size() > 0 && !tp_local_launch(&processes, &rank);
}

static bool has_prefix(const char *text, const char *prefix) {
  return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

/* --- the paths of options --- */

/* Allows the path, and the path without a ":NAME" at its end. */
static hr_status_t allow_read(const hr_sandbox_files_t *files, const char *path) {
  char part[PATH_MAX];
  const char *colon = strrchr(path, ':');
  HR_TRY(hr_sandbox_files_allow(files, path, HR_SANDBOX_READ));
  if (!colon || colon - path >= PATH_MAX) return NULL;
  snprintf(part, sizeof part, "%.*s", (int)(colon - path), path);
  return hr_sandbox_files_allow(files, part, HR_SANDBOX_READ);
}

static hr_status_t allow_folder_of(const hr_sandbox_files_t *files, const char *path) {
  char folder[PATH_MAX] = ".";
  const char *slash = strrchr(path, '/');
  if (slash == path)
    snprintf(folder, sizeof folder, "/");
  else if (slash && slash - path < PATH_MAX)
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
  return hr_sandbox_files_allow(files, folder, HR_SANDBOX_WRITE);
}

/* Makes the folder; a failure is reported later by its writer. */
static hr_status_t allow_folder(const hr_sandbox_files_t *files, const char *folder) {
  mkdir(folder, 0777);
  return hr_sandbox_files_allow(files, folder, HR_SANDBOX_WRITE);
}

static hr_status_t allow_argument(const hr_sandbox_files_t *files, use_t use, const char *text) {
  const char *equals = strchr(text, '=');
  if (!*text || strcmp(text, "-") == 0) return NULL;
  if (use == APPENDS_TO_REPORT) /* N:REPORT; the file exists */
    return hr_sandbox_files_allow(files, text + strcspn(text, ":") + 1, HR_SANDBOX_WRITE);
  if (use == WRITES_FILE) return allow_folder_of(files, text);
  if (use == WRITES_FOLDER) return allow_folder(files, text);
  HR_TRY(allow_read(files, text));
  return equals ? allow_read(files, equals + 1) : NULL;
}

/* Error for exec: feeds, whose child processes the sandbox does not permit. */
static hr_status_t check_feed(hr_option_id_t id, const char *spec) {
  if (!has_prefix(spec, "exec:")) return NULL;
  return hr_error(HR_USAGE, "--%s exec: starts a process, which --sandbox forbids",
                  hr_option_name(id));
}

static hr_status_t allow_feed(const hr_sandbox_files_t *files, const hr_options_t *options,
                              hr_option_id_t id) {
  const char *spec = hr_option_text(options, id);
  if (!has_prefix(spec, "file:") && !has_prefix(spec, "unix:")) return check_feed(id, spec);
  const char *path = strchr(spec, ':') + 1;
  if (id == HR_OPTION_INFEED && has_prefix(spec, "file:")) return allow_read(files, path);
  return allow_folder_of(files, path);
}

static hr_status_t allow_options(const hr_sandbox_files_t *files, const hr_options_t *options) {
  for (size_t i = 0; i < USE_COUNT; i++) {
    size_t from = 0;
    for (const hr_option_given_t *given; (given = hr_option_next(options, uses[i].id, &from));)
      HR_TRY(allow_argument(files, uses[i].use, given->text));
  }
  for (size_t i = 0; i < options->operands.count; i++)
    HR_TRY(allow_read(files, options->operands.data[i]));
  bool probes = hr_option_is_given(options, HR_OPTION_PROBE);
  if (probes && !hr_option_is_given(options, HR_OPTION_DUMP)) HR_TRY(allow_folder(files, "probes"));
  HR_TRY(allow_feed(files, options, HR_OPTION_INFEED));
  return allow_feed(files, options, HR_OPTION_OUTFEED);
}

/* --- the system --- */

static hr_status_t allow_list(const hr_sandbox_files_t *files, const char *list) {
  char folder[PATH_MAX];
  for (const char *at = list; at && *at;) {
    size_t size = strcspn(at, ":");
    if (size && size < sizeof folder) {
      snprintf(folder, sizeof folder, "%.*s", (int)size, at);
      HR_TRY(hr_sandbox_files_allow(files, folder, HR_SANDBOX_READ));
    }
    at += size + (at[size] == ':');
  }
  return NULL;
}

/* Folders of modules: beside the executable, .libs and ../lib/hlorun. */
static hr_status_t allow_modules(const hr_sandbox_files_t *files) {
  static const char *const folders[] = {"", "/.libs", "/../lib"};
  char path[PATH_MAX], folder[PATH_MAX + 16];
  if (!hr_executable_path(path)) return NULL;
  char *slash = strrchr(path, '/');
  if (slash) *slash = '\0';
  HR_TRY(hr_sandbox_files_allow(files, HLORUN_PKGLIBDIR, HR_SANDBOX_READ));
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    snprintf(folder, sizeof folder, "%s%s", path, folders[i]);
    HR_TRY(hr_sandbox_files_allow(files, folder, HR_SANDBOX_READ));
  }
  return NULL;
}

static hr_status_t allow_mpi(const hr_sandbox_files_t *files) {
  static const char *const variables[] = {"PMIX_SERVER_TMPDIR", "OMPI_MCA_orte_tmpdir_base",
                                          "OMPI_FILE_LOCATION", "SLURMD_SPOOL_DIR"};
  if (!is_over_mpi()) return NULL;
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  HR_TRY(hr_sandbox_files_allow(files, "/dev/shm", HR_SANDBOX_WRITE));
  HR_TRY(hr_sandbox_files_allow(files, "/etc/openmpi", HR_SANDBOX_READ));
  HR_TRY(hr_sandbox_files_allow(files, "/etc/hosts", HR_SANDBOX_READ));
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    if (getenv(variables[i]))
      HR_TRY(hr_sandbox_files_allow(files, getenv(variables[i]), HR_SANDBOX_WRITE));
  return NULL;
}

static hr_status_t allow_system(const hr_sandbox_files_t *files) {
  for (size_t i = 0; i < sizeof system_paths / sizeof *system_paths; i++)
    HR_TRY(hr_sandbox_files_allow(files, system_paths[i], HR_SANDBOX_READ));
  for (size_t i = 0; i < sizeof library_variables / sizeof *library_variables; i++)
    HR_TRY(allow_list(files, getenv(library_variables[i])));
  HR_TRY(hr_sandbox_files_allow(files, "/dev/null", HR_SANDBOX_WRITE));
  HR_TRY(allow_modules(files));
  return allow_mpi(files);
}

/* --- both stages --- */

static bool uses_tcp(const hr_options_t *options) {
  return is_over_mpi() || has_prefix(hr_option_text(options, HR_OPTION_INFEED), "tcp:") ||
         has_prefix(hr_option_text(options, HR_OPTION_OUTFEED), "tcp:");
}

static bool uses_sockets(const hr_options_t *options) {
  return uses_tcp(options) || has_prefix(hr_option_text(options, HR_OPTION_INFEED), "unix:") ||
         has_prefix(hr_option_text(options, HR_OPTION_OUTFEED), "unix:");
}

hr_status_t cli_sandbox_forbid_cache(const hr_options_t *options) {
  const char *cache = hr_option_text(options, HR_OPTION_CACHE);
  if (!hr_option_is_given(options, HR_OPTION_SANDBOX)) return NULL;
  if (cache && *cache && strcmp(cache, "none") != 0)
    return hr_error(HR_USAGE, "--sandbox keeps no compiled code: leave --cache out");
  if (setenv("HLORUN_CACHE", "none", 1)) return hr_error(HR_NO_MEMORY, "cannot set a variable");
  return NULL;
}

hr_status_t cli_sandbox_open(const hr_options_t *options, const char *const *inputs) {
  hr_sandbox_files_t files;
  if (!hr_option_is_given(options, HR_OPTION_SANDBOX)) return NULL;
  HR_TRY(cli_sandbox_forbid_cache(options));
  cli_exit_code_keep();
  HR_TRY(hr_sandbox_files_open(uses_tcp(options), &files));
  hr_status_t st = allow_system(&files);
  if (!st) st = allow_options(&files, options);
  for (; inputs && *inputs && !st; inputs++)
    st = hr_sandbox_files_allow(&files, *inputs, HR_SANDBOX_READ);
  if (!st) return hr_sandbox_files_close(&files);
  close(files.ruleset);
  return st;
}

hr_status_t cli_sandbox_close(const hr_options_t *options) {
  if (!hr_option_is_given(options, HR_OPTION_SANDBOX)) return NULL;
  return hr_sandbox_calls(uses_sockets(options));
}

hr_status_t cli_sandbox_enter(const hr_options_t *options) {
  HR_TRY(cli_sandbox_open(options, NULL));
  return cli_sandbox_close(options);
}
