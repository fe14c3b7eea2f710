/* Dijkstra's search over the layouts of an array. The edges are slice, gather, all-to-all, permute,
 * reduce and reduce-scatter steps; their costs are those of comm_cost.h. Only axes that differ take
 * part, so there are some dozens of layouts. At MAX_NODES the search gives up; then the array is
 * gathered and sliced. */
#include "partition/lower/reshard_plan.h"

#include <string.h>

#include "base/arith.h"
#include "partition/lower/comm_cost.h"

#define MAX_NODES 320

/* A layout. Fields from kind to us are those of the step (spmd_step_t) from the parent's layout. */
typedef struct node {
  spmd_layout_t layout;
  int parent;
  spmd_step_kind_t kind;
  int from, to;
  spmd_list_t atoms;
  double bytes, us;
  double cost; /* sum of all steps up to here, in microseconds */
  bool done;
} node_t;

typedef struct search {
  const spmd_reshard_t *problem;
  node_t *nodes;
  int count;
  bool full;
} search_t;

static int64_t parts_of(const spmd_reshard_t *problem, const spmd_list_t *list) {
  int64_t parts = 1;
  for (int i = 0; i < list->count; i++) parts *= problem->atom_sizes[list->atoms[i]];
  return parts;
}

static int64_t parts_at(const spmd_reshard_t *problem, const spmd_layout_t *layout, int d) {
  return problem->outer[d] * parts_of(problem, &layout->dims[d]);
}

static bool lists_equal(const spmd_list_t *a, const spmd_list_t *b) {
  return a->count == b->count && !memcmp(a->atoms, b->atoms, (size_t)a->count);
}

static bool is_prefix(const spmd_list_t *prefix, const spmd_list_t *list) {
  return prefix->count <= list->count && !memcmp(prefix->atoms, list->atoms, (size_t)prefix->count);
}

static bool layouts_equal(const spmd_reshard_t *problem, const spmd_layout_t *a,
                          const spmd_layout_t *b) {
  if (a->unreduced != b->unreduced) return false;
  for (int d = 0; d < problem->rank; d++)
    if (a->chunk[d] != b->chunk[d] || !lists_equal(&a->dims[d], &b->dims[d])) return false;
  return true;
}

static uint32_t set_of(const spmd_list_t *list) {
  uint32_t set = 0;
  for (int i = 0; i < list->count; i++) set |= UINT32_C(1) << list->atoms[i];
  return set;
}

static uint32_t used_by(const spmd_reshard_t *problem, const spmd_layout_t *layout) {
  uint32_t set = layout->unreduced;
  for (int d = 0; d < problem->rank; d++) set |= set_of(&layout->dims[d]);
  return set;
}

static spmd_layout_t layout_of(const spmd_reshard_t *problem, const spmd_list_t *lists,
                               uint32_t unreduced) {
  spmd_layout_t layout = {.unreduced = unreduced};
  for (int d = 0; d < problem->rank; d++) {
    layout.dims[d] = lists[d];
    int64_t parts = parts_at(problem, &layout, d);
    layout.chunk[d] = hr_div_ceil(problem->sizes[d], parts);
  }
  return layout;
}

spmd_layout_t spmd_reshard_begin(const spmd_reshard_t *problem) {
  return layout_of(problem, problem->from, problem->unreduced_from);
}

spmd_layout_t spmd_reshard_end(const spmd_reshard_t *problem) {
  return layout_of(problem, problem->to, problem->unreduced_to);
}

static double local_bytes(const spmd_reshard_t *problem, const spmd_layout_t *layout) {
  double bytes = problem->other_bytes;
  for (int d = 0; d < problem->rank; d++) bytes *= (double)layout->chunk[d];
  return bytes;
}

/* Appends atoms to a dimension; false if its chunk cannot be divided. */
static bool append(const spmd_reshard_t *problem, spmd_layout_t *layout, int d,
                   const spmd_list_t *atoms) {
  int64_t parts = parts_of(problem, atoms);
  spmd_list_t *list = &layout->dims[d];
  if (list->count + atoms->count > SPMD_PLAN_LIST || problem->sizes[d] == 0) return false;
  if (parts_at(problem, layout, d) > 1 && layout->chunk[d] % parts) return false;
  layout->chunk[d] = hr_div_ceil(layout->chunk[d], parts);
  memcpy(list->atoms + list->count, atoms->atoms, (size_t)atoms->count);
  list->count += atoms->count;
  return true;
}

