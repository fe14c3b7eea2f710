/* Open addressing with linear probing; the table doubles when it is three quarters full; no
 * deletion. Keys are hashed by SipHash under the process's secret. hr_hash_bytes is the fast,
 * public hash, for numbers that all processes must agree on. */
#include "base/map.h"

#include <stdatomic.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"

/* Multiply-and-fold over 8-byte words, after the idea of wyhash: good spread, but easy to steer. */
uint64_t hr_hash_bytes(const void *bytes, size_t size, uint64_t seed) {
  const unsigned char *at = bytes;
  uint64_t hash = seed ^ (size * UINT64_C(0x9E3779B97F4A7C15));
  for (; size >= 8; size -= 8, at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    __uint128_t product = (__uint128_t)(hash ^ word) * UINT64_C(0xA0761D6478BD642F);
    hash = (uint64_t)product ^ (uint64_t)(product >> 64);
  }
  uint64_t tail = 0;
  if (size) memcpy(&tail, at, size); /* `bytes` of the empty key may be NULL */
  __uint128_t product =
      (__uint128_t)(hash ^ tail ^ UINT64_C(0xE7037ED1A0B428DB)) * UINT64_C(0x8EBC6AF09C88C6E3);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

void hr_map_init(hr_map_t *map) { *map = (hr_map_t){0}; }

void hr_map_deinit(hr_map_t *map) {
  hr_free(map->slots);
  hr_map_init(map);
}

void hr_map_clear(hr_map_t *map) {
  if (map->capacity) memset(map->slots, 0, map->capacity * sizeof *map->slots);
  map->count = 0;
}

/* The slot of the key, or the empty slot where it would go. The table is never full. */
static hr_map_slot_t *find_slot(const hr_map_t *map, hr_str_t key, uint64_t hash) {
  for (size_t i = hash & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
    hr_map_slot_t *slot = &map->slots[i];
    if (!slot->value || (slot->hash == hash && hr_str_equal(slot->key, key))) return slot;
  }
}

void *hr_map_get(const hr_map_t *map, hr_str_t key) {
  if (!map->count) return NULL;
  return find_slot(map, key, hr_hash_secret(key.data, key.size))->value;
}

/* Slots are re-inserted by their stored hashes; keys are not hashed again. */
static hr_status_t grow(hr_map_t *map) {
  hr_map_t grown = {.capacity = map->capacity ? map->capacity * 2 : 16, .count = map->count};
  void *memory;
  HR_TRY(hr_alloc_zeroed(grown.capacity * sizeof *grown.slots, &memory));
  grown.slots = memory;
  for (size_t i = 0; i < map->capacity; i++)
    if (map->slots[i].value)
      *find_slot(&grown, map->slots[i].key, map->slots[i].hash) = map->slots[i];
  hr_free(map->slots);
  *map = grown;
  return NULL;
}

/* An existing value is not replaced: *out_old gets it. */
hr_status_t hr_map_put(hr_map_t *map, hr_str_t key, void *value, void **out_old) {
  if (map->count * 4 >= map->capacity * 3) HR_TRY(grow(map));
  uint64_t hash = hr_hash_secret(key.data, key.size);
  hr_map_slot_t *slot = find_slot(map, key, hash);
  if (out_old) *out_old = slot->value;
  if (slot->value) return NULL;
  *slot = (hr_map_slot_t){key, value, hash};
  map->count++;
  return NULL;
}

static hr_status_t fill_kept(hr_kept_map_t *kept) {
  if (atomic_load_explicit(&kept->is_full, memory_order_relaxed)) return NULL;
  hr_status_t st = kept->fill(&kept->map);
  if (st) {
    hr_map_deinit(&kept->map);
    return st;
  }
  hr_mem_keep(kept->map.slots);
  atomic_store_explicit(&kept->is_full, true, memory_order_release);
  return NULL;
}

hr_status_t hr_kept_map_get(hr_kept_map_t *kept, const hr_map_t **out_map) {
  hr_status_t st = NULL;
  if (!atomic_load_explicit(&kept->is_full, memory_order_acquire)) {
    pthread_mutex_lock(&kept->lock);
    st = fill_kept(kept);
    pthread_mutex_unlock(&kept->lock);
  }
  if (!st) *out_map = &kept->map;
  return st;
}
