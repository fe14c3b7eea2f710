/* Schedules as HLO: the writer.
 *
 * All communication of a program is in one chain of tokens and control dependencies, in the order
 * of the statements, so that every runtime keeps that order:
 *
 *    send VALUE PEER      (value, token) -> send -> token -> send-done
 *    recv VALUE PEER      token -> recv -> (value, token) of recv-done
 *    all-reduce VALUE     add-dependency(value, token) -> all-reduce -> after-all, control edge
 *
 * A repeat is a while over (counter, token, values); values that first appear inside it end with
 * the iteration. Values of a schedule are variables: a binding has the instruction that holds the
 * current value. One writer serves one rank's program; a scope is one computation of it. */
#include <string.h>

#include "schedule/schedule.h"

/* A variable and the instruction that holds its current value. */
typedef struct binding {
  const char *name;
  const char *now;
} binding_t;
/* A transfer that has started and has not ended in its block. */
typedef struct transfer {
  const char *channel;
  int peer;             /* -1: an all-reduce */
  schedule_kind_t kind; /* kind of its start */
  const char *now;
  const char *value;
} transfer_t;

/* One program. */
typedef struct writer {
  const schedule_t *schedule;
  hr_arena_t *arena;
  int rank, inputs;
  long names;        /* number of names in use */
  hr_strbuf_t *done; /* finished computations */
  bool has_sum;
  const char *scalar; /* element type of all values, such as "f32" */
  HR_VEC(binding_t) outputs;
} writer_t;

/* State of one computation. */
typedef struct scope {
  writer_t *writer;
  hr_strbuf_t *text;
  const char *token;
  HR_VEC(binding_t) values;
  HR_VEC(transfer_t) transfers;
} scope_t;

/* INVALID with the rank, the line of the schedule and the statement. */
static hr_status_t step_error(const schedule_step_t *step, int rank, const char *what) {
  return hr_error(HR_INVALID, "rank %d, line %u, %s %s: %s", rank, step->line,
                  schedule_kind_name(step->kind), step->value ? step->value : "", what);
}

/* A fresh instruction name: BASE.N, where N counts through all computations of a rank. */
static hr_status_t new_name(scope_t *scope, const char *base, const char **out_name) {
  return hr_arena_printf(scope->writer->arena, out_name, "%s.%ld", base, ++scope->writer->names);
}

/* --- values --- */

static binding_t *find_value(scope_t *scope, const char *name) {
  for (size_t i = 0; i < scope->values.count; i++)
    if (!strcmp(scope->values.data[i].name, name)) return &scope->values.data[i];
  return NULL;
}

/* Binds `name` to the instruction `now`: names of a schedule are variables, those of HLO are
 * not. */
static hr_status_t bind(scope_t *scope, const char *name, const char *now) {
  binding_t *found = find_value(scope, name);
  if (found)
    found->now = now;
  else
    HR_VEC_PUSH(&scope->values, (binding_t){name, now});
  return NULL;
}

/* A scalar constant, broadcast to the shape of all values of the schedule. */
static hr_status_t write_const(scope_t *scope, const char *value, const char *number) {
  const char *scalar, *name;
  HR_TRY(new_name(scope, "number", &scalar));
  HR_TRY(new_name(scope, value, &name));
  hr_strbuf_printf(scope->text, "  %s = %s[] constant(%s)\n", scalar, scope->writer->scalar,
                   number);
  hr_strbuf_printf(scope->text, "  %s = %s broadcast(%s), dimensions={}\n", name,
                   scope->writer->schedule->shape, scalar);
  return bind(scope, value, name);
}

/* The instruction that holds a value. Errors: INVALID if no earlier statement defines the value. */
static hr_status_t use_value(scope_t *scope, const schedule_step_t *step, const char *name,
                             const char **out_now) {
  binding_t *found = find_value(scope, name);
  if (!found) return step_error(step, scope->writer->rank, "the value has not been given before");
  *out_now = found->now;
  return NULL;
}

