/* A proof by kinds of values. The rows are results of the backward pass: local floats.
 *
 *   rows / gather(accumulator, indices)      ROWS / TABLE = ROWS
 *
 * Integers may say where rows go, also by sorts and branches, but never become factors: a count of
 * equal indices that divides rows would be the count of one replica.
 * Cost: linear in the instructions before the sum, and in those of the branches. */
#include "tf/parallel/tf_row_updates.h"

#include "ops/table/opcode.h"

typedef enum kind {
  KIND_OTHER, /* nothing is known */
  KIND_ZEROS, /* constant 0 */
  KIND_FIXED, /* the same on all replicas */
  KIND_WHERE, /* integers that depend on local ones, not on rows */
  KIND_TABLE, /* floats that indices choose from fixed ones */
  KIND_ROWS   /* linear in rows */
} kind_t;

/* The computation under examination, a branch or the entry. */
typedef struct scope {
  const tf_rows_t *program;
  const hlo_computation_t *computation;
  const kind_t *arguments; /* kinds of the elements of a branch's parameter; NULL: the entry */
  kind_t *kinds;           /* by instruction */
  kind_t **results;        /* by instruction: elements of a conditional */
} scope_t;

/* --- kinds --- */

static bool is_integer(const hlo_shape_t *shape) {
  return hr_dtype_is_integer(shape->dtype) || shape->dtype == HR_PRED;
}

static bool is_fixed(kind_t kind) { return kind == KIND_FIXED || kind == KIND_ZEROS; }

static kind_t operand_kind(const scope_t *s, const hlo_instr_t *instr, int k) {
  return s->kinds[instr->operands[k]->id];
}

/* Kind of a sum, or of an array with elements of both. */
static kind_t join_kinds(kind_t x, kind_t y) {
  if (x == y || y == KIND_ZEROS) return x;
  if (x == KIND_ZEROS) return y;
  if (x == KIND_FIXED && y != KIND_ROWS) return y;
  return y == KIND_FIXED && x != KIND_ROWS ? x : KIND_OTHER;
}

/* Kind of elements that `where` chooses or places. */
static kind_t place_kind(kind_t x, kind_t where, const hlo_shape_t *shape) {
  if (where != KIND_WHERE && !is_fixed(where)) return KIND_OTHER;
  if (!is_fixed(x) || is_fixed(where)) return x;
  return is_integer(shape) ? KIND_WHERE : KIND_TABLE;
}

/* Kind of any function of the operands that is not linear. */
static kind_t function_kind(const scope_t *s, const hlo_instr_t *instr) {
  bool all_fixed = true, has_where = false, all_integers = is_integer(instr->shape);
  bool calls = instr->op == HLO_CONDITIONAL || instr->op == HLO_CALL || instr->op == HLO_WHILE;
  for (int k = 0; k < instr->operand_count; k++) {
    kind_t kind = operand_kind(s, instr, k);
    if (kind == KIND_OTHER || kind == KIND_ROWS) return KIND_OTHER;
    all_fixed &= is_fixed(kind);
    has_where |= kind == KIND_WHERE;
  }
  for (int k = 0; k < instr->shape->element_count; k++)
    all_integers = is_integer(instr->shape->elements[k]) && (all_integers || !k);
  if (calls || !instr->operand_count || hlo_op_is(instr->op, OP_RANDOM)) return KIND_OTHER;
  if (all_fixed) return KIND_FIXED;
  if (all_integers) return KIND_WHERE;
  return has_where || !hlo_op_is(instr->op, OP_ELEMENTWISE) ? KIND_OTHER : KIND_TABLE;
}

/* Kind of a product or quotient, which is linear in one factor. */
static kind_t product_kind(const scope_t *s, const hlo_instr_t *instr) {
  kind_t x = operand_kind(s, instr, 0), y = operand_kind(s, instr, 1);
  if (y == KIND_ROWS && instr->op == HLO_MULTIPLY) y = x, x = KIND_ROWS;
  if (x == KIND_ROWS) return is_fixed(y) || y == KIND_TABLE ? KIND_ROWS : KIND_OTHER;
  return function_kind(s, instr);
}

/* Kind of an array with elements of all operands from `first` on, or of their sum. */
static kind_t joined_kind(const scope_t *s, const hlo_instr_t *instr, int first) {
  kind_t kind = operand_kind(s, instr, first);
  for (int k = first + 1; k < instr->operand_count; k++)
    kind = join_kinds(kind, operand_kind(s, instr, k));
  return kind;
}

/* Kind of operand 0 at places that the other operands say. */
static kind_t placed_kind(const scope_t *s, const hlo_instr_t *instr) {
  kind_t kind = operand_kind(s, instr, 0);
  for (int k = 1; k < instr->operand_count; k++)
    kind = place_kind(kind, operand_kind(s, instr, k), instr->shape);
  return kind;
}

static kind_t scatter_kind(const scope_t *s, const hlo_instr_t *instr) {
  if (is_integer(instr->shape)) return function_kind(s, instr);
  if (!tf_is_row_sum(instr)) return KIND_OTHER;
  kind_t sum = join_kinds(operand_kind(s, instr, 0), operand_kind(s, instr, 2));
  return place_kind(sum, operand_kind(s, instr, 1), instr->shape);
}

