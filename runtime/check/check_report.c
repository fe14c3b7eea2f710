/* The report of a proof as text: verdict, problems with their source locations, waits (the cycle
 * first), and the last events of each blocked process. */
#include "check/proof.h"

#define WAITS_SHOWN 24
#define STEPS_SHOWN 6 /* number of last steps shown of each process on the cycle */

static void add_location(hr_strbuf_t *text, const hlo_instr_t *instr) {
  const char *path = instr->parent->module->source.path;
  hr_strbuf_printf(text, "%%%.*s", HR_STR_ARGS(instr->name));
  if (instr->line) hr_strbuf_printf(text, " (%s:%u)", path ? path : "program", instr->line);
}

/* Text of the iterations and branches of an event: ", iteration 3 of %w, branch 1 of %c". */
static void add_context(hr_strbuf_t *text, const comm_trace_t *trace, uint32_t frame) {
  for (; frame; frame = trace->frames.data[frame].parent) {
    const check_frame_t *at = &trace->frames.data[frame];
    if (at->caller->op == HLO_WHILE)
      hr_strbuf_printf(text, ", iteration %u of %%%.*s", at->iteration / 2 + 1,
                       HR_STR_ARGS(at->caller->name));
    else if (at->caller->op == HLO_CONDITIONAL)
      hr_strbuf_printf(text, ", branch %u of %%%.*s", at->iteration, HR_STR_ARGS(at->caller->name));
  }
}

static void add_what(hr_strbuf_t *text, const check_event_t *event) {
  hr_strbuf_printf(text, "%s ", hlo_op_name(event->instr->op));
  add_location(text, event->instr);
  if (event->site && event->site->channel)
    hr_strbuf_printf(text, " on channel %ld", (long)event->site->channel);
}

static void add_event(hr_strbuf_t *text, const comm_trace_t *trace, uint32_t number) {
  const check_event_t *event = &trace->events.data[number];
  add_what(text, event);
  add_context(text, trace, event->frame);
}

/* --- problems --- */

static void add_problem_location(hr_strbuf_t *text, const hlo_instr_t *instr, int rank) {
  if (!instr) return;
  hr_strbuf_add_str(text, "    ");
  if (rank >= 0) hr_strbuf_printf(text, "rank %d: ", rank);
  hr_strbuf_printf(text, "%s ", hlo_op_name(instr->op));
  add_location(text, instr);
  hr_strbuf_add_char(text, '\n');
}

static void add_problems(hr_strbuf_t *text, const check_result_t *result) {
  for (size_t i = 0; i < result->problems.count; i++) {
    const check_problem_t *problem = &result->problems.data[i];
    hr_strbuf_printf(text, "  %s\n", problem->text);
    add_problem_location(text, problem->first, problem->first_rank);
    add_problem_location(text, problem->second, problem->second_rank);
  }
}

/* --- waits --- */

static void add_wait(hr_strbuf_t *text, const check_result_t *result, const check_wait_t *wait) {
  hr_strbuf_printf(text, "  rank %d waits in ", wait->rank);
  add_event(text, result->of[wait->rank], wait->event);
  if (wait->other < 0) {
    hr_strbuf_add_str(text, "\n    for a partner that does not exist\n");
    return;
  }
  hr_strbuf_printf(text, "\n    for rank %d to start ", wait->other);
  if (wait->awaited == CHECK_NEVER) {
    hr_strbuf_add_str(text, "the matching operation, which it never does\n");
    return;
  }
  add_event(text, result->of[wait->other], wait->awaited);
  hr_strbuf_add_char(text, '\n');
}

static void add_waits(hr_strbuf_t *text, const check_result_t *result) {
  size_t cycle = (size_t)result->cycle_length;
  if (result->region) hr_strbuf_printf(text, "%s:\n", result->region);
  if (cycle) hr_strbuf_printf(text, "cycle of %zu:\n", cycle);
  for (size_t i = 0; i < result->waits.count && i < cycle; i++)
    add_wait(text, result, &result->waits.data[i]);
  if (result->waits.count > cycle)
    hr_strbuf_add_str(text, cycle ? "blocked by them:\n" : "stuck:\n");
  for (size_t i = cycle; i < result->waits.count && i < cycle + WAITS_SHOWN; i++)
    add_wait(text, result, &result->waits.data[i]);
  if (result->waits.count > cycle + WAITS_SHOWN)
    hr_strbuf_printf(text, "  and %zu more\n", result->waits.count - cycle - WAITS_SHOWN);
}

/* --- the run --- */

static void add_steps(hr_strbuf_t *text, const check_result_t *result, const check_wait_t *wait) {
  const comm_trace_t *trace = result->of[wait->rank];
  uint32_t count = 0, from = wait->event;
  while (from > 0 && count < STEPS_SHOWN) {
    from--;
    if (!result->reached && !check_event_is_before(trace, from, wait->event)) continue;
    count++;
  }
  hr_strbuf_printf(text, "  rank %d:%s\n", wait->rank, from ? " ..." : "");
  for (uint32_t i = from; i < wait->event; i++) {
    if (!result->reached && !check_event_is_before(trace, i, wait->event)) continue;
    hr_strbuf_add_str(text, "    ");
    add_event(text, trace, i);
    hr_strbuf_add_char(text, '\n');
  }
  hr_strbuf_add_str(text, "    ");
  add_event(text, trace, wait->event);
  hr_strbuf_add_str(text, "   <- stuck\n");
}

static void add_run(hr_strbuf_t *text, const check_result_t *result) {
  size_t shown = result->cycle_length ? (size_t)result->cycle_length : 1;
  hr_strbuf_add_str(text, "the run that gets there:\n");
  for (size_t i = 0; i < shown && i < result->waits.count && i < WAITS_SHOWN; i++)
    add_steps(text, result, &result->waits.data[i]);
}

void check_report(hr_strbuf_t *text, const check_result_t *result) {
  hr_strbuf_printf(text, "%s\n", result->headline);
  add_problems(text, result);
  if (!result->waits.count) return;
  add_waits(text, result);
  add_run(text, result);
}
