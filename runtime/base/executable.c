#include "base/executable.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

bool hr_executable_path(char path[PATH_MAX]) {
  ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (size > 0) {
    path[size] = 0;
    return true;
  }
  const char *given = (const char *)getauxval(AT_EXECFN);
  errno = ENOENT;
  return given && realpath(given, path);
}
