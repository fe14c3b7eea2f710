/* Checkpoints in TensorFlow's format, written besides the arrays from which a run resumes.
 * Replicas have the same variables, so that those of rank 0 are sufficient. */
#include <string.h>

#include "cli/checkpoint/cli_checkpoint_parts.h"
#include "cli/program/cli_tf.h"
#include "tf/file/tensor_bundle.h"

hr_status_t cli_checkpoint_bundle_init(cli_checkpoint_t *checkpoint) {
  const char *format = hr_option_text(checkpoint->from.options, HR_OPTION_CHECKPOINT_FORMAT);
  int count = checkpoint->from.signature->param_count;
  hr_str_t *names;
  if (!format || !strcmp(format, "npz")) return NULL;
  if (strcmp(format, "tensor-bundle"))
    return hr_error(HR_USAGE, "--checkpoint-format %s: want npz or tensor-bundle", format);
  HR_TRY(HR_NEW_ARRAY(&checkpoint->names_arena, count, &names));
  HR_TRY(cli_tf_variables(checkpoint->from.program_path, &checkpoint->names_arena, count, names,
                          &checkpoint->source));
  checkpoint->names = names;
  return NULL;
}

/* The carried values that are variables. */
static hr_status_t list_changes(const cli_checkpoint_t *checkpoint, hr_arena_t *arena,
                                int *out_count, tensor_change_t **out_changes) {
  const cli_carry_t *carry = checkpoint->from.carry;
  *out_count = 0;
  HR_TRY(HR_NEW_ARRAY(arena, carry->count, out_changes));
  for (size_t i = 0; i < carry->count; i++) {
    hr_str_t name = checkpoint->names[carry->data[i].in];
    if (name.size) (*out_changes)[(*out_count)++] = (tensor_change_t){name, checkpoint->values[i]};
  }
  return NULL;
}

/* Writes PREFIX.*, with the other tensors of the program's own checkpoint. */
static hr_status_t write_bundle(const cli_checkpoint_t *checkpoint, hr_arena_t *arena,
                                const char *prefix) {
  tensor_bundle_t source = {0};
  tensor_change_t *changes;
  int count;
  HR_TRY(list_changes(checkpoint, arena, &count, &changes));
  if (checkpoint->source) HR_TRY(tensor_bundle_open(arena, checkpoint->source, &source));
  hr_status_t st = tensor_bundle_write(prefix, checkpoint->source ? &source : NULL, count, changes);
  tensor_bundle_close(&source);
  return st;
}

hr_status_t cli_checkpoint_bundle_write(const cli_checkpoint_t *checkpoint,
                                        const cli_folder_t *folder) {
  hr_arena_t arena;
  const char *prefix;
  if (!checkpoint->names) return NULL;
  hr_arena_init(&arena);
  hr_status_t st = hr_arena_printf(&arena, &prefix, "%s/variables", folder->path);
  if (!st) st = write_bundle(checkpoint, &arena, prefix);
  hr_arena_deinit(&arena);
  return hr_status_note(st, "while writing the variables of a checkpoint");
}
