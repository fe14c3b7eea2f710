/* Overlap of communication and computation: collectives are split into a start and a done, with
 * independent computation between them:
 *
 *   y = all-reduce(x)   ->   s = all-reduce-start(x)
 *   z = dot(a, b)            z = dot(a, b)
 *                            y = all-reduce-done(s)
 *
 * The start goes where the operands are ready, the done where the result is first used
 * (comm_order.h). A collective with less than MIN_HIDDEN_NS of computation between the halves stays
 * in one piece. All processes compute the same order. Whether the schedule completes is proved
 * afterwards (check/). Exact. */
#include <stdlib.h>
#include <string.h>

#include "passes/comm/comm_order.h"
#include "passes/lib/pass_rewrite.h"
#include "passes/passes.h"

/* Least computation between the halves, in ns, that pays for two more steps. */
#define MIN_HIDDEN_NS 5000.0

/* --- candidates --- */

typedef struct plan {
  comm_graph_t graph;
  comm_list_t list;
  bool *is_split;    /* by node */
  hlo_instr_t **end; /* by node: instruction before which its done is placed; NULL: the end of the
                        computation */
  bool any;
} plan_t;

/* Sums the cost of the instructions between start and done of each collective. */
static hr_status_t find_splits(hr_arena_t *arena, plan_t *plan) {
  const comm_graph_t *graph = &plan->graph;
  double now_ns = 0, *begun_ns;
  HR_TRY(HR_NEW_ARRAY(arena, graph->count, &plan->is_split));
  HR_TRY(HR_NEW_ARRAY(arena, graph->count, &plan->end));
  HR_TRY(HR_NEW_ARRAY(arena, graph->count, &begun_ns));
  for (size_t i = 0; i < plan->list.count; i++) {
    const comm_entry_t *entry = &plan->list.data[i];
    int node = graph->node_of[entry->instr->id];
    if (node < 0) {
      now_ns += graph->cost_ns[entry->instr->id];
    } else if (!entry->is_end) {
      begun_ns[node] = now_ns;
    } else {
      plan->is_split[node] = now_ns - begun_ns[node] >= MIN_HIDDEN_NS;
      plan->any |= plan->is_split[node];
    }
  }
  hlo_instr_t *next = NULL;
  for (size_t i = plan->list.count; i-- > 0;) {
    const comm_entry_t *entry = &plan->list.data[i];
    if (entry->is_end)
      plan->end[graph->node_of[entry->instr->id]] = next;
    else
      next = entry->instr;
  }
  return NULL;
}

/* --- halves --- */

/* The operand's shape, or a tuple of all. */
static const hlo_shape_t *operands_shape(pass_rewrite_t *rewrite, const hlo_instr_t *instr,
                                         bool always_tuple) {
  const hlo_shape_t *const *shapes, *shape = NULL;
  hlo_builder_t *builder = &rewrite->builder;
  if (instr->operand_count == 1 && !always_tuple) return instr->operands[0]->shape;
  if (!builder->status) builder->status = hlo_operand_shapes(&rewrite->scratch, instr, &shapes);
  if (!builder->status)
    builder->status = hlo_shape_tuple(rewrite->arena, instr->operand_count, shapes, &shape);
  return shape;
}

/* Shape of the start: (operands, result), and additional elements for some ops. */
static const hlo_shape_t *state_shape(pass_rewrite_t *rewrite, const hlo_instr_t *instr,
                                      bool always_tuple) {
  const hlo_shape_t *parts[2] = {operands_shape(rewrite, instr, always_tuple), instr->shape},
                    *shape = NULL;
  if (!rewrite->builder.status)
    rewrite->builder.status = hlo_shape_tuple(rewrite->arena, 2, parts, &shape);
  return shape;
}

/* The same operands, attributes and bodies under another opcode. */
static hlo_instr_t *build_as(pass_rewrite_t *rewrite, hlo_opcode_t op, const hlo_shape_t *shape,
                             const hlo_instr_t *instr) {
  return hlo_build(&rewrite->builder, op, shape, instr->operand_count, instr->operands,
                   instr->attr_count, instr->attrs, instr->called_count, instr->called);
}

/* A computation that only applies this collective to its parameters. */
static hr_status_t new_wrapper(const hlo_instr_t *instr, hlo_computation_t **out_wrapper) {
  hlo_module_t *module = instr->parent->module;
  hlo_computation_t *wrapper;
  hlo_instr_t **params;
  HR_TRY(hlo_computation_add(module, HR_STR("async_wrapped"), &wrapper));
  HR_TRY(HR_NEW_ARRAY(&module->arena, instr->operand_count, &params));
  hlo_builder_t builder = hlo_builder_at(wrapper, instr->line, instr->column);
  for (int k = 0; k < instr->operand_count; k++)
    params[k] = hlo_build_parameter(&builder, k, instr->operands[k]->shape);
  wrapper->root = hlo_build(&builder, instr->op, instr->shape, instr->operand_count, params,
                            instr->attr_count, instr->attrs, instr->called_count, instr->called);
  wrapper->is_async_wrapper = true;
  *out_wrapper = wrapper;
  return hlo_builder_finish(&builder);
}

