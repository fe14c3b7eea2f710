/* From the bytes of a GraphDef, a MetaGraphDef or a SavedModel to a module: decode, choose feeds
 * and fetches, compile. The folder of a SavedModel is that of its file; variables come from the
 * tensor bundle in it, by executing the graph's own restore operation. Variables that the program
 * writes become parameters with these values, all others are constants. */
#include "tf/file/tf_read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tf/file/tensor_bundle.h"
#include "tf/parallel/tf_data_parallel.h"
#include "tf/file/tf_describe.h"
#include "tf/file/tf_objects.h"
#include "tf/compile/tf_ops.h"
#include "tf/file/tf_select.h"
#include "tf/parallel/tf_global_batch.h"

/* --- recognition --- */

/* Names of operations: a capital letter or '_', then letters, digits and '_'. */
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

/* The first node has a name, an op name in TensorFlow's form, and no field that the module of an
 * HloProto could have instead. */
static hr_status_t find_binary_graph(hr_str_t bytes, bool *out_found) {
  const char *at = bytes.data, *end = at + bytes.size;
  uint64_t tag, size;
  hr_arena_t arena;
  tf_node_proto_t node;
  *out_found = false;
  if (!proto_take_varint(&at, end, &tag) || tag != (1 << 3 | 2)) return NULL;
  if (!proto_take_varint(&at, end, &size) || size > (size_t)(end - at)) return NULL;
  hr_arena_init(&arena);
  hr_str_t first = {at, size};
  hr_status_t st = TF_DECODE(&arena, node, proto_piece(&first), &node);
  if (!st)
    *out_found = node.name.size && is_op_name(node.op) && has_named_inputs(&node) &&
                 (tf_op_find(node.op) || (size_t)(end - at) > size);
  hr_arena_deinit(&arena);
  if (hr_status_code(st) == HR_NO_MEMORY) return st;
  hr_status_release(st);
  return NULL;
}

/* Takes `word` after blanks, if it is there. */
static bool skip_word(const char **at, const char *end, const char *word) {
  while (*at < end && isspace((unsigned char)**at)) ++*at;
  size_t size = strlen(word);
  if ((size_t)(end - *at) < size || memcmp(*at, word, size)) return false;
  *at += size;
  return true;
}

/* After comments. */
static const char *skip_comments(const char *at, const char *end) {
  while (skip_word(&at, end, "#")) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    at = newline ? newline : end;
  }
  return at;
}

/* "node { name:" or "node { op:" */
static bool is_text_graph(hr_str_t bytes) {
  const char *end = bytes.data + bytes.size;
  const char *at = skip_comments(bytes.data, end);
  if (!skip_word(&at, end, "node")) return false;
  skip_word(&at, end, ":");
  if (!skip_word(&at, end, "{")) return false;
  return (skip_word(&at, end, "name") || skip_word(&at, end, "op")) && skip_word(&at, end, ":");
}

/* The first word of a text after its comments. */
static bool starts_with(hr_str_t bytes, const char *word) {
  const char *end = bytes.data + bytes.size;
  const char *at = skip_comments(bytes.data, end);
  return skip_word(&at, end, word);
}

/* Field 1 is the number of the only version, and field 2 a message. Models of ONNX have a number
 * and a name there, of higher versions. */
static bool is_binary_saved_model(hr_str_t bytes) {
  return bytes.size > 3 && bytes.data[0] == (1 << 3) && bytes.data[1] == 1 &&
         bytes.data[2] == (2 << 3 | 2);
}

/* Field 1 is a message, field 2 a graph, where an HloModuleProto has two names. */
static hr_status_t find_binary_meta_graph(hr_str_t bytes, bool *out_found) {
  const char *at = bytes.data, *end = at + bytes.size;
  uint64_t tag, size;
  *out_found = false;
  if (!proto_take_varint(&at, end, &tag) || tag != (1 << 3 | 2)) return NULL;
  if (!proto_take_varint(&at, end, &size) || size > (size_t)(end - at)) return NULL;
  at += size;
  if (!proto_take_varint(&at, end, &tag) || tag != (2 << 3 | 2)) return NULL;
  if (!proto_take_varint(&at, end, &size) || size > (size_t)(end - at)) return NULL;
  return find_binary_graph((hr_str_t){at, size}, out_found);
}

