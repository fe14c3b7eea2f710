/* Accepts the peer of a feed's socket. Up to MAX_PENDING connections that have not sent the whole
 * secret are pending at a time, each for PATIENCE_S; a further one replaces the oldest. No byte
 * after the secret is read, as it belongs to the feed. The secret is transferred in clear text
 * and compared in constant time.
 * Cost:    one poll over all connections per event.
 * Memory:  about 1 KiB per connection, on the stack. */
#include "feed/feed_peers.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define SECRET_MAGIC "HLK1"
#define MAX_SECRET_BYTES 1024
#define MAX_PENDING 16
#define PATIENCE_S 5.0
#define SOCKET_BUFFER_BYTES (4 << 20)

typedef struct secret_header {
  char magic[4];
  uint32_t size;
} secret_header_t;

/* A connection that has not sent its secret yet. */
typedef struct pending {
  int fd;
  double until_s;
  size_t got; /* bytes so far */
  secret_header_t header;
  char given[MAX_SECRET_BYTES];
} pending_t;

typedef struct waiting_room {
  const feed_endpoint_t *endpoint;
  int count; /* the oldest first */
  pending_t pending[MAX_PENDING];
} waiting_room_t;

hr_status_t feed_secret_check(const char *secret) {
  if (!secret || strlen(secret) <= MAX_SECRET_BYTES) return NULL;
  return hr_error(HR_USAGE, "HLORUN_FEED_SECRET has %zu bytes, want %d at most", strlen(secret),
                  MAX_SECRET_BYTES);
}

static hr_status_t failed(const feed_endpoint_t *endpoint, const char *what) {
  return hr_error(HR_UNAVAILABLE, "%s: %s: %s", endpoint->spec, what, strerror(errno));
}

static bool is_same_user(int fd) {
  struct ucred peer = {.uid = (uid_t)-1};
  socklen_t size = sizeof peer;
  getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer.uid == getuid() || peer.uid == 0;
}

/* --- one connection --- */

typedef enum verdict { UNDECIDED, REFUSED, WELCOME } verdict_t;

static bool is_right(const pending_t *pending, const char *secret) {
  size_t size = strlen(secret);
  unsigned differs = pending->header.size != size;
  for (size_t i = 0; i < size; i++) differs |= (unsigned)(pending->given[i] ^ secret[i]);
  return !differs;
}

static size_t wanted_bytes(const pending_t *pending) {
  size_t header = sizeof pending->header;
  return pending->got < header ? header : header + pending->header.size;
}

/* Reads the part of the secret that has arrived. */
static verdict_t hear(pending_t *pending, const char *secret) {
  for (;;) {
    size_t header = sizeof pending->header, left = wanted_bytes(pending) - pending->got;
    char *to = pending->got < header ? (char *)&pending->header + pending->got
                                     : pending->given + (pending->got - header);
    ssize_t got = left ? recv(pending->fd, to, left, MSG_DONTWAIT) : 0;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? UNDECIDED : REFUSED;
    if (left && got == 0) return REFUSED;
    pending->got += (size_t)got;
    if (pending->got < header) continue;
    if (memcmp(pending->header.magic, SECRET_MAGIC, sizeof pending->header.magic)) return REFUSED;
    if (pending->header.size > MAX_SECRET_BYTES) return REFUSED;
    if (pending->got == wanted_bytes(pending)) return is_right(pending, secret) ? WELCOME : REFUSED;
  }
}

/* --- all of them --- */

static void remove_pending(waiting_room_t *room, int i) {
  memmove(&room->pending[i], &room->pending[i + 1],
          (size_t)(--room->count - i) * sizeof *room->pending);
}

static void refuse(waiting_room_t *room, int i) {
  close(room->pending[i].fd);
  remove_pending(room, i);
}

/* Accepts a new connection. Returns its descriptor if it needs no secret; else -1. */
static int admit(waiting_room_t *room) {
  int fd = accept4(room->endpoint->listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return -1;
  if (room->endpoint->kind == FEED_UNIX && !is_same_user(fd)) {
    close(fd);
    return -1;
  }
  if (room->endpoint->kind == FEED_UNIX || !room->endpoint->secret) return fd;
  if (room->count == MAX_PENDING) refuse(room, 0);
  pending_t *pending = &room->pending[room->count++];
  *pending = (pending_t){.fd = fd, .until_s = hr_clock_s() + PATIENCE_S};
  return -1;
}

/* Reads from all pending connections. Returns the descriptor of an authorized one; else -1. */
static int hear_all(waiting_room_t *room) {
  for (int i = room->count - 1; i >= 0; i--) {
    pending_t *pending = &room->pending[i];
    verdict_t verdict = hear(pending, room->endpoint->secret);
    int fd = pending->fd;
    if (verdict == WELCOME) {
      remove_pending(room, i);
      return fd;
    }
    if (verdict == REFUSED || hr_clock_s() > pending->until_s) refuse(room, i);
  }
  return -1;
}

static hr_status_t await_event(const waiting_room_t *room, int stop_fd, bool *out_new) {
  struct pollfd fds[2 + MAX_PENDING] = {{.fd = room->endpoint->listener, .events = POLLIN},
                                        {.fd = stop_fd, .events = POLLIN}};
  *out_new = false;
  for (int i = 0; i < room->count; i++)
    fds[2 + i] = (struct pollfd){.fd = room->pending[i].fd, .events = POLLIN};
  int timeout_ms = -1;
  if (room->count) {
    double left_s = room->pending[0].until_s - hr_clock_s();
    timeout_ms = left_s > 0 ? (int)(left_s * 1e3) + 1 : 0;
  }
  if (poll(fds, (nfds_t)(2 + room->count), timeout_ms) < 0)
    return errno == EINTR ? NULL : failed(room->endpoint, "waiting failed");
  if (fds[1].revents) return hr_error(HR_CANCELLED, "%s: stopped", room->endpoint->spec);
  *out_new = fds[0].revents != 0;
  return NULL;
}

static hr_status_t accept_any(waiting_room_t *room, int stop_fd, int *out_fd) {
  bool is_new;
  while (*out_fd < 0) {
    HR_TRY(await_event(room, stop_fd, &is_new));
    if (is_new) *out_fd = admit(room);
    if (*out_fd < 0) *out_fd = hear_all(room);
  }
  return NULL;
}

hr_status_t feed_peer_accept(const feed_endpoint_t *endpoint, feed_io_t *io) {
  waiting_room_t room;
  int bytes = SOCKET_BUFFER_BYTES, fd = -1;
  room.endpoint = endpoint;
  room.count = 0;
  hr_status_t st = accept_any(&room, io->stop_fd, &fd);
  while (room.count) refuse(&room, room.count - 1);
  HR_TRY(st);
  setsockopt(fd, SOL_SOCKET, endpoint->is_infeed ? SO_RCVBUF : SO_SNDBUF, &bytes, sizeof bytes);
  io->fd = fd;
  return NULL;
}
