/* The cluster graph of fusion: members, roles and topological order.
 *
 * Merging needs a cycle check: no path from one node to the other through a third. The nodes
 * between the two positions are searched for dependence on the first; those that do not depend on
 * it move before it, the others after the second (the local reordering of Pearce and Kelly, 2006).
 * A budget of visited operands bounds the sum of all searches; when it is used up, merges are
 * refused. */
#include "passes/fuse/fuse_graph.h"

#include "base/arith.h"
#include "ops/query/codegen_support.h"
#include "passes/fuse/fuse_cost.h"

enum { SEARCH_PER_INSTR = 256 }; /* operands visited per instruction of the computation */

const fusion_space_t fuse_loop_space = {.kind = FUSION_LOOP};

/* --- construction --- */

static bool is_free(const fuse_graph_t *graph, const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_CONSTANT:
      return instr->literal && hlo_shape_is_scalar(instr->shape);
    case HLO_IOTA:
      return true;
    case HLO_BROADCAST:
    case HLO_RESHAPE:
    case HLO_COPY:
      return graph->nodes[instr->operands[0]->id].free &&
             fusion_count(instr->operands[0]->shape) == 1;
    default:
      return false;
  }
}

/* Operands come before their users. */
static hr_status_t find_awaited(fuse_graph_t *graph) {
  HR_TRY(HR_NEW_ARRAY(graph->arena, graph->count, &graph->awaits));
  for (uint32_t i = 0; i < graph->count; i++) {
    const hlo_instr_t *instr = graph->rewrite->computation->instrs.data[i];
    for (int k = 0; k < instr->operand_count; k++)
      graph->awaits[i] = hr_max(graph->awaits[i], graph->awaits[instr->operands[k]->id]);
    if (hlo_op_is(instr->op, OP_COMM)) graph->awaits[i] = i + 1;
  }
  return NULL;
}

hr_status_t fuse_graph_init(fuse_graph_t *graph, pass_rewrite_t *rewrite, double step_ns) {
  hlo_computation_t *computation = rewrite->computation;
  uint32_t count = (uint32_t)computation->instrs.count;
  *graph = (fuse_graph_t){
      .rewrite = rewrite, .arena = &rewrite->scratch, .step_ns = step_ns, .count = count};
  HR_TRY(pass_users_find(graph->arena, computation, &graph->users));
  HR_TRY(HR_NEW_ARRAY(graph->arena, count, &graph->nodes));
  HR_TRY(HR_NEW_ARRAY(graph->arena, count, &graph->order));
  HR_TRY(HR_NEW_ARRAY(graph->arena, count, &graph->marks));
  HR_TRY(HR_NEW_ARRAY(graph->arena, count, &graph->inside));
  HR_TRY(HR_NEW_ARRAY(graph->arena, count, &graph->roles));
  HR_TRY(find_awaited(graph));
  graph->budget = (int64_t)count * SEARCH_PER_INSTR + 100000;
  graph->copies_left = (int64_t)count + FUSE_FREE_COPIES;
  for (uint32_t i = 0; i < count; i++) {
    graph->order[i] = i;
    graph->nodes[i].position = i;
    graph->nodes[i].free = is_free(graph, computation->instrs.data[i]);
  }
  return NULL;
}

void fuse_graph_deinit(fuse_graph_t *graph) { HR_VEC_FREE(&graph->clusters); }

fuse_member_t *fuse_member_of(const fuse_graph_t *graph, const hlo_instr_t *instr,
                              const fuse_cluster_t *cluster) {
  fuse_member_t *member = graph->nodes[instr->id].members;
  while (member && member->cluster != cluster) member = member->other;
  return member;
}

