/* Calls of functions that throw: an exception that is raised here, by the unwinder's own function,
 * ends in the guard, and is destroyed. Those of C++ are thrown in tests/cplusplus and tests/pjrt.
 */
#include "ops/kernels/custom/custom_guard.h"
#include "base/foreign_code.h"
#include "tests/lib/unit.h"

#if defined(__x86_64__)
#include <unwind.h>

static int destroyed;

static void destroy(_Unwind_Reason_Code reason, struct _Unwind_Exception *exception) {
  CU_ASSERT_EQUAL(reason, _URC_FOREIGN_EXCEPTION_CAUGHT);
  (void)exception;
  destroyed++;
}

/* a + b * *c; raises an exception if the sum is 0. */
static void *add(intptr_t a, intptr_t b, const intptr_t *c) {
  static struct _Unwind_Exception exception;
  if (a + b * *c) return (void *)(a + b * *c);
  exception = (struct _Unwind_Exception){.exception_class = 7, .exception_cleanup = destroy};
  _Unwind_RaiseException(&exception);
  return NULL;
}

static hr_status_t call_add(intptr_t a, intptr_t b, intptr_t c, void **out_sum) {
  void *args[CUSTOM_GUARD_ARGS] = {(void *)a, (void *)b, &c};
  return custom_guard_call((void (*)(void))add, args, out_sum);
}

static void returns(void) {
  void *sum;
  CHECK_OK(call_add(5, 7, 3, &sum));
  CU_ASSERT_EQUAL((intptr_t)sum, 26);
}

static void raises(void) {
  void *sum;
  for (int i = 0; i < 3; i++) {
    hr_status_t st = call_add(-6, 2, 3, &sum);
    CU_ASSERT_EQUAL(hr_status_code(st), HR_INTERNAL);
    CU_ASSERT_EQUAL(hr_status_foreign_code(st), 2);
    CU_ASSERT_STRING_EQUAL(hr_status_message(st), "an exception of an unknown language");
    CU_ASSERT_EQUAL(destroyed, i + 1);
    hr_status_release(st);
    returns();
  }
}
#else
static void returns(void) {}
static void raises(void) {}
#endif

CU_TestInfo suite_custom_guard[] = {{"returns", returns}, {"raises", raises}, CU_TEST_INFO_NULL};
