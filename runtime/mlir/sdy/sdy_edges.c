/* The edges along which Shardy propagated axes, as it records them on ops:
 *
 *   [{step-2 = [{"y" = operand-1 -> [operand-0, result-0]}]}, {step-3 = [...]}] */
#include <string.h>

#include "mlir/sdy/sdy_internal.h"

#define MAX_EDGES 1024 /* targets of one axis, steps of one op */

/* An operand or a result of the op. */
typedef struct edge_end {
  bool is_result;
  int64_t number;
} edge_end_t;

typedef struct edges {
  sdy_verifier_t *verifier;
  const mlir_op_t *op;
  hr_scan_t scan;
  const sdy_mesh_t *mesh; /* mesh of the values that edges join; NULL: none was found yet */
  int step_count;
  int64_t steps[MAX_EDGES];
  int axis_count;
  hr_str_t axes[MAX_EDGES];
} edges_t;

static bool is_same(edge_end_t a, edge_end_t b) {
  return a.is_result == b.is_result && a.number == b.number;
}

/* The mesh of the sharding of an end, if it has one. */
static hr_status_t note_mesh(edges_t *edges, edge_end_t end) {
  const mlir_op_t *op = edges->op;
  int64_t count = end.is_result ? op->result_count : op->operand_count;
  sdy_sharding_t *sharding;
  bool is_known;
  if (end.number >= count) return NULL;
  const mlir_value_t *value = end.is_result ? &op->results[end.number] : op->operands[end.number];
  HR_TRY(sdy_sharding_of(edges->verifier, value, &is_known, &sharding));
  if (!sharding) return NULL;
  if (edges->mesh && !sdy_meshes_equal(edges->mesh, sharding->mesh))
    return sdy_error(edges->verifier, NULL,
                     "sdy.propagation_edges join values on two meshes, want one");
  edges->mesh = sharding->mesh;
  return NULL;
}

/* operand-0 or result-1; edges of functions may name what the op does not have. */
static hr_status_t take_end(edges_t *edges, edge_end_t *out_end) {
  hr_scan_t *scan = &edges->scan;
  hr_scan_take(scan, "");
  const char *at = scan->at;
  out_end->is_result = hr_scan_take(scan, "result-");
  if (!out_end->is_result && !hr_scan_take(scan, "operand-"))
    return hr_scan_unexpected(scan, "operand-N or result-N");
  HR_TRY(hr_scan_number(scan, &out_end->number));
  int64_t count = out_end->is_result ? edges->op->result_count : edges->op->operand_count;
  if (out_end->number >= count && !hr_str_is(edges->op->name, "sdy.func_data_flow_edge"))
    return sdy_error(edges->verifier, at, "sdy.propagation_edges name %s %ld of %ld",
                     out_end->is_result ? "result" : "operand", (long)out_end->number, (long)count);
  return note_mesh(edges, *out_end);
}

/* [operand-0, result-0]: targets, each once, none of them the source */
static hr_status_t take_targets(edges_t *edges, edge_end_t source) {
  hr_scan_t *scan = &edges->scan;
  edge_end_t ends[64];
  int count = 0;
  HR_TRY(hr_scan_want(scan, "["));
  for (bool more = !hr_scan_take(scan, "]"); more; count++) {
    hr_scan_take(scan, "");
    const char *at = scan->at;
    if (count == 64) return hr_scan_unexpected(scan, "at most 64 targets");
    HR_TRY(take_end(edges, &ends[count]));
    if (is_same(ends[count], source))
      return sdy_error(edges->verifier, at, "a propagation edge has its source as a target");
    for (int i = 0; i < count; i++)
      if (is_same(ends[i], ends[count]))
        return sdy_error(edges->verifier, at, "a propagation edge has a target twice");
    HR_TRY(hr_scan_more(scan, "]", &more));
  }
  return NULL;
}

