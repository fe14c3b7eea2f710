/* Candidates: which clusters may absorb a producer.
 *
 * A cluster's users of the producer tell at which elements it is needed (fusion_need): at the
 * loop's own index, per row, or at computed indices (SOURCE), for which evaluations are counted.
 * The cluster must have a fusion form with the producer as a member, if need be over another
 * iteration space: absorbing a reduction turns a loop into one of rows or columns. Limits: members,
 * inputs, one large transposed read. */
#include "passes/fuse/fuse_candidate.h"

#include "ops/query/codegen_support.h"
#include "passes/fuse/fuse_cost.h"
#include "passes/lib/pass_match.h"

static bool has_control(const hlo_instr_t *instr) {
  return instr->extra && instr->extra->control_count;
}

bool fuse_is_fusible(const fuse_graph_t *graph, const hlo_instr_t *instr) {
  op_codegen_t kind = op_codegens[instr->op];
  if (kind == CODEGEN_NONE || kind == CODEGEN_STRUCTURE || graph->nodes[instr->id].free ||
      has_control(instr))
    return false;
  return op_can_codegen(instr) && fusion_count(fusion_root_shape(instr)) > 0;
}

/* --- uses --- */

/* The entry of a cluster in the list; valid until the next one is added. */
static hr_status_t find_or_add_candidate(fuse_producer_t *producer, fuse_cluster_t *cluster,
                                         fuse_candidate_t **out_candidate) {
  if (!cluster->seen) {
    HR_VEC_PUSH(&producer->list, (fuse_candidate_t){.cluster = cluster, .good = true});
    cluster->seen = (uint32_t)producer->list.count;
  }
  *out_candidate = &producer->list.data[cluster->seen - 1];
  return NULL;
}

/* Counts evaluations: users at one index share them, users at different indices add up. */
static void count_evals(fuse_candidate_t *candidate, const fuse_member_t *user, int k) {
  const hlo_instr_t *instr = user->instr;
  double count = (double)fusion_count(instr->shape),
         in_line_evals = user->role & ~FUSION_SOURCE ? count : 0;
  bool same_index = fusion_need(&fuse_loop_space, instr, FUSION_FULL, k) == FUSION_FULL;
  uint32_t at = same_index ? user->at : fuse_operand_index(instr, k);
  double evals = same_index ? user->evals
                            : fuse_round_to_lanes(fuse_operand_evals(
                                  instr, k, user->evals + in_line_evals, user->dilations > 0));
  uint32_t places = user->places ? user->places : 1;
  bool is_shared = candidate->at == at;
  if (!is_shared || places > candidate->places)
    candidate->places = is_shared ? places : candidate->places + places;
  if (is_shared && evals <= candidate->evals) return;
  if (candidate->at && candidate->at != at) at = fuse_mixed_index(instr);
  candidate->evals = at == candidate->at ? evals : candidate->evals + evals;
  candidate->at = at;
}

static void count_dilations(fuse_candidate_t *candidate, const fuse_member_t *user) {
  int above = user->dilations + (fuse_is_dilating(user->instr) ? 1 : 0);
  if (above > candidate->dilations) candidate->dilations = above;
}

static hr_status_t record_use(fuse_producer_t *producer, const fuse_member_t *user) {
  fuse_candidate_t *candidate;
  HR_TRY(find_or_add_candidate(producer, user->cluster, &candidate));
  for (int k = 0; k < user->instr->operand_count; k++) {
    if (user->instr->operands[k] != producer->instr) continue;
    uint8_t need = fusion_need(user->cluster->space, user->instr, user->role, k);
    candidate->good &= need != 0;
    candidate->need |= need;
    if (need & FUSION_SOURCE) count_evals(candidate, user, k);
  }
  count_dilations(candidate, user);
  if (user->wasted > candidate->wasted) candidate->wasted = user->wasted;
  return NULL;
}

