/* Builds a sharding rule: factors are added, then placed on dimensions of tensors. The builder
 * keeps the first failure; rule_finish returns it.
 *
 *   int i = rule_add(b, 8, SPMD_PASS_THROUGH);       ([i, k], ...)->([i, ...])
 *   rule_place(b, 0, 0, i);                          operand 0, dimension 0
 *   rule_place(b, rule_result(b, 0), 0, i);          result 0, dimension 0
 *
 * Factors are numbered in the order in which they are added, which is the order of their letters in
 * Shardy's text: the dumps are compared letter by letter. */
#ifndef HR_PARTITION_RULE_BUILDER_H
#define HR_PARTITION_RULE_BUILDER_H

#include "partition/rule.h"

/* The factors of one dimension, the major first, while the rule is built. */
typedef struct rule_dim {
  int count, capacity;
  int *factors;
} rule_dim_t;

/* A rule under construction. Everything lives in the arena; outgrown arrays are not freed. */
typedef struct rule_builder {
  hr_arena_t *arena;
  const hlo_instr_t *instr;
  int operand_count, result_count;
  const hlo_shape_t **shapes; /* operands, then leaves of the result */
  rule_dim_t **dims;          /* by tensor, by dimension */
  spmd_factor_t *factors;
  int factor_count, factor_capacity;
  bool custom;
  hr_status_t status; /* the first failure */
} rule_builder_t;

/* Errors: NO_MEMORY. */
hr_status_t rule_begin(hr_arena_t *arena, const hlo_instr_t *instr, rule_builder_t *builder);
/* The number of a new factor; -1 after a failure, which rule_place then ignores. */
int rule_add(rule_builder_t *builder, int64_t size, spmd_factor_kind_t kind);
/* The same for a factor that propagation never carries from one tensor to another. */
int rule_add_blocked(rule_builder_t *builder, int64_t size, spmd_factor_kind_t kind);
/* Appends the factor to dimension `dim` of tensor number `tensor`. */
void rule_place(rule_builder_t *builder, int tensor, int dim, int factor);
/* Gives dimensions without factors a factor of size 1 and makes the rule. Errors: NO_MEMORY, or
 * the builder's failure. */
hr_status_t rule_finish(rule_builder_t *builder, const spmd_rule_t **out_rule);

/* Tensors are numbered through: operands first, then the leaves of the result. */
static inline int rule_tensor_count(const rule_builder_t *builder) {
  return builder->operand_count + builder->result_count;
}
/* Number of the tensor that is result `leaf`. */
static inline int rule_result(const rule_builder_t *builder, int leaf) {
  return builder->operand_count + leaf;
}
static inline int64_t rule_size(const rule_builder_t *builder, int tensor, int dim) {
  return builder->shapes[tensor]->dims[dim];
}
static inline int rule_rank(const rule_builder_t *builder, int tensor) {
  return builder->shapes[tensor]->rank;
}
static inline bool rule_lists(hr_ints_t dims, int64_t d) {
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == d) return true;
  return false;
}
/* One factor placed on dimension d of each tensor of the same rank as the first result. */
void rule_place_all(rule_builder_t *builder, int d, int factor);
/* Pass-through factors for all dimensions of the first result. */
void rule_pointwise(rule_builder_t *builder);

/* Rules of ops, by file. */
typedef void (*rule_fn)(rule_builder_t *builder);
/* rules_movement.c */
void rule_reshape(rule_builder_t *builder);
void rule_broadcast(rule_builder_t *builder);
void rule_transpose(rule_builder_t *builder);
void rule_reverse(rule_builder_t *builder);
void rule_slice(rule_builder_t *builder); /* and pad */
void rule_concatenate(rule_builder_t *builder);
void rule_dynamic_slice(rule_builder_t *builder);
void rule_dynamic_update_slice(rule_builder_t *builder);
void rule_bitcast_convert(rule_builder_t *builder);
/* rules_contraction.c */
void rule_dot(rule_builder_t *builder);
void rule_convolution(rule_builder_t *builder);
void rule_cholesky(rule_builder_t *builder);
void rule_triangular_solve(rule_builder_t *builder);
void rule_fft(rule_builder_t *builder);
void rule_batch_norm(rule_builder_t *builder);
/* rules_reduce.c */
void rule_reduce(rule_builder_t *builder);
void rule_reduce_window(rule_builder_t *builder);
void rule_select_and_scatter(rule_builder_t *builder);
void rule_sort(rule_builder_t *builder);
void rule_top_k(rule_builder_t *builder);
void rule_rng(rule_builder_t *builder);
void rule_rng_bit_generator(rule_builder_t *builder);
void rule_collective_dims(rule_builder_t *builder); /* all-gather, reduce-scatter, all-to-all */
/* rules_gather.c */
void rule_gather(rule_builder_t *builder);
void rule_scatter(rule_builder_t *builder);

/* rules_custom_call.c: *out_rule is NULL if the target is not known to have a rule. */
hr_status_t rule_of_custom_call(hr_arena_t *arena, const hlo_instr_t *instr,
                                const spmd_rule_t **out_rule);
/* rule_text.c: the rule that the program gives in xla.sdy.sharding_rule. Errors: INVALID. */
hr_status_t rule_parse(hr_arena_t *arena, const hlo_instr_t *instr, hr_str_t text,
                       const spmd_rule_t **out_rule);

#endif
