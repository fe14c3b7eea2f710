/* Shardings of HLO against the shapes of their values. Shardy's texts are given to the verifier of
 * its dialect as attributes of ops that stand for the instructions. */
#include "read/check_shardings.h"

#include <string.h>

#include "ir/sharding.h"
#include "mlir/sdy/sdy.h"

/* --- GSPMD --- */

/* Dimensions that a sharding is for; -1: of any rank. */
static int64_t rank_of(const hlo_sharding_t *sharding) {
  if (sharding->kind != HLO_TILE_KIND_OTHER) return -1;
  if (sharding->named) return sharding->dim_count;
  return sharding->tile_dims.count - sharding->last_tile_kinds.count - sharding->replicate_last_dim;
}

static hr_status_t check_leaf(const hlo_instr_t *instr, const hlo_shape_t *shape,
                              const hlo_sharding_t *sharding) {
  int64_t rank = rank_of(sharding);
  if (!hlo_shape_is_array(shape) || rank < 0 || rank == shape->rank) return NULL;
  return hlo_error(instr, NULL, "a sharding of %ld dimension%s for a value of rank %d", (long)rank,
                   rank == 1 ? "" : "s", shape->rank);
}

/* The sharding of a transfer is that of what is sent, and may have leaves of its own. */
static bool has_own_leaves(const hlo_instr_t *instr) {
  return hlo_op_is(instr->op, OP_COMM) || instr->op == HLO_INFEED || instr->op == HLO_OUTFEED;
}

static hr_status_t check_instr(const hlo_instr_t *instr) {
  const hlo_sharding_t *sharding = instr->extra ? instr->extra->sharding : NULL;
  if (!sharding || !instr->shape || has_own_leaves(instr)) return NULL;
  if (sharding->kind != HLO_TILE_KIND_TUPLE)
    return hlo_shape_is_tuple(instr->shape) ? NULL : check_leaf(instr, instr->shape, sharding);
  int leaves = hlo_shape_leaf_count(instr->shape);
  if (sharding->element_count != leaves && leaves)
    return hlo_error(instr, NULL, "%d shardings for %d value%s", sharding->element_count, leaves,
                     leaves == 1 ? "" : "s");
  for (int i = 0; i < leaves; i++)
    HR_TRY(check_leaf(instr, hlo_shape_leaf(instr->shape, i), sharding->elements[i]));
  return NULL;
}

hr_status_t read_check_shardings(const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++)
      HR_TRY(check_instr(module->computations.data[c]->instrs.data[i]));
  return NULL;
}

/* --- Shardy --- */

/* What stands for HLO while Shardy's texts are verified. */
typedef struct stand_in {
  hr_arena_t arena;
  mlir_module_t module; /* its source alone */
  sdy_verifier_t *verifier;
} stand_in_t;

static hr_status_t text_attr(stand_in_t *in, hr_str_t text, const mlir_attr_t **out_attr) {
  mlir_attr_t *attr;
  HR_TRY(HR_NEW(&in->arena, &attr));
  *attr = (mlir_attr_t){.kind = MLIR_ATTR_OPAQUE, .text = text};
  *out_attr = attr;
  return NULL;
}

/* Arrays become tensors; all else has a type without dimensions. The module is not verified yet: a
 * shape may be absent. */
static hr_status_t type_of(stand_in_t *in, const hlo_shape_t *shape, const mlir_type_t **out_type) {
  static const mlir_type_t other = {.kind = MLIR_TYPE_OPAQUE};
  mlir_type_t *type;
  *out_type = &other;
  if (!shape || !hlo_shape_is_array(shape)) return NULL;
  HR_TRY(HR_NEW(&in->arena, &type));
  *type = (mlir_type_t){.kind = MLIR_TYPE_TENSOR, .rank = shape->rank, .dims = shape->dims};
  *out_type = type;
  return NULL;
}

/* Values for the operands, or for the leaves of the result. */
static hr_status_t values_of(stand_in_t *in, const hlo_instr_t *instr, bool results,
                             mlir_value_t **out_values, int *out_count) {
  int count = results ? hlo_shape_leaf_count(instr->shape) : instr->operand_count;
  HR_TRY(HR_NEW_ARRAY(&in->arena, count + 1, out_values));
  for (int k = 0; k < count; k++) {
    const hlo_instr_t *operand = results ? NULL : instr->operands[k];
    const hlo_shape_t *shape = operand ? operand->shape : NULL;
    if (results) shape = hlo_shape_leaf(instr->shape, k);
    HR_TRY(type_of(in, shape, &(*out_values)[k].type));
    (*out_values)[k].index = k;
  }
  *out_count = count;
  return NULL;
}

