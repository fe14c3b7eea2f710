/* Lanes that are rows: what lies side by side in memory belongs to one lane, and elements of neighbouring lanes lie a
 * row apart. Rows move as whole vectors, and rows and lanes change places in registers:
 *
 *   memory  a0 a1 a2 b0 b1 b2 c0 ...   rows  a0 a1 a2 . | b0 b1 b2 . | ...   turned  a0 b0 c0 d0 | a1 b1 c1 d1 | ... */
#include "jit/element.h"
#include "jit/emit_kernel.h"

void jit_emit_turned(jit_code_t *code, LLVMValueRef *rows, int count) {
  LLVMTypeRef i32 = llvm()->Int32TypeInContext(code->context);
  for (int bit = 1; bit < count; bit *= 2) {
    LLVMValueRef low[JIT_MAX_LANES], high[JIT_MAX_LANES];
    for (int lane = 0; lane < count; lane++) {
      low[lane] = llvm()->ConstInt(i32, (uint64_t)(lane & bit ? count + lane - bit : lane), false);
      high[lane] = llvm()->ConstInt(i32, (uint64_t)(lane & bit ? count + lane : lane + bit), false);
    }
    LLVMValueRef take_low = llvm()->ConstVector(low, (unsigned)count),
                 take_high = llvm()->ConstVector(high, (unsigned)count);
    for (int row = 0; row < count; row++) {
      if (row & bit) continue;
      LLVMValueRef a = rows[row], b = rows[row + bit];
      rows[row] = llvm()->BuildShuffleVector(code->builder, a, b, take_low, "");
      rows[row + bit] = llvm()->BuildShuffleVector(code->builder, a, b, take_high, "");
    }
  }
}

/* Shuffles of jit_emit_turned. */
static int turning_cost(int lanes) { return lanes * (31 - __builtin_clz((unsigned)lanes)); }

static LLVMValueRef element_at(jit_emit_t *emit, LLVMTypeRef element, LLVMValueRef array, int64_t index) {
  LLVMValueRef place = jit_emit_i64(emit, index);
  return llvm()->BuildInBoundsGEP2(emit->code->builder, element, array, &place, 1, "");
}

/* --- writing --------------------------------------------------------------------------------------------------- */

/* The first source's lanes wait until there is a second one: one shuffle joins both. */
typedef struct pick {
  LLVMValueRef value;
  int first; /* the source that `value` is; -1: lanes are in order */
} pick_t;

static LLVMValueRef shuffle(jit_emit_t *emit, LLVMValueRef a, LLVMValueRef b, const int *lanes) {
  LLVMValueRef order[JIT_MAX_LANES];
  LLVMTypeRef i32 = llvm()->Int32TypeInContext(emit->code->context);
  for (int i = 0; i < emit->lanes; i++) order[i] = llvm()->ConstInt(i32, (uint64_t)lanes[i], false);
  return llvm()->BuildShuffleVector(emit->code->builder, a, b, llvm()->ConstVector(order, (unsigned)emit->lanes), "");
}

/* Lane i is lane lane[i] of sources[of[i]]. */
static LLVMValueRef pick_lanes(jit_emit_t *emit, LLVMValueRef *sources, int count, const int *of, const int *lane) {
  pick_t pick = {NULL, -1};
  for (int k = 0; k < count; k++) {
    int lanes[JIT_MAX_LANES];
    bool is_used = false;
    for (int i = 0; i < emit->lanes; i++) {
      is_used |= of[i] == k;
      lanes[i] = of[i] == k ? emit->lanes + lane[i] : of[i] == pick.first ? lane[i] : i;
    }
    if (!is_used) continue;
    pick = pick.value ? (pick_t){shuffle(emit, pick.value, sources[k], lanes), -1} : (pick_t){sources[k], k};
  }
  return pick.first < 0 ? pick.value : shuffle(emit, pick.value, pick.value, lane);
}

/* Element l * count + k of the rows is lane l of values[k], which vectors of columns or, turned, of rows have. */
static LLVMValueRef line_of(jit_emit_t *emit, LLVMValueRef *sources, int count, bool is_turned, int number) {
  int of[JIT_MAX_LANES], lane[JIT_MAX_LANES], lanes = emit->lanes;
  for (int i = 0; i < lanes; i++) {
    int row = (number * lanes + i) / count, column = (number * lanes + i) % count;
    of[i] = is_turned ? column / lanes * lanes + row : column;
    lane[i] = is_turned ? column % lanes : row;
  }
  return pick_lanes(emit, sources, is_turned ? (count + lanes - 1) / lanes * lanes : count, of, lane);
}

void jit_emit_interleaved(jit_emit_t *emit, LLVMValueRef array, hr_dtype_t dtype, const jit_expr_t *index, int count,
                          LLVMValueRef *values) {
  LLVMTypeRef element = jit_memory_type(emit->code, dtype);
  LLVMValueRef first = jit_emit_address(emit, array, dtype, index), sources[JIT_MAX_LANES + JIT_MAX_INTERLEAVED];
  int lanes = emit->lanes, groups = (count + lanes - 1) / lanes;
  bool is_turned = count * (count - 1) > (turning_cost(lanes) + lanes) * groups && groups * lanes <= JIT_MAX_LANES;
  jit_emit_at(emit, emit->level);
  for (int k = 0; k < count; k++) sources[k] = jit_to_memory(emit->code, dtype, values[k]);
  for (int k = count; k < groups * lanes; k++) sources[k] = llvm()->GetPoison(llvm()->TypeOf(sources[0]));
  for (int g = 0; is_turned && g < groups; g++) jit_emit_turned(emit->code, sources + g * lanes, lanes);
  for (int q = 0; q < count; q++) {
    LLVMValueRef line = line_of(emit, sources, count, is_turned, q);
    LLVMValueRef store = llvm()->BuildStore(emit->code->builder, line, element_at(emit, element, first, q * lanes));
    llvm()->SetAlignment(store, (unsigned)hr_dtype_bytes(dtype));
  }
}