hr_status_t fuse_cluster_add(fuse_graph_t *graph, fuse_cluster_t *cluster, hlo_instr_t *instr,
                             uint8_t role, bool root) {
  fuse_node_t *node = &graph->nodes[instr->id];
  fuse_member_t *member;
  HR_TRY(HR_NEW(graph->arena, &member));
  *member = (fuse_member_t){
      .instr = instr, .cluster = cluster, .role = role, .root = root, .other = node->members};
  node->members = member;
  *cluster->last = member;
  cluster->last = &member->next;
  cluster->member_count++;
  if (cluster->input_count) cluster->input_count--; /* no longer an input itself */
  for (int k = 0; k < instr->operand_count; k++)
    cluster->input_count += !graph->nodes[instr->operands[k]->id].free;
  if (root) {
    node->home = cluster;
    cluster->root_count++;
  }
  if (op_codegens[instr->op] == CODEGEN_UPDATE) cluster->update_count++;
  return NULL;
}

/* The results of a reduction of several operands have equal shapes. */
static const hlo_shape_t *result_array(const hlo_shape_t *shape) {
  return hlo_shape_is_tuple(shape) ? shape->elements[0] : shape;
}

hr_status_t fuse_cluster_new(fuse_graph_t *graph, hlo_instr_t *root, fuse_cluster_t **out_cluster) {
  fuse_cluster_t *cluster;
  HR_TRY(HR_NEW(graph->arena, &cluster));
  *cluster = (fuse_cluster_t){
      .id = root->id, .space = &fuse_loop_space, .shape = result_array(fusion_root_shape(root))};
  cluster->last = &cluster->first;
  if (root->op == HLO_REDUCE) {
    fusion_space_t *space;
    HR_TRY(HR_NEW(graph->arena, &space));
    fusion_space_of(root, space);
    cluster->space = space;
  }
  HR_VEC_PUSH(&graph->clusters, cluster);
  graph->nodes[root->id].cluster = cluster;
  *out_cluster = cluster;
  return fuse_cluster_add(graph, cluster, root, root->op == HLO_REDUCE ? FUSION_OUTER : FUSION_FULL,
                          true);
}

/* --- roles --- */

const hlo_instr_t *fuse_find_storage(const hlo_instr_t *instr) {
  while (op_codegens[instr->op] == CODEGEN_INDEX && fusion_keeps_order(instr))
    instr = instr->operands[0];
  return instr;
}

/* Does a member read the array that the update overwrites? */
static bool reads_over(const fuse_cluster_t *cluster, const hlo_instr_t *update) {
  const hlo_instr_t *over = fuse_find_storage(update->operands[0]);
  for (const fuse_member_t *m = cluster->first; m; m = m->next)
    for (int k = m->instr == update; k < m->instr->operand_count; k++)
      if (fuse_find_storage(m->instr->operands[k]) == over) return true;
  return false;
}

static bool place_root(fuse_graph_t *graph, const fuse_member_t *member,
                       const fusion_space_t *space) {
  const hlo_instr_t *instr = member->instr;
  uint8_t role = FUSION_FULL;
  if (space->kind != FUSION_LOOP) {
    bool is_update = op_codegens[instr->op] == CODEGEN_UPDATE;
    if (!fusion_root_role(space, instr, &role) || (is_update && reads_over(member->cluster, instr)))
      return false;
  }
  graph->roles[instr->id] |= role;
  return true;
}

static bool is_reduction_at_element(const fuse_graph_t *graph, const hlo_instr_t *instr,
                                    const fusion_space_t *space) {
  fusion_space_t own;
  return graph->roles[instr->id] == FUSION_OUTER && fusion_space_of(instr, &own) &&
         fusion_space_equal(&own, space);
}

static void require_operands(fuse_graph_t *graph, const hlo_instr_t *instr,
                             const fusion_space_t *space) {
  for (int k = 0; k < instr->operand_count; k++) {
    uint32_t id = instr->operands[k]->id;
    if (graph->inside[id] == graph->derivation)
      graph->roles[id] |= fusion_need(space, instr, graph->roles[instr->id], k);
  }
}

static void add_inside(fuse_graph_t *graph, const hlo_instr_t *instr) {
  graph->inside[instr->id] = graph->derivation;
  graph->roles[instr->id] = 0;
}

