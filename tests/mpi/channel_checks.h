/* Checks of channels that are the same over any transport. */
#ifndef TESTS_CHANNEL_CHECKS_H
#define TESTS_CHANNEL_CHECKS_H

#include "transport/core/collective.h"

/* Every rank of the world calls it together. Errors: MISMATCH with what was wrong. */
hr_status_t check_channels(tp_groups_t *groups);

#endif
