/* Sizes that a TensorFlow graph leaves open, such as that of a batch: those of the arrays of
 * --input. */
#ifndef CLI_TF_SIZES_H
#define CLI_TF_SIZES_H

#include "tf/file/tf_read.h"

/* A tf_find_sizes_fn whose context are the options of the command line. Files are opened, their
 * elements are not read. Errors: those of files that cannot be opened. */
hr_status_t cli_tf_find_sizes(const void *options, int number, hr_str_t name, int *out_rank,
                              int64_t dims[HLO_MAX_RANK]);

#endif
