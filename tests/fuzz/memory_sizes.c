/* Operations whose sizes are values, which may not be those declared. */
#include <stdio.h>
#include <string.h>

#include "memory_maker.h"

void make_slice_to_dynamic(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x;
  int ids[PROGRAM_MOST_RANK];
  if (!fuzz_has_room(maker, x.rank)) return;
  for (int d = 0; d < x.rank; d++) out.dims[d] = fuzz_within(maker, 0, x.dims[d]);
  for (int d = 0; d < x.rank; d++) ids[d] = fuzz_honest_size(maker, out.dims[d]);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "custom-call(v%d", x.id);
  fuzz_print_indices(maker, ids, x.rank);
  hr_strbuf_printf(&maker->body, "), custom_call_target=\"SliceToDynamic\"\n");
}

void make_dynamic_pad(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x, lists[3];
  int64_t sizes[3][PROGRAM_MOST_RANK] = {{0}};
  if (!fuzz_has_room(maker, 3)) return;
  for (int d = 0; d < x.rank; d++) {
    sizes[0][d] = fuzz_within(maker, -1, 2);
    sizes[1][d] = fuzz_within(maker, 0, 2);
    out.dims[d] =
        x.dims[d] + sizes[0][d] + sizes[1][d] < 0 ? 0 : x.dims[d] + sizes[0][d] + sizes[1][d];
  }
  for (int i = 0; i < 3; i++) lists[i] = fuzz_honest_list(maker, sizes[i], x.rank);
  int zero = fuzz_zero_of(maker, x.dtype);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "dynamic-pad(v%d, v%d, v%d, v%d, v%d)\n", x.id, zero, lists[0].id,
                   lists[1].id, lists[2].id);
}

void make_real_slice(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x, lists[3];
  int64_t sizes[3][PROGRAM_MOST_RANK];
  if (!fuzz_has_room(maker, 3)) return;
  for (int d = 0; d < x.rank; d++) {
    sizes[0][d] = fuzz_within(maker, 0, x.dims[d]);
    sizes[1][d] = fuzz_within(maker, sizes[0][d], x.dims[d]);
    sizes[2][d] = 1;
    out.dims[d] = sizes[1][d] - sizes[0][d];
  }
  for (int i = 0; i < 3; i++) lists[i] = fuzz_honest_list(maker, sizes[i], x.rank);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "real-dynamic-slice(v%d, v%d, v%d, v%d)\n", x.id, lists[0].id,
                   lists[1].id, lists[2].id);
}

void make_dynamic_reshape(maker_t *maker) {
  array_t x = fuzz_pick(maker), out = {.dtype = x.dtype, .rank = 1, .dims = {1}};
  for (int d = 0; d < x.rank; d++) out.dims[0] *= x.dims[d];
  if (!fuzz_has_room(maker, 1)) return;
  int size = fuzz_honest_size(maker, out.dims[0]);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "dynamic-reshape(v%d, v%d)\n", x.id, size);
}

void make_dynamic_gather(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = {.dtype = x.dtype, .rank = x.rank};
  int64_t dims[2] = {fuzz_pick_size(maker), 1}, offsets[PROGRAM_MOST_RANK] = {0};
  if (!fuzz_has_room(maker, 2) || !x.dims[0]) return;
  int indices = fuzz_add_param(maker, "s32", 2, dims, true).id;
  out.dims[0] = dims[0];
  for (int d = 1; d < x.rank; d++)
    out.dims[d] = fuzz_within(maker, 0, x.dims[d]), offsets[d - 1] = d;
  int64_t wanted[PROGRAM_MOST_RANK] = {1};
  for (int d = 1; d < x.rank; d++) wanted[d] = out.dims[d];
  int sizes = fuzz_honest_list(maker, wanted, x.rank).id;
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "dynamic-gather(v%d, v%d, v%d), ", x.id, indices, sizes);
  fuzz_print_list(maker, "offset_dims={", offsets, x.rank - 1, "}, ");
  hr_strbuf_printf(&maker->body,
                   "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1\n");
}

