/* From the bytes of a GraphDef to a module: decode, decide what is fed and fetched, compile.
 * A graph has no result list of its own, so that sinks of the graph are its results by default. */
#include "tf/tf_read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tf/tf_ops.h"
#include "tf/xla_compiler.h"

/* --- recognition --- */

static bool is_op_name(hr_str_t name) {
  if (!name.size || !(isupper((unsigned char)name.data[0]) || name.data[0] == '_')) return false;
  for (size_t i = 0; i < name.size; i++)
    if (!isalnum((unsigned char)name.data[i]) && name.data[i] != '_') return false;
  return true;
}

/* Inputs are names. Field 3 of HloModuleProto, in contrast, has computations, whose bytes begin
 * with a tag below ' '. */
static bool has_named_inputs(const tf_node_proto_t *node) {
  for (int64_t i = 0; i < node->input.count; i++)
    if (!node->input.items[i].size || (unsigned char)node->input.items[i].data[0] < ' ')
      return false;
  return true;
}

/* The first node has a name, an op such as those of TensorFlow, and nothing that the module of an
 * HloProto could have instead. */
static bool is_binary_graph(hr_str_t bytes) {
  const char *at = bytes.data, *end = at + bytes.size;
  uint64_t tag, size;
  bool is_graph = false;
  hr_arena_t arena;
  tf_node_proto_t node;
  if (!proto_take_varint(&at, end, &tag) || tag != (1 << 3 | 2)) return false;
  if (!proto_take_varint(&at, end, &size) || size > (size_t)(end - at)) return false;
  hr_arena_init(&arena);
  hr_str_t first = {at, size};
  hr_status_t st = TF_DECODE(&arena, node, proto_piece(&first), &node);
  if (!st)
    is_graph = node.name.size && is_op_name(node.op) && has_named_inputs(&node) &&
               (tf_op_find(node.op) || (size_t)(end - at) > size);
  hr_status_release(st);
  hr_arena_deinit(&arena);
  return is_graph;
}

static bool skip_word(const char **at, const char *end, const char *word) {
  while (*at < end && isspace((unsigned char)**at)) ++*at;
  size_t size = strlen(word);
  if ((size_t)(end - *at) < size || memcmp(*at, word, size)) return false;
  *at += size;
  return true;
}

/* "node { name:" or "node { op:", after comments. */
static bool is_text_graph(hr_str_t bytes) {
  const char *at = bytes.data, *end = at + bytes.size;
  while (skip_word(&at, end, "#")) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    at = newline ? newline : end;
  }
  if (!skip_word(&at, end, "node")) return false;
  skip_word(&at, end, ":");
  if (!skip_word(&at, end, "{")) return false;
  return (skip_word(&at, end, "name") || skip_word(&at, end, "op")) && skip_word(&at, end, ":");
}

bool tf_is_graph(hr_str_t bytes) {
  return bytes.size && (is_text_graph(bytes) || is_binary_graph(bytes));
}

/* --- feeds and fetches --- */

typedef struct selection {
  hlo_module_t *module;
  hr_arena_t *arena;
  tf_graph_t graph;
  xla_graph_signature_t signature;
  tf_input_t *feeds;
  tf_input_t *fetches;
  hr_str_t *variables;
  xla_argument_t *arguments; /* feeds, then variables */
  int argument_count;
} selection_t;

/* Text up to '=', resolved; what follows goes to *out_rest, NULL if nothing does. */
static hr_status_t resolve_name(const selection_t *s, const char *text, tf_input_t *out_input,
                                const char **out_rest) {
  const char *equals = strchr(text, '=');
  size_t size = equals ? (size_t)(equals - text) : strlen(text);
  *out_rest = equals ? equals + 1 : NULL;
  hr_status_t st = tf_body_resolve(&s->graph.main, (hr_str_t){text, size}, out_input);
  if (!st && out_input->index < 0) st = hr_error(HR_USAGE, "%s is a control input", text);
  return st;
}

