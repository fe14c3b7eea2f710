#include "passes/fuse/fusion_rows.h"

#include <string.h>

bool fusion_has_rows(const hlo_shape_t *shape, int64_t rows) {
  return hlo_shape_is_array(shape) && shape->rank > 0 && shape->dims[0] == rows;
}

/* The operand's dimension that becomes dimension 0 of a broadcast; -1: none. */
static int64_t broadcast_from(const hlo_instr_t *instr) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == 0) return i;
  return -1;
}

static bool reduces_rows(const hlo_instr_t *instr) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  for (int64_t i = 0; i < dims.count; i++)
    if (dims.data[i] == 0) return true;
  return false;
}

/* Rows of the root, or of all elements of a tuple; 0: it has none. */
static int64_t rows_of_root(const hlo_computation_t *fused) {
  const hlo_instr_t *root = fused->root;
  const hlo_shape_t *first = root->op == HLO_TUPLE ? root->operands[0]->shape : root->shape;
  if (!hlo_shape_is_array(first) || !first->rank) return 0;
  for (int k = 0; k < root->operand_count && root->op == HLO_TUPLE; k++)
    if (!fusion_has_rows(root->operands[k]->shape, first->dims[0])) return 0;
  return hlo_shape_is_dynamic(root->shape) ? 0 : first->dims[0];
}

bool fusion_keeps_rows(const hlo_instr_t *instr, int64_t rows) {
  switch (instr->op) {
    case HLO_PARAMETER:
    case HLO_TUPLE:
      return true;
    case HLO_IOTA:
      return hlo_attr_int(instr, HLO_ATTR_IOTA_DIMENSION) != 0;
    case HLO_BROADCAST:
      return broadcast_from(instr) <= 0;
    case HLO_REDUCE:
      return instr->operand_count == 2 && !reduces_rows(instr);
    case HLO_RESHAPE:
      return fusion_has_rows(instr->operands[0]->shape, rows);
    case HLO_TRANSPOSE:
      return hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0] == 0;
    case HLO_CONCATENATE:
      return hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS).data[0] != 0;
    default:
      return instr->operand_count && hlo_op_is(instr->op, OP_ELEMENTWISE);
  }
}

uint8_t fusion_row_reads(const hlo_instr_t *instr, int k) {
  if (!instr->operands[k]->shape->rank) return ROWS_ALL;
  if (instr->op == HLO_BROADCAST && broadcast_from(instr) < 0) return ROWS_ALL;
  return ROWS_OWN;
}

/* Users come after their operands: one sweep from the end. */
hr_status_t fusion_rows_find(hr_arena_t *arena, const hlo_computation_t *fused, int64_t *out_rows,
                             uint8_t **out_reads) {
  uint8_t *reads;
  int64_t rows = rows_of_root(fused);
  HR_TRY(HR_NEW_ARRAY(arena, fused->instrs.count, &reads));
  reads[fused->root->id] = ROWS_OWN;
  for (size_t i = fused->instrs.count; i-- > 0 && rows;) {
    const hlo_instr_t *instr = fused->instrs.data[i];
    bool own = reads[i] & ROWS_OWN, is_tuple = instr->op == HLO_TUPLE;
    if (own &&
        ((!is_tuple && !fusion_has_rows(instr->shape, rows)) || !fusion_keeps_rows(instr, rows)))
      rows = 0;
    for (int k = 0; k < instr->operand_count && rows; k++) {
      if (own) reads[instr->operands[k]->id] |= fusion_row_reads(instr, k);
      if (reads[i] & ROWS_ALL) reads[instr->operands[k]->id] |= ROWS_ALL;
    }
  }
  *out_reads = reads;
  *out_rows = rows;
  return NULL;
}

typedef struct cloner {
  hlo_builder_t body;
  hlo_instr_t **copies[2]; /* by id: of all rows, of own rows */
  int64_t rows;
  int count; /* parameters */
  fusion_rows_operand_t *operands;
} cloner_t;

static const hlo_shape_t *shape_of(cloner_t *cloner, const hlo_shape_t *shape, bool own) {
  const hlo_shape_t *fewer = NULL;
  int64_t dims[HLO_MAX_RANK];
  hr_arena_t *arena = &cloner->body.computation->module->arena;
  if (!own) return shape;
  memcpy(dims, shape->dims, (size_t)shape->rank * sizeof *dims);
  dims[0] = cloner->rows;
  hr_status_t st = hlo_shape_array(arena, shape->dtype, shape->rank, dims, &fewer);
  return hlo_builder_or(&cloner->body, st) ? NULL : fewer;
}

static hr_status_t clone_parameter(cloner_t *cloner, const hlo_instr_t *from, bool own) {
  const hlo_shape_t *shape = shape_of(cloner, from->shape, own);
  cloner->operands[cloner->count] = (fusion_rows_operand_t){(int)hlo_parameter_number(from), own};
  cloner->copies[own][from->id] = hlo_build_parameter(&cloner->body, cloner->count++, shape);
  return hlo_builder_finish(&cloner->body);
}

static hr_status_t clone_instr(hr_arena_t *scratch, cloner_t *cloner, const hlo_instr_t *from,
                               bool own) {
  hlo_instr_t **operands, **copy = &cloner->copies[own][from->id];
  if (from->op == HLO_PARAMETER) return clone_parameter(cloner, from, own);
  HR_TRY(HR_NEW_ARRAY(scratch, from->operand_count + 1, &operands));
  for (int k = 0; k < from->operand_count; k++)
    operands[k] =
        cloner->copies[own && fusion_row_reads(from, k) == ROWS_OWN][from->operands[k]->id];
  if (from->op == HLO_TUPLE) {
    *copy = hlo_build_tuple(&cloner->body, from->operand_count, operands);
    return hlo_builder_finish(&cloner->body);
  }
  hlo_instr_def_t def = hlo_instr_def_of(from, operands);
  def.shape = shape_of(cloner, from->shape, own);
  if (!def.shape) return hlo_builder_finish(&cloner->body);
  HR_TRY(hlo_instr_create(cloner->body.computation, &def, copy));
  return hlo_instr_append(*copy);
}

hr_status_t fusion_rows_clone(hr_arena_t *scratch, const hlo_computation_t *fused,
                              const uint8_t *reads, int64_t rows, hlo_computation_t **out_clone,
                              fusion_rows_operand_t *out_operands) {
  cloner_t cloner = {.rows = rows, .operands = out_operands};
  hlo_computation_t *clone;
  HR_TRY(hlo_computation_add(fused->module, fused->name, &clone));
  clone->is_fusion = true;
  cloner.body = hlo_builder_at(clone, fused->line, fused->column);
  for (int own = 0; own < 2; own++)
    HR_TRY(HR_NEW_ARRAY(scratch, fused->instrs.count, &cloner.copies[own]));
  for (size_t i = 0; i < fused->instrs.count; i++)
    for (int own = 0; own < 2; own++)
      if (reads[i] & (own ? ROWS_OWN : ROWS_ALL))
        HR_TRY(clone_instr(scratch, &cloner, fused->instrs.data[i], own));
  clone->root = cloner.copies[1][fused->root->id];
  *out_clone = clone;
  return NULL;
}
