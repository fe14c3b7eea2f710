/* Large arrays that are computed from broadcasts of smaller ones need not be in memory if all that
 * reads them can be computed by one loop over their rows:
 *
 *   dot(w[n,m], v[m,2])             ->   [reduce(w * broadcast(v[:,0]), {1}), ...]
 *   reduce(w, {0,1})                ->   reduce(reduce(w, {1}), {0})    beside a reduction over {1}
 *
 * Example: a kernel matrix times a vector, and forces with their energy. Sums are in another order
 * than those of the kernel for products. After split_short_dims. Cost: linear. */
#include "ops/query/gather_dims.h"
#include "passes/fuse/fuse_cost.h"
#include "passes/lib/pass_match.h"
#include "passes/passes.h"
#include "passes/simplify/simplify_dots.h"

#define MOST_COLUMNS 8           /* most sums for each row */
#define LEAST_ELEMENTS (1 << 15) /* smaller arrays stay in the caches */
#define LEAST_RATIO 8            /* elements of a broadcast per element of its operand */
#define MOST_SUMS 64             /* most sums of computed arrays that are compared */

/* What a reduction or product sums over. */
typedef struct summed {
  const hlo_shape_t *shape; /* sizes of the computed array */
  hr_ints_t dims;           /* dimensions of it that are summed */
} summed_t;

typedef struct finder {
  pass_users_t users;
  uint32_t count;
  bool *computed; /* by id: element by element, from broadcasts of smaller arrays */
  summed_t sums[MOST_SUMS];
  int sum_count;
} finder_t;

/* --- arrays that are computed from broadcasts --- */

static bool is_broadcast(const hlo_instr_t *x) {
  return x->op == HLO_BROADCAST &&
         fusion_count(x->operands[0]->shape) * LEAST_RATIO <= fusion_count(x->shape);
}

/* Operands come before their users. */
static bool find_computed(const finder_t *f, const hlo_instr_t *x) {
  if (!hlo_shape_is_array(x->shape) || hlo_shape_is_dynamic(x->shape)) return false;
  if (x->op == HLO_IOTA || is_broadcast(x)) return true;
  if (!hlo_op_is(x->op, OP_ELEMENTWISE) || !x->operand_count || x->called_count) return false;
  for (int k = 0; k < x->operand_count; k++)
    if (x->operands[k]->shape->rank && !f->computed[x->operands[k]->id]) return false;
  return true;
}

/* Is it a large array that is computed by arithmetic? */
static bool is_computed(const finder_t *f, const hlo_instr_t *x) {
  return x->id < f->count && f->computed[x->id] && x->op != HLO_IOTA && x->op != HLO_BROADCAST &&
         fusion_count(x->shape) >= LEAST_ELEMENTS;
}

/* --- products --- */

/* A product of a computed array with a thin one. */
typedef struct thin_dot {
  dot_side_t wide, thin;
  int64_t free_dim; /* the thin array's dimension that the result keeps; -1: none */
  int64_t at;       /* the same in the result */
  int64_t columns;  /* its size */
} thin_dot_t;

/* Reads the product, with operand `side` as the computed one. False: it has another form. */
static bool read_thin_dot(const hlo_instr_t *dot, int side, thin_dot_t *out) {
  dot_side_t sides[2];
  dot_sides_read(dot, sides);
  *out = (thin_dot_t){.wide = sides[side], .thin = sides[1 - side], .free_dim = -1, .columns = 1};
  for (int64_t i = 0; i < out->wide.batch.count; i++)
    if (out->wide.batch.data[i] != i) return false;
  if (dot_free_count(&out->thin) > 1) return false;
  for (int d = 0; d < out->thin.x->shape->rank; d++)
    if (dot_dim_role(&out->thin, d) == FREE) out->free_dim = d;
  if (out->free_dim >= 0) out->columns = out->thin.x->shape->dims[out->free_dim];
  out->at = side ? out->wide.batch.count : dot->shape->rank - 1;
  return out->wide.contracting.count > 0 && out->columns <= MOST_COLUMNS;
}

static bool contains_all(hr_ints_t dims, hr_ints_t part) {
  for (int64_t i = 0; i < part.count; i++)
    if (!op_dims_contain(dims, part.data[i])) return false;
  return true;
}

