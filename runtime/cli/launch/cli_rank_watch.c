/* Ranks are the children of mpirun with OMPI_COMM_WORLD_RANK in their environment (/proc). Each is
 * watched through a pidfd (Linux 5.3), which becomes readable when the process ends; so the first
 * of several is known, and reused process numbers do no harm. A rank reports its exit code before
 * it ends: if more ranks have ended than have reported, the last one that ended was killed. On
 * kernels without pidfd or without lists of children, no rank is seen.
 * Cost: a few files of /proc for each wait, and one descriptor per rank.
 *
 * Open MPI's segments in /dev/shm are unlinked once all ranks have mapped them (transport/mpi).
 * Until then their name is vader_segment.HOST.USER.JOB.RANK, with the job number in hexadecimal;
 * ranks have it in decimal in their environment. Segments left behind by a killed mpirun are found
 * by this number. */
#include "cli/launch/cli_rank_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_session_folder.h"

#define SYS_PIDFD_SEND_SIGNAL 424 /* SYS_*: missing in older C libraries */
#define SYS_PIDFD_OPEN 434
#define MOST_RANKS 1024 /* most watched ranks per host */
#define FIRST_WAITS 100 /* number of short waits (FIRST_MS) while ranks are being started */
#define FIRST_MS 20     /* short wait, in milliseconds */
#define CHILDREN_BYTES 16384
#define SEGMENT "vader_segment."

typedef struct watched_rank {
  pid_t pid;
  int rank;
  int fd;          /* pidfd; -1: it has ended */
  bool is_stopped; /* stopped by a signal when last checked */
} watched_rank_t;

struct cli_rank_watch {
  pid_t launcher;
  int launcher_fd;        /* pidfd; -1: not available */
  int waits;              /* number of waits so far */
  int count;              /* number of ranks seen */
  int ended;              /* number of ranks that have ended */
  int explained;          /* number of those that mpirun ended while MPI was starting */
  int lost;               /* rank that was killed; -1: none */
  unsigned long job;      /* Open MPI's job number; 0: unknown */
  int world;              /* number of ranks of the job */
  int local;              /* number of them on this host */
  char session[PATH_MAX]; /* folder of the launcher's files; empty: unknown */
  watched_rank_t ranks[MOST_RANKS];
};

static int open_pid(pid_t pid) { return (int)syscall(SYS_PIDFD_OPEN, pid, 0); }

cli_rank_watch_t *cli_rank_watch_create(pid_t launcher) {
  void *memory;
  hr_status_t st = hr_alloc_zeroed(sizeof(cli_rank_watch_t), &memory);
  hr_status_release(st);
  if (st) return NULL;
  cli_rank_watch_t *watch = memory;
  watch->launcher = launcher;
  watch->launcher_fd = open_pid(launcher);
  watch->lost = -1;
  return watch;
}

void cli_rank_watch_destroy(cli_rank_watch_t *watch) {
  if (!watch) return;
  for (int i = 0; i < watch->count; i++)
    if (watch->ranks[i].fd >= 0) close(watch->ranks[i].fd);
  if (watch->launcher_fd >= 0) close(watch->launcher_fd);
  hr_free(watch);
}

/* --- finding ranks --- */

/* Reads the beginning of a file of /proc, with a terminating zero; returns the number of bytes. */
static size_t read_start(const char *path, char *into, size_t room) {
  size_t got = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  into[0] = '\0';
  if (fd < 0) return 0;
  for (ssize_t n = 1; n > 0 && got + 1 < room; got += (size_t)n) {
    n = read(fd, into + got, room - 1 - got);
    if (n < 0) n = 0;
  }
  close(fd);
  into[got] = '\0';
  return got;
}

/* Looks for a variable in the environment of a process, which comes in pieces. */
typedef struct search {
  const char *wanted; /* NAME= */
  size_t matched;     /* characters of it that the current variable begins with */
  bool is_other;      /* the current variable has another name */
  bool is_found;
  char *into; /* value */
  size_t size, room;
} search_t;

