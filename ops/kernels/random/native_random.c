/* rng-bit-generator, both generators, some hundred blocks at a time in vectors; the counters are
 * divided among the workers. The order of words is that of random.c. */
#include <string.h>

#include "ops/kernels/native.h"
#include "ops/kernels/simd/simd_target.h"

NATIVE_OPTIMIZE

enum {
  BLOCK = 256,
  GRAIN = 1 << 12 /* least blocks of a task */
};

typedef struct native_random_plan {
  bool threefry;
  int64_t count; /* elements, or words if an element is two words */
  int bytes;     /* size of an element, or of a word if an element is two words */
  size_t state_bytes;
  int64_t blocks;            /* blocks of the generator: pairs of words, or groups of four */
  int64_t size, half, inner; /* Threefry: sizes around the dimension along which the words of a pair
                                are neighbours */
} native_random_plan_t;

typedef struct random_job {
  const native_random_plan_t *plan;
  uint64_t key, low, high;
  char *out;
} random_job_t;

/* --- generators ------------------------------------------------------------------------------- */

#define ROTATE(r) a += b, b = (b << (r) | b >> (32 - (r))) ^ a
#define ROTATE_FOUR(r0, r1, r2, r3) ROTATE(r0), ROTATE(r1), ROTATE(r2), ROTATE(r3)

/* Threefry-2x32 with 20 rounds (Salmon et al., 2011): block i, a pair of words, has the counter
 * `counter` + i. Vectorises over blocks. */
NATIVE_CLONES
static void threefry_blocks(uint64_t key, uint64_t counter, int64_t count, uint32_t *first,
                            uint32_t *second) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32), k2 = 0x1BD11BDA ^ k0 ^ k1;
  for (int64_t i = 0; i < count; i++) {
    uint64_t at = counter + (uint64_t)i;
    uint32_t a = (uint32_t)at + k0, b = (uint32_t)(at >> 32) + k1;
    ROTATE_FOUR(13, 15, 26, 6);
    a += k1;
    b += k2 + 1;
    ROTATE_FOUR(17, 29, 16, 24);
    a += k2;
    b += k0 + 2;
    ROTATE_FOUR(13, 15, 26, 6);
    a += k0;
    b += k1 + 3;
    ROTATE_FOUR(17, 29, 16, 24);
    a += k1;
    b += k2 + 4;
    ROTATE_FOUR(13, 15, 26, 6);
    first[i] = a + k2;
    second[i] = b + k0 + 5;
  }
}

/* Philox-4x32 with 10 rounds (Salmon et al., 2011). The counter (high, low) is 128 bits wide; word
 * w of block i is at words[w][i]. The two products of a round are 32 x 32 -> 64 bits. */
NATIVE_CLONES
static void philox_blocks(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                          uint32_t words[4][BLOCK]) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t at = low + (uint64_t)i, above = high + (at < low);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t x0 = (uint32_t)at, x1 = (uint32_t)(at >> 32), x2 = (uint32_t)above,
             x3 = (uint32_t)(above >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
      uint64_t a = x0 * (uint64_t)0xD2511F53, b = x2 * (uint64_t)0xCD9E8D57;
      x0 = (uint32_t)(b >> 32) ^ x1 ^ k0;
      x1 = (uint32_t)b;
      x2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
      x3 = (uint32_t)a;
    }
    words[0][i] = x0;
    words[1][i] = x1;
    words[2][i] = x2;
    words[3][i] = x3;
  }
}

/* --- elements --------------------------------------------------------------------------------- */

/* Elements i * width, i * width + 1, ... = the low bits of words[0][i], words[1][i], ...; up to the
 * last element. */
#define INTERLEAVE(T, WIDTH)                                                              \
  do {                                                                                    \
    int64_t whole = elements / WIDTH < count ? elements / WIDTH : count;                  \
    for (int64_t i = 0; i < whole; i++)                                                   \
      for (int w = 0; w < WIDTH; w++) ((T *)to)[i * WIDTH + w] = (T)words[w * BLOCK + i]; \
    for (int64_t e = whole * WIDTH; whole < count && e < elements; e++)                   \
      ((T *)to)[e] = (T)words[e % WIDTH * BLOCK + whole];                                 \
  } while (0)

