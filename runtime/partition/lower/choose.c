/* Assigns mesh axes to the factors of an operation. Every axis (split where some array's sharding
 * or some factor splits it) may be assigned to a factor that it cuts in some operand or wanted
 * result, to another factor if that one must be whole, or to none. All assignments are tried, or
 * the first two for each axis if there are more than MAX_TRIALS. Their cost is that of resharding
 * operands and results, plus a little for the work of a partition. Usually it is 0 at once. */
#include <math.h>
#include <string.h>

#include "partition/lower/choose.h"
#include "partition/lower/comm_cost.h"
#include "partition/lower/fetch_window.h"

#define MAX_FACTORS SPMD_CHOOSE_FACTORS
#define MAX_TRIALS 4096
#define NEXT_USER_SHARE 0.99    /* share of a result's cost if its next user may take it as it is */
#define SHARED_SHARE 0.95       /* share of an operand's cost if is_shared */
#define SHARED_GATHER_SHARE 0.8 /* share of gathering an operand that later products pay */

typedef struct trial {
  spmd_axes_t axes[MAX_FACTORS];
  const spmd_sharding_t *tensors[SPMD_CHOOSE_TENSORS];
  spmd_axes_t reduced;
  double moved, cost; /* microseconds, without and with the work */
  double shared;      /* part of them, for SPMD_SHARE_MOVES */
  bool cuts_other;    /* an axis of a dimension that must be whole cuts another one */
} trial_t;

static bool append_atom(spmd_chooser_t *chooser, spmd_axes_t *axes, int a) {
  hr_arena_t *arena = chooser->lower->arena;
  return !spmd_emit_failed(&chooser->lower->emit,
                           spmd_axes_append(arena, *axes, chooser->atoms[a], axes));
}

/* The index of an atom in a list; -1: not there. */
static int place_in(spmd_axes_t axes, spmd_axis_t atom) {
  for (int i = axes.count - 1; i >= 0; i--)
    if (spmd_axis_overlaps(axes.items[i], atom)) return i;
  return -1;
}

/* True if the list has both, `first` after `second`. */
static bool appears_after(spmd_axes_t axes, spmd_axis_t first, spmd_axis_t second) {
  int at_first = place_in(axes, first), at_second = place_in(axes, second);
  if (at_first < 0 || at_second < 0) return false;
  return at_first == at_second ? first.pre > second.pre : at_first > at_second;
}

/* True if only `second` is in the list: then `first` is appended, so that nothing else moves. */
static bool is_added(spmd_axes_t axes, spmd_axis_t first, spmd_axis_t second) {
  return place_in(axes, first) < 0 && place_in(axes, second) >= 0;
}

typedef bool (*order_fn)(spmd_axes_t axes, spmd_axis_t first, spmd_axis_t second);

/* Exchanges atoms of which the first belongs after the second in this list of axes. */
static void order_as(const spmd_chooser_t *chooser, spmd_axes_t axes, order_fn belongs_after,
                     int count, int *order) {
  for (int i = 0; i < count; i++)
    for (int k = i + 1; k < count; k++) {
      int first = order[i], second = order[k];
      if (!belongs_after(axes, chooser->atoms[first], chooser->atoms[second])) continue;
      order[i] = second;
      order[k] = first;
    }
}

/* Orders the atoms of factor f as the arrays have them; the largest array comes last and decides.
 */
static void order_atoms(const spmd_chooser_t *chooser, int f, order_fn belongs_after, int count,
                        int *order) {
  for (int s = chooser->source_count - 1; s >= 0; s--)
    order_as(chooser, chooser->sources[s].axes[f], belongs_after, count, order);
}

/* The axes of factor f in the current trial, in the order in which the largest array has them. */
static bool axes_of_factor(spmd_chooser_t *chooser, int f, spmd_axes_t *out_axes) {
  int order[MAX_ATOMS], count = 0;
  for (int a = 0; a < chooser->atom_count; a++)
    if (chooser->assigned[a] == f) order[count++] = a;
  order_atoms(chooser, f, is_added, count, order);
  order_atoms(chooser, f, appears_after, count, order);
  *out_axes = (spmd_axes_t){0};
  for (int i = 0; i < count; i++)
    if (!append_atom(chooser, out_axes, order[i])) return false;
  return true;
}

