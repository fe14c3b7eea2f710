/* Feeds, fetches and variables of a graph. A graph has no result list of its own, so that sinks of
 * the graph are its results if neither options nor a signature say otherwise. */
#include "tf/file/tf_select.h"

#include <stdlib.h>
#include <string.h>

#include "tf/file/tf_signature.h"

typedef tf_selection_t selection_t;

/* --- names and shapes --- */

static size_t name_size(const char *text) { return strcspn(text, "="); }

/* The text after '='; NULL if there is no '='. */
static const char *shape_text(const char *text) {
  const char *equals = strchr(text, '=');
  return equals ? equals + 1 : NULL;
}

/* The tensor of a feed or fetch, which a control input is not. */
static hr_status_t resolve_name(const selection_t *s, hr_str_t name, tf_input_t *out_input) {
  HR_TRY(tf_body_resolve(&s->graph->main, name, out_input));
  if (out_input->index >= 0) return NULL;
  return hr_error(HR_USAGE, "%.*s is a control input", HR_STR_ARGS(name));
}

static hr_status_t no_shape(const char *text) {
  return hr_error(HR_USAGE, "found %s, want a shape such as f32[2,3]; --input takes arrays", text);
}

/* The text after '=' in --feed, such as "f32[2,3]". */
static hr_status_t parse_shape(const selection_t *s, const char *text,
                               const hlo_shape_t **out_shape) {
  int64_t dims[HLO_MAX_RANK];
  int rank = 0;
  hr_dtype_t dtype;
  const char *open = strchr(text, '[');
  if (!open || !hr_dtype_from_name((hr_str_t){text, (size_t)(open - text)}, &dtype))
    return no_shape(text);
  const char *at = open + 1;
  while (*at && *at != ']' && rank < HLO_MAX_RANK) {
    char *stop;
    dims[rank++] = strtoll(at, &stop, 10);
    if (stop == at || dims[rank - 1] < 0) return no_shape(text);
    at = *stop == ',' ? stop + 1 : stop;
  }
  if (strcmp(at, "]")) return no_shape(text);
  return hlo_shape_array(s->arena, dtype, rank, dims, out_shape);
}

/* Appends "f32[?,28]", with the text `unknown` in place of each size that is not known. */
static void add_shape(hr_strbuf_t *text, hr_dtype_t dtype, int rank, const int64_t *dims,
                      const char *unknown) {
  hr_strbuf_printf(text, "%s[", dtype == HR_TUPLE ? "f32" : hr_dtype_table[dtype].name);
  for (int d = 0; d < rank; d++) {
    if (d) hr_strbuf_add_char(text, ',');
    if (dims[d] < 0)
      hr_strbuf_add_str(text, unknown);
    else
      hr_strbuf_printf(text, "%ld", (long)dims[d]);
  }
  hr_strbuf_add_char(text, ']');
}

/* The failure names the known sizes, and suggests an option, in which unknown sizes are 1. */
static hr_status_t unknown_shape(hr_str_t name, hr_dtype_t dtype, int rank, const int64_t *dims) {
  hr_strbuf_t known, option;
  hr_strbuf_init(&known);
  hr_strbuf_init(&option);
  if (rank >= 0) hr_strbuf_add_str(&known, ": ");
  if (rank >= 0) add_shape(&known, dtype, rank, dims, "?");
  if (rank >= 0)
    add_shape(&option, dtype, rank, dims, "1");
  else
    add_shape(&option, dtype, 2, (int64_t[]){2, 3}, "");
  hr_status_t st = hr_strbuf_finish(&known);
  if (!st) st = hr_strbuf_finish(&option);
  if (!st)
    st =
        hr_error(HR_USAGE,
                 "the shape of %.*s is not known%.*s; give it as --feed %.*s=%s, with its type and "
                 "sizes",
                 HR_STR_ARGS(name), (int)known.size, known.size ? known.data : "",
                 HR_STR_ARGS(name), option.data);
  hr_strbuf_deinit(&known);
  hr_strbuf_deinit(&option);
  return st;
}

