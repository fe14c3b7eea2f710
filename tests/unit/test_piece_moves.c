/* Rounds of concatenations against brute force: every place of the result gets its element. */
#include "partition/lower/piece_moves.h"
#include "tests/lib/unit.h"

#define MAX_PIECES 4
#define MAX_PARTS 8

static uint32_t random_state;

static int64_t draw(int64_t below) {
  random_state = random_state * 1664525 + 1013904223;
  return (int64_t)(random_state >> 8) % below;
}

typedef struct concatenation {
  int count;
  int64_t parts, width, total; /* width: of a part of the result; total: of all chunks of a part */
  spmd_piece_t pieces[MAX_PIECES];
} concatenation_t;

static concatenation_t random_concatenation(void) {
  concatenation_t c = {.count = 1 + (int)draw(MAX_PIECES), .parts = 2 + draw(MAX_PARTS - 1)};
  int64_t at = 0;
  for (int k = 0; k < c.count; k++) {
    int64_t source = 1 + draw(24), from = draw(source), size = 1 + draw(source - from);
    int step = (int)draw(3) - 1;
    bool is_whole = draw(4) == 0;
    if (step < 0) from += size - 1;
    c.pieces[k] = (spmd_piece_t){.from = from,
                                 .size = size,
                                 .at = at,
                                 .chunk = is_whole ? source : (source + c.parts - 1) / c.parts,
                                 .step = step,
                                 .is_whole = is_whole};
    at += size;
  }
  c.width = (at + c.parts - 1) / c.parts;
  for (int k = 0; k < c.count; k++) {
    spmd_piece_t *piece = &c.pieces[k];
    if (piece->is_whole) continue;
    piece->base = c.total;
    c.total += piece->step ? piece->chunk : c.width;
  }
  return c;
}

/* The piece and element of number `within` of a part's chunk, in the order of piece k. */
static int64_t element_of(const concatenation_t *c, int k, int64_t part, int64_t within) {
  const spmd_piece_t *piece = &c->pieces[k];
  int64_t first = piece->is_whole ? 0 : part * piece->chunk;
  if (!piece->step) return k * 1000 + piece->from;
  return k * 1000 + first + (piece->step > 0 ? within : piece->chunk - 1 - within);
}

/* The piece and element of one place among the chunks of a part, as one number. */
static int64_t element_at(const concatenation_t *c, int64_t part, int64_t place) {
  int found = -1;
  for (int k = 0; k < c->count; k++)
    if (!c->pieces[k].is_whole && c->pieces[k].base <= place) found = k;
  return element_of(c, found, part, place - c->pieces[found].base);
}

static int64_t wanted_at(const concatenation_t *c, int64_t place) {
  for (int k = 0; k < c->count; k++) {
    int64_t i = place - c->pieces[k].at;
    if (i >= 0 && i < c->pieces[k].size)
      return k * 1000 + c->pieces[k].from + i * c->pieces[k].step;
  }
  return -1;
}

/* The part that round `row` brings a block of, and the round that tells where that block begins;
 * -1: it brings none. */
static int64_t source_of(const spmd_piece_moves_t *plan, int row, int64_t j, int *out_sender_row) {
  *out_sender_row = row;
  if (!plan->slots) return plan->moves.rounds[row].sources[j];
  *out_sender_row = 1 + (int)j * plan->slots + (row - 1) % plan->slots;
  return (row - 1) / plan->slots;
}

/* What a row, a round or a piece that the part has itself, brings to a place; -1: nothing. */
static int64_t brought(const concatenation_t *c, const spmd_piece_moves_t *plan, int row, int64_t j,
                       int64_t place) {
  int rounds = plan->moves.count;
  if (place < plan->first[row][j] || place >= plan->past[row][j]) return -1;
  if (row >= rounds) {
    const spmd_piece_t *piece = &c->pieces[row - rounds];
    int64_t within = place - plan->held_at[row - rounds][j];
    if (within < 0 || within >= (piece->step ? piece->chunk : c->width)) return -2;
    bool holds = piece->step || piece->is_whole || piece->from / piece->chunk == j;
    return holds ? element_of(c, row - rounds, j, within) : -2;
  }
  const spmd_round_t *round = &plan->moves.rounds[row];
  int sender_row;
  int64_t source = source_of(plan, row, j, &sender_row), within = place - round->placed_at[j];
  if (source < 0 || within < 0 || within >= round->block) return -2;
  int64_t from = plan->moves.rounds[sender_row].sent_from[source];
  if (from < 0 || from + round->block > c->total) return -2;
  return element_at(c, source, from + within);
}

/* Each place gets its element from one row alone. */
static bool is_right(const concatenation_t *c, const spmd_piece_moves_t *plan) {
  for (int64_t j = 0; j < c->parts; j++)
    for (int64_t place = 0; place < c->width; place++) {
      int64_t wanted = wanted_at(c, j * c->width + place), found = -1;
      for (int row = 1; row < plan->moves.count + c->count; row++) {
        int64_t next = brought(c, plan, row, j, place);
        if (next != -1 && found != -1) return false;
        if (next != -1) found = next;
      }
      if (found != wanted) return false;
    }
  return true;
}

/* No part sends two blocks in a round, nor a block beyond its chunks. */
static bool sends_once(const concatenation_t *c, const spmd_round_t *round) {
  bool sends[MAX_PARTS] = {false};
  for (int64_t j = 0; j < c->parts; j++) {
    int64_t s = round->sources[j];
    if (s < 0) continue;
    if (s == j || sends[s]) return false;
    if (round->sent_from[s] < 0 || round->sent_from[s] + round->block > c->total) return false;
    sends[s] = true;
  }
  return true;
}

static void test_random_concatenations(void) {
  int right = 0, exchanged = 0;
  random_state = 5;
  for (int i = 0; i < 10000; i++) {
    hr_arena_t arena;
    spmd_piece_moves_t plan;
    bool possible = false, once = true;
    concatenation_t c = random_concatenation();
    hr_arena_init(&arena);
    spmd_pieces_t pieces = {c.count, c.pieces, c.parts, c.width, c.total};
    CHECK_OK(spmd_piece_moves(&arena, &pieces, &possible, &plan));
    for (int r = 1; possible && r < plan.moves.count; r++)
      once &= sends_once(&c, &plan.moves.rounds[r]);
    right += possible && once && is_right(&c, &plan);
    CHECK_OK(spmd_piece_exchange(&arena, &pieces, &plan));
    exchanged += is_right(&c, &plan);
    hr_arena_deinit(&arena);
  }
  CU_ASSERT_EQUAL(right, 10000);
  CU_ASSERT_EQUAL(exchanged, 10000);
}

CU_TestInfo suite_piece_moves[] = {
    {"pieces of concatenations arrive", test_random_concatenations},
    CU_TEST_INFO_NULL,
};
