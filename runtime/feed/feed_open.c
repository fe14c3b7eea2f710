/* Opens the source or sink of a feed. Files, inherited descriptors and commands are ready at
 * once; sockets listen at once and accept when the feed's thread first reads or writes.
 *
 * Security: UNIX sockets have mode 0600 and accept the same user or root (SO_PEERCRED). TCP binds
 *           to the loopback address unless a host is given, and then requires the secret of
 *           HLORUN_FEED_SECRET. A secret that is set is asked for on the loopback address too. */
#include "feed/feed_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/open.h"
#include "base/text.h"
#include "feed/feed_peers.h"

#define CHILD_POLL_MS 10
#define CHILD_EXIT_POLLS 100 /* polls until a command that does not end by SIGTERM is killed */
#define MAX_PORT 65535
#define BACKLOG 16 /* connections that wait to be accepted */

extern char **environ;

static const struct {
  const char *name;
  feed_kind_t kind;
} kinds[] = {{"file:", FEED_FILE},
             {"unix:", FEED_UNIX},
             {"tcp:", FEED_TCP},
             {"fd:", FEED_FD},
             {"exec:", FEED_EXEC}};

static hr_status_t failed(const feed_endpoint_t *endpoint, const char *what) {
  return hr_error(HR_UNAVAILABLE, "%s: %s: %s", endpoint->spec, what, strerror(errno));
}

/* --- specs --- */

/* %r and %p stand for the replica and partition, so that one spec serves all processes. */
static hr_status_t expand_placeholders(hr_arena_t *arena, const char *spec, int replica,
                                       int partition, const char **out_spec) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (const char *at = spec; *at; at++) {
    bool is_placeholder = at[0] == '%' && (at[1] == 'r' || at[1] == 'p');
    if (is_placeholder)
      hr_strbuf_printf(&text, "%d", *++at == 'r' ? replica : partition);
    else
      hr_strbuf_add_char(&text, *at);
  }
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_cstr(arena, (hr_str_t){text.data, text.size}, out_spec);
  hr_strbuf_deinit(&text);
  return st;
}

/* KIND:TEXT; the text must not be empty. */
static hr_status_t read_spec(hr_arena_t *arena, const char *spec, int replica, int partition,
                             feed_endpoint_t *endpoint) {
  HR_TRY(expand_placeholders(arena, spec, replica, partition, &endpoint->spec));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t size = strlen(kinds[i].name);
    if (strncmp(endpoint->spec, kinds[i].name, size)) continue;
    endpoint->kind = kinds[i].kind;
    endpoint->text = endpoint->spec + size;
    if (*endpoint->text) return NULL;
  }
  return hr_error(
      HR_USAGE,
      "\"%s\" is not a feed: want file:PATH, unix:PATH, tcp:PORT, tcp:HOST:PORT, fd:N or "
      "exec:COMMAND",
      spec);
}

/* --- sockets --- */

/* Replaces a stale socket file, but no file of another kind. */
static hr_status_t listen_unix(feed_endpoint_t *endpoint) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  struct stat found;
  if (strlen(endpoint->text) >= sizeof address.sun_path)
    return hr_error(HR_USAGE, "%s: the path is longer than %zu characters", endpoint->spec,
                    sizeof address.sun_path - 1);
  strcpy(address.sun_path, endpoint->text);
  if (!lstat(endpoint->text, &found) && S_ISSOCK(found.st_mode)) unlink(endpoint->text);
  endpoint->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (endpoint->listener < 0) return failed(endpoint, "cannot create a socket");
  fchmod(endpoint->listener, 0600); /* bind then creates the file with this mode */
  if (bind(endpoint->listener, (struct sockaddr *)&address, sizeof address))
    return failed(endpoint, "cannot bind");
  endpoint->is_bound = true;
  if (chmod(endpoint->text, 0600)) return failed(endpoint, "cannot be made private");
  return listen(endpoint->listener, 1) ? failed(endpoint, "cannot listen") : NULL;
}

/* 127.0.0.0/8 or ::1. */
static bool is_loopback(const struct sockaddr *address) {
  if (address->sa_family == AF_INET)
    return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
  static const unsigned char loopback[16] = {[15] = 1};
  return address->sa_family == AF_INET6 &&
         !memcmp(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, loopback,
                 sizeof loopback);
}

