/* Shardy's collectives, and constraints. A collective has the sharding of its result as an
 * attribute, and lists the axes over which it works: applied to the sharding of the operand, they
 * must give that of the result.
 *
 *   sdy.all_gather [{"y"}, {}] %x : [{"x", "y"}, {"z"}] -> [{"x"}, {"z"}] */
#include <string.h>

#include "mlir/sdy/sdy_internal.h"

typedef enum sdy_kind {
  SDY_GATHER,    /* removes axes from the end of each dimension */
  SDY_SLICE,     /* adds axes at the end of each dimension */
  SDY_MOVE,      /* from one dimension to another */
  SDY_PERMUTE,   /* other axes of the same sizes */
  SDY_REDUCE,    /* removes unreduced axes */
  SDY_UNREDUCE,  /* removes axes from the end of each dimension, which become unreduced */
  SDY_REPLICATED /* axes of none become unreduced */
} sdy_kind_t;

typedef struct collective_row {
  const char *name, *axes;
  sdy_kind_t kind;
  bool can_lack;   /* the operand needs no sharding */
  bool is_reducer; /* has a reduction */
} collective_row_t;

static const collective_row_t rows[] = {
    {"sdy.all_gather", "gathering_axes", SDY_GATHER, false, false},
    {"sdy.all_reduce", "reduction_axes", SDY_REDUCE, true, true},
    {"sdy.all_slice", "slicing_axes", SDY_SLICE, true, false},
    {"sdy.all_to_all", "params", SDY_MOVE, false, false},
    {"sdy.collective_permute", NULL, SDY_PERMUTE, false, false},
    {"sdy.reduce_scatter", "reduce_scatter_axes", SDY_SLICE, true, true},
    {"sdy.replicated_to_unreduced", "axes", SDY_REPLICATED, false, false},
    {"sdy.sharded_to_unreduced", "axes", SDY_UNREDUCE, false, false}};

typedef struct collective {
  const collective_row_t *row;
  const mlir_value_t *operand;
  const sdy_sharding_t *from, *to;
  hr_str_t text; /* its list of axes */
} collective_t;

/* --- axes of each dimension --- */

/* Parses [{}, {"x"}] of as many dimensions as the result has, and checks the axes. */
static hr_status_t read_lists(sdy_verifier_t *verifier, const collective_t *op,
                              sdy_axes_t **out_lists) {
  hr_scan_t scan = hr_scan(op->text, "list of axes");
  sdy_axes_t seen = {0, NULL}, one;
  sdy_place_t place;
  int count = 0;
  HR_TRY(HR_NEW_ARRAY(&verifier->scratch, op->to->rank + 1, out_lists));
  sdy_place_push(&place, verifier, &scan);
  hr_status_t st = hr_scan_want(&scan, "[");
  for (bool more = !st && !hr_scan_take(&scan, "]"); more && !st; count++) {
    st = sdy_parse_axes(verifier, &scan, &one);
    if (!st && count < op->to->rank) (*out_lists)[count] = one;
    if (!st) st = hr_scan_more(&scan, "]", &more);
  }
  sdy_place_pop(&place);
  HR_TRY(st);
  if (count != op->to->rank)
    return sdy_error(verifier, op->text.data, "%d list%s of axes for a value of rank %d", count,
                     count == 1 ? "" : "s", op->to->rank);
  for (int d = 0; d < count; d++)
    HR_TRY(sdy_resolve_axes(verifier, op->to->mesh, (*out_lists)[d], &seen));
  return NULL;
}

/* Removes one axis from the end of a list: all of the last axis, or its minor part. */
static bool drop_axis(sdy_axes_t *axes, const sdy_axis_t *dropped) {
  sdy_axis_t *last = axes->count ? &axes->items[axes->count - 1] : NULL;
  if (!last || last->number != dropped->number || dropped->pre < last->pre ||
      last->pre * last->size != dropped->pre * dropped->size || dropped->pre % last->pre)
    return false;
  if (dropped->pre == last->pre) {
    axes->count--;
  } else {
    last->size = dropped->pre / last->pre;
    last->is_part = true;
  }
  return true;
}

