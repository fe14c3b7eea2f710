/* Horizontal fusion: merges clusters that do not depend on each other.
 *
 * Siblings read the same large array and have a common form: merged, they read the array once.
 * Groups are loops over little data, merged into one step. Small loops are tried in topological
 * order with the groups that grew last (OPEN_GROUPS), which keeps the pass linear. */
#include "passes/fuse/fuse_siblings.h"

#include <stdlib.h>

#include "ops/query/codegen_support.h"
#include "passes/fuse/fuse_cost.h"

/* --- merging two clusters --- */

/* Does an in-place update of one cluster overwrite an array that the other reads? */
static bool clobbers(const fuse_cluster_t *writer, const fuse_cluster_t *reader) {
  if (!writer->update_count) return false;
  for (const fuse_member_t *m = reader->first; m; m = m->next)
    if (fuse_overwrites_input(writer, m->instr, 0)) return true;
  return false;
}

static bool has_room(const fuse_cluster_t *a, const fuse_cluster_t *b, uint32_t most_roots) {
  return a->root_count + b->root_count <= most_roots &&
         a->member_count + b->member_count <= FUSE_MAX_MEMBERS &&
         a->input_count + b->input_count <= FUSE_MAX_INPUTS;
}

static fuse_cluster_t *earlier_of(const fuse_graph_t *graph, fuse_cluster_t *a, fuse_cluster_t *b) {
  return graph->nodes[a->id].position < graph->nodes[b->id].position ? a : b;
}

/* The last collective that some member depends on, as in fuse_graph_t. */
static uint32_t awaited_by(const fuse_graph_t *graph, const fuse_cluster_t *cluster) {
  uint32_t last = 0;
  for (const fuse_member_t *m = cluster->first; m; m = m->next)
    if (graph->awaits[m->instr->id] > last) last = graph->awaits[m->instr->id];
  return last;
}

/* Does anything but the computation's result use the cluster's roots? */
static bool has_users(const fuse_graph_t *graph, const fuse_cluster_t *cluster) {
  const hlo_instr_t *result = graph->rewrite->computation->root;
  for (const fuse_member_t *m = cluster->first; m; m = m->next)
    for (uint32_t u = graph->users.first[m->instr->id];
         m->root && u < graph->users.first[m->instr->id + 1]; u++)
      if (graph->users.users[u] != result && !fuse_member_of(graph, graph->users.users[u], cluster))
        return true;
  return false;
}

/* Would a joint step make users of one cluster wait for a collective that only the other one
 * needs? */
static bool delays(const fuse_graph_t *graph, const fuse_cluster_t *a, const fuse_cluster_t *b) {
  uint32_t of_a = awaited_by(graph, a), of_b = awaited_by(graph, b);
  return of_a != of_b && has_users(graph, of_a < of_b ? a : b);
}

/* Merges the clusters if they have a common form over `space` and neither depends on the other.
 * *out_one: the merged cluster. */
static hr_status_t join(fuse_graph_t *graph, fuse_cluster_t *a, fuse_cluster_t *b,
                        const fusion_space_t *space, fuse_cluster_t **out_one) {
  fuse_cluster_t *from = earlier_of(graph, a, b), *to = from == a ? b : a;
  *out_one = NULL;
  if (clobbers(a, b) || clobbers(b, a) || delays(graph, a, b)) return NULL;
  if (!fuse_derive(graph, a, NULL, space) || !fuse_derive(graph, b, NULL, space)) return NULL;
  if (!fuse_move_adjacent(graph, from->id, to->id, false)) return NULL;
  fuse_cluster_merge(graph, from, to);
  if (!fuse_derive(graph, to, NULL, space))
    return hlo_error_from(__FILE__, __LINE__, HR_INTERNAL, to->first->instr, NULL,
                          "a joint fusion has no form");
  fuse_store_roles(graph, to, space);
  *out_one = to;
  return NULL;
}

/* --- siblings --- */

/* An iteration space for both clusters; NULL: none. A loop can join reductions over its sizes. */
static const fusion_space_t *common_space(const fuse_cluster_t *a, const fuse_cluster_t *b) {
  if (fuse_is_input(a) && fuse_is_input(b))
    return fusion_space_equal(a->space, b->space) ? a->space : NULL;
  if (fuse_is_input(b)) return common_space(b, a);
  if (!fuse_is_input(a)) return fusion_sizes_equal(a->shape, b->shape) ? &fuse_loop_space : NULL;
  return fusion_count(b->shape) == a->space->full_count ? a->space : NULL;
}

/* Does the member read the value element by element? */
static bool reads_in_line(const hlo_instr_t *value, const fuse_member_t *m) {
  uint8_t need = 0;
  for (int k = 0; k < m->instr->operand_count; k++)
    if (m->instr->operands[k] == value)
      need |= fusion_need(m->cluster->space, m->instr, m->role, k);
  return need & FUSION_FULL;
}

enum { MAX_SIBLINGS = 32 }; /* clusters considered per value */

typedef struct siblings {
  fuse_cluster_t *list[MAX_SIBLINGS];
  int count;
} siblings_t;

static void note_sibling(const fuse_graph_t *graph, const hlo_instr_t *value,
                         const fuse_member_t *reader, siblings_t *found) {
  for (int i = 0; i < found->count; i++)
    if (found->list[i] == reader->cluster) return;
  if (reads_in_line(value, reader) && !fuse_member_of(graph, value, reader->cluster))
    found->list[found->count++] = reader->cluster;
}

