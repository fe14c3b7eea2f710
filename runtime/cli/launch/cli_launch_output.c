/* Standard error of the processes of one machine. Each rank except 0 has a pipe to the launcher.
 * Whole lines are held for HOLD_MS, as processes of a failing run print similar lines within
 * moments; then equal held lines of several ranks are printed once: "[ranks 1-3,7] error: ...".
 * Lines already marked with their rank (the log) get no second mark. A process that inherited a
 * pipe from a rank may outlive it: the end of a pipe is not awaited. */
#include "cli/launch/cli_launch_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#define HOLD_MS 200
#define HELD_MAX ((size_t)1 << 16) /* bytes of one rank that are held at most */

typedef struct stream {
  int read_fd, write_fd; /* -1: closed */
  hr_strbuf_t held;      /* bytes not yet shown */
  int64_t since_ms;      /* arrival of the first of them */
} stream_t;

struct cli_launch_output {
  int count;
  stream_t *streams;    /* by rank; the first is unused */
  struct pollfd *polls; /* scratch of a wait */
};

/* --- descriptors --- */

/* Two descriptors per process, and some for other uses. */
static void raise_limit(int processes) {
  struct rlimit limit;
  rlim_t wanted = (rlim_t)processes * 2 + 64;
  if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/* The pipe stays closed if descriptors run out: that rank writes to this process's standard
 * error. */
static void open_pipe(stream_t *stream) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) return;
  stream->read_fd = ends[0];
  stream->write_fd = ends[1];
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

/* Closing twice does nothing. */
static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* Rank 0 keeps its terminal, where its progress is drawn. */
hr_status_t cli_launch_output_create(int processes, cli_launch_output_t **out_output) {
  void *memory, *streams, *polls;
  size_t count = (size_t)processes;
  HR_TRY(hr_alloc_zeroed(sizeof(cli_launch_output_t), &memory));
  hr_status_t st = hr_alloc_zeroed(count * sizeof(stream_t), &streams);
  if (!st) {
    st = hr_alloc_zeroed(count * sizeof(struct pollfd), &polls);
    if (st) hr_free(streams);
  }
  if (st) {
    hr_free(memory);
    return st;
  }
  cli_launch_output_t *output = memory;
  *output = (cli_launch_output_t){processes, streams, polls};
  raise_limit(processes);
  for (int rank = 0; rank < processes; rank++) {
    stream_t *stream = &output->streams[rank];
    stream->read_fd = -1;
    stream->write_fd = -1;
    hr_strbuf_init(&stream->held);
    if (rank) open_pipe(stream);
  }
  *out_output = output;
  return NULL;
}

void cli_launch_output_enter(const cli_launch_output_t *output, int rank) {
  if (output->streams[rank].write_fd >= 0) dup2(output->streams[rank].write_fd, STDERR_FILENO);
}

void cli_launch_output_started(cli_launch_output_t *output, int rank) {
  close_end(&output->streams[rank].write_fd);
}

/* --- showing --- */

/* Bytes up to the last line's end. */
static size_t whole_lines(const stream_t *stream) {
  const char *last = stream->held.size ? memrchr(stream->held.data, '\n', stream->held.size) : NULL;
  return last ? (size_t)(last - stream->held.data) + 1 : 0;
}

/* The log's own mark, " [3@host]". */
static bool says_rank(const char *line, size_t size, int rank) {
  char mark[24];
  int length = snprintf(mark, sizeof mark, " [%d@", rank);
  return memmem(line, size, mark, (size_t)length) != NULL;
}

/* Prints the first `size` held bytes of a rank, each line after the mark. */
static void show_lines(const stream_t *stream, size_t size, int rank, const char *mark) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (const char *at = stream->held.data, *end = at + size; at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((newline ? newline + 1 : end) - at);
    if (!says_rank(at, length, rank)) hr_strbuf_add_str(&text, mark);
    hr_strbuf_add(&text, at, length);
    if (!newline) hr_strbuf_add_char(&text, '\n');
    at += length;
  }
  if (text.size) fwrite(text.data, 1, text.size, stderr);
  fflush(stderr);
  hr_strbuf_deinit(&text);
}

/* Removes the printed bytes; the holding time of the rest starts again. */
static void drop(stream_t *stream, size_t size) {
  memmove(stream->held.data, stream->held.data + size, stream->held.size - size);
  stream->held.size -= size;
  stream->since_ms = hr_clock_ms();
}

