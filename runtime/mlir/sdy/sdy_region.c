/* Ops with regions, and ops that only guide propagation: manual and named computations, barriers,
 * data-flow edges. */
#include <string.h>

#include "mlir/sdy/sdy_internal.h"

static mlir_block_t *body_of(const mlir_op_t *op) {
  return op->region_count && op->regions[0]->blocks.count ? op->regions[0]->blocks.data[0] : NULL;
}

static const mlir_op_t *end_of(const mlir_block_t *block) {
  return block && block->ops.count ? block->ops.data[block->ops.count - 1] : NULL;
}

/* Values as a list of pointers: those of an op's results or of a block's arguments are in arrays.
 */
static hr_status_t list_values(sdy_verifier_t *verifier, const mlir_value_t *values, int count,
                               const mlir_value_t ***out_list) {
  HR_TRY(HR_NEW_ARRAY(&verifier->scratch, count + 1, out_list));
  for (int i = 0; i < count; i++) (*out_list)[i] = &values[i];
  return NULL;
}

/* --- sdy.manual_computation --- */

/* The values of one side of a manual computation: operands or results, outside and inside. */
typedef struct manual_side {
  const char *what, *attr;
  int count, inner_count;
  const mlir_value_t *const *outer, *const *inner;
  sdy_shardings_t shardings;
} manual_side_t;

static bool is_manual(sdy_axes_t manual, const sdy_axis_t *axis) {
  for (int i = 0; i < manual.count; i++)
    if (hr_str_equal(manual.items[i].name, axis->name)) return true;
  return false;
}

/* Manual axes come first, and divide the dimension without a rest. *out_parts: by these axes. */
static hr_status_t check_manual_dim(sdy_verifier_t *verifier, sdy_axes_t manual,
                                    const sdy_dim_t *dim, int d, int64_t *out_parts) {
  const sdy_axis_t *free_axis = NULL;
  *out_parts = 1;
  for (int i = 0; i < dim->axes.count; i++) {
    const sdy_axis_t *axis = &dim->axes.items[i];
    if (!is_manual(manual, axis)) {
      free_axis = axis;
      continue;
    }
    if (free_axis)
      return sdy_error(
          verifier, axis->name.data,
          "manual axis \"%.*s\" comes after axis \"%.*s\" in dimension %d, want manual "
          "axes first",
          HR_STR_ARGS(axis->name), HR_STR_ARGS(free_axis->name), d);
    *out_parts *= axis->size;
  }
  return NULL;
}

/* 4x8 for messages */
static const char *sizes_text(sdy_verifier_t *verifier, int rank, const int64_t *sizes) {
  hr_strbuf_t text;
  const char *copy = "";
  hr_strbuf_init(&text);
  for (int d = 0; d < rank; d++) {
    if (d) hr_strbuf_add_char(&text, 'x');
    if (sizes[d] == HR_UNBOUNDED)
      hr_strbuf_add_char(&text, '?');
    else
      hr_strbuf_add_int(&text, sizes[d]);
  }
  if (text.data) hr_status_release(hr_arena_printf(&verifier->scratch, &copy, "%s", text.data));
  hr_strbuf_deinit(&text);
  return copy;
}

/* The inner value has the outer one's sizes divided by the manual axes. */
static hr_status_t check_manual_value(sdy_verifier_t *verifier, sdy_axes_t manual,
                                      const sdy_sharding_t *sharding, const mlir_type_t *outer,
                                      const mlir_type_t *inner) {
  int64_t *local;
  if (outer->kind != MLIR_TYPE_TENSOR || sharding->rank != outer->rank) return NULL;
  HR_TRY(HR_NEW_ARRAY(&verifier->scratch, outer->rank + 1, &local));
  for (int d = 0; d < outer->rank; d++) {
    int64_t parts;
    const sdy_dim_t *dim = &sharding->dims[d];
    HR_TRY(check_manual_dim(verifier, manual, dim, d, &parts));
    local[d] = outer->dims[d];
    if (local[d] == HR_UNBOUNDED) continue;
    if (local[d] % parts)
      return sdy_error(verifier, dim->at,
                       "dimension %d has size %ld, want one that the %ld parts of its manual axes "
                       "divide",
                       d, (long)local[d], (long)parts);
    local[d] /= parts;
  }
  bool fits = inner->kind == MLIR_TYPE_TENSOR && inner->rank == outer->rank &&
              !memcmp(local, inner->dims, (size_t)outer->rank * sizeof *local);
  if (fits && mlir_type_equal(inner->element, outer->element)) return NULL;
  if (fits) return sdy_error(verifier, NULL, "the body's value has another element type");
  bool is_array = inner->kind == MLIR_TYPE_TENSOR;
  return sdy_error(verifier, NULL, "the body's value has sizes [%s], want [%s] by its sharding",
                   is_array ? sizes_text(verifier, inner->rank, inner->dims) : "no array",
                   sizes_text(verifier, outer->rank, local));
}

