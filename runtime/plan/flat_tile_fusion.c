/* Steps that follow others on what these have just made. A product whose result the next step that
 * reads it takes row by row, or element by element, becomes one step with it: each worker does the
 * second part of the work on a range of rows, or a block of columns, that it has finished, while
 * that lies in its caches. Where nobody else reads the product and the second step may write over
 * it, it has no bytes of its own.
 *
 * The first step moves down to the second: what is between them does not read the product, and its
 * operands are as they were, as every array is written by one step until buffers are merged. */
#include <string.h>

#include "plan/flat_build.h"

/* Where it pays: of products that take some 10 to 200 microseconds, as one start of all workers is
 * saved, and what follows has as many as the product where it would have had one; and of results
 * that no cache holds. In between, what follows only takes the caches away from the product's
 * operands. */
#define LEAST_FLOPS 2e6
#define SHORT_FLOPS 6e7
#define LARGE_BYTES ((size_t)24 << 20)
#define PARTS_BYTES ((size_t)2 << 20) /* where caches hold each part when it is final */

/* --- running --- */

typedef struct tile_fusion_plan {
  const op_native_t *first;
  const op_native_consumer_t *consumer;
  const void *first_plan, *second_plan;
  int first_in, second_in, second_out; /* leaves */
  int leaf;                            /* of the second step's operands: what the first one makes */
  uint64_t storage;                    /* results over which that may lie */
  size_t second_scratch_at, operands_at; /* in scratch */
} tile_fusion_plan_t;

typedef struct following {
  const tile_fusion_plan_t *plan;
  op_native_run_t run;
} following_t;

static void run_part(const op_native_epilogue_t *epilogue, const op_native_part_t *part,
                     int worker) {
  const following_t *following = epilogue->context;
  const tile_fusion_plan_t *plan = following->plan;
  plan->consumer->part(&following->run, plan->second_plan, part, worker);
}

/* in: of the first step, then of the second but for the product. out: of the second, then the
 * product. */
static hr_status_t run(const op_native_run_t *env, const void *opaque, void *const *in,
                       void *const *out) {
  const tile_fusion_plan_t *plan = opaque;
  void **operands = (void **)((char *)env->scratch + plan->operands_at);
  following_t following = {plan, *env};
  op_native_epilogue_t epilogue = {run_part, &following};
  op_native_run_t first = *env;
  memcpy(operands, in + plan->first_in, (size_t)plan->leaf * sizeof *operands);
  operands[plan->leaf] = out[plan->second_out];
  memcpy(operands + plan->leaf + 1, in + plan->first_in + plan->leaf,
         (size_t)(plan->second_in - plan->leaf - 1) * sizeof *operands);
  following.run.scratch = (char *)env->scratch + plan->second_scratch_at;
  plan->consumer->begin(&following.run, plan->second_plan, operands, out);
  first.epilogue = &epilogue;
  return plan->first->run(&first, plan->first_plan, in, out + plan->second_out);
}

static const op_native_t flat_followed = {"kernel and generated code", NULL, run};

/* --- which --- */

typedef struct pair {
  flat_builder_t *builder;
  int first, second;  /* steps */
  int leaf;           /* operand of the second */
  bool is_read_again; /* the product, later on */
  op_native_step_t made[2];
} pair_t;

static flat_step_t *step_of(const flat_builder_t *builder, int number) {
  return &builder->steps.data[number];
}

/* How often the step reads the buffer; *out_leaf: where. */
static int count_reads(const flat_step_t *step, int buffer, int *out_leaf) {
  int count = 0;
  for (int k = 0; k < step->in_count; k++)
    if (step->in[k].buffer == buffer) *out_leaf = k, count++;
  return count;
}

static bool is_plain(const flat_step_t *step) {
  return step->kind == FLAT_COPY ||
         (step->kind == FLAT_NATIVE && step->source->op.instr->op != HLO_WHILE) ||
         (step->kind == FLAT_REFERENCE && !step->reference.begins && !step->reference.ends);
}

/* The first reader, if it is in the same straight line. */
static int find_reader(const flat_builder_t *builder, const bool *borders, int first, int buffer,
                       int *out_leaf) {
  for (int s = first + 1; s < flat_now(builder) && !borders[s]; s++) {
    const flat_step_t *step = step_of(builder, s);
    if (!is_plain(step)) return -1;
    int reads = count_reads(step, buffer, out_leaf);
    if (reads) return reads == 1 && !step->in[*out_leaf].offset_bytes ? s : -1;
  }
  return -1;
}

static bool can_be_followed(const flat_builder_t *builder, const flat_step_t *step) {
  if (step->kind != FLAT_NATIVE || !step->native.tiles.fuse) return false;
  if (step->out_count != 1 || step->native.tiles.grid.rows < 2) return false;
  size_t bytes = builder->buffers.data[step->out[0].buffer].size_bytes;
  return step->native.flops >= LEAST_FLOPS &&
         (step->native.flops <= SHORT_FLOPS ||
          bytes >= (step->native.tiles.fit_caches ? PARTS_BYTES : LARGE_BYTES));
}

