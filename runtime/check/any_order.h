/* The decision over all orders that the dependencies of each process allow. */
#ifndef CHECK_ANY_ORDER_H
#define CHECK_ANY_ORDER_H

#include "check/check_engine.h"

/* For a schedule that completes as planned: sets the verdict if some other order does not. */
hr_status_t check_any_order_ranges(check_result_t *result, const check_range_t *ranges);

#endif
