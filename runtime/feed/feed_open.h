/* Where feeds come from and go to:
 *   file:PATH      the wire format, or an .npz whose arrays are lists of values; of an infeed also
 * an .npy unix:PATH      a UNIX socket made here, for this user alone; whoever connects first
 * feeds, or reads tcp:PORT       the same over TCP, from this machine only tcp:HOST:PORT  from
 * others too: at this address, for those who know the secret of HLORUN_FEED_SECRET fd:N           a
 * file that this process inherited exec:COMMAND   what a shell command writes, or reads %r and %p
 * in it stand for replica and partition. */
#ifndef EXEC_FEED_OPEN_H
#define EXEC_FEED_OPEN_H

#include <sys/types.h>

#include "base/arena.h"
#include "feed/feed_wire.h"

typedef enum feed_kind { FEED_FILE, FEED_UNIX, FEED_TCP, FEED_FD, FEED_EXEC } feed_kind_t;

typedef struct feed_endpoint {
  const char *spec; /* with %r and %p filled in */
  feed_kind_t kind;
  const char *text; /* behind the colon */
  bool is_infeed;
  int listener;  /* of sockets, until somebody has connected; -1: none */
  bool is_bound; /* a UNIX socket's file is ours */
  int fd;        /* -1: not connected yet */
  pid_t child;   /* of exec; 0: none */
  const char *secret;
} feed_endpoint_t;

/* Opens what can be opened at once, and listens. Errors: USAGE for what is no spec, UNAVAILABLE. */
hr_status_t feed_endpoint_open(hr_arena_t *arena, const char *spec, bool is_infeed, int replica,
                               int partition, feed_endpoint_t *out_endpoint);
/* Waits until somebody connects, if it is a socket; may be stopped by io->stop_fd. Sets io->fd. */
hr_status_t feed_endpoint_connect(feed_endpoint_t *endpoint, feed_io_t *io);
/* The end, also after failures. With a child: waits for it; UNAVAILABLE if it failed. */
hr_status_t feed_endpoint_close(feed_endpoint_t *endpoint, bool in_order);

#endif
