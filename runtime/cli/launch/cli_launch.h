/* -n N: the command starts itself again, several times, here or under mpirun. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <limits.h>

#include "base/options.h"

#define CLI_LAUNCH_NOT_STARTED 5 /* exit code of a child that could not start its program */

/* Number of processes to start: from -n, --hosts, or the program; 0 if this process runs alone or a
 * launcher has started it. Errors: USAGE if the launcher started another number, or for a wrong
 * list of hosts. */
hr_status_t cli_launch_needed(const hr_options_t *options, int *out_processes);

/* The words of a command that runs this program with `arguments` on `processes` processes: mpirun,
 * its options, this program, the arguments; or, without other hosts, this program alone, which
 * calls cli_launch_run. Lives in the arena and ends with NULL. Allows root in the environment.
 * Errors: UNAVAILABLE if there is no mpirun. */
hr_status_t cli_launch_command(hr_arena_t *arena, int processes, int argument_count,
                               const char *const *arguments, char *const **out_words);

/* Runs this command with the same arguments (main's, without the program's name) on so many
 * processes, and waits for them. They end with this process, and report their own failures.
 * `hosts`: list of --hosts; NULL: this machine, or mpirun's default. */
hr_status_t cli_launch_run(int processes, const char *hosts, int argc, char *const *argv);
/* Ends mpirun's current run by SIGTERM. Thread: any. */
void cli_launch_end(void);
/* The signal that ended such a run; 0: none. */
int cli_launch_interrupted(void);

/* This program's own file. Errors: UNAVAILABLE. */
hr_status_t cli_launch_this_executable(char into[PATH_MAX]);

#endif
