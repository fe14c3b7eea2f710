/* Staging memory of transfers in shared memory, and arrays that all members of a group access in
 * place (shm_group.h). A piece is written by this process, and also by its peers if it is an array
 * of the group. It is reused once the step counts of all members show that nobody reads it any
 * more. */
#include "base/mem.h"
#include "transport/shm/shm_group.h"
#include "transport/shm/shm_heap.h"

static bool is_free(const tp_shm_staging_t *stage) {
  for (int k = 0; stage->group && k < stage->group->size; k++)
    if (!tp_shm_has_counted(stage->group, k, stage->until)) return false;
  return true;
}

static hr_status_t new_stage(tp_shm_t *shm, size_t size_bytes, tp_shm_staging_t **out_stage) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof **out_stage, &memory));
  tp_shm_staging_t *stage = memory;
  stage->memory = tp_shm_alloc(shm, size_bytes);
  if (!stage->memory) {
    hr_free(stage);
    return tp_shm_used_up(shm);
  }
  stage->size_bytes = size_bytes;
  stage->next = shm->staging;
  shm->staging = stage;
  *out_stage = stage;
  return NULL;
}

/* The smallest free piece that is large enough: the next transfer may need a larger one before
 * peers have read this one. */
static tp_shm_staging_t *find_stage(const tp_shm_t *shm, size_t size_bytes) {
  tp_shm_staging_t *best = NULL;
  for (tp_shm_staging_t *stage = shm->staging; stage; stage = stage->next)
    if (stage->size_bytes >= size_bytes && (!best || stage->size_bytes < best->size_bytes) &&
        is_free(stage))
      best = stage;
  return best;
}

hr_status_t tp_shm_stage(tp_shm_op_t *op, size_t size_bytes, char **out_memory) {
  tp_shm_t *shm = op->group->shm;
  tp_shm_staging_t *stage = find_stage(shm, size_bytes);
  if (!stage) HR_TRY(new_stage(shm, size_bytes, &stage));
  stage->group = op->group;
  stage->until = UINT64_MAX;
  op->stage = stage;
  tp_shm_slot(op, op->group->my_index)->staging_offset = tp_shm_offset(shm, stage->memory);
  *out_memory = stage->memory;
  return NULL;
}

/* Arrays may be large: free ones are released before a new one is allocated. */
static void drop_free(tp_shm_t *shm, size_t least_bytes) {
  for (tp_shm_staging_t **link = &shm->staging, *stage; (stage = *link);) {
    if (stage->size_bytes < least_bytes || !is_free(stage)) {
      link = &stage->next;
      continue;
    }
    *link = stage->next;
    tp_shm_free(shm, stage->memory);
    hr_free(stage);
  }
}

hr_status_t tp_shm_group_alloc(tp_shm_group_t *group, size_t size_bytes,
                               tp_shm_staging_t **out_stage) {
  tp_shm_t *shm = group->shm;
  tp_shm_staging_t *stage = find_stage(shm, size_bytes);
  if (!stage || stage->size_bytes / 2 > size_bytes) {
    drop_free(shm, size_bytes / 2);
    HR_TRY(new_stage(shm, size_bytes, &stage));
  }
  stage->group = group;
  stage->until = UINT64_MAX;
  *out_stage = stage;
  return NULL;
}

void tp_shm_group_free(tp_shm_staging_t *stage) { stage->until = stage->group->count + 1; }

void tp_shm_staging_destroy(struct tp_shm *shm) {
  for (tp_shm_staging_t *stage; (stage = shm->staging);) {
    shm->staging = stage->next;
    tp_shm_free(shm, stage->memory);
    hr_free(stage);
  }
}