static hr_status_t record_uses(fuse_producer_t *producer) {
  const fuse_graph_t *graph = producer->graph;
  const hlo_instr_t *instr = producer->instr, *before = NULL;
  producer->outside = instr == graph->rewrite->computation->root;
  for (uint32_t u = graph->users.first[instr->id]; u < graph->users.first[instr->id + 1]; u++) {
    const hlo_instr_t *user = graph->users.users[u];
    const fuse_node_t *node = &graph->nodes[user->id];
    if (user == before) continue;
    before = user;
    producer->outside |= node->outside || !node->members;
    for (const fuse_member_t *m = node->members; m; m = m->other) HR_TRY(record_use(producer, m));
  }
  return NULL;
}

double fuse_candidate_evals(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  double count = (double)fusion_count(producer->instr->shape);
  double in_line_evals = candidate->need & ~FUSION_SOURCE ? count : 0;
  return count == 1 ? 1 : in_line_evals + candidate->evals;
}

/* --- decision --- */

static bool row_fits(const fusion_space_t *space, const hlo_instr_t *reduce) {
  const hlo_shape_t *shape = reduce->operands[0]->shape;
  return space->full_count / space->outer_count * (int64_t)hr_dtype_bytes(shape->dtype) <=
         FUSE_ROW_BYTES;
}

/* Is a value that may depend on a reduction broadcast to whole rows? Each row is then passed over
 * more than once. */
static bool needs_row_twice(const fuse_cluster_t *cluster, const fuse_graph_t *graph) {
  for (const fuse_member_t *m = cluster->first; m; m = m->next) {
    bool spreads = m->instr->op == HLO_BROADCAST && (graph->roles[m->instr->id] & FUSION_FULL);
    if (spreads && fusion_need(cluster->space, m->instr, FUSION_FULL, 0) == FUSION_OUTER)
      return true;
  }
  return false;
}

static bool broadcasts_to_rows(const fuse_graph_t *graph, const fuse_cluster_t *cluster,
                               const fusion_space_t *space) {
  fuse_cluster_t with = *cluster;
  with.space = space;
  return needs_row_twice(&with, graph);
}

/* Does the cluster have a form over `space`, by rows or over the remaining dimensions, with the
 * producer as an outer value? */
static bool can_run_over(fuse_producer_t *producer, fuse_candidate_t *candidate,
                         const hlo_instr_t *reduce, const fusion_space_t *space) {
  const fuse_cluster_t *cluster = candidate->cluster;
  if (!fuse_derive(producer->graph, cluster, producer->instr, space)) return false;
  if (producer->graph->roles[producer->instr->id] != FUSION_OUTER) return false;
  return row_fits(space, reduce) || !broadcasts_to_rows(producer->graph, cluster, space);
}

/* Would functions of the results of short rows be computed one by one, while a loop of their own
 * computes them in lanes? Roles are those over `space`. */
static bool computes_singly(const fuse_graph_t *graph, const fuse_cluster_t *cluster,
                            const fusion_space_t *space) {
  double ns = 0;
  if (space->full_count > FUSE_SHORT_ROW * space->outer_count) return false;
  for (const fuse_member_t *m = cluster->first; m; m = m->next) {
    if (graph->roles[m->instr->id] != FUSION_OUTER) return false;
    if (fuse_is_expensive(m->instr)) ns += fuse_element_ns(m->instr);
  }
  double bytes = 4.0 * (double)space->outer_count;
  return (double)space->outer_count * ns * FUSE_SCALAR_LANES >
         FUSE_STEP_NS + fuse_write_ns(bytes) + fuse_read_ns(bytes);
}

static hr_status_t accept_space(fuse_producer_t *producer, fuse_candidate_t *candidate,
                                const fusion_space_t *space) {
  fusion_space_t *kept;
  candidate->need = FUSION_OUTER;
  candidate->at = 0;
  candidate->places = 0;
  candidate->evals = 0;
  candidate->dilations = 0;
  candidate->wasted = 0;
  if (fuse_is_input(candidate->cluster)) return NULL;
  HR_TRY(HR_NEW(producer->graph->arena, &kept));
  *kept = *space;
  candidate->space = kept;
  return NULL;
}

