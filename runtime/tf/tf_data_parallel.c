/* --data-parallel: the gradients of a training step become means over the replicas.
 *
 * A value is local if it depends on a source that differs between replicas: a fed parameter, a
 * random number, the replica's own number. The new value of every variable must not be local, or
 * the replicas drift apart. The walk goes back from it over elementwise operations and changes of
 * shape; where it meets another local operation (a product, a sum over examples, a loop) it has
 * found a leaf, which is replaced by its mean over the replicas. The forward and backward passes
 * keep their local values: only the instructions between leaves and updates are built again.
 *
 *   x, w --backward--> g (leaf) --optimizer--> w'     becomes     mean(g) --optimizer--> w'
 *
 * A leaf that is computed from other leaves alone, such as the norm of all gradients, belongs to
 * the optimizer and is built again, too. The proof is that afterwards no update is local. An update
 * is refused, by the name of its variable, if two different leaves are multiplied by the optimizer
 * (a product of leaves that no variable takes part in is a gradient, and a leaf itself), or if a
 * parameter itself goes into an operation that is not linear: the mean of such values is not the
 * value that one process with all examples would compute.
 *
 * Rows of a sparse gradient are added to a variable by a scatter; the mean is that of the sums of
 * rows alone. Where the optimizer scales rows by values of other leaves, such as the sums of their
 * squares, the rows are scaled again by the means' values (tf_row_updates.c).
 *
 * Cost: linear in the instructions of the entry computation, once per leaf that is moved. */
#include "tf/tf_data_parallel.h"

#include "ops/rules/builder.h"
#include "tf/tf_row_updates.h"

typedef hlo_instr_t *expr_t;

/* Facts about the instructions of the entry computation, by number. */
typedef struct parallel {
  hlo_module_t *module;
  hlo_builder_t b;
  tf_rows_t r;    /* classes of instructions, before anything is added */
  bool *bad;      /* a sum of rows whose mean is not that of one process */
  expr_t *copies; /* its replacement in the optimizer */
  bool is_strict; /* as in tf_data_parallel_t */
} parallel_t;

/* --- local values --- */

static bool is_source(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_REPLICA_ID:
    case HLO_PARTITION_ID:
    case HLO_RNG:
    case HLO_INFEED:
    case HLO_RECV:
      return true;
    default:
      return false;
  }
}

/* Computations are few and shallow; loops of calls do not exist in HLO. */
static bool has_source(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    if (is_source(instr)) return true;
    for (int k = 0; k < instr->called_count; k++)
      if (has_source(instr->called[k])) return true;
  }
  return false;
}

/* A collective gives all replicas the same. */
static bool is_reduced(const hlo_instr_t *instr) {
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  bool of_all = instr->op == HLO_ALL_REDUCE || instr->op == HLO_ALL_GATHER;
  return of_all && (!groups || groups->groups.count <= 1);
}

static void mark_local(parallel_t *p, int parameter_count, const bool *is_variable) {
  const hlo_computation_t *entry = p->module->entry;
  for (size_t i = 0; i < p->r.count; i++) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    int64_t number = instr->op == HLO_PARAMETER ? hlo_parameter_number(instr) : -1;
    bool local = is_source(instr);
    if (number >= 0) local = number >= parameter_count || !is_variable[number];
    for (int k = 0; k < instr->operand_count; k++) local |= p->r.local[instr->operands[k]->id];
    for (int k = 0; k < instr->called_count; k++) local |= has_source(instr->called[k]);
    p->r.local[i] = local && !is_reduced(instr);
  }
}

/* --- leaves --- */

/* Changes of shape, which are linear in their only array. */
static bool is_movement(hlo_opcode_t op) {
  switch (op) {
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
    case HLO_BROADCAST:
    case HLO_CONVERT:
    case HLO_SLICE:
    case HLO_PAD:
    case HLO_COPY:
    case HLO_REVERSE:
    case HLO_CONCATENATE:
      return true;
    default:
      return false;
  }
}

static bool is_elementwise(hlo_opcode_t op) {
  return hlo_op_is(op, OP_ELEMENTWISE) && !hlo_op_is(op, OP_RANDOM);
}

/* The walk goes through the optimizer; everything else that is local is a leaf. Values that several
 * parts of the backward pass read are shared: a product among them is a leaf all the same. */
