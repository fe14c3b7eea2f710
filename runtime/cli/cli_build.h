/* --version, --check-build and --print-topology: the libraries of this build and of this machine,
 * and the machine's topology. */
#ifndef CLI_BUILD_H
#define CLI_BUILD_H

#include "base/options.h"

/* "hlorun 1.2.0" on the first line, then a library and its version on each. */
hr_status_t cli_print_version(void);
/* Prints a line for each part: present or missing, and its purpose. */
hr_status_t cli_check_build(void);
/* Prints or draws the machine and the shares of its ranks. If a launcher started several ranks on
 * this host, only the first one does. */
hr_status_t cli_print_topology(const hr_options_t *options);

#endif