static hr_status_t try_reduction(fuse_producer_t *producer, fuse_candidate_t *candidate,
                                 const hlo_instr_t *reduce, bool *out_good) {
  const fuse_cluster_t *cluster = candidate->cluster;
  fusion_space_t space;
  *out_good = false;
  if (!fusion_space_of(reduce, &space) || space.full_count == space.outer_count) return NULL;
  if (fuse_is_input(cluster) && !fusion_space_equal(&space, cluster->space)) return NULL;
  if (!fuse_is_input(cluster) && ++candidate->cluster->tries > FUSE_MAX_TRIES) return NULL;
  if (!can_run_over(producer, candidate, reduce, &space)) return NULL;
  if (!fuse_is_input(cluster) && computes_singly(producer->graph, cluster, &space)) return NULL;
  *out_good = true;
  return accept_space(producer, candidate, &space);
}

enum { MAX_LOOKBACK = 12 };

/* The reduction from which a value is computed element by element, if it is close. */
static const hlo_instr_t *reduction_through(const hlo_instr_t *value, int *left) {
  const hlo_instr_t *found = NULL;
  if (value->op == HLO_REDUCE) return value;
  if (--*left < 0 ||
      (op_codegens[value->op] != CODEGEN_ELEMENTWISE && op_codegens[value->op] != CODEGEN_INDEX))
    return NULL;
  if (op_codegens[value->op] == CODEGEN_INDEX && !fusion_keeps_order(value)) return NULL;
  for (int k = 0; k < value->operand_count && !found; k++)
    if (fusion_count(value->operands[k]->shape) == fusion_count(value->shape))
      found = reduction_through(value->operands[k], left);
  return found;
}

/* A value computed from a reduction and broadcast to a loop turns the loop into one of rows, so
 * that it is computed once per row; the reduction is processed soon after. */
static hr_status_t try_future_reduction(fuse_producer_t *producer, fuse_candidate_t *candidate) {
  int left = MAX_LOOKBACK;
  bool good;
  if (fuse_is_input(candidate->cluster) || candidate->need != FUSION_SOURCE) return NULL;
  const hlo_instr_t *reduce = reduction_through(producer->instr, &left);
  return reduce && fuse_is_fusible(producer->graph, reduce)
             ? try_reduction(producer, candidate, reduce, &good)
             : NULL;
}

double fuse_producer_bytes(const fuse_graph_t *graph, const hlo_instr_t *instr) {
  while (instr->op == HLO_BROADCAST && !graph->nodes[instr->id].outside) instr = instr->operands[0];
  return graph->nodes[instr->id].free ? 0 : fuse_shape_bytes(instr->shape);
}

static int count_large_operands(const fuse_graph_t *graph, const hlo_instr_t *instr) {
  int count = 0;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    count += fuse_producer_bytes(graph, operand) > FUSE_TRANSPOSE_BYTES;
  }
  return count;
}

/* One operand of a loop may be read across rows, and makes the loop run in tiles; none in
 * reductions. */
static bool transpose_fits(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  const fuse_cluster_t *cluster = candidate->cluster;
  if (fuse_is_transposed(producer->instr)) return !cluster->transposes && !fuse_is_input(cluster);
  bool below = cluster->transposes && candidate->need & FUSION_SOURCE;
  return !below || count_large_operands(producer->graph, producer->instr) < 2;
}

static bool has_capacity(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  const fuse_cluster_t *cluster = candidate->cluster;
  const hlo_instr_t *instr = producer->instr;
  bool many = instr->op == HLO_CONCATENATE && instr->operand_count > FUSE_MAX_PIECES;
  return !many && cluster->member_count < FUSE_MAX_MEMBERS &&
         cluster->input_count < FUSE_MAX_INPUTS;
}

