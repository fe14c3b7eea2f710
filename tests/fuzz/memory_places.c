/* Operations whose places are values, and those that reach the world outside. */
#include <string.h>

#include "memory_maker.h"

static bool make_places(maker_t *maker, int rank, int *ids) {
  if (!fuzz_has_room(maker, rank)) return false;
  const char *dtype = fuzz_chance(maker, 3) ? "s64" : "s32";
  for (int d = 0; d < rank; d++) ids[d] = fuzz_add_param(maker, dtype, 0, NULL, true).id;
  return true;
}

void make_dynamic_slice(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x;
  int ids[PROGRAM_MOST_RANK];
  if (!make_places(maker, x.rank, ids)) return;
  for (int d = 0; d < x.rank; d++) out.dims[d] = fuzz_within(maker, 0, x.dims[d]);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "dynamic-slice(v%d", x.id);
  fuzz_print_indices(maker, ids, x.rank);
  fuzz_print_list(maker, "), dynamic_slice_sizes={", out.dims, x.rank, "}\n");
}

void make_dynamic_update(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), block;
  int64_t dims[PROGRAM_MOST_RANK] = {0};
  int ids[PROGRAM_MOST_RANK];
  if (!fuzz_has_room(maker, x.rank + 1)) return;
  for (int d = 0; d < x.rank; d++) dims[d] = fuzz_within(maker, 0, x.dims[d]);
  block = fuzz_add_param(maker, x.dtype, x.rank, dims, false);
  make_places(maker, x.rank, ids);
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body, "dynamic-update-slice(v%d, v%d", x.id, block.id);
  fuzz_print_indices(maker, ids, x.rank);
  hr_strbuf_printf(&maker->body, ")\n");
}

/* Slices along dimension 0, which is collapsed or kept. */
void make_gather(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = {.dtype = x.dtype, .rank = 1};
  int64_t dims[2] = {fuzz_pick_size(maker), 1}, sizes[PROGRAM_MOST_RANK],
          offsets[PROGRAM_MOST_RANK] = {0};
  bool is_kept = fuzz_chance(maker, 2);
  int offset_count = 0;
  if (!fuzz_has_room(maker, 1) || x.rank + is_kept > PROGRAM_MOST_RANK || !x.dims[0]) return;
  int indices = fuzz_add_param(maker, fuzz_chance(maker, 3) ? "s64" : "s32", 2, dims, true).id;
  out.dims[0] = dims[0];
  for (int d = 0; d < x.rank; d++) {
    sizes[d] = d         ? fuzz_within(maker, 0, x.dims[d])
               : is_kept ? fuzz_within(maker, 1, x.dims[0])
                         : 1;
    if (!d && !is_kept) continue;
    offsets[offset_count++] = out.rank;
    out.dims[out.rank++] = sizes[d];
  }
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "gather(v%d, v%d), ", x.id, indices);
  fuzz_print_list(maker, "offset_dims={", offsets, offset_count, "}, ");
  hr_strbuf_printf(&maker->body,
                   "collapsed_slice_dims={%s}, start_index_map={0}, index_vector_dim=1, ",
                   is_kept ? "" : "0");
  fuzz_print_list(maker, "slice_sizes={", sizes, x.rank, "}\n");
}

void make_scatter(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker);
  int64_t dims[2] = {fuzz_pick_size(maker), 1}, update[PROGRAM_MOST_RANK],
          windows[PROGRAM_MOST_RANK] = {0};
  if (!fuzz_has_room(maker, 2)) return;
  int indices = fuzz_add_param(maker, fuzz_chance(maker, 3) ? "s64" : "s32", 2, dims, true).id;
  update[0] = dims[0];
  for (int d = 1; d < x.rank; d++) update[d] = fuzz_within(maker, 0, x.dims[d]), windows[d - 1] = d;
  int updates = fuzz_add_param(maker, x.dtype, x.rank, update, false).id,
      function = fuzz_add_function(maker, x.dtype);
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body, "scatter(v%d, v%d, v%d), ", x.id, indices, updates);
  fuzz_print_list(maker, "update_window_dims={", windows, x.rank - 1, "}, ");
  hr_strbuf_printf(
      &maker->body,
      "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, ");
  hr_strbuf_printf(&maker->body, "to_apply=fun%d\n", function);
}

