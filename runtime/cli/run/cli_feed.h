/* --feed: parameters that stream from data sets. The set has the parameter's shape except for the
 * batch dimension, which has N examples. A step takes `batch` examples for each replica: replica r
 * of step s gets examples (s * replicas + r) * batch ... of the epoch's order. So replicas get
 * disjoint examples, and the partitions of a replica the same ones. For a program that was
 * partitioned from a global one, each process gets its part of the whole batch. The order is a
 * shuffle by (seed, epoch), the same for all fed parameters, so that images keep their labels. The
 * last examples, if fewer than a step needs, are left out of the epoch. The files are mapped, and a
 * step copies only the rows that it needs; those of the next step are gathered while the program
 * runs. */
#ifndef CLI_FEED_H
#define CLI_FEED_H

#include "base/options.h"
#include "cli/arrays/cli_signature.h"

typedef struct cli_feed cli_feed_t;

/* `batch` is the parameter's own size, or its share of --global-batch (default: the bound) if that
 * size is a bound. *out_feed is NULL if nothing is fed. Errors: USAGE for unequal example counts,
 * too few examples, shapes that differ.
 */
hr_status_t cli_feed_create(const hr_options_t *options, const cli_signature_t *signature, int rank,
                            int num_replicas, int num_partitions, cli_feed_t **out_feed);
void cli_feed_destroy(cli_feed_t *feed);              /* accepts NULL */
bool cli_feed_has(const cli_feed_t *feed, int param); /* accepts NULL */
uint64_t cli_feed_steps_per_epoch(const cli_feed_t *feed);
/* Replaces the fed parameters in params[] by their values for this step, as new references;
 * releases the old ones. */
hr_status_t cli_feed_step(cli_feed_t *feed, uint64_t step, hlo_value_t **params);

#endif
