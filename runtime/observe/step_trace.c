/* Spans of the trace for the steps of a plan: names, kernel, reason why a step has no native
 * kernel, and estimates of flops and bytes. Built once per program; recording is base/trace.c. */
#include "observe/step_trace.h"

#include "base/map.h"
#include "jit/jit.h"
#include "ops/query/few_terms.h"
#include "ops/query/codegen_support.h"

/* A 64-bit hash suffices to group equal kernels in a table. */
static uint64_t shape_hash(const hlo_shape_t *shape, uint64_t seed) {
  for (int i = 0; i < hlo_shape_leaf_count(shape); i++) {
    const hlo_shape_t *leaf = hlo_shape_leaf(shape, i);
    seed = hr_hash_bytes(&leaf->dtype, sizeof leaf->dtype, seed);
    if (leaf->rank > 0)
      seed = hr_hash_bytes(leaf->dims, (size_t)leaf->rank * sizeof *leaf->dims, seed);
  }
  return seed;
}

static uint64_t instr_hash(const hlo_instr_t *instr, uint64_t seed) {
  seed = hr_hash_bytes(&instr->op, sizeof instr->op, seed);
  for (int k = 0; k < instr->operand_count; k++) seed = shape_hash(instr->operands[k]->shape, seed);
  return shape_hash(instr->shape, seed);
}

static hr_status_t describe(hr_trace_t *trace, const hlo_instr_t *instr, hr_trace_span_t *span) {
  span->op = hlo_op_name(instr->op);
  HR_TRY(hr_arena_cstr(&trace->arena, instr->name, &span->name));
  return hr_arena_cstr(&trace->arena, instr->parent->name, &span->computation);
}

static const char *why_reference(const flat_step_t *step) {
  const hlo_instr_t *instr = step->source->op.instr;
  const op_native_t *native = op_natives[instr->op];
  if (hlo_op_is(instr->op, OP_COMM)) return "talks to other processes";
  if (instr->op == HLO_CUSTOM_CALL) return "a function from outside";
  if (step->source->dynamic) return "sizes known only when it runs";
  if (step->reference.out_slot >= 0) return "kept as a value between steps";
  if (hlo_op_is(instr->op, OP_CONTROL) && instr->op != HLO_FUSION)
    return "a computation of dynamic sizes";
  if (op_can_codegen(instr)) return "the code generator declined it";
  if (op_has_few_terms(&step->source->op)) return "so few terms keep their order";
  if (native && native->prepare) return "its native kernel declined this form";
  return op_codegens[instr->op] == CODEGEN_NONE ? "no native kernel for this op"
                                                : "no code for this form or type";
}

/* Names the span of two instructions that run as one step. */
static hr_status_t name_both(hr_trace_t *trace, const flat_step_t *step, hr_trace_span_t *span) {
  const hlo_instr_t *first = step->native.first->op.instr, *second = step->source->op.instr;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "%.*s + %.*s", HR_STR_ARGS(first->name), HR_STR_ARGS(second->name));
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_cstr(&trace->arena, (hr_str_t){text.data, text.size}, &span->name);
  hr_strbuf_deinit(&text);
  span->op = hlo_op_name(first->op);
  span->same = instr_hash(first, span->same);
  return st;
}

/* Reason why a native kernel may be far from the limits of memory and arithmetic. */
static const char *native_bottleneck(const hlo_instr_t *instr) {
  switch (instr->op) {
    case HLO_SORT:
    case HLO_TOPK:
      return "comparisons, which are not counted";
    case HLO_GATHER:
    case HLO_SCATTER:
    case HLO_SELECT_AND_SCATTER:
      return "gathers: rows lie apart";
    case HLO_CHOLESKY:
    case HLO_TRIANGULAR_SOLVE:
      return "a dependence chain: each column waits for those before";
    case HLO_FFT:
      return "several passes over each line";
    case HLO_TRANSPOSE:
      return "rows that lie apart: each is on a page of its own";
    case HLO_RNG_BIT_GENERATOR:
      return "integer operations, which are not counted";
    default:
      return NULL;
  }
}

static bool is_same_place(const flat_plan_t *flat, flat_ref_t a, flat_ref_t b) {
  return a.buffer >= 0 && b.buffer >= 0 && a.offset_bytes == b.offset_bytes &&
         flat_root(flat->buffers, a.buffer) == flat_root(flat->buffers, b.buffer);
}

/* Does a result share the buffer of an operand that it may overwrite? */
static bool shares_operand(const flat_plan_t *flat, const flat_step_t *step) {
  for (int leaf = 0; leaf < step->out_count; leaf++)
    for (int k = 0; k < step->in_count; k++)
      if (native_reuses(step->reuse, step->reuse_words, leaf, k) &&
          is_same_place(flat, step->in[k], step->out[leaf]))
        return true;
  return false;
}

