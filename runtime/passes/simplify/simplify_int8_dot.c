/* Dots and convolutions of bytes widened to s32, as in quantised programs:
 *
 *   dot(convert(a: u8 -> s32) - z, convert(b: s8 -> s32))   ->   dot(a, b): s32 - z * sum(b)
 *
 * and dots of few rows with weights of few bits:
 *
 *   dot(x, convert(w: s8, u8 or bf16 -> f32))   ->   dot(x, w) of two types
 *
 * Processors multiply bytes directly. The zero point z of the left side is subtracted from the
 * result instead, times the sums of the right side. Exact: sums wrap modulo 2^32 either way. */
#include "passes/simplify/simplify.h"

/* The left side: widened bytes minus `zero`. */
typedef struct byte_side {
  hlo_instr_t *bytes;
  int64_t zero;
} byte_side_t;

static hlo_instr_t *find_narrow_operand(const hlo_instr_t *wide, bool may_be_unsigned) {
  hlo_instr_t *x = wide->op == HLO_CONVERT ? wide->operands[0] : NULL;
  return x && (x->shape->dtype == HR_S8 || (may_be_unsigned && x->shape->dtype == HR_U8)) ? x
                                                                                          : NULL;
}

static byte_side_t left_side(const hlo_instr_t *x) {
  byte_side_t side = {.bytes = find_narrow_operand(x, true)};
  if ((x->op != HLO_SUBTRACT && x->op != HLO_ADD) || !pass_splat_int(x->operands[1], &side.zero))
    return side;
  side.bytes = find_narrow_operand(x->operands[0], true);
  if (x->op == HLO_ADD) side.zero = -side.zero;
  return side;
}

/* result - zero * sums, where the sums' dimensions are `dims` of the result. */
static hlo_instr_t *subtract_zero_point(pass_rewrite_t *rewrite, hlo_instr_t *result, int64_t zero,
                                        hlo_instr_t *sums, hr_ints_t dims) {
  hlo_builder_t *b = &rewrite->builder;
  if (!result || !sums) return NULL;
  hlo_instr_t *off =
      hlo_build_binary(b, HLO_MULTIPLY, sums, hlo_build_number_like(b, (double)zero, sums));
  return hlo_build_binary(b, HLO_SUBTRACT, result, hlo_build_broadcast_like(b, off, result, dims));
}

/* Positions in the result of the right side's dimensions that are not summed: batch dimensions
 * first, free ones last. */
static hr_ints_t kept_dims(const hlo_instr_t *dot, int64_t *to) {
  hr_ints_t batch = hlo_attr_ints(dot, HLO_ATTR_RHS_BATCH_DIMS);
  hr_ints_t summed = hlo_attr_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS);
  int count = 0, rank = dot->operands[1]->shape->rank;
  int64_t next = dot->shape->rank - (rank - batch.count - summed.count);
  for (int64_t d = 0; d < rank; d++) {
    int64_t at = -1;
    bool is_summed = false;
    for (int64_t i = 0; i < batch.count; i++) at = batch.data[i] == d ? i : at;
    for (int64_t i = 0; i < summed.count; i++) is_summed |= summed.data[i] == d;
    if (!is_summed) to[count++] = at >= 0 ? at : next++;
  }
  return (hr_ints_t){to, count};
}

static hlo_instr_t *build_int8_dot(pass_rewrite_t *rewrite, hlo_instr_t *dot, byte_side_t left,
                                   hlo_instr_t *right) {
  int64_t dims[HLO_MAX_RANK];
  hr_ints_t summed = hlo_attr_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS), kept = kept_dims(dot, dims);
  hlo_instr_t *result =
      pass_build_like(rewrite, dot, (hlo_instr_t *[]){left.bytes, right}, dot->shape);
  if (left.zero == 0) return result;
  for (int i = 1; i < kept.count; i++)
    if (kept.data[i] < kept.data[i - 1])
      return NULL; /* a broadcast keeps the order of dimensions */
  hlo_instr_t *sums = pass_build_sum(rewrite, dot->operands[1], (int)summed.count, summed.data);
  return subtract_zero_point(rewrite, result, left.zero, sums, kept);
}