/* --- reading --------------------------------------------------------------------------------------------------- */

/* Loads of one array that differ by a constant: columns low .. high of rows that are `jump` apart. */
typedef struct jit_band {
  int number, count;
  hr_dtype_t dtype;
  const jit_expr_t *base;
  int64_t jump, low, high;
  unsigned epochs[JIT_MAX_LANES]; /* by column */
  LLVMValueRef columns[JIT_MAX_LANES];
  struct jit_band *next;
} jit_band_t;

static bool may_be_in_band(const jit_formula_t *formula, const jit_node_t *node, int var) {
  if (node->kind != JIT_LOAD || node->guard || hr_dtype_bytes(node->dtype) > 8) return false;
  return !jit_expr_is_bent(&formula->exprs, node->expr, var) && jit_expr_factor(node->expr, var) > 1;
}

static hr_status_t add_to_band(jit_formula_t *formula, jit_band_t **bands, jit_node_t *node, int var) {
  const jit_expr_t *base = jit_expr_affine(&formula->exprs, node->expr, 1, -node->expr->constant);
  int64_t column = node->expr->constant;
  jit_band_t *band = *bands;
  while (band && (band->number != node->number || band->base != base || band->dtype != node->dtype)) band = band->next;
  if (!band) {
    HR_TRY(HR_NEW(formula->arena, &band));
    *band = (jit_band_t){.number = node->number, .dtype = node->dtype, .base = base, .low = column, .high = column,
                         .jump = jit_expr_factor(base, var), .next = *bands};
    *bands = band;
  }
  band->low = column < band->low ? column : band->low, band->high = column > band->high ? column : band->high;
  band->count++;
  node->band = band;
  return NULL;
}

/* Is it less to turn whole rows than to put each column together from what lies around it? */
static bool is_worth_it(const jit_band_t *band, int lanes) {
  int64_t width = band->high - band->low + 1, groups = (width + lanes - 1) / lanes;
  return width <= JIT_MAX_LANES && band->count * (band->jump < lanes ? band->jump : lanes) >= groups * turning_cost(lanes);
}

hr_status_t jit_bands_find(jit_formula_t *formula, int var, int lanes) {
  jit_band_t *bands = NULL;
  for (jit_node_t *node = formula->first_made; node; node = node->next_made)
    if (may_be_in_band(formula, node, var)) HR_TRY(add_to_band(formula, &bands, node, var));
  for (jit_node_t *node = formula->first_made; node; node = node->next_made)
    if (node->band && !is_worth_it(node->band, lanes)) node->band = NULL;
  return NULL;
}

/* Columns `from` .. of each lane's row. Nothing beyond the last row's last column is read: vectors that would go on end
 * there, and are moved down in their registers. */
static void load_columns(jit_emit_t *emit, jit_band_t *band, int from) {
  LLVMTypeRef element = jit_memory_type(emit->code, band->dtype);
  LLVMTypeRef vector = llvm()->VectorType(element, (unsigned)emit->lanes);
  const jit_expr_t *index = jit_expr_affine(&emit->formula->exprs, band->base, 1, band->low);
  LLVMValueRef first = jit_emit_address(emit, jit_emit_in(emit, band->number), band->dtype, index);
  int64_t last = (emit->lanes - 1) * band->jump + band->high - band->low + 1 - emit->lanes;
  LLVMValueRef rows[JIT_MAX_LANES];
  jit_emit_at(emit, emit->level);
  for (int l = 0; l < emit->lanes; l++) {
    int64_t at = l * band->jump + from, place = at < last ? at : last;
    int lanes[JIT_MAX_LANES];
    rows[l] = llvm()->BuildLoad2(emit->code->builder, vector, element_at(emit, element, first, place), "");
    llvm()->SetAlignment(rows[l], (unsigned)hr_dtype_bytes(band->dtype));
    for (int i = 0; i < emit->lanes; i++) lanes[i] = i + at - place < emit->lanes ? (int)(i + at - place) : i;
    if (at > place) rows[l] = shuffle(emit, rows[l], rows[l], lanes);
  }
  jit_emit_turned(emit->code, rows, emit->lanes);
  for (int i = 0; i < emit->lanes && from + i < JIT_MAX_LANES; i++) {
    band->columns[from + i] = rows[i];
    band->epochs[from + i] = emit->levels[emit->level].epoch;
  }
}

/* Rows are turned whose number is a power of two: loops that are one register may have any number of lanes. */
static bool are_turned(const jit_emit_t *emit) {
  return emit->lanes > 1 && !(emit->lanes & (emit->lanes - 1)) && !emit->mask;
}

LLVMValueRef jit_band_given(jit_emit_t *emit, jit_node_t *node) {
  jit_band_t *band = node->band;
  if (!band || !are_turned(emit)) return NULL;
  if (emit->place && emit->place->in_registers[node->number]) return NULL;
  int column = (int)(node->expr->constant - band->low);
  if (band->epochs[column] != emit->levels[emit->level].epoch)
    load_columns(emit, band, column / emit->lanes * emit->lanes);
  jit_emit_at(emit, emit->level);
  return jit_from_memory(emit->code, node->dtype, band->columns[column]);
}
