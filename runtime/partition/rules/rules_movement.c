/* Rules of ops that move elements. A dimension that keeps its size and order passes through; one
 * that is sliced, extended or reversed is a permutation; one that is indexed at run time must be
 * whole. A reshape's dimensions are split into common factors from the left. */
#include "partition/rules/rule_builder.h"

#include "base/arith.h"

/* One side of a reshape while factors are placed on its dimensions from the left. */
typedef struct reshape_side {
  int tensor, next;      /* next: number of dimensions opened so far */
  int64_t dims, factors; /* product of the opened dimensions, of the factors placed on them */
} reshape_side_t;

/* Opens dimensions until one has room; those of size 1 get factors of their own. */
static void open_dim(rule_builder_t *builder, reshape_side_t *side) {
  while (side->dims == side->factors && side->next < rule_rank(builder, side->tensor)) {
    int64_t size = rule_size(builder, side->tensor, side->next++);
    side->dims *= size;
    if (size == 1)
      rule_place(builder, side->tensor, side->next - 1, rule_add(builder, 1, SPMD_PASS_THROUGH));
  }
}

/* Places the factor on the dimension that was opened last. */
static void place(rule_builder_t *builder, reshape_side_t *side, int64_t size, int factor) {
  rule_place(builder, side->tensor, side->next - 1, factor);
  side->factors *= size;
}

/* Adds a factor that the other side does not have. */
static void place_private(rule_builder_t *builder, reshape_side_t *side, int64_t size) {
  place(builder, side, size, rule_add(builder, size, SPMD_PASS_THROUGH));
}

/* Size of the private factor by which the side that is behind catches up. */
static int64_t catch_up(const reshape_side_t *side, const reshape_side_t *other) {
  int64_t room = side->dims / side->factors, others = other->dims / other->factors;
  int64_t missing = other->factors / side->factors, common = hr_gcd(room, others);
  if (other->factors % side->factors == 0 && room % missing == 0) return missing;
  return room > common ? room / common : room;
}

/* [8,6] -> [2,4,6]: ([ij, k])->([i, j, k]). [6,4] -> [4,6]: 6 and 4 share a leading factor of 2;
 * the rests 3 and 2 have no common factor, so that all later factors are private to one side. */
void rule_reshape(rule_builder_t *builder) {
  reshape_side_t in = {0, 0, 1, 1}, out = {rule_result(builder, 0), 0, 1, 1};
  for (;;) {
    open_dim(builder, &in);
    open_dim(builder, &out);
    int64_t a = in.dims / in.factors, b = out.dims / out.factors, common = hr_gcd(a, b);
    if (builder->status || (a == 1 && b == 1)) return;
    if (in.factors == out.factors && common > 1) {
      int factor = rule_add(builder, common, SPMD_PASS_THROUGH);
      place(builder, &in, common, factor);
      place(builder, &out, common, factor);
    } else if (in.factors == out.factors) {
      place_private(builder, &in, a);
      place_private(builder, &out, b);
    } else if (in.factors < out.factors) {
      place_private(builder, &in, catch_up(&in, &out));
    } else {
      place_private(builder, &out, catch_up(&out, &in));
    }
  }
}

/* Repeated dimensions, and those of size 1 that grow, have factors of the result alone. */
void rule_broadcast(rule_builder_t *builder) {
  hr_ints_t map = hlo_attr_ints(builder->instr, HLO_ATTR_DIMENSIONS);
  int result = rule_result(builder, 0);
  for (int d = 0; d < rule_rank(builder, result); d++) {
    int64_t size = rule_size(builder, result, d);
    int factor = rule_add(builder, size, SPMD_PASS_THROUGH);
    rule_place(builder, result, d, factor);
    for (int64_t i = 0; i < map.count; i++)
      if (map.data[i] == d && rule_size(builder, 0, (int)i) == size)
        rule_place(builder, 0, (int)i, factor);
  }
}

/* The factor of result dimension d is that of operand dimension permutation[d]. */
void rule_transpose(rule_builder_t *builder) {
  hr_ints_t permutation = hlo_attr_ints(builder->instr, HLO_ATTR_DIMENSIONS);
  for (int d = 0; d < (int)permutation.count; d++) {
    int factor = rule_add(builder, rule_size(builder, 1, d), SPMD_PASS_THROUGH);
    rule_place(builder, 0, (int)permutation.data[d], factor);
    rule_place(builder, 1, d, factor);
  }
}

