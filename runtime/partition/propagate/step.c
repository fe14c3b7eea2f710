/* The step of Shardy's aggressive strategy. For each factor, the axes on which its tensors agree
 * are determined (compatible axes). Then each tensor, results first, takes those that it can: none
 * for a closed dimension, the dividing ones for a major factor, and none that another of its
 * factors has. Factors of larger tensors come first, so that they win conflicts. Shardings only
 * grow, so the rounds end. Cost: tensors x factors, and for conflicts factors squared per tensor.
 */
#include "partition/propagate/step.h"

#include <string.h>

#include "partition/propagate/factors.h"

typedef struct stepper {
  prop_graph_t *graph;
  hr_arena_t *arena; /* scratch */
  const prop_op_t *op;
  const spmd_rule_t *rule;
  const uint8_t *directions;
  int tensor_count;
  prop_factor_t *factors;  /* by tensor and factor */
  spmd_axes_t *compatible; /* by factor */
  int *order;              /* factors with compatible axes, in order of application */
  int order_count;
  bool *changed; /* by tensor */
} stepper_t;

static prop_factor_t *factor_of(const stepper_t *s, int tensor, int factor) {
  return &s->factors[(size_t)tensor * (size_t)s->rule->factor_count + (size_t)factor];
}
static const prop_node_t *node_of(const stepper_t *s, int tensor) {
  int node = s->op->tensors[tensor];
  return node < 0 ? NULL : &s->graph->nodes.data[node];
}

/* --- projection --- */

/* An outer value's dimensions as the inside of a manual computation sees them. A dimension that
 * begins with its manual axes loses them; another one that is cut is closed. Other axes that are
 * manual inside are cut off: the border may want them on another dimension. */
static hr_status_t inner_view(stepper_t *s, const spmd_sharding_t *outer, spmd_dim_t **out_dims) {
  spmd_dim_t *dims;
  int rank = s->rule->tensors[0].rank;
  HR_TRY(HR_NEW_ARRAY(s->arena, rank, &dims));
  for (int d = 0; d < rank; d++) {
    spmd_axes_t manual = s->op->manual[d];
    dims[d] = (spmd_dim_t){.open = true};
    if (!outer) continue;
    dims[d].open = outer->dims[d].open;
    if (spmd_axes_is_prefix(manual, outer->dims[d].axes))
      HR_TRY(spmd_axes_drop_prefix(s->arena, outer->dims[d].axes, manual, &dims[d].axes));
    else
      dims[d].open = !outer->dims[d].axes.count && dims[d].open;
    if (!spmd_axes_overlap(dims[d].axes, s->op->own_manual)) continue;
    HR_TRY(prop_cut_at_overlap(s->arena, dims[d].axes, s->op->own_manual, &dims[d].axes));
    dims[d].open = false;
  }
  *out_dims = dims;
  return NULL;
}

/* Projects all tensors. *out_any: some tensor is cut. */
static hr_status_t project(stepper_t *s, bool *out_any) {
  *out_any = false;
  for (int t = 0; t < s->tensor_count; t++) {
    const prop_node_t *node = node_of(s, t);
    if (!node) continue;
    const spmd_dim_t *dims = node->sharding ? node->sharding->dims : NULL;
    if (t == s->op->outer) {
      spmd_dim_t *view;
      HR_TRY(inner_view(s, node->sharding, &view));
      dims = view;
    }
    for (int d = 0; dims && d < s->rule->tensors[t].rank; d++) *out_any |= dims[d].axes.count > 0;
    HR_TRY(prop_project(s->arena, s->rule, t, dims, factor_of(s, t, 0)));
  }
  return NULL;
}

/* --- compatible axes --- */

/* Cuts *axes after the major part of size `keep` of member i (1: before it) and stops growth. */
static hr_status_t stop_at(stepper_t *s, spmd_axes_t *axes, int i, int64_t keep, bool *grows) {
  *grows = false;
  return prop_cut(s->arena, *axes, i, keep, axes);
}

