/* The combiner: small all-reduces (all-gathers, reduce-scatters) of one kind that do not depend on
 * each other become one with several operands; all-to-alls and permutes become one with a packed
 * operand (comm_pack.h). Small operands of an all-reduce are sent as one
 * message, those of the others at the same time:
 *
 *   p = all-reduce(a)   ->   t = all-reduce(a, b)
 *   q = all-reduce(b)        p = gte(t, 0), q = gte(t, 1)
 *
 * Collectives are taken in the order in which they become ready (comm_graph.h). Those up to
 * HLORUN_COMBINE bytes in total are combined at the position of the last one. Collectives of any
 * kind that depend on a member are moved after it: gradients of several layers wait for the last
 * one, and the norm of each gradient for all of them. Latency is paid once instead of n times.
 * Dependence is known by sets of collectives for each instruction; where those would be too large,
 * by levels: collectives of one level are independent.
 * Gathers and scatters along other dimensions than the first of their group are turned to a new
 * first dimension (comm_front.h), all together if they are small: that takes a copy of each, as
 * packing does.
 * In a program that was global they also move across loops with collectives: losses before and
 * after a loop over layers. Exact in every bit: each element is reduced over the same processes in
 * the same order. */
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "ops/query/replica_groups.h"
#include "passes/comm/comm_front.h"
#include "passes/comm/comm_order.h"
#include "passes/comm/comm_pack.h"
#include "passes/fuse/fuse_cost.h"
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

#define DEFAULT_BYTES (64 << 10)
/* In a program that was global, of all-reduces up to MAX_PACKED_BYTES each: they are sent as one
 * message (collective_reduce.c), so that many of them together take less time than apart, as larger
 * ones do not, which are reduced while they are in the cache. In the program of a process its
 * author may want to see the gradients travel during the backward pass. */
#define DEFAULT_PACKED_BYTES (1 << 20)
#define MAX_PACKED_BYTES (32 << 10)
/* Of a group along several dimensions, or a packed one: copies of so many bytes take less time than
 * a message. */
#define MAX_TURNED_BYTES (16 << 10)

/* Most bytes of a group. */
typedef struct limits {
  double any, packed; /* whatever it has; if each is packed */
} limits_t;

/* HLORUN_COMBINE, or the defaults; 0 switches the pass off. */
static limits_t find_limits(const hlo_module_t *module) {
  const char *text = getenv("HLORUN_COMBINE");
  uint64_t bytes;
  if (text && hr_parse_u64(text, &bytes)) return (limits_t){(double)bytes, (double)bytes};
  return (limits_t){DEFAULT_BYTES, module->was_global ? DEFAULT_PACKED_BYTES : DEFAULT_BYTES};
}

static bool is_packed(const hlo_instr_t *instr) {
  return instr->op == HLO_ALL_REDUCE && fuse_shape_bytes(instr->shape) <= MAX_PACKED_BYTES;
}

/* --- which --- */

/* One operand, reduced in its own type. */
static bool keeps_types(const hlo_instr_t *instr) {
  return instr->operand_count == 1 && instr->shape->dtype == instr->operands[0]->shape->dtype;
}

/* Can the operands be given to one instruction as they are? All-reduces have no dimension. */
static bool has_same_dimension(const hlo_instr_t *x, const hlo_instr_t *y) {
  if (x->op == HLO_ALL_REDUCE) return true;
  if (comm_can_pack(x)) return false;
  hr_ints_t a = hlo_attr_ints(x, HLO_ATTR_DIMENSIONS), b = hlo_attr_ints(y, HLO_ATTR_DIMENSIONS);
  return a.data[0] == b.data[0];
}

/* With one reduction, and what has a dimension can be turned; equal computations are one since the
 * pass "cse". */
static bool is_same_kind(const hlo_instr_t *x, const hlo_instr_t *y) {
  if (comm_packs_with(x, y)) return true;
  bool combines = x->op == HLO_ALL_REDUCE || x->op == HLO_ALL_GATHER || x->op == HLO_REDUCE_SCATTER;
  if (!combines || x->op != y->op || x->called_count != y->called_count) return false;
  if (x->called_count && x->called[0] != y->called[0]) return false;
  return x->op == HLO_ALL_REDUCE || (comm_can_front(x) && comm_can_front(y));
}

/* Both must take their processes from the same grid: channel and device-id flags agree. What is
 * gathered is sent as it is, of whatever type. */
