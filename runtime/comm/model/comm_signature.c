/* Signatures of communication operations for --verify-comm. The hash covers op, operand shapes
 * and reduction; start and synchronous forms of a collective hash alike, as do the two ends of a
 * message. The text is for the report only and is not compared. */
#include "comm/model/comm_signature.h"

#include <string.h>

#include "base/map.h"
#include "comm/model/abstract_value.h"
#include "ir/print.h"

static hlo_opcode_t without_start(hlo_opcode_t op) {
  if (op == HLO_ALL_REDUCE_START) return HLO_ALL_REDUCE;
  if (op == HLO_COLLECTIVE_PERMUTE_START) return HLO_COLLECTIVE_PERMUTE;
  return op == HLO_ALL_GATHER_START ? HLO_ALL_GATHER : op;
}

static bool is_message(const hlo_instr_t *instr) {
  return instr->op == HLO_SEND || instr->op == HLO_RECV;
}

/* Shapes of the data sent or received. */
static void print_shapes(hr_strbuf_t *text, const hlo_instr_t *instr) {
  if (instr->op == HLO_RECV) hlo_shape_print(text, instr->shape->elements[0], false);
  int count = is_message(instr) ? instr->op == HLO_SEND : instr->operand_count;
  for (int k = 0; k < count; k++) {
    if (k) hr_strbuf_add_str(text, ", ");
    hlo_shape_print(text, instr->operands[k]->shape, false);
  }
}

/* "file:line: %name"; a text that is too long loses its beginning, as the end is more specific. */
void comm_print_source_loc(const hlo_instr_t *instr, char *into, size_t size) {
  const hr_source_t *source = &instr->parent->module->source;
  char text[512];
  int used =
      snprintf(text, sizeof text, "%s:%u: %%%.*s", source->path ? source->path : "the program",
               instr->line, HR_STR_ARGS(instr->name));
  size_t length = used < (int)sizeof text ? (size_t)used : sizeof text - 1;
  if (length < size)
    memcpy(into, text, length + 1);
  else
    snprintf(into, size, "...%s", text + (length + 4 - size));
}

hr_status_t comm_signature_of(const hlo_instr_t *instr, uint64_t meaning,
                              comm_signature_t *out_signature) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  *out_signature = (comm_signature_t){0};
  print_shapes(&text, instr);
  hr_status_t st = hr_strbuf_finish(&text);
  uint64_t op = is_message(instr) ? (uint64_t)HLO_SEND : (uint64_t)without_start(instr->op);
  const hlo_computation_t *body =
      hlo_op_is(instr->op, OP_HAS_BODY) && instr->called_count ? instr->called[0] : NULL;
  const char *body_op = body ? hlo_op_name(body->root->op) : "";
  const char *shapes = text.size ? text.data : "";
  if (!st) {
    out_signature->meaning =
        check_mix(check_mix(op, meaning), hr_hash_bytes(text.data, text.size, 19));
    snprintf(out_signature->what, sizeof out_signature->what, "%s of %s%s%s",
             hlo_op_name(instr->op), shapes, body ? " by " : "", body_op);
    comm_print_source_loc(instr, out_signature->source_loc, sizeof out_signature->source_loc);
  }
  hr_strbuf_deinit(&text);
  return st;
}

/* Adds a rank's half of the report, with its count if there is one. */
static hr_status_t note(hr_status_t st, int rank, const comm_signature_t *signature) {
  char count[32] = "";
  if (signature->count) snprintf(count, sizeof count, " (%ld)", (long)signature->count);
  return hr_status_note(st, "rank %d: %s: %s%s, number %lu", rank, signature->source_loc,
                        signature->what, count, (unsigned long)signature->number);
}

hr_status_t comm_signature_compare(int rank, const comm_signature_t *signature, int other_rank,
                                   const comm_signature_t *other) {
  if (signature->meaning == other->meaning && signature->count == other->count &&
      signature->number == other->number)
    return NULL;
  hr_status_t st =
      hr_error(HR_DISAGREE, "rank %d and rank %d entered mismatched communication operations", rank,
               other_rank);
  return note(note(st, rank, signature), other_rank, other);
}
