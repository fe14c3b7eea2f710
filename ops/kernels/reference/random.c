/* Random numbers. Two counter-based generators, Philox4x32-10 and Threefry2x32-20, map a key and a
 * counter to random words. rng-bit-generator arranges the words as XLA's CPU backend does, so that
 * programs with JAX's "rbg" keys give the same numbers. The rng op is implementation-defined:
 * Philox keyed by the run's seed and the instruction's stream; its counter continues from execution
 * to execution. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"; XLA's
 * RngBitGenerator. */
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "ops/kernels/kernel.h"
#include "ops/query/random_part.h"

/* --- generators ------------------------------------------------------------------------------- */

/* One block of four words for the 128-bit counter (low, high). */
static void philox(uint64_t key, uint64_t low, uint64_t high, uint32_t out[4]) {
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  uint32_t x[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
  for (int round = 0; round < 10; round++, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    uint64_t a = x[0] * (uint64_t)0xD2511F53, b = x[2] * (uint64_t)0xCD9E8D57;
    x[0] = (uint32_t)(b >> 32) ^ x[1] ^ k0;
    x[1] = (uint32_t)b;
    x[2] = (uint32_t)(a >> 32) ^ x[3] ^ k1;
    x[3] = (uint32_t)a;
  }
  memcpy(out, x, sizeof x);
}

/* Threefry2x32 with 20 rounds: five groups of four, with a key injected after each group. */
static void threefry(uint64_t key, uint64_t counter, uint32_t out[2]) {
  static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  uint32_t keys[3] = {k0, k1, 0x1BD11BDA ^ k0 ^ k1};
  uint32_t x0 = (uint32_t)counter + k0, x1 = (uint32_t)(counter >> 32) + k1;
  for (uint32_t group = 0; group < 5; group++) {
    for (int round = 0; round < 4; round++) {
      int r = rotations[group % 2][round];
      x0 += x1;
      x1 = (x1 << r | x1 >> (32 - r)) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  out[0] = x0;
  out[1] = x1;
}

/* Consecutive Philox words from a counter on. */
typedef struct philox_stream {
  uint64_t key, low, high;
  uint32_t words[4];
  int used; /* words consumed; 4: all */
} philox_stream_t;

/* Four words per block of the counter. */
static uint32_t next_word(philox_stream_t *stream) {
  if (stream->used == 4) {
    philox(stream->key, stream->low, stream->high, stream->words);
    if (++stream->low == 0) stream->high++;
    stream->used = 0;
  }
  return stream->words[stream->used++];
}
static uint64_t next_pair(philox_stream_t *stream) {
  uint64_t low = next_word(stream);
  return low | (uint64_t)next_word(stream) << 32;
}

/* --- rng-bit-generator ------------------------------------------------------------------------ */

/* Stores the low bits of a random word as element i, sign- or zero-extended to its byte. */
static void store_bits(hr_dtype_t type, void *data, int64_t i, uint64_t bits) {
  const hr_dtype_info_t *info = &hr_dtype_table[type];
  switch (info->bytes) {
    case 1: {
      uint8_t low = (uint8_t)(bits & (0xffu >> (8 - info->bits)));
      bool negative = info->class_ == HR_CLASS_SIGNED && low >> (info->bits - 1);
      ((uint8_t *)data)[i] = negative ? (uint8_t)(low | 0xffu << (info->bits - 1)) : low;
      break;
    }
    case 2:
      ((uint16_t *)data)[i] = (uint16_t)bits;
      break;
    case 4:
      ((uint32_t *)data)[i] = (uint32_t)bits;
      break;
    case 8:
      ((uint64_t *)data)[i] = bits;
      break;
  }
}

static bool is_64_bits(hr_dtype_t type) { return hr_dtype_table[type].bits == 64; }

/* State {key, low, high}; with two words the key is also the high half of the counter, and the
 * carry out of the low half is lost. Elements of 64 bits use two words, all others one. */
static void fill_philox(hlo_value_t *bits, uint64_t state[3], bool has_high) {
  philox_stream_t stream = {
      .key = state[0], .low = state[1], .high = has_high ? state[2] : state[0], .used = 4};
  bool pairs = is_64_bits(bits->dtype);
  for (int64_t i = 0; i < bits->count; i++)
    store_bits(bits->dtype, bits->data, i, pairs ? next_pair(&stream) : next_word(&stream));
  state[1] = stream.low;
  if (has_high) state[2] = stream.high;
}

/* The dimension along which the two words of a Threefry pair are neighbours: the first of even
 * size, else the first of the largest size. */
static int split_dimension(const hlo_value_t *bits) {
  int largest = 0;
  for (int d = 0; d < bits->rank; d++)
    if (bits->dims[d] % 2 == 0) return d;
  for (int d = 1; d < bits->rank; d++)
    if (bits->dims[d] > bits->dims[largest]) largest = d;
  return largest;
}

/* Elements of up to 32 bits, seen as [outer, size, inner] around the split dimension: pairs are
 * counted row-major over [outer, (size + 1) / 2, inner], and for an odd size the last word is not
 * used. Returns the number of pairs. */
static uint64_t fill_threefry_words(hlo_value_t *bits, uint64_t key, uint64_t counter) {
  int split = split_dimension(bits);
  int64_t outer = 1, size = bits->rank ? bits->dims[split] : 1, inner = 1, half = (size + 1) / 2;
  for (int d = 0; d < split; d++) outer *= bits->dims[d];
  for (int d = split + 1; d < bits->rank; d++) inner *= bits->dims[d];
  for (int64_t pair = 0; pair < outer * half * inner; pair++) {
    int64_t i = pair / inner / half, q = pair / inner % half, k = pair % inner;
    uint32_t words[2];
    threefry(key, counter + (uint64_t)pair, words);
    for (int j = 0; j < 2 && 2 * q + j < size; j++)
      store_bits(bits->dtype, bits->data, (i * size + 2 * q + j) * inner + k, words[j]);
  }
  return (uint64_t)(outer * half * inner);
}

/* 64-bit results use one block each; narrower ones share blocks as in XLA. */
static void fill_threefry(hlo_value_t *bits, uint64_t state[2]) {
  if (!is_64_bits(bits->dtype)) {
    state[1] += fill_threefry_words(bits, state[0], state[1]);
    return;
  }
  for (int64_t i = 0; i < bits->count; i++) {
    uint32_t words[2];
    threefry(state[0], state[1]++, words);
    store_bits(bits->dtype, bits->data, i, words[0] | (uint64_t)words[1] << 32);
  }
}

/* The state is 16 or 24 bytes of any integer type. */
static hr_status_t check_generator(const hlo_instr_t *instr, const hlo_shape_t *shape,
                                   const hlo_value_t *state) {
  size_t bytes = hlo_value_bytes(state);
  bool threefry_only = hlo_attr_enum(instr, HLO_ATTR_RNG_ALGORITHM) == HLO_RNG_ALGORITHM_THREE_FRY;
  if (shape->dtype != HR_TUPLE || shape->element_count != 2 ||
      !hlo_shape_is_array(shape->elements[1]))
    return hlo_error(instr, NULL, "the result is not a state and an array");
  if (bytes != 16 && (bytes != 24 || threefry_only))
    return hlo_error(instr, "rng_bit_generator C2", "the state has %zu bytes, want 16%s", bytes,
                     threefry_only ? "" : " or 24");
  if (hr_dtype_table[shape->elements[1]->dtype].bytes > 8 ||
      hr_dtype_is_complex(shape->elements[1]->dtype))
    return hlo_unsupported(instr, "random bits of type %s",
                           hr_dtype_name(shape->elements[1]->dtype));
  return NULL;
}

/* Result 0 is the state after the call, result 1 the bits. A Philox state may have two or three
 * words. */
static hr_status_t generate_bits(const op_step_t *step, const hlo_value_t *in,
                                 hlo_value_t *parts[2]) {
  const hlo_shape_t *shape = step->out_shape->elements[1];
  uint64_t state[3];
  size_t bytes = hlo_value_bytes(in);
  memcpy(state, in->data, bytes);
  HR_TRY(hlo_value_array(in->dtype, in->rank, in->dims, &parts[0]));
  HR_TRY(hlo_value_array(shape->dtype, shape->rank, shape->dims, &parts[1]));
  if (hlo_attr_enum(step->instr, HLO_ATTR_RNG_ALGORITHM) == HLO_RNG_ALGORITHM_THREE_FRY)
    fill_threefry(parts[1], state);
  else
    fill_philox(parts[1], state, bytes == 24);
  memcpy(parts[0]->data, state, bytes);
  return NULL;
}

static hr_status_t rng_bit_generator_run(op_env_t *env, const op_step_t *step,
                                         hlo_value_t *const *in, hlo_value_t **out_value) {
  (void)env;
  HR_TRY(check_generator(step->instr, step->out_shape, in[0]));
  hlo_value_t *parts[2] = {NULL, NULL};
  hr_status_t st = generate_bits(step, in[0], parts);
  if (!st) st = hlo_value_tuple(2, parts, out_value);
  hlo_value_release(parts[0]);
  hlo_value_release(parts[1]);
  return st;
}

const op_kernel_t kernel_rng_bit_generator = {NULL, rng_bit_generator_run};

/* --- rng-get-and-update-state ----------------------------------------------------------------- */

/* A 128-bit counter per instruction. State starts at zero, so the difference from XLA's initial
 * value is stored. */
static hr_status_t rng_get_and_update_state_run(op_env_t *env, const op_step_t *step,
                                                hlo_value_t *const *in, hlo_value_t **out_value) {
  (void)in;
  unsigned __int128 advanced, counter;
  void *state;
  if (step->out_shape->dtype != HR_U64 || step->out_shape->rank != 1 ||
      step->out_shape->dims[0] != 2)
    return hlo_error(step->instr, NULL, "the result is not u64[2]");
  HR_TRY(env->engine_ops->state(env, step->instr, sizeof advanced, &state));
  HR_TRY(op_output(env, step, out_value));
  memcpy(&advanced, state, sizeof advanced);
  counter = advanced + 117515157;
  memcpy((*out_value)->data, &counter, sizeof counter);
  advanced += (unsigned __int128)(__int128)hlo_attr_int(step->instr, HLO_ATTR_DELTA);
  memcpy(state, &advanced, sizeof advanced);
  return NULL;
}

const op_kernel_t kernel_rng_get_and_update_state = {NULL, rng_get_and_update_state_run};

/* --- rng -------------------------------------------------------------------------------------- */

/* Uniform: integers are a + (64 random bits mod (b - a)). Floats are a + u (b - a), with u a
 * multiple of 2^-m, m the mantissa bits of f32 or, for f64, of f64; a result that rounds up to b
 * becomes the number below b. pred is true or false with equal probability if a and b differ. An
 * empty interval gives a. Normal: Box-Muller in f64, two numbers from four words. */
typedef struct rng_limits {
  double a, b;       /* floats: as f64 */
  int64_t low, high; /* integers and pred, as 64 bits */
} rng_limits_t;

static uint64_t load_bits(const hlo_value_t *value) {
  uint64_t bits = 0;
  memcpy(&bits, value->data, hr_dtype_bytes(value->dtype));
  return bits;
}

/* The bits of the next smaller number of a float format. */
static uint64_t bits_below(const hr_float_format_t *format, uint64_t bits) {
  uint64_t sign = (uint64_t)1 << (format->bits - 1);
  if (format->specials == HR_SPECIALS_E8M0) return bits ? bits - 1 : 0;
  if ((bits & ~sign) == 0) return sign | 1;
  return bits & sign ? bits + 1 : bits - 1;
}

/* u has as many bits as the mantissa, so it is exact; a result that rounds up to b is the number
 * below b. */
static uint64_t uniform_float(hr_dtype_t type, const rng_limits_t *limits,
                              philox_stream_t *stream) {
  double u = type == HR_F64 ? ldexp((double)(next_pair(stream) >> 12), -52)
                            : ldexp(next_word(stream) >> 9, -23);
  uint64_t bits = hr_float_encode(type, limits->a + u * (limits->b - limits->a));
  if (limits->a < limits->b && hr_float_decode(type, bits) >= limits->b)
    return bits_below(hr_float_format(type), hr_float_encode(type, limits->b));
  return bits;
}

/* Modulo the range: the bias is at most range / 2^64. */
static uint64_t uniform_integer(hr_dtype_t type, const rng_limits_t *limits,
                                philox_stream_t *stream) {
  uint64_t random = next_pair(stream), range = (uint64_t)limits->high - (uint64_t)limits->low;
  if (type == HR_PRED) return range ? random & 1 : (uint64_t)limits->low;
  bool empty = hr_dtype_class(type) == HR_CLASS_SIGNED
                   ? limits->low >= limits->high
                   : (uint64_t)limits->low >= (uint64_t)limits->high;
  return (uint64_t)limits->low + (empty ? 0 : random % range);
}

/* Moves to word `at` of the stream. */
static void seek(philox_stream_t *stream, uint64_t at) {
  uint64_t low = stream->low;
  stream->low += at / 4;
  stream->high += stream->low < low;
  for (uint64_t skipped = 0; skipped < at % 4; skipped++) next_word(stream);
}

static int words_of_uniform(hr_dtype_t type) {
  return hr_dtype_is_float(type) && type != HR_F64 ? 1 : 2;
}

/* Elements `from`, `from` + 1, ... of the whole array become `count` elements of out. */
typedef struct rng_run {
  hlo_value_t *out;
  int64_t at, count, from;
} rng_run_t;

static void fill_uniform(const rng_run_t *run, const rng_limits_t *limits, philox_stream_t stream) {
  hr_dtype_t type = run->out->dtype;
  bool floats = hr_dtype_is_float(type);
  seek(&stream, (uint64_t)run->from * (uint64_t)words_of_uniform(type));
  for (int64_t i = 0; i < run->count; i++)
    store_bits(
        type, run->out->data, run->at + i,
        floats ? uniform_float(type, limits, &stream) : uniform_integer(type, limits, &stream));
}

/* Box-Muller: two uniform numbers give two normal ones. */
static void next_normals(const rng_limits_t *limits, philox_stream_t *stream, double out[2]) {
  const double two_pi = 0x1.921fb54442d18p2;
  double u1 =
      ldexp((double)(next_pair(stream) >> 11) + 1, -53); /* in (0, 1]: its logarithm is finite */
  double angle = two_pi * ldexp((double)(next_pair(stream) >> 11), -53);
  double radius = limits->b * sqrt(-2 * log(u1));
  out[0] = limits->a + radius * cos(angle);
  out[1] = limits->a + radius * sin(angle);
}

static void fill_normal(const rng_run_t *run, const rng_limits_t *limits, philox_stream_t stream) {
  hr_dtype_t type = run->out->dtype;
  double pair[2];
  seek(&stream, (uint64_t)(run->from / 2) * 4);
  for (int64_t i = 0; i < run->count; i++) {
    if (i == 0 || (run->from + i) % 2 == 0) next_normals(limits, &stream, pair);
    store_bits(type, run->out->data, run->at + i, hr_float_encode(type, pair[(run->from + i) % 2]));
  }
}

typedef struct rng_draw {
  bool normal;
  rng_limits_t limits;
  philox_stream_t stream; /* at the array's first element */
} rng_draw_t;

static void fill_run(const rng_draw_t *draw, const rng_run_t *run) {
  (draw->normal ? fill_normal : fill_uniform)(run, &draw->limits, draw->stream);
}

/* Blocks of the counter that an array of so many elements uses. */
static uint64_t blocks_of(const rng_draw_t *draw, hr_dtype_t type, int64_t elements) {
  uint64_t count = (uint64_t)elements;
  return draw->normal ? (count + 1) / 2 : (count * (uint64_t)words_of_uniform(type) + 3) / 4;
}

/* Fills a part run by run: a run is contiguous in the whole array, too. Elements of the part beyond
 * the array's ends are zeros. */
static void fill_part(const rng_draw_t *draw, hlo_value_t *out, const int64_t *whole,
                      const int64_t *start) {
  int cut = out->rank - 1;
  int64_t inner = 1, run_count = 1;
  while (cut > 0 && out->dims[cut] == whole[cut]) inner *= out->dims[cut--];
  int64_t left = whole[cut] - start[cut], rows = left < out->dims[cut] ? left : out->dims[cut];
  for (int d = 0; d < cut; d++) run_count *= out->dims[d];
  memset(out->data, 0, hlo_value_bytes(out));
  for (int64_t r = 0; r < run_count; r++) {
    int64_t from = start[cut], stride = whole[cut], rest = r;
    bool inside = true;
    for (int d = cut - 1; d >= 0; rest /= out->dims[d], d--) {
      int64_t place = start[d] + rest % out->dims[d];
      inside &= place < whole[d];
      from += place * stride;
      stride *= whole[d];
    }
    if (inside)
      fill_run(draw, &(rng_run_t){out, r * out->dims[cut] * inner, rows * inner, from * inner});
  }
}

/* The instruction's stream, continued from its last execution. *out_counter: where to store the
 * counter afterwards. */
static hr_status_t open_stream(op_env_t *env, const hlo_instr_t *instr, philox_stream_t *out_stream,
                               uint64_t **out_counter) {
  uint64_t number = op_random_stream(instr);
  HR_TRY(env->engine_ops->state(env, instr, sizeof **out_counter, (void **)out_counter));
  uint64_t key = hr_hash_bytes(&number, sizeof number, env->rng_seed);
  *out_stream =
      (philox_stream_t){.key = key, .low = **out_counter, .high = env->rng_seed, .used = 4};
  return NULL;
}

static hr_status_t read_limits(const op_step_t *step, hlo_value_t *const *in,
                               rng_limits_t *out_limits) {
  const hlo_instr_t *instr = step->instr;
  hr_dtype_t type = step->out_shape->dtype;
  bool normal = hlo_attr_enum(instr, HLO_ATTR_DISTRIBUTION) == HLO_DISTRIBUTION_NORMAL;
  bool is_float = hr_dtype_is_float(type);
  if (in[0]->dtype != type || in[1]->dtype != type || in[0]->count != 1 || in[1]->count != 1)
    return hlo_error(instr, "rng C1", "the limits are not scalars of the result's type");
  if (hr_dtype_is_complex(type) || (normal && !is_float))
    return hlo_unsupported(instr, "%s of %s", normal ? "normal numbers" : "random numbers",
                           hr_dtype_name(type));
  if (is_float)
    *out_limits = (rng_limits_t){.a = hr_float_decode(type, load_bits(in[0])),
                                 .b = hr_float_decode(type, load_bits(in[1]))};
  else
    *out_limits =
        (rng_limits_t){.low = hlo_value_int_at(in[0], 0), .high = hlo_value_int_at(in[1], 0)};
  return NULL;
}

static hr_status_t rng_prepare(hr_arena_t *arena, const op_step_t *step, const void **out_plan) {
  op_random_part_t *part;
  HR_TRY(HR_NEW(arena, &part));
  *out_plan = part;
  return op_random_part(arena, step->instr, part);
}

/* a and b are the limits (uniform), or mean and standard deviation (normal). */
static hr_status_t rng_run(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                           hlo_value_t **out_value) {
  const op_random_part_t *part = step->plan;
  rng_draw_t draw = {.normal = hlo_attr_enum(step->instr, HLO_ATTR_DISTRIBUTION) ==
                               HLO_DISTRIBUTION_NORMAL};
  hr_dtype_t type = step->out_shape->dtype;
  int rank = step->out_shape->rank;
  int64_t elements = 1;
  uint64_t *counter;
  if (part->count && env->partition >= part->count)
    return hlo_error(step->instr, NULL, OP_RANDOM_PART " lists %ld parts, none for partition %d",
                     (long)part->count, env->partition);
  HR_TRY(read_limits(step, in, &draw.limits));
  HR_TRY(open_stream(env, step->instr, &draw.stream, &counter));
  HR_TRY(op_output(env, step, out_value));
  for (int d = 0; d < rank; d++) elements *= part->count ? part->whole[d] : (*out_value)->dims[d];
  if (part->count)
    fill_part(&draw, *out_value, part->whole, part->starts + env->partition * rank);
  else
    fill_run(&draw, &(rng_run_t){*out_value, 0, elements, 0});
  *counter += blocks_of(&draw, type, elements);
  return NULL;
}

const op_kernel_t kernel_rng = {rng_prepare, rng_run};
