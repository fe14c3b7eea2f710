/* Text of a flat plan: steps with operands, results and costs, then buffers with storage, size and
 * lifetime. For --dump and tests. */
#include "ir/print.h"
#include "plan/flat.h"

static void print_buffer(hr_strbuf_t *text, const flat_plan_t *flat, int number) {
  const flat_buffer_t *buffer = &flat->buffers[number];
  hr_strbuf_printf(text, "  b%d: %zu bytes, ", number, buffer->size_bytes);
  switch (buffer->storage) {
    case FLAT_ARENA:
      hr_strbuf_printf(text, "arena +%zu", buffer->offset_bytes);
      break;
    case FLAT_LITERAL:
      hr_strbuf_add_str(text, "constant");
      break;
    case FLAT_PARAM:
      hr_strbuf_printf(text, "parameter %d", buffer->index);
      break;
    case FLAT_RESULT:
      hr_strbuf_printf(text, "result %d", buffer->index);
      break;
    case FLAT_OVERLAY:
      hr_strbuf_printf(text, "result %d +%zu", buffer->index, buffer->offset_bytes);
      break;
    case FLAT_SHARED:
      hr_strbuf_printf(text, "shared %d +%zu", buffer->index, buffer->offset_bytes);
      break;
    case FLAT_VIEW:
      hr_strbuf_printf(text, "view of b%d", flat_root(flat->buffers, buffer->view_of));
      break;
  }
  if (buffer->storage != FLAT_LITERAL && buffer->storage != FLAT_PARAM &&
      buffer->storage != FLAT_VIEW)
    hr_strbuf_printf(text, ", steps %d to %d", buffer->start, buffer->end);
  hr_strbuf_add_str(text, buffer->is_carried ? ", carried\n" : "\n");
}

static void print_refs(hr_strbuf_t *text, const flat_plan_t *flat, const flat_ref_t *refs,
                       int count) {
  for (int i = 0; i < count; i++) {
    if (i) hr_strbuf_add_str(text, ", ");
    if (refs[i].buffer < 0) {
      hr_strbuf_add_str(text, "token");
      continue;
    }
    hr_strbuf_printf(text, "b%d", flat_root(flat->buffers, refs[i].buffer));
    if (refs[i].offset_bytes) hr_strbuf_printf(text, "+%zu", refs[i].offset_bytes);
  }
}

static const char *op_name(const flat_step_t *step) {
  return hlo_op_name(step->source->op.instr->op);
}

static void print_while(hr_strbuf_t *text, const flat_step_t *step) {
  if (step->control.trip_count >= 0)
    hr_strbuf_printf(text, "while, %lld iterations, body to %d, on",
                     (long long)step->control.trip_count, step->end - 1);
  else
    hr_strbuf_printf(text, "while, condition %d to %d, body to %d, on", step->control.starts[0],
                     step->control.starts[1] - 1, step->end - 1);
}

static void print_kind(hr_strbuf_t *text, const flat_step_t *step) {
  switch (step->kind) {
    case FLAT_NATIVE:
      if (step->native.first)
        hr_strbuf_printf(text, "%s, ", hlo_op_name(step->native.first->op.instr->op));
      hr_strbuf_printf(text, "%s by %s", op_name(step), step->native.kernel->name);
      break;
    case FLAT_REFERENCE:
      hr_strbuf_printf(text, "%s by reference", op_name(step));
      break;
    case FLAT_COPY:
      hr_strbuf_printf(text, "copy %zu bytes", step->copy.size_bytes);
      break;
    case FLAT_SET_VIEW:
      hr_strbuf_add_str(text, "view");
      break;
    case FLAT_WHILE:
      print_while(text, step);
      break;
    case FLAT_CONDITIONAL:
      hr_strbuf_printf(text, "branches to %d, by", step->end - 1);
      break;
  }
}

static void print_step(hr_strbuf_t *text, const flat_plan_t *flat, int number) {
  const flat_step_t *step = &flat->steps[number];
  hr_strbuf_printf(text, "  %d: ", number);
  if (step->out_count || step->reference.out_slot >= 0) {
    print_refs(text, flat, step->out, step->out_count);
    if (step->reference.out_slot >= 0) hr_strbuf_printf(text, "kept %d", step->reference.out_slot);
    hr_strbuf_add_str(text, " = ");
  }
  print_kind(text, step);
  hr_strbuf_add_str(text, " (");
  print_refs(text, flat, step->in, step->in_count);
  hr_strbuf_add_char(text, ')');
  if (step->scratch.buffer >= 0) hr_strbuf_printf(text, " scratch b%d", step->scratch.buffer);
  if (step->kind == FLAT_CONDITIONAL)
    for (int b = 0; b < step->control.start_count; b++)
      hr_strbuf_printf(text, "%s%d", b ? ", " : " from ", step->control.starts[b]);
  if (step->source) hr_strbuf_printf(text, "  ; %%%.*s", HR_STR_ARGS(step->source->op.instr->name));
  if (step->native.first)
    hr_strbuf_printf(text, " after %%%.*s", HR_STR_ARGS(step->native.first->op.instr->name));
  hr_strbuf_add_char(text, '\n');
}

static void print_result(hr_strbuf_t *text, const flat_plan_t *flat, int number) {
  const flat_result_t *result = &flat->results[number];
  hr_strbuf_printf(text, "  result %d: ", number);
  switch (result->origin) {
    case FLAT_COMPUTED:
      hr_strbuf_add_str(text, "computed");
      break;
    case FLAT_FROM_PARAM:
      hr_strbuf_printf(text, "parameter %d", result->param);
      break;
    case FLAT_FROM_LITERAL:
      hr_strbuf_add_str(text, "constant");
      break;
    case FLAT_FROM_NOTHING:
      hr_strbuf_add_str(text, "token");
      break;
  }
  if (result->alias_param >= 0)
    hr_strbuf_printf(text, ", in the bytes of parameter %d if it is donated", result->alias_param);
  hr_strbuf_add_char(text, '\n');
}

void flat_plan_print(hr_strbuf_t *text, const flat_plan_t *flat) {
  hr_strbuf_printf(text, "flat plan of %.*s: ", HR_STR_ARGS(flat->plan->module->name));
  if (flat->is_reference) {
    hr_strbuf_add_str(text, "run whole by the reference kernels\n");
    return;
  }
  hr_strbuf_printf(text, "%d steps, arena of %zu bytes\n\nsteps\n", flat->step_count,
                   flat->arena_bytes);
  for (int s = 0; s < flat->step_count; s++) print_step(text, flat, s);
  hr_strbuf_add_str(text, "\nbuffers\n");
  for (int b = 0; b < flat->buffer_count; b++)
    if (flat->buffers[b].coalesced_into < 0) print_buffer(text, flat, b);
  hr_strbuf_add_str(text, "\nresults\n");
  for (int r = 0; r < flat->result_count; r++) print_result(text, flat, r);
}
