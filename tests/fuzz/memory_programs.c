#include "memory_programs.h"

#include <stdio.h>
#include <string.h>

typedef struct array {
  int id;
  const char *dtype;
  int rank;
  int64_t dims[PROGRAM_MOST_RANK];
  int uses;
} array_t;

enum { MOST_ARRAYS = 64, MOST_RESULTS = 5, ASKED_PARAMS = 24 /* a few more are made without asking */,
       MOST_ELEMENTS = 4096 };

typedef struct maker {
  uint64_t random;
  program_t *program;
  hr_text_t functions, body;
  int next; /* number of an instruction or function */
  int array_count;
  array_t arrays[MOST_ARRAYS];
} maker_t;

uint64_t program_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static int64_t below(maker_t *maker, int64_t limit) {
  return limit > 0 ? (int64_t)(program_random(&maker->random) % (uint64_t)limit) : 0;
}

static int64_t within(maker_t *maker, int64_t least, int64_t most) { return least + below(maker, most - least + 1); }
static bool chance(maker_t *maker, int one_in) { return below(maker, one_in) == 0; }

static const char *pick_dtype(maker_t *maker) {
  static const char *const dtypes[] = {"s32", "s32", "s32", "f32", "f32", "f64", "s64", "u8",
                                       "s8",  "u16", "u32", "pred", "bf16", "f16", "c64", "u64"};
  return dtypes[below(maker, (int64_t)(sizeof dtypes / sizeof *dtypes))];
}

static bool is_integer(const char *dtype) { return *dtype == 's' || *dtype == 'u'; }
static bool is_real(const char *dtype) { return *dtype == 'f' || *dtype == 'b'; }

static int64_t pick_size(maker_t *maker) {
  if (chance(maker, 12)) return 0;
  if (chance(maker, 12)) return within(maker, 15, 70);
  return within(maker, 1, 6);
}

static const char *shape_text(const array_t *array, char text[96]) {
  int at = snprintf(text, 96, "%s[", array->dtype);
  for (int d = 0; d < array->rank; d++)
    at += snprintf(text + at, 96 - (size_t)at, "%s%ld", d ? "," : "", (long)array->dims[d]);
  snprintf(text + at, 96 - (size_t)at, "]");
  return text;
}

/* --- arrays --- */

static array_t *add_array(maker_t *maker, const array_t *shape) {
  if (maker->array_count == MOST_ARRAYS) maker->array_count--;
  array_t *array = &maker->arrays[maker->array_count++];
  *array = *shape;
  array->id = maker->next++;
  array->uses = 0;
  return array;
}

/* "  vN = SHAPE ": the caller adds the operation and the line's end. */
static void begin_array(maker_t *maker, const array_t *shape) {
  char text[96];
  array_t *array = add_array(maker, shape);
  hr_text_printf(&maker->body, "  v%d = %s ", array->id, shape_text(array, text));
}

static array_t add_param(maker_t *maker, const char *dtype, int rank, const int64_t *dims, bool is_index) {
  program_t *program = maker->program;
  array_t shape = {.dtype = dtype, .rank = rank};
  program_param_t *param = &program->params[program->param_count];
  for (int d = 0; d < rank; d++) shape.dims[d] = dims[d];
  *param = (program_param_t){.dtype = dtype, .rank = rank, .is_index = is_index};
  memcpy(param->dims, shape.dims, sizeof param->dims);
  begin_array(maker, &shape);
  hr_text_printf(&maker->body, "parameter(%d)\n", program->param_count++);
  return maker->arrays[maker->array_count - 1];
}

static bool has_room(const maker_t *maker, int params) {
  return maker->program->param_count + params <= ASKED_PARAMS;
}

/* A number that only the run knows. */
static int index_scalar(maker_t *maker) {
  static const char *const dtypes[] = {"s32", "s32", "s64", "u32", "s8", "u64"};
  return add_param(maker, dtypes[below(maker, 6)], 0, NULL, true).id;
}

static array_t size_list(maker_t *maker, int64_t count) {
  return add_param(maker, chance(maker, 4) ? "s64" : "s32", 1, &count, true);
}

/* The parameter made last has these values, more often than not. */
static void be_honest(maker_t *maker, const int64_t *values, int count) {
  program_param_t *param = &maker->program->params[maker->program->param_count - 1];
  if (chance(maker, 4)) return;
  param->honest_count = count;
  for (int i = 0; i < count; i++) param->honest[i] = values[i];
}

static array_t honest_list(maker_t *maker, const int64_t *values, int count) {
  array_t list = size_list(maker, count);
  be_honest(maker, values, count);
  return list;
}

static int honest_size(maker_t *maker, int64_t value) {
  int id = add_param(maker, "s32", 0, NULL, true).id;
  be_honest(maker, &value, 1);
  return id;
}