/* Whether a shape of this rank, -1 if it is unknown, leaves the first size open. */
static bool is_open(int rank, const int64_t *dims) { return rank < 0 || (rank && dims[0] < 0); }

static bool has_all_sizes(int rank, const int64_t *dims) {
  bool known = rank >= 0;
  for (int d = 0; d < rank; d++) known &= dims[d] >= 0;
  return known;
}

/* Whether an array of these sizes can be fed where the graph leaves sizes open. */
static bool sizes_fit(int rank, const int64_t *dims, int array_rank, const int64_t *array_dims) {
  bool fits = rank < 0 || rank == array_rank;
  for (int d = 0; fits && d < rank; d++) fits = dims[d] < 0 || dims[d] == array_dims[d];
  return fits;
}

/* Adds the sizes of an array that does not fit to the failure. */
static hr_status_t note_array(hr_status_t st, int rank, const int64_t *dims) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  add_shape(&text, HR_F32, rank, dims, "");
  hr_status_t ended = hr_strbuf_finish(&text);
  if (!ended)
    st = hr_status_note(st, "its array in --input has the sizes %s", strchr(text.data, '['));
  hr_status_release(ended);
  hr_strbuf_deinit(&text);
  return st;
}

/* Fills in open sizes of a feed from the array that it gets, whose sizes are returned, too. */
static hr_status_t take_array_sizes(const selection_t *s, int number, int *rank, int64_t *dims,
                                    int *out_rank, int64_t out_dims[HLO_MAX_RANK]) {
  const tf_read_options_t *options = s->options;
  if (!options || !options->find_sizes) return NULL;
  HR_TRY(options->find_sizes(options->sizes_context, number, s->arguments[number].name, out_rank,
                             out_dims));
  if (*out_rank < 0 || !sizes_fit(*rank, dims, *out_rank, out_dims)) return NULL;
  s->is_open[number] = is_open(*rank, dims);
  memcpy(dims, out_dims, (size_t)*out_rank * sizeof *dims);
  *rank = *out_rank;
  return NULL;
}

/* The shape of feed `number` without an option, -1: of a variable. Sizes that the graph leaves open
 * are those of the array that the feed gets. If they are not known, the failure names the tensor.
 */
static hr_status_t find_shape(const selection_t *s, int number, hr_str_t name, hr_dtype_t dtype,
                              int rank, const int64_t *declared, const hlo_shape_t **out_shape) {
  int64_t dims[HLO_MAX_RANK], array_dims[HLO_MAX_RANK];
  int array_rank = -1;
  if (rank > 0) memcpy(dims, declared, (size_t)rank * sizeof *dims);
  if (number >= 0 && dtype != HR_TUPLE && !has_all_sizes(rank, dims))
    HR_TRY(take_array_sizes(s, number, &rank, dims, &array_rank, array_dims));
  if (dtype != HR_TUPLE && has_all_sizes(rank, dims))
    return hlo_shape_array(s->arena, dtype, rank, dims, out_shape);
  hr_status_t st = unknown_shape(name, dtype, rank, dims);
  return array_rank < 0 ? st : note_array(st, array_rank, array_dims);
}

static bool is_argument(const tf_node_t *node) { return hr_str_is(node->op, "_Arg"); }

static bool is_placeholder(const tf_node_t *node) {
  return hr_str_is(node->op, "Placeholder") || hr_str_is(node->op, "PlaceholderV2");
}

/* Type and sizes of a placeholder, variable or _Arg by its attributes. */
static hr_status_t declared_sizes(const selection_t *s, const tf_node_t *node,
                                  hr_dtype_t *out_dtype, int *out_rank,
                                  int64_t dims[HLO_MAX_RANK]) {
  bool argument = is_argument(node);
  HR_TRY(tf_attr_dtype(s->arena, node, argument ? "T" : "dtype", out_dtype));
  HR_TRY(tf_attr_shape(s->arena, node, argument ? "_shape" : "shape", out_rank, dims));
  if (!argument || *out_rank >= 0) return NULL;
  return tf_attr_shape_at(s->arena, node, "_output_shapes", 0, out_rank, dims);
}

