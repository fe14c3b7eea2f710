#include "cli/launch/cli_session_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MOST_OPEN 8 /* folders that are open at a time */

bool cli_session_folder_make(char path[PATH_MAX]) {
  const char *folder = getenv("TMPDIR");
  if (getenv(CLI_SESSION_VARIABLE)) return false;
  snprintf(path, PATH_MAX, "%s/hlorun-mpirun-XXXXXX", folder && *folder ? folder : "/tmp");
  if (!mkdtemp(path)) return false;
  setenv(CLI_SESSION_VARIABLE, path, 1);
  return true;
}

/* Called depth first, so that folders are empty. */
static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place) {
  (void)about, (void)kind, (void)place;
  return remove(path);
}

void cli_session_folder_remove(const char *path) {
  nftw(path, remove_one, MOST_OPEN, FTW_DEPTH | FTW_PHYS);
}