/* An address that other hosts can reach requires a secret. */
static hr_status_t listen_at(feed_endpoint_t *endpoint, const struct addrinfo *address) {
  int yes = 1;
  bool local = is_loopback(address->ai_addr);
  if (!local && !endpoint->secret)
    return hr_error(HR_USAGE,
                    "%s: other hosts can reach this address: set a shared secret in "
                    "HLORUN_FEED_SECRET",
                    endpoint->spec);
  HR_TRY(feed_secret_check(endpoint->secret));
  endpoint->listener = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (endpoint->listener < 0) return failed(endpoint, "cannot create a socket");
  setsockopt(endpoint->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(endpoint->listener, address->ai_addr, address->ai_addrlen))
    return failed(endpoint, "cannot bind");
  return listen(endpoint->listener, BACKLOG) ? failed(endpoint, "cannot listen") : NULL;
}

/* Names of services are fine, too; a number too large would be taken for another one. */
static hr_status_t check_port(const feed_endpoint_t *endpoint, const char *port) {
  char *end;
  long number = strtol(port, &end, 10);
  if (end != port && !*end && number >= 0 && number <= MAX_PORT) return NULL;
  if (end == port && *port) return NULL;
  return hr_error(HR_USAGE, "%s: a port is a number up to %d", endpoint->spec, MAX_PORT);
}

/* tcp:PORT is 127.0.0.1; of the addresses that a name has, the first is taken. */
static hr_status_t listen_tcp(hr_arena_t *arena, feed_endpoint_t *endpoint) {
  const char *colon = strrchr(endpoint->text, ':'), *port = colon ? colon + 1 : endpoint->text;
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
  hr_str_t host = {"127.0.0.1", 9};
  const char *name;
  HR_TRY(check_port(endpoint, port));
  if (colon) host = (hr_str_t){endpoint->text, (size_t)(colon - endpoint->text)};
  HR_TRY(hr_arena_cstr(arena, host, &name));
  int error = getaddrinfo(name, port, &hints, &found);
  if (error) return hr_error(HR_USAGE, "%s: %s", endpoint->spec, gai_strerror(error));
  hr_status_t st = listen_at(endpoint, found);
  freeaddrinfo(found);
  return st;
}

/* --- files and commands --- */

/* Opening a FIFO waits for its other end. */
static hr_status_t open_path(feed_endpoint_t *endpoint) {
  if (endpoint->is_infeed) return hr_open(endpoint->text, O_RDONLY, &endpoint->fd);
  return hr_file_open_in_place(endpoint->text, O_TRUNC, &endpoint->fd);
}

/* The feed owns the descriptor and closes it. A standard stream is duplicated: messages still need
 * it, and no file that is opened later may get its number. */
