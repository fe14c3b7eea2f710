/* Values for parameters that nobody gave. Element i of parameter k depends on the seed, k and i
 * alone: the same on every process of every grid. */
#ifndef CLI_RANDOM_H
#define CLI_RANDOM_H

#include "ir/value.h"

/* A 64-bit generator by position: no state. */
uint64_t cli_random_bits(uint64_t seed, uint64_t stream, uint64_t index);

/* Floats in [-1, 1); integers in [0, bound), or small ones (within -8 .. 8) when bound is
 * CLI_NO_BOUND; pred either. `shape` is an array; a dynamic dimension gets its bound, an unbounded
 * one size 1. */
hr_status_t cli_random_value(const hlo_shape_t *shape, uint64_t seed, int k, int64_t bound,
                             hlo_value_t **out_value);

/* The same with no bound, where a share of the elements that depends on seed and k (none of them,
 * some, or half) is wild: NaN, infinities, zeros of both signs, denormal and huge numbers; ends of
 * integers. */
hr_status_t cli_wild_value(const hlo_shape_t *shape, uint64_t seed, int k, hlo_value_t **out_value);

#endif
