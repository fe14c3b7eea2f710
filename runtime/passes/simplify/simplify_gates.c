/* Products of a large array with a small matrix over middle dimensions of the array, such as gates
 * on qubits or small matrices on an axis of a grid. With few terms:
 *
 *   y[a,k,c] x[i,k]   ->   transpose(r[a,i,c]),
 *   r[a,i,c] = x[i,0] y[a,0,c] + x[i,1] y[a,1,c] + ...
 *
 * and with more terms a batch of products, r = dot(broadcast(x)[a,i,k], y[a,k,c]).
 *
 * The result is computed in the memory order of y, with i in the position of k, and a transpose
 * restores the order of the product; it often cancels with its inverse. Terms are added in
 * ascending order. */
#include "passes/simplify/simplify_dots.h"

#define MAX_TERMS 16
#define MAX_FEW 16 /* most elements of the small matrix's free dimensions */
#define MAX_TINY 4 /* most terms, and most such elements, if no dimension need be in the middle */
#define MIN_RESULTS 512
/* Least ratio of the columns of a product of the batch to the rows of the small matrix. */
#define MIN_BATCH_RATIO 4

typedef struct gate {
  dot_side_t many, few;
  int few_number; /* operand number of the small matrix */
  int64_t terms;
  int64_t place[2][HLO_MAX_RANK]; /* by operand (many or few) and dimension: position in the sum;
                                     -1: none */
  int64_t sizes[HLO_MAX_RANK];
  int rank;
} gate_t;

static int64_t role_size(const dot_side_t *side, dot_role_t role) {
  int64_t size = 1;
  for (int d = 0; d < side->x->shape->rank; d++)
    if (dot_dim_role(side, d) == role) size *= side->x->shape->dims[d];
  return size;
}

/* Is there a free dimension before some contracted one, and another one after it? */
static bool contracts_in_the_middle(const dot_side_t *side) {
  bool is_before = false, is_middle = false;
  for (int d = 0; d < side->x->shape->rank; d++) {
    dot_role_t role = dot_dim_role(side, d);
    if (side->x->shape->dims[d] == 1) continue;
    if (role == FREE && is_middle) return true;
    is_before |= role == FREE;
    is_middle |= role == CONTRACTING && is_before;
  }
  return false;
}

static bool read_gate(const hlo_instr_t *dot, gate_t *gate) {
  dot_side_t sides[2];
  dot_sides_read(dot, sides);
  gate->few_number = role_size(&sides[0], FREE) < role_size(&sides[1], FREE) ? 0 : 1;
  gate->few = sides[gate->few_number];
  gate->many = sides[1 - gate->few_number];
  gate->terms = role_size(&gate->few, CONTRACTING);
  return gate->few.contracting.count && hlo_shape_elements(dot->shape) >= MIN_RESULTS;
}

static bool has_few_terms(const gate_t *gate) {
  int64_t few = role_size(&gate->few, FREE);
  if (gate->terms > MAX_TERMS || few > MAX_FEW) return false;
  bool is_tiny = gate->terms <= MAX_TINY && few <= MAX_TINY && !gate->few.batch.count;
  return is_tiny || contracts_in_the_middle(&gate->many);
}

static void put_dim(gate_t *gate, int side, int64_t d) {
  const hlo_shape_t *shape = (side ? gate->few : gate->many).x->shape;
  gate->sizes[gate->rank] = shape->dims[d];
  gate->place[side][d] = gate->rank++;
}

/* Places free dimensions of the small matrix, from *next on, at most `count`. */
static void put_few(gate_t *gate, int count, int *next) {
  for (; *next < gate->few.x->shape->rank && count > 0; ++*next)
    if (dot_dim_role(&gate->few, *next) == FREE) {
      put_dim(gate, 1, *next);
      count--;
    }
}

/* Replaces each contracted dimension by one free dimension if there are as many. Otherwise, or if
 * they must stay together, places all free dimensions at the first contracted one. */
static void order_dims(gate_t *gate, bool together) {
  int next = 0, free = dot_free_count(&gate->few);
  bool one_each = !together && free == (int)gate->few.contracting.count;
  for (int d = 0; d < gate->many.x->shape->rank; d++) {
    gate->place[0][d] = -1;
    if (dot_dim_role(&gate->many, d) == CONTRACTING)
      put_few(gate, one_each ? 1 : free, &next);
    else
      put_dim(gate, 0, d);
  }
  for (int64_t i = 0; i < gate->few.batch.count; i++)
    gate->place[1][gate->few.batch.data[i]] = gate->place[0][gate->many.batch.data[i]];
}

/* One factor of term number `term`, broadcast to the sum. */
static hlo_instr_t *build_factor(pass_rewrite_t *rewrite, const gate_t *gate, int side_number,
                                 int64_t term, const hlo_shape_t *all) {
  const dot_side_t *side = side_number ? &gate->few : &gate->many;
  const hlo_shape_t *shape = side->x->shape;
  hlo_slice_dim_t slice[HLO_MAX_RANK];
  int64_t sizes[HLO_MAX_RANK], places[HLO_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < shape->rank; d++) {
    slice[d] = (hlo_slice_dim_t){0, shape->dims[d], 1};
    if (dot_dim_role(side, d) == CONTRACTING) continue;
    sizes[rank] = shape->dims[d];
    places[rank++] = gate->place[side_number][d];
  }
  for (int64_t i = side->contracting.count; i-- > 0;) {
    int64_t d = side->contracting.data[i], at = term % shape->dims[d];
    slice[d] = (hlo_slice_dim_t){at, at + 1, 1};
    term /= shape->dims[d];
  }
  hlo_instr_t *part = pass_build_slice(rewrite, side->x, slice);
  const hlo_shape_t *kept = pass_shape(rewrite, shape->dtype, rank, sizes);
  part = part && kept ? hlo_build_reshape(&rewrite->builder, part, kept) : NULL;
  return part ? dot_broadcast_operand(rewrite, part, places, all) : NULL;
}

