/* Ops without a single HLO counterpart: Einstein sums, torch_index_select, and asynchronous
 * collectives.
 * An Einstein sum "ij,jk->ik" becomes: sums over labels that only one operand has; a dot, with
 * batch labels in all three terms and contracted labels in both operands but not in the result; a
 * transpose to the result's order. The order of the product is: batch, free labels of the left,
 * free labels of the right. */
#include <string.h>

#include "stablehlo/import/import.h"

/* --- einsum --- */

#define ELLIPSIS_LABEL 128 /* labels from 128 on are the dimensions of "..." */

/* The labels of a term: one per dimension, a character or a number from ELLIPSIS_LABEL on. */
typedef struct labels {
  int count;
  int of[HLO_MAX_RANK]; /* by dimension */
} labels_t;

/* Dimension that has the label; -1: none. Cost: the rank. */
static int position_of(const labels_t *labels, int label) {
  for (int d = 0; d < labels->count; d++)
    if (labels->of[d] == label) return d;
  return -1;
}

/* Reads the labels of one term, up to ',' or '-' or the end. "..." stands for `hidden`
 * dimensions. */
static hr_status_t take_term(import_scope_t *scope, const mlir_op_t *op, const char **at,
                             const char *end, int hidden, labels_t *out_labels) {
  *out_labels = (labels_t){.count = 0};
  while (*at < end && **at != ',' && **at != '-') {
    bool dots = end - *at >= 3 && !memcmp(*at, "...", 3);
    int more = dots ? hidden : **at != ' ';
    for (int i = 0; i < more; i++) {
      int label = dots ? ELLIPSIS_LABEL + i : (unsigned char)**at;
      if (out_labels->count == HLO_MAX_RANK || position_of(out_labels, label) >= 0)
        return import_error(
            scope, op, "a label stands twice in one term of einsum_config, or there are too many");
      out_labels->of[out_labels->count++] = label;
    }
    *at += dots ? 3 : 1;
  }
  return NULL;
}

/* Number of dimensions of "..." in a term, from the operand's rank; 0 without "...". */
static int hidden_dims(const char *at, const char *end, int rank) {
  bool dots = false;
  for (; at < end && *at != ',' && *at != '-'; at++) {
    dots |= *at == '.';
    rank -= *at != '.' && *at != ' ';
  }
  return dots && rank > 0 ? rank : 0;
}

/* A computation x + y for scalars of a type. */
static hr_status_t sum_computation(import_scope_t *scope, const mlir_op_t *op, hr_dtype_t dtype,
                                   hlo_computation_t **out_sum) {
  const char *name;
  HR_TRY(hr_arena_printf(scope->importer->arena, &name, "sum_%d", scope->importer->body_count++));
  HR_TRY(hlo_computation_add(scope->importer->module, hr_str_from(name), out_sum));
  hlo_builder_t inside = hlo_builder_at(*out_sum, op->line, op->column);
  hlo_instr_t *a = hlo_build_parameter(&inside, 0, hlo_shape_scalar(dtype));
  hlo_instr_t *b = hlo_build_parameter(&inside, 1, hlo_shape_scalar(dtype));
  (*out_sum)->root = hlo_build_binary(&inside, HLO_ADD, a, b);
  return hlo_builder_finish(&inside);
}

