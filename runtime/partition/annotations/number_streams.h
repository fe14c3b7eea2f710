/* Streams of the rng op. Every instruction of a program as it is read gets a number of its own, so
 * that it draws the same numbers whatever passes make of the program, and in parts what one process
 * draws as a whole. Copies of an instruction, as in unrolled loops, draw from one stream. */
#ifndef HR_PARTITION_NUMBER_STREAMS_H
#define HR_PARTITION_NUMBER_STREAMS_H

#include "ir/module.h"

/* Numbers that the program brings with it stay. Errors: NO_MEMORY. Cost: linear. */
hr_status_t spmd_number_streams(hlo_module_t *module);

#endif