static bool can_combine(const comm_node_t *a, const comm_node_t *b) {
  const hlo_instr_t *x = a->instr, *y = b->instr;
  return is_same_kind(x, y) && a->segment == b->segment && keeps_types(x) && keeps_types(y) &&
         (x->op == HLO_ALL_GATHER || x->shape->dtype == y->shape->dtype) &&
         hlo_attr_bool(x, HLO_ATTR_USE_GLOBAL_DEVICE_IDS) ==
             hlo_attr_bool(y, HLO_ATTR_USE_GLOBAL_DEVICE_IDS) &&
         (hlo_attr_int(x, HLO_ATTR_CHANNEL_ID) != 0) ==
             (hlo_attr_int(y, HLO_ATTR_CHANNEL_ID) != 0) &&
         op_groups_equal(hlo_attr_groups(x), hlo_attr_groups(y));
}

/* --- dependence --- */

#define MAX_SET_WORDS (1 << 22) /* most words of all sets of a computation */

/* The nodes that an instruction depends on, one bit each; NULL: none. */
typedef struct ancestors {
  size_t words;
  const uint64_t **of; /* by instruction id; NULL: too many, levels tell */
} ancestors_t;

static void add_operand(const comm_graph_t *graph, const ancestors_t *ancestors,
                        const hlo_instr_t *operand, uint64_t *set) {
  int node = graph->node_of[operand->id];
  const uint64_t *more = ancestors->of[operand->id];
  for (size_t w = 0; more && w < ancestors->words; w++) set[w] |= more[w];
  if (node >= 0) set[node / 64] |= UINT64_C(1) << node % 64;
}

/* Instructions that add nothing to the set of one operand share it. */
static hr_status_t find_set(hr_arena_t *arena, const comm_graph_t *graph, ancestors_t *ancestors,
                            const hlo_instr_t *instr) {
  const uint64_t *only = NULL;
  int sets = 0;
  uint64_t *set;
  for (int k = 0; k < instr->operand_count; k++) {
    const uint64_t *more = ancestors->of[instr->operands[k]->id];
    bool is_node = graph->node_of[instr->operands[k]->id] >= 0;
    sets += is_node ? 2 : more && more != only;
    if (more) only = more;
  }
  ancestors->of[instr->id] = only;
  if (sets < 2) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, ancestors->words, &set));
  for (int k = 0; k < instr->operand_count; k++)
    add_operand(graph, ancestors, instr->operands[k], set);
  ancestors->of[instr->id] = set;
  return NULL;
}

static hr_status_t find_ancestors(hr_arena_t *arena, const comm_graph_t *graph,
                                  ancestors_t *out_ancestors) {
  const hlo_computation_t *computation = graph->computation;
  ancestors_t ancestors = {.words = (size_t)graph->count / 64 + 1};
  *out_ancestors = ancestors;
  if (graph->count < 2 || computation->instrs.count > MAX_SET_WORDS / ancestors.words) return NULL;
  HR_TRY(HR_NEW_ARRAY(arena, computation->instrs.count, &ancestors.of));
  for (size_t i = 0; i < computation->instrs.count; i++)
    HR_TRY(find_set(arena, graph, &ancestors, computation->instrs.data[i]));
  *out_ancestors = ancestors;
  return NULL;
}

/* --- groups --- */

#define MAX_PASSED 64 /* most nodes that a member is moved past; bounds the compile time */

/* Groups of nodes in one computation. Between the first and the last member of a group, in `order`,
 * no node depends on one of them. */
typedef struct joining {
  comm_graph_t graph;
  ancestors_t ancestors;
  limits_t limits;
  int *order;  /* nodes, operands before users: at first that of readiness */
  int *group;  /* by node: the first node of its group; -1: not combined */
  int *before; /* by node: the member that joined before it; -1: none */
  int *last;   /* by first node: the member that joined last */
  bool any;
} joining_t;

/* Does node `user` depend on node `of`, or may it? */
static bool depends_on(const joining_t *joining, int user, int of) {
  const comm_graph_t *graph = &joining->graph;
  if (!joining->ancestors.of) return graph->nodes[user].level > graph->nodes[of].level;
  const uint64_t *set = joining->ancestors.of[graph->nodes[user].instr->id];
  return set && set[of / 64] >> of % 64 & 1;
}

/* Does node `user` depend on node `of` or on another member of its group? */
static bool depends(const joining_t *joining, int user, int of) {
  int first = joining->group[of];
  if (first < 0) return depends_on(joining, user, of);
  for (int n = joining->last[first]; n >= 0; n = joining->before[n])
    if (depends_on(joining, user, n)) return true;
  return false;
}