typedef enum graph_form { NO_GRAPH, GRAPH_DEF, META_GRAPH, SAVED_MODEL } graph_form_t;

/* Text is tried first, as its first word is unmistakable. NO_GRAPH leaves the bytes to other
 * readers. */
static graph_form_t text_form_of(hr_str_t bytes) {
  if (!bytes.size) return NO_GRAPH;
  if (is_text_graph(bytes)) return GRAPH_DEF;
  if (starts_with(bytes, "meta_info_def")) return META_GRAPH;
  bool is_model =
      starts_with(bytes, "saved_model_schema_version") || starts_with(bytes, "meta_graphs");
  return is_model ? SAVED_MODEL : NO_GRAPH;
}

/* Text is recognised by its first word, binary messages by the fields that they have. */
static hr_status_t find_form(hr_str_t bytes, bool *out_text, graph_form_t *out_form) {
  bool found;
  *out_form = text_form_of(bytes);
  *out_text = *out_form != NO_GRAPH;
  if (*out_text || !bytes.size) return NULL;
  HR_TRY(find_binary_graph(bytes, &found));
  if (found) *out_form = GRAPH_DEF;
  if (!found && is_binary_saved_model(bytes)) *out_form = SAVED_MODEL;
  if (*out_form != NO_GRAPH) return NULL;
  HR_TRY(find_binary_meta_graph(bytes, &found));
  if (found) *out_form = META_GRAPH;
  return NULL;
}

hr_status_t tf_find_graph(hr_str_t bytes, bool *out_found) {
  bool is_text;
  graph_form_t form;
  HR_TRY(find_form(bytes, &is_text, &form));
  *out_found = form != NO_GRAPH;
  return NULL;
}

/* --- the parts of a file --- */

typedef struct tf_file {
  hlo_module_t *module;
  hr_arena_t *arena;
  const tf_read_options_t *options;
  graph_form_t form;
  tf_meta_graph_proto_t meta; /* META_GRAPH, SAVED_MODEL */
  tf_graph_t graph;
  tensor_bundle_t bundle;
  xla_restore_t restore;
  tf_read_inner_fn inner;
  hr_strbuf_t *json; /* NULL: no description is wanted */
} tf_file_t;

/* Text becomes bytes in the module's arena, as names and constants point into them. */
static hr_status_t file_bytes(tf_file_t *file, hr_str_t *out_bytes) {
  static const tf_message_id_t messages[] = {[GRAPH_DEF] = TF_MESSAGE_graph,
                                             [META_GRAPH] = TF_MESSAGE_meta_graph,
                                             [SAVED_MODEL] = TF_MESSAGE_saved_model};
  const hr_source_t *source = &file->module->source;
  hr_str_t bytes = {source->text, source->size_bytes};
  hr_strbuf_t text;
  bool is_text;
  HR_TRY(find_form(bytes, &is_text, &file->form));
  *out_bytes = bytes;
  if (!is_text) return NULL;
  hr_strbuf_init(&text);
  hr_status_t st = tf_text_to_bytes(source->path, bytes, messages[file->form], &text);
  if (!st) st = hr_arena_str(file->arena, (hr_str_t){text.data, text.size}, out_bytes);
  hr_strbuf_deinit(&text);
  return st;
}

/* MetaInfoDef.tags (4) of a MetaGraphDef. */
static hr_status_t has_tag(tf_file_t *file, const tf_meta_graph_proto_t *meta, const char *tag,
                           bool *out_has) {
  tf_meta_info_proto_t info;
  *out_has = false;
  HR_TRY(TF_DECODE(file->arena, meta_info, meta->meta_info_def, &info));
  for (int64_t i = 0; i < info.tags.count; i++) *out_has |= hr_str_is(info.tags.items[i], tag);
  return NULL;
}

/* The graph for serving, or the first. */
static hr_status_t choose_meta_graph(tf_file_t *file, hr_str_t bytes) {
  tf_saved_model_proto_t model;
  HR_TRY(TF_DECODE(file->arena, saved_model, proto_piece(&bytes), &model));
  if (!model.meta_graphs.count) return hr_error(HR_INVALID, "the SavedModel has no graph");
  for (int64_t i = 0; i <= model.meta_graphs.count; i++) {
    bool serves;
    const hr_str_t *piece = &model.meta_graphs.items[i % model.meta_graphs.count];
    HR_TRY(TF_DECODE(file->arena, meta_graph, proto_piece(piece), &file->meta));
    HR_TRY(has_tag(file, &file->meta, "serve", &serves));
    if (serves) return NULL;
  }
  return NULL;
}

