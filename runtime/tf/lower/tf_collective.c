/* Collectives between replicas, and point-to-point transfers by key. Groups come as a constant
 * array [groups, members] of replica numbers, where -1 fills up a row; no groups means one group of
 * all. A key identifies a channel, whose number is shared by all computations of one compiler.
 * Transfers are ordered by tokens along the edges of the graph, data and control, and not
 * otherwise, so that the checker can prove that a schedule exists. */
#include <string.h>

#include "tf/compile/tf_lower.h"

/* --- groups --- */

/* Rows of a constant s32[groups, members], without the entries -1. */
static hr_status_t read_groups(tf_op_t *op, int k, hlo_attr_t *out) {
  hlo_value_t *value;
  hr_ints_t ids, *lists;
  hlo_groups_t *groups;
  HR_TRY(tf_const(op, k, &value));
  HR_TRY(tf_const_ints(op, k, &ids));
  if (value->rank != 2) return tf_error(op, "groups of %d dimensions, want 2", value->rank);
  int64_t rows = value->dims[0], each = value->dims[1];
  HR_TRY(HR_NEW(op->arena, &groups));
  HR_TRY(HR_NEW_ARRAY(op->arena, rows, &lists));
  for (int64_t i = 0; i < rows; i++) {
    int64_t *row, count = 0;
    HR_TRY(HR_NEW_ARRAY(op->arena, each, &row));
    for (int64_t j = 0; j < each; j++)
      if (ids.data[i * each + j] >= 0) row[count++] = ids.data[i * each + j];
    lists[i] = (hr_ints_t){row, count};
  }
  if (each) groups->groups = (hlo_int_lists_t){rows, lists};
  *out = (hlo_attr_t){.key = HLO_ATTR_REPLICA_GROUPS, .groups = groups};
  return NULL;
}

/* All replicas in one group. */
static hr_status_t all_groups(tf_op_t *op, hlo_attr_t *out) {
  hlo_groups_t *groups;
  HR_TRY(HR_NEW(op->arena, &groups));
  *out = (hlo_attr_t){.key = HLO_ATTR_REPLICA_GROUPS, .groups = groups};
  return NULL;
}

