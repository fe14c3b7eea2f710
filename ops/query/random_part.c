#include "ops/query/random_part.h"

#include <string.h>

#define RANDOM_PART_FORM                                                                  \
  "want the sizes of the whole array, then where each partition's part begins, as in 8,6" \
  ":0,0:4,0"

/* A cursor over numbers separated by one character each. */
typedef struct numbers {
  const char *at, *end;
} numbers_t;

/* False if there is no number, or it has more than 18 digits. */
static bool next_number(numbers_t *text, int64_t *out_number) {
  int digits = 0;
  *out_number = 0;
  for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++, digits++)
    if (digits < 18) *out_number = *out_number * 10 + (*text->at - '0');
  return digits > 0 && digits <= 18;
}

static bool take(numbers_t *text, char c) {
  bool found = text->at < text->end && *text->at == c;
  text->at += found;
  return found;
}

uint64_t op_random_stream(const hlo_instr_t *instr) {
  hr_str_t name = hlo_frontend_attribute(instr, OP_RANDOM_STREAM);
  numbers_t text = {name.data, name.data + name.size};
  int64_t number;
  return next_number(&text, &number) ? (uint64_t)number : 0;
}

/* Reads a list of `rank` numbers, separated by commas. */
static bool next_list(numbers_t *text, int rank, int64_t *out_list) {
  for (int d = 0; d < rank; d++)
    if ((d && !take(text, ',')) || !next_number(text, &out_list[d])) return false;
  return true;
}

static bool fits(const op_random_part_t *part, int rank) {
  int64_t elements = 1;
  for (int d = 0; d < rank; d++)
    if (__builtin_mul_overflow(elements, part->whole[d], &elements)) return false;
  for (int64_t i = 0; i < part->count * rank; i++)
    if (part->starts[i] > part->whole[i % rank]) return false;
  return true;
}

hr_status_t op_random_part(hr_arena_t *arena, const hlo_instr_t *instr,
                           op_random_part_t *out_part) {
  hr_str_t given = hlo_frontend_attribute(instr, OP_RANDOM_PART);
  numbers_t text = {given.data, given.data + given.size};
  int rank = instr->shape->rank;
  int64_t *lists, count = 0, listed = 0;
  *out_part = (op_random_part_t){0};
  if (!given.size) return NULL;
  for (const char *at = text.at; at < text.end; at++) count += *at == ':';
  HR_TRY(HR_NEW_ARRAY(arena, (count + 1) * rank, &lists));
  bool reads = rank > 0 && count > 0 && next_list(&text, rank, lists);
  while (reads && listed < count)
    reads = take(&text, ':') && next_list(&text, rank, lists + ++listed * rank);
  op_random_part_t part = {count, lists, lists + rank};
  if (!reads || text.at < text.end || !fits(&part, rank))
    return hlo_error(instr, NULL, OP_RANDOM_PART "=\"%.*s\" for %d dimensions, " RANDOM_PART_FORM,
                     (int)(given.size < 80 ? given.size : 80), given.data, rank);
  *out_part = part;
  return NULL;
}
