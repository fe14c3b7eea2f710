/* Runs the passes of passes.def over a module. */
#ifndef PASS_PIPELINE_H
#define PASS_PIPELINE_H

#include "base/text.h"
#include "ir/module.h"

typedef struct pass_options {
  const char *dump_dir; /* folder for dumps: NN_PASS.hlo after each pass that changed something,
                           00_read.hlo before; NULL: none */
  const char
      *stop_after; /* name of the last pass to run, in its first round; NULL: run all passes */
  bool keep_collectives; /* skip PEERS passes: there is one process, or peers run other programs */
  bool verify; /* after each pass; always in builds with sanitizers, and with HLORUN_VERIFY=1 */
} pass_options_t;

/* Runs the pipeline over the module.
 * Errors: NO_MEMORY; UNAVAILABLE for dump files; INTERNAL, naming the pass, if its result does not
 * verify. */
hr_status_t pass_run_all(hlo_module_t *module, const pass_options_t *options);
/* Is there a pass of this name? */
bool pass_exists(const char *name);
/* Appends the names of the passes, separated by ", ", for messages. */
void pass_names_print(hr_strbuf_t *text);

#endif
