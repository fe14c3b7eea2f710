/* Declarations shared by the files of cli_checkpoint. Names in the folder of --checkpoint:
 *
 *   lock                      held by rank 0 during the run
 *   step-000000000300         a checkpoint
 *   writing-000000000300-RUN  a checkpoint that is being written
 *   gone-...                  a checkpoint that is being removed
 *   torn-step-...             a checkpoint that is not whole or not used
 *   replaced-step-...         a checkpoint of an earlier training, before the new one of its step
 *                             is whole
 *
 * A run that ends in order leaves the lock, checkpoints, and those that are not used. A run that
 * starts removes writing- and gone-, which a killed run has left. */
#ifndef CLI_CHECKPOINT_PARTS_H
#define CLI_CHECKPOINT_PARTS_H

#include <stdatomic.h>

#include "base/vec.h"
#include "cli/arrays/cli_assembly.h"
#include "cli/checkpoint/cli_checkpoint.h"
#include "cli/checkpoint/cli_manifest.h"
#include "io/npy.h"
#include "transport/core/event_loop.h"

#define CLI_TORN "torn-"
#define CLI_REPLACED "replaced-"

/* A checkpoint that counts for --keep once it is known to be whole. */
typedef struct cli_retained {
  uint64_t step;
  bool whole; /* written by this run, or compared with its manifest */
} cli_retained_t;

struct cli_checkpoint {
  cli_checkpoint_options_t from;
  cli_folder_t folder;
  uint64_t every, keep;
  int rank, world, num_replicas, num_partitions;
  cli_identity_t program;
  int lock;     /* descriptor of the lock file on rank 0; -1: none */
  uint64_t run; /* unique number of this run */
  tp_loop_t *loop;
  tp_work_t *work; /* the write under way; NULL: none */
  atomic_bool stop;
  /* Contents of the folder, on rank 0. Used by the worker thread during a write. */
  uint64_t began;                  /* cli_manifest_t.began */
  bool replaces;                   /* --overwrite, and no new checkpoint is whole yet */
  bool is_moved;                   /* true once the user was told that the folder was renamed */
  HR_VEC(cli_retained_t) retained; /* checkpoints of this training, oldest first */
  /* --checkpoint-format tensor-bundle */
  hr_arena_t names_arena;
  hr_str_t *names;    /* by parameter: name of the variable, empty: none; NULL: no bundle */
  const char *source; /* checkpoint of the program, whose other tensors are copied; NULL: none */
  /* The data being written; used by the worker thread during a write. */
  uint64_t step;
  hlo_value_t **values; /* one per carried value */
  hlo_value_t *state;
  hr_status_t status;
};

/* True if the failure means that the checkpoint is damaged; false: a failure of this process. */
bool cli_checkpoint_is_damage(hr_status_t status);
bool cli_checkpoint_is_aside(const char *name); /* torn- or replaced- */
typedef char cli_name_t[256];                   /* name of an entry of the folder */
/* Puts an entry aside with the prefix torn- and prints a message. Releases `why`; NULL: the
 * reason was reported before. */
void cli_checkpoint_put_torn(const cli_checkpoint_t *checkpoint, const char *name, hr_status_t why);

/* Reads this process's parts of carried global arrays that had another sharding, from the files
 * of all partitions of the first replica. Replaces the carried ones in `values`, which is indexed
 * by parameter.
 * Cost:    opens every file, copies overlaps.
 * Errors:  USAGE for a checkpoint without the places of its parts; INVALID; NO_MEMORY. */
hr_status_t cli_checkpoint_assemble(const cli_checkpoint_t *checkpoint, const char *step_path,
                                    const cli_manifest_t *manifest, hr_arena_t *arena,
                                    hlo_value_t **values);
/* True if the arrays of this file are the parts that this process needs. */
hr_status_t cli_checkpoint_has_parts(const cli_checkpoint_t *checkpoint, const npz_t *npz,
                                     bool *out_has);

/* --checkpoint-format, and for a tensor bundle the names of variables. Errors: USAGE for another
 * format, or a program that is no TensorFlow graph. */
hr_status_t cli_checkpoint_bundle_init(cli_checkpoint_t *checkpoint);
/* On the worker thread of rank 0: writes the carried variables as a tensor bundle into the folder,
 * if
 * --checkpoint-format asks for it. */
hr_status_t cli_checkpoint_bundle_write(const cli_checkpoint_t *checkpoint,
                                        const cli_folder_t *folder);

/* On a worker thread: writes this process's part; rank 0 completes the checkpoint. */
hr_status_t cli_checkpoint_write(cli_checkpoint_t *checkpoint);

#endif