static bool find_pair(flat_builder_t *builder, const bool *borders, int number, pair_t *out_pair) {
  const flat_step_t *first = step_of(builder, number);
  if (!can_be_followed(builder, first) || first->out[0].offset_bytes) return false;
  int product = first->out[0].buffer;
  const flat_buffer_t *buffer = &builder->buffers.data[product];
  *out_pair = (pair_t){.builder = builder, .first = number};
  out_pair->second = find_reader(builder, borders, number, product, &out_pair->leaf);
  if (out_pair->second < 0 || buffer->coalesced_into >= 0 || buffer->is_carried) return false;
  const flat_step_t *second = step_of(builder, out_pair->second);
  out_pair->is_read_again = buffer->storage != FLAT_ARENA || buffer->end > out_pair->second;
  return second->kind == FLAT_NATIVE && second->native.tiles.consumer;
}

/* Both plans, made for each other; made[1].plan stays NULL if that cannot be. */
static hr_status_t prepare_both(pair_t *pair) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *first = step_of(builder, pair->first),
                    *second = step_of(builder, pair->second);
  op_native_grid_t grid = first->native.tiles.grid;
  HR_TRY(second->native.tiles.consumer->prepare(&builder->target, &second->source->op,
                                                second->native.plan, pair->leaf, &grid,
                                                &pair->made[1]));
  if (!pair->made[1].plan) return NULL;
  HR_TRY(first->native.tiles.fuse(&builder->target, first->native.plan, &grid, &pair->made[0]));
  pair->made[0].parts.by_rows = grid.unit ? 0 : first->native.tiles.by_rows;
  return NULL;
}

/* --- the step that both become --- */

static size_t rounded(size_t bytes) {
  return (bytes + HR_ALIGNMENT - 1) / HR_ALIGNMENT * HR_ALIGNMENT;
}

static size_t bytes_at(const flat_builder_t *builder, flat_ref_t ref) {
  return ref.buffer < 0 ? 0 : builder->buffers.data[ref.buffer].size_bytes;
}

/* Results of the second step over which the product can be made. */
static uint64_t find_pointers(const pair_t *pair) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *second = step_of(builder, pair->second);
  const op_native_step_t *made = &pair->made[1];
  uint64_t places = 0;
  for (int o = 0; o < second->out_count && o < 64 && !pair->is_read_again && made->reuse; o++)
    if (native_reuses(made->reuse, made->reuse_words, o, pair->leaf) &&
        !second->out[o].offset_bytes &&
        bytes_at(builder, second->out[o]) == bytes_at(builder, second->in[pair->leaf]))
      places |= UINT64_C(1) << o;
  return places;
}

static hr_status_t make_plan(const pair_t *pair, flat_step_t *step, size_t *out_scratch_bytes) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *first = step_of(builder, pair->first),
                    *second = step_of(builder, pair->second);
  tile_fusion_plan_t *plan;
  HR_TRY(HR_NEW(builder->arena, &plan));
  *plan = (tile_fusion_plan_t){.first = first->native.kernel,
                               .consumer = second->native.tiles.consumer,
                               .first_plan = pair->made[0].plan,
                               .second_plan = pair->made[1].plan,
                               .first_in = first->in_count,
                               .second_in = second->in_count,
                               .second_out = second->out_count,
                               .leaf = pair->leaf,
                               .storage = find_pointers(pair)};
  plan->second_scratch_at = rounded(pair->made[0].scratch_bytes);
  plan->operands_at = plan->second_scratch_at + rounded(pair->made[1].scratch_bytes);
  *out_scratch_bytes = plan->operands_at + (size_t)second->in_count * sizeof(void *);
  step->native.plan = plan;
  return NULL;
}

static hr_status_t list_leaves(const pair_t *pair, flat_step_t *step) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *first = step_of(builder, pair->first),
                    *second = step_of(builder, pair->second);
  flat_ref_t *in, *out;
  step->in_count = first->in_count + second->in_count - 1, step->out_count = second->out_count + 1;
  HR_TRY(HR_NEW_ARRAY(builder->arena, step->in_count, &in));
  HR_TRY(HR_NEW_ARRAY(builder->arena, step->out_count, &out));
  memcpy(in, first->in, (size_t)first->in_count * sizeof *in);
  for (int k = 0, to = first->in_count; k < second->in_count; k++)
    if (k != pair->leaf) in[to++] = second->in[k];
  memcpy(out, second->out, (size_t)second->out_count * sizeof *out);
  out[second->out_count] = first->out[0];
  step->in = in, step->out = out;
  return NULL;
}

/* What result `o` may lie over: operands of the second step as that says, and rows of the first
 * one's, which are read before the same rows of results are written. */
static void add_reuse(const pair_t *pair, int o, int words, uint64_t *reuse) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *first = step_of(builder, pair->first),
                    *second = step_of(builder, pair->second);
  const op_native_step_t *made = &pair->made[1];
  for (int k = 0; k < second->in_count && made->reuse; k++)
    if (k != pair->leaf && native_reuses(made->reuse, made->reuse_words, o, k))
      native_reuse_add(reuse, words, o, first->in_count + k - (k > pair->leaf));
  for (int k = 0; k < first->in_count; k++)
    if (pair->made[0].parts.by_rows >> k & 1 &&
        bytes_at(builder, second->out[o]) == bytes_at(builder, first->in[k]))
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

