/* Rank 0 gathers the options of all processes and compares them with its own; only rank 0 knows of
 * a difference until the status is agreed upon. */
#include "cli/cli_collective_options.h"

#include "base/mem.h"
#include "cli/program/cli_programs.h"

static const struct collective_option {
  hr_option_id_t id;
  bool has_number; /* the number must be equal, unless processes have different programs */
} collective_options[] = {{HR_OPTION_STEPS, true},       {HR_OPTION_EPOCHS, true},
                          {HR_OPTION_REPEAT, true},      {HR_OPTION_EVERY, true},
                          {HR_OPTION_CHECKPOINT, false}, {HR_OPTION_VERIFY_COMM, false},
                          {HR_OPTION_TRACE, false},      {HR_OPTION_STATS, false},
                          {HR_OPTION_EXPLAIN, false},    {HR_OPTION_LIMIT, false}};
enum { OPTIONS = sizeof collective_options / sizeof *collective_options };

/* The number; 1 for an option whose value may differ; 0: not given. */
static uint64_t number_of(const hr_options_t *options, int k, bool compares_numbers) {
  const struct collective_option *option = &collective_options[k];
  if (!hr_option_is_given(options, option->id)) return 0;
  return option->has_number && compares_numbers ? hr_option_int(options, option->id, 0) : 1;
}

/* The error for option k, of which 0 means that it was not given. */
static hr_status_t difference(int k, int rank, uint64_t theirs, uint64_t mine) {
  const char *name = hr_option_name(collective_options[k].id);
  if (mine && theirs)
    return hr_error(HR_USAGE, "rank %d was started with --%s %llu, rank 0 with --%s %llu", rank,
                    name, (unsigned long long)theirs, name, (unsigned long long)mine);
  static const char *const advice = "all processes need it alike";
  if (theirs)
    return hr_error(HR_USAGE, "rank %d was started with --%s, rank 0 without it: %s", rank, name,
                    advice);
  return hr_error(HR_USAGE, "rank %d was started without --%s, rank 0 with it: %s", rank, name,
                  advice);
}

/* Runs on rank 0. */
static hr_status_t compare(const uint64_t *all, int world) {
  for (int rank = 1; rank < world; rank++)
    for (int k = 0; k < OPTIONS; k++)
      if (all[rank * OPTIONS + k] != all[k])
        return difference(k, rank, all[rank * OPTIONS + k], all[k]);
  return NULL;
}

hr_status_t cli_collective_options_check(hlorun_client_t *client, const hr_options_t *options) {
  uint64_t mine[OPTIONS];
  int world = hlorun_client_world_size(client);
  void *all;
  if (world == 1) return NULL;
  for (int k = 0; k < OPTIONS; k++)
    mine[k] = number_of(options, k, !cli_programs_are_several(options));
  HR_TRY(hr_alloc((size_t)world * sizeof mine, &all));
  hr_status_t st = hlorun_client_gather(client, mine, sizeof mine, all);
  if (!st && hlorun_client_rank(client) == 0) st = compare(all, world);
  hr_free(all);
  return st;
}
