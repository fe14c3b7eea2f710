/* -n N on this machine alone: the command starts itself N times, and its processes share memory
 * (transport/shm/local_launch.h). They end with this one, however it ends, and with each other:
 * when one has failed the others have some seconds to say what that means to them. */
#ifndef CLI_LAUNCH_LOCAL_H
#define CLI_LAUNCH_LOCAL_H

#include "base/status.h"

/* Does the environment say that there are other machines to start processes on: a host file, a job
 * of Slurm or its like? Or does a test make believe so? */
bool cli_launch_knows_hosts(void);
/* There are none, and nobody wants mpirun (HLORUN_LAUNCHER). */
bool cli_launch_is_local(void);
/* Runs this program with these arguments (without its name), and waits. Its processes report their
 * failures. */
hr_status_t cli_launch_locally(int processes, int argc, char *const *argv);
/* The signal that ended such a run; 0: none. */
int cli_launch_locally_interrupted(void);

#endif
