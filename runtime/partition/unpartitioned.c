/* Where the partitioner is not built in: global programs are refused. */
#include "partition/program.h"

hr_status_t spmd_partition(spmd_program_t *program) {
  return hlo_unsupported(program->module->entry->root,
                         "the program is not partitioned yet, and only a partitioner could do it; "
                         "take the per-partition program, which XLA prints with "
                         "compiled.as_text()");
}
