/* The walk of the verifier: the meshes of a module, then each function with its attributes and ops.
 */
#include <string.h>

#include "mlir/sdy/sdy_internal.h"

/* --- meshes --- */

static hr_status_t add_mesh(sdy_verifier_t *verifier, const mlir_op_t *op) {
  const mlir_attr_t *name = mlir_op_attr(op, "sym_name");
  const sdy_mesh_t *mesh;
  void *taken;
  if (!name) return sdy_error(verifier, NULL, "no name");
  HR_TRY(sdy_parse_mesh(verifier, verifier->arena, sdy_attr_text(mlir_op_attr(op, "mesh")),
                        name->text, &mesh));
  HR_TRY(hr_map_put(&verifier->meshes, name->text, (void *)mesh, &taken));
  if (!taken) return NULL;
  return sdy_error(verifier, NULL, "there are two meshes @%.*s", HR_STR_ARGS(name->text));
}

static hr_status_t add_meshes(sdy_verifier_t *verifier, const mlir_block_t *block) {
  for (size_t i = 0; i < block->ops.count; i++) {
    verifier->op = block->ops.data[i];
    if (hr_str_is(verifier->op->name, "sdy.mesh")) HR_TRY(add_mesh(verifier, verifier->op));
  }
  return NULL;
}

hr_status_t sdy_verifier_create(const mlir_module_t *module, const mlir_block_t *block,
                                hr_arena_t *arena, sdy_verifier_t **out_verifier) {
  sdy_verifier_t *verifier;
  HR_TRY(HR_NEW(arena, &verifier));
  verifier->module = module;
  verifier->arena = arena;
  hr_arena_init(&verifier->scratch);
  hr_map_init(&verifier->meshes);
  hr_status_t st = add_meshes(verifier, block);
  if (st)
    sdy_verifier_deinit(verifier);
  else
    *out_verifier = verifier;
  return st;
}

void sdy_verifier_deinit(sdy_verifier_t *verifier) {
  if (!verifier) return;
  hr_arena_deinit(&verifier->scratch);
  hr_map_deinit(&verifier->meshes);
}

/* --- attributes of arguments and results --- */

static bool is_kind(const mlir_attr_t *attr, const char *kind) {
  size_t size = strlen(kind);
  return attr->kind == MLIR_ATTR_OPAQUE && attr->text.size > size &&
         !memcmp(attr->text.data, kind, size);
}

static hr_status_t verify_value_attr(sdy_verifier_t *verifier, const char *what, int index,
                                     const mlir_attr_t *dict, const mlir_type_t *type) {
  const mlir_attr_t *attr = mlir_attr_field(dict, "sdy.sharding");
  sdy_sharding_t sharding;
  if (!attr) return NULL;
  sdy_set_subject(verifier, "%s %d: ", what, index);
  if (!is_kind(attr, "#sdy.sharding<"))
    return sdy_error(verifier, attr->text.data, "sdy.sharding is not #sdy.sharding<...>");
  HR_TRY(sdy_parse_sharding(verifier, sdy_attr_text(attr), &sharding));
  HR_TRY(sdy_check_sharding(verifier, &sharding, type));
  sdy_set_subject(verifier, "%s", "");
  return NULL;
}

static hr_status_t verify_signature(sdy_verifier_t *verifier) {
  const mlir_op_t *op = verifier->op;
  const mlir_attr_t *attr = mlir_op_attr(op, "function_type");
  const mlir_type_t *type = attr ? attr->type : NULL;
  const mlir_attr_t *args = mlir_op_attr(op, "arg_attrs"), *results = mlir_op_attr(op, "res_attrs");
  if (!type || type->kind != MLIR_TYPE_FUNCTION) return NULL;
  for (int i = 0; args && i < args->count && i < type->input_count; i++)
    HR_TRY(verify_value_attr(verifier, "argument", i, args->items[i], type->inputs[i]));
  for (int i = 0; results && i < results->count && i < type->result_count; i++)
    HR_TRY(verify_value_attr(verifier, "result", i, results->items[i], type->results[i]));
  return NULL;
}

