/* TensorFlow's XlaCompiler: a graph or function becomes an HLO computation by symbolic execution.
 * Every node is executed once on expressions instead of tensors and appends instructions to a
 * builder; shapes are those of the instructions, so that all sizes must be static.
 *
 *   run-time parameters: [kParameter values] [initial values of kResource arguments]
 *   results:             [_Retval values]    [updated values of kResource arguments]
 *
 * Within each block the order is that of the arguments. The result is always a tuple.
 * Errors:  UNSUPPORTED with all operations that are not supported, and the names of their nodes;
 *          INVALID with the node for anything that does not fit.
 * Owner:   results live in the module's arena; the graph must outlive the compilation.
 * Source:  TensorFlow 1.8, tensorflow::XlaCompiler. */
#ifndef TF_XLA_COMPILER_H
#define TF_XLA_COMPILER_H

#include "ir/module.h"
#include "tf/file/tf_graph.h"
#include "tf/compile/xla_channels.h"

/* Adds the program in `bytes`, StableHLO as text or bytecode, to a module and makes it its entry.
 * `platform`: index of the code to use of a program for several platforms; -1: one platform.
 * Errors: those of the reader. */
typedef hr_status_t (*tf_import_fn)(hlo_module_t *module, hr_str_t bytes, int platform);

typedef enum xla_argument_kind {
  XLA_ARGUMENT_PARAMETER, /* a run-time parameter */
  XLA_ARGUMENT_CONSTANT,  /* a compile-time constant, which takes no parameter */
  XLA_ARGUMENT_RESOURCE   /* a variable; its value is a parameter if it is initialised */
} xla_argument_kind_t;

/* Kinds of resources. The parameter of a TensorArray is the array [size, entry...], or a tuple of
 * it and its gradients; that of a stack is the tuple ([size, entry...], s32[] count). */
typedef enum xla_resource_kind {
  XLA_RESOURCE_VARIABLE,
  XLA_RESOURCE_TENSOR_ARRAY,
  XLA_RESOURCE_STACK
} xla_resource_kind_t;

/* XlaCompiler::Argument: one per _Arg index. */
typedef struct xla_argument {
  xla_argument_kind_t kind;
  xla_resource_kind_t resource_kind; /* RESOURCE */
  /* PARAMETER; variable: shape of its value, NULL if not initialised; TensorArray and stack: shape
   * of one entry */
  const hlo_shape_t *shape;
  hlo_value_t *constant;     /* CONSTANT */
  hr_str_t name;             /* for metadata and messages */
  bool initialized;          /* RESOURCE: it has a value, which is a parameter */
  int64_t tensor_array_size; /* TensorArray, stack: entries */
  int gradient_count;        /* TensorArray */
  const hr_str_t *gradients; /* names of its gradients, sorted */
  bool has_core;             /* the device of its _Arg node names a core */
  int core;                  /* the core, a partition of the program */
} xla_argument_t;

/* XlaCompiler::Options::shape_representation_fn: the shape of a value in the entry computation,
 * with the same type and number of elements. */
typedef hr_status_t (*xla_represent_fn)(void *context, hr_arena_t *arena, const hlo_shape_t *shape,
                                        const hlo_shape_t **out_shape);

/* XlaCompiler::CompileOptions, with shape representation and channels from XlaCompiler::Options. */
typedef struct xla_compile_options {
  bool use_tuple_arg; /* one tuple parameter instead of one parameter each */
  bool return_updated_values_for_all_resources; /* unmodified ones too, as loop bodies need */
  bool resolve_compile_time_constants;          /* constant results are not computed */
  bool is_entry_computation;  /* parameters and variables have the representation of `represent` */
  xla_represent_fn represent; /* NULL: shapes stay as they are */
  void *represent_context;
  xla_channels_t *channels; /* shared by programs that communicate; NULL: the compilation's own */
  tf_import_fn import;      /* reader for XlaCallModule; NULL: such operations are refused */
} xla_compile_options_t;

/* XlaCompiler::OutputDescription: one per _Retval, also of constant ones. */
typedef struct xla_output {
  bool is_constant; /* resolved at compile time: no result of the computation */
  hlo_value_t *constant;
  const hlo_shape_t *shape;
} xla_output_t;

/* XlaCompiler::ResourceUpdate: one element of the result after the outputs. */
typedef struct xla_resource_update {
  int input_index; /* argument */
  const hlo_shape_t *shape;
  bool modified; /* the value can differ from the initial one */
  int gradient_count;
  hr_str_t *gradients; /* tensor_array_gradients_accessed of a TensorArray */
} xla_resource_update_t;

/* A variable whose new value is returned only if it is made an argument. */
typedef struct xla_written_variable {
  hr_str_t name;
  const hlo_shape_t *shape;
} xla_written_variable_t;

