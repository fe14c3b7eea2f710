/* Lowering of operations: the symbolic execution of one node, and the helpers of its files.
 * A lowering function reads inputs (tf_in, tf_const_ints, ...), builds instructions, and sets its
 * outputs (tf_out). The builder keeps the first failure, so that calls can be nested; the caller
 * reports it with the name of the node.
 * Thread: one per compilation. */
#ifndef TF_LOWER_H
#define TF_LOWER_H

#include "ops/rules/formula.h"
#include "tf/file/tf_graph.h"
#include "tf/compile/tf_ops.h"
#include "tf/compile/xla_compiler.h"

/* A variable, TensorArray or stack (XlaCompiler's kResource). Its value is an instruction of the
 * current computation, for a stack a tuple. It is modified if `value` differs from `initial`. */
typedef struct tf_resource {
  xla_resource_kind_t kind;
  hr_str_t name;                  /* shared_name, or the name of the node */
  int argument;                   /* number of the argument; -1: created inside */
  expr_t value;                   /* NULL: not initialised */
  expr_t initial;                 /* value on entry of the computation */
  const tf_node_t *node;          /* VarHandleOp or StackV2; NULL: an argument */
  int64_t size;                   /* TENSOR_ARRAY, STACK: entries */
  bool unbounded;                 /* STACK without a bound: a push makes it larger */
  hr_dtype_t dtype;               /* TENSOR_ARRAY, STACK: type of an entry */
  struct tf_resource *gradients;  /* TENSOR_ARRAY: list of its gradients; gradient: the next one */
  const struct tf_value *entry;   /* STACK: an entry that is no array, without instructions */
  const hlo_shape_t *entry_shape; /* STACK: shape of the array of entries that are lists */
} tf_resource_t;

typedef enum tf_value_kind {
  TF_VALUE_NONE,     /* no value: an output that was not set */
  TF_VALUE_ARRAY,    /* instruction or compile-time constant */
  TF_VALUE_STRINGS,  /* constant of strings, or a handle without meaning */
  TF_VALUE_RESOURCE, /* variable */
  TF_VALUE_LIST      /* TensorList: elements stacked along dimension 0 */
} tf_value_kind_t;

/* Conditions under which a value of a graph with Switch and Merge exists: all must hold. NULL:
 * always. All values are computed anyway; Merge selects, and writes to variables are selected, too.
 */
typedef struct tf_live {
  const struct tf_live *rest; /* the other conditions */
  expr_t pred;                /* a scalar */
  bool wanted;                /* what `pred` must be */
} tf_live_t;

/* The condition that never holds: a branch that a compile-time condition excludes. */
extern const tf_live_t tf_dead;

/* The shapes that an optional has in several branches. With more than one, its array is a vector
 * that has room for each. */
typedef struct tf_alternatives {
  const struct tf_alternatives *rest;
  const hlo_shape_t *shape;
  hr_dtype_t dtype; /* the vector's type: the common type, or an integer type for raw words */
  int64_t length;   /* length of the vector */
} tf_alternatives_t;

/* An expression on an edge of the graph. */
typedef struct tf_value {
  tf_value_kind_t kind;
  const tf_live_t *live;
  expr_t instr;          /* ARRAY: NULL until a constant is needed as an instruction; LIST: array */
  hlo_value_t *constant; /* ARRAY: value known at compile time, owned by the module. LIST: known
                            value of every element, see list_pushed */
  proto_list_t strings;  /* STRINGS: in the bytes of the graph */
  tf_resource_t *resource;               /* RESOURCE */
  const tf_alternatives_t *alternatives; /* ARRAY: shapes of an optional; NULL: no optional */
  /* LIST */
  expr_t count;             /* elements in use, an s32 scalar; NULL: all of them */
  int64_t list_size;        /* capacity, -1: unknown */
  hr_dtype_t list_dtype;    /* element type */
  bool list_accumulates;    /* writing an element adds to it: a gradient */
  bool list_unbounded;      /* no bound: a push or write past its end makes it larger */
  bool list_grown_by_write; /* it grew by writes, not by pushes */
  bool list_sparse_write;   /* it was written at an unknown index other than its end */
  bool list_pushed;   /* its elements were pushed, all equal to `constant` unless that is NULL */
  int64_t list_bound; /* if list_pushed: largest value of the scalar elements; -1: not known */
  const struct tf_value *element; /* elements that are lists or optionals: one without its array */
  expr_t element_counts;          /* list of lists: s32[list_size], their counts; NULL: full */
} tf_value_t;