/* --- attributes of ops --- */

static hr_status_t verify_sharding_attr(sdy_verifier_t *verifier, const mlir_attr_t *attr) {
  const mlir_op_t *op = verifier->op;
  const mlir_value_t **results;
  sdy_shardings_t shardings;
  if (!is_kind(attr, "#sdy.sharding_per_value<"))
    return sdy_error(verifier, attr->text.data,
                     "sdy.sharding is not #sdy.sharding_per_value<[...]>");
  HR_TRY(HR_NEW_ARRAY(&verifier->scratch, op->result_count + 1, &results));
  for (int i = 0; i < op->result_count; i++) results[i] = &op->results[i];
  return sdy_check_shardings(verifier, sdy_attr_text(attr), op->result_count, results, "result",
                             &shardings);
}

/* Edges of results and block arguments are only checked for their kind. */
static hr_status_t verify_edge_list(sdy_verifier_t *verifier, hr_str_t name,
                                    const mlir_attr_t *attr) {
  bool is_list = attr->kind == MLIR_ATTR_ARRAY;
  for (int i = 0; is_list && i < attr->count; i++)
    is_list = is_kind(attr->items[i], "#sdy.propagation_edges<");
  return is_list ? NULL
                 : sdy_error(verifier, NULL, "%.*s is not [#sdy.propagation_edges<...>, ...]",
                             HR_STR_ARGS(name));
}

static hr_status_t verify_attr(sdy_verifier_t *verifier, const mlir_named_attr_t *entry) {
  if (hr_str_is(entry->name, "sdy.sharding")) return verify_sharding_attr(verifier, entry->value);
  if (hr_str_is(entry->name, "sdy.sharding_rule")) return sdy_verify_rule(verifier, entry->value);
  if (hr_str_is(entry->name, "sdy.propagation_edges"))
    return sdy_verify_propagation_edges(verifier, entry->value);
  if (hr_str_is(entry->name, "sdy.result_propagation_edges") ||
      hr_str_is(entry->name, "sdy.block_arg_propagation_edges"))
    return verify_edge_list(verifier, entry->name, entry->value);
  return NULL;
}

static bool is_of_sdy(hr_str_t name) { return name.size > 4 && !memcmp(name.data, "sdy.", 4); }

static hr_status_t verify_attrs(sdy_verifier_t *verifier) {
  const mlir_op_t *op = verifier->op;
  for (int i = 0; i < op->extra_count; i++)
    if (is_of_sdy(op->extras[i].name)) HR_TRY(verify_attr(verifier, &op->extras[i]));
  for (int i = 0; i < op->attr_count; i++)
    if (is_of_sdy(op->attrs[i].name)) HR_TRY(verify_attr(verifier, &op->attrs[i]));
  return NULL;
}

hr_status_t sdy_verify_attrs(sdy_verifier_t *verifier, const mlir_op_t *op) {
  hr_status_t st = NULL;
  verifier->op = op;
  verifier->subject[0] = 0;
  for (int i = 0; i < op->extra_count && !st; i++) {
    const mlir_attr_t *attr = op->extras[i].value;
    sdy_sharding_t sharding;
    bool is_one = op->result_count == 1 && is_kind(attr, "#sdy.sharding<");
    st = is_one ? sdy_parse_sharding(verifier, sdy_attr_text(attr), &sharding)
                : verify_attr(verifier, &op->extras[i]);
    if (is_one && !st) st = sdy_check_sharding(verifier, &sharding, op->results[0].type);
  }
  hr_arena_reset(&verifier->scratch);
  return st;
}

/* --- ops --- */

static hr_status_t verify_block(sdy_verifier_t *verifier, const mlir_block_t *block);

static hr_status_t verify_regions(sdy_verifier_t *verifier, const mlir_op_t *op) {
  for (int r = 0; r < op->region_count; r++)
    for (size_t b = 0; b < op->regions[r]->blocks.count; b++)
      HR_TRY(verify_block(verifier, op->regions[r]->blocks.data[b]));
  return NULL;
}

