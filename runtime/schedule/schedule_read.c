/* Recursive-descent reader of the schedule language (schedule.h). One token of lookahead;
 * statements are words of statements.def or assignments. Errors carry file, line and column. */
#include <stdlib.h>
#include <string.h>

#include "schedule/schedule.h"
#include "base/decimal.h"

#define MAX_RANKS (1 << 16)
#define MAX_DEPTH 64

/* The text and the current position. */
typedef struct reader {
  const hr_source_t *source;
  const char *at, *end, *line_start;
  uint32_t line;
  hr_str_t
      word; /* the current word: empty at the end of the text; ";" also for the end of a line */
  uint32_t word_line, word_column;
  schedule_t *schedule;
  int rank, depth;
} reader_t;

/* INVALID at the current word, which is quoted; `what` was expected instead. */
static hr_status_t reader_error(const reader_t *reader, const char *what) {
  hr_pos_t pos = {reader->source, reader->word_line, reader->word_column};
  if (!reader->word.size) return hr_error_at(HR_INVALID, &pos, "the text ends, want %s", what);
  if (reader->word.data[0] == '\n')
    return hr_error_at(HR_INVALID, &pos, "the line ends, want %s", what);
  return hr_error_at(HR_INVALID, &pos, "found '%.*s', want %s", HR_STR_ARGS(reader->word), what);
}

/* --- words --- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
/* Marks are separate words; so is the end of a line. */
static bool is_mark(char c) { return strchr(";{}:=\n", c) != NULL; }

/* Moves to the next word, mark or end of line. Comments run from '#' to the end of the line. */
static void next_word(reader_t *reader) {
  while (reader->at < reader->end && (is_blank(*reader->at) || *reader->at == '#')) {
    if (*reader->at == '#')
      while (reader->at < reader->end && *reader->at != '\n') reader->at++;
    else
      reader->at++;
  }
  const char *start = reader->at;
  reader->word_line = reader->line;
  reader->word_column = (uint32_t)(start - reader->line_start) + 1;
  if (start < reader->end && is_mark(*start)) {
    reader->at++;
    if (*start == '\n') {
      reader->line++;
      reader->line_start = reader->at;
    }
  } else {
    while (reader->at < reader->end && !is_blank(*reader->at) && !is_mark(*reader->at) &&
           *reader->at != '#')
      reader->at++;
  }
  reader->word = (hr_str_t){start, (size_t)(reader->at - start)};
}

static bool is_word(const reader_t *reader, const char *text) {
  return hr_str_is(reader->word, text);
}
/* Does the statement end here? A block's closing brace ends it, too. */
static bool is_end_of_statement(const reader_t *reader) {
  return !reader->word.size || strchr(";\n}", reader->word.data[0]);
}

/* A decimal number from low to high. */
static hr_status_t read_integer(reader_t *reader, long low, long high, const char *what,
                                long *out_number) {
  char text[24], *end;
  snprintf(text, sizeof text, "%.*s", HR_STR_ARGS(reader->word));
  *out_number = strtol(text, &end, 10);
  if (end == text || *end || *out_number < low || *out_number > high)
    return reader_error(reader, what);
  next_word(reader);
  return NULL;
}

/* Names must be valid names of HLO instructions. */
static hr_status_t read_name(reader_t *reader, const char **out_name) {
  hr_str_t word = reader->word;
  bool fits = word.size && word.size < 200 && !strchr("0123456789-.", word.data[0]);
  for (size_t i = 0; i < word.size && fits; i++)
    fits = (word.data[i] >= 'a' && word.data[i] <= 'z') ||
           (word.data[i] >= 'A' && word.data[i] <= 'Z') ||
           (word.data[i] >= '0' && word.data[i] <= '9') || strchr("_.-", word.data[i]);
  if (!fits) return reader_error(reader, "a name");
  HR_TRY(hr_arena_cstr(&reader->schedule->arena, word, out_name));
  next_word(reader);
  return NULL;
}

typedef HR_VEC(int64_t) rank_list_t;

/* A list of ranks such as 0-3,5. */
static hr_status_t read_ranks(const reader_t *reader, rank_list_t *ranks) {
  char *end;
  const char *text, *stop;
  HR_TRY(hr_arena_cstr(&reader->schedule->arena, reader->word, &text));
  stop = text + reader->word.size;
  for (const char *at = text; at < stop;) {
    long first = strtol(at, &end, 10), last = first;
    bool is_range = end > at && end < stop && *end == '-';
    const char *second = end + 1;
    if (is_range) last = strtol(second, &end, 10);
    if (end == at || (is_range && end == second) || end > stop || first < 0 || last < first ||
        last >= MAX_RANKS || (end < stop && *end != ','))
      return reader_error(reader, "ranks, such as 0-3,5");
    for (long rank = first; rank <= last; rank++) HR_VEC_PUSH(ranks, rank);
    at = end + (end < stop);
  }
  return ranks->count ? NULL : reader_error(reader, "ranks, such as 0-3,5");
}

/* --- statements --- */

