/* Pools and matching queues of shm_p2p.c. All lists are private to one process, although slots and
 * eager buffers lie in shared memory: they are linked by offsets, since every process maps that
 * memory at another address. Slots are allocated in blocks of MSGS_PER_BLOCK, eager buffers one at
 * a time by size class; both return to a free list, so that a warmed-up transfer allocates nothing.
 * Matching walks one hash bucket. */
#include "transport/shm/shm_p2p_msg.h"

#include <string.h>

#include "base/mem.h"

#define MSGS_PER_BLOCK 64
/* Sizes of eager buffers. Up to the largest, the second copy costs less than the system call that
 * reads another process's memory. */
static const size_t eager_bytes[EAGER_CLASSES] = {4 << 10, 16 << 10, 64 << 10};

/* --- pools --- */

hr_status_t p2p_message_new(p2p_t *p2p, tp_message_t **out_message) {
  tp_message_t *message = p2p->free_messages;
  if (message) {
    p2p->free_messages = message->next;
  } else {
    void *memory;
    HR_TRY(hr_alloc(sizeof *message, &memory));
    message = memory;
  }
  *out_message = message;
  return NULL;
}

/* Allocates shared memory that p2p_pools_free frees. NULL: none is left. */
static void *new_block(p2p_t *p2p, size_t size_bytes) {
  hr_status_t st = HR_VEC_RESERVE(&p2p->blocks, p2p->blocks.count + 1);
  void *block = st ? NULL : tp_shm_alloc(p2p->shm, size_bytes);
  hr_status_release(st);
  if (block) p2p->blocks.data[p2p->blocks.count++] = block;
  return block;
}

void p2p_slot_free(p2p_t *p2p, shm_msg_t *slot) {
  slot->next = p2p->free_slots;
  p2p->free_slots = tp_shm_offset(p2p->shm, slot);
}

static hr_status_t add_slots(p2p_t *p2p) {
  shm_msg_t *slots = new_block(p2p, MSGS_PER_BLOCK * sizeof *slots);
  if (!slots) return tp_shm_used_up(p2p->shm);
  for (int i = MSGS_PER_BLOCK; i-- > 0;) p2p_slot_free(p2p, &slots[i]);
  return NULL;
}

hr_status_t p2p_slot_new(p2p_t *p2p, shm_msg_t **out_slot) {
  if (!p2p->free_slots) HR_TRY(add_slots(p2p));
  *out_slot = shm_msg_at(p2p, p2p->free_slots);
  p2p->free_slots = (*out_slot)->next;
  return NULL;
}

/* The smallest class of buffers that holds so many bytes; EAGER_CLASSES: none does. */
static int eager_class(size_t size_bytes) {
  int class_ = 0;
  while (class_ < EAGER_CLASSES && size_bytes > eager_bytes[class_]) class_++;
  return class_;
}

/* Returns the offset of a buffer of the class, or, beyond the largest class, of memory of exactly
 * this size. 0: shared memory is used up. A free buffer's first word links it to the next one. */
static uint64_t eager_alloc(p2p_t *p2p, size_t size_bytes) {
  int class_ = eager_class(size_bytes);
  void *memory;
  if (class_ == EAGER_CLASSES) {
    memory = tp_shm_alloc(p2p->shm, size_bytes);
  } else if (p2p->free_eager[class_]) {
    memory = tp_shm_at(p2p->shm, p2p->free_eager[class_]);
    p2p->free_eager[class_] = *(uint64_t *)memory;
  } else {
    memory = new_block(p2p, eager_bytes[class_]);
  }
  return memory ? tp_shm_offset(p2p->shm, memory) : 0;
}

uint64_t p2p_eager_new(p2p_t *p2p, const void *data, size_t size_bytes) {
  bool other_protocol = p2p->fallback || p2p->shm->reads_directly;
  if (eager_class(size_bytes) == EAGER_CLASSES && other_protocol) return 0;
  uint64_t offset = eager_alloc(p2p, size_bytes);
  if (offset) memcpy(tp_shm_at(p2p->shm, offset), data, size_bytes);
  return offset;
}