/* False: the end of the value. A value that is too long is cut. */
static bool take(search_t *search, char c) {
  if (search->is_found) {
    if (c && search->size + 1 < search->room) search->into[search->size++] = c;
    return c;
  }
  if (!c) {
    search->matched = 0;
    search->is_other = false;
  } else if (!search->is_other && c == search->wanted[search->matched]) {
    search->is_found = !search->wanted[++search->matched];
  } else {
    search->is_other = true;
  }
  return true;
}

/* Value of the variable that is wanted as "NAME="; false: no such variable or process. */
static bool read_variable(pid_t pid, const char *wanted, char *into, size_t room) {
  char path[64], piece[4096];
  search_t search = {.wanted = wanted, .into = into, .room = room};
  bool goes_on = true;
  snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  for (ssize_t n; goes_on && (n = read(fd, piece, sizeof piece)) > 0;)
    for (ssize_t i = 0; i < n && goes_on; i++) goes_on = take(&search, piece[i]);
  close(fd);
  into[search.size] = '\0';
  return search.is_found;
}

/* -1: no such variable or process. */
static long read_number(pid_t pid, const char *wanted) {
  char text[24];
  return read_variable(pid, wanted, text, sizeof text) ? atol(text) : -1;
}

/* -1 while the child is not a rank yet: mpirun has forked but not called exec. */
static int rank_of(pid_t pid) { return (int)read_number(pid, "OMPI_COMM_WORLD_RANK="); }

/* The last component of the session's folder names the process. */
static void note_session(cli_rank_watch_t *watch, pid_t pid) {
  char name[24], path[PATH_MAX];
  bool is_set = read_variable(pid, "OMPI_MCA_orte_jobfam_session_dir=", path, sizeof path);
  const char *slash = is_set ? strrchr(path, '/') : NULL;
  snprintf(name, sizeof name, "/pid.%d", (int)watch->launcher);
  if (slash && !strcmp(slash, name) && strlen(path) < sizeof watch->session)
    memcpy(watch->session, path, strlen(path) + 1);
}

static void note_job(cli_rank_watch_t *watch, pid_t pid) {
  if (watch->world) return;
  long job = read_number(pid, "PMIX_NAMESPACE=");
  watch->job = job > 0 ? (unsigned long)job : 0;
  watch->world = (int)read_number(pid, "OMPI_COMM_WORLD_SIZE=");
  watch->local = (int)read_number(pid, "OMPI_COMM_WORLD_LOCAL_SIZE=");
  note_session(watch, pid);
}

static bool is_known(const cli_rank_watch_t *watch, pid_t pid) {
  for (int i = 0; i < watch->count; i++)
    if (watch->ranks[i].pid == pid) return true;
  return false;
}

static void add_child(cli_rank_watch_t *watch, pid_t pid) {
  if (watch->count == MOST_RANKS || is_known(watch, pid)) return;
  int rank = rank_of(pid), fd = rank < 0 ? -1 : open_pid(pid);
  if (fd < 0) return;
  watch->ranks[watch->count++] = (watched_rank_t){.pid = pid, .rank = rank, .fd = fd};
  note_job(watch, pid);
}

/* Adds the children of one thread of the launcher. */
static void add_children(cli_rank_watch_t *watch, const char *thread) {
  static char children[CHILDREN_BYTES];
  char path[64], *end;
  snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)watch->launcher, thread);
  read_start(path, children, sizeof children);
  for (char *at = children;; at = end) {
    long pid = strtol(at, &end, 10);
    if (end == at) return;
    add_child(watch, (pid_t)pid);
  }
}

static void find_ranks(cli_rank_watch_t *watch) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/task", (int)watch->launcher);
  DIR *threads = opendir(path);
  if (!threads) return;
  for (struct dirent *entry; (entry = readdir(threads));)
    if (entry->d_name[0] != '.') add_children(watch, entry->d_name);
  closedir(threads);
}

