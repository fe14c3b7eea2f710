/* Worlds of processes on one machine that `hlorun -n` starts without MPI: the parent creates the
 * shared memory file and passes its descriptor and the ranks to the children in an environment
 * variable; the endpoint of a child is the shared-memory transport alone. */
#include "transport/shm/local_launch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/processors.h"
#include "transport/shm/shm_p2p.h"

#define VARIABLE "HLORUN_LAUNCHED" /* processes, rank, file */

/* --- parent --- */

hr_status_t tp_local_launch_memory(int processes, int *out_fd) {
  return tp_shm_file_new(processes, out_fd);
}

void tp_local_launch_export(int processes, int rank, int fd) {
  char text[64];
  snprintf(text, sizeof text, "%d %d %d", processes, rank, fd);
  setenv(VARIABLE, text, 1);
  fcntl(fd, F_SETFD, 0);
}

/* --- child --- */

static struct {
  bool looked;
  int processes, rank, fd;
} own;

bool tp_local_launch_is_set(void) {
  return own.looked ? own.processes > 0 : getenv(VARIABLE) != NULL;
}

bool tp_local_launch(int *out_processes, int *out_rank) {
  const char *text = own.looked ? NULL : getenv(VARIABLE);
  own.looked = true;
  if (text && sscanf(text, "%d %d %d", &own.processes, &own.rank, &own.fd) == 3)
    fcntl(own.fd, F_SETFD, FD_CLOEXEC);
  if (text) unsetenv(VARIABLE);
  *out_processes = own.processes;
  *out_rank = own.rank;
  return own.processes > 0;
}

hr_status_t tp_local_launch_open(tp_endpoint_t **out_endpoint) {
  static char host[256];
  tp_shm_t *shm;
  if (gethostname(host, sizeof host - 1)) strcpy(host, "?");
  HR_TRY(tp_shm_attach(own.fd, own.processes, own.rank, &shm));
  tp_endpoint_t self = {.rank = own.rank,
                        .world_size = own.processes,
                        .tag_bits = 31,
                        .host = host,
                        .local_rank = own.rank,
                        .local_size = own.processes,
                        .oversubscribed = own.processes > hr_processor_count(),
                        .shares_memory = true,
                        .memory = shm};
  hr_status_t st = tp_shm_p2p_open(shm, NULL, &self, out_endpoint);
  tp_shm_release(shm);
  return st;
}
