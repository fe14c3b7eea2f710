/* -n N on this machine alone: the command starts itself N times, and its processes share memory (transport/launched.h).
 * They end with this one, however it ends, and with each other: when one has failed the others have some seconds to say
 * what that means to them. */
#ifndef CLI_LAUNCH_LOCAL_H
#define CLI_LAUNCH_LOCAL_H

#include "base/status.h"

/* Is there no other machine to start processes on, as far as the environment says (a host file, a job of Slurm or its
 * like), and does nobody want mpirun (HLORUN_LAUNCHER)? */
bool cli_launch_is_local(void);
/* Runs this program with these arguments (without its name), and waits. Failures have been reported by the processes. */
hr_status_t cli_launch_locally(int processes, int argc, char *const *argv);

#endif
