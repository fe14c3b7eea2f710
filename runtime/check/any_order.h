/* Deadlock freedom over all orders that the dependencies of each process allow. */
#ifndef CHECK_ANY_ORDER_H
#define CHECK_ANY_ORDER_H

#include "check/check_engine.h"

/* For a schedule that completes in planned order: changes result->verdict to CHECK_DEADLOCK, with
 * the cycle in result->waits, CHECK_MISUSE or CHECK_UNPROVED if another order does not complete.
 * `ranges`: per rank, the events to examine.
 * Errors: NO_MEMORY. */
hr_status_t check_any_order_ranges(check_result_t *result, const check_range_t *ranges);

#endif
