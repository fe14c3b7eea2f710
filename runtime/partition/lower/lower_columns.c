/* Sorting a whole line whose dimension is cut, by columns (Leighton's columnsort): each of the p
 * parts, of r elements, is a column of an r x p matrix.
 *
 *   1 sort the columns    2 their elements go to the columns in turn    3 sort
 *   4 the inverse of 2    5 sort    6 sort the lower half of each column with the upper half of the
 *                                     next
 *
 *   {3 9 | 1 7}  1->  {3 9 | 1 7}  2->  {3 1 | 9 7}  3->  {1 3 | 7 9}  4->  {1 7 | 3 9}  ...
 *
 * This sorts any line if r >= 2(p - 1)^2, p divides r, and r is even. A part sends about three
 * times its own elements, a gather p - 1 times; it sorts four times its elements, not all of them;
 * and it needs memory for a few parts, not for the line. Equal elements keep their order, as a
 * stable sort demands, by the places that they have after step 1, in the order of the parts: what
 * arrives in step 2 is in this order, so the places follow from where it lies. From there on they
 * are a further operand, which decides between equal elements. An iota among the operands serves as
 * well. */
#include <math.h>

#include "partition/lower/comm_cost.h"
#include "partition/lower/fetch_window.h"
#include "partition/lower/lower_ops.h"

#define LONG_LINE_BYTES 1048576.0 /* shorter lines are sorted in less time than the rounds take */
#define MOVED_SHARE 0.75          /* most bytes that are sent, as a share of a gather's */

typedef struct columns {
  spmd_lower_t *lower;
  const hlo_instr_t *sort;
  int d;
  int64_t rows, parts;
  spmd_axes_t axes;
  int count;                     /* arrays, with one for places */
  int places;                    /* the array that decides between equal elements */
  hlo_instr_t **arrays;          /* this partition's parts */
  hlo_computation_t *comparator; /* the sort's, which then compares places */
} columns_t;

static int sorted_dim(const hlo_instr_t *sort) {
  return (int)hlo_attr_ints(sort, HLO_ATTR_DIMENSIONS).data[0];
}

/* Are equal elements the same? True for a single operand of which all bits are compared. */
static bool has_no_ties(const hlo_instr_t *sort) {
  const hlo_instr_t *root = sort->called[0]->root;
  return sort->operand_count == 1 && root->operands[0]->op == HLO_PARAMETER &&
         root->operands[1]->op == HLO_PARAMETER;
}

/* The operand that counts along the sorted dimension, or any if there are no ties; -1: none. */
static int find_places(const hlo_instr_t *sort) {
  if (has_no_ties(sort)) return 0;
  for (int k = 0; k < sort->operand_count; k++) {
    const hlo_instr_t *x = sort->operands[k];
    if (x->op == HLO_IOTA && hlo_attr_int(x, HLO_ATTR_IOTA_DIMENSION) == sorted_dim(sort) &&
        hr_dtype_is_integer(x->shape->dtype) && hr_dtype_bytes(x->shape->dtype) >= 4)
      return k;
  }
  return -1;
}

/* One key of a total order: a comparison that says when two are equal. */
bool spmd_may_sort_by_columns(const hlo_instr_t *sort) {
  const hlo_instr_t *root = sort->called[0]->root;
  if (root->op != HLO_COMPARE || !hlo_attr_bool(sort, HLO_ATTR_IS_STABLE) ||
      sort->operands[0]->shape->rank > HLO_MAX_RANK - 2)
    return false;
  int direction = hlo_attr_enum(root, HLO_ATTR_DIRECTION);
  bool is_total = hr_dtype_is_integer(root->operands[0]->shape->dtype) ||
                  hlo_attr_enum(root, HLO_ATTR_TYPE) == HLO_COMPARISON_TOTALORDER;
  return is_total && (direction == HLO_DIRECTION_LT || direction == HLO_DIRECTION_GT);
}

/* --- cost --- */

