/* An arena is a list of blocks, the current one first; allocation advances an offset in it. Blocks
 * double in size from 16 KiB to 4 MiB; a larger request gets a block of its own. Rewinding to a
 * mark frees the blocks begun since, except the first. Fenced arenas give each allocation a block
 * between guard pages. */
#include "base/decimal.h"
#include "base/arena.h"

#include <stdio.h>
#include <string.h>

#include "base/arena_own.h"
#include "base/fence.h"
#include "base/mem.h"

#define FIRST_BLOCK_BYTES ((size_t)16 << 10)
#define LARGEST_STEP_BYTES \
  ((size_t)4 << 20) /* blocks double up to this size; larger requests get their own */

struct hr_arena_block {
  hr_arena_block_t *next;
  size_t size_bytes; /* size of bytes[], or of the memory after the fence */
  hr_fence_t *fence; /* memory of the only allocation of a fenced arena; else NULL */
  /* object that ends with the block; NULL functions: none */
  void *owned;
  void (*destroy)(void *owned);
  _Alignas(HR_ALIGNMENT) unsigned char bytes[];
};

void hr_arena_init(hr_arena_t *arena) { *arena = (hr_arena_t){0}; }

void hr_arena_init_fenced(hr_arena_t *arena) {
  *arena = (hr_arena_t){.is_fenced = hr_fence_is_on()};
}

static void destroy_owned(hr_arena_block_t *block) {
  if (block->destroy) block->destroy(block->owned);
  block->destroy = NULL;
}

static void free_block(hr_arena_block_t *block) {
  if (!block) return;
  destroy_owned(block);
  hr_fence_destroy(block->fence);
  hr_free(block);
}

void hr_arena_deinit(hr_arena_t *arena) {
  for (hr_arena_block_t *block = arena->head, *next; block; block = next) {
    next = block->next;
    free_block(block);
  }
  *arena = (hr_arena_t){.is_fenced = arena->is_fenced};
}

/* The largest block is kept, so that a loop of resets allocates once. */
void hr_arena_reset(hr_arena_t *arena) {
  hr_arena_block_t *largest = NULL;
  for (hr_arena_block_t *block = arena->head; block; block = block->next) destroy_owned(block);
  for (hr_arena_block_t *block = arena->head, *next; block; block = next) {
    next = block->next;
    hr_arena_block_t *loser = block;
    if (!largest || block->size_bytes > largest->size_bytes) {
      loser = largest;
      largest = block;
    }
    free_block(loser);
  }
  if (largest) largest->next = NULL;
  arena->head = largest;
  arena->used_bytes = 0;
  arena->total_bytes = largest ? largest->size_bytes : 0;
}

/* The first block is kept even if the mark is older, so that a loop of marks and rewinds allocates
 * once. */
void hr_arena_rewind(hr_arena_t *arena, hr_arena_mark_t mark) {
  while (arena->head != mark.block && arena->head->next) {
    hr_arena_block_t *next = arena->head->next;
    arena->total_bytes -= arena->head->size_bytes;
    free_block(arena->head);
    arena->head = next;
  }
  if (arena->head && arena->head != mark.block) destroy_owned(arena->head);
  arena->used_bytes = mark.block ? mark.used_bytes : 0;
}

/* The rest of the current block is given up. */
static hr_status_t add_block(hr_arena_t *arena, size_t at_least) {
  size_t size = arena->head ? arena->head->size_bytes * 2 : FIRST_BLOCK_BYTES;
  if (size > LARGEST_STEP_BYTES) size = LARGEST_STEP_BYTES;
  if (size < at_least) size = at_least;
  if (size + sizeof(hr_arena_block_t) < size)
    return hr_error(HR_NO_MEMORY, "cannot allocate %zu bytes", at_least);
  void *memory;
  HR_TRY(hr_alloc(sizeof(hr_arena_block_t) + size, &memory));
  hr_arena_block_t *block = memory;
  *block = (hr_arena_block_t){.next = arena->head, .size_bytes = size};
  arena->head = block;
  arena->used_bytes = 0;
  arena->total_bytes += size;
  return NULL;
}

