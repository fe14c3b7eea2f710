/* Operations of static sizes. */
#include <string.h>

#include "memory_maker.h"

void make_unary(maker_t *maker) {
  array_t x = fuzz_pick(maker), out = x;
  const char *op = strcmp(x.dtype, "pred") == 0 ? "not" : "negate";
  if (*x.dtype != 'c' && fuzz_chance(maker, 2)) {
    do out.dtype = fuzz_pick_dtype(maker);
    while (*out.dtype == 'c');
    op = "convert";
    if (fuzz_is_real(x.dtype) || fuzz_is_real(out.dtype)) maker->program->is_exact = false;
  }
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "%s(v%d)\n", op, x.id);
}

void make_binary(maker_t *maker) {
  static const char *const ops[] = {"add",     "subtract", "multiply",  "maximum",
                                    "minimum", "divide",   "remainder", "power"};
  array_t x = fuzz_pick(maker), y = fuzz_pick_like(maker, &x);
  bool is_pred = strcmp(x.dtype, "pred") == 0;
  const char *op = is_pred ? "xor"
                           : ops[fuzz_below(maker, *x.dtype == 'c'            ? 3
                                                   : fuzz_is_integer(x.dtype) ? 8
                                                                              : 6)];
  if (!fuzz_is_integer(x.dtype) && !is_pred) maker->program->is_exact = false;
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body, "%s(v%d, v%d)\n", op, x.id, y.id);
}

void make_select(maker_t *maker) {
  array_t x = fuzz_pick(maker), y = fuzz_pick_like(maker, &x), p = x;
  p.dtype = "pred";
  if (*x.dtype == 'c') return;
  fuzz_begin_array(maker, &p);
  hr_strbuf_printf(&maker->body, "compare(v%d, v%d), direction=%s\n", x.id, y.id,
                   fuzz_chance(maker, 2) ? "LT" : "GE");
  int p_id = maker->next - 1;
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body, "select(v%d, v%d, v%d)\n", p_id, y.id, x.id);
}

void make_broadcast(maker_t *maker) {
  array_t x = fuzz_pick(maker), out = {.dtype = x.dtype};
  int64_t dims[PROGRAM_MOST_RANK];
  int from = 0;
  out.rank = (int)fuzz_within(maker, x.rank, PROGRAM_MOST_RANK);
  for (int d = 0; d < out.rank; d++) {
    bool is_kept = from < x.rank && (out.rank - d == x.rank - from || fuzz_chance(maker, 2));
    out.dims[d] = is_kept ? x.dims[from] : fuzz_within(maker, 0, 4);
    if (is_kept) dims[from++] = d;
  }
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "broadcast(v%d), ", x.id);
  fuzz_print_list(maker, "dimensions={", dims, x.rank, "}\n");
}

void make_reshape(maker_t *maker) {
  array_t x = fuzz_pick(maker), out = {.dtype = x.dtype, .rank = 1, .dims = {1}};
  for (int d = 0; d < x.rank; d++) out.dims[0] *= x.dims[d];
  for (int64_t factor = 2; factor < 5 && out.rank < 3; factor++) {
    if (out.dims[0] % factor || fuzz_chance(maker, 2)) continue;
    out.dims[0] /= factor;
    out.dims[out.rank++] = factor;
  }
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "reshape(v%d)\n", x.id);
}

void make_transpose(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x;
  int64_t order[PROGRAM_MOST_RANK];
  for (int d = 0; d < x.rank; d++) order[d] = d;
  for (int d = x.rank - 1; d > 0; d--) {
    int64_t other = fuzz_below(maker, d + 1), held = order[d];
    order[d] = order[other];
    order[other] = held;
  }
  for (int d = 0; d < x.rank; d++) out.dims[d] = x.dims[order[d]];
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "transpose(v%d), ", x.id);
  fuzz_print_list(maker, "dimensions={", order, x.rank, "}\n");
}