/* The axes of dimension d without `dropped` at their end. */
static hr_status_t drop_end(sdy_verifier_t *verifier, const sdy_sharding_t *from, int d,
                            sdy_axes_t dropped, sdy_axes_t *out_axes) {
  HR_TRY(sdy_copy_axes(verifier, from->dims[d].axes, 1, out_axes));
  for (int i = dropped.count - 1; i >= 0; i--)
    if (!drop_axis(out_axes, &dropped.items[i]))
      return sdy_error(verifier, dropped.items[i].name.data,
                       "takes axis %s from the end of dimension %d, which has [%s]",
                       sdy_axes_text(verifier, (sdy_axes_t){1, &dropped.items[i]}), d,
                       sdy_axes_text(verifier, from->dims[d].axes));
  return NULL;
}

static hr_status_t add_end(sdy_verifier_t *verifier, const sdy_sharding_t *from, int d,
                           sdy_axes_t added, sdy_axes_t *out_axes) {
  HR_TRY(sdy_copy_axes(verifier, from->dims[d].axes, added.count, out_axes));
  for (int i = 0; i < added.count; i++) sdy_append_axis(from->mesh, out_axes, &added.items[i]);
  return NULL;
}

static hr_status_t want_dim(sdy_verifier_t *verifier, const sdy_sharding_t *to, int d,
                            sdy_axes_t wanted) {
  if (sdy_axes_equal(to->dims[d].axes, wanted)) return NULL;
  return sdy_error(verifier, to->dims[d].at,
                   "out_sharding has [%s] in dimension %d, want [%s] by the operand's sharding",
                   sdy_axes_text(verifier, to->dims[d].axes), d, sdy_axes_text(verifier, wanted));
}

static hr_status_t verify_lists(sdy_verifier_t *verifier, const collective_t *op,
                                sdy_axes_t *out_all) {
  sdy_axes_t *lists, wanted;
  HR_TRY(read_lists(verifier, op, &lists));
  *out_all = (sdy_axes_t){0, NULL};
  for (int d = 0; d < op->to->rank; d++) {
    bool is_slice = op->row->kind == SDY_SLICE;
    HR_TRY((is_slice ? add_end : drop_end)(verifier, op->from, d, lists[d], &wanted));
    HR_TRY(want_dim(verifier, op->to, d, wanted));
    HR_TRY(sdy_union_axes(verifier, op->to->mesh, *out_all, lists[d], out_all));
  }
  return NULL;
}

/* --- unreduced axes --- */

static hr_status_t want_unreduced(sdy_verifier_t *verifier, const collective_t *op,
                                  sdy_axes_t added) {
  sdy_axes_t wanted;
  if (strcmp(op->to->reduction, "sum") != 0)
    return sdy_error(verifier, op->to->at, "out_sharding is unreduced of a %s, want of a sum",
                     op->to->reduction);
  HR_TRY(sdy_union_axes(verifier, op->to->mesh, op->from->unreduced, added, &wanted));
  if (sdy_axes_equal(op->to->unreduced, wanted)) return NULL;
  return sdy_error(verifier, op->to->at, "out_sharding has unreduced axes [%s], want [%s]",
                   sdy_axes_text(verifier, op->to->unreduced), sdy_axes_text(verifier, wanted));
}

/* A single list, sorted: {"x", "y"} */
static hr_status_t read_list(sdy_verifier_t *verifier, const collective_t *op, const char *what,
                             sdy_axes_t *out_axes) {
  hr_scan_t scan = hr_scan(op->text, "list of axes");
  sdy_axes_t seen = {0, NULL};
  sdy_place_t place;
  sdy_place_push(&place, verifier, &scan);
  hr_status_t st = sdy_parse_axes(verifier, &scan, out_axes);
  sdy_place_pop(&place);
  HR_TRY(st);
  HR_TRY(sdy_resolve_axes(verifier, op->to->mesh, *out_axes, &seen));
  return sdy_check_order(verifier, *out_axes, what);
}

static hr_status_t want_same_dims(sdy_verifier_t *verifier, const collective_t *op) {
  for (int d = 0; d < op->to->rank; d++)
    HR_TRY(want_dim(verifier, op->to, d, op->from->dims[d].axes));
  return NULL;
}

