/* What the parts of cli_checkpoint share. Names in the folder of --checkpoint:
 *
 *   lock                      held by rank 0 while the run lasts
 *   step-000000000300         a checkpoint
 *   writing-000000000300-RUN  one that is being written
 *   gone-...                  one that is being removed
 *   torn-step-...             one that is not whole, or was not used for another reason
 *   replaced-step-...         one of an earlier training, of a new one's step, until it is removed
 *
 * The first three are all that an orderly run leaves; halves (writing-, gone-) are removed when a
 * run starts. */
#ifndef CLI_CHECKPOINT_PARTS_H
#define CLI_CHECKPOINT_PARTS_H

#include <stdatomic.h>

#include "base/vec.h"
#include "cli/cli_checkpoint.h"
#include "cli/cli_manifest.h"
#include "io/npy.h"
#include "transport/core/event_loop.h"

#define CLI_TORN "torn-"
#define CLI_REPLACED "replaced-"
/* Array in3.part beside in3, of global programs: s64[2,rank], the sizes of the whole and the starts
 * of the part. */
#define CLI_PART ".part"

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
  int lock;     /* rank 0's: the folder is this run's; -1: none */
  uint64_t run; /* unique number of this run */
  tp_loop_t *loop;
  tp_work_t *work; /* the writing under way */
  atomic_bool stop;
  /* Rank 0's: what is in the folder. Its worker's while it writes. */
  uint64_t began;                  /* cli_manifest_t.began */
  bool replaces;                   /* --overwrite, and no new checkpoint is whole yet */
  HR_VEC(cli_retained_t) retained; /* checkpoints of this training, oldest first */
  /* --checkpoint-format tensor-bundle */
  hr_arena_t names_arena;
  hr_str_t *names;    /* by parameter: name as a variable, empty: none; NULL: no bundle is wanted */
  const char *source; /* checkpoint of the program, whose other tensors are copied; NULL: none */
  /* What is being written; the worker's until it is done. */
  uint64_t step;
  hlo_value_t **values; /* one per carried value */
  hlo_value_t *state;
  hr_status_t status;
};

/* Can the checkpoint not be used, whatever this process tries? Else the failure is of this process.
 */
bool cli_checkpoint_is_damage(hr_status_t status);
bool cli_checkpoint_is_aside(const char *name); /* torn- or replaced- */
typedef char cli_name_t[256];                   /* name of an entry of the folder */
/* Renames what is in the folder to `prefix` and its name, and a number if that is taken. */
hr_status_t cli_checkpoint_put_aside(const cli_checkpoint_t *checkpoint, const char *name,
                                     const char *prefix, cli_name_t out_aside);
/* The same to torn-, and says so. `why` is released; NULL: said before. */
void cli_checkpoint_put_torn(const cli_checkpoint_t *checkpoint, const char *name, hr_status_t why);

/* Reads carried global arrays that were cut in another way, or were whole: this process's parts of
 * them, from the files of all partitions of the first replica. `values` by parameter: those carried
 * are replaced. Cost: opens every file, copies what overlaps. Errors: USAGE for a checkpoint that
 * does not say what its arrays are parts of; INVALID; NO_MEMORY. */
hr_status_t cli_checkpoint_assemble(const cli_checkpoint_t *checkpoint, const char *step_path,
                                    const cli_manifest_t *manifest, hr_arena_t *arena,
                                    hlo_value_t **values);
/* Are the arrays of this file the parts that this process wants? */
hr_status_t cli_checkpoint_has_parts(const cli_checkpoint_t *checkpoint, const npz_t *npz,
                                     bool *out_has);

/* --checkpoint-format, and for a tensor bundle the names of variables. Errors: USAGE for another
 * format, or a program that is no TensorFlow graph. */
hr_status_t cli_checkpoint_bundle_init(cli_checkpoint_t *checkpoint);
/* On the worker thread of rank 0: the carried variables as a tensor bundle in the folder; nothing
 * if none is wanted. */
hr_status_t cli_checkpoint_bundle_write(const cli_checkpoint_t *checkpoint,
                                        const cli_folder_t *folder);

/* On a worker thread: this process's part; on rank 0 all of it. */
hr_status_t cli_checkpoint_write(cli_checkpoint_t *checkpoint);

#endif
