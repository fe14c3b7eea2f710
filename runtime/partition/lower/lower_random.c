/* Random bits of one part. Both generators are counter-based: word w of the whole array depends on
 * the key and w alone, so a partition sets its counter to the start of its part and generates no
 * other words. The words are generated as a list of u64 in the order of the counter and rearranged
 * into the order of the array:
 *
 *   Philox     element i takes word i (of 64 bits: 2i and 2i + 1); four words a count
 *   Threefry   64 bits: element i is count i. Narrower: the array is seen as [outer, size, inner]
 *              around its split dimension; count (o, q, k), row-major over [outer, ceil(size / 2),
 *              inner], gives the elements (o, 2q, k) and (o, 2q + 1, k)
 *
 *   f32[8, 3] cut into 4 parts, Philox: part 1 begins with word 6 = 4 * 1 + 2: its counter starts
 *   one higher, and the first two words are dropped
 *
 * The part must be a run of whole rows of the first dimension that has more than one element. For
 * cuts of other dimensions, the bits of all parts are generated and then sliced.
 * The state after the call is that of the whole array. Source: ops/kernels/reference/random.c. */
#include <string.h>

#include "partition/lower/lower_ops.h"

/* --- rule --- */

/* The dimension whose parts are runs of elements; -1: a single element. */
static int major_of(const hlo_shape_t *shape) {
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] > 1) return d;
  return -1;
}

static bool is_threefry(const hlo_instr_t *instr) {
  return hlo_attr_enum(instr, HLO_ATTR_RNG_ALGORITHM) == HLO_RNG_ALGORITHM_THREE_FRY;
}

/* True if the state is a key, a counter, and for Philox optionally the counter's high half. */
static bool knows_state(const hlo_instr_t *instr) {
  const hlo_shape_t *state = instr->operands[0]->shape;
  bool is_list = state->dtype == HR_U64 && state->rank == 1;
  return is_list && (state->dims[0] == 2 || (state->dims[0] == 3 && !is_threefry(instr)));
}

static bool knows_bits(const hlo_instr_t *instr) {
  hr_dtype_t type = hlo_shape_leaf(instr->shape, 1)->dtype;
  return type == HR_U8 || type == HR_U16 || type == HR_U32 || type == HR_U64;
}

hr_status_t spmd_rule_random_bits(spmd_lower_t *lower, const hlo_instr_t *instr,
                                  const spmd_rule_t **out_rule) {
  spmd_rule_maker_t maker;
  bool known = hlo_shape_is_tuple(instr->shape) && instr->shape->element_count == 2 &&
               hlo_shape_is_array(instr->shape->elements[1]);
  *out_rule = NULL;
  if (!known || !knows_state(instr) || !knows_bits(instr)) return NULL;
  const hlo_shape_t *bits = instr->shape->elements[1], *state = instr->operands[0]->shape;
  int major = major_of(bits);
  HR_TRY(spmd_rule_begin(lower->arena, instr, bits->rank + state->rank, &maker));
  for (int d = 0; d < state->rank; d++) {
    int factor = spmd_rule_factor(&maker, state->dims[d], SPMD_NEED_REPLICATION);
    HR_TRY(spmd_rule_place(&maker, 0, d, factor));
    HR_TRY(spmd_rule_place(&maker, 1, d, factor));
  }
  for (int d = 0; d < bits->rank; d++) {
    spmd_factor_kind_t kind = d == major ? SPMD_PASS_THROUGH : SPMD_NEED_REPLICATION;
    HR_TRY(spmd_rule_place(&maker, 2, d, spmd_rule_factor(&maker, bits->dims[d], kind)));
  }
  *out_rule = maker.rule;
  return NULL;
}

/* --- arithmetic in u64 --- */

typedef struct drawing {
  spmd_lower_t *lower;
  const spmd_choice_t *choice;
  const hlo_shape_t *whole, *local; /* shapes of the bits */
  int major;
  hlo_instr_t *part;     /* number of this partition's part, u64 */
  hlo_instr_t *words[3]; /* words of the state, u64 */
  int word_count;
} drawing_t;

