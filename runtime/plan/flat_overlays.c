/* Overlays: long-lived arrays are stored in the memory of results that are computed later, their
 * hosts. A training step thus keeps the values for its backward pass in the memory of the new
 * weights.
 *
 *   steps       0 . . . . . . . . . . . . n
 *   result        [ a ][  b     ]  [ result ]      a, b and c: overlays
 *                 [   c         ]
 *
 * Only arrays that live for some steps are moved: short-lived ones share arena addresses that are
 * in the caches, while fresh memory is not. Scratch memory stays in the arena, whose address is
 * fixed, and so do all arrays of programs with reference steps, including transfers. If a result
 * takes the bytes of a donated argument, the engine provides separate memory for its overlays. The
 * largest hosts come first, and each takes the largest arrays first, at the lowest offset that is
 * free for as long as they live. Cost: pairs of hosts and arrays, at most MAX_PAIRS, times the
 * overlays of a host. */
#include <stdlib.h>

#include "base/arith.h"
#include "base/log.h"
#include "plan/flat_build.h"

#define MIN_BYTES (64 << 10)  /* least size of a host and of an overlay */
#define MIN_STEPS 8           /* least lifetime of an overlay, in steps */
#define LARGE_BYTES (4 << 20) /* size from which an overlay may live shorter: no cache keeps it */
#define MAX_PAIRS 1000000

/* Buffers of one kind, by number. */
typedef struct buffer_list {
  int *numbers, count;
} buffer_list_t;

/* The overlays of one result, by offset. */
typedef struct host {
  const flat_buffer_t *result;
  const flat_buffer_t **overlays;
  int count;
} host_t;

/* May the program have overlays: do all its steps get their addresses by relocation? Marks scratch
 * memory, which does not. */
static bool may_overlay(const flat_builder_t *builder, bool *is_scratch) {
  for (int s = 0; s < flat_now(builder); s++) {
    const flat_step_t *step = &builder->steps.data[s];
    if (step->kind == FLAT_REFERENCE) return false;
    if (step->scratch.buffer >= 0)
      is_scratch[flat_root(builder->flat->buffers, step->scratch.buffer)] = true;
  }
  return true;
}

static bool is_host(const flat_buffer_t *buffer) {
  return buffer->storage == FLAT_RESULT && buffer->coalesced_into < 0 &&
         buffer->size_bytes >= MIN_BYTES && buffer->start >= MIN_STEPS;
}

static bool is_candidate(const flat_buffer_t *buffer) {
  return buffer->storage == FLAT_ARENA && buffer->coalesced_into < 0 &&
         buffer->size_bytes >= MIN_BYTES &&
         (buffer->end - buffer->start >= MIN_STEPS || buffer->size_bytes >= LARGE_BYTES);
}

/* Larger ones first, then by number. */
static int by_size(const void *a, const void *b, void *context) {
  const flat_buffer_t *buffers = context;
  int x = *(const int *)a, y = *(const int *)b;
  if (buffers[x].size_bytes != buffers[y].size_bytes)
    return buffers[x].size_bytes < buffers[y].size_bytes ? 1 : -1;
  return x < y ? -1 : 1;
}

static hr_status_t list_buffers(flat_builder_t *builder, bool (*is_wanted)(const flat_buffer_t *),
                                const bool *is_excluded, buffer_list_t *out_list) {
  const flat_plan_t *flat = builder->flat;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, flat->buffer_count, &out_list->numbers));
  for (int b = 0; b < flat->buffer_count; b++)
    if (is_wanted(&flat->buffers[b]) && !is_excluded[b]) out_list->numbers[out_list->count++] = b;
  qsort_r(out_list->numbers, (size_t)out_list->count, sizeof(int), by_size, flat->buffers);
  return NULL;
}

/* The lowest offset free during the lifetime of `buffer`, and the number of overlays before it. */
static bool find_gap(const host_t *host, const flat_buffer_t *buffer, size_t *out_offset,
                     int *out_place) {
  size_t at = 0;
  *out_place = 0;
  for (int i = 0; i < host->count; i++) {
    const flat_buffer_t *overlay = host->overlays[i];
    if (overlay->start > buffer->end || buffer->start > overlay->end) continue;
    if (overlay->offset_bytes >= at + buffer->size_bytes) break;
    int64_t end = hr_round_up((int64_t)(overlay->offset_bytes + overlay->size_bytes), HR_ALIGNMENT);
    at = hr_max((int64_t)at, end);
  }
  while (*out_place < host->count && host->overlays[*out_place]->offset_bytes < at) ++*out_place;
  *out_offset = at;
  return at <= host->result->size_bytes && buffer->size_bytes <= host->result->size_bytes - at;
}

static void add_overlay(flat_plan_t *flat, host_t *host, flat_buffer_t *buffer, size_t offset,
                     int place) {
  flat_result_t *result = &flat->results[host->result->index];
  for (int i = host->count++; i > place; i--) host->overlays[i] = host->overlays[i - 1];
  host->overlays[place] = buffer;
  buffer->storage = FLAT_OVERLAY;
  buffer->index = host->result->index;
  buffer->offset_bytes = offset;
  if (offset + buffer->size_bytes > result->overlay_bytes)
    result->overlay_bytes = offset + buffer->size_bytes;
}

/* Places the overlays of one result. */
static void fill_host(flat_plan_t *flat, const buffer_list_t *candidates, host_t *host) {
  for (int i = 0; i < candidates->count; i++) {
    flat_buffer_t *buffer = &flat->buffers[candidates->numbers[i]];
    size_t offset;
    int place;
    if (buffer->storage == FLAT_ARENA && buffer->end < host->result->start &&
        find_gap(host, buffer, &offset, &place))
      add_overlay(flat, host, buffer, offset, place);
  }
}

static void log_overlays(const flat_plan_t *flat) {
  size_t bytes = 0;
  for (int r = 0; r < flat->result_count; r++) bytes += flat->results[r].overlay_bytes;
  hr_log(HR_LOG_PLAN, HR_LOG_DEBUG, "%zu bytes of results hold other arrays before", bytes);
}

hr_status_t flat_overlay_results(flat_builder_t *builder) {
  flat_plan_t *flat = builder->flat;
  buffer_list_t hosts = {0}, candidates = {0};
  host_t host = {0};
  bool *is_scratch;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, flat->buffer_count + 1, &is_scratch));
  if (!may_overlay(builder, is_scratch)) return NULL;
  HR_TRY(list_buffers(builder, is_host, is_scratch, &hosts));
  HR_TRY(list_buffers(builder, is_candidate, is_scratch, &candidates));
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, candidates.count + 1, &host.overlays));
  for (int i = 0; i < hosts.count && (int64_t)i * candidates.count < MAX_PAIRS; i++) {
    host.result = &flat->buffers[hosts.numbers[i]];
    host.count = 0;
    fill_host(flat, &candidates, &host);
  }
  log_overlays(flat);
  return NULL;
}
