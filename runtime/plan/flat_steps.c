/* Steps and buffers of a flat plan under construction, and the choice of a kernel for an
 * instruction:
 *
 *   1. generated code, for small arrays in loops (it becomes part of the loop's function)
 *   2. the native kernel of ops/kernels, unless the reference kernel's order of few terms matters
 *   3. generated code
 *   4. the reference kernel, on values laid over the buffers
 *
 * A kernel refuses an instruction by preparing no plan. */
#include <string.h>

#include "base/log.h"
#include "ops/query/few_terms.h"
#include "ops/query/codegen_support.h"
#include "ops/query/fusion_form.h"
#include "plan/flat_build.h"

#define SMALL_ARRAY_ELEMENTS 256 /* most elements of a small array */

hr_status_t flat_buffer_add(flat_builder_t *builder, flat_storage_t storage, size_t size_bytes,
                            int *out_buffer) {
  flat_buffer_t buffer = {.storage = storage, .size_bytes = size_bytes, .coalesced_into = -1};
  buffer.end = storage == FLAT_ARENA ? flat_now(builder) : -1;
  buffer.start = buffer.end;
  HR_VEC_PUSH(&builder->buffers, buffer);
  *out_buffer = (int)builder->buffers.count - 1;
  return NULL;
}

void flat_touch(flat_builder_t *builder, flat_ref_t ref, int step) {
  if (ref.buffer < 0) return;
  flat_buffer_t *buffer = &builder->buffers.data[flat_root(builder->buffers.data, ref.buffer)];
  if (buffer->end < step) buffer->end = step;
  buffer->is_unused = false;
}

static hr_status_t add_leaves(flat_builder_t *builder, const hlo_shape_t *shape,
                              flat_ref_t **next) {
  for (int i = 0; i < shape->element_count; i++)
    HR_TRY(add_leaves(builder, shape->elements[i], next));
  if (hlo_shape_is_tuple(shape)) return NULL;
  flat_ref_t *leaf = (*next)++;
  size_t size_bytes;
  *leaf = (flat_ref_t){-1, 0};
  if (!hlo_shape_is_array(shape)) return NULL;
  HR_TRY(hlo_shape_bytes(shape, &size_bytes));
  return flat_buffer_add(builder, FLAT_ARENA, size_bytes, &leaf->buffer);
}

hr_status_t flat_leaves_add(flat_builder_t *builder, const hlo_shape_t *shape,
                            flat_ref_t **out_leaves) {
  HR_TRY(HR_NEW_ARRAY(builder->arena, hlo_shape_leaf_count(shape), out_leaves));
  flat_ref_t *next = *out_leaves;
  return add_leaves(builder, shape, &next);
}

hr_status_t flat_step_add(flat_builder_t *builder, const flat_step_t *step) {
  int now = flat_now(builder);
  for (int i = 0; i < step->in_count; i++) flat_touch(builder, step->in[i], now);
  for (int i = 0; i < step->out_count; i++) flat_touch(builder, step->out[i], now);
  HR_VEC_PUSH(&builder->steps, *step);
  builder->steps.data[now].end = now + 1;
  return NULL;
}

hr_status_t flat_copy_add(flat_builder_t *builder, const plan_step_t *source, flat_ref_t from,
                          flat_ref_t to, size_t size_bytes) {
  static const uint64_t itself[1] = {1};
  flat_ref_t *ends;
  HR_TRY(HR_NEW_ARRAY(builder->arena, 2, &ends));
  ends[0] = from;
  ends[1] = to;
  flat_step_t step = {.kind = FLAT_COPY,
                      .source = source,
                      .in_count = 1,
                      .out_count = 1,
                      .in = ends,
                      .out = ends + 1,
                      .scratch = {-1, 0},
                      .reuse = itself,
                      .copy.size_bytes = size_bytes,
                      .reference.out_slot = -1};
  return flat_step_add(builder, &step);
}

/* --- one instruction --- */

static bool has_boxed_operand(const flat_frame_t *frame, const hlo_instr_t *instr) {
  for (int k = 0; k < instr->operand_count; k++)
    if (frame->slots[instr->operands[k]->id] >= 0) return true;
  return false;
}