/* Can the user be computed by a loop over the same rows as the product? */
static bool shares_rows(const hlo_instr_t *user, const hlo_instr_t *wide, hr_ints_t over) {
  thin_dot_t other;
  int side = user->operands[0] != wide;
  if (user->op == HLO_REDUCE) return contains_all(hlo_attr_ints(user, HLO_ATTR_DIMENSIONS), over);
  if (user->op != HLO_DOT) return hlo_op_is(user->op, OP_ELEMENTWISE);
  return pass_is_plain_dot(user) && user->operands[0] != user->operands[1] &&
         read_thin_dot(user, side, &other) && contains_all(other.wide.contracting, over) &&
         other.wide.contracting.count == over.count;
}

/* Is the array never in memory if the product is written out as sums? */
static bool is_spared(const finder_t *f, const hlo_instr_t *wide, hr_ints_t over) {
  if (wide == wide->parent->root) return false;
  for (uint32_t u = f->users.first[wide->id]; u < f->users.first[wide->id + 1]; u++)
    if (!shares_rows(f->users.users[u], wide, over)) return false;
  return true;
}

static bool find_thin_dot(const finder_t *f, const hlo_instr_t *dot, thin_dot_t *out) {
  if (!pass_is_plain_dot(dot) || dot->operands[0] == dot->operands[1]) return false;
  for (int side = 0; side < 2; side++)
    if (is_computed(f, dot->operands[side]) && read_thin_dot(dot, side, out) &&
        is_spared(f, out->wide.x, out->wide.contracting))
      return true;
  return false;
}

/* The thin array's column, broadcast to the sizes of the computed array. */
static hlo_instr_t *broadcast_column(pass_rewrite_t *rewrite, const thin_dot_t *dot,
                                     hlo_instr_t *column) {
  const dot_side_t *thin = &dot->thin, *wide = &dot->wide;
  int64_t dims[HLO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < thin->x->shape->rank; d++) {
    if (d == dot->free_dim) continue;
    for (int64_t i = 0; i < thin->batch.count; i++)
      if (thin->batch.data[i] == d) dims[rank] = wide->batch.data[i];
    for (int64_t i = 0; i < thin->contracting.count; i++)
      if (thin->contracting.data[i] == d) dims[rank] = wide->contracting.data[i];
    rank++;
  }
  return column ? dot_broadcast_operand(rewrite, column, dims, wide->x->shape) : NULL;
}

static hlo_instr_t *sum_column(pass_rewrite_t *rewrite, const thin_dot_t *dot,
                               hlo_instr_t *column) {
  hlo_instr_t *all = broadcast_column(rewrite, dot, column);
  hlo_instr_t *terms =
      all ? hlo_build_binary(&rewrite->builder, HLO_MULTIPLY, dot->wide.x, all) : NULL;
  return terms ? pass_build_sum(rewrite, terms, (int)dot->wide.contracting.count,
                                dot->wide.contracting.data)
               : NULL;
}

static hlo_instr_t *expand_dot(pass_rewrite_t *rewrite, const hlo_instr_t *instr,
                               const thin_dot_t *dot) {
  hlo_instr_t *sums[MOST_COLUMNS], *x = dot->thin.x;
  if (dot->free_dim < 0) return sum_column(rewrite, dot, x);
  bool is_last = dot->free_dim > 0 && dot->free_dim == x->shape->rank - 1;
  if (is_last) x = pass_build_with_last_first(rewrite, x);
  for (int64_t i = 0; i < dot->columns && x; i++) {
    hlo_instr_t *column = pass_build_element_slice(rewrite, x, is_last ? 0 : dot->free_dim, i);
    sums[i] = sum_column(rewrite, dot, column);
  }
  return x && !rewrite->builder.status ? pass_build_joined(rewrite, instr->shape, dot->at, sums)
                                       : NULL;
}

/* --- reductions to fewer dimensions --- */

/* Does it add, or compare, in its own type? */
static bool is_exact_reduce(const hlo_instr_t *reduce, hlo_opcode_t *out_op) {
  return pass_is_plain_reduce(reduce, out_op) &&
         hr_dtype_table[reduce->shape->dtype].compute == reduce->shape->dtype;
}

/* Dimensions that another sum of an array of these sizes is over, and `reduce` with others; count
 * 0: there is none. */
