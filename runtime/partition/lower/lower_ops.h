/* Lowering of operations that need more than to run on local shapes, by family. Each function takes
 * the choice of axes and returns the local result. */
#ifndef HR_PARTITION_LOWER_LOWER_OPS_H
#define HR_PARTITION_LOWER_LOWER_OPS_H

#include "partition/lower/lower.h"

/* Replaces elements of x beyond the end of dimension d, of global size `size` and cut by `axes`, by
 * `fill`; NULL: returns x. */
hlo_instr_t *spmd_mask_padding(spmd_lower_t *lower, hlo_instr_t *x, int d, spmd_axes_t axes,
                               int64_t size, hlo_instr_t *fill);
/* Operand k, masked with `init` (NULL: the identity of `op`) beyond the ends of all dimensions that
 * a reduction factor cuts unevenly. */
hlo_instr_t *spmd_masked_operand(spmd_lower_t *lower, const spmd_choice_t *choice, int k,
                                 hlo_opcode_t op, hlo_instr_t *init);
/* The scalar on the first partition along the axes, the identity of `op` on the others. */
hlo_instr_t *spmd_only_first(spmd_lower_t *lower, hlo_instr_t *scalar, hlo_opcode_t op,
                             spmd_axes_t axes);
/* First element of this partition's part along d of a tensor of the choice. */
hlo_instr_t *spmd_part_start(spmd_lower_t *lower, const spmd_choice_t *choice, int tensor, int d,
                             int64_t size);

/* lower_reduce.c */
hlo_instr_t *spmd_lower_dot(spmd_lower_t *lower, const spmd_choice_t *choice);
hlo_instr_t *spmd_lower_reduce(spmd_lower_t *lower, const spmd_choice_t *choice);
/* lower_ring.c: a product in which the parts of a large array travel in a ring. False: no array is
 * large enough, or none can travel. True: the result is defined. */
bool spmd_lower_ring(spmd_lower_t *lower, const spmd_choice_t *choice);
bool spmd_can_cut_reduce(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor);
/* lower_placed.c: updates at a known place, of which parts fetch what is placed in them. The rule
 * has `other` as its alternative, or is that for other updates. The cost of what is fetched along
 * d, in microseconds. Does the choice place the update so? */
hr_status_t spmd_rule_placed(spmd_lower_t *lower, const hlo_instr_t *instr,
                             const spmd_rule_t *other, const spmd_rule_t **out_rule);
double spmd_placed_us(spmd_lower_t *lower, const hlo_instr_t *instr,
                      const spmd_sharding_t *const *tensors, int d);
bool spmd_is_placed(const spmd_choice_t *choice);
hlo_instr_t *spmd_lower_placed(spmd_lower_t *lower, const spmd_choice_t *choice);
/* lower_sort.c: sorts of which only the first elements are read may be cut along their dimension */
hlo_instr_t *spmd_lower_sort(spmd_lower_t *lower, const spmd_choice_t *choice);
bool spmd_can_cut_sort(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor);
hr_status_t spmd_rule_sort(spmd_lower_t *lower, const hlo_instr_t *instr,
                           const spmd_rule_t **out_rule);
/* Work of a sort for one element, in elementwise operations; `columns`: by columns. */
double spmd_sort_work(const hlo_instr_t *sort, bool columns);
/* lower_columns.c: sorts that are cut by columns. The cost of what an operand moves, for parts of
 * `rows` elements, is in microseconds: infinite if it cannot be done, or costs more than a
 * gather. */
bool spmd_may_sort_by_columns(const hlo_instr_t *sort);
double spmd_columns_us(spmd_lower_t *lower, const hlo_instr_t *sort, int operand, int64_t rows,
                       int64_t parts, double row_bytes);
