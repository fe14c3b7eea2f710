/* Upper bounds of parameters that are used as indices, for --random-inputs. Bounds are propagated
 * from the users of a value, such as gather and dynamic-slice, back to its producers until nothing
 * changes, or ROUNDS times: bounds only decrease. */
#include "cli/arrays/cli_index_bounds.h"

#include <string.h>

#define ROUNDS                                                                                   \
  8 /* bounds of one round may reach bodies that were looked at before; deep nests of loops need \
       more */

/* A bound for each leaf of each instruction's result. */
typedef struct bounds {
  hr_arena_t arena;
  int64_t ***of; /* [computation id][instruction id][leaf] */
  bool changed;
} bounds_t;

/* One bound for each array of each result, at first none. */
static hr_status_t allocate_bounds(bounds_t *bounds, const hlo_module_t *module) {
  HR_TRY(HR_NEW_ARRAY(&bounds->arena, module->computations.count, &bounds->of));
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    HR_TRY(HR_NEW_ARRAY(&bounds->arena, computation->instrs.count, &bounds->of[c]));
    for (size_t i = 0; i < computation->instrs.count; i++) {
      int leaves = hlo_shape_leaf_count(computation->instrs.data[i]->shape);
      HR_TRY(HR_NEW_ARRAY(&bounds->arena, leaves, &bounds->of[c][i]));
      for (int k = 0; k < leaves; k++) bounds->of[c][i][k] = CLI_NO_BOUND;
    }
  }
  return NULL;
}

static int64_t *bounds_of(bounds_t *bounds, const hlo_instr_t *instr) {
  return bounds->of[instr->parent->id][instr->id];
}

static void lower_bound(bounds_t *bounds, int64_t *bound, int64_t to) {
  if (to >= *bound) return;
  *bound = to > 1 ? to : 1;
  bounds->changed = true;
}

static void lower_leaf(bounds_t *bounds, const hlo_instr_t *instr, int leaf, int64_t to) {
  lower_bound(bounds, &bounds_of(bounds, instr)[leaf], to);
}

/* Propagates the bounds of `from` to `to`, leaf by leaf; both have the same shape. */
static void copy_leaf_bounds(bounds_t *bounds, const hlo_instr_t *to, const hlo_instr_t *from) {
  int leaves = hlo_shape_leaf_count(to->shape), others = hlo_shape_leaf_count(from->shape);
  for (int k = 0; k < leaves && k < others; k++)
    lower_leaf(bounds, to, k, bounds_of(bounds, from)[k]);
}

static void visit_tuple(bounds_t *bounds, const hlo_instr_t *instr) {
  int leaf = 0;
  for (int k = 0; k < instr->operand_count; k++)
    for (int i = 0; i < hlo_shape_leaf_count(instr->operands[k]->shape); i++, leaf++)
      lower_leaf(bounds, instr->operands[k], i, bounds_of(bounds, instr)[leaf]);
}

static void visit_get_tuple_element(bounds_t *bounds, const hlo_instr_t *instr) {
  int leaf = hlo_shape_leaf_start(instr->operands[0]->shape, hlo_attr_int(instr, HLO_ATTR_INDEX));
  for (int i = 0; i < hlo_shape_leaf_count(instr->shape); i++)
    lower_leaf(bounds, instr->operands[0], leaf + i, bounds_of(bounds, instr)[i]);
}

/* Operands from `first` on are arguments of `computation`, whose result is the instruction's. */
static void visit_called(bounds_t *bounds, const hlo_instr_t *instr,
                         const hlo_computation_t *computation, int first) {
  copy_leaf_bounds(bounds, computation->root, instr);
  for (size_t p = 0; p < computation->params.count && first + (int)p < instr->operand_count; p++)
    copy_leaf_bounds(bounds, instr->operands[first + (int)p], computation->params.data[p]);
}

static void visit_while(bounds_t *bounds, const hlo_instr_t *instr) {
  const hlo_computation_t *condition = instr->called[0], *body = instr->called[1];
  copy_leaf_bounds(bounds, body->root, instr);
  copy_leaf_bounds(bounds, body->root, body->params.data[0]); /* parameter of the next iteration */
  copy_leaf_bounds(bounds, body->root, condition->params.data[0]);
  copy_leaf_bounds(bounds, instr->operands[0], condition->params.data[0]);
  copy_leaf_bounds(bounds, instr->operands[0], body->params.data[0]);
  copy_leaf_bounds(bounds, instr->operands[0], instr);
}

