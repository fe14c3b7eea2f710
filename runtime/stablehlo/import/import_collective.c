/* Collectives: replica groups as lists or mesh axes, channels, and the mode implied by
 * use_global_device_ids and the channel. Ops whose result order differs between StableHLO and XLA
 * use import_differences.c. */
#include "stablehlo/import/import.h"
#include "stablehlo/import/mesh_groups.h"

/* Rows of a matrix of ids are groups; shorter groups are padded with -1. */
static hr_status_t groups_of_rows(import_scope_t *scope, const mlir_op_t *op,
                                  const mlir_attr_t *attr, hlo_groups_t *groups) {
  hr_ints_t ids;
  hr_ints_t *lists;
  if (attr->type->rank != 2)
    return import_error(scope, op, "replica_groups of rank %d, want 2", attr->type->rank);
  HR_TRY(import_ints_of(scope, attr, &ids));
  int64_t count = attr->type->dims[0];
  int64_t width = attr->type->dims[1];
  if (width == 0) count = 0;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &lists));
  for (int64_t g = 0; g < count; g++) {
    lists[g] = (hr_ints_t){ids.data + g * width, width};
    while (lists[g].count && lists[g].data[lists[g].count - 1] < 0) lists[g].count--;
  }
  groups->groups = (hlo_int_lists_t){count, lists};
  return NULL;
}

/* Mesh axes are kept if HLO can express them; other meshes become lists (mesh_groups.c). */
static hr_status_t groups_of_mesh(import_scope_t *scope, const mlir_op_t *op,
                                  const mlir_attr_t *attr, hlo_groups_t *groups) {
  hr_status_t st =
      stablehlo_mesh_groups(scope->importer->from, scope->importer->arena, attr, groups);
  if (!st || hr_status_code(st) != HR_INVALID) return st;
  hr_status_t placed = import_error(scope, op, "%s", hr_status_message(st));
  hr_status_release(st);
  return placed;
}

/* Adds replica_groups of either form; without them all processes are one group. */
static hr_status_t add_groups(import_scope_t *scope, import_attrs_t *attrs, const mlir_op_t *op,
                              const mlir_attr_t *attr) {
  hlo_groups_t *groups;
  HR_TRY(HR_NEW(scope->importer->arena, &groups));
  bool is_mesh = attr && attr->kind == MLIR_ATTR_STRUCT;
  if (attr && !is_mesh && attr->kind != MLIR_ATTR_DENSE)
    return import_error(scope, op,
                        "replica_groups in a form other than dense<...> or "
                        "#stablehlo.replica_group_mesh_axes<...>");
  if (attr)
    HR_TRY(is_mesh ? groups_of_mesh(scope, op, attr, groups)
                   : groups_of_rows(scope, op, attr, groups));
  import_add(attrs, (hlo_attr_t){.key = HLO_ATTR_REPLICA_GROUPS, .groups = groups});
  return NULL;
}

/* Adds channel, groups and the flag for global ids, which determine the participants
 * (ops/query/replica_groups.h). */
static hr_status_t start_collective(import_scope_t *scope, import_attrs_t *attrs,
                                    const mlir_op_t *op, bool with_groups) {
  int64_t channel = import_field_int(op, "channel_handle", "handle");
  if (channel > 0) import_add(attrs, hlo_attr_of_int(HLO_ATTR_CHANNEL_ID, channel));
  if (with_groups) HR_TRY(add_groups(scope, attrs, op, mlir_op_attr(op, "replica_groups")));
  if (import_bool(op, "use_global_device_ids", false))
    import_add(attrs, hlo_attr_of_bool(HLO_ATTR_USE_GLOBAL_DEVICE_IDS, true));
  return NULL;
}

/* One instruction; its region, if it has one, becomes the computation of the reduction. */
static hr_status_t build_collective(import_scope_t *scope, mlir_op_t *op, const import_row_t *row,
                                    import_attrs_t *attrs, hlo_instr_t *const *operands,
                                    bool with_body) {
  hlo_computation_t *body = NULL;
  const hlo_shape_t *shape;
  HR_TRY(import_results_shape(scope, op, &shape));
  if (with_body) {
    HR_TRY(import_body(scope, op, 0, &body));
    import_add(attrs, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1));
  }
  return import_set_results(scope, op,
                            hlo_build(&scope->builder, row->op, shape, op->operand_count, operands,
                                      attrs->count, attrs->items, with_body, &body));
}