hlo_instr_t *spmd_sort_by_columns(spmd_lower_t *lower, const spmd_choice_t *choice);
/* Notes in lower->sort_reads what an instruction reads of sorts. */
void spmd_note_sort_reads(spmd_lower_t *lower, const hlo_instr_t *user);
/* lower_top_k.c */
hlo_instr_t *spmd_lower_top_k(spmd_lower_t *lower, const spmd_choice_t *choice);
/* lower_moves.c */
hlo_instr_t *spmd_lower_slice(spmd_lower_t *lower, const spmd_choice_t *choice);
hlo_instr_t *spmd_lower_pad(spmd_lower_t *lower, const spmd_choice_t *choice);
hlo_instr_t *spmd_lower_reverse(spmd_lower_t *lower, const spmd_choice_t *choice);
hlo_instr_t *spmd_lower_concatenate(spmd_lower_t *lower, const spmd_choice_t *choice);
/* lower_window.c */
hlo_instr_t *spmd_lower_reduce_window(spmd_lower_t *lower, const spmd_choice_t *choice);
bool spmd_can_cut_window(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor);
hlo_instr_t *spmd_lower_convolution(spmd_lower_t *lower, const spmd_choice_t *choice);
hr_status_t spmd_rule_convolution(spmd_lower_t *lower, const hlo_instr_t *instr,
                                  const spmd_rule_t **out_rule);
/* True for windows of one element: the results are the elements. */
bool spmd_window_is_trivial(const hlo_window_dim_t *dim);
hlo_attr_t spmd_window_attr(spmd_lower_t *lower, int rank, const hlo_window_dim_t *dims);
/* lower_scan.c: true if d is the only dimension that the windows change, and they are cumulative */
bool spmd_is_scan(spmd_lower_t *lower, const hlo_instr_t *instr, int d);
/* operands: array and initial value */
hlo_instr_t *spmd_lower_scan(spmd_lower_t *lower, const spmd_choice_t *choice, int d,
                             hlo_instr_t *const *operands);
/* lower_select.c */
hr_status_t spmd_rule_select_and_scatter(spmd_lower_t *lower, const hlo_instr_t *instr,
                                         const spmd_rule_t **out_rule);
hlo_instr_t *spmd_lower_select_and_scatter(spmd_lower_t *lower, const spmd_choice_t *choice);
/* lower_random.c: NULL in *out_rule if the bits cannot be made in parts. */
hr_status_t spmd_rule_random_bits(spmd_lower_t *lower, const hlo_instr_t *instr,
                                  const spmd_rule_t **out_rule);
hlo_instr_t *spmd_lower_random_bits(spmd_lower_t *lower, const spmd_choice_t *choice);
/* lower_rng.c */
hlo_instr_t *spmd_lower_rng(spmd_lower_t *lower, const spmd_choice_t *choice);
/* lower_indexed.c */
hlo_instr_t *spmd_lower_dynamic_slice(spmd_lower_t *lower, const spmd_choice_t *choice);
hlo_instr_t *spmd_lower_dynamic_update(spmd_lower_t *lower, const spmd_choice_t *choice);
/* The part of a slice of `size` elements from `start` on of x, whose dimension d is cut: zeros (the
 * identity of a sum) for elements that other partitions hold. */
hlo_instr_t *spmd_slice_held(spmd_lower_t *lower, const spmd_choice_t *choice, hlo_instr_t *x,
                             int d, hlo_instr_t *start, int64_t size);
hlo_instr_t *spmd_lower_gather(spmd_lower_t *lower, const spmd_choice_t *choice);
hlo_instr_t *spmd_lower_scatter(spmd_lower_t *lower, const spmd_choice_t *choice);
bool spmd_can_cut_scatter(const hlo_instr_t *instr, const spmd_rule_t *rule, int factor);
/* aligned_indices.c: rule of a gather or scatter */
hr_status_t spmd_rule_indexed(spmd_lower_t *lower, const hlo_instr_t *instr,
                              const spmd_rule_t **out_rule);
hr_status_t spmd_rule_dynamic_slice(spmd_lower_t *lower, const hlo_instr_t *instr,
                                    const spmd_rule_t **out_rule);

/* --- local rules --- */
typedef struct spmd_rule_maker spmd_rule_maker_t;
struct spmd_rule_maker {
  hr_arena_t *arena;
  spmd_factor_t *factors;
  spmd_dim_factors_t **dims; /* by tensor, dimension */
  spmd_tensor_factors_t *tensors;
  spmd_rule_t *rule;
};
/* A rule without factors for the instruction's arrays. */
hr_status_t spmd_rule_begin(hr_arena_t *arena, const hlo_instr_t *instr, int factor_limit,
                            spmd_rule_maker_t *out_maker);
int spmd_rule_factor(spmd_rule_maker_t *maker, int64_t size, spmd_factor_kind_t kind);
/* Appends a factor to a dimension, as its minor part. Errors: NO_MEMORY. */
hr_status_t spmd_rule_place(spmd_rule_maker_t *maker, int tensor, int d, int factor);

#endif
