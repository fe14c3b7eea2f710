/* The shardings of an operation's arrays, and the mesh axes in them. An axis may be assigned to a
 * factor that it cuts in some operand or wanted result, or, if that one must be whole, to another
 * factor that all arrays have. */
#include "base/arith.h"
#include "partition/lower/choose.h"

static bool can_cut(const spmd_chooser_t *chooser, int f) {
  spmd_factor_kind_t kind = chooser->rule->factors[f].kind;
  if (!spmd_can_cut_factor(chooser->instr, chooser->rule, f)) return false;
  if (kind == SPMD_PASS_THROUGH) return true;
  return kind != SPMD_NEED_REPLICATION && chooser->op.can_cut &&
         chooser->op.can_cut(chooser->instr, chooser->rule, f);
}

static double bytes_of(const hlo_shape_t *shape) {
  return (double)hlo_shape_elements(shape) * (double)hr_dtype_bytes(shape->dtype);
}

/* Sources are kept with the largest array first. */
static hr_status_t add_source(spmd_chooser_t *chooser, int tensor, const hlo_shape_t *shape,
                              const spmd_sharding_t *sharding) {
  spmd_source_t source = {.bytes = bytes_of(shape)};
  int at = chooser->source_count;
  if (at == MAX_SOURCES || !sharding) return NULL;
  HR_TRY(HR_NEW_ARRAY(chooser->lower->arena, chooser->rule->factor_count, &source.axes));
  spmd_project(chooser->lower, chooser->rule, tensor, sharding, source.axes);
  while (at > 0 && chooser->sources[at - 1].bytes < source.bytes) {
    chooser->sources[at] = chooser->sources[at - 1];
    at--;
  }
  chooser->sources[at] = source;
  chooser->source_count++;
  return NULL;
}

/* The existing forms of an operand come first: among equal assignments, it is not moved. */
static hr_status_t add_operand(spmd_chooser_t *chooser, int k) {
  const spmd_local_t *value = spmd_operand(chooser->lower, chooser->instr, k);
  bool found = false;
  if (value->recipe || !value->shape->rank || !hlo_shape_is_array(value->shape)) return NULL;
  for (const spmd_form_t *form = value->forms; form; form = form->next) {
    found |= spmd_sharding_same_layout(form->sharding, value->preferred);
    HR_TRY(add_source(chooser, k, value->shape, form->sharding));
  }
  return found ? NULL : add_source(chooser, k, value->shape, value->preferred);
}

/* Result r in the propagated sharding and in the wanted one. */
static hr_status_t add_result(spmd_chooser_t *chooser, int r) {
  const hlo_shape_t *shape = hlo_shape_leaf(chooser->instr->shape, r);
  const spmd_sharding_t *preferred = spmd_preferred(chooser->lower, chooser->instr, r);
  const spmd_sharding_t *wanted = spmd_wanted_result(chooser->lower, chooser->instr, r);
  int tensor = chooser->rule->operand_count + r;
  HR_TRY(add_source(chooser, tensor, shape, preferred));
  if (!preferred || !wanted || spmd_sharding_same_layout(preferred, wanted)) return NULL;
  return add_source(chooser, tensor, shape, wanted);
}

hr_status_t spmd_find_sources(spmd_chooser_t *chooser) {
  const spmd_rule_t *rule = chooser->rule;
  for (int k = 0; k < rule->operand_count; k++) HR_TRY(add_operand(chooser, k));
  for (int r = 0; r < rule->result_count; r++) HR_TRY(add_result(chooser, r));
  return NULL;
}

/* Splits an atom at `at`, a product of parts within it. */
static void split_atom(spmd_chooser_t *chooser, int a, int64_t at) {
  spmd_axis_t *atom = &chooser->atoms[a];
  int64_t end = atom->pre * atom->size;
  if (at <= atom->pre || at >= end || at % atom->pre || end % at) return;
  if (chooser->atom_count == MAX_ATOMS) return;
  chooser->atoms[chooser->atom_count++] = (spmd_axis_t){atom->axis, at, end / at};
  atom->size = at / atom->pre;
}

