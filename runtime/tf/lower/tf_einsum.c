/* Einsum: a dot, and before it reductions over labels that only one operand has, and diagonals
 * of repeated labels; after it a transpose. */
#include <string.h>

#include "tf/compile/tf_lower.h"

/* Labels of an Einstein sum; "..." becomes labels 128, 129, ... counted from the right.
 * Counting from the right makes the hidden dimensions of operands of different rank correspond. */
typedef struct labels {
  int count;
  int at[HLO_MAX_RANK];
} labels_t;

/* Reads the labels of one operand, up to ',' or "->", and leaves *at after them. The rank of
 * the operand says how many dimensions "..." stands for. */
static hr_status_t read_labels(tf_op_t *op, const char **at, const char *end, int rank,
                               labels_t *out) {
  int letters = 0;
  const char *p = *at;
  for (; p < end && *p != ',' && *p != '-'; p++) letters += *p != '.' && *p != ' ';
  out->count = 0;
  for (; *at < p; ++*at) {
    if (**at == ' ') continue;
    if (**at == '.') {
      for (int hidden = rank - letters; hidden > 0 && out->count < HLO_MAX_RANK; hidden--)
        out->at[out->count++] = 127 + hidden;
      *at += 2;
    } else if (out->count < HLO_MAX_RANK) {
      out->at[out->count++] = **at;
    }
  }
  if (rank >= 0 && out->count != rank) return tf_error(op, "the equation does not fit the shapes");
  return NULL;
}

/* Dimension with this label; -1: none. */
static int find_label(const labels_t *labels, int label) {
  for (int i = 0; i < labels->count; i++)
    if (labels->at[i] == label) return i;
  return -1;
}

/* Sums over labels that neither the other operand nor the result has. */
static expr_t reduce_free(tf_op_t *op, expr_t x, labels_t *own, const labels_t *other,
                          const labels_t *result) {
  int64_t dims[HLO_MAX_RANK];
  int count = 0, left = 0;
  for (int i = 0; i < own->count; i++) {
    bool needed = find_label(result, own->at[i]) >= 0 || find_label(other, own->at[i]) >= 0;
    if (needed)
      own->at[left++] = own->at[i];
    else
      dims[count++] = i;
  }
  own->count = left;
  return tf_reduce(op, HLO_ADD, x, count, dims, false);
}

/* Dimension i of the result repeats a label: x, which has each label once, becomes its diagonals,
 * with zeros beside them. */
static expr_t put_on_diagonals(hlo_builder_t *b, expr_t x, const labels_t *result) {
  tf_sizes_t sizes = {.rank = result->count};
  int64_t from[HLO_MAX_RANK], count = 0;
  for (int i = 0; i < result->count; i++)
    if (find_label(result, result->at[i]) == i) from[count++] = i;
  if (!x || count == result->count) return x;
  for (int k = 0; k < count; k++)
    for (int i = (int)from[k]; i < result->count; i++)
      if (result->at[i] == result->at[from[k]]) sizes.dims[i] = x->shape->dims[k];
  x = tf_broadcast_in_sized(b, x, &sizes, (hr_ints_t){from, count});
  for (int i = 0; x && i < result->count; i++) {
    int first = find_label(result, result->at[i]);
    if (first == i) continue;
    expr_t same = f_eq(b, tf_iota_like(b, HR_S32, x, first), tf_iota_like(b, HR_S32, x, i));
    x = f_select(b, same, x, f_number(b, 0, x));
  }
  return x;
}

/* `own` are the labels of x's dimensions. The transpose puts them in the order of the result. */
static hr_status_t order_result(tf_op_t *op, expr_t x, const labels_t *own,
                                const labels_t *result) {
  int64_t order[HLO_MAX_RANK];
  int count = 0;
  for (int i = 0; i < result->count; i++) {
    int from = find_label(own, result->at[i]);
    if (from < 0) return tf_unsupported(op, "an equation with labels that only the result has");
    if (find_label(result, result->at[i]) == i) order[count++] = from;
  }
  if (count != own->count) return tf_error(op, "an equation that does not fit its operands");
  return tf_out(op, 0, put_on_diagonals(op->b, tf_transpose(op->b, x, order), result));
}

/* Labels of both operands are batch dimensions if the result has them, else they are contracted.
 * The dot's dimensions are the batch ones, then those of x alone, then those of y alone. */
