/* Who started this process, as its environment says. */
#include <limits.h>
#include <stdlib.h>

#include "transport/launched.h"

/* Value of a variable that holds a number >= 0; -1 otherwise. */
static int number_in(const char *variable) {
  const char *text = getenv(variable);
  if (!text || !*text) return -1;
  char *end;
  long value = strtol(text, &end, 10);
  return *end || value < 0 || value > INT_MAX ? -1 : (int)value;
}

/* Slurm sets its counts for batch scripts too; only srun makes steps, and only its PMI makes the tasks a world. */
static bool is_srun_task(void) { return getenv("SLURM_STEP_ID") && getenv("PMIX_RANK"); }

typedef struct place {
  int world_size, rank;
} place_t;

static bool place_from(const char *size_variable, const char *rank_variable, place_t *out_place) {
  int size = number_in(size_variable), rank = number_in(rank_variable);
  if (size < 1 || rank < 0 || rank >= size) return false;
  *out_place = (place_t){size, rank};
  return true;
}

static place_t find_place(void) {
  place_t place = {0, 0};
  if (tp_launched(&place.world_size, &place.rank)) return place;
  if (place_from("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", &place) || place_from("PMI_SIZE", "PMI_RANK", &place))
    return place;
  if (is_srun_task() && !place_from("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", &place))
    place_from("SLURM_NTASKS", "SLURM_PROCID", &place);
  return place;
}

hr_status_t tp_world_open(tp_endpoint_t **out_endpoint) {
  place_t place;
  return tp_launched(&place.world_size, &place.rank) ? tp_launched_open(out_endpoint) : tp_mpi_open(out_endpoint);
}

int tp_launcher_world_size(void) { return find_place().world_size; }
int tp_launcher_rank(void) { return find_place().rank; }
