/* Authorization of clients of a feed's socket. */
#ifndef EXEC_FEED_PEERS_H
#define EXEC_FEED_PEERS_H

#include "feed/feed_open.h"

/* Accepts connections until one is authorized, and sets io->fd. Authorized are the same user and
 * root on UNIX sockets; over TCP, clients that send the endpoint's secret, if any, within seconds.
 * Other connections are closed. Several are served at a time, so that none blocks another. Errors:
 * CANCELLED once io->stop_fd is readable; UNAVAILABLE. */
hr_status_t feed_peer_accept(const feed_endpoint_t *endpoint, feed_io_t *io);

/* Errors: USAGE for a secret that no client could send. */
hr_status_t feed_secret_check(const char *secret);

#endif