static void visit_conditional(bounds_t *bounds, const hlo_instr_t *instr) {
  if (hr_dtype_is_integer(instr->operands[0]->shape->dtype))
    lower_leaf(bounds, instr->operands[0], 0, instr->called_count);
  for (int k = 0; k < instr->called_count && k + 1 < instr->operand_count; k++) {
    copy_leaf_bounds(bounds, instr->called[k]->root, instr);
    if (instr->called[k]->params.count)
      copy_leaf_bounds(bounds, instr->operands[k + 1], instr->called[k]->params.data[0]);
  }
}

/* Start indices as scalars, one for each dimension, or as one vector (the old form). */
static void bound_starts(bounds_t *bounds, const hlo_instr_t *instr, int first,
                         const int64_t *sizes) {
  const hlo_shape_t *array = instr->operands[0]->shape;
  bool vector = first < instr->operand_count && instr->operands[first]->shape->rank == 1;
  for (int d = 0; d < array->rank; d++) {
    int operand = vector ? first : first + d;
    if (operand < instr->operand_count)
      lower_leaf(bounds, instr->operands[operand], 0, array->dims[d] - sizes[d] + 1);
  }
}

static void visit_gather(bounds_t *bounds, const hlo_instr_t *instr) {
  hr_ints_t map = hlo_attr_ints(instr, HLO_ATTR_START_INDEX_MAP),
            sizes = hlo_attr_ints(instr, HLO_ATTR_SLICE_SIZES);
  const hlo_shape_t *array = instr->operands[0]->shape;
  for (int64_t i = 0; i < map.count; i++) {
    int64_t d = map.data[i];
    lower_leaf(bounds, instr->operands[1], 0, array->dims[d] - sizes.data[d] + 1);
  }
  lower_leaf(bounds, instr->operands[0], 0, bounds_of(bounds, instr)[0]);
}

/* An update may have the size of its window dimensions; inserted dimensions have size 1. The
 * smallest bound is kept. */
