/* -n N: the command starts itself again, several times, here or under mpirun. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <limits.h>

#include "base/options.h"

/* How many processes this process is to start, by -n, by --hosts, or as many as the program names:
 * 0 if it runs alone or a launcher has started it already. Errors: USAGE if the launcher started
 * another number, or a list of hosts is wrong. */
hr_status_t cli_launch_needed(const hr_options_t *options, int *out_processes);

/* The words of a command that runs `arguments` (without the program's name) on `processes`
 * processes of this program, or as one that calls cli_launch_run: mpirun, what it needs here, this
 * program, the arguments. Lives in the arena and ends with NULL. Allows root in the environment.
 * Errors: UNAVAILABLE if there is no mpirun. */
hr_status_t cli_launch_command(hr_arena_t *arena, int processes, int argument_count,
                               const char *const *arguments, char *const **out_words);

/* Runs this command with the same arguments (main's, without the program's name) on so many
 * processes, and waits for them. They end with this one. Their failures have been reported by them.
 * `hosts`: of --hosts, NULL: this machine, or where mpirun puts them. */
hr_status_t cli_launch_run(int processes, const char *hosts, int argc, char *const *argv);
/* Ends the run that mpirun has under way, as SIGTERM to mpirun does. Thread: any. */
void cli_launch_end(void);
/* The signal that ended such a run; 0: none. */
int cli_launch_interrupted(void);

/* This program's own file. Errors: UNAVAILABLE. */
hr_status_t cli_launch_this_executable(char into[PATH_MAX]);

#endif
