/* Reductions that carry an index along, as argmax does, with indices no wider than the values:
 *
 *   reduce(x, iota s64, init, 0)   ->   convert(reduce(x, iota s8, init, 0))   x: u8
 *
 * Vectors then hold as many indices as values. Exact: the body only compares and selects indices,
 * and the narrow type represents all of them.
 *
 * The first true value of n is found by a minimum, in which all true ones precede the others:
 *
 *   reduce(x, iota, false, 0)   ->   min(select(x, iota, iota + n)), modulo n          x: pred
 *
 * Vectors then compare bytes instead of combining masks. */
#include "base/arith.h"
#include "ops/query/selection_eval.h"
#include "passes/simplify/simplify.h"

enum { INDEX = 1, COUNT = 2 }; /* operand number of the indices; number of reduced arrays */

/* The narrowest type that represents the numbers up to `most` and is as wide as the values in
 * registers. */
static hr_dtype_t narrow_type(hr_dtype_t values, int64_t most) {
  static const struct {
    hr_dtype_t dtype;
    int64_t most;
  } types[] = {{HR_S8, INT8_MAX}, {HR_S16, INT16_MAX}, {HR_S32, INT32_MAX}};
  size_t bytes = hr_dtype_bytes(hr_dtype_table[values].compute);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (hr_dtype_bytes(types[i].dtype) >= bytes && most <= types[i].most) return types[i].dtype;
  return HR_S64;
}

/* The dimension along which x is an iota; -1: x is no iota. */
static int64_t counted_dim(const hlo_instr_t *x) {
  const hlo_instr_t *iota = x->op == HLO_BROADCAST ? x->operands[0] : x;
  if (iota->op != HLO_IOTA) return -1;
  int64_t dim = hlo_attr_int(iota, HLO_ATTR_IOTA_DIMENSION);
  return iota == x ? dim : hlo_attr_ints(x, HLO_ATTR_DIMENSIONS).data[dim];
}

/* A body being cloned, by the ids of its instructions. */
typedef struct index_body {
  hlo_instr_t **copies;
  bool *is_index;
} index_body_t;

/* Operands of a body are scalars; select and the tuple of results have at most this many. */
enum { MAX_OPERANDS = 3 };

/* Marks the instruction as an index if its operands are. False: an index is used in another way
 * than allowed. */
static bool mark_index(index_body_t *body, const hlo_instr_t *instr, const hlo_instr_t *root) {
  bool is[MAX_OPERANDS] = {false};
  if (instr->operand_count > MAX_OPERANDS || instr->called_count) return false;
  for (int k = 0; k < instr->operand_count; k++) is[k] = body->is_index[instr->operands[k]->id];
  bool *is_index = &body->is_index[instr->id];
  switch (instr->op) {
    case HLO_PARAMETER:
      *is_index = hlo_parameter_number(instr) % COUNT == INDEX;
      return true;
    case HLO_SELECT:
      *is_index = is[1] && is[2];
      return !is[0] && is[1] == is[2];
    case HLO_MINIMUM:
    case HLO_MAXIMUM:
      *is_index = is[0] && is[1];
      return is[0] == is[1];
    case HLO_COMPARE:
      return is[0] == is[1];
    case HLO_TUPLE:
      return instr == root && !is[0] && is[INDEX];
    default:
      return !is[0] && !is[1] && !is[2];
  }
}

static hr_status_t copy_instr(hlo_computation_t *to, index_body_t *body, const hlo_instr_t *instr,
                              hr_dtype_t narrow) {
  hlo_instr_t *operands[MAX_OPERANDS];
  for (int k = 0; k < instr->operand_count; k++) operands[k] = body->copies[instr->operands[k]->id];
  hlo_instr_def_t def = hlo_instr_def_of(instr, operands);
  if (body->is_index[instr->id]) def.shape = hlo_shape_scalar(narrow);
  if (instr->op == HLO_TUPLE) def.shape = NULL;
  return hlo_instr_add(to, &def, &body->copies[instr->id]);
}

/* Clones the body for narrow indices. NULL: the body computes with indices, or the builder
 * failed. */
static hlo_computation_t *narrow_body(pass_rewrite_t *rewrite, const hlo_computation_t *from,
                                      hr_dtype_t narrow) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_computation_t *to = NULL;
  index_body_t body;
  uint32_t count = from->instrs.count;
  if (from->root->op != HLO_TUPLE) return NULL;
  builder->status = HR_NEW_ARRAY(&rewrite->scratch, count, &body.copies);
  if (!builder->status) builder->status = HR_NEW_ARRAY(&rewrite->scratch, count, &body.is_index);
  for (uint32_t i = 0; i < count && !builder->status; i++)
    if (!mark_index(&body, from->instrs.data[i], from->root)) return NULL;
  if (!builder->status)
    builder->status = hlo_computation_add(rewrite->computation->module, from->name, &to);
  for (uint32_t i = 0; i < count && !builder->status; i++)
    builder->status = copy_instr(to, &body, from->instrs.data[i], narrow);
  if (builder->status) return NULL;
  to->root = body.copies[from->root->id];
  return to;
}

/* --- the first true value --------------------------------------------------------------------- */

/* Most instructions of a body that is tried; numbers of indices with which it is. */
enum { MOST_INSTRS = 32, TRIED = 3 };

