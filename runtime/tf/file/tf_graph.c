/* GraphDef to tf_graph_t: nodes are decoded one level deep, inputs are resolved to node numbers.
 * In a graph an input is "node:k"; in a function body it is an argument's name, or
 * "node:output_arg:k", where the position of output_arg among the outputs of the op is known from
 * tf_ops.def or from the signature of the called function.
 * Cost: linear in the bytes, one hash look-up per input. */
#include "tf/file/tf_graph.h"

#include <stdlib.h>
#include <string.h>

#include "tf/compile/tf_ops.h"

/* A map of protobuf is a repeated message of key (1) and value (2); values stay encoded. */
static hr_status_t read_attr_entries(hr_arena_t *arena, proto_list_t list, tf_node_t *node) {
  node->attr_count = (int)list.count;
  HR_TRY(HR_NEW_ARRAY(arena, list.count, &node->attrs));
  for (int64_t i = 0; i < list.count; i++) {
    tf_attr_entry_proto_t entry;
    HR_TRY(TF_DECODE(arena, attr_entry, proto_piece(&list.items[i]), &entry));
    node->attrs[i] = (tf_named_attr_t){entry.key, entry.value};
  }
  return NULL;
}

/* NodeDef: name, op and inputs as text. Inputs are resolved later, as they may name later nodes. */
static hr_status_t read_node(hr_arena_t *arena, const hr_str_t *bytes, tf_node_t *node) {
  tf_node_proto_t in;
  HR_TRY(TF_DECODE(arena, node, proto_piece(bytes), &in));
  if (!in.name.size || !in.op.size) return hr_error(HR_INVALID, "a node has no name or no op");
  node->name = in.name;
  node->op = in.op;
  node->device = in.device;
  node->input_names = in.input;
  return read_attr_entries(arena, in.attr, node);
}

/* The map holds the number plus 1, as its NULL means that there is no such name. */
static hr_status_t enter_node(tf_body_t *body, int index) {
  void *old;
  tf_node_t *node = &body->nodes[index];
  HR_TRY(hr_map_put(&body->by_name, node->name, (void *)(uintptr_t)(index + 1), &old));
  if (!old) return NULL;
  return hr_error(HR_INVALID, "two nodes have the name %.*s", HR_STR_ARGS(node->name));
}

/* NULL of the map becomes -1. */
static int find_node(const tf_body_t *body, hr_str_t name) {
  return (int)(uintptr_t)hr_map_get(&body->by_name, name) - 1;
}

/* The bytes from `from` up to `to`, without copying. */
static hr_str_t str_slice(hr_str_t text, size_t from, size_t to) {
  return (hr_str_t){text.data + from, to - from};
}

/* Number after the last ':'; text without digits is not a number.
 * At most 9 digits are read, so that the number fits an int. */
static bool parse_index(hr_str_t text, int *out_index) {
  int index = 0;
  if (!text.size || text.size > 9) return false;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
    index = index * 10 + (text.data[i] - '0');
  }
  *out_index = index;
  return true;
}

/* A name without ":k" means output 0; "^name" is a control dependency. The last colon counts,
 * and a name whose end is no number is taken whole. */
hr_status_t tf_body_resolve(const tf_body_t *body, hr_str_t text, tf_input_t *out_input) {
  bool control = text.size && text.data[0] == '^';
  hr_str_t name = str_slice(text, control, text.size);
  const char *colon = name.size ? memrchr(name.data, ':', name.size) : NULL;
  out_input->index = control ? -1 : 0;
  if (colon &&
      parse_index(str_slice(name, (size_t)(colon - name.data) + 1, name.size), &out_input->index))
    name.size = (size_t)(colon - name.data);
  out_input->node = find_node(body, name);
  if (out_input->node >= 0) return NULL;
  return hr_error(HR_INVALID, "there is no node %.*s", HR_STR_ARGS(name));
}

/* Number of the first output of output argument `arg`; -1: the op has no such argument.
 * The called function's results are its outputs, in the order of its signature. */
static int output_position(const tf_graph_t *graph, const tf_node_t *node, hr_str_t arg) {
  const tf_body_t *called = tf_graph_function(graph, node->op);
  for (int i = 0; called && i < called->ret_count; i++)
    if (hr_str_equal(called->ret_names[i], arg)) return i;
  return tf_op_output_position(node->op, arg);
}

/* An input of a function body: an argument, "node:arg:k", or "^node".
 * In a FunctionDef an input of a node is "node:output_arg:k": element k of the named output
 * argument. "node:k" occurs in old libraries and counts outputs as a graph does. */
