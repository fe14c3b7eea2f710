/* A hash map from byte strings to pointers. Keys are borrowed: they must outlive the map. They are
 * hashed under a secret of the process, so that no choice of names makes it slow. Thread: one at a
 * time. */
#ifndef HR_BASE_MAP_H
#define HR_BASE_MAP_H

#include "base/arena.h"

typedef struct hr_map_slot {
  hr_str_t key;
  void *value; /* NULL: the slot is empty */
  uint64_t hash;
} hr_map_slot_t;

typedef struct hr_map {
  hr_map_slot_t *slots;
  size_t capacity; /* a power of two, or 0 */
  size_t count;
} hr_map_t;

void hr_map_init(hr_map_t *map);
void hr_map_deinit(hr_map_t *map);
void *hr_map_get(const hr_map_t *map, hr_str_t key); /* NULL if absent */
/* `value` must not be NULL. Stores it unless the key is taken; *out_old (may be NULL) gets what was
 * there, or NULL. */
hr_status_t hr_map_put(hr_map_t *map, hr_str_t key, void *value, void **out_old);
void hr_map_clear(hr_map_t *map); /* keeps the capacity */

/* The same number in every process. Whoever chooses the bytes can choose the hash: equal hashes say
 * nothing. */
uint64_t hr_hash_bytes(const void *bytes, size_t size, uint64_t seed);

#endif
