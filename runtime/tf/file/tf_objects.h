/* The object graph of a SavedModel, which maps variables to tensors of the checkpoint. The restore
 * operation of a SavedModel does not set the variables of Keras 3 models; only the loader of
 * objects does. A function lists the objects that it captures; a call passes them in the same order
 * after the arguments; the checkpoint names the tensor of each object by the object's number.
 * Owner:  strings point into the bytes of the file and the bundle.
 * Errors: INVALID for damaged bytes.
 * Source: saved_object_graph.proto, trackable_object_graph.proto. */
#ifndef TF_OBJECTS_H
#define TF_OBJECTS_H

#include "tf/file/tensor_bundle.h"
#include "tf/compile/xla_compiler.h"

/* All nodes of the main graph that stand for variables and are captured by a function. A model
 * without object graph, or with a checkpoint without one, has none. */
hr_status_t tf_objects_read(hr_arena_t *arena, proto_list_t object_graph, const tf_body_t *main,
                            tensor_bundle_t *bundle, int *out_count, xla_binding_t **out_bindings);

#endif