static hlo_instr_t *number(drawing_t *draw, int64_t value) {
  return hlo_build_number(&draw->lower->emit.b, (double)value, HR_U64);
}

static hlo_instr_t *by(drawing_t *draw, hlo_opcode_t op, hlo_instr_t *x, int64_t value) {
  return hlo_build_binary(&draw->lower->emit.b, op, x, number(draw, value));
}

static hlo_instr_t *bitcast(drawing_t *draw, hlo_instr_t *x, hr_dtype_t type, int rank,
                            const int64_t *dims) {
  const hlo_shape_t *shape = spmd_emit_shape(&draw->lower->emit, type, rank, dims);
  return hlo_build(&draw->lower->emit.b, HLO_BITCAST_CONVERT, shape, 1, &x, 0, NULL, 0, NULL);
}

/* Product of the sizes of dimensions first .. last - 1. */
static int64_t product(const hlo_shape_t *shape, int first, int last) {
  int64_t count = 1;
  for (int d = first; d < last; d++) count *= shape->dims[d];
  return count;
}

static void read_state(drawing_t *draw) {
  spmd_emit_t *emit = &draw->lower->emit;
  hlo_instr_t *state = spmd_chosen_operand(draw->lower, draw->choice, 0);
  if (!state) return;
  draw->word_count = (int)state->shape->dims[0];
  for (int w = 0; w < draw->word_count; w++)
    draw->words[w] = spmd_emit_reshape(emit, spmd_emit_slice(emit, state, 0, w, 1), 0, NULL);
}

static hlo_instr_t *make_state(drawing_t *draw, int count, hlo_instr_t *const *words) {
  spmd_emit_t *emit = &draw->lower->emit;
  hlo_instr_t *parts[3];
  int64_t one = 1;
  for (int w = 0; w < count; w++) parts[w] = spmd_emit_reshape(emit, words[w], 1, &one);
  return spmd_emit_concat(emit, count, parts, 0);
}

/* high + 1 if low + added wrapped around, else high. */
static hlo_instr_t *carry(drawing_t *draw, hlo_instr_t *high, hlo_instr_t *low, hlo_instr_t *sum) {
  hlo_builder_t *b = &draw->lower->emit.b;
  hlo_instr_t *wrapped = hlo_build_compare(b, HLO_DIRECTION_LT, sum, low);
  return hlo_build_binary(b, HLO_ADD, high, hlo_build_convert(b, wrapped, HR_U64));
}

/* A list of `count` u64 elements from the state's counter plus `ahead`. A Philox state of two words
 * uses its key as the counter's high half, so three words are passed. */
static hlo_instr_t *draw_list(drawing_t *draw, hlo_instr_t *ahead, int64_t count) {
  spmd_emit_t *emit = &draw->lower->emit;
  bool threefry = is_threefry(draw->choice->instr);
  hlo_instr_t *low = draw->words[1];
  hlo_instr_t *high = draw->word_count == 3 ? draw->words[2] : draw->words[0];
  hlo_instr_t *sum = hlo_build_binary(&emit->b, HLO_ADD, low, ahead);
  hlo_instr_t *words[] = {draw->words[0], sum, threefry ? NULL : carry(draw, high, low, sum)};
  hlo_instr_t *state = make_state(draw, threefry ? 2 : 3, words);
  const hlo_shape_t *elements[] = {state ? state->shape : NULL,
                                   spmd_emit_shape(emit, HR_U64, 1, &count)};
  const hlo_shape_t *shape;
  if (!state || !elements[1] ||
      spmd_emit_failed(emit, hlo_shape_tuple(draw->lower->arena, 2, elements, &shape)))
    return NULL;
  hlo_instr_t *drawn = spmd_emit_like(emit, draw->choice->instr, &state, shape);
  return drawn ? hlo_build_element(&emit->b, drawn, 1) : NULL;
}

