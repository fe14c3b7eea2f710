/* How layouts map between an instruction and each of its arrays. A link partitions the dimensions
 * of both sides into groups that correspond: for a reshape a group is a run of dimensions with
 * equal products, for all other ops one dimension on either side.
 *
 *   reshape f32[6,35] -> f32[2,3,5,7]   groups {0,1 | 0} and {2,3 | 1}
 *
 * A layout maps across a link if the dimensions of every group are adjacent and in order.
 * Dimensions on one side only (reduced, broadcast, of size 1 in a reshape) are placed after their
 * predecessor. Cost: O(rank^2) per query. */
#include "passes/layout/layout_propagate.h"

#include <string.h>

#include "passes/lib/pass_match.h"

layout_t layout_of_dims(int rank, const int64_t *dims) {
  layout_t layout = {.rank = rank};
  for (int d = 0; d < rank; d++) layout.dims[d] = (int8_t)dims[d];
  return layout;
}

void layout_write(const layout_t *layout, int64_t *dims) {
  for (int d = 0; d < layout->rank; d++) dims[d] = layout->dims[d];
}

void layout_positions(const layout_t *layout, int64_t *positions) {
  for (int d = 0; d < layout->rank; d++) positions[layout->dims[d]] = d;
}

bool layout_is_row_major(const layout_t *layout, const hlo_shape_t *shape) {
  int last = -1;
  for (int d = 0; d < layout->rank; d++) {
    if (shape->dims[layout->dims[d]] == 1) continue;
    if (layout->dims[d] < last) return false;
    last = layout->dims[d];
  }
  return true;
}

/* The next position whose dimension is larger than 1. */
static int skip_ones(const layout_t *layout, const hlo_shape_t *shape, int at) {
  while (at < layout->rank && shape->dims[layout->dims[at]] == 1) at++;
  return at;
}

bool layout_equal(const layout_t *a, const layout_t *b, const hlo_shape_t *shape) {
  int i = 0, j = 0;
  while (true) {
    i = skip_ones(a, shape, i);
    j = skip_ones(b, shape, j);
    if (i == a->rank || j == b->rank) return i == a->rank && j == b->rank;
    if (a->dims[i++] != b->dims[j++]) return false;
  }
}

/* ---- links ---- */

/* Group number of each dimension of the instruction and of the array; -1: the dimension is on one
 * side only. */
typedef struct link {
  int ranks[2];
  int8_t groups[2][HLO_MAX_RANK];
} link_t;
enum { INSTR_SIDE, ARRAY_SIDE };

static link_t link_of_ranks(int instr, int array) {
  link_t link = {.ranks = {instr, array}};
  memset(link.groups, -1, sizeof link.groups);
  return link;
}

static link_t link_identity(int rank) {
  link_t link = link_of_ranks(rank, rank);
  for (int d = 0; d < rank; d++) {
    link.groups[ARRAY_SIDE][d] = (int8_t)d;
    link.groups[INSTR_SIDE][d] = link.groups[ARRAY_SIDE][d];
  }
  return link;
}

/* Dimension d of the array is dimension dims[d] of the instruction. */
static link_t link_mapped(int instr_rank, int array_rank, const int64_t *dims) {
  link_t link = link_of_ranks(instr_rank, array_rank);
  for (int d = 0; d < array_rank; d++) {
    link.groups[ARRAY_SIDE][d] = (int8_t)dims[d];
    link.groups[INSTR_SIDE][dims[d]] = link.groups[ARRAY_SIDE][d];
  }
  return link;
}

/* Link to a reduction's result: the dimensions that are not reduced. */
static link_t link_reduced(const hlo_instr_t *reduce) {
  hr_ints_t reduced = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  int64_t left[HLO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < reduce->operands[0]->shape->rank; d++) {
    bool is_reduced = false;
    for (int64_t i = 0; i < reduced.count; i++) is_reduced |= reduced.data[i] == d;
    if (!is_reduced) left[rank++] = d;
  }
  return link_mapped(reduce->operands[0]->shape->rank, rank, left);
}

