/* A run of `hlorun run`, shared by its parts: cli_run.c opens, loads and steps; cli_run_finish.c
 * prints, writes and compares. */
#ifndef CLI_RUN_PARTS_H
#define CLI_RUN_PARTS_H

#include "cli/run/cli_carry.h"
#include "cli/checkpoint/cli_checkpoint.h"
#include "cli/run/cli_feed.h"
#include "cli/run/cli_progress.h"
#include "cli/run/cli_stats.h"

typedef struct cli_run {
  const hr_options_t *options;
  const char *path;
  int rank, world;
  hlorun_client_t *client;
  hlorun_program_t *program;
  cli_signature_t signature;
  hr_arena_t arena;      /* owns the lists */
  hlo_value_t **values;  /* parameters at the start */
  hlo_value_t **args;    /* parameters of the next execution; NULL once donated */
  hlo_value_t **results; /* results of the last one */
  bool *donate;          /* parameters that the next step replaces */
  cli_carry_t carry;
  cli_feed_t *feed;
  uint64_t steps, repeats;
  uint64_t first_step; /* first step of this run: those before it are in the checkpoint */
  bool was_complete;   /* restarted after the last step's checkpoint, so after the results */
  cli_checkpoint_t *checkpoint;
  cli_progress_t progress;
  cli_stats_t stats;
  bool desynchronized; /* the processes may be out of step: no more communication */
} cli_run_t;

/* Work after the last step: statistics, curve, results, timeline, comparison. All processes agree
 * on the success of each part, so that a failure in one ends all of them. */
hr_status_t cli_run_finish(cli_run_t *run);

#endif