/* A part of a reversed dimension comes from the part at the other end. */
void rule_reverse(rule_builder_t *builder) {
  hr_ints_t dims = hlo_attr_ints(builder->instr, HLO_ATTR_DIMENSIONS);
  for (int d = 0; d < rule_rank(builder, 0); d++) {
    spmd_factor_kind_t kind = rule_lists(dims, d) ? SPMD_PERMUTATION : SPMD_PASS_THROUGH;
    rule_place_all(builder, d, rule_add(builder, rule_size(builder, 0, d), kind));
  }
}

/* Slice and pad: a dimension that keeps its size passes through. */
void rule_slice(rule_builder_t *builder) {
  int result = rule_result(builder, 0);
  for (int d = 0; d < rule_rank(builder, 0); d++) {
    int64_t size = rule_size(builder, 0, d);
    bool same = size == rule_size(builder, result, d);
    rule_place_all(builder, d,
                   rule_add(builder, size, same ? SPMD_PASS_THROUGH : SPMD_PERMUTATION));
  }
}

/* True if all pieces are slices, or one array and slices of it: they are moved, not gathered. */
static bool joins_slices(const hlo_instr_t *concatenate) {
  const hlo_instr_t *whole = NULL;
  int slices = 0;
  for (int k = 0; k < concatenate->operand_count; k++)
    slices += concatenate->operands[k]->op == HLO_SLICE;
  if (slices == concatenate->operand_count) return true;
  for (int k = 0; k < concatenate->operand_count; k++) {
    const hlo_instr_t *operand = concatenate->operands[k];
    const hlo_instr_t *source = operand->op == HLO_SLICE ? operand->operands[0] : operand;
    if (whole && whole != source) return false;
    whole = source;
  }
  return slices > 0;
}

/* Pieces differ in size along the concatenated dimension but share one factor of the result's size:
 * the axes that cut the result also cut them, into parts that lie elsewhere than the result's. */
void rule_concatenate(rule_builder_t *builder) {
  int64_t along = hlo_attr_ints(builder->instr, HLO_ATTR_DIMENSIONS).data[0];
  int result = rule_result(builder, 0);
  spmd_factor_kind_t kind = joins_slices(builder->instr) ? SPMD_PERMUTATION : SPMD_NEED_REPLICATION;
  for (int d = 0; d < rule_rank(builder, result); d++) {
    int factor =
        rule_add(builder, rule_size(builder, result, d), d == along ? kind : SPMD_PASS_THROUGH);
    rule_place_all(builder, d, factor);
  }
}

/* Start indices are scalars and have no factor. */
void rule_dynamic_slice(rule_builder_t *builder) {
  int result = rule_result(builder, 0);
  for (int d = 0; d < rule_rank(builder, result); d++) {
    int64_t size = rule_size(builder, 0, d);
    int factor = size == rule_size(builder, result, d)
                     ? rule_add(builder, size, SPMD_PASS_THROUGH)
                     : rule_add_blocked(builder, size, SPMD_NEED_REPLICATION);
    rule_place(builder, 0, d, factor);
    rule_place(builder, result, d, factor);
  }
}

/* Where the update is smaller, only operand and result share a factor. With constant start indices
 * the update may be cut, too, as in Shardy. */
void rule_dynamic_update_slice(rule_builder_t *builder) {
  int result = rule_result(builder, 0);
  bool known = true;
  for (int k = 2; k < builder->operand_count; k++)
    known &= builder->instr->operands[k]->op == HLO_CONSTANT;
  for (int d = 0; d < rule_rank(builder, result); d++) {
    int64_t size = rule_size(builder, 0, d), update = rule_size(builder, 1, d);
    int factor = rule_add(builder, size, SPMD_PASS_THROUGH);
    rule_place(builder, 0, d, factor);
    rule_place(builder, result, d, factor);
    if (update != size)
      factor = rule_add(builder, update, known ? SPMD_PASS_THROUGH : SPMD_NEED_REPLICATION);
    rule_place(builder, 1, d, factor);
  }
}

/* The side of narrower elements has an additional last dimension, which must be whole. */
void rule_bitcast_convert(rule_builder_t *builder) {
  int in = rule_rank(builder, 0), out = rule_rank(builder, 1), common = in < out ? in : out;
  for (int d = 0; d < common; d++) {
    int factor = rule_add(builder, rule_size(builder, 0, d), SPMD_PASS_THROUGH);
    rule_place(builder, 0, d, factor);
    rule_place(builder, 1, d, factor);
  }
  if (in == out) return;
  int wide = in > out ? 0 : 1;
  rule_place(builder, wide, common,
             rule_add(builder, rule_size(builder, wide, common), SPMD_NEED_REPLICATION));
}
