/* Memory that the processes of one machine share: a file without a name, mapped by all.
 *
 *   offset 0        tp_shm_rank_state_t of each process: inbox of messages, life state
 *   page boundary   control blocks (tp_shm_control_t), a hash table by group: step counters, slots
 *   2 MiB boundary  a heap of each process, which it alone allocates from and all read
 *
 * The file is a memfd, or lies in /dev/shm or $TMPDIR if processes may not open each other's
 * descriptors. Control blocks and heaps take up memory only where they are used. Addresses differ
 * between processes: shared data holds offsets (tp_shm_offset, tp_shm_at). A process holds a lock
 * on its byte of the file as long as it lives, by which the others notice its end.
 *
 * Thread:  that of the endpoint; any for tp_shm_alloc and tp_shm_free. */
#ifndef TP_SHM_H
#define TP_SHM_H

#include <stdatomic.h>

#include "transport/core/group.h"

#define TP_SHM_MEMBERS 255 /* most members: the sizes of an all-to-all fit into a slot */
#define TP_SHM_SMALL 2048  /* bytes of a member's payload that fit into its slot */
#define TP_SHM_TINY 16     /* bytes of payload that fit into the cache line of the step counter */
#define TP_SHM_LARGE_PAGE ((size_t)2 << 20) /* bytes; heaps use such pages if possible */

/* A member's data about one transfer. Written by the member before the step that publishes it, read
 * by the others after that step. */
typedef struct tp_shm_slot {
  uint64_t staging_offset; /* offset of the member's staging memory */
  uint64_t in;             /* offset of the input array, if is_shared; 0: others do not need it */
  uint64_t out;            /* offset of the result */
  bool is_shared;          /* the member's arrays lie in shared memory */
  bool shares_work;        /* other members may do part of the member's work */
  _Alignas(uint64_t) char data[TP_SHM_SMALL]; /* small payload, or tables of the algorithm */
} tp_shm_slot_t;

/* Slots are used in rotation. Two suffice for groups: when a transfer has ended, every member has
 * begun it, so that none reads the slot of the previous transfer any more. Pipes between two ranks
 * use all slots on an oversubscribed machine, so that the sender can run ahead. */
#define TP_SHM_SLOTS 4

/* A member's part of a control block. Written by that member only. */
typedef struct tp_shm_member {
  _Alignas(64) _Atomic uint64_t count; /* steps done since the group began; stored with release */
  struct {
    uint64_t transfer; /* algorithm and size (tp_shm_transfer), compared between members */
    char data[TP_SHM_TINY];
  } heads[TP_SHM_SLOTS]; /* heads of the slots; two share the counter's cache line */
  _Alignas(64) tp_shm_slot_t slots[TP_SHM_SLOTS];
} tp_shm_member_t;

/* Control block of a group. The counters of shared work have cache lines of their own, as all
 * members increment them. */
typedef struct tp_shm_control {
  _Alignas(64) _Atomic uint64_t key; /* hash of the group; 0: free entry */
  /* Pieces of shared work, in the lower half; number of the op in the upper half. */
  _Alignas(64) _Atomic uint64_t pieces_taken;
  _Alignas(64) _Atomic uint64_t pieces_done;
  tp_shm_member_t members[]; /* in listed order of the group */
} tp_shm_control_t;

/* Life of a process, in cases that its lock does not tell. Only increases. */
typedef enum tp_shm_state {
  TP_SHM_EXPECTED, /* has not mapped the memory yet */
  TP_SHM_HERE,
  TP_SHM_FAILED, /* reported its own failure and ended */
  TP_SHM_LEFT    /* ended orderly */
} tp_shm_state_t;

/* The shared state of one process. */
typedef struct tp_shm_rank_state {
  /* Top of a stack of message slots, an offset; 0: empty. Pushed by any process with release, taken
   * as a whole by this one with acquire (shm_p2p.c). */
  _Alignas(64) _Atomic uint64_t inbox;
  _Alignas(64) _Atomic uint32_t state;  /* tp_shm_state_t; written by this process */
  _Alignas(64) _Atomic uint32_t asleep; /* 1: sleeps, or is about to (shm_sleep.c); a futex */
} tp_shm_rank_state_t;

