/* Tiny dots and reductions in loop bodies are expanded into the terms of their sums:
 *
 *   dot(a[m,k], b[k,n])   ->   a[:,0] b[0,:] + a[:,1] b[1,:] + ...   each factor broadcast to [m,n]
 *   reduce(x[m,3], init)  ->   init + x[:,0] + x[:,1] + x[:,2]
 *
 * Elementwise code fuses with its neighbours, while the call of a kernel takes as long as fifty
 * such multiplications. Terms are added in order. Real ones only in bodies of while; elsewhere the
 * cost of the call is negligible. Complex ones everywhere: circuits of qubits are hundreds of
 * products of gates, which are matrices of two or four rows. */
#include "ops/query/gather_dims.h"
#include "passes/lib/pass_match.h"
#include "passes/passes.h"

#define MAX_DOT_TERMS 8
#define MAX_DOT_ELEMENTS 32 /* elements of the result */
/* The same of a batch, as the kernel's loops begin anew for each matrix; and most terms of all
 * elements. */
#define MAX_BATCH_ELEMENTS 512
#define MAX_BATCH_PRODUCTS 2048
#define LEAST_BATCH 4 /* least matrices of a batch */
#define MAX_COMPLEX_TERMS 4
#define MAX_COMPLEX_PRODUCTS 4096 /* terms of all elements; more are worth a kernel */
#define MAX_REDUCE_TERMS 4
#define MAX_REDUCE_ELEMENTS 256

/* Does the reference round (or wrap) sums of this type after every addition? Narrow floats are
 * summed in a wider type. */
static bool rounds_per_op(hr_dtype_t dtype) {
  bool is_wide = hr_dtype_is_integer(dtype) && hr_dtype_bytes(dtype) >= 4;
  return dtype == HR_F32 || dtype == HR_F64 || dtype == HR_PRED || is_wide;
}

/* --- products --------------------------------------------------------------------------------- */

typedef struct side {
  hlo_instr_t *x;
  hr_ints_t batch, contracting;
  int64_t positions[HLO_MAX_RANK]; /* result dimension of each remaining dimension */
  int first_free;                  /* result dimension of the first free dimension */
} side_t;

static hr_ints_t ints(const hlo_instr_t *instr, hlo_attr_key_t key) {
  return hlo_attr_ints(instr, key);
}

/* Are so few elements of so many terms faster as elementwise code? */
static bool has_few_elements(const hlo_instr_t *dot, int64_t terms) {
  hr_ints_t batch = ints(dot, HLO_ATTR_LHS_BATCH_DIMS);
  int64_t matrices = 1, count = hlo_shape_elements(dot->shape);
  for (int64_t i = 0; i < batch.count; i++)
    matrices *= dot->operands[0]->shape->dims[batch.data[i]];
  if (count < 1 || matrices < LEAST_BATCH) return count > 0 && count <= MAX_DOT_ELEMENTS;
  return count <= MAX_BATCH_ELEMENTS && count * terms <= MAX_BATCH_PRODUCTS;
}

/* Is it a dot of f32 or f64 with one contracting dimension of few terms? */
static bool is_tiny_dot(const hlo_instr_t *instr) {
  hr_dtype_t dtype = instr->shape->dtype;
  const hlo_shape_t *lhs = instr->operands[0]->shape, *rhs = instr->operands[1]->shape;
  hr_ints_t over = ints(instr, HLO_ATTR_LHS_CONTRACTING_DIMS);
  if ((dtype != HR_F32 && dtype != HR_F64) || lhs->dtype != dtype || rhs->dtype != dtype)
    return false;
  int64_t terms = over.count == 1 ? lhs->dims[over.data[0]] : 0;
  return terms > 0 && terms <= MAX_DOT_TERMS && has_few_elements(instr, terms);
}

/* Is it a dot of complex numbers with one contracting dimension of few terms? */
static bool is_tiny_complex_dot(const hlo_instr_t *instr) {
  hr_dtype_t dtype = instr->shape->dtype;
  const hlo_shape_t *lhs = instr->operands[0]->shape;
  hr_ints_t over = ints(instr, HLO_ATTR_LHS_CONTRACTING_DIMS);
  if (!hr_dtype_is_complex(dtype) || lhs->dtype != dtype ||
      instr->operands[1]->shape->dtype != dtype || over.count != 1)
    return false;
  int64_t terms = lhs->dims[over.data[0]], count = hlo_shape_elements(instr->shape);
  return terms > 0 && terms <= MAX_COMPLEX_TERMS && count > 0 &&
         count * terms <= MAX_COMPLEX_PRODUCTS;
}

/* The factor of one term from one side, broadcast to the result's shape. */
static hlo_instr_t *build_factor(pass_rewrite_t *rewrite, side_t *side, int64_t term,
                                 const hlo_shape_t *shape) {
  int64_t count = 0;
  for (int d = 0, free = side->first_free; d < side->x->shape->rank; d++) {
    if (op_dims_contain(side->contracting, d)) continue;
    int64_t position = 0;
    while (position < side->batch.count && side->batch.data[position] != d) position++;
    side->positions[count++] = position < side->batch.count ? position : free++;
  }
  hlo_instr_t *part = pass_build_element_slice(rewrite, side->x, side->contracting.data[0], term);
  return part ? hlo_build_broadcast(&rewrite->builder, part, shape,
                                    (hr_ints_t){side->positions, count})
              : NULL;
}

