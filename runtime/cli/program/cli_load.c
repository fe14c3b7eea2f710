/* Loads a program on all processes. Digests of the files are compared first: processes with the
 * same bytes fail in the same way, so that one of them can report for all. */
#include "cli/program/cli_load.h"

#include "base/buffer.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/cli_agree.h"

/* A file larger than physical memory cannot be read as a program; sparse files may have any
 * size. */
static hr_status_t map_program(const char *path, hr_buffer_t **out_bytes) {
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_map_file(path, &bytes));
  size_t size = hr_buffer_size(bytes), most = hr_mem_physical_bytes();
  if (size <= most) {
    *out_bytes = bytes;
    return NULL;
  }
  hr_buffer_release(bytes);
  return hr_error(HR_INVALID, "%s has %zu MiB, too many for a program: the machine has %zu MiB",
                  path, size >> 20, most >> 20);
}

/* *out_same: true if all processes read the same bytes. Collective. */
static hr_status_t compare_files(hlorun_client_t *client, const char *path, bool *out_same) {
  *out_same = true;
  if (hlorun_client_world_size(client) == 1) return NULL;
  hr_buffer_t *bytes = NULL;
  HR_TRY(cli_agree(client, map_program(path, &bytes)));
  hr_status_t st = cli_agree_same(
      client, hr_digest_of(hr_buffer_data(bytes), hr_buffer_size(bytes)).words[0], out_same);
  hr_buffer_release(bytes);
  return st;
}

/* Errors in the text or the grid occur in all processes that read the same bytes; these agree on
 * one report. Other failures may be of this process alone. */
hr_status_t cli_load_program(hlorun_client_t *client, const char *path,
                             const hlorun_program_options_t *options,
                             hlorun_program_t **out_program, bool *out_of_step) {
  bool same;
  *out_of_step = false;
  same = false;
  if (!options->mpmd) HR_TRY(compare_files(client, path, &same));
  if (same) hr_log_begin_collective(hlorun_client_rank(client) == 0);
  hr_status_t st = hlorun_program_load(client, path, options, out_program);
  if (same) hr_log_end_collective();
  hr_code_t code = hr_status_code(st);
  bool by_the_text =
      code == HR_INVALID || code == HR_UNSUPPORTED || code == HR_USAGE || code == HR_DISAGREE;
  if (st && same && by_the_text) return cli_agree(client, st);
  *out_of_step = st != NULL;
  return st;
}
