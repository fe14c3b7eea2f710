/* Static verification of communication: proves, without running anything, that all processes
 * complete, or shows a run that deadlocks.
 *
 * As planned: every process communicates in the one order that hlorun runs (plan_order). Any order:
 * in every topological order of data, token and control dependencies that a runtime might choose; a
 * called computation runs as a whole, in the position of its caller. Starts never block. A
 * send-done completes when its matching recv has started, a recv-done when its matching send has;
 * the n-th send of a channel from one process to another matches the n-th recv of that channel
 * there. With `buffered` N a send-done completes as soon as at most N messages of the channel are
 * undelivered. A collective completes when all processes of its group have started the same
 * instance, counted by group and channel id; a collective-permute when the processes that it sends
 * to and receives from have. Feeds and transfers to the host never block.
 *
 * The stages: comm_analysis.c (rank-independent facts of a module), comm_trace.c (events of one
 * process, control flow unrolled), participants.c and channel_peers.c (matching), planned_order.c
 * and any_order.c (the two decisions), then report, graph and fix. Thread: one. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "ir/module.h"

/* A program and the processes that run it. */
typedef struct check_program {
  const hlo_module_t *module;
  int first_rank, last_rank;
} check_program_t;

typedef struct check_options {
  int num_replicas, num_partitions;
  bool any_order;
  uint32_t buffered;     /* capacity of each channel in messages; 0: rendezvous */
  uint64_t search_limit; /* edges examined over any order; 0: a large default */
  uint64_t event_limit;  /* events per process; 0: a large default */
} check_options_t;

typedef enum check_verdict {
  CHECK_SOUND,
  CHECK_DEADLOCK, /* a run deadlocks */
  CHECK_MISUSE,   /* channels or groups are used inconsistently */
  CHECK_UNPROVED  /* neither soundness nor a deadlock could be shown */
} check_verdict_t;

typedef struct check_result check_result_t;

/* The programs cover ranks 0 .. num_replicas * num_partitions - 1, each once; modules are verified
 * and outlive the result.
 * Errors: NO_MEMORY, USAGE for programs that do not cover the grid; a bad schedule is no error but
 *         a verdict. */
hr_status_t check_schedule(const check_program_t *programs, int program_count,
                           const check_options_t *options, check_result_t **out_result);
void check_result_destroy(check_result_t *result); /* accepts NULL */

check_verdict_t check_result_verdict(const check_result_t *result);
const char *check_verdict_name(check_verdict_t verdict);
/* Appends the report: verdict, problems, waits with the cycle first, and the run that leads there.
 */
void check_report(hr_strbuf_t *text, const check_result_t *result);
/* Drawing of the schedule: a lane per process, an arrow per message, the cycle in red. */
typedef enum check_graph_form {
  CHECK_GRAPH_DOT,
  CHECK_GRAPH_SVG,
  CHECK_GRAPH_HTML
} check_graph_form_t;
hr_status_t check_graph(hr_strbuf_t *text, const check_result_t *result, check_graph_form_t form);

/* A verified repair: moving `moved` right before `before` in its program removes the deadlock. */
typedef struct check_fix {
  int program;
  const hlo_instr_t *moved, *before;
  bool all_orders; /* all orders complete, not only the planned one */
} check_fix_t;
/* Searches for a repair; *out_found is false if no single move suffices. The modules are modified
 * temporarily and restored. Errors: NO_MEMORY. */
hr_status_t check_find_fix(const check_program_t *programs, int program_count,
                           const check_options_t *options, const check_result_t *result,
                           check_fix_t *out_fix, bool *out_found);
/* Appends the program's text after the repair; unchanged if fix->moved is NULL. */
hr_status_t check_fixed_text(const check_program_t *programs, const check_fix_t *fix,
                             hr_strbuf_t *text);

/* Is a module sound by inspection: only collectives outside control flow, which all processes pass
 * in the same order? Cost: linear. */
bool check_is_trivially_sound(const hlo_module_t *module);

#endif
