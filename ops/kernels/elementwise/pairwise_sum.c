/* Level j > 0 holds the sum of 2^(j-1) blocks. When a block of PAIRWISE_SUM_BLOCK rows is complete
 * it is carried: added to full levels from 1 upwards, and stored in the first empty one, exactly as
 * a binary counter is incremented. Levels swap buffers instead of copying. */
#include "ops/kernels/elementwise/pairwise_sum.h"

#include <string.h>

#include "ops/kernels/common/strided_loops.h"

static hr_status_t allocate_level(pairwise_sum_t *pairwise_sum, int j) {
  if (pairwise_sum->level[j]) return NULL;
  size_t bytes;
  void *memory;
  HR_TRY(hr_size_product((size_t)pairwise_sum->max_lanes, pairwise_sum->element_bytes, &bytes));
  HR_TRY(hr_arena_alloc(pairwise_sum->arena, bytes, &memory));
  pairwise_sum->level[j] = memory;
  return NULL;
}

hr_status_t pairwise_sum_init(pairwise_sum_t *pairwise_sum, hr_arena_t *arena,
                              const ew_kernel_t *kernel, int64_t max_lanes, size_t element_bytes) {
  *pairwise_sum = (pairwise_sum_t){
      .kernel = kernel, .arena = arena, .max_lanes = max_lanes, .element_bytes = element_bytes};
  return allocate_level(pairwise_sum, 0);
}

void pairwise_sum_clear(pairwise_sum_t *pairwise_sum, int64_t lanes) {
  pairwise_sum->lanes = lanes;
  pairwise_sum->block_rows = 0;
  memset(pairwise_sum->full, 0, sizeof pairwise_sum->full);
}

/* level 0 = level j + level 0 */
static void merge_level(pairwise_sum_t *pairwise_sum, int j) {
  const void *ins[] = {pairwise_sum->level[j], pairwise_sum->level[0]};
  ew_kernel_run(pairwise_sum->kernel, pairwise_sum->lanes, ins, (int64_t[]){1, 1},
                pairwise_sum->level[0]);
  pairwise_sum->full[j] = false;
}

/* Carries the completed block to the first empty level. */
static hr_status_t carry_block(pairwise_sum_t *pairwise_sum) {
  int j = 1;
  for (; pairwise_sum->full[j]; j++) merge_level(pairwise_sum, j);
  HR_TRY(allocate_level(pairwise_sum, j));
  char *free_level = pairwise_sum->level[j];
  pairwise_sum->level[j] = pairwise_sum->level[0];
  pairwise_sum->level[0] = free_level;
  pairwise_sum->full[j] = true;
  pairwise_sum->block_rows = 0;
  return NULL;
}

hr_status_t pairwise_sum_add(pairwise_sum_t *pairwise_sum, const void *row, int64_t count,
                             int64_t stride) {
  if (pairwise_sum->block_rows >= PAIRWISE_SUM_BLOCK && count == pairwise_sum->lanes)
    HR_TRY(carry_block(pairwise_sum));
  if (pairwise_sum->block_rows++ == 0) {
    int64_t bytes = (int64_t)pairwise_sum->element_bytes;
    loop_copy_row(pairwise_sum->level[0], row, count, bytes, stride * bytes, (int)bytes);
  } else {
    const void *ins[] = {pairwise_sum->level[0], row};
    ew_kernel_run(pairwise_sum->kernel, count, ins, (int64_t[]){1, stride}, pairwise_sum->level[0]);
  }
  return NULL;
}

void *pairwise_sum_total(pairwise_sum_t *pairwise_sum) {
  for (int j = 1; j < PAIRWISE_SUM_LEVELS; j++)
    if (pairwise_sum->full[j]) merge_level(pairwise_sum, j);
  return pairwise_sum->level[0];
}

void pairwise_sum_fold_lanes(pairwise_sum_t *pairwise_sum) {
  for (int64_t lanes = pairwise_sum->lanes; lanes > 1;) {
    int64_t half = (lanes + 1) / 2;
    const void *ins[] = {pairwise_sum->level[0],
                         pairwise_sum->level[0] + half * (int64_t)pairwise_sum->element_bytes};
    ew_kernel_run(pairwise_sum->kernel, lanes - half, ins, (int64_t[]){1, 1},
                  pairwise_sum->level[0]);
    lanes = half;
  }
}
