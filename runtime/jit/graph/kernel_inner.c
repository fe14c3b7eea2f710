/* The innermost loop of kLoop kernels: vectors per iteration, and the intervals into which the loop
 * is peeled.
 *
 * Indices with quotients and remainders of the innermost variable repeat from lane to lane after
 * some vectors. An iteration of that many vectors has lane offsets that are constants, so that
 * loads become whole vectors and shuffles instead of gathers. In an iteration that is the whole
 * loop they are constants in any case.
 *
 * Conditions on the innermost variable, such as those of concatenate and pad, change at few of its
 * values. The loop is cut there into intervals without a condition and single iterations with one:
 *
 *     [ vectors without condition ) [ one with ) [ vectors without condition ) */
#include "jit/graph/jit_kernel.h"

#include "base/arith.h"

#define MAX_VECTORS 9         /* most vectors per iteration: period of rows of 3 * 3 elements */
#define MOST_NODES_INSIDE 480 /* most nodes of all copies in all parts of the innermost loop */
/* Most nodes of all parts of an outer loop, counting what each part needs. */
#define MOST_NODES_AROUND 640

/* The least number of vectors, a multiple of `vectors` and not above `most`, after which the
 * remainder of an index repeats; 0: there is none. */
static int also_repeating(const jit_kernel_t *kernel, const jit_expr_t *expr, int64_t divisor,
                          int vectors, int most) {
  int inner = kernel->loops.nest.rank - 1;
  if (!(expr->vars >> inner & 1)) return vectors;
  for (int all = vectors; all <= most; all += vectors)
    if (jit_lane_repeats(&kernel->graph->exprs, expr, inner, (int64_t)kernel->loops.lanes * all,
                         divisor))
      return all;
  return 0;
}

/* The least number of vectors, at most `most`, after which all remainders repeat. *out_all: there
 * is one for each of them. */
static int repeating_vectors(const jit_kernel_t *kernel, int most, bool *out_all) {
  const jit_exprs_t *exprs = &kernel->graph->exprs;
  int vectors = 1;
  *out_all = true;
  for (int s = 0; s < exprs->symbol_count; s++) {
    const jit_symbol_t *symbol = &exprs->symbols[s];
    if (!symbol->of || symbol->is_limited) continue;
    int all = also_repeating(kernel, symbol->of, symbol->divisor, vectors, most);
    if (all) vectors = all;
    *out_all &= all > 0;
  }
  for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made) {
    if (node->kind != JIT_MULTIPLE) continue;
    int all = also_repeating(kernel, node->expr, node->low, vectors, most);
    if (all) vectors = all;
    *out_all &= all > 0;
  }
  return vectors;
}

/* The least common multiple of the periods, in vectors, limited by code size and the loop's size;
 * or all vectors of a short loop, in which some remainder does not repeat. */
int jit_inner_vectors(const jit_kernel_t *kernel) {
  int nodes = kernel->graph->node_count + 1, most = JIT_NODES_ITERATION / nodes;
  if (kernel->loops.has_tiles || kernel->loops.unrolled || kernel->loops.lanes == 1 ||
      !kernel->loops.nest.rank)
    return 1;
  int64_t size = kernel->loops.nest.sizes[kernel->loops.nest.rank - 1];
  int64_t whole = size / kernel->loops.lanes, every = hr_div_ceil(size, kernel->loops.lanes);
  if (most > MAX_VECTORS) most = MAX_VECTORS;
  bool repeats;
  int vectors = repeating_vectors(kernel, whole < most ? (int)whole : most, &repeats);
  return !repeats && every <= most && every * nodes <= JIT_NODES_SMALL ? (int)every : vectors;
}

/* --- small innermost loops -------------------------------------------------------------------- */

/* Can a vector load be assembled from few whole loads? */
static bool load_fits(jit_emit_t *emit, const jit_node_t *node) {
  int64_t offsets[JIT_MAX_LANES];
  if (node->kind != JIT_LOAD || !jit_emit_in_lanes(emit, node->expr->vars)) return true;
  return jit_lane_offsets(emit, node->expr, offsets) &&
         jit_window_fits(emit->lane.count, offsets, hr_dtype_bytes(node->dtype));
}

