/* Row sums of one sparse gradient: an optimizer adds its scaled rows to the variable, and rows or
 * their squares to its accumulators. Other uses of the rows, such as signs, squares of sums over
 * equal indices, or quotients by the number of equal indices, have no mean over the replicas that
 * one process with all rows would compute. The checks here find them. */
#include <string.h>

#include "ops/rules/builder.h"
#include "tf/parallel/tf_row_updates.h"

typedef hlo_instr_t *expr_t;

/* Optimizers scale rows in few steps; the walk is a tree's, without marks. */
#define ROW_STEPS_MAX 12

bool tf_is_zeros(const hlo_instr_t *instr) {
  while (instr->op == HLO_BROADCAST || instr->op == HLO_RESHAPE) instr = instr->operands[0];
  if (instr->op != HLO_CONSTANT) return false;
  const char *bytes = instr->literal->data;
  size_t size = hlo_value_bytes(instr->literal);
  return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

bool tf_is_row_sum(const hlo_instr_t *instr) {
  if (instr->op != HLO_SCATTER || instr->operand_count != 3) return false;
  const hlo_instr_t *root = instr->called[0]->root;
  if (root->op == HLO_ADD) return true;
  return root->op == HLO_SUBTRACT && root->operands[0]->op == HLO_PARAMETER &&
         hlo_parameter_number(root->operands[0]) == 0;
}

expr_t tf_without_reshape(expr_t x) {
  while (x->op == HLO_RESHAPE) x = x->operands[0];
  return x;
}

/* --- squares --- */

/* x without its factors that are the same on all replicas. */
static expr_t without_factors(const tf_rows_t *program, expr_t x) {
  x = tf_without_reshape(x);
  while (x->op == HLO_MULTIPLY &&
         program->local[x->operands[0]->id] != program->local[x->operands[1]->id])
    x = tf_without_reshape(x->operands[program->local[x->operands[1]->id]]);
  return x;
}

/* The rows of a sparse gradient whose squares `instr` sums, for each row of the variable or for the
 * norm of the gradient; NULL: `instr` is no such sum. */
static expr_t squared_rows(const tf_rows_t *program, const hlo_instr_t *instr) {
  bool is_norm = instr->op == HLO_REDUCE && instr->called[0]->root->op == HLO_ADD;
  if (!is_norm && !tf_is_row_sum(instr)) return NULL;
  expr_t squares = without_factors(program, instr->operands[is_norm ? 0 : 2]);
  bool is_square = squares->op == HLO_MULTIPLY && squares->operands[0] == squares->operands[1];
  return is_square ? tf_without_reshape(squares->operands[0]) : NULL;
}

/* Number of the operands in which an instruction is linear, the first of which is *out_first. A
 * product is linear in each of its factors, a quotient in its first operand. */
static int linear_operands(const hlo_instr_t *instr, int *out_first) {
  *out_first = instr->op == HLO_SELECT || instr->op == HLO_CONDITIONAL;
  switch (instr->op) {
    case HLO_DIVIDE:
      return 1;
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_NEGATE:
    case HLO_CONVERT:
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_BROADCAST:
    case HLO_SLICE:
    case HLO_PAD:
    case HLO_CONCATENATE:
    case HLO_REVERSE:
    case HLO_COPY:
    case HLO_MULTIPLY:
    case HLO_SELECT:
    case HLO_TUPLE:
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_CONDITIONAL:
      return instr->operand_count;
    default:
      return 0;
  }
}

/* Whether x is linear in rows through the steps of an optimizer. */
static bool has_rows(const tf_rows_t *program, expr_t x, expr_t rows, int depth) {
  int first, found = 0, count = linear_operands(x, &first);
  if (x == rows) return true;
  for (int k = first; depth && k < count; k++)
    found +=
        program->local[x->operands[k]->id] && has_rows(program, x->operands[k], rows, depth - 1);
  return x->op == HLO_MULTIPLY ? found == 1 : found > 0;
}

size_t tf_gradient_of(const tf_rows_t *program, size_t at) {
  expr_t rows = squared_rows(program, program->entry->instrs.data[at]);
  for (size_t i = 0; rows && i < program->count; i++) {
    const hlo_instr_t *sum = program->entry->instrs.data[i];
    if (!program->leaf[i] || !tf_is_row_sum(sum) || squared_rows(program, sum)) continue;
    if (has_rows(program, sum->operands[2], rows, ROW_STEPS_MAX)) return i;
  }
  return at;
}

bool tf_is_sum_of_squares(const tf_rows_t *program, const hlo_instr_t *leaf) {
  return tf_gradient_of(program, leaf->id) != leaf->id;
}

/* --- sums without a mean --- */

/* Marks the instructions that `of` depends on; leaves end the walk. */
static hr_status_t find_sources(const tf_rows_t *program, expr_t of, bool **out_sources) {
  HR_TRY(HR_NEW_ARRAY(program->arena, program->count, out_sources));
  (*out_sources)[of->id] = true;
  for (size_t i = of->id + 1; i-- > 0;) {
    const hlo_instr_t *instr = program->entry->instrs.data[i];
    if (!(*out_sources)[i] || program->leaf[i]) continue;
    for (int k = 0; k < instr->operand_count; k++) (*out_sources)[instr->operands[k]->id] = true;
  }
  return NULL;
}

/* The rows of updates before an optimizer scales them, as far as the walk finds a single source. */
static expr_t unscaled_rows(const tf_rows_t *program, expr_t x) {
  for (;;) {
    int first, count = linear_operands(x, &first);
    if (x->op == HLO_MULTIPLY) {
      bool by_second = !program->local[x->operands[1]->id] || program->region[x->operands[1]->id];
      bool by_first = !program->local[x->operands[0]->id] || program->region[x->operands[0]->id];
      if (by_first == by_second) return x;
      x = x->operands[by_first];
    } else if (count == 1 && x->op != HLO_GET_TUPLE_ELEMENT) {
      x = x->operands[0];
    } else {
      return x;
    }
  }
}

static bool has_indices(const hlo_instr_t *scatter, const hlo_instr_t *other) {
  return tf_without_reshape(scatter->operands[1]) == tf_without_reshape(other->operands[1]);
}

/* Whether rows are scaled by how many of the replica's own indices are equal: a sum at the same
 * indices is among their sources. */
static bool is_counted(const tf_rows_t *program, const hlo_instr_t *sum, const bool *sources) {
  for (size_t i = 0; i < sum->id; i++) {
    const hlo_instr_t *other = program->entry->instrs.data[i];
    if (sources[i] && !program->leaf[i] && tf_is_row_sum(other) && has_indices(sum, other))
      return true;
  }
  return false;
}

/* Whether the sum is of squares that are none of rows: of sums over equal indices. */
static bool squares_sums(const tf_rows_t *program, expr_t rows) {
  return rows && tf_is_row_sum(unscaled_rows(program, rows));
}

/* Whether the sum takes rows of another one at the same indices, but neither as they are nor their
 * squares. */
static bool changes_rows(const tf_rows_t *program, const hlo_instr_t *sum, const bool *sources) {
  bool is_squares = squared_rows(program, sum), is_linked = tf_is_sum_of_squares(program, sum);
  for (size_t i = 0; i < program->count && !is_linked; i++) {
    const hlo_instr_t *other = program->entry->instrs.data[i];
    if (!program->leaf[i] || !tf_is_row_sum(other) || other == sum || !has_indices(sum, other))
      continue;
    expr_t rows = unscaled_rows(program, other->operands[2]);
    if (has_rows(program, sum->operands[2], rows, ROW_STEPS_MAX)) continue;
    if (is_squares || sources[rows->id]) return true;
  }
  return false;
}

/* Whether rows may have been clipped, each or by their norm, which those of one process are not. A
 * backward pass that multiplies by maxima looks the same. */
static bool is_clipped(const tf_rows_t *program, const hlo_instr_t *x, int depth) {
  int first, count = linear_operands(x, &first);
  bool found = x->op == HLO_MINIMUM || x->op == HLO_MAXIMUM || x->op == HLO_CLAMP;
  if (!program->local[x->id]) return false;
  if (x->op == HLO_DIVIDE) count = 2;
  for (int k = first; depth && !found && k < count; k++)
    found = is_clipped(program, x->operands[k], depth - 1);
  return found;
}

/* A maximum over rows, or rows that take the place of others, are no sums at all. */
hr_status_t tf_check_rows(const tf_rows_t *program, const hlo_instr_t *scatter, bool *out_bad) {
  bool *sources, linear = true;
  expr_t updates = scatter->operands[scatter->operand_count - 1];
  HR_TRY(find_sources(program, updates, &sources));
  if (!tf_is_row_sum(scatter)) {
    const hlo_instr_t *base = scatter->operands[0];
    while (base->op == HLO_BROADCAST) base = base->operands[0];
    *out_bad = base->op != HLO_CONSTANT;
    return NULL;
  }
  if (program->region[updates->id] || program->region[scatter->operands[1]->id])
    HR_TRY(tf_row_updates_linear(program, scatter, &linear));
  *out_bad = !linear || is_counted(program, scatter, sources) ||
             is_clipped(program, updates, ROW_STEPS_MAX) ||
             squares_sums(program, squared_rows(program, scatter)) ||
             changes_rows(program, scatter, sources);
  return NULL;
}
