/* Variables of objects. Numbers of objects are the same in the SavedModel and in the checkpoint's
 * own graph of objects, which is a tensor of one string. */
#include "tf/file/tf_objects.h"

#define OBJECTS_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"

/* Object graph, checkpoint and the bindings so far. */
typedef struct object_reader {
  hr_arena_t *arena;
  const tf_body_t *main;
  tf_object_graph_proto_t objects;
  tf_trackables_proto_t tensors; /* by object: where its values are in the checkpoint */
  hr_map_t functions;            /* SavedConcreteFunction (hr_str_t) by name */
  int count;
  xla_binding_t *bindings;
} object_reader_t;

/* The key of the checkpoint for an object; empty if it is no variable. */
static hr_status_t key_of_object(object_reader_t *r, int64_t object, hr_str_t *out_key) {
  tf_trackable_proto_t trackable;
  tf_serialized_proto_t tensor;
  *out_key = (hr_str_t){0};
  if (object < 0 || object >= r->tensors.nodes.count) return NULL;
  HR_TRY(TF_DECODE(r->arena, trackable, proto_piece(&r->tensors.nodes.items[object]), &trackable));
  for (int64_t i = 0; i < trackable.attributes.count; i++) {
    HR_TRY(TF_DECODE(r->arena, serialized, proto_piece(&trackable.attributes.items[i]), &tensor));
    if (hr_str_is(tensor.name, "VARIABLE_VALUE")) *out_key = tensor.checkpoint_key;
  }
  return NULL;
}

/* Binds the last inputs of a call, which are the captures of the function. */
static hr_status_t bind_captures(object_reader_t *r, const tf_node_t *call, hr_ints_t captures) {
  int first = call->input_count - (int)captures.count;
  if (captures.count > call->input_count) return NULL;
  for (int k = 0; k < (int)captures.count; k++) {
    int node = call->inputs[first + k].node;
    hr_str_t key;
    if (!hr_str_is(r->main->nodes[node].op, "VarHandleOp")) continue;
    HR_TRY(key_of_object(r, captures.data[k], &key));
    if (key.size && r->count < r->main->node_count)
      r->bindings[r->count++] = (xla_binding_t){node, key};
  }
  return NULL;
}

/* A call of a function that the object graph knows. */
static hr_status_t bind_call(object_reader_t *r, const tf_node_t *call) {
  tf_concrete_proto_t concrete;
  hr_ints_t captures;
  hr_str_t name;
  if (!hr_str_is(call->op, "StatefulPartitionedCall") && !hr_str_is(call->op, "PartitionedCall"))
    return NULL;
  HR_TRY(tf_attr_function(r->arena, call, "f", &name));
  const proto_list_t *bytes = name.size ? hr_map_get(&r->functions, name) : NULL;
  if (!bytes) return NULL;
  HR_TRY(TF_DECODE(r->arena, concrete, *bytes, &concrete));
  HR_TRY(proto_ints(r->arena, concrete.bound_inputs, &captures));
  return bind_captures(r, call, captures);
}

/* Fills the map of concrete functions by name. */
static hr_status_t index_functions(object_reader_t *r) {
  proto_list_t list = r->objects.concrete_functions;
  tf_concrete_entry_proto_t *entries;
  HR_TRY(HR_NEW_ARRAY(r->arena, list.count, &entries));
  for (int64_t i = 0; i < list.count; i++) {
    HR_TRY(TF_DECODE(r->arena, concrete_entry, proto_piece(&list.items[i]), &entries[i]));
    if (entries[i].key.size)
      HR_TRY(hr_map_put(&r->functions, entries[i].key, &entries[i].value, NULL));
  }
  return NULL;
}

/* Decodes the object graphs of the checkpoint and of the model, and binds the captured variables
 * of all calls. */
static hr_status_t read_objects(object_reader_t *r, proto_list_t object_graph,
                                tensor_bundle_t *bundle) {
  hr_str_t *objects;
  HR_TRY(HR_NEW(r->arena, &objects));
  HR_TRY(tensor_bundle_read_string(bundle, HR_STR(OBJECTS_KEY), objects));
  HR_TRY(TF_DECODE(r->arena, trackables, proto_piece(objects), &r->tensors));
  HR_TRY(TF_DECODE(r->arena, object_graph, object_graph, &r->objects));
  HR_TRY(index_functions(r));
  HR_TRY(HR_NEW_ARRAY(r->arena, r->main->node_count, &r->bindings));
  for (int i = 0; i < r->main->node_count; i++) HR_TRY(bind_call(r, &r->main->nodes[i]));
  return NULL;
}

hr_status_t tf_objects_read(hr_arena_t *arena, proto_list_t object_graph, const tf_body_t *main,
                            tensor_bundle_t *bundle, int *out_count, xla_binding_t **out_bindings) {
  object_reader_t reader = {.arena = arena, .main = main};
  *out_count = 0;
  *out_bindings = NULL;
  if (!object_graph.count || !tensor_bundle_has(bundle, HR_STR(OBJECTS_KEY))) return NULL;
  hr_map_init(&reader.functions);
  hr_status_t st = read_objects(&reader, object_graph, bundle);
  hr_map_deinit(&reader.functions);
  *out_count = reader.count;
  *out_bindings = reader.bindings;
  return hr_status_note(st, "in the object graph");
}