/* Emitter state for the lanes of a loop in the first vector of an iteration. */
static jit_emit_t first_lanes(const jit_kernel_t *kernel, int var, int vectors) {
  return (jit_emit_t){
      .graph = kernel->graph,
      .lane.var = var,
      .lane.count = kernel->loops.lanes,
      .lane.period = kernel->loops.lanes * vectors,
      .lane.is_only = var < kernel->loops.nest.rank &&
                      kernel->loops.nest.sizes[var] <= kernel->loops.lanes * vectors};
}

bool jit_loads_fit(const jit_kernel_t *kernel, int var, int vectors) {
  jit_emit_t emit = first_lanes(kernel, var, vectors);
  if (kernel->loops.lanes > JIT_MAX_LANES) return false;
  for (int copy = 0; copy < vectors; copy++, emit.lane.phase += kernel->loops.lanes)
    for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made)
      if (!load_fits(&emit, node)) return false;
  return true;
}

bool jit_inner_fits(const jit_kernel_t *kernel) {
  return jit_loads_fit(kernel, jit_lane_loop(kernel), jit_inner_vectors(kernel));
}

bool jit_inner_is_small(const jit_kernel_t *kernel) {
  int most = kernel->target->has_masks ? JIT_NODES_SMALL : JIT_NODES_ITERATION;
  return kernel->graph->node_count * kernel->loops.vectors <= most;
}

/* Number of disjoint reads of a load. Targets with gather instructions gather elements of 4 and 8
 * bytes. */
static int64_t reads_of(const jit_kernel_t *kernel, jit_emit_t *emit, const jit_node_t *node) {
  bool is_gathered = kernel->target->has_masks && hr_dtype_bytes(node->dtype) >= 4;
  if (node->band || load_fits(emit, node)) return 0;
  return is_gathered ? 1 : kernel->loops.lanes;
}

/* Number of disjoint reads per iteration, for the cost. */
int64_t jit_inner_reads_disjoint(const jit_kernel_t *kernel) {
  int64_t count = 0;
  jit_emit_t emit = first_lanes(kernel, jit_lane_loop(kernel), kernel->loops.vectors);
  for (int copy = 0; copy < kernel->loops.vectors; copy++, emit.lane.phase += kernel->loops.lanes)
    for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made)
      count += reads_of(kernel, &emit, node);
  return kernel->loops.unrolled ? count * kernel->loops.unrolled : count;
}

/* --- parts ------------------------------------------------------------------------------------ */

static void add_part(jit_parts_t *inner, int64_t from, int64_t to) {
  if (from >= to || inner->count == JIT_MAX_PARTS) return;
  inner->from[inner->count] = from;
  inner->to[inner->count++] = to;
}

