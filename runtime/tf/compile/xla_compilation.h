/* The state of one compilation of XlaCompiler, shared by its files: arguments and updates of
 * resources (xla_arguments.c), everything else (xla_compiler.c). Thread: one per compilation. */
#ifndef TF_XLA_COMPILATION_H
#define TF_XLA_COMPILATION_H

#include "tf/compile/tf_lower.h"

typedef struct xla_compilation {
  tf_compiler_t compiler;
  hlo_builder_t builder;
  int argument_count;
  const xla_argument_t *arguments;
  const xla_compile_options_t *options;
  tf_value_t *values; /* by argument */
  xla_compilation_result_t result;
  xla_channels_t channels; /* unused if the options have channels */
} xla_compilation_t;

typedef HR_VEC(expr_t) xla_exprs_t;

/* BuildArguments: parameters, and the values that _Arg nodes give. */
hr_status_t xla_build_arguments(xla_compilation_t *c);
/* Appends the updated resources to the results. */
hr_status_t xla_add_updates(xla_compilation_t *c, xla_exprs_t *results);
/* The core n of a device name "...device:TPU_REPLICATED_CORE:n"; -1: none. */
int xla_core_of_device(hr_str_t device);
/* Sharding and metadata for all instructions of a node. */
hr_status_t xla_extra(hr_arena_t *arena, int core, hr_str_t op_type, hr_str_t op_name,
                      const hlo_extra_t **out_extra);

#endif