/* Sums over the dimensions whose labels neither the other operand nor the result has. */
static hr_status_t sum_lonely(import_scope_t *scope, const mlir_op_t *op, const labels_t *other,
                              const labels_t *out, labels_t *labels, hlo_instr_t **x) {
  int64_t dims[HLO_MAX_RANK];
  int count = 0, unique = 0;
  for (int d = 0; d < labels->count; d++) {
    bool lonely = position_of(other, labels->of[d]) < 0 && position_of(out, labels->of[d]) < 0;
    if (lonely)
      dims[count++] = d;
    else
      labels->of[unique++] = labels->of[d];
  }
  labels->count = unique;
  if (!count || !*x) return NULL;
  hlo_computation_t *sum;
  HR_TRY(sum_computation(scope, op, (*x)->shape->dtype, &sum));
  hlo_attr_t attrs[2] = {hlo_attr_of_ints(&scope->builder, HLO_ATTR_DIMENSIONS, count, dims),
                         hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  hlo_instr_t *operands[2] = {*x, hlo_build_number(&scope->builder, 0, (*x)->shape->dtype)};
  *x = hlo_build(&scope->builder, HLO_REDUCE, NULL, 2, operands, 2, attrs, 1, &sum);
  return NULL;
}

typedef struct product_dims {
  int64_t batch[2][HLO_MAX_RANK], contracting[2][HLO_MAX_RANK];
  int batch_count, contracting_count;
  labels_t
      result; /* labels of the product: batch, free labels of the left, free labels of the right */
} product_dims_t;

/* Sorts the labels into batch, contracted and free ones; free ones keep their order. */
static void sort_labels(const labels_t *lhs, const labels_t *rhs, const labels_t *out,
                        product_dims_t *dims) {
  *dims = (product_dims_t){.batch_count = 0};
  for (int d = 0; d < lhs->count; d++) {
    int there = position_of(rhs, lhs->of[d]);
    if (there < 0) continue;
    bool batch = position_of(out, lhs->of[d]) >= 0;
    int *count = batch ? &dims->batch_count : &dims->contracting_count;
    (batch ? dims->batch : dims->contracting)[0][*count] = d;
    (batch ? dims->batch : dims->contracting)[1][(*count)++] = there;
    if (batch) dims->result.of[dims->result.count++] = lhs->of[d];
  }
  for (int d = 0; d < lhs->count; d++)
    if (position_of(rhs, lhs->of[d]) < 0) dims->result.of[dims->result.count++] = lhs->of[d];
  for (int d = 0; d < rhs->count; d++)
    if (position_of(lhs, rhs->of[d]) < 0) dims->result.of[dims->result.count++] = rhs->of[d];
}

/* A dot; its result has batch dimensions, free dimensions of the left, then those of the right. */
static hlo_instr_t *build_product(import_scope_t *scope, hlo_instr_t *lhs, hlo_instr_t *rhs,
                                  const product_dims_t *dims) {
  hlo_builder_t *builder = &scope->builder;
  hlo_attr_t attrs[4] = {
      hlo_attr_of_ints(builder, HLO_ATTR_LHS_BATCH_DIMS, dims->batch_count, dims->batch[0]),
      hlo_attr_of_ints(builder, HLO_ATTR_LHS_CONTRACTING_DIMS, dims->contracting_count,
                       dims->contracting[0]),
      hlo_attr_of_ints(builder, HLO_ATTR_RHS_BATCH_DIMS, dims->batch_count, dims->batch[1]),
      hlo_attr_of_ints(builder, HLO_ATTR_RHS_CONTRACTING_DIMS, dims->contracting_count,
                       dims->contracting[1])};
  return hlo_build(builder, HLO_DOT, NULL, 2, (hlo_instr_t *[]){lhs, rhs}, 4, attrs, 0, NULL);
}

/* Transposes x from the order `have` to the order `want`, which has the same labels. */
static hr_status_t reorder(import_scope_t *scope, mlir_op_t *op, hlo_instr_t *x,
                           const labels_t *have, const labels_t *want) {
  int64_t order[HLO_MAX_RANK];
  if (have->count != want->count)
    return import_error(scope, op, "its result has labels that no operand has");
  for (int d = 0; d < want->count; d++) {
    order[d] = position_of(have, want->of[d]);
    if (order[d] < 0) return import_error(scope, op, "its result has labels that no operand has");
  }
  hlo_attr_t attr = hlo_attr_of_ints(&scope->builder, HLO_ATTR_DIMENSIONS, want->count, order);
  return import_set_results(
      scope, op, hlo_build(&scope->builder, HLO_TRANSPOSE, NULL, 1, &x, 1, &attr, 0, NULL));
}

/* Converts an operand to the result's type: products of integers may be wider than their
 * factors. */
static hr_status_t as_result(import_scope_t *scope, const mlir_op_t *op, hlo_instr_t **x) {
  const hlo_shape_t *shape, *wide;
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  if (shape->dtype == (*x)->shape->dtype) return NULL;
  HR_TRY(hlo_shape_array_dynamic(scope->importer->arena, shape->dtype, (*x)->shape->rank,
                                 (*x)->shape->dims, (*x)->shape->dynamic, &wide));
  *x = hlo_build(&scope->builder, HLO_CONVERT, wide, 1, x, 0, NULL, 0, NULL);
  return scope->builder.status ? hlo_builder_finish(&scope->builder) : NULL;
}

/* Terms, sums, product and transpose of one or two operands. "..." has the length that the longer
 * operand needs. */
static hr_status_t einsum(import_scope_t *scope, mlir_op_t *op, int operand_count) {
  hr_str_t config = import_str(op, "einsum_config");
  const char *at = config.data;
  const char *end = at + config.size;
  const char *comma = memchr(at, ',', config.size);
  hlo_instr_t *x[2] = {import_operand(op, 0), operand_count > 1 ? import_operand(op, 1) : NULL};
  labels_t labels[2] = {{.count = 0}, {.count = 0}};
  labels_t out;
  int hidden = hidden_dims(at, end, x[0]->shape->rank);
  if (operand_count > 1 && comma) {
    int right = hidden_dims(comma + 1, end, x[1]->shape->rank);
    if (right > hidden) hidden = right;
  }
  for (int k = 0; k < operand_count; k++) {
    HR_TRY(take_term(scope, op, &at, end, hidden, &labels[k]));
    if (labels[k].count != x[k]->shape->rank)
      return import_error(scope, op,
                          "einsum_config names %d dimensions of operand %d, which has %d",
                          labels[k].count, k, x[k]->shape->rank);
    if (k + 1 < operand_count && (at >= end || *at++ != ','))
      return import_error(scope, op, "einsum_config wants ',' between operands");
  }
  if (end - at < 2 || memcmp(at, "->", 2))
    return import_error(scope, op, "einsum_config wants '->' after its operands");
  at += 2;
  HR_TRY(take_term(scope, op, &at, end, hidden, &out));
  for (int k = 0; k < operand_count; k++)
    HR_TRY(sum_lonely(scope, op, &labels[1 - k], &out, &labels[k], &x[k]));
  if (operand_count == 1) return reorder(scope, op, x[0], &labels[0], &out);
  product_dims_t dims;
  for (int k = 0; k < 2; k++) HR_TRY(as_result(scope, op, &x[k]));
  sort_labels(&labels[0], &labels[1], &out, &dims);
  return reorder(scope, op, build_product(scope, x[0], x[1], &dims), &dims.result, &out);
}

hr_status_t import_einsum(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  return einsum(scope, op, op->operand_count);
}

/* --- torch_index_select: rows of `operand` along dim, selected by `index`, for each batch --- */

/* A gather of rows of `operand` along `dim`, selected by `index`, for each index of the leading
 * batch dimensions. */
hr_status_t import_torch_index_select(import_scope_t *scope, mlir_op_t *op,
                                      const import_row_t *row) {
  hlo_instr_t *operands[2] = {import_operand(op, 0), import_operand(op, 1)};
  const hlo_shape_t *shape;
  const hlo_shape_t *from = operands[0]->shape;
  const hlo_shape_t *index = operands[1]->shape;
  int64_t dim = import_int(op, "dim", 0);
  int64_t batch = import_int(op, "batch_dims", 0);
  int64_t offsets[HLO_MAX_RANK], sizes[HLO_MAX_RANK], batching[HLO_MAX_RANK];
  int offset_count = 0;
  HR_TRY(import_result_shape(scope, op, 0, &shape));
  bool fits = batch >= 0 && batch <= dim && dim < from->rank && batch <= index->rank;
  if (!fits)
    return import_error(scope, op, "dim %ld and batch_dims %ld do not fit ranks %d and %d",
                        (long)dim, (long)batch, from->rank, index->rank);
  for (int d = 0; d < from->rank; d++) {
    bool taken = d < batch || d == dim;
    sizes[d] = taken ? 1 : from->dims[d];
    if (!taken) offsets[offset_count++] = d < dim ? d : d - 1 + index->rank - batch;
  }
  for (int64_t b = 0; b < batch; b++) batching[b] = b;
  hlo_builder_t *builder = &scope->builder;
  hlo_attr_t attrs[7] = {
      hlo_attr_of_ints(builder, HLO_ATTR_OFFSET_DIMS, offset_count, offsets),
      hlo_attr_of_ints(builder, HLO_ATTR_COLLAPSED_SLICE_DIMS, 1, &dim),
      hlo_attr_of_ints(builder, HLO_ATTR_START_INDEX_MAP, 1, &dim),
      hlo_attr_of_ints(builder, HLO_ATTR_OPERAND_BATCHING_DIMS, batch, batching),
      hlo_attr_of_ints(builder, HLO_ATTR_START_INDICES_BATCHING_DIMS, batch, batching),
      hlo_attr_of_int(HLO_ATTR_INDEX_VECTOR_DIM, index->rank),
      hlo_attr_of_ints(builder, HLO_ATTR_SLICE_SIZES, from->rank, sizes)};
  return import_set_results(scope, op,
                            hlo_build(builder, row->op, shape, 2, operands, 7, attrs, 0, NULL));
}

/* --- asynchronous collectives --- */

/* The future's types are those of the value that the region returns. */
static hr_status_t check_future(import_scope_t *scope, const mlir_op_t *op,
                                const hlo_shape_t *result) {
  const mlir_type_t *type = op->result_count == 1 ? op->results[0].type : NULL;
  if (!type || type->kind != MLIR_TYPE_FUTURE)
    return import_error(scope, op, "%d results, want a future", op->result_count);
  bool is_tuple = hlo_shape_is_tuple(result);
  if (type->result_count != (is_tuple ? result->element_count : 1))
    return import_error(scope, op, "a future of %d values, want as many as its region returns",
                        type->result_count);
  for (int i = 0; i < type->result_count; i++) {
    const hlo_shape_t *declared, *given = is_tuple ? result->elements[i] : result;
    char text[2][HLO_SHAPE_TEXT];
    HR_TRY(import_shape(scope->importer, type->results[i], &declared));
    if (!hlo_shape_compatible(declared, given))
      return import_error(scope, op, "value %d of the future is %s, and its region returns %s", i,
                          hlo_shape_text(declared, text[0]), hlo_shape_text(given, text[1]));
  }
  return NULL;
}

/* What an async-start gives: the second element of its shape. */
static hlo_instr_t *build_done(import_scope_t *scope, hlo_instr_t *start) {
  return hlo_build(&scope->builder, HLO_ASYNC_DONE, start->shape->elements[1], 1, &start, 0, NULL,
                   0, NULL);
}

/* Futures that leave their function, as arguments of calls and results do, are awaited there: a
 * future from elsewhere is the value that it gives. */
hr_status_t import_await_operands(import_scope_t *scope, const mlir_op_t *op) {
  if (hr_str_is(op->name, "stablehlo.async_done")) return NULL;
  for (int k = 0; k < op->operand_count; k++) {
    mlir_value_t *value = op->operands[k];
    hlo_instr_t *start = value->mapped;
    if (value->type->kind != MLIR_TYPE_FUTURE || !start || start->op != HLO_ASYNC_START) continue;
    scope->builder.extra = NULL; /* belongs to the last op */
    value->mapped = build_done(scope, start);
    HR_TRY(hlo_builder_finish(&scope->builder));
  }
  return NULL;
}

/* The state of async-start is ((operands), result). */
hr_status_t import_async_start(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_computation_t *body;
  hlo_instr_t **operands;
  const hlo_shape_t **shapes, *parts[2], *state;
  HR_TRY(import_operands(scope, op, &operands));
  const mlir_block_t *block = import_block_of(op, 0);
  if (op->region_count != 1 || !block || block->ops.count != 2)
    return import_error(scope, op, "want one region of one operation and a return");
  HR_TRY(import_body(scope, op, 0, &body));
  HR_TRY(check_future(scope, op, body->root->shape));
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, op->operand_count, &shapes));
  for (int k = 0; k < op->operand_count; k++) shapes[k] = operands[k]->shape;
  HR_TRY(hlo_shape_tuple(scope->importer->arena, op->operand_count, shapes, &parts[0]));
  parts[1] = body->root->shape;
  HR_TRY(hlo_shape_tuple(scope->importer->arena, 2, parts, &state));
  hlo_attr_t calls = hlo_attr_of_called(HLO_ATTR_CALLS, 1);
  op->results[0].mapped =
      hlo_build(&scope->builder, row->op, state, op->operand_count, operands, 1, &calls, 1, &body);
  return hlo_builder_finish(&scope->builder);
}

/* A future from another function, or one that was awaited before, is complete. */
hr_status_t import_async_done(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  (void)row;
  hlo_instr_t *start = import_operand(op, 0);
  if (op->operands[0]->type->kind != MLIR_TYPE_FUTURE)
    return import_error(scope, op, "its operand is not what an async_start gave");
  hlo_instr_t *done = start->op == HLO_ASYNC_START ? build_done(scope, start) : start;
  op->operands[0]->mapped = done;
  return import_set_results(scope, op, done);
}
