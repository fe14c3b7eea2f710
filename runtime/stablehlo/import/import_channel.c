/* Feeds and channels: infeed, outfeed, send and recv. StableHLO lists data and token side by side,
 * HLO pairs them:
 *
 *   %a, %b, %t = stablehlo.infeed(%t0)       ((A, B), token) = infeed(token), and its elements
 *   %t = stablehlo.send(%a, %t0)             token = send-done(send(A, token))
 *
 * One datum is not in a tuple, several are. send and recv become a start and a done. */
#include "ir/frontend_attributes.h"
#include "stablehlo/import/import.h"

/* Shape of the data among the results, without the token at their end: one shape, or a tuple of
 * several. */
static hr_status_t data_shape(import_scope_t *scope, const mlir_op_t *op,
                              const hlo_shape_t **out_shape) {
  int count = op->result_count - 1;
  const hlo_shape_t **shapes;
  bool is_infeed = hr_str_is(op->name, "stablehlo.infeed");
  if (count < 0)
    return import_error(scope, op, "no results, want a token (%s)",
                        is_infeed ? "infeed C1" : "recv C2");
  if (op->results[count].type->kind != MLIR_TYPE_TOKEN)
    return import_error(scope, op, "the last result is no token (%s)",
                        is_infeed ? "infeed C3" : "recv C4");
  if (count == 1) return import_result_shape(scope, op, 0, out_shape);
  HR_TRY(HR_NEW_ARRAY(scope->importer->arena, count, &shapes));
  for (int i = 0; i < count; i++) HR_TRY(import_result_shape(scope, op, i, &shapes[i]));
  return hlo_shape_tuple(scope->importer->arena, count, shapes, out_shape);
}

/* Maps the results to the elements of (data, token). */
static hr_status_t unpack_data(import_scope_t *scope, mlir_op_t *op, hlo_instr_t *pair) {
  hlo_instr_t *data = hlo_build_element(&scope->builder, pair, 0);
  int count = op->result_count - 1;
  for (int i = 0; i < count; i++)
    op->results[i].mapped = count == 1 ? data : hlo_build_element(&scope->builder, data, i);
  op->results[count].mapped = hlo_build_element(&scope->builder, pair, 1);
  return hlo_builder_finish(&scope->builder);
}

/* (data, token), or (data, context, token) for the start of a transfer. */
static hr_status_t pair_shape(import_scope_t *scope, const hlo_shape_t *data, bool with_context,
                              const hlo_shape_t **out_shape) {
  const hlo_shape_t *parts[3] = {
      data, with_context ? hlo_shape_scalar(HR_U32) : hlo_shape_scalar(HR_TOKEN),
      hlo_shape_scalar(HR_TOKEN)};
  return hlo_shape_tuple(scope->importer->arena, with_context ? 3 : 2, parts, out_shape);
}

/* Tokens are operands and results in both dialects. */
hr_status_t import_infeed(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  const hlo_shape_t *data, *shape;
  hlo_instr_t *token = import_operand(op, 0);
  hlo_attr_t config = hlo_attr_of_str(HLO_ATTR_INFEED_CONFIG, import_str(op, "infeed_config"));
  HR_TRY(data_shape(scope, op, &data));
  HR_TRY(pair_shape(scope, data, false, &shape));
  return unpack_data(scope, op,
                     hlo_build(&scope->builder, row->op, shape, 1, &token, config.text.size != 0,
                               &config, 0, NULL));
}

/* All operands except the token, the last one, as one value. */
static hr_status_t pack_data(import_scope_t *scope, const mlir_op_t *op, hlo_instr_t **out_data,
                             hlo_instr_t **out_token) {
  hlo_instr_t **operands;
  int count = op->operand_count - 1;
  if (count < 0) return import_error(scope, op, "want a token as the last operand");
  HR_TRY(import_operands(scope, op, &operands));
  *out_token = operands[count];
  *out_data = count == 1 ? operands[0] : hlo_build_tuple(&scope->builder, count, operands);
  return NULL;
}

/* HLO also has the shape of the data as an attribute. */
hr_status_t import_outfeed(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t *pair[2];
  import_attrs_t attrs = {.count = 0};
  HR_TRY(pack_data(scope, op, &pair[0], &pair[1]));
  if (op->result_count != 1)
    return import_error(scope, op, "%d results, want a token", op->result_count);
  if (pair[0])
    import_add(&attrs, (hlo_attr_t){.key = HLO_ATTR_OUTFEED_SHAPE, .shape = pair[0]->shape});
  if (import_str(op, "outfeed_config").size)
    import_add(&attrs, hlo_attr_of_str(HLO_ATTR_OUTFEED_CONFIG, import_str(op, "outfeed_config")));
  op->results[0].mapped = hlo_build(&scope->builder, row->op, hlo_shape_scalar(HR_TOKEN), 2, pair,
                                    attrs.count, attrs.items, 0, NULL);
  return hlo_builder_finish(&scope->builder);
}