/* Enters an axis reference and splits what overlaps it. */
static void add_axis(spmd_chooser_t *chooser, spmd_axis_t axis) {
  int64_t at = axis.pre, end = axis.pre * axis.size;
  for (int a = 0; a < chooser->atom_count; a++)
    if (chooser->atoms[a].axis == axis.axis) {
      split_atom(chooser, a, axis.pre);
      split_atom(chooser, a, end);
    }
  while (at < end) { /* the range that no atom covers yet */
    int64_t next = end;
    bool covered = false;
    for (int a = 0; a < chooser->atom_count && !covered; a++) {
      const spmd_axis_t *atom = &chooser->atoms[a];
      if (atom->axis != axis.axis) continue;
      covered = atom->pre <= at && at < atom->pre * atom->size;
      if (covered)
        next = atom->pre * atom->size;
      else if (atom->pre > at && atom->pre < next)
        next = atom->pre;
    }
    if (!covered && chooser->atom_count < MAX_ATOMS && next % at == 0)
      chooser->atoms[chooser->atom_count++] = (spmd_axis_t){axis.axis, at, next / at};
    at = next;
  }
}

static bool holds(spmd_axes_t axes, spmd_axis_t atom) {
  for (int i = 0; i < axes.count; i++)
    if (spmd_axis_overlaps(axes.items[i], atom)) return true;
  return false;
}

static void add_candidate(spmd_chooser_t *chooser, int a, int f) {
  for (int i = 0; i < chooser->candidate_count[a]; i++)
    if (chooser->candidates[a][i] == f) return;
  if (chooser->candidate_count[a] < MAX_CANDIDATES)
    chooser->candidates[a][chooser->candidate_count[a]++] = f;
}

static void find_candidates(spmd_chooser_t *chooser, int a) {
  bool whole = false;
  for (int s = 0; s < chooser->source_count; s++)
    for (int f = 0; f < chooser->rule->factor_count; f++) {
      if (!holds(chooser->sources[s].axes[f], chooser->atoms[a])) continue;
      if (can_cut(chooser, f))
        add_candidate(chooser, a, f);
      else
        whole = true;
    }
  chooser->own_count[a] = chooser->candidate_count[a];
  if (chooser->lower->shared->strategy == SPMD_GATHER_WHOLE) return;
  for (int f = 0; whole && f < chooser->rule->factor_count; f++)
    if (chooser->rule->factors[f].kind == SPMD_PASS_THROUGH &&
        chooser->rule->factors[f].size % chooser->atoms[a].size == 0 &&
        spmd_cuts_all(chooser->rule, f))
      add_candidate(chooser, a, f);
}

/* The most parts into which an array's sharding cuts a factor. */
static int64_t parts_of(const spmd_chooser_t *chooser, int f) {
  int64_t most = 1;
  for (int s = 0; s < chooser->source_count; s++)
    most = hr_max(most, spmd_axes_parts(chooser->sources[s].axes[f]));
  return most;
}

/* True if the atom cuts a factor that must be whole in some array. */
static bool cuts_whole(const spmd_chooser_t *chooser, int a) {
  for (int s = 0; s < chooser->source_count; s++)
    for (int f = 0; f < chooser->rule->factor_count; f++)
      if (!can_cut(chooser, f) && holds(chooser->sources[s].axes[f], chooser->atoms[a]))
        return true;
  return false;
}

/* Splits atoms of factors that must be whole into what another factor has elements for, and the
 * rest: 4 columns that are cut into 2 parts have elements for 2 parts of an axis of 4. */
static void split_for_others(spmd_chooser_t *chooser) {
  int count = chooser->atom_count;
  for (int a = 0; a < count; a++) {
    if (!cuts_whole(chooser, a)) continue;
    for (int f = 0; f < chooser->rule->factor_count; f++) {
      if (chooser->rule->factors[f].kind != SPMD_PASS_THROUGH || !spmd_cuts_all(chooser->rule, f))
        continue;
      const spmd_axis_t *atom = &chooser->atoms[a];
      int64_t room = chooser->rule->factors[f].size / parts_of(chooser, f);
      split_atom(chooser, a, atom->pre * hr_gcd(hr_max(room, 1), atom->size));
    }
  }
}

void spmd_find_atoms(spmd_chooser_t *chooser) {
  for (int s = 0; s < chooser->source_count; s++)
    for (int f = 0; f < chooser->rule->factor_count; f++)
      for (int i = 0; i < chooser->sources[s].axes[f].count; i++)
        add_axis(chooser, chooser->sources[s].axes[f].items[i]);
  split_for_others(chooser);
  for (int a = 0; a < chooser->atom_count; a++) find_candidates(chooser, a);
}
