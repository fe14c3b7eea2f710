/* The command `hlorun`: main() finds the command's name, each command reads its own options and
 * gives the exit code. */
#ifndef CLI_H
#define CLI_H

#include "base/options.h"
#include "base/text.h"

/* argc and argv are main's without the names of program and command; `all_*` only without that of
 * the program. */
typedef struct cli_arguments {
  hr_command_t command;
  int argc, all_argc;
  char *const *argv, *const *all_argv;
  hr_options_t options;
} cli_arguments_t;

hr_status_t cli_run(const cli_arguments_t *arguments);
hr_status_t cli_check(const cli_arguments_t *arguments);
hr_status_t cli_test(const cli_arguments_t *arguments);
hr_status_t cli_convert(const cli_arguments_t *arguments);
hr_status_t cli_schedule(const cli_arguments_t *arguments);

hr_status_t cli_list_ops(void);
hr_status_t cli_tune(const cli_arguments_t *arguments);
/* True for run, test, check and the others, by the whole name, and for help. */
bool cli_is_command(const char *word);

/* Writes to standard output. Errors: UNAVAILABLE with the reason; without a message for a broken
 * pipe. */
hr_status_t cli_print(const hr_strbuf_t *text);

/* Sets the environment variables that the code generator and the passes read, according to the
 * options. */
void cli_choose_variables(const hr_options_t *options);
/* The options that shape a client: --threads, --bind, --timeout, --seed. */
struct hlorun_client_options;
hr_status_t cli_client_options(const hr_options_t *options,
                               struct hlorun_client_options *out_options);

#endif