static hr_ints_t find_fewer(const finder_t *f, const hlo_instr_t *reduce) {
  hr_ints_t dims = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  for (int i = 0; i < f->sum_count; i++) {
    const summed_t *sum = &f->sums[i];
    if (hlo_shape_same_dims(sum->shape, reduce->operands[0]->shape) && sum->dims.count > 0 &&
        sum->dims.count < dims.count && contains_all(dims, sum->dims))
      return sum->dims;
  }
  return (hr_ints_t){NULL, 0};
}

/* The reduction of `fewer` dimensions first, then of the others. */
static hlo_instr_t *reduce_twice(pass_rewrite_t *rewrite, const hlo_instr_t *reduce,
                                 hr_ints_t fewer) {
  hlo_builder_t *builder = &rewrite->builder;
  hr_ints_t dims = hlo_attr_ints(reduce, HLO_ATTR_DIMENSIONS);
  int64_t rest[HLO_MAX_RANK];
  int count = 0, rank = reduce->operands[0]->shape->rank;
  for (int d = 0, at = 0; d < rank; d++) {
    if (op_dims_contain(fewer, d)) continue;
    if (op_dims_contain(dims, d)) rest[count++] = at;
    at++;
  }
  hlo_attr_t first = hlo_attr_of_ints(builder, HLO_ATTR_DIMENSIONS, fewer.count, fewer.data);
  hlo_attr_t second = hlo_attr_of_ints(builder, HLO_ATTR_DIMENSIONS, count, rest);
  hlo_instr_t *rows = pass_build_with(rewrite, reduce, reduce->operands, NULL, &first);
  return rows ? pass_build_with(rewrite, reduce, (hlo_instr_t *[]){rows, reduce->operands[1]},
                                reduce->shape, &second)
              : NULL;
}

/* --- the pass --- */

static void note_sum(finder_t *f, const hlo_instr_t *instr) {
  thin_dot_t dot;
  if (f->sum_count == MOST_SUMS) return;
  if (instr->op == HLO_REDUCE && is_computed(f, instr->operands[0]))
    f->sums[f->sum_count++] =
        (summed_t){instr->operands[0]->shape, hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS)};
  else if (find_thin_dot(f, instr, &dot))
    f->sums[f->sum_count++] = (summed_t){dot.wide.x->shape, dot.wide.contracting};
}

static hr_status_t find_arrays(hr_arena_t *arena, const hlo_computation_t *computation,
                               finder_t *f) {
  HR_TRY(pass_users_find(arena, computation, &f->users));
  HR_TRY(HR_NEW_ARRAY(arena, f->count, &f->computed));
  for (uint32_t i = 0; i < f->count; i++)
    f->computed[i] = find_computed(f, computation->instrs.data[i]);
  for (uint32_t i = 0; i < f->count; i++) note_sum(f, computation->instrs.data[i]);
  return NULL;
}

static hr_status_t visit(pass_rewrite_t *rewrite, const finder_t *f, hlo_instr_t *instr) {
  thin_dot_t dot;
  hlo_opcode_t op;
  if (find_thin_dot(f, instr, &dot))
    return pass_replace(rewrite, instr, expand_dot(rewrite, instr, &dot));
  bool is_reduced = is_exact_reduce(instr, &op) && is_computed(f, instr->operands[0]) &&
                    pass_is_neutral(op, instr->operands[1]);
  hr_ints_t fewer = is_reduced ? find_fewer(f, instr) : (hr_ints_t){NULL, 0};
  return fewer.count ? pass_replace(rewrite, instr, reduce_twice(rewrite, instr, fewer)) : NULL;
}

static hr_status_t visit_all(pass_rewrite_t *rewrite) {
  finder_t f = {.count = rewrite->old_count};
  HR_TRY(find_arrays(&rewrite->scratch, rewrite->computation, &f));
  for (uint32_t i = 0; i < f.count; i++) {
    hlo_instr_t *instr = pass_rewrite_visit(rewrite, i);
    if (instr) HR_TRY(visit(rewrite, &f, instr));
  }
  return NULL;
}

static hr_status_t rewrite_computation(hlo_computation_t *computation, bool *out_changed) {
  pass_rewrite_t rewrite;
  HR_TRY(pass_rewrite_begin(&rewrite, computation));
  hr_status_t st = visit_all(&rewrite);
  *out_changed |= rewrite.changed;
  return pass_rewrite_end(&rewrite, st);
}

hr_status_t pass_sums_of_computed(hlo_module_t *module, bool *out_changed) {
  return pass_rewrite_unfused(module, rewrite_computation, out_changed);
}
