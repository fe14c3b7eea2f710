#include "jit/early.h"

#include "jit/llvm_api.h"
#include "jit/own.h"
#include "ops/emit.h"

static bool has_code(const hlo_computation_t *computation) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    hlo_opcode_t op = computation->instrs.data[i]->op;
    if (op == HLO_FUSION || op_emits[op] == EMIT_ELEMENTWISE || op_emits[op] == EMIT_REDUCE) return true;
  }
  return false;
}

static void *load(void *unused) {
  (void)unused;
  hr_status_release(llvm_load());
  return NULL;
}

void jit_early_begin(const hlo_module_t *module, jit_early_t *out_early) {
  bool is_likely = !own_is_able(jit_target_host()) && has_code(module->entry);
  out_early->is_running = is_likely && !pthread_create(&out_early->thread, NULL, load, NULL);
}

void jit_early_end(jit_early_t *early) {
  if (early->is_running) pthread_join(early->thread, NULL);
  early->is_running = false;
}
