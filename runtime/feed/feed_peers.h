/* Who may be the other end of a feed's socket. */
#ifndef EXEC_FEED_PEERS_H
#define EXEC_FEED_PEERS_H

#include "feed/feed_open.h"

/* Accepts connections until one is authorized, and sets io->fd: on UNIX sockets the same user or
 * root; over TCP one that sends the endpoint's secret within seconds, if there is one. Others are
 * closed; several are heard at a time, so that none keeps another out. Errors: CANCELLED once
 * io->stop_fd is readable; UNAVAILABLE. */
hr_status_t feed_peer_accept(const feed_endpoint_t *endpoint, feed_io_t *io);

/* Errors: USAGE for a secret that no peer could send. */
hr_status_t feed_secret_check(const char *secret);

#endif