/* Columns of other sizes, or of which a gather sends little more, are not sorted like this. */
static bool fits(spmd_lower_t *lower, const hlo_instr_t *sort, int64_t rows, int64_t parts) {
  double gathered = 0, moved = find_places(sort) < 0 ? 2.0 * 4 : 0;
  if (sort->operands[0]->shape->dims[sorted_dim(sort)] != rows * parts || rows % parts ||
      rows % 2 || rows / 2 < (parts - 1) * (parts - 1))
    return false;
  for (int k = 0; k < sort->operand_count; k++) {
    double bytes = (double)hr_dtype_bytes(sort->operands[k]->shape->dtype);
    if (!spmd_operand(lower, sort, k)->recipe) gathered += (double)parts * bytes;
    moved += 3 * bytes;
  }
  return moved <= MOVED_SHARE * gathered;
}

static double array_us(double bytes, double parts, int exchanges) {
  return exchanges * spmd_step_us(SPMD_ALL_TO_ALL, bytes, parts) +
         2 * spmd_step_us(SPMD_PERMUTE, bytes / 2, parts);
}

/* True if the result is to be cut into so many parts; else a gather would follow. */
static bool is_wanted_cut(spmd_lower_t *lower, const hlo_instr_t *sort, int r, int64_t parts) {
  const spmd_sharding_t *wanted = spmd_wanted_result(lower, sort, r);
  return wanted && spmd_sharding_parts(wanted, sorted_dim(sort)) == parts;
}

double spmd_columns_us(spmd_lower_t *lower, const hlo_instr_t *sort, int operand, int64_t rows,
                       int64_t parts, double row_bytes) {
  double element = (double)hr_dtype_bytes(sort->operands[operand]->shape->dtype), line = 0;
  double bytes = row_bytes * (double)rows, elements = bytes / element, places = 0;
  for (int k = 0; k < sort->operand_count; k++)
    line += elements * (double)(parts * (int64_t)hr_dtype_bytes(sort->operands[k]->shape->dtype));
  if (line < LONG_LINE_BYTES || !fits(lower, sort, rows, parts) ||
      !is_wanted_cut(lower, sort, operand, parts))
    return INFINITY;
  if (!operand && find_places(sort) < 0) places = array_us(elements * 4, (double)parts, 1);
  return places + array_us(bytes, (double)parts, 2);
}

/* --- the comparator --- */

/* less(a, b)   ->   less(a, b) | (equal(a, b) & place(a) < place(b)) */
static hlo_instr_t *compare_places(spmd_emit_t *emit, const hlo_instr_t *root, hlo_instr_t *less,
                                   hlo_instr_t *const *places) {
  hlo_attr_t direction = {.key = HLO_ATTR_DIRECTION, .integer = HLO_DIRECTION_EQ};
  if (!less) return NULL;
  hlo_instr_t *equal = spmd_emit_with(emit, root, less->operands, less->shape, &direction);
  hlo_instr_t *before = hlo_build_compare(&emit->b, HLO_DIRECTION_LT, places[0], places[1]);
  return hlo_build_binary(&emit->b, HLO_OR, less,
                          hlo_build_binary(&emit->b, HLO_AND, equal, before));
}

/* Copies the instructions of `from`; params[k] replaces parameter k. Returns the copy of the root.
 */
static hlo_instr_t *copy_instructions(spmd_emit_t *emit, const hlo_computation_t *from,
                                      hlo_instr_t *const *params) {
  hlo_instr_t **copies, **operands;
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(emit->shared->arena, from->instrs.count, &copies)))
    return NULL;
  for (size_t i = 0; i < from->instrs.count; i++) {
    const hlo_instr_t *instr = from->instrs.data[i];
    if (instr->op == HLO_PARAMETER) {
      copies[instr->id] = params[hlo_parameter_number(instr)];
      continue;
    }
    if (spmd_emit_failed(emit, HR_NEW_ARRAY(emit->shared->arena, instr->operand_count, &operands)))
      return NULL;
    for (int k = 0; k < instr->operand_count; k++) operands[k] = copies[instr->operands[k]->id];
    copies[instr->id] = spmd_emit_like(emit, instr, operands, instr->shape);
    if (!copies[instr->id]) return NULL;
    copies[instr->id]->literal = instr->literal;
  }
  return copies[from->root->id];
}