bool fuse_derive(fuse_graph_t *graph, const fuse_cluster_t *cluster, const hlo_instr_t *extra,
                 const fusion_space_t *space) {
  graph->derivation++;
  for (const fuse_member_t *m = cluster->first; m; m = m->next) add_inside(graph, m->instr);
  if (extra) add_inside(graph, extra);
  for (const fuse_member_t *m = cluster->first; m; m = m->next) {
    if (m->root && !place_root(graph, m, space)) return false;
    if (m->instr->op == HLO_REDUCE && !is_reduction_at_element(graph, m->instr, space))
      return false;
    require_operands(graph, m->instr, space);
  }
  return true;
}

void fuse_store_roles(fuse_graph_t *graph, fuse_cluster_t *cluster, const fusion_space_t *space) {
  for (fuse_member_t *m = cluster->first; m; m = m->next) m->role = graph->roles[m->instr->id];
  cluster->space = space;
}

/* --- order --- */

/* Number of the node that computes an operand. */
static uint32_t fuse_node_of(const fuse_graph_t *graph, const hlo_instr_t *instr) {
  const fuse_cluster_t *home = graph->nodes[instr->id].home;
  return home ? home->id : instr->id;
}

/* Does the instruction depend on a marked node other than `but`? */
static bool depends_on_marked(fuse_graph_t *graph, const hlo_instr_t *instr,
                              const fuse_cluster_t *cluster, uint32_t but) {
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    uint32_t node = fuse_node_of(graph, operand);
    if (node == but || graph->marks[node] != graph->search) continue;
    if (!cluster || !fuse_member_of(graph, operand, cluster)) return true;
  }
  for (int k = 0; instr->extra && k < instr->extra->control_count; k++)
    if (graph->marks[fuse_node_of(graph, instr->extra->control_predecessors[k])] == graph->search)
      return true;
  graph->budget -= instr->operand_count + 1;
  return false;
}

static bool node_depends_on_marked(fuse_graph_t *graph, uint32_t node, uint32_t but) {
  const fuse_cluster_t *cluster = graph->nodes[node].cluster;
  if (!cluster)
    return depends_on_marked(graph, graph->rewrite->computation->instrs.data[node], NULL, but);
  for (const fuse_member_t *m = cluster->first; m; m = m->next)
    if (depends_on_marked(graph, m->instr, cluster, but)) return true;
  return false;
}

/* Is anything computed at this node, or has it been merged into others? */
static bool is_live_node(const fuse_graph_t *graph, uint32_t node) {
  const fuse_node_t *n = &graph->nodes[node];
  return n->cluster ? !n->cluster->is_dead : n->outside || !n->members;
}

/* Marks all nodes between the two positions that depend on `from`. Instructions with effects depend
 * on the previous one with effects. */
static bool mark_between(fuse_graph_t *graph, uint32_t from, uint32_t to) {
  bool effect_marked = false;
  graph->marks[from] = ++graph->search;
  for (uint32_t p = graph->nodes[from].position + 1; p < graph->nodes[to].position; p++) {
    uint32_t node = graph->order[p];
    const hlo_instr_t *instr = graph->rewrite->computation->instrs.data[node];
    if (--graph->budget < 0) return false;
    if (!is_live_node(graph, node)) continue;
    bool effect = !graph->nodes[node].cluster && pass_has_effect(instr);
    if (!(effect && effect_marked) && !node_depends_on_marked(graph, node, UINT32_MAX)) continue;
    graph->marks[node] = graph->search;
    effect_marked |= effect;
  }
  return true;
}

static void set_position(fuse_graph_t *graph, uint32_t position, uint32_t node) {
  graph->order[position] = node;
  graph->nodes[node].position = position;
}