static hr_status_t resolve_in_function(const tf_graph_t *graph, const tf_body_t *body,
                                       hr_str_t text, tf_input_t *out_input) {
  const char *first = text.size ? memchr(text.data, ':', text.size) : NULL;
  if (!first) return tf_body_resolve(body, text, out_input);
  size_t at = (size_t)(first - text.data);
  const char *second = memchr(first + 1, ':', text.size - at - 1);
  size_t arg_end = second ? (size_t)(second - text.data) : text.size;
  int index = 0;
  hr_str_t name = str_slice(text, 0, at);
  out_input->node = find_node(body, name);
  if (out_input->node < 0) return hr_error(HR_INVALID, "there is no node %.*s", HR_STR_ARGS(name));
  if (!second && parse_index(str_slice(text, at + 1, text.size), &out_input->index)) return NULL;
  if (second && !parse_index(str_slice(text, arg_end + 1, text.size), &index))
    return hr_error(HR_INVALID, "\"%.*s\" has no number of an output", HR_STR_ARGS(text));
  int base =
      output_position(graph, &body->nodes[out_input->node], str_slice(text, at + 1, arg_end));
  out_input->index = (base < 0 ? 0 : base) + index;
  return NULL;
}

static hr_status_t resolve_input(const tf_graph_t *graph, const tf_body_t *body, hr_str_t text,
                                 tf_input_t *out_input) {
  return body->name.size ? resolve_in_function(graph, body, text, out_input)
                         : tf_body_resolve(body, text, out_input);
}

/* Data inputs first, then control inputs.
 * `inputs` holds data inputs, then control inputs. The walk of tf_execute.c goes through
 * waits_for, which has the node of each. */
static hr_status_t resolve_inputs(const tf_graph_t *graph, const tf_body_t *body, tf_node_t *node) {
  proto_list_t names = node->input_names;
  HR_TRY(HR_NEW_ARRAY(graph->arena, names.count, &node->inputs));
  for (int pass = 0; pass < 2; pass++)
    for (int64_t i = 0; i < names.count; i++) {
      bool control = names.items[i].size && names.items[i].data[0] == '^';
      if (control != (pass == 1)) continue;
      tf_input_t *input = &node->inputs[node->input_count + node->control_count];
      hr_status_t st = resolve_input(graph, body, names.items[i], input);
      if (st) return hr_status_note(st, "in an input of node %.*s", HR_STR_ARGS(node->name));
      *(control ? &node->control_count : &node->input_count) += 1;
    }
  HR_TRY(HR_NEW_ARRAY(graph->arena, names.count, &node->waits_for));
  for (int64_t i = 0; i < names.count; i++) node->waits_for[i] = node->inputs[i].node;
  return NULL;
}

/* Nodes of the body take the numbers from `first` on, behind the arguments of a function. */
static hr_status_t read_nodes(tf_graph_t *graph, proto_list_t list, int first, tf_body_t *body) {
  for (int64_t i = 0; i < list.count; i++) {
    hr_status_t st = read_node(graph->arena, &list.items[i], &body->nodes[first + i]);
    if (st) return hr_status_note(st, "in node %ld of the graph", (long)i);
    HR_TRY(enter_node(body, first + (int)i));
  }
  return NULL;
}

/* The nodes are zeroed and filled in by the readers. */
static hr_status_t make_body(tf_graph_t *graph, int64_t node_count, tf_body_t *body) {
  hr_map_init(&body->by_name);
  body->node_count = (int)node_count;
  return HR_NEW_ARRAY(graph->arena, node_count, &body->nodes);
}

/* --- functions --- */

/* Arguments become nodes of op _Arg in front of the body's own.
 * Argument k is node k, output 0. Its type is 0 if an attribute of the call gives it. */
static hr_status_t read_args(tf_graph_t *graph, proto_list_t args, tf_body_t *body) {
  body->arg_count = (int)args.count;
  HR_TRY(HR_NEW_ARRAY(graph->arena, args.count, &body->arg_names));
  HR_TRY(HR_NEW_ARRAY(graph->arena, args.count, &body->arg_types));
  for (int64_t i = 0; i < args.count; i++) {
    tf_arg_def_proto_t arg;
    HR_TRY(TF_DECODE(graph->arena, arg_def, proto_piece(&args.items[i]), &arg));
    body->arg_names[i] = arg.name;
    body->arg_types[i] = arg.type;
    body->nodes[i] = (tf_node_t){.name = arg.name, .op = HR_STR("_Arg")};
    HR_TRY(enter_node(body, (int)i));
  }
  return NULL;
}

/* Signature and nodes; inputs are resolved when all functions are known. */
static hr_status_t read_function(tf_graph_t *graph, const hr_str_t *bytes, tf_body_t *body,
                                 tf_function_proto_t *in) {
  tf_op_def_proto_t signature;
  HR_TRY(TF_DECODE(graph->arena, function, proto_piece(bytes), in));
  HR_TRY(TF_DECODE(graph->arena, op_def, in->signature, &signature));
  body->name = signature.name;
  if (!body->name.size) return hr_error(HR_INVALID, "a function of the library has no name");
  HR_TRY(make_body(graph, signature.input_arg.count + in->node_def.count, body));
  HR_TRY(read_args(graph, signature.input_arg, body));
  HR_TRY(read_nodes(graph, in->node_def, body->arg_count, body));
  body->ret_count = (int)signature.output_arg.count;
  HR_TRY(HR_NEW_ARRAY(graph->arena, body->ret_count, &body->ret_names));
  HR_TRY(HR_NEW_ARRAY(graph->arena, body->ret_count, &body->rets));
  for (int i = 0; i < body->ret_count; i++) {
    tf_arg_def_proto_t arg;
    HR_TRY(TF_DECODE(graph->arena, arg_def, proto_piece(&signature.output_arg.items[i]), &arg));
    body->ret_names[i] = arg.name;
  }
  return hr_map_put(&graph->functions_by_name, body->name, body, NULL);
}