static hr_status_t find_leaves(parallel_t *p, expr_t from) {
  expr_t *stack;
  size_t height = 0;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count + 1, &stack));
  if (!p->r.local[from->id] || p->r.region[from->id] || p->r.leaf[from->id]) return NULL;
  stack[height++] = from;
  while (height) {
    expr_t instr = stack[--height];
    if (p->r.region[instr->id] || p->r.leaf[instr->id]) continue;
    bool passes = is_elementwise(instr->op) || is_movement(instr->op);
    int count = passes ? instr->operand_count : tf_is_row_sum(instr);
    p->r.region[instr->id] = passes;
    p->r.leaf[instr->id] = !passes;
    for (int k = 0; k < count; k++) {
      expr_t operand = instr->operands[k];
      bool seen = p->r.region[operand->id] || p->r.leaf[operand->id];
      if (p->r.local[operand->id] && !seen && height < p->r.count) stack[height++] = operand;
    }
  }
  return NULL;
}

/* --- leaves that others cover --- */

/* Whether all local values that a leaf is computed from come through other leaves. */
static hr_status_t is_covered(parallel_t *p, expr_t leaf, bool *out_covered) {
  expr_t *stack;
  bool *seen;
  size_t height = 0;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count + 1, &stack));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &seen));
  *out_covered = leaf->op == HLO_REDUCE || leaf->op == HLO_DOT;
  stack[height++] = leaf;
  while (height && *out_covered) {
    expr_t instr = stack[--height];
    if (is_source(instr) || instr->op == HLO_PARAMETER || instr->called_count > 1)
      *out_covered = false;
    for (int k = 0; k < instr->operand_count; k++) {
      expr_t operand = instr->operands[k];
      if (!p->r.local[operand->id] || seen[operand->id]) continue;
      seen[operand->id] = true;
      p->r.leaf[operand->id] |= tf_is_sum_of_squares(&p->r, operand);
      if (!p->r.leaf[operand->id] && height < p->r.count) stack[height++] = operand;
    }
  }
  return NULL;
}

/* Leaves that others cover become part of the optimizer, and so do the values that they are
 * computed from. */
static hr_status_t move_covered(parallel_t *p) {
  const hlo_computation_t *entry = p->module->entry;
  bool moved = true;
  for (int round = 0; moved && round < 8; round++) {
    moved = false;
    for (size_t i = 0; i < p->r.count; i++) {
      bool covered = false;
      expr_t leaf = entry->instrs.data[i];
      if (p->r.leaf[i]) HR_TRY(is_covered(p, leaf, &covered));
      if (!covered) continue;
      moved = true;
      p->r.leaf[i] = false;
      p->r.region[i] = true;
      for (int k = 0; k < leaf->operand_count; k++) HR_TRY(find_leaves(p, leaf->operands[k]));
    }
  }
  return NULL;
}

/* --- rows that are scaled --- */

/* Instructions between other leaves and the updates of a sum of rows are built again, too. */
static hr_status_t find_scaled(parallel_t *p, expr_t sum) {
  const hlo_computation_t *entry = p->module->entry;
  bool *depends, *needed;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &depends));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &needed));
  for (size_t i = 0; i < sum->id; i++) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    depends[i] = p->r.leaf[i];
    for (int k = 0; k < instr->operand_count; k++) depends[i] |= depends[instr->operands[k]->id];
  }
  needed[sum->operands[1]->id] = needed[sum->operands[2]->id] = true;
  for (size_t i = sum->id; i-- > 0;) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    if (!needed[i] || !depends[i] || p->r.leaf[i]) continue;
    p->r.region[i] = true;
    for (int k = 0; k < instr->operand_count; k++) needed[instr->operands[k]->id] = true;
  }
  return NULL;
}

static hr_status_t find_scaled_rows(parallel_t *p) {
  const hlo_computation_t *entry = p->module->entry;
  for (size_t i = 0; i < p->r.count; i++)
    if (p->r.leaf[i] && tf_is_row_sum(entry->instrs.data[i]))
      HR_TRY(find_scaled(p, entry->instrs.data[i]));
  for (size_t i = 0; i < p->r.count; i++)
    if (p->r.leaf[i] && entry->instrs.data[i]->op == HLO_SCATTER)
      HR_TRY(tf_check_rows(&p->r, entry->instrs.data[i], &p->bad[i]));
  return NULL;
}

/* --- norms of rows --- */

static hr_status_t depends_on(const parallel_t *p, expr_t from, expr_t what, bool *out_depends) {
  expr_t *stack;
  bool *seen;
  size_t height = 0;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &stack));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &seen));
  stack[height++] = from;
  while (height) {
    expr_t instr = stack[--height];
    for (int k = 0; k < instr->operand_count; k++) {
      expr_t operand = instr->operands[k];
      if (!seen[operand->id]) stack[height++] = operand;
      seen[operand->id] = true;
    }
  }
  *out_depends = seen[what->id];
  return NULL;
}

/* Whether rows are scaled by a scalar that is computed from them, their norm: then the leaf hides
 * the optimizer, which would scale by the norm of all replicas. */
