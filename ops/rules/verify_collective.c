/* Constraints of collectives that hold on every grid: groups are disjoint and not empty, pairs have
 * distinct sources and targets, sizes are multiples of the group size. The number of processes is
 * not known here; ops/query/replica_groups.h checks ids against the grid when the program is
 * loaded. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/rules/constraint.h"

static int compare_ids(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Fails if one of the ids is listed twice. Sorts a copy: n log n. */
static hr_status_t check_distinct(const hlo_instr_t *instr, const char *rule, const char *what,
                                  const int64_t *ids, int64_t count) {
  void *memory;
  size_t bytes;
  hr_status_t st = NULL;
  HR_TRY(hr_size_product((size_t)count, sizeof *ids, &bytes));
  HR_TRY(hr_alloc(bytes, &memory));
  int64_t *sorted = memory;
  if (count) memcpy(sorted, ids, bytes);
  qsort(sorted, (size_t)count, sizeof *sorted, compare_ids);
  for (int64_t i = 1; i < count && !st; i++)
    if (sorted[i] == sorted[i - 1])
      st = op_rule_failure(__FILE__, __LINE__, instr, rule,
                           "%s lists %ld twice, want each at most once", what, (long)sorted[i]);
  hr_free(memory);
  return st;
}

/* All ids of the groups, `count` in all, in one list of the arena. */
static hr_status_t flatten(hr_arena_t *arena, const hlo_int_lists_t *groups, int64_t count,
                           hr_ints_t *out_ids) {
  int64_t *ids;
  HR_TRY(HR_NEW_ARRAY(arena, count, &ids));
  *out_ids = (hr_ints_t){ids, count};
  for (int64_t g = 0; g < groups->count; g++)
    for (int64_t i = 0; i < groups->lists[g].count; i++) *ids++ = groups->lists[g].data[i];
  return NULL;
}

typedef struct group_rules {
  const char *unique, *range, *flag;
  bool uniform;  /* the result's size depends on the group size */
  bool complete; /* every process is in a group, so that ids are below their number */
} group_rules_t;

/* True if the ids are 0 to count - 1, each once, as in nearly all programs. */
static hr_status_t is_permutation(const hlo_int_lists_t *groups, int64_t count, bool *out_is) {
  void *memory;
  *out_is = true;
  HR_TRY(hr_alloc_zeroed((size_t)count + 1, &memory));
  bool *seen = memory;
  for (int64_t g = 0; g < groups->count && *out_is; g++)
    for (int64_t i = 0; i < groups->lists[g].count && *out_is; i++) {
      int64_t id = groups->lists[g].data[i];
      *out_is = id >= 0 && id < count && !seen[id];
      if (*out_is) seen[id] = true;
    }
  hr_free(memory);
  return NULL;
}

/* Ids are distinct and, if the groups must be complete, 0 to their number - 1. */
static hr_status_t check_group_ids(const hlo_instr_t *instr, const group_rules_t *rules,
                                   const hlo_int_lists_t *groups) {
  hr_arena_t arena;
  hr_ints_t ids;
  int64_t count = 0;
  bool is_plain;
  for (int64_t g = 0; g < groups->count; g++) count += groups->lists[g].count;
  HR_TRY(is_permutation(groups, count, &is_plain));
  if (is_plain) return NULL;
  hr_arena_init(&arena);
  hr_status_t st = flatten(&arena, groups, count, &ids);
  for (int64_t i = 0; !st && i < ids.count; i++)
    if (ids.data[i] < 0)
      st = op_rule_failure(__FILE__, __LINE__, instr, rules->range,
                           "replica_groups lists %ld, want 0 or more", (long)ids.data[i]);
  if (!st) st = check_distinct(instr, rules->unique, "replica_groups", ids.data, ids.count);
  for (int64_t i = 0; !st && rules->complete && i < ids.count; i++)
    if (ids.data[i] >= ids.count)
      st = op_rule_failure(__FILE__, __LINE__, instr, rules->range,
                           "replica_groups lists %ld among %ld ids, want values below %ld",
                           (long)ids.data[i], (long)ids.count, (long)ids.count);
  hr_arena_deinit(&arena);
  return st;
}