void make_dynamic_top_k(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x;
  char values[96], places[96];
  if (!fuzz_has_room(maker, 1) || *x.dtype == 'c' || strcmp(x.dtype, "pred") == 0) return;
  out.dims[x.rank - 1] = fuzz_within(maker, 0, x.dims[x.rank - 1]);
  int count = fuzz_honest_size(maker, out.dims[x.rank - 1]), pair = maker->next++;
  array_t where = out;
  where.dtype = "s32";
  fuzz_shape_text(&out, values);
  fuzz_shape_text(&where, places);
  hr_strbuf_printf(
      &maker->body,
      "  v%d = (%s, %s) custom-call(v%d, v%d), custom_call_target=\"stablehlo.dynamic_top_k\"\n",
      pair, values, places, x.id, count);
  fuzz_begin_array(maker, &where);
  hr_strbuf_printf(&maker->body, "get-tuple-element(v%d), index=1\n", pair);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "get-tuple-element(v%d), index=0\n", pair);
  if (fuzz_is_real(x.dtype)) maker->program->is_exact = false;
}

void make_dynamic_bits(maker_t *maker) {
  array_t out = {.dtype = "u32", .rank = 1, .dims = {fuzz_pick_size(maker)}};
  int64_t two = 2;
  char bits[96];
  if (!fuzz_has_room(maker, 2)) return;
  int state = fuzz_add_param(maker, "u64", 1, &two, false).id,
      sizes = fuzz_honest_list(maker, out.dims, 1).id;
  int pair = maker->next++;
  hr_strbuf_printf(&maker->body,
                   "  v%d = (u64[2], %s) custom-call(v%d, v%d), "
                   "custom_call_target=\"stablehlo.dynamic_rng_bit_generator\"\n",
                   pair, fuzz_shape_text(&out, bits), state, sizes);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "get-tuple-element(v%d), index=1\n", pair);
}

void make_dynamic_window(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x, lists[5];
  int64_t pads[2] = {x.rank, 2};
  if (!fuzz_has_room(maker, 5)) return;
  int64_t sizes[4][PROGRAM_MOST_RANK], padding[PROGRAM_MOST_RANK] = {0};
  for (int d = 0; d < x.rank; d++) {
    sizes[0][d] = fuzz_within(maker, 1, 3);
    sizes[1][d] = fuzz_within(maker, 1, 2);
    sizes[2][d] = 1;
    sizes[3][d] = 1;
    out.dims[d] = x.dims[d] < sizes[0][d] ? 0 : (x.dims[d] - sizes[0][d]) / sizes[1][d] + 1;
  }
  for (int i = 0; i < 4; i++) lists[i] = fuzz_honest_list(maker, sizes[i], x.rank);
  lists[4] = fuzz_add_param(maker, "s32", 2, pads, true);
  if (x.rank <= 2) fuzz_be_honest(maker, padding, 2 * x.rank);
  int zero = fuzz_zero_of(maker, x.dtype), function = fuzz_add_function(maker, x.dtype);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "custom-call(v%d, v%d", x.id, zero);
  for (int i = 0; i < 5; i++) hr_strbuf_printf(&maker->body, ", v%d", lists[i].id);
  hr_strbuf_printf(
      &maker->body,
      "), custom_call_target=\"stablehlo.dynamic_reduce_window\", called_computations={fun%d}\n",
      function);
}

/* Sizes within bounds, and what is left of them as a static array again. */
void make_bounded(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker);
  char shape[96], bounded[128];
  if (!fuzz_has_room(maker, 1)) return;
  int size = fuzz_add_param(maker, "s32", 0, NULL, true).id;
  int cut = maker->next++;
  int sum = maker->next++;
  int whole = maker->next++;
  fuzz_shape_text(&x, shape);
  char *bracket = strchr(shape, '[');
  snprintf(bounded, sizeof bounded, "%.*s[<=%s", (int)(bracket - shape), shape, bracket + 1);
  hr_strbuf_printf(&maker->body, "  v%d = %s set-dimension-size(v%d, v%d), dimensions={0}\n", cut,
                   bounded, x.id, size);
  hr_strbuf_printf(&maker->body, "  v%d = %s copy(v%d)\n", sum, bounded, cut);
  hr_strbuf_printf(&maker->body, "  v%d = (%s", whole, shape);
  for (int d = 0; d < x.rank; d++) hr_strbuf_printf(&maker->body, ", s32[]");
  hr_strbuf_printf(&maker->body, ") custom-call(v%d), custom_call_target=\"PadToStatic\"\n", sum);
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body, "get-tuple-element(v%d), index=0\n", whole);
}
