/* Producer-consumer fusion. For each instruction in reverse program order, the first applicable
 * rule:
 *
 *   1. all users are clusters that may absorb it, profitably       cloned into each of them
 *   2. users that read it element by element can be merged         then 1 again
 *   3. some clusters gain by computing it themselves               cloned into those
 *   4. an adjacent cluster can write it as a further root          computed along the way
 *   5. otherwise                                                   a cluster of its own
 *
 * Absorbing saves a write and a read; it costs evaluations at more elements and code that is
 * generated more than once. */
#include "passes/fuse/fuse_producers.h"

#include "ops/query/codegen_support.h"
#include "passes/fuse/fuse_candidate.h"
#include "passes/fuse/fuse_cost.h"
#include "passes/fuse/fuse_siblings.h"

/* --- profitability --- */

enum { MAX_CHAINED = 48 };

/* ns per element of the instruction and of the chain of single-use operands that would follow it
 * into the cluster. */
static double chain_ns(const fuse_graph_t *graph, const hlo_instr_t *instr, int *left) {
  double ns = fuse_element_ns(instr);
  for (int k = 0; k < instr->operand_count && --*left > 0; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    bool alike = hlo_shape_is_array(operand->shape) &&
                 fusion_count(operand->shape) == fusion_count(instr->shape);
    if (alike && fuse_is_fusible(graph, operand) && operand->op != HLO_REDUCE)
      ns += chain_ns(graph, operand, left);
  }
  return ns;
}

/* Cost of evaluating elements more than once, here and above, and of repeating the code. */
static double wasted_ns(const fuse_producer_t *producer, const fuse_candidate_t *candidate,
                        double copies) {
  double count = (double)fusion_count(producer->instr->shape);
  double more = fuse_candidate_evals(producer, candidate) - fuse_round_to_lanes(count);
  double code = copies > 1 && !producer->transparent ? FUSE_COPY_NS : 0;
  int left = count > FUSE_RECOMPUTE_ELEMENTS ? MAX_CHAINED : 0;
  if (more > 0)
    return candidate->wasted + more * chain_ns(producer->graph, producer->instr, &left) + code;
  return candidate->wasted + count * (copies - 1) / copies * fuse_element_ns(producer->instr) +
         code;
}

/* Would an expensive function be evaluated more than once per element? Allowed only for a handful
 * of elements. */
static bool recomputes_expensive(const fuse_producer_t *producer,
                                 const fuse_candidate_t *candidate) {
  double count = fuse_round_to_lanes((double)fusion_count(producer->instr->shape));
  double more = fuse_candidate_evals(producer, candidate) - count;
  if (!fuse_is_expensive(producer->instr) || more <= 0.05 * count) return false;
  return candidate->wasted + more * fuse_element_ns(producer->instr) > producer->graph->step_ns / 4;
}

/* Does it insert elements between the rows of an array below such an array? The loop over rows has
 * one variable for one dilation; all alternatives of a second one are computed under conditions. */
static bool dilates_rows_again(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  const hlo_instr_t *instr = producer->instr;
  if (!candidate->dilations || !fuse_is_dilating(instr)) return false;
  int last = instr->shape->rank - 1;
  return instr->shape->dims[last] > 1 && !hlo_attr_padding(instr)->dims[last].interior;
}

/* Is the producer below several dilations? Alternating lanes evaluate all alternatives, each at its
 * own indices, so each level of an associative scan is computed once, not once more for every level
 * above it. */
static bool repeats_below_dilation(const fuse_producer_t *producer,
                                   const fuse_candidate_t *candidate) {
  double count = fuse_round_to_lanes((double)fusion_count(producer->instr->shape));
  if (dilates_rows_again(producer, candidate)) return true;
  return candidate->dilations > 1 && fuse_element_ns(producer->instr) > 0 &&
         fuse_candidate_evals(producer, candidate) > 2 * count;
}

/* Profitability for a single user: a write and a read are saved, some elements may be evaluated
 * more often. */
static bool is_worth_absorbing(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  if (producer->instr->op == HLO_REDUCE || producer->transparent) return true;
  double bytes = fuse_shape_bytes(producer->instr->shape);
  if (recomputes_expensive(producer, candidate) || repeats_below_dilation(producer, candidate))
    return false;
  return wasted_ns(producer, candidate, 1) <=
         fuse_write_ns(bytes) + fuse_read_ns(bytes) + FUSE_STEP_NS;
}

enum {
  MAX_EXAMINED = 16,
  MAX_MERGED = 16
}; /* users of an operand; clusters that are tried with each other */

static bool is_read_by(const fuse_graph_t *graph, const hlo_instr_t *instr,
                       const fuse_cluster_t *cluster) {
  uint32_t first = graph->users.first[instr->id], last = graph->users.first[instr->id + 1];
  if (last > first + MAX_EXAMINED) last = first + MAX_EXAMINED;
  for (uint32_t u = first; u < last; u++)
    if (fuse_member_of(graph, graph->users.users[u], cluster)) return true;
  return false;
}

