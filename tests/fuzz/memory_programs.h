/* Random programs whose values try to lead the engines out of their arrays: sizes known at run time
 * that are not those declared, indices far outside, aliases, loops, feeds, custom calls. One seed,
 * one program, on any machine. */
#ifndef FUZZ_MEMORY_PROGRAMS_H
#define FUZZ_MEMORY_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum { PROGRAM_MOST_PARAMS = 48, PROGRAM_MOST_RANK = 4 };

typedef struct program_param {
  const char *dtype;
  int rank;
  int64_t dims[PROGRAM_MOST_RANK];
  bool is_index;    /* few small numbers, and the ends of the type; else any bits */
  int honest_count; /* these instead, if any: sizes that are those declared */
  int64_t honest[PROGRAM_MOST_RANK];
} program_param_t;

typedef struct program {
  hr_strbuf_t text; /* HLO; the caller deinits it */
  int param_count;
  program_param_t params[PROGRAM_MOST_PARAMS];
  bool is_exact;  /* both engines owe the same bits */
  bool has_feeds; /* an infeed of s32[4], an outfeed */
} program_t;

/* Name of the custom call that programs use: it takes u32[PROGRAM_CUSTOM_COUNT] and makes another,
 * each element one more. */
#define PROGRAM_CUSTOM_CALL "fuzz_increment"
enum { PROGRAM_CUSTOM_COUNT = 5 };

void program_make(uint64_t seed, program_t *out_program);
/* The next number of a sequence that starts at *state. */
uint64_t program_random(uint64_t *state);

#endif
