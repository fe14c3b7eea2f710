/* --checkpoint: what a training run needs to go on after it was interrupted. Every so many steps
 * the carried values of all processes are written while the next steps run:
 *
 *   DIR/step-000000000300/rank0.npz ...   inK: the parameter K of the next step, and the state
 *                                         of the rng ops; each may be given to --input, too
 *                         manifest        cli_manifest.h; written last
 *                         variables.*     with --checkpoint-format tensor-bundle, by rank 0: the
 *                                         carried variables of a TensorFlow graph under their
 *                                         names, and what its own checkpoint has besides
 *
 * A checkpoint is written under another name and renamed when all of it is on the disk, by rank 0;
 * so one that has its name and agrees with its manifest is whole. DIR lies where all processes see
 * it, and belongs to one run at a time; one that has checkpoints is refused unless --resume or
 * --overwrite is given.
 * --resume takes the newest one that is whole for all processes; replica r of another number of
 * replicas takes what replica r modulo the old number had, which must then be the same in all old
 * replicas. What is newer is put aside, so that the checkpoints of the folder are of one training.
 * If there are checkpoints and none is whole, the run fails. Only checkpoints that are known to be
 * whole count for --keep.
 * --overwrite begins at the first step; what was there is removed when the first new checkpoint is
 * whole. */
#ifndef CLI_CHECKPOINT_H
#define CLI_CHECKPOINT_H

#include "base/options.h"
#include "cli/cli_carry.h"

typedef struct cli_checkpoint cli_checkpoint_t;

typedef struct cli_checkpoint_options {
  const hr_options_t *options;
  const cli_signature_t *signature;
  const cli_carry_t *carry;
  hlorun_client_t *client;
  hlorun_program_t *program;
  const char *program_path;
} cli_checkpoint_options_t;

/* What is borrowed must outlive it. *out_checkpoint is NULL if none are wanted. Errors: USAGE, also
 * for a folder with checkpoints; UNAVAILABLE. */
hr_status_t cli_checkpoint_create(const cli_checkpoint_options_t *options,
                                  cli_checkpoint_t **out_checkpoint);
/* Puts the values of the newest checkpoint into `values`, by parameter, and the state of the rng
 * ops into the program. *out_step: how many steps they have behind them; 0 if there is no
 * checkpoint, or none was wanted. All processes call it together. Errors: UNAVAILABLE, also if no
 * checkpoint is whole; USAGE if it does not fit the grid. */
hr_status_t cli_checkpoint_resume(cli_checkpoint_t *checkpoint, hlo_value_t **values,
                                  uint64_t *out_step);
/* After each step: begins to write a checkpoint if one is due. Waits only for the one before. */
hr_status_t cli_checkpoint_step(cli_checkpoint_t *checkpoint, uint64_t steps_done,
                                hlo_value_t *const *results);
/* Waits for what is being written. */
hr_status_t cli_checkpoint_finish(cli_checkpoint_t *checkpoint);
void cli_checkpoint_destroy(cli_checkpoint_t *checkpoint); /* accepts NULL */

#endif
