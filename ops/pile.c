#include "ops/pile.h"

#include <string.h>

#include "ops/loops.h"

static hr_status_t make_level(pile_t *pile, int j) {
  if (pile->level[j]) return NULL;
  size_t bytes;
  void *memory;
  HR_TRY(hr_size_product((size_t)pile->max_lanes, pile->element_bytes, &bytes));
  HR_TRY(hr_arena_alloc(pile->arena, bytes, &memory));
  pile->level[j] = memory;
  return NULL;
}

hr_status_t pile_init(pile_t *pile, hr_arena_t *arena, const ew_kernel_t *kernel, int64_t max_lanes,
                      size_t element_bytes) {
  *pile = (pile_t){.kernel = kernel, .arena = arena, .max_lanes = max_lanes, .element_bytes = element_bytes};
  return make_level(pile, 0);
}

void pile_clear(pile_t *pile, int64_t lanes) {
  pile->lanes = lanes;
  pile->block_rows = 0;
  memset(pile->full, 0, sizeof pile->full);
}

/* level 0 = level j + level 0 */
static void merge_level(pile_t *pile, int j) {
  const void *ins[] = {pile->level[j], pile->level[0]};
  ew_kernel_run(pile->kernel, pile->lanes, ins, (int64_t[]){1, 1}, pile->level[0]);
  pile->full[j] = false;
}

/* Moves the block under way up to the first free level, with all that is below it. */
static hr_status_t carry_block(pile_t *pile) {
  int j = 1;
  for (; pile->full[j]; j++) merge_level(pile, j);
  HR_TRY(make_level(pile, j));
  char *free_level = pile->level[j];
  pile->level[j] = pile->level[0];
  pile->level[0] = free_level;
  pile->full[j] = true;
  pile->block_rows = 0;
  return NULL;
}

hr_status_t pile_add(pile_t *pile, const void *row, int64_t count, int64_t step) {
  if (pile->block_rows >= PILE_BLOCK && count == pile->lanes) HR_TRY(carry_block(pile));
  if (pile->block_rows++ == 0) {
    int64_t bytes = (int64_t)pile->element_bytes;
    loop_copy_row(pile->level[0], row, count, bytes, step * bytes, (int)bytes);
  } else {
    const void *ins[] = {pile->level[0], row};
    ew_kernel_run(pile->kernel, count, ins, (int64_t[]){1, step}, pile->level[0]);
  }
  return NULL;
}

void *pile_total(pile_t *pile) {
  for (int j = 1; j < PILE_LEVELS; j++)
    if (pile->full[j]) merge_level(pile, j);
  return pile->level[0];
}

void pile_fold_lanes(pile_t *pile) {
  for (int64_t lanes = pile->lanes; lanes > 1;) {
    int64_t kept = (lanes + 1) / 2;
    const void *ins[] = {pile->level[0], pile->level[0] + kept * (int64_t)pile->element_bytes};
    ew_kernel_run(pile->kernel, lanes - kept, ins, (int64_t[]){1, 1}, pile->level[0]);
    lanes = kept;
  }
}