/* Kind of element k of a tuple. */
static kind_t element_kind(const scope_t *s, const hlo_instr_t *tuple, int64_t k) {
  switch (tuple->op) {
    case HLO_TUPLE:
      return operand_kind(s, tuple, (int)k);
    case HLO_PARAMETER:
      return s->arguments ? s->arguments[k] : KIND_OTHER;
    case HLO_CONDITIONAL:
      return s->results[tuple->id] ? s->results[tuple->id][k] : KIND_OTHER;
    default:
      return s->kinds[tuple->id];
  }
}

/* Kind of an instruction whose operands' kinds are known. */
static kind_t instr_kind(const scope_t *s, const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_CONSTANT:
    case HLO_IOTA:
      return KIND_FIXED;
    case HLO_GET_TUPLE_ELEMENT:
      return element_kind(s, instr->operands[0], hlo_attr_int(instr, HLO_ATTR_INDEX));
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_BROADCAST:
    case HLO_SLICE:
    case HLO_REVERSE:
    case HLO_COPY:
    case HLO_NEGATE:
      return operand_kind(s, instr, 0);
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_PAD:
    case HLO_CONCATENATE:
      return joined_kind(s, instr, 0);
    case HLO_SELECT:
      return place_kind(joined_kind(s, instr, 1), operand_kind(s, instr, 0), instr->shape);
    case HLO_MULTIPLY:
    case HLO_DIVIDE:
      return product_kind(s, instr);
    case HLO_GATHER:
    case HLO_DYNAMIC_SLICE:
    case HLO_DYNAMIC_RESHAPE:
    case HLO_DYNAMIC_BROADCAST:
    case HLO_SET_DIMENSION_SIZE:
      return placed_kind(s, instr);
    case HLO_GET_DIMENSION_SIZE:
      return operand_kind(s, instr, 0) == KIND_OTHER ? KIND_OTHER : KIND_WHERE;
    case HLO_SCATTER:
      return scatter_kind(s, instr);
    default:
      return function_kind(s, instr);
  }
}

/* Kind of an instruction of the entry by its class; instructions that are not built again belong to
 * the backward pass. */
static kind_t entry_kind(const scope_t *s, const hlo_instr_t *instr) {
  const tf_rows_t *program = s->program;
  if (!program->local[instr->id] || program->leaf[instr->id]) return KIND_FIXED;
  if (program->region[instr->id]) return instr_kind(s, instr);
  return is_integer(instr->shape) ? KIND_WHERE : KIND_ROWS;
}

static hr_status_t find_results(scope_t *s, const hlo_instr_t *instr);

/* Finds the kinds of the first `count` instructions. */
static hr_status_t find_kinds(scope_t *s, size_t count) {
  HR_TRY(HR_NEW_ARRAY(s->program->arena, count + 1, &s->kinds));
  HR_TRY(HR_NEW_ARRAY(s->program->arena, count + 1, &s->results));
  for (size_t i = 0; i < count; i++) {
    const hlo_instr_t *instr = s->computation->instrs.data[i];
    if (instr->op == HLO_CONDITIONAL) HR_TRY(find_results(s, instr));
    kind_t kind = s->arguments ? instr_kind(s, instr) : entry_kind(s, instr);
    s->kinds[i] = is_fixed(kind) && tf_is_zeros(instr) ? KIND_ZEROS : kind;
  }
  return NULL;
}

/* Finds the kinds of a branch, whose argument is a tuple. */
static hr_status_t enter_branch(const scope_t *s, const hlo_instr_t *instr, int branch,
                                scope_t *out_scope) {
  const hlo_instr_t *tuple = instr->operands[branch + 1];
  const hlo_computation_t *computation = instr->called[branch];
  kind_t *arguments;
  HR_TRY(HR_NEW_ARRAY(s->program->arena, tuple->shape->element_count + 1, &arguments));
  for (int k = 0; k < tuple->shape->element_count; k++) arguments[k] = element_kind(s, tuple, k);
  *out_scope = (scope_t){.program = s->program, .computation = computation, .arguments = arguments};
  return find_kinds(out_scope, computation->instrs.count);
}

static hr_status_t find_results(scope_t *s, const hlo_instr_t *instr) {
  int count = instr->shape->element_count;
  kind_t *results;
  HR_TRY(HR_NEW_ARRAY(s->program->arena, count + 1, &results));
  for (int branch = 0; branch < instr->called_count; branch++) {
    scope_t inside;
    HR_TRY(enter_branch(s, instr, branch, &inside));
    for (int k = 0; k < count; k++) {
      kind_t kind = element_kind(&inside, inside.computation->root, k);
      results[k] = branch ? join_kinds(results[k], kind) : kind;
    }
  }
  for (int k = 0; k < count; k++)
    results[k] = place_kind(results[k], operand_kind(s, instr, 0), instr->shape->elements[k]);
  s->results[instr->id] = results;
  return NULL;
}

hr_status_t tf_row_updates_linear(const tf_rows_t *program, const hlo_instr_t *sum,
                                  bool *out_linear) {
  scope_t entry = {.program = program, .computation = sum->parent};
  HR_TRY(find_kinds(&entry, sum->id));
  kind_t where = operand_kind(&entry, sum, 1);
  *out_linear = operand_kind(&entry, sum, 2) == KIND_ROWS && where != KIND_OTHER;
  return NULL;
}
