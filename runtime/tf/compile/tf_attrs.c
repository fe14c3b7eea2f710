/* Attributes of nodes, decoded on demand, and shapes. A node has few attributes: a linear search.
 */
#include <string.h>

#include "tf/file/tf_graph.h"

/* Field 2 of an attribute's map entry stays encoded until this function decodes it, as most
 * nodes have attributes that no lowering asks for. The AttrValue that is found has one of its
 * oneof fields set; the others read as zero or empty. */
hr_status_t tf_attr_find(hr_arena_t *arena, const tf_node_t *node, const char *name,
                         tf_attr_proto_t *out_attr, bool *out_found) {
  *out_found = false;
  *out_attr = (tf_attr_proto_t){0};
  for (int i = 0; i < node->attr_count; i++) {
    if (!hr_str_is(node->attrs[i].name, name)) continue;
    *out_found = true;
    hr_status_t st = TF_DECODE(arena, attr, node->attrs[i].value, out_attr);
    return hr_status_note(st, "in attribute %s", name);
  }
  return NULL;
}

/* Field i (3) of AttrValue: attributes of type int. */
hr_status_t tf_attr_int(hr_arena_t *arena, const tf_node_t *node, const char *name,
                        int64_t fallback, int64_t *out_value) {
  tf_attr_proto_t attr;
  bool found;
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  *out_value = found ? attr.i : fallback;
  return NULL;
}

/* Field b (5) of AttrValue. A writer may leave out false, but then the attribute itself is
 * there. */
hr_status_t tf_attr_bool(hr_arena_t *arena, const tf_node_t *node, const char *name, bool fallback,
                         bool *out_value) {
  tf_attr_proto_t attr;
  bool found;
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  *out_value = found ? attr.b : fallback;
  return NULL;
}

/* Field f (4) of AttrValue, a float; it is widened, so that 0.1f stays the float's value. */
hr_status_t tf_attr_float(hr_arena_t *arena, const tf_node_t *node, const char *name,
                          double fallback, double *out_value) {
  tf_attr_proto_t attr;
  bool found;
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  *out_value = found ? attr.f : fallback;
  return NULL;
}

/* Field s (2) of AttrValue: bytes, which need not be text. The result points into the graph's
 * bytes. */
hr_status_t tf_attr_str(hr_arena_t *arena, const tf_node_t *node, const char *name,
                        const char *fallback, hr_str_t *out_value) {
  tf_attr_proto_t attr;
  bool found;
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  *out_value = found ? attr.s : hr_str_from(fallback);
  return NULL;
}

/* Field type (6) of AttrValue: a number of DataType, such as T, DstT or dtype of most
 * operations. */
hr_status_t tf_attr_dtype(hr_arena_t *arena, const tf_node_t *node, const char *name,
                          hr_dtype_t *out_dtype) {
  tf_attr_proto_t attr;
  bool found;
  *out_dtype = HR_TUPLE;
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  return found ? tf_dtype(attr.type, out_dtype) : NULL;
}

/* Field list (1) of AttrValue, its field i (3): strides, ksize, squeeze_dims. Both the packed
 * and the single encoding are read. */
hr_status_t tf_attr_ints(hr_arena_t *arena, const tf_node_t *node, const char *name,
                         hr_ints_t *out_ints) {
  tf_attr_proto_t attr;
  tf_list_proto_t list;
  bool found;
  *out_ints = (hr_ints_t){0};
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  if (!found) return NULL;
  HR_TRY(TF_DECODE(arena, list, attr.list, &list));
  return proto_ints(arena, list.i, out_ints);
}

/* Field list (1) of AttrValue, its field type (6): Tin, Tout and dtypes. */
hr_status_t tf_attr_types(hr_arena_t *arena, const tf_node_t *node, const char *name,
                          hr_ints_t *out_types) {
  tf_attr_proto_t attr;
  tf_list_proto_t list;
  bool found;
  *out_types = (hr_ints_t){0};
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  if (!found) return NULL;
  HR_TRY(TF_DECODE(arena, list, attr.list, &list));
  return proto_ints(arena, list.type, out_types);
}

/* One of them; TUPLE if there are fewer, or if there are no arrays of the type. */
hr_status_t tf_attr_dtype_at(hr_arena_t *arena, const tf_node_t *node, const char *name, int64_t k,
                             hr_dtype_t *out_dtype) {
  hr_ints_t types;
  *out_dtype = HR_TUPLE;
  HR_TRY(tf_attr_types(arena, node, name, &types));
  return k < types.count ? tf_dtype(types.data[k], out_dtype) : NULL;
}