/* The same for values that are sent or reduced. An undefined one is rank + 1, so that results show
 * which rank contributed. */
static hr_status_t use_or_make_value(scope_t *scope, const schedule_step_t *step,
                                     const char **out_now) {
  char number[16];
  snprintf(number, sizeof number, "%d", scope->writer->rank + 1);
  if (!find_value(scope, step->value)) HR_TRY(write_const(scope, step->value, number));
  return use_value(scope, step, step->value, out_now);
}

/* A copy needs no instruction: it is a second name of the same instruction. */
static hr_status_t write_compute(scope_t *scope, const schedule_step_t *step) {
  const char *a, *b, *name;
  HR_TRY(use_value(scope, step, step->a, &a));
  if (step->kind == SCHEDULE_COPY) return bind(scope, step->value, a);
  HR_TRY(use_value(scope, step, step->b, &b));
  HR_TRY(new_name(scope, step->value, &name));
  hr_strbuf_printf(scope->text, "  %s = %s %s(%s, %s)\n", name, scope->writer->schedule->shape,
                   hlo_op_name(step->op), a, b);
  return bind(scope, step->value, name);
}

/* Inputs become parameters in the order of their statements. */
static hr_status_t write_input(scope_t *scope, const schedule_step_t *step) {
  const char *name;
  HR_TRY(new_name(scope, step->value, &name));
  hr_strbuf_printf(scope->text, "  %s = %s parameter(%d)\n", name, scope->writer->schedule->shape,
                   scope->writer->inputs++);
  return bind(scope, step->value, name);
}

/* --- transfers --- */

/* Sends come first in statements.def. */
static bool is_send(const schedule_step_t *step) { return step->kind <= SCHEDULE_SEND_DONE; }

/* --- the chain of tokens --- */

/* Makes token `index` of a state tuple the end of the chain. */
static hr_status_t advance_token(scope_t *scope, const char *tuple, int index) {
  HR_TRY(new_name(scope, "token", &scope->token));
  hr_strbuf_printf(scope->text, "  %s = token[] get-tuple-element(%s), index=%d\n", scope->token,
                   tuple, index);
  return NULL;
}

/* send takes (value, token), recv only the token; the state's token is element 2. The transfer
 * stays in scope->transfers until its done. */
static hr_status_t write_start(scope_t *scope, const schedule_step_t *step) {
  const char *value = NULL, *name, *shape = scope->writer->schedule->shape;
  bool sends = is_send(step);
  if (sends) HR_TRY(use_or_make_value(scope, step, &value));
  const char *opcode = sends ? "send" : "recv";
  HR_TRY(new_name(scope, opcode, &name));
  hr_strbuf_printf(scope->text, "  %s = (%s, u32[], token[]) %s(", name, shape, opcode);
  if (sends) hr_strbuf_printf(scope->text, "%s, ", value);
  hr_strbuf_printf(scope->text, "%s), channel_id=%ld\n", scope->token, (long)step->channel_id);
  HR_VEC_PUSH(&scope->transfers,
              (transfer_t){.channel = step->channel,
                           .peer = step->peer,
                           .kind = sends ? SCHEDULE_SEND_START : SCHEDULE_RECV_START,
                           .now = name,
                           .value = step->value});
  return advance_token(scope, name, 2);
}

/* Removes the oldest transfer of this kind from the list. */
static bool match_transfer(scope_t *scope, schedule_kind_t kind, const char *channel, int peer,
                           transfer_t *out_transfer) {
  for (size_t i = 0; i < scope->transfers.count; i++) {
    transfer_t *transfer = &scope->transfers.data[i];
    if (transfer->kind != kind || transfer->peer != peer || strcmp(transfer->channel, channel))
      continue;
    *out_transfer = *transfer;
    memmove(transfer, transfer + 1, (--scope->transfers.count - i) * sizeof *transfer);
    return true;
  }
  return false;
}

