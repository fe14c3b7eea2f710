/* Scatter of small windows with a body of any ops: windows that differ are combined together. */
#ifndef HR_SCATTER_GROUPS_H
#define HR_SCATTER_GROUPS_H

#include "ops/kernels/indexed/native_scatter.h"

enum {
  SCATTER_GROUP_WINDOWS = 256,   /* most windows of a group */
  SCATTER_GROUP_BYTES = 1 << 14, /* most bytes of their accumulators and updates */
  SCATTER_GROUP_MARKS = 2048     /* entries of the table of its windows; a power of two */
};

/* outs[k][i] = body(ins...)[k]; outs may be the first ins. The body is flat. */
void scatter_combine(const accumulate_plan_t *body, int64_t count, const void *const *ins,
                     const int64_t *steps, void *const *outs);

/* An entry of the table: a window of the group if `stamp` is the group's. */
typedef struct scatter_mark {
  uint16_t stamp, window;
} scatter_mark_t;

/* Windows, one dense row each, that do not overlap, and a hash table of their offsets. */
typedef struct scatter_group {
  const native_scatter_plan_t *plan;
  char *const *to;
  char *const *from;
  int64_t count, most; /* windows, and most of them */
  int64_t to_at[SCATTER_GROUP_WINDOWS], from_at[SCATTER_GROUP_WINDOWS];
  uint16_t stamp;
  scatter_mark_t marks[SCATTER_GROUP_MARKS];
} scatter_group_t;

/* Can windows of the plan be combined in groups? All fields but `by_groups` are set. */
bool scatter_groups_suit(const native_scatter_plan_t *plan);
void scatter_group_init(const native_scatter_plan_t *plan, char *const *to, char *const *from,
                        scatter_group_t *group);
/* Combines the windows of the group, which is empty then. */
void scatter_group_flush(scatter_group_t *group);

/* Adds a window. The group is combined before, if the window is in it or it is full. */
static inline void scatter_group_add(scatter_group_t *group, int64_t to, int64_t from) {
  uint64_t hash = (uint64_t)to * 0x9e3779b97f4a7c15u >> 32;
  scatter_mark_t *mark = &group->marks[hash % SCATTER_GROUP_MARKS];
  if (group->count == group->most) scatter_group_flush(group);
  while (mark->stamp == group->stamp) {
    if (group->to_at[mark->window] == to)
      scatter_group_flush(group);
    else
      mark = &group->marks[++hash % SCATTER_GROUP_MARKS];
  }
  *mark = (scatter_mark_t){group->stamp, (uint16_t)group->count};
  group->to_at[group->count] = to;
  group->from_at[group->count++] = from;
}

#endif