/* Terms are summed in ascending order, as in the reference. */
static hlo_instr_t *expand_dot(pass_rewrite_t *rewrite, hlo_instr_t *dot) {
  hlo_builder_t *builder = &rewrite->builder;
  side_t lhs = {.x = dot->operands[0],
                .batch = ints(dot, HLO_ATTR_LHS_BATCH_DIMS),
                .contracting = ints(dot, HLO_ATTR_LHS_CONTRACTING_DIMS)};
  side_t rhs = {.x = dot->operands[1],
                .batch = ints(dot, HLO_ATTR_RHS_BATCH_DIMS),
                .contracting = ints(dot, HLO_ATTR_RHS_CONTRACTING_DIMS)};
  hlo_instr_t *sum = NULL;
  lhs.first_free = (int)lhs.batch.count;
  rhs.first_free = lhs.x->shape->rank - 1;
  for (int64_t t = 0; t < lhs.x->shape->dims[lhs.contracting.data[0]] && !builder->status; t++) {
    hlo_instr_t *a = build_factor(rewrite, &lhs, t, dot->shape),
                *b = build_factor(rewrite, &rhs, t, dot->shape);
    hlo_instr_t *product = a && b ? hlo_build_binary(builder, HLO_MULTIPLY, a, b) : NULL;
    sum = sum && product ? hlo_build_binary(builder, HLO_ADD, sum, product) : product;
  }
  return builder->status ? NULL : sum;
}

/* --- reductions ------------------------------------------------------------------------------- */

/* The only reduced dimension larger than 1; -1: there are several, or none. */
static int64_t find_reduced_dim(const hlo_instr_t *reduce) {
  hr_ints_t dims = ints(reduce, HLO_ATTR_DIMENSIONS);
  int64_t only = dims.count ? dims.data[0] : -1;
  for (int64_t i = 1; i < dims.count; i++) {
    const int64_t *sizes = reduce->operands[0]->shape->dims;
    if (sizes[dims.data[i]] != 1 && sizes[only] != 1) return -1;
    if (sizes[dims.data[i]] != 1) only = dims.data[i];
  }
  return only;
}

/* Does it reduce one dimension of few terms by one commutative op? */
static bool is_tiny_reduce(const hlo_instr_t *instr, hlo_opcode_t *out_op) {
  int64_t d = instr->operand_count == 2 ? find_reduced_dim(instr) : -1;
  if (d < 0 || !rounds_per_op(instr->shape->dtype)) return false;
  int64_t terms = instr->operands[0]->shape->dims[d], count = hlo_shape_elements(instr->shape);
  return terms > 0 && terms <= MAX_REDUCE_TERMS && count > 0 && count <= MAX_REDUCE_ELEMENTS &&
         instr->operands[0]->shape->dtype == instr->shape->dtype &&
         pass_body_is_binary(instr->called[0], out_op);
}

static hlo_instr_t *expand_reduce(pass_rewrite_t *rewrite, hlo_instr_t *reduce, hlo_opcode_t op) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t *x = reduce->operands[0];
  int64_t d = find_reduced_dim(reduce);
  hlo_instr_t *sum =
      hlo_build_broadcast(builder, reduce->operands[1], reduce->shape, (hr_ints_t){NULL, 0});
  for (int64_t t = 0; t < x->shape->dims[d] && sum && !builder->status; t++) {
    hlo_instr_t *part = pass_build_element_slice(rewrite, x, d, t);
    bool has_ones =
        part && !hlo_shape_same_dims(part->shape, reduce->shape); /* different reduced dimensions */
    if (has_ones) part = hlo_build_reshape(builder, part, reduce->shape);
    sum = part ? hlo_build_binary(builder, op, sum, part) : NULL;
  }
  return sum;
}

/* --- bodies ----------------------------------------------------------------------------------- */

static hr_status_t visit_complex(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  if (instr->op != HLO_DOT || !pass_has_static_arrays(instr) || !is_tiny_complex_dot(instr))
    return NULL;
  return pass_replace(rewrite, instr, expand_dot(rewrite, instr));
}

static hr_status_t visit(pass_rewrite_t *rewrite, hlo_instr_t *instr, void *context) {
  (void)context;
  hlo_opcode_t op;
  if (!pass_has_static_arrays(instr)) return NULL;
  if (instr->op == HLO_DOT && is_tiny_dot(instr))
    return pass_replace(rewrite, instr, expand_dot(rewrite, instr));
  if (instr->op == HLO_REDUCE && is_tiny_reduce(instr, &op))
    return pass_replace(rewrite, instr, expand_reduce(rewrite, instr, op));
  return NULL;
}

hr_status_t pass_expand_small_dots(hlo_module_t *module, bool *out_changed) {
  for (size_t c = 0; c < module->computations.count; c++) {
    hlo_computation_t *computation = module->computations.data[c];
    HR_TRY(pass_rewrite_each(computation, visit_complex, NULL, out_changed));
    for (size_t i = 0; i < computation->instrs.count; i++) {
      const hlo_instr_t *instr = computation->instrs.data[i];
      if (instr->op == HLO_WHILE)
        HR_TRY(pass_rewrite_each(instr->called[1], visit, NULL, out_changed));
    }
  }
  return NULL;
}