/* Removes the last `count` atoms of a dimension. */
static spmd_list_t drop(const spmd_reshard_t *problem, spmd_layout_t *layout, int d, int count) {
  spmd_list_t *list = &layout->dims[d], taken = {.count = count};
  list->count -= count;
  memcpy(taken.atoms, list->atoms + list->count, (size_t)count);
  layout->chunk[d] *= parts_of(problem, &taken);
  if (parts_at(problem, layout, d) == 1) layout->chunk[d] = problem->sizes[d];
  return taken;
}

/* An all-reduce counts a little less: all-reduces of other arrays may be combined with it, other
 * than a reduce-scatter and a gather of the same cost. */
#define REDUCE_SHARE 0.9999

/* Cost of a step. A permute sends the parts that change their device; an all-to-all exchanges its
 * larger side. */
static double step_us(const spmd_reshard_t *problem, const spmd_step_t *step) {
  double parts = (double)parts_of(problem, &step->atoms),
         bytes = local_bytes(problem, &step->before);
  double after = local_bytes(problem, &step->after);
  if (step->kind == SPMD_PERMUTE) return spmd_step_us(step->kind, step->bytes, 2);
  if (step->kind == SPMD_ALL_TO_ALL && after > bytes) bytes = after;
  if (step->kind == SPMD_REDUCE_SCATTER) bytes = after * parts;
  if (step->kind == SPMD_ALL_GATHER && problem->shares_gathers)
    return spmd_shared_gather_us(bytes, parts);
  double share = step->kind == SPMD_ALL_REDUCE ? REDUCE_SHARE : 1;
  return share * spmd_step_us(step->kind, bytes, parts);
}

static void reach(search_t *search, int from, spmd_step_t step) {
  int at = 0;
  step.before = search->nodes[from].layout;
  step.us = step_us(search->problem, &step);
  double cost = search->nodes[from].cost + step.us;
  while (at < search->count &&
         !layouts_equal(search->problem, &search->nodes[at].layout, &step.after))
    at++;
  if (at == MAX_NODES) {
    search->full = true;
    return;
  }
  node_t *node = &search->nodes[at];
  if (at < search->count && (node->done || node->cost <= cost)) return;
  if (at == search->count) search->count++;
  *node = (node_t){.layout = step.after,
                   .parent = from,
                   .kind = step.kind,
                   .from = step.from,
                   .to = step.to,
                   .atoms = step.atoms,
                   .bytes = step.bytes,
                   .us = step.us,
                   .cost = cost};
}

static void try_gathers(search_t *search, int from, const spmd_layout_t *layout) {
  for (int d = 0; d < search->problem->rank; d++)
    for (int k = 1; k <= layout->dims[d].count; k++) {
      spmd_step_t step = {.kind = SPMD_ALL_GATHER, .from = d, .to = d, .after = *layout};
      step.atoms = drop(search->problem, &step.after, d, k);
      step.bytes = local_bytes(search->problem, layout) *
                   (double)(parts_of(search->problem, &step.atoms) - 1);
      reach(search, from, step);
    }
}

/* The next j atoms that the final layout has on dimension d; false if one is not `available`. */
static bool next_wanted(const spmd_reshard_t *problem, const spmd_layout_t *layout, int d, int j,
                        uint32_t available, spmd_list_t *out_atoms) {
  const spmd_list_t *have = &layout->dims[d], *want = &problem->to[d];
  if (!is_prefix(have, want) || have->count + j > want->count) return false;
  out_atoms->count = j;
  memcpy(out_atoms->atoms, want->atoms + have->count, (size_t)j);
  return (set_of(out_atoms) & ~available) == 0;
}

static void try_append(search_t *search, int from, spmd_step_kind_t kind, int d,
                       const spmd_list_t *atoms) {
  const spmd_reshard_t *problem = search->problem;
  const spmd_layout_t *layout = &search->nodes[from].layout;
  spmd_step_t step = {.kind = kind, .from = d, .to = d, .atoms = *atoms, .after = *layout};
  double parts = (double)parts_of(problem, atoms);
  if (!append(problem, &step.after, d, atoms)) return;
  if (kind == SPMD_REDUCE_SCATTER) {
    step.after.unreduced &= ~set_of(atoms);
    step.bytes = local_bytes(problem, &step.after) * (parts - 1);
  }
  reach(search, from, step);
}

