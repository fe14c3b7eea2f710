/* --version, --check-build and --print-topology: what this hlorun was built with, and what it finds
 * here. */
#ifndef CLI_BUILD_H
#define CLI_BUILD_H

#include "base/options.h"

/* "hlorun 1.2.0" on the first line, then a library and its version on each. */
hr_status_t cli_print_version(void);
/* A line for each part: there or missing, and what it is for. */
hr_status_t cli_check_build(void);
/* The machine and the shares of its ranks, as text or into a picture. Of several ranks that a
 * launcher started on this host, the first one does it. */
hr_status_t cli_print_topology(const hr_options_t *options);

#endif
