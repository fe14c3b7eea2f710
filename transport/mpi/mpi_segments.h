/* Files of Open MPI's shared memory (vader_segment.HOST.USER.JOB.RANK). Open MPI removes them at
 * the end; if the process or its mpirun is killed they stay in /dev/shm. The names are not needed
 * once all processes of a machine have mapped the files. Part of the module transport_mpi. */
#ifndef TP_MPI_SEGMENTS_H
#define TP_MPI_SEGMENTS_H

#include <limits.h>
#include <stdbool.h>

typedef struct mpi_segments {
  int count;          /* segments that this process has mapped, including its own */
  char own[PATH_MAX]; /* file of this process's segment; "": none */
} mpi_segments_t;

/* Finds the segments in /proc/self/maps; none without /proc. */
void mpi_segments_find(int rank, mpi_segments_t *out_segments);
/* Removes the name of this process's segment. To be called only when all processes of the machine
 * have mapped it. */
void mpi_segments_unlink(const mpi_segments_t *segments);
/* To be called before MPI_Finalize, which reports an error if the name does not exist. */
void mpi_segments_restore(const mpi_segments_t *segments);

#endif
