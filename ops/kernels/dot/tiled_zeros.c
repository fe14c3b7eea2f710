/* Finds the operand of generated code whose zeros make elements of a product meaningless, and the
 * columns that it leaves.
 *
 *   ds = y (dy - sum(y dy))     in columns where y is zero, ds is zero whatever dy is
 *
 * Instructions of the body are classified, element by element, by what zeros of one operand (y) and
 * another finite value of the product (dy) do. */
#include "ops/kernels/dot/tiled_zeros.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "ops/kernels/simd/simd_target.h"
#include "ops/query/fusion_form.h"

/* --- planning --- */

/* Classes of an instruction, bits. None: other values of the product leave its elements as they
 * are. */
enum {
  VARIES = 1,   /* finite, but another value */
  ZERO = 2,     /* zero or NaN, the same whatever the product is but for the sign */
  ANY_SIGN = 4, /* the sign of a zero may be another one */
  UNKNOWN = 8   /* none of these */
};

/* A factor's or divisor's bits are those of its exponent at most: 14 of an operand, which is
 * checked at run time (tiled_is_moderate). */
#define OPERAND_BITS 14
/* Most bits of all factors of a product's elements, which are below 2^52 (tiled_a_is_small): with
 * them they are below 2^100, and no sum with a finite number becomes infinite. */
#define BITS_MAX 48

typedef struct zeros_finder {
  const hlo_computation_t *body;
  fusion_form_t form;
  uint8_t *classes; /* by instruction id */
  int bits;         /* bits of all factors */
  tiled_zeros_t *zeros;
} zeros_finder_t;

static int constant_bits(const hlo_instr_t *x) {
  float narrow;
  double wide = 0;
  if (!x->literal || !hlo_shape_is_scalar(x->shape)) return -1;
  if (x->shape->dtype == HR_F64) memcpy(&wide, x->literal->data, sizeof wide);
  if (x->shape->dtype == HR_F32) {
    memcpy(&narrow, x->literal->data, sizeof narrow);
    wide = narrow;
  }
  return wide != 0 && isfinite(wide) ? (int)ceil(fabs(log2(fabs(wide)))) : -1;
}

/* Bits of an operand with a number for each row; -1: it is another one. */
static int operand_bits(zeros_finder_t *f, const hlo_instr_t *x) {
  tiled_zeros_t *zeros = f->zeros;
  int number = (int)hlo_parameter_number(x);
  if (f->form.roles[x->id] != FUSION_OUTER || x->shape->dtype != zeros->dtype ||
      fusion_count(x->shape) != f->form.space.outer_count)
    return -1;
  for (int i = 0; i < zeros->factor_count; i++)
    if (zeros->factors[i] == number) return OPERAND_BITS;
  if (zeros->factor_count == TILED_FACTORS_MAX) return -1;
  zeros->factors[zeros->factor_count++] = number;
  return OPERAND_BITS;
}

/* Bits of a factor that is a constant, or computed of numbers of rows; -1: they are not known. */
static int factor_bits(zeros_finder_t *f, const hlo_instr_t *x) {
  int a, b;
  switch (x->op) {
    case HLO_CONSTANT:
      return constant_bits(x);
    case HLO_PARAMETER:
      return operand_bits(f, x);
    case HLO_BROADCAST:
    case HLO_RESHAPE:
    case HLO_NEGATE:
      return factor_bits(f, x->operands[0]);
    case HLO_MULTIPLY:
    case HLO_DIVIDE:
      a = factor_bits(f, x->operands[0]);
      b = factor_bits(f, x->operands[1]);
      return a < 0 || b < 0 ? -1 : a + b;
    default:
      return -1;
  }
}

/* Do elements of the product stay finite if they are multiplied or divided by x? */
static bool is_moderate(zeros_finder_t *f, const hlo_instr_t *x) {
  int bits = factor_bits(f, x);
  f->bits += bits;
  return bits >= 0 && f->bits <= BITS_MAX;
}

static int class_of_product(zeros_finder_t *f, const hlo_instr_t *instr, int a, int b) {
  if ((a | b) & ZERO) return ZERO | ((a | b) & (VARIES | ANY_SIGN) ? ANY_SIGN : 0);
  if (!((a | b) & VARIES)) return (a | b) & ANY_SIGN;
  if (a & b) return UNKNOWN;
  const hlo_instr_t *factor = instr->operands[a & VARIES ? 1 : 0];
  return is_moderate(f, factor) ? VARIES : UNKNOWN;
}

static int class_of_quotient(zeros_finder_t *f, const hlo_instr_t *instr, int a, int b) {
  if (b) return UNKNOWN;
  return a & VARIES && !is_moderate(f, instr->operands[1]) ? UNKNOWN : a;
}

