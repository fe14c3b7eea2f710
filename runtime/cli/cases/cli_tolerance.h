/* Tolerances of comparisons, from the options. */
#ifndef CLI_TOLERANCE_H
#define CLI_TOLERANCE_H

#include "base/options.h"
#include "ir/compare.h"

hlo_tolerance_t cli_tolerance_from_options(const hr_options_t *options);

#endif
