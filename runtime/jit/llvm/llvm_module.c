/* The part of LLVM that hlorun calls, linked from LLVM's archives into the module jit_llvm. It
 * opens in 2 ms, the whole library in 17 ms. The module links nothing of hlorun. */
#include "jit/llvm/llvm_module.h"

#include <llvm-c/Support.h>

/* Passes that cost time without making kernels faster are disabled. Both schedulers take a fifth of
 * the time: kernels are emitted in a good order, and the processors reorder instructions
 * themselves. Loop strength reduction (LSR) takes a third: the emitter advances pointers loop by
 * loop (emit_kernel.c). Domain reassignment takes time quadratic in the code, and conditions are in
 * mask registers from the start. Quick compilation (llvm_target_machine_create) keeps the
 * optimising register allocator. */
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

/* Stubs: LLVM's object writer can compress debug information with zstd, which hlorun never
 * requests. */
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
