#include "passes/pass_rewrite.h"
#include "passes/passes.h"
hr_status_t pass_simplify(hlo_module_t *module, bool *out_changed) { (void)module; (void)out_changed; return NULL; }