static bool has_variables(const tf_body_t *body) {
  for (int i = 0; i < body->node_count; i++)
    if (hr_str_is(body->nodes[i].op, "VarHandleOp") || hr_str_is(body->nodes[i].op, "VariableV2"))
      return true;
  return false;
}

/* PREFIX of the checkpoint beside saved_model.pb; *out_prefix is NULL if there is none and no
 * variable needs it. */
static hr_status_t bundle_prefix(tf_file_t *file, const char **out_prefix) {
  const char *path = file->module->source.path;
  const char *slash = strrchr(path, '/');
  const char *index;
  int folder = slash ? (int)(slash - path) + 1 : 0;
  HR_TRY(hr_arena_printf(file->arena, out_prefix, "%.*svariables/variables", folder, path));
  HR_TRY(hr_arena_printf(file->arena, &index, "%s.index", *out_prefix));
  if (access(index, F_OK) && !has_variables(&file->graph.main)) *out_prefix = NULL;
  return NULL;
}

/* The operation that restores variables, if the model has one and a checkpoint.
 * SaverDef names the operation that restores all variables, and the tensor that it reads the
 * name of the checkpoint from. */
static hr_status_t find_restore(tf_file_t *file) {
  tf_saver_proto_t saver;
  const char *prefix;
  if (file->form != SAVED_MODEL || !file->meta.saver_def.count) return NULL;
  HR_TRY(TF_DECODE(file->arena, saver, file->meta.saver_def, &saver));
  if (!saver.restore_op_name.size) return NULL;
  HR_TRY(bundle_prefix(file, &prefix));
  if (!prefix) return NULL;
  HR_TRY(tensor_bundle_open(file->arena, prefix, &file->bundle));
  tf_input_t node;
  HR_TRY(tf_body_resolve(&file->graph.main, saver.restore_op_name, &node));
  HR_TRY(tf_body_resolve(&file->graph.main, saver.filename_tensor_name, &file->restore.filename));
  file->restore.node = node.node;
  file->restore.bundle = &file->bundle;
  xla_binding_t *bindings;
  HR_TRY(tf_objects_read(file->arena, file->meta.object_graph_def, &file->graph.main, &file->bundle,
                         &file->restore.binding_count, &bindings));
  file->restore.bindings = bindings;
  return NULL;
}

/* Decodes the file down to the graph's nodes. */
static hr_status_t open_file(tf_file_t *file, hr_str_t *bytes) {
  proto_list_t pieces;
  HR_TRY(file_bytes(file, bytes));
  pieces = proto_piece(bytes);
  if (file->form == SAVED_MODEL) HR_TRY(choose_meta_graph(file, *bytes));
  if (file->form == META_GRAPH)
    HR_TRY(TF_DECODE(file->arena, meta_graph, proto_piece(bytes), &file->meta));
  if (file->form != GRAPH_DEF) pieces = file->meta.graph_def;
  hr_status_t st = tf_graph_read(file->arena, pieces, &file->graph);
  file->graph.source = file->module->source_buffer;
  file->graph.borrows = file->options && file->options->structure;
  return st;
}

/* --- compilation --- */

static hr_status_t compile(tf_file_t *file, const tf_selection_t *selection, hlo_module_t *module,
                           xla_compilation_result_t *out_result) {
  xla_compile_options_t compile = {.import = file->inner, .is_entry_computation = true};
  xla_graph_signature_t signature = selection->signature;
  signature.restore = file->restore.bundle ? &file->restore : NULL;
  return xla_compile_graph(&file->graph, &signature, selection->argument_count,
                           selection->arguments, &compile, module, out_result);
}

/* Compiles into a module that is dropped, to learn which variables the program writes; these become
 * arguments. Branches that depend on them may write others: this is repeated until no more are
 * found. */