static double local_work(const spmd_chooser_t *chooser, const trial_t *trial) {
  double work = 1;
  bool moves = false;
  for (int f = 0; f < chooser->rule->factor_count; f++) {
    work *= (double)chooser->rule->factors[f].size / (double)spmd_axes_parts(trial->axes[f]);
    moves |= chooser->rule->factors[f].kind == SPMD_PERMUTATION && trial->axes[f].count;
  }
  return chooser->instr->op == HLO_SORT ? work * spmd_sort_work(chooser->instr, moves) : work;
}

static double own_bytes(const spmd_chooser_t *chooser, const trial_t *trial, int r) {
  return spmd_local_bytes(trial->tensors[chooser->rule->operand_count + r],
                          hlo_shape_leaf(chooser->instr->shape, r));
}

/* Cost of the elements that result r fetches from other parts because of a cut permutation factor:
 * that of spmd_emit_window for a known operation, else half of the result. */
static double fetch_cost(const spmd_chooser_t *chooser, const trial_t *trial, int r, int f) {
  const hlo_instr_t *instr = chooser->instr;
  const spmd_sharding_t *sharding = trial->tensors[chooser->rule->operand_count + r];
  int d = spmd_dim_of_factor(chooser->rule, r, f),
      out = spmd_dim_of_factor(chooser->rule, chooser->rule->operand_count, f);
  double half = spmd_step_us(SPMD_PERMUTE, own_bytes(chooser, trial, r) / 2, 2);
  if (d < 0 || out < 0 || !instr->operands[r]->shape->dims[d]) return half;
  const hlo_shape_t *operand = instr->operands[r]->shape;
  int64_t chunk = spmd_local_size(trial->tensors[r], d, operand->dims[d]);
  int64_t own = spmd_local_size(sharding, out, hlo_shape_leaf(instr->shape, r)->dims[out]);
  double row = spmd_local_bytes(trial->tensors[r], operand) / (double)chunk;
  spmd_window_t window;
  int64_t parts = spmd_axes_parts(trial->tensors[r]->dims[d].axes);
  if (instr->op == HLO_SORT) return spmd_columns_us(chooser->lower, instr, r, chunk, parts, row);
  if (instr->op == HLO_DYNAMIC_UPDATE_SLICE || instr->op == HLO_SCATTER)
    return spmd_placed_us(chooser->lower, instr, trial->tensors, d);
  double scan = spmd_scan_us(chooser->lower, instr, d, chunk, parts, row);
  if (scan >= 0) return scan;
  if (instr->op == HLO_CONCATENATE)
    return spmd_concatenate_us(chooser->lower, instr, trial->tensors[0]);
  if (!spmd_window_along(chooser->lower, instr, r, trial->tensors[r], d, own, &window)) return half;
  return spmd_window_us(chooser->lower, &window, spmd_local_size(trial->tensors[r], d, window.size),
                        row);
}

/* Cost of what result r fetches. Dimensions that are reversed together change places in one
 * permute.
 */
static double fetches_cost(const spmd_chooser_t *chooser, const trial_t *trial, int r) {
  double sum = 0, most = 0;
  for (int f = 0; f < chooser->rule->factor_count; f++) {
    if (!trial->axes[f].count || chooser->rule->factors[f].kind != SPMD_PERMUTATION) continue;
    double cost = fetch_cost(chooser, trial, r, f);
    sum += cost;
    most = fmax(most, cost);
  }
  return chooser->instr->op == HLO_REVERSE ? most : sum;
}

/* Cost of a result: what it fetches, and resharding to the wanted sharding. The next user may take
 * an elementwise result without resharding, so this counts a little less than resharding an
 * operand. */
static double result_cost(const spmd_chooser_t *chooser, const trial_t *trial, int r) {
  const spmd_sharding_t *sharding = trial->tensors[chooser->rule->operand_count + r];
  double share = hlo_op_is(chooser->instr->op, OP_ELEMENTWISE) ? NEXT_USER_SHARE : 1;
  if (!spmd_result_is_wanted(chooser->lower, chooser->instr, r)) return 0;
  return fetches_cost(chooser, trial, r) +
         share * spmd_move_us(chooser->lower, hlo_shape_leaf(chooser->instr->shape, r), sharding,
                              spmd_wanted_result(chooser->lower, chooser->instr, r));
}

/* The share of a result that is merged: of a sort, the elements that are read. */
static double merged_share(const spmd_chooser_t *chooser) {
  const hlo_instr_t *instr = chooser->instr;
  if (instr->op != HLO_SORT) return 1;
  int64_t d = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0];
  return (double)chooser->lower->sort_reads[instr->id] / (double)instr->operands[0]->shape->dims[d];
}