/* Condition and body, which takes a line of x, of shape `shape`, from one place to another. */
static void make_loop_functions(maker_t *maker, int id, const array_t *x, const char *shape,
                                const char *line) {
  hr_strbuf_t *f = &maker->functions;
  hr_strbuf_printf(f,
                   "cond%d {\n  p = (s32[], s32[], %s) parameter(0)\n  i = s32[] "
                   "get-tuple-element(p), index=0\n",
                   id, shape);
  hr_strbuf_printf(f,
                   "  n = s32[] constant(%ld)\n  ROOT l = pred[] compare(i, n), direction=LT\n}\n",
                   (long)fuzz_within(maker, 0, 5));
  hr_strbuf_printf(f,
                   "body%d {\n  p = (s32[], s32[], %s) parameter(0)\n  i = s32[] "
                   "get-tuple-element(p), index=0\n",
                   id, shape);
  hr_strbuf_printf(
      f, "  k = s32[] get-tuple-element(p), index=1\n  x = %s get-tuple-element(p), index=2\n",
      shape);
  hr_strbuf_printf(f,
                   "  one = s32[] constant(1)\n  z = s32[] constant(0)\n  j = s32[] add(i, one)\n "
                   " m = s32[] multiply(k, j)\n");
  hr_strbuf_printf(f, "  s = %s dynamic-slice(x, m", line);
  for (int d = 1; d < x->rank; d++) hr_strbuf_printf(f, ", z");
  hr_strbuf_printf(f, "), dynamic_slice_sizes={1");
  for (int d = 1; d < x->rank; d++) hr_strbuf_printf(f, ",%ld", (long)x->dims[d]);
  hr_strbuf_printf(f, "}\n  u = %s dynamic-update-slice(x, s, j", shape);
  for (int d = 1; d < x->rank; d++) hr_strbuf_printf(f, ", z");
  hr_strbuf_printf(f, ")\n  ROOT t = (s32[], s32[], %s) tuple(j, m, u)\n}\n", shape);
}

/* A loop that writes lines of an array where a value says, and reads them back elsewhere. */
void make_loop(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker);
  char shape[96], line[96];
  array_t part = x;
  int id = maker->next++;
  if (!x.dims[0] || !fuzz_has_room(maker, 1)) return;
  part.dims[0] = 1;
  fuzz_shape_text(&x, shape);
  fuzz_shape_text(&part, line);
  make_loop_functions(maker, id, &x, shape, line);
  int start = fuzz_add_param(maker, "s32", 0, NULL, true).id;
  int zero = fuzz_zero_of(maker, "s32");
  int t = maker->next++;
  int w = maker->next++;
  hr_strbuf_printf(&maker->body, "  v%d = (s32[], s32[], %s) tuple(v%d, v%d, v%d)\n", t, shape,
                   zero, start, x.id);
  hr_strbuf_printf(&maker->body,
                   "  v%d = (s32[], s32[], %s) while(v%d), condition=cond%d, body=body%d\n", w,
                   shape, t, id, id);
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body, "get-tuple-element(v%d), index=2\n", w);
}

void make_conditional(maker_t *maker) {
  array_t x = fuzz_pick(maker);
  char shape[96];
  int id = maker->next++;
  if (!fuzz_has_room(maker, 1)) return;
  fuzz_shape_text(&x, shape);
  hr_strbuf_printf(&maker->functions, "then%d {\n  a = %s parameter(0)\n  ROOT b = %s copy(a)\n}\n",
                   id, shape, shape);
  hr_strbuf_printf(&maker->functions, "else%d {\n  ROOT a = %s parameter(0)\n}\n", id, shape);
  int choice = fuzz_add_param(maker, "s32", 0, NULL, true).id;
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body,
                   "conditional(v%d, v%d, v%d), branch_computations={then%d, else%d}\n", choice,
                   x.id, x.id, id, id);
}

/* --- the world --- */

void make_custom_call(maker_t *maker) {
  int64_t count = PROGRAM_CUSTOM_COUNT;
  if (!fuzz_has_room(maker, 1)) return;
  array_t x = fuzz_add_param(maker, "u32", 1, &count, false);
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body,
                   "custom-call(v%d), custom_call_target=\"" PROGRAM_CUSTOM_CALL "\"\n", x.id);
}

void make_feeds(maker_t *maker) {
  array_t x = fuzz_pick(maker), in = {.dtype = "s32", .rank = 1, .dims = {4}};
  char shape[96];
  if (maker->program->has_feeds || !fuzz_chance(maker, 8)) return;
  maker->program->has_feeds = true;
  int token = maker->next++, pair = maker->next++, after = maker->next++;
  hr_strbuf_printf(&maker->body,
                   "  v%d = token[] after-all()\n  v%d = (s32[4], token[]) infeed(v%d)\n", token,
                   pair, token);
  hr_strbuf_printf(&maker->body, "  v%d = token[] get-tuple-element(v%d), index=1\n", after, pair);
  hr_strbuf_printf(&maker->body, "  v%d = token[] outfeed(v%d, v%d), outfeed_shape=%s\n",
                   maker->next++, x.id, after, fuzz_shape_text(&x, shape));
  fuzz_begin_array(maker, &in);
  hr_strbuf_printf(&maker->body, "get-tuple-element(v%d), index=0\n", pair);
}
