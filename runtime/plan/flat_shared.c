/* Results of all-gathers in memory shared by the processes of a machine: each process writes its
 * part there, and no process has a copy of its own.
 *
 *   steps        0    1     2    3    4    5     6
 *   g = gather   put  wait  use  use
 *   h = gather             put  .    .    wait  use        after step 5 g's place is free
 *
 * An offset may be reused when all members have read the array there. A member knows this once it
 * has waited for a later gather of the same group that all members begin after their last use: g's
 * offset is reserved up to that step. Without such a gather it is reserved to the end of the
 * program. Executions use two arrays alternately, so an execution writes the array that the
 * execution before the previous one has read. Therefore only steps that every execution runs are
 * considered, no loops and branches. Only the gather may write the array. Cost: steps times
 * gathers. */
#include "base/log.h"
#include "base/map.h"
#include "ops/query/replica_groups.h"
#include "plan/flat_build.h"

#define MIN_BYTES (32 << 10) /* smaller arrays are copied as fast */

/* A gather with a shared result. */
typedef struct gather {
  int begin, done; /* steps that write the gather's parts and wait for all parts */
  int group;       /* number of its flat_shared_t */
} gather_t;

typedef struct gather_list {
  gather_t *gathers; /* in the order of `begin` */
  int count;
} gather_list_t;

static int root_of(const flat_builder_t *builder, flat_ref_t ref) {
  return ref.buffer < 0 ? -1 : flat_root(builder->flat->buffers, ref.buffer);
}

static bool is_gather(const flat_step_t *step) {
  if (step->kind != FLAT_REFERENCE || !step->reference.has_out_buffers) return false;
  hlo_opcode_t op = step->source->op.instr->op;
  return op == HLO_ALL_GATHER || op == HLO_ALL_GATHER_START;
}

static int find_done(const flat_builder_t *builder, int begin) {
  const hlo_instr_t *start = builder->steps.data[begin].reference.begins;
  int s = begin;
  while (start && builder->steps.data[s].reference.ends != start) s++;
  return s;
}

static bool writes(const flat_builder_t *builder, const flat_step_t *step, int buffer) {
  for (int i = 0; i < step->out_count; i++)
    if (root_of(builder, step->out[i]) == buffer) return true;
  return false;
}

static bool is_written_elsewhere(const flat_builder_t *builder, const gather_t *gather,
                                 int buffer) {
  for (int s = 0; s < flat_now(builder); s++)
    if (s != gather->begin && s != gather->done && !builder->steps.data[s].copy.is_removed &&
        writes(builder, &builder->steps.data[s], buffer))
      return true;
  return false;
}

static bool can_share(const flat_builder_t *builder, const gather_t *gather, flat_ref_t out) {
  int root = root_of(builder, out);
  if (root < 0 || out.offset_bytes) return false;
  const flat_buffer_t *buffer = &builder->flat->buffers[root];
  return buffer->storage == FLAT_ARENA && !buffer->is_carried && !buffer->is_unused &&
         buffer->size_bytes >= MIN_BYTES && !is_written_elsewhere(builder, gather, root);
}

static bool same_members(const hlo_instr_t *a, const hlo_instr_t *b) {
  return op_replica_group_mode(a) == op_replica_group_mode(b) &&
         op_groups_equal(hlo_attr_groups(a), hlo_attr_groups(b));
}

/* Number of the gather's group; a new group gets the next number. */
static int find_group(const flat_plan_t *flat, const hlo_instr_t *gather) {
  int group = 0;
  while (group < flat->shared_count && !same_members(flat->shared[group].gather, gather)) group++;
  return group;
}

/* Adds the gather to the key: plans of one program may share results of other gathers at the same
 * offsets. */
static void add_to_key(flat_shared_t *shared, const hlo_instr_t *gather, int result) {
  shared->key = hr_hash_bytes(gather->name.data, gather->name.size, shared->key);
  shared->key = hr_hash_bytes(&result, sizeof result, shared->key);
}