/* Converts 32-bit words to the result's type, which takes their low bits. */
static hlo_instr_t *narrow(drawing_t *draw, hlo_instr_t *x) {
  spmd_emit_t *emit = &draw->lower->emit;
  hr_dtype_t type = draw->whole->dtype;
  if (!x || type == HR_U32) return x;
  hlo_instr_t *low = hlo_build_number(&emit->b, type == HR_U8 ? 0xff : 0xffff, HR_U32);
  x = hlo_build_binary(&emit->b, HLO_AND, x, spmd_emit_fill_like(emit, low, x));
  return hlo_build_convert(&emit->b, x, type);
}

/* --- Philox --- */

static hlo_instr_t *draw_philox(drawing_t *draw) {
  spmd_emit_t *emit = &draw->lower->emit;
  int64_t per_element = draw->whole->dtype == HR_U64 ? 2 : 1;
  int64_t elements = hlo_shape_elements(draw->local), words = elements * per_element;
  int64_t spare = words % 4 ? 3 : 0, count = (words + spare + 1) / 2, list = 2 * count;
  hlo_instr_t *first = by(draw, HLO_MULTIPLY, draw->part, words);
  hlo_instr_t *x = draw_list(draw, by(draw, HLO_DIVIDE, first, 4), count);
  if (!x) return NULL;
  x = spmd_emit_reshape(emit, bitcast(draw, x, HR_U32, 2, (int64_t[]){count, 2}), 1, &list);
  if (spare) {
    hlo_instr_t *dropped =
        hlo_build_convert(&emit->b, by(draw, HLO_REMAINDER, first, 4), emit->shared->index_type);
    x = spmd_emit_dynamic_slice(emit, x, 0, dropped, words);
  } else {
    x = spmd_emit_slice(emit, x, 0, 0, words);
  }
  if (per_element == 1) return narrow(draw, x);
  x = spmd_emit_reshape(emit, x, 2, (int64_t[]){elements, 2});
  return x ? bitcast(draw, x, HR_U64, 1, &elements) : NULL;
}

static void advance_philox(drawing_t *draw, hlo_instr_t **after) {
  int64_t words = hlo_shape_elements(draw->whole) * (draw->whole->dtype == HR_U64 ? 2 : 1);
  after[0] = draw->words[0];
  after[1] = by(draw, HLO_ADD, draw->words[1], (words + 3) / 4);
  after[2] = draw->word_count == 3 ? carry(draw, draw->words[2], draw->words[1], after[1]) : NULL;
}

/* --- Threefry --- */

/* The reference kernel's choice: the first dimension of even size, else the first of the largest.
 */
static int split_dimension(const hlo_shape_t *shape) {
  int largest = 0;
  for (int d = 0; d < shape->rank; d++)
    if (shape->dims[d] % 2 == 0) return d;
  for (int d = 1; d < shape->rank; d++)
    if (shape->dims[d] > shape->dims[largest]) largest = d;
  return largest;
}

/* Pairs of words as [outer, half, inner] become elements [outer, 2 * half, inner]. */
static hlo_instr_t *interleave(drawing_t *draw, hlo_instr_t *x, int64_t outer, int64_t half,
                               int64_t inner) {
  spmd_emit_t *emit = &draw->lower->emit;
  int64_t pairs[] = {outer * half * inner, 2}, apart[] = {outer, half, inner, 2};
  int64_t joined[] = {outer, 2 * half, inner};
  if (!x) return NULL;
  x = spmd_emit_reshape(emit, bitcast(draw, x, HR_U32, 2, pairs), 4, apart);
  x = spmd_emit_transpose(emit, x, (int64_t[]){0, 1, 3, 2});
  return spmd_emit_reshape(emit, x, 3, joined);
}

/* Parts of the split dimension itself: rows from part * rows on, which may begin in the middle of a
 * pair. */