/* Results by name: the output_arg's name maps to an input text. */
static hr_status_t resolve_rets(const tf_graph_t *graph, const tf_function_proto_t *in,
                                tf_body_t *body) {
  for (int i = 0; i < body->ret_count; i++) body->rets[i].node = -1;
  for (int64_t k = 0; k < in->ret.count; k++) {
    tf_pair_proto_t pair;
    HR_TRY(TF_DECODE(graph->arena, pair, proto_piece(&in->ret.items[k]), &pair));
    for (int i = 0; i < body->ret_count; i++)
      if (hr_str_equal(body->ret_names[i], pair.key))
        HR_TRY(resolve_input(graph, body, pair.value, &body->rets[i]));
  }
  for (int i = 0; i < body->ret_count; i++)
    if (body->rets[i].node < 0)
      return hr_error(HR_INVALID, "result %.*s has no value", HR_STR_ARGS(body->ret_names[i]));
  HR_TRY(HR_NEW_ARRAY(graph->arena, in->control_ret.count, &body->control_rets));
  for (int64_t k = 0; k < in->control_ret.count; k++) {
    tf_pair_proto_t pair;
    HR_TRY(TF_DECODE(graph->arena, pair, proto_piece(&in->control_ret.items[k]), &pair));
    int node = find_node(body, pair.value);
    if (node >= 0) body->control_rets[body->control_ret_count++] = node;
  }
  return NULL;
}

static hr_status_t resolve_body(const tf_graph_t *graph, tf_body_t *body) {
  for (int i = 0; i < body->node_count; i++) HR_TRY(resolve_inputs(graph, body, &body->nodes[i]));
  return NULL;
}

/* Two rounds: the first one reads all signatures, the second one resolves inputs, which may be
 * outputs of functions that come later in the file. */
static hr_status_t read_library(tf_graph_t *graph, proto_list_t list) {
  tf_function_proto_t *protos;
  HR_TRY(HR_NEW_ARRAY(graph->arena, list.count, &graph->functions));
  HR_TRY(HR_NEW_ARRAY(graph->arena, list.count, &protos));
  for (int64_t i = 0; i < list.count; i++) {
    tf_body_t *body = &graph->functions[i];
    hr_status_t st = read_function(graph, &list.items[i], body, &protos[i]);
    graph->function_count = (int)i + 1;
    if (st) return hr_status_note(st, "in function %.*s", HR_STR_ARGS(body->name));
  }
  for (int64_t i = 0; i < list.count; i++) {
    tf_body_t *body = &graph->functions[i];
    hr_status_t st = resolve_body(graph, body);
    if (!st) st = resolve_rets(graph, &protos[i], body);
    if (st) return hr_status_note(st, "in function %.*s", HR_STR_ARGS(body->name));
  }
  return NULL;
}

/* The library is read before the inputs of the main graph are resolved, as nodes may call
 * functions. */
hr_status_t tf_graph_read(hr_arena_t *arena, proto_list_t pieces, tf_graph_t *out_graph) {
  tf_graph_proto_t in;
  tf_library_proto_t library;
  tf_graph_t *graph = out_graph;
  *graph = (tf_graph_t){.arena = arena};
  hr_map_init(&graph->functions_by_name);
  HR_TRY(TF_DECODE(arena, graph, pieces, &in));
  HR_TRY(TF_DECODE(arena, library, in.library, &library));
  HR_TRY(make_body(graph, in.node.count, &graph->main));
  HR_TRY(read_nodes(graph, in.node, 0, &graph->main));
  graph->gradients = library.gradient;
  HR_TRY(read_library(graph, library.function));
  return resolve_body(graph, &graph->main);
}

/* Maps own memory outside the arena. Functions beyond function_count were never begun. */
void tf_graph_deinit(tf_graph_t *graph) {
  for (int i = 0; i < graph->function_count; i++) hr_map_deinit(&graph->functions[i].by_name);
  hr_map_deinit(&graph->main.by_name);
  hr_map_deinit(&graph->functions_by_name);
}

const tf_body_t *tf_graph_function(const tf_graph_t *graph, hr_str_t name) {
  return hr_map_get(&graph->functions_by_name, name);
}

/* Damaged entries name nothing: the function is then differentiated. */
const tf_body_t *tf_graph_gradient(const tf_graph_t *graph, hr_str_t name) {
  for (int64_t i = 0; i < graph->gradients.count; i++) {
    tf_gradient_proto_t entry;
    hr_status_t st =
        TF_DECODE(graph->arena, gradient, proto_piece(&graph->gradients.items[i]), &entry);
    if (!st && hr_str_equal(entry.function_name, name))
      return tf_graph_function(graph, entry.gradient_func);
    hr_status_release(st);
  }
  return NULL;
}