/* First value of a variable at which an index is at least `bound`; its size: there is none. */
static int64_t first_above(const jit_kernel_t *kernel, const jit_expr_t *expr, int var,
                           int64_t bound) {
  int64_t low = 0, high = kernel->loops.nest.sizes[var];
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (jit_lane_value(&kernel->graph->exprs, expr, var, middle) >= bound)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Least value above `above` at which a condition changes; the variable's size: there is none. */
static int64_t next_change(const jit_kernel_t *kernel, int var, int64_t above) {
  int64_t next = kernel->loops.nest.sizes[var];
  for (const jit_node_t *node = kernel->graph->first_made; node; node = node->next_made) {
    if (node->kind != JIT_RANGE || !jit_lane_rises(&kernel->graph->exprs, node->expr, var))
      continue;
    int64_t changes[] = {first_above(kernel, node->expr, var, node->low),
                         first_above(kernel, node->expr, var, node->high)};
    for (int k = 0; k < 2; k++)
      if (changes[k] > above && changes[k] < next) next = changes[k];
  }
  return next;
}

/* Number of nodes that a value needs while the variable is in [from, to), except those already
 * counted in this epoch. */
static int64_t needed_nodes(const jit_kernel_t *kernel, jit_node_t *node, int var, int64_t from,
                            int64_t to) {
  bool inside, is_chosen = false;
  if (!node || node->scalar.epoch == kernel->graph->last_epoch) return 0;
  node->scalar.epoch = kernel->graph->last_epoch;
  const jit_node_t *choice = node->kind == JIT_OP && node->op == HLO_SELECT ? node->args[0] : NULL;
  if (choice && choice->kind == JIT_RANGE)
    is_chosen = jit_part_decides(&kernel->graph->exprs, choice->expr, var, from, to, choice->low,
                                 choice->high, &inside);
  if (is_chosen) return needed_nodes(kernel, node->args[inside ? 1 : 2], var, from, to);
  int64_t count = 1 + needed_nodes(kernel, node->guard, var, from, to);
  for (int k = 0; k < node->arg_count; k++)
    count += needed_nodes(kernel, node->args[k], var, from, to);
  return count;
}

/* Number of nodes emitted if every part has code of its own. */
static int64_t nodes_of_parts(const jit_kernel_t *kernel, int var, const jit_parts_t *parts) {
  int64_t count = 0;
  for (int p = 0; p < parts->count; p++) {
    kernel->graph->last_epoch++;
    for (int r = 0; r < kernel->root_count; r++)
      count += needed_nodes(kernel, kernel->roots[r].value, var, parts->from[p], parts->to[p]);
  }
  return count;
}

/* Parts begin and end at whole iterations; an iteration that contains a change tests lane by
 * lane. */
void jit_inner_parts(jit_kernel_t *kernel) {
  if (kernel->loops.unrolled) {
    kernel->loops.inner = (jit_parts_t){
        .count = 1, .from = {0}, .to = {kernel->loops.nest.sizes[kernel->loops.nest.rank - 2]}};
    return;
  }
  int var = kernel->loops.nest.rank - 1;
  int64_t size = kernel->loops.nest.sizes[var], done = 0;
  int64_t step = (int64_t)kernel->loops.lanes * kernel->loops.vectors;
  jit_parts_t inner = {.count = 0};
  for (int64_t at = next_change(kernel, var, 0); at < size; at = next_change(kernel, var, at)) {
    int64_t before = at / step * step, after = hr_round_up(at, step);
    if (after > size) after = size;
    add_part(&inner, done, before);
    if (after > before && after > done) add_part(&inner, before > done ? before : done, after);
    done = after > done ? after : done;
  }
  add_part(&inner, done, size);
  bool is_large = nodes_of_parts(kernel, var, &inner) * kernel->loops.vectors > MOST_NODES_INSIDE;
  if (is_large || inner.count == JIT_MAX_PARTS || kernel->loops.has_tiles ||
      kernel->loops.lanes == 1)
    inner.count = 0;
  if (inner.count < 2) inner = (jit_parts_t){.count = 1, .from = {0}, .to = {size}};
  kernel->loops.inner = inner;
}

/* Intervals in which no condition on `var` changes. */
static void find_parts(const jit_kernel_t *kernel, int var, jit_parts_t *out_parts) {
  int64_t size = kernel->loops.nest.sizes[var], done = 0;
  out_parts->count = 0;
  while (done < size) {
    int64_t next = next_change(kernel, var, done);
    add_part(out_parts, done, next);
    done = next;
  }
}

/* Peels the first outer loop whose conditions change, if the code stays small. */
void jit_outer_parts(jit_kernel_t *kernel) {
  int inner = jit_lane_loop(kernel);
  jit_parts_t parts;
  kernel->loops.parts.count = 0;
  if (kernel->loops.has_tiles || kernel->loops.lanes == 1) return;
  for (int var = 0; var < inner && !kernel->loops.parts.count; var++) {
    find_parts(kernel, var, &parts);
    bool is_large = nodes_of_parts(kernel, var, &parts) * kernel->loops.vectors > MOST_NODES_AROUND;
    if (parts.count > 1 && parts.to[parts.count - 1] == kernel->loops.nest.sizes[var] &&
        !is_large) {
      kernel->loops.part_var = var;
      kernel->loops.parts = parts;
    }
  }
}