static array_t random_param(maker_t *maker) {
  int64_t dims[PROGRAM_MOST_RANK], count = 1;
  int rank = (int)within(maker, 0, 3);
  for (int d = 0; d < rank; d++) {
    dims[d] = count > MOST_ELEMENTS / 70 ? within(maker, 0, 2) : pick_size(maker);
    count *= dims[d];
  }
  return add_param(maker, pick_dtype(maker), rank, dims, false);
}

static array_t pick(maker_t *maker) {
  array_t *array = &maker->arrays[below(maker, maker->array_count)];
  array->uses++;
  return *array;
}

/* One of rank 1 or more. */
static array_t pick_lines(maker_t *maker) {
  for (int tries = 0; tries < 12; tries++) {
    array_t array = pick(maker);
    if (array.rank) return array;
  }
  int64_t dims[2] = {pick_size(maker), pick_size(maker)};
  return add_param(maker, pick_dtype(maker), 2, dims, false);
}

/* Another of this shape, or itself. */
static array_t pick_like(maker_t *maker, const array_t *like) {
  for (int tries = 0; tries < 12; tries++) {
    array_t other = pick(maker);
    bool fits = !strcmp(other.dtype, like->dtype) && other.rank == like->rank;
    for (int d = 0; fits && d < like->rank; d++) fits = other.dims[d] == like->dims[d];
    if (fits) return other;
  }
  return *like;
}

/* A function of two scalars; returns its number. */
static int add_function(maker_t *maker, const char *dtype) {
  static const char *const any[] = {"add", "maximum", "minimum", "multiply"};
  int id = maker->next++;
  const char *op = strcmp(dtype, "pred") == 0 ? "or" : *dtype == 'c' ? "add" : any[below(maker, 4)];
  hr_text_printf(&maker->functions, "f%d {\n  a = %s[] parameter(0)\n  b = %s[] parameter(1)\n", id, dtype, dtype);
  hr_text_printf(&maker->functions, "  ROOT c = %s[] %s(a, b)\n}\n", dtype, op);
  if (!is_integer(dtype)) maker->program->is_exact = false;
  return id;
}

static int zero_of(maker_t *maker, const char *dtype) {
  int id = maker->next++;
  const char *zero = strcmp(dtype, "pred") == 0 ? "false" : *dtype == 'c' ? "(0, 0)" : "0";
  hr_text_printf(&maker->body, "  v%d = %s[] constant(%s)\n", id, dtype, zero);
  return id;
}

static void print_list(maker_t *maker, const char *before, const int64_t *items, int count, const char *after) {
  hr_text_printf(&maker->body, "%s", before);
  for (int i = 0; i < count; i++) hr_text_printf(&maker->body, "%s%ld", i ? "," : "", (long)items[i]);
  hr_text_printf(&maker->body, "%s", after);
}

/* --- operations of static sizes --- */

static void make_unary(maker_t *maker) {
  array_t x = pick(maker), out = x;
  const char *op = strcmp(x.dtype, "pred") == 0 ? "not" : "negate";
  if (*x.dtype != 'c' && chance(maker, 2)) {
    do out.dtype = pick_dtype(maker);
    while (*out.dtype == 'c');
    op = "convert";
    if (is_real(x.dtype) || is_real(out.dtype)) maker->program->is_exact = false;
  }
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "%s(v%d)\n", op, x.id);
}

static void make_binary(maker_t *maker) {
  static const char *const ops[] = {"add", "subtract", "multiply", "maximum", "minimum", "divide", "remainder", "power"};
  array_t x = pick(maker), y = pick_like(maker, &x);
  bool is_pred = strcmp(x.dtype, "pred") == 0;
  const char *op = is_pred ? "xor" : ops[below(maker, *x.dtype == 'c' ? 3 : is_integer(x.dtype) ? 8 : 6)];
  if (!is_integer(x.dtype) && !is_pred) maker->program->is_exact = false;
  begin_array(maker, &x);
  hr_text_printf(&maker->body, "%s(v%d, v%d)\n", op, x.id, y.id);
}

static void make_select(maker_t *maker) {
  array_t x = pick(maker), y = pick_like(maker, &x), p = x;
  p.dtype = "pred";
  if (*x.dtype == 'c') return;
  begin_array(maker, &p);
  hr_text_printf(&maker->body, "compare(v%d, v%d), direction=%s\n", x.id, y.id, chance(maker, 2) ? "LT" : "GE");
  int p_id = maker->next - 1;
  begin_array(maker, &x);
  hr_text_printf(&maker->body, "select(v%d, v%d, v%d)\n", p_id, y.id, x.id);
}

