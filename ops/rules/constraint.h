/* Shared by inference and verification: failures that carry the label of the specification's rule,
 * lists of dimension numbers, sizes that may be dynamic, signatures of bodies, windows. Checks
 * return INVALID with the position of the instruction, the value found and the value wanted. */
#ifndef HLO_OPS_CONSTRAINT_H
#define HLO_OPS_CONSTRAINT_H

#include "ops/rules/build_rules.h"
#include "ops/rules/verify.h"

/* Fails unless `condition` holds. `rule` is a label of the StableHLO specification without the op
 * ("C5", "I1"), or NULL for rules that only XLA has; it is printed with the op's name there:
 * "(reduce C5)". */
#define OP_WANT(instr, condition, rule, ...)                                                    \
  do {                                                                                          \
    if (!(condition)) return op_rule_failure(__FILE__, __LINE__, (instr), (rule), __VA_ARGS__); \
  } while (0)
hr_status_t op_rule_failure(const char *file, int line, const hlo_instr_t *instr, const char *rule,
                            const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Compares the declared shape with the inferred one. */
hr_status_t op_check_declared(const hlo_instr_t *instr, const hlo_shape_t *inferred);
/* True for a conditional on a pred. The specification has two ops for the two kinds: if and
 * case. */
bool op_is_if(const hlo_instr_t *instr);

/* A shape in a message; lives to the end of the enclosing block. */
#define OP_TEXT(shape) hlo_shape_text((shape), (char[HLO_SHAPE_TEXT]){0})

/* Families of element types within which mixed precision is allowed, in ascending order. */
typedef enum op_kind {
  OP_KIND_PRED,
  OP_KIND_INTEGER,
  OP_KIND_FLOAT,
  OP_KIND_COMPLEX,
  OP_KIND_OTHER
} op_kind_t;
op_kind_t op_kind(hr_dtype_t dtype);

/* Sizes of a result during inference. */
typedef struct op_dims {
  int rank;
  int64_t sizes[HLO_MAX_RANK];
  bool dynamic[HLO_MAX_RANK];
} op_dims_t;
static inline bool op_is_dynamic(const hlo_shape_t *shape, int64_t d) {
  return shape->dynamic && shape->dynamic[d];
}
void op_dims_of(const hlo_shape_t *shape, op_dims_t *out_dims);
hr_status_t op_dims_push(const hlo_instr_t *instr, op_dims_t *dims, int64_t size, bool dynamic);
hr_status_t op_dims_push_from(const hlo_instr_t *instr, op_dims_t *dims, const hlo_shape_t *shape,
                              int64_t d);
hr_status_t op_dims_shape(hr_arena_t *arena, hr_dtype_t dtype, const op_dims_t *dims,
                          const hlo_shape_t **out_shape);
/* Bits of an element in a bitcast from or to type `other`: a pred is one bit if that is narrower
 * than a byte, else a byte. */
int op_bits_beside(hr_dtype_t dtype, hr_dtype_t other);
/* True if the two dimensions may be equal. A dynamic size agrees with every size within its
 * bound. */
bool op_dims_agree(const hlo_shape_t *a, int64_t a_dim, const hlo_shape_t *b, int64_t b_dim);
/* Replaces dynamic sizes of `dims` by the more exact ones of the equal shape `other`. */
void op_dims_refine(op_dims_t *dims, const hlo_shape_t *other);
/* Converts `wide` to a size; false if it is negative or does not fit. */
bool op_size_from(__int128 wide, int64_t *out_size);

hr_status_t op_want_array(const hlo_instr_t *instr, const hlo_shape_t *shape, int operand,
                          const char *rule);
hr_status_t op_want_arrays(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                           const char *rule);
hr_status_t op_want_scalar(const hlo_instr_t *instr, const hlo_shape_t *shape, const char *what,
                           const char *rule);
hr_status_t op_want_integer_scalar(const hlo_instr_t *instr, const hlo_shape_t *shape,
                                   const char *what, const char *rule);
hr_status_t op_want_token(const hlo_instr_t *instr, const hlo_shape_t *shape, int operand,
                          const char *rule);

/* Checks lists of dimension numbers; `what` is the attribute's name. Limits are at most
 * HLO_MAX_RANK. */
hr_status_t op_check_range(const hlo_instr_t *instr, const char *rule, const char *what,
                           hr_ints_t dims, int64_t limit);
/* `seen` has bit d for every earlier dimension; those of the list, which is in range, are added. */
hr_status_t op_check_unique(const hlo_instr_t *instr, const char *rule, const char *what,
                            hr_ints_t dims, uint64_t *seen);
hr_status_t op_check_sorted(const hlo_instr_t *instr, const char *rule, const char *what,
                            hr_ints_t dims);
/* Checks that `dimensions` of the instruction has exactly one element, in range. */
hr_status_t op_one_dimension(const hlo_instr_t *instr, const char *rule, int64_t rank,
                             int64_t *out_dimension);
static inline uint64_t op_dims_mask(hr_ints_t dims) {
  uint64_t mask = 0;
  for (int64_t i = 0; i < dims.count; i++) mask |= 1ull << dims.data[i];
  return mask;
}

/* Type of result k of a body that returns scalars. */
hr_status_t op_reducer_dtype(const hlo_instr_t *instr, const char *rule,
                             const hlo_computation_t *body, int count, int k,
                             hr_dtype_t *out_dtype);
/* (E0, ..., En-1, E0, ..., En-1) -> (E0, ..., En-1) on scalars, with the operands' types promotable
 * to the Ei. */
hr_status_t op_check_reducer(const hlo_instr_t *instr, const char *rule,
                             const hlo_computation_t *body, int count,
                             const hlo_shape_t *const *in);
/* Checks that parameter k is a scalar of this type. */
hr_status_t op_check_scalar_param(const hlo_instr_t *instr, const char *rule,
                                  const hlo_computation_t *body, int k, hr_dtype_t dtype);
hr_status_t op_check_param_count(const hlo_instr_t *instr, const char *rule,
                                 const hlo_computation_t *body, int count);
/* Checks that parameters have the shapes of the arguments. */
hr_status_t op_check_call(const hlo_instr_t *instr, const char *rule, const hlo_computation_t *body,
                          int count, const hlo_shape_t *const *arguments);
/* The called computation of an attribute; NULL if the attribute is absent. */
const hlo_computation_t *op_called(const hlo_instr_t *instr, hlo_attr_key_t key);

/* The shapes that the operands declare, in the arena. */
hr_status_t op_operand_shapes(hr_arena_t *arena, const hlo_instr_t *instr,
                              const hlo_shape_t ***out_shapes);
static inline const hlo_shape_t *op_operand_shape(const hlo_instr_t *instr, int k) {
  return instr->operands[k]->shape;
}
static inline hlo_computation_t *op_body_of(const hlo_instr_t *instr) { return instr->called[0]; }

/* The tuple of the shapes, or the only shape. */
hr_status_t op_results_shape(hr_arena_t *arena, int count, const hlo_shape_t *const *shapes,
                             const hlo_shape_t **out_shape);

/* Labels of a window's parts, which differ from op to op. */
typedef struct op_window_rules {
  const char *rank, *size, *stride, *base_dilation, *window_dilation;
  bool may_be_empty; /* sizes of 0 are valid */
} op_window_rules_t;
/* Checks that the instruction's window has `rank` dimensions (no window: none), and that sizes,
 * strides and dilations are positive. */
hr_status_t op_check_window(const hlo_instr_t *instr, const op_window_rules_t *rules, int rank);
/* Number of window positions along a dimension of this size. A dynamic size counts as its bound;
 * HLO_UNBOUNDED gives HLO_UNBOUNDED. False if the number does not fit. */
bool op_window_count(const hlo_window_dim_t *window, int64_t size, int64_t *out_count);

/* Operands of reduce and reduce-window: inputs of equal sizes, then as many initial values of their
 * types. */
typedef struct op_reduction_rules {
  const char *count, *shapes, *types;
} op_reduction_rules_t;
hr_status_t op_check_reduction(const hlo_instr_t *instr, const hlo_shape_t *const *in,
                               const op_reduction_rules_t *rules);
/* Element type of a sum of products: the declared type if that is of the operands' family or a
 * richer one, else the wider of the two operands' types. */
hr_status_t op_contraction_dtype(const hlo_instr_t *instr, const char *rule, hr_dtype_t lhs,
                                 hr_dtype_t rhs, hr_dtype_t *out_dtype);

/* Number of processes in each group of a collective, if the program determines it, else 0. In
 * either case it is a multiple of *out_factor (groups of replicas, each with all its partitions); 1
 * if nothing is known. */
void op_group_size(const hlo_instr_t *instr, int64_t *out_exact, int64_t *out_factor);

/* Size of a gather's slices along dimension d of an operand of the actual shape `operand`:
 * slice_sizes, or the whole dimension if slice_sizes has its bound. */
int64_t op_gather_slice_size(const hlo_instr_t *gather, const hlo_shape_t *operand, int64_t d);

/* Checks the dimension numbers of a gather with unknown slice sizes, and its declared result. */
hr_status_t op_check_gather_result(const hlo_instr_t *gather, const hlo_shape_t *const *in,
                                   const hlo_shape_t *result);

#endif