/* Tries slices, or reduce-scatters of unreduced atoms: appends the atoms that the final layout has
 * next, or one atom to any dimension, from which a later step moves it on. */
static void try_appends(search_t *search, int from, spmd_step_kind_t kind, uint32_t available) {
  const spmd_reshard_t *problem = search->problem;
  spmd_layout_t layout = search->nodes[from].layout;
  spmd_list_t atoms;
  for (int d = 0; d < problem->rank; d++) {
    for (int j = 1; next_wanted(problem, &layout, d, j, available, &atoms); j++)
      try_append(search, from, kind, d, &atoms);
    for (int a = 0; a < problem->atom_count; a++) {
      if (!(available >> a & 1)) continue;
      atoms = (spmd_list_t){1, {(uint8_t)a}};
      try_append(search, from, kind, d, &atoms);
    }
  }
}

static void try_all_to_alls(search_t *search, int from, const spmd_layout_t *layout) {
  const spmd_reshard_t *problem = search->problem;
  for (int s = 0; s < problem->rank; s++)
    for (int k = 1; k <= layout->dims[s].count; k++)
      for (int t = 0; t < problem->rank; t++) {
        spmd_step_t step = {.kind = SPMD_ALL_TO_ALL, .from = s, .to = t, .after = *layout};
        step.atoms = drop(problem, &step.after, s, k);
        if (s == t || !append(problem, &step.after, t, &step.atoms)) continue;
        double parts = (double)parts_of(problem, &step.atoms);
        double after = local_bytes(problem, &step.after), before = local_bytes(problem, layout);
        step.bytes = (after > before ? after : before) * (parts - 1) / parts;
        reach(search, from, step);
      }
}

static int find_root(const int *parent, int a) {
  while (parent[a] != a) a = parent[a];
  return a;
}

/* Share of the parts that change their device. A part stays if the coordinates along every pair of
 * exchanged axes are equal. */
static double moved_share(const spmd_reshard_t *problem, const spmd_layout_t *a,
                          const spmd_layout_t *b) {
  double stay = 1;
  int parent[SPMD_MAX_ATOMS];
  for (int i = 0; i < SPMD_MAX_ATOMS; i++) parent[i] = i;
  for (int d = 0; d < problem->rank; d++)
    for (int i = 0; i < a->dims[d].count && i < b->dims[d].count; i++) {
      int x = find_root(parent, a->dims[d].atoms[i]), y = find_root(parent, b->dims[d].atoms[i]);
      if (x == y) continue;
      parent[x] = y;
      stay /= (double)problem->atom_sizes[b->dims[d].atoms[i]];
    }
  return 1 - stay;
}

static void try_permute_to(search_t *search, int from, spmd_layout_t after) {
  const spmd_layout_t *layout = &search->nodes[from].layout;
  spmd_step_t step = {.kind = SPMD_PERMUTE, .after = after};
  if (layouts_equal(search->problem, layout, &after)) return;
  step.bytes = local_bytes(search->problem, layout) * moved_share(search->problem, layout, &after);
  reach(search, from, step);
}

/* The layout after a permute that gives final atoms to all dimensions with the final number of
 * parts. */
static bool wanted_permute(const spmd_reshard_t *problem, const spmd_layout_t *layout,
                           spmd_layout_t *out_after) {
  uint32_t seen = layout->unreduced;
  *out_after = *layout;
  for (int d = 0; d < problem->rank; d++) {
    if (parts_of(problem, &layout->dims[d]) == parts_of(problem, &problem->to[d]))
      out_after->dims[d] = problem->to[d];
    uint32_t set = set_of(&out_after->dims[d]);
    if (set & seen) return false;
    seen |= set;
  }
  return true;
}

/* The set of atoms outside of common prefixes of a dimension. */
static uint32_t movable_atoms(const spmd_reshard_t *problem) {
  uint32_t set = problem->unreduced_from | problem->unreduced_to;
  for (int d = 0; d < problem->rank; d++)
    set |= set_of(&problem->from[d]) | set_of(&problem->to[d]);
  return set;
}