/* Common end of collectives: builds the op on its operands when all attributes are known. */
static hr_status_t finish_collective(import_scope_t *scope, mlir_op_t *op, const import_row_t *row,
                                     import_attrs_t *attrs, bool with_body) {
  hlo_instr_t **operands;
  HR_TRY(import_operands(scope, op, &operands));
  return build_collective(scope, op, row, attrs, operands, with_body);
}

/* HLO's collectives have one dimension, as an attribute that is a list. */
static void add_dimension(import_scope_t *scope, import_attrs_t *attrs, int64_t dimension) {
  import_add(attrs, hlo_attr_of_ints(&scope->builder, HLO_ATTR_DIMENSIONS, 1, &dimension));
}

/* The order of the members' chunks in the results is StableHLO's (import_differences.c). */
hr_status_t import_all_gather(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(start_collective(scope, &attrs, op, true));
  int64_t dimension = import_int(op, "all_gather_dim", 0);
  add_dimension(scope, &attrs, dimension);
  HR_TRY(finish_collective(scope, op, row, &attrs, false));
  for (int k = 0; k < op->operand_count && k < op->result_count; k++) {
    member_chunks_t chunks = {.part = import_operand(op, k)->shape, .dimension = dimension};
    hlo_instr_t *gathered = op->results[k].mapped;
    HR_TRY(import_order_members(scope, &attrs, &chunks, &gathered));
    op->results[k].mapped = gathered;
  }
  return hlo_builder_finish(&scope->builder);
}

/* Replica groups, channel and reducer; several operands stay one all-reduce. */
hr_status_t import_all_reduce(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(start_collective(scope, &attrs, op, true));
  return finish_collective(scope, op, row, &attrs, true);
}

/* The order of the members' chunks in the operands is StableHLO's: the inverse of all_gather. */
hr_status_t import_reduce_scatter(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(start_collective(scope, &attrs, op, true));
  member_chunks_t chunks = {.dimension = import_int(op, "scatter_dimension", 0),
                            .by_partition = true};
  hlo_instr_t **operands;
  add_dimension(scope, &attrs, chunks.dimension);
  HR_TRY(import_operands(scope, op, &operands));
  for (int k = 0; k < op->operand_count && k < op->result_count; k++) {
    HR_TRY(import_result_shape(scope, op, k, &chunks.part));
    HR_TRY(import_order_members(scope, &attrs, &chunks, &operands[k]));
  }
  return build_collective(scope, op, row, &attrs, operands, true);
}

/* collective_broadcast, and collective_reduce with its region. */
hr_status_t import_rooted(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  import_attrs_t attrs = {.count = 0};
  HR_TRY(start_collective(scope, &attrs, op, true));
  if (import_bool(op, "has_dynamic_root", false))
    import_add(&attrs, hlo_attr_of_bool(HLO_ATTR_HAS_DYNAMIC_ROOT, true));
  return finish_collective(scope, op, row, &attrs, row->op == HLO_COLLECTIVE_REDUCE);
}

/* Settings of a ragged_all_to_all custom call: a dictionary with either of two names. NULL:
 * none. */
static const mlir_attr_t *ragged_config(const mlir_op_t *op) {
  const mlir_attr_t *config = mlir_op_attr(op, "backend_config");
  if (!config) config = mlir_op_attr(op, "mhlo.backend_config");
  return config && config->kind == MLIR_ATTR_DICT ? config : NULL;
}

/* True for JAX's custom call for this collective; without its dictionary it is an ordinary custom
 * call. */
bool import_is_ragged_all_to_all(const mlir_op_t *op) {
  return hr_str_is(import_str(op, "call_target_name"), "ragged_all_to_all") && ragged_config(op);
}