static hr_status_t select_written(tf_file_t *file, tf_selection_t *selection, int *out_count) {
  hlo_module_t *trial;
  xla_compilation_result_t result;
  HR_TRY(hlo_module_create(HR_STR("trial"), &trial));
  trial->source = file->module->source;
  hr_status_t st = compile(file, selection, trial, &result);
  for (int i = 0; !st && i < result.written_count; i++) {
    const hlo_shape_t *shape = result.written[i].shape, *copy;
    st = hlo_shape_array(file->arena, shape->dtype, shape->rank, shape->dims, &copy);
    if (!st) st = tf_select_variable(selection, result.written[i].name, copy);
  }
  if (!st) *out_count = result.written_count;
  hlo_module_destroy(trial);
  return st;
}

/* Values of the checkpoint for parameters that are variables, and their names in it. Without a
 * checkpoint a variable has its own name, as in those that TensorFlow 1 writes. */
static hr_status_t keep_defaults(tf_file_t *file, const tf_selection_t *selection,
                                 const xla_compilation_result_t *result) {
  hlo_module_t *module = file->module;
  HR_TRY(HR_NEW_ARRAY(file->arena, result->parameter_count, &module->parameter_values));
  HR_TRY(HR_NEW_ARRAY(file->arena, result->parameter_count, &module->parameter_names));
  module->parameter_value_count = result->parameter_count;
  if (file->restore.bundle) module->checkpoint_prefix = file->bundle.prefix;
  for (int p = 0; p < result->parameter_count; p++) {
    const xla_argument_t *argument = &selection->arguments[result->input_mapping[p]];
    module->parameter_values[p] = result->initial_values[p];
    /* A name of the object graph lies in the checkpoint's bytes. */
    hr_str_t name = result->initial_names[p];
    if (argument->kind == XLA_ARGUMENT_RESOURCE && !file->restore.bundle) name = argument->name;
    HR_TRY(hr_arena_str(file->arena, name, &module->parameter_names[p]));
  }
  return NULL;
}

/* XLA parameter of an argument; -1: it takes none. */
static int parameter_of(const xla_compilation_result_t *result, int argument) {
  for (int p = 0; p < result->parameter_count; p++)
    if (result->input_mapping[p] == argument) return p;
  return -1;
}

/* The new value of a variable may take the place of the old one; a run of several steps carries it.
 */
static hr_status_t alias_updates(tf_file_t *file, const xla_compilation_result_t *result) {
  hlo_alias_t *aliases;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(file->arena, result->update_count, &aliases));
  for (int k = 0; k < result->update_count; k++) {
    int64_t place = result->output_count + k;
    int param = parameter_of(result, result->updates[k].input_index);
    if (param < 0) continue;
    HR_TRY(hr_arena_ints(file->arena, &place, 1, &aliases[count].output_index));
    aliases[count++].operand = param;
  }
  file->module->input_output_alias = (hlo_aliasing_t){count, aliases};
  return NULL;
}

/* The number of the result that an option names; -1: there is none. "name" is "name:0". */
static int find_result(const tf_selection_t *selection, const char *name) {
  tf_input_t tensor;
  for (int k = 0; k < selection->signature.fetch_count; k++)
    if (hr_str_is(selection->fetch_names[k], name)) return k;
  hr_status_t st = tf_body_resolve(&selection->graph->main, hr_str_from(name), &tensor);
  for (int k = 0; !st && k < selection->signature.fetch_count; k++)
    if (selection->fetches[k].node == tensor.node && selection->fetches[k].index == tensor.index)
      return k;
  hr_status_release(st);
  return -1;
}

/* Whether the partitioner can take the place of means over the replicas. */
static bool may_cut(const tf_file_t *file, const tf_selection_t *selection) {
  const tf_read_options_t *options = file->options;
  return options && options->data_parallel && options->processes > 1 &&
         tf_batch_is_unknown(selection);
}

