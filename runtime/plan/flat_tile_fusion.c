/* Tile fusion: a consumer runs on each tile of its producer while the tile is in the cache.
 *
 *   step 1: c = dot(a, b)          one step: for each tile of c, by each worker:
 *   step 2: d = tanh(c + e)    ->      compute the tile of c; compute the same tile of d
 *
 * A tile is a range of rows or a block of columns (op_native_grid_t). If nothing else reads c and
 * the consumer may write over it, c has no bytes of its own and lies in d.
 *
 * The producer moves down to the consumer. This is safe: no step between them reads c, and the
 * producer's operands are unchanged, as every buffer has one writer until buffers are coalesced.
 * Producer and consumer must be in one basic block. Errors and results are those of the two steps,
 * to the bit. */
#include <string.h>

#include "base/arith.h"
#include "base/fp_mode.h"
#include "plan/flat_build.h"

/* Profitability. A short producer (10 to 200 microseconds) saves one start of all workers, and the
 * consumer gets as many workers as the producer. A result larger than any cache saves a pass over
 * memory. Between these sizes fusion does not pay, as the consumer evicts the producer's operands
 * from the caches. */
#define MIN_FLOPS 2e6                      /* least flops of a producer */
#define MAX_SHORT_FLOPS 6e7                /* most flops of a short producer */
#define MIN_LARGE_BYTES ((size_t)24 << 20) /* least bytes of a large result */
#define MIN_TILED_BYTES ((size_t)2 << 20)  /* least bytes, if tiles fit into caches */

/* --- running --- */

typedef struct tile_fusion_plan {
  const op_native_t *first;
  const op_native_consumer_t *consumer;
  const void *first_plan, *second_plan;
  int first_in, second_in, second_out;   /* leaves of the producer's and consumer's arrays */
  int leaf;                              /* operand leaf of the consumer that is the product */
  uint64_t storage;                      /* mask of results whose bytes the product may use */
  size_t second_scratch_at, operands_at; /* offsets in scratch memory, in bytes */
} tile_fusion_plan_t;

typedef struct tile_context {
  const tile_fusion_plan_t *plan;
  op_native_run_t run;
  hr_fp_mode_t mode; /* floating-point mode of the consumer; the producer may run in another one */
} tile_context_t;

static void run_consumer_tile(const op_native_epilogue_t *epilogue, const op_native_part_t *part,
                              int worker) {
  const tile_context_t *tile_context = epilogue->context;
  const tile_fusion_plan_t *plan = tile_context->plan;
  hr_fp_mode_t producer = hr_fp_mode();
  hr_fp_mode_set(tile_context->mode);
  plan->consumer->part(&tile_context->run, plan->second_plan, part, worker);
  hr_fp_mode_set(producer);
}

/* Runs the fused step. in: operands of the producer, then those of the consumer without the
 * product. out: results of the consumer, then the product. */
static hr_status_t run(const op_native_run_t *env, const void *opaque, void *const *in,
                       void *const *out) {
  const tile_fusion_plan_t *plan = opaque;
  void **operands = (void **)((char *)env->scratch + plan->operands_at);
  tile_context_t tile_context = {plan, *env, hr_fp_mode()};
  op_native_epilogue_t epilogue = {run_consumer_tile, &tile_context};
  op_native_run_t first = *env;
  memcpy(operands, in + plan->first_in, (size_t)plan->leaf * sizeof *operands);
  operands[plan->leaf] = out[plan->second_out];
  memcpy(operands + plan->leaf + 1, in + plan->first_in + plan->leaf,
         (size_t)(plan->second_in - plan->leaf - 1) * sizeof *operands);
  tile_context.run.scratch = (char *)env->scratch + plan->second_scratch_at;
  plan->consumer->begin(&tile_context.run, plan->second_plan, operands, out);
  first.epilogue = &epilogue;
  return plan->first->run(&first, plan->first_plan, in, out + plan->second_out);
}

static const op_native_t tile_fusion_native = {"kernel and generated code", NULL, run};

/* --- candidates --- */

typedef struct pair {
  flat_builder_t *builder;
  int first, second;            /* numbers of the producer's and the consumer's step */
  int leaf;                     /* operand leaf of the consumer that is the product */
  bool is_read_again;           /* a step after the consumer, or the caller, reads the product */
  op_native_step_t prepared[2]; /* plans of producer and consumer for tiles */
} pair_t;

static flat_step_t *get_step(const flat_builder_t *builder, int number) {
  return &builder->steps.data[number];
}