/* Scratch memory that is nobody's any more has no size. */
static hr_status_t make_scratch(const pair_t *pair, size_t size_bytes, flat_step_t *step) {
  flat_builder_t *builder = pair->builder;
  const flat_ref_t before[2] = {step_of(builder, pair->first)->scratch,
                                step_of(builder, pair->second)->scratch};
  for (int i = 0; i < 2; i++)
    if (before[i].buffer >= 0) builder->buffers.data[before[i].buffer].size_bytes = 0;
  step->scratch = before[1];
  if (step->scratch.buffer < 0)
    HR_TRY(flat_buffer_add(builder, FLAT_ARENA, size_bytes, &step->scratch.buffer));
  flat_buffer_t *buffer = &builder->buffers.data[step->scratch.buffer];
  buffer->size_bytes = size_bytes, buffer->start = buffer->end = pair->second;
  return NULL;
}

/* What the first step reads is read by the second. A pair behind a loop reads what the loop leaves,
 * which does not keep the body from computing it in place. */
static void read_later(const pair_t *pair, flat_ref_t ref) {
  flat_builder_t *builder = pair->builder;
  flat_touch(builder, ref, pair->second);
  for (size_t c = 0; c < builder->carries.count; c++) {
    flat_carry_t *carry = &builder->carries.data[c];
    bool is_within = carry->start <= pair->first && pair->second <= carry->end;
    if (is_within && carry->buffer == ref.buffer && carry->last_read < pair->second)
      carry->last_read = pair->second;
  }
}

/* The second step becomes both, and the first one nothing. */
static void replace_steps(const pair_t *pair, const flat_step_t *step) {
  flat_builder_t *builder = pair->builder;
  const flat_step_t *first = step_of(builder, pair->first);
  builder->buffers.data[first->out[0].buffer].start = pair->second;
  for (int k = 0; k < first->in_count; k++) read_later(pair, first->in[k]);
  *step_of(builder, pair->second) = *step;
  *step_of(builder, pair->first) = (flat_step_t){.kind = FLAT_COPY,
                                                 .copy.is_removed = true,
                                                 .end = pair->first + 1,
                                                 .scratch = {-1, 0},
                                                 .reference.out_slot = -1};
}

static hr_status_t join(const pair_t *pair) {
  const flat_builder_t *builder = pair->builder;
  const flat_step_t *first = step_of(builder, pair->first),
                    *second = step_of(builder, pair->second);
  size_t scratch_bytes, product_bytes = bytes_at(builder, first->out[0]);
  flat_step_t step = {
      .kind = FLAT_NATIVE,
      .end = second->end,
      .source = second->source,
      .native.first = first->source,
      .native.kernel = &flat_followed,
      .native.flops = first->native.flops + second->native.flops,
      .reference.out_slot = -1,
      .native.bytes = first->native.bytes + second->native.bytes - 2 * (double)product_bytes};
  HR_TRY(make_plan(pair, &step, &scratch_bytes));
  HR_TRY(list_leaves(pair, &step));
  HR_TRY(make_reuse(pair, &step));
  HR_TRY(make_scratch(pair, scratch_bytes, &step));
  replace_steps(pair, &step);
  return NULL;
}

/* --- all of them --- */

/* Where a straight line begins. */
static hr_status_t find_borders(flat_builder_t *builder, bool **out_borders) {
  bool *borders;
  HR_TRY(HR_NEW_ARRAY(&builder->scratch, builder->steps.count + 1, &borders));
  for (int s = 0; s < flat_now(builder); s++) {
    const flat_step_t *step = step_of(builder, s);
    if (step->end != s + 1) borders[s] = borders[step->end] = true;
    for (int i = 0; i < step->control.start_count; i++) borders[step->control.starts[i]] = true;
  }
  *out_borders = borders;
  return NULL;
}

hr_status_t flat_fuse_tiles(flat_builder_t *builder) {
  bool *borders;
  if (builder->options->no_fusion) return NULL;
  HR_TRY(find_borders(builder, &borders));
  for (int s = 0; s < flat_now(builder); s++) {
    pair_t pair;
    if (!find_pair(builder, borders, s, &pair)) continue;
    HR_TRY(prepare_both(&pair));
    if (pair.made[1].plan) HR_TRY(join(&pair));
  }
  return NULL;
}

/* --- where products lie --- */

static bool is_operand(const flat_builder_t *builder, const flat_step_t *step, int buffer) {
  for (int k = 0; k < step->in_count; k++)
    if (step->in[k].buffer >= 0 && flat_root(builder->buffers.data, step->in[k].buffer) == buffer)
      return true;
  return false;
}

/* The result has no other place then. */
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
    if (step_of(builder, s)->native.kernel == &flat_followed)
      set_product_storage(builder, step_of(builder, s));
}