static void make_broadcast(maker_t *maker) {
  array_t x = pick(maker), out = {.dtype = x.dtype};
  int64_t dims[PROGRAM_MOST_RANK];
  int from = 0;
  out.rank = (int)within(maker, x.rank, PROGRAM_MOST_RANK);
  for (int d = 0; d < out.rank; d++) {
    bool is_kept = from < x.rank && (out.rank - d == x.rank - from || chance(maker, 2));
    out.dims[d] = is_kept ? x.dims[from] : within(maker, 0, 4);
    if (is_kept) dims[from++] = d;
  }
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "broadcast(v%d), ", x.id);
  print_list(maker, "dimensions={", dims, x.rank, "}\n");
}

static void make_reshape(maker_t *maker) {
  array_t x = pick(maker), out = {.dtype = x.dtype, .rank = 1, .dims = {1}};
  for (int d = 0; d < x.rank; d++) out.dims[0] *= x.dims[d];
  for (int64_t factor = 2; factor < 5 && out.rank < 3; factor++) {
    if (out.dims[0] % factor || chance(maker, 2)) continue;
    out.dims[0] /= factor;
    out.dims[out.rank++] = factor;
  }
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "reshape(v%d)\n", x.id);
}

static void make_transpose(maker_t *maker) {
  array_t x = pick_lines(maker), out = x;
  int64_t order[PROGRAM_MOST_RANK];
  for (int d = 0; d < x.rank; d++) order[d] = d;
  for (int d = x.rank - 1; d > 0; d--) {
    int64_t other = below(maker, d + 1), held = order[d];
    order[d] = order[other];
    order[other] = held;
  }
  for (int d = 0; d < x.rank; d++) out.dims[d] = x.dims[order[d]];
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "transpose(v%d), ", x.id);
  print_list(maker, "dimensions={", order, x.rank, "}\n");
}

static void make_reverse(maker_t *maker) {
  array_t x = pick_lines(maker);
  begin_array(maker, &x);
  hr_text_printf(&maker->body, "reverse(v%d), dimensions={%ld}\n", x.id, (long)below(maker, x.rank));
}

static void make_slice(maker_t *maker) {
  array_t x = pick_lines(maker), out = x;
  int64_t starts[PROGRAM_MOST_RANK], limits[PROGRAM_MOST_RANK], strides[PROGRAM_MOST_RANK];
  for (int d = 0; d < x.rank; d++) {
    starts[d] = within(maker, 0, x.dims[d]);
    limits[d] = within(maker, starts[d], x.dims[d]);
    strides[d] = chance(maker, 3) ? within(maker, 1, 4) : 1;
    out.dims[d] = (limits[d] - starts[d] + strides[d] - 1) / strides[d];
  }
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "slice(v%d), slice={", x.id);
  for (int d = 0; d < x.rank; d++)
    hr_text_printf(&maker->body, "%s[%ld:%ld:%ld]", d ? ", " : "", (long)starts[d], (long)limits[d], (long)strides[d]);
  hr_text_printf(&maker->body, "}\n");
}

static void make_pad(maker_t *maker) {
  array_t x = pick_lines(maker), out = x;
  int64_t low[PROGRAM_MOST_RANK], high[PROGRAM_MOST_RANK], inner[PROGRAM_MOST_RANK];
  for (int d = 0; d < x.rank; d++) {
    low[d] = within(maker, -3, 4), high[d] = within(maker, -3, 4);
    inner[d] = chance(maker, 4) ? within(maker, 1, 3) : 0;
    out.dims[d] = x.dims[d] + low[d] + high[d] + (x.dims[d] ? (x.dims[d] - 1) * inner[d] : 0);
    if (out.dims[d] >= 0) continue;
    high[d] -= out.dims[d];
    out.dims[d] = 0;
  }
  int zero = zero_of(maker, x.dtype);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "pad(v%d, v%d), padding=", x.id, zero);
  for (int d = 0; d < x.rank; d++)
    hr_text_printf(&maker->body, "%s%ld_%ld_%ld", d ? "x" : "", (long)low[d], (long)high[d], (long)inner[d]);
  hr_text_printf(&maker->body, "\n");
}

static void make_concatenate(maker_t *maker) {
  array_t x = pick_lines(maker), y = pick_like(maker, &x), out = x;
  int64_t d = below(maker, x.rank);
  out.dims[d] = 2 * x.dims[d];
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "concatenate(v%d, v%d), dimensions={%ld}\n", x.id, y.id, (long)d);
}

static void make_reduce(maker_t *maker) {
  array_t x = pick_lines(maker), out = {.dtype = x.dtype, .rank = x.rank - 1};
  int64_t gone = below(maker, x.rank);
  for (int d = 0, to = 0; d < x.rank; d++)
    if (d != gone) out.dims[to++] = x.dims[d];
  int zero = zero_of(maker, x.dtype), function = add_function(maker, x.dtype);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "reduce(v%d, v%d), dimensions={%ld}, to_apply=f%d\n", x.id, zero, (long)gone, function);
}

