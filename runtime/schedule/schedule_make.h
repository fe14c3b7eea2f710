/* Helpers of the pattern generators: append steps to a block. */
#ifndef SCHEDULE_SCHEDULE_MAKE_H
#define SCHEDULE_SCHEDULE_MAKE_H

#include "schedule/schedule.h"

#define MAKE_NAME 48
#define MAKE_MAX_RANKS 1024

/* Destination of steps, and the expected results so far. */
typedef struct writer {
  schedule_t *schedule;
  schedule_block_t *block;
  int rank;
  schedule_results_t *expected;
} schedule_writer_t;

static inline char *make_name(char into[MAKE_NAME], const char *base, int number) {
  snprintf(into, MAKE_NAME, "%s%d", base, number);
  return into;
}
static inline char *make_name2(char into[MAKE_NAME], const char *base, int a, int b) {
  snprintf(into, MAKE_NAME, "%s%d_%d", base, a, b);
  return into;
}

hr_status_t schedule_write_const(schedule_writer_t *writer, const char *name, double number);
/* Appends name = op(a, b); b NULL: a copy of a. */
hr_status_t schedule_write_compute(schedule_writer_t *writer, const char *name, hlo_opcode_t op,
                                   const char *a, const char *b);
hr_status_t schedule_write_transfer(schedule_writer_t *writer, schedule_kind_t kind,
                                    const char *name, int peer, const char *channel);
hr_status_t schedule_write_output(schedule_writer_t *writer, const char *name, double expected);

#define PATTERN(name)                                                                     \
  hr_status_t pattern_##name(const schedule_gen_options_t *options, schedule_t *schedule, \
                             schedule_results_t *expected)
PATTERN(gpipe);
PATTERN(1f1b);
PATTERN(interleaved);
PATTERN(zero_bubble);
PATTERN(ring_all_reduce);
PATTERN(halo);
PATTERN(all_to_all);
#undef PATTERN

#endif
