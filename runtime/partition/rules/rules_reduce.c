/* Rules of reductions, windows, sorts, random numbers and collectives of manual computations. If a
 * reduced dimension is cut, a reduction over its axes follows; windows reach into the neighbours'
 * parts; a sorted dimension must be whole. */
#include "partition/rules/rule_builder.h"

/* f32[8,6] over dimension 1: ([i, j], [])->([i]) {i=8, j=6} reduction={j}. Several arrays that are
 * reduced together share the factors. */
void rule_reduce(rule_builder_t *builder) {
  hr_ints_t reduced = hlo_attr_ints(builder->instr, HLO_ATTR_DIMENSIONS);
  int inputs = builder->operand_count / 2, next = 0;
  for (int d = 0; d < rule_rank(builder, 0); d++) {
    bool gone = rule_lists(reduced, d);
    int factor =
        rule_add(builder, rule_size(builder, 0, d), gone ? SPMD_REDUCTION : SPMD_PASS_THROUGH);
    for (int k = 0; k < inputs; k++) rule_place(builder, k, d, factor);
    for (int leaf = 0; leaf < builder->result_count && !gone; leaf++)
      rule_place(builder, rule_result(builder, leaf), next, factor);
    next += !gone;
  }
}

/* True if the window covers one element, without stride or padding. */
static bool is_trivial(const hlo_window_t *window, int d) {
  const hlo_window_dim_t *dim = &window->dims[d];
  return dim->size == 1 && dim->stride == 1 && !dim->pad_low && !dim->pad_high &&
         dim->base_dilation <= 1;
}

/* The factor has the result's size: 8 windows over 10 elements are cut as 8. */
void rule_reduce_window(rule_builder_t *builder) {
  const hlo_window_t *window = hlo_attr_window(builder->instr);
  int result = rule_result(builder, 0);
  for (int d = 0; d < rule_rank(builder, result); d++) {
    bool trivial = !window || is_trivial(window, d);
    rule_place_all(builder, d,
                   rule_add(builder, rule_size(builder, result, d),
                            trivial ? SPMD_PASS_THROUGH : SPMD_PERMUTATION));
  }
}

/* Propagation keeps window dimensions whole, as elements are selected from windows. The partitioner
 * has a wider rule (lower_select.c). */
void rule_select_and_scatter(rule_builder_t *builder) {
  const hlo_window_t *window = hlo_attr_window(builder->instr);
  int result = rule_result(builder, 0);
  for (int d = 0; d < rule_rank(builder, 0); d++) {
    bool trivial = !window || is_trivial(window, d);
    int source = -1;
    if (!trivial) source = rule_add(builder, rule_size(builder, 1, d), SPMD_NEED_REPLICATION);
    int factor =
        rule_add(builder, rule_size(builder, 0, d), trivial ? SPMD_PASS_THROUGH : SPMD_PERMUTATION);
    rule_place(builder, 0, d, factor);
    rule_place(builder, 1, d, trivial ? factor : source);
    rule_place(builder, result, d, factor);
  }
}

/* A sort along the only dimension of more than one element is not propagated at all; other sorts
 * are not propagated along the sorted dimension. */
void rule_sort(rule_builder_t *builder) {
  int along = (int)hlo_attr_ints(builder->instr, HLO_ATTR_DIMENSIONS).data[0];
  bool alone = true;
  for (int d = 0; d < rule_rank(builder, 0); d++)
    alone &= d == along || rule_size(builder, 0, d) == 1;
  for (int d = 0; d < rule_rank(builder, 0); d++) {
    int64_t size = rule_size(builder, 0, d);
    int factor = -1;
    if (d != along)
      factor = rule_add(builder, size, SPMD_PASS_THROUGH);
    else if (alone)
      factor = rule_add_blocked(builder, size, SPMD_NEED_REPLICATION);
    else
      factor = rule_add(builder, size, SPMD_NEED_REPLICATION);
    rule_place_all(builder, d, factor);
  }
}

/* The last dimension is whole. Also the rule of custom calls for top-k. */
void rule_top_k(rule_builder_t *builder) {
  int last = rule_rank(builder, 0) - 1;
  for (int d = 0; d <= last; d++) {
    int64_t size = rule_size(builder, 0, d);
    rule_place_all(builder, d,
                   d == last ? rule_add_blocked(builder, size, SPMD_NEED_REPLICATION)
                             : rule_add(builder, size, SPMD_PASS_THROUGH));
  }
}

/* The limits are scalars. */
void rule_rng(rule_builder_t *builder) { rule_pointwise(builder); }

/* The state is whole on every device; each bit depends on its position alone. */
void rule_rng_bit_generator(rule_builder_t *builder) {
  int state = rule_result(builder, 0), output = rule_result(builder, builder->result_count - 1);
  for (int d = 0; d < rule_rank(builder, 0); d++) {
    int factor = rule_add_blocked(builder, rule_size(builder, 0, d), SPMD_NEED_REPLICATION);
    rule_place(builder, 0, d, factor);
    if (state != output) rule_place(builder, state, d, factor);
  }
  for (int d = 0; d < rule_rank(builder, output); d++)
    rule_place(builder, output, d,
               rule_add(builder, rule_size(builder, output, d), SPMD_PASS_THROUGH));
}

/* Dimensions that the collective cuts or joins are whole on both sides. */
void rule_collective_dims(rule_builder_t *builder) {
  int result = rule_result(builder, 0), last = rule_tensor_count(builder);
  hr_ints_t named = hlo_attr_ints(builder->instr, HLO_ATTR_DIMENSIONS);
  for (int d = 0; d < rule_rank(builder, result); d++) {
    bool passes =
        !rule_lists(named, d) && rule_size(builder, 0, d) == rule_size(builder, result, d);
    int shared = passes ? rule_add(builder, rule_size(builder, 0, d), SPMD_PASS_THROUGH) : -1;
    for (int t = 0; t < last; t++) {
      int factor = shared;
      if (!passes) factor = rule_add(builder, rule_size(builder, t, d), SPMD_NEED_REPLICATION);
      rule_place(builder, t, d, factor);
    }
  }
}
