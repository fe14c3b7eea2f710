/* A hash table of pointers that grows with its items, as most graphs are small and programs have
 * many. The caller compares items of equal hashes.
 * Owner: the arena; memory of smaller tables stays in it. */
#ifndef JIT_EXPR_TABLE_H
#define JIT_EXPR_TABLE_H

#include <stdint.h>

#include "base/arena.h"

#define JIT_TABLE_LEAST 16 /* least number of places */

typedef struct jit_table_place {
  void *item; /* NULL: free */
  uint32_t hash;
} jit_table_place_t;

typedef struct jit_table {
  jit_table_place_t *places;
  uint32_t capacity, count; /* capacity: 0 or a power of two; at most half of it is in use */
} jit_table_t;

/* The next item of this hash; NULL: there is no other one. *at begins as the hash. */
static inline void *jit_table_next(const jit_table_t *table, uint32_t hash, uint32_t *at) {
  while (table->capacity) {
    const jit_table_place_t *place = &table->places[(*at)++ & (table->capacity - 1)];
    if (!place->item || place->hash == hash) return place->item;
  }
  return NULL;
}

static inline void jit_table_put(jit_table_t *table, jit_table_place_t place) {
  uint32_t at = place.hash;
  while (table->places[at & (table->capacity - 1)].item) at++;
  table->places[at & (table->capacity - 1)] = place;
}

static inline hr_status_t jit_table_grow(jit_table_t *table, hr_arena_t *arena) {
  jit_table_t grown = {.capacity = table->capacity ? 2 * table->capacity : JIT_TABLE_LEAST,
                       .count = table->count};
  HR_TRY(HR_NEW_ARRAY(arena, grown.capacity, &grown.places));
  for (uint32_t i = 0; i < table->capacity; i++)
    if (table->places[i].item) jit_table_put(&grown, table->places[i]);
  *table = grown;
  return NULL;
}

static inline hr_status_t jit_table_add(jit_table_t *table, hr_arena_t *arena, uint32_t hash,
                                        void *item) {
  if (2 * (table->count + 1) > table->capacity) HR_TRY(jit_table_grow(table, arena));
  jit_table_put(table, (jit_table_place_t){item, hash});
  table->count++;
  return NULL;
}

#endif