/* The shape of feed `number` by the attributes of its node; -1: of a variable. */
static hr_status_t declared_shape(const selection_t *s, const tf_node_t *node, int number,
                                  const hlo_shape_t **out_shape) {
  int64_t dims[HLO_MAX_RANK];
  const char *name;
  int rank;
  hr_dtype_t dtype;
  HR_TRY(declared_sizes(s, node, &dtype, &rank, dims));
  HR_TRY(hr_arena_printf(s->arena, &name, "%.*s:0", HR_STR_ARGS(node->name)));
  return find_shape(s, number, hr_str_from(name), dtype, rank, dims, out_shape);
}

/* Adds a feed and its argument, which have the same number. The caller sets the shape. */
static xla_argument_t *add_feed(selection_t *s, tf_input_t feed, hr_str_t name) {
  xla_argument_t *argument = &s->arguments[s->argument_count++];
  s->feeds[s->signature.feed_count++] = feed;
  argument->kind = XLA_ARGUMENT_PARAMETER;
  argument->name = name;
  return argument;
}

/* --- named inputs and outputs --- */

/* The option --feed of an input, which names its key in the signature or its tensor; "name" and
 * "name:0" are the same tensor. NULL: there is none. */
static const char *option_of(const tf_read_options_t *options, const tf_named_tensor_t *input) {
  for (int i = 0; options && i < options->feed_count; i++) {
    const char *text = options->feeds[i];
    hr_str_t name = {text, name_size(text)};
    size_t colon = input->tensor.size > 2 ? input->tensor.size - 2 : 0;
    bool is_first = colon && !memcmp(input->tensor.data + colon, ":0", 2);
    if (hr_str_equal(name, input->key) || hr_str_equal(name, input->tensor)) return text;
    if (is_first && hr_str_equal(name, (hr_str_t){input->tensor.data, colon})) return text;
  }
  return NULL;
}

/* Type and rank must be those of the signature; the sizes may differ from its sizes. */
static hr_status_t check_feed(const tf_named_tensor_t *input, const char *option,
                              const hlo_shape_t *shape) {
  hr_strbuf_t text;
  bool fits_type = input->dtype == HR_TUPLE || input->dtype == shape->dtype;
  if (fits_type && (input->rank < 0 || input->rank == shape->rank)) return NULL;
  hr_strbuf_init(&text);
  if (input->rank >= 0)
    add_shape(&text, input->dtype, input->rank, input->dims, "?");
  else
    hr_strbuf_add_str(&text, hr_dtype_table[input->dtype].name);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st)
    st = hr_error(HR_USAGE, "--feed %s: input %.*s of the signature is %s", option,
                  HR_STR_ARGS(input->key), text.data);
  hr_strbuf_deinit(&text);
  return st;
}

/* The shape is that of the option; without one it is that of the signature, and the type, if the
 * signature has none, is the node's. */
static hr_status_t add_named_feed(selection_t *s, const tf_named_tensor_t *input,
                                  const tf_read_options_t *options) {
  tf_input_t feed;
  HR_TRY(resolve_name(s, input->tensor, &feed));
  const tf_node_t *node = &s->graph->main.nodes[feed.node];
  xla_argument_t *argument = add_feed(s, feed, input->key);
  const char *option = option_of(options, input);
  const char *shape = option ? shape_text(option) : NULL;
  hr_dtype_t dtype = input->dtype;
  if (shape) {
    HR_TRY(parse_shape(s, shape, &argument->shape));
    s->is_open[s->signature.feed_count - 1] = is_open(input->rank, input->dims);
    return check_feed(input, option, argument->shape);
  }
  if (dtype == HR_TUPLE) HR_TRY(tf_attr_dtype(s->arena, node, "dtype", &dtype));
  return find_shape(s, s->signature.feed_count - 1, input->key, dtype, input->rank, input->dims,
                    &argument->shape);
}

