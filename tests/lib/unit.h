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

/* For tests, or parts of them, that cannot be run here: says which, and why. A test that calls it
 * counts as skipped instead of passed, once, unless it fails. */
#define SKIP(what, why) unit_skip(what, why)
void unit_skip(const char *what, const char *why);

/* Fails the test unless `expr` fails with the given code. */
#define CHECK_FAILS(code, expr)                            \
  do {                                                     \
    hr_status_t check_status = (expr);                     \
    CU_ASSERT_EQUAL(hr_status_code(check_status), (code)); \
    hr_status_release(check_status);                       \
  } while (0)

#endif