static hlo_instr_t *build_wrapped_start(pass_rewrite_t *rewrite, const hlo_instr_t *instr) {
  hlo_computation_t *wrapper = NULL;
  hlo_builder_t *builder = &rewrite->builder;
  hlo_attr_t calls = hlo_attr_of_called(HLO_ATTR_CALLS, 1);
  const hlo_shape_t *shape = state_shape(rewrite, instr, true);
  if (!builder->status) builder->status = new_wrapper(instr, &wrapper);
  if (builder->status) return NULL;
  return hlo_build(builder, HLO_ASYNC_START, shape, instr->operand_count, instr->operands, 1,
                   &calls, 1, &wrapper);
}

/* Ops without a start op are wrapped in async-start. */
static hlo_instr_t *build_start(pass_rewrite_t *rewrite, const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_ALL_REDUCE:
      return build_as(rewrite, HLO_ALL_REDUCE_START, instr->shape, instr);
    case HLO_ALL_GATHER:
      return build_as(rewrite, HLO_ALL_GATHER_START, state_shape(rewrite, instr, false), instr);
    case HLO_COLLECTIVE_PERMUTE:
      return build_as(rewrite, HLO_COLLECTIVE_PERMUTE_START, state_shape(rewrite, instr, false),
                      instr);
    default:
      return build_wrapped_start(rewrite, instr);
  }
}

static hlo_instr_t *build_done(pass_rewrite_t *rewrite, const hlo_instr_t *instr,
                               hlo_instr_t *start) {
  hlo_opcode_t op = start->op == HLO_ALL_REDUCE_START           ? HLO_ALL_REDUCE_DONE
                    : start->op == HLO_ALL_GATHER_START         ? HLO_ALL_GATHER_DONE
                    : start->op == HLO_COLLECTIVE_PERMUTE_START ? HLO_COLLECTIVE_PERMUTE_DONE
                                                                : HLO_ASYNC_DONE;
  bool is_wrapped = start->op == HLO_ASYNC_START;
  hlo_instr_t *done = hlo_build(&rewrite->builder, op, instr->shape, 1, &start, 0, NULL, 0, NULL);
  if (is_wrapped && done) {
    start->async_sugar = true;
    done->async_sugar = true;
  }
  return done;
}

/* --- splitting --- */

/* Keeps the name and source metadata that users see. */
static hr_status_t keep_metadata(pass_rewrite_t *rewrite, const hlo_instr_t *from,
                                 hlo_instr_t *to) {
  hlo_extra_t *extra;
  if (!from->extra || !from->extra->metadata) return NULL;
  HR_TRY(HR_NEW(rewrite->arena, &extra));
  extra->metadata = from->extra->metadata;
  to->extra = extra;
  return NULL;
}

static hr_status_t split_collective(pass_rewrite_t *rewrite, hlo_instr_t *instr,
                                    const hlo_instr_t *before) {
  uint32_t end = before ? before->id : rewrite->old_count - 1;
  if (!pass_rewrite_visit(rewrite, instr->id)) return NULL;
  hlo_instr_t *start = build_start(rewrite, instr);
  if (!start) return hlo_builder_finish(&rewrite->builder);
  HR_TRY(keep_metadata(rewrite, instr, start));
  pass_use_count(rewrite, start); /* records the position */
  rewrite->position = end;
  return pass_replace(rewrite, instr, build_done(rewrite, instr, start));
}

static hr_status_t split_all(hlo_computation_t *computation, const plan_t *plan) {
  pass_rewrite_t rewrite;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = NULL;
  for (int n = 0; n < plan->graph.count && !st; n++)
    if (plan->is_split[n])
      st = split_collective(&rewrite, plan->graph.nodes[n].instr, plan->end[n]);
  return pass_rewrite_end(&rewrite, st);
}

static hr_status_t overlap_in(hr_arena_t *arena, hlo_computation_t *computation,
                              bool *out_changed) {
  plan_t plan = {0};
  HR_TRY(comm_graph_find(arena, computation, false, &plan.graph));
  if (!plan.graph.count) return NULL;
  hr_status_t st = comm_order_find(arena, &plan.graph, &plan.list);
  if (!st) st = find_splits(arena, &plan);
  if (!st && plan.any) {
    comm_order_apply(computation, &plan.list);
    *out_changed = true;
    st = split_all(computation, &plan);
  }
  HR_VEC_FREE(&plan.list);
  return st;
}

hr_status_t pass_overlap(hlo_module_t *module, bool *out_changed) {
  hr_arena_t arena;
  hr_status_t st = NULL;
  const char *wanted = getenv("HLORUN_OVERLAP");
  if (wanted && !strcmp(wanted, "0")) return NULL;
  size_t count = module->computations.count;
  hr_arena_init(&arena);
  for (size_t c = 0; c < count && !st; c++)
    st = overlap_in(&arena, module->computations.data[c], out_changed);
  hr_arena_deinit(&arena);
  return st ? st : pass_computations_order(module);
}
