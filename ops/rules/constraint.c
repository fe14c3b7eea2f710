/* Checks shared by inference and verification. The caller passes the label of the constraint, as
 * one constraint has different numbers in different ops of the specification. Sizes that may be
 * dynamic are compared by op_dims_agree: a dynamic size agrees with every size within its bound,
 * and the actual sizes are checked again when the step runs (dynamic_shape.c). */
#include "ops/rules/constraint.h"
#include "base/decimal.h"

#include <stdio.h>
#include <stdlib.h>

/* A conditional on a predicate is the specification's `if`, any other its `case`. */
bool op_is_if(const hlo_instr_t *instr) {
  return instr->op == HLO_CONDITIONAL && instr->operand_count &&
         instr->operands[0]->shape->dtype == HR_PRED;
}

/* The op under which the specification lists the rules: asynchronous halves have those of the whole
 * op. "" for ops that only HLO has. */
static const char *rules_op(const hlo_instr_t *instr) {
  hlo_opcode_t op = instr->op;
  if (op_is_if(instr)) return "if";
  switch (op) {
    case HLO_ALL_REDUCE_START:
      op = HLO_ALL_REDUCE;
      break;
    case HLO_ALL_GATHER_START:
      op = HLO_ALL_GATHER;
      break;
    case HLO_COLLECTIVE_PERMUTE_START:
      op = HLO_COLLECTIVE_PERMUTE;
      break;
    case HLO_RECV_DONE:
      op = HLO_RECV;
      break;
    default:
      break;
  }
  return hlo_op_table[op].stablehlo_name;
}

/* The label is "OP RULE", such as "dot_general C13"; rules that the specification lacks are
 * XLA's. */
hr_status_t op_rule_failure(const char *file, int line, const hlo_instr_t *instr, const char *rule,
                            const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *message = NULL;
  int size = hr_vasprintf(&message, format, args);
  va_end(args);
  char label[64] = "XLA";
  const char *op = rules_op(instr);
  if (rule && *op) snprintf(label, sizeof label, "%s %s", op, rule);
  hr_status_t st = hlo_error_from(file, line, HR_INVALID, instr, label, "%s",
                                  size < 0 ? "out of memory" : message);
  if (size >= 0) free(message);
  return st;
}

/* Labels of the two rules about a result: on its element type and on its sizes. Ops without a row
 * have one label for both, C1. */
typedef struct result_rules {
  const char *type, *sizes;
} result_rules_t;

static const result_rules_t result_rules[HLO_OPCODE_COUNT] = {
    [HLO_ABS] = {"C2", "C1"},
    [HLO_AFTER_ALL] = {"O1", "O1"},
    [HLO_ALL_REDUCE] = {"C7", "C6"},
    [HLO_ALL_REDUCE_START] = {"C7", "C6"},
    [HLO_BATCH_NORM_GRAD] = {"C2", "C3-C4"},
    [HLO_BATCH_NORM_INFERENCE] = {"C7", "C7"},
    [HLO_BATCH_NORM_TRAINING] = {"C2", "C5-C7"},
    [HLO_CLAMP] = {"C4", "C4"},
    [HLO_COMPARE] = {"O1", "C2"},
    [HLO_COMPLEX] = {"C3", "C2"},
    [HLO_CONCATENATE] = {"C5", "C6"},
    [HLO_CONDITIONAL] = {"C4", "C4"},
    [HLO_CONVOLUTION] = {"C27", "C25"},
    [HLO_DOT] = {"C13", "C12"},
    [HLO_DYNAMIC_SLICE] = {"C1", "C5"},
    [HLO_FFT] = {"C2", "C5"},
    [HLO_GATHER] = {"C23", "C22"},
    [HLO_GET_DIMENSION_SIZE] = {"O1", "O1"},
    [HLO_GET_TUPLE_ELEMENT] = {"C2", "C2"},
    [HLO_IMAG] = {"C2", "C1"},
    [HLO_IS_FINITE] = {"O1", "C1"},
    [HLO_MAP] = {"C4", "C1"},
    [HLO_OUTFEED] = {"O1", "O1"},
    [HLO_PAD] = {"C1", "C4"},
    [HLO_PARTITION_ID] = {"O1", "O1"},
    [HLO_REAL] = {"C2", "C1"},
    [HLO_RECV_DONE] = {"C3", "C3"},
    [HLO_REDUCE] = {"C8", "C7"},
    [HLO_REDUCE_WINDOW] = {"C16", "C15"},
    [HLO_REPLICA_ID] = {"O1", "O1"},
    [HLO_SCATTER] = {"C25", "C24"},
    [HLO_SELECT] = {"C2", "C2"},
    [HLO_SELECT_AND_SCATTER] = {"C12", "C11"},
    [HLO_SEND] = {"O1", "O1"},
    [HLO_SET_DIMENSION_SIZE] = {"O1", "O1"},
    [HLO_SLICE] = {"C1", "C5"},
    [HLO_SORT] = {"C2", "C2"},
    [HLO_TRANSPOSE] = {"C1", "C3"},
    [HLO_TRIANGULAR_SOLVE] = {"C4", "C4"},
    [HLO_WHILE] = {"C3", "C3"},
};

