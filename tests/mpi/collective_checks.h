/* Checks of every collective algorithm that are the same over any transport. */
#ifndef TESTS_COLLECTIVE_CHECKS_H
#define TESTS_COLLECTIVE_CHECKS_H

#include "transport/core/collective.h"

/* Every rank of the world calls it together. Errors: MISMATCH with what was wrong. */
hr_status_t check_collectives(tp_groups_t *groups);

#endif
