#include "fuzz_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/mem_limit.h"
#include "read/read.h"

_Noreturn void fuzz_fail(const char *what) {
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
  abort();
}

void fuzz_drop_status(hr_status_t st) {
  if (hr_status_code(st) == HR_INTERNAL) {
    hr_status_print(stderr, st);
    abort();
  }
  free(hr_status_format(st));
  hr_status_release(st);
}

#define MEMORY_MAX ((size_t)1 << 28) /* a short text can have a literal of gigabytes */

/* Does the number of allocated blocks differ after the check? */
static bool keeps_memory(const uint8_t *data, size_t size, fuzz_check_fn check) {
  size_t live = hr_mem_live_blocks();
  fuzz_drop_status(check(data, size));
  return hr_mem_live_blocks() != live;
}

/* Tables of names are made at their first use, and stay; a leak shows again in a second run. */
int fuzz_check(const uint8_t *data, size_t size, fuzz_check_fn check) {
  hr_mem_limit(MEMORY_MAX);
  if (keeps_memory(data, size, check) && keeps_memory(data, size, check)) fuzz_fail("leak");
  return 0;
}

void fuzz_expect_same(const hr_strbuf_t *first, const hr_strbuf_t *second, const char *what) {
  if (first->size == second->size && memcmp(first->data, second->data, first->size) == 0) return;
  fprintf(stderr, "%s\n%s\n", first->data, second->data);
  fuzz_fail(what);
}

hr_status_t fuzz_read_module(const uint8_t *data, size_t size, hlo_module_t **out_module) {
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_wrap((void *)(uintptr_t)data, size, false, NULL, NULL, &bytes));
  hr_status_t st = read_module("fuzz", bytes, out_module);
  hr_buffer_release(bytes);
  return st;
}