/* Attributes of all collectives: groups that are not empty, equally large if the op divides an
 * array, and flags that fit the channel. */
static hr_status_t check_groups(const hlo_instr_t *instr, const group_rules_t *rules) {
  const hlo_groups_t *attr = hlo_attr_groups(instr);
  bool global = hlo_attr_bool(instr, HLO_ATTR_USE_GLOBAL_DEVICE_IDS);
  int64_t channel = hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID);
  OP_WANT(instr, !global || channel > 0, rules->flag,
          "use_global_device_ids with channel_id %ld, want a positive one", (long)channel);
  OP_WANT(instr, !global || (attr && attr->groups.count), NULL,
          "use_global_device_ids without replica_groups, want the groups listed");
  if (!attr) return NULL;
  const hlo_int_lists_t *groups = &attr->groups;
  for (int64_t g = 0; g < groups->count; g++) {
    OP_WANT(instr, groups->lists[g].count > 0, NULL,
            "replica group %ld is empty, want at least one id", (long)g);
    OP_WANT(instr, !rules->uniform || groups->lists[g].count == groups->lists[0].count,
            rules->range, "replica groups of %ld and %ld ids, want equal sizes",
            (long)groups->lists[0].count, (long)groups->lists[g].count);
  }
  return check_group_ids(instr, rules, groups);
}

/* ---- results ---- */

/* Result k of n operands; a single tuple operand counts as its elements. NULL: there is no such
 * result. */
static const hlo_shape_t *result_of(const hlo_shape_t *results, int count, int k) {
  if (count == 1) return results;
  return hlo_shape_is_tuple(results) && results->element_count == count ? results->elements[k]
                                                                        : NULL;
}

/* Result k has the shape of operand k. */
static hr_status_t want_like_operand(const hlo_instr_t *instr, const char *rule,
                                     const hlo_shape_t *result, int k) {
  const hlo_shape_t *operand = op_operand_shape(instr, k);
  OP_WANT(instr, result && hlo_shape_compatible(result, operand), rule, "result %d is %s, want %s",
          k, result ? OP_TEXT(result) : "missing", OP_TEXT(operand));
  return NULL;
}

/* Result k of `count` reductions by one body: the operand's type, or the body's if that is
 * wider. */
static hr_status_t check_reduction(const hlo_instr_t *instr, const char *body_rule,
                                   const char *type_rule, int count, const hlo_shape_t *results) {
  const hlo_computation_t *body = op_body_of(instr);
  for (int k = 0; k < count; k++) {
    const hlo_shape_t *operand = op_operand_shape(instr, k), *result = result_of(results, count, k);
    HR_TRY(op_want_array(instr, operand, k, "I1"));
    HR_TRY(op_check_reducer(instr, body_rule, body, 1, &operand));
    OP_WANT(instr, result && hlo_shape_is_array(result), type_rule,
            "declared as %s, want %d results", OP_TEXT(results), count);
    OP_WANT(instr, result->dtype == operand->dtype || result->dtype == body->root->shape->dtype,
            type_rule, "result %d has elements of type %s, want %s", k,
            hr_dtype_name(result->dtype), hr_dtype_name(body->root->shape->dtype));
  }
  return NULL;
}

/* A single operand may be a tuple, as in old HLO. */
hr_status_t verify_all_reduce(const hlo_instr_t *instr) {
  static const group_rules_t rules = {"C1", "C3", "C4", false, true};
  HR_TRY(check_groups(instr, &rules));
  const hlo_shape_t *operand = op_operand_shape(instr, 0);
  if (instr->operand_count > 1 || !hlo_shape_is_tuple(operand))
    return check_reduction(instr, "C5", "C7", instr->operand_count, instr->shape);
  for (int i = 0; i < operand->element_count; i++) {
    HR_TRY(op_want_array(instr, operand->elements[i], 0, "I1"));
    HR_TRY(op_check_reducer(instr, "C5", op_body_of(instr), 1, &operand->elements[i]));
  }
  return NULL;
}

