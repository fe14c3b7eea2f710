/* Optimizers on the rows of sparse gradients: ResourceSparseApplyX gathers the rows of its
 * variables that the indices name, changes them as ResourceApplyX does whole variables, and puts
 * them back. The indices are distinct, as optimizers of TensorFlow make them before. */
#include <string.h>

#include "tf/compile/tf_lower.h"

#define VARIABLES_MAX 4 /* most variables of an optimizer */

/* The row of the operation without "Sparse" in its name. */
static hr_status_t find_dense(tf_op_t *op, const tf_op_row_t **out_row) {
  static const char prefix[] = "ResourceSparse";
  const char *name;
  HR_TRY(hr_arena_printf(op->arena, &name, "Resource%s", op->row->name + strlen(prefix)));
  *out_row = tf_op_find(hr_str_from(name));
  hr_assert(*out_row);
  return NULL;
}

/* Replaces the leading inputs of `rows`, which are variables, by their rows in `part`. */
static hr_status_t take_rows(tf_op_t *rows, expr_t indices, tf_resource_t *part, tf_value_t *values,
                             int *out_count) {
  int count = 0;
  for (; count < VARIABLES_MAX && rows->inputs[count]->kind == TF_VALUE_RESOURCE; count++) {
    const tf_resource_t *variable = rows->inputs[count]->resource;
    if (!variable->value) return tf_error(rows, "variable %d has no value", count);
    part[count] = *variable;
    part[count].value = tf_gather_rows(rows->b, variable->value, indices, 0, 0);
    values[count] = (tf_value_t){.kind = TF_VALUE_RESOURCE, .resource = &part[count]};
    rows->inputs[count] = &values[count];
  }
  *out_count = count;
  return hlo_builder_finish(rows->b);
}

/* variant: number of the input with the indices, which follows the gradient. */
hr_status_t tf_lower_apply_to_rows(tf_op_t *op) {
  tf_resource_t part[VARIABLES_MAX], *variable;
  tf_value_t values[VARIABLES_MAX];
  int count = 0, at = op->row->variant;
  expr_t indices = tf_in(op, at), changed;
  tf_op_t rows = *op;
  HR_TRY(find_dense(op, &rows.row));
  HR_TRY(HR_NEW_ARRAY(op->arena, op->input_count, &rows.inputs));
  rows.input_count = op->input_count - 1;
  rows.live = NULL;
  for (int k = 0; k < rows.input_count; k++) rows.inputs[k] = op->inputs[k < at ? k : k + 1];
  if (!indices || indices->shape->rank != 1) return tf_error(op, "the indices are no vector");
  HR_TRY(take_rows(&rows, indices, part, values, &count));
  HR_TRY(rows.row->lower(&rows));
  for (int k = count - 1; k >= 0; k--) {
    tf_sizes_t column = tf_sizes_of(op->b, indices);
    column.dims[column.rank++] = 1;
    HR_TRY(tf_resource_of(op, k, &variable));
    HR_TRY(tf_scatter_nd(op, variable->value, tf_reshape_sized(op->b, indices, &column),
                         part[k].value, HLO_COPY, &changed));
    HR_TRY(tf_set_variable(op, variable, changed));
  }
  return hlo_builder_finish(op->b);
}