/* Exchanges atoms x and y in all lists. */
static void exchange(spmd_layout_t *layout, int rank, int x, int y) {
  for (int d = 0; d < rank; d++)
    for (int i = 0; i < layout->dims[d].count; i++) {
      uint8_t *atom = &layout->dims[d].atoms[i];
      if (*atom == x)
        *atom = (uint8_t)y;
      else if (*atom == y)
        *atom = (uint8_t)x;
    }
}

static void try_permutes(search_t *search, int from, const spmd_layout_t *layout) {
  const spmd_reshard_t *problem = search->problem;
  spmd_layout_t after;
  uint32_t used = used_by(problem, layout) & ~layout->unreduced;
  uint32_t movable = movable_atoms(problem);
  if (wanted_permute(problem, layout, &after)) try_permute_to(search, from, after);
  for (int x = 0; x < problem->atom_count; x++)
    for (int y = 0; y < problem->atom_count; y++) {
      bool same = problem->atom_sizes[x] == problem->atom_sizes[y];
      if (x == y || !same || !(used >> x & 1) || layout->unreduced >> y & 1) continue;
      if (!(movable >> y & 1)) continue;
      after = *layout;
      exchange(&after, problem->rank, x, y);
      try_permute_to(search, from, after);
    }
  for (int d = 0; d < problem->rank; d++)
    for (int i = 0; i + 1 < layout->dims[d].count; i++) {
      after = *layout;
      spmd_list_t *list = &after.dims[d];
      uint8_t atom = list->atoms[i];
      memmove(list->atoms + i, list->atoms + i + 1, (size_t)(list->count - i - 1));
      list->atoms[list->count - 1] = atom;
      try_permute_to(search, from, after);
    }
}

static spmd_list_t list_of(uint32_t set) {
  spmd_list_t list = {0};
  for (int a = 0; a < SPMD_MAX_ATOMS && list.count < SPMD_PLAN_LIST; a++)
    if (set >> a & 1) list.atoms[list.count++] = (uint8_t)a;
  return list;
}

static void try_reductions(search_t *search, int from, const spmd_layout_t *layout) {
  const spmd_reshard_t *problem = search->problem;
  uint32_t gone = layout->unreduced & ~problem->unreduced_to;
  uint32_t come = problem->unreduced_to & ~used_by(problem, layout);
  spmd_step_t step = {.kind = SPMD_ALL_REDUCE, .after = *layout, .atoms = list_of(gone)};
  double parts = (double)parts_of(problem, &step.atoms);
  if (gone) {
    step.after.unreduced &= ~set_of(&step.atoms);
    step.bytes = 2 * local_bytes(problem, layout) * (parts - 1) / parts;
    reach(search, from, step);
    try_appends(search, from, SPMD_REDUCE_SCATTER, gone);
  }
  if (!come) return;
  step = (spmd_step_t){.kind = SPMD_MAKE_PARTIAL, .after = *layout, .atoms = list_of(come)};
  step.after.unreduced |= set_of(&step.atoms);
  reach(search, from, step);
}

/* Tries spreads: atoms that cut a dimension become unreduced if they are in the final layout. */
static void try_spreads(search_t *search, int from, const spmd_layout_t *layout) {
  const spmd_reshard_t *problem = search->problem;
  for (int d = 0; d < problem->rank; d++)
    for (int k = 1; k <= layout->dims[d].count; k++) {
      spmd_step_t step = {.kind = SPMD_SPREAD, .from = d, .to = d, .after = *layout};
      step.atoms = drop(problem, &step.after, d, k);
      if (set_of(&step.atoms) & ~problem->unreduced_to) break;
      step.after.unreduced |= set_of(&step.atoms);
      reach(search, from, step);
    }
}

static void expand(search_t *search, int from) {
  const spmd_reshard_t *problem = search->problem;
  spmd_layout_t layout = search->nodes[from].layout;
  uint32_t all = problem->atom_count < 32 ? (UINT32_C(1) << problem->atom_count) - 1 : UINT32_MAX;
  uint32_t wanted = 0;
  for (int d = 0; d < problem->rank; d++) wanted |= set_of(&problem->to[d]);
  try_gathers(search, from, &layout);
  try_appends(search, from, SPMD_SLICE, all & wanted & ~used_by(problem, &layout));
  try_all_to_alls(search, from, &layout);
  try_permutes(search, from, &layout);
  try_reductions(search, from, &layout);
  if (problem->unreduced_to) try_spreads(search, from, &layout);
}