/* Cost of reducing partial results at once: all of them are gathered together. */
static double merge_cost(const spmd_chooser_t *chooser, const trial_t *trial) {
  double own = 0;
  if (spmd_leaves_partial(chooser->instr)) return 0;
  for (int r = 0; r < chooser->rule->result_count; r++) own += own_bytes(chooser, trial, r);
  own *= merged_share(chooser);
  return spmd_step_us(SPMD_ALL_GATHER, own, (double)spmd_axes_parts(trial->reduced));
}

static bool find_tensors(spmd_chooser_t *chooser, trial_t *trial) {
  const spmd_rule_t *rule = chooser->rule;
  bool partial = spmd_leaves_partial(chooser->instr);
  for (int t = 0; t < rule->operand_count + rule->result_count; t++) {
    bool is_result = t >= rule->operand_count;
    spmd_axes_t unreduced = is_result && partial ? trial->reduced : (spmd_axes_t){0};
    trial->tensors[t] = spmd_tensor_sharding(chooser->lower, rule, t, trial->axes, unreduced);
    if (!trial->tensors[t]) return false;
  }
  return true;
}

/* True if an earlier operand is the same array in the same sharding. */
static bool is_repeated(const spmd_chooser_t *chooser, const trial_t *trial, int k) {
  int operand, other;
  const hlo_instr_t *reader =
      spmd_reader_of(chooser->lower, chooser->instr, k, trial->tensors, &operand);
  for (int i = 0; i < k; i++)
    if (spmd_reader_of(chooser->lower, chooser->instr, i, trial->tensors, &other)
                ->operands[other] == reader->operands[operand] &&
        spmd_sharding_same_layout(trial->tensors[i], trial->tensors[k]))
      return true;
  return false;
}

/* True if a later product or gather takes the operand of this one, too. */
static bool is_shared(const spmd_chooser_t *chooser, const hlo_instr_t *operand) {
  hlo_opcode_t op = chooser->instr->op;
  const hlo_instr_t *last = chooser->lower->users[operand->id];
  bool reads_much = op == HLO_DOT || op == HLO_GATHER;
  return reads_much && last && last != chooser->instr && last->op == op;
}

/* For SPMD_SHARE_MOVES: the share of a slice in the cost of moving its operand, of which slices
 * take everything together: the others take it as it is then. */
static double slice_share(const spmd_chooser_t *chooser, const hlo_instr_t *operand) {
  const hlo_instr_t *instr = chooser->instr;
  spmd_lower_module_t *shared = chooser->lower->shared;
  int64_t all = hlo_shape_elements(operand->shape), part = hlo_shape_elements(instr->shape);
  if (instr->op != HLO_SLICE || part >= all || chooser->lower->sliced[operand->id] < all) return 1;
  shared->changes[SPMD_SHARE_MOVES]++;
  return shared->strategy == SPMD_SHARE_MOVES ? (double)part / (double)all : 1;
}

/* Cost of resharding operand k; less if a later operation may take it as it is then. */
static double operand_cost(const spmd_chooser_t *chooser, const trial_t *trial, int k) {
  int operand;
  const hlo_instr_t *reader =
      spmd_reader_of(chooser->lower, chooser->instr, k, trial->tensors, &operand);
  if (is_repeated(chooser, trial, k)) return 0;
  double cost = spmd_use_cost(chooser->lower, spmd_operand(chooser->lower, reader, operand),
                              trial->tensors[k]);
  if (cost == 0) return 0;
  double share = is_shared(chooser, reader->operands[operand]) ? SHARED_SHARE : 1;
  return share * slice_share(chooser, reader->operands[operand]) * cost;
}

/* For SPMD_SHARE_MOVES: what later products that take operands whole pay of gathering them. */
static double gathers_share(const spmd_chooser_t *chooser, const trial_t *trial) {
  double sum = 0;
  if (chooser->instr->op != HLO_DOT) return 0;
  for (int k = 0; k < chooser->rule->operand_count; k++) {
    const spmd_local_t *value = spmd_operand(chooser->lower, chooser->instr, k);
    if (!is_shared(chooser, chooser->instr->operands[k]) || is_repeated(chooser, trial, k) ||
        !spmd_sharding_is_replicated(trial->tensors[k]))
      continue;
    sum += SHARED_GATHER_SHARE * spmd_use_cost(chooser->lower, value, trial->tensors[k]);
  }
  return sum;
}