static hr_status_t no_input(const char *feed, const tf_named_signature_t *named) {
  hr_strbuf_t keys;
  hr_strbuf_init(&keys);
  for (int k = 0; k < named->input_count; k++)
    hr_strbuf_printf(&keys, "%s%.*s", k ? ", " : "", HR_STR_ARGS(named->inputs[k].key));
  hr_status_t st =
      hr_error(HR_USAGE, "--feed %s: the signature has no such input, its inputs are %s", feed,
               keys.size ? keys.data : "none");
  hr_strbuf_deinit(&keys);
  return st;
}

/* Refuses options that name no input of the signature. */
static hr_status_t check_options(const tf_read_options_t *options,
                                 const tf_named_signature_t *named) {
  for (int i = 0; options && i < options->feed_count; i++) {
    bool found = false;
    for (int k = 0; k < named->input_count; k++)
      found |= option_of(options, &named->inputs[k]) == options->feeds[i];
    if (!found) return no_input(options->feeds[i], named);
  }
  return NULL;
}

static void add_fetch(selection_t *s, tf_input_t fetch, hr_str_t name) {
  int k = s->signature.fetch_count++;
  s->fetches[k] = fetch;
  s->fetch_names[k] = name;
}

/* Allocates the lists. There are at most as many feeds, fetches and variables as nodes and `more`
 * names; arguments are feeds and variables. */
static hr_status_t allocate_lists(selection_t *s, int more) {
  s->capacity = s->graph->main.node_count + more;
  HR_TRY(HR_NEW_ARRAY(s->arena, s->capacity, &s->feeds));
  HR_TRY(HR_NEW_ARRAY(s->arena, s->capacity, &s->is_open));
  HR_TRY(HR_NEW_ARRAY(s->arena, s->capacity, &s->fetches));
  HR_TRY(HR_NEW_ARRAY(s->arena, s->capacity, &s->fetch_names));
  HR_TRY(HR_NEW_ARRAY(s->arena, s->capacity, &s->variables));
  HR_TRY(HR_NEW_ARRAY(s->arena, 2 * s->capacity, &s->arguments));
  s->signature.feeds = s->feeds;
  s->signature.fetches = s->fetches;
  s->signature.variables = s->variables;
  return NULL;
}

/* All feeds and fetches of a config or signature, in its order, as tf2xla selects them. */
static hr_status_t select_named(selection_t *s, const tf_named_signature_t *named,
                                const tf_read_options_t *options) {
  HR_TRY(allocate_lists(s, named->input_count + named->output_count));
  HR_TRY(check_options(options, named));
  for (int i = 0; i < named->output_count; i++) {
    tf_input_t fetch;
    HR_TRY(resolve_name(s, named->outputs[i].tensor, &fetch));
    add_fetch(s, fetch, named->outputs[i].key);
  }
  for (int i = 0; i < named->input_count; i++)
    HR_TRY(add_named_feed(s, &named->inputs[i], options));
  if (!named->output_count) return hr_error(HR_INVALID, "the signature has no outputs");
  return NULL;
}

/* --- the graph alone --- */

/* Marks nodes that the fetches need; the walk stops at fed nodes. */
static hr_status_t mark_needed(const selection_t *s, bool **out_needed) {
  const tf_body_t *body = &s->graph->main;
  int *stack;
  bool *fed, *needed;
  int height = 0;
  HR_TRY(HR_NEW_ARRAY(s->arena, body->node_count + 1, &stack));
  HR_TRY(HR_NEW_ARRAY(s->arena, body->node_count, &fed));
  HR_TRY(HR_NEW_ARRAY(s->arena, body->node_count, &needed));
  for (int i = 0; i < s->signature.feed_count; i++) fed[s->feeds[i].node] = true;
  for (int i = 0; i < s->signature.fetch_count; i++) {
    int node = s->fetches[i].node;
    if (!needed[node]) stack[height++] = node;
    needed[node] = true;
  }
  while (height) {
    int index = stack[--height];
    const tf_node_t *node = &body->nodes[index];
    for (int k = 0; !fed[index] && k < node->input_count + node->control_count; k++) {
      int input = node->inputs[k].node;
      if (!needed[input]) stack[height++] = input;
      needed[input] = true;
    }
  }
  *out_needed = needed;
  return NULL;
}