/* Moves the node at place `from` forward to place `to`. False: it depends on a node in between. */
static bool move_forward(joining_t *joining, int from, int to) {
  int node = joining->order[from];
  for (int at = to; at < from; at++)
    if (depends(joining, node, joining->order[at])) return false;
  memmove(joining->order + to + 1, joining->order + to, (size_t)(from - to) * sizeof(int));
  joining->order[to] = node;
  return true;
}

/* The bytes of a group with one more member, 0 if it does not fit. */
static double bytes_with(const joining_t *joining, int first, double bytes, int node,
                         bool *turned) {
  const comm_node_t *like = &joining->graph.nodes[first], *more = &joining->graph.nodes[node];
  double sum = bytes + fuse_shape_bytes(more->instr->shape);
  bool packed = is_packed(like->instr) && is_packed(more->instr);
  double most = packed ? joining->limits.packed : joining->limits.any;
  if (joining->group[node] >= 0 || sum > most || !can_combine(like, more)) return 0;
  bool turns = *turned || !has_same_dimension(like->instr, more->instr);
  if (turns && sum > MAX_TURNED_BYTES) return 0;
  *turned = turns;
  return sum;
}

/* Forms a group of the node at `place` and later nodes of its segment, up to the limit of bytes.
 * The group is computed at its last member. A node after one that depends on the group joins only
 * if it can be moved in front of that one. */
static void find_group(joining_t *joining, int place) {
  const comm_graph_t *graph = &joining->graph;
  int first = joining->order[place], end = graph->count; /* place of the first dependent node */
  double bytes = fuse_shape_bytes(graph->nodes[first].instr->shape);
  bool turned = false;
  if (joining->group[first] >= 0 || bytes > joining->limits.any) return;
  for (int at = place + 1; at < graph->count && at < end + MAX_PASSED; at++) {
    int node = joining->order[at];
    bool turns = turned;
    if (graph->nodes[node].segment != graph->nodes[first].segment) return;
    if (depends(joining, node, first)) {
      if (at < end) end = at;
      continue;
    }
    double sum = bytes_with(joining, first, bytes, node, &turns);
    if (sum == 0 || (at > end && !move_forward(joining, at, end))) continue;
    end += at > end;
    joining->group[first] = first;
    joining->group[node] = first;
    joining->before[node] = joining->last[first];
    joining->last[first] = node;
    bytes = sum;
    turned = turns;
    joining->any = true;
  }
}

/* The nodes in the order that was found, with their groups. */
static hr_status_t apply_order(hr_arena_t *arena, joining_t *joining) {
  comm_graph_t *graph = &joining->graph;
  int *place, *group;
  comm_node_t *nodes;
  HR_TRY(HR_NEW_ARRAY(arena, graph->count, &place));
  HR_TRY(HR_NEW_ARRAY(arena, graph->count, &group));
  HR_TRY(HR_NEW_ARRAY(arena, graph->count, &nodes));
  for (int at = 0; at < graph->count; at++) place[joining->order[at]] = at;
  for (int at = 0; at < graph->count; at++) {
    int first = joining->group[joining->order[at]];
    nodes[at] = graph->nodes[joining->order[at]];
    group[at] = first < 0 ? -1 : place[first];
    graph->node_of[nodes[at].instr->id] = at;
  }
  graph->nodes = nodes;
  joining->group = group;
  return NULL;
}

static hr_status_t find_groups(hr_arena_t *arena, hlo_computation_t *computation,
                               joining_t *joining) {
  joining->limits = find_limits(computation->module);
  joining->any = false;
  bool crosses = computation->module->was_global;
  HR_TRY(comm_graph_find(arena, computation, crosses, &joining->graph));
  HR_TRY(find_ancestors(arena, &joining->graph, &joining->ancestors));
  HR_TRY(HR_NEW_ARRAY(arena, joining->graph.count, &joining->group));
  HR_TRY(HR_NEW_ARRAY(arena, joining->graph.count, &joining->order));
  HR_TRY(HR_NEW_ARRAY(arena, joining->graph.count, &joining->before));
  HR_TRY(HR_NEW_ARRAY(arena, joining->graph.count, &joining->last));
  for (int n = 0; n < joining->graph.count; n++) {
    joining->group[n] = joining->before[n] = -1;
    joining->last[n] = n;
    joining->order[n] = n;
  }
  for (int at = 0; at < joining->graph.count; at++) find_group(joining, at);
  return apply_order(arena, joining);
}

/* --- joining --- */

/* Are they along several dimensions? */
static bool is_mixed(hlo_instr_t *const *members, int count) {
  for (int i = 1; i < count; i++)
    if (!has_same_dimension(members[0], members[i])) return true;
  return false;
}

