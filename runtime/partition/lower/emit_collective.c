/* Collectives over mesh axes. Replica groups list partition numbers in the order of the axes, so
 * that gathered parts are in the order of the sharding. With replicas, ids are flattened, replica *
 * partitions + partition, and each replica has its own groups; all-to-all and permute use partition
 * numbers. Each collective is entered in the report with the bytes that a partition sends in a
 * ring. */
#include <string.h>

#include "passes/lib/pass_rewrite.h"
#include "partition/lower/emit.h"

typedef struct spmd_reducer {
  hlo_opcode_t op;
  hr_dtype_t dtype;
  hlo_computation_t *body;
  struct spmd_reducer *next;
} spmd_reducer_t;

typedef struct spmd_group_list { /* replica groups of some axes, shared by their collectives */
  const spmd_mesh_t *mesh;
  spmd_axes_t axes;
  bool flattened;
  const hlo_groups_t *groups;
  struct spmd_group_list *next;
} spmd_group_list_t;

static void note(spmd_emit_t *emit, hlo_instr_t *instr, int64_t group, double bytes) {
  spmd_report_notes_t *report = emit->shared->report;
  if (!instr || spmd_emit_failed(emit, HR_VEC_RESERVE(&report->items, report->items.count + 1)))
    return;
  report->items.data[report->items.count++] =
      (spmd_report_item_t){emit->cause, instr, group, bytes, 1, false};
}

static double bytes_of(const hlo_instr_t *x) {
  return (double)hlo_shape_elements(x->shape) * (double)hr_dtype_bytes(x->shape->dtype);
}

/* Groups of the axes; `flattened` numbers cover all replicas. */
static hr_status_t make_groups(spmd_emit_t *emit, spmd_axes_t axes, bool flattened,
                               const hlo_groups_t **out_groups) {
  const spmd_mesh_t *mesh = emit->mesh;
  hr_arena_t *arena = emit->shared->arena;
  int64_t parts = spmd_axes_parts(axes), count = mesh->device_count / parts, *positions;
  int64_t replicas = flattened ? emit->shared->module->replica_count : 1;
  hr_ints_t *lists;
  hlo_groups_t *groups;
  HR_TRY(spmd_axes_groups(arena, mesh, axes, &positions));
  HR_TRY(HR_NEW_ARRAY(arena, count * replicas, &lists));
  for (int64_t g = 0; g < count * replicas; g++) {
    int64_t *members, replica = g / count;
    HR_TRY(HR_NEW_ARRAY(arena, parts, &members));
    for (int64_t i = 0; i < parts; i++)
      members[i] =
          replica * mesh->device_count + spmd_mesh_device(mesh, positions[g % count * parts + i]);
    lists[g] = (hr_ints_t){members, parts};
  }
  HR_TRY(HR_NEW(arena, &groups));
  groups->form = HLO_GROUPS_LIST;
  groups->groups = (hlo_int_lists_t){count * replicas, lists};
  *out_groups = groups;
  return NULL;
}

static hr_status_t groups_of(spmd_emit_t *emit, spmd_axes_t axes, bool flattened,
                             const hlo_groups_t **out_groups) {
  spmd_group_list_t *known = emit->shared->groups;
  while (known && (known->mesh != emit->mesh || known->flattened != flattened ||
                   !spmd_axes_equal(known->axes, axes)))
    known = known->next;
  if (!known) {
    HR_TRY(HR_NEW(emit->shared->arena, &known));
    HR_TRY(make_groups(emit, axes, flattened, &known->groups));
    known->mesh = emit->mesh;
    known->axes = axes;
    known->flattened = flattened;
    known->next = emit->shared->groups;
    emit->shared->groups = known;
  }
  *out_groups = known->groups;
  return NULL;
}

static hlo_computation_t *reducer_of(spmd_emit_t *emit, hlo_opcode_t op, hr_dtype_t dtype) {
  spmd_reducer_t *known = emit->shared->reducers;
  while (known && (known->op != op || known->dtype != dtype)) known = known->next;
  if (known) return known->body;
  const char *name;
  hr_arena_t *arena = emit->shared->arena;
  if (spmd_emit_failed(emit, HR_NEW(arena, &known)) ||
      spmd_emit_failed(emit, hr_arena_printf(arena, &name, "%s.%s.spmd", hlo_op_name(op),
                                             hr_dtype_name(dtype))) ||
      spmd_emit_failed(emit,
                       hlo_computation_add(emit->shared->module, hr_str_from(name), &known->body)))
    return NULL;
  hlo_builder_t b = hlo_builder_at(known->body, 0, 0);
  hlo_instr_t *x = hlo_build_parameter(&b, 0, hlo_shape_scalar(dtype));
  hlo_instr_t *y = hlo_build_parameter(&b, 1, hlo_shape_scalar(dtype));
  known->body->root = hlo_build_binary(&b, op, x, y);
  known->op = op;
  known->dtype = dtype;
  known->next = emit->shared->reducers;
  if (spmd_emit_failed(emit, hlo_builder_finish(&b))) return NULL;
  emit->shared->reducers = known;
  return known->body;
}

