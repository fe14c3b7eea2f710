/* The random numbers of an rng instruction: the stream that it draws from, and, if it computes a
 * part of a larger array, that array's sizes and the part of each partition. Both are frontend
 * attributes, which all forms of a program keep:
 *
 *   hlorun.rng.stream="3"
 *   hlorun.rng.part="8,6:0,0:2,0:4,0:6,0"     f32[8,6] in four parts of two rows */
#ifndef HLO_OPS_RANDOM_PART_H
#define HLO_OPS_RANDOM_PART_H

#include "ir/module.h"

#define OP_RANDOM_STREAM "hlorun.rng.stream"
#define OP_RANDOM_PART "hlorun.rng.part"

typedef struct op_random_part {
  int64_t count;         /* partitions; 0: the instruction computes the whole array */
  const int64_t *whole;  /* sizes of the whole array */
  const int64_t *starts; /* per partition, first element in each dimension */
} op_random_part_t;

/* Number of the instruction's stream; 0: it has no stream of its own. */
uint64_t op_random_stream(const hlo_instr_t *instr);
/* Reads the part of an instruction whose result is an array. Errors: INVALID, NO_MEMORY. */
hr_status_t op_random_part(hr_arena_t *arena, const hlo_instr_t *instr, op_random_part_t *out_part);

#endif