/* Members of a group, as a number of x's type: the sum of ones over it. */
static expr_t group_size(tf_op_t *op, const hlo_attr_t *groups, expr_t x) {
  hlo_computation_t *add = tf_reducer(op, HLO_ADD, x->shape->dtype);
  hlo_attr_t attrs[] = {*groups, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  expr_t one = tf_scalar(op->b, 1, x->shape->dtype);
  if (!add) return NULL;
  return hlo_build(op->b, HLO_ALL_REDUCE, NULL, 1, &one, 2, attrs, 1, &add);
}

/* The opcode of "Min", "Max", "Mul", "Add" or "Mean". */
static hr_status_t reduction(tf_op_t *op, const char *attr, hlo_opcode_t *out, bool *out_mean) {
  static const struct {
    const char *name;
    hlo_opcode_t scalar_op;
  } kinds[] = {{"Add", HLO_ADD},     {"Mean", HLO_ADD}, {"Mul", HLO_MULTIPLY}, {"Max", HLO_MAXIMUM},
               {"Min", HLO_MINIMUM}, {"And", HLO_AND},  {"Or", HLO_OR}};
  hr_str_t name;
  HR_TRY(tf_attr_str(op->arena, op->node, attr, "Add", &name));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (hr_str_is(name, kinds[i].name)) {
      *out = kinds[i].scalar_op;
      *out_mean = hr_str_is(name, "Mean");
      return NULL;
    }
  return tf_error(op, "attribute %s is %.*s", attr, HR_STR_ARGS(name));
}

/* The reduction of x over its group; a mean is the sum over the number of members. */
static hr_status_t all_reduce(tf_op_t *op, expr_t x, const hlo_attr_t *groups,
                              hlo_opcode_t scalar_op, bool mean, expr_t *out) {
  if (!x) return hlo_builder_finish(op->b);
  hlo_computation_t *reducer = tf_reducer(op, scalar_op, x->shape->dtype);
  hlo_attr_t attrs[] = {*groups, hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  if (!reducer) return hlo_builder_finish(op->b);
  expr_t sum = hlo_build(op->b, HLO_ALL_REDUCE, NULL, 1, &x, 2, attrs, 1, &reducer);
  if (mean && sum) {
    expr_t size = tf_broadcast_like(op->b, group_size(op, groups, x), x);
    sum = f_div(op->b, sum, size);
  }
  *out = sum;
  return hlo_builder_finish(op->b);
}

/* --- collectives --- */

/* variant 0: CrossReplicaSum(x, groups); 1: XlaAllReduce, with attribute reduce_op. */
hr_status_t tf_lower_all_reduce(tf_op_t *op) {
  hlo_attr_t groups;
  hlo_opcode_t scalar_op = HLO_ADD;
  bool mean = false;
  expr_t sum;
  HR_TRY(read_groups(op, 1, &groups));
  if (op->row->variant) HR_TRY(reduction(op, "reduce_op", &scalar_op, &mean));
  HR_TRY(all_reduce(op, tf_in(op, 0), &groups, scalar_op, mean, &sum));
  return tf_out(op, 0, sum);
}

/* XlaReduceScatter(x, groups, dimension): each member gets its part of the reduction. */
hr_status_t tf_lower_reduce_scatter(tf_op_t *op) {
  hlo_attr_t groups;
  hlo_opcode_t scalar_op;
  bool mean;
  int64_t dim, dims[HLO_MAX_RANK];
  int at;
  expr_t x = tf_in(op, 0);
  HR_TRY(read_groups(op, 1, &groups));
  HR_TRY(tf_const_int(op, 2, &dim));
  HR_TRY(reduction(op, "reduce_op", &scalar_op, &mean));
  if (!x) return hlo_builder_finish(op->b);
  HR_TRY(tf_axis(op, dim, x->shape->rank, &at));
  dim = at;
  const hlo_int_lists_t *lists = &groups.groups->groups;
  int64_t members = lists->count ? lists->lists[0].count : 0;
  if (members < 1 || x->shape->dims[at] % members)
    return tf_error(op, "dimension %d of %ld in %ld parts", at, (long)x->shape->dims[at],
                    (long)members);
  for (int d = 0; d < x->shape->rank; d++) dims[d] = x->shape->dims[d];
  dims[at] /= members;
  hlo_computation_t *reducer = tf_reducer(op, scalar_op, x->shape->dtype);
  hlo_attr_t attrs[] = {groups, hlo_attr_of_ints(op->b, HLO_ATTR_DIMENSIONS, 1, &dim),
                        hlo_attr_of_called(HLO_ATTR_TO_APPLY, 1)};
  const hlo_shape_t *shape = tf_shape(op->b, x->shape->dtype, x->shape->rank, dims);
  if (!reducer || !shape) return hlo_builder_finish(op->b);
  expr_t part = hlo_build(op->b, HLO_REDUCE_SCATTER, shape, 1, &x, 3, attrs, 1, &reducer);
  if (mean && part) part = f_div(op->b, part, f_number(op->b, (double)members, part));
  return tf_out(op, 0, part);
}

/* A group that CollectiveAssignGroupV2 made, by its key. */
typedef struct tf_group {
  const struct tf_group *next;
  int64_t key;
  hlo_attr_t groups;
} tf_group_t;

/* Inputs: groups, device, base key; outputs: members of a group, key. The key stands for the
 * groups in the collectives that take it. */
hr_status_t tf_lower_assign_group(tf_op_t *op) {
  tf_compiler_t *compiler = op->scope->compiler;
  tf_group_t *group;
  int64_t base;
  HR_TRY(HR_NEW(op->arena, &group));
  HR_TRY(read_groups(op, 0, &group->groups));
  HR_TRY(tf_const_int(op, 2, &base));
  const hlo_int_lists_t *lists = &group->groups.groups->groups;
  int64_t members = lists->count ? lists->lists[0].count : 0;
  group->key = base + compiler->group_count++;
  group->next = compiler->groups;
  compiler->groups = group;
  HR_TRY(tf_out_ints(op, 0, HR_S32, true, 1, &members));
  return tf_out_ints(op, 1, HR_S32, true, 1, &group->key);
}

/* The groups of input k, a key; all replicas if nobody assigned it. */
static hr_status_t groups_of_key(tf_op_t *op, int k, hlo_attr_t *out) {
  int64_t key;
  HR_TRY(tf_const_int(op, k, &key));
  for (const tf_group_t *g = op->scope->compiler->groups; g; g = g->next)
    if (g->key == key) {
      *out = g->groups;
      return NULL;
    }
  return all_groups(op, out);
}

/* CollectiveReduceV2(x, members, key, instance): merge_op over the group, and final_op Div for a
 * mean. variant 1: CollectiveReduce, whose numbers are attributes and whose group is all. */
hr_status_t tf_lower_collective_reduce(tf_op_t *op) {
  hlo_attr_t groups;
  hlo_opcode_t scalar_op;
  hr_str_t final;
  bool mean;
  expr_t sum;
  HR_TRY(op->row->variant ? all_groups(op, &groups) : groups_of_key(op, 2, &groups));
  HR_TRY(reduction(op, "merge_op", &scalar_op, &mean));
  HR_TRY(tf_attr_str(op->arena, op->node, "final_op", "Id", &final));
  mean |= hr_str_is(final, "Div");
  HR_TRY(all_reduce(op, tf_in(op, 0), &groups, scalar_op, mean, &sum));
  return tf_out(op, 0, sum);
}

/* CollectivePermute(x, pairs [n, 2]): each target gets its source's x, or 0 if it has no source. */
hr_status_t tf_lower_collective_permute(tf_op_t *op) {
  hr_ints_t ids, *pairs;
  hlo_int_lists_t *lists;
  expr_t x = tf_in(op, 0);
  HR_TRY(tf_const_ints(op, 1, &ids));
  if (ids.count % 2) return tf_error(op, "%ld numbers, want pairs", (long)ids.count);
  HR_TRY(HR_NEW(op->arena, &lists));
  HR_TRY(HR_NEW_ARRAY(op->arena, ids.count / 2, &pairs));
  for (int64_t i = 0; i < ids.count / 2; i++)
    HR_TRY(hr_arena_ints(op->arena, &ids.data[2 * i], 2, &pairs[i]));
  *lists = (hlo_int_lists_t){ids.count / 2, pairs};
  hlo_attr_t attr = {.key = HLO_ATTR_SOURCE_TARGET_PAIRS, .lists = lists};
  if (!x) return hlo_builder_finish(op->b);
  return tf_out(op, 0,
                hlo_build(op->b, HLO_COLLECTIVE_PERMUTE, x->shape, 1, &x, 1, &attr, 0, NULL));
}

/* AllToAll(x, groups): x is cut along split_dimension, part i goes to member i, and the received
 * parts are joined along concat_dimension. */
hr_status_t tf_lower_all_to_all(tf_op_t *op) {
  hlo_attr_t groups;
  int64_t split, concat, count;
  const hlo_shape_t **shapes, *tuple;
  expr_t x = tf_in(op, 0), *parts;
  HR_TRY(read_groups(op, 1, &groups));
  HR_TRY(tf_attr_int(op->arena, op->node, "split_dimension", 0, &split));
  HR_TRY(tf_attr_int(op->arena, op->node, "concat_dimension", 0, &concat));
  HR_TRY(tf_attr_int(op->arena, op->node, "split_count", 1, &count));
  if (!x) return hlo_builder_finish(op->b);
  int rank = x->shape->rank;
  if (split < 0 || split >= rank || concat < 0 || concat >= rank || count < 1 ||
      count > TF_MAX_PARTS || x->shape->dims[split] % count)
    return tf_error(op, "dimensions %ld and %ld in %ld parts", (long)split, (long)concat,
                    (long)count);
  int64_t each = x->shape->dims[split] / count;
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &parts));
  HR_TRY(HR_NEW_ARRAY(op->arena, count, &shapes));
  for (int64_t i = 0; i < count; i++) {
    parts[i] = tf_slice_dim(op->b, x, (int)split, i * each, (i + 1) * each);
    if (!parts[i]) return hlo_builder_finish(op->b);
    shapes[i] = parts[i]->shape;
  }
  HR_TRY(hlo_shape_tuple(op->arena, (int)count, shapes, &tuple));
  expr_t all = hlo_build(op->b, HLO_ALL_TO_ALL, tuple, (int)count, parts, 1, &groups, 0, NULL);
  for (int64_t i = 0; i < count; i++) parts[i] = hlo_build_element(op->b, all, (int)i);
  if (!parts[0] || !parts[count - 1]) return hlo_builder_finish(op->b);
  return tf_out(op, 0, tf_concat(op->b, (int)count, parts, (int)concat));
}

