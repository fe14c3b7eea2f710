/* All-reduces whose results a loop adds up, or stacks, move after the loop:
 *
 *   while(s, sum) { sum += all-reduce(y) }   ->   while(s, part) { part += y }, part = 0 before it
 *                                                 sum + all-reduce(part)
 *
 *   while(i, a) { a[i] = all-reduce(y) }     ->   while(i, a) { a[i] = y }, all-reduce(a)
 *
 * The gradient of a weight that every step of a scan, or every part of a batch, adds to is reduced
 * once, not once per iteration. Small results that are stacked, such as losses, are sent together.
 * Between the all-reduce and the addition there may be operations that are linear: changes of
 * shape, signs, constant factors. Only in partitioned programs, whose processes run a loop equally
 * often, and of loops that are not known to end after one iteration. Sums are rounded in another
 * order. Memory stays: the part is as large as the sum. */
#include "ops/query/replica_groups.h"
#include "passes/loops/loop_shape.h"
#include "passes/passes.h"

enum {
  MAX_TERMS = 16,        /* most all-reduces that are added to one element */
  MAX_STACKED = 1 << 20, /* most bytes of a stacked result: larger ones overlap in the loop */
  MAX_STEPS = 64,        /* most operations of which the indices of a stack are made */
};

typedef struct accumulator { /* an element of the state */
  const loop_t *loop;
  const pass_users_t *users;     /* users of the body's instructions */
  int element;                   /* number in the state */
  int reads;                     /* terms that are the element's old value */
  int count;                     /* all-reduces */
  hlo_instr_t *terms[MAX_TERMS]; /* the all-reduces */
} accumulator_t;

/* Does the body read the element once, and the condition never? */
static bool is_read_once(const loop_t *loop, const pass_users_t *users, int element) {
  uint32_t reads = 0;
  for (size_t i = 0; i < loop->condition->instrs.count; i++)
    if (loop_element_read(loop->condition->instrs.data[i]) == element) return false;
  for (size_t i = 0; i < loop->body->instrs.count; i++)
    if (loop_element_read(loop->body->instrs.data[i]) == element)
      reads += pass_users_count(users, loop->body->instrs.data[i]);
  return reads == 1;
}

static bool is_sum_of_devices(const hlo_instr_t *instr) {
  hlo_opcode_t op;
  return instr->op == HLO_ALL_REDUCE && instr->operand_count == 1 &&
         hlo_shape_is_array(instr->shape) && !hlo_shape_is_dynamic(instr->shape) &&
         pass_body_is_binary(instr->called[0], &op) && op == HLO_ADD &&
         (!instr->extra || !instr->extra->control_count);
}

/* The operand that x is a linear function of, the same on all devices; NULL: none. */
static hlo_instr_t *linear_operand(const hlo_instr_t *x) {
  switch (x->op) {
    case HLO_NEGATE:
    case HLO_RESHAPE:
    case HLO_TRANSPOSE:
      return x->operands[0];
    case HLO_BROADCAST:
      return hlo_shape_elements(x->shape) == hlo_shape_elements(x->operands[0]->shape)
                 ? x->operands[0]
                 : NULL;
    case HLO_MULTIPLY:
      if (pass_splat_of(x->operands[0])) return x->operands[1];
      return pass_splat_of(x->operands[1]) ? x->operands[0] : NULL;
    case HLO_DIVIDE:
      return pass_is_plain_float(x->shape->dtype) && pass_splat_of(x->operands[1]) ? x->operands[0]
                                                                                   : NULL;
    default:
      return NULL;
  }
}

/* All-reduces of one element must be over equal groups. Integers wrap alike in any order. */
static bool add_term(accumulator_t *sum, hlo_instr_t *x) {
  while (x && !is_sum_of_devices(x) && pass_users_count(sum->users, x) == 1) x = linear_operand(x);
  if (!x || !is_sum_of_devices(x) || pass_users_count(sum->users, x) > 1 || sum->count == MAX_TERMS)
    return false;
  sum->terms[sum->count++] = x;
  return op_groups_equal(hlo_attr_groups(x), hlo_attr_groups(sum->terms[0])) &&
         hlo_attr_bool(x, HLO_ATTR_USE_GLOBAL_DEVICE_IDS) ==
             hlo_attr_bool(sum->terms[0], HLO_ATTR_USE_GLOBAL_DEVICE_IDS);
}

/* Finds the terms of x; false: one is neither the old value nor an all-reduce. */
static bool find_terms(accumulator_t *sum, hlo_instr_t *x) {
  if (loop_element_read(x) == sum->element) {
    sum->reads++;
    return true;
  }
  if (pass_users_count(sum->users, x) != 1) return false;
  if (x->op == HLO_ADD) return find_terms(sum, x->operands[0]) && find_terms(sum, x->operands[1]);
  return add_term(sum, x);
}

static bool is_sum(accumulator_t *sum, hlo_instr_t *next) {
  return next->op == HLO_ADD && find_terms(sum, next) && sum->reads == 1;
}

/* Is the index the same on all devices? Then it is a function of the loop's counter. */
static bool is_of_counter(const hlo_instr_t *index, int counter, int *left) {
  if (loop_element_read(index) == counter || pass_splat_of(index)) return true;
  if (!hlo_op_is(index->op, OP_ELEMENTWISE) || --*left < 0) return false;
  for (int k = 0; k < index->operand_count; k++)
    if (!is_of_counter(index->operands[k], counter, left)) return false;
  return true;
}