/* Do the ops of a body, which is (pred, index) of two such pairs, only compare and choose? */
static bool only_chooses(const hlo_computation_t *body) {
  bool is_index[MOST_INSTRS] = {false};
  index_body_t marks = {.is_index = is_index};
  if (body->instrs.count > MOST_INSTRS || body->root->op != HLO_TUPLE) return false;
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    bool is_pred = instr->shape->dtype == HR_PRED;
    switch (instr->op) {
      case HLO_PARAMETER:
      case HLO_TUPLE:
      case HLO_COMPARE:
      case HLO_SELECT:
        break;
      case HLO_CONSTANT:
      case HLO_NOT:
      case HLO_AND:
      case HLO_OR:
      case HLO_XOR:
        if (!is_pred) return false;
        break;
      default:
        return false;
    }
    if (!mark_index(&marks, instr, body->root)) return false;
  }
  return true;
}

/* Does the body give the pair with the true value and, if both or none are true, the least index?
 * It depends on the order of the indices alone, so that few numbers stand for all. */
static bool takes_first_true(const hlo_computation_t *body, const double pairs[4]) {
  double results[MOST_INSTRS];
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    int direction = instr->op == HLO_COMPARE ? hlo_attr_enum(instr, HLO_ATTR_DIRECTION) : 0;
    if (instr != body->root) results[i] = selection_eval(instr, direction, pairs, results);
  }
  bool is_second = pairs[2] != pairs[0] ? pairs[2] != 0 : pairs[3] < pairs[1];
  const double *want = is_second ? pairs + 2 : pairs;
  return results[body->root->operands[0]->id] == want[0] &&
         results[body->root->operands[INDEX]->id] == want[INDEX];
}

static bool finds_first_true(const hlo_computation_t *body) {
  if (!only_chooses(body)) return false;
  for (int i = 0; i < 4 * TRIED * TRIED; i++) {
    double pairs[] = {i & 1, i / 4 % TRIED, i >> 1 & 1, (double)(i / 4 / TRIED)};
    if (!takes_first_true(body, pairs)) return false;
  }
  return true;
}

/* Requires: the indices are an iota along the reduced dimension `dim`. */
static hlo_instr_t *find_first_true(pass_rewrite_t *rewrite, hlo_instr_t *instr, int64_t dim,
                                    int64_t first) {
  hlo_builder_t *b = &rewrite->builder;
  const hlo_shape_t *indices = instr->operands[INDEX]->shape;
  int64_t count = hr_max(first + 1, indices->dims[dim]), is_true;
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  hr_dtype_t type = narrow_type(HR_PRED, 2 * count);
  if (instr->operands[0]->shape->dtype != HR_PRED || dims.count != 1 || dims.data[0] != dim ||
      !pass_splat_int(instr->operands[COUNT], &is_true) || !finds_first_true(instr->called[0]))
    return NULL;
  hlo_attr_t along = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, dim);
  const hlo_shape_t *shape = pass_shape(rewrite, type, indices->rank, indices->dims);
  hlo_instr_t *iota = hlo_build(b, HLO_IOTA, shape, 0, NULL, 1, &along, 0, NULL);
  hlo_instr_t *later =
      hlo_build_binary(b, HLO_ADD, iota, hlo_build_number_like(b, (double)count, iota));
  hlo_instr_t *keys = hlo_build_select(b, instr->operands[0], iota, later);
  hlo_instr_t *least = pass_build_reduce(rewrite, HLO_MINIMUM, keys,
                                         (double)(is_true ? first : first + count), 1, dims.data);
  if (!least) return NULL;
  hlo_instr_t *all = hlo_build_number_like(b, (double)count, least);
  hlo_instr_t *is_any = hlo_build_compare(b, HLO_DIRECTION_LT, least, all);
  hlo_instr_t *index =
      hlo_build_select(b, is_any, least, hlo_build_binary(b, HLO_SUBTRACT, least, all));
  return hlo_build_tuple(b, COUNT,
                         (hlo_instr_t *[]){is_any, hlo_build_convert(b, index, indices->dtype)});
}

/* --- narrow indices --------------------------------------------------------------------------- */

hlo_instr_t *simplify_index_reduce(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_builder_t *b = &rewrite->builder;
  if (instr->operand_count != 2 * COUNT || b->status) return NULL;
  const hlo_shape_t *values = instr->operands[0]->shape, *indices = instr->operands[INDEX]->shape;
  int64_t dim = counted_dim(instr->operands[INDEX]), first;
  if (dim < 0 || hlo_shape_is_dynamic(indices) ||
      hr_dtype_class(indices->dtype) != HR_CLASS_SIGNED ||
      !pass_splat_int(instr->operands[COUNT + INDEX], &first) || first < 0)
    return NULL;
  hlo_instr_t *found = find_first_true(rewrite, instr, dim, first);
  if (found || b->status) return found;
  hr_dtype_t narrow = narrow_type(values->dtype, hr_max(first, indices->dims[dim] - 1));
  if (hr_dtype_bytes(narrow) >= hr_dtype_bytes(indices->dtype)) return NULL;
  hlo_computation_t *body = narrow_body(rewrite, instr->called[0], narrow);
  if (!body) return NULL;
  hlo_attr_t along = hlo_attr_of_int(HLO_ATTR_IOTA_DIMENSION, dim);
  const hlo_shape_t *shape = pass_shape(rewrite, narrow, indices->rank, indices->dims);
  hlo_instr_t *operands[] = {instr->operands[0],
                             hlo_build(b, HLO_IOTA, shape, 0, NULL, 1, &along, 0, NULL),
                             instr->operands[COUNT], hlo_build_number(b, (double)first, narrow)};
  hlo_instr_t *reduce = hlo_build(b, HLO_REDUCE, NULL, 2 * COUNT, operands, instr->attr_count,
                                  instr->attrs, 1, &body);
  hlo_instr_t *results[] = {
      hlo_build_element(b, reduce, 0),
      hlo_build_convert(b, hlo_build_element(b, reduce, INDEX), indices->dtype)};
  return hlo_build_tuple(b, COUNT, results);
}
