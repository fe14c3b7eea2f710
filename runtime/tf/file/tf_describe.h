/* The result of a compilation as JSON, for callers of the compiled program. */
#ifndef TF_DESCRIBE_H
#define TF_DESCRIBE_H

#include "tf/file/tf_select.h"

/* Appends an object with the lists parameters, input_mapping (argument of each parameter), outputs
 * and resource_updates. */
void tf_describe(const tf_selection_t *selection, const xla_compilation_result_t *result,
                 hr_strbuf_t *out);

#endif