/* JAX writes a custom call whose configuration has the groups. */
hr_status_t import_ragged_all_to_all(import_scope_t *scope, mlir_op_t *op) {
  static const import_row_t row = {.op = HLO_RAGGED_ALL_TO_ALL};
  import_attrs_t attrs = {.count = 0};
  const mlir_attr_t *config = ragged_config(op);
  const mlir_attr_t *channel = mlir_attr_field(config, "channel_id");
  if (channel && channel->kind != MLIR_ATTR_INTEGER)
    return import_error(scope, op, "channel_id is no integer");
  if (channel && channel->integer > 0)
    import_add(&attrs, hlo_attr_of_int(HLO_ATTR_CHANNEL_ID, channel->integer));
  HR_TRY(add_groups(scope, &attrs, op, mlir_attr_field(config, "replica_groups")));
  return finish_collective(scope, op, &row, &attrs, false);
}

/* Pairs of source and target, as rows of two. */
hr_status_t import_collective_permute(import_scope_t *scope, mlir_op_t *op,
                                      const import_row_t *row) {
  const mlir_attr_t *pairs = mlir_op_attr(op, "source_target_pairs");
  hlo_groups_t lists;
  hlo_int_lists_t *list;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(start_collective(scope, &attrs, op, false));
  if (!pairs || pairs->kind != MLIR_ATTR_DENSE)
    return import_error(scope, op, "it has no source_target_pairs");
  HR_TRY(groups_of_rows(scope, op, pairs, &lists));
  HR_TRY(HR_NEW(scope->importer->arena, &list));
  *list = lists.groups;
  import_add(&attrs, (hlo_attr_t){.key = HLO_ATTR_SOURCE_TARGET_PAIRS, .lists = list});
  return finish_collective(scope, op, row, &attrs, false);
}

/* Splits x into `count` chunks along `split` and concatenates them along `concat`. */
static hr_status_t move_chunks(import_scope_t *scope, hlo_instr_t *x, int64_t split, int64_t concat,
                               int64_t count, hlo_instr_t **out_moved) {
  hlo_instr_t **parts;
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &parts));
  for (int64_t i = 0; x && i < count; i++) {
    hlo_slice_t *slice;
    hlo_slice_dim_t *dims;
    HR_TRY(HR_NEW(scope->importer->arena, &slice));
    HR_TRY(HR_NEW_ARRAY(scope->importer->arena, x->shape->rank, &dims));
    int64_t size = x->shape->dims[split] / count;
    for (int d = 0; d < x->shape->rank; d++)
      dims[d] = d == split ? (hlo_slice_dim_t){i * size, (i + 1) * size, 1}
                           : (hlo_slice_dim_t){0, x->shape->dims[d], 1};
    *slice = (hlo_slice_t){x->shape->rank, dims};
    hlo_attr_t attr = {.key = HLO_ATTR_SLICE, .slice = slice};
    parts[i] = hlo_build(&scope->builder, HLO_SLICE, NULL, 1, &x, 1, &attr, 0, NULL);
  }
  hlo_attr_t dimension = hlo_attr_of_ints(&scope->builder, HLO_ATTR_DIMENSIONS, 1, &concat);
  *out_moved = x ? hlo_build(&scope->builder, HLO_CONCATENATE, NULL, (int)count, parts, 1,
                             &dimension, 0, NULL)
                 : NULL;
  return NULL;
}

/* A vector of `rank` s32: `value` at `place`, 1 elsewhere. */
static hlo_instr_t *factors_at(import_scope_t *scope, int rank, int64_t place, int64_t value) {
  hlo_builder_t *b = &scope->builder;
  hlo_value_t *factors;
  int64_t count = rank;
  if (!b->status) b->status = hlo_value_array(HR_S32, 1, &count, &factors);
  if (b->status) return NULL;
  for (int d = 0; d < rank; d++) ((int32_t *)factors->data)[d] = d == place ? (int32_t)value : 1;
  return hlo_build_constant(b, factors);
}

/* The sizes of x at `places`, where `split` has its part of `count` and `times` that many more. */
static hlo_instr_t *chunk_sizes(import_scope_t *scope, hlo_instr_t *x, int rank,
                                const int64_t *places, int64_t split, int64_t times,
                                int64_t count) {
  hlo_builder_t *b = &scope->builder;
  hlo_instr_t *sizes = import_sizes_at(scope, x, rank, places);
  hlo_instr_t *parts =
      hlo_build_binary(b, HLO_DIVIDE, sizes, factors_at(scope, rank, split, count));
  return hlo_build_binary(b, HLO_MULTIPLY, parts, factors_at(scope, rank, times, count));
}

