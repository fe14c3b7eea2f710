#include "passes/fuse_absorb.h"

#include "ops/emit.h"
#include "passes/fuse_cost.h"
#include "passes/fuse_merge.h"

/* A cluster that uses the producer that is being looked at. */
typedef struct fuse_candidate {
  fuse_cluster_t *cluster;
  uint8_t need;                /* where it needs it */
  bool good;                   /* it may take it */
  const fusion_space_t *space; /* what the cluster, a loop until now, runs over then; NULL: no change */
  uint32_t at;                 /* at which index it is read as a SOURCE */
  double evals;                /* and how often */
  double wasted;               /* by users */
} fuse_candidate_t;

typedef struct absorber {
  fuse_graph_t *graph;
  hlo_instr_t *producer;
  HR_VEC(fuse_candidate_t) list;
  bool outside;                  /* some user is no member of a cluster */
  bool transparent;              /* only another view of its operand: costs nothing wherever it is */
} absorber_t;

static bool has_control(const hlo_instr_t *instr) { return instr->extra && instr->extra->control_count; }

bool fuse_is_fusible(const fuse_graph_t *graph, const hlo_instr_t *instr) {
  op_emit_t kind = op_emits[instr->op];
  if (kind == EMIT_NONE || kind == EMIT_STRUCTURE || graph->nodes[instr->id].free || has_control(instr)) return false;
  return op_can_emit(instr) && fusion_count(fusion_root_shape(instr)) > 0;
}

/* --- who uses it, and where --- */

/* Good until the next one is entered. */
static hr_status_t candidate_of(absorber_t *absorb, fuse_cluster_t *cluster, fuse_candidate_t **out_candidate) {
  if (!cluster->seen) {
    HR_VEC_PUSH(&absorb->list, (fuse_candidate_t){.cluster = cluster, .good = true});
    cluster->seen = (uint32_t)absorb->list.count;
  }
  *out_candidate = &absorb->list.data[cluster->seen - 1];
  return NULL;
}

/* Elements that users evaluate at the same index are the same ones; users at other indices look at others. */
static void count_evals(fuse_candidate_t *candidate, const fuse_member_t *user, int k) {
  const hlo_instr_t *instr = user->instr;
  double count = (double)fusion_count(instr->shape), in_line = user->role & ~FUSION_SOURCE ? count : 0;
  bool same_index = fusion_need(&fuse_loop_space, instr, FUSION_FULL, k) == FUSION_FULL;
  uint32_t at = same_index ? user->at : fuse_index_below(instr, k);
  double evals = same_index ? user->evals : fuse_evals_below(instr, k, user->evals + in_line);
  if (candidate->at == at && evals <= candidate->evals) return;
  if (candidate->at && candidate->at != at) at = fuse_index_mixed(instr);
  candidate->evals = at == candidate->at ? evals : candidate->evals + evals;
  candidate->at = at;
}

static hr_status_t note_use(absorber_t *absorb, const fuse_member_t *user) {
  fuse_candidate_t *candidate;
  HR_TRY(candidate_of(absorb, user->cluster, &candidate));
  for (int k = 0; k < user->instr->operand_count; k++) {
    if (user->instr->operands[k] != absorb->producer) continue;
    uint8_t need = fusion_need(user->cluster->space, user->instr, user->role, k);
    candidate->good &= need != 0;
    candidate->need |= need;
    if (need & FUSION_SOURCE) count_evals(candidate, user, k);
  }
  if (user->wasted > candidate->wasted) candidate->wasted = user->wasted;
  return NULL;
}

static hr_status_t note_uses(absorber_t *absorb) {
  const fuse_graph_t *graph = absorb->graph;
  const hlo_instr_t *producer = absorb->producer, *before = NULL;
  absorb->outside = producer == graph->rewrite->computation->root;
  for (uint32_t u = graph->users.first[producer->id]; u < graph->users.first[producer->id + 1]; u++) {
    const hlo_instr_t *user = graph->users.users[u];
    const fuse_node_t *node = &graph->nodes[user->id];
    if (user == before) continue;
    before = user;
    absorb->outside |= node->outside || !node->members;
    for (const fuse_member_t *m = node->members; m; m = m->other) HR_TRY(note_use(absorb, m));
  }
  return NULL;
}

static double evals_of(const absorber_t *absorb, const fuse_candidate_t *candidate) {
  double count = (double)fusion_count(absorb->producer->shape);
  double in_line = candidate->need & ~FUSION_SOURCE ? count : 0;
  return count == 1 ? 1 : in_line + candidate->evals;
}

/* --- may it? --- */

