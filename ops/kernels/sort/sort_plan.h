/* How the native sort makes numbers of the elements of a line: shared by planning (sort_plan.c) and
 * running (native_sort.c). */
#ifndef HLO_OPS_SORT_PLAN_H
#define HLO_OPS_SORT_PLAN_H

#include "ops/kernels/native.h"
#include "ops/kernels/sort/radix_sort.h"
#include "ops/kernels/sort/sort_encode.h"

/* One key of the comparator. */
typedef struct sort_line_key {
  sort_encoding_t encoding;
  int operand;           /* that it is an element of; -1: computed by the body */
  const op_body_t *body; /* in lanes, of two parameters per operand */
  int key_bytes;         /* of what the body gives */
} sort_line_key_t;

/* Keys that are sorted by together, as one integer: keys[first .. first + count - 1], the first the
 * most significant.
 */
typedef struct sort_group {
  int first, count;
} sort_group_t;

typedef struct native_sort_plan {
  int workers, operands;
  const int64_t *bytes; /* of an element, per operand */
  int64_t count, inner,
      outer;     /* elements of a line, their distance, and groups of `inner` lines side by side */
  int64_t block; /* lines that are copied side by side if inner > 1, else 1 */
  bool together; /* all workers at one line */
  bool stable;
  bool decodes; /* one operand, made again out of its key */
  radix_kind_t kind;
  int key_count, group_count;
  sort_line_key_t keys[SORT_MAX_KEYS];
  sort_group_t groups[SORT_MAX_KEYS]; /* most significant first */
  /* Scratch of one worker (or of all, if they work together), in bytes from its start. */
  size_t items, spare, temporary, group_keys, ties, radix, lines, worker_bytes;
} native_sort_plan_t;

/* NULL if the comparator or the sizes are none for it. */
hr_status_t sort_plan_make(const op_native_target_t *target, const op_step_t *step,
                           const native_sort_plan_t **out_plan);

#endif
