#include "jit/emit_kernel.h"

#include <string.h>

#include "jit/element_complex.h"

#define FAR_BYTES (64 << 10)

LLVMValueRef jit_emit_i64(jit_emit_t *emit, int64_t value) {
  return llvm()->ConstInt(llvm()->Int64TypeInContext(emit->code->context), (uint64_t)value, true);
}

static LLVMTypeRef pointer_type(jit_emit_t *emit) { return llvm()->PointerTypeInContext(emit->code->context, 0); }

/* --- the function ---------------------------------------------------------------------------------------------- */

static void add_function(jit_emit_t *emit, const char *name) {
  jit_code_t *code = emit->code;
  LLVMTypeRef pointer = pointer_type(emit), i64 = llvm()->Int64TypeInContext(code->context);
  LLVMTypeRef type = llvm()->FunctionType(llvm()->VoidTypeInContext(code->context),
                                          (LLVMTypeRef[]){pointer, pointer, pointer, i64, i64}, 5, false);
  emit->function = llvm()->AddFunction(code->module, name, type);
  jit_function_attribute(code, emit->function, LLVMAttributeFunctionIndex, "nounwind", 0);
  LLVMValueRef *arguments[] = {&emit->in, &emit->out, &emit->scratch, &emit->begin, &emit->end};
  for (unsigned k = 0; k < 5; k++) *arguments[k] = llvm()->GetParam(emit->function, k);
}

static void enter_place(jit_emit_t *emit, jit_place_t *place) {
  emit->place = place, emit->function = place->function, emit->scratch = place->scratch;
  emit->buffers = place->ins, emit->outs = place->outs, emit->nowhere = place->nowhere;
  emit->begin = jit_emit_i64(emit, 0), emit->end = jit_emit_i64(emit, place->units[place->phase]);
  emit->levels[0].block = place->block;
}

hr_status_t jit_emit_begin(jit_emit_t *emit, jit_code_t *code, jit_formula_t *formula, const char *name, int in_count,
                           int out_count) {
  *emit = (jit_emit_t){.code = code, .formula = formula, .lane_var = -1, .lanes = 1,
                       .last_epoch = formula->last_epoch + 1};
  HR_TRY(HR_NEW_ARRAY(formula->arena, in_count + 1, &emit->buffers));
  HR_TRY(HR_NEW_ARRAY(formula->arena, out_count + 1, &emit->outs));
  for (jit_node_t *node = formula->first_made; node; node = node->next_made) {
    node->square = NULL, node->pack = NULL;
    if (node->kind == JIT_OP) emit->op_counts[node->op]++;
  }
  emit->levels[0].epoch = emit->last_epoch;
  if (code->place) {
    enter_place(emit, code->place);
  } else {
    add_function(emit, name);
    emit->levels[0].block = llvm()->AppendBasicBlockInContext(code->context, emit->function, "");
  }
  jit_emit_at(emit, 0);
  return NULL;
}

void jit_emit_end(jit_emit_t *emit) {
  emit->formula->last_epoch = emit->last_epoch;
  jit_emit_at(emit, 0);
  if (emit->place)
    emit->place->block = emit->levels[0].block, emit->place->nowhere = emit->nowhere, emit->place->phase++;
  else
    llvm()->BuildRetVoid(emit->code->builder);
}

void jit_emit_at(jit_emit_t *emit, int level) {
  LLVMBasicBlockRef block = emit->levels[level].block;
  LLVMValueRef last = llvm()->GetBasicBlockTerminator(block);
  if (last)
    llvm()->PositionBuilderBefore(emit->code->builder, last);
  else
    llvm()->PositionBuilderAtEnd(emit->code->builder, block);
}

int jit_emit_depth(const jit_emit_t *emit, uint32_t vars) {
  int depth = 0;
  for (int v = 0; vars >> v; v++)
    if (vars >> v & 1 && emit->depths[v] > depth) depth = emit->depths[v];
  return depth;
}

/* The builder at the end of the function's first block, whose values are everywhere. */
static void enter_first_block(jit_emit_t *emit) {
  LLVMBasicBlockRef entry = llvm()->GetEntryBasicBlock(emit->function);
  LLVMValueRef last = llvm()->GetBasicBlockTerminator(entry);
  if (last)
    llvm()->PositionBuilderBefore(emit->code->builder, last);
  else
    llvm()->PositionBuilderAtEnd(emit->code->builder, entry);
}

