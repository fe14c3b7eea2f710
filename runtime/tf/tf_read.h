/* TensorFlow graphs as programs: recognition, what is fed and fetched, and the module.
 * Forms: GraphDef, binary or as text.
 * Errors: INVALID, UNSUPPORTED; messages name the node. */
#ifndef TF_READ_H
#define TF_READ_H

#include "ir/module.h"

/* Whether the bytes are a GraphDef. Cost: the first node. */
bool tf_is_graph(hr_str_t bytes);

typedef struct tf_read_options {
  int feed_count;
  const char *const *feeds; /* "name", "name:k" or "name:k=f32[2,3]", in the order of parameters */
  int fetch_count;
  const char *const *fetches; /* "name" or "name:k", in the order of results */
} tf_read_options_t;

/* Fills the module from module->source, which must live as long. Without feeds, all placeholders
 * that the results need are fed, in the order of the nodes; without fetches, every node that no
 * other node uses is fetched. Variables without a value in the graph become parameters after the
 * feeds; their shapes are those of the graph. `options` may be NULL. */
hr_status_t tf_read_module(hlo_module_t *module, const tf_read_options_t *options);

#endif