/* Additional bytes that a cluster must read if it computes the producer itself. */
static double extra_bytes(const fuse_producer_t *producer, const fuse_cluster_t *cluster) {
  double bytes = 0;
  for (int k = 0; k < producer->instr->operand_count; k++) {
    const hlo_instr_t *operand = producer->instr->operands[k];
    if (is_read_by(producer->graph, operand, cluster)) continue;
    double source_bytes = fuse_producer_bytes(producer->graph, operand),
           max_roots = fuse_shape_bytes(producer->instr->shape);
    bool part = producer->instr->op == HLO_SLICE || producer->instr->op == HLO_DYNAMIC_SLICE;
    bytes += part && source_bytes > max_roots ? max_roots : source_bytes;
  }
  return bytes;
}

/* Waste of absorbing the producer beyond the waste of its users; a broadcast is only an index. */
static double own_waste_ns(const fuse_producer_t *producer, const fuse_candidate_t *candidate,
                           double copies) {
  double waste = wasted_ns(producer, candidate, copies);
  return producer->instr->op == HLO_BROADCAST ? waste - candidate->wasted : waste;
}

/* Is computing the producer once more cheap, with hardly more bytes to read than its result?
 * `share`: the part of those bytes that counts. */
static bool is_worth_copying(const fuse_producer_t *producer, const fuse_candidate_t *candidate,
                             double copies, double share) {
  const hlo_instr_t *instr = producer->instr;
  if (producer->transparent) return true;
  if (instr->op == HLO_REDUCE || fuse_is_expensive(instr) || fuse_is_transposed(instr))
    return false;
  if (producer->graph->copies_left < (int64_t)copies || repeats_below_dilation(producer, candidate))
    return false;
  double bytes = fuse_shape_bytes(instr->shape), waste = own_waste_ns(producer, candidate, copies);
  if (fusion_count(instr->shape) == 1) return waste <= FUSE_STEP_NS / 8;
  if (extra_bytes(producer, candidate->cluster) > 1.1 * share * bytes) return false;
  return waste <= fuse_read_ns(bytes) + fuse_write_ns(bytes) / copies + FUSE_COPY_NS;
}

/* --- fusion --- */

/* Changes a loop cluster to candidate->space. Members at the loop's own index are computed once
 * again. */
static void convert_to_rows(fuse_producer_t *producer, fuse_candidate_t *candidate) {
  fuse_cluster_t *cluster = candidate->cluster;
  fuse_derive(producer->graph, cluster, producer->instr, candidate->space);
  fuse_store_roles(producer->graph, cluster, candidate->space);
  for (fuse_member_t *m = cluster->first; m; m = m->next) {
    if (m->role & FUSION_SOURCE) continue;
    m->evals = 0;
    m->dilations = 0;
    m->wasted = 0;
    m->at = 0;
    m->places = 0;
  }
}

static hr_status_t absorb(fuse_producer_t *producer, fuse_candidate_t *candidate, bool root,
                          double copies) {
  fuse_cluster_t *cluster = candidate->cluster;
  double wasted =
      hlo_shape_is_tuple(producer->instr->shape) ? 0 : wasted_ns(producer, candidate, copies);
  if (candidate->space) convert_to_rows(producer, candidate);
  HR_TRY(fuse_cluster_add(producer->graph, cluster, producer->instr, candidate->need, root));
  fuse_member_t *member = producer->graph->nodes[producer->instr->id].members;
  member->evals = candidate->evals;
  member->at = candidate->at;
  member->places = candidate->places;
  member->dilations = candidate->dilations;
  member->wasted = wasted;
  if (copies > 1 && !producer->transparent) producer->graph->copies_left--;
  cluster->transposes |= fuse_is_transposed(producer->instr);
  return NULL;
}

/* Absorbs the producer into all users if they are clusters that profit; the producer is then never
 * in memory. */
static hr_status_t absorb_into_all(fuse_producer_t *producer, bool *out_absorbed) {
  double copies = (double)producer->list.count;
  *out_absorbed = false;
  if (producer->outside || !producer->list.count) return NULL;
  for (size_t c = 0; c < producer->list.count; c++) {
    const fuse_candidate_t *candidate = &producer->list.data[c];
    if (!candidate->good) return NULL;
    if (copies == 1 ? !is_worth_absorbing(producer, candidate)
                    : !is_worth_copying(producer, candidate, copies, 1))
      return NULL;
  }
  for (size_t c = 0; c < producer->list.count; c++)
    HR_TRY(absorb(producer, &producer->list.data[c], false, copies));
  *out_absorbed = true;
  return NULL;
}

