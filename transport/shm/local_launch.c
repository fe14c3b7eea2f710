/* Worlds of processes on one machine that `hlorun -n` starts without MPI: the parent creates the
 * shared memory file and passes its descriptor and the ranks to the children in an environment
 * variable; the endpoint of a child is the shared-memory transport alone. Processes that others
 * have started open the file of rank 0 instead. */
#include "transport/shm/local_launch.h"

#include <errno.h>
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

/* A text that no parent wrote counts as none. */
static void read_variable(const char *text) {
  int processes, rank, fd;
  bool is_whole = sscanf(text, "%d %d %d", &processes, &rank, &fd) == 3 && rank >= 0 &&
                  rank < processes && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
  if (!is_whole) return;
  own.processes = processes;
  own.rank = rank;
  own.fd = fd;
}

bool tp_local_launch(int *out_processes, int *out_rank) {
  const char *text = own.looked ? NULL : getenv(VARIABLE);
  own.looked = true;
  if (text) read_variable(text);
  if (text) unsetenv(VARIABLE);
  *out_processes = own.processes;
  *out_rank = own.rank;
  return own.processes > 0;
}

/* --- processes without such a parent --- */

/* The same text in all processes that see each other's files below /proc. */
static void describe_machine(char out_text[TP_PLACE_BYTES / 2]) {
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
  size_t size = file ? fread(out_text, 1, 36, file) : 0;
  if (file) fclose(file);
  ssize_t more = readlink("/proc/self/ns/pid", out_text + size, TP_PLACE_BYTES / 2 - 1 - size);
  out_text[more > 0 ? size + (size_t)more : size] = '\0';
}

hr_status_t tp_place(int processes, char out_place[TP_PLACE_BYTES]) {
  char machine[TP_PLACE_BYTES / 2];
  HR_TRY(tp_local_launch_memory(processes, &own.fd));
  describe_machine(machine);
  snprintf(out_place, TP_PLACE_BYTES, "%s /proc/%d/fd/%d", machine, (int)getpid(), own.fd);
  return NULL;
}

hr_status_t tp_join(int processes, int rank, const char *place) {
  char machine[TP_PLACE_BYTES / 2];
  describe_machine(machine);
  const char *path = strrchr(place, ' ');
  size_t size = path ? (size_t)(path - place) : 0;
  if (size != strlen(machine) || memcmp(machine, place, size) != 0)
    return hr_error(HR_UNAVAILABLE,
                    "it is not on the machine of process 0, or in another "
                    "container: start all by hlorun --hosts, mpirun or srun");
  if (rank) own.fd = open(path + 1, O_RDWR | O_CLOEXEC);
  if (own.fd < 0)
    return hr_error(HR_UNAVAILABLE, "cannot open the memory of process 0, %s: %s", path + 1,
                    strerror(errno));
  own.looked = true;
  own.processes = processes;
  own.rank = rank;
  return NULL;
}

/* --- all --- */

hr_status_t tp_local_launch_open(tp_endpoint_t **out_endpoint) {
  static char host[256];
  tp_shm_t *shm;
  if (gethostname(host, sizeof host - 1)) strcpy(host, "?");
  hr_status_t attached = tp_shm_attach(own.fd, own.processes, own.rank, &shm);
  if (attached) return hr_status_note(attached, "while joining the process that set " VARIABLE);
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