/* --- transfers --- */

/* The token that a transfer waits for. */
static expr_t token_of(tf_op_t *op) {
  if (op->token) return op->token;
  return hlo_build(op->b, HLO_AFTER_ALL, hlo_shape_scalar(HR_TOKEN), 0, NULL, 0, NULL, 0, NULL);
}

/* Sends x on a channel; the node's token is that of the transfer's end. */
static void send_on(tf_op_t *op, expr_t x, int64_t channel, bool to_host) {
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_CHANNEL_ID, channel),
                        hlo_attr_of_bool(HLO_ATTR_IS_HOST_TRANSFER, true)};
  expr_t operands[] = {x, token_of(op)};
  expr_t started = hlo_build(op->b, HLO_SEND, NULL, 2, operands, to_host ? 2 : 1, attrs, 0, NULL);
  op->token = hlo_build(op->b, HLO_SEND_DONE, NULL, 1, &started, to_host ? 2 : 1, attrs, 0, NULL);
}

/* Receives an array of this shape. */
static hr_status_t receive_on(tf_op_t *op, const hlo_shape_t *shape, int64_t channel,
                              bool from_host, expr_t *out) {
  const hlo_shape_t *parts[] = {shape, hlo_shape_scalar(HR_U32), hlo_shape_scalar(HR_TOKEN)};
  const hlo_shape_t *whole;
  hlo_attr_t attrs[] = {hlo_attr_of_int(HLO_ATTR_CHANNEL_ID, channel),
                        hlo_attr_of_bool(HLO_ATTR_IS_HOST_TRANSFER, true)};
  int count = from_host ? 2 : 1;
  expr_t token = token_of(op);
  HR_TRY(hlo_shape_tuple(op->arena, 3, parts, &whole));
  expr_t started = hlo_build(op->b, HLO_RECV, whole, 1, &token, count, attrs, 0, NULL);
  expr_t done = hlo_build(op->b, HLO_RECV_DONE, NULL, 1, &started, count, attrs, 0, NULL);
  *out = hlo_build_element(op->b, done, 0);
  op->token = hlo_build_element(op->b, done, 1);
  return hlo_builder_finish(op->b);
}