void make_reverse(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker);
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body, "reverse(v%d), dimensions={%ld}\n", x.id,
                   (long)fuzz_below(maker, x.rank));
}

void make_slice(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x;
  int64_t starts[PROGRAM_MOST_RANK], limits[PROGRAM_MOST_RANK], strides[PROGRAM_MOST_RANK];
  for (int d = 0; d < x.rank; d++) {
    starts[d] = fuzz_within(maker, 0, x.dims[d]);
    limits[d] = fuzz_within(maker, starts[d], x.dims[d]);
    strides[d] = fuzz_chance(maker, 3) ? fuzz_within(maker, 1, 4) : 1;
    out.dims[d] = (limits[d] - starts[d] + strides[d] - 1) / strides[d];
  }
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "slice(v%d), slice={", x.id);
  for (int d = 0; d < x.rank; d++)
    hr_strbuf_printf(&maker->body, "%s[%ld:%ld:%ld]", d ? ", " : "", (long)starts[d],
                     (long)limits[d], (long)strides[d]);
  hr_strbuf_printf(&maker->body, "}\n");
}

void make_pad(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x;
  int64_t low[PROGRAM_MOST_RANK], high[PROGRAM_MOST_RANK], inner[PROGRAM_MOST_RANK];
  for (int d = 0; d < x.rank; d++) {
    low[d] = fuzz_within(maker, -3, 4);
    high[d] = fuzz_within(maker, -3, 4);
    inner[d] = fuzz_chance(maker, 4) ? fuzz_within(maker, 1, 3) : 0;
    out.dims[d] = x.dims[d] + low[d] + high[d] + (x.dims[d] ? (x.dims[d] - 1) * inner[d] : 0);
    if (out.dims[d] >= 0) continue;
    high[d] -= out.dims[d];
    out.dims[d] = 0;
  }
  int zero = fuzz_zero_of(maker, x.dtype);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "pad(v%d, v%d), padding=", x.id, zero);
  for (int d = 0; d < x.rank; d++)
    hr_strbuf_printf(&maker->body, "%s%ld_%ld_%ld", d ? "x" : "", (long)low[d], (long)high[d],
                     (long)inner[d]);
  hr_strbuf_printf(&maker->body, "\n");
}

void make_concatenate(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), y = fuzz_pick_like(maker, &x), out = x;
  int64_t d = fuzz_below(maker, x.rank);
  out.dims[d] = 2 * x.dims[d];
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "concatenate(v%d, v%d), dimensions={%ld}\n", x.id, y.id, (long)d);
}

void make_reduce(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = {.dtype = x.dtype, .rank = x.rank - 1};
  int64_t gone = fuzz_below(maker, x.rank);
  for (int d = 0, to = 0; d < x.rank; d++)
    if (d != gone) out.dims[to++] = x.dims[d];
  int zero = fuzz_zero_of(maker, x.dtype), function = fuzz_add_function(maker, x.dtype);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "reduce(v%d, v%d), dimensions={%ld}, to_apply=fun%d\n", x.id, zero,
                   (long)gone, function);
}

void make_window(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x;
  int64_t size[PROGRAM_MOST_RANK], stride[PROGRAM_MOST_RANK], low[PROGRAM_MOST_RANK],
      high[PROGRAM_MOST_RANK];
  for (int d = 0; d < x.rank; d++) {
    size[d] = fuzz_within(maker, 1, 3);
    stride[d] = fuzz_within(maker, 1, 2);
    low[d] = fuzz_within(maker, 0, 2);
    high[d] = fuzz_within(maker, 0, 2);
    int64_t padded = x.dims[d] + low[d] + high[d];
    out.dims[d] = padded < size[d] ? 0 : (padded - size[d]) / stride[d] + 1;
  }
  int zero = fuzz_zero_of(maker, x.dtype), function = fuzz_add_function(maker, x.dtype);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "reduce-window(v%d, v%d), window={size=", x.id, zero);
  for (int d = 0; d < x.rank; d++)
    hr_strbuf_printf(&maker->body, "%s%ld", d ? "x" : "", (long)size[d]);
  for (int d = 0; d < x.rank; d++)
    hr_strbuf_printf(&maker->body, "%s%ld", d ? "x" : " stride=", (long)stride[d]);
  for (int d = 0; d < x.rank; d++)
    hr_strbuf_printf(&maker->body, "%s%ld_%ld", d ? "x" : " pad=", (long)low[d], (long)high[d]);
  hr_strbuf_printf(&maker->body, "}, to_apply=fun%d\n", function);
}