/* Output 0 of each node that no other node uses is a result, except for operations whose value is
 * of no interest. */
static hr_status_t fetch_sinks(selection_t *s) {
  static const char *const excluded[] = {"NoOp", "Placeholder", "Const", "Assert"};
  const tf_body_t *body = &s->graph->main;
  bool *used;
  HR_TRY(HR_NEW_ARRAY(s->arena, body->node_count, &used));
  for (int i = 0; i < body->node_count; i++)
    for (int k = 0; k < body->nodes[i].input_count + body->nodes[i].control_count; k++)
      used[body->nodes[i].inputs[k].node] = true;
  for (int i = 0; i < body->node_count; i++) {
    bool is_sink = !used[i];
    for (size_t k = 0; k < sizeof excluded / sizeof *excluded; k++)
      is_sink &= !hr_str_is(body->nodes[i].op, excluded[k]);
    if (is_sink) add_fetch(s, (tf_input_t){i, 0}, body->nodes[i].name);
  }
  return s->signature.fetch_count ? NULL : hr_error(HR_INVALID, "the graph computes nothing");
}

/* Sets the shape of a feed, that of its option or of its node. A resource _Arg is a variable. */
static hr_status_t set_fed_shape(const selection_t *s, const tf_node_t *node, const char *shape,
                                 xla_argument_t *argument) {
  hr_dtype_t dtype = HR_F32;
  int64_t dims[HLO_MAX_RANK];
  int rank;
  if (is_argument(node)) HR_TRY(tf_attr_dtype(s->arena, node, "T", &dtype));
  if (dtype == HR_TUPLE) argument->kind = XLA_ARGUMENT_RESOURCE;
  argument->initialized = dtype == HR_TUPLE;
  int number = (int)(argument - s->arguments);
  if (!shape) return declared_shape(s, node, number, &argument->shape);
  if (is_argument(node) || is_placeholder(node)) {
    HR_TRY(declared_sizes(s, node, &dtype, &rank, dims));
    s->is_open[number] = is_open(rank, dims);
  }
  return parse_shape(s, shape, &argument->shape);
}

static bool is_fed(const selection_t *s, int node) {
  bool fed = false;
  for (int k = 0; k < s->signature.feed_count; k++) fed |= s->feeds[k].node == node;
  return fed;
}

/* Adds the feeds of the options; their order is that of the parameters. */
static hr_status_t feed_options(selection_t *s, const tf_read_options_t *options) {
  for (int i = 0; options && i < options->feed_count; i++) {
    const char *text = options->feeds[i];
    const char *shape = shape_text(text);
    tf_input_t feed;
    HR_TRY(resolve_name(s, (hr_str_t){text, name_size(text)}, &feed));
    if (is_fed(s, feed.node)) return hr_error(HR_USAGE, "%s is fed twice", text);
    const tf_node_t *node = &s->graph->main.nodes[feed.node];
    HR_TRY(set_fed_shape(s, node, shape, add_feed(s, feed, node->name)));
  }
  return NULL;
}

/* Placeholders that the fetches need and no option feeds become feeds, in the order of the nodes.
 */
static hr_status_t feed_placeholders(selection_t *s) {
  const tf_body_t *body = &s->graph->main;
  bool *needed;
  HR_TRY(mark_needed(s, &needed));
  for (int i = 0; i < body->node_count; i++) {
    if (!needed[i] || !is_placeholder(&body->nodes[i]) || is_fed(s, i)) continue;
    xla_argument_t *argument = add_feed(s, (tf_input_t){i, 0}, body->nodes[i].name);
    HR_TRY(declared_shape(s, &body->nodes[i], s->argument_count - 1, &argument->shape));
  }
  return NULL;
}

/* _Arg nodes that no option feeds become feeds, in the order of their index. */
static hr_status_t feed_arguments(selection_t *s, const xla_graph_signature_t *found) {
  for (int i = 0; i < found->feed_count; i++) {
    const tf_node_t *node = &s->graph->main.nodes[found->feeds[i].node];
    if (is_fed(s, found->feeds[i].node)) continue;
    HR_TRY(set_fed_shape(s, node, NULL, add_feed(s, found->feeds[i], node->name)));
  }
  return NULL;
}

