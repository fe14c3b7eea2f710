/* -n N on this machine alone: the command starts itself N times, and its processes share memory
 * (transport/shm/local_launch.h). They end when this process ends. When one of them fails, the
 * others get some seconds to report, and are then killed. */
#ifndef CLI_LAUNCH_LOCAL_H
#define CLI_LAUNCH_LOCAL_H

#include "base/status.h"

/* True if the environment names other machines for processes: a host file, a job of a batch system
 * such as Slurm, or a test's setting. */
bool cli_launch_knows_hosts(void);
/* True if HLORUN_LAUNCHER says so, or if it is unset and there are no other machines. */
bool cli_launch_is_local(void);
/* Runs this program with these arguments (without its name), and waits. Its processes report their
 * failures. */
hr_status_t cli_launch_locally(int processes, int argc, char *const *argv);
/* The signal that ended such a run; 0: none. */
int cli_launch_locally_interrupted(void);

#endif