static bool has_same_indices(const loop_t *loop, const hlo_instr_t *update) {
  loop_counter_t counter;
  int left = MAX_STEPS;
  if (!loop_find_counter(loop, &counter)) return false;
  for (int k = 2; k < update->operand_count; k++)
    if (!is_of_counter(update->operands[k], counter.index, &left)) return false;
  return true;
}

/* The elements that the loop does not write must be 0, which is the sum of zeros. */
static bool is_stack(accumulator_t *sum, hlo_instr_t *next) {
  const hlo_instr_t *init = loop_init_operand(sum->loop, sum->element);
  size_t bytes;
  return next->op == HLO_DYNAMIC_UPDATE_SLICE && pass_users_count(sum->users, next) == 1 &&
         loop_element_read(next->operands[0]) == sum->element && init && pass_is_number(init, 0) &&
         !hlo_shape_bytes(next->operands[1]->shape, &bytes) && bytes <= MAX_STACKED &&
         has_same_indices(sum->loop, next) && add_term(sum, next->operands[1]);
}

static bool is_accumulator(const loop_t *loop, const pass_users_t *users, int element,
                           accumulator_t *out_sum) {
  hlo_instr_t *next = loop->next->operands[element];
  *out_sum = (accumulator_t){.loop = loop, .users = users, .element = element};
  if (!hlo_shape_is_array(next->shape) || hlo_shape_is_dynamic(next->shape)) return false;
  return (pass_is_plain_float(next->shape->dtype) || hr_dtype_is_integer(next->shape->dtype)) &&
         is_read_once(loop, users, element) && (is_sum(out_sum, next) || is_stack(out_sum, next)) &&
         out_sum->count;
}

/* Adding +0 is the identity except for -0, and adding -0 always is. */
static hlo_instr_t *build_zero(pass_rewrite_t *rewrite, const hlo_instr_t *init) {
  bool is_plain = hr_dtype_is_integer(init->shape->dtype) || pass_never_minus_zero(init);
  hlo_instr_t *zero =
      hlo_build_number(&rewrite->builder, is_plain ? 0.0 : -0.0, init->shape->dtype);
  return pass_build_fill(rewrite, zero, init->shape);
}

static hlo_instr_t *build_sum(pass_rewrite_t *rewrite, const accumulator_t *sum, hlo_instr_t *init,
                              hlo_instr_t *part) {
  const hlo_instr_t *term = sum->terms[0];
  hlo_instr_t *reduced = pass_build_like(rewrite, term, &part, part ? part->shape : NULL);
  if (pass_is_number(init, 0)) return reduced;
  return hlo_build_binary(&rewrite->builder, HLO_ADD, init, reduced);
}

/* The terms become what the partitions add up themselves. */
static hr_status_t keep_parts(const loop_t *loop, const accumulator_t *sums) {
  pass_rewrite_t rewrite;
  hr_status_t st = NULL;
  HR_TRY(pass_rewrite_begin(&rewrite, loop->body));
  for (uint32_t i = 0; i < rewrite.old_count; i++) pass_rewrite_visit(&rewrite, i);
  for (int k = 0; k < loop->count; k++)
    for (int t = 0; t < sums[k].count && !st; t++)
      st = pass_replace(&rewrite, sums[k].terms[t], sums[k].terms[t]->operands[0]);
  return pass_rewrite_end(&rewrite, st);
}

static hr_status_t move_after(pass_rewrite_t *rewrite, const loop_t *loop,
                              const accumulator_t *sums) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t **inits, **zeros, **results;
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, loop->count, &inits));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, loop->count, &zeros));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, loop->count, &results));
  for (int k = 0; k < loop->count; k++) {
    inits[k] = zeros[k] = loop_init_element(rewrite, loop, k);
    if (inits[k] && sums[k].count) zeros[k] = build_zero(rewrite, inits[k]);
  }
  hlo_instr_t *start = hlo_build_tuple(builder, loop->count, zeros);
  hlo_instr_t *moved = start ? pass_clone(rewrite, loop->instr, &start) : NULL;
  for (int k = 0; k < loop->count && moved; k++) {
    results[k] = hlo_build_element(builder, moved, k);
    if (sums[k].count) results[k] = build_sum(rewrite, &sums[k], inits[k], results[k]);
  }
  HR_TRY(hlo_builder_finish(builder));
  HR_TRY(keep_parts(loop, sums));
  return pass_replace(rewrite, loop->instr, hlo_build_tuple(builder, loop->count, results));
}

static hr_status_t visit(pass_rewrite_t *rewrite, const loop_t *loop) {
  loop_counter_t counter;
  pass_users_t users;
  accumulator_t *sums;
  bool any = false;
  if (!loop->body->module->was_global || !loop_owns_body(loop)) return NULL;
  if (loop_find_counter(loop, &counter) && counter.trips < 2) return NULL;
  HR_TRY(pass_users_find(&rewrite->scratch, loop->body, &users));
  HR_TRY(HR_NEW_ARRAY(&rewrite->scratch, loop->count, &sums));
  for (int k = 0; k < loop->count; k++) {
    bool moves = is_accumulator(loop, &users, k, &sums[k]);
    any |= moves;
    if (!moves) sums[k].count = 0;
  }
  return any ? move_after(rewrite, loop, sums) : NULL;
}

hr_status_t pass_all_reduce_motion(hlo_module_t *module, bool *out_changed) {
  return loop_rewrite_each(module, visit, out_changed);
}
