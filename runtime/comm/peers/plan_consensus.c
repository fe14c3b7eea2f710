/* Consistency of one program's plan between ranks. In agreement: one all-gather of a digest and a
 * count. Otherwise rank 0 broadcasts digests per line, each rank finds its first difference, and
 * the two lines of the lowest rank that differs are broadcast for the message. */
#include "comm/peers/plan_consensus.h"

#include <string.h>

#include "base/digest.h"
#include "base/mem.h"

/* Digest of all lines of a rank. */
typedef struct summary {
  hr_digest_t lines;
  int64_t count;
} summary_t;

static hr_digest_t digest_of_line(const char *text) { return hr_digest_of(text, strlen(text)); }

static summary_t summary_of(const char *const *texts, int count) {
  hr_digest_state_t state;
  hr_digest_start(&state);
  for (int i = 0; i < count; i++) {
    hr_digest_t line = digest_of_line(texts[i]);
    hr_digest_add(&state, &line, sizeof line);
  }
  return (summary_t){hr_digest_end(&state), count};
}

/* First line whose digest differs from rank 0's; the lower count if only the numbers of lines
 * differ; -1: none. */
static int64_t first_difference(const char *const *texts, int64_t count, const hr_digest_t *theirs,
                                int64_t their_count) {
  int64_t common = count < their_count ? count : their_count;
  for (int64_t i = 0; i < common; i++)
    if (!hr_digest_equal(digest_of_line(texts[i]), theirs[i])) return i;
  return count == their_count ? -1 : common;
}

/* Broadcasts the digests of rank 0's lines; *out_line is the first difference of this rank, or
 * -1. */
static hr_status_t compare_with_first(exec_comm_t *comm, const char *const *texts, int count,
                                      int64_t first_count, int64_t *out_line) {
  void *memory;
  size_t bytes;
  HR_TRY(hr_size_product((size_t)first_count, sizeof(hr_digest_t), &bytes));
  HR_TRY(hr_alloc(bytes, &memory));
  hr_digest_t *digests = memory;
  if (comm->groups->endpoint->rank == 0)
    for (int i = 0; i < count; i++) digests[i] = digest_of_line(texts[i]);
  hr_status_t st = exec_comm_broadcast(comm, 0, digests, bytes);
  if (!st) *out_line = first_difference(texts, count, digests, first_count);
  hr_free(memory);
  return st;
}

/* Broadcasts rank `root`'s line, or "(end of program)" if it has fewer. */
static hr_status_t share_line(exec_comm_t *comm, int root, const char *const *texts, int count,
                              int64_t line, hr_arena_t *arena, const char **out_text) {
  const char *mine = line < count ? texts[line] : "(end of program)";
  uint64_t size = strlen(mine);
  void *memory;
  HR_TRY(exec_comm_broadcast(comm, root, &size, sizeof size));
  HR_TRY(hr_arena_zeroed(arena, size + 1, &memory));
  if (comm->groups->endpoint->rank == root) memcpy(memory, mine, size);
  HR_TRY(exec_comm_broadcast(comm, root, memory, size));
  *out_text = memory;
  return NULL;
}

/* The first rank that differs from rank 0, and its first line that differs. */
static hr_status_t find_difference(exec_comm_t *comm, const char *const *texts, int count,
                                   int64_t first_count, hr_arena_t *arena, int *out_rank,
                                   int64_t *out_line) {
  int64_t mine = -1, *lines;
  int world_size = comm->groups->endpoint->world_size;
  HR_TRY(HR_NEW_ARRAY(arena, world_size, &lines));
  HR_TRY(compare_with_first(comm, texts, count, first_count, &mine));
  HR_TRY(exec_comm_all_gather(comm, &mine, sizeof mine, lines));
  *out_rank = 0;
  for (int r = world_size - 1; r > 0; r--)
    if (lines[r] >= 0) {
      *out_rank = r;
      *out_line = lines[r];
    }
  return NULL;
}

/* "rank 1: jit_f (train.py:12): all-reduce ...", from the rank itself. */
static hr_status_t describe_line(exec_comm_t *comm, int rank, const char *title,
                                 const char *const *texts, int count, int64_t line,
                                 hr_arena_t *arena, const char **out_text) {
  const char *name, *text;
  HR_TRY(share_line(comm, rank, &title, 1, 0, arena, &name));
  HR_TRY(share_line(comm, rank, texts, count, line, arena, &text));
  return hr_arena_printf(arena, out_text, "rank %d: %s%s%s", rank, name, *name ? ": " : "", text);
}

static hr_status_t report_difference(exec_comm_t *comm, const char *title, const char *const *texts,
                                     int count, int64_t first_count, hr_arena_t *arena) {
  int other = 0;
  int64_t line = 0;
  const char *first_text, *other_text;
  HR_TRY(find_difference(comm, texts, count, first_count, arena, &other, &line));
  if (!other) return hr_error(HR_DISAGREE, "processes run different programs");
  HR_TRY(describe_line(comm, 0, title, texts, count, line, arena, &first_text));
  HR_TRY(describe_line(comm, other, title, texts, count, line, arena, &other_text));
  hr_status_t st = hr_error(
      HR_DISAGREE, "rank %d runs a different program than rank 0: communication %ld differs", other,
      (long)line + 1);
  st = hr_status_note(st, "%s", first_text);
  return hr_status_note(st, "%s", other_text);
}

hr_status_t plan_consensus(exec_comm_t *comm, const char *title, const char *const *texts,
                           int count) {
  hr_arena_t arena;
  summary_t mine = summary_of(texts, count), *all;
  int world_size = comm->groups->endpoint->world_size;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, world_size, &all);
  if (!st) st = exec_comm_all_gather(comm, &mine, sizeof mine, all);
  bool agree = true;
  for (int r = 1; r < world_size && !st; r++)
    agree = agree && !memcmp(&all[r], &all[0], sizeof *all);
  if (!st && !agree) st = report_difference(comm, title, texts, count, all[0].count, &arena);
  hr_arena_deinit(&arena);
  return st;
}