/* A rank, or +N and -N relative to the own rank, modulo the number of ranks. */
static hr_status_t read_peer(reader_t *reader, int *out_peer) {
  bool relative = reader->word.size > 1 && strchr("+-", reader->word.data[0]);
  int count = reader->schedule->rank_count;
  long number;
  int min = relative ? -MAX_RANKS : 0;
  int max = relative ? MAX_RANKS : count - 1;
  HR_TRY(read_integer(reader, min, max, "a rank of the schedule", &number));
  *out_peer = relative ? (int)(((reader->rank + number) % count + count) % count) : (int)number;
  return NULL;
}

/* VALUE PEER [on CHANNEL]; the default channel has the name of the value. */
static hr_status_t read_transfer(reader_t *reader, schedule_step_t *step) {
  HR_TRY(read_name(reader, &step->value));
  HR_TRY(read_peer(reader, &step->peer));
  step->channel = step->value;
  if (!is_word(reader, "on")) return NULL;
  next_word(reader);
  return read_name(reader, &step->channel);
}

/* VALUE [among RANKS]; by default all ranks take part. */
static hr_status_t read_all_reduce(reader_t *reader, schedule_step_t *step) {
  HR_TRY(read_name(reader, &step->value));
  if (!is_word(reader, "among")) return NULL;
  next_word(reader);
  rank_list_t ranks = {0};
  hr_status_t st = read_ranks(reader, &ranks);
  for (size_t i = 0; i < ranks.count && !st; i++)
    if (ranks.data[i] >= reader->schedule->rank_count)
      st = reader_error(reader, "ranks of the schedule");
  if (!st)
    st = hr_arena_ints(&reader->schedule->arena, ranks.data, (int64_t)ranks.count, &step->ranks);
  HR_VEC_FREE(&ranks);
  if (!st) next_word(reader);
  return st;
}

static hr_status_t read_block(reader_t *reader, schedule_block_t *block, bool in_braces);

/* COUNT { statements }. The depth is limited, since blocks are read recursively. */
static hr_status_t read_repeat(reader_t *reader, schedule_step_t *step) {
  long count;
  HR_TRY(read_integer(reader, 0, INT32_MAX, "how often", &count));
  step->count = count;
  if (!is_word(reader, "{")) return reader_error(reader, "'{'");
  if (++reader->depth > MAX_DEPTH) return reader_error(reader, "fewer loops inside each other");
  next_word(reader);
  HR_TRY(read_block(reader, &step->body, true));
  reader->depth--;
  next_word(reader);
  return NULL;
}

/* VALUE ...: one step each. Allowed only outside loops, where a value has one final state. */
static hr_status_t read_outputs(reader_t *reader, schedule_block_t *block, schedule_step_t *step) {
  if (reader->depth) return reader_error(reader, "outputs outside of loops");
  HR_TRY(read_name(reader, &step->value));
  while (!is_end_of_statement(reader)) {
    HR_TRY(schedule_add(reader->schedule, block, SCHEDULE_OUTPUT, &step));
    step->line = reader->line;
    HR_TRY(read_name(reader, &step->value));
  }
  return NULL;
}

/* The binary ops of the language by their long and short names. */
static bool find_compute(hr_str_t word, hlo_opcode_t *out_op) {
  static const struct {
    const char *name, *short_name;
    hlo_opcode_t op;
  } ops[] = {{"add", "add", HLO_ADD},
             {"subtract", "sub", HLO_SUBTRACT},
             {"multiply", "mul", HLO_MULTIPLY},
             {"maximum", "max", HLO_MAXIMUM},
             {"minimum", "min", HLO_MINIMUM}};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    *out_op = ops[i].op;
    if (hr_str_is(word, ops[i].name) || hr_str_is(word, ops[i].short_name)) return true;
  }
  return false;
}

/* A constant in the syntax of HLO literals; its text is kept, so that no digit is lost. */
static hr_status_t read_number(reader_t *reader, schedule_step_t *step) {
  char text[64], *end;
  snprintf(text, sizeof text, "%.*s", HR_STR_ARGS(reader->word));
  hr_strtod(text, &end);
  if (end == text || *end || reader->word.size >= sizeof text)
    return reader_error(reader, "a number");
  HR_TRY(hr_arena_cstr(&reader->schedule->arena, reader->word, &step->number));
  next_word(reader);
  return NULL;
}

/* The rest of NAME = ..., from '=' on. */
static hr_status_t read_value(reader_t *reader, schedule_block_t *block, const char *name) {
  schedule_step_t *step;
  hlo_opcode_t op;
  next_word(reader);
  bool computes = find_compute(reader->word, &op);
  schedule_kind_t kind = computes                   ? SCHEDULE_COMPUTE
                         : is_word(reader, "const") ? SCHEDULE_CONST
                         : is_word(reader, "input") ? SCHEDULE_INPUT
                                                    : SCHEDULE_COPY;
  if (kind == SCHEDULE_COPY && !is_word(reader, "copy"))
    return reader_error(reader, "const, input, copy, add, sub, mul, max or min");
  if (kind == SCHEDULE_INPUT && reader->depth)
    return reader_error(reader, "inputs outside of loops");
  HR_TRY(schedule_add(reader->schedule, block, kind, &step));
  step->line = reader->word_line;
  step->value = name;
  step->op = op;
  next_word(reader);
  if (kind == SCHEDULE_CONST) return read_number(reader, step);
  if (kind == SCHEDULE_INPUT) return NULL;
  HR_TRY(read_name(reader, &step->a));
  return kind == SCHEDULE_COMPUTE ? read_name(reader, &step->b) : NULL;
}