/* Padding adds zeros to the widened input, which correspond to bytes of value `zero`: that must be
 * representable. */
static bool can_pad_explicitly(const hlo_instr_t *conv, byte_side_t left) {
  const hlo_window_t *window = hlo_attr_window(conv);
  int64_t low = left.bytes->shape->dtype == HR_S8 ? INT8_MIN : 0;
  for (int d = 0; window && d < window->rank; d++)
    if (window->dims[d].base_dilation != 1 || window->dims[d].pad_low < 0 ||
        window->dims[d].pad_high < 0)
      return false;
  return left.zero >= low && left.zero <= low + UINT8_MAX &&
         hlo_attr_int(conv, HLO_ATTR_BATCH_GROUP_COUNT) <= 1;
}

/* Pads the bytes explicitly with `zero`, in place of the window's padding. *dims: the window
 * without padding. */
static hlo_instr_t *pad_with_zero_point(pass_rewrite_t *rewrite, const hlo_instr_t *conv,
                                        byte_side_t left, hlo_window_dim_t *dims) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  const hlo_window_t *window = hlo_attr_window(conv);
  hlo_builder_t *b = &rewrite->builder;
  hlo_padding_dim_t edges[HLO_MAX_RANK] = {{0}};
  bool any = false;
  for (int s = 0; window && s < window->rank; s++) {
    dims[s] = window->dims[s];
    edges[labels->lhs_spatial[s]] = (hlo_padding_dim_t){dims[s].pad_low, dims[s].pad_high, 0};
    any |= dims[s].pad_low || dims[s].pad_high;
    dims[s].pad_low = 0;
    dims[s].pad_high = 0;
  }
  if (!any) return left.bytes;
  hlo_instr_t *zero = hlo_build_number(b, (double)left.zero, left.bytes->shape->dtype);
  return pass_build_pad(rewrite, left.bytes, zero, edges);
}

static hlo_instr_t *build_int8_conv(pass_rewrite_t *rewrite, hlo_instr_t *conv, byte_side_t left,
                                    hlo_instr_t *right) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  hlo_window_dim_t dims[HLO_MAX_RANK];
  int64_t summed[HLO_MAX_RANK], out = labels->out_feature;
  int count = 0;
  if (left.zero == 0)
    return pass_build_like(rewrite, conv, (hlo_instr_t *[]){left.bytes, right}, conv->shape);
  if (!can_pad_explicitly(conv, left)) return NULL;
  hlo_instr_t *bytes = pad_with_zero_point(rewrite, conv, left, dims);
  if (!bytes) return NULL;
  hlo_instr_t *result = simplify_build_windowed(rewrite, conv, (hlo_instr_t *[]){bytes, right},
                                                dims, labels->spatial_rank, conv->shape);
  for (int64_t d = 0; d < right->shape->rank; d++)
    if (d != labels->rhs_output_feature) summed[count++] = d;
  hlo_instr_t *sums = pass_build_sum(rewrite, conv->operands[1], count, summed);
  return subtract_zero_point(rewrite, result, left.zero, sums, (hr_ints_t){&out, 1});
}

static bool is_plain(const hlo_instr_t *conv) {
  const hlo_dim_labels_t *labels = hlo_attr_labels(conv);
  return labels && !labels->lhs_unused && !labels->rhs_unused && !labels->out_unused;
}

/* --- weights of few bits, widened for a product of few rows --- */

#define MAX_THIN_ROWS 8
#define MIN_THIN_WEIGHTS 65536