/* "f32[2,3]" */
static hr_status_t parse_shape(const selection_t *s, const char *text,
                               const hlo_shape_t **out_shape) {
  int64_t dims[HLO_MAX_RANK];
  int rank = 0;
  hr_dtype_t dtype;
  const char *open = strchr(text, '[');
  if (!open || !hr_dtype_from_name((hr_str_t){text, (size_t)(open - text)}, &dtype))
    return hr_error(HR_USAGE, "found %s, want a shape such as f32[2,3]", text);
  for (const char *at = open + 1; *at && *at != ']' && rank < HLO_MAX_RANK;) {
    char *stop;
    dims[rank++] = strtoll(at, &stop, 10);
    if (stop == at || dims[rank - 1] < 0)
      return hr_error(HR_USAGE, "found %s, want a shape such as f32[2,3]", text);
    at = *stop == ',' ? stop + 1 : stop;
  }
  return hlo_shape_array(s->arena, dtype, rank, dims, out_shape);
}

/* Shape of a placeholder or variable by its attributes. */
static hr_status_t declared_shape(const selection_t *s, const tf_node_t *node,
                                  const hlo_shape_t **out_shape) {
  int64_t dims[HLO_MAX_RANK];
  int rank;
  hr_dtype_t dtype;
  HR_TRY(tf_attr_dtype(s->arena, node, "dtype", &dtype));
  HR_TRY(tf_attr_shape(s->arena, node, "shape", &rank, dims));
  bool known = rank >= 0 && dtype != HR_TUPLE;
  for (int d = 0; d < rank; d++) known &= dims[d] >= 0;
  if (!known)
    return hr_error(HR_USAGE,
                    "the shape of %.*s is not known: give it as --feed %.*s:0=f32[2,3], with its "
                    "type and sizes",
                    HR_STR_ARGS(node->name), HR_STR_ARGS(node->name));
  return hlo_shape_array(s->arena, dtype, rank, dims, out_shape);
}

static hr_status_t add_feed(selection_t *s, tf_input_t feed, const char *shape) {
  int k = s->signature.feed_count++;
  const tf_node_t *node = &s->graph.main.nodes[feed.node];
  xla_argument_t *argument = &s->arguments[s->argument_count++];
  s->feeds[k] = feed;
  argument->kind = XLA_ARGUMENT_PARAMETER;
  argument->name = node->name;
  return shape ? parse_shape(s, shape, &argument->shape)
               : declared_shape(s, node, &argument->shape);
}

/* Marks nodes that the fetches need; the walk stops at fed nodes. */
static hr_status_t mark_needed(const selection_t *s, const bool *is_fed, bool *needed) {
  const tf_body_t *body = &s->graph.main;
  int *stack;
  int height = 0;
  HR_TRY(HR_NEW_ARRAY(s->arena, body->node_count + 1, &stack));
  for (int i = 0; i < s->signature.fetch_count; i++) {
    int node = s->fetches[i].node;
    if (!needed[node]) stack[height++] = node;
    needed[node] = true;
  }
  while (height) {
    int index = stack[--height];
    const tf_node_t *node = &body->nodes[index];
    for (int k = 0; !is_fed[index] && k < node->input_count + node->control_count; k++) {
      int input = node->inputs[k].node;
      if (!needed[input]) stack[height++] = input;
      needed[input] = true;
    }
  }
  return NULL;
}

static hr_status_t add_fetches(selection_t *s, const tf_read_options_t *options) {
  const tf_body_t *body = &s->graph.main;
  bool *used;
  HR_TRY(HR_NEW_ARRAY(s->arena, body->node_count, &used));
  for (int i = 0; options && i < options->fetch_count; i++) {
    const char *rest;
    HR_TRY(resolve_name(s, options->fetches[i], &s->fetches[s->signature.fetch_count++], &rest));
  }
  if (s->signature.fetch_count) return NULL;
  for (int i = 0; i < body->node_count; i++)
    for (int k = 0; k < body->nodes[i].input_count + body->nodes[i].control_count; k++)
      used[body->nodes[i].inputs[k].node] = true;
  for (int i = 0; i < body->node_count; i++) {
    hr_str_t op = body->nodes[i].op;
    bool is_sink = !used[i] && !hr_str_is(op, "NoOp") && !hr_str_is(op, "Placeholder") &&
                   !hr_str_is(op, "Const") && !hr_str_is(op, "Assert");
    if (is_sink) s->fetches[s->signature.fetch_count++] = (tf_input_t){i, 0};
  }
  return s->signature.fetch_count ? NULL : hr_error(HR_INVALID, "the graph computes nothing");
}

static bool is_variable(const tf_node_t *node) {
  return hr_str_is(node->op, "VarHandleOp") || hr_str_is(node->op, "VariableV2");
}

