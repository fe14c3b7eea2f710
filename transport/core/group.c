/* Groups of an endpoint, found by their ranks and stream, and the opening of their shared state:
 * world, shared memory, tuning table. Rank lists are copied once; a look-up allocates nothing. */
#include "transport/core/group.h"

#include <string.h>

#include "base/mem.h"
#include "transport/core/coll_tune_table.h"
#include "transport/core/progress.h"
#include "transport/core/request.h"
#include "transport/shm/shm_p2p.h"

typedef struct group_key {
  int64_t stream;
  int ranks[];
} group_key_t;

/* A hash of the list, so that all ranks get the same tags whatever groups they have made before.
 * Lists with equal hashes share tags, which is harmless as long as two ranks start their common
 * transfers in the same order, as programs must anyway. */
static uint32_t tag_base_of(int size, const int *ranks, int64_t stream) {
  uint64_t hash = hr_hash_bytes(ranks, (size_t)size * sizeof *ranks, 1 + (uint64_t)stream);
  return TP_TAG_CLASS_GROUP | (uint32_t)(hash >> 7) % (1u << TP_TAG_GROUP_BITS)
                                  << TP_TAG_COUNT_BITS;
}

static hr_status_t check_ranks(tp_groups_t *groups, int size, const int *ranks) {
  int world_size = groups->endpoint->world_size;
  void *memory;
  HR_TRY(hr_alloc_zeroed((size_t)world_size, &memory));
  bool *seen = memory;
  hr_status_t st = NULL;
  for (int i = 0; i < size && !st; i++) {
    if (ranks[i] < 0 || ranks[i] >= world_size)
      st = hr_error(HR_INVALID, "process group lists rank %d, want ranks below %d", ranks[i],
                    world_size);
    else if (seen[ranks[i]])
      st = hr_error(HR_INVALID, "process group lists rank %d twice", ranks[i]);
    else
      seen[ranks[i]] = true;
  }
  hr_free(memory);
  return st;
}

/* The bytes of a key of the map. */
static hr_str_t key_of(const group_key_t *key, int size) {
  return (hr_str_t){(const char *)key, sizeof *key + (size_t)size * sizeof *key->ranks};
}

static hr_status_t make_group(tp_groups_t *groups, int size, const int *ranks, int64_t stream,
                              tp_group_t **out_group) {
  HR_TRY(check_ranks(groups, size, ranks));
  void *copy;
  HR_TRY(hr_arena_alloc(&groups->arena, sizeof(group_key_t) + (size_t)size * sizeof *ranks, &copy));
  group_key_t *key = copy;
  key->stream = stream;
  memcpy(key->ranks, ranks, (size_t)size * sizeof *ranks);
  tp_group_t *group;
  HR_TRY(HR_NEW(&groups->arena, &group));
  *group = (tp_group_t){.owner = groups,
                        .size = size,
                        .my_index = -1,
                        .stream = stream,
                        .ranks = key->ranks,
                        .tag_base = tag_base_of(size, ranks, stream)};
  for (int i = 0; i < size; i++)
    if (ranks[i] == groups->endpoint->rank) group->my_index = i;
  HR_TRY(hr_map_put(&groups->by_ranks, key_of(key, size), group, NULL));
  *out_group = group;
  return NULL;
}

hr_status_t tp_group_get(tp_groups_t *groups, int size, const int *ranks, int64_t stream,
                         tp_group_t **out_group) {
  hr_assert(size > 0);
  HR_TRY(tp_space_reserve(&groups->key, 1, sizeof(group_key_t) + (size_t)size * sizeof *ranks));
  group_key_t *key = (group_key_t *)groups->key.data;
  key->stream = stream;
  memcpy(key->ranks, ranks, (size_t)size * sizeof *ranks);
  tp_group_t *found = hr_map_get(&groups->by_ranks, key_of(key, size));
  if (!found) return make_group(groups, size, ranks, stream, out_group);
  *out_group = found;
  return NULL;
}

static void free_groups(tp_groups_t *groups) {
  if (!groups) return;
  tp_requests_deinit(groups);
  hr_map_deinit(&groups->by_ranks);
  hr_map_deinit(&groups->pipes);
  tp_shm_p2p_close(groups->p2p);
  tp_shm_close(groups->shm);
  tp_tuning_destroy(groups->tuning);
  hr_free(groups->key.data);
  hr_arena_deinit(&groups->arena);
  hr_free(groups);
}

static hr_status_t make_world(tp_groups_t *groups) {
  int *ranks, size = groups->endpoint->world_size;
  HR_TRY(HR_NEW_ARRAY(&groups->arena, size, &ranks));
  for (int r = 0; r < size; r++) ranks[r] = r;
  return tp_group_get(groups, size, ranks, 0, &groups->world);
}

hr_status_t tp_groups_of(tp_endpoint_t *endpoint, tp_groups_t **out_groups) {
  *out_groups = endpoint->groups;
  if (endpoint->groups) return NULL;
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(tp_groups_t), &memory));
  tp_groups_t *groups = memory;
  groups->endpoint = endpoint;
  hr_map_init(&groups->by_ranks);
  hr_map_init(&groups->pipes);
  hr_arena_init(&groups->arena);
  hr_status_t st = make_world(groups);
  tp_algorithms_from_environment(groups);
  if (!st && endpoint->shares_memory && endpoint->world_size > 1)
    st = tp_shm_open(groups, &groups->shm);
  if (!st && groups->shm && !endpoint->memory)
    st = tp_shm_p2p_open(groups->shm, endpoint, endpoint, &groups->p2p);
  if (!st && endpoint->shares_memory && endpoint->world_size > 1) st = tp_tuning_load(groups);
  if (st)
    free_groups(groups);
  else
    *out_groups = endpoint->groups = groups;
  return st;
}

void tp_groups_check_messages(tp_groups_t *groups) { groups->checks_messages = true; }

void tp_close(tp_endpoint_t *endpoint, bool failed, int exit_code) {
  if (!endpoint) return;
  endpoint->exit_code = exit_code;
  if (endpoint->groups) tp_progress_end(endpoint->groups);
  free_groups(endpoint->groups);
  endpoint->groups = NULL;
  endpoint->vtable->close(endpoint, failed);
}
