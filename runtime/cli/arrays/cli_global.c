/* Gathering of global results, and random parameters. Every process knows the parts of all others,
 * so that nothing is announced: of equal parts the lowest rank sends its own, and rank 0 copies it
 * into the whole. Cost: each element of a result is sent once; rank 0 holds the whole and one more
 * part. */
#include "cli/arrays/cli_global.h"

#include <string.h>

#include "cli/arrays/cli_part.h"
#include "cli/arrays/cli_random.h"
#include "ir/shape.h"

typedef struct gatherer {
  hlorun_client_t *client;
  const hlorun_program_t *program;
  int rank, partitions;
} gatherer_t;

bool cli_global_has(const hlorun_program_t *program, int result_count) {
  int64_t dims[HLO_MAX_RANK], starts[HLO_MAX_RANK];
  for (int k = 0; k < result_count; k++)
    if (hlorun_program_part(program, true, k, 0, dims, starts)) return true;
  return false;
}

/* True if no lower rank has the same part. */
static bool is_first_holder(const gatherer_t *gatherer, int k, int rank, int process,
                            const int64_t *starts) {
  int64_t dims[HLO_MAX_RANK], others[HLO_MAX_RANK];
  for (int p = 0; p < process; p++)
    if (hlorun_program_part(gatherer->program, true, k, p, dims, others) &&
        !memcmp(starts, others, (size_t)rank * sizeof *starts))
      return false;
  return true;
}

static void place(hlo_value_t *whole, const int64_t *starts, const hlo_value_t *part) {
  static const int64_t zeros[HLO_MAX_RANK];
  cli_box_copy(part->rank, part->dims, hr_dtype_bytes(part->dtype), whole->data,
               (cli_box_side_t){whole->dims, starts}, part->data,
               (cli_box_side_t){part->dims, zeros});
}

hr_status_t cli_global_random(const cli_signature_t *signature, int k, int rank,
                              const cli_random_t *random, hlo_value_t **out_value) {
  const hlo_shape_t *local = signature->params[k];
  cli_part_t cut;
  cli_part_of(&(cli_arg_t){signature, false, k, false}, rank, &cut);
  if (!cut.is_cut) return cli_random_value(local, k, random, out_value);
  hlo_shape_t shape = *local;
  hlo_value_t *whole;
  shape.dims = cut.whole;
  HR_TRY(cli_random_value(&shape, k, random, &whole));
  hr_status_t st = cli_part_cut(&cut, whole, out_value);
  hlo_value_release(whole);
  return st;
}

/* Receives each different part of result k from the first process that has it. */
static hr_status_t receive_parts(const gatherer_t *gatherer, int k, hlo_value_t *whole,
                                 hlo_value_t *part) {
  int64_t dims[HLO_MAX_RANK], starts[HLO_MAX_RANK];
  for (int p = 1; p < gatherer->partitions; p++) {
    if (!hlorun_program_part(gatherer->program, true, k, p, dims, starts)) continue;
    if (!is_first_holder(gatherer, k, part->rank, p, starts)) continue;
    HR_TRY(hlorun_client_recv(gatherer->client, p, part->data, hlo_value_bytes(part)));
    place(whole, starts, part);
  }
  return NULL;
}

/* On rank 0: the whole of result k from the parts of all processes. */
static hr_status_t collect(const gatherer_t *gatherer, int k, const hlo_value_t *own,
                           hlo_value_t **out_whole) {
  int64_t dims[HLO_MAX_RANK], starts[HLO_MAX_RANK];
  hlo_value_t *whole = NULL, *part = NULL;
  hlorun_program_part(gatherer->program, true, k, 0, dims, starts);
  HR_TRY(hlo_value_array(own->dtype, own->rank, dims, &whole));
  hr_status_t st = hlo_value_array(own->dtype, own->rank, own->dims, &part);
  if (!st) {
    place(whole, starts, own);
    st = receive_parts(gatherer, k, whole, part);
  }
  hlo_value_release(part);
  if (st)
    hlo_value_release(whole);
  else
    *out_whole = whole;
  return st;
}

static hr_status_t give(const gatherer_t *gatherer, int k, const hlo_value_t *own,
                        const int64_t *starts) {
  bool sends = gatherer->rank < gatherer->partitions &&
               is_first_holder(gatherer, k, own->rank, gatherer->rank, starts);
  return sends ? hlorun_client_send(gatherer->client, 0, own->data, hlo_value_bytes(own)) : NULL;
}

hr_status_t cli_global_gather(hlorun_client_t *client, const hlorun_program_t *program, int count,
                              hlo_value_t *const *results, hlo_value_t **out_wholes) {
  gatherer_t gatherer = {client, program, hlorun_client_rank(client),
                         hlorun_program_num_partitions(program)};
  int64_t dims[HLO_MAX_RANK], starts[HLO_MAX_RANK];
  for (int k = 0; k < count; k++) {
    bool is_part = hlorun_program_part(program, true, k, gatherer.rank, dims, starts);
    if (is_part && gatherer.rank)
      HR_TRY(give(&gatherer, k, results[k], starts));
    else if (is_part)
      HR_TRY(collect(&gatherer, k, results[k], &out_wholes[k]));
    else if (!gatherer.rank)
      out_wholes[k] = hlo_value_retain(results[k]);
  }
  return NULL;
}

void cli_global_release(int count, hlo_value_t **wholes) {
  for (int k = 0; k < count; k++) hlo_value_release(wholes[k]);
}