/* The state follows the process name, which is in parentheses and may contain parentheses. */
static bool is_stopped(pid_t pid) {
  char path[32], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  read_start(path, line, sizeof line);
  const char *name_end = strrchr(line, ')');
  return name_end && strlen(name_end) > 2 && name_end[2] == 'T';
}

/* The masks of a process are hexadecimal numbers, in which signal 1 is the lowest bit. */
static bool has_in_mask(const char *status, const char *mask, int signal_number) {
  const char *line = strstr(status, mask);
  return line && strtoull(line + strlen(mask), NULL, 16) >> (signal_number - 1) & 1;
}

static bool takes(pid_t pid, int signal_number) {
  char path[32], status[4096];
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  if (!read_start(path, status, sizeof status)) return true;
  return has_in_mask(status, "\nSigCgt:", signal_number) ||
         has_in_mask(status, "\nSigIgn:", signal_number);
}

bool cli_rank_watch_takes(const cli_rank_watch_t *watch, int signal_number) {
  if (!watch || watch->launcher_fd < 0) return true;
  if (!takes(watch->launcher, signal_number) || !watch->count || watch->count < watch->local)
    return false;
  for (int i = 0; i < watch->count; i++)
    if (watch->ranks[i].fd >= 0 && !takes(watch->ranks[i].pid, signal_number)) return false;
  return true;
}

/* After a failure of a rank, mpirun continues stopped ranks before it ends them. */
static void note_stopped(cli_rank_watch_t *watch) {
  if (cli_exit_code_read()) return;
  for (int i = 0; i < watch->count; i++)
    watch->ranks[i].is_stopped = watch->ranks[i].fd >= 0 && is_stopped(watch->ranks[i].pid);
}

void cli_rank_watch_look(cli_rank_watch_t *watch) {
  if (!watch) return;
  find_ranks(watch);
  note_stopped(watch);
}

int cli_rank_watch_count(const cli_rank_watch_t *watch) { return watch ? watch->count : 0; }

int cli_rank_watch_first_running(const cli_rank_watch_t *watch) {
  int first = -1;
  for (int i = 0; watch && i < watch->count; i++) {
    const watched_rank_t *at = &watch->ranks[i];
    if (!at->is_stopped && (first < 0 || at->rank < first)) first = at->rank;
  }
  return first;
}

void cli_rank_watch_tell_stopped(const cli_rank_watch_t *watch) {
  for (int i = 0; watch && i < watch->count; i++)
    if (watch->ranks[i].is_stopped)
      fprintf(stderr, "hlorun: rank %d is stopped by a signal\n", watch->ranks[i].rank);
}

/* --- waiting --- */

/* The only rank that was never seen; -1: none, or several. */
static int find_missing(const cli_rank_watch_t *watch) {
  int64_t sum = (int64_t)watch->world * (watch->world - 1) / 2;
  if (watch->count != watch->world - 1) return -1;
  for (int i = 0; i < watch->count; i++) sum -= watch->ranks[i].rank;
  return (int)sum;
}

void cli_rank_watch_note_termination(cli_rank_watch_t *watch) {
  if (watch && watch->lost < 0) watch->lost = find_missing(watch);
}

static void note_end(cli_rank_watch_t *watch, watched_rank_t *ended) {
  close(ended->fd);
  ended->fd = -1;
  watch->ended++;
  bool is_explained = cli_exit_code_has_terminated(ended->rank);
  watch->explained += is_explained;
  if (is_explained || watch->lost >= 0) return;
  if (watch->ended - watch->explained > cli_exit_code_told()) watch->lost = ended->rank;
}

/* Without descriptors of ranks and launcher, sleeps for `ms`. */
void cli_rank_watch_wait(cli_rank_watch_t *watch, int ms) {
  struct pollfd polls[MOST_RANKS + 1];
  if (!watch || watch->launcher_fd < 0) {
    poll(NULL, 0, ms);
    return;
  }
  cli_rank_watch_look(watch);
  for (int i = 0; i < watch->count; i++)
    polls[i] = (struct pollfd){.fd = watch->ranks[i].fd, .events = POLLIN};
  polls[watch->count] = (struct pollfd){.fd = watch->launcher_fd, .events = POLLIN};
  bool is_starting = watch->waits++ < FIRST_WAITS && ms > FIRST_MS;
  int ready = poll(polls, (nfds_t)watch->count + 1, is_starting ? FIRST_MS : ms);
  for (int i = 0; i < watch->count && ready > 0; i++)
    if (polls[i].revents && watch->ranks[i].fd >= 0) note_end(watch, &watch->ranks[i]);
  if (cli_exit_code_terminated()) cli_rank_watch_note_termination(watch);
}