/* True if the shapes differ only in element types. */
static bool only_types_differ(const hlo_shape_t *a, const hlo_shape_t *b) {
  if (hlo_shape_is_array(a) != hlo_shape_is_array(b) || a->element_count != b->element_count)
    return false;
  for (int i = 0; i < a->element_count; i++)
    if (!only_types_differ(a->elements[i], b->elements[i])) return false;
  return hlo_shape_same_dims(a, b);
}

/* The label is that of the constraint that the declared shape violates, on types or on sizes; a
 * wrong rank of a convolution is C26. */
hr_status_t op_check_declared(const hlo_instr_t *instr, const hlo_shape_t *inferred) {
  const hlo_shape_t *declared = instr->shape;
  if (hlo_shape_compatible(declared, inferred)) return NULL;
  const result_rules_t *rules = &result_rules[instr->op];
  const char *rule = !rules->type                            ? "C1"
                     : op_is_if(instr)                       ? "C3"
                     : only_types_differ(declared, inferred) ? rules->type
                                                             : rules->sizes;
  if (instr->op == HLO_CONVOLUTION && declared->rank != inferred->rank) rule = "C26";
  OP_WANT(instr, false, rule, "declared as %s, want %s", OP_TEXT(declared), OP_TEXT(inferred));
  return NULL;
}

/* The specification's families of types; promotion stays within one. */
op_kind_t op_kind(hr_dtype_t dtype) {
  switch (hr_dtype_class(dtype)) {
    case HR_CLASS_PRED:
      return OP_KIND_PRED;
    case HR_CLASS_SIGNED:
    case HR_CLASS_UNSIGNED:
      return OP_KIND_INTEGER;
    case HR_CLASS_FLOAT:
      return OP_KIND_FLOAT;
    case HR_CLASS_COMPLEX:
      return OP_KIND_COMPLEX;
    default:
      return OP_KIND_OTHER;
  }
}

/* The specification's is_promotable: one family, and `to` is at least as wide. */
static bool op_is_promotable(hr_dtype_t from, hr_dtype_t to) {
  return from == to || (hr_dtype_class(from) == hr_dtype_class(to) && hr_dtype_is_array(from) &&
                        hr_dtype_table[from].bits <= hr_dtype_table[to].bits);
}

/* ---- sizes ---- */

/* Copies sizes and dynamic flags of an array. */
void op_dims_of(const hlo_shape_t *shape, op_dims_t *out_dims) {
  out_dims->rank = shape->rank;
  for (int d = 0; d < shape->rank; d++) {
    out_dims->sizes[d] = shape->dims[d];
    out_dims->dynamic[d] = op_is_dynamic(shape, d);
  }
}

