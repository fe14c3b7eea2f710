/* Reduce-windows over few positions:
 *
 *   reduce-window(x, size=2)       ->   x[0:n:2] op x[1:n:2]
 *   cumulative sum of a short row  ->   concatenate(x[0], x[0] + x[1], ...)
 *   reduce-window(broadcast(c))    ->   broadcast(reduce-window of one line)
 *   windows that all cover the one element of a dimension, and padding
 *                                  ->   broadcast(reduce-window along the other dimensions)
 *
 * The slices are combined element by element, which is generated code and fuses with its
 * neighbours. Narrow floats are combined in f32 and rounded once at the end, as the reference
 * kernel does. */
#include "ops/query/window_range.h"
#include "passes/simplify/simplify.h"

enum {
  MAX_POSITIONS = 16,
  MAX_TOTALS = 4,    /* most running sums; longer ones are faster one after the other */
  MIN_RESULTS = 1024 /* fewer results take less time than generating their code */
};

static bool has_padding(const hlo_window_t *window) {
  for (int d = 0; d < window->rank; d++)
    if (window->dims[d].pad_low || window->dims[d].pad_high) return true;
  return false;
}

/* The dimension along which the window is as long as the array: totals up to, or from, each
 * element. -1: none. */
static int running_dim(const hlo_instr_t *instr, const hlo_window_t *window) {
  int found = -1;
  for (int d = 0; d < window->rank; d++) {
    const hlo_window_dim_t *w = &window->dims[d];
    int64_t size = instr->operands[0]->shape->dims[d], around = w->pad_low + w->pad_high;
    if (w->size == 1 && w->stride == 1 && w->base_dilation == 1 && !around) continue;
    bool plain = w->stride == 1 && w->window_dilation == 1 && w->base_dilation == 1;
    bool runs = plain && w->size == size && around == size - 1 && (!w->pad_low || !w->pad_high);
    if (found >= 0 || !runs) return -1;
    found = d;
  }
  return found;
}

/* Does the window have few positions? Running totals are excluded. */
static bool has_few_positions(const hlo_instr_t *instr, const hlo_window_t *window) {
  int64_t positions = 1;
  for (int d = 0; d < window->rank; d++) {
    const hlo_window_dim_t *w = &window->dims[d];
    if (w->base_dilation != 1 || w->size > MAX_POSITIONS) return false;
    if (w->size > 1 && w->size >= instr->operands[0]->shape->dims[d] && (w->pad_low || w->pad_high))
      return false;
    positions *= w->size;
    if (positions > MAX_POSITIONS) return false;
  }
  return hlo_shape_elements(instr->shape) >= MIN_RESULTS;
}

static hlo_instr_t *build_padded(pass_rewrite_t *rewrite, hlo_instr_t *x, hlo_instr_t *with,
                                 const hlo_window_t *window) {
  hlo_padding_dim_t dims[HLO_MAX_RANK];
  for (int d = 0; d < window->rank; d++)
    dims[d] = (hlo_padding_dim_t){window->dims[d].pad_low, window->dims[d].pad_high, 0};
  return pass_build_pad(rewrite, x, with, dims);
}

/* The slice of x under position number `position` of the window; the last dimension varies
 * fastest. */
static hlo_instr_t *slice_of_position(pass_rewrite_t *rewrite, hlo_instr_t *x,
                                      const hlo_window_t *window, const hlo_shape_t *results,
                                      int64_t position) {
  hlo_slice_dim_t parts[HLO_MAX_RANK];
  for (int d = window->rank; d-- > 0; position /= window->dims[d].size) {
    const hlo_window_dim_t *w = &window->dims[d];
    int64_t start = position % w->size * w->window_dilation;
    parts[d] = (hlo_slice_dim_t){start, start + (results->dims[d] - 1) * w->stride + 1, w->stride};
  }
  return pass_build_slice(rewrite, x, parts);
}

/* Sums and products of narrow floats are rounded once, at the end. */
static hr_dtype_t computed_type(hlo_opcode_t op, hr_dtype_t dtype) {
  bool is_rounded = hr_dtype_is_float(dtype) && (op == HLO_ADD || op == HLO_MULTIPLY);
  return is_rounded ? hr_dtype_table[dtype].compute : dtype;
}