/* Is the producer evaluated at few indices? Its code is repeated for each, for example for pieces
 * that are moved to different positions. */
static bool has_few_places(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  return op_codegens[producer->instr->op] == CODEGEN_INDEX ||
         candidate->places <= FUSE_MAX_PLACES || fusion_count(producer->instr->shape) == 1;
}

/* Elements that a reversal keeps in order, next to each other. */
static int64_t reversed_run(const hlo_instr_t *reverse) {
  hr_ints_t dims = hlo_attr_ints(reverse, HLO_ATTR_DIMENSIONS);
  int64_t run = 1;
  for (int d = reverse->shape->rank; d-- > 0;) {
    for (int64_t i = 0; i < dims.count; i++)
      if (dims.data[i] == d && reverse->shape->dims[d] > 1) return run;
    run *= reverse->shape->dims[d];
  }
  return run;
}

/* Does the cluster take windows, whose starts are known at run time only, of arrays that it pads or
 * joins, with `part` as a part? Which lanes are inside of which part is then known at run time
 * only, too. */
static bool takes_windows_of_parts(const fuse_cluster_t *cluster, const hlo_instr_t *part) {
  bool has_parts = false, has_windows = false;
  for (const fuse_member_t *m = cluster->first; m; m = m->next) {
    bool is_joined = m->instr->op == HLO_PAD || m->instr->op == HLO_CONCATENATE;
    has_parts |= is_joined && fusion_count(m->instr->shape) >= fusion_count(part->shape);
    has_windows |= m->instr->op == HLO_GATHER || m->instr->op == HLO_DYNAMIC_SLICE;
  }
  return has_parts && has_windows;
}

/* Would the value be computed for lanes of each part, most of which are then left out? In loops
 * such as those that roll an array, each iteration fused with the next one would be computed at
 * twice as many places. */
static bool is_computed_by_parts(const fuse_producer_t *producer,
                                 const fuse_candidate_t *candidate) {
  return op_codegens[producer->instr->op] == CODEGEN_ELEMENTWISE &&
         candidate->need & FUSION_SOURCE &&
         fuse_shape_bytes(producer->instr->shape) >= FUSE_NARROW_BYTES &&
         takes_windows_of_parts(candidate->cluster, producer->instr);
}

/* Would elements be read lane by lane: narrow ones from pieces of a concatenation, or short runs in
 * reverse, if they are narrow or only some lanes are inside? That costs more than to write the
 * whole and to read it again. */
static bool scatters_lanes(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  const hlo_instr_t *instr = producer->instr;
  bool is_narrow = hr_dtype_bytes(instr->shape->dtype) < FUSE_NARROW;
  if (fuse_shape_bytes(instr->shape) < FUSE_NARROW_BYTES) return false;
  if (instr->op == HLO_CONCATENATE) return is_narrow && candidate->need == FUSION_SOURCE;
  return instr->op == HLO_REVERSE && reversed_run(instr) < FUSE_LANES &&
         (is_narrow || takes_windows_of_parts(candidate->cluster, instr));
}

/* The value that the computation's result has in place of this element of its parameter; NULL: it
 * is no such element. */
static const hlo_instr_t *next_value(const hlo_instr_t *element, const hlo_instr_t *root) {
  bool is_element = element->op == HLO_GET_TUPLE_ELEMENT && root->op == HLO_TUPLE &&
                    element->operands[0]->op == HLO_PARAMETER;
  int64_t index = is_element ? hlo_attr_int(element, HLO_ATTR_INDEX) : root->operand_count;
  return index < root->operand_count ? root->operands[index] : NULL;
}

/* Does the cluster compute the next value of a loop's array, of which the producer takes a small
 * part? Only without the part can the array be overwritten while it is read. */
