/* Calls, loops, branches, ops with a body for elements, channels and custom calls. Computations
 * become regions whose arguments are the leaves of the parameters, or functions if a call names
 * them. */
#include <string.h>

#include "stablehlo/export/export.h"

/* An op with a region for each called computation: the region's arguments are the parameters'
 * leaves. */
void export_body(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  mlir_op_t *op = export_plain_op(frame, instr, row, NULL);
  export_alloc_regions(frame, op, instr->called_count);
  for (int r = 0; r < instr->called_count; r++) export_region(frame, op, r, instr->called[r], NULL);
}

/* `dimensions` is written even if HLO omits it. */
void export_map(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  int64_t dims[HLO_MAX_RANK];
  export_attrs_t attrs = {.count = 0};
  for (int d = 0; d < instr->shape->rank; d++) dims[d] = d;
  export_add(frame->exporter, &attrs, "dimensions",
             export_ints(frame->exporter, instr->shape->rank, dims));
  mlir_op_t *op = export_plain_op(frame, instr, row, &attrs);
  export_alloc_regions(frame, op, 1);
  export_region(frame, op, 0, instr->called[0], NULL);
}

/* array<i32: first, second> */
static const mlir_attr_t *sizes_of(exporter_t *exporter, int first, int second) {
  static const mlir_type_t i32 = {.kind = MLIR_TYPE_INTEGER, .width = 32};
  mlir_attr_t *attr = export_alloc(exporter, 1, sizeof *attr);
  int32_t *sizes = export_alloc(exporter, 2, sizeof *sizes);
  if (exporter->status) return NULL;
  sizes[0] = first;
  sizes[1] = second;
  *attr =
      (mlir_attr_t){.kind = MLIR_ATTR_DENSE_ARRAY, .type = &i32, .data = sizes, .element_count = 2};
  return attr;
}

/* chlo.scan, with segment sizes from the numbers of inputs and carries. */
void export_scan(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  int carries = (int)hlo_attr_int(instr, HLO_ATTR_NUM_CARRIES);
  int results = hlo_shape_leaf_count(instr->shape);
  export_attrs_t attrs = {.count = 0};
  export_add(frame->exporter, &attrs, "operandSegmentSizes",
             sizes_of(frame->exporter, instr->operand_count - carries, carries));
  export_add(frame->exporter, &attrs, "resultSegmentSizes",
             sizes_of(frame->exporter, results - carries, carries));
  mlir_op_t *op = export_plain_op(frame, instr, row, &attrs);
  export_alloc_regions(frame, op, 1);
  export_region(frame, op, 0, instr->called[0], NULL);
}

/* Bodies of fusions and of asynchronous starts are inlined into the calling block. */
void export_inlined(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  (void)row;
  export_values_t operands = export_operands(frame, instr);
  export_set(frame, instr,
             export_computation(frame->exporter, instr->called[0], frame->block, &operands));
}

/* Branches have no arguments in StableHLO: the operands' values are used inside directly. */
void export_conditional(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  mlir_value_t *choice = export_operand(frame, instr, 0);
  bool is_pred = instr->operands[0]->shape->dtype == HR_PRED;
  export_types_t types = export_leaf_types(frame->exporter, instr->shape);
  mlir_op_t *op = export_op(frame, is_pred ? "stablehlo.if" : row->name, 1, &choice, types.count,
                            types.items, NULL);
  export_set_results(frame, instr, op);
  export_alloc_regions(frame, op, instr->called_count);
  for (int r = 0; r < instr->called_count && r + 1 < instr->operand_count; r++) {
    export_values_t args = export_leaves(frame, instr, r + 1);
    export_region(frame, op, r, instr->called[r], &args);
  }
}

/* --- calls --- */

/* A composite's name, attributes and version are frontend attributes in HLO, as text. */
static void export_composite(export_frame_t *frame, const hlo_instr_t *instr, hr_str_t callee) {
  static const export_attr_row_t none = {.kind = EXPORT_END};
  exporter_t *exporter = frame->exporter;
  export_row_t row = {"stablehlo.composite", NULL, &none};
  export_attrs_t attrs = {.count = 0};
  hr_str_t name = hlo_frontend_attribute(instr, "composite.name");
  hr_str_t inside = hlo_frontend_attribute(instr, "composite.attributes");
  hr_str_t version = hlo_frontend_attribute(instr, "composite.version");
  const mlir_attr_t *dict = inside.size ? export_parsed(exporter, inside) : NULL;
  int64_t number = 0;
  for (size_t i = 0;
       i < version.size && version.data[i] >= '0' && version.data[i] <= '9' && number < 1 << 20;
       i++)
    number = 10 * number + version.data[i] - '0';
  export_add(exporter, &attrs, "name", export_string(exporter, name.size ? name : callee));
  if (dict && dict->kind == MLIR_ATTR_DICT && dict->count)
    export_add(exporter, &attrs, "composite_attributes", dict);
  export_add(exporter, &attrs, "decomposition", export_symbol(exporter, callee));
  if (number) export_add(exporter, &attrs, "version", export_integer(exporter, number, 32));
  export_plain_op(frame, instr, &row, &attrs);
}

