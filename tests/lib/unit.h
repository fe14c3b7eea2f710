/* What every unit test includes: CUnit, and a check for calls that must succeed. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <CUnit/CUnit.h>
#include <CUnit/TestDB.h>
#include <stdio.h>

#include "base/status.h"

/* Fails the test, printing the status, unless `expr` succeeds. */
#define CHECK_OK(expr)                       \
  do {                                       \
    hr_status_t check_status = (expr);       \
    if (check_status) {                      \
      hr_status_print(stderr, check_status); \
      hr_status_release(check_status);       \
      CU_FAIL(#expr);                        \
    }                                        \
  } while (0)

/* For tests that cannot be run here: says which, and why. */
#define SKIP(what, why) fprintf(stderr, "  skipped: %s: %s\n", what, why)

/* Fails the test unless `expr` fails with the given code. */
#define CHECK_FAILS(code, expr)                            \
  do {                                                     \
    hr_status_t check_status = (expr);                     \
    CU_ASSERT_EQUAL(hr_status_code(check_status), (code)); \
    hr_status_release(check_status);                       \
  } while (0)

#endif