/* Fetches are selected first, as placeholders become feeds only if a fetch needs them. */
static hr_status_t select_tensors(selection_t *s, const tf_read_options_t *options) {
  int fetches = options ? options->fetch_count : 0;
  xla_graph_signature_t found;
  HR_TRY(xla_graph_signature(s->arena, s->graph, &found));
  HR_TRY(allocate_lists(s, fetches + (options ? options->feed_count : 0)));
  for (int i = 0; i < fetches; i++) {
    hr_str_t name = hr_str_from(options->fetches[i]);
    tf_input_t fetch;
    HR_TRY(resolve_name(s, name, &fetch));
    add_fetch(s, fetch, name);
  }
  for (int i = 0; !fetches && i < found.fetch_count; i++)
    add_fetch(s, found.fetches[i], s->graph->main.nodes[found.fetches[i].node].name);
  if (!s->signature.fetch_count) HR_TRY(fetch_sinks(s));
  HR_TRY(feed_options(s, options));
  HR_TRY(feed_arguments(s, &found));
  return feed_placeholders(s);
}

/* A Config of tf2xla takes precedence over a signature. If options fetch tensors, a signature is
 * used only if an option names it. */
hr_status_t tf_select_begin(hr_arena_t *arena, const tf_graph_t *graph,
                            const tf_meta_graph_proto_t *meta, const tf_read_options_t *options,
                            tf_selection_t *out_selection) {
  tf_named_signature_t named;
  tf_selection_t *s = out_selection;
  const char *signature = options ? options->signature : NULL;
  bool found = false;
  *s = (tf_selection_t){.arena = arena, .graph = graph, .meta = meta, .options = options};
  if (options && options->config) {
    HR_TRY(tf_config_read(arena, options->config, &named));
    return select_named(s, &named, options);
  }
  if (signature && !meta)
    return hr_error(HR_USAGE, "--signature %s: a GraphDef has no signatures", signature);
  bool by_tensor = options && options->fetch_count && !signature;
  if (meta && !by_tensor) HR_TRY(tf_signature_read(arena, meta, signature, &named, &found));
  return found ? select_named(s, &named, options) : select_tensors(s, options);
}

/* --- variables --- */

/* Resource variables and reference variables of TensorFlow 1. */
static bool is_variable(const tf_node_t *node) {
  return hr_str_is(node->op, "VarHandleOp") || hr_str_is(node->op, "VariableV2");
}

/* Variables follow the feeds among the arguments, which is the order of XlaCompiler's two
 * blocks. */
hr_status_t tf_select_variable(tf_selection_t *s, hr_str_t name, const hlo_shape_t *shape) {
  for (int i = 0; i < s->signature.variable_count; i++)
    if (hr_str_equal(s->variables[i], name)) return NULL;
  if (s->signature.variable_count >= s->capacity)
    return hr_error(HR_INVALID, "there are more variables than nodes");
  s->variables[s->signature.variable_count++] = name;
  xla_argument_t *argument = &s->arguments[s->argument_count++];
  argument->kind = XLA_ARGUMENT_RESOURCE;
  argument->name = name;
  argument->initialized = true;
  argument->shape = shape;
  return NULL;
}

/* Nodes with the same shared_name are one variable, which is one argument. */
hr_status_t tf_select_variables(tf_selection_t *s) {
  const tf_body_t *body = &s->graph->main;
  bool *needed;
  HR_TRY(mark_needed(s, &needed));
  for (int i = 0; i < body->node_count; i++) {
    const tf_node_t *node = &body->nodes[i];
    const hlo_shape_t *shape;
    hr_str_t name;
    if (!needed[i] || !is_variable(node)) continue;
    HR_TRY(tf_attr_str(s->arena, node, "shared_name", "", &name));
    HR_TRY(declared_shape(s, node, -1, &shape));
    HR_TRY(tf_select_variable(s, name.size ? name : node->name, shape));
  }
  return NULL;
}