/* Writes the done of the oldest open start of this channel and peer. Its only operand is the start,
 * so a control edge from the chain's token keeps its position among the statements. */
static hr_status_t write_done(scope_t *scope, const schedule_step_t *step) {
  bool sends = is_send(step);
  transfer_t transfer;
  const char *name, *data, *shape = scope->writer->schedule->shape;
  if (!match_transfer(scope, sends ? SCHEDULE_SEND_START : SCHEDULE_RECV_START, step->channel,
                      step->peer, &transfer))
    return step_error(step, scope->writer->rank, "no start to this rank on this channel before it");
  long channel = (long)step->channel_id;
  HR_TRY(new_name(scope, sends ? "sent" : "received", &name));
  if (sends) {
    hr_strbuf_printf(scope->text,
                     "  %s = token[] send-done(%s), channel_id=%ld, control-predecessors={%s}\n",
                     name, transfer.now, channel, scope->token);
    scope->token = name;
    return NULL;
  }
  hr_strbuf_printf(
      scope->text,
      "  %s = (%s, token[]) recv-done(%s), channel_id=%ld, control-predecessors={%s}\n", name,
      shape, transfer.now, channel, scope->token);
  HR_TRY(new_name(scope, step->value, &data));
  hr_strbuf_printf(scope->text, "  %s = %s get-tuple-element(%s), index=0\n", data, shape, name);
  HR_TRY(bind(scope, step->value, data));
  return advance_token(scope, name, 1);
}

/* --- all-reduce --- */

/* Later instructions wait for this one, which has no token. */
static hr_status_t chain(scope_t *scope, const char *instr) {
  const char *token;
  HR_TRY(new_name(scope, "token", &token));
  hr_strbuf_printf(scope->text, "  %s = token[] after-all(%s), control-predecessors={%s}\n", token,
                   scope->token, instr);
  scope->token = token;
  return NULL;
}

/* Is the rank in the list? */
static bool is_among(hr_ints_t ranks, int64_t rank) {
  for (int64_t i = 0; i < ranks.count; i++)
    if (ranks.data[i] == rank) return true;
  return false;
}

/* HLO requires every process in some group: processes that take no part form groups of one. */
static hr_status_t write_groups(scope_t *scope, const schedule_step_t *step) {
  int world = scope->writer->schedule->rank_count;
  hr_strbuf_add_str(scope->text, ", replica_groups={{");
  for (int64_t i = 0; i < (step->ranks.count ? step->ranks.count : world); i++)
    hr_strbuf_printf(scope->text, "%s%ld", i ? "," : "",
                     (long)(step->ranks.count ? step->ranks.data[i] : i));
  for (int rank = 0; rank < world && step->ranks.count; rank++)
    if (!is_among(step->ranks, rank)) hr_strbuf_printf(scope->text, "},{%d", rank);
  hr_strbuf_add_str(scope->text, "}}, to_apply=sum\n");
  if (scope->writer->has_sum) return NULL;
  scope->writer->has_sum = true;
  hr_strbuf_printf(
      scope->writer->done,
      "sum {\n  a = %s[] parameter(0)\n  b = %s[] parameter(1)\n  ROOT c = %s[] add(a, b)\n}\n\n",
      scope->writer->scalar, scope->writer->scalar, scope->writer->scalar);
  return NULL;
}

/* An all-reduce takes no token: add-dependency ties its operand to the chain, and `chain` ties
 * later instructions to it. `whole`: the synchronous op. */