/* A dynamic-reshape of x to a vector of sizes; `dims` are those that are known. */
static hlo_instr_t *reshape_to(import_scope_t *scope, hlo_instr_t *x, hlo_instr_t *sizes, int rank,
                               const int64_t *dims) {
  hlo_builder_t *b = &scope->builder;
  const hlo_shape_t *shape;
  bool dynamic[HLO_MAX_RANK];
  for (int d = 0; d < rank; d++) dynamic[d] = dims[d] == HLO_UNBOUNDED;
  if (!b->status && x)
    b->status = hlo_shape_array_dynamic(scope->importer->arena, x->shape->dtype, rank, dims,
                                        dynamic, &shape);
  if (b->status || !x) return NULL;
  return hlo_build(b, HLO_DYNAMIC_RESHAPE, shape, 2, (hlo_instr_t *[]){x, sizes}, 0, NULL, 0, NULL);
}

/* move_chunks for sizes that are known at run time alone: dimension `split` becomes (count, part),
 * and `count` is transposed to stand before `concat`, with which it is joined. */
static hr_status_t move_dynamic_chunks(import_scope_t *scope, hlo_instr_t *x, int64_t split,
                                       int64_t concat, int64_t count, hlo_instr_t **out_moved) {
  hlo_builder_t *b = &scope->builder;
  int rank = x->shape->rank;
  int64_t apart[HLO_MAX_RANK], joined[HLO_MAX_RANK], order[HLO_MAX_RANK], places[HLO_MAX_RANK];
  if (rank == HLO_MAX_RANK)
    return hr_error(HR_UNSUPPORTED, "all_to_all of unknown sizes in %d dimensions", rank);
  int to = 0;
  for (int d = 0; d < rank; d++) {
    int64_t size = x->shape->dims[d];
    bool is_known = size != HLO_UNBOUNDED;
    places[d] = d < split ? d : d + 1;
    apart[places[d]] = is_known && d == split ? size / count : size;
    joined[d] = apart[places[d]];
    if (is_known && d == concat) joined[d] *= count;
    if (d == concat) order[to++] = split;
    order[to++] = places[d];
  }
  apart[split] = count;
  hlo_instr_t *sizes = chunk_sizes(scope, x, rank + 1, places, split + 1, split, count);
  hlo_instr_t *chunks = reshape_to(scope, x, sizes, rank + 1, apart);
  hlo_attr_t dimensions = hlo_attr_of_ints(b, HLO_ATTR_DIMENSIONS, rank + 1, order);
  chunks = hlo_build(b, HLO_TRANSPOSE, NULL, 1, &chunks, 1, &dimensions, 0, NULL);
  for (int d = 0; d < rank; d++) places[d] = d;
  sizes = chunk_sizes(scope, x, rank, places, split, concat, count);
  *out_moved = reshape_to(scope, chunks, sizes, rank, joined);
  return NULL;
}

static bool has_unknown_size(const hlo_shape_t *shape) {
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] == HLO_UNBOUNDED) return true;
  return false;
}

#define MAX_SPLIT 65536 /* more than the ranks of any job; each costs an instruction */

/* StableHLO: all_to_all C1-C8 on split and concat dimensions. */
static hr_status_t check_all_to_all(import_scope_t *scope, const mlir_op_t *op,
                                    const hlo_shape_t *shape, int64_t split, int64_t concat,
                                    int64_t count) {
  if (split < 0 || split >= shape->rank)
    return import_error(scope, op,
                        "split_dimension %ld, want a value from 0 to below %d (all_to_all C1)",
                        (long)split, shape->rank);
  if (count < 1 || count > MAX_SPLIT)
    return import_error(scope, op, "split_count %ld, want a value from 1 to %d (all_to_all C4)",
                        (long)count, MAX_SPLIT);
  if (shape->dims[split] != HLO_UNBOUNDED && shape->dims[split] % count)
    return import_error(
        scope, op, "size %ld in dimension %ld, want a multiple of split_count, %ld (all_to_all C2)",
        (long)shape->dims[split], (long)split, (long)count);
  if (concat < 0 || concat >= shape->rank)
    return import_error(scope, op,
                        "concat_dimension %ld, want a value from 0 to below %d (all_to_all C3)",
                        (long)concat, shape->rank);
  return NULL;
}

