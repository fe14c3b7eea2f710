/* Checksums of messages, and fault injection for their test: one inverted bit. The bit is
 * determined by the size of the message, so that a run can be repeated. */
#include "transport/core/message_sum.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/map.h"
#include "base/mem.h"
#include "transport/core/transport.h"

#define SUM_SEED UINT64_C(0x6d6573736167652b)

uint64_t tp_message_sum(const void *data, size_t size_bytes) {
  return hr_hash_bytes(data, size_bytes, SUM_SEED);
}

hr_status_t tp_message_sum_new(int rank, const void *data, size_t size_bytes,
                               tp_message_sum_t **out_sum) {
  void *memory;
  HR_TRY(hr_alloc(sizeof(tp_message_sum_t), &memory));
  *out_sum = memory;
  **out_sum = (tp_message_sum_t){.rank = rank, .data = data, .size_bytes = size_bytes};
  return NULL;
}

hr_status_t tp_message_sum_compare(const tp_message_sum_t *sum) {
  if (!sum->is_received) return NULL;
  uint64_t found = tp_message_sum(sum->data, sum->size_bytes);
  if (found == sum->sum) return NULL;
  return hr_error(HR_UNAVAILABLE,
                  "a message of %zu bytes from rank %d is damaged: its check sum is %016" PRIx64
                  ", rank %d sent %016" PRIx64,
                  sum->size_bytes, sum->rank, found, sum->rank, sum->sum);
}

/* --- fault injection --- */

static uint64_t flipped_message;       /* number of the message to damage; 0: none */
static _Atomic uint64_t messages_left; /* messages until the one to damage; 0: none */
static atomic_bool has_begun;

void tp_flip_message(uint64_t n) { flipped_message = n; }

void tp_flip_begin(void) {
  if (!atomic_exchange(&has_begun, true)) atomic_store(&messages_left, flipped_message);
}

void tp_flip_received(void *data, size_t size_bytes) {
  uint64_t left = atomic_load_explicit(&messages_left, memory_order_relaxed);
  if (!left || !size_bytes || atomic_fetch_sub(&messages_left, 1) != 1) return;
  size_t bit = hr_hash_bytes(&size_bytes, sizeof size_bytes, SUM_SEED) % (8 * size_bytes);
  ((unsigned char *)data)[bit / 8] ^= (unsigned char)(1u << bit % 8);
}