/* --- the end --- */

static bool is_segment_of(const char *name, unsigned long job) {
  char number[24];
  const char *dot = strrchr(name, '.');
  size_t size = (size_t)snprintf(number, sizeof number, ".%lx", job);
  return !strncmp(name, SEGMENT, strlen(SEGMENT)) && dot && (size_t)(dot - name) > size &&
         !memcmp(dot - size, number, size);
}

static void remove_segments(unsigned long job) {
  DIR *folder = job ? opendir("/dev/shm") : NULL;
  if (!folder) return;
  for (struct dirent *entry; (entry = readdir(folder));)
    if (is_segment_of(entry->d_name, job)) unlinkat(dirfd(folder), entry->d_name, 0);
  closedir(folder);
}

/* Open MPI's folder of all sessions of this host goes with the last one. */
static void remove_session(const cli_rank_watch_t *watch) {
  char all[PATH_MAX];
  if (!*watch->session || access(watch->session, F_OK)) return;
  cli_session_folder_remove(watch->session);
  snprintf(all, sizeof all, "%s", watch->session);
  *strrchr(all, '/') = '\0';
  rmdir(all);
}

static void note_ended_ranks(cli_rank_watch_t *watch) {
  for (int i = 0; i < watch->count; i++) {
    struct pollfd ended = {.fd = watch->ranks[i].fd, .events = POLLIN};
    if (ended.fd >= 0 && poll(&ended, 1, 0) > 0) note_end(watch, &watch->ranks[i]);
  }
}

/* Looks at the ranks every FIRST_MS. One poll of all descriptors would not wait, as that of the
 * launcher stays readable. */
void cli_rank_watch_finish(cli_rank_watch_t *watch, int ms) {
  if (!watch) return;
  int64_t until_ms = hr_clock_ms() + ms;
  note_ended_ranks(watch);
  while (watch->ended < watch->count && hr_clock_ms() < until_ms) {
    poll(NULL, 0, FIRST_MS);
    note_ended_ranks(watch);
  }
  for (int i = 0; i < watch->count; i++)
    if (watch->ranks[i].fd >= 0)
      syscall(SYS_PIDFD_SEND_SIGNAL, watch->ranks[i].fd, SIGKILL, NULL, 0);
  remove_segments(watch->job);
  remove_session(watch);
}

int cli_rank_watch_find_lost(cli_rank_watch_t *watch) {
  if (!watch) return -1;
  find_ranks(watch);
  note_ended_ranks(watch);
  return watch->lost;
}

void cli_rank_watch_end_launcher(const cli_rank_watch_t *watch, int ms, void (*warn)(void)) {
  if (!watch) return;
  struct pollfd launcher = {.fd = watch->launcher_fd, .events = POLLIN};
  if (launcher.fd < 0 || poll(&launcher, 1, ms)) return;
  warn();
  syscall(SYS_PIDFD_SEND_SIGNAL, launcher.fd, SIGKILL, NULL, 0);
  poll(&launcher, 1, ms);
  remove_session(watch);
}

bool cli_rank_watch_launcher_ended(const cli_rank_watch_t *watch) {
  struct pollfd launcher = {.fd = watch ? watch->launcher_fd : -1, .events = POLLIN};
  return poll(&launcher, 1, 0) > 0;
}

const char *cli_rank_watch_session(const cli_rank_watch_t *watch) {
  return watch && *watch->session ? watch->session : NULL;
}

int cli_rank_watch_lost(const cli_rank_watch_t *watch) { return watch ? watch->lost : -1; }