/* Builds a collective and enters it in the report. */
static hlo_instr_t *collective(spmd_emit_t *emit, hlo_opcode_t op, hlo_instr_t *x,
                               const hlo_shape_t *shape, spmd_axes_t axes, int d,
                               hlo_computation_t *body) {
  hlo_attr_t attrs[6];
  int count = 0;
  int64_t dim = d;
  bool flattened = op != HLO_ALL_TO_ALL;
  const hlo_groups_t *groups = NULL;
  if (!x || !shape || spmd_emit_failed(emit, groups_of(emit, axes, flattened, &groups)))
    return NULL;
  attrs[count++] = hlo_attr_of_int(HLO_ATTR_CHANNEL_ID, emit->shared->next_channel++);
  attrs[count++] = (hlo_attr_t){.key = HLO_ATTR_REPLICA_GROUPS, .groups = groups};
  if (d >= 0) attrs[count++] = hlo_attr_of_ints(&emit->b, HLO_ATTR_DIMENSIONS, 1, &dim);
  if (flattened) attrs[count++] = hlo_attr_of_bool(HLO_ATTR_USE_GLOBAL_DEVICE_IDS, true);
  if (body) attrs[count++] = hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1);
  return hlo_build(&emit->b, op, shape, 1, &x, count, attrs, body != NULL, &body);
}

/* Arrays without elements need no collective. */
static bool is_empty(const hlo_instr_t *x) { return hlo_shape_elements(x->shape) == 0; }

static hlo_instr_t *empty_array(spmd_emit_t *emit, const hlo_shape_t *shape) {
  if (!shape) return NULL;
  hlo_instr_t *zero = hlo_build_number(&emit->b, 0, shape->dtype);
  return hlo_build_broadcast(&emit->b, zero, shape, (hr_ints_t){NULL, 0});
}

hlo_instr_t *spmd_emit_all_gather(spmd_emit_t *emit, hlo_instr_t *x, int d, spmd_axes_t axes) {
  int64_t parts = spmd_axes_parts(axes);
  if (!x || parts == 1) return x;
  const hlo_shape_t *shape = spmd_emit_resized(emit, x, d, x->shape->dims[d] * parts);
  if (is_empty(x)) return empty_array(emit, shape);
  hlo_instr_t *whole = collective(emit, HLO_ALL_GATHER, x, shape, axes, d, NULL);
  note(emit, whole, parts, bytes_of(x) * (double)(parts - 1));
  return whole;
}

static hlo_instr_t *bitcast(spmd_emit_t *emit, hlo_instr_t *x, hr_dtype_t dtype) {
  const hlo_shape_t *shape =
      x ? spmd_emit_shape(emit, dtype, x->shape->rank, x->shape->dims) : NULL;
  return shape ? hlo_build(&emit->b, HLO_BITCAST_CONVERT, shape, 1, &x, 0, NULL, 0, NULL) : NULL;
}

/* True if maxima are those of the bits: f8e8m0fnu has no sign, its NaN is the largest pattern. Its
 * smallest number is denormal as f32, in which generated code compares. */
static bool compares_bits(const hlo_instr_t *x, hlo_opcode_t op) {
  return op == HLO_MAXIMUM && spmd_lacks_zero(x->shape->dtype);
}

hlo_instr_t *spmd_emit_all_reduce(spmd_emit_t *emit, hlo_instr_t *x, hlo_opcode_t op,
                                  spmd_axes_t axes) {
  double parts = (double)spmd_axes_parts(axes);
  if (!x || parts == 1 || is_empty(x)) return x;
  if (compares_bits(x, op))
    return bitcast(emit, spmd_emit_all_reduce(emit, bitcast(emit, x, HR_U8), op, axes),
                   x->shape->dtype);
  hlo_instr_t *sum = collective(emit, HLO_ALL_REDUCE, x, x->shape, axes, -1,
                                reducer_of(emit, op, x->shape->dtype));
  note(emit, sum, (int64_t)parts, 2 * bytes_of(x) * (parts - 1) / parts);
  return sum;
}

