/* Scratch memory of a direct convolution: the largest size and the offset of each array.
 *
 *   [ widened input | widened weights | packed panels, bias | workspace 0 | workspace 1 | ... ]
 *
 * A workspace holds one block at a time, of whichever phase, so each of its arrays has the largest
 * size that any phase needs. The sizes are upper bounds derived from the plan: a run never
 * allocates, and conv_direct_block.c and conv_direct_region.c need not check. */
#include "ops/kernels/conv/conv_direct.h"

/* Bytes of the largest block's region. A block that spans images has the end of one and the start
 * of the next. */
static int64_t region_bytes(const conv_direct_t *plan, const direct_phase_t *phase) {
  const direct_axis_t *axis = &phase->axes[0];
  int64_t reach = direct_tap_span(axis) + 1;
  int64_t ends = hr_div_ceil(phase->block_lines - 1, axis->count);
  int64_t lines = (phase->block_lines - 1) * axis->in_stride + reach +
                  ends * hr_max(0, reach - axis->in_stride);
  return plan->form.has_region ? lines * phase->region_strides[0] * plan->types.in_bytes : 0;
}

/* Spans of the largest block. */
static int64_t max_block_spans(const conv_direct_t *plan, const direct_phase_t *phase) {
  int last = plan->problem->spatial - 1;
  if (last == 0) return phase->block_lines / phase->axes[0].count + 2;
  return phase->block_lines * phase->line_positions / phase->axes[last].count;
}

/* Bytes of the edge copies: merged taps that reach past the ends of lines. */
static int64_t edge_copy_bytes(const conv_direct_t *plan, const direct_phase_t *phase) {
  const direct_axis_t *axis = &phase->axes[plan->problem->spatial - 1];
  int64_t copies = 0;
  for (int64_t x = 0; x < axis->count && axis->taps; x++) {
    int64_t low = axis->starts[0] + x * axis->in_stride;
    copies += low < 0 || low + axis->taps > plan->input_sizes[plan->problem->spatial - 1];
  }
  copies =
      hr_min(copies * max_block_spans(plan, phase), phase->block_lines * phase->line_positions);
  return plan->form.merges_last_axis && !plan->form.has_region
             ? copies * phase->taps * phase->k * plan->types.in_bytes
             : 0;
}

/* Longest line of a region before expansion, plus three vectors that permutations may read past its
 * end. */
static size_t expand_line_bytes(const conv_direct_t *plan) {
  int64_t positions = 0;
  for (int i = 0; i < plan->partition.phase_count; i++)
    positions = hr_max(positions, plan->partition.phases[i].region[plan->problem->spatial - 1]);
  return (size_t)((positions * plan->channels + 3 * plan->tile.lanes) * plan->types.sum_bytes);
}

/* Largest needs of any phase. */
typedef struct phase_needs {
  int64_t rows;      /* positions of a block, in whole tiles */
  int64_t pointers;  /* addresses of the terms of all rows */
  int64_t region;    /* bytes of the region */
  int64_t copies;    /* bytes of the edge copies */
  int64_t spans;     /* spans of a block */
  int64_t line_taps; /* taps of all spans, and one end each */
  int64_t weights;   /* elements of the packed weights of a block of k */
} phase_needs_t;

static phase_needs_t find_phase_needs(const conv_direct_t *plan) {
  phase_needs_t most = {0};
  for (int i = 0; i < plan->partition.phase_count; i++) {
    const direct_phase_t *phase = &plan->partition.phases[i];
    int64_t spans = max_block_spans(plan, phase);
    int64_t rows =
        hr_div_ceil(phase->block_lines * phase->line_positions, plan->tile.rows) * plan->tile.rows;
    most.rows = hr_max(most.rows, rows);
    most.pointers = hr_max(most.pointers, rows * phase->taps);
    most.region = hr_max(most.region, region_bytes(plan, phase));
    most.copies = hr_max(most.copies, edge_copy_bytes(plan, phase));
    most.spans = hr_max(most.spans, spans);
    most.line_taps = hr_max(most.line_taps, spans * (phase->taps + 1));
    most.weights =
        hr_max(most.weights, direct_k_block(plan, phase) * phase->taps * plan->tile.width);
  }
  return most;
}

/* Sets the offsets in a worker's workspace; returns its size. */
static size_t assign_workspace_offsets(conv_direct_t *plan) {
  const phase_needs_t most = find_phase_needs(plan);
  int64_t results = most.rows * plan->tile.padded_n;
  size_t each = 0;
  plan->workspace.zeros_bytes =
      (size_t)(hr_max(direct_max_k(plan), plan->position_elements) * plan->types.in_bytes);
  plan->workspace.zeros_at = scratch_reserve(&each, plan->workspace.zeros_bytes);
  plan->workspace.spans_at = scratch_reserve(&each, (size_t)most.spans * sizeof(direct_span_t));
  plan->workspace.lines_at = scratch_reserve(&each, (size_t)most.spans * sizeof(direct_line_t));
  plan->workspace.line_taps_at = scratch_reserve(&each, (size_t)most.line_taps * sizeof(int32_t));
  plan->workspace.edge_copies_at = scratch_reserve(&each, (size_t)most.copies);
  plan->workspace.spare_at =
      scratch_reserve(&each, (size_t)(plan->tile.padded_n * plan->types.sum_bytes));
  plan->workspace.indirection_at = scratch_reserve(&each, (size_t)most.pointers * sizeof(void *));
  plan->workspace.live_taps_at =
      scratch_reserve(&each, (size_t)(most.pointers + most.rows) * sizeof(int32_t));
  plan->workspace.results_at = scratch_reserve(&each, (size_t)most.rows * sizeof(void *));
  plan->workspace.region_at = scratch_reserve(&each, (size_t)most.region);
  plan->workspace.line_at =
      scratch_reserve(&each, plan->depthwise.expand.sources ? expand_line_bytes(plan) : 0);
  plan->workspace.copy_at =
      scratch_reserve(&each, plan->form.has_copy ? (size_t)(results * plan->types.sum_bytes) : 0);
  plan->workspace.narrow_at = scratch_reserve(
      &each, plan->types.narrows_result ? (size_t)(results * plan->types.out_bytes) : 0);
  plan->workspace.weights_at =
      scratch_reserve(&each, plan->packed.late ? (size_t)(most.weights * plan->types.in_bytes) : 0);
  return each;
}

size_t direct_plan_scratch(conv_direct_t *plan) {
  const conv_problem_t *p = plan->problem;
  const conv_array_t *inputs[] = {&plan->input, &p->arrays[CONV_WEI]};
  size_t total = 0;
  plan->scratch.worker_bytes = assign_workspace_offsets(plan);
  for (int i = 0; i < 2; i++)
    plan->scratch.wide_at[i] = scratch_reserve(
        &total,
        plan->types.widens_operand[i] ? (size_t)(inputs[i]->count * plan->types.sum_bytes) : 0);
  bool packs_all = !plan->packed.constant && !plan->packed.late;
  plan->scratch.packed_at = scratch_reserve(&total, packs_all ? plan->packed.bytes : 0);
  plan->scratch.workers_at =
      scratch_reserve(&total, plan->scratch.worker_bytes * (size_t)plan->workers);
  return total;
}