/* The state of one compilation, shared by all scopes. Its owner frees maps and lists; their
 * contents live in the module's arena. */
typedef struct tf_compiler {
  const tf_graph_t *graph; /* graph and library */
  hlo_module_t *module;    /* takes computations and constants */
  hr_arena_t *arena;
  hr_map_t reducers;                     /* computations of two scalars by opcode and type */
  hr_map_t evaluated;                    /* compile-time values by instruction */
  hr_map_t waits;                        /* nodes that an Exit waits for, by the Exit node */
  HR_VEC(hlo_computation_t *) completed; /* in order of completion: callees first */
  HR_VEC(tf_resource_t *) resources;     /* variables of the graph */
  int depth;                             /* nesting depth of functions */
  int calls;                             /* number of executed function bodies */
  struct tensor_bundle *bundle;          /* checkpoint for RestoreV2; NULL: none */
  hr_map_t restored;                     /* names in the checkpoint by value, of RestoreV2 */
  xla_channels_t *channels;              /* numbers of channels by key */
  tf_import_fn import;                   /* for XlaCallModule; NULL: refused */
  hr_map_t host_tokens;                  /* final token (expr_t) of each XlaHostCompute, by name */
  expr_t call_token;                     /* token for transfers of a called body, see tf_op */
  struct tf_states *states;              /* states of the loop or branch being built */
  bool is_state_enumeration;     /* only counters are analysed: capacities of lists do not matter */
  const struct tf_group *groups; /* groups of CollectiveAssignGroupV2, newest first */
  int group_count;
} tf_compiler_t;

/* One body in execution. Functions are executed in the scope's computation, inlined. */
typedef struct tf_scope {
  tf_compiler_t *compiler;
  hlo_builder_t *builder; /* builder of the computation that the body is executed in */
  const tf_body_t *body;
  tf_value_t **outputs;   /* by node; NULL: not executed */
  int *output_counts;     /* by node */
  const tf_live_t **live; /* by node */
  expr_t *tokens;         /* by node: token of all transfers that it depends on; NULL: none */
  expr_t start;           /* token of the caller; NULL: none */
  const tf_value_t *args; /* values of the body's arguments */
} tf_scope_t;

/* One node in lowering. A lowering function reads `inputs` and `row` and sets `outputs`. */
struct tf_op {
  tf_scope_t *scope;
  hlo_builder_t *b;
  hr_arena_t *arena;
  const tf_node_t *node;
  const tf_op_row_t *row;
  const tf_live_t *live; /* conditions of the node; Switch and Merge set others for their outputs */
  expr_t token; /* token of all transfers that the node depends on; a transfer replaces it */
  int input_count;
  tf_value_t **inputs; /* outputs of other nodes; constants get their instruction when needed */
  int output_count;
  tf_value_t *outputs;
};

/* Float types whose sums are accumulated in f32. */
static inline bool tf_is_narrow_float(hr_dtype_t dtype) {
  return dtype == HR_F16 || dtype == HR_BF16;
}

/* --- inputs and outputs (tf_inputs.c) --- */
/* Input k as an instruction; NULL after a failure. */
expr_t tf_in(tf_op_t *op, int k);
/* Type and shape of input k; after a failure a shape without dimensions. */
hr_dtype_t tf_in_dtype(tf_op_t *op, int k);
const hlo_shape_t *tf_in_shape(tf_op_t *op, int k);
/* Input k as a value that is known at compile time. Errors: INVALID "must be a compile-time
 * constant". */
hr_status_t tf_const(tf_op_t *op, int k, hlo_value_t **out_value);
/* Input k as a value that is known at compile time; NULL, without a failure, if it is not. */
hr_status_t tf_const_if_known(tf_op_t *op, int k, hlo_value_t **out_value);
/* Elements of a constant input as 64-bit integers, of any shape and integer type. Errors:
 * INVALID. */
hr_status_t tf_const_ints(tf_op_t *op, int k, hr_ints_t *out_ints);
hr_status_t tf_const_int(tf_op_t *op, int k, int64_t *out_value);
hr_status_t tf_const_float(tf_op_t *op, int k, double *out_value);
/* Most arrays that one node may be lowered to, against huge numbers in a graph. */
#define TF_MAX_PARTS 32767
/* Makes room for at least `count` outputs. */
hr_status_t tf_need_outputs(tf_op_t *op, int count);
/* Sets output k to an array and reports the builder's first failure, if there is one. */
hr_status_t tf_out(tf_op_t *op, int k, expr_t instr);
/* Sets output k to a compile-time constant; consumes the value. */
hr_status_t tf_out_value(tf_op_t *op, int k, hlo_value_t *value);
/* A constant of integers as output k; rank 0 if `scalar`, else 1. */
hr_status_t tf_out_ints(tf_op_t *op, int k, hr_dtype_t dtype, bool scalar, int64_t count,
                        const int64_t *values);