static int class_of_sum(int a, int b) {
  if ((a | b) & VARIES) return VARIES;
  return ((a | b) & ANY_SIGN) | (a & b & ZERO);
}

static int class_of_choice(int chooses, int a, int b) {
  if (chooses) return UNKNOWN;
  if ((a | b) & VARIES) return VARIES;
  return ((a | b) & ANY_SIGN) | (a & b & ZERO);
}

/* A sum over columns that begins with +0 has the same bits whatever the signs of its zeros. */
static bool is_plain_sum(const hlo_instr_t *reduce) {
  const hlo_instr_t *root = reduce->called[0]->root;
  return reduce->operand_count == 2 && root->op == HLO_ADD &&
         root->operands[0]->op == HLO_PARAMETER && root->operands[1]->op == HLO_PARAMETER &&
         root->operands[0] != root->operands[1];
}

static int class_of(zeros_finder_t *f, const hlo_instr_t *instr) {
  int all = 0, of[3] = {0};
  for (int k = 0; k < instr->operand_count; k++) {
    int one = f->classes[instr->operands[k]->id];
    if (k < 3) of[k] = one;
    all |= one;
  }
  if (all & UNKNOWN) return UNKNOWN;
  switch (instr->op) {
    case HLO_RESHAPE:
    case HLO_NEGATE:
      return all;
    case HLO_MULTIPLY:
      return class_of_product(f, instr, of[0], of[1]);
    case HLO_ADD:
    case HLO_SUBTRACT:
      return class_of_sum(of[0], of[1]);
    case HLO_DIVIDE:
      return class_of_quotient(f, instr, of[0], of[1]);
    case HLO_SELECT:
      return class_of_choice(of[0], of[1], of[2]);
    case HLO_REDUCE:
      if (all & VARIES || (all & ANY_SIGN && !is_plain_sum(instr))) return UNKNOWN;
      return 0;
    case HLO_TUPLE:
      return all & VARIES ? UNKNOWN : 0;
    case HLO_BROADCAST:
      return fusion_keeps_order(instr) || !all ? all : UNKNOWN;
    default: /* another op may do anything with the sign of a zero */
      return all & (VARIES | ANY_SIGN) ? UNKNOWN : 0;
  }
}

/* Do values of `varies` not matter where `zero` is zero? Both are read at the same element only. */
static bool is_hidden(zeros_finder_t *f, const hlo_instr_t *varies, const hlo_instr_t *zero) {
  const hlo_computation_t *body = f->body;
  f->zeros->factor_count = 0;
  f->bits = 0;
  for (size_t i = 0; i < body->instrs.count; i++) {
    const hlo_instr_t *instr = body->instrs.data[i];
    if (instr == varies)
      f->classes[i] = VARIES;
    else
      f->classes[i] = instr == zero ? ZERO : (uint8_t)class_of(f, instr);
  }
  return !(f->classes[body->root->id] & (VARIES | UNKNOWN));
}

hr_status_t tiled_zeros_find(hr_arena_t *arena, const hlo_instr_t *fusion, int operand,
                             tiled_zeros_t *out_zeros) {
  zeros_finder_t f = {.body = fusion->called[0], .zeros = out_zeros};
  const hlo_instr_t *varies = f.body->params.data[operand];
  const uint8_t *roles;
  *out_zeros = (tiled_zeros_t){.tile = -1};
  HR_TRY(fusion_form_find(arena, f.body, &f.form));
  HR_TRY(HR_NEW_ARRAY(arena, f.body->instrs.count, &f.classes));
  roles = f.form.roles;
  if (f.form.space.kind == FUSION_NONE || roles[varies->id] != FUSION_FULL) return NULL;
  out_zeros->dtype = varies->shape->dtype;
  for (int k = 0; k < fusion->operand_count && out_zeros->tile < 0; k++) {
    const hlo_instr_t *zero = f.body->params.data[k];
    if (k != operand && roles[zero->id] == FUSION_FULL &&
        zero->shape->dtype == varies->shape->dtype &&
        fusion_count(zero->shape) == fusion_count(varies->shape) && is_hidden(&f, varies, zero))
      out_zeros->tile = k;
  }
  return NULL;
}

/* --- running --- */

NATIVE_OPTIMIZE

#define BLOCK 16 /* columns that are asked about together */