static int cheapest_open(const search_t *search) {
  int best = -1;
  for (int i = 0; i < search->count; i++)
    if (!search->nodes[i].done && (best < 0 || search->nodes[i].cost < search->nodes[best].cost))
      best = i;
  return best;
}

static void add_step(spmd_plan_t *plan, const spmd_step_t *step) {
  plan->steps[plan->count++] = *step;
  plan->us += step->us;
  plan->bytes += step->bytes;
  plan->collectives += spmd_step_is_collective(step->kind);
}

/* The step from the parent's layout. */
static spmd_step_t step_to(const search_t *search, int at) {
  const node_t *node = &search->nodes[at];
  return (spmd_step_t){.kind = node->kind,
                       .from = node->from,
                       .to = node->to,
                       .atoms = node->atoms,
                       .before = search->nodes[node->parent].layout,
                       .after = node->layout,
                       .bytes = node->bytes,
                       .us = node->us};
}

static void take_path(const search_t *search, int at, spmd_plan_t *plan) {
  int path[SPMD_PLAN_STEPS], length = 0;
  for (; at && length < SPMD_PLAN_STEPS; at = search->nodes[at].parent) path[length++] = at;
  while (length > 0) {
    spmd_step_t step = step_to(search, path[--length]);
    add_step(plan, &step);
  }
}

/* Reduces, gathers every dimension, and slices. */
static void gather_and_slice(const spmd_reshard_t *problem, spmd_plan_t *plan) {
  spmd_layout_t layout = spmd_reshard_begin(problem);
  spmd_step_t step = {.kind = SPMD_ALL_REDUCE, .after = layout};
  while (layout.unreduced) {
    step.before = layout;
    step.atoms = list_of(layout.unreduced);
    layout.unreduced &= ~set_of(&step.atoms);
    step.after = layout;
    step.bytes = 2 * local_bytes(problem, &layout);
    step.us = step_us(problem, &step);
    add_step(plan, &step);
  }
  for (int d = 0; d < problem->rank; d++) {
    step = (spmd_step_t){.kind = SPMD_ALL_GATHER, .from = d, .to = d, .before = layout};
    step.atoms = drop(problem, &layout, d, layout.dims[d].count);
    step.after = layout;
    step.bytes = local_bytes(problem, &step.before);
    step.us = step_us(problem, &step);
    if (step.atoms.count) add_step(plan, &step);
  }
  for (int d = 0; d < problem->rank; d++) {
    step = (spmd_step_t){.kind = SPMD_SLICE, .from = d, .to = d, .before = layout};
    step.atoms = problem->to[d];
    append(problem, &layout, d, &step.atoms);
    step.after = layout;
    if (step.atoms.count) add_step(plan, &step);
  }
  step = (spmd_step_t){.kind = SPMD_MAKE_PARTIAL, .before = layout, .after = layout};
  step.atoms = list_of(problem->unreduced_to);
  step.after.unreduced = problem->unreduced_to;
  if (step.atoms.count) add_step(plan, &step);
}

void spmd_reshard_plan(const spmd_reshard_t *problem, spmd_plan_t *out_plan) {
  static _Thread_local node_t nodes[MAX_NODES]; /* too large for small stacks */
  search_t search = {.problem = problem, .nodes = nodes, .count = 1};
  spmd_layout_t end = spmd_reshard_end(problem);
  out_plan->count = out_plan->collectives = 0;
  out_plan->bytes = out_plan->us = 0;
  nodes[0] = (node_t){.layout = spmd_reshard_begin(problem)};
  for (int at; (at = cheapest_open(&search)) >= 0;) {
    nodes[at].done = true;
    if (layouts_equal(problem, &nodes[at].layout, &end)) {
      take_path(&search, at, out_plan);
      return;
    }
    if (!search.full) expand(&search, at);
  }
  gather_and_slice(problem, out_plan);
}