/* {"c":(1)4 = operand-0 -> [result-0]} */
static hr_status_t take_axis(edges_t *edges) {
  hr_scan_t *scan = &edges->scan;
  int64_t ignored;
  edge_end_t source;
  HR_TRY(hr_scan_want(scan, "{"));
  if (edges->axis_count == MAX_EDGES) return hr_scan_unexpected(scan, "at most 1024 edges");
  HR_TRY(hr_scan_quoted(scan, &edges->axes[edges->axis_count++]));
  if (hr_scan_take(scan, ":")) {
    HR_TRY(hr_scan_want(scan, "("));
    HR_TRY(hr_scan_number(scan, &ignored));
    HR_TRY(hr_scan_want(scan, ")"));
    HR_TRY(hr_scan_number(scan, &ignored));
  }
  HR_TRY(hr_scan_want(scan, "="));
  HR_TRY(take_end(edges, &source));
  HR_TRY(hr_scan_want(scan, "->"));
  HR_TRY(take_targets(edges, source));
  return hr_scan_want(scan, "}");
}

/* {step-1 = [...]} */
static hr_status_t take_step(edges_t *edges) {
  hr_scan_t *scan = &edges->scan;
  int64_t number;
  HR_TRY(hr_scan_want(scan, "{"));
  HR_TRY(hr_scan_want(scan, "step-"));
  const char *at = scan->at;
  HR_TRY(hr_scan_number(scan, &number));
  if (edges->step_count == MAX_EDGES) return hr_scan_unexpected(scan, "at most 1024 steps");
  for (int i = 0; i < edges->step_count; i++)
    if (edges->steps[i] == number)
      return sdy_error(edges->verifier, at, "sdy.propagation_edges have step %ld twice",
                       (long)number);
  edges->steps[edges->step_count++] = number;
  HR_TRY(hr_scan_want(scan, "="));
  HR_TRY(hr_scan_want(scan, "["));
  for (bool more = !hr_scan_take(scan, "]"); more;) {
    HR_TRY(take_axis(edges));
    HR_TRY(hr_scan_more(scan, "]", &more));
  }
  return hr_scan_want(scan, "}");
}

static hr_status_t take_steps(edges_t *edges) {
  HR_TRY(hr_scan_want(&edges->scan, "["));
  for (bool more = !hr_scan_take(&edges->scan, "]"); more;) {
    HR_TRY(take_step(edges));
    HR_TRY(hr_scan_more(&edges->scan, "]", &more));
  }
  return NULL;
}

static hr_status_t check_axes(edges_t *edges) {
  const sdy_mesh_t *mesh = edges->mesh;
  if (!mesh)
    return sdy_error(edges->verifier, NULL,
                     "sdy.propagation_edges join no value that has a sharding");
  for (int i = 0; i < edges->axis_count; i++) {
    bool has_it = false;
    for (int a = 0; a < mesh->axis_count; a++)
      has_it |= hr_str_equal(mesh->axes[a].name, edges->axes[i]);
    if (!has_it)
      return sdy_error(edges->verifier, edges->axes[i].data,
                       "sdy.propagation_edges have axis \"%.*s\", which its mesh has not",
                       HR_STR_ARGS(edges->axes[i]));
  }
  return NULL;
}

hr_status_t sdy_verify_propagation_edges(sdy_verifier_t *verifier, const mlir_attr_t *attr) {
  static const char kind[] = "#sdy.propagation_edges<";
  edges_t *edges;
  sdy_place_t place;
  size_t size = sizeof kind - 1;
  if (attr->text.size < size || memcmp(attr->text.data, kind, size) != 0)
    return sdy_error(verifier, NULL, "sdy.propagation_edges is not #sdy.propagation_edges<...>");
  HR_TRY(HR_NEW(&verifier->scratch, &edges));
  edges->verifier = verifier;
  edges->op = verifier->op;
  edges->scan = hr_scan(sdy_attr_text(attr), "list of propagation edges");
  sdy_place_push(&place, verifier, &edges->scan);
  hr_status_t st = take_steps(edges);
  sdy_place_pop(&place);
  return st ? st : check_axes(edges);
}
