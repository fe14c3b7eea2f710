/* The object graph of a SavedModel: which tensor of the checkpoint is the value of which variable.
 * The operation that restores a SavedModel gives no values to variables of Keras 3 models, which
 * only the loader of objects does: a function lists the objects that it captures, the inputs of a
 * call behind the arguments are these in the same order, and the checkpoint names the tensor of
 * each object by its number.
 * Owner:  strings point into the bytes of the file and the bundle.
 * Errors: INVALID for damaged bytes.
 * Source: saved_object_graph.proto, trackable_object_graph.proto. */
#ifndef TF_OBJECTS_H
#define TF_OBJECTS_H

#include "tf/tensor_bundle.h"
#include "tf/xla_compiler.h"

/* All nodes of the main graph that stand for variables and are captured by a function. A model
 * without object graph, or with a checkpoint without one, has none. */
hr_status_t tf_objects_read(hr_arena_t *arena, proto_list_t object_graph, const tf_body_t *main,
                            tensor_bundle_t *bundle, int *out_count, xla_binding_t **out_bindings);

#endif
