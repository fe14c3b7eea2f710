/* Result shapes of gather and scatter. Both relate an array to an array of start indices by the
 * same kind of dimension numbers; tie_t holds them under gather's names, with the labels of either
 * op. */
#include "ops/query/gather_dims.h"
#include "ops/rules/constraint.h"

/* Labels of the constraints that gather and scatter share, by subject. */
typedef struct tie_rules {
  const char *rank, *vector_dim, *map_size, *no_window_unique, *no_window_sorted, *no_window_range,
      *batch_sorted, *batch_range, *index_batch_unique, *index_batch_range, *index_batch_vector,
      *batch_count, *batch_sizes, *map_unique, *map_range, *window_order;
} tie_rules_t;

typedef struct tie {
  const hlo_shape_t *operand, *indices;
  op_gather_dims_t dims;
  /* Names of the lists of `dims` in this op. */
  const char *window_name, *dropped_name, *batching_name, *indices_batching_name, *map_name;
} tie_t;

static const tie_rules_t gather_rules = {"C1",  "C2",  "C3",  "C6",  "C7",  "C8",  "C10", "C11",
                                         "C13", "C14", "C15", "C16", "C17", "C18", "C19", "C4"};
static const tie_rules_t scatter_rules = {"C2",  "C22", "C19", "C9",  "C10", "C11", "C12", "C13",
                                          "C14", "C15", "C16", "C17", "C18", "C20", "C21", "C7"};

/* With gather's own attribute names, for messages. */
static tie_t gather_tie(const hlo_instr_t *instr, const hlo_shape_t *const *in) {
  return (tie_t){.operand = in[0],
                 .indices = in[1],
                 .dims = op_gather_dims(instr),
                 .window_name = "offset_dims",
                 .dropped_name = "collapsed_slice_dims",
                 .batching_name = "operand_batching_dims",
                 .indices_batching_name = "start_indices_batching_dims",
                 .map_name = "start_index_map"};
}

/* With scatter's names of the same lists. */
static tie_t scatter_tie(const hlo_instr_t *instr, const hlo_shape_t *operand,
                         const hlo_shape_t *indices) {
  return (tie_t){.operand = operand,
                 .indices = indices,
                 .dims = op_scatter_dims(instr),
                 .window_name = "update_window_dims",
                 .dropped_name = "inserted_window_dims",
                 .batching_name = "input_batching_dims",
                 .indices_batching_name = "scatter_indices_batching_dims",
                 .map_name = "scatter_dims_to_operand_dims"};
}

/* Checks the window and batching dimensions of the operand. Every dimension of the operand is
 * exactly one of: a window dimension, a dropped one, a batching one. */
static hr_status_t check_operand_dims(const hlo_instr_t *instr, const tie_rules_t *r,
                                      const tie_t *t) {
  uint64_t seen = 0;
  int64_t named = t->dims.window.count + t->dims.dropped.count + t->dims.batching.count;
  HR_TRY(op_check_range(instr, r->no_window_range, t->dropped_name, t->dims.dropped,
                        t->operand->rank));
  HR_TRY(
      op_check_range(instr, r->batch_range, t->batching_name, t->dims.batching, t->operand->rank));
  HR_TRY(op_check_unique(instr, r->no_window_unique, t->dropped_name, t->dims.dropped, &seen));
  HR_TRY(op_check_unique(instr, r->no_window_unique, t->batching_name, t->dims.batching, &seen));
  HR_TRY(op_check_sorted(instr, r->no_window_sorted, t->dropped_name, t->dims.dropped));
  HR_TRY(op_check_sorted(instr, r->batch_sorted, t->batching_name, t->dims.batching));
  OP_WANT(instr, named == t->operand->rank, r->rank,
          "%s, %s and %s list %ld dimensions, want the operand's rank %d", t->window_name,
          t->dropped_name, t->batching_name, (long)named, t->operand->rank);
  return NULL;
}

/* Checks the batching dimensions of the start indices, and the one with the index vectors (the
 * rank, if each index is a vector of its own). */