static bool row_fits(const fusion_space_t *space, const hlo_instr_t *reduce) {
  const hlo_shape_t *shape = reduce->operands[0]->shape;
  return space->full_count / space->outer_count * (int64_t)hr_dtype_bytes(shape->dtype) <= FUSE_ROW_BYTES;
}

/* Is anything broadcast to whole rows that may depend on a reduction? Then a row is passed over more than once. */
static bool uses_rows_again(const fuse_cluster_t *cluster, const fuse_graph_t *graph) {
  for (const fuse_member_t *m = cluster->first; m; m = m->next) {
    bool spreads = m->instr->op == HLO_BROADCAST && (graph->roles[m->instr->id] & FUSION_FULL);
    if (spreads && fusion_need(cluster->space, m->instr, FUSION_FULL, 0) == FUSION_OUTER) return true;
  }
  return false;
}

static bool spreads_to_rows(const fuse_graph_t *graph, const fuse_cluster_t *cluster, const fusion_space_t *space) {
  fuse_cluster_t with = *cluster;
  with.space = space;
  return uses_rows_again(&with, graph);
}

/* Can all of the cluster run over `space`, by rows or by what is left of them, with the producer as an outer value? */
static bool runs_over(absorber_t *absorb, fuse_candidate_t *candidate, const hlo_instr_t *reduce,
                      const fusion_space_t *space) {
  const fuse_cluster_t *cluster = candidate->cluster;
  if (cluster->update_count || !fuse_derive(absorb->graph, cluster, absorb->producer, space)) return false;
  if (absorb->graph->roles[absorb->producer->id] != FUSION_OUTER) return false;
  return row_fits(space, reduce) || !spreads_to_rows(absorb->graph, cluster, space);
}

static hr_status_t keep_space(absorber_t *absorb, fuse_candidate_t *candidate, const fusion_space_t *space) {
  fusion_space_t *kept;
  candidate->need = FUSION_OUTER;
  candidate->at = 0;
  candidate->evals = candidate->wasted = 0;
  if (fuse_is_input(candidate->cluster)) return NULL;
  HR_TRY(HR_NEW(absorb->graph->arena, &kept));
  *kept = *space;
  candidate->space = kept;
  return NULL;
}

static hr_status_t try_reduction(absorber_t *absorb, fuse_candidate_t *candidate, const hlo_instr_t *reduce,
                                 bool *out_good) {
  const fuse_cluster_t *cluster = candidate->cluster;
  fusion_space_t space;
  *out_good = false;
  if (!fusion_space_of(reduce, &space) || space.full_count == space.outer_count) return NULL;
  if (fuse_is_input(cluster) && !fusion_space_equal(&space, cluster->space)) return NULL;
  if (!fuse_is_input(cluster) && ++candidate->cluster->tries > FUSE_MOST_TRIES) return NULL;
  if (!runs_over(absorb, candidate, reduce, &space)) return NULL;
  *out_good = true;
  return keep_space(absorb, candidate, &space);
}

enum { MOST_LOOKED_BACK = 12 };

/* The reduction that a value is computed from element by element, if it is near. */
static const hlo_instr_t *reduction_behind(const hlo_instr_t *value, int *left) {
  const hlo_instr_t *found = NULL;
  if (value->op == HLO_REDUCE) return value;
  if (--*left < 0 || (op_emits[value->op] != EMIT_ELEMENTWISE && op_emits[value->op] != EMIT_INDEX)) return NULL;
  if (op_emits[value->op] == EMIT_INDEX && !fusion_keeps_order(value)) return NULL;
  for (int k = 0; k < value->operand_count && !found; k++)
    if (fusion_count(value->operands[k]->shape) == fusion_count(value->shape))
      found = reduction_behind(value->operands[k], left);
  return found;
}

/* What comes from a reduction and is broadcast to a loop makes the loop one of rows, so that it is computed once a row;
 * the reduction will be looked at soon. */
static hr_status_t foresee_reduction(absorber_t *absorb, fuse_candidate_t *candidate) {
  const hlo_instr_t *producer = absorb->producer;
  int left = MOST_LOOKED_BACK;
  bool good;
  if (fuse_is_input(candidate->cluster) || candidate->need != FUSION_SOURCE) return NULL;
  const hlo_instr_t *reduce = reduction_behind(producer, &left);
  return reduce && fuse_is_fusible(absorb->graph, reduce) ? try_reduction(absorb, candidate, reduce, &good) : NULL;
}

static int big_operands(const fuse_graph_t *graph, const hlo_instr_t *instr) {
  int count = 0;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    count += !graph->nodes[operand->id].free && fuse_bytes(operand->shape) > FUSE_TURN_BYTES;
  }
  return count;
}

