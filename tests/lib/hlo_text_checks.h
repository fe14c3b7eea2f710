/* Checks of the reader of HLO text: programs that it takes, and that print as they were read,
 * and programs that it refuses. */
#ifndef HLO_TESTS_HLO_TEXT_CHECKS_H
#define HLO_TESTS_HLO_TEXT_CHECKS_H

#include <stdlib.h>
#include <string.h>

#include "ir/print.h"
#include "ops/rules/verify.h"
#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

/* Prints, reads again, prints again: both must be the same. */
static inline void check_fixed_point(const hlo_module_t *module, const char *name) {
  hr_strbuf_t first, second;
  hlo_module_t *again = NULL;
  hr_strbuf_init(&first);
  hr_strbuf_init(&second);
  hlo_print_module(&first, module, HLO_PRINT_LONG);
  hr_status_t st = read_text(first.data, &again);
  if (st) {
    hr_status_print(stderr, st);
    hr_status_release(st);
    CU_FAIL("printed text does not read back");
  } else {
    hlo_print_module(&second, again, HLO_PRINT_LONG);
    if (strcmp(first.data, second.data) != 0) {
      fprintf(stderr, "%s: not a fixed point:\n%s\n%s\n", name, first.data, second.data);
      CU_FAIL("not a fixed point");
    }
  }
  hlo_module_destroy(again);
  hr_strbuf_deinit(&first);
  hr_strbuf_deinit(&second);
}

static inline void accept(const char *text) {
  size_t live = hr_mem_live_blocks();
  hlo_module_t *module = NULL;
  hr_status_t st = read_text(text, &module);
  if (st) {
    hr_status_print(stderr, st);
    hr_status_release(st);
    CU_FAIL("refused");
    return;
  }
  check_fixed_point(module, text);
  hlo_module_destroy(module);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* Must fail while reading or, if `verify`, at the latest in the verifier; with a message that
 * contains `message`. */
static inline void refuse(const char *text, const char *message) {
  size_t live = hr_mem_live_blocks();
  hlo_module_t *module = NULL;
  hr_status_t st = read_text(text, &module);
  if (!st) st = hlo_verify(module);
  if (hr_status_code(st) != HR_INVALID) {
    fprintf(stderr, "not refused as invalid: %s\n", text);
    CU_FAIL("accepted");
  } else {
    char *report = hr_status_format(st);
    if (!strstr(report, message)) {
      fprintf(stderr, "wanted '%s' in:\n%s\n", message, report);
      CU_FAIL("wrong message");
    }
    free(report);
  }
  hr_status_release(st);
  hlo_module_destroy(module);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

#define IN_ENTRY(lines) "HloModule m\nENTRY e {\n" lines "\n}\n"

#define ADDER "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"

#endif