static void make_window(maker_t *maker) {
  array_t x = pick_lines(maker), out = x;
  int64_t size[PROGRAM_MOST_RANK], stride[PROGRAM_MOST_RANK], low[PROGRAM_MOST_RANK], high[PROGRAM_MOST_RANK];
  for (int d = 0; d < x.rank; d++) {
    size[d] = within(maker, 1, 3), stride[d] = within(maker, 1, 2);
    low[d] = within(maker, 0, 2), high[d] = within(maker, 0, 2);
    int64_t padded = x.dims[d] + low[d] + high[d];
    out.dims[d] = padded < size[d] ? 0 : (padded - size[d]) / stride[d] + 1;
  }
  int zero = zero_of(maker, x.dtype), function = add_function(maker, x.dtype);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "reduce-window(v%d, v%d), window={size=", x.id, zero);
  for (int d = 0; d < x.rank; d++) hr_text_printf(&maker->body, "%s%ld", d ? "x" : "", (long)size[d]);
  for (int d = 0; d < x.rank; d++) hr_text_printf(&maker->body, "%s%ld", d ? "x" : " stride=", (long)stride[d]);
  for (int d = 0; d < x.rank; d++)
    hr_text_printf(&maker->body, "%s%ld_%ld", d ? "x" : " pad=", (long)low[d], (long)high[d]);
  hr_text_printf(&maker->body, "}, to_apply=f%d\n", function);
}

static void make_dot(maker_t *maker) {
  array_t x = pick_lines(maker), y = {.dtype = x.dtype, .rank = 2}, out = {.dtype = x.dtype, .rank = x.rank};
  if (strcmp(x.dtype, "pred") == 0 || !has_room(maker, 1)) return;
  int64_t dims[2] = {x.dims[x.rank - 1], pick_size(maker)};
  y = add_param(maker, x.dtype, 2, dims, false);
  for (int d = 0; d + 1 < x.rank; d++) out.dims[d] = x.dims[d];
  out.dims[x.rank - 1] = dims[1];
  if (!is_integer(x.dtype)) maker->program->is_exact = false;
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "dot(v%d, v%d), lhs_contracting_dims={%d}, rhs_contracting_dims={0}\n", x.id, y.id,
                 x.rank - 1);
}

static void make_sort(maker_t *maker) {
  array_t x = pick_lines(maker);
  if (*x.dtype == 'c') return;
  int id = maker->next++;
  hr_text_printf(&maker->functions, "f%d {\n  a = %s[] parameter(0)\n  b = %s[] parameter(1)\n", id, x.dtype, x.dtype);
  hr_text_printf(&maker->functions, "  ROOT c = pred[] compare(a, b), direction=%s\n}\n", chance(maker, 3) ? "GT" : "LT");
  if (is_real(x.dtype)) maker->program->is_exact = false;
  begin_array(maker, &x);
  hr_text_printf(&maker->body, "sort(v%d), dimensions={%ld}, is_stable=true, to_apply=f%d\n", x.id,
                 (long)below(maker, x.rank), id);
}

/* --- places that values say --- */

static void print_indices(maker_t *maker, const int *ids, int count) {
  for (int d = 0; d < count; d++) hr_text_printf(&maker->body, ", v%d", ids[d]);
}

static bool make_places(maker_t *maker, int rank, int *ids) {
  if (!has_room(maker, rank)) return false;
  const char *dtype = chance(maker, 3) ? "s64" : "s32";
  for (int d = 0; d < rank; d++) ids[d] = add_param(maker, dtype, 0, NULL, true).id;
  return true;
}

static void make_dynamic_slice(maker_t *maker) {
  array_t x = pick_lines(maker), out = x;
  int ids[PROGRAM_MOST_RANK];
  if (!make_places(maker, x.rank, ids)) return;
  for (int d = 0; d < x.rank; d++) out.dims[d] = within(maker, 0, x.dims[d]);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "dynamic-slice(v%d", x.id);
  print_indices(maker, ids, x.rank);
  print_list(maker, "), dynamic_slice_sizes={", out.dims, x.rank, "}\n");
}

static void make_dynamic_update(maker_t *maker) {
  array_t x = pick_lines(maker), block;
  int64_t dims[PROGRAM_MOST_RANK] = {0};
  int ids[PROGRAM_MOST_RANK];
  if (!has_room(maker, x.rank + 1)) return;
  for (int d = 0; d < x.rank; d++) dims[d] = within(maker, 0, x.dims[d]);
  block = add_param(maker, x.dtype, x.rank, dims, false);
  make_places(maker, x.rank, ids);
  begin_array(maker, &x);
  hr_text_printf(&maker->body, "dynamic-update-slice(v%d, v%d", x.id, block.id);
  print_indices(maker, ids, x.rank);
  hr_text_printf(&maker->body, ")\n");
}

