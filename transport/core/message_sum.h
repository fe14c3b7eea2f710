/* Checksums of messages, for --verify-comm: the sender sends the sum of a payload after it, and the
 * receiver compares. Bits lost or inverted by the network are found before the data is used. The
 * sum has 64 bits; it is no protection against a malicious peer. Thread: any. */
#ifndef TP_MESSAGE_SUM_H
#define TP_MESSAGE_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A checksum being sent or received. */
typedef struct tp_message_sum {
  uint64_t sum;     /* payload of the message that carries the checksum */
  bool is_received; /* false: this rank has sent it */
  int rank;         /* the peer */
  const void *data; /* payload of the message before it; borrowed */
  size_t size_bytes;
} tp_message_sum_t;

uint64_t tp_message_sum(const void *data, size_t size_bytes);

/* The result is freed with hr_free. */
hr_status_t tp_message_sum_new(int rank, const void *data, size_t size_bytes,
                               tp_message_sum_t **out_sum);

/* Compares a received checksum with that of the payload; sent ones always pass. Errors: UNAVAILABLE
 * if they differ; the message names the peer and both sums. */
hr_status_t tp_message_sum_compare(const tp_message_sum_t *sum);

/* Damages the payload if tp_flip_message (transport.h) has selected it. */
void tp_flip_received(void *data, size_t size_bytes);

#endif
