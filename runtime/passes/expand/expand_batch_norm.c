/* Batch normalisation in terms of simpler ops, which fuse with their neighbours:
 *
 *   batch-norm-training(x, scale, offset)   ->   mean = sum(x) / N
 *                                                d = x - mean
 *                                                variance = sum(d d) / N
 *                                                d / sqrt(variance + epsilon) * scale + offset
 *
 * N is the number of elements per feature. Sums are computed in the operand's type, or in f32 for
 * narrower types, where the reference kernel uses f64: results differ by rounding. The variance is
 * the mean of squared deviations, not E[x^2] - E[x]^2, and does not cancel.
 * Source: StableHLO spec, batch_norm_training, batch_norm_inference, batch_norm_grad. */
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

typedef struct norm {
  pass_rewrite_t *rewrite;
  hlo_builder_t *builder;
  const hlo_instr_t *instr;
  const hlo_shape_t *shape;            /* operand's shape, in the type of the computation */
  int64_t feature, dims[HLO_MAX_RANK]; /* feature dimension; all other dimensions */
  double share;                        /* number of elements per feature */
} norm_t;

/* ---- formulas ---- */

static hlo_instr_t *wide(const norm_t *norm, int k) {
  return hlo_build_convert(norm->builder, norm->instr->operands[k], norm->shape->dtype);
}

/* Broadcasts one value per feature to every element. */
static hlo_instr_t *broadcast(const norm_t *norm, hlo_instr_t *x) {
  return x ? hlo_build_broadcast(norm->builder, x, norm->shape, (hr_ints_t){&norm->feature, 1})
           : NULL;
}

static hlo_instr_t *op(const norm_t *norm, hlo_opcode_t opcode, hlo_instr_t *x, hlo_instr_t *y) {
  return hlo_build_binary(norm->builder, opcode, x, y);
}

static hlo_instr_t *sum(const norm_t *norm, hlo_instr_t *x) {
  return pass_build_sum(norm->rewrite, x, norm->shape->rank - 1, norm->dims);
}

static hlo_instr_t *mean_of(const norm_t *norm, hlo_instr_t *x) {
  hlo_instr_t *total = sum(norm, x);
  return op(norm, HLO_DIVIDE, total, hlo_build_number_like(norm->builder, norm->share, total));
}

/* variance + epsilon, where epsilon is an f32 for any operand type. */
static hlo_instr_t *broadcast_of(const norm_t *norm, hlo_instr_t *variance) {
  double epsilon = (float)hlo_attr_float(norm->instr, HLO_ATTR_EPSILON);
  return op(norm, HLO_ADD, variance, hlo_build_number_like(norm->builder, epsilon, variance));
}

/* (x - mean) / sqrt(variance + epsilon) * scale + offset */
static hlo_instr_t *normalise(const norm_t *norm, hlo_instr_t *distance, hlo_instr_t *variance,
                              hlo_instr_t *scale, hlo_instr_t *offset) {
  hlo_instr_t *deviation = hlo_build_unary(norm->builder, HLO_SQRT, broadcast_of(norm, variance));
  hlo_instr_t *unit = op(norm, HLO_DIVIDE, distance, broadcast(norm, deviation));
  return op(norm, HLO_ADD, op(norm, HLO_MULTIPLY, unit, broadcast(norm, scale)),
            broadcast(norm, offset));
}

static hlo_instr_t *narrow(const norm_t *norm, hlo_instr_t *x, const hlo_shape_t *like) {
  return x ? hlo_build_convert(norm->builder, x, like->dtype) : NULL;
}

/* ---- the three ops ---- */

static hlo_instr_t *tuple_of(const norm_t *norm, hlo_instr_t *x, hlo_instr_t *y, hlo_instr_t *z) {
  const hlo_shape_t *const *shapes = norm->instr->shape->elements;
  hlo_instr_t *elements[] = {narrow(norm, x, shapes[0]), narrow(norm, y, shapes[1]),
                             narrow(norm, z, shapes[2])};
  return hlo_build(norm->builder, HLO_TUPLE, norm->instr->shape, 3, elements, 0, NULL, 0, NULL);
}

