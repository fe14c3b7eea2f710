/* Options of TensorFlow graphs: --feed NAME[:K][=SHAPE] and --fetch NAME[:K]. */
#ifndef CLI_TF_H
#define CLI_TF_H

#include "base/arena.h"
#include "base/options.h"
#include "cli/run/cli_carry.h"

/* Whether the text of --feed names a tensor, rather than the number of a parameter. */
bool cli_tf_names_tensor(const char *text);
/* Whether a graph was read and the text of --feed names one of its tensors, rather than the number
 * of a parameter. */
bool cli_tf_feed_is_named(const char *text);
/* Makes these feeds and fetches those of all graphs that are read from now on. Call it once, before
 * anything is read; the options must live as long as graphs are read. Errors: NO_MEMORY. */
hr_status_t cli_tf_choose(const hr_options_t *options);
/* Without --carry, the variables that a graph of `path` updates are carried from step to step. */
hr_status_t cli_tf_carry(const hr_options_t *options, const char *path, cli_carry_t *carry);
/* Names that the first `count` parameters of a graph of `path` have as variables in checkpoints;
 * empty: no variable. *out_prefix: the checkpoint of the graph itself; NULL: it has none. All of it
 * is in `arena`. Errors: USAGE if the program is no graph. */
hr_status_t cli_tf_variables(const char *path, hr_arena_t *arena, int count, hr_str_t *out_names,
                             const char **out_prefix);
/* Whether some --feed is a data set for a parameter. */
bool cli_tf_has_data_feed(const hr_options_t *options);

#endif
