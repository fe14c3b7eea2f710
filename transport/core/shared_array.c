/* Arrays that the members of a group access at one place in memory: member 0 allocates the memory
 * and announces its position in an all-gather of all members' proposals. */
#include <string.h>

#include "base/mem.h"
#include "transport/core/collective.h"
#include "transport/core/progress.h"
#include "transport/shm/shm_group.h"

typedef struct proposal {
  uint64_t key;
  uint64_t offset; /* member 0: offset of the memory; 0: none. Others: 0 */
} proposal_t;

struct tp_shared_array {
  tp_groups_t *groups;
  tp_shm_staging_t *stage; /* member 0; else NULL */
  char *memory;
};

/* Lack of memory is no failure: the members use other memory. */
static void allocate(tp_groups_t *groups, tp_shm_group_t *shared, size_t size_bytes,
                     tp_shm_staging_t **out_stage) {
  tp_progress_lock(groups);
  hr_status_t st = tp_shm_group_alloc(shared, size_bytes, out_stage);
  tp_progress_unlock(groups);
  if (st) *out_stage = NULL;
  hr_status_release(st);
}

static void release(tp_groups_t *groups, tp_shm_staging_t *stage) {
  tp_progress_lock(groups);
  if (stage) tp_shm_group_free(stage);
  tp_progress_unlock(groups);
}

static bool all_agree(const proposal_t *proposals, int count) {
  for (int k = 1; k < count; k++)
    if (proposals[k].key != proposals[0].key) return false;
  return proposals[0].offset != 0;
}

static hr_status_t gather_proposals(tp_group_t *group, const proposal_t *mine,
                                    proposal_t *out_all) {
  tp_request_t *request;
  HR_TRY(tp_all_gather(group, mine, sizeof *mine, out_all, &request));
  return tp_request_wait(request);
}

static hr_status_t agree(tp_group_t *group, uint64_t key, tp_shared_array_t *array,
                         bool *out_agrees) {
  tp_shm_group_t *shared = group->shm;
  proposal_t proposals[TP_SHM_MEMBERS], mine = {.key = key};
  if (array->stage) mine.offset = tp_shm_offset(shared->shm, array->stage->memory);
  HR_TRY(gather_proposals(group, &mine, proposals));
  *out_agrees = all_agree(proposals, group->size);
  if (*out_agrees) array->memory = tp_shm_at(shared->shm, proposals[0].offset);
  return NULL;
}

hr_status_t tp_shared_array_open(tp_group_t *group, size_t size_bytes, uint64_t key,
                                 tp_shared_array_t **out_array) {
  tp_shm_group_t *shared;
  void *memory;
  bool agrees = false;
  *out_array = NULL;
  tp_progress_lock(group->owner);
  hr_status_t st = tp_shm_group_of(group, &shared);
  tp_progress_unlock(group->owner);
  if (st || !shared) return st;
  HR_TRY(hr_alloc_zeroed(sizeof(tp_shared_array_t), &memory));
  tp_shared_array_t *array = memory;
  array->groups = group->owner;
  if (!group->my_index) allocate(group->owner, shared, size_bytes, &array->stage);
  st = agree(group, key, array, &agrees);
  if (st || !agrees)
    tp_shared_array_close(array);
  else
    *out_array = array;
  return st;
}

void *tp_shared_array_data(const tp_shared_array_t *array) { return array->memory; }

void tp_shared_array_close(tp_shared_array_t *array) {
  if (!array) return;
  release(array->groups, array->stage);
  hr_free(array);
}

bool tp_shares_world(const tp_groups_t *groups) {
  return groups->shm && groups->shm->local_size == groups->endpoint->world_size &&
         groups->endpoint->world_size <= TP_SHM_MEMBERS;
}