/* Reading across rows: one such operand in a loop, which goes in tiles then; none in reductions. */
static bool turning_fits(const absorber_t *absorb, const fuse_candidate_t *candidate) {
  const fuse_cluster_t *cluster = candidate->cluster;
  if (fuse_turns(absorb->producer)) return !cluster->turns && !fuse_is_input(cluster);
  bool below = cluster->turns && candidate->need & FUSION_SOURCE;
  return !below || big_operands(absorb->graph, absorb->producer) < 2;
}

static bool has_room(const absorber_t *absorb, const fuse_candidate_t *candidate) {
  const fuse_cluster_t *cluster = candidate->cluster;
  const hlo_instr_t *producer = absorb->producer;
  bool many = producer->op == HLO_CONCATENATE && producer->operand_count > FUSE_MOST_PIECES;
  return !many && cluster->member_count < FUSE_MOST_MEMBERS && cluster->input_count < FUSE_MOST_INPUTS;
}

/* May the candidate take the producer? Says so in candidate->good. */
static hr_status_t look_at(absorber_t *absorb, fuse_candidate_t *candidate) {
  const hlo_instr_t *producer = absorb->producer;
  candidate->good &= op_emits[producer->op] != EMIT_UPDATE && has_room(absorb, candidate) &&
                     !fuse_clobbers(candidate->cluster, producer, candidate->need);
  if (!candidate->good) return NULL;
  if (producer->op == HLO_REDUCE) return try_reduction(absorb, candidate, producer, &candidate->good);
  HR_TRY(foresee_reduction(absorb, candidate));
  candidate->good = turning_fits(absorb, candidate);
  return NULL;
}

/* --- is it worth it? --- */

enum { MOST_CHAINED = 48 };

/* An element of it with what it is computed from that nothing else uses: that would come along. */
static double chain_ns(const fuse_graph_t *graph, const hlo_instr_t *instr, int *left) {
  double ns = fuse_element_ns(instr);
  for (int k = 0; k < instr->operand_count && --*left > 0; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    bool alike = hlo_shape_is_array(operand->shape) && fusion_count(operand->shape) == fusion_count(instr->shape);
    if (alike && fuse_is_fusible(graph, operand) && operand->op != HLO_REDUCE) ns += chain_ns(graph, operand, left);
  }
  return ns;
}

/* What it costs to evaluate elements more often than once, here and above, and to have the code more than once. */
static double waste_in(const absorber_t *absorb, const fuse_candidate_t *candidate, double copies) {
  double count = (double)fusion_count(absorb->producer->shape), more = evals_of(absorb, candidate) - count;
  double code = copies > 1 && !absorb->transparent ? FUSE_COPY_NS : 0;
  int left = count > FUSE_FEW_ELEMENTS ? MOST_CHAINED : 0;
  if (more > 0) return candidate->wasted + more * chain_ns(absorb->graph, absorb->producer, &left) + code;
  return candidate->wasted + count * (copies - 1) / copies * fuse_element_ns(absorb->producer) + code;
}

/* A function, more than once an element: only of a handful of elements. */
static bool is_computed_often(const absorber_t *absorb, const fuse_candidate_t *candidate) {
  double count = (double)fusion_count(absorb->producer->shape), more = evals_of(absorb, candidate) - count;
  if (!fuse_is_expensive(absorb->producer) || more <= 0.05 * count) return false;
  return more * fuse_element_ns(absorb->producer) > FUSE_STEP_NS / 4;
}

/* As the only user: nothing is written nor read again, for the price of evaluating some elements more often. */
static bool is_worth_absorbing(const absorber_t *absorb, const fuse_candidate_t *candidate) {
  if (absorb->producer->op == HLO_REDUCE || absorb->transparent) return true;
  double bytes = fuse_bytes(absorb->producer->shape);
  if (is_computed_often(absorb, candidate)) return false;
  return waste_in(absorb, candidate, 1) <= fuse_write_ns(bytes) + fuse_read_ns(bytes) + FUSE_STEP_NS;
}

enum { MOST_LOOKED_AT = 16, MOST_JOINED = 8 }; /* users of an operand; clusters that are tried with each other */

static bool is_read_by(const fuse_graph_t *graph, const hlo_instr_t *instr, const fuse_cluster_t *cluster) {
  uint32_t first = graph->users.first[instr->id], last = graph->users.first[instr->id + 1];
  if (last > first + MOST_LOOKED_AT) last = first + MOST_LOOKED_AT;
  for (uint32_t u = first; u < last; u++)
    if (fuse_member_of(graph, graph->users.users[u], cluster)) return true;
  return false;
}