/* Appends a dimension of the result; more than HLO_MAX_RANK is an error of the program. */
hr_status_t op_dims_push(const hlo_instr_t *instr, op_dims_t *dims, int64_t size, bool dynamic) {
  OP_WANT(instr, dims->rank < HLO_MAX_RANK, NULL, "the result has more than %d dimensions",
          HLO_MAX_RANK);
  dims->sizes[dims->rank] = size;
  dims->dynamic[dims->rank++] = dynamic;
  return NULL;
}

hr_status_t op_dims_push_from(const hlo_instr_t *instr, op_dims_t *dims, const hlo_shape_t *shape,
                              int64_t d) {
  return op_dims_push(instr, dims, shape->dims[d], op_is_dynamic(shape, d));
}

hr_status_t op_dims_shape(hr_arena_t *arena, hr_dtype_t dtype, const op_dims_t *dims,
                          const hlo_shape_t **out_shape) {
  return hlo_shape_array_dynamic(arena, dtype, dims->rank, dims->sizes, dims->dynamic, out_shape);
}

/* pred is 1 bit in the table and a byte in bitcasts with types of whole bytes: packing of pred
 * depends on the other type. */
int op_bits_beside(hr_dtype_t dtype, hr_dtype_t other) {
  int bits = hr_dtype_table[dtype].bits;
  return dtype == HR_PRED && hr_dtype_table[other].bits >= 8 ? 8 : bits;
}

/* A dynamic size fits any static one within its bound; two dynamic sizes are compared at run time.
 *
 *     a        b          agree if
 *     static   static     equal
 *     static   dynamic    the static size is within the bound
 *     dynamic  dynamic    always: actual sizes are compared by the step */
bool op_dims_agree(const hlo_shape_t *a, int64_t a_dim, const hlo_shape_t *b, int64_t b_dim) {
  bool a_dynamic = op_is_dynamic(a, a_dim), b_dynamic = op_is_dynamic(b, b_dim);
  int64_t a_size = a->dims[a_dim], b_size = b->dims[b_dim];
  if (a_dynamic && b_dynamic) return true;
  if (!a_dynamic && !b_dynamic) return a_size == b_size;
  int64_t bound = a_dynamic ? a_size : b_size;
  int64_t size = a_dynamic ? b_size : a_size;
  return bound == HLO_UNBOUNDED || size <= bound;
}

/* If two shapes describe one array, a static size is preferred to a bound, and a smaller bound to a
 * larger one. Only dynamic sizes of `dims` change. */
void op_dims_refine(op_dims_t *dims, const hlo_shape_t *other) {
  for (int d = 0; d < dims->rank; d++) {
    bool dynamic = op_is_dynamic(other, d);
    bool tighter = dims->sizes[d] == HLO_UNBOUNDED ||
                   (other->dims[d] != HLO_UNBOUNDED && other->dims[d] < dims->sizes[d]);
    if (!dims->dynamic[d] || (dynamic && !tighter)) continue;
    dims->sizes[d] = other->dims[d];
    dims->dynamic[d] = dynamic;
  }
}

/* False: the size is negative or does not fit int64_t. */
bool op_size_from(__int128 wide, int64_t *out_size) {
  if (wide < 0 || wide > INT64_MAX) return false;
  *out_size = (int64_t)wide;
  return true;
}

/* ---- operands ---- */

hr_status_t op_want_array(const hlo_instr_t *instr, const hlo_shape_t *shape, int operand,
                          const char *rule) {
  OP_WANT(instr, hlo_shape_is_array(shape), rule, "operand %d is %s, want an array", operand,
          OP_TEXT(shape));
  return NULL;
}

/* The same for all operands. */
hr_status_t op_want_arrays(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                           const char *rule) {
  for (int k = 0; k < instr->operand_count; k++) HR_TRY(op_want_array(instr, in[k], k, rule));
  return NULL;
}