static hr_status_t check_index_dims(const hlo_instr_t *instr, const tie_rules_t *r,
                                    const tie_t *t) {
  uint64_t seen = 0;
  OP_WANT(instr, hr_dtype_is_integer(t->indices->dtype), "I2", "the indices are %s, want integers",
          OP_TEXT(t->indices));
  OP_WANT(instr, t->dims.vector_dim >= 0 && t->dims.vector_dim <= t->indices->rank, r->vector_dim,
          "index_vector_dim %ld, want a value from 0 to %d", (long)t->dims.vector_dim,
          t->indices->rank);
  HR_TRY(op_check_range(instr, r->index_batch_range, t->indices_batching_name,
                        t->dims.indices_batching, t->indices->rank));
  HR_TRY(op_check_unique(instr, r->index_batch_unique, t->indices_batching_name,
                         t->dims.indices_batching, &seen));
  OP_WANT(instr, !(seen >> t->dims.vector_dim & 1), r->index_batch_vector,
          "%s lists index_vector_dim %ld, want other dimensions", t->indices_batching_name,
          (long)t->dims.vector_dim);
  OP_WANT(instr, t->dims.batching.count == t->dims.indices_batching.count, r->batch_count,
          "%s lists %ld dimensions and %s %ld, want as many", t->batching_name,
          (long)t->dims.batching.count, t->indices_batching_name,
          (long)t->dims.indices_batching.count);
  for (int64_t i = 0; i < t->dims.batching.count; i++)
    OP_WANT(instr,
            op_dims_agree(t->operand, t->dims.batching.data[i], t->indices,
                          t->dims.indices_batching.data[i]),
            r->batch_sizes,
            "batching dimension %ld of %s goes with dimension %ld of %s, want equal sizes",
            (long)t->dims.batching.data[i], OP_TEXT(t->operand),
            (long)t->dims.indices_batching.data[i], OP_TEXT(t->indices));
  return NULL;
}

/* Entry i of an index vector is the start in operand dimension start_map[i]. */
static hr_status_t check_index_map(const hlo_instr_t *instr, const tie_rules_t *r, const tie_t *t) {
  uint64_t seen = op_dims_mask(t->dims.batching);
  bool has_vectors = t->dims.vector_dim < t->indices->rank;
  int64_t length = has_vectors ? t->indices->dims[t->dims.vector_dim] : 1;
  bool known = !has_vectors || !op_is_dynamic(t->indices, t->dims.vector_dim);
  OP_WANT(instr, t->dims.start_map.count == length || !known, r->map_size,
          "%s lists %ld dimensions, want %ld, the length of an index vector", t->map_name,
          (long)t->dims.start_map.count, (long)length);
  HR_TRY(op_check_range(instr, r->map_range, t->map_name, t->dims.start_map, t->operand->rank));
  HR_TRY(op_check_unique(instr, r->map_unique, t->map_name, t->dims.start_map, &seen));
  HR_TRY(op_check_sorted(instr, r->window_order, t->window_name, t->dims.window));
  return NULL;
}

/* All constraints that do not depend on window sizes, in the order of reading. */
static hr_status_t check_tie(const hlo_instr_t *instr, const tie_rules_t *rules, const tie_t *tie) {
  HR_TRY(op_want_array(instr, tie->operand, 0, "I1"));
  OP_WANT(instr, hlo_shape_is_array(tie->indices), "I2", "the indices are %s, want an array",
          OP_TEXT(tie->indices));
  HR_TRY(check_operand_dims(instr, rules, tie));
  HR_TRY(check_index_dims(instr, rules, tie));
  return check_index_map(instr, rules, tie);
}

/* Rank of the array of windows: the dimensions of the indices without their vectors, and the
 * windows' own dimensions. */
static int64_t windows_rank(const tie_t *t) {
  return t->indices->rank - (t->dims.vector_dim < t->indices->rank) + t->dims.window.count;
}

/* Dimension of the indices that becomes batch dimension `k` of the result or updates. */
static int64_t index_dim(const tie_t *t, int64_t k) { return k < t->dims.vector_dim ? k : k + 1; }

/* Windows lie within the operand; dimensions that the result drops have at most one element. */
static hr_status_t check_slice_sizes(const hlo_instr_t *instr, const tie_t *t, hr_ints_t sizes) {
  OP_WANT(instr, sizes.count == t->operand->rank, "C20", "slice_sizes lists %ld sizes, want %d",
          (long)sizes.count, t->operand->rank);
  for (int d = 0; d < t->operand->rank; d++) {
    int64_t size = t->operand->dims[d];
    OP_WANT(instr, sizes.data[d] >= 0 && (sizes.data[d] <= size || op_is_dynamic(t->operand, d)),
            "C21", "slice size %ld in dimension %d, want a value from 0 to %ld",
            (long)sizes.data[d], d, (long)size);
  }
  for (int64_t i = 0; i < t->dims.dropped.count; i++)
    OP_WANT(instr, sizes.data[t->dims.dropped.data[i]] <= 1, "C9",
            "slice size %ld in the collapsed dimension %ld, want at most 1",
            (long)sizes.data[t->dims.dropped.data[i]], (long)t->dims.dropped.data[i]);
  for (int64_t i = 0; i < t->dims.batching.count; i++)
    OP_WANT(instr, sizes.data[t->dims.batching.data[i]] <= 1, "C12",
            "slice size %ld in the batching dimension %ld, want at most 1",
            (long)sizes.data[t->dims.batching.data[i]], (long)t->dims.batching.data[i]);
  return NULL;
}