static void make_comparator(columns_t *columns) {
  const hlo_computation_t *from = columns->sort->called[0];
  spmd_emit_t *outer = &columns->lower->emit, emit = *outer;
  hlo_instr_t **params;
  columns->comparator = columns->sort->called[0];
  if (has_no_ties(columns->sort)) return;
  if (spmd_emit_failed(outer,
                       hlo_computation_add(from->module, from->name, &columns->comparator)) ||
      spmd_emit_failed(outer, HR_NEW_ARRAY(columns->lower->arena, 2 * columns->count, &params)))
    return;
  emit.b = hlo_builder_at(columns->comparator, 0, 0);
  for (int k = 0; k < 2 * columns->count; k++)
    params[k] =
        hlo_build_parameter(&emit.b, k, hlo_shape_scalar(columns->arrays[k / 2]->shape->dtype));
  columns->comparator->root = compare_places(
      &emit, from->root, copy_instructions(&emit, from, params), params + 2 * columns->places);
  spmd_emit_failed(outer, hlo_builder_finish(&emit.b));
}

/* --- steps --- */

/* Sorts `count` arrays, in place of those. */
static void sort_arrays(columns_t *columns, int count, hlo_instr_t **arrays,
                        hlo_computation_t *comparator) {
  hlo_builder_t *b = &columns->lower->emit.b;
  const hlo_shape_t **shapes, *shape = NULL;
  if (spmd_emit_failed(&columns->lower->emit, HR_NEW_ARRAY(columns->lower->arena, count, &shapes)))
    return;
  for (int k = 0; k < count; k++) {
    if (!arrays[k]) return;
    shapes[k] = shape = arrays[k]->shape;
  }
  if (count > 1 && spmd_emit_failed(&columns->lower->emit,
                                    hlo_shape_tuple(columns->lower->arena, count, shapes, &shape)))
    return;
  hlo_instr_t *sorted = hlo_build(b, HLO_SORT, shape, count, arrays, columns->sort->attr_count,
                                  columns->sort->attrs, 1, &comparator);
  for (int k = 0; k < count; k++) arrays[k] = count == 1 ? sorted : hlo_build_element(b, sorted, k);
}

/* Dimension d as `major` times `minor`; minor 0: the two as one. */
static hlo_instr_t *as_matrix(columns_t *columns, hlo_instr_t *x, int64_t major, int64_t minor) {
  int64_t dims[HLO_MAX_RANK];
  int rank = 0, of_matrix = minor ? columns->d : columns->d + 1;
  for (int i = 0; x && i < x->shape->rank; i++) {
    if (i == columns->d) dims[rank++] = major;
    if (i == columns->d && minor) dims[rank++] = minor;
    if (i < columns->d || i > of_matrix) dims[rank++] = x->shape->dims[i];
  }
  return spmd_emit_reshape(&columns->lower->emit, x, rank, dims);
}

/* Element i goes to part i mod p; what part j sends is before what part j + 1 sends. */
static hlo_instr_t *deal(columns_t *columns, hlo_instr_t *x) {
  int d = columns->d;
  x = as_matrix(columns, x, columns->rows / columns->parts, columns->parts);
  x = spmd_emit_all_to_all(&columns->lower->emit, x, d + 1, d, columns->axes);
  return as_matrix(columns, x, columns->rows, 0);
}

static hlo_instr_t *collect(columns_t *columns, hlo_instr_t *x) {
  int d = columns->d;
  x = as_matrix(columns, x, columns->rows, 1);
  x = spmd_emit_all_to_all(&columns->lower->emit, x, d, d + 1, columns->axes);
  return as_matrix(columns, x, columns->rows, 0);
}

/* Element q of part t after step 2 was number p * q + t after step 1. */
static hlo_instr_t *places_of(columns_t *columns, const hlo_instr_t *x) {
  spmd_emit_t *emit = &columns->lower->emit;
  hlo_instr_t *q = spmd_emit_positions(emit, x, columns->d, spmd_emit_index(emit, 0));
  hlo_instr_t *p = spmd_emit_fill_like(emit, spmd_emit_index(emit, columns->parts), x);
  hlo_instr_t *t = spmd_emit_fill_like(emit, spmd_emit_coordinate(emit, columns->axes), x);
  return hlo_build_binary(&emit->b, HLO_ADD, hlo_build_binary(&emit->b, HLO_MULTIPLY, q, p), t);
}

/* Sends x to the next part, or to the one before; the part at the end gets zeros. */
static hlo_instr_t *send(columns_t *columns, hlo_instr_t *x, int64_t distance) {
  spmd_round_t round = {0};
  if (spmd_emit_failed(&columns->lower->emit,
                       HR_NEW_ARRAY(columns->lower->arena, columns->parts, &round.sources)))
    return NULL;
  for (int64_t j = 0; j < columns->parts; j++) {
    int64_t source = j - distance;
    round.sources[j] = source < columns->parts ? source : -1;
  }
  return spmd_send_round(columns->lower, columns->axes, &round, x);
}