/* Shape by the attributes `dtype` and `shape`. */
static hr_status_t declared_shape(tf_op_t *op, const hlo_shape_t **out) {
  int64_t dims[HLO_MAX_RANK];
  int rank;
  hr_dtype_t dtype;
  HR_TRY(tf_attr_dtype(op->arena, op->node, "dtype", &dtype));
  HR_TRY(tf_attr_shape(op->arena, op->node, "shape", &rank, dims));
  bool known = rank >= 0 && dtype != HR_TUPLE;
  for (int d = 0; d < rank; d++) known &= dims[d] >= 0;
  if (!known) return tf_error(op, "the shape of what is received is not known");
  return hlo_shape_array(op->arena, dtype, rank, dims, out);
}

/* XlaSend and XlaRecv, attribute tensor_name: the key of the channel. variant 1: XlaRecv. */
hr_status_t tf_lower_transfer(tf_op_t *op) {
  hr_str_t key;
  int64_t channel;
  const hlo_shape_t *shape;
  expr_t x;
  HR_TRY(tf_attr_str(op->arena, op->node, "tensor_name", "", &key));
  HR_TRY(xla_channel(op->scope->compiler->channels, key, &channel));
  if (!op->row->variant) {
    send_on(op, tf_in(op, 0), channel, false);
    return hlo_builder_finish(op->b);
  }
  HR_TRY(declared_shape(op, &shape));
  HR_TRY(receive_on(op, shape, channel, false, &x));
  return tf_out(op, 0, x);
}

