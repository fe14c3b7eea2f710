/* /proc/self/cgroup has a line "NUMBER:CONTROLLERS:PATH" for each hierarchy, without controllers
 * for version 2. Below the hierarchy's mount, PATH and the folders above it have the limits; in a
 * container the mount shows less of PATH, or only the group itself. */
#include "base/control_group.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"

/* What has the limits of one hierarchy. */
typedef struct hierarchy {
  bool unified; /* version 2 */
  char mount[PATH_MAX / 4];
  hr_control_group_t *limits;
} hierarchy_t;

/* The numbers at the start of a file, 0 where the second is missing; false: it has none, such as
 * "max". */
static bool read_numbers(const char *folder, const char *name, long long *first,
                         long long *second) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
  FILE *file = fopen(path, "re");
  *second = 0;
  if (!file) return false;
  int count = fscanf(file, "%lld %lld", first, second);
  fclose(file);
  return count >= 1;
}

static void note_memory(hr_control_group_t *limits, long long bytes) {
  if (bytes > 0 && (!limits->memory_bytes || (uint64_t)bytes < limits->memory_bytes))
    limits->memory_bytes = (uint64_t)bytes;
}

/* `quota_us` of processor time in each `period_us`. */
static void note_processors(hr_control_group_t *limits, long long quota_us, long long period_us) {
  if (quota_us <= 0 || period_us <= 0) return;
  long long count = hr_min(quota_us / period_us + (quota_us % period_us != 0), INT_MAX);
  if (!limits->processors || count < limits->processors) limits->processors = (int)count;
}

static void read_folder(const hierarchy_t *hierarchy, const char *folder) {
  bool unified = hierarchy->unified;
  long long bytes, quota_us, period_us, none;
  if (read_numbers(folder, unified ? "memory.max" : "memory.limit_in_bytes", &bytes, &none))
    note_memory(hierarchy->limits, bytes);
  if (unified ? read_numbers(folder, "cpu.max", &quota_us, &period_us)
              : read_numbers(folder, "cpu.cfs_quota_us", &quota_us, &none) &&
                    read_numbers(folder, "cpu.cfs_period_us", &period_us, &none))
    note_processors(hierarchy->limits, quota_us, period_us);
}

/* Reads the limits of the group at `path` and of the groups around it. */
static void read_groups(const hierarchy_t *hierarchy, const char *path) {
  char folder[PATH_MAX];
  size_t start = strlen(hierarchy->mount);
  if (snprintf(folder, sizeof folder, "%s%s", hierarchy->mount, path) >= (int)sizeof folder) return;
  for (char *slash;; *slash = '\0') {
    read_folder(hierarchy, folder);
    slash = strrchr(folder + start, '/');
    if (!slash) return;
  }
}

static bool has_controller(const char *list, const char *name) {
  size_t size = strlen(name);
  for (const char *at = list; at; at = strchr(at, ',')) {
    at += *at == ',';
    if (!strncmp(at, name, size) && (!at[size] || at[size] == ',')) return true;
  }
  return false;
}

static void read_mount(hierarchy_t *hierarchy, const char *root, const char *name,
                       const char *path) {
  snprintf(hierarchy->mount, sizeof hierarchy->mount, "%s/sys/fs/cgroup%s%s", root,
           *name ? "/" : "", name);
  read_groups(hierarchy, path);
}

/* Version 2 is mounted alone, or beside version 1 as "unified"; controllers of version 1 by their
 * names. */
static void read_hierarchy(const char *root, const char *controllers, const char *path,
                           hr_control_group_t *limits) {
  hierarchy_t hierarchy = {.unified = !*controllers, .limits = limits};
  if (hierarchy.unified) read_mount(&hierarchy, root, "unified", path);
  if (hierarchy.unified || has_controller(controllers, "memory") ||
      has_controller(controllers, "cpu"))
    read_mount(&hierarchy, root, controllers, path);
}

hr_control_group_t hr_control_group_read(const char *root) {
  hr_control_group_t limits = {0};
  char path[PATH_MAX], *line = NULL;
  size_t size = 0;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *file = fopen(path, "re");
  while (file && getline(&line, &size, file) > 0) {
    char *controllers = strchr(line, ':'),
         *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) continue;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    read_hierarchy(root, controllers + 1, group, &limits);
  }
  free(line);
  if (file) fclose(file);
  return limits;
}

static hr_control_group_t own;
static void read_own(void) { own = hr_control_group_read(""); }

const hr_control_group_t *hr_control_group(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_own);
  return &own;
}