/* `other` on part j, x elsewhere. */
static hlo_instr_t *only_on(columns_t *columns, int64_t j, hlo_instr_t *other, hlo_instr_t *x) {
  spmd_emit_t *emit = &columns->lower->emit;
  hlo_instr_t *is_j =
      hlo_build_compare(&emit->b, HLO_DIRECTION_EQ, spmd_emit_coordinate(emit, columns->axes),
                        spmd_emit_index(emit, j));
  return hlo_build_select(&emit->b, x ? spmd_emit_fill_like(emit, is_j, x) : NULL, other, x);
}

/* Step 6. A part gets the lower half of the column before, and returns what belongs there. */
static void sort_across(columns_t *columns) {
  spmd_emit_t *emit = &columns->lower->emit;
  int64_t half = columns->rows / 2;
  hlo_instr_t **own;
  if (spmd_emit_failed(emit, HR_NEW_ARRAY(columns->lower->arena, columns->count, &own))) return;
  for (int k = 0; k < columns->count; k++) {
    own[k] = columns->arrays[k];
    hlo_instr_t *lower_half = spmd_emit_slice(emit, own[k], columns->d, half, half);
    hlo_instr_t *both[] = {send(columns, lower_half, 1),
                           spmd_emit_slice(emit, own[k], columns->d, 0, half)};
    columns->arrays[k] = spmd_emit_concat(emit, 2, both, columns->d);
  }
  sort_arrays(columns, columns->count, columns->arrays, columns->comparator);
  for (int k = 0; k < columns->sort->operand_count; k++) {
    hlo_instr_t *x = columns->arrays[k];
    hlo_instr_t *back = send(columns, spmd_emit_slice(emit, x, columns->d, 0, half), -1);
    hlo_instr_t *halves[] = {only_on(columns, 0, spmd_emit_slice(emit, own[k], columns->d, 0, half),
                                     spmd_emit_slice(emit, x, columns->d, half, half)),
                             only_on(columns, columns->parts - 1,
                                     spmd_emit_slice(emit, own[k], columns->d, half, half), back)};
    columns->arrays[k] = spmd_emit_concat(emit, 2, halves, columns->d);
  }
}

static void sort_columns(columns_t *columns) {
  spmd_lower_t *lower = columns->lower;
  int count = columns->sort->operand_count;
  sort_arrays(columns, count, columns->arrays, columns->sort->called[0]);
  for (int k = 0; k < count; k++) columns->arrays[k] = deal(columns, columns->arrays[k]);
  if (columns->count > count) columns->arrays[count] = places_of(columns, columns->arrays[0]);
  if (spmd_emit_failed(&lower->emit, NULL)) return;
  make_comparator(columns);
  sort_arrays(columns, columns->count, columns->arrays, columns->comparator);
  for (int k = 0; k < columns->count; k++)
    columns->arrays[k] = collect(columns, columns->arrays[k]);
  sort_arrays(columns, columns->count, columns->arrays, columns->comparator);
  sort_across(columns);
}

hlo_instr_t *spmd_sort_by_columns(spmd_lower_t *lower, const spmd_choice_t *choice) {
  const hlo_instr_t *sort = choice->instr;
  int d = sorted_dim(sort), count = sort->operand_count, places = find_places(sort);
  columns_t columns = {.lower = lower,
                       .sort = sort,
                       .d = d,
                       .parts = spmd_chosen_parts(choice, 0, d),
                       .axes = choice->tensors[0]->dims[d].axes,
                       .count = places < 0 ? count + 1 : count,
                       .places = places < 0 ? count : places};
  columns.rows = sort->operands[0]->shape->dims[d] / columns.parts;
  if (spmd_emit_failed(&lower->emit, HR_NEW_ARRAY(lower->arena, columns.count, &columns.arrays)))
    return NULL;
  for (int k = 0; k < count; k++) columns.arrays[k] = spmd_chosen_operand(lower, choice, k);
  sort_columns(&columns);
  return count == 1 ? columns.arrays[0] : hlo_build_tuple(&lower->emit.b, count, columns.arrays);
}
