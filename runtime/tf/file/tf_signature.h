/* Named inputs and outputs of a graph: a signature of a SavedModel, or a Config of tf2xla.
 * Owner:  names point into the bytes of the model, or live in the arena.
 * Errors: USAGE for a name that is not there, INVALID for damaged bytes.
 * Source: meta_graph.proto, tf2xla.proto. */
#ifndef TF_SIGNATURE_H
#define TF_SIGNATURE_H

#include "tf/file/tf_graph.h"

typedef struct tf_named_tensor {
  hr_str_t key;
  hr_str_t tensor;  /* "node:k" */
  hr_dtype_t dtype; /* HR_TUPLE: that of the node */
  int rank;         /* -1: unknown */
  int64_t dims[HLO_MAX_RANK];
} tf_named_tensor_t;

typedef struct tf_named_signature {
  int input_count;
  tf_named_tensor_t *inputs;
  int output_count;
  tf_named_tensor_t *outputs;
} tf_named_signature_t;

/* `name` NULL: serving_default, or the only signature; *out_found is false if there is none. */
hr_status_t tf_signature_read(hr_arena_t *arena, const tf_meta_graph_proto_t *meta,
                              const char *name, tf_named_signature_t *out, bool *out_found);
/* A Config, binary or as text. */
hr_status_t tf_config_read(hr_arena_t *arena, const char *path, tf_named_signature_t *out);

#endif