/* XlaCompiler::CompilationResult. Lists live in the module's arena. */
typedef struct xla_compilation_result {
  int parameter_count;
  int *input_mapping; /* argument of each parameter */
  int output_count;
  xla_output_t *outputs; /* one per result of the function */
  int update_count;
  xla_resource_update_t *updates; /* in the order of the results after the outputs */
  hlo_value_t **initial_values;   /* by parameter, from a checkpoint; NULL: none */
  hr_str_t *initial_names;        /* by parameter: name in the checkpoint; empty: none */
  int written_count;
  xla_written_variable_t *written; /* restored variables that are no arguments, but are written */
  hlo_computation_t *computation;
} xla_compilation_result_t;

/* The tensor of a checkpoint that is the value of a variable. */
typedef struct xla_binding {
  int node; /* VarHandleOp of the main graph */
  hr_str_t key;
} xla_binding_t;

/* The operation of a graph that gives variables their values from a checkpoint. */
typedef struct xla_restore {
  int node;
  tf_input_t filename; /* tensor of the checkpoint's name; its value is not used */
  struct tensor_bundle *bundle;
  int binding_count; /* bindings of variables that the operation does not restore */
  const xla_binding_t *bindings;
} xla_restore_t;

/* A tensor of the main graph that is fed or fetched, for xla_compile_graph. */
typedef struct xla_graph_signature {
  int feed_count;
  const tf_input_t *feeds; /* argument k takes the place of this output */
  int fetch_count;
  const tf_input_t *fetches;
  int variable_count;
  const hr_str_t *variables; /* argument feed_count + k is the variable of this name */
  int target_count;
  const int *targets;           /* nodes that must run although nothing of them is fetched */
  const xla_restore_t *restore; /* executed first; NULL: none */
} xla_graph_signature_t;

/* The signature of a graph with _Arg and _Retval nodes: their index is the number of the argument
 * or result. Errors: INVALID if an index is missing or occurs twice. */
hr_status_t xla_graph_signature(hr_arena_t *arena, const tf_graph_t *graph,
                                xla_graph_signature_t *out_signature);

/* Compiles the main graph, or a function whose arguments are in order. The module gets the
 * computation and those that it calls, callees first; the computation becomes its entry. */
hr_status_t xla_compile_graph(const tf_graph_t *graph, const xla_graph_signature_t *signature,
                              int argument_count, const xla_argument_t *arguments,
                              const xla_compile_options_t *options, hlo_module_t *module,
                              xla_compilation_result_t *out_result);
hr_status_t xla_compile_function(const tf_graph_t *graph, const tf_body_t *function,
                                 int argument_count, const xla_argument_t *arguments,
                                 const xla_compile_options_t *options, hlo_module_t *module,
                                 xla_compilation_result_t *out_result);

/* Compiles one operation on arguments 0, 1, ... The input lists of `node` are not used. */
hr_status_t xla_compile_single_op(const tf_graph_t *graph, const tf_node_t *node,
                                  int argument_count, const xla_argument_t *arguments,
                                  int output_count, const xla_compile_options_t *options,
                                  hlo_module_t *module, xla_compilation_result_t *out_result);

/* XlaCompiler as an object: compilations that share channels and a cache, whose key is the function
 * with its arguments and options.
 * Owner: modules and results live until xla_compiler_destroy. */
typedef struct xla_compiler xla_compiler_t;
typedef struct xla_compiled {
  hlo_module_t *module;
  xla_compilation_result_t result;
} xla_compiled_t;

/* `graph` is the function library and must outlive the compiler. */
hr_status_t xla_compiler_create(const tf_graph_t *graph, xla_compiler_t **out_compiler);
void xla_compiler_destroy(xla_compiler_t *compiler); /* accepts NULL */
/* CompileFunction: returns the same object for equal arguments. options->channels is not used.
 * Errors: INVALID if there is no such function; as xla_compile_function. */
hr_status_t xla_compiler_function(xla_compiler_t *compiler, hr_str_t function, int argument_count,
                                  const xla_argument_t *arguments,
                                  const xla_compile_options_t *options,
                                  const xla_compiled_t **out_compiled);
/* The channels of all its compilations. */
const xla_channels_t *xla_compiler_channels(const xla_compiler_t *compiler);

/* Checks that tf_ops.def has the operations of all nodes needed for the results.
 * Errors: UNSUPPORTED with every unknown operation and the names of its nodes. */
hr_status_t xla_validate(const tf_graph_t *graph, const tf_body_t *body, int count,
                         const tf_input_t *needed, const bool *is_fed);
/* *out_writes: an operation that the fetches need writes a variable. */
hr_status_t xla_writes_variables(const tf_graph_t *graph, const xla_graph_signature_t *signature,
                                 bool *out_writes);

#endif