/* Slices along dimension 0, which is collapsed or kept. */
static void make_gather(maker_t *maker) {
  array_t x = pick_lines(maker), out = {.dtype = x.dtype, .rank = 1};
  int64_t dims[2] = {pick_size(maker), 1}, sizes[PROGRAM_MOST_RANK], offsets[PROGRAM_MOST_RANK] = {0};
  bool is_kept = chance(maker, 2);
  int offset_count = 0;
  if (!has_room(maker, 1) || x.rank + is_kept > PROGRAM_MOST_RANK || !x.dims[0]) return;
  int indices = add_param(maker, chance(maker, 3) ? "s64" : "s32", 2, dims, true).id;
  out.dims[0] = dims[0];
  for (int d = 0; d < x.rank; d++) {
    sizes[d] = d ? within(maker, 0, x.dims[d]) : is_kept ? within(maker, 1, x.dims[0]) : 1;
    if (!d && !is_kept) continue;
    offsets[offset_count++] = out.rank;
    out.dims[out.rank++] = sizes[d];
  }
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "gather(v%d, v%d), ", x.id, indices);
  print_list(maker, "offset_dims={", offsets, offset_count, "}, ");
  hr_text_printf(&maker->body, "collapsed_slice_dims={%s}, start_index_map={0}, index_vector_dim=1, ", is_kept ? "" : "0");
  print_list(maker, "slice_sizes={", sizes, x.rank, "}\n");
}

static void make_scatter(maker_t *maker) {
  array_t x = pick_lines(maker);
  int64_t dims[2] = {pick_size(maker), 1}, update[PROGRAM_MOST_RANK], windows[PROGRAM_MOST_RANK] = {0};
  if (!has_room(maker, 2)) return;
  int indices = add_param(maker, chance(maker, 3) ? "s64" : "s32", 2, dims, true).id;
  update[0] = dims[0];
  for (int d = 1; d < x.rank; d++) update[d] = within(maker, 0, x.dims[d]), windows[d - 1] = d;
  int updates = add_param(maker, x.dtype, x.rank, update, false).id, function = add_function(maker, x.dtype);
  begin_array(maker, &x);
  hr_text_printf(&maker->body, "scatter(v%d, v%d, v%d), ", x.id, indices, updates);
  print_list(maker, "update_window_dims={", windows, x.rank - 1, "}, ");
  hr_text_printf(&maker->body, "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, ");
  hr_text_printf(&maker->body, "to_apply=f%d\n", function);
}

/* A loop that writes lines of an array where a value says, and reads them back elsewhere. */
static void make_loop(maker_t *maker) {
  array_t x = pick_lines(maker);
  char shape[96], line[96];
  array_t part = x;
  int id = maker->next++;
  if (!x.dims[0] || !has_room(maker, 1)) return;
  part.dims[0] = 1;
  shape_text(&x, shape), shape_text(&part, line);
  hr_text_t *f = &maker->functions;
  hr_text_printf(f, "c%d {\n  p = (s32[], s32[], %s) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n", id, shape);
  hr_text_printf(f, "  n = s32[] constant(%ld)\n  ROOT l = pred[] compare(i, n), direction=LT\n}\n", (long)within(maker, 0, 5));
  hr_text_printf(f, "b%d {\n  p = (s32[], s32[], %s) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n", id, shape);
  hr_text_printf(f, "  k = s32[] get-tuple-element(p), index=1\n  x = %s get-tuple-element(p), index=2\n", shape);
  hr_text_printf(f, "  one = s32[] constant(1)\n  z = s32[] constant(0)\n  j = s32[] add(i, one)\n  m = s32[] multiply(k, j)\n");
  hr_text_printf(f, "  s = %s dynamic-slice(x, m", line);
  for (int d = 1; d < x.rank; d++) hr_text_printf(f, ", z");
  hr_text_printf(f, "), dynamic_slice_sizes={1");
  for (int d = 1; d < x.rank; d++) hr_text_printf(f, ",%ld", (long)x.dims[d]);
  hr_text_printf(f, "}\n  u = %s dynamic-update-slice(x, s, j", shape);
  for (int d = 1; d < x.rank; d++) hr_text_printf(f, ", z");
  hr_text_printf(f, ")\n  ROOT t = (s32[], s32[], %s) tuple(j, m, u)\n}\n", shape);
  int start = add_param(maker, "s32", 0, NULL, true).id, zero = zero_of(maker, "s32"), t = maker->next++, w = maker->next++;
  hr_text_printf(&maker->body, "  v%d = (s32[], s32[], %s) tuple(v%d, v%d, v%d)\n", t, shape, zero, start, x.id);
  hr_text_printf(&maker->body, "  v%d = (s32[], s32[], %s) while(v%d), condition=c%d, body=b%d\n", w, shape, t, id, id);
  begin_array(maker, &x);
  hr_text_printf(&maker->body, "get-tuple-element(v%d), index=2\n", w);
}

