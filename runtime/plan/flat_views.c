/* Dynamic slices that are read in place, such as one layer's weights in the stack that a scan
 * walks.
 *
 *   w = dynamic-slice(stack, i);  y = dot(x, w)   ->   w = view(stack, i);  y = dot(x, w)
 *
 * The view step sets the address of w, in all steps that read it, to the block inside the stack, so
 * that nothing is copied. A slice becomes a view if its block is contiguous, nothing writes the
 * stack while the view is read, and all readers are kernels that get their addresses from the
 * machine. Generated code may not be a reader: inside a loop's function it keeps its own addresses,
 * and slices that it reads are usually fused into it. Transfers and copies of carried values may
 * not be readers either. Lifetimes: the stack lives until the step after the last reader, so that
 * no reader's result takes its place. Cost: steps times readers. */
#include "plan/flat_build.h"

static const flat_step_t *get_step(const flat_builder_t *builder, int number) {
  return &builder->steps.data[number];
}

static int root_of(const flat_builder_t *builder, flat_ref_t ref) {
  return ref.buffer < 0 ? -1 : flat_root(builder->buffers.data, ref.buffer);
}

/* Is the block full in all dimensions after the first one with more than one element? */
static bool is_contiguous(const hlo_shape_t *from, const hlo_shape_t *block) {
  bool has_extent = false;
  for (int d = 0; d < block->rank; d++) {
    if (has_extent && block->dims[d] != from->dims[d]) return false;
    if (block->dims[d] > 1) has_extent = true;
  }
  return true;
}

static bool mentions(const flat_builder_t *builder, const flat_ref_t *refs, int count, int buffer) {
  for (int i = 0; i < count; i++)
    if (root_of(builder, refs[i]) == buffer) return true;
  return false;
}

/* May the step read this view? True also if it does not read it. */
static bool accepts_view(const flat_builder_t *builder, const flat_step_t *step, int view) {
  if (!mentions(builder, step->in, step->in_count, view)) return true;
  return step->kind == FLAT_SET_VIEW ||
         (step->kind == FLAT_NATIVE && step->native.kernel != builder->options->emitter);
}

/* Do all steps in [first, last] read the view only in allowed ways, and leave the stack's bytes
 * unchanged? */
static bool is_view_of(const flat_builder_t *builder, int first, int last, int view, int stack) {
  for (int s = first; s <= last; s++) {
    const flat_step_t *step = get_step(builder, s);
    if (mentions(builder, step->out, step->out_count, view) || !accepts_view(builder, step, view))
      return false;
    for (int b = stack; b >= 0;) {
      const flat_buffer_t *buffer = &builder->buffers.data[b];
      if (mentions(builder, step->out, step->out_count, b)) return false;
      b = buffer->storage == FLAT_VIEW ? flat_root(builder->buffers.data, buffer->view_of) : -1;
    }
  }
  return true;
}

static bool can_be_view(const flat_builder_t *builder, int number) {
  const flat_step_t *step = get_step(builder, number);
  if (step->kind != FLAT_NATIVE || step->native.kernel != op_natives[HLO_DYNAMIC_SLICE] ||
      !is_contiguous(step->source->op.in_shapes[0], step->source->op.out_shape))
    return false;
  int view = root_of(builder, step->out[0]);
  const flat_buffer_t *buffer = &builder->buffers.data[view];
  if (buffer->storage != FLAT_ARENA || buffer->is_carried || step->out[0].offset_bytes ||
      buffer->start != number || view != step->out[0].buffer)
    return false;
  return is_view_of(builder, number + 1, buffer->end, view, root_of(builder, step->in[0]));
}

/* Keeps the bytes of `buffer` unchanged until step `last` has ended. */
static void keep_bytes(flat_builder_t *builder, int buffer, int first, int last) {
  flat_touch(builder, (flat_ref_t){buffer, 0}, last + 1);
  for (size_t c = 0; c < builder->carries.count; c++) {
    flat_carry_t *carry = &builder->carries.data[c];
    bool is_within = carry->start <= first && last <= carry->end;
    if (is_within && flat_root(builder->buffers.data, carry->buffer) == buffer &&
        carry->last_read <= last)
      carry->last_read = last + 1;
  }
}

static void make_view(flat_builder_t *builder, int number) {
  flat_step_t *step = &builder->steps.data[number];
  flat_buffer_t *view = &builder->buffers.data[step->out[0].buffer];
  view->storage = FLAT_VIEW;
  view->index = builder->flat->view_count++;
  view->view_of = root_of(builder, step->in[0]);
  step->kind = FLAT_SET_VIEW;
  step->reuse = NULL;
  step->native.flops = 0;
  step->native.bytes = 0;
  for (const flat_buffer_t *b = view; b->storage == FLAT_VIEW;) {
    int stack = flat_root(builder->buffers.data, b->view_of);
    keep_bytes(builder, stack, number, view->end);
    b = &builder->buffers.data[stack];
  }
}

hr_status_t flat_find_views(flat_builder_t *builder) {
  for (int s = 0; s < flat_now(builder) && !builder->options->no_fusion; s++)
    if (can_be_view(builder, s)) make_view(builder, s);
  return NULL;
}