static hr_status_t verify_side(sdy_verifier_t *verifier, sdy_axes_t manual, manual_side_t *side) {
  const mlir_attr_t *attr = mlir_op_attr(verifier->op, side->attr);
  if (!side->count && !side->inner_count && !sdy_attr_text(attr).size) return NULL;
  HR_TRY(sdy_check_shardings(verifier, sdy_attr_text(attr), side->count, side->outer, side->what,
                             &side->shardings));
  if (side->count != side->inner_count)
    return sdy_error(verifier, NULL, "%d %s%s, but its body has %d", side->count, side->what,
                     side->count == 1 ? "" : "s", side->inner_count);
  for (int i = 0; i < side->count; i++) {
    sdy_set_subject(verifier, "%s %d: ", side->what, i);
    HR_TRY(check_manual_value(verifier, manual, &side->shardings.items[i], side->outer[i]->type,
                              side->inner[i]->type));
  }
  sdy_set_subject(verifier, "%s", "");
  return NULL;
}

/* "a", "b" or {"a", "b"} */
static hr_status_t parse_manual_axes(sdy_verifier_t *verifier, hr_str_t text,
                                     sdy_axes_t *out_axes) {
  hr_scan_t scan = hr_scan(text, "list of manual axes");
  sdy_place_t place;
  int count = 0;
  size_t bound = 1;
  for (size_t i = 0; i < text.size; i++) bound += text.data[i] == ',';
  HR_TRY(HR_NEW_ARRAY(&verifier->scratch, bound, &out_axes->items));
  sdy_place_push(&place, verifier, &scan);
  hr_scan_take(&scan, "{");
  hr_status_t st = NULL;
  for (bool more = !hr_scan_is_done(&scan) && !hr_scan_take(&scan, "}"); more && !st; count++) {
    st = hr_scan_quoted(&scan, &out_axes->items[count].name);
    more = hr_scan_take(&scan, ",");
  }
  sdy_place_pop(&place);
  out_axes->count = count;
  return st;
}

/* The mesh of all shardings that name one with axes; NULL: none does. */
static hr_status_t common_mesh(sdy_verifier_t *verifier, const manual_side_t *sides,
                               const sdy_mesh_t **out_mesh) {
  *out_mesh = NULL;
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < sides[s].shardings.count; i++) {
      const sdy_sharding_t *sharding = &sides[s].shardings.items[i];
      const sdy_mesh_t *mesh = sharding->mesh;
      if (!mesh->axis_count && !mesh->id_count) continue;
      if (*out_mesh && !sdy_meshes_equal(mesh, *out_mesh))
        return sdy_error(verifier, sharding->at, "its shardings are on two meshes, want one");
      *out_mesh = mesh;
    }
  return NULL;
}

static hr_status_t check_manual_axes(sdy_verifier_t *verifier, sdy_axes_t axes,
                                     const manual_side_t *sides) {
  const sdy_mesh_t *mesh;
  HR_TRY(common_mesh(verifier, sides, &mesh));
  for (int i = 0; i < axes.count; i++) {
    hr_str_t name = axes.items[i].name;
    bool has_it = !mesh;
    for (int a = 0; mesh && a < mesh->axis_count; a++)
      has_it |= hr_str_equal(mesh->axes[a].name, name);
    if (!has_it)
      return sdy_error(verifier, name.data, "its mesh has no manual axis \"%.*s\"",
                       HR_STR_ARGS(name));
    for (const sdy_manual_t *outer = verifier->manual; outer; outer = outer->outer)
      if (is_manual(*outer->axes, &axes.items[i]))
        return sdy_error(verifier, name.data,
                         "manual axis \"%.*s\" belongs to the manual computation around",
                         HR_STR_ARGS(name));
  }
  return NULL;
}

hr_status_t sdy_verify_manual(sdy_verifier_t *verifier, sdy_axes_t *out_axes) {
  const mlir_op_t *op = verifier->op;
  mlir_block_t *body = body_of(op);
  const mlir_op_t *end = end_of(body);
  const mlir_value_t **arguments, **results;
  if (!end) return sdy_error(verifier, NULL, "no body");
  HR_TRY(parse_manual_axes(verifier, sdy_attr_text(mlir_op_attr(op, "manual_axes")), out_axes));
  HR_TRY(list_values(verifier, body->args, body->arg_count, &arguments));
  HR_TRY(list_values(verifier, op->results, op->result_count, &results));
  manual_side_t sides[] = {{"operand",
                            "in_shardings",
                            op->operand_count,
                            body->arg_count,
                            (const mlir_value_t *const *)op->operands,
                            arguments,
                            {0}},
                           {"result",
                            "out_shardings",
                            op->result_count,
                            end->operand_count,
                            results,
                            (const mlir_value_t *const *)end->operands,
                            {0}}};
  for (int s = 0; s < 2; s++) HR_TRY(verify_side(verifier, *out_axes, &sides[s]));
  return check_manual_axes(verifier, *out_axes, sides);
}

/* --- sdy.named_computation --- */

