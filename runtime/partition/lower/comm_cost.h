/* What moving data and computing cost a partition, in microseconds: the transport's estimates of
 * collectives (coll_cost.h), by its formulas or its measured table.
 *
 *   cost = (1 - share) * by bytes + share * by time
 *
 * The share grows from 0 for a small array to 1 for a large one, both by the bytes of a partition.
 * Programs are tried out on small arrays and then grow, and small collectives are combined later
 * (passes/comm): their latencies say little. So of ways for a few bytes the one that sends less is
 * taken, as rings send, and of two that send as much the one with fewer collectives. */
#ifndef HR_PARTITION_LOWER_COMM_COST_H
#define HR_PARTITION_LOWER_COMM_COST_H

#include "partition/lower/reshard_plan.h"

#define SPMD_SMALL_BYTES 16384.0     /* arrays up to which bytes alone count */
#define SPMD_LARGE_BYTES 131072.0    /* arrays from which on time alone counts */
#define SPMD_SMALL_ELEMENTS 131072.0 /* the same of iteration spaces */
#define SPMD_LARGE_ELEMENTS 1048576.0
#define SPMD_ELEMENT_US 5e-5 /* one element of an iteration space: 20 G a second */

/* One collective over `parts` partitions, each of which has `bytes` before it; of a permute, the
 * bytes that it sends. Slices and partial values cost nothing. */
double spmd_step_us(spmd_step_kind_t kind, double bytes, double parts);
/* A permute of blocks that are put together with what a partition has: the same as any other
 * collective, where spmd_step_us takes a permute of whole parts for less. */
double spmd_block_us(double bytes);
/* A byte that goes from one partition to another. */
double spmd_byte_us(void);
/* An operation on an iteration space of so many elements, as a partition has it. */
double spmd_work_us(double elements);

#endif