/* The name in a NameAttrList. Attributes of the call are not needed: types inside a function
 * follow from the values that it is executed on. */
static hr_status_t function_name(hr_arena_t *arena, proto_list_t pieces, hr_str_t *out_name) {
  tf_name_attrs_proto_t func;
  HR_TRY(TF_DECODE(arena, name_attrs, pieces, &func));
  *out_name = func.name;
  return NULL;
}

/* Field func (10) of AttrValue: then_branch, cond, body, f, reducer. */
hr_status_t tf_attr_function(hr_arena_t *arena, const tf_node_t *node, const char *name,
                             hr_str_t *out_name) {
  tf_attr_proto_t attr;
  bool found;
  *out_name = (hr_str_t){0};
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  return found ? function_name(arena, attr.func, out_name) : NULL;
}

/* Field list (1) of AttrValue, its field func (9): the branches of Case. */
hr_status_t tf_attr_functions(hr_arena_t *arena, const tf_node_t *node, const char *name,
                              int *out_count, hr_str_t **out_names) {
  tf_attr_proto_t attr;
  tf_list_proto_t list;
  bool found;
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  HR_TRY(TF_DECODE(arena, list, attr.list, &list));
  *out_count = (int)list.func.count;
  HR_TRY(HR_NEW_ARRAY(arena, list.func.count, out_names));
  for (int64_t i = 0; i < list.func.count; i++)
    HR_TRY(function_name(arena, proto_piece(&list.func.items[i]), &(*out_names)[i]));
  return NULL;
}

/* TensorShapeProto: dim (2) is repeated with size (1), where -1 means unknown; unknown_rank (3)
 * makes `dim` meaningless. A proto without dimensions is a scalar. */
hr_status_t tf_read_shape(hr_arena_t *arena, proto_list_t pieces, int *out_rank,
                          int64_t dims[HLO_MAX_RANK]) {
  tf_shape_proto_t shape;
  HR_TRY(TF_DECODE(arena, shape, pieces, &shape));
  *out_rank = shape.unknown_rank ? -1 : (int)shape.dim.count;
  if (shape.dim.count > HLO_MAX_RANK)
    return hr_error(HR_INVALID, "a shape of %ld dimensions, want at most %d", (long)shape.dim.count,
                    HLO_MAX_RANK);
  for (int64_t d = 0; d < shape.dim.count; d++) {
    tf_dim_proto_t dim;
    HR_TRY(TF_DECODE(arena, dim, proto_piece(&shape.dim.items[d]), &dim));
    dims[d] = dim.size < 0 ? -1 : dim.size;
  }
  return NULL;
}

/* Field shape (7) of AttrValue. An attribute without the field counts as an unknown rank. */
hr_status_t tf_attr_shape(hr_arena_t *arena, const tf_node_t *node, const char *name, int *out_rank,
                          int64_t dims[HLO_MAX_RANK]) {
  tf_attr_proto_t attr;
  bool found;
  *out_rank = -1;
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  return found && attr.shape.count ? tf_read_shape(arena, attr.shape, out_rank, dims) : NULL;
}

/* Field list (1) of AttrValue, its field shape (7). */
hr_status_t tf_attr_shape_at(hr_arena_t *arena, const tf_node_t *node, const char *name, int k,
                             int *out_rank, int64_t dims[HLO_MAX_RANK]) {
  tf_attr_proto_t attr;
  tf_list_proto_t list;
  bool found;
  *out_rank = -1;
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  HR_TRY(TF_DECODE(arena, list, attr.list, &list));
  if (k >= list.shape.count) return NULL;
  return tf_read_shape(arena, proto_piece(&list.shape.items[k]), out_rank, dims);
}

/* Field list (1) of AttrValue, its field s (2): fused_ops, op_names, device_names. */
hr_status_t tf_attr_strings(hr_arena_t *arena, const tf_node_t *node, const char *name,
                            int *out_count, hr_str_t **out_strings) {
  tf_attr_proto_t attr;
  tf_list_proto_t list;
  bool found;
  HR_TRY(tf_attr_find(arena, node, name, &attr, &found));
  HR_TRY(TF_DECODE(arena, list, attr.list, &list));
  *out_count = (int)list.s.count;
  HR_TRY(HR_NEW_ARRAY(arena, list.s.count, out_strings));
  for (int64_t i = 0; i < list.s.count; i++) (*out_strings)[i] = list.s.items[i];
  return NULL;
}
