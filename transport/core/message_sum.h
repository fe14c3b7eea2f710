/* Check sums of messages, for --verify-comm: a sender lets the sum of a payload follow it, and the
 * receiver compares. A network that loses or inverts bits is then found before the numbers are
 * used. The sum has 64 bits; it is no protection against a peer that lies.
 * Thread: any. */
#ifndef TP_MESSAGE_SUM_H
#define TP_MESSAGE_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A check sum under way. */
typedef struct tp_message_sum {
  uint64_t sum;     /* payload of the message that carries it */
  bool is_received; /* false: this rank has sent it */
  int rank;         /* the peer */
  const void *data; /* the payload that was sent or received before it; borrowed */
  size_t size_bytes;
} tp_message_sum_t;

uint64_t tp_message_sum(const void *data, size_t size_bytes);

/* The result is freed with hr_free. */
hr_status_t tp_message_sum_new(int rank, const void *data, size_t size_bytes,
                               tp_message_sum_t **out_sum);

/* Compares a received sum with that of the payload; a sent one is always right.
 * Errors: UNAVAILABLE the payload differs from what was sent; the message has peer and sums. */
hr_status_t tp_message_sum_compare(const tp_message_sum_t *sum);

/* Damages the payload if the fault of tp_flip_message (transport.h) wants it. */
void tp_flip_received(void *data, size_t size_bytes);

#endif