static void share_results(flat_builder_t *builder, int step, gather_list_t *list) {
  flat_plan_t *flat = builder->flat;
  const flat_step_t *begin = &builder->steps.data[step];
  gather_t gather = {.begin = step,
                     .done = find_done(builder, step),
                     .group = find_group(flat, begin->source->op.instr)};
  bool shares = false;
  for (int i = 0; i < begin->out_count && i < 64; i++) {
    if (!can_share(builder, &gather, begin->out[i])) continue;
    flat_buffer_t *buffer = &flat->buffers[root_of(builder, begin->out[i])];
    buffer->storage = FLAT_SHARED;
    buffer->index = gather.group;
    add_to_key(&flat->shared[gather.group], begin->source->op.instr, i);
    shares = true;
  }
  if (!shares) return;
  list->gathers[list->count++] = gather;
  flat->shared[gather.group].gather = begin->source->op.instr;
  if (gather.group == flat->shared_count) flat->shared_count++;
}

/* The step after which memory that is read until `end` may be reused by all members. */
static int free_after(const flat_builder_t *builder, const gather_list_t *list, int group,
                      int end) {
  for (int i = 0; i < list->count; i++)
    if (list->gathers[i].group == group && list->gathers[i].begin > end)
      return list->gathers[i].done;
  return flat_now(builder);
}

static hr_status_t assign_places(flat_builder_t *builder, const gather_list_t *list, int group) {
  flat_plan_t *flat = builder->flat;
  flat_shared_t *shared = &flat->shared[group];
  flat_item_t *items;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, flat->buffer_count, &items));
  for (int b = 0; b < flat->buffer_count; b++) {
    const flat_buffer_t *buffer = &flat->buffers[b];
    if (buffer->storage == FLAT_SHARED && buffer->index == group && buffer->coalesced_into < 0)
      items[count++] = (flat_item_t){buffer->size_bytes, 0, buffer->start,
                                     free_after(builder, list, group, buffer->end)};
  }
  HR_TRY(flat_assign_offsets(&builder->scratch, items, count, flat_now(builder) + 1,
                             &shared->size_bytes));
  shared->key = hr_hash_bytes(&shared->size_bytes, sizeof shared->size_bytes, shared->key);
  count = 0;
  for (int b = 0; b < flat->buffer_count; b++) {
    flat_buffer_t *buffer = &flat->buffers[b];
    if (buffer->storage != FLAT_SHARED || buffer->index != group || buffer->coalesced_into >= 0)
      continue;
    buffer->offset_bytes = items[count++].offset_bytes;
    shared->key = hr_hash_bytes(&buffer->offset_bytes, sizeof buffer->offset_bytes, shared->key);
  }
  hr_log(HR_LOG_PLAN, HR_LOG_DEBUG, "%d gathered arrays are shared, in %zu bytes twice", count,
         shared->size_bytes);
  return NULL;
}

/* The next step outside loops and branches: skips to their `end`. */
static int next_step(const flat_builder_t *builder, int step) {
  int end = builder->steps.data[step].end;
  return end > step ? end : step + 1;
}

hr_status_t flat_share_gathers(flat_builder_t *builder) {
  int count = 0, steps = flat_now(builder);
  gather_list_t list = {0};
  if (!builder->options->shares_gathers) return NULL;
  for (int s = 0; s < steps; s = next_step(builder, s)) count += is_gather(&builder->steps.data[s]);
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, count, &list.gathers));
  HR_TRY(HR_NEW_ARRAY(builder->arena, count, &builder->flat->shared));
  for (int s = 0; s < steps; s = next_step(builder, s))
    if (is_gather(&builder->steps.data[s])) share_results(builder, s, &list);
  for (int g = 0; g < builder->flat->shared_count; g++) HR_TRY(assign_places(builder, &list, g));
  return NULL;
}

uint64_t flat_shared_key(const flat_plan_t *flat) {
  uint64_t key = 0;
  for (int g = 0; g < flat->shared_count; g++)
    key = hr_hash_bytes(&flat->shared[g].key, sizeof flat->shared[g].key, key);
  return key;
}