static LLVMValueRef pointer_at(jit_emit_t *emit, LLVMValueRef list, int number) {
  LLVMTypeRef pointer = pointer_type(emit);
  LLVMValueRef index = jit_emit_i64(emit, number);
  enter_first_block(emit);
  LLVMValueRef place = llvm()->BuildInBoundsGEP2(emit->code->builder, pointer, list, &index, 1, "");
  return llvm()->BuildLoad2(emit->code->builder, pointer, place, "");
}

LLVMValueRef jit_emit_in(jit_emit_t *emit, int number) {
  if (!emit->buffers[number]) emit->buffers[number] = pointer_at(emit, emit->in, number);
  return emit->buffers[number];
}

LLVMValueRef jit_emit_out(jit_emit_t *emit, int number) {
  if (!emit->outs[number]) emit->outs[number] = pointer_at(emit, emit->out, number);
  return emit->outs[number];
}

/* --- memory ---------------------------------------------------------------------------------------------------- */

typedef enum reach { REACH_ONE, REACH_LINE, REACH_SPREAD } reach_t;

static reach_t reach_of(const jit_emit_t *emit, const jit_expr_t *index) {
  if (!jit_emit_in_lanes(emit, index->vars)) return REACH_ONE;
  bool bent = jit_expr_is_bent(&emit->formula->exprs, index, emit->lane_var);
  return !bent && jit_expr_factor(index, emit->lane_var) == 1 ? REACH_LINE : REACH_SPREAD;
}

static LLVMValueRef element_pointer(jit_emit_t *emit, LLVMValueRef array, LLVMTypeRef element, LLVMValueRef index) {
  return llvm()->BuildInBoundsGEP2(emit->code->builder, element, array, &index, 1, "");
}

/* Element `index` of an array, for lane 0: from the level of the outer loops' share on, each level adds its own, once for
 * all indices that have it in common. It may lie outside of the array until the constant is added. */
static LLVMValueRef entry_pointer(jit_emit_t *emit, LLVMValueRef array, LLVMTypeRef element, const jit_expr_t *index) {
  jit_exprs_t *exprs = &emit->formula->exprs;
  int depth = jit_emit_depth(emit, index->vars);
  jit_entry_t *entry = &emit->entries[((uintptr_t)array >> 4 ^ (uintptr_t)index >> 5) % JIT_ENTRIES];
  if (!index->count) return array;
  if (entry->array == array && entry->index == index && entry->epoch == emit->levels[depth].epoch)
    return entry->pointer;
  const jit_expr_t *outer = jit_emit_outer_part(emit, index, depth);
  const jit_expr_t *own = jit_expr_add(exprs, index, jit_expr_scale(exprs, outer, -1));
  LLVMValueRef pointer = entry_pointer(emit, array, element, outer), offset = jit_emit_expr(emit, own);
  jit_emit_at(emit, depth);
  pointer = llvm()->BuildGEP2(emit->code->builder, element, pointer, &offset, 1, "");
  *entry = (jit_entry_t){array, pointer, index, emit->levels[depth].epoch};
  return pointer;
}

/* Is it computed before all loops? */
static bool is_everywhere(const jit_emit_t *emit, LLVMValueRef array) {
  return llvm()->GetInstructionParent(array) == llvm()->GetEntryBasicBlock(emit->function);
}

/* The address of lane 0. Constants come last, where they are a part of the instruction: elements that lie at fixed
 * distances share the rest. */
static LLVMValueRef first_pointer(jit_emit_t *emit, LLVMValueRef array, LLVMTypeRef element, const jit_expr_t *index) {
  if (!is_everywhere(emit, array)) {
    LLVMValueRef offset = jit_emit_expr(emit, index);
    jit_emit_at(emit, emit->level);
    return element_pointer(emit, array, element, offset);
  }
  const jit_expr_t *place = jit_expr_affine(&emit->formula->exprs, index, 1, -index->constant);
  LLVMValueRef pointer = entry_pointer(emit, array, element, place), distance = jit_emit_i64(emit, index->constant);
  jit_emit_at(emit, jit_emit_depth(emit, index->vars));
  return index->constant ? llvm()->BuildGEP2(emit->code->builder, element, pointer, &distance, 1, "") : pointer;
}

LLVMValueRef jit_emit_address(jit_emit_t *emit, LLVMValueRef array, hr_dtype_t dtype, const jit_expr_t *index) {
  return first_pointer(emit, array, jit_memory_type(emit->code, dtype), index);
}

