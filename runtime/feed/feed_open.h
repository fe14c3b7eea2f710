/* Sources and sinks of feeds:
 *
 *   file:PATH      the wire format, or an .npz of lists of values; an infeed also from an .npy
 *   unix:PATH      a UNIX socket created here, for this user; the first client feeds or reads
 *   tcp:PORT       the same over TCP, from this host only
 *   tcp:HOST:PORT  the same at this address; clients must send HLORUN_FEED_SECRET if it is set, or
 * if the address is not local fd:N           a file descriptor that this process inherited
 *   exec:COMMAND   standard output, or input, of a shell command
 *
 * %r and %p stand for replica and partition. */
#ifndef EXEC_FEED_OPEN_H
#define EXEC_FEED_OPEN_H

#include <sys/types.h>

#include "base/arena.h"
#include "feed/feed_wire.h"

typedef enum feed_kind { FEED_FILE, FEED_UNIX, FEED_TCP, FEED_FD, FEED_EXEC } feed_kind_t;

typedef struct feed_endpoint {
  const char *spec; /* with %r and %p expanded */
  feed_kind_t kind;
  const char *text; /* part of spec after the colon */
  bool is_infeed;
  int listener;  /* listening socket; -1: none */
  bool is_bound; /* the UNIX socket file was created here */
  int fd;        /* open stream; -1: not connected yet */
  pid_t child;   /* process of exec:; 0: none */
  const char *secret;
} feed_endpoint_t;

/* Opens files and commands, and listens on sockets, without waiting for clients.
 * Errors:  USAGE for a malformed spec; UNAVAILABLE.
 * Owner:   strings live in `arena`. */
hr_status_t feed_endpoint_open(hr_arena_t *arena, const char *spec, bool is_infeed, int replica,
                               int partition, feed_endpoint_t *out_endpoint);
/* Waits for a client of a socket and sets io->fd. Errors: CANCELLED once io->stop_fd is readable;
 * UNAVAILABLE. */
hr_status_t feed_endpoint_connect(feed_endpoint_t *endpoint, feed_io_t *io);
/* After the last value of an outfeed: ends a command's input and waits until it has ended. Errors:
 * CANCELLED once stop_fd is readable; UNAVAILABLE if the command failed. */
hr_status_t feed_endpoint_finish(feed_endpoint_t *endpoint, int stop_fd);
/* Closes, also after failures. A command that still runs is ended with all that it started. Errors:
 * UNAVAILABLE if `in_order` and the last bytes were not taken. */
hr_status_t feed_endpoint_close(feed_endpoint_t *endpoint, bool in_order);

#endif
