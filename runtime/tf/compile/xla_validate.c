/* Finds all operations that are not supported before anything is compiled, so that one message
 * names them all: "Detected unsupported operations when trying to compile graph: Op (node, ...)".
 */
#include <stdlib.h>
#include <string.h>

#include "tf/compile/tf_ops.h"
#include "tf/compile/xla_compiler.h"

#define NODES_NAMED 4 /* nodes that the message names per operation */

typedef struct unsupported_op {
  hr_str_t name;
  int count;
  hr_str_t nodes[NODES_NAMED];
} unsupported_op_t;

typedef struct validation {
  const tf_graph_t *graph;
  hr_arena_t arena;
  hr_map_t visited; /* functions by name */
  HR_VEC(unsupported_op_t) ops;
  bool writes; /* some operation writes a variable */
} validation_t;

/* Operations are few, so that a linear search will do. `count` goes on beyond the names that are
 * kept. */
static hr_status_t add_unsupported(validation_t *v, const tf_node_t *node) {
  size_t i = 0;
  while (i < v->ops.count && !hr_str_equal(v->ops.data[i].name, node->op)) i++;
  if (i == v->ops.count) HR_VEC_PUSH(&v->ops, ((unsupported_op_t){.name = node->op}));
  unsupported_op_t *op = &v->ops.data[i];
  if (op->count < NODES_NAMED) op->nodes[op->count] = node->name;
  op->count++;
  return NULL;
}

static hr_status_t visit_body(validation_t *v, const tf_body_t *body, int count,
                              const tf_input_t *needed, const bool *is_fed);

/* Each function is visited once, which also ends recursion. */
static hr_status_t visit_function(validation_t *v, hr_str_t name) {
  const tf_body_t *body = tf_graph_function(v->graph, name);
  if (!body || hr_map_get(&v->visited, name)) return NULL;
  HR_TRY(hr_map_put(&v->visited, name, (void *)body, NULL));
  return visit_body(v, body, body->ret_count, body->rets, NULL);
}

/* Functions that attributes name. */
static hr_status_t visit_attrs(validation_t *v, const tf_node_t *node) {
  for (int i = 0; i < node->attr_count; i++) {
    tf_attr_proto_t attr;
    tf_list_proto_t list;
    tf_name_attrs_proto_t func;
    HR_TRY(TF_DECODE(&v->arena, attr, node->attrs[i].value, &attr));
    HR_TRY(TF_DECODE(&v->arena, name_attrs, attr.func, &func));
    if (func.name.size) HR_TRY(visit_function(v, func.name));
    HR_TRY(TF_DECODE(&v->arena, list, attr.list, &list));
    for (int64_t k = 0; k < list.func.count; k++) {
      HR_TRY(TF_DECODE(&v->arena, name_attrs, proto_piece(&list.func.items[k]), &func));
      HR_TRY(visit_function(v, func.name));
    }
  }
  return NULL;
}

static bool has_prefix(hr_str_t text, const char *prefix) {
  size_t size = strlen(prefix);
  return text.size >= size && !memcmp(text.data, prefix, size);
}

/* The prefixes cover resource and reference forms. Generators are variables that every draw
 * moves on. */
static bool writes_variable(hr_str_t op) {
  return has_prefix(op, "Assign") || has_prefix(op, "ResourceApply") ||
         has_prefix(op, "ResourceScatter") || has_prefix(op, "ResourceStridedSliceAssign") ||
         has_prefix(op, "Apply") || has_prefix(op, "Rng") || has_prefix(op, "StatefulUniform") ||
         has_prefix(op, "StatefulStandard") || has_prefix(op, "StatefulTruncated");
}

/* _Arg has no row in tf_ops.def; its value is given. */
static hr_status_t visit_node(validation_t *v, const tf_node_t *node) {
  v->writes |= writes_variable(node->op);
  if (tf_graph_function(v->graph, node->op)) return visit_function(v, node->op);
  if (!tf_op_find(node->op) && !hr_str_is(node->op, "_Arg")) HR_TRY(add_unsupported(v, node));
  return visit_attrs(v, node);
}