static LLVMValueRef spread_pointers(jit_emit_t *emit, LLVMValueRef array, LLVMTypeRef element,
                                    const jit_expr_t *index) {
  LLVMValueRef offsets = jit_emit_lane_expr(emit, index);
  return element_pointer(emit, array, element, offsets);
}

LLVMValueRef jit_emit_both(jit_emit_t *emit, LLVMValueRef a, LLVMValueRef b) {
  if (!a || !b) return a ? a : b;
  LLVMTypeRef type = llvm()->TypeOf(a);
  LLVMValueRef always = llvm()->ConstAllOnes(type), never = llvm()->ConstNull(type);
  if (a == always || b == always) return a == always ? b : a;
  if (a == never || b == never) return never;
  return llvm()->BuildAnd(emit->code->builder, a, b, "");
}

static LLVMValueRef all_lanes(jit_emit_t *emit) {
  return llvm()->ConstAllOnes(
      llvm()->VectorType(llvm()->Int1TypeInContext(emit->code->context), (unsigned)emit->lanes));
}

LLVMValueRef jit_emit_room(jit_emit_t *emit, int64_t size_bytes) {
  LLVMTypeRef room = llvm()->ArrayType(llvm()->Int8TypeInContext(emit->code->context), (unsigned)size_bytes);
  enter_first_block(emit);
  LLVMValueRef place = llvm()->BuildAlloca(emit->code->builder, room, "");
  llvm()->SetAlignment(place, 64);
  return place;
}

/* Memory that is read instead of what `guard` forbids. */
static LLVMValueRef nowhere(jit_emit_t *emit) {
  if (!emit->nowhere) emit->nowhere = jit_emit_room(emit, 1024);
  return emit->nowhere;
}

static LLVMValueRef readable(jit_emit_t *emit, LLVMValueRef pointer, LLVMValueRef guard, int depth) {
  LLVMValueRef instead = guard ? nowhere(emit) : NULL;
  jit_emit_at(emit, depth);
  return guard ? llvm()->BuildSelect(emit->code->builder, guard, pointer, instead, "") : pointer;
}

static LLVMValueRef plain_load(jit_emit_t *emit, LLVMTypeRef type, LLVMValueRef pointer, unsigned align) {
  LLVMValueRef value = llvm()->BuildLoad2(emit->code->builder, type, pointer, "");
  llvm()->SetAlignment(value, align);
  return value;
}

static LLVMValueRef masked_load(jit_emit_t *emit, const char *name, LLVMTypeRef type, LLVMValueRef pointer,
                                LLVMValueRef mask, unsigned align) {
  LLVMTypeRef overloads[] = {type, llvm()->TypeOf(pointer)};
  LLVMValueRef alignment = llvm()->ConstInt(llvm()->Int32TypeInContext(emit->code->context), align, false);
  LLVMValueRef arguments[] = {pointer, alignment, mask, llvm()->ConstNull(type)};
  return jit_intrinsic_of(emit->code, name, overloads, 2, arguments, 4);
}

/* Is a load wanted in any lane? NULL: it may be read in any case. Loads of no lane are slow only where there is no
 * memory, which is far from what the others read: where the loop goes over many pages. */
static LLVMValueRef in_any_lane(jit_emit_t *emit, LLVMTypeRef type, LLVMValueRef lanes) {
  if (!lanes || llvm()->IsConstant(lanes)) return NULL;
  int64_t bytes = (int64_t)jit_element_bits(jit_scalar_type(type)) / 8;
  if ((emit->formula->exprs.symbols[emit->lane_var].high + 1) * bytes < FAR_BYTES) return NULL;
  return jit_intrinsic(emit->code, "llvm.vector.reduce.or", llvm()->TypeOf(lanes), &lanes, 1);
}

static LLVMValueRef load_line(jit_emit_t *emit, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef lanes,
                              unsigned align, int depth) {
  pointer = readable(emit, pointer, in_any_lane(emit, type, lanes), depth);
  LLVMValueRef mask = jit_emit_both(emit, emit->mask, lanes);
  return mask ? masked_load(emit, "llvm.masked.load", type, pointer, mask, align)
              : plain_load(emit, type, pointer, align);
}