/* True if the slice is a whole dynamic dimension of the declared operand. */
static bool takes_all(const hlo_instr_t *gather, int64_t d) {
  const hlo_shape_t *declared = gather->operands[0]->shape;
  hr_ints_t sizes = hlo_attr_ints(gather, HLO_ATTR_SLICE_SIZES);
  return d < declared->rank && op_is_dynamic(declared, d) && sizes.data[d] == declared->dims[d];
}

int64_t op_gather_slice_size(const hlo_instr_t *gather, const hlo_shape_t *operand, int64_t d) {
  return takes_all(gather, d) ? operand->dims[d]
                              : hlo_attr_ints(gather, HLO_ATTR_SLICE_SIZES).data[d];
}

/* A window without elements in a result with elements is an error: its start would be clamped to
 * the end of the operand. */
static hr_status_t check_window_has_elements(const hlo_instr_t *instr, const tie_t *t,
                                             hr_ints_t sizes, const hlo_shape_t *result) {
  for (int d = 0; d < result->rank; d++)
    if (!result->dims[d]) return NULL;
  for (int64_t i = 0; i < t->dims.dropped.count; i++)
    OP_WANT(instr, sizes.data[t->dims.dropped.data[i]] == 1, "C9",
            "slice size 0 in the collapsed dimension %ld of a result that has elements, want 1",
            (long)t->dims.dropped.data[i]);
  return NULL;
}

/* Result dimensions in offset_dims get, in order, the slice sizes of the operand dimensions that
 * are neither collapsed nor batching; the others get, in order, the dimensions of the indices
 * except index_vector_dim. */
hr_status_t infer_gather(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                         const hlo_shape_t **out_shape) {
  tie_t tie = gather_tie(instr, in);
  hr_ints_t sizes = hlo_attr_ints(instr, HLO_ATTR_SLICE_SIZES);
  uint64_t windows = 0;
  op_dims_t dims = {.rank = 0};
  HR_TRY(check_tie(instr, &gather_rules, &tie));
  int64_t actual[HLO_MAX_RANK];
  if (sizes.count == in[0]->rank) {
    for (int64_t d = 0; d < sizes.count; d++) actual[d] = op_gather_slice_size(instr, in[0], d);
    sizes.data = actual;
  }
  HR_TRY(check_slice_sizes(instr, &tie, sizes));
  int64_t rank = windows_rank(&tie), batch = 0;
  OP_WANT(instr, rank <= HLO_MAX_RANK, NULL, "the result has %ld dimensions, want at most %d",
          (long)rank, HLO_MAX_RANK);
  HR_TRY(op_check_range(instr, "C5", "offset_dims", tie.dims.window, rank));
  HR_TRY(op_check_unique(instr, "C4", "offset_dims", tie.dims.window, &windows));
  uint64_t without = op_dims_mask(tie.dims.dropped) | op_dims_mask(tie.dims.batching);
  for (int64_t d = 0, from = 0; d < rank; d++) {
    if (windows >> d & 1) {
      while (without >> from & 1) from++;
      HR_TRY(op_dims_push(instr, &dims, sizes.data[from],
                          takes_all(instr, from) && op_is_dynamic(in[0], from)));
      from++;
    } else {
      HR_TRY(op_dims_push_from(instr, &dims, tie.indices, index_dim(&tie, batch++)));
    }
  }
  HR_TRY(op_dims_shape(arena, in[0]->dtype, &dims, out_shape));
  return check_window_has_elements(instr, &tie, sizes, *out_shape);
}