/* `small` and `large` differ only in dimension d, by the factor of the groups, as far as it is
 * known. */
static hr_status_t want_ratio(const hlo_instr_t *instr, const char *rule, const hlo_shape_t *small,
                              const hlo_shape_t *large, int64_t dimension) {
  bool same = small->rank == large->rank;
  for (int d = 0; same && d < small->rank; d++)
    same = d == dimension || op_dims_agree(small, d, large, d);
  OP_WANT(instr, same, rule, "from %s to %s, want equal sizes but for dimension %ld",
          OP_TEXT(op_operand_shape(instr, 0)), OP_TEXT(instr->shape), (long)dimension);
  int64_t part = small->dims[dimension], whole = large->dims[dimension], exact, factor, wanted;
  if (op_is_dynamic(small, dimension) || op_is_dynamic(large, dimension)) return NULL;
  op_group_size(instr, &exact, &factor);
  OP_WANT(instr, !exact || (!__builtin_mul_overflow(part, exact, &wanted) && wanted == whole), rule,
          "sizes %ld and %ld in dimension %ld, want a factor of %ld, the processes of a group",
          (long)part, (long)whole, (long)dimension, (long)exact);
  bool fits =
      part == 0 ? whole == 0 : whole >= part && whole % part == 0 && whole / part % factor == 0;
  OP_WANT(instr, fits, rule,
          "sizes %ld and %ld in dimension %ld, want a factor that is a multiple of %ld", (long)part,
          (long)whole, (long)dimension, (long)factor);
  return NULL;
}

/* C1 and C8: the scattered dimension is a multiple of the group size, and the result has its
 * share. */
hr_status_t verify_reduce_scatter(const hlo_instr_t *instr) {
  static const group_rules_t rules = {"C3", "C5", "C6", true, true};
  int count = instr->operand_count;
  HR_TRY(check_groups(instr, &rules));
  HR_TRY(check_reduction(instr, "C7", "C9", count, instr->shape));
  for (int k = 0; k < count; k++) {
    int64_t dimension, exact, factor;
    const hlo_shape_t *operand = op_operand_shape(instr, k);
    HR_TRY(op_one_dimension(instr, "C2", operand->rank, &dimension));
    op_group_size(instr, &exact, &factor);
    OP_WANT(instr, op_is_dynamic(operand, dimension) || operand->dims[dimension] % factor == 0,
            "C1", "dimension %ld of %s, want a multiple of %ld, the processes of a group",
            (long)dimension, OP_TEXT(operand), (long)factor);
    HR_TRY(want_ratio(instr, "C8", result_of(instr->shape, count, k), operand, dimension));
  }
  return NULL;
}

/* C6: the gathered dimension is the operand's times the processes of the group. */
static hr_status_t check_gathered(const hlo_instr_t *instr, const hlo_shape_t *results) {
  for (int k = 0; k < instr->operand_count; k++) {
    int64_t dimension;
    const hlo_shape_t *operand = op_operand_shape(instr, k),
                      *result = result_of(results, instr->operand_count, k);
    HR_TRY(op_want_array(instr, operand, k, "I1"));
    HR_TRY(op_one_dimension(instr, "C1", operand->rank, &dimension));
    OP_WANT(instr, result && result->dtype == operand->dtype, "C6",
            "result %d is %s, want an array of %s", k, result ? OP_TEXT(result) : "missing",
            hr_dtype_name(operand->dtype));
    HR_TRY(want_ratio(instr, "C6", operand, result, dimension));
  }
  return NULL;
}