static hr_status_t scales_by_norm(const parallel_t *p, const hlo_instr_t *leaf, bool *out_scales) {
  expr_t at = tf_is_row_sum(leaf) ? tf_without_reshape(leaf->operands[2]) : NULL;
  *out_scales = false;
  while (at && !*out_scales && is_elementwise(at->op)) {
    expr_t next = at->operands[0];
    for (int k = 0; k < 2 && at->operand_count == 2; k++) {
      expr_t scale = at->operands[k], rows = at->operands[1 - k];
      if (scale->op != HLO_BROADCAST || scale->operands[0]->shape->rank) continue;
      next = rows;
      if (p->r.local[scale->id]) HR_TRY(depends_on(p, scale, rows, out_scales));
    }
    at = tf_without_reshape(next);
  }
  return NULL;
}

/* --- the proof --- */

/* Form of a value of the optimizer: fixed, linear in the leaves, or neither; and which leaf it
 * depends on (-1: several). */
typedef struct form {
  bool local, linear;
  int64_t leaf;
  bool raw; /* a leaf is a parameter or a random number */
} form_t;

static form_t join_forms(form_t x, form_t y) {
  if (!x.local) return y;
  if (!y.local) return x;
  return (form_t){true, x.linear && y.linear, x.leaf == y.leaf ? x.leaf : -1, x.raw || y.raw};
}

/* Linear operations keep forms; a product or quotient with something fixed does, too. */
static bool keeps_linear(const hlo_instr_t *instr, const form_t *forms) {
  bool first = forms[instr->operands[0]->id].local;
  bool second = instr->operand_count > 1 && forms[instr->operands[1]->id].local;
  switch (instr->op) {
    case HLO_ADD:
    case HLO_SUBTRACT:
    case HLO_NEGATE:
      return true;
    case HLO_MULTIPLY:
      return !(first && second);
    case HLO_DIVIDE:
      return !second;
    case HLO_SELECT:
      return !first;
    case HLO_REDUCE:
      return instr->called[0]->root->op == HLO_ADD;
    default:
      return is_movement(instr->op);
  }
}

/* Two different leaves in one product. A product with a value of several leaves together is the
 * scaling of gradients by their norm. */
static bool mixes_leaves(const hlo_instr_t *instr, const form_t *forms) {
  if (instr->op != HLO_MULTIPLY && instr->op != HLO_DIVIDE && instr->op != HLO_POWER) return false;
  form_t x = forms[instr->operands[0]->id], y = forms[instr->operands[1]->id];
  return x.local && y.local && x.leaf >= 0 && y.leaf >= 0 && x.leaf != y.leaf;
}

/* Finds products of two leaves that depend on leaves and constants alone, on no variable: such a
 * product still belongs to the gradient, not to the optimizer, as for BatchNormalization's scale,
 * whose gradient is a sum over examples times a function of their variance. The product becomes a
 * leaf itself. */
static hr_status_t merge_products(parallel_t *p) {
  const hlo_computation_t *entry = p->module->entry;
  form_t *forms;
  bool *pure;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &forms));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &pure));
  for (size_t i = 0; i < p->r.count; i++) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    pure[i] = p->r.leaf[i] || instr->op != HLO_PARAMETER;
    if (p->r.leaf[i]) forms[i] = (form_t){true, true, (int64_t)tf_gradient_of(&p->r, i), false};
    if (p->r.leaf[i] && tf_is_row_sum(instr)) pure[i] = pure[instr->operands[0]->id];
    if (p->r.leaf[i]) continue;
    for (int k = 0; k < instr->operand_count; k++) pure[i] &= pure[instr->operands[k]->id];
    if (!p->r.region[i]) continue;
    for (int k = 0; k < instr->operand_count; k++)
      forms[i] = join_forms(forms[i], forms[instr->operands[k]->id]);
    if (!pure[i] || !mixes_leaves(instr, forms)) continue;
    p->r.region[i] = false;
    p->r.leaf[i] = true;
    forms[i] = (form_t){true, true, (int64_t)i, false};
  }
  return NULL;
}

/* A leaf must not be a result of a branch or a call, where an optimizer may hide. */
static bool hides_optimizer(const hlo_instr_t *instr) {
  while (instr->op == HLO_GET_TUPLE_ELEMENT) instr = instr->operands[0];
  return instr->op == HLO_CONDITIONAL || instr->op == HLO_CALL;
}

/* Operations of both the backward pass and optimizers: rows that are added may be clipped before,
 * and gradients sorted or factored. */
