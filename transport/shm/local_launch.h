/* Processes that a parent on the same machine started together (hlorun -n N): they share memory
 * from the start and need no MPI. The parent makes the memory and tells each child, in its
 * environment, which rank it is. */
#ifndef TP_LOCAL_LAUNCH_H
#define TP_LOCAL_LAUNCH_H

#include "transport/core/transport.h"

/* The parent's: memory for so many processes, which they inherit. Errors: UNAVAILABLE. */
hr_status_t tp_local_launch_memory(int processes, int *out_fd);
/* Between fork and exec. */
void tp_local_launch_export(int processes, int rank, int fd);

/* The child's: is this process one of them? What the environment says of it is taken out of it, for
 * it is not meant for processes that this one starts. */
bool tp_local_launch(int *out_processes, int *out_rank);
/* Only once. Errors: UNAVAILABLE. */
hr_status_t tp_local_launch_open(tp_endpoint_t **out_endpoint);

#endif