static hlo_instr_t *build_sum(pass_rewrite_t *rewrite, const gate_t *gate, hr_dtype_t dtype) {
  hlo_builder_t *builder = &rewrite->builder;
  const hlo_shape_t *all = pass_shape(rewrite, dot_sum_dtype(dtype), gate->rank, gate->sizes);
  hlo_instr_t *sum = NULL;
  for (int64_t t = 0; t < gate->terms && all; t++) {
    hlo_instr_t *y = build_factor(rewrite, gate, 0, t, all),
                *x = build_factor(rewrite, gate, 1, t, all);
    hlo_instr_t *product = x && y ? hlo_build_binary(builder, HLO_MULTIPLY, y, x) : NULL;
    sum = sum && product ? hlo_build_binary(builder, HLO_ADD, sum, product) : product;
    if (!sum) return NULL;
  }
  return sum ? hlo_build_convert(builder, sum, dtype) : NULL;
}

/* --- a batch of products ---------------------------------------------------------------------- */

/* Number of free dimensions before the contracted ones, which must be adjacent and in the order of
 * the small matrix. 0: another order, or the small matrix is too large to be repeated. */
static int batch_dims(const gate_t *gate) {
  const dot_side_t *many = &gate->many;
  int first = 0;
  int64_t columns = 1;
  while (first < many->x->shape->rank && dot_dim_role(many, first) == FREE) first++;
  for (int64_t i = 0; i < many->contracting.count; i++)
    if (many->contracting.data[i] != first + i) return 0;
  for (int d = first; d < many->x->shape->rank; d++)
    if (dot_dim_role(many, d) == FREE) columns *= many->x->shape->dims[d];
  bool is_wide = columns >= MIN_BATCH_RATIO * role_size(&gate->few, FREE);
  return is_wide && !many->batch.count ? first : 0;
}

/* Repeats the small matrix for each product of the batch. */
static hlo_instr_t *build_batch(pass_rewrite_t *rewrite, const gate_t *gate, int batch,
                                const hlo_instr_t *dot) {
  const hlo_shape_t *few = gate->few.x->shape;
  int64_t sizes[HLO_MAX_RANK], moved[HLO_MAX_RANK], numbers[HLO_MAX_RANK], over[HLO_MAX_RANK];
  if (batch + few->rank > HLO_MAX_RANK) return NULL;
  for (int d = 0; d < batch; d++) {
    numbers[d] = d;
    sizes[d] = gate->many.x->shape->dims[d];
  }
  for (int d = 0; d < few->rank; d++) {
    moved[d] = batch + d;
    sizes[batch + d] = few->dims[d];
  }
  for (int64_t i = 0; i < gate->few.contracting.count; i++)
    over[i] = batch + gate->few.contracting.data[i];
  const hlo_shape_t *all = pass_shape(rewrite, few->dtype, batch + few->rank, sizes),
                    *shape = pass_shape(rewrite, dot->shape->dtype, gate->rank, gate->sizes);
  if (!all || !shape) return NULL;
  dot_side_t sides[] = {
      {hlo_build_broadcast(&rewrite->builder, gate->few.x, all, (hr_ints_t){moved, few->rank}),
       {numbers, batch},
       {over, gate->few.contracting.count}},
      {gate->many.x, {numbers, batch}, gate->many.contracting}};
  return dot_build(rewrite, dot, sides, shape);
}

/* --- restoring the order ---------------------------------------------------------------------- */

static hlo_instr_t *build_in_order(pass_rewrite_t *rewrite, const gate_t *gate, hlo_instr_t *sum) {
  int64_t permutation[HLO_MAX_RANK];
  int at = 0;
  for (int64_t i = 0; i < gate->many.batch.count; i++)
    permutation[at++] = gate->place[0][gate->many.batch.data[i]];
  for (int s = 0; s < 2; s++) {
    int is_few = s == gate->few_number;
    const dot_side_t *side = is_few ? &gate->few : &gate->many;
    for (int d = 0; d < side->x->shape->rank; d++)
      if (dot_dim_role(side, d) == FREE) permutation[at++] = gate->place[is_few][d];
  }
  return pass_build_transpose(rewrite, sum, permutation);
}

hlo_instr_t *simplify_gates(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  gate_t gate = {.rank = 0};
  hlo_instr_t *sum = NULL;
  dot_side_t sides[2];
  if (instr->op != HLO_DOT || hlo_attr_enum(instr, HLO_ATTR_ALGORITHM) || !read_gate(instr, &gate))
    return NULL;
  dot_sides_read(instr, sides);
  int batch = batch_dims(&gate);
  bool has_few = has_few_terms(&gate) && dot_is_summed(sides, instr->shape->dtype);
  order_dims(&gate, !has_few);
  if (has_few)
    sum = build_sum(rewrite, &gate, instr->shape->dtype);
  else if (batch)
    sum = build_batch(rewrite, &gate, batch, instr);
  return sum ? build_in_order(rewrite, &gate, sum) : NULL;
}