static hlo_instr_t *expand_training(const norm_t *norm) {
  hlo_instr_t *x = wide(norm, 0), *mean = mean_of(norm, x);
  hlo_instr_t *distance = op(norm, HLO_SUBTRACT, x, broadcast(norm, mean));
  hlo_instr_t *variance = mean_of(norm, op(norm, HLO_MULTIPLY, distance, distance));
  return tuple_of(norm, normalise(norm, distance, variance, wide(norm, 1), wide(norm, 2)), mean,
                  variance);
}

static hlo_instr_t *expand_inference(const norm_t *norm) {
  hlo_instr_t *distance = op(norm, HLO_SUBTRACT, wide(norm, 0), broadcast(norm, wide(norm, 3)));
  return narrow(norm, normalise(norm, distance, wide(norm, 4), wide(norm, 1), wide(norm, 2)),
                norm->instr->shape);
}

/* With g = grad_output, d = x - mean, v = variance + epsilon, N elements per feature:
 *   grad_operand = scale / sqrt(v) * (g - sum(g) / N - d * sum(g d) / v / N)
 *   grad_scale = sum(g d) / sqrt(v), grad_offset = sum(g) */
static hlo_instr_t *expand_grad(const norm_t *norm) {
  hlo_instr_t *g = wide(norm, 4),
              *d = op(norm, HLO_SUBTRACT, wide(norm, 0), broadcast(norm, wide(norm, 2)));
  hlo_instr_t *v = broadcast_of(norm, wide(norm, 3)),
              *root = hlo_build_unary(norm->builder, HLO_SQRT, v);
  hlo_instr_t *offset = sum(norm, g), *products = sum(norm, op(norm, HLO_MULTIPLY, g, d));
  hlo_instr_t *share = hlo_build_number_like(norm->builder, norm->share, v);
  hlo_instr_t *slope = op(norm, HLO_DIVIDE, op(norm, HLO_DIVIDE, products, v), share);
  hlo_instr_t *centred =
      op(norm, HLO_SUBTRACT, g, broadcast(norm, op(norm, HLO_DIVIDE, offset, share)));
  hlo_instr_t *rest =
      op(norm, HLO_SUBTRACT, centred, op(norm, HLO_MULTIPLY, d, broadcast(norm, slope)));
  hlo_instr_t *x =
      op(norm, HLO_MULTIPLY, broadcast(norm, op(norm, HLO_DIVIDE, wide(norm, 1), root)), rest);
  return tuple_of(norm, x, op(norm, HLO_DIVIDE, products, root), offset);
}

/* ---- the pass ---- */

static bool is_norm(hlo_opcode_t opcode) {
  return opcode == HLO_BATCH_NORM_TRAINING || opcode == HLO_BATCH_NORM_INFERENCE ||
         opcode == HLO_BATCH_NORM_GRAD;
}

/* Static, non-empty operands of plain float types. */
static bool can_expand(const hlo_instr_t *instr) {
  if (!is_norm(instr->op) || hlo_shape_is_dynamic(instr->shape) ||
      !hlo_shape_elements(instr->operands[0]->shape))
    return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!pass_is_plain_float(instr->operands[k]->shape->dtype) ||
        hlo_shape_is_dynamic(instr->operands[k]->shape))
      return false;
  return true;
}

static hlo_instr_t *expand(pass_rewrite_t *rewrite, const hlo_instr_t *instr) {
  const hlo_shape_t *x = instr->operands[0]->shape;
  norm_t norm = {.rewrite = rewrite,
                 .builder = &rewrite->builder,
                 .instr = instr,
                 .feature = hlo_attr_int(instr, HLO_ATTR_FEATURE_INDEX)};
  hr_dtype_t dtype = x->dtype == HR_F64 ? HR_F64 : HR_F32;
  if (!(norm.shape = pass_shape(rewrite, dtype, x->rank, x->dims))) return NULL;
  norm.share = (double)(hlo_shape_elements(x) / x->dims[norm.feature]);
  for (int d = 0, n = 0; d < x->rank; d++)
    if (d != norm.feature) norm.dims[n++] = d;
  switch (instr->op) {
    case HLO_BATCH_NORM_TRAINING:
      return expand_training(&norm);
    case HLO_BATCH_NORM_INFERENCE:
      return expand_inference(&norm);
    default:
      return expand_grad(&norm);
  }
}

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  return can_expand(instr) ? pass_replace(rewrite, instr, expand(rewrite, instr)) : NULL;
}

hr_status_t pass_expand_batch_norm(hlo_module_t *module, bool *out_changed) {
  return pass_rewrite_module(module, visit, NULL, out_changed);
}