static hr_status_t write_reduce_start(scope_t *scope, const schedule_step_t *step, bool whole) {
  const char *value, *ordered, *name, *shape = scope->writer->schedule->shape;
  HR_TRY(use_or_make_value(scope, step, &value));
  HR_TRY(new_name(scope, step->value, &ordered));
  HR_TRY(new_name(scope, step->value, &name));
  hr_strbuf_printf(scope->text, "  %s = %s add-dependency(%s, %s)\n", ordered, shape, value,
                   scope->token);
  hr_strbuf_printf(scope->text, "  %s = %s %s(%s)", name, shape,
                   whole ? "all-reduce" : "all-reduce-start", ordered);
  HR_TRY(write_groups(scope, step));
  HR_TRY(chain(scope, name));
  if (whole) return bind(scope, step->value, name);
  HR_VEC_PUSH(&scope->transfers, (transfer_t){.channel = step->value,
                                              .peer = -1,
                                              .kind = SCHEDULE_ALL_REDUCE_START,
                                              .now = name,
                                              .value = step->value});
  return NULL;
}

/* Ends the oldest open all-reduce of this value and binds the value to the result. */
static hr_status_t write_reduce_done(scope_t *scope, const schedule_step_t *step) {
  transfer_t transfer;
  const char *name;
  if (!match_transfer(scope, SCHEDULE_ALL_REDUCE_START, step->value, -1, &transfer))
    return step_error(step, scope->writer->rank, "no start of this value before it");
  HR_TRY(new_name(scope, step->value, &name));
  hr_strbuf_printf(scope->text, "  %s = %s all-reduce-done(%s), control-predecessors={%s}\n", name,
                   scope->writer->schedule->shape, transfer.now, scope->token);
  HR_TRY(chain(scope, name));
  return bind(scope, step->value, name);
}

/* --- blocks --- */

static hr_status_t write_block(scope_t *scope, const schedule_block_t *block);
static hr_status_t write_repeat(scope_t *scope, const schedule_step_t *step);

/* Writes one statement. A send or recv without start and done is written as both halves. */
static hr_status_t write_step(scope_t *scope, const schedule_step_t *step) {
  switch (step->kind) {
    case SCHEDULE_SEND:
    case SCHEDULE_RECV:
      HR_TRY(write_start(scope, step));
      return write_done(scope, step);
    case SCHEDULE_SEND_START:
    case SCHEDULE_RECV_START:
      return write_start(scope, step);
    case SCHEDULE_SEND_DONE:
    case SCHEDULE_RECV_DONE:
      return write_done(scope, step);
    case SCHEDULE_ALL_REDUCE:
      return write_reduce_start(scope, step, true);
    case SCHEDULE_ALL_REDUCE_START:
      return write_reduce_start(scope, step, false);
    case SCHEDULE_ALL_REDUCE_DONE:
      return write_reduce_done(scope, step);
    case SCHEDULE_REPEAT:
      return write_repeat(scope, step);
    case SCHEDULE_CONST:
      return write_const(scope, step->value, step->number);
    case SCHEDULE_INPUT:
      return write_input(scope, step);
    case SCHEDULE_COPY:
    case SCHEDULE_COMPUTE:
      return write_compute(scope, step);
    case SCHEDULE_OUTPUT:
    case SCHEDULE_KIND_COUNT:
      break;
  }
  const char *now;
  HR_TRY(use_value(scope, step, step->value, &now));
  HR_VEC_PUSH(&scope->writer->outputs, (binding_t){step->value, now});
  return NULL;
}

/* Transfers must end in the block in which they start, since no while carries their states. */
static hr_status_t write_block(scope_t *scope, const schedule_block_t *block) {
  for (const schedule_step_t *step = block->first; step; step = step->next)
    HR_TRY(write_step(scope, step));
  if (!scope->transfers.count) return NULL;
  const transfer_t *left = &scope->transfers.data[0];
  return hr_error(HR_INVALID, "rank %d: %s %s has no done in its block", scope->writer->rank,
                  schedule_kind_name(left->kind), left->value);
}

/* --- repeat --- */