/* Of a group along several dimensions, those along another than the first one. */
static bool is_turned(const hlo_instr_t *member, bool mixed) {
  return mixed && hlo_attr_ints(member, HLO_ATTR_DIMENSIONS).data[0] != 0;
}

/* Operands are resolved first: they may be elements of a group that was joined before. */
static hr_status_t build_combined(pass_rewrite_t *rewrite, hlo_instr_t *const *members, int count,
                                  hlo_instr_t **out_joined) {
  const hlo_instr_t *like = members[0];
  const hlo_shape_t **shapes, *shape;
  hlo_instr_t **operands;
  hlo_attr_t *attrs;
  bool mixed = is_mixed(members, count);
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, like->attr_count, &attrs));
  for (int i = 0; i < like->attr_count; i++) {
    attrs[i] = like->attrs[i];
    if (mixed && attrs[i].key == HLO_ATTR_DIMENSIONS)
      attrs[i] = hlo_attr_of_ints(&rewrite->builder, HLO_ATTR_DIMENSIONS, 1, &(int64_t){0});
  }
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &shapes));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, count, &operands));
  for (int i = 0; i < count; i++) {
    shapes[i] = members[i]->shape;
    operands[i] = pass_resolve(rewrite, members[i]->operands[0]);
    if (!is_turned(members[i], mixed)) continue;
    shapes[i] = comm_front_shape(rewrite, members[i]);
    operands[i] = comm_front_operand(rewrite, members[i], operands[i]);
    if (!shapes[i]) return hlo_builder_finish(&rewrite->builder);
  }
  HR_TRY(hlo_shape_tuple(rewrite->arena, count, shapes, &shape));
  *out_joined = hlo_build(&rewrite->builder, like->op, shape, count, operands, like->attr_count,
                          attrs, like->called_count, like->called);
  return NULL;
}

/* Replaces the members by parts of one packed collective. */
static hr_status_t join_packed(pass_rewrite_t *rewrite, hlo_instr_t *const *members, int count) {
  int64_t offset = 0;
  hlo_instr_t *packed = comm_build_packed(rewrite, members, count);
  for (int i = 0; i < count; i++)
    HR_TRY(pass_replace(rewrite, members[i], comm_unpack(rewrite, members[i], packed, &offset)));
  return NULL;
}

/* The combined instruction is placed at the last member, where all operands exist. */
static hr_status_t join(pass_rewrite_t *rewrite, const joining_t *joining, int first) {
  const comm_graph_t *graph = &joining->graph;
  hlo_instr_t **members, *joined = NULL;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, graph->count, &members));
  for (int n = first; n < graph->count; n++)
    if (joining->group[n] == first) members[count++] = graph->nodes[n].instr;
  pass_rewrite_visit(rewrite, members[count - 1]->id);
  if (comm_can_pack(members[0])) return join_packed(rewrite, members, count);
  HR_TRY(build_combined(rewrite, members, count, &joined));
  bool mixed = is_mixed(members, count);
  for (int i = 0; i < count && joined; i++) {
    hlo_instr_t *x = hlo_build_element(&rewrite->builder, joined, i);
    if (x && is_turned(members[i], mixed)) x = comm_front_result(rewrite, members[i], x);
    HR_TRY(pass_replace(rewrite, members[i], x));
  }
  return NULL;
}

static hr_status_t combine_groups(hlo_computation_t *computation, const joining_t *joining) {
  pass_rewrite_t rewrite;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = NULL;
  for (int n = 0; n < joining->graph.count && !st; n++)
    if (joining->group[n] == n) st = join(&rewrite, joining, n);
  return pass_rewrite_end(&rewrite, st);
}

/* The order of readiness is applied first, so that members are adjacent in dependence. */
static hr_status_t combine_in(hr_arena_t *arena, hlo_computation_t *computation,
                              bool *out_changed) {
  joining_t joining;
  comm_list_t list = {0};
  HR_TRY(find_groups(arena, computation, &joining));
  if (!joining.any) return NULL;
  hr_status_t st = comm_order_find(arena, &joining.graph, &list);
  if (!st) {
    comm_order_apply(computation, &list);
    *out_changed = true;
    st = combine_groups(computation, &joining);
  }
  HR_VEC_FREE(&list);
  return st;
}

hr_status_t pass_combine(hlo_module_t *module, bool *out_changed) {
  hr_arena_t arena;
  hr_status_t st = NULL;
  hr_arena_init(&arena);
  for (size_t c = 0; c < module->computations.count && !st; c++)
    st = combine_in(&arena, module->computations.data[c], out_changed);
  hr_arena_deinit(&arena);
  return st;
}