/* Failures; the caller adds the name of the node. */
#define tf_error(op, ...) hlo_builder_or((op)->b, hr_error(HR_INVALID, __VA_ARGS__))
#define tf_unsupported(op, ...) hlo_builder_or((op)->b, hr_error(HR_UNSUPPORTED, __VA_ARGS__))

/* --- helpers of builders (tf_build.c) --- */
const hlo_shape_t *tf_shape(hlo_builder_t *b, hr_dtype_t dtype, int rank, const int64_t *dims);
expr_t tf_reshape(hlo_builder_t *b, expr_t x, int rank, const int64_t *dims);
/* x with a dimension of size 1 in front of dimension `axis`, or after the last one. *out_at: its
 * number. A negative axis counts from the end of the result. */
hr_status_t tf_expand_dim(tf_op_t *op, expr_t x, int64_t axis, int *out_at, expr_t *out_x);
/* Dimension d of the result is dimension permutation[d] of x. */
expr_t tf_transpose(hlo_builder_t *b, expr_t x, const int64_t *permutation);
expr_t tf_broadcast(hlo_builder_t *b, expr_t x, int rank, const int64_t *dims);
/* To the sizes of `like`, also dynamic ones. */
expr_t tf_broadcast_like(hlo_builder_t *b, expr_t x, expr_t like);
/* NumPy broadcasting of both to their joint shape. */
void tf_broadcast_pair(hlo_builder_t *b, expr_t *x, expr_t *y);
expr_t tf_slice(hlo_builder_t *b, expr_t x, const int64_t *starts, const int64_t *limits,
                const int64_t *strides);
/* The slice from start to limit of one dimension. */
expr_t tf_slice_dim(hlo_builder_t *b, expr_t x, int d, int64_t start, int64_t limit);
/* `low`, `high` and `interior` by dimension; interior NULL: none. Negative edges cut off. */
expr_t tf_pad(hlo_builder_t *b, expr_t x, expr_t fill, const int64_t *low, const int64_t *high,
              const int64_t *interior);
/* Joined along dimension d. */
expr_t tf_concat(hlo_builder_t *b, int count, expr_t *x, int d);
/* Indices along dimension d. */
expr_t tf_iota(hlo_builder_t *b, hr_dtype_t dtype, int rank, const int64_t *dims, int d);
/* Indices along dimension d of an array with the sizes of `like`, also dynamic ones. */
expr_t tf_iota_like(hlo_builder_t *b, hr_dtype_t dtype, expr_t like, int d);
/* Constants of rank 0. */
expr_t tf_scalar(hlo_builder_t *b, double number, hr_dtype_t dtype);
expr_t tf_scalar_int(hlo_builder_t *b, int64_t number, hr_dtype_t dtype);
expr_t tf_fill(hlo_builder_t *b, double number, hr_dtype_t dtype, int rank, const int64_t *dims);
/* Reduction over dimensions by a scalar opcode (ADD, MAXIMUM, AND, ...). */
expr_t tf_reduce(tf_op_t *op, hlo_opcode_t scalar_op, expr_t x, int count, const int64_t *dims,
                 bool keep_dims);
/* Computation (x, y) -> scalar_op(x, y). */
hlo_computation_t *tf_reducer(tf_op_t *op, hlo_opcode_t scalar_op, hr_dtype_t dtype);
/* Start value that does not change a reduction by this opcode. */
expr_t tf_identity_value(hlo_builder_t *b, hlo_opcode_t scalar_op, hr_dtype_t dtype);
expr_t tf_reduce_window(tf_op_t *op, hlo_opcode_t scalar_op, expr_t x, expr_t init,
                        const hlo_window_dim_t *dims);
/* Dimensions of the operands of a product; those of one kind are paired in order. */
typedef struct tf_dot_dims {
  hr_ints_t x_batch, y_batch, x_contract, y_contract;
} tf_dot_dims_t;
/* Result dimensions: batch dimensions, then the free ones of x, then the free ones of y, each in
 * the order of the operand. */
expr_t tf_dot(hlo_builder_t *b, expr_t x, expr_t y, const tf_dot_dims_t *dims);
/* Batches of matrices, [.., m, k] and [.., k, n]: their products, for equal batch dimensions; the
 * transposes and the adjoints of x. */