/* Number of operand leaves of the step in the buffer. Sets *out_leaf to the last one. */
static int count_reads(const flat_step_t *step, int buffer, int *out_leaf) {
  int count = 0;
  for (int k = 0; k < step->in_count; k++)
    if (step->in[k].buffer == buffer) {
      *out_leaf = k;
      count++;
    }
  return count;
}

static bool is_supported(const flat_step_t *step) {
  return step->kind == FLAT_COPY ||
         (step->kind == FLAT_NATIVE && step->source->op.instr->op != HLO_WHILE) ||
         (step->kind == FLAT_REFERENCE && !step->reference.begins && !step->reference.ends);
}

/* The first step that reads the buffer, if it is in the basic block of step `first` and reads the
 * buffer once, from its start; else -1. */
static int find_reader(const flat_builder_t *builder, const bool *block_starts, int first,
                       int buffer, int *out_leaf) {
  for (int s = first + 1; s < flat_now(builder) && !block_starts[s]; s++) {
    const flat_step_t *step = get_step(builder, s);
    if (!is_supported(step)) return -1;
    int reads = count_reads(step, buffer, out_leaf);
    if (reads) return reads == 1 && !step->in[*out_leaf].offset_bytes ? s : -1;
  }
  return -1;
}

static bool is_fusible_producer(const flat_builder_t *builder, const flat_step_t *step) {
  if (step->kind != FLAT_NATIVE || !step->native.tiles.fuse) return false;
  if (step->out_count != 1 || step->native.tiles.grid.rows < 2) return false;
  size_t bytes = builder->buffers.data[step->out[0].buffer].size_bytes;
  return step->native.flops >= MIN_FLOPS &&
         (step->native.flops <= MAX_SHORT_FLOPS ||
          bytes >= (step->native.tiles.fit_caches ? MIN_TILED_BYTES : MIN_LARGE_BYTES));
}

static bool find_pair(flat_builder_t *builder, const bool *block_starts, int number,
                      pair_t *out_pair) {
  const flat_step_t *first = get_step(builder, number);
  if (!is_fusible_producer(builder, first) || first->out[0].offset_bytes) return false;
  int product = first->out[0].buffer;
  const flat_buffer_t *buffer = &builder->buffers.data[product];
  *out_pair = (pair_t){.builder = builder, .first = number};
  out_pair->second = find_reader(builder, block_starts, number, product, &out_pair->leaf);
  if (out_pair->second < 0 || buffer->coalesced_into >= 0 || buffer->is_carried) return false;
  const flat_step_t *second = get_step(builder, out_pair->second);
  out_pair->is_read_again = buffer->storage != FLAT_ARENA || buffer->end > out_pair->second;
  return second->kind == FLAT_NATIVE && second->native.tiles.consumer;
}

/* Prepares both kernels for tile fusion. prepared[1].plan stays NULL if the consumer declines. */
static hr_status_t prepare_pair(pair_t *pair) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *first = get_step(builder, pair->first),
                    *second = get_step(builder, pair->second);
  op_native_grid_t grid = first->native.tiles.grid;
  HR_TRY(second->native.tiles.consumer->prepare(&builder->target, &second->source->op,
                                                second->native.plan, pair->leaf, &grid,
                                                &pair->prepared[1]));
  if (!pair->prepared[1].plan) return NULL;
  HR_TRY(first->native.tiles.fuse(&builder->target, first->native.plan, &grid, &pair->prepared[0]));
  pair->prepared[0].parts.by_rows = grid.unit ? 0 : first->native.tiles.by_rows;
  return NULL;
}

/* --- the fused step --- */

static size_t align_size(size_t bytes) { return (size_t)hr_round_up((int64_t)bytes, HR_ALIGNMENT); }

static size_t buffer_size_bytes(const flat_builder_t *builder, flat_ref_t ref) {
  return ref.buffer < 0 ? 0 : builder->buffers.data[ref.buffer].size_bytes;
}

/* Results of the consumer whose bytes the product can use. */
static uint64_t find_product_storage(const pair_t *pair) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *second = get_step(builder, pair->second);
  const op_native_step_t *prepared = &pair->prepared[1];
  uint64_t mask = 0;
  for (int o = 0; o < second->out_count && o < 64 && !pair->is_read_again && prepared->reuse; o++)
    if (native_reuses(prepared->reuse, prepared->reuse_words, o, pair->leaf) &&
        !second->out[o].offset_bytes &&
        buffer_size_bytes(builder, second->out[o]) ==
            buffer_size_bytes(builder, second->in[pair->leaf]))
      mask |= UINT64_C(1) << o;
  return mask;
}

