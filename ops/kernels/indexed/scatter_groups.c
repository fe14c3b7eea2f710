/* Groups of small windows, for bodies without a loop of their own: a call of the body takes longer
 * than the few elements of a window. Windows are collected until one comes that is in the group
 * already; accumulators and updates are copied to dense rows, the body runs once, and its results
 * are copied back. An element has its updates in index order, as windows of a group do not overlap.
 */
#include "ops/kernels/indexed/scatter_groups.h"

#include <string.h>

#include "base/arith.h"

#define MAX_ELEMENTS 64 /* most elements of a window */
#define MIN_WINDOWS 16  /* fewer windows take less time than the table */

void scatter_combine(const accumulate_plan_t *body, int64_t count, const void *const *ins,
                     const int64_t *steps, void *const *outs) {
  if (body->kernel)
    ew_kernel_run(body->kernel, count, ins, steps, outs[0]);
  else
    hr_status_release(
        op_body_run(NULL, body->body, count, ins, steps, outs)); /* in lanes: cannot fail */
}

/* Accumulators of one window, and its updates. */
static int64_t window_bytes(const native_scatter_plan_t *plan) {
  int64_t bytes = 0;
  for (int k = 0; k < plan->body.count; k++) bytes += 2 * (int64_t)plan->body.bytes[k];
  return bytes * plan->window_elements;
}

bool scatter_groups_suit(const native_scatter_plan_t *plan) {
  const loop_nest_t *window = &plan->window;
  bool is_dense =
      plan->window_elements == 1 || (window->row_strides[0] == 1 && window->row_strides[1] == 1);
  return plan->offsets.count >= MIN_WINDOWS && !plan->overwrite && !plan->has_row_loop &&
         plan->split != SPLIT_COLUMNS && !window->empty && !window->rank && is_dense &&
         plan->are_disjoint && 2 * window_bytes(plan) <= SCATTER_GROUP_BYTES &&
         plan->window_elements <= MAX_ELEMENTS;
}

void scatter_group_init(const native_scatter_plan_t *plan, char *const *to, char *const *from,
                        scatter_group_t *group) {
  group->plan = plan;
  group->to = to;
  group->from = from;
  group->count = 0;
  group->most = hr_min(SCATTER_GROUP_WINDOWS, SCATTER_GROUP_BYTES / window_bytes(plan));
  group->stamp = 1;
  memset(group->marks, 0, sizeof group->marks);
}

/* Copies `count` windows of `bytes` bytes, at offsets of units, to dense rows, or these back to the
 * windows. Both sizes are constants at most calls. */
static inline __attribute__((always_inline)) void move_rows(size_t bytes, size_t unit, bool is_back,
                                                            int64_t count, char *array,
                                                            const int64_t *at, char *rows) {
  for (int64_t i = 0; i < count; i++) {
    char *window = array + (size_t)at[i] * unit, *row = rows + (size_t)i * bytes;
    if (is_back)
      memcpy(window, row, bytes);
    else
      memcpy(row, window, bytes);
  }
}

static inline __attribute__((always_inline)) void move_windows(int64_t elements, size_t unit,
                                                               bool is_back, int64_t count,
                                                               char *array, const int64_t *at,
                                                               char *rows) {
  switch (elements == 1 ? unit : 0) {
    case 1:
      move_rows(1, 1, is_back, count, array, at, rows);
      break;
    case 2:
      move_rows(2, 2, is_back, count, array, at, rows);
      break;
    case 4:
      move_rows(4, 4, is_back, count, array, at, rows);
      break;
    case 8:
      move_rows(8, 8, is_back, count, array, at, rows);
      break;
    default:
      move_rows((size_t)elements * unit, unit, is_back, count, array, at, rows);
  }
}

void scatter_group_flush(scatter_group_t *group) {
  const accumulate_plan_t *body = &group->plan->body;
  int64_t elements = group->plan->window_elements, steps[2 * SCATTER_ARRAYS_MAX];
  char rows[SCATTER_GROUP_BYTES] __attribute__((aligned(64))), *next = rows;
  const void *ins[2 * SCATTER_ARRAYS_MAX];
  void *outs[SCATTER_ARRAYS_MAX];
  if (!group->count) return;
  for (int k = 0; k < body->count; k++) {
    int64_t row_bytes = group->most * elements * (int64_t)body->bytes[k];
    char *accumulators = next, *updates = next + row_bytes;
    next += 2 * row_bytes;
    move_windows(elements, body->bytes[k], false, group->count, group->to[k], group->to_at,
                 accumulators);
    move_windows(elements, body->bytes[k], false, group->count, group->from[k], group->from_at,
                 updates);
    outs[k] = accumulators;
    ins[k] = accumulators;
    ins[body->count + k] = updates;
    steps[k] = 1;
    steps[body->count + k] = 1;
  }
  scatter_combine(body, group->count * elements, ins, steps, outs);
  for (int k = 0; k < body->count; k++)
    move_windows(elements, body->bytes[k], true, group->count, group->to[k], group->to_at, outs[k]);
  group->count = 0;
  if (++group->stamp == 0) scatter_group_init(group->plan, group->to, group->from, group);
}
