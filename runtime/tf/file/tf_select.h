/* What a graph is compiled for: which tensors are fed and fetched, and which variables become
 * parameters. The choice comes from options, a signature of a SavedModel, a tf2xla Config, or the
 * graph itself.
 * Owner:  everything lives in the arena of the selection.
 * Errors: USAGE for names and shapes of options, INVALID for damaged bytes. */
#ifndef TF_SELECT_H
#define TF_SELECT_H

#include "tf/file/tf_read.h"
#include "tf/compile/xla_compiler.h"

typedef struct tf_selection {
  hr_arena_t *arena;
  const tf_graph_t *graph;
  const tf_meta_graph_proto_t *meta; /* NULL: a graph alone */
  const tf_read_options_t *options;  /* may be NULL */
  xla_graph_signature_t signature;
  tf_input_t *feeds;
  tf_input_t *fetches;
  hr_str_t *fetch_names; /* in the signature or config, or of the node */
  hr_str_t *variables;
  bool *is_open;             /* by feed: the graph leaves its first size open */
  xla_argument_t *arguments; /* feeds, then variables */
  int argument_count;
  int capacity; /* most entries of each list */
} tf_selection_t;

/* `graph` and `meta` must outlive the selection. */
hr_status_t tf_select_begin(hr_arena_t *arena, const tf_graph_t *graph,
                            const tf_meta_graph_proto_t *meta, const tf_read_options_t *options,
                            tf_selection_t *out_selection);
/* All variables that the fetches need, as resources that are initialised. */
hr_status_t tf_select_variables(tf_selection_t *selection);
/* One of them, by the name that its nodes have. */
hr_status_t tf_select_variable(tf_selection_t *selection, hr_str_t name, const hlo_shape_t *shape);

#endif