static void make_conditional(maker_t *maker) {
  array_t x = pick(maker);
  char shape[96];
  int id = maker->next++;
  if (!has_room(maker, 1)) return;
  shape_text(&x, shape);
  hr_text_printf(&maker->functions, "t%d {\n  a = %s parameter(0)\n  ROOT b = %s copy(a)\n}\n", id, shape, shape);
  hr_text_printf(&maker->functions, "e%d {\n  ROOT a = %s parameter(0)\n}\n", id, shape);
  int choice = add_param(maker, "s32", 0, NULL, true).id;
  begin_array(maker, &x);
  hr_text_printf(&maker->body, "conditional(v%d, v%d, v%d), branch_computations={t%d, e%d}\n", choice, x.id, x.id, id, id);
}

/* --- sizes that values say, and that lie --- */

static void make_slice_to_dynamic(maker_t *maker) {
  array_t x = pick_lines(maker), out = x;
  int ids[PROGRAM_MOST_RANK];
  if (!has_room(maker, x.rank)) return;
  for (int d = 0; d < x.rank; d++) out.dims[d] = within(maker, 0, x.dims[d]);
  for (int d = 0; d < x.rank; d++) ids[d] = honest_size(maker, out.dims[d]);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "custom-call(v%d", x.id);
  print_indices(maker, ids, x.rank);
  hr_text_printf(&maker->body, "), custom_call_target=\"SliceToDynamic\"\n");
}

static void make_dynamic_pad(maker_t *maker) {
  array_t x = pick_lines(maker), out = x, lists[3];
  int64_t sizes[3][PROGRAM_MOST_RANK] = {{0}};
  if (!has_room(maker, 3)) return;
  for (int d = 0; d < x.rank; d++) {
    sizes[0][d] = within(maker, -1, 2), sizes[1][d] = within(maker, 0, 2);
    out.dims[d] = x.dims[d] + sizes[0][d] + sizes[1][d] < 0 ? 0 : x.dims[d] + sizes[0][d] + sizes[1][d];
  }
  for (int i = 0; i < 3; i++) lists[i] = honest_list(maker, sizes[i], x.rank);
  int zero = zero_of(maker, x.dtype);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "dynamic-pad(v%d, v%d, v%d, v%d, v%d)\n", x.id, zero, lists[0].id, lists[1].id,
                 lists[2].id);
}

static void make_real_slice(maker_t *maker) {
  array_t x = pick_lines(maker), out = x, lists[3];
  int64_t sizes[3][PROGRAM_MOST_RANK];
  if (!has_room(maker, 3)) return;
  for (int d = 0; d < x.rank; d++) {
    sizes[0][d] = within(maker, 0, x.dims[d]), sizes[1][d] = within(maker, sizes[0][d], x.dims[d]), sizes[2][d] = 1;
    out.dims[d] = sizes[1][d] - sizes[0][d];
  }
  for (int i = 0; i < 3; i++) lists[i] = honest_list(maker, sizes[i], x.rank);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "real-dynamic-slice(v%d, v%d, v%d, v%d)\n", x.id, lists[0].id, lists[1].id, lists[2].id);
}

static void make_dynamic_reshape(maker_t *maker) {
  array_t x = pick(maker), out = {.dtype = x.dtype, .rank = 1, .dims = {1}};
  for (int d = 0; d < x.rank; d++) out.dims[0] *= x.dims[d];
  if (!has_room(maker, 1)) return;
  int size = honest_size(maker, out.dims[0]);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "dynamic-reshape(v%d, v%d)\n", x.id, size);
}

static void make_dynamic_gather(maker_t *maker) {
  array_t x = pick_lines(maker), out = {.dtype = x.dtype, .rank = x.rank};
  int64_t dims[2] = {pick_size(maker), 1}, offsets[PROGRAM_MOST_RANK] = {0};
  if (!has_room(maker, 2) || !x.dims[0]) return;
  int indices = add_param(maker, "s32", 2, dims, true).id;
  out.dims[0] = dims[0];
  for (int d = 1; d < x.rank; d++) out.dims[d] = within(maker, 0, x.dims[d]), offsets[d - 1] = d;
  int64_t wanted[PROGRAM_MOST_RANK] = {1};
  for (int d = 1; d < x.rank; d++) wanted[d] = out.dims[d];
  int sizes = honest_list(maker, wanted, x.rank).id;
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "dynamic-gather(v%d, v%d, v%d), ", x.id, indices, sizes);
  print_list(maker, "offset_dims={", offsets, x.rank - 1, "}, ");
  hr_text_printf(&maker->body, "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1\n");
}