static void describe_native(const flat_plan_t *flat, const flat_step_t *step,
                            hr_trace_span_t *span) {
  const hlo_instr_t *instr = step->source->op.instr;
  span->kind = jit_is_generated(step->native.kernel) ? HR_TRACE_GENERATED : HR_TRACE_NATIVE;
  span->kernel = step->native.kernel->name;
  span->same = step->native.kernel == &jit_native
                   ? jit_plan_hash(step->native.plan)
                   : instr_hash(instr, (uintptr_t)step->native.kernel);
  span->reason = step->native.kernel == &jit_native ? jit_plan_bottleneck(step->native.plan)
                                                    : native_bottleneck(instr);
  span->flops = step->native.flops;
  span->bytes = step->native.bytes;
  if (step->native.copied_bytes > 0 && !shares_operand(flat, step))
    span->bytes += step->native.copied_bytes;
}

static void describe_reference(const flat_step_t *step, hr_trace_span_t *span) {
  const hlo_instr_t *instr = step->source->op.instr;
  span->kind = hlo_op_is(instr->op, OP_COLLECTIVE) || step->reference.ends ? HR_TRACE_COLLECTIVE
                                                                           : HR_TRACE_REFERENCE;
  span->kernel = "reference";
  span->reason = why_reference(step);
  span->same = instr_hash(instr, HR_TRACE_REFERENCE);
}

static void describe_kind(const flat_plan_t *flat, const flat_step_t *step, hr_trace_span_t *span) {
  switch (step->kind) {
    case FLAT_NATIVE:
      describe_native(flat, step, span);
      break;
    case FLAT_REFERENCE:
      describe_reference(step, span);
      break;
    case FLAT_COPY:
      span->kind = HR_TRACE_COPY;
      span->kernel = "copy";
      span->bytes = 2.0 * (double)step->copy.size_bytes;
      span->same =
          hr_hash_bytes(&step->copy.size_bytes, sizeof step->copy.size_bytes, HR_TRACE_COPY);
      break;
    case FLAT_SET_VIEW:
    case FLAT_WHILE:
    case FLAT_CONDITIONAL:
      span->kind = HR_TRACE_CONTROL;
      break;
  }
}

hr_status_t exec_trace_flat(hr_trace_t *trace, const flat_plan_t *flat,
                            hr_trace_span_t **out_subjects) {
  hr_trace_span_t *spans;
  HR_TRY(hr_trace_spans_new(trace, flat->step_count, &spans));
  for (int s = 0; s < flat->step_count; s++) {
    const flat_step_t *step = &flat->steps[s];
    describe_kind(flat, step, &spans[s]);
    if (step->source) HR_TRY(describe(trace, step->source->op.instr, &spans[s]));
    if (step->native.first) HR_TRY(name_both(trace, step, &spans[s]));
  }
  *out_subjects = spans;
  return NULL;
}

hr_status_t exec_trace_transfers(hr_trace_t *trace, const flat_plan_t *flat,
                                 hr_trace_span_t **out_subjects) {
  hr_trace_span_t *spans;
  HR_TRY(hr_trace_spans_new(trace, flat->step_count, &spans));
  for (int s = 0; s < flat->step_count; s++) {
    if (!flat->steps[s].reference.begins) continue;
    spans[s].kind = HR_TRACE_TRANSFER;
    HR_TRY(describe(trace, flat->steps[s].reference.begins, &spans[s]));
  }
  *out_subjects = spans;
  return NULL;
}

static hr_status_t describe_body(hr_trace_t *trace, const plan_body_t *body,
                                 hr_trace_span_t *spans) {
  for (int s = 0; s < body->step_count; s++) {
    const hlo_instr_t *instr = body->steps[s].op.instr;
    hr_trace_span_t *span = &spans[s];
    HR_TRY(describe(trace, instr, span));
    span->kernel = "reference";
    span->same = instr_hash(instr, HR_TRACE_REFERENCE);
    span->kind = hlo_op_is(instr->op, OP_CONTROL)      ? HR_TRACE_CONTROL
                 : hlo_op_is(instr->op, OP_COLLECTIVE) ? HR_TRACE_COLLECTIVE
                                                       : HR_TRACE_REFERENCE;
  }
  return NULL;
}

hr_status_t exec_trace_plan(hr_trace_t *trace, const plan_t *plan, hr_trace_span_t ***out_bodies) {
  size_t count = plan->module->computations.count;
  hr_trace_span_t **bodies;
  HR_TRY(HR_NEW_ARRAY(&trace->arena, count, &bodies));
  for (size_t c = 0; c < count; c++) {
    const plan_body_t *body = plan->bodies[c];
    if (!body) continue;
    HR_TRY(hr_trace_spans_new(trace, body->step_count, &bodies[c]));
    HR_TRY(describe_body(trace, body, bodies[c]));
  }
  *out_bodies = bodies;
  return NULL;
}

hr_status_t exec_trace_plain(hr_trace_t *trace, const char *name, hr_trace_kind_t kind,
                             hr_trace_span_t **out_subject) {
  HR_TRY(hr_trace_spans_new(trace, 1, out_subject));
  (*out_subject)->name = name;
  (*out_subject)->kind = kind;
  return NULL;
}
