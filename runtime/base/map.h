/* A hash map from byte strings to pointers. Keys are borrowed: they must outlive the map. Hashes
 * use a secret key of the process, so that no choice of names makes the map slow.
 * Thread: one at a time. */
#ifndef HR_BASE_MAP_H
#define HR_BASE_MAP_H

#include <pthread.h>

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
/* Stores `value`, which must not be NULL, unless the key is present; *out_old (may be NULL) gets
 * the present value, or NULL. */
hr_status_t hr_map_put(hr_map_t *map, hr_str_t key, void *value, void **out_old);
void hr_map_clear(hr_map_t *map); /* keeps the capacity */

/* A map of constants, which is filled at its first use and stays as long as the process. */
typedef struct hr_kept_map {
  hr_status_t (*fill)(hr_map_t *map);
  pthread_mutex_t lock;
  _Atomic bool is_full;
  hr_map_t map;
} hr_kept_map_t;

#define HR_KEPT_MAP(fill)                         \
  {                                               \
    fill, PTHREAD_MUTEX_INITIALIZER, false, { 0 } \
  }

/* Errors: those of `fill`; the next call tries again.
 * Thread: any number at a time, and may read the map so. */
hr_status_t hr_kept_map_get(hr_kept_map_t *kept, const hr_map_t **out_map);

/* A hash that is the same in every process. Not collision-resistant: equal hashes do not mean equal
 * bytes. */
uint64_t hr_hash_bytes(const void *bytes, size_t size, uint64_t seed);

#endif