/* The axes must outlive the ops of the body, which reset the scratch arena. */
static hr_status_t verify_manual(sdy_verifier_t *verifier, const mlir_op_t *op) {
  sdy_axes_t axes, kept;
  void *items;
  HR_TRY(sdy_verify_manual(verifier, &axes));
  HR_TRY(
      hr_arena_copy(verifier->arena, axes.items, (size_t)axes.count * sizeof *axes.items, &items));
  kept = (sdy_axes_t){axes.count, items};
  sdy_manual_t inside = {&kept, verifier->manual};
  verifier->manual = &inside;
  hr_status_t st = verify_regions(verifier, op);
  verifier->manual = inside.outer;
  return st;
}

static hr_status_t verify_sdy_op(sdy_verifier_t *verifier) {
  static const struct {
    const char *name;
    hr_status_t (*verify)(sdy_verifier_t *verifier);
  } ops[] = {{"sdy.data_flow_edge", sdy_verify_edge},
             {"sdy.func_data_flow_edge", sdy_verify_edge},
             {"sdy.named_computation", sdy_verify_named},
             {"sdy.propagation_barrier", sdy_verify_barrier},
             {"sdy.reshard", sdy_verify_constraint},
             {"sdy.sharding_constraint", sdy_verify_constraint}};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (hr_str_is(verifier->op->name, ops[i].name)) return ops[i].verify(verifier);
  return sdy_verify_collective(verifier);
}

static hr_status_t verify_op(sdy_verifier_t *verifier, const mlir_op_t *op) {
  verifier->op = op;
  verifier->subject[0] = 0;
  HR_TRY(verify_attrs(verifier));
  if (is_of_sdy(op->name)) {
    if (hr_str_is(op->name, "sdy.manual_computation")) return verify_manual(verifier, op);
    HR_TRY(verify_sdy_op(verifier));
  }
  return verify_regions(verifier, op);
}

static hr_status_t verify_block(sdy_verifier_t *verifier, const mlir_block_t *block) {
  for (size_t i = 0; i < block->ops.count; i++) {
    hr_status_t st = verify_op(verifier, block->ops.data[i]);
    hr_arena_reset(&verifier->scratch);
    HR_TRY(st);
  }
  return NULL;
}

/* --- uses --- */

/* Counts the uses of values in mlir_value_t.mapped (`step` 1), or clears it (0). */
static void count_uses(const mlir_op_t *op, uintptr_t step) {
  for (int k = 0; k < op->operand_count; k++) {
    uintptr_t uses = (uintptr_t)op->operands[k]->mapped;
    op->operands[k]->mapped = step ? (void *)(uses + step) : NULL;
  }
  for (int r = 0; r < op->region_count; r++)
    for (size_t b = 0; b < op->regions[r]->blocks.count; b++)
      for (size_t i = 0; i < op->regions[r]->blocks.data[b]->ops.count; i++)
        count_uses(op->regions[r]->blocks.data[b]->ops.data[i], step);
}

static bool has_edges(const mlir_op_t *op) {
  if (hr_str_is(op->name, "sdy.data_flow_edge") || hr_str_is(op->name, "sdy.func_data_flow_edge"))
    return true;
  for (int r = 0; r < op->region_count; r++)
    for (size_t b = 0; b < op->regions[r]->blocks.count; b++)
      for (size_t i = 0; i < op->regions[r]->blocks.data[b]->ops.count; i++)
        if (has_edges(op->regions[r]->blocks.data[b]->ops.data[i])) return true;
  return false;
}

hr_status_t sdy_verify_function(sdy_verifier_t *verifier, const mlir_op_t *function) {
  verifier->op = function;
  verifier->manual = NULL;
  hr_status_t st = verify_signature(verifier);
  hr_arena_reset(&verifier->scratch);
  HR_TRY(st);
  bool counts = has_edges(function);
  if (counts) count_uses(function, 1);
  st = verify_regions(verifier, function);
  if (counts) count_uses(function, 0);
  return st;
}