/* The leaves of all operands that are not boxed, concatenated. */
static hr_status_t collect_operand_leaves(flat_builder_t *builder, const flat_frame_t *frame,
                                          flat_step_t *step) {
  const hlo_instr_t *instr = step->source->op.instr;
  flat_ref_t *in;
  for (int k = 0; k < instr->operand_count; k++)
    if (frame->slots[instr->operands[k]->id] < 0)
      step->in_count += hlo_shape_leaf_count(instr->operands[k]->shape);
  HR_TRY(HR_NEW_ARRAY(builder->arena, step->in_count, &in));
  step->in = in;
  for (int k = 0; k < instr->operand_count; k++) {
    const hlo_instr_t *operand = instr->operands[k];
    if (frame->slots[operand->id] >= 0) continue;
    int count = hlo_shape_leaf_count(operand->shape);
    memcpy(in, frame->leaves[operand->id], (size_t)count * sizeof *in);
    in += count;
  }
  return NULL;
}

hr_status_t flat_step_prepared(flat_builder_t *builder, const op_native_step_t *prepared,
                               flat_step_t *step) {
  step->native.plan = prepared->plan;
  step->reuse = prepared->reuse;
  step->reuse_words = prepared->reuse_words;
  step->native.nondeterministic_results = prepared->nondeterministic_results;
  step->native.tiles = prepared->parts;
  step->native.prepack = prepared->prepack;
  if (step->scratch.buffer >= 0)
    builder->buffers.data[step->scratch.buffer].size_bytes = prepared->scratch_bytes;
  else if (prepared->scratch_bytes)
    return flat_buffer_add(builder, FLAT_ARENA, prepared->scratch_bytes, &step->scratch.buffer);
  return NULL;
}

static hr_status_t try_prepare(flat_builder_t *builder, const op_native_t *native,
                               flat_step_t *step) {
  op_native_step_t prepared = {0};
  if (step->native.plan || !native || !native->prepare) return NULL;
  HR_TRY(native->prepare(&builder->target, &step->source->op, &prepared));
  if (!prepared.plan) return NULL;
  step->kind = FLAT_NATIVE;
  step->native.kernel = native;
  step->native.flops = prepared.flops;
  step->native.bytes = prepared.bytes;
  step->native.copied_bytes = prepared.copied_bytes;
  return flat_step_prepared(builder, &prepared, step);
}

/* Is the op on small arrays in a loop, or a small update of an array? Generated code then joins the
 * loop's function, and its values stay in registers. */
static bool is_small_in_loop(const flat_builder_t *builder, const hlo_instr_t *instr) {
  const hlo_shape_t *shape =
      instr->op == HLO_DYNAMIC_UPDATE_SLICE ? instr->operands[1]->shape : instr->shape;
  return builder->loops && hlo_shape_is_array(shape) && fusion_count(shape) <= SMALL_ARRAY_ELEMENTS;
}

/* Logs the kernel of a step, and why no faster one is used. */
static void log_kernel(const flat_frame_t *frame, const flat_step_t *step) {
  const hlo_instr_t *instr = step->source->op.instr;
  const char *reason = "its native kernel and the code generator decline it";
  if (step->native.plan)
    reason = "chosen";
  else if (has_boxed_operand(frame, instr) || frame->analysis->is_boxed[instr->id])
    reason = "values of no fixed size or form";
  else if (!op_natives[instr->op] && !op_can_codegen(instr))
    reason = "the op has no other";
  hr_log(HR_LOG_PLAN, HR_LOG_DEBUG, "%%%.*s: %s by %s kernel: %s", HR_STR_ARGS(instr->name),
         hlo_op_name(instr->op), step->native.plan ? step->native.kernel->name : "the reference",
         reason);
}

static hr_status_t select_kernel(flat_builder_t *builder, const flat_frame_t *frame,
                                 flat_step_t *step) {
  const hlo_instr_t *instr = step->source->op.instr;
  if (has_boxed_operand(frame, instr) || frame->analysis->is_boxed[instr->id]) return NULL;
  if (instr->op == HLO_WHILE) return NULL;
  const op_native_t *emitter = op_can_codegen(instr) ? builder->options->emitter : NULL;
  if (is_small_in_loop(builder, instr)) HR_TRY(try_prepare(builder, emitter, step));
  /* In loops the cost of a step matters more than its order of rounding. */
  bool is_ordered = !builder->loops && op_has_few_terms(&step->source->op);
  if (!is_ordered) HR_TRY(try_prepare(builder, op_natives[instr->op], step));
  if (instr->op == HLO_FUSION) HR_TRY(try_prepare(builder, &native_transpose_reverse, step));
  return try_prepare(builder, emitter, step);
}

