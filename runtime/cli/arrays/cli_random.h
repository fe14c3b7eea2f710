/* Random values for missing parameters. Element i of parameter k depends on the seed, k and i
 * alone: the same on every process of every grid. */
#ifndef CLI_RANDOM_H
#define CLI_RANDOM_H

#include "ir/value.h"

/* A 64-bit generator by position: no state. */
uint64_t cli_random_bits(uint64_t seed, uint64_t stream, uint64_t index);

typedef struct cli_random {
  uint64_t seed;
  int64_t bound; /* integers are below it; CLI_NO_BOUND: within -8 .. 8 */
  bool is_wild;  /* a share of the elements that depends on seed and k (none, some, or half) is NaN,
                    infinite, a zero of either sign, denormal or huge, the end of an integer type */
} cli_random_t;

/* A value for parameter k: floats in [-1, 1); integers in [0, bound); pred either. `shape` is an
 * array; a dynamic dimension gets its bound, an unbounded one size 1. */
hr_status_t cli_random_value(const hlo_shape_t *shape, int k, const cli_random_t *random,
                             hlo_value_t **out_value);

#endif