/* Groups of a reshape: dimensions join the side with the smaller product until both agree. */
static link_t link_reshaped(const hlo_shape_t *result, const hlo_shape_t *operand) {
  link_t link = link_of_ranks(result->rank, operand->rank);
  int to = 0, from = 0;
  for (int8_t group = 0; to < result->rank || from < operand->rank; group++) {
    int64_t there = 1, here = 1;
    do {
      bool takes_there = to < result->rank && (there <= here || from == operand->rank);
      const hlo_shape_t *shape = takes_there ? result : operand;
      int *at = takes_there ? &to : &from;
      int side = takes_there ? INSTR_SIDE : ARRAY_SIDE;
      if (shape->dims[*at] != 1) link.groups[side][*at] = group;
      *(takes_there ? &there : &here) *= shape->dims[(*at)++];
    } while (there != here && (to < result->rank || from < operand->rank));
  }
  return link;
}

static link_t link_find(const hlo_instr_t *instr, int k) {
  const hlo_shape_t *array = k == LAYOUT_RESULT ? instr->shape : instr->operands[k]->shape;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  int rank = instr->op == HLO_REDUCE ? instr->operands[0]->shape->rank : instr->shape->rank;
  if (instr->op == HLO_REDUCE && k == LAYOUT_RESULT) return link_reduced(instr);
  if (array->rank == 0) return link_of_ranks(rank, 0);
  if (k == LAYOUT_RESULT) return link_identity(rank);
  switch (instr->op) {
    case HLO_BROADCAST:
      return link_mapped(rank, array->rank, dims.data);
    case HLO_TRANSPOSE: {
      int64_t inverse[HLO_MAX_RANK];
      for (int d = 0; d < rank; d++) inverse[dims.data[d]] = d;
      return link_mapped(rank, rank, inverse);
    }
    case HLO_RESHAPE:
      return link_reshaped(instr->shape, array);
    default:
      return link_identity(rank);
  }
}

/* ---- layouts across links ---- */

/* Dimensions of a group, ascending; their count. */
static int group_dims(const link_t *link, int side, int group, int8_t *out_dims) {
  int count = 0;
  for (int d = 0; d < link->ranks[side]; d++)
    if (link->groups[side][d] == group) out_dims[count++] = (int8_t)d;
  return count;
}

/* Inserts a dimension after its predecessor in the array; dimension 0 goes to the front. */
static void insert(layout_t *layout, int8_t dim) {
  int at = 0;
  for (int i = 0; i < layout->rank && dim; i++)
    if (layout->dims[i] == dim - 1) at = i + 1;
  memmove(layout->dims + at + 1, layout->dims + at, (size_t)(layout->rank - at));
  layout->dims[at] = dim;
  layout->rank++;
}

static bool map_layout(const link_t *link, int from, const layout_t *layout, layout_t *out) {
  int8_t group[HLO_MAX_RANK];
  bool listed[HLO_MAX_RANK] = {false};
  *out = (layout_t){.rank = 0};
  for (int i = 0; i < layout->rank;) {
    int number = link->groups[from][layout->dims[i]];
    int count = number < 0 ? 0 : group_dims(link, from, number, group);
    for (int j = 0; j < count; j++)
      if (i + j >= layout->rank || layout->dims[i + j] != group[j]) return false;
    i += count ? count : 1;
    count = number < 0 ? 0 : group_dims(link, !from, number, group);
    for (int j = 0; j < count; j++) {
      listed[group[j]] = true;
      out->dims[out->rank++] = group[j];
    }
  }
  for (int d = 0; d < link->ranks[!from]; d++)
    if (!listed[d]) insert(out, (int8_t)d);
  return true;
}

bool layout_of_array(const hlo_instr_t *instr, int k, const layout_t *layout,
                     layout_t *out_layout) {
  link_t link = link_find(instr, k);
  return map_layout(&link, INSTR_SIDE, layout, out_layout);
}