/* Folds the axes of one tensor into *axes; `extends`: the tensor may add to them. */
static hr_status_t fold(stepper_t *s, spmd_axes_t *axes, spmd_axes_t other, bool extends,
                        bool *grows) {
  int i = 0;
  while (i < axes->count && i < other.count && spmd_axis_equal(axes->items[i], other.items[i])) i++;
  if (i == axes->count) {
    if (extends && *grows) *axes = other;
    return NULL;
  }
  if (i == other.count) return NULL;
  spmd_axis_t a = axes->items[i], b = other.items[i];
  bool same = a.axis == b.axis && a.pre == b.pre;
  if (same && b.size % a.size == 0) {
    if (i < axes->count - 1) return stop_at(s, axes, i, a.size, grows);
    if (extends && *grows) *axes = other;
    return NULL;
  }
  if (same && a.size % b.size == 0)
    return i == other.count - 1 ? NULL : stop_at(s, axes, i, b.size, grows);
  return stop_at(s, axes, i, 1, grows);
}

/* Folds the tensors first .. first + count - 1 that have the factor. */
static hr_status_t fold_range(stepper_t *s, int factor, int first, int count, bool extends,
                              bool *grows) {
  for (int t = first; t < first + count; t++) {
    const prop_factor_t *part = factor_of(s, t, factor);
    if (part->present) HR_TRY(fold(s, &s->compatible[factor], part->axes, extends, grows));
  }
  return NULL;
}

/* Forward, operands extend the compatible axes and results only shorten them; backward the reverse.
 */
static hr_status_t find_compatible(stepper_t *s, int factor) {
  int operands = s->rule->operand_count, results = s->rule->result_count;
  int direction = s->directions[factor];
  bool grows = true;
  if (direction == PROP_NONE) return NULL;
  if (direction == PROP_BACKWARD) {
    HR_TRY(fold_range(s, factor, operands, results, true, &grows));
    return fold_range(s, factor, 0, operands, false, &grows);
  }
  HR_TRY(fold_range(s, factor, 0, operands, true, &grows));
  return fold_range(s, factor, operands, results, direction == PROP_BOTH, &grows);
}

/* --- order --- */

typedef struct source {
  int factor, tensor;
  double size;   /* elements of the tensor */
  int64_t parts; /* product of the sizes of the compatible axes */
} source_t;

/* Number of elements as the product of the factors' sizes, which may exceed the dimensions'. */
static double tensor_size(const stepper_t *s, int tensor) {
  double size = 1;
  for (int d = 0; d < s->rule->tensors[tensor].rank; d++) {
    const spmd_dim_factors_t *dim = &s->rule->tensors[tensor].dims[d];
    for (int i = 0; i < dim->count; i++) size *= (double)s->rule->factors[dim->factors[i]].size;
  }
  return size;
}

/* The largest tensor that has all of the compatible axes. */
static source_t find_source(const stepper_t *s, int factor) {
  source_t source = {factor, -1, -1, spmd_axes_parts(s->compatible[factor])};
  for (int t = 0; t < s->tensor_count; t++) {
    const prop_factor_t *part = factor_of(s, t, factor);
    if (!part->present || !spmd_axes_is_prefix(s->compatible[factor], part->axes)) continue;
    double size = tensor_size(s, t);
    if (size <= source.size) continue;
    source.size = size;
    source.tensor = t;
  }
  return source;
}

/* Precedence of factors: larger tensors win, as moving them would cost more. */
static bool comes_first(const stepper_t *s, source_t a, source_t b) {
  if (a.size != b.size) return a.size > b.size;
  if (s->op->is_pointwise && a.parts != b.parts) return a.parts > b.parts;
  if (a.tensor != b.tensor) return a.tensor < b.tensor;
  return a.factor < b.factor;
}

/* An insertion sort; rules have few factors. */
static hr_status_t order_factors(stepper_t *s) {
  source_t *sources;
  HR_TRY(HR_NEW_ARRAY(s->arena, s->rule->factor_count, &sources));
  for (int f = 0; f < s->rule->factor_count; f++) {
    if (!s->compatible[f].count) continue;
    source_t source = find_source(s, f);
    int at = s->order_count++;
    for (; at > 0 && comes_first(s, source, sources[at - 1]); at--) sources[at] = sources[at - 1];
    sources[at] = source;
  }
  for (int i = 0; i < s->order_count; i++) s->order[i] = sources[i].factor;
  return NULL;
}

/* --- application --- */

