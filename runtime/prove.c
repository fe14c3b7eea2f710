/* The joint deadlock proof. All ranks exchange digests of their programs (all-gather); rank 0
 * receives one copy of each different program, reads and plans it, and proves the schedule of all
 * (compiler_prove). The verdict is broadcast: one refusal stops every rank. Cost: one all-gather,
 * the texts of different programs up to ALL_BYTES_MAX, and the proof on rank 0. */
#include "prove.h"

#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "compiler.h"
#include "ops/rules/verify.h"
#include "partition/program.h"
#include "read/read.h"

#define PROGRAM_BYTES_MAX (4u << 20) /* size of one program */
#define ALL_BYTES_MAX (32u << 20)    /* size of all different programs */

typedef struct program_digest {
  hr_digest_t text;
  uint64_t size_bytes;
} program_digest_t;

typedef struct prover {
  exec_comm_t *comm;
  const plan_t *plan;
  int rank, world;
  hr_arena_t arena;
  program_digest_t *digests; /* by rank */
  int *first;                /* by rank: the lowest rank with the same program */
  check_program_t *programs; /* on rank 0, by rank */
} prover_t;

static hr_str_t text_of_rank(const prover_t *prover) {
  const hr_source_t *source = &prover->plan->module->source;
  return (hr_str_t){source->text, source->size_bytes};
}

static hr_status_t compare_digests(prover_t *prover, bool *out_short_enough) {
  hr_str_t text = text_of_rank(prover);
  program_digest_t mine = {hr_digest_of(text.data, text.size), text.size};
  uint64_t all_bytes = 0;
  HR_TRY(HR_NEW_ARRAY(&prover->arena, prover->world, &prover->digests));
  HR_TRY(HR_NEW_ARRAY(&prover->arena, prover->world, &prover->first));
  HR_TRY(exec_comm_all_gather(prover->comm, &mine, sizeof mine, prover->digests));
  *out_short_enough = true;
  for (int r = 0; r < prover->world; r++) {
    const program_digest_t *digest = &prover->digests[r];
    prover->first[r] = r;
    for (int other = 0; other < r; other++)
      if (!memcmp(digest, &prover->digests[other], sizeof *digest)) {
        prover->first[r] = other;
        break;
      }
    if (prover->first[r] == r) all_bytes += digest->size_bytes;
    if (digest->size_bytes > PROGRAM_BYTES_MAX || all_bytes > ALL_BYTES_MAX)
      *out_short_enough = false;
  }
  return NULL;
}

/* --- rank 0 --- */

/* The name and the text of another rank's program. */
static hr_status_t receive(prover_t *prover, int from, const char **out_path,
                           hr_buffer_t **out_text) {
  uint64_t path_size;
  char *path;
  hr_buffer_t *text;
  HR_TRY(exec_comm_recv(prover->comm, from, &path_size, sizeof path_size));
  HR_TRY(HR_NEW_ARRAY(&prover->arena, path_size + 1, &path));
  HR_TRY(exec_comm_recv(prover->comm, from, path, path_size));
  HR_TRY(hr_buffer_create(prover->digests[from].size_bytes, &text));
  hr_status_t st = exec_comm_recv(prover->comm, from, hr_buffer_data(text), hr_buffer_size(text));
  if (st) {
    hr_buffer_release(text);
    return st;
  }
  *out_path = path;
  *out_text = text;
  return NULL;
}

/* The other rank has read, verified and planned it already. */
static hr_status_t load_program(prover_t *prover, int from, const hlo_module_t **out_module) {
  const char *path;
  hr_buffer_t *text;
  hlo_module_t *module;
  HR_TRY(receive(prover, from, &path, &text));
  hr_status_t st = read_module(path, text, &module);
  hr_buffer_release(text);
  HR_TRY(st);
  *out_module = module;
  HR_TRY(hlo_verify(module));
  spmd_options_t spmd = {.device_count = prover->world};
  return spmd_run(module, &spmd);
}

static hr_status_t collect_programs(prover_t *prover) {
  HR_TRY(HR_NEW_ARRAY(&prover->arena, prover->world, &prover->programs));
  for (int r = 0; r < prover->world; r++) {
    const hlo_module_t **module = &prover->programs[r].module;
    prover->programs[r].first_rank = r;
    prover->programs[r].last_rank = r;
    if (!r)
      *module = prover->plan->module;
    else if (prover->first[r] == r)
      HR_TRY(load_program(prover, r, module));
    else
      *module = prover->programs[prover->first[r]].module;
  }
  return NULL;
}

static void release_programs(prover_t *prover) {
  for (int r = 1; prover->programs && r < prover->world; r++)
    if (prover->first[r] == r) hlo_module_destroy((hlo_module_t *)prover->programs[r].module);
}

/* --- the others --- */

static hr_status_t send_program(prover_t *prover) {
  const char *path = prover->plan->module->source.path ? prover->plan->module->source.path : "";
  uint64_t path_size = strlen(path);
  hr_str_t text = text_of_rank(prover);
  HR_TRY(exec_comm_send(prover->comm, 0, &path_size, sizeof path_size));
  HR_TRY(exec_comm_send(prover->comm, 0, path, path_size));
  return exec_comm_send(prover->comm, 0, text.data, text.size);
}

/* --- the verdict --- */

/* Rank 0's refusal stops everybody; it alone has the report. */
static hr_status_t broadcast_verdict(prover_t *prover, hr_status_t refusal) {
  bool refused = refusal != NULL;
  hr_status_t st = exec_comm_broadcast(prover->comm, 0, &refused, sizeof refused);
  if (!st && refused && prover->rank)
    st = hr_error(HR_DISAGREE, "rank 0 refuses the programs of this run together");
  return refusal ? hr_status_join(refusal, st) : st;
}

static hr_status_t prove(prover_t *prover) {
  bool short_enough;
  HR_TRY(compare_digests(prover, &short_enough));
  if (!short_enough) return NULL;
  if (prover->rank) {
    if (prover->first[prover->rank] == prover->rank) HR_TRY(send_program(prover));
    return broadcast_verdict(prover, NULL);
  }
  HR_TRY(collect_programs(prover));
  return broadcast_verdict(prover,
                           compiler_prove(prover->programs, prover->world, prover->plan->grid));
}

hr_status_t prove_together(exec_comm_t *comm, const plan_t *plan) {
  prover_t prover = {.comm = comm,
                     .plan = plan,
                     .rank = comm->groups->endpoint->rank,
                     .world = comm->groups->endpoint->world_size};
  hr_arena_init(&prover.arena);
  hr_status_t st = prove(&prover);
  release_programs(&prover);
  hr_arena_deinit(&prover.arena);
  return st;
}
