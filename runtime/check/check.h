/* Proves, without running anything, that the communication of all processes completes, or shows the
 * run that gets stuck.
 *
 * As planned: every process communicates in the one order that hlorun runs (plan_order). Any order:
 * in every topological order of data, token and control dependencies that a runtime might choose; a
 * computation that is called runs as a whole, in the place of the instruction that calls it. Starts
 * never block. A send-done completes when its matching recv has started, a recv-done when its
 * matching send has; the n-th send of a channel from one process to another matches the n-th recv
 * of that channel there. With `buffered` N a send-done completes as soon as at most N messages of
 * the channel are undelivered. A collective completes when all processes of its group have started
 * the same instance, counted by group and channel id; a collective-permute when the processes that
 * it sends to and gets from have. Feeds and transfers to the host never block.
 *
 * The stages: comm_analysis.c (what is needed of a module), comm_trace.c (the events of one
 * process, control flow unrolled), participants.c and channel_peers.c (who meets whom),
 * planned_order.c and any_order.c (the two decisions), then report, graph and fix. */
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
  uint32_t buffered;     /* undelivered messages that a channel holds; 0: rendezvous */
  uint64_t search_limit; /* steps of the exact search over orders; 0: a generous default */
  uint64_t event_limit;  /* events of one process; 0: a generous default */
} check_options_t;

typedef enum check_verdict {
  CHECK_SOUND,
  CHECK_DEADLOCK, /* a run gets stuck */
  CHECK_MISUSE,   /* channels or groups are used in ways that have no meaning */
  CHECK_UNPROVED  /* neither could be shown */
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
/* The whole report: the verdict; who waits for whom, the cycle first; how the run gets there. */
void check_report(hr_strbuf_t *text, const check_result_t *result);
/* A picture: a lane for each process, an arrow for each message, the cycle in red. */
typedef enum check_graph_form {
  CHECK_GRAPH_DOT,
  CHECK_GRAPH_SVG,
  CHECK_GRAPH_HTML
} check_graph_form_t;
hr_status_t check_graph(hr_strbuf_t *text, const check_result_t *result, check_graph_form_t form);

/* A change that removes the deadlock, tried before it is offered: `moved` goes right before
 * `before` in its program. */
typedef struct check_fix {
  int program;
  const hlo_instr_t *moved, *before;
  bool all_orders; /* then all orders complete, not only the planned one */
} check_fix_t;
/* *out_found is false if no single move helps. The modules are changed while it works, and put
 * back. */
hr_status_t check_find_fix(const check_program_t *programs, int program_count,
                           const check_options_t *options, const check_result_t *result,
                           check_fix_t *out_fix, bool *out_found);
/* The program's text with the move made; as it is if fix->moved is NULL. */
hr_status_t check_fixed_text(const check_program_t *programs, const check_fix_t *fix,
                             hr_strbuf_t *text);

/* Can a module on its own be told to be sound at a glance: all of its communication is collectives
 * that every process passes in the same order, whatever the data? */
bool check_is_trivially_sound(const hlo_module_t *module);

#endif