/* Mask of operands that are single arrays in buffers that no other operand reads. */
static uint64_t overwritable_operands(const flat_step_t *step) {
  const hlo_instr_t *instr = step->source->op.instr;
  uint64_t mask = 0;
  if (hlo_op_is(instr->op, OP_CONTROL) || instr->operand_count != step->in_count) return 0;
  for (int k = 0; k < step->in_count && k < 64; k++) {
    bool exclusive = step->in[k].buffer >= 0 && step->reference.in_slots[k] < 0;
    for (int other = 0; other < step->in_count && exclusive; other++)
      exclusive = other == k || step->in[other].buffer != step->in[k].buffer;
    if (exclusive) mask |= UINT64_C(1) << k;
  }
  return mask;
}

/* May the operands be read after the end of the step? Probes and transfers in flight do that, also
 * in called computations. */
static bool may_retain_operands(const hlo_instr_t *instr, bool is_boxed) {
  if (is_boxed || instr->op == HLO_OUTFEED || hlo_op_is(instr->op, OP_CONTROL)) return true;
  return instr->op == HLO_CUSTOM_CALL && hlo_attr_bool(instr, HLO_ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT);
}

/* A reference kernel's result is complete before it is copied to its buffer, so it may overwrite
 * any operand. */
static hr_status_t make_reference(flat_builder_t *builder, flat_frame_t *frame, flat_step_t *step) {
  static const uint64_t any[1] = {UINT64_MAX};
  const hlo_instr_t *instr = step->source->op.instr;
  bool is_boxed = frame->analysis->is_boxed[instr->id];
  int *slots;
  HR_TRY(flat_combiner_add(builder, instr));
  HR_TRY(HR_NEW_ARRAY(builder->arena, instr->operand_count, &slots));
  for (int k = 0; k < instr->operand_count; k++) slots[k] = frame->slots[instr->operands[k]->id];
  step->kind = FLAT_REFERENCE;
  step->reference.in_slots = slots;
  step->reference.owns_operands = may_retain_operands(instr, is_boxed);
  if (is_boxed) {
    step->reference.out_slot = builder->slot_count++;
    frame->slots[instr->id] = step->reference.out_slot;
  }
  step->reference.has_out_buffers = !is_boxed && !step->source->dynamic &&
                                    !has_boxed_operand(frame, instr) &&
                                    flat_fills_out_buffers(instr);
  if (step->reference.has_out_buffers)
    return flat_out_buffer_reuse(builder->arena, instr, &step->reuse);
  if (!hlo_shape_is_array(instr->shape) || step->reference.owns_operands) return NULL;
  step->reuse = any;
  step->reference.may_overwrite = overwritable_operands(step);
  return NULL;
}

hr_status_t flat_kernel_add(flat_builder_t *builder, flat_frame_t *frame, const plan_step_t *source,
                            bool can_lay_out, bool *out_done) {
  const hlo_instr_t *instr = source->op.instr;
  flat_step_t step = {.source = source, .scratch = {-1, 0}, .reference.out_slot = -1};
  HR_TRY(select_kernel(builder, frame, &step));
  if (hr_log_wants(HR_LOG_PLAN, HR_LOG_DEBUG)) log_kernel(frame, &step);
  *out_done = step.native.plan || !can_lay_out;
  if (!*out_done) return NULL;
  HR_TRY(collect_operand_leaves(builder, frame, &step));
  if (!step.native.plan) HR_TRY(make_reference(builder, frame, &step));
  if (step.reference.out_slot < 0) {
    HR_TRY(flat_leaves_add(builder, instr->shape, &step.out));
    step.out_count = hlo_shape_leaf_count(instr->shape);
    frame->leaves[instr->id] = step.out;
  }
  return flat_step_add(builder, &step);
}
