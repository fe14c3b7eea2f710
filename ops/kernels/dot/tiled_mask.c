/* Finds masks of tiles in the code between products, and the columns that they leave out. */
#include "ops/kernels/dot/tiled_mask.h"

#include <string.h>

#include "base/arith.h"
#include "ops/kernels/simd/simd_target.h"

/* --- planning --- */

/* The only reader of an instruction; NULL: there are others, or it is the result. */
static const hlo_instr_t *only_reader(const hlo_computation_t *body, const hlo_instr_t *x) {
  const hlo_instr_t *reader = NULL;
  if (body->root == x) return NULL;
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    for (int k = 0; k < instr->operand_count; k++) {
      if (instr->operands[k] != x) continue;
      if (reader && reader != instr) return NULL;
      reader = instr;
    }
  }
  return reader;
}

/* The predicate of the select through whose second operand alone the parameter is read, by
 * elementwise ops; NULL: there is none. */
static const hlo_instr_t *find_predicate(const hlo_computation_t *body, const hlo_instr_t *x) {
  for (const hlo_instr_t *reader; (reader = only_reader(body, x)); x = reader) {
    if (reader->op == HLO_SELECT)
      return reader->operands[0] != x && reader->operands[1] == x && reader->operands[2] != x
                 ? reader->operands[0]
                 : NULL;
    if (!hlo_op_is(reader->op, OP_ELEMENTWISE) && reader->op != HLO_RESHAPE) return NULL;
  }
  return NULL;
}

static void dense_steps(const hlo_shape_t *shape, int64_t *steps) {
  int64_t step = 1;
  for (int d = shape->rank - 1; d >= 0; d--, step *= shape->dims[d + 1]) {
    steps[d] = step;
    if (!d) break;
  }
}

/* The parameter whose elements a predicate is, and the step of each of its dimensions in it. NULL:
 * it is no broadcast of a parameter. */
static const hlo_instr_t *find_steps(const hlo_instr_t *predicate, const hlo_shape_t **out_shape,
                                     int64_t *steps) {
  int64_t inner[HLO_MAX_RANK];
  while (predicate->op == HLO_RESHAPE) predicate = predicate->operands[0];
  *out_shape = predicate->shape;
  dense_steps(predicate->shape, steps);
  if (predicate->op != HLO_BROADCAST) return predicate->op == HLO_PARAMETER ? predicate : NULL;
  const hlo_instr_t *x = predicate->operands[0];
  hr_ints_t dims = hlo_attr_ints(predicate, HLO_ATTR_DIMENSIONS);
  dense_steps(x->shape, inner);
  memset(steps, 0, (size_t)predicate->shape->rank * sizeof *steps);
  for (int64_t i = 0; i < dims.count; i++) steps[dims.data[i]] = inner[i];
  while (x->op == HLO_RESHAPE) x = x->operands[0];
  return x->op == HLO_PARAMETER ? x : NULL;
}

/* Reads the dimensions, but for those of size 1, as matrices, rows and columns. */
static bool read_dims(const tiled_plan_t *plan, const hlo_shape_t *shape, const int64_t *steps,
                      tiled_mask_t *mask) {
  int64_t sizes[HLO_MAX_RANK], matrices = 1;
  int rank = 0;
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] != 1) {
      sizes[rank] = mask->sizes[rank] = shape->dims[d];
      mask->steps[rank++] = steps[d];
    }
  if (rank < 2 || sizes[rank - 1] != plan->columns || mask->steps[rank - 1] != 1) return false;
  if (sizes[rank - 2] != plan->rows) return false;
  mask->row_step = mask->steps[rank - 2];
  mask->rank = rank - 2;
  for (int d = 0; d < mask->rank; d++) matrices *= sizes[d];
  return matrices == plan->matrices;
}

hr_status_t tiled_mask_find(hr_arena_t *arena, const tiled_plan_t *plan, const hlo_instr_t *fusion,
                            const tiled_step_t *step, int operand, const tiled_mask_t **out_mask) {
  const hlo_computation_t *body = fusion->called[0];
  const hlo_instr_t *parameter = NULL, *predicate, *source;
  const hlo_shape_t *shape;
  int64_t steps[HLO_MAX_RANK];
  tiled_mask_t *mask;
  *out_mask = NULL;
  for (size_t i = 0; i < body->instrs.count; i++)
    if (body->instrs.data[i]->op == HLO_PARAMETER &&
        hlo_parameter_number(body->instrs.data[i]) == operand)
      parameter = body->instrs.data[i];
  if (!parameter || !(predicate = find_predicate(body, parameter))) return NULL;
  if (!(source = find_steps(predicate, &shape, steps))) return NULL;
  HR_TRY(HR_NEW(arena, &mask));
  mask->value = step->in[hlo_parameter_number(source)];
  if (mask->value->place == TILED_OPERAND && read_dims(plan, shape, steps, mask)) *out_mask = mask;
  return NULL;
}

/* --- running --- */

NATIVE_OPTIMIZE

/* Number of elements up to the last true one. */
static int64_t count_to_last(const uint8_t *mask, int64_t count) {
  uint64_t words[4];
  for (; count >= (int64_t)sizeof words; count -= (int64_t)sizeof words) {
    memcpy(words, mask + count - sizeof words, sizeof words);
    if (words[0] | words[1] | words[2] | words[3]) break;
  }
  while (count && !mask[count - 1]) count--;
  return count;
}

/* Number of elements before the first true one. */
static int64_t count_before_first(const uint8_t *mask, int64_t count) {
  int64_t i = 0;
  while (i < count && !mask[i]) i++;
  return i;
}

tiled_range_t tiled_mask_range(const tiled_mask_t *mask, const uint8_t *elements, int64_t columns,
                               int64_t matrix, int64_t row, int64_t rows) {
  tiled_range_t range = {columns, 0};
  for (int d = mask->rank - 1; d >= 0; matrix /= mask->sizes[d--])
    elements += matrix % mask->sizes[d] * mask->steps[d];
  if (!mask->row_step) rows = 1;
  elements += row * mask->row_step;
  for (int64_t r = rows - 1; r >= 0; r--) {
    const uint8_t *line = elements + r * mask->row_step;
    range.end += count_to_last(line + range.end, columns - range.end);
    range.first = count_before_first(line, range.first);
  }
  if (range.first > range.end) range.first = range.end;
  return range;
}

#define DEFINE_IS_ZERO(NAME, BITS)                                                    \
  NATIVE_CLONES static bool is_zero_##NAME(const BITS *x, int64_t rows, int64_t step, \
                                           int64_t columns) {                         \
    BITS bits = 0;                                                                    \
    for (int64_t r = 0; r < rows; r++)                                                \
      for (int64_t i = 0; i < columns; i++) bits |= x[r * step + i];                  \
    return !bits;                                                                     \
  }
DEFINE_IS_ZERO(f32, uint32_t)
DEFINE_IS_ZERO(f64, uint64_t)

bool tiled_is_zero_from(hr_dtype_t dtype, const void *tile, int64_t rows, int64_t columns,
                        int64_t first) {
  const char *x = (const char *)tile + first * (int64_t)hr_dtype_bytes(dtype);
  return dtype == HR_F64 ? is_zero_f64((const uint64_t *)x, rows, columns, columns - first)
                         : is_zero_f32((const uint32_t *)x, rows, columns, columns - first);
}