/* Adds "3" or "3-5" for a run of ranks. */
static void add_range(hr_strbuf_t *text, int first, int last) {
  hr_strbuf_printf(text, "%s%d", text->size ? "," : "", first);
  if (last > first) hr_strbuf_printf(text, "-%d", last);
}

/* True if exactly these bytes are held. */
static bool holds(const stream_t *stream, const char *bytes, size_t size) {
  return stream->held.size == size && memcmp(stream->held.data, bytes, size) == 0;
}

/* Prints held lines of `rank`, together with later ranks that hold the same bytes. */
static void show_equal(cli_launch_output_t *output, int rank, size_t size) {
  stream_t *stream = &output->streams[rank];
  hr_strbuf_t ranks;
  char mark[96];
  int first = rank, last = rank, shared = 0;
  hr_strbuf_init(&ranks);
  for (int other = rank + 1; other < output->count; other++) {
    if (!holds(&output->streams[other], stream->held.data, size)) continue;
    drop(&output->streams[other], size);
    shared++;
    if (other > last + 1) {
      add_range(&ranks, first, last);
      first = other;
    }
    last = other;
  }
  add_range(&ranks, first, last);
  snprintf(mark, sizeof mark, shared ? "[ranks %.80s] " : "[rank %.80s] ",
           ranks.data ? ranks.data : "?");
  show_lines(stream, size, rank, mark);
  drop(stream, size);
  hr_strbuf_deinit(&ranks);
}

/* `all`: includes recent and unterminated lines. */
static void show_due(cli_launch_output_t *output, bool all) {
  int64_t now = hr_clock_ms();
  for (int rank = 1; rank < output->count; rank++) {
    stream_t *stream = &output->streams[rank];
    size_t size = all ? stream->held.size : whole_lines(stream);
    bool due = all || now - stream->since_ms >= HOLD_MS || stream->held.size >= HELD_MAX;
    if (!size && stream->held.size >= HELD_MAX) size = stream->held.size;
    if (size && due) show_equal(output, rank, size);
  }
}

/* --- reading --- */

/* Reads available bytes; the pipe is non-blocking. */
static void take(stream_t *stream) {
  char bytes[4096];
  for (;;) {
    ssize_t size = read(stream->read_fd, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size == 0) close_end(&stream->read_fd);
    if (size <= 0) return;
    if (!stream->held.size) stream->since_ms = hr_clock_ms();
    hr_strbuf_add(&stream->held, bytes, (size_t)size);
    if (stream->held.size >= HELD_MAX) return;
  }
}

/* If true, the wait must be short enough to print the lines in time. */
static bool holds_any(const cli_launch_output_t *output) {
  for (int rank = 1; rank < output->count; rank++)
    if (output->streams[rank].held.size) return true;
  return false;
}

/* ppoll() unblocks the signals only while it waits. */
void cli_launch_output_wait(cli_launch_output_t *output, int wait_ms, const sigset_t *mask) {
  int ms = holds_any(output) && wait_ms > HOLD_MS / 4 ? HOLD_MS / 4 : wait_ms;
  struct timespec limit = {ms / 1000, ms % 1000 * 1000000L};
  for (int rank = 0; rank < output->count; rank++)
    output->polls[rank] = (struct pollfd){.fd = output->streams[rank].read_fd, .events = POLLIN};
  int ready = ppoll(output->polls, (nfds_t)output->count, &limit, mask);
  for (int rank = 1; rank < output->count && ready > 0; rank++)
    if (output->polls[rank].revents && output->streams[rank].read_fd >= 0)
      take(&output->streams[rank]);
  show_due(output, false);
}

/* What a pipe and the lines held before it have may be more than is held. */
static void take_rest(cli_launch_output_t *output, stream_t *stream) {
  for (take(stream); stream->held.size >= HELD_MAX; take(stream)) show_due(output, false);
}

/* No process of the run is left: the pipes have the rest of their output. */
void cli_launch_output_finish(cli_launch_output_t *output) {
  if (!output) return;
  for (int rank = 1; rank < output->count; rank++)
    if (output->streams[rank].read_fd >= 0) take_rest(output, &output->streams[rank]);
  show_due(output, true);
  for (int rank = 0; rank < output->count; rank++) {
    close_end(&output->streams[rank].read_fd);
    close_end(&output->streams[rank].write_fd);
    hr_strbuf_deinit(&output->streams[rank].held);
  }
  hr_free(output->streams);
  hr_free(output->polls);
  hr_free(output);
}