/* (operands, results, ...): a single operand is itself, several are tuples. */
static hr_status_t check_start_tuple(const hlo_instr_t *instr, const hlo_shape_t **out_results) {
  const hlo_shape_t *shape = instr->shape;
  OP_WANT(instr, hlo_shape_is_tuple(shape) && shape->element_count >= 2, NULL,
          "declared as %s, want (operands, results)", OP_TEXT(shape));
  for (int k = 0; k < instr->operand_count; k++)
    HR_TRY(
        want_like_operand(instr, NULL, result_of(shape->elements[0], instr->operand_count, k), k));
  *out_results = shape->elements[1];
  return NULL;
}

/* A start gives (operands, results). */
hr_status_t verify_all_gather(const hlo_instr_t *instr) {
  static const group_rules_t rules = {"C2", "C4", "C5", true, true};
  const hlo_shape_t *results = instr->shape;
  HR_TRY(check_groups(instr, &rules));
  if (instr->op == HLO_ALL_GATHER_START) HR_TRY(check_start_tuple(instr, &results));
  return check_gathered(instr, results);
}

/* Without `dimensions`: operand k goes to member k, result k comes from member k. */
static hr_status_t check_tuple_all_to_all(const hlo_instr_t *instr) {
  const hlo_shape_t *shape = instr->shape;
  int64_t exact, factor;
  op_group_size(instr, &exact, &factor);
  OP_WANT(instr, !exact || instr->operand_count == exact, "C8",
          "%d operands, want %ld, the processes of a group", instr->operand_count, (long)exact);
  OP_WANT(instr, hlo_shape_is_tuple(shape) && shape->element_count == instr->operand_count, "C9",
          "declared as %s, want a tuple of %d arrays", OP_TEXT(shape), instr->operand_count);
  for (int k = 0; k < instr->operand_count; k++) {
    HR_TRY(op_want_array(instr, op_operand_shape(instr, k), k, "I1"));
    HR_TRY(want_like_operand(instr, "C9", op_operand_shape(instr, 0), k));
    HR_TRY(want_like_operand(instr, "C9", shape->elements[k], k));
  }
  return NULL;
}

/* Without dimensions the operands are the blocks, one for each member; otherwise the array is
 * divided along one dimension. */
hr_status_t verify_all_to_all(const hlo_instr_t *instr) {
  static const group_rules_t rules = {"C5", "C7", NULL, true, true};
  const hlo_shape_t *operand = op_operand_shape(instr, 0);
  int64_t dimension, exact, factor;
  HR_TRY(check_groups(instr, &rules));
  if (!hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).count) return check_tuple_all_to_all(instr);
  OP_WANT(instr, instr->operand_count == 1, NULL, "%d operands with dimensions, want one",
          instr->operand_count);
  HR_TRY(op_want_array(instr, operand, 0, "I1"));
  HR_TRY(op_one_dimension(instr, "C1", operand->rank, &dimension));
  op_group_size(instr, &exact, &factor);
  OP_WANT(instr, op_is_dynamic(operand, dimension) || operand->dims[dimension] % factor == 0, "C2",
          "dimension %ld of %s, want a multiple of %ld, the processes of a group", (long)dimension,
          OP_TEXT(operand), (long)factor);
  return want_like_operand(instr, "C9", instr->shape, 0);
}

/* input, output, and four vectors of integers: input offsets, send sizes, output offsets, receive
 * sizes. */