hr_status_t op_want_scalar(const hlo_instr_t *instr, const hlo_shape_t *shape, const char *what,
                           const char *rule) {
  OP_WANT(instr, hlo_shape_is_scalar(shape), rule, "%s is %s, want a scalar", what, OP_TEXT(shape));
  return NULL;
}

hr_status_t op_want_integer_scalar(const hlo_instr_t *instr, const hlo_shape_t *shape,
                                   const char *what, const char *rule) {
  OP_WANT(instr, hlo_shape_is_scalar(shape) && hr_dtype_is_integer(shape->dtype), rule,
          "%s is %s, want an integer scalar", what, OP_TEXT(shape));
  return NULL;
}

hr_status_t op_want_token(const hlo_instr_t *instr, const hlo_shape_t *shape, int operand,
                          const char *rule) {
  OP_WANT(instr, shape->dtype == HR_TOKEN, rule, "operand %d is %s, want a token", operand,
          OP_TEXT(shape));
  return NULL;
}

hr_status_t op_operand_shapes(hr_arena_t *arena, const hlo_instr_t *instr,
                              const hlo_shape_t ***out_shapes) {
  const hlo_shape_t **shapes;
  HR_TRY(HR_NEW_ARRAY(arena, instr->operand_count, &shapes));
  for (int k = 0; k < instr->operand_count; k++) shapes[k] = op_operand_shape(instr, k);
  *out_shapes = shapes;
  return NULL;
}

/* A single result is its own shape, several are a tuple. */
hr_status_t op_results_shape(hr_arena_t *arena, int count, const hlo_shape_t *const *shapes,
                             const hlo_shape_t **out_shape) {
  if (count != 1) return hlo_shape_tuple(arena, count, shapes, out_shape);
  *out_shape = shapes[0];
  return NULL;
}

/* ---- lists of dimensions ---- */

hr_status_t op_check_range(const hlo_instr_t *instr, const char *rule, const char *what,
                           hr_ints_t dims, int64_t limit) {
  for (int64_t i = 0; i < dims.count; i++)
    OP_WANT(instr, dims.data[i] >= 0 && dims.data[i] < limit, rule,
            "%s lists %ld, want values from 0 to below %ld", what, (long)dims.data[i], (long)limit);
  return NULL;
}

/* `seen` is a bit set of dimensions that several lists may share; ranks are below 64. */
hr_status_t op_check_unique(const hlo_instr_t *instr, const char *rule, const char *what,
                            hr_ints_t dims, uint64_t *seen) {
  for (int64_t i = 0; i < dims.count; i++) {
    uint64_t bit = 1ull << dims.data[i];
    OP_WANT(instr, !(*seen & bit), rule,
            "%s lists %ld, which is listed already; want each at most once", what,
            (long)dims.data[i]);
    *seen |= bit;
  }
  return NULL;
}

/* Equal neighbours are left to op_check_unique. */
hr_status_t op_check_sorted(const hlo_instr_t *instr, const char *rule, const char *what,
                            hr_ints_t dims) {
  for (int64_t i = 1; i < dims.count; i++)
    OP_WANT(instr, dims.data[i - 1] <= dims.data[i], rule,
            "%s lists %ld after %ld, want them in ascending order", what, (long)dims.data[i],
            (long)dims.data[i - 1]);
  return NULL;
}

/* For ops whose attribute `dimensions` has exactly one element. */
hr_status_t op_one_dimension(const hlo_instr_t *instr, const char *rule, int64_t rank,
                             int64_t *out_dimension) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  OP_WANT(instr, dims.count == 1, NULL, "dimensions lists %ld dimensions, want one",
          (long)dims.count);
  HR_TRY(op_check_range(instr, rule, "dimensions", dims, rank));
  *out_dimension = dims.data[0];
  return NULL;
}

/* ---- bodies ---- */

/* Called computations are listed in the order of their attributes: those before `key` are skipped.
 * NULL: the attribute is missing, or does not name exactly one computation. */