expr_t tf_multiply_matrices(hlo_builder_t *b, expr_t x, expr_t y);
expr_t tf_transpose_matrices(hlo_builder_t *b, expr_t x);
expr_t tf_adjoint(hlo_builder_t *b, expr_t x);
hr_status_t tf_reverse(tf_op_t *op, expr_t x, int count, const int64_t *dims, expr_t *out_x);
/* One scalar start per dimension; starts are clamped so that the slice lies inside. */
expr_t tf_dynamic_slice(hlo_builder_t *b, expr_t x, expr_t const *starts, const int64_t *sizes);
expr_t tf_dynamic_update(hlo_builder_t *b, expr_t x, expr_t update, expr_t const *starts);
/* Gathers rows of x along `axis`, with batch dimensions; indices are clamped, like in XLA. */
expr_t tf_gather_rows(hlo_builder_t *b, expr_t x, expr_t indices, int axis, int batch_dims);
/* The complex conjugate; a real array itself. */
expr_t tf_conjugate(hlo_builder_t *b, expr_t x);
/* Normalises a possibly negative axis. Errors: INVALID. */
hr_status_t tf_axis(tf_op_t *op, int64_t axis, int rank, int *out_axis);

/* --- sizes that depend on data (tf_sizes.c) --- */
typedef struct tf_sizes {
  int rank;
  int64_t dims[HLO_MAX_RANK]; /* sizes, or bounds of those below */
  expr_t exprs[HLO_MAX_RANK]; /* s32 scalars, known at run time; NULL: static */
} tf_sizes_t;
tf_sizes_t tf_sizes_of(hlo_builder_t *b, expr_t x);
tf_sizes_t tf_sizes_static(int rank, const int64_t *dims);
/* Input k, a list of sizes, of which -1 may be one. Errors: INVALID if one of them is neither known
 * nor bounded. */
hr_status_t tf_sizes_in(tf_op_t *op, int k, tf_sizes_t *out_sizes);
/* The sizes of x after a reshape; dynamic sizes follow from groups of dimensions with equal numbers
 * of elements. */
tf_sizes_t tf_sizes_reshaped(hlo_builder_t *b, expr_t x, int rank, const int64_t *dims);
/* Size of dimension d, as s32. */
expr_t tf_size_of(hlo_builder_t *b, expr_t x, int d);
/* Number of elements, as s32. */
expr_t tf_element_count(hlo_builder_t *b, expr_t x);
/* All sizes as a vector; the rank must not be 0. */
expr_t tf_sizes_vector(hlo_builder_t *b, const tf_sizes_t *sizes, hr_dtype_t dtype);
/* The largest value of a scalar of integers; -1: not known. */
int64_t tf_upper_bound(tf_compiler_t *compiler, expr_t x);
/* True if an integer scalar has the same value for all parameters: its bounds are equal. */
bool tf_only_number(tf_compiler_t *compiler, expr_t x, int64_t *out_number);
/* Element i of a vector, as a scalar. */
expr_t tf_vector_element(hlo_builder_t *b, expr_t x, int64_t i);
expr_t tf_reshape_sized(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes);
/* `sizes` are bounds of the result, whose dynamic dimensions have an expression there. */
expr_t tf_slice_sized(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes, const tf_sizes_t *starts,
                      const tf_sizes_t *limits, const tf_sizes_t *steps);
/* As tf_broadcast. */
expr_t tf_broadcast_sized(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes);
/* `dims` maps the dimensions of x to those of the result. */
expr_t tf_broadcast_in_sized(hlo_builder_t *b, expr_t x, const tf_sizes_t *sizes, hr_ints_t dims);
/* Pads x with `fill` to the bound of dynamic dimension d; the other dimensions are static. */
expr_t tf_fill_dynamic(tf_op_t *op, expr_t x, int d, expr_t fill);
/* Pads x with `fill` to the bounds of all dynamic dimensions. */
expr_t tf_fill_all(hlo_builder_t *b, expr_t x, expr_t fill);
/* x with another size of dimension d, which becomes dynamic. */
expr_t tf_set_size(hlo_builder_t *b, expr_t x, int d, expr_t size);
/* A shape that has room for both, dynamic where their sizes differ; y if ranks or types differ. */
hr_status_t tf_shape_join(hr_arena_t *arena, const hlo_shape_t *x, const hlo_shape_t *y,
                          const hlo_shape_t **out);
/* x as an array of such a shape. */
expr_t tf_widen(hlo_builder_t *b, expr_t x, const hlo_shape_t *shape);
expr_t tf_iota_sized(hlo_builder_t *b, hr_dtype_t dtype, const tf_sizes_t *sizes, int d);

