/* Files of Open MPI's shared memory (vader_segment.HOST.USER.JOB.RANK), which it removes at the
 * end: whoever is killed, or whose mpirun is, leaves them in /dev/shm. Once all processes of a
 * machine have mapped them, their names are no longer needed. Part of the module transport_mpi. */
#ifndef TP_MPI_SEGMENTS_H
#define TP_MPI_SEGMENTS_H

#include <limits.h>
#include <stdbool.h>

typedef struct mpi_segments {
  int count;          /* segments that this process has mapped, its own among them */
  char own[PATH_MAX]; /* file of its own; "": none */
} mpi_segments_t;

/* What /proc/self/maps shows; no segments where there is no /proc. */
void mpi_segments_find(int rank, mpi_segments_t *out_segments);
/* Removes the name of its own segment. Only when all processes of the machine have mapped it. */
void mpi_segments_unlink(const mpi_segments_t *segments);
/* Before MPI_Finalize, which complains of a name that is not there. */
void mpi_segments_restore(const mpi_segments_t *segments);

#endif