static hr_status_t check_named_side(sdy_verifier_t *verifier, const char *what, int count,
                                    const mlir_value_t *const *outer, int inner_count,
                                    const mlir_value_t *const *inner) {
  if (count != inner_count)
    return sdy_error(verifier, NULL, "%d %s%s, but its body has %d", count, what,
                     count == 1 ? "" : "s", inner_count);
  for (int i = 0; i < count; i++)
    if (!mlir_type_equal(outer[i]->type, inner[i]->type))
      return sdy_error(verifier, NULL, "%s %d has another type than in the body", what, i);
  return NULL;
}

hr_status_t sdy_verify_named(sdy_verifier_t *verifier) {
  const mlir_op_t *op = verifier->op;
  mlir_block_t *body = body_of(op);
  const mlir_op_t *end = end_of(body);
  const mlir_value_t **arguments, **results;
  const mlir_value_t *const *operands = (const mlir_value_t *const *)op->operands;
  const mlir_attr_t *in = mlir_op_attr(op, "in_shardings"),
                    *out = mlir_op_attr(op, "out_shardings");
  sdy_shardings_t shardings;
  if (!end) return sdy_error(verifier, NULL, "no body");
  HR_TRY(list_values(verifier, body->args, body->arg_count, &arguments));
  HR_TRY(list_values(verifier, op->results, op->result_count, &results));
  HR_TRY(check_named_side(verifier, "operand", op->operand_count, operands, body->arg_count,
                          arguments));
  HR_TRY(check_named_side(verifier, "result", op->result_count, results, end->operand_count,
                          (const mlir_value_t *const *)end->operands));
  if (in)
    HR_TRY(sdy_check_shardings(verifier, sdy_attr_text(in), op->operand_count, operands, "operand",
                               &shardings));
  if (!out) return NULL;
  return sdy_check_shardings(verifier, sdy_attr_text(out), op->result_count, results, "result",
                             &shardings);
}

/* --- sdy.propagation_barrier --- */

#define BOTH_DIRECTIONS 3

hr_status_t sdy_verify_barrier(sdy_verifier_t *verifier) {
  const mlir_attr_t *attr = mlir_op_attr(verifier->op, "allowed_direction");
  if (!attr) return sdy_error(verifier, NULL, "no allowed_direction");
  bool is_number = attr->kind == MLIR_ATTR_INTEGER;
  bool is_both = is_number ? attr->integer == BOTH_DIRECTIONS
                           : memmem(attr->text.data, attr->text.size, "BOTH", 4) != NULL;
  if (!is_both) return NULL;
  return sdy_error(verifier, NULL, "allowed_direction is BOTH, want NONE, FORWARD or BACKWARD");
}

/* --- sdy.data_flow_edge, sdy.func_data_flow_edge --- */

static bool is_static(const mlir_type_t *type) {
  if (type->kind != MLIR_TYPE_TENSOR) return false;
  for (int d = 0; d < type->rank; d++)
    if (type->dims[d] == HR_UNBOUNDED) return false;
  return true;
}

static bool is_of_sdy(const mlir_op_t *op) {
  return op->name.size > 4 && !memcmp(op->name.data, "sdy.", 4);
}

/* Edges of control flow are on results and block arguments of ops with regions. */
static hr_status_t check_flow_source(sdy_verifier_t *verifier, const mlir_value_t *from) {
  const mlir_op_t *op = from->owner;
  if (!op || !is_of_sdy(op) || op->region_count) return NULL;
  return sdy_error(verifier, NULL, "its operand is a result of %.*s, want one of control flow",
                   HR_STR_ARGS(op->name));
}

/* Edges between functions are on results of calls and arguments of functions. */
static hr_status_t check_call_source(sdy_verifier_t *verifier, const mlir_value_t *from) {
  const mlir_op_t *op = from->owner ? from->owner : from->block->parent->parent;
  const char *wanted = from->owner ? "func.call" : "func.func";
  hr_str_t name = op ? op->name : (hr_str_t){"", 0};
  if (hr_str_is(name, wanted) || hr_str_is(name, wanted + 5)) return NULL;
  return sdy_error(verifier, NULL, "its operand is of %.*s, want one of %s", HR_STR_ARGS(name),
                   wanted);
}

hr_status_t sdy_verify_edge(sdy_verifier_t *verifier) {
  const mlir_op_t *op = verifier->op;
  const mlir_attr_t *attr = mlir_op_attr(op, "sharding");
  sdy_sharding_t sharding;
  if (op->operand_count != 1 || op->result_count != 1)
    return sdy_error(verifier, NULL, "%d operands and %d results, want one of each",
                     op->operand_count, op->result_count);
  const mlir_value_t *from = op->operands[0];
  if (!is_static(op->results[0].type))
    return sdy_error(verifier, NULL, "its value has no static shape, want one");
  if ((uintptr_t)from->mapped > 1)
    return sdy_error(verifier, NULL, "its operand has %zu uses, want this one alone",
                     (size_t)(uintptr_t)from->mapped);
  bool is_call = hr_str_is(op->name, "sdy.func_data_flow_edge");
  HR_TRY((is_call ? check_call_source : check_flow_source)(verifier, from));
  if (!attr || is_call) return NULL;
  HR_TRY(sdy_parse_sharding(verifier, sdy_attr_text(attr), &sharding));
  return sdy_check_sharding(verifier, &sharding, op->results[0].type);
}
