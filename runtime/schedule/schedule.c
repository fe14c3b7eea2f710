/* Construction and printing of schedules; all steps live in the schedule's arena. */
#include "schedule/schedule.h"

#include <string.h>

const char *schedule_kind_name(schedule_kind_t kind) {
  static const char *const names[] = {
#define STATEMENT(id, name) name,
#include "schedule/statements.def"
#undef STATEMENT
  };
  return names[kind];
}

void schedule_block_init(schedule_block_t *block) {
  block->first = NULL;
  block->last = &block->first;
}

/* Appends a step; the caller sets its fields. */
hr_status_t schedule_add(schedule_t *schedule, schedule_block_t *block, schedule_kind_t kind,
                         schedule_step_t **out_step) {
  schedule_step_t *step;
  HR_TRY(HR_NEW(&schedule->arena, &step));
  step->kind = kind;
  schedule_block_init(&step->body);
  *block->last = step;
  block->last = &step->next;
  *out_step = step;
  return NULL;
}

hr_status_t schedule_init(schedule_t *schedule, int rank_count, const char *shape) {
  *schedule = (schedule_t){.rank_count = rank_count, .shape = shape};
  hr_arena_init(&schedule->arena);
  HR_TRY(HR_NEW_ARRAY(&schedule->arena, rank_count, &schedule->ranks));
  for (int r = 0; r < rank_count; r++) schedule_block_init(&schedule->ranks[r]);
  return NULL;
}

void schedule_deinit(schedule_t *schedule) { hr_arena_deinit(&schedule->arena); }

/* --- text --- */

/* " among 0,1,2"; nothing for all ranks. */
static void print_ranks(hr_strbuf_t *text, hr_ints_t ranks) {
  for (int64_t i = 0; i < ranks.count; i++)
    hr_strbuf_printf(text, "%s%ld", i ? "," : " among ", (long)ranks.data[i]);
}

static void print_block(hr_strbuf_t *text, const schedule_block_t *block, int depth);

/* Prints one statement as the reader accepts it. The channel is omitted if it has the name of the
 * value. */
static void print_step(hr_strbuf_t *text, const schedule_step_t *step, int depth) {
  const char *word = schedule_kind_name(step->kind);
  hr_strbuf_printf(text, "%*s", 2 * depth, "");
  switch (step->kind) {
    case SCHEDULE_CONST:
      hr_strbuf_printf(text, "%s = const %s\n", step->value, step->number);
      break;
    case SCHEDULE_INPUT:
      hr_strbuf_printf(text, "%s = input\n", step->value);
      break;
    case SCHEDULE_COPY:
      hr_strbuf_printf(text, "%s = copy %s\n", step->value, step->a);
      break;
    case SCHEDULE_COMPUTE:
      hr_strbuf_printf(text, "%s = %s %s %s\n", step->value, hlo_op_name(step->op), step->a,
                       step->b);
      break;
    case SCHEDULE_REPEAT:
      hr_strbuf_printf(text, "repeat %ld {\n", (long)step->count);
      print_block(text, &step->body, depth + 1);
      hr_strbuf_printf(text, "%*s}\n", 2 * depth, "");
      break;
    case SCHEDULE_OUTPUT:
      hr_strbuf_printf(text, "output %s\n", step->value);
      break;
    case SCHEDULE_ALL_REDUCE:
    case SCHEDULE_ALL_REDUCE_START:
    case SCHEDULE_ALL_REDUCE_DONE:
      hr_strbuf_printf(text, "%s %s", word, step->value);
      print_ranks(text, step->ranks);
      hr_strbuf_add_char(text, '\n');
      break;
    default:
      hr_strbuf_printf(text, "%s %s %d", word, step->value, step->peer);
      if (strcmp(step->channel, step->value)) hr_strbuf_printf(text, " on %s", step->channel);
      hr_strbuf_add_char(text, '\n');
  }
}

static void print_block(hr_strbuf_t *text, const schedule_block_t *block, int depth) {
  for (const schedule_step_t *step = block->first; step; step = step->next)
    print_step(text, step, depth);
}

/* The printed text reads back as the same schedule. */
void schedule_print(hr_strbuf_t *text, const schedule_t *schedule) {
  hr_strbuf_printf(text, "ranks %d\nshape %s\n", schedule->rank_count, schedule->shape);
  for (int r = 0; r < schedule->rank_count; r++) {
    hr_strbuf_printf(text, "rank %d:\n", r);
    print_block(text, &schedule->ranks[r], 1);
  }
}

/* --- channels --- */

/* Numbers channels from 1 in the order of their first use over all ranks. Equal (sender, receiver,
 * name) get equal numbers, so that both ends have the same channel_id. */
static hr_status_t number_block(schedule_t *schedule, int rank, schedule_block_t *block,
                                hr_map_t *numbers) {
  for (schedule_step_t *step = block->first; step; step = step->next) {
    if (step->kind == SCHEDULE_REPEAT) HR_TRY(number_block(schedule, rank, &step->body, numbers));
    if (step->kind > SCHEDULE_RECV_DONE) continue;
    bool sends = step->kind <= SCHEDULE_SEND_DONE;
    const char *key;
    HR_TRY(hr_arena_printf(&schedule->arena, &key, "%d>%d %s", sends ? rank : step->peer,
                           sends ? step->peer : rank, step->channel));
    schedule_step_t *first = hr_map_get(numbers, hr_str_from(key));
    step->channel_id = first ? first->channel_id : (int64_t)numbers->count + 1;
    if (!first) HR_TRY(hr_map_put(numbers, hr_str_from(key), step, NULL));
  }
  return NULL;
}

/* Equal names of channels get equal numbers on all ranks. */
hr_status_t schedule_number_channels(schedule_t *schedule) {
  if (schedule->is_numbered) return NULL;
  hr_map_t numbers;
  hr_map_init(&numbers);
  hr_status_t st = NULL;
  for (int rank = 0; rank < schedule->rank_count && !st; rank++)
    st = number_block(schedule, rank, &schedule->ranks[rank], &numbers);
  hr_map_deinit(&numbers);
  schedule->is_numbered = !st;
  return st;
}