/* Limits an operand's axes of a factor to those that the results have, for elementwise ops. */
static hr_status_t limit_by_results(stepper_t *s, int factor, spmd_axes_t *axes) {
  for (int t = s->rule->operand_count; t < s->tensor_count; t++) {
    const prop_factor_t *part = factor_of(s, t, factor);
    if (part->present && part->axes.count <= axes->count && spmd_axes_is_prefix(part->axes, *axes))
      *axes = part->axes;
  }
  return NULL;
}

/* An axis may cut one dimension of a tensor only. Cuts *axes before the first axis that another
 * factor, an overflow, or a reserved axis overlaps. */
static hr_status_t avoid_others(stepper_t *s, int tensor, int factor, spmd_axes_t *axes) {
  const prop_node_t *node = node_of(s, tensor);
  HR_TRY(prop_cut_at_overlap(s->arena, *axes, node->reserved, axes));
  for (int f = 0; f < s->rule->factor_count; f++) {
    const prop_factor_t *other = factor_of(s, tensor, f);
    if (!other->present) continue;
    if (f != factor) HR_TRY(prop_cut_at_overlap(s->arena, *axes, other->axes, axes));
    HR_TRY(prop_cut_at_overlap(s->arena, *axes, other->overflow, axes));
  }
  return NULL;
}

/* Extends one factor of one tensor if it may grow. */
static hr_status_t extend(stepper_t *s, int tensor, int factor) {
  prop_factor_t *part = factor_of(s, tensor, factor);
  spmd_axes_t axes = s->compatible[factor];
  bool is_operand = tensor < s->rule->operand_count;
  if (!part->present || part->closed || part->overflow.count || !node_of(s, tensor)) return NULL;
  if (is_operand && s->op->is_pointwise) HR_TRY(limit_by_results(s, factor, &axes));
  HR_TRY(avoid_others(s, tensor, factor, &axes));
  if (!part->is_minor_most)
    HR_TRY(prop_cut_to_divide(s->arena, axes, s->rule->factors[factor].size, &axes));
  bool grows = spmd_axes_is_prefix(part->axes, axes) && !spmd_axes_equal(part->axes, axes);
  if (!grows) return NULL;
  part->axes = axes;
  s->changed[tensor] = true;
  return NULL;
}

/* Extends tensor by tensor; within one, a factor avoids the axes that earlier factors took. */
static hr_status_t extend_range(stepper_t *s, int first, int count) {
  for (int t = first; t < first + count; t++)
    for (int i = 0; i < s->order_count; i++) HR_TRY(extend(s, t, s->order[i]));
  return NULL;
}

/* --- back to dimensions --- */

/* Copies a list from scratch memory to the program's arena. */
static hr_status_t keep_axes(hr_arena_t *arena, spmd_axes_t *axes) {
  void *copy;
  HR_TRY(hr_arena_copy(arena, axes->items, (size_t)axes->count * sizeof *axes->items, &copy));
  axes->items = copy;
  return NULL;
}

hr_status_t prop_set_axes(prop_graph_t *graph, int number, const spmd_axes_t *axes) {
  prop_node_t *node = &graph->nodes.data[number];
  const spmd_sharding_t *old = node->sharding;
  spmd_sharding_t *sharding;
  spmd_dim_t *dims;
  if (!old)
    HR_TRY(spmd_sharding_replicated(graph->arena, graph->program->mesh, node->shape->rank, &old));
  HR_TRY(HR_NEW(graph->arena, &sharding));
  HR_TRY(HR_NEW_ARRAY(graph->arena, old->rank, &dims));
  *sharding = *old;
  sharding->dims = dims;
  for (int d = 0; d < old->rank; d++) {
    dims[d] = old->dims[d];
    if (!node->sharding) dims[d].open = true;
    if (spmd_axes_equal(dims[d].axes, axes[d])) continue;
    dims[d].axes = axes[d];
    HR_TRY(keep_axes(graph->arena, &dims[d].axes));
  }
  node->sharding = sharding;
  return NULL;
}

/* A node without a sharding differs from everything that is cut. */
static bool axes_differ(const spmd_sharding_t *sharding, int rank, const spmd_axes_t *axes) {
  for (int d = 0; d < rank; d++)
    if (sharding ? !spmd_axes_equal(sharding->dims[d].axes, axes[d]) : axes[d].count > 0)
      return true;
  return false;
}

/* True if dimension d of an outer value can be cut by its manual axes followed by the inner axes.
 * False if it begins with other axes, if more of its axes are manual, or if its manual axes cut
 * another dimension. */
