/* Plan of the native sort: encodings and packing of a line's keys. Shared by planning (sort_plan.c)
 * and execution (native_sort.c). */
#ifndef HLO_OPS_SORT_PLAN_H
#define HLO_OPS_SORT_PLAN_H

#include "ops/kernels/native.h"
#include "ops/kernels/sort/radix_sort.h"
#include "ops/kernels/sort/sort_encode.h"

/* One key of the comparator. */
typedef struct sort_line_key {
  sort_encoding_t encoding;
  int operand;           /* operand whose elements are the keys; -1: computed by the body */
  const op_body_t *body; /* vectorised; two parameters per operand */
  int key_bytes;         /* size of a computed key */
} sort_line_key_t;

/* Keys packed into one integer: keys[first .. first + count - 1], the first the most
 * significant. */
typedef struct sort_group {
  int first, count;
} sort_group_t;

typedef struct native_sort_plan {
  int workers, operands;
  const int64_t *bytes; /* element size per operand */
  int64_t count;        /* elements per line */
  int64_t inner, outer; /* stride of a line's elements; groups of `inner` adjacent lines */
  int64_t block;        /* most adjacent lines that one worker sorts at a time */
  int64_t together;     /* lines that a network sorts at once; else 1 */
  bool shared_line;     /* all workers sort one line */
  bool stable;
  bool decodes;       /* single operand, decoded from its sorted keys */
  bool has_temporary; /* lines of an operand do not fit where items were */
  radix_kind_t kind;
  int key_count, group_count;
  sort_line_key_t keys[SORT_MAX_KEYS];
  sort_group_t groups[SORT_MAX_KEYS]; /* most significant first */
  /* Byte offsets in the scratch of a worker, or of all workers if the line is shared. */
  size_t items, spare, temporary, group_keys, ties, radix, lines, worker_bytes;
} native_sort_plan_t;

/* *out_plan is NULL if the comparator or the sizes are not supported. */
hr_status_t sort_plan_make(const op_native_target_t *target, const op_step_t *step,
                           const native_sort_plan_t **out_plan);

#endif