static hr_status_t open_inherited_fd(feed_endpoint_t *endpoint) {
  char *end;
  long number = strtol(endpoint->text, &end, 10);
  if (*end || number < 0 || number > INT_MAX || fcntl((int)number, F_GETFD) < 0)
    return hr_error(HR_USAGE, "%s: no such open file descriptor", endpoint->spec);
  endpoint->fd = (int)number;
  if (number > STDERR_FILENO) return NULL;
  endpoint->fd = fcntl((int)number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  return endpoint->fd < 0 ? failed(endpoint, "cannot be duplicated") : NULL;
}

/* The command leads a process group, by which what it started can be ended, too. Signals that this
 * process may ignore or block have their usual effect, such as that of a pipe that nobody reads. */
static void set_attributes(posix_spawnattr_t *attributes) {
  static const int usual[] = {SIGPIPE, SIGXFSZ, SIGUSR1};
  sigset_t defaults, mask;
  sigemptyset(&defaults);
  sigemptyset(&mask);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) sigaddset(&defaults, usual[i]);
  posix_spawnattr_init(attributes);
  posix_spawnattr_setsigdefault(attributes, &defaults);
  posix_spawnattr_setsigmask(attributes, &mask);
  posix_spawnattr_setflags(attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

/* A shell with one end of a pipe as its standard input or output; the ends here are closed on
 * exec, so that the command sees the end of the stream. */
static hr_status_t start_command(feed_endpoint_t *endpoint) {
  int pipes[2], theirs = endpoint->is_infeed ? 1 : 0;
  char *const words[] = {"sh", "-c", (char *)endpoint->text, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (pipe2(pipes, O_CLOEXEC)) return failed(endpoint, "cannot create a pipe");
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipes[theirs], theirs);
  set_attributes(&attributes);
  int error = posix_spawn(&endpoint->child, "/bin/sh", &actions, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(pipes[theirs]);
  endpoint->fd = pipes[!theirs];
  fcntl(endpoint->fd, F_SETPIPE_SZ, 1 << 20); /* as much as a user may have */
  if (!error) return NULL;
  endpoint->child = 0;
  errno = error;
  return failed(endpoint, "cannot start the command");
}

/* --- all of them --- */

hr_status_t feed_endpoint_open(hr_arena_t *arena, const char *spec, bool is_infeed, int replica,
                               int partition, feed_endpoint_t *out_endpoint) {
  const char *secret = getenv("HLORUN_FEED_SECRET");
  *out_endpoint = (feed_endpoint_t){.is_infeed = is_infeed,
                                    .listener = -1,
                                    .fd = -1,
                                    .secret = secret && *secret ? secret : NULL};
  HR_TRY(read_spec(arena, spec, replica, partition, out_endpoint));
  switch (out_endpoint->kind) {
    case FEED_FILE:
      return open_path(out_endpoint);
    case FEED_UNIX:
      return listen_unix(out_endpoint);
    case FEED_TCP:
      return listen_tcp(arena, out_endpoint);
    case FEED_FD:
      return open_inherited_fd(out_endpoint);
    case FEED_EXEC:
      return start_command(out_endpoint);
  }
  return NULL;
}

/* On the feed's thread: accepts a socket's peer, which may take any time. */
hr_status_t feed_endpoint_connect(feed_endpoint_t *endpoint, feed_io_t *io) {
  if (endpoint->listener >= 0 && endpoint->fd < 0) {
    HR_TRY(feed_peer_accept(endpoint, io));
    endpoint->fd = io->fd;
  }
  io->fd = endpoint->fd;
  return NULL;
}

/* --- the end --- */

static hr_status_t check_exit(const feed_endpoint_t *endpoint, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return NULL;
  return hr_error(HR_UNAVAILABLE, "%s: the command failed (%s %d)", endpoint->spec,
                  WIFEXITED(status) ? "exit code" : "signal",
                  WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

hr_status_t feed_endpoint_finish(feed_endpoint_t *endpoint, int stop_fd) {
  struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
  int status = 0;
  if (!endpoint->child) return NULL;
  close(endpoint->fd);
  endpoint->fd = -1;
  while (!waitpid(endpoint->child, &status, WNOHANG))
    if (poll(&stop, 1, CHILD_POLL_MS) > 0)
      return hr_error(HR_CANCELLED, "%s: stopped", endpoint->spec);
  endpoint->child = 0;
  return check_exit(endpoint, status);
}

/* The command and all that it started, which are a process group. One that ignores SIGTERM is ended
 * after a second. */
static void end_command(pid_t child) {
  int status, polls = CHILD_EXIT_POLLS;
  kill(-child, SIGTERM);
  while (polls && !waitpid(child, &status, WNOHANG)) {
    poll(NULL, 0, CHILD_POLL_MS);
    polls--;
  }
  kill(-child, SIGKILL);
  while (!polls && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
}

hr_status_t feed_endpoint_close(feed_endpoint_t *endpoint, bool in_order) {
  hr_status_t st = NULL;
  if (endpoint->fd >= 0 && close(endpoint->fd) && in_order && !endpoint->is_infeed)
    st = failed(endpoint, "cannot close");
  if (endpoint->listener >= 0) {
    close(endpoint->listener);
    if (endpoint->is_bound) unlink(endpoint->text);
  }
  if (endpoint->child) end_command(endpoint->child);
  endpoint->fd = -1;
  endpoint->listener = -1;
  endpoint->child = 0;
  return st;
}