/* Checks the rank and batch dimensions of a declared shape, which do not depend on slice sizes. */
hr_status_t op_check_gather_result(const hlo_instr_t *gather, const hlo_shape_t *const *in,
                                   const hlo_shape_t *result) {
  tie_t tie = gather_tie(gather, in);
  uint64_t windows = 0;
  HR_TRY(check_tie(gather, &gather_rules, &tie));
  int64_t rank = windows_rank(&tie), batch = 0;
  OP_WANT(gather, result->rank == rank, "C22", "declared as %s, want %ld dimensions",
          OP_TEXT(result), (long)rank);
  HR_TRY(op_check_range(gather, "C5", "offset_dims", tie.dims.window, rank));
  HR_TRY(op_check_unique(gather, "C4", "offset_dims", tie.dims.window, &windows));
  for (int64_t d = 0; d < rank; d++) {
    if (windows >> d & 1) continue;
    int64_t i = index_dim(&tie, batch++);
    OP_WANT(gather, op_dims_agree(result, d, tie.indices, i), "C22",
            "dimension %ld of the result %s, want the size of dimension %ld of the indices %s",
            (long)d, OP_TEXT(result), (long)i, OP_TEXT(tie.indices));
  }
  return NULL;
}

/* Updates agree with the indices in scatter dimensions, and fit the operand in window
 * dimensions. */
static hr_status_t check_updates(const hlo_instr_t *instr, const tie_t *t,
                                 const hlo_shape_t *updates) {
  uint64_t windows = 0, without = op_dims_mask(t->dims.dropped) | op_dims_mask(t->dims.batching);
  int64_t rank = windows_rank(t), batch = 0;
  HR_TRY(op_check_range(instr, "C8", "update_window_dims", t->dims.window, updates->rank));
  HR_TRY(op_check_unique(instr, "C7", "update_window_dims", t->dims.window, &windows));
  OP_WANT(instr, updates->rank == rank, "C4", "the updates are %s, want %ld dimensions",
          OP_TEXT(updates), (long)rank);
  for (int64_t d = 0, to = 0; d < rank; d++) {
    if (!(windows >> d & 1)) {
      int64_t i = index_dim(t, batch++);
      OP_WANT(instr, op_dims_agree(updates, d, t->indices, i), "C4",
              "dimension %ld of the updates %s, want the size of dimension %ld of the indices %s",
              (long)d, OP_TEXT(updates), (long)i, OP_TEXT(t->indices));
      continue;
    }
    while (without >> to & 1) to++;
    int64_t bound = t->operand->dims[to];
    OP_WANT(instr,
            updates->dims[d] <= bound || op_is_dynamic(t->operand, to) || op_is_dynamic(updates, d),
            "C4",
            "dimension %ld of the updates has size %ld, want at most %ld, the size of the input's "
            "dimension %ld",
            (long)d, (long)updates->dims[d], (long)bound, (long)to);
    to++;
  }
  return NULL;
}

static hr_status_t check_scatter_operands(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                                          int count) {
  OP_WANT(instr, instr->operand_count % 2 == 1, "C5",
          "%d operands, want as many updates as inputs and the indices", instr->operand_count);
  HR_TRY(op_want_arrays(instr, in, "I1"));
  for (int k = 0; k < count; k++) {
    const hlo_shape_t *updates = in[count + 1 + k];
    OP_WANT(instr, hlo_shape_same_dims(in[k], in[0]), "C1", "input %d is %s, want the sizes of %s",
            k, OP_TEXT(in[k]), OP_TEXT(in[0]));
    OP_WANT(instr, hlo_shape_same_dims(updates, in[count + 1]), "C3",
            "updates %d are %s, want the sizes of %s", k, OP_TEXT(updates), OP_TEXT(in[count + 1]));
    OP_WANT(instr, updates->dtype == in[k]->dtype, "C6",
            "updates %d have elements of type %s, want %s", k, hr_dtype_name(updates->dtype),
            hr_dtype_name(in[k]->dtype));
  }
  return NULL;
}

hr_status_t infer_scatter(hr_arena_t *arena, const hlo_instr_t *instr, const hlo_shape_t *const *in,
                          const hlo_shape_t **out_shape) {
  int count = instr->operand_count / 2;
  tie_t tie = scatter_tie(instr, in[0], in[count]);
  const hlo_shape_t **shapes;
  HR_TRY(check_scatter_operands(instr, in, count));
  HR_TRY(check_tie(instr, &scatter_rules, &tie));
  HR_TRY(check_updates(instr, &tie, in[count + 1]));
  HR_TRY(HR_NEW_ARRAY(arena, count, &shapes));
  for (int k = 0; k < count; k++) {
    hr_dtype_t dtype = HR_PRED;
    HR_TRY(op_reducer_dtype(instr, "C23", op_body_of(instr), count, k, &dtype));
    HR_TRY(hlo_shape_with_dtype(arena, in[k], dtype, &shapes[k]));
  }
  return op_results_shape(arena, count, shapes, out_shape);
}