/* Visits the nodes that the needed outputs depend on, by a stack of node numbers. Fed nodes hide
 * their inputs. The first pass takes needed outputs, the second control results. */
static hr_status_t visit_body(validation_t *v, const tf_body_t *body, int count,
                              const tf_input_t *needed, const bool *is_fed) {
  int *stack;
  bool *seen;
  int height = 0;
  HR_TRY(HR_NEW_ARRAY(&v->arena, body->node_count + 1, &stack));
  HR_TRY(HR_NEW_ARRAY(&v->arena, body->node_count + 1, &seen));
  for (int pass = 0; pass < 2; pass++) {
    int more = pass ? body->control_ret_count : count;
    for (int i = 0; i < more; i++) {
      int node = pass ? body->control_rets[i] : needed[i].node;
      if (!seen[node]) stack[height++] = node;
      seen[node] = true;
    }
  }
  while (height) {
    int index = stack[--height];
    const tf_node_t *node = &body->nodes[index];
    if (is_fed && is_fed[index]) continue;
    HR_TRY(visit_node(v, node));
    for (int k = 0; k < node->input_count + node->control_count; k++) {
      int input = node->inputs[k].node;
      if (!seen[input]) stack[height++] = input;
      seen[input] = true;
    }
  }
  return NULL;
}

/* Messages do not depend on the order of the nodes. */
static int compare_ops(const void *a, const void *b) {
  hr_str_t x = ((const unsupported_op_t *)a)->name;
  hr_str_t y = ((const unsupported_op_t *)b)->name;
  size_t size = x.size < y.size ? x.size : y.size;
  int order = memcmp(x.data, y.data, size);
  return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* The text is that of XlaCompiler's ValidateGraph. */
static hr_status_t report(const validation_t *v) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  qsort(v->ops.data, v->ops.count, sizeof *v->ops.data, compare_ops);
  for (size_t i = 0; i < v->ops.count; i++) {
    const unsupported_op_t *op = &v->ops.data[i];
    hr_strbuf_printf(&text, "%s%.*s (", i ? ", " : "", HR_STR_ARGS(op->name));
    for (int k = 0; k < op->count && k < NODES_NAMED; k++)
      hr_strbuf_printf(&text, "%s%.*s", k ? ", " : "", HR_STR_ARGS(op->nodes[k]));
    if (op->count > NODES_NAMED) hr_strbuf_printf(&text, " and %d more", op->count - NODES_NAMED);
    hr_strbuf_add_char(&text, ')');
  }
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st)
    st = hr_error(HR_UNSUPPORTED,
                  "Detected unsupported operations when trying to compile graph: %s", text.data);
  hr_strbuf_deinit(&text);
  return st;
}

hr_status_t xla_validate(const tf_graph_t *graph, const tf_body_t *body, int count,
                         const tf_input_t *needed, const bool *is_fed) {
  validation_t v = {.graph = graph};
  hr_arena_init(&v.arena);
  hr_map_init(&v.visited);
  hr_status_t st = visit_body(&v, body, count, needed, is_fed);
  if (!st && v.ops.count) st = report(&v);
  HR_VEC_FREE(&v.ops);
  hr_map_deinit(&v.visited);
  hr_arena_deinit(&v.arena);
  return st;
}

hr_status_t xla_writes_variables(const tf_graph_t *graph, const xla_graph_signature_t *signature,
                                 bool *out_writes) {
  validation_t v = {.graph = graph};
  bool *is_fed;
  hr_arena_init(&v.arena);
  hr_map_init(&v.visited);
  hr_status_t st = HR_NEW_ARRAY(&v.arena, graph->main.node_count, &is_fed);
  for (int i = 0; !st && i < signature->feed_count; i++) is_fed[signature->feeds[i].node] = true;
  if (!st) st = visit_body(&v, &graph->main, signature->fetch_count, signature->fetches, is_fed);
  *out_writes = v.writes;
  HR_VEC_FREE(&v.ops);
  hr_map_deinit(&v.visited);
  hr_arena_deinit(&v.arena);
  return st;
}