hlo_instr_t *spmd_emit_reduce_scatter(spmd_emit_t *emit, hlo_instr_t *x, int d, hlo_opcode_t op,
                                      spmd_axes_t axes) {
  int64_t parts = spmd_axes_parts(axes);
  if (!x || parts == 1) return x;
  const hlo_shape_t *shape = spmd_emit_resized(emit, x, d, x->shape->dims[d] / parts);
  if (is_empty(x)) return empty_array(emit, shape);
  if (compares_bits(x, op))
    return bitcast(emit, spmd_emit_reduce_scatter(emit, bitcast(emit, x, HR_U8), d, op, axes),
                   x->shape->dtype);
  hlo_instr_t *part = collective(emit, HLO_REDUCE_SCATTER, x, shape, axes, d,
                                 reducer_of(emit, op, x->shape->dtype));
  note(emit, part, parts, bytes_of(x) * (double)(parts - 1) / (double)parts);
  return part;
}

/* x with dimension d cut into `parts` and the parts as dimension 0. */
static hlo_instr_t *parts_first(spmd_emit_t *emit, hlo_instr_t *x, int d, int64_t parts) {
  int64_t dims[HLO_MAX_RANK], permutation[HLO_MAX_RANK];
  int rank = x->shape->rank, at = 0;
  for (int i = 0; i < rank; i++) {
    if (i == d) dims[at++] = parts;
    dims[at++] = i == d ? x->shape->dims[i] / parts : x->shape->dims[i];
  }
  for (int i = 0; i <= rank; i++) permutation[i] = i <= d ? i - 1 : i;
  permutation[0] = d;
  return spmd_emit_transpose(emit, spmd_emit_reshape(emit, x, rank + 1, dims), permutation);
}

/* The inverse: dimension 0 becomes the major part of dimension d. */
static hlo_instr_t *parts_into(spmd_emit_t *emit, hlo_instr_t *x, int d) {
  int64_t dims[HLO_MAX_RANK], permutation[HLO_MAX_RANK];
  int rank = x->shape->rank - 1;
  for (int i = 0; i <= rank; i++) permutation[i] = i < d ? i + 1 : i;
  permutation[d] = 0;
  for (int i = 0; i < rank; i++) dims[i] = x->shape->dims[i + 1];
  dims[d] *= x->shape->dims[0];
  return spmd_emit_reshape(emit, spmd_emit_transpose(emit, x, permutation), rank, dims);
}

hlo_instr_t *spmd_emit_all_to_all(spmd_emit_t *emit, hlo_instr_t *x, int split, int concat,
                                  spmd_axes_t axes) {
  int64_t parts = spmd_axes_parts(axes);
  if (!x || parts == 1) return x;
  x = parts_first(emit, x, split, parts);
  if (!x) return NULL;
  if (is_empty(x)) return parts_into(emit, x, concat);
  hlo_instr_t *moved = collective(emit, HLO_ALL_TO_ALL, x, x->shape, axes, 0, NULL);
  note(emit, moved, parts, bytes_of(x) * (double)(parts - 1) / (double)parts);
  return moved ? parts_into(emit, moved, concat) : NULL;
}

/* Pairs of devices from pairs of positions. */
static hr_status_t device_pairs(spmd_emit_t *emit, int64_t count, const int64_t *pairs,
                                hlo_int_lists_t **out_all) {
  hr_ints_t *lists;
  HR_TRY(HR_NEW_ARRAY(emit->shared->arena, count, &lists));
  HR_TRY(HR_NEW(emit->shared->arena, out_all));
  for (int64_t i = 0; i < count; i++) {
    int64_t pair[] = {spmd_mesh_device(emit->mesh, pairs[2 * i]),
                      spmd_mesh_device(emit->mesh, pairs[2 * i + 1])};
    HR_TRY(hr_arena_ints(emit->shared->arena, pair, 2, &lists[i]));
  }
  **out_all = (hlo_int_lists_t){count, lists};
  return NULL;
}

/* Composes a permute with `first`, an earlier permute of its operand: parts are sent from the
 * sources of `first`. A part that `first` received from no source stays zeros. */
