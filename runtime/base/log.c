/* One sink per process behind a lock. Levels are an array read without it: a line that is not
 * wanted costs one load and one comparison. */
#include "base/decimal.h"
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "base/options.h"
#include "base/text.h"

static const char *const level_names[] = {"none", "error", "warn", "info", "debug", "trace"};
#define LEVEL_COUNT (sizeof level_names / sizeof *level_names)
static const char *const subsystem_names[] = {
#define LOG(id, name) name,
#include "base/log_subsystems.def"
#undef LOG
};

uint8_t hr_log_levels[HR_LOG_SUBSYSTEM_COUNT] = {
#define LOG(id, name) HR_LOG_WARN,
#include "base/log_subsystems.def"
#undef LOG
};

static struct {
  pthread_mutex_t lock;
  FILE *stream;        /* NULL: standard error */
  char mark[96];       /* rank and host, with peers */
  uint64_t started_ns; /* time of the first line */
  enum { ALONE, FIRST_OF_COLLECTIVE, OTHER_OF_COLLECTIVE } role;
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int find_word(const char *const *names, size_t count, hr_str_t word) {
  for (size_t i = 0; i < count; i++)
    if (hr_str_is(word, names[i])) return (int)i;
  return -1;
}

static hr_status_t unknown_word(const char *what, hr_str_t word, const char *const *names,
                                size_t count) {
  char copy[64];
  snprintf(copy, sizeof copy, "%.*s", HR_STR_ARGS(word));
  const char *nearest = hr_nearest_name(copy, names, count);
  const char *separator = nearest ? "; nearest: " : "";
  if (!nearest) nearest = "";
  return hr_error(HR_USAGE, "HLORUN_LOG: there is no %s '%s'%s%s", what, copy, separator, nearest);
}

/* LEVEL for all, or SUBSYSTEM:LEVEL. */
static hr_status_t configure_one(hr_str_t entry) {
  const char *colon = memchr(entry.data, ':', entry.size);
  hr_str_t level_word = entry;
  if (colon) level_word = (hr_str_t){colon + 1, (size_t)(entry.data + entry.size - colon - 1)};
  int level = find_word(level_names, LEVEL_COUNT, level_word);
  if (level < 0) return unknown_word("level", level_word, level_names, LEVEL_COUNT);
  if (!colon) {
    memset(hr_log_levels, level, sizeof hr_log_levels);
    return NULL;
  }
  hr_str_t name = {entry.data, (size_t)(colon - entry.data)};
  int subsystem = find_word(subsystem_names, HR_LOG_SUBSYSTEM_COUNT, name);
  if (subsystem < 0)
    return unknown_word("subsystem", name, subsystem_names, HR_LOG_SUBSYSTEM_COUNT);
  hr_log_levels[subsystem] = (uint8_t)level;
  return NULL;
}

hr_status_t hr_log_configure(const char *text) {
  memset(hr_log_levels, HR_LOG_WARN, sizeof hr_log_levels);
  while (text && *text) {
    size_t size = strcspn(text, ",");
    if (size) HR_TRY(configure_one((hr_str_t){text, size}));
    text += size + (text[size] == ',');
  }
  return NULL;
}

static char *expand_rank(const char *file, int rank) {
  hr_strbuf_t path;
  hr_strbuf_init(&path);
  for (const char *c = file; *c; c++) {
    if (c[0] == '%' && c[1] == 'r') {
      hr_strbuf_add_int(&path, rank);
      c++;
    } else {
      hr_strbuf_add_char(&path, *c);
    }
  }
  return hr_strbuf_steal(&path);
}

hr_status_t hr_log_open(const char *file, int rank, int world_size, const char *host) {
  hr_log_close();
  if (world_size > 1) snprintf(sink.mark, sizeof sink.mark, " [%d@%.64s]", rank, host ? host : "");
  if (!file || !*file) return NULL;
  char *path = expand_rank(file, rank);
  int fd = -1;
  hr_status_t st = path ? hr_file_open_in_place(path, O_TRUNC, &fd)
                        : hr_error(HR_NO_MEMORY, "cannot allocate a path");
  free(path);
  sink.stream = st ? NULL : fdopen(fd, "w");
  if (!st && !sink.stream) close(fd);
  return hr_status_note(st, "while opening the log (HLORUN_LOG_FILE)");
}

void hr_log_close(void) {
  if (sink.stream) fclose(sink.stream);
  sink.stream = NULL;
  sink.mark[0] = 0;
}

/* A line for programs, and for logs of several processes: time since the first line, rank,
 * subsystem. */
static void write_timed(hr_log_subsystem_t subsystem, hr_log_level_t level, uint64_t ns,
                        const char *line) {
  FILE *stream = sink.stream ? sink.stream : stderr;
  fprintf(stream, "%llu.%06u%s %s %s: %s\n", (unsigned long long)(ns / HR_NS_PER_S),
          (unsigned)(ns % HR_NS_PER_S / 1000), sink.mark, subsystem_names[subsystem],
          level_names[level], line);
  fflush(stream);
}

void hr_log_begin_collective(bool is_first) {
  sink.role = is_first ? FIRST_OF_COLLECTIVE : OTHER_OF_COLLECTIVE;
}

void hr_log_end_collective(void) { sink.role = ALONE; }

/* For a person who did not ask for a log. */
static void write_plain(hr_log_level_t level, const char *line) {
  if (sink.role == OTHER_OF_COLLECTIVE && level == HR_LOG_WARN) return;
  fprintf(stderr, "hlorun%s: %s: %s\n", sink.role == ALONE ? sink.mark : "",
          level == HR_LOG_WARN ? "warning" : "error", line);
  fflush(stderr);
}

void hr_log_write(hr_log_subsystem_t subsystem, hr_log_level_t level, const char *format, ...) {
  uint64_t now_ns = hr_clock_ns();
  char line[1024];
  va_list args;
  va_start(args, format);
  hr_vsnprintf(line, sizeof line, format, args);
  va_end(args);
  pthread_mutex_lock(&sink.lock);
  if (!sink.started_ns) sink.started_ns = now_ns;
  if (sink.stream || level > HR_LOG_WARN)
    write_timed(subsystem, level, now_ns - sink.started_ns, line);
  else
    write_plain(level, line);
  pthread_mutex_unlock(&sink.lock);
}
