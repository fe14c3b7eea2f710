/* Writing of modules as HloModuleProto or HloProto. Ids are positions, computation << 32 |
 * instruction, as in XLA. Fields are in ascending order where XLA writes them so. The string
 * buffer becomes the result without a copy. */
#include <stdlib.h>

#include "proto/hlo_proto.h"
#include "proto/proto_read.h"

/* Operands and called computations are written as ids; an elided constant has no literal. */
static void write_instr(hr_strbuf_t *out, const hlo_instr_t *instr) {
  size_t opened = proto_open(out, PROTO_computation_instructions);
  proto_put_bytes(out, PROTO_instr_name, instr->name);
  proto_put_bytes(out, PROTO_instr_opcode, hr_str_from(hlo_op_name(instr->op)));
  proto_write_shape(out, PROTO_instr_shape, instr->shape);
  if (instr->op == HLO_CONSTANT && instr->literal)
    proto_write_literal(out, PROTO_instr_literal, instr->literal, instr->shape);
  proto_put_int(out, PROTO_instr_id, proto_instr_id(instr));
  if (instr->operand_count) {
    size_t ids = proto_open(out, PROTO_instr_operand_ids);
    for (int k = 0; k < instr->operand_count; k++)
      proto_put_varint(out, (uint64_t)proto_instr_id(instr->operands[k]));
    proto_close(out, ids);
  }
  proto_write_attrs(out, instr);
  if (instr->extra) proto_write_extra(out, instr->extra);
  proto_close(out, opened);
}

/* HloComputationProto. Ids of instructions are unique in the module: see proto_instr_id. */
static void write_computation(hr_strbuf_t *out, const hlo_computation_t *computation) {
  size_t opened = proto_open(out, PROTO_module_computations);
  proto_put_bytes(out, PROTO_computation_name, computation->name);
  for (size_t i = 0; i < computation->instrs.count; i++)
    write_instr(out, computation->instrs.data[i]);
  proto_write_program_shape(out, computation);
  proto_put_int(out, PROTO_computation_id, computation->id);
  proto_put_int(out, PROTO_computation_root_id, proto_instr_id(computation->root));
  proto_put_int(out, PROTO_computation_is_fusion, computation->is_fusion);
  proto_put_bytes(out, PROTO_computation_execution_thread, computation->execution_thread);
  proto_close(out, opened);
}

/* Execution order of one computation: an entry of a map from its id. */
static void write_sequence(hr_strbuf_t *out, const hlo_computation_t *computation) {
  size_t entry = proto_open(out, PROTO_schedule_sequences);
  proto_put_int(out, PROTO_sequence_entry_computation_id, computation->id);
  size_t sequence = proto_open(out, PROTO_sequence_entry_sequence);
  size_t ids = proto_open(out, PROTO_sequence_instruction_ids);
  for (size_t i = 0; i < computation->instrs.count; i++)
    proto_put_varint(out, (uint64_t)proto_instr_id(computation->instrs.data[i]));
  proto_close(out, ids);
  proto_close(out, sequence);
  proto_close(out, entry);
}

/* Writes the order of each computation's instruction list as its schedule; fusion bodies have
 * none. */
static void write_schedule(hr_strbuf_t *out, const hlo_module_t *module) {
  size_t opened = proto_open(out, PROTO_module_schedule);
  for (size_t i = 0; i < module->computations.count; i++)
    if (!module->computations.data[i]->is_fusion) write_sequence(out, module->computations.data[i]);
  proto_close(out, opened);
}

/* Computations are in the order of the module. Header fields follow; protobuf readers accept any
 * order. */
static void write_module(hr_strbuf_t *out, const hlo_module_t *module) {
  proto_put_bytes(out, PROTO_module_name, module->name);
  proto_put_bytes(out, PROTO_module_entry_computation_name, module->entry->name);
  for (size_t i = 0; i < module->computations.count; i++)
    write_computation(out, module->computations.data[i]);
  if (module->is_scheduled) write_schedule(out, module);
  proto_write_header(out, module);
}

static void free_text(void *context, void *data, size_t size_bytes) {
  (void)context, (void)size_bytes;
  free(data);
}

/* Turns the bytes into a buffer without a copy; the last release of the buffer frees them. */
static hr_status_t wrap_text_in_buffer(hr_strbuf_t *text, hr_buffer_t **out_buffer) {
  size_t size = text->size;
  HR_TRY(hr_strbuf_finish(text));
  char *data = hr_strbuf_steal(text);
  if (!data) return hr_error(HR_NO_MEMORY, "cannot allocate a proto");
  hr_status_t st = hr_buffer_wrap(data, size, true, free_text, NULL, out_buffer);
  if (st) free(data);
  return st;
}

/* Failed allocations are detected once, when the string buffer is finished. */
hr_status_t write_hlo_proto(const hlo_module_t *module, hlo_proto_form_t form,
                            hr_buffer_t **out_buffer) {
  hr_strbuf_t out;
  hr_strbuf_init(&out);
  if (form != HLO_PROTO_MODULE) {
    size_t opened = proto_open(&out, PROTO_wrapper_hlo_module);
    write_module(&out, module);
    proto_close(&out, opened);
    if (form == HLO_PROTO_WITH_CONFIG) proto_write_run_config(&out, module);
  } else {
    write_module(&out, module);
  }
  hr_status_t st = wrap_text_in_buffer(&out, out_buffer);
  hr_strbuf_deinit(&out);
  return st;
}
