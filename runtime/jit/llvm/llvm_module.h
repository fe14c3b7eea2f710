/* Exports of the module jit_llvm, which is built by the same make as hlorun if LLVM's archives are
 * installed. */
#ifndef JIT_LLVM_MODULE_H
#define JIT_LLVM_MODULE_H

#include <llvm/Config/llvm-config.h>
#include <stddef.h>

#include "jit/llvm/llvm_api.h"

#define LLVM_MODULE_FILE "jit_llvm.so"
#define LLVM_MODULE_VERSION PACKAGE_VERSION " " LLVM_VERSION_STRING

typedef struct llvm_module {
  const char *version; /* versions of hlorun and LLVM; other versions may have another table */
  size_t api_bytes;    /* sizeof api */
  void (*start_target)(void);
  llvm_api_t api;
} llvm_module_t;

#define LLVM_MODULE_ENTRY "hlorun_llvm_module"
extern const llvm_module_t hlorun_llvm_module;

#endif