static hr_status_t einsum_pair(tf_op_t *op, expr_t x, expr_t y, labels_t in[2],
                               const labels_t *result) {
  int64_t xb[HLO_MAX_RANK], yb[HLO_MAX_RANK], xc[HLO_MAX_RANK], yc[HLO_MAX_RANK];
  int batch = 0, contract = 0;
  labels_t all = {0};
  if (in[0].count + in[1].count > HLO_MAX_RANK) return tf_unsupported(op, "so many labels");
  x = reduce_free(op, x, &in[0], &in[1], result);
  y = reduce_free(op, y, &in[1], &in[0], result);
  for (int i = 0; i < in[0].count; i++) {
    int k = find_label(&in[1], in[0].at[i]);
    if (k < 0) continue;
    if (find_label(result, in[0].at[i]) < 0) {
      xc[contract] = i;
      yc[contract++] = k;
      continue;
    }
    xb[batch] = i;
    yb[batch++] = k;
    all.at[all.count++] = in[0].at[i];
  }
  for (int i = 0; i < in[0].count; i++)
    if (find_label(&in[1], in[0].at[i]) < 0) all.at[all.count++] = in[0].at[i];
  for (int i = 0; i < in[1].count; i++)
    if (find_label(&in[0], in[1].at[i]) < 0) all.at[all.count++] = in[1].at[i];
  tf_dot_dims_t dims = {.x_batch = {xb, batch},
                        .y_batch = {yb, batch},
                        .x_contract = {xc, contract},
                        .y_contract = {yc, contract}};
  return order_result(op, tf_dot(op->b, x, y, &dims), &all, result);
}

/* The diagonal of dimensions i and j with one label, which i keeps. */
static expr_t take_diagonal(tf_op_t *op, expr_t x, labels_t *labels, int i, int j) {
  hlo_builder_t *b = op->b;
  int64_t dim = j;
  if (!x) return NULL;
  if (x->shape->dims[i] != x->shape->dims[j]) return NULL;
  expr_t first = tf_iota_like(b, HR_S32, x, i);
  expr_t second = tf_iota_like(b, HR_S32, x, j);
  x = f_select(b, f_eq(b, first, second), x, f_number(b, 0, x));
  for (int k = j; k + 1 < labels->count; k++) labels->at[k] = labels->at[k + 1];
  labels->count--;
  return tf_reduce(op, HLO_ADD, x, 1, &dim, false);
}

/* Makes the labels of an operand differ: "ijj" becomes "ij". */
static hr_status_t take_diagonals(tf_op_t *op, expr_t *x, labels_t *labels) {
  for (int i = 0; i < labels->count; i++)
    for (int j = labels->count - 1; j > i; j--)
      if (labels->at[i] == labels->at[j]) {
        *x = take_diagonal(op, *x, labels, i, j);
        if (!*x) return tf_error(op, "sizes of a repeated label differ");
      }
  return NULL;
}

/* Einsum, attribute equation such as "ij,jk->ik", of one or two operands. Labels of the result
 * alone are not handled. `rank` is the largest number of hidden dimensions. */
hr_status_t tf_lower_einsum(tf_op_t *op) {
  hr_str_t equation;
  labels_t in[2] = {{0}, {0}}, result, none = {0};
  expr_t x[2] = {NULL, NULL};
  HR_TRY(tf_attr_str(op->arena, op->node, "equation", "", &equation));
  const char *at = equation.data, *end = at + equation.size;
  int rank = 0;
  if (op->input_count < 1 || op->input_count > 2)
    return tf_unsupported(op, "%d operands", op->input_count);
  for (int k = 0; k < op->input_count; k++) {
    x[k] = tf_in(op, k);
    if (!x[k]) return hlo_builder_finish(op->b);
    HR_TRY(read_labels(op, &at, end, x[k]->shape->rank, &in[k]));
    HR_TRY(take_diagonals(op, &x[k], &in[k]));
    for (int i = 0; i < in[k].count; i++)
      if (in[k].at[i] > 127 && in[k].at[i] - 127 > rank) rank = in[k].at[i] - 127;
    while (at < end && (*at == ',' || *at == '-' || *at == '>')) at++;
  }
  int letters = 0;
  bool dots = memchr(at, '.', (size_t)(end - at)) != NULL;
  for (const char *p = at; p < end; p++) letters += *p != '.' && *p != ' ';
  HR_TRY(read_labels(op, &at, end, letters + (dots ? rank : 0), &result));
  if (op->input_count == 2) return einsum_pair(op, x[0], x[1], in, &result);
  x[0] = reduce_free(op, x[0], &in[0], &none, &result);
  return order_result(op, x[0], &in[0], &result);
}