static bool needs_array_whole(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  const hlo_instr_t *instr = producer->instr;
  if (!pass_is_small_part(instr)) return false;
  const hlo_instr_t *next =
      next_value(instr->operands[0], producer->graph->rewrite->computation->root);
  return next && next->op != HLO_DYNAMIC_UPDATE_SLICE &&
         fuse_member_of(producer->graph, next, candidate->cluster);
}

enum { MAX_PARTS = 2, MAX_SEARCHED = 64 };

/* Parts of an array, other than the one that an update overwrites. */
typedef struct other_parts {
  const hlo_instr_t *update;
  const hlo_instr_t *parts[MAX_PARTS];
  int count; /* MAX_PARTS: at least so many */
  int left;  /* instructions that may still be looked at */
} other_parts_t;

/* Finds those from which `instr` is computed; what updates write is read from memory, as no cluster
 * takes them as producers. */
static void find_other_parts(const fuse_graph_t *graph, const hlo_instr_t *instr,
                             other_parts_t *found) {
  const hlo_instr_t *over = fuse_find_storage(found->update->operands[0]);
  for (int k = 0; k < instr->operand_count && found->count < MAX_PARTS && found->left > 0; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    found->left--;
    if (fuse_find_storage(operand) != over) {
      bool is_computed =
          fuse_is_fusible(graph, operand) && op_codegens[operand->op] != CODEGEN_UPDATE;
      if (is_computed) find_other_parts(graph, operand, found);
      continue;
    }
    bool is_known = found->count && found->parts[0] == instr;
    if (!is_known && !fusion_reads_updated(found->update, instr))
      found->parts[found->count++] = instr;
  }
}

/* Is the producer what an update writes over an array, computed from several other parts of that
 * array? Each of them would have to be copied before the update, which costs more than to write the
 * producer and to copy it to its place. */
static bool is_cheaper_apart(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  if (!candidate->cluster->update_count) return false;
  for (const fuse_member_t *m = candidate->cluster->first; m; m = m->next) {
    other_parts_t found = {.update = m->instr, .left = MAX_SEARCHED};
    if (op_codegens[m->instr->op] != CODEGEN_UPDATE || m->instr->operands[1] != producer->instr)
      continue;
    find_other_parts(producer->graph, producer->instr, &found);
    if (found.count == MAX_PARTS) return true;
  }
  return false;
}

/* Would a transposed array be read across its rows again and again, as a broadcast does? */
static bool repeats_transposed(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  double reads = candidate->evals / (double)fusion_count(producer->instr->shape);
  return candidate->need & FUSION_SOURCE && reads >= FUSE_TRANSPOSE_READS &&
         fuse_moves_last(producer->instr);
}

/* Decides whether the candidate may take the producer: candidate->good. */
static hr_status_t decide_candidate(fuse_producer_t *producer, fuse_candidate_t *candidate) {
  const hlo_instr_t *instr = producer->instr;
  candidate->good &=
      op_codegens[instr->op] != CODEGEN_UPDATE && has_capacity(producer, candidate) &&
      has_few_places(producer, candidate) && !scatters_lanes(producer, candidate) &&
      !is_computed_by_parts(producer, candidate) && !needs_array_whole(producer, candidate) &&
      !is_cheaper_apart(producer, candidate) && !repeats_transposed(producer, candidate) &&
      !fuse_overwrites_input(candidate->cluster, instr, candidate->need);
  if (!candidate->good) return NULL;
  if (instr->op == HLO_REDUCE) return try_reduction(producer, candidate, instr, &candidate->good);
  HR_TRY(try_future_reduction(producer, candidate));
  candidate->good = transpose_fits(producer, candidate);
  return NULL;
}

hr_status_t fuse_producer_examine(fuse_producer_t *producer) {
  producer->list.count = 0;
  hr_status_t st = record_uses(producer);
  for (size_t c = 0; c < producer->list.count; c++) producer->list.data[c].cluster->seen = 0;
  for (size_t c = 0; c < producer->list.count && !st; c++)
    st = decide_candidate(producer, &producer->list.data[c]);
  return st;
}
