/* Costs of communication and computation of a partition, in microseconds, from the transport's
 * estimates of collectives (coll_cost.h): its formulas or its measured table.
 *
 *   cost = (1 - share) * cost by bytes + share * cost by time
 *
 * The share grows with the bytes of the larger array of a collective, from 0 for a small one to 1
 * for a large one. It is 0 for all within one machine whose collectives were not measured.
 * Programs are often tried on small arrays first, and small collectives are combined later
 * (passes/comm), so that their latencies tell little. For small arrays the cheapest choice is
 * therefore the one that sends the fewest bytes with ring algorithms; among equals, the one with
 * the fewest collectives. */
#ifndef HR_PARTITION_LOWER_COMM_COST_H
#define HR_PARTITION_LOWER_COMM_COST_H

#include "partition/lower/reshard_plan.h"

#define SPMD_SMALL_BYTES 16384.0     /* largest array for which bytes alone count */
#define SPMD_LARGE_BYTES 131072.0    /* smallest array for which time alone counts */
#define SPMD_SMALL_ELEMENTS 131072.0 /* the same limits for iteration spaces */
#define SPMD_LARGE_ELEMENTS 1048576.0
#define SPMD_ELEMENT_US 5e-5 /* one element of an iteration space: 20 G a second */

/* Cost of one collective over `parts` partitions, each with `bytes` of input; for a permute, the
 * bytes that a partition sends. Slices and partial values cost nothing. */
double spmd_step_us(spmd_step_kind_t kind, double bytes, double parts);
/* The same for an all-gather outside of loops: on one machine its result lies at one place for all
 * processes (plan/flat_shared.c). */
double spmd_shared_gather_us(double bytes, double parts);
/* Cost of a permute of blocks that a partition combines with its own; its latency is larger than
 * that of a permute of whole parts (spmd_step_us). */
double spmd_block_us(double bytes);
/* Cost of sending one byte to another partition. */
double spmd_byte_us(void);
/* Cost of an operation whose local iteration space has so many elements. */
double spmd_work_us(double elements);

#endif
