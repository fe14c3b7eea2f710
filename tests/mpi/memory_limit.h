/* What memory allows: how long it takes merely to move the bytes that a collective of the ranks of
 * one machine must move, from where they lie to where they are wanted. As many ranks as there are
 * processors do it, the parts of the others too, which sleep; nobody waits for anybody, but for one
 * start. Thread: that of MPI. All ranks call together. */
#ifndef TESTS_MEMORY_LIMIT_H
#define TESTS_MEMORY_LIMIT_H

#include <stddef.h>

/* What one rank has from another: bytes of the sender's operand, and their place in the receiver's
 * result. */
typedef struct limit_part {
  size_t in, out; /* offsets */
  size_t bytes;
} limit_part_t;

typedef limit_part_t (*limit_part_fn)(size_t bytes, int ranks, int receiver, int sender);

typedef struct limit {
  int ranks, rank;
  char *const *ins, *const *outs; /* by rank: its arrays, where this process has them */
  size_t bytes;                   /* size of the larger array of a rank */
  limit_part_fn part;
} limit_t;

/* Microseconds of one such move, the mean of `repeats` one after the other, from the first rank's
 * start to the last one's end: of the quickest of some ways to do it (a rank's part is what it
 * receives, or what it gives; through the caches or around them; array after array, or a block of
 * each at a time). */
double limit_sample(const limit_t *limit, int repeats);

#endif
