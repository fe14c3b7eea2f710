/* A TensorFlow graph in memory: nodes and a function library, decoded from GraphDef. Attributes
 * stay encoded until they are read.
 * Owner:  everything lives in the arena of the graph and points into its bytes.
 * Thread: read-only after tf_graph_read. */
#ifndef TF_GRAPH_H
#define TF_GRAPH_H

#include "base/map.h"
#include "base/vec.h"
#include "ir/value.h"
#include "tf/file/tf_proto.h"

typedef struct tf_named_attr {
  hr_str_t name;
  proto_list_t value; /* an AttrValue, encoded */
} tf_named_attr_t;

/* A data input: output `index` of node `node` of the same body; control inputs have index -1. */
typedef struct tf_input {
  int node;
  int index;
} tf_input_t;

typedef struct tf_node {
  hr_str_t name;
  hr_str_t op;
  hr_str_t device;
  int input_count; /* data inputs, which come first */
  int control_count;
  tf_input_t *inputs;
  int *waits_for;           /* nodes of all inputs */
  proto_list_t input_names; /* as written; resolved into `inputs` */
  int attr_count;
  tf_named_attr_t *attrs;
} tf_node_t;

/* Nodes of a graph, or of a function's body. Arguments of a function are nodes of op "_Arg". */
typedef struct tf_body {
  hr_str_t name; /* function; empty: the graph itself */
  int node_count;
  tf_node_t *nodes;
  hr_map_t by_name; /* index plus 1 */
  int arg_count;
  hr_str_t *arg_names;
  int64_t *arg_types; /* DataType; 0: by an attribute of the call */
  int ret_count;
  hr_str_t *ret_names;
  tf_input_t *rets; /* by result: the output that it is */
  int control_ret_count;
  int *control_rets; /* nodes that must run although no result needs them */
} tf_body_t;

typedef struct tf_graph {
  hr_arena_t *arena;
  hr_buffer_t *source; /* owner of the bytes, which outlives the graph; NULL: not known */
  bool borrows;        /* large constants are not copied out of `source`, whatever its alignment */
  tf_body_t main;      /* the graph's own nodes */
  int function_count;
  tf_body_t *functions;       /* the library, in the order of the file */
  hr_map_t functions_by_name; /* tf_body_t */
  proto_list_t gradients;     /* GradientDef messages: functions and their gradients */
} tf_graph_t;

/* Decodes a GraphDef. The bytes must outlive the graph.
 * Errors: INVALID with the node: damaged bytes, unknown inputs, names given twice. */
hr_status_t tf_graph_read(hr_arena_t *arena, proto_list_t pieces, tf_graph_t *out_graph);
void tf_graph_deinit(tf_graph_t *graph);
/* NULL: there is no such function, or node. */
const tf_body_t *tf_graph_function(const tf_graph_t *graph, hr_str_t name);
/* The function that the library names as the gradient of another; NULL: none. */
const tf_body_t *tf_graph_gradient(const tf_graph_t *graph, hr_str_t name);
/* "name", "name:k" or "^name" of a graph; index -1 for control. Errors: INVALID. */
hr_status_t tf_body_resolve(const tf_body_t *body, hr_str_t text, tf_input_t *out_input);

/* Attributes. An absent one gives the fallback. Errors: INVALID for damaged bytes. */
hr_status_t tf_attr_find(hr_arena_t *arena, const tf_node_t *node, const char *name,
                         tf_attr_proto_t *out_attr, bool *out_found);
hr_status_t tf_attr_int(hr_arena_t *arena, const tf_node_t *node, const char *name,
                        int64_t fallback, int64_t *out_value);
hr_status_t tf_attr_bool(hr_arena_t *arena, const tf_node_t *node, const char *name, bool fallback,
                         bool *out_value);
hr_status_t tf_attr_float(hr_arena_t *arena, const tf_node_t *node, const char *name,
                          double fallback, double *out_value);
hr_status_t tf_attr_str(hr_arena_t *arena, const tf_node_t *node, const char *name,
                        const char *fallback, hr_str_t *out_value);
/* HR_TUPLE: strings, resources, variants, or no such attribute. */
hr_status_t tf_attr_dtype(hr_arena_t *arena, const tf_node_t *node, const char *name,
                          hr_dtype_t *out_dtype);
hr_status_t tf_attr_ints(hr_arena_t *arena, const tf_node_t *node, const char *name,
                         hr_ints_t *out_ints);
/* Numbers of DataType. */
hr_status_t tf_attr_dtype_at(hr_arena_t *arena, const tf_node_t *node, const char *name, int64_t k,
                             hr_dtype_t *out_dtype);
hr_status_t tf_attr_types(hr_arena_t *arena, const tf_node_t *node, const char *name,
                          hr_ints_t *out_types);
/* Name of a function-valued attribute; empty if absent. */
hr_status_t tf_attr_function(hr_arena_t *arena, const tf_node_t *node, const char *name,
                             hr_str_t *out_name);
/* Names of a list of functions. */
hr_status_t tf_attr_functions(hr_arena_t *arena, const tf_node_t *node, const char *name,
                              int *out_count, hr_str_t **out_names);
/* Sizes of a shape attribute; -1 for unknown ones. rank -1: unknown. */
hr_status_t tf_attr_shape(hr_arena_t *arena, const tf_node_t *node, const char *name, int *out_rank,
                          int64_t dims[HLO_MAX_RANK]);
/* Entry k of a list of shapes; rank -1 beyond its end. */
hr_status_t tf_attr_shape_at(hr_arena_t *arena, const tf_node_t *node, const char *name, int k,
                             int *out_rank, int64_t dims[HLO_MAX_RANK]);
hr_status_t tf_attr_strings(hr_arena_t *arena, const tf_node_t *node, const char *name,
                            int *out_count, hr_str_t **out_strings);
hr_status_t tf_read_shape(hr_arena_t *arena, proto_list_t pieces, int *out_rank,
                          int64_t dims[HLO_MAX_RANK]);
/* The value of a TensorProto of the graph. Strings: *out_value is NULL, and the strings go to
 * *out_strings. Memory: a large constant's pages of a mapped file are dropped as it is copied.
 * Errors: INVALID, UNSUPPORTED for types without arrays. */
hr_status_t tf_read_tensor(const tf_graph_t *graph, hr_arena_t *arena, proto_list_t pieces,
                           hlo_value_t **out_value, proto_list_t *out_strings);

#endif