static hr_status_t make_plan(const pair_t *pair, flat_step_t *step, size_t *out_scratch_bytes) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *first = get_step(builder, pair->first),
                    *second = get_step(builder, pair->second);
  tile_fusion_plan_t *plan;
  HR_TRY(HR_NEW(builder->arena, &plan));
  *plan = (tile_fusion_plan_t){.first = first->native.kernel,
                               .consumer = second->native.tiles.consumer,
                               .first_plan = pair->prepared[0].plan,
                               .second_plan = pair->prepared[1].plan,
                               .first_in = first->in_count,
                               .second_in = second->in_count,
                               .second_out = second->out_count,
                               .leaf = pair->leaf,
                               .storage = find_product_storage(pair)};
  plan->second_scratch_at = align_size(pair->prepared[0].scratch_bytes);
  plan->operands_at = plan->second_scratch_at + align_size(pair->prepared[1].scratch_bytes);
  *out_scratch_bytes = plan->operands_at + (size_t)second->in_count * sizeof(void *);
  step->native.plan = plan;
  return NULL;
}

static hr_status_t build_leaves(const pair_t *pair, flat_step_t *step) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *first = get_step(builder, pair->first),
                    *second = get_step(builder, pair->second);
  flat_ref_t *in, *out;
  step->in_count = first->in_count + second->in_count - 1;
  step->out_count = second->out_count + 1;
  HR_TRY(HR_NEW_ARRAY(builder->arena, step->in_count, &in));
  HR_TRY(HR_NEW_ARRAY(builder->arena, step->out_count, &out));
  memcpy(in, first->in, (size_t)first->in_count * sizeof *in);
  for (int k = 0, to = first->in_count; k < second->in_count; k++)
    if (k != pair->leaf) in[to++] = second->in[k];
  memcpy(out, second->out, (size_t)second->out_count * sizeof *out);
  out[second->out_count] = first->out[0];
  step->in = in;
  step->out = out;
  return NULL;
}

/* Adds the operands that result `o` may overwrite: those that the consumer's plan names, and those
 * that the producer reads by rows, as a row is read before the same row of results is written. */
static void add_reuse(const pair_t *pair, int o, int words, uint64_t *reuse) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *first = get_step(builder, pair->first),
                    *second = get_step(builder, pair->second);
  const op_native_step_t *prepared = &pair->prepared[1];
  for (int k = 0; k < second->in_count && prepared->reuse; k++)
    if (k != pair->leaf && native_reuses(prepared->reuse, prepared->reuse_words, o, k))
      native_reuse_add(reuse, words, o, first->in_count + k - (k > pair->leaf));
  for (int k = 0; k < first->in_count; k++)
    if (pair->prepared[0].parts.by_rows >> k & 1 &&
        buffer_size_bytes(builder, second->out[o]) == buffer_size_bytes(builder, first->in[k]))
      native_reuse_add(reuse, words, o, k);
}

static hr_status_t make_reuse(const pair_t *pair, flat_step_t *step) {
  uint64_t *reuse;
  step->reuse_words = native_reuse_words(step->in_count);
  HR_TRY(HR_NEW_ARRAY(pair->builder->arena, step->out_count * step->reuse_words, &reuse));
  for (int o = 0; o + 1 < step->out_count; o++) add_reuse(pair, o, step->reuse_words, reuse);
  step->reuse = reuse;
  return NULL;
}

/* Gives the fused step one scratch buffer. The scratch buffers of the two steps get size 0. */
static hr_status_t make_scratch(const pair_t *pair, size_t size_bytes, flat_step_t *step) {
  flat_builder_t *builder = pair->builder;
  const flat_ref_t before[2] = {get_step(builder, pair->first)->scratch,
                                get_step(builder, pair->second)->scratch};
  for (int i = 0; i < 2; i++)
    if (before[i].buffer >= 0) builder->buffers.data[before[i].buffer].size_bytes = 0;
  step->scratch = before[1];
  if (step->scratch.buffer < 0)
    HR_TRY(flat_buffer_add(builder, FLAT_ARENA, size_bytes, &step->scratch.buffer));
  flat_buffer_t *buffer = &builder->buffers.data[step->scratch.buffer];
  buffer->size_bytes = size_bytes;
  buffer->start = pair->second;
  buffer->end = pair->second;
  return NULL;
}

/* Extends the lifetime of a producer's operand to the consumer's step, where it is read now. A
 * carry counts only if the pair is within its loop: a pair after the loop reads the final value,
 * which the body may compute in place. */