static hr_status_t check_texts(stand_in_t *in, const hlo_instr_t *instr, hr_str_t sharding,
                               hr_str_t rule) {
  mlir_named_attr_t attrs[2];
  mlir_value_t *operands, *results;
  hr_pos_t pos = hlo_instr_pos(instr);
  const char *name;
  HR_TRY(hr_arena_printf(&in->arena, &name, "%s of %%%.*s", hlo_op_name(instr->op),
                         HR_STR_ARGS(instr->name)));
  mlir_op_t op = {hr_str_from(name), .extras = attrs, .line = pos.line, .column = pos.column};
  HR_TRY(values_of(in, instr, false, &operands, &op.operand_count));
  HR_TRY(values_of(in, instr, true, &results, &op.result_count));
  HR_TRY(HR_NEW_ARRAY(&in->arena, op.operand_count + 1, &op.operands));
  for (int k = 0; k < op.operand_count; k++) op.operands[k] = &operands[k];
  op.results = results;
  if (sharding.size) {
    attrs[op.extra_count].name = HR_STR("sdy.sharding");
    HR_TRY(text_attr(in, sharding, &attrs[op.extra_count++].value));
  }
  if (rule.size) {
    attrs[op.extra_count].name = HR_STR("sdy.sharding_rule");
    HR_TRY(text_attr(in, rule, &attrs[op.extra_count++].value));
  }
  return sdy_verify_attrs(in->verifier, &op);
}

/* Place of the header's list of meshes; line 0 in a proto, which has none. */
static hr_pos_t place_of_meshes(const hr_source_t *source) {
  static const char word[] = "xla.sdy.meshes";
  hr_pos_t pos = {source, 0, 0};
  const char *found =
      source->text ? memmem(source->text, source->size_bytes, word, sizeof word - 1) : NULL;
  if (!found) return pos;
  pos.line = pos.column = 1;
  for (const char *at = source->text; at < found; at++) {
    pos.column = *at == '\n' ? 1 : pos.column + 1;
    pos.line += *at == '\n';
  }
  return pos;
}

/* The header's text {mesh = #sdy.mesh<...>, ...} as ops. */
static hr_status_t add_mesh_ops(stand_in_t *in, hr_str_t text, mlir_block_t *block) {
  hr_pos_t pos = place_of_meshes(&in->module.source);
  static const char kind[] = "#sdy.mesh<";
  const char *at = text.data, *end = text.data + text.size;
  while (at < end && (at = memmem(at, (size_t)(end - at), kind, sizeof kind - 1))) {
    const char *stop = memchr(at, '>', (size_t)(end - at)), *name_end = at;
    while (name_end > text.data && strchr(" =\"", name_end[-1])) name_end--;
    const char *name = name_end;
    while (name > text.data && !strchr(" ,{\"", name[-1])) name--;
    mlir_op_t *op;
    mlir_named_attr_t *attrs;
    if (!stop) return NULL; /* refused by the reader of meshes */
    HR_TRY(HR_NEW(&in->arena, &op));
    HR_TRY(HR_NEW_ARRAY(&in->arena, 2, &attrs));
    attrs[0].name = HR_STR("mesh");
    attrs[1].name = HR_STR("sym_name");
    HR_TRY(text_attr(in, (hr_str_t){at, (size_t)(stop + 1 - at)}, &attrs[0].value));
    HR_TRY(text_attr(in, (hr_str_t){name, (size_t)(name_end - name)}, &attrs[1].value));
    *op = (mlir_op_t){HR_STR("sdy.mesh"), .attr_count = 2, .attrs = attrs};
    op->line = pos.line;
    op->column = pos.column;
    HR_VEC_PUSH(&block->ops, op);
    at = stop;
  }
  return NULL;
}

/* XLA gives the attributes of an op of several results to the elements of its tuple, too. */
static bool has_own_texts(const hlo_instr_t *instr) {
  return instr->shape && instr->op != HLO_GET_TUPLE_ELEMENT && instr->op != HLO_TUPLE;
}

static hr_status_t check_all(stand_in_t *in, const hlo_module_t *module) {
  for (size_t c = 0; c < module->computations.count; c++)
    for (size_t i = 0; i < module->computations.data[c]->instrs.count; i++) {
      const hlo_instr_t *instr = module->computations.data[c]->instrs.data[i];
      hr_str_t sharding = hlo_frontend_attribute(instr, "xla.sdy.sharding");
      hr_str_t rule = hlo_frontend_attribute(instr, "xla.sdy.sharding_rule");
      if (has_own_texts(instr) && (sharding.size || rule.size))
        HR_TRY(check_texts(in, instr, sharding, rule));
    }
  return NULL;
}

hr_status_t read_check_sdy_texts(const hlo_module_t *module) {
  stand_in_t in = {.module = {.source = module->source}};
  mlir_block_t block = {0};
  hr_str_t meshes = {"", 0};
  for (int i = 0; i < module->frontend_attributes.count; i++)
    if (hr_str_is(module->frontend_attributes.items[i].name, "xla.sdy.meshes"))
      meshes = module->frontend_attributes.items[i].value;
  if (!meshes.size) return NULL;
  hr_arena_init(&in.arena);
  hr_status_t st = add_mesh_ops(&in, meshes, &block);
  if (!st) st = sdy_verifier_create(&in.module, &block, &in.arena, &in.verifier);
  if (!st) st = check_all(&in, module);
  sdy_verifier_deinit(in.verifier);
  HR_VEC_FREE(&block.ops);
  hr_arena_deinit(&in.arena);
  return st;
}