/* Number of elements of an operand in dimensions that are neither batch nor contracting. */
static int64_t count_free(const hlo_instr_t *x, hr_ints_t batch, hr_ints_t contracting) {
  int64_t count = hlo_shape_elements(x->shape);
  for (int64_t i = 0; i < batch.count; i++) count /= x->shape->dims[batch.data[i]];
  for (int64_t i = 0; i < contracting.count; i++) count /= x->shape->dims[contracting.data[i]];
  return count;
}

/* Does the conversion to the wide type preserve every number? Looks through a reshape. */
static bool widens_exactly(const hlo_instr_t *convert) {
  if (convert->op == HLO_RESHAPE) convert = convert->operands[0];
  if (convert->op != HLO_CONVERT) return false;
  hr_dtype_t from = convert->operands[0]->shape->dtype, to = convert->shape->dtype;
  bool is_float = to == HR_F32 || to == HR_BF16 || to == HR_F16;
  return ((from == HR_S8 || from == HR_U8) && is_float) || (from == HR_BF16 && to == HR_F32);
}

static hlo_instr_t *build_narrow(pass_rewrite_t *rewrite, const hlo_instr_t *wide) {
  if (wide->op == HLO_CONVERT) return wide->operands[0];
  hlo_instr_t *narrow = wide->operands[0]->operands[0];
  const hlo_shape_t *shape =
      pass_shape(rewrite, narrow->shape->dtype, wide->shape->rank, wide->shape->dims);
  return shape ? hlo_build_reshape(&rewrite->builder, narrow, shape) : NULL;
}

/* Few rows times a large matrix that was widened for this product: the kernel widens while reading,
 * so that the wide matrix is never in memory. Exact. */
static hlo_instr_t *read_narrow_weights(pass_rewrite_t *rewrite, hlo_instr_t *dot) {
  hlo_instr_t *operands[] = {dot->operands[0], dot->operands[1]};
  hr_ints_t batch[] = {hlo_attr_ints(dot, HLO_ATTR_LHS_BATCH_DIMS),
                       hlo_attr_ints(dot, HLO_ATTR_RHS_BATCH_DIMS)};
  hr_ints_t contracting[] = {hlo_attr_ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS),
                             hlo_attr_ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS)};
  if (hlo_attr_enum(dot, HLO_ATTR_ALGORITHM) || !pass_is_plain_float(dot->shape->dtype))
    return NULL;
  for (int many = 0; many < 2; many++) {
    const hlo_instr_t *few = operands[1 - many], *weights = operands[many];
    int64_t count = hlo_shape_elements(weights->shape);
    if (!widens_exactly(weights) || widens_exactly(few) || count < MIN_THIN_WEIGHTS) continue;
    int64_t rows = count_free(few, batch[1 - many], contracting[1 - many]);
    if (!pass_is_plain_float(few->shape->dtype) || rows > (many ? MAX_THIN_ROWS : 1)) continue;
    operands[many] = build_narrow(rewrite, weights);
    if (!operands[many]) return NULL;
    return pass_build_like(rewrite, dot, operands, dot->shape);
  }
  return NULL;
}

hlo_instr_t *simplify_int8_dot(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  bool is_conv = instr->op == HLO_CONVOLUTION;
  if (instr->op == HLO_DOT && pass_is_plain_float(instr->shape->dtype) &&
      !hlo_shape_is_dynamic(instr->shape))
    return read_narrow_weights(rewrite, instr);
  if ((instr->op != HLO_DOT && !is_conv) || instr->shape->dtype != HR_S32) return NULL;
  if (instr->operands[0]->shape->dtype != HR_S32 || hlo_attr_has(instr, HLO_ATTR_SPARSITY_CONFIG))
    return NULL;
  byte_side_t left = left_side(instr->operands[0]);
  hlo_instr_t *right = find_narrow_operand(instr->operands[1], false);
  if (!left.bytes || !right || (is_conv && !is_plain(instr))) return NULL;
  return (is_conv ? build_int8_conv : build_int8_dot)(rewrite, instr, left, right);
}
