/* The borders of manual computations in the graph. An edge ties a value outside to the same value
 * inside, whose sharding lacks the manual axes. Cost: linear. */
#include "partition/propagate/graph_build.h"

/* Splits a sharding at the border into manual axes, which come first in each dimension, and the
 * rest. A value that is unreduced over manual axes is not unreduced over them inside. */
static hr_status_t split_manual(prop_graph_t *graph, const spmd_sharding_t *outer,
                                spmd_axes_t manual, const spmd_sharding_t **out_inner,
                                spmd_axes_t **out_manual) {
  spmd_sharding_t *inner;
  spmd_dim_t *dims;
  HR_TRY(HR_NEW(graph->arena, &inner));
  HR_TRY(HR_NEW_ARRAY(graph->arena, outer->rank, &dims));
  HR_TRY(HR_NEW_ARRAY(graph->arena, outer->rank, out_manual));
  *inner = *outer;
  inner->dims = dims;
  for (int d = 0; d < outer->rank; d++) {
    dims[d] = outer->dims[d];
    HR_TRY(spmd_axes_subtract(graph->arena, outer->dims[d].axes, manual, &dims[d].axes));
    HR_TRY(spmd_axes_subtract(graph->arena, outer->dims[d].axes, dims[d].axes, &(*out_manual)[d]));
  }
  HR_TRY(spmd_axes_subtract(graph->arena, outer->replicated, manual, &inner->replicated));
  HR_TRY(spmd_axes_subtract(graph->arena, outer->unreduced, manual, &inner->unreduced));
  *out_inner = inner;
  return NULL;
}

/* The manual axes of a marker: those of the body next to it, without those of the computation that
 * holds the marker. */
static hr_status_t own_manual_axes(const prop_graph_t *graph, const hlo_instr_t *marker,
                                   spmd_axes_t *out_axes) {
  const spmd_computation_t *computations = graph->program->computations;
  const spmd_computation_t *around = &computations[marker->parent->id];
  const hlo_instr_t *call = around->borders[marker->id];
  *out_axes = (spmd_axes_t){0, NULL};
  if (!call) return NULL;
  return spmd_axes_subtract(graph->arena, computations[call->called[0]->id].manual_axes,
                            around->manual_axes, out_axes);
}

/* Checks that the manual axes come first in each dimension and divide the outer sizes into the
 * inner ones. */
static hr_status_t check_border(const hlo_instr_t *marker, int k, bool enters,
                                const spmd_sharding_t *said, const spmd_axes_t *manual) {
  const hlo_shape_t *global =
      enters ? marker->operands[k]->shape : hlo_shape_leaf(marker->shape, k);
  const hlo_shape_t *local = enters ? hlo_shape_leaf(marker->shape, k) : marker->operands[k]->shape;
  const char *name = enters ? "operand" : "result";
  if (said->rank != global->rank || local->rank != global->rank)
    return hlo_error(marker, NULL, "%s %d has rank %d outside and %d inside", name, k, global->rank,
                     local->rank);
  for (int d = 0; d < said->rank; d++) {
    int64_t parts = spmd_axes_parts(manual[d]);
    if (!spmd_axes_is_prefix(manual[d], said->dims[d].axes))
      return hlo_error(marker, NULL,
                       "dimension %d of %s %d is divided by a free axis before a manual one, want "
                       "manual axes first",
                       d, name, k);
    if (parts * local->dims[d] != global->dims[d])
      return hlo_error(marker, NULL,
                       "dimension %d of %s %d is %ld outside and %ld inside, want %ld manual parts "
                       "of equal size",
                       d, name, k, (long)global->dims[d], (long)local->dims[d], (long)parts);
  }
  return NULL;
}

/* Completes and adds the boundary op of operand k: outside -> inside, or inside -> outside. */
static hr_status_t add_boundary(prop_graph_t *graph, prop_op_t op, int k, int from, int to) {
  int inner = op.outer == 0 ? to : from;
  int *tensors;
  if (from < 0 || to < 0) return NULL;
  HR_TRY(HR_NEW_ARRAY(graph->arena, 2, &tensors));
  HR_TRY(HR_NEW(graph->arena, &op.uses));
  *op.uses = prop_use_of(graph, op.instr->operands[k], 0, op.instr, op.instr->parent);
  tensors[0] = from;
  tensors[1] = to;
  op.tensors = tensors;
  HR_TRY(prop_identity_rule(graph->arena, graph->nodes.data[inner].shape, 1, &op.rule));
  return prop_add_op(graph, op);
}

/* A border without an annotation is replicated. A value that enters gets the border's sharding
 * without the manual axes, as if the body's parameter were annotated. */
hr_status_t prop_build_boundary(prop_graph_t *graph, const hlo_instr_t *marker, bool enters) {
  spmd_axes_t axes;
  HR_TRY(own_manual_axes(graph, marker, &axes));
  HR_TRY(prop_add_leaves(graph, marker));
  for (int k = 0; k < marker->operand_count; k++) {
    const spmd_sharding_t *said = prop_values_of(graph, marker)[k].sharding, *inner = NULL;
    int from = prop_nodes_of(graph, marker->operands[k])[0], to = prop_nodes_of(graph, marker)[k];
    spmd_axes_t *manual, unreduced;
    if (to < 0) continue;
    if (!said)
      HR_TRY(spmd_sharding_replicated(graph->arena, graph->program->mesh,
                                      marker->operands[k]->shape->rank, &said));
    HR_TRY(split_manual(graph, said, axes, &inner, &manual));
    HR_TRY(check_border(marker, k, enters, said, manual));
    if (enters) graph->nodes.data[to].said = inner;
    HR_TRY(spmd_axes_subtract(graph->arena, said->unreduced, inner->unreduced, &unreduced));
    prop_op_t op = {.instr = marker,
                    .kind = PROP_EDGE,
                    .is_pointwise = true,
                    .forward = true,
                    .backward = true,
                    .outer = enters ? 0 : 1,
                    .manual = manual,
                    .own_manual = axes,
                    .said = said,
                    .manual_unreduced = unreduced};
    HR_TRY(add_boundary(graph, op, k, from, to));
  }
  return NULL;
}