static void extend_operand_lifetime(const pair_t *pair, flat_ref_t ref) {
  flat_builder_t *builder = pair->builder;
  flat_touch(builder, ref, pair->second);
  for (size_t c = 0; c < builder->carries.count; c++) {
    flat_carry_t *carry = &builder->carries.data[c];
    bool is_within = carry->start <= pair->first && pair->second <= carry->end;
    if (is_within && carry->buffer == ref.buffer && carry->last_read < pair->second)
      carry->last_read = pair->second;
  }
}

/* Puts the fused step in the place of the consumer's step, and a removed copy in that of the
 * producer's. */
static void replace_steps(const pair_t *pair, const flat_step_t *step) {
  flat_builder_t *builder = pair->builder;
  const flat_step_t *first = get_step(builder, pair->first);
  builder->buffers.data[first->out[0].buffer].start = pair->second;
  for (int k = 0; k < first->in_count; k++) extend_operand_lifetime(pair, first->in[k]);
  *get_step(builder, pair->second) = *step;
  *get_step(builder, pair->first) = (flat_step_t){.kind = FLAT_COPY,
                                                  .copy.is_removed = true,
                                                  .end = pair->first + 1,
                                                  .scratch = {-1, 0},
                                                  .reference.out_slot = -1};
}

static hr_status_t fuse_pair(const pair_t *pair) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *first = get_step(builder, pair->first),
                    *second = get_step(builder, pair->second);
  size_t scratch_bytes, product_bytes = buffer_size_bytes(builder, first->out[0]);
  flat_step_t step = {
      .kind = FLAT_NATIVE,
      .end = second->end,
      .source = second->source,
      .native.first = first->source,
      .native.kernel = &tile_fusion_native,
      .native.flops = first->native.flops + second->native.flops,
      .reference.out_slot = -1,
      .native.bytes = first->native.bytes + second->native.bytes - 2 * (double)product_bytes};
  HR_TRY(make_plan(pair, &step, &scratch_bytes));
  HR_TRY(build_leaves(pair, &step));
  HR_TRY(make_reuse(pair, &step));
  HR_TRY(make_scratch(pair, scratch_bytes, &step));
  replace_steps(pair, &step);
  return NULL;
}

/* --- the pass --- */

/* Marks the first step of each basic block. */
static hr_status_t find_block_starts(flat_builder_t *builder, bool **out_block_starts) {
  bool *block_starts;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, builder->steps.count + 1, &block_starts));
  for (int s = 0; s < flat_now(builder); s++) {
    const flat_step_t *step = get_step(builder, s);
    if (step->end != s + 1) block_starts[s] = block_starts[step->end] = true;
    for (int i = 0; i < step->control.start_count; i++)
      block_starts[step->control.starts[i]] = true;
  }
  *out_block_starts = block_starts;
  return NULL;
}

hr_status_t flat_fuse_tiles(flat_builder_t *builder) {
  bool *block_starts;
  if (builder->options->no_fusion) return NULL;
  HR_TRY(find_block_starts(builder, &block_starts));
  for (int s = 0; s < flat_now(builder); s++) {
    pair_t pair;
    if (!find_pair(builder, block_starts, s, &pair)) continue;
    HR_TRY(prepare_pair(&pair));
    if (pair.prepared[1].plan) HR_TRY(fuse_pair(&pair));
  }
  return NULL;
}

/* --- storage of products --- */

static bool is_operand(const flat_builder_t *builder, const flat_step_t *step, int buffer) {
  for (int k = 0; k < step->in_count; k++)
    if (step->in[k].buffer >= 0 && flat_root(builder->buffers.data, step->in[k].buffer) == buffer)
      return true;
  return false;
}

/* Gives the product the bytes of a result, where plan->storage permits. This result may then
 * overwrite no operand. */
static void set_product_storage(flat_builder_t *builder, const flat_step_t *step) {
  const tile_fusion_plan_t *plan = step->native.plan;
  int product = flat_root(builder->buffers.data, step->out[plan->second_out].buffer);
  for (int o = 0; o < plan->second_out && o < 64; o++) {
    if (!(plan->storage >> o & 1)) continue;
    int result = flat_root(builder->buffers.data, step->out[o].buffer);
    if (result == product || is_operand(builder, step, result)) continue;
    flat_coalesce(builder, product, result);
    memset((uint64_t *)step->reuse + o * step->reuse_words, 0,
           (size_t)step->reuse_words * sizeof *step->reuse);
    return;
  }
}

void flat_fuse_storage(flat_builder_t *builder) {
  for (int s = 0; s < flat_now(builder); s++)
    if (get_step(builder, s)->native.kernel == &tile_fusion_native)
      set_product_storage(builder, get_step(builder, s));
}