/* The type of a loop's state: counter, token, then `count` values. */
static void add_state_shape(scope_t *scope, hr_strbuf_t *text, size_t count) {
  hr_strbuf_add_str(text, "(s32[], token[]");
  for (size_t i = 0; i < count; i++) hr_strbuf_printf(text, ", %s", scope->writer->schedule->shape);
  hr_strbuf_add_char(text, ')');
}

/* The state as a tuple of the current counter, token and values. */
static void add_tuple(scope_t *scope, const char *name, const char *counter, size_t count) {
  hr_strbuf_printf(scope->text, "  %s = ", name);
  add_state_shape(scope, scope->text, count);
  hr_strbuf_printf(scope->text, " tuple(%s, %s", counter, scope->token);
  for (size_t i = 0; i < count; i++)
    hr_strbuf_printf(scope->text, ", %s", scope->values.data[i].now);
  hr_strbuf_add_str(scope->text, ")\n");
}

/* Binds the token and the first `count` values to the elements of `state`. */
static hr_status_t unpack_state(scope_t *scope, const char *state, size_t count) {
  HR_TRY(advance_token(scope, state, 1));
  for (size_t i = 0; i < count; i++) {
    const char *name;
    HR_TRY(new_name(scope, scope->values.data[i].name, &name));
    hr_strbuf_printf(scope->text, "  %s = %s get-tuple-element(%s), index=%zu\n", name,
                     scope->writer->schedule->shape, state, i + 2);
    scope->values.data[i].now = name;
  }
  return NULL;
}

/* counter < iterations. */
static void write_condition(scope_t *scope, const char *name, int64_t iterations, size_t count) {
  hr_strbuf_t *done = scope->writer->done;
  hr_strbuf_printf(done, "%s {\n  state = ", name);
  add_state_shape(scope, done, count);
  hr_strbuf_printf(done,
                   " parameter(0)\n  iteration = s32[] get-tuple-element(state), index=0\n"
                   "  trip_count = s32[] constant(%ld)\n"
                   "  ROOT continues = pred[] compare(iteration, trip_count), direction=LT\n}\n\n",
                   (long)iterations);
}

/* Unpacks the state, writes the statements, packs the carried values. `count`: number of values
 * that exist before the loop. */
static hr_status_t write_body(scope_t *inner, const char *name, const schedule_step_t *step,
                              size_t count) {
  const char *iteration, *one, *next, *state;
  HR_TRY(new_name(inner, "iteration", &iteration));
  HR_TRY(new_name(inner, "one", &one));
  HR_TRY(new_name(inner, "next_iteration", &next));
  HR_TRY(new_name(inner, "state", &state));
  hr_strbuf_printf(inner->text, "%s {\n  state = ", name);
  add_state_shape(inner, inner->text, count);
  hr_strbuf_printf(inner->text, " parameter(0)\n  %s = s32[] get-tuple-element(state), index=0\n",
                   iteration);
  HR_TRY(unpack_state(inner, "state", count));
  HR_TRY(write_block(inner, &step->body));
  hr_strbuf_printf(inner->text, "  %s = s32[] constant(1)\n  %s = s32[] add(%s, %s)\n", one, next,
                   iteration, one);
  hr_strbuf_add_str(inner->text, "  ROOT");
  add_tuple(inner, state, next, count);
  hr_strbuf_add_str(inner->text, "}\n\n");
  hr_strbuf_add(inner->writer->done, inner->text->data, inner->text->size);
  return NULL;
}

/* The body is written to a separate text first, since the loop's computations must precede the
 * entry computation; nested loops do likewise. */