/* Checks that none of the axes cuts a dimension of the operand, or is in a further list of it. */
static hr_status_t want_free(sdy_verifier_t *verifier, const collective_t *op, sdy_axes_t axes,
                             sdy_axes_t others, const char *what) {
  for (int d = 0; d <= op->from->rank; d++) {
    sdy_axes_t taken = d < op->from->rank ? op->from->dims[d].axes : others;
    const sdy_axis_t *found = sdy_find_overlap(axes, taken);
    if (found && d < op->from->rank)
      return sdy_error(verifier, found->name.data, "axis %s cuts dimension %d of the operand",
                       sdy_axes_text(verifier, (sdy_axes_t){1, (sdy_axis_t *)found}), d);
    if (found)
      return sdy_error(verifier, found->name.data, "axis %s is %s the operand",
                       sdy_axes_text(verifier, (sdy_axes_t){1, (sdy_axis_t *)found}), what);
  }
  return NULL;
}

static hr_status_t verify_reduce(sdy_verifier_t *verifier, const collective_t *op) {
  sdy_axes_t axes;
  HR_TRY(read_list(verifier, op, "reduction", &axes));
  HR_TRY(want_same_dims(verifier, op));
  HR_TRY(want_free(verifier, op, axes, op->from->replicated, "a replicated one of"));
  const sdy_axis_t *left = sdy_find_overlap(axes, op->to->unreduced);
  if (!left) return NULL;
  return sdy_error(verifier, left->name.data, "axis %s is reduced, but unreduced in out_sharding",
                   sdy_axes_text(verifier, (sdy_axes_t){1, (sdy_axis_t *)left}));
}

static hr_status_t verify_replicated(sdy_verifier_t *verifier, const collective_t *op) {
  sdy_axes_t axes;
  HR_TRY(read_list(verifier, op, "unreduced", &axes));
  if (!axes.count) return sdy_error(verifier, op->text.data, "no axes, want at least one");
  HR_TRY(want_same_dims(verifier, op));
  HR_TRY(want_free(verifier, op, axes, op->from->unreduced, "already an unreduced one of"));
  return want_unreduced(verifier, op, axes);
}

static hr_status_t verify_permute(sdy_verifier_t *verifier, const collective_t *op) {
  const sdy_mesh_t *from = op->from->mesh, *to = op->to->mesh;
  bool same_axes = from->axis_count == to->axis_count;
  for (int a = 0; same_axes && a < from->axis_count; a++)
    same_axes = hr_str_equal(from->axes[a].name, to->axes[a].name) &&
                from->axes[a].size == to->axes[a].size;
  if (!same_axes)
    return sdy_error(verifier, op->to->at,
                     "the mesh of out_sharding has other axes than that of "
                     "the operand");
  if (!hr_str_equal(op->from->mesh_name, op->to->mesh_name) && sdy_meshes_equal(from, to))
    return sdy_error(verifier, op->to->at,
                     "mesh @%.*s has the devices of the operand's mesh @%.*s, want that one",
                     HR_STR_ARGS(op->to->mesh_name), HR_STR_ARGS(op->from->mesh_name));
  for (int d = 0; d < op->to->rank; d++) {
    int64_t want = sdy_axes_parts(op->from->dims[d].axes);
    int64_t parts = sdy_axes_parts(op->to->dims[d].axes);
    if (parts != want)
      return sdy_error(verifier, op->to->dims[d].at,
                       "out_sharding cuts dimension %d into %ld parts, want the operand's %ld", d,
                       (long)parts, (long)want);
  }
  return NULL;
}

/* --- all-to-all --- */

typedef struct move {
  const char *at;
  sdy_axes_t axes;
  int from, to;
} move_t;

/* A dimension of the value; texts may have any number. */
static hr_status_t take_dim(sdy_verifier_t *verifier, hr_scan_t *scan, const char *what, int rank,
                            uint64_t *seen, int *out_dim) {
  int64_t dim;
  hr_scan_take(scan, "");
  const char *at = scan->at;
  bool is_negative = hr_scan_take(scan, "-");
  HR_TRY(hr_scan_number(scan, &dim));
  if (is_negative) dim = -dim;
  if (dim < 0 || dim >= rank)
    return sdy_error(verifier, at, "%s dimension %ld, want 0 to %d", what, (long)dim, rank - 1);
  if (*seen >> dim & 1)
    return sdy_error(verifier, at, "dimension %ld is moved from or to twice", (long)dim);
  *seen |= UINT64_C(1) << dim;
  *out_dim = (int)dim;
  return NULL;
}