static hr_status_t add_variable(selection_t *s, const tf_node_t *node) {
  hr_str_t name;
  HR_TRY(tf_attr_str(s->arena, node, "shared_name", "", &name));
  if (!name.size) name = node->name;
  for (int i = 0; i < s->signature.variable_count; i++)
    if (hr_str_equal(s->variables[i], name)) return NULL;
  s->variables[s->signature.variable_count++] = name;
  xla_argument_t *argument = &s->arguments[s->argument_count++];
  argument->kind = XLA_ARGUMENT_RESOURCE;
  argument->name = name;
  argument->initialized = true;
  return declared_shape(s, node, &argument->shape);
}

static hr_status_t add_feeds(selection_t *s, const tf_read_options_t *options) {
  const tf_body_t *body = &s->graph.main;
  bool *is_fed, *needed;
  HR_TRY(HR_NEW_ARRAY(s->arena, body->node_count, &is_fed));
  HR_TRY(HR_NEW_ARRAY(s->arena, body->node_count, &needed));
  for (int i = 0; options && i < options->feed_count; i++) {
    tf_input_t feed;
    const char *shape;
    HR_TRY(resolve_name(s, options->feeds[i], &feed, &shape));
    if (is_fed[feed.node]) return hr_error(HR_USAGE, "%s is fed twice", options->feeds[i]);
    is_fed[feed.node] = true;
    HR_TRY(add_feed(s, feed, shape));
  }
  HR_TRY(mark_needed(s, is_fed, needed));
  for (int i = 0; i < body->node_count; i++) {
    hr_str_t op = body->nodes[i].op;
    bool is_placeholder = hr_str_is(op, "Placeholder") || hr_str_is(op, "PlaceholderV2");
    if (needed[i] && is_placeholder && !is_fed[i]) HR_TRY(add_feed(s, (tf_input_t){i, 0}, NULL));
  }
  for (int i = 0; i < body->node_count; i++)
    if (needed[i] && is_variable(&body->nodes[i])) HR_TRY(add_variable(s, &body->nodes[i]));
  return NULL;
}

static hr_status_t select_and_compile(selection_t *s, const tf_read_options_t *options) {
  int nodes = s->graph.main.node_count;
  int given = options ? options->feed_count + options->fetch_count : 0;
  xla_compile_options_t compile = {.use_tuple_arg = false};
  xla_compilation_result_t result;
  HR_TRY(HR_NEW_ARRAY(s->arena, nodes + given, &s->feeds));
  HR_TRY(HR_NEW_ARRAY(s->arena, nodes + given, &s->fetches));
  HR_TRY(HR_NEW_ARRAY(s->arena, nodes + given, &s->variables));
  HR_TRY(HR_NEW_ARRAY(s->arena, 2 * nodes + given, &s->arguments));
  HR_TRY(add_fetches(s, options));
  HR_TRY(add_feeds(s, options));
  s->signature.feeds = s->feeds;
  s->signature.fetches = s->fetches;
  s->signature.variables = s->variables;
  return xla_compile_graph(&s->graph, &s->signature, s->argument_count, s->arguments, &compile,
                           s->module, &result);
}

/* Text becomes bytes in the module's arena, as names and constants point into them. */
static hr_status_t graph_bytes(hlo_module_t *module, hr_str_t *out_bytes) {
  hr_str_t bytes = {module->source.text, module->source.size_bytes};
  *out_bytes = bytes;
  if (!is_text_graph(bytes)) return NULL;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_status_t st = tf_text_to_bytes(module->source.path, bytes, TF_MESSAGE_graph, &text);
  if (!st) st = hr_arena_str(&module->arena, (hr_str_t){text.data, text.size}, out_bytes);
  hr_strbuf_deinit(&text);
  return st;
}

hr_status_t tf_read_module(hlo_module_t *module, const tf_read_options_t *options) {
  selection_t s = {.module = module, .arena = &module->arena};
  hr_str_t bytes;
  HR_TRY(graph_bytes(module, &bytes));
  HR_TRY(hr_arena_str(&module->arena, HR_STR("tf_graph"), &module->name));
  hr_status_t st = tf_graph_read(s.arena, proto_piece(&bytes), &s.graph);
  if (!st) st = select_and_compile(&s, options);
  tf_graph_deinit(&s.graph);
  return hr_status_note(st, "while reading a TensorFlow graph");
}
