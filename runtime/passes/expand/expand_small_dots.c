/* Tiny products and reductions in the bodies of loops are written out as the terms of their sums,
 * which are then generated code like what is around them:
 *
 *   dot(a[m,k], b[k,n])   ->   a[:,0] b[0,:] + a[:,1] b[1,:] + ...        all broadcast to [m,n]
 *   reduce(x[m,3], init)  ->   init + x[:,0] + x[:,1] + x[:,2]
 *
 * A call of a kernel takes as long as fifty such multiplications. Sums are taken in their order. */
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

#define DOT_TERMS 8
#define DOT_ELEMENTS 32 /* of the result */
#define REDUCE_TERMS 4
#define REDUCE_ELEMENTS 256

static bool is_static(const hlo_instr_t *instr) {
  if (!hlo_shape_is_array(instr->shape) || hlo_shape_is_dynamic(instr->shape)) return false;
  for (int k = 0; k < instr->operand_count; k++)
    if (!hlo_shape_is_array(instr->operands[k]->shape) ||
        hlo_shape_is_dynamic(instr->operands[k]->shape))
      return false;
  return true;
}

/* Rounding is the same wherever the sum is taken, but for narrow floats. */
static bool is_exact_enough(hr_dtype_t dtype) {
  bool is_wide = hr_dtype_is_integer(dtype) && hr_dtype_bytes(dtype) >= 4;
  return dtype == HR_F32 || dtype == HR_F64 || dtype == HR_PRED || is_wide;
}

static bool contains(hr_ints_t list, int64_t value) {
  for (int64_t i = 0; i < list.count; i++)
    if (list.data[i] == value) return true;
  return false;
}

/* --- products --------------------------------------------------------------------------------- */

typedef struct side {
  hlo_instr_t *x;
  hr_ints_t batch, contracting;
  int64_t positions[HLO_MAX_RANK]; /* of the dimensions that are left, in the result */
  int first_free;                  /* the place of the first free one */
} side_t;

static hr_ints_t ints(const hlo_instr_t *instr, hlo_attr_key_t key) {
  return hlo_attr_ints(instr, key);
}

static bool is_tiny_dot(const hlo_instr_t *instr) {
  hr_dtype_t dtype = instr->shape->dtype;
  const hlo_shape_t *lhs = instr->operands[0]->shape, *rhs = instr->operands[1]->shape;
  hr_ints_t over = ints(instr, HLO_ATTR_LHS_CONTRACTING_DIMS);
  if ((dtype != HR_F32 && dtype != HR_F64) || lhs->dtype != dtype || rhs->dtype != dtype)
    return false;
  return over.count == 1 && lhs->dims[over.data[0]] <= DOT_TERMS && lhs->dims[over.data[0]] > 0 &&
         pass_count(instr->shape) <= DOT_ELEMENTS && pass_count(instr->shape) > 0;
}

/* One term's factor from a side, in all places of the result. */
static hlo_instr_t *factor_of(pass_rewrite_t *rewrite, side_t *side, int64_t term,
                              const hlo_shape_t *shape) {
  int64_t count = 0;
  for (int d = 0, free = side->first_free; d < side->x->shape->rank; d++) {
    if (contains(side->contracting, d)) continue;
    int64_t position = 0;
    while (position < side->batch.count && side->batch.data[position] != d) position++;
    side->positions[count++] = position < side->batch.count ? position : free++;
  }
  hlo_instr_t *part = pass_build_element_slice(rewrite, side->x, side->contracting.data[0], term);
  return part ? hlo_build_broadcast(&rewrite->builder, part, shape,
                                    (hr_ints_t){side->positions, count})
              : NULL;
}