/* {"y"}: 0->1 */
static hr_status_t take_move(sdy_verifier_t *verifier, hr_scan_t *scan, const collective_t *op,
                             uint64_t *seen, move_t *out_move) {
  hr_scan_take(scan, "");
  out_move->at = scan->at;
  HR_TRY(sdy_parse_axes(verifier, scan, &out_move->axes));
  HR_TRY(hr_scan_want(scan, ":"));
  HR_TRY(take_dim(verifier, scan, "source", op->to->rank, seen, &out_move->from));
  HR_TRY(hr_scan_want(scan, "->"));
  return take_dim(verifier, scan, "target", op->to->rank, seen, &out_move->to);
}

#define MAX_MOVES 64

static hr_status_t take_moves(sdy_verifier_t *verifier, hr_scan_t *scan, const collective_t *op,
                              move_t *moves, uint64_t *seen, int *out_count) {
  sdy_axes_t all = {0, NULL};
  HR_TRY(hr_scan_want(scan, "["));
  *out_count = 0;
  for (bool more = !hr_scan_take(scan, "]"); more && *out_count < MAX_MOVES; ++*out_count) {
    move_t *move = &moves[*out_count];
    HR_TRY(take_move(verifier, scan, op, seen, move));
    HR_TRY(sdy_resolve_axes(verifier, op->to->mesh, move->axes, &all));
    if (*out_count && move->from < move[-1].from)
      return sdy_error(verifier, move->at,
                       "source dimension %d comes after %d, want ascending ones", move->from,
                       move[-1].from);
    HR_TRY(hr_scan_more(scan, "]", &more));
  }
  return *out_count ? NULL : sdy_error(verifier, op->text.data, "no axes to move, want some");
}

static hr_status_t verify_moves(sdy_verifier_t *verifier, const collective_t *op) {
  hr_scan_t scan = hr_scan(op->text, "list of moves");
  move_t moves[MAX_MOVES];
  uint64_t seen = 0;
  sdy_place_t place;
  sdy_axes_t wanted;
  int count;
  sdy_place_push(&place, verifier, &scan);
  hr_status_t st = take_moves(verifier, &scan, op, moves, &seen, &count);
  sdy_place_pop(&place);
  HR_TRY(st);
  for (int i = 0; i < count; i++) {
    HR_TRY(drop_end(verifier, op->from, moves[i].from, moves[i].axes, &wanted));
    HR_TRY(want_dim(verifier, op->to, moves[i].from, wanted));
    HR_TRY(add_end(verifier, op->from, moves[i].to, moves[i].axes, &wanted));
    HR_TRY(want_dim(verifier, op->to, moves[i].to, wanted));
  }
  for (int d = 0; d < op->to->rank; d++)
    if (!(seen >> d & 1)) HR_TRY(want_dim(verifier, op->to, d, op->from->dims[d].axes));
  return NULL;
}

/* --- all --- */

static hr_status_t verify_kind(sdy_verifier_t *verifier, const collective_t *op) {
  sdy_axes_t axes;
  switch (op->row->kind) {
    case SDY_GATHER:
    case SDY_SLICE:
      return verify_lists(verifier, op, &axes);
    case SDY_UNREDUCE:
      HR_TRY(verify_lists(verifier, op, &axes));
      return want_unreduced(verifier, op, axes);
    case SDY_MOVE:
      return verify_moves(verifier, op);
    case SDY_PERMUTE:
      return verify_permute(verifier, op);
    case SDY_REDUCE:
      return verify_reduce(verifier, op);
    default:
      return verify_replicated(verifier, op);
  }
}

/* The reduction of an all_reduce or reduce_scatter; absent: a sum. */
static const char *reduction_of(const mlir_op_t *op) {
  const mlir_attr_t *attr = mlir_op_attr(op, "reduction_op");
  hr_str_t text = attr ? attr->text : (hr_str_t){"", 0};
  if (memmem(text.data, text.size, "max", 3)) return "max";
  return memmem(text.data, text.size, "min", 3) ? "min" : "sum";
}