static void make_dynamic_top_k(maker_t *maker) {
  array_t x = pick_lines(maker), out = x;
  char values[96], places[96];
  if (!has_room(maker, 1) || *x.dtype == 'c' || strcmp(x.dtype, "pred") == 0) return;
  out.dims[x.rank - 1] = within(maker, 0, x.dims[x.rank - 1]);
  int count = honest_size(maker, out.dims[x.rank - 1]), pair = maker->next++;
  array_t where = out;
  where.dtype = "s32";
  shape_text(&out, values), shape_text(&where, places);
  hr_text_printf(&maker->body, "  v%d = (%s, %s) custom-call(v%d, v%d), custom_call_target=\"stablehlo.dynamic_top_k\"\n",
                 pair, values, places, x.id, count);
  begin_array(maker, &where);
  hr_text_printf(&maker->body, "get-tuple-element(v%d), index=1\n", pair);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "get-tuple-element(v%d), index=0\n", pair);
  if (is_real(x.dtype)) maker->program->is_exact = false;
}

static void make_dynamic_bits(maker_t *maker) {
  array_t out = {.dtype = "u32", .rank = 1, .dims = {pick_size(maker)}};
  int64_t two = 2;
  char bits[96];
  if (!has_room(maker, 2)) return;
  int state = add_param(maker, "u64", 1, &two, false).id, sizes = honest_list(maker, out.dims, 1).id;
  int pair = maker->next++;
  hr_text_printf(&maker->body,
                 "  v%d = (u64[2], %s) custom-call(v%d, v%d), custom_call_target=\"stablehlo.dynamic_rng_bit_generator\"\n",
                 pair, shape_text(&out, bits), state, sizes);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "get-tuple-element(v%d), index=1\n", pair);
}

static void make_dynamic_window(maker_t *maker) {
  array_t x = pick_lines(maker), out = x, lists[5];
  int64_t pads[2] = {x.rank, 2};
  if (!has_room(maker, 5)) return;
  int64_t sizes[4][PROGRAM_MOST_RANK], padding[PROGRAM_MOST_RANK] = {0};
  for (int d = 0; d < x.rank; d++) {
    sizes[0][d] = within(maker, 1, 3), sizes[1][d] = within(maker, 1, 2), sizes[2][d] = sizes[3][d] = 1;
    out.dims[d] = x.dims[d] < sizes[0][d] ? 0 : (x.dims[d] - sizes[0][d]) / sizes[1][d] + 1;
  }
  for (int i = 0; i < 4; i++) lists[i] = honest_list(maker, sizes[i], x.rank);
  lists[4] = add_param(maker, "s32", 2, pads, true);
  if (x.rank <= 2) be_honest(maker, padding, 2 * x.rank);
  int zero = zero_of(maker, x.dtype), function = add_function(maker, x.dtype);
  begin_array(maker, &out);
  hr_text_printf(&maker->body, "custom-call(v%d, v%d", x.id, zero);
  for (int i = 0; i < 5; i++) hr_text_printf(&maker->body, ", v%d", lists[i].id);
  hr_text_printf(&maker->body, "), custom_call_target=\"stablehlo.dynamic_reduce_window\", called_computations={f%d}\n",
                 function);
}

/* Sizes within bounds, and what is left of them as a static array again. */
static void make_bounded(maker_t *maker) {
  array_t x = pick_lines(maker);
  char shape[96], bounded[128];
  if (!has_room(maker, 1)) return;
  int size = add_param(maker, "s32", 0, NULL, true).id, cut = maker->next++, sum = maker->next++, whole = maker->next++;
  shape_text(&x, shape);
  char *bracket = strchr(shape, '[');
  snprintf(bounded, sizeof bounded, "%.*s[<=%s", (int)(bracket - shape), shape, bracket + 1);
  hr_text_printf(&maker->body, "  v%d = %s set-dimension-size(v%d, v%d), dimensions={0}\n", cut, bounded, x.id, size);
  hr_text_printf(&maker->body, "  v%d = %s copy(v%d)\n", sum, bounded, cut);
  hr_text_printf(&maker->body, "  v%d = (%s", whole, shape);
  for (int d = 0; d < x.rank; d++) hr_text_printf(&maker->body, ", s32[]");
  hr_text_printf(&maker->body, ") custom-call(v%d), custom_call_target=\"PadToStatic\"\n", sum);
  begin_array(maker, &x);
  hr_text_printf(&maker->body, "get-tuple-element(v%d), index=0\n", whole);
}

/* --- the world --- */

static void make_custom_call(maker_t *maker) {
  int64_t count = PROGRAM_CUSTOM_COUNT;
  if (!has_room(maker, 1)) return;
  array_t x = add_param(maker, "u32", 1, &count, false);
  begin_array(maker, &x);
  hr_text_printf(&maker->body, "custom-call(v%d), custom_call_target=\"" PROGRAM_CUSTOM_CALL "\"\n", x.id);
}