static void visit_scatter(bounds_t *bounds, const hlo_instr_t *instr) {
  hr_ints_t map = hlo_attr_ints(instr, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
  hr_ints_t inserted = hlo_attr_ints(instr, HLO_ATTR_INSERTED_WINDOW_DIMS);
  hr_ints_t batching = hlo_attr_ints(instr, HLO_ATTR_INPUT_BATCHING_DIMS);
  hr_ints_t window = hlo_attr_ints(instr, HLO_ATTR_UPDATE_WINDOW_DIMS);
  int arrays = (instr->operand_count - 1) / 2;
  const hlo_shape_t *array = instr->operands[0]->shape,
                    *updates = instr->operands[arrays + 1]->shape;
  int64_t next = 0;
  for (int64_t d = 0; d < array->rank; d++) {
    bool is_inserted = false, is_indexed = false;
    for (int64_t i = 0; i < inserted.count; i++) is_inserted |= inserted.data[i] == d;
    for (int64_t i = 0; i < batching.count; i++) is_inserted |= batching.data[i] == d;
    for (int64_t i = 0; i < map.count; i++) is_indexed |= map.data[i] == d;
    int64_t width = is_inserted || next >= window.count ? 1 : updates->dims[window.data[next++]];
    if (is_indexed) lower_leaf(bounds, instr->operands[arrays], 0, array->dims[d] - width + 1);
  }
}

/* True for an iota along one dimension, maybe reshaped. *out_size: size of that dimension. */
static bool is_iota(const hlo_instr_t *instr, int64_t *out_size) {
  while (instr->op == HLO_BROADCAST || instr->op == HLO_RESHAPE || instr->op == HLO_CONVERT ||
         instr->op == HLO_COPY || instr->op == HLO_BITCAST || instr->op == HLO_TRANSPOSE)
    instr = instr->operands[0];
  if (instr->op != HLO_IOTA || !instr->shape->rank) return false;
  *out_size = instr->shape->dims[hlo_attr_int(instr, HLO_ATTR_IOTA_DIMENSION)];
  return true;
}

/* A comparison with an iota makes one-hot vectors: the other operand is a class number. */
static void visit_compare(bounds_t *bounds, const hlo_instr_t *instr) {
  if (hlo_attr_enum(instr, HLO_ATTR_DIRECTION) != HLO_DIRECTION_EQ) return;
  for (int side = 0; side < 2; side++) {
    int64_t size;
    if (is_iota(instr->operands[side], &size))
      lower_leaf(bounds, instr->operands[1 - side], 0, size);
  }
}

static bool is_integer_convert(const hlo_instr_t *instr) {
  return hr_dtype_is_integer(instr->shape->dtype) &&
         hr_dtype_is_integer(instr->operands[0]->shape->dtype);
}

/* Operands whose elements occur in the result: [*first, *end). Empty for ops with another rule. */
static void find_copied_operands(const hlo_instr_t *instr, int *first, int *end) {
  *first = 0;
  *end = 0;
  switch (instr->op) {
    case HLO_COPY:
    case HLO_BITCAST:
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_BROADCAST:
    case HLO_REVERSE:
    case HLO_SLICE:
    case HLO_DYNAMIC_SLICE:
    case HLO_OPT_BARRIER:
    case HLO_ALL_GATHER:
    case HLO_ALL_TO_ALL:
    case HLO_COLLECTIVE_PERMUTE:
      *end = 1;
      break;
    case HLO_DYNAMIC_UPDATE_SLICE:
      *end = 2;
      break;
    case HLO_CONVERT:
      if (is_integer_convert(instr)) *end = 1;
      break;
    case HLO_CONCATENATE:
    case HLO_PAD:
      *end = instr->operand_count;
      break;
    case HLO_SELECT:
      *first = 1;
      *end = 3;
      break;
    case HLO_CLAMP: /* operands are low, value, high */
      *first = 1;
      *end = 2;
      break;
    default:
      break;
  }
}

/* Propagates the bounds of a result to the operands, and adds the bounds of the op's indices. */
static void propagate_instr(bounds_t *bounds, const hlo_instr_t *instr) {
  int first, end;
  find_copied_operands(instr, &first, &end);
  switch (instr->op) {
    case HLO_TUPLE:
      visit_tuple(bounds, instr);
      break;
    case HLO_GET_TUPLE_ELEMENT:
      visit_get_tuple_element(bounds, instr);
      break;
    case HLO_CALL:
    case HLO_FUSION:
    case HLO_MAP:
      visit_called(bounds, instr, instr->called[0], 0);
      break;
    case HLO_WHILE:
      visit_while(bounds, instr);
      break;
    case HLO_CONDITIONAL:
      visit_conditional(bounds, instr);
      break;
    case HLO_COMPARE:
      visit_compare(bounds, instr);
      break;
    case HLO_GATHER:
      visit_gather(bounds, instr);
      break;
    case HLO_SCATTER:
      visit_scatter(bounds, instr);
      break;
    case HLO_DYNAMIC_SLICE:
      bound_starts(bounds, instr, 1, hlo_attr_ints(instr, HLO_ATTR_DYNAMIC_SLICE_SIZES).data);
      break;
    case HLO_DYNAMIC_UPDATE_SLICE:
      bound_starts(bounds, instr, 2, instr->operands[1]->shape->dims);
      break;
    default:
      break;
  }
  for (int k = first; k < end; k++) copy_leaf_bounds(bounds, instr->operands[k], instr);
}

static void run_round(bounds_t *bounds, const hlo_module_t *module) {
  bounds->changed = false;
  for (size_t c = module->computations.count; c-- > 0;) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = computation->instrs.count; i-- > 0;)
      propagate_instr(bounds, computation->instrs.data[i]);
  }
}

hr_status_t cli_index_bounds(const hlo_module_t *module, int param_count, int64_t *out_bounds) {
  bounds_t bounds = {.changed = true};
  hr_arena_init(&bounds.arena);
  hr_status_t st = allocate_bounds(&bounds, module);
  for (int round = 0; round < ROUNDS && !st && bounds.changed; round++) run_round(&bounds, module);
  int leaf = 0;
  for (size_t p = 0; p < module->entry->params.count && !st; p++) {
    const hlo_instr_t *param = module->entry->params.data[p];
    for (int i = 0; i < hlo_shape_leaf_count(param->shape) && leaf < param_count; i++)
      out_bounds[leaf++] = bounds_of(&bounds, param)[i];
  }
  hr_arena_deinit(&bounds.arena);
  return st;
}