bool layout_from_array(const hlo_instr_t *instr, int k, const layout_t *layout,
                       layout_t *out_layout) {
  link_t link = link_find(instr, k);
  return map_layout(&link, ARRAY_SIDE, layout, out_layout);
}

/* Do the dimensions along which a window is wider than one element keep their relative order? */
static bool keeps_window_order(const hlo_window_t *window, const layout_t *layout) {
  int last = -1;
  for (int d = 0; d < layout->rank; d++) {
    if (window->dims[layout->dims[d]].size == 1) continue;
    if (layout->dims[d] < last) return false;
    last = layout->dims[d];
  }
  return true;
}

/* Ops that combine elements by a function that might not be commutative keep their order. */
static bool keeps_combine_order(const hlo_instr_t *instr, const layout_t *layout) {
  hlo_opcode_t op;
  if (instr->op == HLO_SELECT_AND_SCATTER)
    return keeps_window_order(hlo_attr_window(instr), layout);
  if (instr->op != HLO_REDUCE_WINDOW || pass_body_is_binary(instr->called[0], &op)) return true;
  return keeps_window_order(hlo_attr_window(instr), layout);
}

bool layout_can_apply(const hlo_instr_t *instr, const layout_t *layout) {
  layout_t operand;
  if (!keeps_combine_order(instr, layout)) return false;
  for (int k = LAYOUT_RESULT; k < instr->operand_count; k++)
    if (!layout_of_array(instr, k, layout, &operand)) return false;
  return true;
}

/* ---- ops ---- */

static bool is_static_array(const hlo_shape_t *shape) {
  return hlo_shape_is_array(shape) && !hlo_shape_is_dynamic(shape);
}

static bool all_static(const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    if (!is_static_array(instr->operands[k]->shape)) return false;
  return is_static_array(instr->shape) && (instr->shape->rank > 0 || instr->op == HLO_REDUCE);
}

/* Are the operands from number k on scalars? */
static bool are_scalars(const hlo_instr_t *instr, int k) {
  for (; k < instr->operand_count; k++)
    if (instr->operands[k]->shape->rank) return false;
  return true;
}

static bool has_elements(const hlo_shape_t *shape) {
  for (int d = 0; d < shape->rank; d++)
    if (!shape->dims[d]) return false;
  return true;
}

/* A permuted reduction combines its elements in another order, so its body must be commutative. */
static bool is_commutative_reduce(const hlo_instr_t *instr) {
  hlo_opcode_t op;
  return instr->operand_count == 2 && pass_body_is_binary(instr->called[0], &op);
}

bool layout_is_agnostic(const hlo_instr_t *instr) {
  if (!all_static(instr) || (instr->extra && instr->extra->control_count)) return false;
  switch (instr->op) {
    case HLO_TRANSPOSE:
    case HLO_SLICE:
    case HLO_PAD:
    case HLO_CONCATENATE:
    case HLO_REVERSE:
      return true;
    case HLO_RESHAPE:
      return has_elements(instr->shape);
    case HLO_BROADCAST:
      return !layout_is_free(instr);
    case HLO_DYNAMIC_SLICE:
      return are_scalars(instr, 1);
    case HLO_DYNAMIC_UPDATE_SLICE:
      return are_scalars(instr, 2);
    case HLO_REDUCE:
      return is_commutative_reduce(instr);
    case HLO_REDUCE_WINDOW:
      return instr->operand_count == 2 && hlo_attr_window(instr);
    case HLO_SELECT_AND_SCATTER:
      return hlo_attr_window(instr);
    default:
      return hlo_op_is(instr->op, OP_ELEMENTWISE);
  }
}

bool layout_is_free(const hlo_instr_t *instr) {
  return instr->op == HLO_CONSTANT || instr->op == HLO_IOTA ||
         (instr->op == HLO_BROADCAST && instr->operands[0]->shape->rank <= 1);
}