/* HLO has no split_count; it must equal the size of the groups. */
static hr_status_t check_split_count(import_scope_t *scope, const mlir_op_t *op,
                                     const import_attrs_t *attrs, int64_t count) {
  for (int i = 0; i < attrs->count; i++) {
    const hlo_groups_t *groups =
        attrs->items[i].key == HLO_ATTR_REPLICA_GROUPS ? attrs->items[i].groups : NULL;
    if (groups && !groups->groups.count)
      return import_error(scope, op, "no replica_groups, want groups of %ld (all_to_all C8)",
                          (long)count);
    for (int64_t g = 0; groups && g < groups->groups.count; g++)
      if (groups->groups.lists[g].count != count)
        return import_error(scope, op,
                            "a group of %ld, want as many as split_count, %ld (all_to_all C8)",
                            (long)groups->groups.lists[g].count, (long)count);
  }
  return NULL;
}

/* HLO splits and concatenates along one dimension. If StableHLO's dimensions differ, the exchange
 * is along split_dimension and the received chunks are moved to concat_dimension. */
hr_status_t import_all_to_all(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  int64_t split = import_int(op, "split_dimension", 0);
  int64_t concat = import_int(op, "concat_dimension", 0);
  int64_t count = import_int(op, "split_count", 1);
  import_attrs_t attrs = {.count = 0};
  HR_TRY(start_collective(scope, &attrs, op, true));
  add_dimension(scope, &attrs, split);
  if (op->result_count != op->operand_count)
    return import_error(scope, op, "%d results for %d operands", op->result_count,
                        op->operand_count);
  for (int k = 0; k < op->operand_count; k++) {
    hlo_instr_t *x = import_operand(op, k);
    HR_TRY(check_all_to_all(scope, op, x->shape, split, concat, count));
    hlo_instr_t *moved =
        hlo_build(&scope->builder, row->op, x->shape, 1, &x, attrs.count, attrs.items, 0, NULL);
    if (split != concat && moved)
      HR_TRY(has_unknown_size(x->shape)
                 ? move_dynamic_chunks(scope, moved, split, concat, count, &moved)
                 : move_chunks(scope, moved, split, concat, count, &moved));
    op->results[k].mapped = moved;
  }
  HR_TRY(check_split_count(scope, op, &attrs, count));
  return hlo_builder_finish(&scope->builder);
}

/* mhlo's all_reduce without a region; the computation of the sum is made here. */
hr_status_t import_cross_replica_sum(import_scope_t *scope, mlir_op_t *op,
                                     const import_row_t *row) {
  hlo_instr_t *x = import_operand(op, 0);
  hlo_computation_t *body;
  const char *name;
  import_attrs_t attrs = {.count = 0};
  HR_TRY(start_collective(scope, &attrs, op, true));
  HR_TRY(hr_arena_printf(scope->importer->arena, &name, "sum_%d", scope->importer->body_count++));
  HR_TRY(hlo_computation_add(scope->importer->module, hr_str_from(name), &body));
  hlo_builder_t inside = hlo_builder_at(body, op->line, op->column);
  const hlo_shape_t *scalar = hlo_shape_scalar(x->shape->dtype);
  hlo_instr_t *a = hlo_build_parameter(&inside, 0, scalar);
  hlo_instr_t *b = hlo_build_parameter(&inside, 1, scalar);
  body->root = hlo_build_binary(&inside, HLO_ADD, a, b);
  HR_TRY(hlo_builder_finish(&inside));
  import_add(&attrs, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1));
  return import_set_results(
      scope, op,
      hlo_build(&scope->builder, row->op, x->shape, 1, &x, attrs.count, attrs.items, 1, &body));
}
