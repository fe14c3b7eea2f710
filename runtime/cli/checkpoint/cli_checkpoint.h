/* --checkpoint: the state from which an interrupted training run can continue. Every --every steps
 * the carried values of all processes are written while the next steps run:
 *
 *   DIR/step-000000000300/rank0.npz ...   inK: the parameter K of the next step, and the state
 *                                         of the rng ops; each may be given to --input, too
 *                         manifest        cli_manifest.h; written last
 *                         variables.*     with --checkpoint-format tensor-bundle, by rank 0: the
 *                                         carried variables of a TensorFlow graph under their
 *                                         names, and the other tensors of its own checkpoint
 *
 * A checkpoint is written under another name; rank 0 renames it when all of it is on the disk. So a
 * checkpoint that has its final name and agrees with its manifest is whole. All processes must see
 * DIR, and only one run at a time may use it. A folder with checkpoints is refused unless --resume
 * or --overwrite is given.
 * --resume uses the newest checkpoint that is whole for all processes. With another number of
 * replicas, replica r takes the values of old replica r modulo the old number, and all old replicas
 * must have the same values. Newer checkpoints are renamed (torn-), so that all checkpoints of the
 * folder are of one training. If there are checkpoints and none is whole, the run fails. Only
 * checkpoints that are known to be whole count for --keep.
 * --overwrite begins at the first step; old checkpoints are removed when the first new one is
 * whole.
 */
#ifndef CLI_CHECKPOINT_H
#define CLI_CHECKPOINT_H

#include "base/options.h"
#include "cli/run/cli_carry.h"

typedef struct cli_checkpoint cli_checkpoint_t;

typedef struct cli_checkpoint_options {
  const hr_options_t *options;
  const cli_signature_t *signature;
  const cli_carry_t *carry;
  hlorun_client_t *client;
  hlorun_program_t *program;
  const char *program_path;
} cli_checkpoint_options_t;

/* The members of `options` must outlive the checkpoint. *out_checkpoint is NULL without
 * --checkpoint. Errors: USAGE, also for a folder with checkpoints; UNAVAILABLE. */
hr_status_t cli_checkpoint_create(const cli_checkpoint_options_t *options,
                                  cli_checkpoint_t **out_checkpoint);
/* Puts the values of the newest checkpoint into `values`, by parameter, and the state of the rng
 * ops into the program. *out_step: number of steps done before the checkpoint; 0 if there is none,
 * or without --resume. Collective. Errors: UNAVAILABLE, also if no checkpoint is whole; USAGE if it
 * does not fit the grid. */
hr_status_t cli_checkpoint_resume(cli_checkpoint_t *checkpoint, hlo_value_t **values,
                                  uint64_t *out_step);
/* Called after each step: starts to write a checkpoint if one is due. Waits only for the write of
 * the previous checkpoint. */
hr_status_t cli_checkpoint_step(cli_checkpoint_t *checkpoint, uint64_t steps_done,
                                hlo_value_t *const *results);
/* Waits for the write under way. */
hr_status_t cli_checkpoint_finish(cli_checkpoint_t *checkpoint);
void cli_checkpoint_destroy(cli_checkpoint_t *checkpoint); /* accepts NULL */

#endif