/* --data-parallel. Results are not resolved at compile time, so that fetch k is result k. */
static hr_status_t make_parallel(tf_file_t *file, const tf_selection_t *selection,
                                 const xla_compilation_result_t *result, hlo_module_t *module) {
  tf_data_parallel_t what = {.parameter_count = result->parameter_count,
                             .first_update = result->output_count,
                             .update_count = result->update_count};
  const char *loss = file->options ? file->options->data_parallel : NULL;
  bool *is_variable;
  hr_str_t *names;
  if (!loss) return NULL;
  what.loss = find_result(selection, loss);
  if (what.loss < 0) return hr_error(HR_USAGE, "--data-parallel %s: there is no such result", loss);
  if (file->options->processes == 1) return NULL; /* means over one replica change nothing */
  HR_TRY(HR_NEW_ARRAY(file->arena, result->parameter_count, &is_variable));
  HR_TRY(HR_NEW_ARRAY(file->arena, result->update_count, &names));
  for (int p = 0; p < result->parameter_count; p++)
    is_variable[p] = selection->arguments[result->input_mapping[p]].kind == XLA_ARGUMENT_RESOURCE;
  for (int k = 0; k < result->update_count; k++)
    names[k] = selection->arguments[result->updates[k].input_index].name;
  what.is_variable = is_variable;
  what.names = names;
  what.is_strict = may_cut(file, selection);
  return tf_make_data_parallel(module, &what);
}

/* Means over the replicas transfer the fewest bytes, where they are proved to equal the result of
 * one process with all examples. A module that is dropped shows whether they do. */
static hr_status_t has_means(tf_file_t *file, const tf_selection_t *selection, bool *out_has) {
  hlo_module_t *trial;
  xla_compilation_result_t result;
  *out_has = true;
  if (!may_cut(file, selection)) return NULL;
  HR_TRY(hlo_module_create(HR_STR("trial"), &trial));
  trial->source = file->module->source;
  hr_status_t st = compile(file, selection, trial, &result);
  if (!st) {
    st = make_parallel(file, selection, &result, trial);
    *out_has = hr_status_code(st) != HR_UNSUPPORTED;
  }
  if (!*out_has) hr_status_release(st);
  hlo_module_destroy(trial);
  return *out_has ? st : NULL;
}

/* Without means the graph is compiled for all examples, and the partitioner cuts it. */
static hr_status_t compile_parallel(tf_file_t *file, tf_selection_t *selection,
                                    xla_compilation_result_t *out_result) {
  bool has;
  HR_TRY(has_means(file, selection, &has));
  if (!has) HR_TRY(tf_batch_enlarge(selection, file->options->processes));
  HR_TRY(compile(file, selection, file->module, out_result));
  if (has) return make_parallel(file, selection, out_result, file->module);
  return tf_batch_shard(selection, out_result, file->options->processes, file->module);
}

/* Which variables are parameters may depend on which ones the program writes, so that variables
 * of a SavedModel are selected as they are found. */
static hr_status_t select_and_compile(tf_file_t *file) {
  tf_selection_t selection;
  xla_compilation_result_t result;
  bool writes;
  const tf_meta_graph_proto_t *meta = file->form == GRAPH_DEF ? NULL : &file->meta;
  HR_TRY(find_restore(file));
  HR_TRY(tf_select_begin(file->arena, &file->graph, meta, file->options, &selection));
  if (!file->restore.bundle) HR_TRY(tf_select_variables(&selection));
  HR_TRY(xla_writes_variables(&file->graph, &selection.signature, &writes));
  for (int more = file->restore.bundle && writes; more;)
    HR_TRY(select_written(file, &selection, &more));
  HR_TRY(compile_parallel(file, &selection, &result));
  HR_TRY(alias_updates(file, &result));
  if (file->json) tf_describe(&selection, &result, file->json);
  return keep_defaults(file, &selection, &result);
}

hr_status_t tf_read_described(hlo_module_t *module, const tf_read_options_t *options,
                              tf_read_inner_fn inner, hr_strbuf_t *out_json) {
  tf_file_t file = {.module = module,
                    .arena = &module->arena,
                    .options = options,
                    .inner = inner,
                    .json = out_json};
  hr_str_t *bytes;
  HR_TRY(hr_arena_str(&module->arena, HR_STR("tf_graph"), &module->name));
  HR_TRY(HR_NEW(&module->arena, &bytes));
  hr_status_t st = open_file(&file, bytes);
  if (!st) st = select_and_compile(&file);
  tensor_bundle_close(&file.bundle);
  tf_graph_deinit(&file.graph);
  return hr_status_note(st, "while reading the TensorFlow graph %s", module->source.path);
}

hr_status_t tf_read_module(hlo_module_t *module, const tf_read_options_t *options,
                           tf_read_inner_fn inner) {
  return tf_read_described(module, options, inner, NULL);
}
