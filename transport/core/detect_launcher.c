/* Finds the launcher of this process by environment variables. */
#include <limits.h>
#include <stdlib.h>

#include "transport/shm/local_launch.h"

/* Value of a variable that holds a number >= 0; -1 otherwise. */
static int number_in(const char *variable) {
  const char *text = getenv(variable);
  if (!text || !*text) return -1;
  char *end;
  long value = strtol(text, &end, 10);
  return *end || value < 0 || value > INT_MAX ? -1 : (int)value;
}

/* Slurm sets its counts for batch scripts too; only srun creates steps, and only its PMI makes the
 * tasks a world. */
static bool is_srun_task(void) { return getenv("SLURM_STEP_ID") && getenv("PMIX_RANK"); }

typedef struct info {
  int world_size, rank;
} launch_info_t;

static bool read_launch_info(const char *size_variable, const char *rank_variable,
                             launch_info_t *out_info) {
  int size = number_in(size_variable), rank = number_in(rank_variable);
  if (size < 1 || rank < 0 || rank >= size) return false;
  *out_info = (launch_info_t){size, rank};
  return true;
}

static launch_info_t find_launch_info(void) {
  launch_info_t info = {0, 0};
  if (tp_local_launch(&info.world_size, &info.rank)) return info;
  if (read_launch_info("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", &info) ||
      read_launch_info("PMI_SIZE", "PMI_RANK", &info))
    return info;
  if (is_srun_task() && !read_launch_info("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", &info))
    read_launch_info("SLURM_NTASKS", "SLURM_PROCID", &info);
  return info;
}

hr_status_t tp_world_open(tp_endpoint_t **out_endpoint) {
  launch_info_t info;
  return tp_local_launch(&info.world_size, &info.rank) ? tp_local_launch_open(out_endpoint)
                                                       : tp_mpi_open(out_endpoint);
}

int tp_launcher_world_size(void) { return find_launch_info().world_size; }
int tp_launcher_rank(void) { return find_launch_info().rank; }

/* The number is equal on all processes, unlike the number of processes of one machine. */
int tp_launcher_machines(void) {
  int world_size, rank, machines = number_in("OMPI_MCA_orte_num_nodes");
  if (tp_local_launch(&world_size, &rank)) return 1;
  if (machines < 1 && is_srun_task()) machines = number_in("SLURM_STEP_NUM_NODES");
  return machines < 1 ? 1 : machines;
}
