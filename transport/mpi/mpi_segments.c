/* Segments are found by their names among the mappings of this process. */
#include "transport/mpi/mpi_segments.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "/vader_segment."

/* The file of a mapping, without the newline; NULL: not a segment. */
static char *segment_of(char *line) {
  char *path = strchr(line, '/'), *end = strchr(line, '\n');
  if (end) *end = '\0';
  return path && strstr(path, NAME) ? path : NULL;
}

/* File names end with the rank. */
static bool is_of_rank(const char *path, int rank) {
  char *end;
  const char *dot = strrchr(path, '.');
  return dot && strtol(dot + 1, &end, 10) == rank && end != dot + 1 && !*end;
}

/* A segment is one mapping, or several consecutive ones. */
void mpi_segments_find(int rank, mpi_segments_t *out_segments) {
  char line[PATH_MAX + 128], last[PATH_MAX] = "";
  *out_segments = (mpi_segments_t){0};
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return;
  while (fgets(line, sizeof line, maps)) {
    const char *path = segment_of(line);
    if (!path || strlen(path) >= PATH_MAX || !strcmp(path, last)) continue;
    strcpy(last, path);
    out_segments->count++;
    if (is_of_rank(path, rank)) strcpy(out_segments->own, path);
  }
  fclose(maps);
}

void mpi_segments_unlink(const mpi_segments_t *segments) {
  if (segments->own[0]) unlink(segments->own);
}

/* An empty file is enough: it is only removed. */
void mpi_segments_restore(const mpi_segments_t *segments) {
  int fd = segments->own[0] ? open(segments->own, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (fd >= 0) close(fd);
}
