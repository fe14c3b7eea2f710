/* --data-parallel: the gradients of a training step become means over the replicas.
 *
 * A value is local if it depends on a source that differs between replicas: a fed parameter, a
 * random number, the replica's own number. The new value of every variable must not be local, or
 * the replicas drift apart. Local values at the border of the optimizer, the leaves
 * (tf_gradient_leaves.c), are replaced by their means. The forward and backward passes keep their
 * local values: only the instructions between leaves and updates are built again.
 *
 *   x, w --backward--> g (leaf) --optimizer--> w'     becomes     mean(g) --optimizer--> w'
 *
 * An update that may not be computed from means (tf_update_proof.c) is refused, by the name of its
 * variable. Afterwards no update is local.
 *
 * Rows of a sparse gradient are added to a variable by a scatter; the mean is that of the sums of
 * rows alone. Where the optimizer scales rows by values of other leaves, such as the sums of their
 * squares, the rows are scaled again by the means' values (tf_row_updates.c). */
#include "tf/parallel/tf_data_parallel.h"

#include "tf/parallel/tf_update_proof.h"

/* --- local values --- */

/* --- leaves --- */

/* --- leaves that others cover --- */

/* --- rows that are scaled --- */

/* --- norms of rows --- */

/* --- the proof --- */

/* --- the new program --- */

/* Computation (x, y) -> x + y. */
static hr_status_t make_add(tf_parallel_t *p, hr_dtype_t dtype, hlo_computation_t **out) {
  const char *name;
  HR_TRY(hr_arena_printf(p->r.arena, &name, "replica_sum_%s", hr_dtype_name(dtype)));
  for (size_t i = 0; i < p->module->computations.count; i++)
    if (hr_str_is(p->module->computations.data[i]->name, name)) {
      *out = p->module->computations.data[i];
      return NULL;
    }
  HR_TRY(hlo_computation_add(p->module, hr_str_from(name), out));
  hlo_builder_t b = hlo_builder_at(*out, 0, 0);
  expr_t x = hlo_build_parameter(&b, 0, hlo_shape_scalar(dtype));
  expr_t y = hlo_build_parameter(&b, 1, hlo_shape_scalar(dtype));
  (*out)->root = hlo_build_binary(&b, HLO_ADD, x, y);
  return hlo_builder_finish(&b);
}

static hr_status_t build_sum(tf_parallel_t *p, expr_t x, expr_t *out) {
  hlo_computation_t *add;
  hlo_groups_t *groups;
  HR_TRY(make_add(p, x->shape->dtype, &add));
  HR_TRY(HR_NEW(p->r.arena, &groups));
  hlo_attr_t attrs[] = {{.key = HLO_ATTR_REPLICA_GROUPS, .groups = groups},
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  *out = hlo_build(&p->b, HLO_ALL_REDUCE, NULL, 1, &x, 2, attrs, 1, &add);
  return hlo_builder_finish(&p->b);
}

/* The sum over the replicas over their number, which is a sum of ones, or over its square. */
static hr_status_t build_mean(tf_parallel_t *p, expr_t x, bool is_squares, expr_t *out) {
  expr_t sum, count;
  if (!hr_dtype_is_float(x->shape->dtype))
    return hr_error(HR_UNSUPPORTED, "%s of replicas have no mean", hr_dtype_name(x->shape->dtype));
  HR_TRY(build_sum(p, x, &sum));
  HR_TRY(build_sum(p, hlo_build_number(&p->b, 1, x->shape->dtype), &count));
  if (is_squares) count = hlo_build_binary(&p->b, HLO_MULTIPLY, count, count);
  count = hlo_build_broadcast(&p->b, count, x->shape, (hr_ints_t){0});
  *out = hlo_build_binary(&p->b, HLO_DIVIDE, sum, count);
  return hlo_builder_finish(&p->b);
}

/* The mean of the rows' sums alone, added to the array that the rows are added to. */
static hr_status_t build_row_mean(tf_parallel_t *p, expr_t sum, expr_t *out) {
  hlo_builder_t *b = &p->b;
  expr_t base = p->copies[sum->operands[0]->id], mean;
  expr_t zero = hlo_build_number(b, 0, sum->shape->dtype);
  expr_t operands[] = {hlo_build_broadcast(b, zero, sum->shape, (hr_ints_t){0}),
                       p->copies[sum->operands[1]->id], p->copies[sum->operands[2]->id]};
  b->extra = sum->extra;
  expr_t rows = hlo_build(b, sum->op, sum->shape, 3, operands, sum->attr_count, sum->attrs,
                          sum->called_count, sum->called);
  b->extra = NULL;
  HR_TRY(hlo_builder_finish(b));
  HR_TRY(build_mean(p, rows, tf_is_sum_of_squares(&p->r, sum), &mean));
  *out = tf_is_zeros(base) ? mean : hlo_build_binary(b, HLO_ADD, base, mean);
  return hlo_builder_finish(b);
}

static hr_status_t build_leaf(tf_parallel_t *p, expr_t leaf, expr_t *out) {
  if (tf_is_row_sum(leaf)) return build_row_mean(p, leaf, out);
  return build_mean(p, leaf, tf_is_sum_of_squares(&p->r, leaf), out);
}

/* The entry's instructions are in order, so that operands have their copies before. */
static hr_status_t build_copies(tf_parallel_t *p) {
  const hlo_computation_t *entry = p->module->entry;
  for (size_t i = 0; i < p->r.count; i++) {
    expr_t instr = entry->instrs.data[i], *operands;
    p->copies[i] = instr;
    if (p->r.leaf[i]) HR_TRY(build_leaf(p, instr, &p->copies[i]));
    if (!p->r.region[i]) continue;
    HR_TRY(HR_NEW_ARRAY(p->r.arena, instr->operand_count, &operands));
    for (int k = 0; k < instr->operand_count; k++) operands[k] = p->copies[instr->operands[k]->id];
    p->b.extra = instr->extra;
    p->copies[i] = hlo_build(&p->b, instr->op, instr->shape, instr->operand_count, operands,
                             instr->attr_count, instr->attrs, instr->called_count, instr->called);
    p->b.extra = NULL;
    HR_TRY(hlo_builder_finish(&p->b));
  }
  return NULL;
}

/* Callees come before the entry in the module's list. */
static void order_computations(hlo_module_t *module) {
  size_t at = 0, count = module->computations.count;
  while (at < count && module->computations.data[at] != module->entry) at++;
  for (; at + 1 < count; at++) module->computations.data[at] = module->computations.data[at + 1];
  module->computations.data[count - 1] = module->entry;
  for (size_t i = 0; i < count; i++) module->computations.data[i]->id = (uint32_t)i;
}

/* Allocates the arrays by instruction; instructions that are added later have no entry. */
static hr_status_t begin(tf_parallel_t *p, hlo_module_t *module) {
  *p = (tf_parallel_t){
      .module = module,
      .b = hlo_builder_at(module->entry, 0, 0),
      .r = {.arena = &module->arena, .entry = module->entry, .count = module->entry->instrs.count}};
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &p->r.local));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &p->r.leaf));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &p->r.region));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &p->bad));
  return HR_NEW_ARRAY(p->r.arena, p->r.count, &p->copies);
}