hr_status_t verify_ragged_all_to_all(const hlo_instr_t *instr) {
  static const group_rules_t rules = {NULL, NULL, NULL, true, true};
  const hlo_shape_t *input = op_operand_shape(instr, 0), *output = op_operand_shape(instr, 1);
  HR_TRY(check_groups(instr, &rules));
  for (int k = 0; k < 6; k++) HR_TRY(op_want_array(instr, op_operand_shape(instr, k), k, NULL));
  bool fits = input->dtype == output->dtype && input->rank == output->rank && input->rank > 0;
  for (int d = 1; fits && d < input->rank; d++) fits = op_dims_agree(input, d, output, d);
  OP_WANT(instr, fits, NULL, "input %s and output %s, want arrays that differ only in dimension 0",
          OP_TEXT(input), OP_TEXT(output));
  for (int k = 2; k < 6; k++) {
    const hlo_shape_t *sizes = op_operand_shape(instr, k), *first = op_operand_shape(instr, 2);
    OP_WANT(instr, hr_dtype_is_integer(sizes->dtype) && (sizes->rank == 1 || sizes->rank == 2),
            NULL, "operand %d is %s, want one or two dimensions of integers", k, OP_TEXT(sizes));
    OP_WANT(instr, hlo_shape_compatible(sizes, first), NULL,
            "operand %d is %s, want %s as operand 2", k, OP_TEXT(sizes), OP_TEXT(first));
  }
  return want_like_operand(instr, NULL, instr->shape, 1);
}

/* Operands that carry data: with has_dynamic_root the last operand holds the root of each, or of
 * all. */
static hr_status_t data_operands(const hlo_instr_t *instr, int *out_count) {
  *out_count = instr->operand_count;
  if (!hlo_attr_bool(instr, HLO_ATTR_HAS_DYNAMIC_ROOT)) return NULL;
  --*out_count;
  OP_WANT(instr, *out_count > 0, NULL, "has_dynamic_root with one operand, want data and the root");
  const hlo_shape_t *roots = op_operand_shape(instr, *out_count);
  bool fits = hlo_shape_is_array(roots) && hr_dtype_is_integer(roots->dtype) &&
              (!roots->rank || (roots->rank == 1 && roots->dims[0] == *out_count));
  OP_WANT(instr, fits, NULL, "the roots are %s, want %d integers or one", OP_TEXT(roots),
          *out_count);
  return NULL;
}

/* The root is the first id of each group, or a separate operand. */
hr_status_t verify_collective_broadcast(const hlo_instr_t *instr) {
  static const group_rules_t rules = {"C1", "C2", NULL, false, false};
  int count;
  HR_TRY(check_groups(instr, &rules));
  HR_TRY(data_operands(instr, &count));
  for (int k = 0; k < count; k++) {
    HR_TRY(op_want_array(instr, op_operand_shape(instr, k), k, "I1"));
    HR_TRY(want_like_operand(instr, "C3", result_of(instr->shape, count, k), k));
  }
  return NULL;
}

/* Like an all-reduce of which only the root gets the result. */
hr_status_t verify_collective_reduce(const hlo_instr_t *instr) {
  static const group_rules_t rules = {NULL, NULL, NULL, false, false};
  int count;
  HR_TRY(check_groups(instr, &rules));
  HR_TRY(data_operands(instr, &count));
  HR_TRY(check_reduction(instr, NULL, NULL, count, instr->shape));
  for (int k = 0; k < count; k++) {
    const hlo_shape_t *result = result_of(instr->shape, count, k);
    OP_WANT(instr, hlo_shape_same_dims(result, op_operand_shape(instr, k)), NULL,
            "result %d is %s, want the sizes of %s", k, OP_TEXT(result),
            OP_TEXT(op_operand_shape(instr, k)));
  }
  return NULL;
}

/* ---- permute ---- */

/* One side of the pairs: non-negative, each at most once. */
static hr_status_t check_pair_side(const hlo_instr_t *instr, const hlo_int_lists_t *pairs,
                                   int side) {
  hr_arena_t arena;
  int64_t *ids;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, pairs->count, &ids);
  for (int64_t i = 0; !st && i < pairs->count; i++) {
    ids[i] = pairs->lists[i].data[side];
    if (ids[i] < 0)
      st = op_rule_failure(__FILE__, __LINE__, instr, "C4",
                           "source_target_pairs lists %ld, want 0 or more", (long)ids[i]);
  }
  if (!st)
    st = check_distinct(instr, side ? "C3" : "C2",
                        side ? "source_target_pairs, among its targets,"
                             : "source_target_pairs, among its sources,",
                        ids, pairs->count);
  hr_arena_deinit(&arena);
  return st;
}