static void eager_free(p2p_t *p2p, const tp_message_t *message) {
  int class_ = eager_class(message->size_bytes);
  if (!message->eager_buffer) return;
  char *buffer = tp_shm_at(p2p->shm, message->eager_buffer);
  if (class_ == EAGER_CLASSES) {
    tp_shm_free(p2p->shm, buffer);
    return;
  }
  *(uint64_t *)buffer = p2p->free_eager[class_];
  p2p->free_eager[class_] = message->eager_buffer;
}

void p2p_message_free(p2p_t *p2p, tp_message_t *message) {
  eager_free(p2p, message);
  message->next = p2p->free_messages;
  p2p->free_messages = message;
}

void p2p_pools_free(p2p_t *p2p) {
  for (size_t i = 0; i < p2p->blocks.count; i++) tp_shm_free(p2p->shm, p2p->blocks.data[i]);
  HR_VEC_FREE(&p2p->blocks);
  for (tp_message_t *message; (message = p2p->free_messages);) {
    p2p->free_messages = message->next;
    hr_free(message);
  }
}

/* --- matching --- */

static bucket_t *bucket_of(p2p_t *p2p, int from, uint32_t tag) {
  uint32_t hash = (uint32_t)from * 0x9E3779B1u ^ tag * 0x85EBCA6Bu;
  return &p2p->buckets[hash >> 16 & (BUCKETS - 1)];
}

void p2p_post_receive(p2p_t *p2p, tp_message_t *message) {
  tp_message_t **link = &bucket_of(p2p, message->peer, message->tag)->receives;
  while (*link) link = &(*link)->next;
  message->next = NULL;
  *link = message;
}

void p2p_unpost_receive(p2p_t *p2p, tp_message_t *message) {
  tp_message_t **link = &bucket_of(p2p, message->peer, message->tag)->receives;
  while (*link && *link != message) link = &(*link)->next;
  if (*link) *link = message->next;
}

tp_message_t *p2p_match_receive(p2p_t *p2p, int from, uint32_t tag) {
  tp_message_t **link = &bucket_of(p2p, from, tag)->receives;
  while (*link && ((*link)->peer != from || (*link)->tag != tag)) link = &(*link)->next;
  tp_message_t *message = *link;
  if (message) *link = message->next;
  return message;
}

void p2p_queue_unexpected(p2p_t *p2p, shm_msg_t *slot) {
  bucket_t *bucket = bucket_of(p2p, slot->from, slot->tag);
  uint64_t offset = tp_shm_offset(p2p->shm, slot);
  slot->next = 0;
  if (bucket->last_unexpected)
    shm_msg_at(p2p, bucket->last_unexpected)->next = offset;
  else
    bucket->unexpected = offset;
  bucket->last_unexpected = offset;
}

/* `previous` is the slot before the removed one, NULL for the first; `next` is the offset of the
 * slot after it. */
static void unlink_unexpected(const p2p_t *p2p, bucket_t *bucket, shm_msg_t *previous,
                              uint64_t next) {
  if (previous)
    previous->next = next;
  else
    bucket->unexpected = next;
  if (next) return;
  bucket->last_unexpected = previous ? tp_shm_offset(p2p->shm, previous) : 0;
}

shm_msg_t *p2p_match_unexpected(p2p_t *p2p, int from, uint32_t tag, bool unlink) {
  bucket_t *bucket = bucket_of(p2p, from, tag);
  shm_msg_t *previous = NULL;
  for (uint64_t offset = bucket->unexpected; offset;) {
    shm_msg_t *slot = shm_msg_at(p2p, offset);
    uint64_t next = slot->next;
    /* Relaxed: no read depends on this value. RECALLED is final; a slot recalled just afterwards
     * fails its compare-and-swap to IN_READ. */
    bool recalled = atomic_load_explicit(&slot->state, memory_order_relaxed) == RECALLED;
    bool found = !recalled && slot->from == from && slot->tag == tag;
    if (found && !unlink) return slot;
    if (recalled || found)
      unlink_unexpected(p2p, bucket, previous, next);
    else
      previous = slot;
    if (found) return slot;
    offset = next;
  }
  return NULL;
}