/* Bytes of memory behind an operand: of a broadcast those of what is broadcast. */
static double bytes_behind(const fuse_graph_t *graph, const hlo_instr_t *instr) {
  while (instr->op == HLO_BROADCAST && !graph->nodes[instr->id].outside) instr = instr->operands[0];
  return graph->nodes[instr->id].free ? 0 : fuse_bytes(instr->shape);
}

/* What a cluster that computes the producer itself must read for it beyond what it reads anyway. */
static double new_bytes(const absorber_t *absorb, const fuse_cluster_t *cluster) {
  double bytes = 0;
  for (int k = 0; k < absorb->producer->operand_count; k++) {
    const hlo_instr_t *operand = absorb->producer->operands[k];
    if (is_read_by(absorb->graph, operand, cluster)) continue;
    double behind = bytes_behind(absorb->graph, operand), most = fuse_bytes(absorb->producer->shape);
    bool part = absorb->producer->op == HLO_SLICE || absorb->producer->op == HLO_DYNAMIC_SLICE;
    bytes += part && behind > most ? most : behind;
  }
  return bytes;
}

/* Computing it once more costs little and reads hardly more than its result would be. `share`: of those bytes. */
static bool is_worth_copying(const absorber_t *absorb, const fuse_candidate_t *candidate, double copies,
                             double share) {
  const hlo_instr_t *producer = absorb->producer;
  if (absorb->transparent) return true;
  if (producer->op == HLO_REDUCE || fuse_is_expensive(producer) || fuse_turns(producer)) return false;
  double bytes = fuse_bytes(producer->shape), waste = waste_in(absorb, candidate, copies);
  if (fusion_count(producer->shape) == 1) return waste <= FUSE_STEP_NS / 8;
  if (new_bytes(absorb, candidate->cluster) > 1.1 * share * bytes) return false;
  return waste <= fuse_read_ns(bytes) + fuse_write_ns(bytes) / copies + FUSE_COPY_NS;
}

/* --- doing it --- */

/* Makes a loop one of rows or columns. What it computes at elements in line is computed once. */
static void convert(absorber_t *absorb, fuse_candidate_t *candidate) {
  fuse_cluster_t *cluster = candidate->cluster;
  fuse_derive(absorb->graph, cluster, absorb->producer, candidate->space);
  fuse_take_roles(absorb->graph, cluster, candidate->space);
  for (fuse_member_t *m = cluster->first; m; m = m->next) {
    if (m->role & FUSION_SOURCE) continue;
    m->evals = m->wasted = 0;
    m->at = 0;
  }
}

static hr_status_t take(absorber_t *absorb, fuse_candidate_t *candidate, bool root, double copies) {
  fuse_cluster_t *cluster = candidate->cluster;
  double wasted = hlo_shape_is_tuple(absorb->producer->shape) ? 0 : waste_in(absorb, candidate, copies);
  if (candidate->space) convert(absorb, candidate);
  HR_TRY(fuse_cluster_add(absorb->graph, cluster, absorb->producer, candidate->need, root));
  fuse_member_t *member = absorb->graph->nodes[absorb->producer->id].members;
  member->evals = candidate->evals;
  member->at = candidate->at;
  member->wasted = wasted;
  cluster->turns |= fuse_turns(absorb->producer);
  return NULL;
}

/* All users are clusters that take it: nobody needs it in memory. */
static hr_status_t take_by_all(absorber_t *absorb, bool *out_taken) {
  double copies = (double)absorb->list.count;
  *out_taken = false;
  if (absorb->outside || !absorb->list.count) return NULL;
  for (size_t c = 0; c < absorb->list.count; c++) {
    const fuse_candidate_t *candidate = &absorb->list.data[c];
    if (!candidate->good) return NULL;
    if (copies == 1 ? !is_worth_absorbing(absorb, candidate) : !is_worth_copying(absorb, candidate, copies, 1))
      return NULL;
  }
  for (size_t c = 0; c < absorb->list.count; c++) HR_TRY(take(absorb, &absorb->list.data[c], false, copies));
  *out_taken = true;
  return NULL;
}

/* Those that compute it themselves although it is in memory, because what it is made of is smaller. */
static hr_status_t take_by_some(absorber_t *absorb) {
  for (size_t c = 0; c < absorb->list.count; c++) {
    fuse_candidate_t *candidate = &absorb->list.data[c];
    if (!candidate->good || !is_worth_copying(absorb, candidate, (double)absorb->list.count + 1, 0.5)) continue;
    HR_TRY(take(absorb, candidate, false, (double)absorb->list.count + 1));
    candidate->good = false;
  }
  return NULL;
}