static hlo_instr_t *combine_positions(pass_rewrite_t *rewrite, hlo_instr_t *instr,
                                      const hlo_window_t *window, hlo_opcode_t op) {
  hr_dtype_t dtype = computed_type(op, instr->shape->dtype);
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t *x = hlo_build_convert(builder, instr->operands[0], dtype);
  hlo_instr_t *init = hlo_build_convert(builder, instr->operands[1], dtype);
  const hlo_shape_t *shape = pass_shape(rewrite, dtype, instr->shape->rank, instr->shape->dims);
  int64_t positions = 1;
  if (!x || !init || !shape) return NULL;
  if (has_padding(window)) x = build_padded(rewrite, x, init, window);
  for (int d = 0; d < window->rank; d++) positions *= window->dims[d].size;
  hlo_instr_t *sum =
      pass_is_neutral(op, init) && op != HLO_ADD ? NULL : pass_build_fill(rewrite, init, shape);
  for (int64_t position = 0; position < positions && x; position++) {
    hlo_instr_t *part = slice_of_position(rewrite, x, window, instr->shape, position);
    sum = sum ? hlo_build_binary(builder, op, sum, part) : part;
  }
  return sum && x ? hlo_build_convert(builder, sum, instr->shape->dtype) : NULL;
}

/* Each total is the previous one plus one element; the totals are concatenated. */
static hlo_instr_t *running_totals(pass_rewrite_t *rewrite, hlo_instr_t *instr, int d,
                                   bool from_end, hlo_opcode_t op) {
  hr_dtype_t dtype = computed_type(op, instr->shape->dtype);
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t *x = hlo_build_convert(builder, instr->operands[0], dtype), *totals[MAX_TOTALS];
  hlo_instr_t *total = op == HLO_ADD ? hlo_build_convert(builder, instr->operands[1], dtype) : NULL;
  int64_t count = instr->shape->dims[d], along = d;
  hlo_slice_dim_t part[HLO_MAX_RANK];
  for (int i = 0; i < instr->shape->rank; i++)
    part[i] = (hlo_slice_dim_t){0, instr->shape->dims[i], 1};
  for (int64_t i = 0; i < count && x; i++) {
    int64_t at = from_end ? count - 1 - i : i;
    part[d] = (hlo_slice_dim_t){at, at + 1, 1};
    hlo_instr_t *element = pass_build_slice(rewrite, x, part);
    if (!element || (!total && i)) return NULL;
    if (total && !i) total = pass_build_fill(rewrite, total, element->shape);
    total = total ? hlo_build_binary(builder, op, total, element) : element;
    totals[at] = total;
  }
  hlo_attr_t attr = hlo_attr_of_ints(builder, HLO_ATTR_DIMENSIONS, 1, &along);
  hlo_instr_t *all =
      total ? hlo_build(builder, HLO_CONCATENATE, NULL, (int)count, totals, 1, &attr, 0, NULL)
            : NULL;
  return all ? hlo_build_convert(builder, all, instr->shape->dtype) : NULL;
}

/* Results differ only along dimensions with a window: those of one line of a broadcast scalar are
 * broadcast. */
static hlo_instr_t *reduce_line(pass_rewrite_t *rewrite, hlo_instr_t *instr,
                                const hlo_window_t *window) {
  hlo_builder_t *builder = &rewrite->builder;
  hlo_instr_t *x = instr->operands[0];
  int64_t in[HLO_MAX_RANK], out[HLO_MAX_RANK], sizes[HLO_MAX_RANK], kept[HLO_MAX_RANK];
  int rank = 0;
  bool repeats = false;
  if (x->op != HLO_BROADCAST || !hlo_shape_is_scalar(x->operands[0]->shape)) return NULL;
  for (int d = 0; d < window->rank; d++) {
    bool plain = window_is_trivial(&window->dims[d]);
    repeats |= plain && x->shape->dims[d] > 1;
    in[d] = plain ? 1 : x->shape->dims[d];
    out[d] = plain ? 1 : instr->shape->dims[d];
    if (plain) continue;
    sizes[rank] = out[d];
    kept[rank++] = d;
  }
  if (!repeats) return NULL;
  hr_dtype_t dtype = instr->shape->dtype;
  hlo_instr_t *operands[] = {
      pass_build_fill(rewrite, x->operands[0], pass_shape(rewrite, dtype, window->rank, in)),
      instr->operands[1]};
  hlo_instr_t *line =
      pass_build_like(rewrite, instr, operands, pass_shape(rewrite, dtype, window->rank, out));
  line = hlo_build_reshape(builder, line, pass_shape(rewrite, dtype, rank, sizes));
  return hlo_build_broadcast(builder, line, instr->shape, (hr_ints_t){kept, (size_t)rank});
}

/* The operand of a reduce-window without a pad of neutral elements around it. */
typedef struct unpadded {
  hlo_instr_t *x;
  const hlo_padding_dim_t *edges; /* edges of a pad; NULL: none */
} unpadded_t;

