/* The hash that names cache entries: MurmurHash3's 128-bit rounds on blocks of 16 bytes. It tells kernels apart; it
 * is no protection against somebody who looks for two of equal hash, who would have to own the folder to gain by it. */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "jit/object_cache.h"

static uint64_t rotate(uint64_t x, int by) { return x << by | x >> (64 - by); }

static uint64_t scatter(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
  return x ^ x >> 33;
}

static void add_block(jit_key_state_t *state, const uint64_t block[2]) {
  uint64_t *a = &state->lanes[0], *b = &state->lanes[1];
  *a ^= rotate(block[0] * 0x87c37b91114253d5u, 31) * 0x4cf5ad432745937fu;
  *a = (rotate(*a, 27) + *b) * 5 + 0x52dce729;
  *b ^= rotate(block[1] * 0x4cf5ad432745937fu, 33) * 0x87c37b91114253d5u;
  *b = (rotate(*b, 31) + *a) * 5 + 0x38495ab5;
}

/* The size comes first, so that pieces are kept apart. */
void jit_key_add(jit_key_state_t *state, const void *bytes, size_t size_bytes) {
  const unsigned char *at = bytes;
  uint64_t block[2] = {size_bytes, 0x9e3779b97f4a7c15u};
  add_block(state, block);
  for (; size_bytes >= 16; size_bytes -= 16, at += 16) {
    memcpy(block, at, 16);
    add_block(state, block);
  }
  if (!size_bytes) return;
  block[0] = block[1] = 0;
  memcpy(block, at, size_bytes);
  add_block(state, block);
}

typedef struct build_search {
  jit_key_state_t *state;
  bool found;
} build_search_t;

static bool holds_this_code(const struct dl_phdr_info *info) {
  uintptr_t here = (uintptr_t)&add_block;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && here - (info->dlpi_addr + part->p_vaddr) < part->p_memsz) return true;
  }
  return false;
}

/* The notes of the file that this code was linked into, in which the linker has left a hash of it all. */
static int add_notes(struct dl_phdr_info *info, size_t size, void *context) {
  build_search_t *search = context;
  (void)size;
  if (!holds_this_code(info)) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_NOTE) continue;
    jit_key_add(search->state, (const void *)(info->dlpi_addr + part->p_vaddr), part->p_memsz);
    search->found = true;
  }
  return 1;
}

#if !defined(HLORUN_LLVM_FILE)
#define HLORUN_LLVM_FILE "" /* built without LLVM */
#endif

void jit_key_start(jit_key_state_t *state, const char *host) {
  build_search_t search = {.state = state};
  *state = (jit_key_state_t){{0x243f6a8885a308d3u, 0x13198a2e03707344u}};
  jit_key_add(state, host, strlen(host));
  jit_key_add(state, PACKAGE_VERSION HLORUN_LLVM_FILE, sizeof PACKAGE_VERSION HLORUN_LLVM_FILE);
  dl_iterate_phdr(add_notes, &search);
  if (!search.found) jit_key_add(state, __DATE__ __TIME__, sizeof __DATE__ __TIME__);
}

jit_key_t jit_key_end(const jit_key_state_t *state) {
  uint64_t a = state->lanes[0] + state->lanes[1], b = state->lanes[1] + a;
  a = scatter(a);
  b = scatter(b);
  return (jit_key_t){a + b, a + 2 * b};
}
