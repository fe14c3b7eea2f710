/* Hoisting of prepacking out of loops. A kernel that would pack the same operand in every iteration
 * (weights of a product, op_native_prepack_t) reads a packed copy instead:
 *
 *   while { y = dot(x, w) }   ->   p = pack(w);  while { y = dot(x, p) }
 *
 * The packing step is inserted before the outermost loop that does not write the operand. Loops
 * with one iteration are skipped. Kernels that read one operand in one form share the packed copy,
 * which lives as long as the loop. Cost: steps times loop depth, and packed copies by pairs.
 *
 * Kernels that a packed operand helps only while it is cached (pays_if_cached) read theirs in place
 * if those of the loop have more than CACHED_BYTES: a decoder with 16 MB of weights and 8 rows
 * takes as long, and the copies would double its memory. */
#include "plan/flat_build.h"

#define CACHED_BYTES (8 << 20) /* a last-level cache, of which others use a part */

static flat_step_t *get_step(const flat_builder_t *builder, int number) {
  return &builder->steps.data[number];
}

static bool is_written(const flat_builder_t *builder, int buffer, int begin, int end) {
  for (int s = begin; s < end; s++) {
    const flat_step_t *step = get_step(builder, s);
    for (int i = 0; i < step->out_count; i++)
      if (step->out[i].buffer >= 0 &&
          flat_root(builder->buffers.data, step->out[i].buffer) == buffer)
        return true;
  }
  return false;
}

/* The outermost loop around the step that does not write the buffer; -1: none. Loops with one
 * iteration are skipped. */
static int find_loop(const flat_builder_t *builder, int number, int buffer) {
  for (int s = 0; s < number; s++) {
    const flat_step_t *step = get_step(builder, s);
    if (step->kind == FLAT_WHILE && step->end > number &&
        (step->control.trip_count < 0 || step->control.trip_count > 1) &&
        !is_written(builder, buffer, s, step->end))
      return s;
  }
  return -1;
}

/* A packing step before loop `loop`, and a buffer for the packed operand that lives as long as the
 * loop. */
static hr_status_t add_packer_step(flat_builder_t *builder, int number, int loop, int *out_packed) {
  const flat_step_t *step = get_step(builder, number);
  const op_native_prepack_t *prepack = step->native.prepack;
  flat_ref_t *leaves;
  HR_TRY(flat_buffer_add(builder, FLAT_ARENA, prepack->bytes, out_packed));
  flat_buffer_t *packed = &builder->buffers.data[*out_packed];
  packed->start = loop;
  packed->end = get_step(builder, loop)->end - 1;
  HR_TRY(HR_NEW_ARRAY(builder->arena, 2, &leaves));
  leaves[0] = step->in[prepack->leaf];
  leaves[1] = (flat_ref_t){*out_packed, 0};
  flat_hoisted_t hoisted = {.index = loop,
                            .step = {.kind = FLAT_NATIVE,
                                     .source = step->source,
                                     .in_count = 1,
                                     .out_count = 1,
                                     .in = leaves,
                                     .out = leaves + 1,
                                     .native.kernel = prepack->packer,
                                     .native.plan = prepack->packer_plan,
                                     .scratch = {-1, 0},
                                     .native.bytes = 2 * (double)prepack->bytes,
                                     .reference.out_slot = -1}};
  HR_VEC_PUSH(&builder->hoisted, hoisted);
  return NULL;
}

/* The packed copy of the same operand in the same form that a step before `loop` makes; -1: none.
 */
static int find_packed(const flat_builder_t *builder, const flat_step_t *step, int loop) {
  const op_native_prepack_t *prepack = step->native.prepack;
  const flat_ref_t *operand = &step->in[prepack->leaf];
  for (size_t h = 0; h < builder->hoisted.count; h++) {
    const flat_hoisted_t *hoisted = &builder->hoisted.data[h];
    const flat_step_t *packer = &hoisted->step;
    if (hoisted->index == loop && packer->native.kernel == prepack->packer &&
        packer->in[0].buffer == operand->buffer &&
        packer->in[0].offset_bytes == operand->offset_bytes &&
        prepack->has_same_form(prepack->packer_plan, packer->native.plan))
      return packer->out[0].buffer;
  }
  return -1;
}

static hr_status_t use_packed_operand(flat_builder_t *builder, int number, int packed) {
  flat_step_t *step = get_step(builder, number);
  op_native_step_t prepared = {0};
  flat_ref_t *in;
  HR_TRY(step->native.prepack->prepare(&builder->target, step->native.prepack, &prepared));
  HR_TRY(HR_NEW_ARRAY(builder->arena, step->in_count, &in));
  for (int k = 0; k < step->in_count; k++)
    in[k] = k == step->native.prepack->leaf ? (flat_ref_t){packed, 0} : step->in[k];
  step->in = in;
  HR_TRY(flat_step_prepared(builder, &prepared, step));
  if (step->scratch.buffer < 0) return NULL;
  flat_buffer_t *scratch = &builder->buffers.data[step->scratch.buffer];
  scratch->start = number;
  scratch->end = number;
  return NULL;
}

/* The loop before which the operand of a step is packed; -1: it is not. */
static int packing_loop(const flat_builder_t *builder, int number) {
  const flat_step_t *step = get_step(builder, number);
  if (step->kind != FLAT_NATIVE || !step->native.prepack) return -1;
  const flat_ref_t *operand = &step->in[step->native.prepack->leaf];
  return find_loop(builder, number, flat_root(builder->buffers.data, operand->buffer));
}

hr_status_t flat_hoist_prepack(flat_builder_t *builder) {
  int count = flat_now(builder), *loops;
  size_t *bytes; /* size of all packed operands, by loop */
  if (builder->options->no_fusion || !count) return NULL;
  HR_TRY(HR_NEW_ARRAY(builder->arena, (size_t)count, &loops));
  HR_TRY(HR_NEW_ARRAY(builder->arena, (size_t)count, &bytes));
  for (int s = 0; s < count; s++) {
    loops[s] = packing_loop(builder, s);
    if (loops[s] >= 0) bytes[loops[s]] += get_step(builder, s)->native.prepack->bytes;
  }
  for (int s = 0; s < count; s++) {
    int loop = loops[s];
    if (loop < 0) continue;
    const flat_step_t *step = get_step(builder, s);
    if (step->native.prepack->pays_if_cached && bytes[loop] > CACHED_BYTES) continue;
    int packed = find_packed(builder, step, loop);
    if (packed < 0) HR_TRY(add_packer_step(builder, s, loop, &packed));
    HR_TRY(use_packed_operand(builder, s, packed));
  }
  return NULL;
}
