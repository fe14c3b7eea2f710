/* Results of a sort by keys (native_sort.c): decoded from the sorted keys, or permuted by their
 * indices. */
#ifndef HR_SORT_RESULTS_H
#define HR_SORT_RESULTS_H

#include "ops/kernels/sort/sort_plan.h"

enum { SORT_GRAIN = 1 << 13 /* least elements per worker */ };

/* The line being sorted, or several consecutive lines: contiguous operands and results, which may
 * be the same arrays. */
typedef struct sort_line {
  const native_sort_plan_t *plan;
  int64_t lines;         /* lines of plan->count elements each */
  int64_t count;         /* elements of all these lines */
  hr_workers_t *workers; /* all workers; NULL: the line belongs to one worker */
  const char *const *from;
  char *const *to;
  char *scratch;
  const sort_group_t *group; /* keys being encoded */
  void *items;               /* radix items, sorted after sort_line_items */
  const uint32_t *order;     /* sorted position to index in the lines */
  int operand;               /* operand being permuted */
  char *target;              /* destination of the operand being permuted */
  bool is_iota;              /* the operand's elements are 0, 1, 2, ... */
} sort_line_t;

/* Decodes all keys, then overwrites zeros and NaNs by the original elements, whose bits the keys
 * have lost. Few lines have any. */
void sort_decode_lines(sort_line_t *line);
/* Permutes the operands by the indices of the sorted items, which are overwritten. */
void sort_permute_operands(sort_line_t *line);

#endif