const hlo_computation_t *op_called(const hlo_instr_t *instr, hlo_attr_key_t key) {
  int at = 0;
  for (int i = 0; i < instr->attr_count; i++) {
    const hlo_attr_t *attr = &instr->attrs[i];
    hlo_attr_kind_t kind = hlo_attr_table[attr->key].kind;
    if (attr->key == key)
      return attr->called_count == 1 && at < instr->called_count ? instr->called[at] : NULL;
    if (kind == HLO_KIND_COMPUTATION || kind == HLO_KIND_COMPUTATIONS)
      at += (int)attr->called_count;
  }
  return NULL;
}

/* Bodies. Result k of `count` results: the root, or an element of its tuple; NULL if there is no
 * such result. */
static const hlo_shape_t *op_body_result(const hlo_computation_t *body, int count, int k) {
  const hlo_shape_t *root = body->root->shape;
  if (count == 1) return root;
  return hlo_shape_is_tuple(root) && root->element_count == count ? root->elements[k] : NULL;
}

hr_status_t op_check_param_count(const hlo_instr_t *instr, const char *rule,
                                 const hlo_computation_t *body, int count) {
  OP_WANT(instr, body->params.count == (size_t)count, rule, "%%%.*s takes %zu parameter%s, want %d",
          HR_STR_ARGS(body->name), body->params.count, body->params.count == 1 ? "" : "s", count);
  return NULL;
}

hr_status_t op_check_scalar_param(const hlo_instr_t *instr, const char *rule,
                                  const hlo_computation_t *body, int k, hr_dtype_t dtype) {
  const hlo_shape_t *shape = body->params.data[k]->shape;
  OP_WANT(instr, hlo_shape_is_scalar(shape) && shape->dtype == dtype, rule,
          "parameter %d of %%%.*s is %s, want %s[]", k, HR_STR_ARGS(body->name), OP_TEXT(shape),
          hr_dtype_name(dtype));
  return NULL;
}

/* The type of a reducer's arithmetic is that of its result. */
hr_status_t op_reducer_dtype(const hlo_instr_t *instr, const char *rule,
                             const hlo_computation_t *body, int count, int k,
                             hr_dtype_t *out_dtype) {
  const hlo_shape_t *result = op_body_result(body, count, k);
  OP_WANT(instr, result && hlo_shape_is_scalar(result), rule, "%%%.*s returns %s, want %d scalar%s",
          HR_STR_ARGS(body->name), OP_TEXT(body->root->shape), count,
          count == 1 ? "" : "s as a tuple");
  *out_dtype = result->dtype;
  return NULL;
}

/* Checks 2 * count scalar parameters, accumulators first; elements may be narrower than the type of
 * the body. For k of `count`: parameter k is the accumulator, count + k the element, result k the
 * new accumulator; all three are scalars of one type. */
hr_status_t op_check_reducer(const hlo_instr_t *instr, const char *rule,
                             const hlo_computation_t *body, int count,
                             const hlo_shape_t *const *in) {
  HR_TRY(op_check_param_count(instr, rule, body, 2 * count));
  for (int k = 0; k < count; k++) {
    hr_dtype_t dtype = HR_PRED;
    HR_TRY(op_reducer_dtype(instr, rule, body, count, k, &dtype));
    HR_TRY(op_check_scalar_param(instr, rule, body, k, dtype));
    HR_TRY(op_check_scalar_param(instr, rule, body, count + k, dtype));
    OP_WANT(instr, op_is_promotable(in[k]->dtype, dtype), rule,
            "operand %d has elements of type %s, and %%%.*s works on %s; want the same type or a "
            "wider one",
            k, hr_dtype_name(in[k]->dtype), HR_STR_ARGS(body->name), hr_dtype_name(dtype));
  }
  return NULL;
}