/* Rows that a branch adds would be counted in each replica, except rows that are linear in the
 * gradient. */
static hr_status_t check_branches(const tf_parallel_t *p) {
  for (size_t i = 0; i < p->r.count; i++) {
    const hlo_instr_t *instr = p->module->entry->instrs.data[i];
    if (instr->op != HLO_CONDITIONAL || !hlo_shape_is_dynamic(instr->shape)) continue;
    if (p->r.region[i]) continue;
    return hr_error(HR_UNSUPPORTED,
                    "--data-parallel: a branch gives rows whose number depends on data");
  }
  return NULL;
}

/* The new values of variables, which must be the same everywhere, and the loss. */
static hr_status_t find_region(tf_parallel_t *p, const tf_data_parallel_t *what) {
  expr_t root = p->module->entry->root;
  for (int k = 0; k < what->update_count; k++)
    HR_TRY(tf_find_leaves(p, root->operands[what->first_update + k]));
  HR_TRY(tf_move_covered_leaves(p));
  HR_TRY(tf_merge_leaf_products(p));
  HR_TRY(tf_find_scaled_rows(p));
  HR_TRY(check_branches(p));
  for (int k = 0; k < what->update_count; k++) {
    bool good;
    HR_TRY(tf_check_update(p, root->operands[what->first_update + k], &good));
    if (good) continue;
    return hr_error(HR_UNSUPPORTED,
                    "--data-parallel: the new value of variable %.*s is no function of means over "
                    "the replicas; sum its gradient in the graph (CrossReplicaSum), or leave the "
                    "first size of every input open, so that -n cuts the examples of all",
                    HR_STR_ARGS(what->names[k]));
  }
  return NULL;
}

/* After the change nothing local may reach an update. */
static hr_status_t prove(tf_parallel_t *p, const tf_data_parallel_t *what, expr_t const *elements) {
  tf_parallel_t after;
  HR_TRY(begin(&after, p->module));
  tf_mark_local(&after, what->parameter_count, what->is_variable);
  for (int k = 0; k < what->update_count; k++) {
    size_t at = (size_t)what->first_update + (size_t)k;
    if (!after.r.local[elements[at]->id]) continue;
    return hr_error(HR_UNSUPPORTED,
                    "--data-parallel: the new value of variable %.*s would differ between the "
                    "replicas",
                    HR_STR_ARGS(what->names[k]));
  }
  return NULL;
}

hr_status_t tf_make_data_parallel(hlo_module_t *module, const tf_data_parallel_t *what) {
  tf_parallel_t p;
  expr_t root = module->entry->root, *elements;
  HR_TRY(begin(&p, module));
  p.is_strict = what->is_strict;
  tf_mark_local(&p, what->parameter_count, what->is_variable);
  if (what->loss < 0 || what->loss >= what->first_update ||
      root->operands[what->loss]->shape->rank ||
      !hr_dtype_is_float(root->operands[what->loss]->shape->dtype))
    return hr_error(HR_USAGE, "--data-parallel: the loss is no result that is a float scalar");
  if (!what->update_count)
    return hr_error(HR_USAGE, "--data-parallel: the program changes no variable");
  HR_TRY(find_region(&p, what));
  HR_TRY(HR_NEW_ARRAY(p.r.arena, root->operand_count, &elements));
  HR_TRY(build_copies(&p));
  for (int k = 0; k < root->operand_count; k++) elements[k] = root->operands[k];
  for (int k = 0; k < what->update_count; k++)
    elements[what->first_update + k] = p.copies[root->operands[what->first_update + k]->id];
  expr_t loss = root->operands[what->loss];
  if (p.r.local[loss->id]) HR_TRY(build_mean(&p, loss, false, &elements[what->loss]));
  HR_TRY(prove(&p, what, elements));
  p.b.extra = root->extra;
  module->entry->root = hlo_build_tuple(&p.b, root->operand_count, elements);
  order_computations(module);
  return hlo_builder_finish(&p.b);
}
