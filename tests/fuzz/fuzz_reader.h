/* What the fuzz targets of readers share: how they fail, and what holds after any input. */
#ifndef TESTS_FUZZ_FUZZ_READER_H
#define TESTS_FUZZ_FUZZ_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "ir/module.h"

/* Ends the target as a crash does. */
_Noreturn void fuzz_fail(const char *what);

/* Releases a status, NULL too. An error must be the input's, and be printable: an internal one ends
 * the target. */
void fuzz_drop_status(hr_status_t st);

/* Reads an input and checks what it says; the status is that of the input. */
typedef hr_status_t (*fuzz_check_fn)(const uint8_t *data, size_t size);

/* Calls `check`; an allocation that stays after it ends the target. Returns 0, the result of
 * LLVMFuzzerTestOneInput. */
int fuzz_check(const uint8_t *data, size_t size, fuzz_check_fn check);

/* Texts that differ are printed, and end the target. */
void fuzz_expect_same(const hr_strbuf_t *first, const hr_strbuf_t *second, const char *what);

/* Reads a program of any form. The module refers to the bytes, which must outlive it. */
hr_status_t fuzz_read_module(const uint8_t *data, size_t size, hlo_module_t **out_module);

#endif
