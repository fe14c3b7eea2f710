/* Signatures of SavedModels and Configs of tf2xla: named inputs and outputs of a graph. Inputs and
 * outputs of a signature come in the order of their names, as a map has none. */
#include <stdlib.h>
#include <string.h>

#include "tf/file/tf_signature.h"

/* Order of bytes, a prefix before the longer name. */
static int compare_entries(const void *a, const void *b) {
  hr_str_t x = ((const tf_named_tensor_t *)a)->key;
  hr_str_t y = ((const tf_named_tensor_t *)b)->key;
  size_t size = x.size < y.size ? x.size : y.size;
  int order = size ? memcmp(x.data, y.data, size) : 0;
  return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* Unknown sizes are -1; rank -1: nothing is known.
 * TensorInfo: name (1) is "node:k", dtype (2), tensor_shape (3). */
static hr_status_t read_info(hr_arena_t *arena, proto_list_t pieces, tf_named_tensor_t *out) {
  tf_tensor_info_proto_t info;
  HR_TRY(TF_DECODE(arena, tensor_info, pieces, &info));
  out->tensor = info.name;
  out->rank = -1;
  if (info.dtype) HR_TRY(tf_dtype(info.dtype, &out->dtype));
  return info.tensor_shape.count ? tf_read_shape(arena, info.tensor_shape, &out->rank, out->dims)
                                 : NULL;
}

/* Entries of the map inputs or outputs of a SignatureDef. */
static hr_status_t read_entries(hr_arena_t *arena, proto_list_t list, int *out_count,
                                tf_named_tensor_t **out_tensors) {
  *out_count = (int)list.count;
  HR_TRY(HR_NEW_ARRAY(arena, list.count, out_tensors));
  for (int64_t i = 0; i < list.count; i++) {
    tf_tensor_info_entry_proto_t entry;
    tf_named_tensor_t *tensor = &(*out_tensors)[i];
    HR_TRY(TF_DECODE(arena, tensor_info_entry, proto_piece(&list.items[i]), &entry));
    tensor->key = entry.key;
    tensor->dtype = HR_TUPLE;
    HR_TRY(hr_status_note(read_info(arena, entry.value, tensor), "in tensor %.*s of a signature",
                          HR_STR_ARGS(entry.key)));
  }
  if (list.count) qsort(*out_tensors, (size_t)list.count, sizeof **out_tensors, compare_entries);
  return NULL;
}

/* A signature that initialises the model and is none to call. */
static bool is_hidden(hr_str_t name) { return hr_str_is(name, "__saved_model_init_op"); }

/* The signature of this name; NULL: serving_default, or the only one. *out_found: its position. */
static hr_status_t choose(hr_arena_t *arena, proto_list_t list, const char *name,
                          tf_signature_entry_proto_t *out_entry, bool *out_found) {
  hr_strbuf_t names;
  int shown = 0;
  const char *wanted = name ? name : "serving_default";
  *out_found = false;
  hr_strbuf_init(&names);
  hr_status_t st = NULL;
  for (int64_t i = 0; i < list.count && !st && !*out_found; i++) {
    tf_signature_entry_proto_t entry;
    st = TF_DECODE(arena, signature_entry, proto_piece(&list.items[i]), &entry);
    if (st || is_hidden(entry.key)) continue;
    hr_strbuf_printf(&names, "%s%.*s", shown++ ? ", " : "", HR_STR_ARGS(entry.key));
    *out_found = hr_str_is(entry.key, wanted);
    *out_entry = entry;
  }
  if (!st && !name && shown == 1) *out_found = true;
  if (!st && !*out_found && (name || shown > 1))
    st = hr_error(HR_USAGE,
                  "there is no signature %s: the signatures are %s; choose one by --signature",
                  wanted, shown ? names.data : "none");
  hr_strbuf_deinit(&names);
  return st;
}

hr_status_t tf_signature_read(hr_arena_t *arena, const tf_meta_graph_proto_t *meta,
                              const char *name, tf_named_signature_t *out, bool *out_found) {
  tf_signature_entry_proto_t entry = {0};
  tf_signature_proto_t signature;
  *out = (tf_named_signature_t){0};
  HR_TRY(choose(arena, meta->signature_def, name, &entry, out_found));
  if (!*out_found) return NULL;
  HR_TRY(TF_DECODE(arena, signature, entry.value, &signature));
  HR_TRY(read_entries(arena, signature.inputs, &out->input_count, &out->inputs));
  return read_entries(arena, signature.outputs, &out->output_count, &out->outputs);
}

/* --- Config --- */

/* "node:k" of a TensorId. */
static hr_status_t tensor_name(hr_arena_t *arena, proto_list_t pieces, const char *what,
                               hr_str_t *out_name) {
  tf_tensor_id_proto_t id;
  const char *text;
  HR_TRY(TF_DECODE(arena, tensor_id, pieces, &id));
  if (!id.node_name.size) return hr_error(HR_INVALID, "a %s of the config has no node_name", what);
  if (id.output_index < 0 || id.output_index > 999999999)
    return hr_error(HR_INVALID, "a %s of the config has output_index %ld", what,
                    (long)id.output_index);
  HR_TRY(
      hr_arena_printf(arena, &text, "%.*s:%ld", HR_STR_ARGS(id.node_name), (long)id.output_index));
  *out_name = hr_str_from(text);
  return NULL;
}

/* tf2xla wants fully defined shapes. The type is that of the node if the config has none. */
static hr_status_t read_feed(hr_arena_t *arena, const hr_str_t *bytes, tf_named_tensor_t *out) {
  tf_feed_proto_t feed;
  HR_TRY(TF_DECODE(arena, feed, proto_piece(bytes), &feed));
  HR_TRY(tensor_name(arena, feed.id, "feed", &out->tensor));
  HR_TRY(tf_read_shape(arena, feed.shape, &out->rank, out->dims));
  out->key = feed.name.size ? feed.name : out->tensor;
  out->dtype = HR_TUPLE;
  for (int d = 0; d < out->rank; d++)
    if (out->dims[d] < 0)
      return hr_error(HR_INVALID, "feed %.*s of the config has an unknown size",
                      HR_STR_ARGS(out->tensor));
  return feed.type ? tf_dtype(feed.type, &out->dtype) : NULL;
}

/* A fetch without a name has that of its tensor. */
static hr_status_t read_fetch(hr_arena_t *arena, const hr_str_t *bytes, tf_named_tensor_t *out) {
  tf_fetch_proto_t fetch;
  HR_TRY(TF_DECODE(arena, fetch, proto_piece(bytes), &fetch));
  HR_TRY(tensor_name(arena, fetch.id, "fetch", &out->tensor));
  out->key = fetch.name.size ? fetch.name : out->tensor;
  return NULL;
}

/* Text begins with the name of a field; bytes with a tag below ' '. */
static bool is_text(hr_str_t bytes) { return bytes.size && (unsigned char)bytes.data[0] >= ' '; }

/* The bytes are copied into the arena, as the file is unmapped here. */
static hr_status_t config_bytes(hr_arena_t *arena, const char *path, hr_str_t *out_bytes) {
  hr_buffer_t *file;
  hr_strbuf_t text;
  HR_TRY(hr_buffer_map_file(path, &file));
  hr_str_t bytes = {hr_buffer_data(file), hr_buffer_size(file)};
  hr_strbuf_init(&text);
  hr_status_t st = NULL;
  if (is_text(bytes)) {
    st = tf_text_to_bytes(path, bytes, TF_MESSAGE_config, &text);
    bytes = (hr_str_t){text.data, text.size};
  }
  if (!st) st = hr_arena_str(arena, bytes, out_bytes);
  hr_strbuf_deinit(&text);
  hr_buffer_release(file);
  return st;
}

/* Feeds and fetches, in the order of the file. Names of each kind are unique. */
static hr_status_t read_config(hr_arena_t *arena, hr_str_t bytes, tf_named_signature_t *out) {
  tf_config_proto_t config;
  HR_TRY(TF_DECODE(arena, config, proto_piece(&bytes), &config));
  if (!config.fetch.count) return hr_error(HR_INVALID, "the config fetches nothing");
  out->input_count = (int)config.feed.count;
  out->output_count = (int)config.fetch.count;
  HR_TRY(HR_NEW_ARRAY(arena, config.feed.count, &out->inputs));
  HR_TRY(HR_NEW_ARRAY(arena, config.fetch.count, &out->outputs));
  for (int i = 0; i < out->input_count; i++) {
    HR_TRY(read_feed(arena, &config.feed.items[i], &out->inputs[i]));
    for (int k = 0; k < i; k++)
      if (hr_str_equal(out->inputs[k].key, out->inputs[i].key))
        return hr_error(HR_INVALID, "two feeds of the config are named %.*s",
                        HR_STR_ARGS(out->inputs[i].key));
  }
  for (int i = 0; i < out->output_count; i++) {
    HR_TRY(read_fetch(arena, &config.fetch.items[i], &out->outputs[i]));
    for (int k = 0; k < i; k++)
      if (hr_str_equal(out->outputs[k].key, out->outputs[i].key))
        return hr_error(HR_INVALID, "two fetches of the config are named %.*s",
                        HR_STR_ARGS(out->outputs[i].key));
  }
  return NULL;
}

hr_status_t tf_config_read(hr_arena_t *arena, const char *path, tf_named_signature_t *out) {
  hr_str_t bytes;
  *out = (tf_named_signature_t){0};
  HR_TRY(config_bytes(arena, path, &bytes));
  return hr_status_note(read_config(arena, bytes, out), "in %s", path);
}