typedef struct tp_shm {
  tp_groups_t *groups; /* NULL until tp_shm_open */
  hr_arena_t arena;    /* memory of the arrays below */

  /* The file and its mapping. */
  int fd;
  char name[512];  /* path, or title of the memfd; "" if the file was inherited */
  uint64_t number; /* random; peers read it to test cross-memory attach */
  char *base;
  size_t mapped_bytes;
  size_t heap_bytes;    /* address space of a heap, one per process */
  size_t control_bytes; /* size of a control block, for a group of all local ranks */

  /* The ranks of this machine. Local ranks count them from 0 in order of rank. */
  int local_size;
  int my_local;        /* this process's local rank */
  int *local_of;       /* by rank: its local rank; -1: on another machine */
  int *process_of;     /* by rank: process id; NULL until tp_shm_open */
  bool reads_directly; /* cross-memory attach works between all local ranks */

  struct tp_shm_heap *heap;       /* this process's heap */
  struct tp_shm_staging *staging; /* list of its staging memory */
  atomic_int holders; /* references: 1 until tp_shm_close, 1 per block of memory in use */
} tp_shm_t;

/* Finds the ranks of this machine and shares memory with them. Collective over the world. *out_shm
 * is NULL, equally on all ranks of a machine, if a rank is alone or memory cannot be shared. */
hr_status_t tp_shm_open(tp_groups_t *groups, tp_shm_t **out_shm);
void tp_shm_close(tp_shm_t *shm); /* accepts NULL */
/* Creates the file for processes that a parent starts together and that inherit it. *out_fd has
 * FD_CLOEXEC set. Errors: UNAVAILABLE. */
hr_status_t tp_shm_file_new(int local_size, int *out_fd);
/* Maps an inherited file and takes ownership of its descriptor. The endpoint's `memory` passes the
 * result to tp_shm_open. */
hr_status_t tp_shm_attach(int fd, int local_size, int my_local, tp_shm_t **out_shm);
/* Counted references; the last release unmaps the memory. */
void tp_shm_retain(tp_shm_t *shm);
void tp_shm_release(tp_shm_t *shm);

/* The control block of a key, with room for so many members: the same for all processes. NULL, for
 * all processes alike, where the table is full. Errors: NO_MEMORY where the file system is full. */
hr_status_t tp_shm_control_of(tp_shm_t *shm, uint64_t key, int members,
                              tp_shm_control_t **out_control);

/* Memory that every process of this machine can access, aligned to pages. NULL: none is left.
 * Thread: any. Lifetime: may outlive tp_shm_close. */
void *tp_shm_alloc(tp_shm_t *shm, size_t size_bytes);
hr_status_t tp_shm_used_up(const tp_shm_t *shm); /* NO_MEMORY, with the cause of the last NULL */
void tp_shm_free(tp_shm_t *shm, void *memory);   /* accepts NULL */
/* True for memory that this process got from tp_shm_alloc. */
bool tp_shm_has(const tp_shm_t *shm, const void *memory);
static inline uint64_t tp_shm_offset(const tp_shm_t *shm, const void *memory) {
  return (uint64_t)((const char *)memory - shm->base);
}
static inline char *tp_shm_at(const tp_shm_t *shm, uint64_t offset) { return shm->base + offset; }

/* True if the process of a rank of this machine lives, or is still starting. */
bool tp_shm_is_alive(const tp_shm_t *shm, int rank);
/* Error to report for a dead peer: UNAVAILABLE; CANCELLED if the peer reported its own failure
 * first. */
hr_status_t tp_shm_peer_failed(const tp_shm_t *shm, int rank, const char *host);
/* Timer of a wait: decides when to check whether the awaited peers live, which costs a system
 * call. */
typedef struct tp_shm_watch {
  unsigned polls;    /* failed polls so far */
  int64_t looked_ms; /* time of the last check; 0: none yet */
} tp_shm_watch_t;
bool tp_shm_watch_is_due(tp_shm_watch_t *watch);

/* The shared state of a process, by its local rank. */
static inline tp_shm_rank_state_t *tp_shm_rank_state(const tp_shm_t *shm, int local) {
  return &((tp_shm_rank_state_t *)shm->base)[local];
}
/* Sleeps until another process of this machine wakes this one, at most `most_ns`. The first call
 * only announces the sleep and returns: the caller then polls once more, and calls again. */
void tp_shm_sleep(const tp_shm_t *shm, long most_ns);
/* Wakes a process of this machine, by its rank, if it sleeps. The data that it waits for must be
 * written before, with a fence (seq_cst) between. */
void tp_shm_wake(const tp_shm_t *shm, int rank);
/* Copies from the private memory of another process (process_vm_readv); only if
 * shm->reads_directly. Returns an errno value, or 0. */
int tp_shm_read(const tp_shm_t *shm, int rank, void *into, uint64_t address, size_t size_bytes);

#endif