NATIVE_CLONES
/* Word w of block i, words[w * BLOCK + i], becomes element i * width + w; the last block may be
 * truncated. The cases are 8 times the element's bytes, plus the width. */
static void interleave_words(int bytes, int width, const uint32_t *words, int64_t count,
                             int64_t elements, char *to) {
  switch (bytes * 8 + width) {
    case 10:
      INTERLEAVE(uint8_t, 2);
      break;
    case 18:
      INTERLEAVE(uint16_t, 2);
      break;
    case 34:
      INTERLEAVE(uint32_t, 2);
      break;
    case 12:
      INTERLEAVE(uint8_t, 4);
      break;
    case 20:
      INTERLEAVE(uint16_t, 4);
      break;
    case 36:
      INTERLEAVE(uint32_t, 4);
      break;
  }
}

/* A run of elements of one word each. */
#define STORE(T) \
  for (int64_t i = 0; i < count; i++) ((T *)to)[i] = (T)words[i]

NATIVE_CLONES
/* Stores the low bits of each word. */
static void store_words(int bytes, const uint32_t *words, int64_t count, char *to) {
  switch (bytes) {
    case 1:
      STORE(uint8_t);
      break;
    case 2:
      STORE(uint16_t);
      break;
    case 4:
      STORE(uint32_t);
      break;
  }
}

/* Stores pairs `pair` .. of the counters: `count` of them in one run along the dimension of the
 * pairs, or beside it. */
static void place_pairs(const random_job_t *job, int64_t pair, int64_t count,
                        const uint32_t *words) {
  const native_random_plan_t *plan = job->plan;
  int64_t k = pair % plan->inner, q = pair / plan->inner % plan->half,
          i = pair / plan->inner / plan->half;
  char *to = job->out + ((i * plan->size + 2 * q) * plan->inner + k) * plan->bytes;
  if (plan->inner == 1) {
    interleave_words(plan->bytes, 2, words, count, plan->size - 2 * q, to);
    return;
  }
  store_words(plan->bytes, words, count, to);
  if (2 * q + 1 < plan->size)
    store_words(plan->bytes, words + BLOCK, count, to + plan->inner * plan->bytes);
}

/* The words of pair q are elements 2 q and 2 q + 1 along the dimension of the pairs, as in XLA. A
 * block of counters is stored run by run: a run ends with that dimension, or with those inside
 * it. */
static void fill_threefry(void *context, int64_t begin, int64_t end, int worker) {
  const random_job_t *job = context;
  const native_random_plan_t *plan = job->plan;
  int64_t run = plan->inner == 1 ? plan->half : plan->inner;
  uint32_t words[2][BLOCK];
  (void)worker;
  for (int64_t pair = begin; pair < end; pair += BLOCK) {
    int64_t count = end - pair < BLOCK ? end - pair : BLOCK;
    threefry_blocks(job->key, job->low + (uint64_t)pair, count, words[0], words[1]);
    for (int64_t at = 0, here; at < count; at += here) {
      int64_t left = run - (pair + at) % run;
      here = left < count - at ? left : count - at;
      place_pairs(job, pair + at, here, words[0] + at);
    }
  }
}

/* Elements 4 i to 4 i + 3 are the words of block i. */
static void fill_philox(void *context, int64_t begin, int64_t end, int worker) {
  const random_job_t *job = context;
  const native_random_plan_t *plan = job->plan;
  uint32_t words[4][BLOCK];
  (void)worker;
  for (int64_t block = begin; block < end; block += BLOCK) {
    int64_t count = end - block < BLOCK ? end - block : BLOCK;
    uint64_t low = job->low + (uint64_t)block;
    philox_blocks(job->key, low, job->high + (low < job->low), count, words);
    interleave_words(plan->bytes, 4, words[0], count, plan->count - 4 * block,
                     job->out + 4 * block * plan->bytes);
  }
}