void make_dot(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), y = {.dtype = x.dtype, .rank = 2},
          out = {.dtype = x.dtype, .rank = x.rank};
  if (strcmp(x.dtype, "pred") == 0 || !fuzz_has_room(maker, 1)) return;
  int64_t dims[2] = {x.dims[x.rank - 1], fuzz_pick_size(maker)};
  y = fuzz_add_param(maker, x.dtype, 2, dims, false);
  for (int d = 0; d + 1 < x.rank; d++) out.dims[d] = x.dims[d];
  out.dims[x.rank - 1] = dims[1];
  if (!fuzz_is_integer(x.dtype)) maker->program->is_exact = false;
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body,
                   "dot(v%d, v%d), lhs_contracting_dims={%d}, rhs_contracting_dims={0}\n", x.id,
                   y.id, x.rank - 1);
}

void make_sort(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker);
  if (*x.dtype == 'c') return;
  int id = maker->next++;
  hr_strbuf_printf(&maker->functions, "fun%d {\n  a = %s[] parameter(0)\n  b = %s[] parameter(1)\n",
                   id, x.dtype, x.dtype);
  hr_strbuf_printf(&maker->functions, "  ROOT c = pred[] compare(a, b), direction=%s\n}\n",
                   fuzz_chance(maker, 3) ? "GT" : "LT");
  if (fuzz_is_real(x.dtype)) maker->program->is_exact = false;
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body, "sort(v%d), dimensions={%ld}, is_stable=true, to_apply=fun%d\n",
                   x.id, (long)fuzz_below(maker, x.rank), id);
}

void make_convolution(maker_t *maker) {
  int64_t in[3] = {fuzz_within(maker, 1, 3), fuzz_within(maker, 1, 9), fuzz_within(maker, 1, 4)};
  int64_t kernel[3] = {fuzz_within(maker, 1, 3), in[2], fuzz_within(maker, 1, 5)};
  int64_t stride = fuzz_within(maker, 1, 2), low = fuzz_within(maker, -1, 2),
          high = fuzz_within(maker, -1, 2);
  const char *dtype = fuzz_chance(maker, 3) ? "s32" : "f32";
  int64_t padded = in[1] + low + high;
  if (!fuzz_has_room(maker, 2) || padded < 0) return;
  if (*dtype == 'f') maker->program->is_exact = false;
  array_t out = {.dtype = dtype, .rank = 3, .dims = {in[0], 0, kernel[2]}};
  if (padded >= kernel[0]) out.dims[1] = (padded - kernel[0]) / stride + 1;
  int x = fuzz_add_param(maker, dtype, 3, in, false).id,
      k = fuzz_add_param(maker, dtype, 3, kernel, false).id;
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(
      &maker->body,
      "convolution(v%d, v%d), window={size=%ld stride=%ld pad=%ld_%ld}, dim_labels=b0f_0io->b0f\n",
      x, k, (long)kernel[0], (long)stride, (long)low, (long)high);
}

void make_bitcast(maker_t *maker) {
  array_t x = fuzz_pick(maker), out = x;
  if (strcmp(x.dtype, "s32") == 0)
    out.dtype = "f32";
  else if (strcmp(x.dtype, "u8") == 0)
    out.dtype = "s8";
  else if (strcmp(x.dtype, "f64") == 0 && x.rank < PROGRAM_MOST_RANK)
    out.dtype = "u16", out.dims[out.rank++] = 4;
  else
    return;
  maker->program->is_exact = maker->program->is_exact && *out.dtype != 'f' && *x.dtype != 'f';
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "bitcast-convert(v%d)\n", x.id);
}