/* func.call of the computation's function, or a composite with the function as its
 * decomposition. */
void export_call(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  exporter_t *exporter = frame->exporter;
  hr_str_t callee = export_function_name(exporter, instr->called[0]);
  export_attrs_t attrs = {.count = 0};
  if (hlo_attr_bool(instr, HLO_ATTR_IS_COMPOSITE)) {
    export_composite(frame, instr, callee);
    return;
  }
  export_add(exporter, &attrs, "callee", export_symbol(exporter, callee));
  export_plain_op(frame, instr, row, &attrs);
}

/* --- channels: StableHLO's send and recv combine start and done --- */

/* channel_handle with its type: 1 between devices, `host_type` (2 out, 3 in) with the host. */
static void add_channel(exporter_t *exporter, const hlo_instr_t *instr, int64_t host_type,
                        export_attrs_t *attrs) {
  export_attrs_t fields = {.count = 0};
  const mlir_attr_t *host = NULL;
  bool is_host = hlo_attr_bool(instr, HLO_ATTR_IS_HOST_TRANSFER);
  export_add(exporter, &fields, "handle",
             export_integer(exporter, hlo_attr_int(instr, HLO_ATTR_CHANNEL_ID), 64));
  export_add(exporter, &fields, "type", export_integer(exporter, is_host ? host_type : 1, 64));
  export_add(exporter, attrs, "channel_handle",
             export_struct(exporter, "stablehlo", "channel_handle", &fields));
  if (!exporter->status) export_keep(exporter, mlir_make_bool(exporter->arena, is_host, &host));
  export_add(exporter, attrs, "is_host_transfer", host);
}

/* True if a later instruction of this opcode has `instr` as its first operand. */
static bool has_user(const hlo_instr_t *instr, hlo_opcode_t op) {
  const hlo_computation_t *computation = instr->parent;
  for (size_t i = instr->id + 1; i < computation->instrs.count; i++)
    if (computation->instrs.data[i]->op == op && computation->instrs.data[i]->operands[0] == instr)
      return true;
  return false;
}

/* StableHLO's send is placed at HLO's start; its token also stands for the send-done. */
void export_send(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  export_attrs_t attrs = {.count = 0};
  const mlir_type_t *token = export_type(frame->exporter, hlo_shape_scalar(HR_TOKEN));
  if (!has_user(instr, HLO_SEND_DONE) &&
      export_error(frame, instr, "StableHLO has no send without its send-done here"))
    return;
  add_channel(frame->exporter, instr, 2, &attrs);
  export_values_t operands = export_operands(frame, instr);
  export_set_value(frame, instr,
                   export_value(frame, row->name, operands.count, operands.items, token, &attrs));
}

/* True if the operand is the start itself; otherwise fails. */
static bool is_start(export_frame_t *frame, const hlo_instr_t *instr, hlo_opcode_t op) {
  return instr->operands[0]->op == op ||
         !export_error(frame, instr, "StableHLO has no %s apart from its start",
                       hlo_op_name(instr->op));
}

/* The result is the token of StableHLO's send at the start. */
void export_send_done(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  if (is_start(frame, instr, HLO_SEND)) export_identity(frame, instr, row);
}

/* StableHLO's recv is placed at HLO's recv-done, so that sends in between have started; until then
 * the start's value is its token. */
void export_recv(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  if (!has_user(instr, HLO_RECV_DONE) &&
      export_error(frame, instr, "StableHLO has no recv without its recv-done here"))
    return;
  export_identity(frame, instr, row);
}

/* StableHLO's recv is placed at the done, which has the result; the channel is the start's. */
void export_recv_done(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  export_attrs_t attrs = {.count = 0};
  if (!is_start(frame, instr, HLO_RECV)) return;
  add_channel(frame->exporter, instr->operands[0], 3, &attrs);
  export_plain_op(frame, instr, row, &attrs);
}

/* --- custom calls --- */

/* Packs leaves into the tuple operand of a custom call. */
static mlir_value_t *make_tuple(export_frame_t *frame, const hlo_shape_t *shape,
                                mlir_value_t **leaves) {
  if (!hlo_shape_is_tuple(shape)) return leaves[0];
  mlir_value_t **elements =
      export_alloc(frame->exporter, (size_t)shape->element_count, sizeof *elements);
  for (int i = 0; elements && i < shape->element_count; i++) {
    elements[i] = make_tuple(frame, shape->elements[i], leaves);
    leaves += hlo_shape_leaf_count(shape->elements[i]);
  }
  return elements ? export_value(frame, "stablehlo.tuple", shape->element_count, elements,
                                 export_type(frame->exporter, shape), NULL)
                  : NULL;
}