/* State {key, low, high} as random.c explains. */
static hr_status_t run_random(const op_native_run_t *run, const void *plan_, void *const *in,
                              void *const *out) {
  const native_random_plan_t *plan = plan_;
  uint64_t state[3];
  memcpy(state, in[0], plan->state_bytes);
  bool has_high = plan->state_bytes == 24;
  random_job_t job = {plan, state[0], state[1], has_high ? state[2] : state[0], out[1]};
  hr_workers_for(run->workers, plan->blocks, GRAIN, plan->threefry ? fill_threefry : fill_philox,
                 &job);
  state[1] += (uint64_t)plan->blocks;
  if (has_high && state[1] < job.low) state[2]++;
  memcpy(out[0], state, plan->state_bytes);
  return NULL;
}

/* --- planning --------------------------------------------------------------------------------- */

/* The dimension along which the words of a pair are neighbours: the first of even size, else the
 * first of the
 * largest. */
static void plan_split(native_random_plan_t *plan, const hlo_shape_t *bits) {
  int split = 0;
  for (int d = 1; d < bits->rank; d++)
    if (bits->dims[d] > bits->dims[split]) split = d;
  for (int d = bits->rank - 1; d >= 0; d--)
    if (bits->dims[d] % 2 == 0) split = d;
  plan->size = bits->rank ? bits->dims[split] : 1;
  plan->inner = 1;
  for (int d = split + 1; d < bits->rank; d++) plan->inner *= bits->dims[d];
}

/* 64-bit elements use both words of a block, smaller ones one each. */
static void plan_threefry(native_random_plan_t *plan, const hlo_shape_t *bits, bool pairs) {
  plan->size = plan->count;
  plan->inner = 1;
  if (!pairs) plan_split(plan, bits);
  plan->half = (plan->size + 1) / 2;
  plan->blocks = plan->count ? plan->count / plan->size * plan->half : 0;
}

/* Key and counter: 16 bytes, or 24 for Philox's wide counter. */
static bool is_state(const hlo_shape_t *state, bool threefry, size_t *out_bytes) {
  hr_status_t st = hlo_shape_is_array(state) ? hlo_shape_bytes(state, out_bytes) : NULL;
  hr_status_release(st);
  return *out_bytes == 16 || (*out_bytes == 24 && !threefry);
}

/* Declines element types that do not fill whole bytes. */
static hr_status_t prepare_random(const op_native_target_t *target, const op_step_t *step,
                                  op_native_step_t *out) {
  static const uint64_t in_place[] = {1, 0};
  const hlo_shape_t *result = step->out_shape;
  bool threefry = hlo_attr_enum(step->instr, HLO_ATTR_RNG_ALGORITHM) == HLO_RNG_ALGORITHM_THREE_FRY;
  native_random_plan_t *plan;
  size_t state_bytes = 0;
  if (result->dtype != HR_TUPLE || result->element_count != 2) return NULL;
  const hlo_shape_t *bits = result->elements[1];
  const hr_dtype_info_t *info = &hr_dtype_table[bits->dtype];
  if (!is_state(step->in_shapes[0], threefry, &state_bytes)) return NULL;
  if (info->class_ == HR_CLASS_COMPLEX || info->bits < 8 || info->bits > 64 || info->bits % 8)
    return NULL;
  HR_TRY(HR_NEW(target->arena, &plan));
  HR_TRY(hlo_shape_count(bits, &plan->count));
  plan->threefry = threefry;
  plan->state_bytes = state_bytes;
  plan->bytes = info->bytes == 8 ? 4 : info->bytes;
  if (info->bytes == 8) plan->count *= 2;
  plan->blocks = (plan->count + 3) / 4;
  if (threefry) plan_threefry(plan, bits, info->bytes == 8);
  out->plan = plan;
  out->reuse = in_place;
  out->bytes = (double)plan->count * plan->bytes;
  return NULL;
}

const op_native_t native_rng_bit_generator = {"random bits", prepare_random, run_random};