static unpadded_t find_unpadded(const hlo_instr_t *instr, hlo_opcode_t op) {
  hlo_instr_t *pad = instr->operands[0];
  if (pad->op != HLO_PAD || !pass_is_neutral(op, pad->operands[1])) return (unpadded_t){pad, NULL};
  return (unpadded_t){pad->operands[0], hlo_attr_padding(pad)->dims};
}

/* Does dimension d have one element, which every window covers? */
static bool covers_single(const hlo_instr_t *instr, const hlo_window_dim_t *w, unpadded_t from,
                          int d) {
  const hlo_padding_dim_t none = {0, 0, 0}, *edge = from.edges ? &from.edges[d] : &none;
  int64_t low = w->pad_low + edge->low;
  if (edge->low < 0 || edge->high < 0) return false; /* the element may be cut off */
  if (from.x->shape->dims[d] != 1 || w->window_dilation != 1 || w->base_dilation != 1) return false;
  return low < w->size && (instr->shape->dims[d] - 1) * w->stride <= low;
}

/* Results are equal along dimensions of one element that every window covers: those along the
 * others are broadcast. */
static hlo_instr_t *repeat_single(pass_rewrite_t *rewrite, hlo_instr_t *instr,
                                  const hlo_window_t *window, hlo_opcode_t op) {
  hlo_builder_t *b = &rewrite->builder;
  unpadded_t from = find_unpadded(instr, op);
  hlo_window_dim_t dims[HLO_MAX_RANK];
  hlo_padding_dim_t edges[HLO_MAX_RANK] = {{0}};
  int64_t out[HLO_MAX_RANK], sizes[HLO_MAX_RANK], kept[HLO_MAX_RANK];
  int rank = 0;
  bool is_trivial = true, is_padded = false;
  for (int d = 0; d < window->rank; d++) {
    bool repeats = instr->shape->dims[d] > 1 && covers_single(instr, &window->dims[d], from, d);
    dims[d] = (hlo_window_dim_t){.size = 1, .stride = 1, .base_dilation = 1, .window_dilation = 1};
    out[d] = 1;
    if (repeats) continue;
    dims[d] = window->dims[d];
    out[d] = instr->shape->dims[d];
    if (from.edges) edges[d] = from.edges[d];
    is_padded |= edges[d].low || edges[d].high || edges[d].interior;
    is_trivial &= window_is_trivial(&dims[d]);
    sizes[rank] = out[d];
    kept[rank++] = d;
  }
  if (rank == window->rank) return NULL;
  hr_dtype_t dtype = instr->shape->dtype;
  hlo_instr_t *x = from.x, *init = instr->operands[1];
  if (is_padded) x = pass_build_pad(rewrite, x, instr->operands[0]->operands[1], edges);
  const hlo_shape_t *shape = pass_shape(rewrite, dtype, window->rank, out);
  if (!x || !shape) return NULL;
  hlo_instr_t *line = is_trivial
                          ? hlo_build_binary(b, op, pass_build_fill(rewrite, init, shape), x)
                          : simplify_build_windowed(rewrite, instr, (hlo_instr_t *[]){x, init},
                                                    dims, window->rank, shape);
  line = hlo_build_reshape(b, line, pass_shape(rewrite, dtype, rank, sizes));
  return hlo_build_broadcast(b, line, instr->shape, (hr_ints_t){kept, (size_t)rank});
}

hlo_instr_t *simplify_window(pass_rewrite_t *rewrite, hlo_instr_t *instr) {
  hlo_opcode_t op;
  if (instr->op != HLO_REDUCE_WINDOW || instr->operand_count != 2) return NULL;
  const hlo_window_t *window = hlo_attr_window(instr);
  if (!window || !pass_body_is_binary(instr->called[0], &op)) return NULL;
  if (instr->operands[0]->shape->dtype != instr->shape->dtype ||
      instr->operands[1]->shape->dtype != instr->shape->dtype)
    return NULL;
  if (has_padding(window) && !pass_is_neutral(op, instr->operands[1]))
    return reduce_line(rewrite, instr, window);
  hlo_instr_t *repeated = repeat_single(rewrite, instr, window, op);
  if (repeated) return repeated;
  int d = running_dim(instr, window);
  if (d >= 0 && window->dims[d].size <= MAX_TOTALS &&
      hlo_shape_elements(instr->shape) >= MIN_RESULTS)
    return running_totals(rewrite, instr, d, window->dims[d].pad_high > 0, op);
  return has_few_positions(instr, window) ? combine_positions(rewrite, instr, window, op)
                                          : reduce_line(rewrite, instr, window);
}
