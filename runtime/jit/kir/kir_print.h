/* The kernel IR as text, close to LLVM's, for --dump and tests. Values are named %id by their
 * function, blocks bb0, bb1, ... in order of creation. */
#ifndef JIT_KIR_PRINT_H
#define JIT_KIR_PRINT_H

#include "base/text.h"
#include "jit/kir/kir.h"

void kir_print(hr_strbuf_t *text, const kir_module_t *module);

#endif
