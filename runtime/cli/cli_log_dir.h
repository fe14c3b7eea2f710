/* --log-dir: standard error of each process in a file of its own. */
#ifndef CLI_LOG_DIR_H
#define CLI_LOG_DIR_H

#include "base/options.h"

/* Standard error of this process goes to FOLDER/rankN.log from now on, if --log-dir is given; the
 * folder is made. Errors: UNAVAILABLE. Thread: the only one. */
hr_status_t cli_log_dir_open(const hr_options_t *options, int rank);
/* What a person looks at: standard error as it was at the start. */
FILE *cli_log_dir_terminal(void);

#endif
