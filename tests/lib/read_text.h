/* Programs that tests have as texts. */
#ifndef TESTS_UNIT_READ_TEXT_H
#define TESTS_UNIT_READ_TEXT_H

#include <string.h>

#include "ops/rules/verify.h"
#include "read/read.h"
#include "unit.h"

static inline hr_status_t read_bytes(const void *bytes, size_t size_bytes,
                                     hlo_module_t **out_module) {
  hr_buffer_t *buffer;
  HR_TRY(hr_buffer_wrap((void *)bytes, size_bytes, false, NULL, NULL, &buffer));
  hr_status_t st = read_module("test.hlo", buffer, out_module);
  hr_buffer_release(buffer);
  return st;
}

static inline hr_status_t read_text(const char *text, hlo_module_t **out_module) {
  return read_bytes(text, strlen(text), out_module);
}

/* A program that must be valid; NULL, and a failure of the test, if it cannot be read. */
static inline hlo_module_t *read_valid(const char *text) {
  hlo_module_t *module = NULL;
  hr_status_t st = read_text(text, &module);
  CHECK_OK(st ? st : hlo_verify(module));
  return module;
}

#endif
