/* Keys of cache entries: the host's features, the version, the build of hlorun itself, then the
 * pieces that the caller adds, each with its length, so that the encoding is injective.
 *
 * The build is identified by the linker's notes (build id) of the file that contains this code,
 * found through dl_iterate_phdr; without one, by the time of compilation. A new build thus never
 * loads code that an older code generator made. */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "jit/cache/object_cache.h"

/* The size precedes each piece, so that the encoding is injective. */
void jit_key_add(jit_key_state_t *state, const void *bytes, size_t size_bytes) {
  uint64_t size = size_bytes;
  hr_strbuf_add(&state->bytes, (const char *)&size, sizeof size);
  hr_strbuf_add(&state->bytes, bytes, size_bytes);
}

typedef struct build_search {
  jit_key_state_t *state;
  bool found;
} build_search_t;

static bool holds_this_code(const struct dl_phdr_info *info) {
  uintptr_t here = (uintptr_t)&jit_key_add;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && here - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
      return true;
  }
  return false;
}

/* Adds the notes of the file that contains this code; they hold the linker's hash of the file
 * (build id). */
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
  hr_strbuf_init(&state->bytes);
  jit_key_add(state, host, strlen(host));
  jit_key_add(state, PACKAGE_VERSION HLORUN_LLVM_FILE, sizeof PACKAGE_VERSION HLORUN_LLVM_FILE);
  dl_iterate_phdr(add_notes, &search);
  if (!search.found) jit_key_add(state, __DATE__ __TIME__, sizeof __DATE__ __TIME__);
}

hr_status_t jit_key_end(jit_key_state_t *state, hr_arena_t *arena, jit_key_t *out_key) {
  hr_status_t st = hr_strbuf_finish(&state->bytes);
  if (!st) st = hr_arena_str(arena, (hr_str_t){state->bytes.data, state->bytes.size}, out_key);
  hr_strbuf_deinit(&state->bytes);
  return st;
}

void jit_key_name(jit_key_t key, char name[HR_DIGEST_TEXT]) {
  hr_digest_text(hr_digest_of(key.data, key.size), name);
}