/* True if operand k is gathered and otherwise stays as it is defined. */
static bool is_gathered(const spmd_chooser_t *chooser, const trial_t *trial, int k) {
  const spmd_local_t *value = spmd_operand(chooser->lower, chooser->instr, k);
  const spmd_sharding_t *wanted = trial->tensors[k];
  if (value->recipe || !value->forms || value->forms->sharding->rank != wanted->rank) return false;
  for (int d = 0; d < wanted->rank; d++)
    if (!spmd_axes_is_prefix(wanted->dims[d].axes, value->forms->sharding->dims[d].axes))
      return false;
  return true;
}

/* True if the result needs no resharding. */
static bool gives_wanted(const spmd_chooser_t *chooser, const trial_t *trial) {
  const spmd_sharding_t *wanted = spmd_wanted_result(chooser->lower, chooser->instr, 0);
  return wanted && spmd_sharding_same_layout(trial->tensors[chooser->rule->operand_count], wanted);
}

/* Cost of all operands. Several gathers for a concatenation that is wanted so become one
 * instruction, as do those of its pieces (lower_concatenate.c): only the first has latency. */
static double operands_cost(const spmd_chooser_t *chooser, const trial_t *trial) {
  double sum = 0, latency = spmd_step_us(SPMD_ALL_GATHER, 0, 2);
  bool any = false, shares = chooser->instr->op == HLO_CONCATENATE && gives_wanted(chooser, trial);
  for (int k = 0; k < chooser->rule->operand_count; k++) {
    double cost = operand_cost(chooser, trial, k);
    sum += cost;
    if (!shares || cost <= latency || !is_gathered(chooser, trial, k)) continue;
    if (any) sum -= latency;
    any = true;
  }
  if (chooser->instr->op != HLO_CONCATENATE) return sum;
  sum -= spmd_runs_saving_us(chooser->lower, chooser->instr, trial->tensors[0]);
  return fmin(sum, spmd_whole_pieces_us(chooser->lower, chooser->instr, trial->tensors[0]));
}

/* True if an axis of a factor that must be whole cuts one with too few elements for it: some parts
 * would have none. */
static bool leaves_parts_empty(const spmd_chooser_t *chooser, const trial_t *trial) {
  for (int a = 0; a < chooser->atom_count; a++) {
    int f = chooser->assigned[a];
    bool is_own = f < 0;
    for (int i = 0; i < chooser->own_count[a]; i++) is_own |= chooser->candidates[a][i] == f;
    if (!is_own && spmd_axes_parts(trial->axes[f]) > chooser->rule->factors[f].size) return true;
  }
  return false;
}

/* Computes the shardings and cost of the current assignment; false: dimensions cannot be cut so. */
static bool try_assignment(spmd_chooser_t *chooser, trial_t *trial) {
  const spmd_rule_t *rule = chooser->rule;
  hr_arena_t *arena = chooser->lower->arena;
  trial->reduced = (spmd_axes_t){0};
  for (int f = 0; f < rule->factor_count; f++) {
    if (!axes_of_factor(chooser, f, &trial->axes[f])) return false;
    if (rule->factors[f].kind != SPMD_REDUCTION || !trial->axes[f].count) continue;
    if (spmd_emit_failed(&chooser->lower->emit,
                         spmd_axes_concat(arena, trial->reduced, trial->axes[f], &trial->reduced)))
      return false;
  }
  if (leaves_parts_empty(chooser, trial) || !find_tensors(chooser, trial)) return false;
  trial->moved = merge_cost(chooser, trial) + operands_cost(chooser, trial);
  for (int r = 0; r < rule->result_count; r++) trial->moved += result_cost(chooser, trial, r);
  trial->cost = trial->moved + spmd_work_us(local_work(chooser, trial));
  trial->shared = gathers_share(chooser, trial);
  return true;
}

/* True if the assignment has a candidate that no source has. `digits` are indices of candidates. */
static bool cuts_other(const spmd_chooser_t *chooser, const int *digits) {
  for (int a = 0; a < chooser->atom_count; a++)
    if (digits[a] >= chooser->own_count[a] && digits[a] < chooser->candidate_count[a]) return true;
  return false;
}