static void make_feeds(maker_t *maker) {
  array_t x = pick(maker), in = {.dtype = "s32", .rank = 1, .dims = {4}};
  char shape[96];
  if (maker->program->has_feeds || !chance(maker, 8)) return;
  maker->program->has_feeds = true;
  int token = maker->next++, pair = maker->next++, after = maker->next++;
  hr_text_printf(&maker->body, "  v%d = token[] after-all()\n  v%d = (s32[4], token[]) infeed(v%d)\n", token, pair, token);
  hr_text_printf(&maker->body, "  v%d = token[] get-tuple-element(v%d), index=1\n", after, pair);
  hr_text_printf(&maker->body, "  v%d = token[] outfeed(v%d, v%d), outfeed_shape=%s\n", maker->next++, x.id, after,
                 shape_text(&x, shape));
  begin_array(maker, &in);
  hr_text_printf(&maker->body, "get-tuple-element(v%d), index=0\n", pair);
}

typedef void (*make_fn)(maker_t *maker);

static const make_fn plain_ops[] = {make_unary,     make_binary,  make_select, make_broadcast,   make_reshape, make_transpose,
                                    make_reverse,   make_slice,   make_pad,    make_concatenate, make_reduce,  make_window,
                                    make_dot,       make_sort,    make_custom_call};
static const make_fn hostile_ops[] = {make_dynamic_slice,    make_dynamic_update, make_gather,         make_scatter,
                                      make_loop,             make_conditional,    make_slice_to_dynamic, make_dynamic_pad,
                                      make_real_slice,       make_dynamic_reshape, make_dynamic_gather, make_dynamic_top_k,
                                      make_dynamic_bits,     make_dynamic_window, make_bounded,        make_feeds};

static bool is_large(const array_t *array) {
  int64_t count = 1;
  for (int d = 0; d < array->rank; d++) count *= array->dims[d];
  return count > MOST_ELEMENTS;
}

/* One operation. An array that became too large is not worked on any more. */
static void make_one(maker_t *maker) {
  if (chance(maker, 3))
    hostile_ops[below(maker, (int64_t)(sizeof hostile_ops / sizeof *hostile_ops))](maker);
  else
    plain_ops[below(maker, (int64_t)(sizeof plain_ops / sizeof *plain_ops))](maker);
  while (maker->array_count > 1 && is_large(&maker->arrays[maker->array_count - 1])) maker->array_count--;
}

/* Results: arrays that nothing uses, the last ones first, and some parameters that they may lie over. */
static void end_program(maker_t *maker) {
  program_t *program = maker->program;
  const array_t *results[MOST_RESULTS];
  int count = 0, width = 0;
  char shape[96];
  hr_text_t shapes, names, aliases;
  hr_text_init(&shapes), hr_text_init(&names), hr_text_init(&aliases);
  for (int a = maker->array_count; a-- > 0 && count < MOST_RESULTS;)
    if (!maker->arrays[a].uses || chance(maker, 8)) results[count++] = &maker->arrays[a];
  if (!count) results[count++] = &maker->arrays[maker->array_count - 1];
  for (int r = 0; r < count; r++) {
    hr_text_printf(&shapes, "%s%s", r ? ", " : "", shape_text(results[r], shape));
    hr_text_printf(&names, "%sv%d", r ? ", " : "", results[r]->id);
  }
  for (int p = 0, r = 0; p < program->param_count && r < count; p++) {
    const program_param_t *param = &program->params[p];
    bool fits = !strcmp(param->dtype, results[r]->dtype) && param->rank == results[r]->rank &&
                !memcmp(param->dims, results[r]->dims, (size_t)param->rank * sizeof *param->dims);
    if (!fits || chance(maker, 3)) continue;
    hr_text_printf(&aliases, "%s{%d}: (%d, {}, may-alias)", width++ ? ", " : "", r++, p);
  }
  hr_text_printf(&program->text, "HloModule fuzz%s%s%s\n", width ? ", input_output_alias={ " : "",
                 width ? aliases.data : "", width ? " }" : "");
  if (maker->functions.size) hr_text_add(&program->text, maker->functions.data, maker->functions.size);
  hr_text_printf(&program->text, "ENTRY main {\n%s  ROOT r = (%s) tuple(%s)\n}\n", maker->body.data, shapes.data,
                 names.data);
  hr_text_deinit(&shapes), hr_text_deinit(&names), hr_text_deinit(&aliases);
}

void program_make(uint64_t seed, program_t *out_program) {
  maker_t maker = {.random = seed * UINT64_C(0xD1342543DE82EF95) + 1, .program = out_program};
  memset(out_program, 0, sizeof *out_program);
  out_program->is_exact = true;
  hr_text_init(&out_program->text), hr_text_init(&maker.functions), hr_text_init(&maker.body);
  for (int64_t n = within(&maker, 1, 3); n > 0; n--) random_param(&maker);
  if (chance(&maker, 4)) index_scalar(&maker);
  for (int64_t n = within(&maker, 1, 8); n > 0; n--) make_one(&maker);
  end_program(&maker);
  hr_text_deinit(&maker.functions), hr_text_deinit(&maker.body);
}