/* Unpacks a tuple into `leaves`; returns their number. */
static int take_apart(export_frame_t *frame, const hlo_shape_t *shape, mlir_value_t *value,
                      mlir_value_t **leaves) {
  int at = 0;
  if (!hlo_shape_is_tuple(shape)) {
    leaves[0] = value;
    return 1;
  }
  for (int i = 0; i < shape->element_count && !export_failed(frame); i++) {
    export_attrs_t attrs = {.count = 0};
    export_add(frame->exporter, &attrs, "index", export_integer(frame->exporter, i, 32));
    mlir_value_t *element = export_value(frame, "stablehlo.get_tuple_element", 1, &value,
                                         export_type(frame->exporter, shape->elements[i]), &attrs);
    at += take_apart(frame, shape->elements[i], element, leaves + at);
  }
  return at;
}

/* A layout as dense<[1, 0]> : tensor<2xindex>; the default layout if the shape has none. */
static const mlir_attr_t *layout_of(exporter_t *exporter, const hlo_shape_t *shape) {
  static const mlir_type_t index_type = {.kind = MLIR_TYPE_INDEX};
  int64_t order[HLO_MAX_RANK];
  bool given = shape->layout && shape->layout->minor_to_major.count == shape->rank;
  for (int d = 0; d < shape->rank; d++)
    order[d] = given ? shape->layout->minor_to_major.data[d] : shape->rank - 1 - d;
  mlir_attr_t *attr = (mlir_attr_t *)export_matrix(exporter, shape->rank, 1, order);
  mlir_type_t *type = export_alloc(exporter, 1, sizeof *type);
  if (exporter->status) return NULL;
  *type = *attr->type;
  type->element = &index_type;
  type->rank = 1;
  attr->type = type;
  return attr;
}

/* Adds layouts of all operands or all results. */
static void add_layouts(exporter_t *exporter, const char *name, int count,
                        const hlo_shape_t *const *shapes, export_attrs_t *attrs) {
  const mlir_attr_t **layouts = export_alloc(exporter, (size_t)count, sizeof *layouts);
  for (int i = 0; layouts && i < count; i++)
    layouts[i] = layout_of(exporter, hlo_shape_contents(shapes[i]));
  export_add(exporter, attrs, name, export_array(exporter, count, layouts));
}

/* output_operand_aliases of a custom call. */
static void add_aliases(exporter_t *exporter, const hlo_instr_t *instr, export_attrs_t *attrs) {
  const hlo_attr_t *found = hlo_attr_find(instr, HLO_ATTR_OUTPUT_TO_OPERAND_ALIASING);
  int count = found ? found->aliasing->count : 0;
  const mlir_attr_t **items = export_alloc(exporter, (size_t)count, sizeof *items);
  for (int i = 0; items && i < count; i++) {
    const hlo_alias_t *alias = &found->aliasing->aliases[i];
    export_attrs_t fields = {.count = 0};
    export_add(exporter, &fields, "output_tuple_indices",
               export_ints(exporter, alias->output_index.count, alias->output_index.data));
    export_add(exporter, &fields, "operand_index", export_integer(exporter, alias->operand, 64));
    export_add(exporter, &fields, "operand_tuple_indices",
               export_ints(exporter, alias->operand_index.count, alias->operand_index.data));
    items[i] = export_struct(exporter, "stablehlo", "output_operand_alias", &fields);
  }
  if (count)
    export_add(exporter, attrs, "output_operand_aliases", export_array(exporter, count, items));
}

/* The typed API has a dictionary, other versions a string. */
static void add_backend_config(export_frame_t *frame, const hlo_instr_t *instr,
                               export_attrs_t *attrs) {
  exporter_t *exporter = frame->exporter;
  hr_str_t text = instr->extra ? instr->extra->backend_config : (hr_str_t){"", 0};
  bool typed = hlo_attr_enum(instr, HLO_ATTR_CUSTOM_CALL_API_VERSION) == HLO_API_VERSION_TYPED_FFI;
  if (!typed) {
    if (text.size) export_add(exporter, attrs, "backend_config", export_string(exporter, text));
    return;
  }
  const mlir_attr_t *dict = export_parsed(exporter, text.size ? text : HR_STR("{}"));
  bool is_dict = dict && dict->kind == MLIR_ATTR_DICT;
  if (!is_dict && !export_failed(frame))
    export_error(frame, instr, "its backend_config is not a dictionary, as api_version 4 wants");
  export_add(exporter, attrs, "backend_config", dict);
}

