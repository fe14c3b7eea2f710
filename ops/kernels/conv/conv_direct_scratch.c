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

/* Sets the offsets in a worker's workspace, each the largest need of any phase; returns its
 * size. */
static size_t assign_workspace_offsets(conv_direct_t *plan) {
  size_t each = 0;
  int64_t rows = 0;
  int64_t pointers = 0;
  int64_t region = 0;
  int64_t spans = 0;
  int64_t line_live = 0;
  int64_t copies = 0;
  int64_t weights = 0;
  for (int i = 0; i < plan->partition.phase_count; i++) {
    const direct_phase_t *phase = &plan->partition.phases[i];
    int64_t positions =
        hr_div_ceil(phase->block_lines * phase->line_positions, plan->tile.rows) * plan->tile.rows;
    rows = hr_max(rows, positions);
    pointers = hr_max(pointers, positions * phase->taps);
    region = hr_max(region, region_bytes(plan, phase));
    copies = hr_max(copies, edge_copy_bytes(plan, phase));
    spans = hr_max(spans, max_block_spans(plan, phase));
    line_live = hr_max(line_live, max_block_spans(plan, phase) * (phase->taps + 1));
    weights = hr_max(weights, direct_k_block(plan, phase) * phase->taps * plan->tile.width);
  }
  plan->workspace.zeros_bytes =
      (size_t)(hr_max(direct_max_k(plan), plan->position_elements) * plan->types.in_bytes);
  plan->workspace.zeros_at = scratch_reserve(&each, plan->workspace.zeros_bytes);
  plan->workspace.spans_at = scratch_reserve(&each, (size_t)spans * sizeof(direct_span_t));
  plan->workspace.lines_at = scratch_reserve(&each, (size_t)spans * sizeof(direct_line_t));
  plan->workspace.line_taps_at = scratch_reserve(&each, (size_t)line_live * sizeof(int32_t));
  plan->workspace.edge_copies_at = scratch_reserve(&each, (size_t)copies);
  plan->workspace.spare_at =
      scratch_reserve(&each, (size_t)(plan->tile.padded_n * plan->types.sum_bytes));
  plan->workspace.indirection_at = scratch_reserve(&each, (size_t)pointers * sizeof(void *));
  plan->workspace.live_taps_at =
      scratch_reserve(&each, (size_t)(pointers + rows) * sizeof(int32_t));
  plan->workspace.results_at = scratch_reserve(&each, (size_t)rows * sizeof(void *));
  plan->workspace.region_at = scratch_reserve(&each, (size_t)region);
  plan->workspace.line_at =
      scratch_reserve(&each, plan->depthwise.expand.sources ? expand_line_bytes(plan) : 0);
  plan->workspace.copy_at = scratch_reserve(
      &each,
      plan->form.has_copy ? (size_t)(rows * plan->tile.padded_n * plan->types.sum_bytes) : 0);
  plan->workspace.narrow_at =
      scratch_reserve(&each, plan->types.narrows_result
                                 ? (size_t)(rows * plan->tile.padded_n * plan->types.out_bytes)
                                 : 0);
  plan->workspace.weights_at =
      scratch_reserve(&each, plan->packed.late ? (size_t)(weights * plan->types.in_bytes) : 0);
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
