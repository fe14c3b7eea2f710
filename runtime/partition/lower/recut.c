/* A recut is a window of range_moves.h over the longer of both lists of axes: the parts of the
 * shorter one are repeated along the rest. */
#include "partition/lower/recut.h"

#include <math.h>

#include "base/arith.h"
#include "partition/lower/comm_cost.h"
#include "partition/lower/fetch_window.h"

/* The only dimension in which the shardings differ; -1: several, none, or partial values. */
static int differing_dim(const spmd_sharding_t *from, const spmd_sharding_t *to) {
  int found = -1;
  if (from->rank != to->rank || from->unreduced.count || to->unreduced.count) return -1;
  for (int d = 0; d < from->rank; d++) {
    if (spmd_axes_equal(from->dims[d].axes, to->dims[d].axes)) continue;
    if (found >= 0) return -1;
    found = d;
  }
  return found;
}

/* Sets starts and ends of the parts of `to`, of which each covers `repeats` parts of the window. */
static bool set_parts(spmd_lower_t *lower, spmd_window_t *window, int64_t repeats) {
  int64_t parts = spmd_axes_parts(window->axes);
  int64_t *starts = spmd_window_starts(lower, window->axes, 0, 0);
  int64_t *ends = spmd_window_starts(lower, window->axes, 0, 0);
  for (int64_t j = 0; starts && ends && j < parts; j++) {
    starts[j] = j / repeats * window->width;
    ends[j] = hr_min(window->size, starts[j] + window->width);
  }
  window->starts = starts;
  window->ends = ends;
  return starts && ends;
}

static double whole_bytes(const hlo_shape_t *shape) {
  return (double)hlo_shape_elements(shape) * (double)hr_dtype_bytes(shape->dtype);
}

/* The window of a recut; false: the shardings differ otherwise, or their parts divide one another,
 * so that slices and gathers do as well. Larger parts of a small array are better cut out of all of
 * it, as a gather is one collective and the parts come from several partitions. */
static bool find_window(spmd_lower_t *lower, const hlo_shape_t *shape, const spmd_sharding_t *from,
                        const spmd_sharding_t *to, spmd_window_t *out_window) {
  int d = differing_dim(from, to);
  if (d < 0 || !shape->dims[d]) return false;
  spmd_axes_t a = from->dims[d].axes, b = to->dims[d].axes;
  if (!a.count || !b.count) return false;
  bool refines = spmd_axes_is_prefix(a, b);
  if (!refines && !spmd_axes_is_prefix(b, a)) return false;
  if (!refines && whole_bytes(shape) < SPMD_SMALL_BYTES) return false;
  int64_t size = shape->dims[d], more = spmd_axes_parts(refines ? b : a);
  int64_t repeats = more / spmd_axes_parts(refines ? a : b);
  int64_t old = spmd_local_size(from, d, size), now = spmd_local_size(to, d, size);
  if (refines ? old == now * repeats : now == old * repeats) return false;
  *out_window = (spmd_window_t){.d = d,
                                .axes = refines ? b : a,
                                .size = size,
                                .past = size,
                                .width = now,
                                .dilation = 1,
                                .copies = refines ? repeats : 1};
  return set_parts(lower, out_window, refines ? 1 : repeats);
}

double spmd_recut_us(spmd_lower_t *lower, const hlo_shape_t *shape, const spmd_sharding_t *from,
                     const spmd_sharding_t *to) {
  hr_arena_mark_t mark = hr_arena_mark(lower->arena);
  spmd_window_t window;
  double cost = INFINITY;
  if (find_window(lower, shape, from, to, &window)) {
    int64_t chunk = spmd_local_size(from, window.d, shape->dims[window.d]);
    cost = spmd_window_us(lower, &window, chunk, spmd_local_bytes(from, shape) / (double)chunk);
  }
  hr_arena_rewind(lower->arena, mark);
  return cost;
}

hlo_instr_t *spmd_emit_recut(spmd_lower_t *lower, hlo_instr_t *x, const hlo_shape_t *shape,
                             const spmd_sharding_t *from, const spmd_sharding_t *to) {
  spmd_window_t window;
  if (!x || !find_window(lower, shape, from, to, &window)) return NULL;
  window.x = x;
  return spmd_emit_window(lower, &window);
}