/* C1 to C3: pairs of two ids, each at most once as a source and as a target. */
static hr_status_t check_pairs(const hlo_instr_t *instr) {
  const hlo_int_lists_t *pairs = hlo_attr_lists(instr, HLO_ATTR_SOURCE_TARGET_PAIRS);
  for (int64_t i = 0; i < pairs->count; i++)
    OP_WANT(instr, pairs->lists[i].count == 2, "C1",
            "pair %ld lists %ld ids, want a source and a target", (long)i,
            (long)pairs->lists[i].count);
  HR_TRY(check_pair_side(instr, pairs, 0));
  return check_pair_side(instr, pairs, 1);
}

/* With slice_sizes: (input, output, input offsets, output offsets); slices of the input are written
 * into the output, in place. */
static hr_status_t check_in_place_permute(const hlo_instr_t *instr, const hlo_shape_t *results) {
  OP_WANT(instr, instr->operand_count == 4, NULL, "%d operands with slice_sizes, want 4",
          instr->operand_count);
  OP_WANT(instr, op_operand_shape(instr, 0)->dtype == op_operand_shape(instr, 1)->dtype, NULL,
          "slices of %s go into %s, want equal element types", OP_TEXT(op_operand_shape(instr, 0)),
          OP_TEXT(op_operand_shape(instr, 1)));
  OP_WANT(instr, hlo_shape_compatible(results, op_operand_shape(instr, 1)), NULL,
          "the result is %s, want %s", OP_TEXT(results), OP_TEXT(op_operand_shape(instr, 1)));
  return NULL;
}

/* I1, for tuples leaf by leaf. */
static hr_status_t want_arrays(const hlo_instr_t *instr, int k) {
  const hlo_shape_t *operand = op_operand_shape(instr, k);
  for (int leaf = 0; leaf < hlo_shape_leaf_count(operand); leaf++)
    OP_WANT(instr, hlo_shape_is_array(hlo_shape_leaf(operand, leaf)), "I1",
            "operand %d is %s, want arrays", k, OP_TEXT(operand));
  return NULL;
}

/* With slice_sizes the op writes parts of the operands in place; otherwise results are like
 * operands. A start gives (input, output, contexts). */
hr_status_t verify_collective_permute(const hlo_instr_t *instr) {
  bool start = instr->op == HLO_COLLECTIVE_PERMUTE_START,
       in_place = hlo_attr_has(instr, HLO_ATTR_PERMUTE_SLICE_SIZES);
  const hlo_shape_t *results = instr->shape;
  HR_TRY(check_pairs(instr));
  if (start && !in_place) HR_TRY(check_start_tuple(instr, &results));
  if (start && in_place) {
    OP_WANT(instr, hlo_shape_is_tuple(results) && results->element_count >= 2, NULL,
            "declared as %s, want (input, output)", OP_TEXT(results));
    results = results->elements[1];
  }
  if (in_place) return check_in_place_permute(instr, results);
  for (int k = 0; k < instr->operand_count; k++) {
    HR_TRY(want_arrays(instr, k));
    HR_TRY(want_like_operand(instr, "C5", result_of(results, instr->operand_count, k), k));
  }
  return NULL;
}

/* Checks that the done of an op gets the state of that op's start. */
hr_status_t verify_collective_done(const hlo_instr_t *instr) {
  hlo_opcode_t wanted = instr->op == HLO_ALL_REDUCE_DONE   ? HLO_ALL_REDUCE_START
                        : instr->op == HLO_ALL_GATHER_DONE ? HLO_ALL_GATHER_START
                                                           : HLO_COLLECTIVE_PERMUTE_START;
  const hlo_instr_t *start = instr->operands[0];
  OP_WANT(instr, start->op == wanted, NULL, "operand 0 is the %s %%%.*s, want its %s",
          hlo_op_name(start->op), HR_STR_ARGS(start->name), hlo_op_name(wanted));
  return NULL;
}
