/* The part of LLVM that hlorun calls, linked from LLVM's archives into the module jit_llvm: it is
 * opened in 2 ms, the whole library in 17. The module links nothing of hlorun. */
#include "jit/llvm/llvm_module.h"

#include <llvm-c/Support.h>

/* Kernels come in an order that is good to run, and processors that they are for reorder by
 * themselves: LLVM's two schedulers would take a fifth of the time without making the code faster.
 * So would its search for better induction variables (LSR), which takes a third: pointers are
 * advanced loop by loop as they come (emit_kernel.c). Code that is made quickly has its registers
 * allocated as well as other code (llvm_target_machine_create). Conditions are in mask registers
 * from the beginning: to look for what else could be there takes time by the square of the code. */
static const char *const settings[] = {"hlorun",
                                       "-enable-misched=false",
                                       "-disable-post-ra",
                                       "-disable-lsr",
#if defined(__x86_64__)
                                       "-disable-x86-domain-reassignment",
#endif
                                       "-optimize-regalloc"};

static void start_target(void) {
  LLVMParseCommandLineOptions(sizeof settings / sizeof *settings, settings, NULL);
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
}

const llvm_module_t hlorun_llvm_module = {.version = LLVM_MODULE_VERSION,
                                          .api_bytes = sizeof(llvm_api_t),
                                          .start_target = start_target,
                                          .api = {
#define LLVM_FUNCTION(name) .name = LLVM##name,
#include "jit/llvm/llvm_api.def"
#undef LLVM_FUNCTION
                                          }};

/* LLVM's writer of object files can compress debug information with zstd, which it is never asked
 * to. */
size_t ZSTD_CCtx_setParameter(void *context, int parameter, int value);
size_t ZSTD_compress2(void *context, void *out, size_t capacity, const void *in, size_t size);
size_t ZSTD_compressBound(size_t size);
void *ZSTD_createCCtx(void);
size_t ZSTD_freeCCtx(void *context);
unsigned ZSTD_isError(size_t code);

#define FAILED ((size_t)-1)

size_t ZSTD_CCtx_setParameter(void *context, int parameter, int value) {
  (void)context, (void)parameter, (void)value;
  return FAILED;
}

size_t ZSTD_compress2(void *context, void *out, size_t capacity, const void *in, size_t size) {
  (void)context, (void)out, (void)capacity, (void)in, (void)size;
  return FAILED;
}

size_t ZSTD_compressBound(size_t size) { return size; }

void *ZSTD_createCCtx(void) { return NULL; }

size_t ZSTD_freeCCtx(void *context) {
  (void)context;
  return 0;
}

unsigned ZSTD_isError(size_t code) { return code == FAILED; }