/* The next assignment in counting order; false after the last. */
static bool next_assignment(spmd_chooser_t *chooser, int *digits) {
  for (int a = 0; a < chooser->atom_count; a++) {
    int count = chooser->candidate_count[a];
    digits[a] = digits[a] < count ? digits[a] + 1 : 0;
    chooser->assigned[a] = digits[a] < count ? chooser->candidates[a][digits[a]] : -1;
    if (digits[a]) return true;
  }
  return false;
}

static void limit_candidates(spmd_chooser_t *chooser) {
  double trials = 1;
  for (int a = 0; a < chooser->atom_count; a++) trials *= chooser->candidate_count[a] + 1;
  for (int limit = 2; trials > MAX_TRIALS && limit > 0; limit--) {
    trials = 1;
    for (int a = 0; a < chooser->atom_count; a++) {
      if (chooser->candidate_count[a] > limit) chooser->candidate_count[a] = limit;
      trials *= chooser->candidate_count[a] + 1;
    }
  }
}

/* Of the cheapest assignment and the cheapest one for SPMD_SHARE_MOVES, the one that the strategy
 * takes. */
static void take_strategy(spmd_chooser_t *chooser, const trial_t *sharing, trial_t *best) {
  spmd_lower_module_t *module = chooser->lower->shared;
  if (sharing->cost - sharing->shared >= best->cost - best->shared) return;
  module->changes[SPMD_SHARE_MOVES]++;
  if (module->strategy == SPMD_SHARE_MOVES) *best = *sharing;
}

/* Tries all assignments, the one of all first candidates first; keeps the cheapest. */
static void search(spmd_chooser_t *chooser, trial_t *best) {
  int digits[MAX_ATOMS] = {0}, trials = 0;
  bool found = false;
  static _Thread_local trial_t trial, sharing;
  limit_candidates(chooser);
  for (int a = 0; a < chooser->atom_count; a++)
    chooser->assigned[a] = chooser->candidate_count[a] ? chooser->candidates[a][0] : -1;
  do {
    bool possible = try_assignment(chooser, &trial);
    if (chooser->lower->emit.b.status) return;
    trial.cuts_other = cuts_other(chooser, digits);
    if (possible && (!found || trial.cost < best->cost)) *best = trial;
    if (possible && (!found || trial.cost - trial.shared < sharing.cost - sharing.shared))
      sharing = trial;
    found |= possible;
    if (!trials && possible && trial.moved == 0) return;
  } while (next_assignment(chooser, digits) && ++trials < MAX_TRIALS);
  if (found) take_strategy(chooser, &sharing, best);
}

static hr_status_t keep(spmd_chooser_t *chooser, const trial_t *best, spmd_choice_t *out_choice) {
  const spmd_rule_t *rule = chooser->rule;
  hr_arena_t *arena = chooser->lower->arena;
  size_t tensors = (size_t)(rule->operand_count + rule->result_count);
  void *axes, *shardings;
  HR_TRY(hr_arena_copy(arena, best->axes, (size_t)rule->factor_count * sizeof *best->axes, &axes));
  HR_TRY(hr_arena_copy(arena, best->tensors, tensors * sizeof *best->tensors, &shardings));
  *out_choice = (spmd_choice_t){.instr = chooser->instr,
                                .rule = rule,
                                .axes = axes,
                                .tensors = shardings,
                                .reduced = best->reduced};
  if (best->cuts_other) chooser->lower->shared->changes[SPMD_GATHER_WHOLE]++;
  return NULL;
}

/* Of two rules of equal cost, the first one is taken. */
hr_status_t spmd_choose(spmd_lower_t *lower, const hlo_instr_t *instr, const spmd_rule_t *rule,
                        spmd_choice_t *out_choice) {
  static _Thread_local spmd_chooser_t chooser;
  static _Thread_local trial_t best;
  double cost = INFINITY;
  for (; rule && cost > 0; rule = rule->alternative) {
    chooser =
        (spmd_chooser_t){.lower = lower, .instr = instr, .rule = rule, .op = spmd_op_of(instr)};
    HR_TRY(spmd_find_sources(&chooser));
    spmd_find_atoms(&chooser);
    search(&chooser, &best);
    if (lower->emit.b.status) return hlo_builder_finish(&lower->emit.b);
    if (best.cost < cost) HR_TRY(keep(&chooser, &best, out_choice));
    cost = fmin(cost, best.cost);
  }
  return NULL;
}
