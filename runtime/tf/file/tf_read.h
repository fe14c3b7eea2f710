/* TensorFlow graphs as programs: recognition, what is fed and fetched, and the module.
 * Forms: GraphDef, MetaGraphDef and SavedModel, binary or as text; variables of a SavedModel come
 * from the folder variables/ beside its file.
 * Errors: INVALID, UNSUPPORTED; messages name the node. */
#ifndef TF_READ_H
#define TF_READ_H

#include "ir/module.h"

/* Whether the bytes are one of these. Cost: the first node. Errors: NO_MEMORY. */
hr_status_t tf_find_graph(hr_str_t bytes, bool *out_found);

/* Finds the sizes of the array that feed `number` gets, to fill in what the graph leaves open.
 * *out_rank -1: there is no such array, or its sizes are not known. */
typedef hr_status_t (*tf_find_sizes_fn)(const void *context, int number, hr_str_t name,
                                        int *out_rank, int64_t dims[HLO_MAX_RANK]);

typedef struct tf_read_options {
  int feed_count;
  const char *const *feeds; /* "name", "name:k" or "name:k=f32[2,3]", in the order of parameters */
  int fetch_count;
  const char *const *fetches;  /* "name" or "name:k", in the order of results */
  const char *signature;       /* name in a SavedModel; NULL: serving_default, or the only one */
  const char *config;          /* path of a tf2xla Config that says what is fed and fetched */
  const char *data_parallel;   /* result whose mean over the replicas is minimised; NULL: none */
  int64_t processes;           /* replicas of data_parallel; 0: not known */
  tf_find_sizes_fn find_sizes; /* NULL: feeds without a shape must have static sizes */
  const void *sizes_context;
  bool structure; /* large constants stay in the source, at any alignment */
} tf_read_options_t;

/* Reader of StableHLO programs inside graphs, see tf_import_fn of xla_compiler.h. */
typedef hr_status_t (*tf_read_inner_fn)(hlo_module_t *module, hr_str_t bytes, int platform);

/* Fills the module from module->source, which must live as long. Without feeds, all placeholders
 * that the results need are fed, in the order of the nodes; without fetches, every node that no
 * other node uses is fetched. Variables without a value in the graph become parameters after the
 * feeds; their shapes are those of the graph. Those of a SavedModel that the program does not write
 * are constants, and module->parameter_values has the values of the others. Inputs and outputs of a
 * signature are in the order of their names. `options` may be NULL. */
hr_status_t tf_read_module(hlo_module_t *module, const tf_read_options_t *options,
                           tf_read_inner_fn inner);
/* tf_read_module which also appends what became of arguments and results, as JSON
 * (tf_describe.h). */
hr_status_t tf_read_described(hlo_module_t *module, const tf_read_options_t *options,
                              tf_read_inner_fn inner, hr_strbuf_t *out_json);

#endif
