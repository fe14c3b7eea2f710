/* Memory that the processes of one machine share. A file without a name, kept by the kernel (or in
 * /dev/shm, or $TMPDIR, where processes may not reach each other's open files): a desk of every
 * process, a table of blocks, in which the members of a group tell each other how far they are, and
 * a heap of every process, which it alone allocates from and all read. Blocks and heaps take up
 * memory only where they are used. A process holds a lock on its byte of the file as long as it
 * lives: the others find out that way that it is gone. Thread: that of the endpoint, but for
 * tp_shm_alloc and tp_shm_free. */
#ifndef TP_SHM_H
#define TP_SHM_H

#include <stdatomic.h>

#include "transport/core/group.h"

#define TP_SHM_MEMBERS 255 /* of a group, at most: the sizes of an all-to-all fit into a note */
#define TP_SHM_SMALL 2048  /* bytes of a member that fit into its note */
#define TP_SHM_TINY 16     /* into the line of its counter */
#define TP_SHM_LARGE_PAGE \
  ((size_t)2 << 20) /* bytes: heaps consist of such pages where the kernel has them */

/* What a member says about one transfer. */
typedef struct tp_shm_slot {
  uint64_t staging_offset; /* of its staging memory */
  uint64_t in, out;        /* places of its arrays, */
  bool is_shared;          /* if they are in shared memory */
  bool is_offered;         /* and others may do this member's share of the work */
  _Alignas(uint64_t) char data[TP_SHM_SMALL];
} tp_shm_slot_t;

/* Written by one member, read by all. Notes are used in turn, two of them in a group: when a
 * transfer is over everybody has come to it, so nobody reads the note of the one before any more.
 */
#define TP_SHM_SLOTS 4
typedef struct tp_shm_line {
  _Alignas(64) _Atomic uint64_t count; /* steps done since the group began */
  struct {
    uint64_t transfer; /* tp_shm_transfer of it, to be compared */
    char data[TP_SHM_TINY];
  } head[TP_SHM_SLOTS]; /* of the notes, two of them in the cache line that everybody looks at */
  _Alignas(64) tp_shm_slot_t slots[TP_SHM_SLOTS];
} tp_shm_line_t;

typedef struct tp_shm_block {
  _Alignas(64) _Atomic uint64_t key; /* 0: free */
  /* Of the transfer whose number is in the upper half: pieces of work that were taken, and that are
   * done. */
  _Alignas(64) _Atomic uint64_t taken;
  _Alignas(64) _Atomic uint64_t done;
  tp_shm_line_t lines[];
} tp_shm_block_t;

/* How far a process is, where that cannot be told from its lock. */
typedef enum tp_shm_state {
  TP_SHM_EXPECTED,
  TP_SHM_HERE,
  TP_SHM_FAILED,
  TP_SHM_LEFT
} tp_shm_state_t;

/* Of a process: message slots for it, the last one on top (shm_p2p.h). */
typedef struct tp_shm_rank_state {
  _Alignas(64) _Atomic uint64_t inbox;
  _Alignas(64) _Atomic uint32_t state;
} tp_shm_rank_state_t;

typedef struct tp_shm {
  tp_groups_t *groups; /* NULL: nobody has asked for them yet */
  hr_arena_t arena;
  int fd;
  char name[512];  /* of the file: a path, or what the kernel calls it; "" if it is inherited */
  uint64_t number; /* made up; others read it to find out whether they can */
  char *base;
  size_t mapped_bytes, block_bytes;
  int local_size, my_local;
  int *local_of;       /* by rank: its place among the ranks of this machine; -1: elsewhere */
  int *process_of;     /* by rank of this machine: its process number */
  bool reads_directly; /* all processes of this machine may read each other's memory */
  struct tp_shm_heap *heap;
  struct tp_shm_staging *staging; /* all that this process has */
  atomic_int holders;             /* 1 until it is closed, and 1 for each piece of memory in use */
} tp_shm_t;

/* Finds out who is on this machine, and shares memory with them. All ranks of the world call it
 * together; it leaves *out_shm NULL, on all ranks of a machine alike, where there is nobody to
 * share with or no room for it. */
hr_status_t tp_shm_open(tp_groups_t *groups, tp_shm_t **out_shm);
void tp_shm_close(tp_shm_t *shm); /* accepts NULL */
/* The same for processes that a parent started together: a file without a name, which they inherit;
 * `out_fd` is closed when the process starts another program. Errors: UNAVAILABLE. */
hr_status_t tp_shm_file_new(int local_size, int *out_fd);
/* Takes fd over. tp_shm_open finds it as the memory of the endpoint. */
hr_status_t tp_shm_over(int fd, int local_size, int my_local, tp_shm_t **out_shm);
/* One more holder, who lets go in the end. */
void tp_shm_retain(tp_shm_t *shm);
void tp_shm_release(tp_shm_t *shm);

/* The block of this key, with lines for so many members, the same for all that ask; NULL: the table
 * is full, for all alike. */
tp_shm_block_t *tp_shm_block_of(tp_shm_t *shm, uint64_t key, int members);

/* Memory that every process of this machine can read, aligned to pages. NULL: there is no more. Any
 * thread; it may be freed after tp_shm_close too. */
void *tp_shm_alloc(tp_shm_t *shm, size_t size_bytes);
hr_status_t tp_shm_used_up(const tp_shm_t *shm); /* says why it was NULL: NO_MEMORY */
void tp_shm_free(tp_shm_t *shm, void *memory);   /* accepts NULL */
/* Is this memory of tp_shm_alloc, by this process? */
bool tp_shm_has(const tp_shm_t *shm, const void *memory);
static inline uint64_t tp_shm_offset(const tp_shm_t *shm, const void *memory) {
  return (uint64_t)((const char *)memory - shm->base);
}
static inline char *tp_shm_at(const tp_shm_t *shm, uint64_t offset) { return shm->base + offset; }

/* Does the process of this rank, which is on this machine, still live? tp_shm_peer_failed: the
 * error to report for a dead peer; CANCELLED if the peer reported its own failure first. */
bool tp_shm_is_alive(const tp_shm_t *shm, int rank);
hr_status_t tp_shm_peer_failed(const tp_shm_t *shm, int rank, const char *host);
/* Of a wait that finds nothing again and again: is it time to ask whether those that it waits for
 * live? */
typedef struct tp_shm_watch {
  unsigned polls; /* that found nothing */
  int64_t looked_ms;
} tp_shm_watch_t;
bool tp_shm_watch_is_due(tp_shm_watch_t *watch);

/* Of a process, by its place among the ranks of this machine. */
static inline tp_shm_rank_state_t *tp_shm_rank_state(const tp_shm_t *shm, int local) {
  return &((tp_shm_rank_state_t *)shm->base)[local];
}
/* Copies from the own memory of another process, if shm->reads_directly. Gives an error number, or
 * 0. */
int tp_shm_read(const tp_shm_t *shm, int rank, void *into, uint64_t address, size_t size_bytes);

#endif
