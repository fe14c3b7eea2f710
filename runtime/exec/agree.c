#include "exec/agree.h"

#include <string.h>

#include "base/mem.h"

typedef struct digest {
  uint64_t hash;
  int64_t count;
} digest_t;

static uint64_t line_hash(const char *text) { return hr_hash_bytes(text, strlen(text), 0); }

static digest_t digest_of(const char *const *texts, int count) {
  digest_t digest = {.count = count};
  for (int i = 0; i < count; i++) {
    uint64_t mixed[] = {digest.hash, line_hash(texts[i])};
    digest.hash = hr_hash_bytes(mixed, sizeof mixed, 0);
  }
  return digest;
}

/* First line whose hash is not rank 0's; `count` lines if there are as many and all are equal: -1. */
static int64_t first_difference(const char *const *texts, int64_t count, const uint64_t *theirs, int64_t their_count) {
  int64_t common = count < their_count ? count : their_count;
  for (int64_t i = 0; i < common; i++)
    if (line_hash(texts[i]) != theirs[i]) return i;
  return count == their_count ? -1 : common;
}

/* Tells everybody rank 0's line hashes; *out_line is where this rank differs, or -1. */
static hr_status_t compare_with_first(exec_comm_t *comm, const char *const *texts, int count, int64_t first_count,
                                      int64_t *out_line) {
  void *memory;
  size_t bytes;
  HR_TRY(hr_size_product((size_t)first_count, sizeof(uint64_t), &bytes));
  HR_TRY(hr_alloc(bytes, &memory));
  uint64_t *hashes = memory;
  if (comm->groups->endpoint->rank == 0)
    for (int i = 0; i < count; i++) hashes[i] = line_hash(texts[i]);
  hr_status_t st = exec_comm_broadcast(comm, 0, hashes, bytes);
  if (!st) *out_line = first_difference(texts, count, hashes, first_count);
  hr_free(memory);
  return st;
}

/* Rank `root`'s line for everybody; a rank that has no such line says so. */
static hr_status_t share_line(exec_comm_t *comm, int root, const char *const *texts, int count, int64_t line,
                              hr_arena_t *arena, const char **out_text) {
  const char *mine = line < count ? texts[line] : "(nothing more)";
  uint64_t size = strlen(mine);
  void *memory;
  HR_TRY(exec_comm_broadcast(comm, root, &size, sizeof size));
  HR_TRY(hr_arena_zeroed(arena, size + 1, &memory));
  if (comm->groups->endpoint->rank == root) memcpy(memory, mine, size);
  HR_TRY(exec_comm_broadcast(comm, root, memory, size));
  *out_text = memory;
  return NULL;
}

/* The first rank that differs from rank 0, and where. */
static hr_status_t find_difference(exec_comm_t *comm, const char *const *texts, int count, int64_t first_count,
                                   hr_arena_t *arena, int *out_rank, int64_t *out_line) {
  int64_t mine = -1, *lines;
  int world_size = comm->groups->endpoint->world_size;
  HR_TRY(HR_NEW_ARRAY(arena, world_size, &lines));
  HR_TRY(compare_with_first(comm, texts, count, first_count, &mine));
  HR_TRY(exec_comm_all_gather(comm, &mine, sizeof mine, lines));
  *out_rank = 0;
  for (int r = world_size - 1; r > 0; r--)
    if (lines[r] >= 0) *out_rank = r, *out_line = lines[r];
  return NULL;
}

static hr_status_t explain(exec_comm_t *comm, const char *const *texts, int count, int64_t first_count,
                           hr_arena_t *arena) {
  int other = 0;
  int64_t line = 0;
  const char *first_text, *other_text;
  HR_TRY(find_difference(comm, texts, count, first_count, arena, &other, &line));
  if (!other) return hr_error(HR_DISAGREE, "processes run different programs");
  HR_TRY(share_line(comm, 0, texts, count, line, arena, &first_text));
  HR_TRY(share_line(comm, other, texts, count, line, arena, &other_text));
  hr_status_t st = hr_error(HR_DISAGREE, "rank %d runs another program than rank 0: communication %ld differs", other,
                            (long)line + 1);
  st = hr_status_note(st, "rank 0: %s", first_text);
  return hr_status_note(st, "rank %d: %s", other, other_text);
}

hr_status_t exec_agree(exec_comm_t *comm, const char *const *texts, int count) {
  hr_arena_t arena;
  digest_t mine = digest_of(texts, count), *all;
  int world_size = comm->groups->endpoint->world_size;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, world_size, &all);
  if (!st) st = exec_comm_all_gather(comm, &mine, sizeof mine, all);
  bool agree = true;
  for (int r = 1; r < world_size && !st; r++) agree = agree && !memcmp(&all[r], &all[0], sizeof *all);
  if (!st && !agree) st = explain(comm, texts, count, all[0].count, &arena);
  hr_arena_deinit(&arena);
  return st;
}
