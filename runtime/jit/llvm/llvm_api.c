/* LLVM's C API, loaded at run time: hlorun opens it only if code is missing in the cache.
 *
 * The function table llvm_api is filled from the module jit_llvm, which contains the linked part of
 * LLVM (llvm_module.c), or, if that was not built, from the shared library with dlsym. Only
 * functions listed in llvm_api.def exist. */
#include "jit/llvm/llvm_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/dl.h"
#include "jit/llvm/llvm_compile.h"
#include "jit/llvm/llvm_module.h"

llvm_api_t llvm_api;
static bool is_module;

static const struct {
  const char *name;
  size_t offset; /* offset of the function pointer in llvm_api_t */
} functions[] = {
#define LLVM_FUNCTION(name) {"LLVM" #name, offsetof(llvm_api_t, name)},
#include "jit/llvm/llvm_api.def"
#undef LLVM_FUNCTION
};

#define TEXT_OF(macro) TEXT_OF_EXPANDED(macro)
#define TEXT_OF_EXPANDED(text) #text

/* The functions that LLVMInitializeNativeTarget and LLVMInitializeNativeAsmPrinter call. */
static const char *const starters[] = {TEXT_OF(LLVM_NATIVE_TARGETINFO), TEXT_OF(LLVM_NATIVE_TARGET),
                                       TEXT_OF(LLVM_NATIVE_TARGETMC),
                                       TEXT_OF(LLVM_NATIVE_ASMPRINTER)};

static hr_status_t find_function(void *library, const char *name, void **out_address) {
  *out_address = dlsym(library, name);
  if (!*out_address) return hr_error(HR_UNAVAILABLE, "LLVM's library has no function '%s'", name);
  return NULL;
}

static hr_status_t start_target(void *library) {
  for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
    void *address;
    HR_TRY(find_function(library, starters[i], &address));
    ((void (*)(void))address)();
  }
  return NULL;
}

static hr_status_t open_shared_library(const char *file) {
  const char *reason;
  void *library = hr_dl_open(file, RTLD_LAZY | RTLD_LOCAL, &reason);
  if (!library)
    return hr_error(HR_UNAVAILABLE,
                    "no code can be generated: LLVM cannot be opened (%s); install libllvm%d",
                    reason, LLVM_VERSION_MAJOR);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    HR_TRY(find_function(library, functions[i].name,
                         (void **)((char *)&llvm_api + functions[i].offset)));
  return start_target(library);
}

/* False: the module was not built, or by another build of hlorun. */
static bool open_module(void) {
  void *library;
  hr_status_t st = hr_dl_module(LLVM_MODULE_FILE, RTLD_LAZY | RTLD_LOCAL, &library);
  hr_status_release(st);
  const llvm_module_t *module = st ? NULL : dlsym(library, LLVM_MODULE_ENTRY);
  if (!module || strcmp(module->version, LLVM_MODULE_VERSION) != 0 ||
      module->api_bytes != sizeof llvm_api)
    return false;
  llvm_api = module->api;
  module->start_target();
  is_module = true;
  return true;
}

static hr_status_t open_library(void) {
  const char *chosen = secure_getenv("HLORUN_LLVM");
  if (chosen && *chosen) return open_shared_library(chosen);
  return open_module() ? NULL : open_shared_library(HLORUN_LLVM_FILE);
}

hr_status_t llvm_load(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool loaded;
  pthread_mutex_lock(&lock);
  hr_status_t st = loaded ? NULL : open_library();
  if (!st) loaded = true;
  pthread_mutex_unlock(&lock);
  return st;
}

bool llvm_is_module(void) { return is_module; }