/* New order: nodes independent of `from`, then the two nodes, then the rest. */
static hr_status_t move_together(fuse_graph_t *graph, uint32_t from, uint32_t to) {
  uint32_t first = graph->nodes[from].position, last = graph->nodes[to].position, next = first,
           later = 0;
  uint32_t *marked;
  hr_arena_mark_t mark = hr_arena_mark(graph->arena);
  HR_TRY(HR_NEW_ARRAY(graph->arena, last - first + 1, &marked));
  for (uint32_t p = first + 1; p < last; p++) {
    uint32_t node = graph->order[p];
    if (graph->marks[node] == graph->search)
      marked[later++] = node;
    else
      set_position(graph, next++, node);
  }
  set_position(graph, next++, from);
  set_position(graph, next++, to);
  for (uint32_t i = 0; i < later; i++) set_position(graph, next++, marked[i]);
  hr_arena_rewind(graph->arena, mark);
  return NULL;
}

bool fuse_move_adjacent(fuse_graph_t *graph, uint32_t from, uint32_t to, bool direct) {
  if (graph->budget < 0 || !mark_between(graph, from, to)) return false;
  if (node_depends_on_marked(graph, to, direct ? from : UINT32_MAX)) return false;
  hr_status_t st = move_together(graph, from, to);
  hr_status_release(st);
  return !st;
}

/* --- merging --- */

static void rehome_roots(fuse_graph_t *graph, fuse_member_t *member, fuse_cluster_t *to) {
  member->cluster = to;
  if (!member->root) return;
  graph->nodes[member->instr->id].home = to;
  to->root_count++;
}

/* Merges the two memberships of an instruction that is in both clusters. */
static void merge_duplicate_members(fuse_graph_t *graph, fuse_member_t *from, fuse_member_t *to) {
  fuse_member_t **link = &graph->nodes[from->instr->id].members;
  while (*link != from) link = &(*link)->other;
  *link = from->other;
  to->wasted = to->wasted > from->wasted ? to->wasted : from->wasted;
  to->evals += from->evals;
  to->places += from->places;
  to->at = fuse_mixed_index(to->instr);
  if (from->root && !to->root) {
    to->root = true;
    rehome_roots(graph, to, to->cluster);
  }
}

/* Both lists are in descending order of ids. */
void fuse_cluster_merge(fuse_graph_t *graph, fuse_cluster_t *from, fuse_cluster_t *to) {
  fuse_member_t *a = from->first, **link = &to->first;
  while (a) {
    fuse_member_t *next = a->next, *b = *link;
    if (b && b->instr->id > a->instr->id) {
      link = &b->next;
      continue;
    }
    if (b && b->instr == a->instr) {
      merge_duplicate_members(graph, a, b);
    } else {
      rehome_roots(graph, a, to);
      a->next = b;
      *link = a;
      to->member_count++;
    }
    a = next;
  }
  while (*link) link = &(*link)->next;
  to->last = link;
  to->update_count += from->update_count;
  to->input_count += from->input_count;
  to->transposes |= from->transposes;
  from->is_dead = true;
  from->first = NULL;
}

static bool update_clobbers(const hlo_instr_t *update, const hlo_instr_t *instr, uint8_t role,
                            bool in_loop) {
  const hlo_instr_t *over = fuse_find_storage(update->operands[0]);
  for (int k = 0; k < instr->operand_count; k++) {
    if (fuse_find_storage(instr->operands[k]) != over) continue;
    bool same_array = in_loop && instr->operands[k] == update->operands[0];
    if (!same_array || role != FUSION_FULL || !fusion_reads_updated(update, instr)) return true;
  }
  return false;
}

bool fuse_overwrites_input(const fuse_cluster_t *cluster, const hlo_instr_t *instr, uint8_t role) {
  if (!cluster->update_count) return false;
  for (const fuse_member_t *m = cluster->first; m; m = m->next) {
    bool other_update = op_codegens[m->instr->op] == CODEGEN_UPDATE && m->instr != instr;
    bool in_loop = cluster->space->kind == FUSION_LOOP;
    if (other_update && update_clobbers(m->instr, instr, role, in_loop)) return true;
  }
  return false;
}