static bool takes_manual(const stepper_t *s, const spmd_sharding_t *outer, int d) {
  spmd_axes_t manual = s->op->manual[d];
  if (!outer) return true;
  spmd_axes_t axes = outer->dims[d].axes;
  for (int e = 0; e < outer->rank; e++)
    if (e != d && spmd_axes_overlap(outer->dims[e].axes, manual)) return false;
  if (!axes.count) return true;
  if (!spmd_axes_is_prefix(manual, axes)) return false;
  spmd_axes_t rest = {axes.count - manual.count, axes.items + manual.count};
  return !spmd_axes_overlap(rest, s->op->own_manual);
}

/* Stores a tensor's factors in its node's dimensions. At the border of a manual computation, the
 * manual axes are prepended again. */
static hr_status_t store(stepper_t *s, int tensor, bool *out_stored) {
  const prop_node_t *node = node_of(s, tensor);
  spmd_axes_t *axes;
  int rank = node->shape->rank;
  HR_TRY(HR_NEW_ARRAY(s->arena, rank, &axes));
  for (int d = 0; d < rank; d++) {
    HR_TRY(prop_unproject(s->arena, s->rule, tensor, d, factor_of(s, tensor, 0), &axes[d]));
    if (tensor != s->op->outer) continue;
    if (takes_manual(s, node->sharding, d))
      HR_TRY(spmd_axes_concat(s->arena, s->op->manual[d], axes[d], &axes[d]));
    else
      axes[d] = node->sharding->dims[d].axes;
  }
  *out_stored = axes_differ(node->sharding, rank, axes);
  return *out_stored ? prop_set_axes(s->graph, s->op->tensors[tensor], axes) : NULL;
}

/* The instruction that a tensor's axes come from; for a result, the first operand that is cut. */
static const hlo_instr_t *source_of(const stepper_t *s, int tensor) {
  for (int t = 0; t < s->rule->operand_count && tensor >= s->rule->operand_count; t++) {
    const prop_node_t *node = node_of(s, t);
    if (node && !spmd_sharding_is_replicated(node->sharding)) return node->instr;
  }
  return s->op->instr;
}

static hr_status_t store_all(stepper_t *s, int *changed, int *out_count) {
  int count = 0;
  for (int t = 0; t < s->tensor_count; t++) {
    bool stored = false;
    if (s->changed[t]) HR_TRY(store(s, t, &stored));
    if (!stored) continue;
    prop_node_t *node = &s->graph->nodes.data[s->op->tensors[t]];
    changed[count++] = s->op->tensors[t];
    if (node->origin == SPMD_FROM_PROGRAM || node->origin == SPMD_FROM_USER) continue;
    node->origin = t < s->rule->operand_count ? SPMD_FROM_USE : SPMD_FROM_OPERAND;
    if (s->op->kind == PROP_EDGE) node->origin = SPMD_FROM_EDGE;
    node->source = source_of(s, t);
  }
  *out_count = count;
  return NULL;
}

hr_status_t prop_step(prop_graph_t *graph, hr_arena_t *scratch, const prop_op_t *op,
                      const uint8_t *directions, int *changed, int *out_changed_count) {
  stepper_t s = {.graph = graph,
                 .arena = scratch,
                 .op = op,
                 .rule = op->rule,
                 .directions = directions,
                 .tensor_count = prop_tensor_count(op)};
  int factors = op->rule->factor_count;
  bool any;
  *out_changed_count = 0;
  HR_TRY(HR_NEW_ARRAY(scratch, (size_t)s.tensor_count * (size_t)factors, &s.factors));
  HR_TRY(HR_NEW_ARRAY(scratch, factors, &s.compatible));
  HR_TRY(HR_NEW_ARRAY(scratch, factors, &s.order));
  HR_TRY(HR_NEW_ARRAY(scratch, s.tensor_count, &s.changed));
  HR_TRY(project(&s, &any));
  if (!any) return NULL;
  for (int f = 0; f < factors; f++) HR_TRY(find_compatible(&s, f));
  HR_TRY(order_factors(&s));
  HR_TRY(extend_range(&s, op->rule->operand_count, op->rule->result_count));
  HR_TRY(extend_range(&s, 0, op->rule->operand_count));
  return store_all(&s, changed, out_changed_count);
}