/* A value without a sharding is whole on every device. */
static hr_status_t whole_sharding(sdy_verifier_t *verifier, const sdy_sharding_t *like,
                                  sdy_sharding_t **out_sharding) {
  HR_TRY(HR_NEW(&verifier->scratch, out_sharding));
  HR_TRY(HR_NEW_ARRAY(&verifier->scratch, like->rank, &(*out_sharding)->dims));
  (*out_sharding)->at = like->at;
  (*out_sharding)->rank = like->rank;
  (*out_sharding)->mesh = like->mesh;
  (*out_sharding)->mesh_name = like->mesh_name;
  (*out_sharding)->reduction = "sum";
  return NULL;
}

static hr_status_t verify_row(sdy_verifier_t *verifier, const collective_row_t *row) {
  const mlir_op_t *instr = verifier->op;
  sdy_sharding_t to, *from;
  bool is_known;
  const mlir_attr_t *out = mlir_op_attr(instr, "out_sharding");
  if (!out) return sdy_error(verifier, NULL, "no out_sharding");
  if (instr->operand_count != 1 || instr->result_count != 1)
    return sdy_error(verifier, NULL, "%d operands and %d results, want one of each",
                     instr->operand_count, instr->result_count);
  HR_TRY(sdy_sharding_of(verifier, instr->operands[0], &is_known, &from));
  HR_TRY(sdy_parse_sharding(verifier, sdy_attr_text(out), &to));
  HR_TRY(sdy_check_sharding(verifier, &to, instr->results[0].type));
  if (!is_known) return NULL;
  if (!from && !row->can_lack)
    return sdy_error(verifier, NULL, "its operand has no sharding, want one");
  if (!from) HR_TRY(whole_sharding(verifier, &to, &from));
  if (row->kind != SDY_PERMUTE && !sdy_meshes_equal(from->mesh, to.mesh))
    return sdy_error(verifier, to.at, "the mesh of out_sharding is not that of the operand");
  if (from->rank != to.rank)
    return sdy_error(verifier, to.at, "out_sharding has %d dimensions, want the operand's %d",
                     to.rank, from->rank);
  if (row->is_reducer)
    HR_TRY(sdy_check_transition(verifier, from, &to,
                                &(sdy_transition_t){.removes = reduction_of(instr)}));
  collective_t op = {row, instr->operands[0], from, &to, {"", 0}};
  if (row->axes) op.text = sdy_attr_text(mlir_op_attr(instr, row->axes));
  return verify_kind(verifier, &op);
}

hr_status_t sdy_verify_collective(sdy_verifier_t *verifier) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (hr_str_is(verifier->op->name, rows[i].name)) return verify_row(verifier, &rows[i]);
  return NULL;
}

/* --- sdy.sharding_constraint, sdy.reshard --- */

/* Barriers keep the sharding of their operand. */
static const mlir_value_t *behind_barriers(const mlir_value_t *value) {
  while (value->owner && hr_str_is(value->owner->name, "sdy.propagation_barrier") &&
         value->owner->operand_count)
    value = value->owner->operands[0];
  return value;
}

hr_status_t sdy_verify_constraint(sdy_verifier_t *verifier) {
  const mlir_op_t *op = verifier->op;
  const mlir_attr_t *attr = mlir_op_attr(op, "sharding");
  sdy_sharding_t to, *from;
  bool is_known;
  if (!attr) return sdy_error(verifier, NULL, "no sharding");
  if (op->operand_count != 1 || op->result_count != 1)
    return sdy_error(verifier, NULL, "%d operands and %d results, want one of each",
                     op->operand_count, op->result_count);
  HR_TRY(sdy_parse_sharding(verifier, sdy_attr_text(attr), &to));
  HR_TRY(sdy_check_sharding(verifier, &to, op->results[0].type));
  HR_TRY(sdy_sharding_of(verifier, behind_barriers(op->operands[0]), &is_known, &from));
  if (!from) return NULL;
  return sdy_check_transition(verifier, from, &to, &(sdy_transition_t){.can_add = true});
}
