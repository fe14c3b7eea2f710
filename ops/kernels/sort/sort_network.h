/* Many short lines sorted at once, each in a lane of vectors. Thread: any, on the caller's
 * memory. */
#ifndef HLO_OPS_SORT_NETWORK_H
#define HLO_OPS_SORT_NETWORK_H

#include <stdint.h>

enum {
  SORT_NETWORK_BYTES = 64,      /* bytes of the items at one position of all lines: a cache line */
  SORT_NETWORK_MOST = 512,      /* most items of a line: all lines stay in the first-level cache */
  SORT_NETWORK_MOST_LINES = 16, /* most lines, with items of four bytes */
};

/* Sorts `lines` consecutive lines of `count` items, unsigned integers of 4 or 8 bytes, ascending.
 * At most SORT_NETWORK_BYTES / item_bytes lines. `spare`: count * SORT_NETWORK_BYTES bytes. */
void sort_network(int item_bytes, void *items, void *spare, int64_t lines, int64_t count);

#endif