/* Allocates a block for this request alone. */
static hr_status_t alloc_fenced(hr_arena_t *arena, size_t size_bytes, void **out_memory) {
  hr_fence_t *fence;
  void *memory;
  HR_TRY(hr_fence_create(size_bytes, &fence));
  hr_status_t st = hr_alloc(sizeof(hr_arena_block_t), &memory);
  if (st) {
    hr_fence_destroy(fence);
    return st;
  }
  hr_arena_block_t *block = memory;
  *block = (hr_arena_block_t){arena->head, size_bytes, fence, NULL, NULL};
  arena->head = block;
  arena->total_bytes += size_bytes;
  *out_memory = hr_fence_data(fence);
  return NULL;
}

/* Small requests are aligned to 16 bytes, large ones to HR_ALIGNMENT. Alignment is relative to
 * bytes[], which is aligned itself. */
hr_status_t hr_arena_alloc(hr_arena_t *arena, size_t size_bytes, void **out_memory) {
  if (arena->is_fenced) return alloc_fenced(arena, size_bytes, out_memory);
  size_t align = size_bytes >= HR_ALIGNMENT ? HR_ALIGNMENT : 16;
  size_t start = (arena->used_bytes + align - 1) & ~(align - 1);
  if (!arena->head || start > arena->head->size_bytes ||
      size_bytes > arena->head->size_bytes - start) {
    HR_TRY(add_block(arena, size_bytes));
    start = 0;
  }
  arena->used_bytes = start + size_bytes;
  *out_memory = arena->head->bytes + start;
  return NULL;
}

/* Starts a new block for the object, as rewinding frees whole blocks. */
hr_status_t hr_arena_own(hr_arena_t *arena, void *object, void (*destroy)(void *object)) {
  HR_TRY(add_block(arena, 0));
  arena->head->owned = object;
  arena->head->destroy = destroy;
  return NULL;
}

hr_status_t hr_arena_zeroed(hr_arena_t *arena, size_t size_bytes, void **out_memory) {
  HR_TRY(hr_arena_alloc(arena, size_bytes, out_memory));
  memset(*out_memory, 0, size_bytes);
  return NULL;
}

hr_status_t hr_arena_array(hr_arena_t *arena, size_t count, size_t each, void **out_memory) {
  size_t bytes;
  HR_TRY(hr_size_product(count, each, &bytes));
  return hr_arena_zeroed(arena, bytes, out_memory);
}

hr_status_t hr_arena_copy(hr_arena_t *arena, const void *bytes, size_t size_bytes,
                          void **out_memory) {
  HR_TRY(hr_arena_alloc(arena, size_bytes, out_memory));
  if (size_bytes) memcpy(*out_memory, bytes, size_bytes);
  return NULL;
}

/* The copy has a terminating zero,  which its size leaves out. */
hr_status_t hr_arena_str(hr_arena_t *arena, hr_str_t from, hr_str_t *out_str) {
  void *memory;
  HR_TRY(hr_arena_alloc(arena, from.size + 1, &memory));
  char *text = memory;
  if (from.size) memcpy(text, from.data, from.size);
  text[from.size] = 0;
  *out_str = (hr_str_t){text, from.size};
  return NULL;
}

hr_status_t hr_arena_cstr(hr_arena_t *arena, hr_str_t from, const char **out_cstr) {
  hr_str_t copy;
  HR_TRY(hr_arena_str(arena, from, &copy));
  *out_cstr = copy.data;
  return NULL;
}

/* Formatted twice: once for the size. */
hr_status_t hr_arena_printf(hr_arena_t *arena, const char **out_cstr, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int size = hr_vsnprintf(NULL, 0, format, args);
  va_end(args);
  void *memory = NULL;
  hr_status_t st = hr_arena_alloc(arena, (size_t)size + 1, &memory);
  if (!st) {
    hr_vsnprintf(memory, (size_t)size + 1, format, again);
    *out_cstr = memory;
  }
  va_end(again);
  return st;
}

hr_status_t hr_arena_ints(hr_arena_t *arena, const int64_t *values, int64_t count,
                          hr_ints_t *out_ints) {
  void *memory;
  HR_TRY(hr_arena_copy(arena, values, (size_t)count * sizeof *values, &memory));
  *out_ints = (hr_ints_t){memory, count};
  return NULL;
}

hr_str_t hr_str_from(const char *cstr) {
  return cstr ? (hr_str_t){cstr, strlen(cstr)} : (hr_str_t){"", 0};
}

bool hr_str_is(hr_str_t a, const char *cstr) { return hr_str_equal(a, hr_str_from(cstr)); }