/* Memory of several lanes, that lie apart. */
static LLVMValueRef load_spread(jit_emit_t *emit, LLVMTypeRef type, LLVMValueRef pointers, jit_guard_t guard,
                                unsigned align) {
  LLVMTypeRef preds = llvm()->VectorType(llvm()->Int1TypeInContext(emit->code->context), (unsigned)emit->lanes);
  if (guard.all) guard.all = jit_splat(emit->code, preds, guard.all);
  LLVMValueRef mask = jit_emit_both(emit, emit->mask, jit_emit_both(emit, guard.all, guard.lanes));
  return masked_load(emit, "llvm.masked.gather", type, pointers, mask ? mask : all_lanes(emit), align);
}

/* Offsets of lanes that are not wanted become those of others. */
static bool known_offsets(jit_emit_t *emit, const jit_expr_t *index, jit_guard_t guard, size_t bytes,
                          int64_t offsets[JIT_MAX_LANES]) {
  int wanted = 0;
  if (emit->mask || !jit_lane_offsets(emit, index, offsets)) return false;
  if (!guard.lanes) return jit_window_fits(emit->lanes, offsets, bytes);
  if (!llvm()->IsConstant(guard.lanes)) return false;
  LLVMValueRef one = llvm()->ConstAllOnes(llvm()->Int1TypeInContext(emit->code->context));
  while (wanted < emit->lanes && llvm()->GetAggregateElement(guard.lanes, (unsigned)wanted) != one) wanted++;
  if (wanted == emit->lanes) return false;
  for (int k = 0; k < emit->lanes; k++)
    if (llvm()->GetAggregateElement(guard.lanes, (unsigned)k) != one) offsets[k] = offsets[wanted];
  return jit_window_fits(emit->lanes, offsets, bytes);
}

static LLVMValueRef load_window(jit_emit_t *emit, LLVMTypeRef element, LLVMValueRef pointer, LLVMValueRef guard,
                                int64_t *offsets, int depth) {
  int64_t low = offsets[0];
  for (int k = 0; k < emit->lanes; k++) low = offsets[k] < low ? offsets[k] : low;
  for (int k = 0; k < emit->lanes; k++) offsets[k] -= low;
  pointer = element_pointer(emit, pointer, element, jit_emit_i64(emit, low));
  return jit_window_load(emit, element, readable(emit, pointer, guard, depth), offsets);
}

/* Is the load wanted nowhere, as far as that is known? */
static bool is_never(jit_guard_t guard) {
  return (guard.all && llvm()->IsConstant(guard.all) && llvm()->IsNull(guard.all)) ||
         (guard.lanes && llvm()->IsConstant(guard.lanes) && llvm()->IsNull(guard.lanes));
}

/* One element for all lanes may be wanted in some only: it is read if any that exists wants it. */
static LLVMValueRef load_one(jit_emit_t *emit, LLVMTypeRef element, LLVMValueRef pointer, jit_guard_t guard,
                             unsigned align, int depth) {
  LLVMValueRef any = guard.lanes ? jit_emit_both(emit, emit->mask, guard.lanes) : NULL;
  if (any) any = jit_intrinsic(emit->code, "llvm.vector.reduce.or", llvm()->TypeOf(any), &any, 1);
  return plain_load(emit, element, readable(emit, pointer, jit_emit_both(emit, guard.all, any), depth), align);
}

/* The real or the imaginary part of a complex number's place. */
static const jit_expr_t *part_index(jit_emit_t *emit, const jit_expr_t *index, int part) {
  return jit_expr_affine(&emit->formula->exprs, index, 2, part);
}

/* c128 is wider than any integer in a vector: but for what lies in a line, parts are read as numbers of their own. */
static LLVMValueRef load_parts(jit_emit_t *emit, LLVMValueRef array, const jit_expr_t *index, jit_guard_t guard,
                               int depth) {
  LLVMValueRef re = jit_emit_load(emit, array, HR_F64, part_index(emit, index, 0), guard, depth);
  LLVMValueRef im = jit_emit_load(emit, array, HR_F64, part_index(emit, index, 1), guard, depth);
  jit_emit_at(emit, depth);
  return jit_complex_join(emit->code, (jit_pair_t){re, im});
}

static void store_parts(jit_emit_t *emit, LLVMValueRef array, const jit_expr_t *index, LLVMValueRef value) {
  jit_emit_at(emit, emit->level);
  jit_pair_t parts = jit_complex_split(emit->code, value);
  jit_emit_store(emit, array, HR_F64, part_index(emit, index, 0), parts.re, false);
  jit_emit_store(emit, array, HR_F64, part_index(emit, index, 1), parts.im, false);
}