/* Attribute ancestors names host computations whose transfers come first. The name of one is that
 * of its node, or _xla_original_oc_node_name if it has been renamed. */
static hr_status_t wait_for_ancestors(tf_op_t *op) {
  tf_compiler_t *compiler = op->scope->compiler;
  hr_str_t *names;
  int count;
  HR_TRY(tf_attr_strings(op->arena, op->node, "ancestors", &count, &names));
  for (int i = 0; i < count; i++) {
    expr_t token = hr_map_get(&compiler->host_tokens, names[i]);
    if (!token)
      return tf_error(op, "its ancestor %.*s is no host computation before it",
                      HR_STR_ARGS(names[i]));
    if (token->parent != op->b->computation)
      return tf_unsupported(op, "its ancestor %.*s is in another computation",
                            HR_STR_ARGS(names[i]));
    if (token == op->token) continue;
    expr_t both[] = {op->token, token};
    op->token = op->token ? hlo_build(op->b, HLO_AFTER_ALL, hlo_shape_scalar(HR_TOKEN), 2, both, 0,
                                      NULL, 0, NULL)
                          : token;
  }
  return hlo_builder_finish(op->b);
}

static hr_status_t keep_host_token(tf_op_t *op) {
  hr_str_t name;
  HR_TRY(tf_attr_str(op->arena, op->node, "_xla_original_oc_node_name", "", &name));
  if (!name.size) name = op->node->name;
  if (!op->token || !name.size) return NULL;
  return hr_map_put(&op->scope->compiler->host_tokens, name, op->token, NULL);
}

/* XlaHostCompute: inputs go to the host under the key send_key, and outputs come back under
 * recv_key; one transfer for each array. Both are entered in the list of host transfers, which
 * refuses a key that is used twice. */
hr_status_t tf_lower_host_compute(tf_op_t *op) {
  hr_str_t keys[2];
  hr_ints_t types;
  xla_channels_t *channels = op->scope->compiler->channels;
  HR_TRY(wait_for_ancestors(op));
  HR_TRY(tf_attr_str(op->arena, op->node, "send_key", "", &keys[0]));
  HR_TRY(tf_attr_str(op->arena, op->node, "recv_key", "", &keys[1]));
  HR_TRY(tf_attr_types(op->arena, op->node, "Toutputs", &types));
  for (int k = 0; k < op->input_count; k++) {
    int64_t channel;
    expr_t x = tf_in(op, k);
    if (!x) return hlo_builder_finish(op->b);
    HR_TRY(xla_host_channel(channels, keys[0], k, x->shape, true, &channel));
    send_on(op, x, channel, true);
  }
  HR_TRY(tf_need_outputs(op, (int)types.count));
  for (int k = 0; k < (int)types.count; k++) {
    int64_t channel, dims[HLO_MAX_RANK];
    int rank;
    hr_dtype_t dtype;
    const hlo_shape_t *shape;
    expr_t x;
    HR_TRY(tf_dtype(types.data[k], &dtype));
    HR_TRY(tf_attr_shape_at(op->arena, op->node, "shapes", k, &rank, dims));
    for (int d = 0; d < rank; d++)
      if (dims[d] < 0) rank = -1;
    if (rank < 0) return tf_error(op, "the shape of result %d is not known", k);
    HR_TRY(hlo_shape_array(op->arena, dtype, rank, dims, &shape));
    HR_TRY(xla_host_channel(channels, keys[1], k, shape, false, &channel));
    HR_TRY(receive_on(op, shape, channel, true, &x));
    HR_TRY(tf_out(op, k, x));
  }
  HR_TRY(keep_host_token(op));
  return hlo_builder_finish(op->b);
}