/* A result more of this cluster, computed along the way. */
static bool may_be_root(const absorber_t *absorb, const fuse_candidate_t *candidate) {
  const fuse_cluster_t *cluster = candidate->cluster;
  const hlo_instr_t *producer = absorb->producer;
  uint32_t most = fusion_count(cluster->shape) == 1 ? FUSE_MOST_GROUP_ROOTS : FUSE_MOST_ROOTS;
  if (!candidate->good || cluster->root_count >= most || hlo_shape_is_tuple(producer->shape)) return false;
  if (candidate->need != FUSION_FULL && candidate->need != FUSION_OUTER) return false;
  bool loop = !fuse_is_input(cluster) && !candidate->space;
  return !loop || fusion_sizes_equal(cluster->shape, producer->shape);
}

static hr_status_t become_root(absorber_t *absorb, bool *out_taken) {
  *out_taken = false;
  for (size_t c = 0; c < absorb->list.count && !*out_taken; c++) {
    fuse_candidate_t *candidate = &absorb->list.data[c];
    if (!may_be_root(absorb, candidate)) continue;
    if (!fuse_bring_together(absorb->graph, absorb->producer->id, candidate->cluster->id, true)) continue;
    HR_TRY(take(absorb, candidate, true, 1));
    *out_taken = true;
  }
  return NULL;
}

static hr_status_t begin_cluster(absorber_t *absorb) {
  fuse_cluster_t *cluster;
  HR_TRY(fuse_cluster_new(absorb->graph, absorb->producer, &cluster));
  cluster->turns = fuse_turns(absorb->producer);
  return NULL;
}

/* Users that read it element by element become one cluster, if they can: it is computed once for all of them. */
static hr_status_t join_users(absorber_t *absorb, bool *out_joined) {
  *out_joined = false;
  for (size_t a = 0; a < absorb->list.count && a < MOST_JOINED; a++)
    for (size_t b = a + 1; b < absorb->list.count && b < MOST_JOINED; b++) {
      const fuse_candidate_t *one = &absorb->list.data[a], *other = &absorb->list.data[b];
      fuse_cluster_t *joint = NULL;
      if (!one->good || !other->good || one->space || other->space) continue;
      if (one->cluster->dead || other->cluster->dead || !(one->need & other->need & FUSION_FULL)) continue;
      HR_TRY(fuse_join_pair(absorb->graph, one->cluster, other->cluster, &joint));
      *out_joined |= joint != NULL;
    }
  return NULL;
}

static hr_status_t look_at_users(absorber_t *absorb) {
  absorb->list.count = 0;
  hr_status_t st = note_uses(absorb);
  for (size_t c = 0; c < absorb->list.count; c++) absorb->list.data[c].cluster->seen = 0;
  for (size_t c = 0; c < absorb->list.count && !st; c++) st = look_at(absorb, &absorb->list.data[c]);
  return st;
}

static hr_status_t decide(absorber_t *absorb) {
  bool taken, joined = false;
  HR_TRY(look_at_users(absorb));
  HR_TRY(take_by_all(absorb, &taken));
  if (taken) return NULL;
  if (!absorb->transparent) HR_TRY(join_users(absorb, &joined));
  if (joined) {
    HR_TRY(look_at_users(absorb));
    HR_TRY(take_by_all(absorb, &taken));
    if (taken) return NULL;
  }
  HR_TRY(take_by_some(absorb));
  if (absorb->transparent) {
    absorb->graph->nodes[absorb->producer->id].outside = true;
    return NULL;
  }
  HR_TRY(become_root(absorb, &taken));
  return taken ? NULL : begin_cluster(absorb);
}

static hr_status_t place(absorber_t *absorb, hlo_instr_t *producer) {
  fuse_node_t *node = &absorb->graph->nodes[producer->id];
  absorb->producer = producer;
  absorb->transparent = op_emits[producer->op] == EMIT_INDEX && fusion_keeps_order(producer) &&
                        producer->op != HLO_BROADCAST && producer->op != HLO_TRANSPOSE;
  if (!fuse_is_fusible(absorb->graph, producer)) {
    node->outside = true;
    return NULL;
  }
  return decide(absorb);
}

hr_status_t fuse_absorb(fuse_graph_t *graph) {
  absorber_t absorb = {.graph = graph};
  hr_status_t st = NULL;
  for (uint32_t i = graph->count; i-- > 0 && !st;) st = place(&absorb, graph->rewrite->computation->instrs.data[i]);
  HR_VEC_FREE(&absorb.list);
  return st;
}