static hr_status_t pairs_through(spmd_emit_t *emit, const hlo_int_lists_t *first,
                                 hlo_int_lists_t *all) {
  hr_ints_t *lists;
  int64_t count = 0;
  HR_TRY(HR_NEW_ARRAY(emit->shared->arena, all->count, &lists));
  for (int64_t i = 0; i < all->count; i++)
    for (int64_t k = 0; k < first->count; k++) {
      int64_t pair[] = {first->lists[k].data[0], all->lists[i].data[1]};
      if (first->lists[k].data[1] != all->lists[i].data[0]) continue;
      HR_TRY(hr_arena_ints(emit->shared->arena, pair, 2, &lists[count++]));
    }
  *all = (hlo_int_lists_t){count, lists};
  return NULL;
}

/* True for a permute among partitions, such as the partitioner emits. */
static bool is_permuted(const hlo_instr_t *x) {
  return x->op == HLO_COLLECTIVE_PERMUTE && x->operand_count == 1 &&
         hlo_attr_find(x, HLO_ATTR_CHANNEL_ID) && hlo_attr_find(x, HLO_ATTR_SOURCE_TARGET_PAIRS);
}

static bool is_rearrangement(hlo_opcode_t op) {
  return op == HLO_RESHAPE || op == HLO_TRANSPOSE || op == HLO_REVERSE;
}

/* The only operand of an elementwise x that differs between partitions; -1: none, or not
 * elementwise. */
static int elementwise_operand(const hlo_instr_t *x) {
  int found = -1;
  if (!hlo_op_is(x->op, OP_ELEMENTWISE) || x->called_count) return -1;
  for (int k = 0; k < x->operand_count; k++) {
    if (pass_splat_of(x->operands[k])) continue;
    if (found >= 0) return -1;
    found = k;
  }
  return found;
}

/* The operand through which permute_below searches for a permute. Rearrangements keep the zeros of
 * a partition that receives nothing; elementwise ops are allowed only if all partitions receive
 * (`total`). */
static int operand_below(const hlo_instr_t *x, bool total) {
  if (is_rearrangement(x->op)) return 0;
  return total ? elementwise_operand(x) : -1;
}

/* The permute from whose result x is computed by rearrangements, or also by elementwise ops if all
 * partitions receive in both permutes; NULL: none. */
static hlo_instr_t *permute_below(hlo_instr_t *x, bool total, int64_t devices) {
  hlo_instr_t *below = x;
  bool rearranged = true;
  for (int k; !is_permuted(below); below = below->operands[k]) {
    k = operand_below(below, total);
    if (k < 0) return NULL;
    rearranged &= is_rearrangement(below->op);
  }
  bool all_get = hlo_attr_lists(below, HLO_ATTR_SOURCE_TARGET_PAIRS)->count == devices;
  return rearranged || all_get ? below : NULL;
}

/* Applies the operations between `permute` and x to the operand of the permute instead. */
static hlo_instr_t *rearrange_before(spmd_emit_t *emit, const hlo_instr_t *x,
                                     const hlo_instr_t *permute) {
  if (x == permute) return permute->operands[0];
  int k = operand_below(x, true), count = x->operand_count;
  hlo_instr_t **operands;
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(emit->shared->arena, count, &operands))) return NULL;
  for (int i = 0; i < count; i++) operands[i] = x->operands[i];
  operands[k] = rearrange_before(emit, x->operands[k], permute);
  return operands[k] ? spmd_emit_like(emit, x, operands, x->shape) : NULL;
}

hlo_instr_t *spmd_emit_permute(spmd_emit_t *emit, hlo_instr_t *x, int64_t count,
                               const int64_t *pairs) {
  hlo_int_lists_t *all = NULL;
  if (!x || is_empty(x)) return x;
  if (spmd_emit_failed(emit, device_pairs(emit, count, pairs, &all))) return NULL;
  int64_t devices = emit->mesh->device_count;
  const hlo_instr_t *first = permute_below(x, all->count == devices, devices);
  if (first) {
    const hlo_int_lists_t *before = hlo_attr_lists(first, HLO_ATTR_SOURCE_TARGET_PAIRS);
    if (spmd_emit_failed(emit, pairs_through(emit, before, all))) return NULL;
    x = rearrange_before(emit, x, first);
    if (!x) return NULL;
  }
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_CHANNEL_ID, emit->shared->next_channel++),
                        {.key = HLO_ATTR_SOURCE_TARGET_PAIRS, .lists = all}};
  hlo_instr_t *moved =
      hlo_build(&emit->b, HLO_COLLECTIVE_PERMUTE, x->shape, 1, &x, 2, attrs, 0, NULL);
  int64_t sent = 0;
  for (int64_t i = 0; i < all->count; i++) sent += all->lists[i].data[0] != all->lists[i].data[1];
  note(emit, moved, devices, bytes_of(x) * (double)sent / (double)devices);
  return moved;
}
