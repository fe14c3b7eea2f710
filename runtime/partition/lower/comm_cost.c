/* Costs for the choice of shardings and of reshardings. The transport estimates the time of a
 * collective on this machine or on several (coll_cost.h); small arrays and little work are measured
 * in bytes. Cost: for arrays that are not small, linear in the algorithms of the collective. */
#include "partition/lower/comm_cost.h"

#include <math.h>

#include "transport/core/coll_cost.h"

/* Latencies of small collectives in bytes: any collective; a round of blocks, which may follow
 * another round; a permute of a whole part, which waits for one partition only. SMALL_WORK_BYTES is
 * the cost of one element's work. With these values the partitioned programs of
 * tests/corpora/auto_spmd send at most as many bytes as XLA's, all but two in no more collectives.
 */
#define SMALL_LATENCY_BYTES 400.0
#define SMALL_BLOCK_BYTES 250.0
#define SMALL_PERMUTE_BYTES 70.0
#define SMALL_WORK_BYTES 0.08

static tp_collective_t collective_of(spmd_step_kind_t kind) {
  switch (kind) {
    case SPMD_ALL_GATHER:
      return TP_ALL_GATHER;
    case SPMD_ALL_TO_ALL:
      return TP_ALL_TO_ALL;
    case SPMD_ALL_REDUCE:
      return TP_ALL_REDUCE;
    case SPMD_REDUCE_SCATTER:
      return TP_REDUCE_SCATTER;
    default:
      return TP_PERMUTE;
  }
}

static int ranks_of(double parts) { return parts < INT32_MAX ? (int)parts : INT32_MAX; }

static double estimate(spmd_step_kind_t kind, double parts, double bytes) {
  return tp_collective_us(tp_cost_model(), collective_of(kind), ranks_of(parts), bytes);
}

/* Bytes that a partition sends with ring algorithms, for each byte that it has. */
static double ring_share(spmd_step_kind_t kind, double parts) {
  switch (kind) {
    case SPMD_ALL_GATHER:
      return parts - 1;
    case SPMD_ALL_REDUCE:
      return 2 * (parts - 1) / parts;
    case SPMD_PERMUTE:
      return 1;
    default:
      return (parts - 1) / parts;
  }
}

/* Weight of the cost by time, 0 to 1. */
static double share_of_time(double size, double small, double large) {
  return fmin(1, fmax(0, (size - small) / (large - small)));
}

double spmd_byte_us(void) {
  static _Thread_local double known;
  double large = SPMD_LARGE_BYTES;
  if (known == 0) known = (estimate(SPMD_PERMUTE, 2, large) - estimate(SPMD_PERMUTE, 2, 1)) / large;
  return known;
}

/* Within one machine the formulas only tell how many bytes are copied. */
static bool knows_times(void) { return tp_cost_model()->machines > 1 || tp_cost_model()->tuning; }

static double collective_us(spmd_step_kind_t kind, double bytes, double parts, double latency) {
  double small = (ring_share(kind, parts) * bytes + latency) * spmd_byte_us();
  double size = kind == SPMD_ALL_GATHER ? bytes * parts : bytes;
  double share = share_of_time(size, SPMD_SMALL_BYTES, SPMD_LARGE_BYTES);
  return share == 0 || !knows_times() ? small
                                      : small + share * (estimate(kind, parts, bytes) - small);
}

double spmd_step_us(spmd_step_kind_t kind, double bytes, double parts) {
  double latency = kind == SPMD_PERMUTE ? SMALL_PERMUTE_BYTES : SMALL_LATENCY_BYTES;
  if (!spmd_step_is_collective(kind) || parts <= 1) return 0;
  return collective_us(kind, bytes, parts, latency);
}

/* In shared memory each part of a large array is written once, and read there by the other
 * processes: SHARED_READ_SHARE is the share that this takes of the time of a copy. Between
 * two processes copies take no longer. */
#define SHARED_READ_SHARE 0.5

double spmd_shared_gather_us(double bytes, double parts) {
  double copied = spmd_step_us(SPMD_ALL_GATHER, bytes, parts);
  if (knows_times() || !tp_cost_shares_memory(tp_cost_model(), ranks_of(parts))) return copied;
  double moved = fmin(parts - 1, 1 + SHARED_READ_SHARE * (parts - 1)) * bytes + SMALL_LATENCY_BYTES;
  double share = share_of_time(bytes * parts, SPMD_SMALL_BYTES, SPMD_LARGE_BYTES);
  return copied + share * (moved * spmd_byte_us() - copied);
}

double spmd_block_us(double bytes) {
  return collective_us(SPMD_PERMUTE, bytes, 2, SMALL_BLOCK_BYTES);
}

double spmd_work_us(double elements) {
  double small = elements * SMALL_WORK_BYTES * spmd_byte_us();
  double share = share_of_time(elements, SPMD_SMALL_ELEMENTS, SPMD_LARGE_ELEMENTS);
  return small + share * (elements * SPMD_ELEMENT_US - small);
}