static bool may_hide_optimizer(const hlo_instr_t *instr) {
  while (instr->op == HLO_GET_TUPLE_ELEMENT) instr = instr->operands[0];
  switch (instr->op) {
    case HLO_SCATTER:
    case HLO_SORT:
    case HLO_TOPK:
    case HLO_FFT:
    case HLO_CHOLESKY:
    case HLO_TRIANGULAR_SOLVE:
    case HLO_CUSTOM_CALL:
      return true;
    default:
      return false;
  }
}

/* The update itself is a result of a loop: the training loop is in the program. */
static bool is_loop_result(const parallel_t *p, const hlo_instr_t *root) {
  if (!p->r.leaf[root->id]) return false;
  while (root->op == HLO_GET_TUPLE_ELEMENT) root = root->operands[0];
  return root->op == HLO_WHILE;
}

/* *out_good: every value of the optimizer that `root` depends on may be computed from means. */
static hr_status_t check_update(parallel_t *p, expr_t root, bool *out_good) {
  const hlo_computation_t *entry = p->module->entry;
  form_t *forms;
  bool *bad;
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &forms));
  HR_TRY(HR_NEW_ARRAY(p->r.arena, p->r.count, &bad));
  for (size_t i = 0; i <= root->id; i++) {
    const hlo_instr_t *instr = entry->instrs.data[i];
    bool raw = is_source(instr) || instr->op == HLO_PARAMETER;
    if (p->r.leaf[i]) forms[i] = (form_t){true, true, (int64_t)tf_gradient_of(&p->r, i), raw};
    if (p->r.leaf[i]) HR_TRY(scales_by_norm(p, instr, &bad[i]));
    bad[i] |= p->bad[i] || (p->r.leaf[i] && hides_optimizer(instr));
    bad[i] |= p->r.leaf[i] && p->is_strict && may_hide_optimizer(instr);
    if (p->r.leaf[i] && tf_is_row_sum(instr)) {
      const uint32_t base = instr->operands[0]->id;
      forms[i] = join_forms(forms[base], forms[i]);
      bad[i] |= bad[base] || bad[instr->operands[2]->id];
    }
    if (!p->r.region[i]) continue;
    for (int k = 0; k < instr->operand_count; k++) {
      forms[i] = join_forms(forms[i], forms[instr->operands[k]->id]);
      bad[i] |= bad[instr->operands[k]->id];
    }
    forms[i].linear = forms[i].linear && keeps_linear(instr, forms);
    bad[i] |= mixes_leaves(instr, forms) || (forms[i].raw && !forms[i].linear);
  }
  *out_good = !bad[root->id] && !is_loop_result(p, root);
  return NULL;
}

/* --- the new program --- */

/* Computation (x, y) -> x + y. */
static hr_status_t make_add(parallel_t *p, hr_dtype_t dtype, hlo_computation_t **out) {
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

static hr_status_t build_sum(parallel_t *p, expr_t x, expr_t *out) {
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
static hr_status_t build_mean(parallel_t *p, expr_t x, bool is_squares, expr_t *out) {
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
static hr_status_t build_row_mean(parallel_t *p, expr_t sum, expr_t *out) {
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

static hr_status_t build_leaf(parallel_t *p, expr_t leaf, expr_t *out) {
  if (tf_is_row_sum(leaf)) return build_row_mean(p, leaf, out);
  return build_mean(p, leaf, tf_is_sum_of_squares(&p->r, leaf), out);
}

/* The entry's instructions are in order, so that operands have their copies before. */
static hr_status_t build_copies(parallel_t *p) {
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

static hr_status_t begin(parallel_t *p, hlo_module_t *module) {
  *p = (parallel_t){
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
static hr_status_t check_branches(const parallel_t *p) {
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
static hr_status_t find_region(parallel_t *p, const tf_data_parallel_t *what) {
  expr_t root = p->module->entry->root;
  for (int k = 0; k < what->update_count; k++)
    HR_TRY(find_leaves(p, root->operands[what->first_update + k]));
  HR_TRY(move_covered(p));
  HR_TRY(merge_products(p));
  HR_TRY(find_scaled_rows(p));
  HR_TRY(check_branches(p));
  for (int k = 0; k < what->update_count; k++) {
    bool good;
    HR_TRY(check_update(p, root->operands[what->first_update + k], &good));
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
static hr_status_t prove(parallel_t *p, const tf_data_parallel_t *what, expr_t const *elements) {
  parallel_t after;
  HR_TRY(begin(&after, p->module));
  mark_local(&after, what->parameter_count, what->is_variable);
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
  parallel_t p;
  expr_t root = module->entry->root, *elements;
  HR_TRY(begin(&p, module));
  p.is_strict = what->is_strict;
  mark_local(&p, what->parameter_count, what->is_variable);
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