/* is_below: are all magnitudes below `limit`? As integers they are in the order of the numbers. */
#define DEFINE_CHECKS(NAME, BITS, MAGNITUDE)                                           \
  NATIVE_CLONES static int64_t count_to_nonzero_##NAME(const BITS *x, int64_t from,    \
                                                       int64_t count) {                \
    for (; count - from >= BLOCK; count -= BLOCK) {                                    \
      BITS bits = 0;                                                                   \
      for (int i = 0; i < BLOCK; i++) bits |= x[count - BLOCK + i];                    \
      if (bits & (MAGNITUDE)) break;                                                   \
    }                                                                                  \
    while (count > from && !(x[count - 1] & (MAGNITUDE))) count--;                     \
    return count;                                                                      \
  }                                                                                    \
  NATIVE_CLONES static bool is_below_##NAME(const BITS *x, int64_t rows, int64_t step, \
                                            int64_t columns, BITS limit) {             \
    BITS most = 0;                                                                     \
    for (int64_t r = 0; r < rows; r++)                                                 \
      for (int64_t i = 0; i < columns; i++) {                                          \
        BITS magnitude = x[r * step + i] & (MAGNITUDE);                                \
        most = magnitude > most ? magnitude : most;                                    \
      }                                                                                \
    return most < limit;                                                               \
  }
DEFINE_CHECKS(f32, uint32_t, 0x7fffffffu)
DEFINE_CHECKS(f64, uint64_t, 0x7fffffffffffffffu)

/* Bits of infinity; and of 2^18: 2^16 products of smaller numbers have a sum below 2^52. */
#define INFINITY_F32 0x7f800000u
#define INFINITY_F64 0x7ff0000000000000u
#define TERMS_MAX 65536
#define SMALL_F32 ((uint32_t)(127 + 18) << 23)
#define SMALL_F64 ((uint64_t)(1023 + 18) << 52)

/* Are all elements below 2^18 (small), or finite? */
static bool is_below(hr_dtype_t dtype, const void *x, int64_t rows, int64_t step, int64_t columns,
                     bool small) {
  return dtype == HR_F64 ? is_below_f64(x, rows, step, columns, small ? SMALL_F64 : INFINITY_F64)
                         : is_below_f32(x, rows, step, columns, small ? SMALL_F32 : INFINITY_F32);
}

tiled_range_t tiled_nonzero_range(hr_dtype_t dtype, const void *tile, int64_t rows,
                                  int64_t columns) {
  tiled_range_t range = {0, 0};
  for (int64_t r = rows - 1; r >= 0 && range.end < columns; r--)
    range.end =
        dtype == HR_F64
            ? count_to_nonzero_f64((const uint64_t *)tile + r * columns, range.end, columns)
            : count_to_nonzero_f32((const uint32_t *)tile + r * columns, range.end, columns);
  return range;
}

/* is_below for b that gemm_pack has packed. */
static bool is_packed_below(const gemm_job_t *job, const void *packed, bool small) {
  gemm_panels_t panels = gemm_panels_of(job);
  int64_t bytes = (int64_t)hr_dtype_bytes(job->dtype);
  bool below = true;
  for (int64_t k = 0; k < job->k && below; k += panels.depth)
    for (int64_t n = 0; n < job->n && below; n += panels.width) {
      const char *panel = (const char *)packed + gemm_packed_at(&panels, k, n) * bytes;
      int64_t rows = hr_min(panels.depth, job->k - k), columns = hr_min(panels.width, job->n - n);
      below = is_below(job->dtype, panel, rows, panels.width, columns, small);
    }
  return below;
}

bool tiled_is_finite(const gemm_job_t *job, const void *packed) {
  return is_packed_below(job, packed, false);
}

bool tiled_b_is_small(const gemm_job_t *job, const void *packed) {
  return is_packed_below(job, packed, true);
}

bool tiled_a_is_small(const gemm_job_t *job) {
  if (job->k > TERMS_MAX || job->a_rows || (job->a_col != 1 && job->a_row != 1)) return false;
  return job->a_col == 1 ? is_below(job->dtype, job->a, job->m, job->a_row, job->k, true)
                         : is_below(job->dtype, job->a, job->k, job->a_col, job->m, true);
}

bool tiled_is_moderate(hr_dtype_t dtype, const void *x, int64_t count) {
  const double most = 0x1p14;
  for (int64_t i = 0; i < count; i++) {
    double magnitude =
        dtype == HR_F64 ? fabs(((const double *)x)[i]) : fabs((double)((const float *)x)[i]);
    if (!(magnitude >= 1 / most && magnitude <= most)) return false;
  }
  return true;
}

bool tiled_b_is_finite(const gemm_job_t *job) {
  return !job->b_rows && job->b_col == 1 &&
         is_below(job->dtype, job->b, job->k, job->b_row, job->n, false);
}