static hr_status_t write_repeat(scope_t *scope, const schedule_step_t *step) {
  const char *zero, *state, *condition, *body, *after;
  size_t count = scope->values.count;
  hr_strbuf_t text;
  scope_t inner = {.writer = scope->writer, .text = &text};
  HR_TRY(new_name(scope, "zero", &zero));
  HR_TRY(new_name(scope, "state", &state));
  HR_TRY(new_name(scope, "condition", &condition));
  HR_TRY(new_name(scope, "body", &body));
  HR_TRY(new_name(scope, "after", &after));
  hr_strbuf_init(&text);
  hr_status_t st = HR_VEC_RESERVE(&inner.values, count);
  for (size_t i = 0; i < count && !st; i++)
    inner.values.data[inner.values.count++] = scope->values.data[i];
  write_condition(scope, condition, step->count, count);
  if (!st) st = write_body(&inner, body, step, count);
  HR_VEC_FREE(&inner.values);
  HR_VEC_FREE(&inner.transfers);
  hr_strbuf_deinit(&text);
  HR_TRY(st);
  hr_strbuf_printf(scope->text, "  %s = s32[] constant(0)\n", zero);
  add_tuple(scope, state, zero, count);
  hr_strbuf_printf(scope->text, "  %s = ", after);
  add_state_shape(scope, scope->text, count);
  hr_strbuf_printf(scope->text, " while(%s), condition=%s, body=%s\n", state, condition, body);
  return unpack_state(scope, after, count);
}

/* --- programs --- */

/* The element type of a shape: "f32" of "f32[4]". */
static hr_status_t scalar_of(hr_arena_t *arena, const char *shape, const char **out_scalar) {
  return hr_arena_cstr(arena, (hr_str_t){shape, strcspn(shape, "[")}, out_scalar);
}

/* The program's result: a tuple of the outputs in the order of their statements. */
static void write_root(scope_t *scope) {
  const writer_t *writer = scope->writer;
  hr_strbuf_add_str(scope->text, "  ROOT results = (");
  for (size_t i = 0; i < writer->outputs.count; i++)
    hr_strbuf_printf(scope->text, "%s%s", i ? ", " : "", writer->schedule->shape);
  hr_strbuf_add_str(scope->text, ") tuple(");
  for (size_t i = 0; i < writer->outputs.count; i++)
    hr_strbuf_printf(scope->text, "%s%s", i ? ", " : "", writer->outputs.data[i].now);
  hr_strbuf_add_str(scope->text, ")\n}\n");
}

/* The chain begins with a token of no operands. */
static hr_status_t write_entry(scope_t *scope, const schedule_block_t *block) {
  HR_TRY(new_name(scope, "token", &scope->token));
  hr_strbuf_printf(scope->text, "ENTRY rank {\n  %s = token[] after-all()\n", scope->token);
  HR_TRY(write_block(scope, block));
  write_root(scope);
  return NULL;
}

/* Finished computations precede the entry, so that names are defined before their uses. */
hr_status_t schedule_to_hlo(schedule_t *schedule, int rank, hr_strbuf_t *text) {
  hr_arena_t arena;
  hr_strbuf_t done, entry;
  HR_TRY(schedule_number_channels(schedule));
  hr_arena_init(&arena);
  hr_strbuf_init(&done);
  hr_strbuf_init(&entry);
  writer_t writer = {.schedule = schedule, .arena = &arena, .rank = rank, .done = &done};
  scope_t scope = {.writer = &writer, .text = &entry};
  hr_status_t st = scalar_of(&arena, schedule->shape, &writer.scalar);
  if (!st) st = write_entry(&scope, &schedule->ranks[rank]);
  if (!st) {
    hr_strbuf_printf(text, "HloModule rank%d, is_scheduled=true\n\n", rank);
    hr_strbuf_add(text, done.data, done.size);
    hr_strbuf_add(text, entry.data, entry.size);
    st = hr_strbuf_finish(text);
  }
  HR_VEC_FREE(&scope.values);
  HR_VEC_FREE(&scope.transfers);
  HR_VEC_FREE(&writer.outputs);
  hr_strbuf_deinit(&done);
  hr_strbuf_deinit(&entry);
  hr_arena_deinit(&arena);
  return st;
}