static void find_siblings(const fuse_graph_t *graph, const hlo_instr_t *value, siblings_t *found) {
  found->count = 0;
  for (uint32_t u = graph->users.first[value->id]; u < graph->users.first[value->id + 1]; u++)
    for (const fuse_member_t *m = graph->nodes[graph->users.users[u]->id].members;
         m && found->count < MAX_SIBLINGS; m = m->other)
      note_sibling(graph, value, m, found);
}

hr_status_t fuse_merge_pair(fuse_graph_t *graph, fuse_cluster_t *a, fuse_cluster_t *b,
                            fuse_cluster_t **out_one) {
  const fusion_space_t *space = common_space(a, b);
  *out_one = NULL;
  if (!space || !has_room(a, b, FUSE_MAX_ROOTS) || (a->transposes && b->transposes)) return NULL;
  return join(graph, a, b, space, out_one);
}

static hr_status_t join_siblings(fuse_graph_t *graph, siblings_t *found) {
  for (int i = 0; i < found->count; i++)
    for (int j = i + 1; j < found->count; j++) {
      fuse_cluster_t *one;
      if (!found->list[i] || !found->list[j]) continue;
      HR_TRY(fuse_merge_pair(graph, found->list[i], found->list[j], &one));
      if (!one) continue;
      found->list[i] = one;
      found->list[j] = NULL;
    }
  return NULL;
}

hr_status_t fuse_siblings(fuse_graph_t *graph) {
  for (uint32_t i = 0; i < graph->count; i++) {
    const hlo_instr_t *value = graph->rewrite->computation->instrs.data[i];
    siblings_t found;
    if (graph->nodes[i].free || !hlo_shape_is_array(value->shape)) continue;
    if (pass_users_count(&graph->users, value) < 2 ||
        fuse_shape_bytes(value->shape) < FUSE_SHARED_BYTES)
      continue;
    find_siblings(graph, value, &found);
    HR_TRY(join_siblings(graph, &found));
  }
  return NULL;
}

/* --- groups --- */

static bool is_single_copy(const fuse_cluster_t *cluster) {
  const hlo_instr_t *only = cluster->first->instr;
  return cluster->member_count == 1 && op_codegens[only->op] == CODEGEN_INDEX;
}

/* Estimated memory traffic of the roots and of the arrays read from outside. */
static double bytes_moved(const fuse_graph_t *graph, const fuse_cluster_t *cluster) {
  double bytes = 0;
  for (const fuse_member_t *m = cluster->first; m; m = m->next) {
    if (m->root) bytes += fuse_shape_bytes(fusion_root_shape(m->instr));
    for (int k = 0; k < m->instr->operand_count; k++) {
      const hlo_instr_t *operand = m->instr->operands[k];
      bool inside = graph->nodes[operand->id].free || fuse_member_of(graph, operand, cluster);
      bool updated = op_codegens[m->instr->op] == CODEGEN_UPDATE && k == 0;
      double most = fuse_shape_bytes(fusion_root_shape(m->instr)),
             all = fuse_shape_bytes(operand->shape);
      if (!inside && !updated) bytes += all < most ? all : most;
    }
  }
  return bytes;
}

static bool is_small_loop(const fuse_graph_t *graph, const fuse_cluster_t *cluster) {
  return !cluster->is_dead && !fuse_is_input(cluster) && !cluster->transposes &&
         !is_single_copy(cluster) && bytes_moved(graph, cluster) <= FUSE_SMALL_BYTES;
}

typedef struct position {
  uint32_t position;
  fuse_cluster_t *cluster;
} positions_t;

static int by_position(const void *a, const void *b) {
  uint32_t x = ((const positions_t *)a)->position, y = ((const positions_t *)b)->position;
  return x < y ? -1 : x > y;
}

static hr_status_t list_small_loops(fuse_graph_t *graph, positions_t **out_positions,
                                    size_t *out_count) {
  positions_t *positions;
  size_t count = 0;
  HR_TRY(HR_NEW_ARRAY(graph->arena, graph->clusters.count, &positions));
  for (size_t c = 0; c < graph->clusters.count; c++) {
    fuse_cluster_t *cluster = graph->clusters.data[c];
    if (cluster->is_dead || !is_small_loop(graph, cluster)) continue;
    positions[count++] = (positions_t){graph->nodes[cluster->id].position, cluster};
  }
  if (count) qsort(positions, count, sizeof *positions, by_position);
  *out_positions = positions;
  *out_count = count;
  return NULL;
}

enum { OPEN_GROUPS = 4 }; /* groups that a loop is tried with: the most recently extended */

/* Inserts a group at the front. */
static void push_group(fuse_cluster_t *open[OPEN_GROUPS], int position, fuse_cluster_t *group) {
  for (int i = position; i > 0; i--) open[i] = open[i - 1];
  open[0] = group;
}

hr_status_t fuse_groups(fuse_graph_t *graph) {
  fuse_cluster_t *open[OPEN_GROUPS] = {0}, *one = NULL;
  positions_t *positions;
  size_t count;
  HR_TRY(list_small_loops(graph, &positions, &count));
  for (size_t i = 0; i < count; i++) {
    int g = 0;
    for (one = NULL; g < OPEN_GROUPS && open[g] && !one; g += !one)
      if (has_room(open[g], positions[i].cluster, FUSE_MAX_GROUP_ROOTS))
        HR_TRY(join(graph, open[g], positions[i].cluster, &fuse_loop_space, &one));
    if (one)
      push_group(open, g, one);
    else
      push_group(open, OPEN_GROUPS - 1, positions[i].cluster);
  }
  return NULL;
}