/* Arguments of a called computation, one for each parameter. */
hr_status_t op_check_call(const hlo_instr_t *instr, const char *rule, const hlo_computation_t *body,
                          int count, const hlo_shape_t *const *arguments) {
  HR_TRY(op_check_param_count(instr, rule, body, count));
  for (int k = 0; k < count; k++)
    OP_WANT(instr, hlo_shape_compatible(body->params.data[k]->shape, arguments[k]), rule,
            "parameter %d of %%%.*s is %s, want %s", k, HR_STR_ARGS(body->name),
            OP_TEXT(body->params.data[k]->shape), OP_TEXT(arguments[k]));
  return NULL;
}

/* ---- windows ---- */

/* All numbers of a window except its paddings are positive; a size of 0 is allowed if may_be_empty
 * is set. */
hr_status_t op_check_window(const hlo_instr_t *instr, const op_window_rules_t *rules, int rank) {
  const hlo_window_t *window = hlo_attr_window(instr);
  int window_rank = window ? window->rank : 0;
  OP_WANT(instr, window_rank == rank, rules->rank, "the window has %d dimensions, want %d",
          window_rank, rank);
  for (int d = 0; d < rank; d++) {
    const hlo_window_dim_t *w = &window->dims[d];
    OP_WANT(instr, w->size > (rules->may_be_empty ? -1 : 0), rules->size,
            "the window has size %ld in dimension %d, want a positive one", (long)w->size, d);
    OP_WANT(instr, w->stride > 0, rules->stride,
            "the window has stride %ld in dimension %d, want a positive one", (long)w->stride, d);
    OP_WANT(instr, w->base_dilation > 0, rules->base_dilation,
            "lhs_dilate is %ld in dimension %d, want a positive one", (long)w->base_dilation, d);
    OP_WANT(instr, w->window_dilation > 0, rules->window_dilation,
            "rhs_dilate is %ld in dimension %d, want a positive one", (long)w->window_dilation, d);
  }
  return NULL;
}

/* Size with dilation - 1 holes between elements; an empty dimension stays empty. */
static __int128 dilated(int64_t size, int64_t dilation) {
  return size <= 0 ? 0 : (__int128)(size - 1) * dilation + 1;
}

/* (padded - extent) / stride + 1, both with their dilations; 128 bits, as dilated sizes may exceed
 * 64. False: the count itself exceeds 64 bits. */
bool op_window_count(const hlo_window_dim_t *window, int64_t size, int64_t *out_count) {
  *out_count = HLO_UNBOUNDED;
  if (size == HLO_UNBOUNDED) return true;
  __int128 padded = dilated(size, window->base_dilation) + window->pad_low + window->pad_high;
  __int128 extent = dilated(window->size, window->window_dilation);
  if (padded <= 0 || extent > padded) {
    *out_count = 0;
    return true;
  }
  return op_size_from((padded - extent) / window->stride + 1, out_count);
}

/* ---- groups ---- */

/* In ops that may have use_global_device_ids, groups with a channel are lists of replicas, each
 * with all its partitions. *out_exact 0: known only by the grid of the run. */
void op_group_size(const hlo_instr_t *instr, int64_t *out_exact, int64_t *out_factor) {
  const hlo_groups_t *groups = hlo_attr_groups(instr);
  const hlo_module_t *module = instr->parent->module;
  *out_exact = 0;
  *out_factor = 1;
  if (!groups || !groups->groups.count) return;
  int64_t listed = groups->groups.lists[0].count;
  bool has_flag = false; /* ops that may have use_global_device_ids are never cross_partition */
  for (int i = 0; i < hlo_op_table[instr->op].attr_count; i++)
    has_flag |= hlo_op_table[instr->op].attrs[i].key == HLO_ATTR_USE_GLOBAL_DEVICE_IDS;
  bool with_partitions = has_flag && hlo_attr_has(instr, HLO_ATTR_CHANNEL_ID) &&
                         !hlo_attr_bool(instr, HLO_ATTR_USE_GLOBAL_DEVICE_IDS);
  int64_t factor = with_partitions ? module->num_partitions : 1, size;
  if (__builtin_mul_overflow(listed, factor, &size)) size = listed;
  *out_factor = size;
  if (!with_partitions || module->num_partitions > 1) *out_exact = size;
}