/* --- variables (tf_variables.c), scatters (tf_indexed.c) --- */
/* The variable of a handle's node, which its first use creates. */
hr_status_t tf_variable(tf_compiler_t *compiler, const tf_node_t *node,
                        tf_resource_t **out_resource);
/* Gives a variable the value of a tensor of the checkpoint. Errors: INVALID, UNAVAILABLE. */
hr_status_t tf_restore_variable(tf_compiler_t *compiler, hlo_builder_t *builder,
                                tf_resource_t *resource, hr_str_t name);
/* Input k as a variable. Errors: INVALID if it is none. */
hr_status_t tf_resource_of(tf_op_t *op, int k, tf_resource_t **out_resource);
/* Sets a variable's value, and output 0 to the variable. Errors: INVALID for another shape. */
hr_status_t tf_set_variable(tf_op_t *op, tf_resource_t *resource, expr_t value);
/* x with updates [indices dims..., x dims after depth]; COPY overwrites, others combine. */
hr_status_t tf_scatter_nd(tf_op_t *op, expr_t x, expr_t indices, expr_t updates,
                          hlo_opcode_t combine, expr_t *out_x);

/* x with `count` more zeros along dimension 0. */
expr_t tf_grow(hlo_builder_t *b, expr_t x, int64_t count);
/* The first `count` (an s32 scalar) elements of x along dimension d. */
hr_status_t tf_cut_to(tf_op_t *op, expr_t x, int d, expr_t count, expr_t *out);
/* Enlarges the capacity of a stack by `count` entries; also if it has no value yet. */
void tf_stack_grow(hlo_builder_t *b, tf_resource_t *stack, int64_t count);
/* Sets the initial value of a stack, without entries. */
hr_status_t tf_stack_start(hlo_builder_t *b, tf_resource_t *stack, const hlo_shape_t *entry);

/* --- Switch, Merge and the frames of loops (tf_frames.c) --- */
/* The conjunction of both conditions. */
hr_status_t tf_live_both(hr_arena_t *arena, const tf_live_t *x, const tf_live_t *y,
                         const tf_live_t **out_live);
/* The conjunction as a scalar; NULL if there is no condition. */
expr_t tf_live_pred(hlo_builder_t *b, const tf_live_t *live);
/* Nodes that node `index` waits for; for Exit these are all Enter nodes of its frame. */
hr_status_t tf_dependencies(tf_scope_t *scope, int index, int *out_count, const int **out_nodes);

/* --- execution (tf_execute.c) --- */
/* Executes a body in the computation of `builder`: all that the outputs need. */
typedef struct tf_execution {
  const tf_body_t *body;
  int arg_count;
  const tf_value_t *args;
  int fed_count; /* outputs of the main graph that are given */
  const tf_input_t *fed;
  const tf_value_t *fed_values;
  int wanted_count;
  const tf_input_t *wanted;
  int target_count;
  const int *targets;
} tf_execution_t;
hr_status_t tf_execute(tf_compiler_t *compiler, hlo_builder_t *builder,
                       const tf_execution_t *execution, tf_value_t *out_values);
/* A function on values of the current computation. */
hr_status_t tf_execute_function(tf_compiler_t *compiler, hlo_builder_t *builder,
                                const tf_body_t *function, int arg_count, const tf_value_t *args,
                                tf_value_t *out_values);
/* Value of an instruction if it depends on constants only; NULL otherwise. */
hr_status_t tf_evaluate(tf_compiler_t *compiler, expr_t instr, hlo_value_t **out_value);
/* Begin and end a computation; callees end before their callers. */
hr_status_t tf_computation_begin(tf_compiler_t *compiler, const char *name,
                                 hlo_builder_t *out_builder);
hr_status_t tf_computation_end(tf_compiler_t *compiler, hlo_builder_t *builder, expr_t root);
/* An ARRAY value as an instruction of the builder's computation. */
expr_t tf_value_instr(tf_compiler_t *compiler, hlo_builder_t *b, tf_value_t *value);

#define TF_OP(name, inputs, function, variant, outputs) \
  hr_status_t tf_lower_##function(tf_op_t *op);
#include "tf/compile/tf_ops.def"
#undef TF_OP

/* --- images (tf_image.c) --- */
/* Dimension d of x, an image, 1 for the height or 2 for the width, multiplied by a matrix [to,
 * from] or by its transpose, which takes gradients from result to source. */
expr_t tf_multiply_along(hlo_builder_t *b, expr_t x, int d, expr_t weights, bool transposed);

#endif
