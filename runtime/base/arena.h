/* Memory that is freed as a whole: one arena per module, per plan, and a scratch one per worker.
 * Thread: one at a time. */
#ifndef HR_BASE_ARENA_H
#define HR_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hr_arena_block hr_arena_block_t;

typedef struct hr_arena {
  hr_arena_block_t *head; /* list of blocks, the current one first */
  size_t used_bytes;      /* bytes handed out of the head block */
  size_t total_bytes;     /* bytes of all blocks */
  bool is_fenced;         /* each allocation is a block between fences (base/fence.h) */
} hr_arena_t;

/* A byte string; not NUL-terminated unless it came from hr_arena_str*. */
typedef struct hr_str {
  const char *data;
  size_t size;
} hr_str_t;
#define HR_STR(literal) ((hr_str_t){(literal), sizeof(literal) - 1})
#define HR_STR_ARGS(s) (int)(s).size, (s).data /* for "%.*s" */

/* A list of int64. */
typedef struct hr_ints {
  const int64_t *data;
  int64_t count;
} hr_ints_t;

void hr_arena_init(hr_arena_t *arena);        /* empty: allocates nothing */
void hr_arena_init_fenced(hr_arena_t *arena); /* the same, fenced if fences are on */
void hr_arena_deinit(hr_arena_t *arena);      /* frees everything */
void hr_arena_reset(
    hr_arena_t *arena); /* frees everything but the largest block, which is used again */

/* A mark: hr_arena_rewind frees everything allocated after it. Marks nest. */
typedef struct hr_arena_mark {
  hr_arena_block_t *block;
  size_t used_bytes;
} hr_arena_mark_t;
static inline hr_arena_mark_t hr_arena_mark(const hr_arena_t *arena) {
  return (hr_arena_mark_t){arena->head, arena->used_bytes};
}
void hr_arena_rewind(hr_arena_t *arena, hr_arena_mark_t mark);

/* Aligned to 16 bytes (to HR_ALIGNMENT from 64 bytes on). Not cleared. */
hr_status_t hr_arena_alloc(hr_arena_t *arena, size_t size_bytes, void **out_memory);
hr_status_t hr_arena_zeroed(hr_arena_t *arena, size_t size_bytes, void **out_memory);
hr_status_t hr_arena_copy(hr_arena_t *arena, const void *bytes, size_t size_bytes,
                          void **out_memory);
hr_status_t hr_arena_str(hr_arena_t *arena, hr_str_t from,
                         hr_str_t *out_str); /* the copy ends in NUL */
hr_status_t hr_arena_cstr(hr_arena_t *arena, hr_str_t from, const char **out_cstr);
hr_status_t hr_arena_printf(hr_arena_t *arena, const char **out_cstr, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
hr_status_t hr_arena_ints(hr_arena_t *arena, const int64_t *values, int64_t count,
                          hr_ints_t *out_ints);

/* Typed allocation: HR_NEW(arena, &pointer) and HR_NEW_ARRAY(arena, count, &pointer), cleared. */
#define HR_NEW(arena, out_pointer) \
  hr_arena_zeroed((arena), sizeof **(out_pointer), (void **)(out_pointer))
#define HR_NEW_ARRAY(arena, count, out_pointer) \
  hr_arena_array((arena), (size_t)(count), sizeof **(out_pointer), (void **)(out_pointer))
hr_status_t hr_arena_array(hr_arena_t *arena, size_t count, size_t each, void **out_memory);

static inline bool hr_str_equal(hr_str_t a, hr_str_t b) {
  return a.size == b.size && (a.size == 0 || __builtin_memcmp(a.data, b.data, a.size) == 0);
}
hr_str_t hr_str_from(const char *cstr); /* NULL gives the empty string */
bool hr_str_is(hr_str_t a, const char *cstr);

#endif