const char *const export_target_attrs[] = {"called_computations", "error_message",
                                           "indices_of_shape_operands", "mhlo.attributes",
                                           "rng_algorithm"};
const size_t export_target_attr_count = sizeof export_target_attrs / sizeof *export_target_attrs;

/* Adds attributes of some targets, which are frontend attributes in HLO (export_target_attrs). */
static void add_target_attrs(exporter_t *exporter, const hlo_instr_t *instr,
                             export_attrs_t *attrs) {
  for (size_t i = 0; i < export_target_attr_count; i++) {
    hr_str_t text = hlo_frontend_attribute(instr, export_target_attrs[i]);
    if (!text.size) continue;
    bool is_message = !strcmp(export_target_attrs[i], "error_message");
    const mlir_attr_t *parsed = is_message ? NULL : export_parsed(exporter, text);
    export_add(exporter, attrs, export_target_attrs[i],
               parsed ? parsed : export_string(exporter, text));
    if (!strcmp(export_target_attrs[i], "mhlo.attributes"))
      export_add(exporter, attrs, "mhlo.version", export_integer(exporter, 1, 64));
  }
}

/* Adds called computations as symbols. */
static void add_called(exporter_t *exporter, const hlo_instr_t *instr, export_attrs_t *attrs) {
  const mlir_attr_t **symbols =
      export_alloc(exporter, (size_t)instr->called_count, sizeof *symbols);
  for (int i = 0; symbols && i < instr->called_count; i++)
    symbols[i] = export_symbol(exporter, export_function_name(exporter, instr->called[i]));
  if (instr->called_count)
    export_add(exporter, attrs, "called_computations",
               export_array(exporter, instr->called_count, symbols));
}

/* Types of the results: the elements of a tuple; nested tuples stay tuples. */
static export_types_t call_results(exporter_t *exporter, const hlo_shape_t *shape,
                                   const hlo_shape_t *const **out_shapes) {
  bool is_tuple = hlo_shape_is_tuple(shape);
  export_types_t types = {.count = is_tuple ? shape->element_count : 1};
  const hlo_shape_t **shapes = export_alloc(exporter, (size_t)types.count, sizeof *shapes);
  types.items = export_alloc(exporter, (size_t)types.count, sizeof *types.items);
  for (int i = 0; types.items && i < types.count; i++) {
    shapes[i] = is_tuple ? shape->elements[i] : shape;
    types.items[i] = export_type(exporter, shapes[i]);
  }
  *out_shapes = shapes;
  return types;
}

/* Sets the leaves of the op's results, which may be tuples. */
static void set_call_results(export_frame_t *frame, const hlo_instr_t *instr, mlir_op_t *op,
                             const hlo_shape_t *const *shapes) {
  int count = hlo_shape_leaf_count(instr->shape);
  int at = 0;
  mlir_value_t **leaves = op ? export_alloc(frame->exporter, (size_t)count, sizeof *leaves) : NULL;
  for (int i = 0; leaves && i < op->result_count; i++)
    at += take_apart(frame, shapes[i], &op->results[i], leaves + at);
  export_set(frame, instr, (export_values_t){at, leaves});
}

/* Tuple operands are packed; layouts are written if HLO constrains them. */
void export_custom_call(export_frame_t *frame, const hlo_instr_t *instr, const export_row_t *row) {
  exporter_t *exporter = frame->exporter;
  const hlo_attr_t *constraints = hlo_attr_find(instr, HLO_ATTR_OPERAND_LAYOUT_CONSTRAINTS);
  const hlo_shape_t *const *shapes;
  export_attrs_t attrs = {.count = 0};
  export_row_attrs(exporter, instr, row, &attrs);
  export_types_t types = call_results(exporter, instr->shape, &shapes);
  mlir_value_t **operands = export_alloc(exporter, (size_t)instr->operand_count, sizeof *operands);
  for (int k = 0; operands && k < instr->operand_count; k++)
    operands[k] =
        make_tuple(frame, instr->operands[k]->shape, export_leaves(frame, instr, k).items);
  if (export_failed(frame)) return;
  if (constraints) {
    add_layouts(exporter, "operand_layouts", constraints->shapes->count,
                constraints->shapes->shapes, &attrs);
    add_layouts(exporter, "result_layouts", types.count, shapes, &attrs);
  }
  add_aliases(exporter, instr, &attrs);
  add_backend_config(frame, instr, &attrs);
  add_target_attrs(exporter, instr, &attrs);
  add_called(exporter, instr, &attrs);
  set_call_results(
      frame, instr,
      export_op(frame, row->name, instr->operand_count, operands, types.count, types.items, &attrs),
      shapes);
}