/* Clones the producer, which is in memory in any case, into clusters that read fewer bytes by
 * computing it. */
static hr_status_t duplicate_into_some(fuse_producer_t *producer) {
  for (size_t c = 0; c < producer->list.count; c++) {
    fuse_candidate_t *candidate = &producer->list.data[c];
    if (!candidate->good ||
        !is_worth_copying(producer, candidate, (double)producer->list.count + 1, 0.5))
      continue;
    HR_TRY(absorb(producer, candidate, false, (double)producer->list.count + 1));
    candidate->good = false;
  }
  return NULL;
}

/* Can the cluster write the producer as an additional root? */
static bool may_be_root(const fuse_producer_t *producer, const fuse_candidate_t *candidate) {
  const fuse_cluster_t *cluster = candidate->cluster;
  const hlo_instr_t *instr = producer->instr;
  uint32_t max_roots = fusion_count(cluster->shape) == 1 ? FUSE_MAX_GROUP_ROOTS : FUSE_MAX_ROOTS;
  if (!candidate->good || cluster->root_count >= max_roots || hlo_shape_is_tuple(instr->shape))
    return false;
  if (candidate->need != FUSION_FULL && candidate->need != FUSION_OUTER) return false;
  bool loop = !fuse_is_input(cluster) && !candidate->space;
  return !loop || fusion_sizes_equal(cluster->shape, instr->shape);
}

static hr_status_t absorb_as_root(fuse_producer_t *producer, bool *out_absorbed) {
  *out_absorbed = false;
  for (size_t c = 0; c < producer->list.count && !*out_absorbed; c++) {
    fuse_candidate_t *candidate = &producer->list.data[c];
    if (!may_be_root(producer, candidate)) continue;
    if (!fuse_move_adjacent(producer->graph, producer->instr->id, candidate->cluster->id, true))
      continue;
    HR_TRY(absorb(producer, candidate, true, 1));
    *out_absorbed = true;
  }
  return NULL;
}

static hr_status_t start_cluster(fuse_producer_t *producer) {
  fuse_cluster_t *cluster;
  HR_TRY(fuse_cluster_new(producer->graph, producer->instr, &cluster));
  cluster->transposes = fuse_is_transposed(producer->instr);
  return NULL;
}

/* Merges users that read the producer element by element, so that it is computed once for all of
 * them. */
static hr_status_t merge_users(fuse_producer_t *producer, bool *out_merged) {
  *out_merged = false;
  for (size_t a = 0; a < producer->list.count && a < MAX_MERGED; a++)
    for (size_t b = a + 1; b < producer->list.count && b < MAX_MERGED; b++) {
      const fuse_candidate_t *one = &producer->list.data[a], *other = &producer->list.data[b];
      fuse_cluster_t *merged_cluster = NULL;
      if (!one->good || !other->good || one->space || other->space) continue;
      if (one->cluster->is_dead || other->cluster->is_dead ||
          !(one->need & other->need & FUSION_FULL))
        continue;
      HR_TRY(fuse_merge_pair(producer->graph, one->cluster, other->cluster, &merged_cluster));
      *out_merged |= merged_cluster != NULL;
    }
  return NULL;
}

static hr_status_t place_producer(fuse_producer_t *producer) {
  bool absorbed, merged = false;
  HR_TRY(fuse_producer_examine(producer));
  HR_TRY(absorb_into_all(producer, &absorbed));
  if (absorbed) return NULL;
  if (!producer->transparent) HR_TRY(merge_users(producer, &merged));
  if (merged) {
    HR_TRY(fuse_producer_examine(producer));
    HR_TRY(absorb_into_all(producer, &absorbed));
    if (absorbed) return NULL;
  }
  HR_TRY(duplicate_into_some(producer));
  if (producer->transparent) {
    producer->graph->nodes[producer->instr->id].outside = true;
    return NULL;
  }
  HR_TRY(absorb_as_root(producer, &absorbed));
  return absorbed ? NULL : start_cluster(producer);
}

static hr_status_t process_instr(fuse_producer_t *producer, hlo_instr_t *instr) {
  producer->instr = instr;
  producer->transparent = op_codegens[instr->op] == CODEGEN_INDEX && fusion_keeps_order(instr) &&
                          instr->op != HLO_BROADCAST && instr->op != HLO_TRANSPOSE;
  if (fuse_is_fusible(producer->graph, instr)) return place_producer(producer);
  producer->graph->nodes[instr->id].outside = true;
  return NULL;
}

hr_status_t fuse_producers(fuse_graph_t *graph) {
  fuse_producer_t producer = {.graph = graph};
  hr_status_t st = NULL;
  for (uint32_t i = graph->count; i-- > 0 && !st;)
    st = process_instr(&producer, graph->rewrite->computation->instrs.data[i]);
  HR_VEC_FREE(&producer.list);
  return st;
}
