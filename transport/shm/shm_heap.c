/* First fit in a list of pieces, sorted by address and merged when freed; the list is private
 * memory, inaccessible to other processes. The file grows by fallocate in steps of two large pages
 * (128 KiB while the heap is small) before memory is touched, so that a full file system fails here
 * and not by SIGBUS. */
#include "transport/shm/shm_heap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/vec.h"
#include "transport/shm/shm_file.h"

#define ALIGNMENT 4096
#define GROWTH (2 * TP_SHM_LARGE_PAGE)
#define SMALL_GROWTH (UINT64_C(128) << 10)
#define SMALL_BYTES \
  GROWTH /* size up to which a heap grows in small steps, as there may be very many heaps */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

typedef struct piece {
  uint64_t start, size; /* bytes from the start of the heap */
  bool used;
} piece_t;

struct tp_shm_heap {
  int fd;
  char *base, *start;
  uint64_t size_bytes, file_bytes; /* file_bytes: length for which the file has memory */
  int error;
  bool only_small_pages; /* the kernel has no large pages for this file */
  pthread_mutex_t lock;
  HR_VEC(piece_t) pieces; /* in the order of their addresses, without gaps */
};

bool tp_shm_heap_create(int fd, char *base, char *start, uint64_t size_bytes,
                        tp_shm_heap_t **out_heap) {
  void *memory;
  hr_status_t st = hr_alloc_zeroed(sizeof(tp_shm_heap_t), &memory);
  if (st) {
    hr_status_release(st);
    return false;
  }
  tp_shm_heap_t *heap = memory;
  heap->fd = fd;
  heap->base = base;
  heap->start = start;
  heap->size_bytes = size_bytes;
  pthread_mutex_init(&heap->lock, NULL);
  *out_heap = heap;
  return true;
}

void tp_shm_heap_destroy(tp_shm_heap_t *heap) {
  if (!heap) return;
  pthread_mutex_destroy(&heap->lock);
  HR_VEC_FREE(&heap->pieces);
  hr_free(heap);
}

/* Makes a part of the file one large page, in which copies need no address translation per 4 KiB:
 * the kernel converts a part that has at least one page. False: the kernel refuses, or there is no
 * memory. */
static bool take_large_page(const tp_shm_heap_t *heap, uint64_t at) {
  uint64_t in_file = (uint64_t)(heap->start - heap->base) + at;
  return !tp_shm_file_reserve(heap->fd, in_file, ALIGNMENT) &&
         !madvise(heap->start + at, TP_SHM_LARGE_PAGE, MADV_COLLAPSE);
}

/* Makes large pages for the heap up to `end`; converts a heap that was small as a whole. */
static void take_large_pages(tp_shm_heap_t *heap, uint64_t end) {
  uint64_t page = heap->file_bytes <= SMALL_BYTES ? 0 : heap->file_bytes;
  for (; page + TP_SHM_LARGE_PAGE <= end && !heap->only_small_pages; page += TP_SHM_LARGE_PAGE)
    heap->only_small_pages = !take_large_page(heap, page);
}

static bool make_room(tp_shm_heap_t *heap, uint64_t end) {
  if (end <= heap->file_bytes) return true;
  uint64_t unit = end <= SMALL_BYTES ? SMALL_GROWTH : GROWTH,
           grown = (end + unit - 1) / unit * unit;
  uint64_t at = (uint64_t)(heap->start - heap->base) + heap->file_bytes;
  if (grown > heap->size_bytes) {
    heap->error = ENOMEM;
    return false;
  }
  if (grown > SMALL_BYTES) take_large_pages(heap, grown);
  heap->error = tp_shm_file_reserve(heap->fd, at, grown - heap->file_bytes);
  if (heap->error) return false;
  heap->file_bytes = grown;
  return true;
}

/* Inserts a piece at `index`, before the existing ones. */
static bool insert_piece(tp_shm_heap_t *heap, size_t index, piece_t piece) {
  hr_status_t st = HR_VEC_RESERVE(&heap->pieces, heap->pieces.count + 1);
  if (st) {
    hr_status_release(st);
    heap->error = ENOMEM;
    return false;
  }
  piece_t *at = heap->pieces.data + index;
  memmove(at + 1, at, (heap->pieces.count - index) * sizeof *at);
  *at = piece;
  heap->pieces.count++;
  return true;
}

/* The first free piece that is long enough, cut to size; else a new one at the end. */
static void *take_piece(tp_shm_heap_t *heap, uint64_t size) {
  size_t i = 0;
  uint64_t end = 0;
  for (; i < heap->pieces.count; i++) {
    piece_t *piece = &heap->pieces.data[i];
    end = piece->start + piece->size;
    if (piece->used || piece->size < size) continue;
    piece_t rest = {piece->start + size, piece->size - size, false};
    if (rest.size && !insert_piece(heap, i + 1, rest)) return NULL;
    heap->pieces.data[i].size = size;
    heap->pieces.data[i].used = true;
    return heap->start + heap->pieces.data[i].start;
  }
  if (!make_room(heap, end + size) || !insert_piece(heap, i, (piece_t){end, size, true}))
    return NULL;
  return heap->start + end;
}

void *tp_shm_heap_alloc(tp_shm_heap_t *heap, size_t size_bytes) {
  uint64_t size = ((uint64_t)size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (!size) size = ALIGNMENT;
  pthread_mutex_lock(&heap->lock);
  void *memory = take_piece(heap, size);
  pthread_mutex_unlock(&heap->lock);
  return memory;
}

int tp_shm_heap_error(const tp_shm_heap_t *heap) { return heap->error; }

static void join_with_next(tp_shm_heap_t *heap, size_t i) {
  piece_t *pieces = heap->pieces.data;
  if (i + 1 >= heap->pieces.count || pieces[i].used || pieces[i + 1].used) return;
  pieces[i].size += pieces[i + 1].size;
  memmove(pieces + i + 1, pieces + i + 2, (heap->pieces.count - i - 2) * sizeof *pieces);
  heap->pieces.count--;
}

void tp_shm_heap_free(tp_shm_heap_t *heap, void *memory) {
  if (!memory) return;
  pthread_mutex_lock(&heap->lock);
  uint64_t start = (uint64_t)((char *)memory - heap->start);
  size_t i = 0;
  while (i < heap->pieces.count && heap->pieces.data[i].start != start) i++;
  hr_assert(i < heap->pieces.count);
  heap->pieces.data[i].used = false;
  join_with_next(heap, i);
  if (i) join_with_next(heap, i - 1);
  pthread_mutex_unlock(&heap->lock);
}