/* SCHEDULE_CONST: the word starts no statement and is the name in an assignment. */
static schedule_kind_t find_kind(hr_str_t word) {
  schedule_kind_t kind = 0;
  while (kind < SCHEDULE_CONST && !hr_str_is(word, schedule_kind_name(kind))) kind++;
  return kind;
}

/* One statement; an assignment starts with the name that it defines. */
static hr_status_t read_statement(reader_t *reader, schedule_block_t *block) {
  schedule_kind_t kind = find_kind(reader->word);
  schedule_step_t *step;
  if (kind == SCHEDULE_CONST) {
    const char *name;
    HR_TRY(read_name(reader, &name));
    if (!is_word(reader, "=")) return reader_error(reader, "'=', or a statement before it");
    return read_value(reader, block, name);
  }
  HR_TRY(schedule_add(reader->schedule, block, kind, &step));
  step->line = reader->word_line;
  next_word(reader);
  if (kind == SCHEDULE_REPEAT) return read_repeat(reader, step);
  if (kind == SCHEDULE_OUTPUT) return read_outputs(reader, block, step);
  return kind >= SCHEDULE_ALL_REDUCE ? read_all_reduce(reader, step) : read_transfer(reader, step);
}

static bool is_separator(const reader_t *reader) {
  return is_word(reader, ";") || is_word(reader, "\n");
}

/* Reads up to '}', or to the next section. */
static hr_status_t read_block(reader_t *reader, schedule_block_t *block, bool in_braces) {
  for (;;) {
    while (is_separator(reader)) next_word(reader);
    if (in_braces ? is_word(reader, "}") : !reader->word.size || is_word(reader, "rank"))
      return NULL;
    if (!reader->word.size) return reader_error(reader, "'}'");
    HR_TRY(read_statement(reader, block));
    if (!is_end_of_statement(reader)) return reader_error(reader, "the end of the statement");
    if (!in_braces && is_word(reader, "}")) return reader_error(reader, "a statement");
  }
}

/* --- sections --- */

static void skip_lines(reader_t *reader) {
  while (is_separator(reader)) next_word(reader);
}

static hr_status_t read_header(reader_t *reader) {
  long count;
  skip_lines(reader);
  while (is_word(reader, "ranks") || is_word(reader, "shape")) {
    bool is_shape = is_word(reader, "shape");
    next_word(reader);
    if (is_shape) {
      HR_TRY(hr_arena_cstr(&reader->schedule->arena, reader->word, &reader->schedule->shape));
      next_word(reader);
    } else {
      HR_TRY(read_integer(reader, 1, MAX_RANKS, "a number of ranks", &count));
      reader->schedule->rank_count = (int)count;
    }
    skip_lines(reader);
  }
  if (!reader->schedule->rank_count) return reader_error(reader, "'ranks N' before the first rank");
  HR_TRY(HR_NEW_ARRAY(&reader->schedule->arena, reader->schedule->rank_count,
                      &reader->schedule->ranks));
  for (int r = 0; r < reader->schedule->rank_count; r++)
    schedule_block_init(&reader->schedule->ranks[r]);
  return NULL;
}

/* A section for several ranks is read once per rank, since peers may be relative. */
static hr_status_t read_for(reader_t *reader, const rank_list_t *ranks) {
  reader_t start = *reader;
  for (size_t i = 0; i < ranks->count; i++) {
    if (ranks->data[i] >= reader->schedule->rank_count)
      return reader_error(reader, "ranks of the schedule");
    *reader = start;
    reader->rank = (int)ranks->data[i];
    HR_TRY(read_block(reader, &reader->schedule->ranks[reader->rank], false));
  }
  return NULL;
}

static hr_status_t read_section(reader_t *reader) {
  rank_list_t ranks = {0};
  if (!is_word(reader, "rank")) return reader_error(reader, "'rank'");
  next_word(reader);
  hr_status_t st = read_ranks(reader, &ranks);
  if (!st) next_word(reader);
  if (!st && !is_word(reader, ":")) st = reader_error(reader, "':'");
  if (!st) next_word(reader);
  if (!st) st = read_for(reader, &ranks);
  HR_VEC_FREE(&ranks);
  return st;
}

hr_status_t schedule_read(const hr_source_t *source, schedule_t *out_schedule) {
  *out_schedule = (schedule_t){.shape = "f32[4]"};
  hr_arena_init(&out_schedule->arena);
  reader_t reader = {.source = source,
                     .at = source->text,
                     .end = source->text + source->size_bytes,
                     .line_start = source->text,
                     .line = 1,
                     .schedule = out_schedule};
  next_word(&reader);
  HR_TRY(read_header(&reader));
  while (reader.word.size) HR_TRY(read_section(&reader));
  return NULL;
}
