/* The passes: HLO to HLO, in place. Each changes a verified module into an equivalent verified
 * module; a pass that may change the rounding of floats documents that in its file. *out_changed
 * is set if something changed, and unchanged otherwise.
 * Errors:  NO_MEMORY; INTERNAL if a pass is wrong.
 * Thread:  one module belongs to one thread. */
#ifndef PASS_PASSES_H
#define PASS_PASSES_H

#include "ir/module.h"

#define PASS(id, name, when) hr_status_t pass_##id(hlo_module_t *module, bool *out_changed);
#include "passes/passes.def"
#undef PASS

#endif