LLVMValueRef jit_emit_load(jit_emit_t *emit, LLVMValueRef array, hr_dtype_t dtype, const jit_expr_t *index,
                           jit_guard_t guard, int depth) {
  bool is_line = reach_of(emit, index) == REACH_LINE && !emit->mask && !guard.lanes && emit->lanes > 1;
  if (dtype == HR_C128 && !is_line) return load_parts(emit, array, index, guard, depth);
  LLVMTypeRef element = jit_memory_type(emit->code, dtype);
  LLVMTypeRef vector = emit->lanes > 1 ? llvm()->VectorType(element, (unsigned)emit->lanes) : element;
  unsigned align = (unsigned)hr_dtype_bytes(hr_dtype_real(dtype));
  int64_t offsets[JIT_MAX_LANES];
  reach_t reach = reach_of(emit, index);
  LLVMValueRef value, pointer;
  bool is_window = reach == REACH_SPREAD && known_offsets(emit, index, guard, hr_dtype_bytes(dtype), offsets);
  if (is_never(guard))
    return jit_from_memory(emit->code, dtype, llvm()->ConstNull(reach == REACH_ONE ? element : vector));
  pointer = reach == REACH_SPREAD && !is_window ? spread_pointers(emit, array, element, index)
                                                : first_pointer(emit, array, element, index);
  jit_emit_at(emit, depth);
  if (is_window)
    value = load_window(emit, element, pointer, guard.all, offsets, depth);
  else if (reach == REACH_LINE)
    value = load_line(emit, vector, readable(emit, pointer, guard.all, depth), guard.lanes, align, depth);
  else if (reach == REACH_SPREAD)
    value = load_spread(emit, vector, pointer, guard, align);
  else
    value = load_one(emit, element, pointer, guard, align, depth);
  return jit_from_memory(emit->code, dtype, value);
}

static void stream(jit_emit_t *emit, LLVMValueRef store, size_t bytes) {
  LLVMContextRef context = emit->code->context;
  LLVMValueRef one = llvm()->ConstInt(llvm()->Int32TypeInContext(context), 1, false);
  LLVMMetadataRef number = llvm()->ValueAsMetadata(one), node = llvm()->MDNodeInContext2(context, &number, 1);
  llvm()->SetMetadata(store, llvm()->GetMDKindIDInContext(context, "nontemporal", 11),
                      llvm()->MetadataAsValue(context, node));
  llvm()->SetAlignment(store, (unsigned)bytes);
}

static void masked_store(jit_emit_t *emit, const char *name, LLVMValueRef value, LLVMValueRef pointer, unsigned align) {
  LLVMTypeRef overloads[] = {llvm()->TypeOf(value), llvm()->TypeOf(pointer)};
  LLVMValueRef alignment = llvm()->ConstInt(llvm()->Int32TypeInContext(emit->code->context), align, false);
  LLVMValueRef arguments[] = {value, pointer, alignment, emit->mask ? emit->mask : all_lanes(emit)};
  jit_intrinsic_of(emit->code, name, overloads, 2, arguments, 4);
}

void jit_emit_store(jit_emit_t *emit, LLVMValueRef array, hr_dtype_t dtype, const jit_expr_t *index, LLVMValueRef value,
                    bool streams) {
  bool is_line = reach_of(emit, index) == REACH_LINE && !emit->mask && emit->lanes > 1;
  if (dtype == HR_C128 && !is_line) {
    store_parts(emit, array, index, value);
    return;
  }
  LLVMTypeRef element = jit_memory_type(emit->code, dtype);
  unsigned align = (unsigned)hr_dtype_bytes(hr_dtype_real(dtype));
  bool spread = reach_of(emit, index) == REACH_SPREAD;
  LLVMValueRef pointer =
      spread ? spread_pointers(emit, array, element, index) : first_pointer(emit, array, element, index);
  jit_emit_at(emit, emit->level);
  value = jit_to_memory(emit->code, dtype, value);
  if (spread) {
    masked_store(emit, "llvm.masked.scatter", value, pointer, align);
  } else if (emit->mask) {
    masked_store(emit, "llvm.masked.store", value, pointer, align);
  } else {
    LLVMValueRef store = llvm()->BuildStore(emit->code->builder, value, pointer);
    llvm()->SetAlignment(store, align);
    if (streams && emit->lanes > 1) stream(emit, store, hr_dtype_bytes(dtype) * (size_t)emit->lanes);
  }
}