static hlo_instr_t *draw_split_rows(drawing_t *draw) {
  spmd_emit_t *emit = &draw->lower->emit;
  int64_t rows = draw->local->dims[draw->major], half = (rows + 1) / 2;
  int64_t inner = product(draw->local, draw->major + 1, draw->local->rank);
  hlo_instr_t *first = by(draw, HLO_MULTIPLY, draw->part, rows);
  hlo_instr_t *ahead = by(draw, HLO_MULTIPLY, by(draw, HLO_DIVIDE, first, 2), inner);
  hlo_instr_t *x = interleave(draw, draw_list(draw, ahead, half * inner), 1, half, inner);
  if (rows % 2 == 0) return x;
  hlo_instr_t *odd =
      hlo_build_convert(&emit->b, by(draw, HLO_REMAINDER, first, 2), emit->shared->index_type);
  return spmd_emit_dynamic_slice(emit, x, 1, odd, rows);
}

/* Parts of a dimension in front of the split one: runs of counts. */
static hlo_instr_t *draw_outer_rows(drawing_t *draw, int split) {
  const hlo_shape_t *local = draw->local;
  int64_t outer = product(local, 0, split), inner = product(local, split + 1, local->rank);
  int64_t size = local->dims[split], half = (size + 1) / 2, count = outer * half * inner;
  hlo_instr_t *ahead = by(draw, HLO_MULTIPLY, draw->part, count);
  hlo_instr_t *x = interleave(draw, draw_list(draw, ahead, count), outer, half, inner);
  return spmd_emit_slice(&draw->lower->emit, x, 1, 0, size);
}

static hlo_instr_t *draw_threefry(drawing_t *draw) {
  int split = split_dimension(draw->whole);
  int64_t elements = hlo_shape_elements(draw->local);
  if (draw->whole->dtype == HR_U64)
    return draw_list(draw, by(draw, HLO_MULTIPLY, draw->part, elements), elements);
  return narrow(draw, split == draw->major ? draw_split_rows(draw) : draw_outer_rows(draw, split));
}

static void advance_threefry(drawing_t *draw, hlo_instr_t **after) {
  const hlo_shape_t *whole = draw->whole;
  int64_t count = hlo_shape_elements(whole), size;
  if (whole->dtype != HR_U64) {
    size = whole->dims[split_dimension(whole)];
    count = count / size * ((size + 1) / 2);
  }
  after[0] = draw->words[0];
  after[1] = by(draw, HLO_ADD, draw->words[1], count);
}

/* --- all of it --- */

/* Reports bits that should be cut but are generated whole on every partition. */
static void note_whole(spmd_lower_t *lower, const spmd_choice_t *choice) {
  spmd_report_notes_t *report = lower->shared->emit.report;
  const hlo_instr_t *instr = choice->instr;
  if (spmd_sharding_is_replicated(spmd_preferred(lower, instr, 1)) ||
      spmd_emit_failed(&lower->emit,
                       HR_VEC_RESERVE(&report->replications, report->replications.count + 1)))
    return;
  report->replications.data[report->replications.count++] =
      (spmd_replication_t){instr, hlo_shape_leaf(instr->shape, 1)};
}

hlo_instr_t *spmd_lower_random_bits(spmd_lower_t *lower, const spmd_choice_t *choice) {
  spmd_emit_t *emit = &lower->emit;
  const hlo_shape_t *whole = hlo_shape_leaf(choice->instr->shape, 1);
  drawing_t draw = {.lower = lower, .choice = choice, .whole = whole, .major = major_of(whole)};
  hlo_instr_t *after[3], *results[2];
  if (draw.major < 0 || spmd_chosen_parts(choice, 2, draw.major) == 1) {
    note_whole(lower, choice);
    return spmd_emit_local(lower, choice);
  }
  draw.local = spmd_chosen_shape(lower, choice, 1);
  draw.part = hlo_build_convert(
      &emit->b, spmd_emit_coordinate(emit, choice->tensors[2]->dims[draw.major].axes), HR_U64);
  read_state(&draw);
  if (emit->b.status) return NULL;
  bool threefry = is_threefry(choice->instr);
  results[1] = threefry ? draw_threefry(&draw) : draw_philox(&draw);
  results[1] = spmd_emit_reshape(emit, results[1], draw.local->rank, draw.local->dims);
  (threefry ? advance_threefry : advance_philox)(&draw, after);
  results[0] = make_state(&draw, draw.word_count, after);
  return hlo_build_tuple(&emit->b, 2, results);
}
