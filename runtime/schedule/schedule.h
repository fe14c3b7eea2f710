/* Schedules: the computation and communication of a few processes, in a small language, for trying
 * out communication patterns and for tests of runtimes and checkers. A schedule is converted to one
 * HLO program per rank (schedule_hlo.c), and recovered from such programs (schedule_from_hlo.c).
 *
 *   ranks 2                          # a comment
 *   shape f32[4]                     # of every value; this is the default
 *   rank 0: a = const 3; send a 1; recv b 1; output b
 *   rank 1:
 *     recv a 0
 *     b = mul a a
 *     repeat 3 { b = add b a }
 *     send b 0
 *
 * Statements end with a line or a semicolon. A section may be for several ranks: rank 0-3,5. Peers
 * are numbers, or relative: +1 and -1 modulo the number of ranks.
 *
 *   NAME = const NUMBER                        a value whose elements are all NUMBER
 *   NAME = input                               the next parameter of the program
 *   NAME = copy A
 *   NAME = add|subtract|multiply|maximum|minimum A B       short: sub, mul, max, min
 *   send NAME PEER [on CHANNEL]                default channel: the name of the value
 *   recv NAME PEER [on CHANNEL]                the n-th send of a channel matches the n-th recv
 *   send-start, send-done, recv-start, recv-done           the halves; see done for the value
 *   all-reduce NAME [among RANKS]              sum, in place; all-reduce-start, all-reduce-done
 *   repeat COUNT { ... }
 *   output NAME ...                            results of the program, in order; default none
 *
 * Every two ranks have channels of their own. A value that is sent before it is defined is the
 * rank's number plus one.
 * Thread: one per schedule. */
#ifndef SCHEDULE_SCHEDULE_H
#define SCHEDULE_SCHEDULE_H

#include "ir/module.h"

typedef enum schedule_kind {
#define STATEMENT(id, name) SCHEDULE_##id,
#include "schedule/statements.def"
#undef STATEMENT
  SCHEDULE_KIND_COUNT
} schedule_kind_t;

typedef struct schedule_step schedule_step_t;
typedef struct schedule_block {
  schedule_step_t *first, **last;
} schedule_block_t;

struct schedule_step {
  schedule_kind_t kind;
  const char *value;   /* name of the value defined, sent or received */
  const char *channel; /* transfers: name of the channel */
  int peer;
  int64_t channel_id; /* transfers: id of (sender, receiver, channel), set by
                         schedule_number_channels */
  hlo_opcode_t op;    /* COMPUTE */
  const char *a, *b;  /* COMPUTE, COPY (a only) */
  const char *number; /* CONST: as written in the text */
  hr_ints_t ranks;    /* ALL_REDUCE: members; empty: all */
  int64_t count;      /* REPEAT */
  schedule_block_t body;
  uint32_t line;
  schedule_step_t *next;
};

typedef struct schedule {
  hr_arena_t arena;
  int rank_count;
  const char *shape;
  schedule_block_t *ranks; /* one block per rank */
  bool is_numbered;        /* schedule_number_channels has run */
} schedule_t;

void schedule_block_init(schedule_block_t *block);
/* Appends a zeroed step to a block. Owner: lives in the arena of the schedule. */
hr_status_t schedule_add(schedule_t *schedule, schedule_block_t *block, schedule_kind_t kind,
                         schedule_step_t **out_step);

/* Initialises a schedule without steps. Owner: the caller calls schedule_deinit. */
hr_status_t schedule_init(schedule_t *schedule, int rank_count, const char *shape);
void schedule_deinit(schedule_t *schedule);

/* Reads a schedule from text.
 * Owner:   deinit also after a failure.
 * Errors:  INVALID with file:line:column. */
hr_status_t schedule_read(const hr_source_t *source, schedule_t *out_schedule);
void schedule_print(hr_strbuf_t *text, const schedule_t *schedule);
const char *schedule_kind_name(schedule_kind_t kind);

/* Writes the program of one rank as HLO text, scheduled in the order of the steps.
 * Errors: INVALID with the line of what makes no sense: a value that was not given, a done without
 *         its start. */
hr_status_t schedule_to_hlo(schedule_t *schedule, int rank, hr_strbuf_t *text);
/* Assigns channel ids in the order in which the ranks name the channels. Idempotent. */
hr_status_t schedule_number_channels(schedule_t *schedule);
/* Extracts the communication of programs, one per rank, in planned order, with the values it moves.
 * Computations that the language lacks become constants.
 * Errors: UNSUPPORTED for control flow that it lacks.
 * Owner:  deinit also after a failure. */
hr_status_t schedule_from_hlo(const hlo_module_t *const *modules, int count,
                              schedule_t *out_schedule);

/* Generators of known patterns. `expected`: results by rank, in order; all elements of a value are
 * equal. */
typedef struct schedule_gen_options {
  int ranks, microbatches, chunks, steps;
} schedule_gen_options_t;
typedef struct schedule_result {
  int rank;
  double value;
} schedule_result_t;
typedef HR_VEC(schedule_result_t) schedule_results_t;
typedef hr_status_t (*schedule_gen_fn)(const schedule_gen_options_t *options, schedule_t *schedule,
                                       schedule_results_t *expected);
typedef struct schedule_pattern {
  const char *name, *help;
  schedule_gen_fn generate;
} schedule_pattern_t;
extern const schedule_pattern_t schedule_patterns[];
extern const size_t schedule_pattern_count;
/* Generates a pattern.
 * Errors:  USAGE for an unknown name or sizes out of range.
 * Owner:   schedule_deinit and HR_VEC_FREE also after a failure. */
hr_status_t schedule_generate(const char *pattern, const schedule_gen_options_t *options,
                              schedule_t *out_schedule, schedule_results_t *out_expected);

#endif
