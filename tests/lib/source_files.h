/* Files of the source folder that tests read. */
#ifndef TESTS_UNIT_SOURCE_FILES_H
#define TESTS_UNIT_SOURCE_FILES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* A folder of the source: below what the environment says, this folder, or the one above, as in a
 * build folder. */
static inline DIR *source_folder_open(const char *folder, char *where, size_t size) {
  const char *const sources[] = {getenv("srcdir"), getenv("TEST_SOURCE"), ".", ".."};
  DIR *directory = NULL;
  for (size_t i = 0; !directory && i < sizeof sources / sizeof *sources; i++) {
    if (!sources[i]) continue;
    snprintf(where, size, "%s/%s", sources[i], folder);
    directory = opendir(where);
  }
  if (!directory)
    fprintf(stderr, "%s is not found: set TEST_SOURCE to the source folder\n", folder);
  return directory;
}

/* Calls `visit` with the path and the name of every *.hlo in a folder such as "tests/passes";
 * returns how many there are. */
static inline int source_files_visit(const char *folder,
                                     void (*visit)(const char *path, const char *name)) {
  char path[1200], where[900];
  int count = 0;
  DIR *directory = source_folder_open(folder, where, sizeof where);
  CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
  for (struct dirent *entry; (entry = readdir(directory));) {
    const char *dot = strrchr(entry->d_name, '.');
    if (!dot || strcmp(dot, ".hlo")) continue;
    snprintf(path, sizeof path, "%s/%.255s", where, entry->d_name);
    visit(path, entry->d_name);
    count++;
  }
  closedir(directory);
  return count;
}

#endif