static hlo_instr_t *write_dot(pass_rewrite_t *rewrite, hlo_instr_t *dot) {
  hlo_builder_t *builder = &rewrite->builder;
  side_t lhs = {.x = dot->operands[0],
                .batch = ints(dot, HLO_ATTR_LHS_BATCH_DIMS),
                .contracting = ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS)};
  side_t rhs = {.x = dot->operands[1],
                .batch = ints(dot, HLO_ATTR_RHS_BATCH_DIMS),
                .contracting = ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS)};
  hlo_instr_t *sum = NULL;
  lhs.first_free = (int)lhs.batch.count, rhs.first_free = lhs.x->shape->rank - 1;
  for (int64_t t = 0; t < lhs.x->shape->dims[lhs.contracting.data[0]] && !builder->status; t++) {
    hlo_instr_t *a = factor_of(rewrite, &lhs, t, dot->shape),
                *b = factor_of(rewrite, &rhs, t, dot->shape);
    hlo_instr_t *product = a && b ? hlo_build_binary(builder, HLO_MULTIPLY, a, b) : NULL;
    sum = sum && product ? hlo_build_binary(builder, HLO_ADD, sum, product) : product;
  }
  return builder->status ? NULL : sum;
}

/* --- reductions ------------------------------------------------------------------------------- */

/* The reduced dimension, if there is one of some terms and the others have size 1; else -1. */
static int64_t only_dimension(const hlo_instr_t *reduce) {
  hr_ints_t dims = ints(reduce, HLO_ATTR_DIMENSIONS);
  int64_t only = dims.count ? dims.data[0] : -1;
  for (int64_t i = 1; i < dims.count; i++) {
    const int64_t *sizes = reduce->operands[0]->shape->dims;
    if (sizes[dims.data[i]] != 1 && sizes[only] != 1) return -1;
    if (sizes[dims.data[i]] != 1) only = dims.data[i];
  }
  return only;
}

static bool is_tiny_reduce(const hlo_instr_t *instr, hlo_opcode_t *out_op) {
  int64_t d = instr->operand_count == 2 ? only_dimension(instr) : -1;
  if (d < 0 || !is_exact_enough(instr->shape->dtype)) return false;
  int64_t terms = instr->operands[0]->shape->dims[d], count = pass_count(instr->shape);
  return terms > 0 && terms <= REDUCE_TERMS && count > 0 && count <= REDUCE_ELEMENTS &&
         instr->operands[0]->shape->dtype == instr->shape->dtype &&
         pass_body_is_binary(instr->called[0], out_op);
}

static hlo_instr_t *write_reduce(pass_rewrite_t *rewrite, hlo_instr_t *reduce, hlo_opcode_t op) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t *x = reduce->operands[0];
  int64_t d = only_dimension(reduce);
  hlo_instr_t *sum =
      hlo_build_broadcast(builder, reduce->operands[1], reduce->shape, (hr_ints_t){NULL, 0});
  for (int64_t t = 0; t < x->shape->dims[d] && sum && !builder->status; t++) {
    hlo_instr_t *part = pass_build_element_slice(rewrite, x, d, t);
    bool has_ones =
        part && !hlo_shape_same_dims(part->shape, reduce->shape); /* of other reduced dimensions */
    if (has_ones) part = hlo_build_reshape(builder, part, reduce->shape);
    sum = part ? hlo_build_binary(builder, op, sum, part) : NULL;
  }
  return sum;
}

/* --- bodies ----------------------------------------------------------------------------------- */

static hr_status_t write_out(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_opcode_t op;
  if (!is_static(instr)) return NULL;
  if (instr->op == HLO_DOT && is_tiny_dot(instr))
    return pass_replace(rewrite, instr, write_dot(rewrite, instr));
  if (instr->op == HLO_REDUCE && is_tiny_reduce(instr, &op))
    return pass_replace(rewrite, instr, write_reduce(rewrite, instr, op));
  return NULL;
}

static hr_status_t write_out_body(hlo_computation_t *body, bool *out_changed) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, body));
  for (uint32_t i = 0; i < rewrite.old_count && !st; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(&rewrite, i);
    if (instr) st = write_out(&rewrite, instr);
  }
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_expand_small_dots(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++) {
    const hlo_computation_t *computation = module->computations.data[c];
    for (size_t i = 0; i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      if (instr->op == HLO_WHILE) HR_TRY(write_out_body(instr->called[1], out_changed));
    }
  }
  return NULL;
}
