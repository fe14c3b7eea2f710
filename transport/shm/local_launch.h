/* Processes that a parent on the same machine started together (hlorun -n N): they share memory
 * from the start and need no MPI. The parent creates the memory and passes each child its rank in
 * an environment variable. */
#ifndef TP_LOCAL_LAUNCH_H
#define TP_LOCAL_LAUNCH_H

#include "transport/core/transport.h"

/* Parent: creates memory for `processes` processes, which inherit it. Errors: UNAVAILABLE. */
hr_status_t tp_local_launch_memory(int processes, int *out_fd);
/* Parent: to be called between fork and exec. */
void tp_local_launch_export(int processes, int rank, int fd);

/* Child: true if this process was started so. The variable stays, for a program that the process
 * may execute. */
bool tp_local_launch_is_set(void);
/* The same. Removes the variable, so that processes started by
 * this one do not inherit it. */
bool tp_local_launch(int *out_processes, int *out_rank);
/* To be called once. Errors: UNAVAILABLE. */
hr_status_t tp_local_launch_open(tp_endpoint_t **out_endpoint);

#endif