/* Channel 0 means no channel. */
static void add_channel(import_attrs_t *attrs, const mlir_op_t *op) {
  int64_t channel = import_field_int(op, "channel_handle", "handle");
  if (channel > 0) import_add(attrs, hlo_attr_of_int(HLO_ATTR_CHANNEL_ID, channel));
  if (import_bool(op, "is_host_transfer", false))
    import_add(attrs, hlo_attr_of_bool(HLO_ATTR_IS_HOST_TRANSFER, true));
}

#define PAIRS_NAME "_xla_send_recv_source_target_pairs"

/* Adds source_target_pairs of a channel as the frontend attribute "{{0,1},{1,2}}" known to XLA, in
 * sorted order. */
static hr_status_t add_channel_pairs(import_scope_t *scope, const mlir_op_t *op) {
  const mlir_attr_t *pairs = mlir_op_attr(op, "source_target_pairs");
  hr_ints_t ids;
  hr_strbuf_t text;
  hr_str_t value;
  if (!pairs || pairs->kind != MLIR_ATTR_DENSE || pairs->type->rank != 2 || !pairs->type->dims[0])
    return NULL;
  if (pairs->type->dims[1] != 2)
    return import_error(scope, op, "source_target_pairs of %ld columns, want 2",
                        (long)pairs->type->dims[1]);
  HR_TRY(import_ints_of(scope, pairs, &ids));
  hr_strbuf_init(&text);
  for (int64_t i = 0; i + 1 < ids.count; i += 2)
    hr_strbuf_printf(&text, "%s{%ld,%ld}", i ? "," : "{", (long)ids.data[i], (long)ids.data[i + 1]);
  hr_strbuf_add_char(&text, '}');
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_str(scope->importer->arena, (hr_str_t){text.data, text.size}, &value);
  hr_strbuf_deinit(&text);
  HR_TRY(st);
  return hlo_extra_with_frontend_attribute(scope->importer->arena, scope->builder.extra,
                                           (hlo_name_value_t){HR_STR(PAIRS_NAME), value, true},
                                           &scope->builder.extra);
}

/* The data is NULL only after a failure, which the builder reports. */
hr_status_t import_send(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  hlo_instr_t *pair[2];
  const hlo_shape_t *shape;
  import_attrs_t attrs = {.count = 0};
  add_channel(&attrs, op);
  HR_TRY(add_channel_pairs(scope, op));
  HR_TRY(pack_data(scope, op, &pair[0], &pair[1]));
  if (op->result_count != 1)
    return import_error(scope, op, "%d results, want a token", op->result_count);
  if (!pair[0]) return hlo_builder_finish(&scope->builder);
  HR_TRY(pair_shape(scope, pair[0]->shape, true, &shape));
  hlo_instr_t *start =
      hlo_build(&scope->builder, row->op, shape, 2, pair, attrs.count, attrs.items, 0, NULL);
  op->results[0].mapped = hlo_build(&scope->builder, HLO_SEND_DONE, hlo_shape_scalar(HR_TOKEN), 1,
                                    &start, attrs.count, attrs.items, 0, NULL);
  return hlo_builder_finish(&scope->builder);
}

/* recv and recv-done; the channel is an attribute of both. */
hr_status_t import_recv(import_scope_t *scope, mlir_op_t *op, const import_row_t *row) {
  const hlo_shape_t *data, *started, *done;
  hlo_instr_t *token = import_operand(op, 0);
  import_attrs_t attrs = {.count = 0};
  add_channel(&attrs, op);
  HR_TRY(add_channel_pairs(scope, op));
  HR_TRY(data_shape(scope, op, &data));
  HR_TRY(pair_shape(scope, data, true, &started));
  HR_TRY(pair_shape(scope, data, false, &done));
  hlo_instr_t *start =
      hlo_build(&scope->builder, row->op, started, 1, &token, attrs.count, attrs.items, 0, NULL);
  return unpack_data(scope, op,
                     hlo_build(&scope->builder, HLO_RECV_DONE, done, 1, &start, attrs.count,
                               attrs.items, 0, NULL));
}