/* Factors of a square matrix, and its equations solved. */
void make_factors(maker_t *maker) {
  int64_t n = fuzz_within(maker, 0, 9), dims[2] = {n, n};
  bool is_solve = fuzz_chance(maker, 2);
  if (!fuzz_has_room(maker, 2)) return;
  const char *dtype = fuzz_chance(maker, 2) ? "f32" : "f64";
  array_t a = fuzz_add_param(maker, dtype, 2, dims, false);
  maker->program->is_exact = false;
  if (!is_solve) {
    fuzz_begin_array(maker, &a);
    hr_strbuf_printf(&maker->body, "cholesky(v%d), lower=%s\n", a.id,
                     fuzz_chance(maker, 2) ? "true" : "false");
    return;
  }
  dims[1] = fuzz_within(maker, 0, 5);
  array_t b = fuzz_add_param(maker, dtype, 2, dims, false);
  fuzz_begin_array(maker, &b);
  hr_strbuf_printf(
      &maker->body,
      "triangular-solve(v%d, v%d), left_side=true, lower=%s, transpose_a=NO_TRANSPOSE\n", a.id,
      b.id, fuzz_chance(maker, 2) ? "true" : "false");
}

void make_top_k(maker_t *maker) {
  array_t x = fuzz_pick_lines(maker), out = x, where;
  char values[96], places[96];
  int pair = maker->next++;
  if (*x.dtype == 'c' || strcmp(x.dtype, "pred") == 0) return;
  if (!fuzz_is_integer(x.dtype)) maker->program->is_exact = false;
  out.dims[x.rank - 1] = fuzz_within(maker, 0, x.dims[x.rank - 1]);
  where = out;
  where.dtype = "s32";
  hr_strbuf_printf(&maker->body, "  v%d = (%s, %s) topk(v%d), k=%ld, largest=true\n", pair,
                   fuzz_shape_text(&out, values), fuzz_shape_text(&where, places), x.id,
                   (long)out.dims[x.rank - 1]);
  fuzz_begin_array(maker, &out);
  hr_strbuf_printf(&maker->body, "get-tuple-element(v%d), index=0\n", pair);
}

void make_select_and_scatter(maker_t *maker) {
  int64_t size = fuzz_within(maker, 1, 3), stride = fuzz_within(maker, 1, 3);
  int64_t count = fuzz_within(maker, 0, 5), pad = fuzz_within(maker, 0, 1);
  const char *dtype = fuzz_chance(maker, 2) ? "s32" : "f32";
  int64_t dims[1] = {count ? (count - 1) * stride + size - pad : fuzz_within(maker, 0, 2)};
  if (!fuzz_has_room(maker, 2) || dims[0] < 0 || (!count && dims[0] + pad >= size)) return;
  array_t x = fuzz_add_param(maker, dtype, 1, dims, false);
  int source = fuzz_add_param(maker, dtype, 1, &count, false).id, zero = fuzz_zero_of(maker, dtype),
      id = maker->next++;
  int function = fuzz_add_function(maker, dtype);
  hr_strbuf_printf(&maker->functions, "fun%d {\n  a = %s[] parameter(0)\n  b = %s[] parameter(1)\n",
                   id, dtype, dtype);
  hr_strbuf_printf(&maker->functions, "  ROOT c = pred[] compare(a, b), direction=GE\n}\n");
  fuzz_begin_array(maker, &x);
  hr_strbuf_printf(&maker->body,
                   "select-and-scatter(v%d, v%d, v%d), window={size=%ld stride=%ld pad=%ld_0}, ",
                   x.id, source, zero, (long)size, (long)stride, (long)pad);
  hr_strbuf_printf(&maker->body, "select=fun%d, scatter=fun%d\n", id, function);
}
