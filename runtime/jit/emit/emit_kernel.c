/* The function of a kernel, its levels, and its memory accesses.
 *
 * Code placement is by construction, not by a pass: a value that depends on loop variables up to v
 * is emitted in the block of level v + 1, before the deeper loops, so loop-invariant code is
 * hoisted during emission. An epoch per level tells which emitted values are valid: it changes
 * whenever the level is entered again.
 *
 * Addresses are built the same way: level_pointer splits an index by levels, and each level adds
 * its share to the pointer of the level around it (strength reduction). The latest JIT_ENTRIES
 * pointers are remembered, so that arrays that are read at several constant offsets share one. A
 * load is a vector load, a broadcast, whole vectors with shuffles (emit_lanes.c), or a gather, in
 * that order of preference. */
#include "jit/emit/emit_kernel.h"

#include <string.h>

#include "jit/element/element_complex.h"

#define FAR_BYTES (64 << 10)

kir_value_t *jit_emit_i64(jit_emit_t *emit, int64_t value) {
  return kir_const_int(kir_int_type(emit->code->module, 64), (uint64_t)value);
}

static kir_type_t *pointer_type(jit_emit_t *emit) { return kir_pointer_type(emit->code->module); }

/* --- the function ----------------------------------------------------------------------------- */

static void add_function(jit_emit_t *emit, const char *name) {
  jit_code_t *code = emit->code;
  kir_type_t *pointer = pointer_type(emit), *i64 = kir_int_type(code->module, 64);
  kir_type_t *type = kir_function_type(kir_void_type(code->module),
                                       (kir_type_t *[]){pointer, pointer, pointer, i64, i64}, 5);
  emit->function = kir_add_function(code->module, name, type);
  kir_add_attributes(emit->function, KIR_NOUNWIND);
  kir_value_t **arguments[] = {&emit->args.in, &emit->args.out, &emit->args.scratch,
                               &emit->args.begin, &emit->args.end};
  for (unsigned k = 0; k < 5; k++) *arguments[k] = kir_param(emit->function, k);
}

static void enter_function_part(jit_emit_t *emit, jit_function_part_t *at_index) {
  emit->function_part = at_index;
  emit->function = at_index->function;
  emit->args.scratch = at_index->scratch;
  emit->arrays.in = at_index->ins;
  emit->arrays.out = at_index->outs;
  emit->arrays.dummy = at_index->nowhere;
  emit->args.begin = jit_emit_i64(emit, 0);
  emit->args.end = jit_emit_i64(emit, at_index->units[at_index->phase]);
  emit->levels[0].block = at_index->block;
}

hr_status_t jit_emit_begin(jit_emit_t *emit, jit_code_t *code, jit_graph_t *graph, const char *name,
                           int in_count, int out_count) {
  *emit = (jit_emit_t){.code = code,
                       .graph = graph,
                       .lane.var = -1,
                       .lane.count = 1,
                       .last_epoch = graph->last_epoch + 1};
  HR_TRY(HR_NEW_ARRAY(graph->arena, in_count + 1, &emit->arrays.in));
  HR_TRY(HR_NEW_ARRAY(graph->arena, out_count + 1, &emit->arrays.out));
  for (jit_node_t *node = graph->first_made; node; node = node->next_made) {
    node->tile.value = NULL;
    node->slp.pack = NULL;
    if (node->kind == JIT_OP) emit->op_counts[node->op]++;
  }
  emit->levels[0].epoch = emit->last_epoch;
  if (code->function_part) {
    enter_function_part(emit, code->function_part);
  } else {
    add_function(emit, name);
    emit->levels[0].block = kir_append_block(emit->function, "");
  }
  jit_emit_at(emit, 0);
  return NULL;
}

void jit_emit_end(jit_emit_t *emit) {
  emit->graph->last_epoch = emit->last_epoch;
  jit_emit_at(emit, 0);
  if (!emit->function_part) {
    kir_ret_void(emit->code->builder);
    return;
  }
  emit->function_part->block = emit->levels[0].block;
  emit->function_part->nowhere = emit->arrays.dummy;
  emit->function_part->phase++;
}

void jit_emit_at(jit_emit_t *emit, int level) {
  kir_block_t *block = emit->levels[level].block;
  kir_value_t *last = kir_terminator(block);
  if (last)
    kir_position_before(emit->code->builder, last);
  else
    kir_position_at_end(emit->code->builder, block);
}

int jit_emit_depth(const jit_emit_t *emit, uint32_t vars) {
  int depth = 0;
  for (int v = 0; vars >> v; v++)
    if (vars >> v & 1 && emit->depths[v] > depth) depth = emit->depths[v];
  return depth;
}

/* Sets the insertion point to the end of the function's entry block, whose values dominate all
 * others. */
static void enter_first_block(jit_emit_t *emit) {
  kir_block_t *entry = kir_entry_block(emit->function);
  kir_value_t *last = kir_terminator(entry);
  if (last)
    kir_position_before(emit->code->builder, last);
  else
    kir_position_at_end(emit->code->builder, entry);
}

static kir_value_t *pointer_at(jit_emit_t *emit, kir_value_t *list, int number) {
  kir_type_t *pointer = pointer_type(emit);
  kir_value_t *index = jit_emit_i64(emit, number);
  enter_first_block(emit);
  kir_value_t *at_index = kir_inbounds_gep(emit->code->builder, pointer, list, index);
  return kir_load(emit->code->builder, pointer, at_index);
}

kir_value_t *jit_emit_in(jit_emit_t *emit, int number) {
  if (!emit->arrays.in[number]) emit->arrays.in[number] = pointer_at(emit, emit->args.in, number);
  return emit->arrays.in[number];
}

kir_value_t *jit_emit_out(jit_emit_t *emit, int number) {
  if (!emit->arrays.out[number])
    emit->arrays.out[number] = pointer_at(emit, emit->args.out, number);
  return emit->arrays.out[number];
}

/* --- memory ----------------------------------------------------------------------------------- */

typedef enum access { ACCESS_UNIFORM, ACCESS_CONTIGUOUS, ACCESS_STRIDED } access_t;

static access_t access_pattern(const jit_emit_t *emit, const jit_expr_t *index) {
  if (!jit_emit_in_lanes(emit, index->vars)) return ACCESS_UNIFORM;
  bool nonaffine = jit_expr_is_nonaffine(&emit->graph->exprs, index, emit->lane.var);
  return !nonaffine && jit_expr_factor(index, emit->lane.var) == 1 ? ACCESS_CONTIGUOUS
                                                                   : ACCESS_STRIDED;
}

static kir_value_t *element_pointer(jit_emit_t *emit, kir_value_t *array, kir_type_t *element,
                                    kir_value_t *index) {
  return kir_inbounds_gep(emit->code->builder, element, array, index);
}

/* Memo of the pointer to array[index], whatever its epoch; NULL: there is none. */
static jit_entry_t *find_entry(jit_emit_t *emit, const kir_value_t *array,
                               const jit_expr_t *index) {
  unsigned count = emit->pointers.count < JIT_ENTRIES ? emit->pointers.count : JIT_ENTRIES;
  for (unsigned i = 0; i < count; i++)
    if (emit->pointers.entries[i].array == array && emit->pointers.entries[i].index == index)
      return &emit->pointers.entries[i];
  return NULL;
}

/* Pointer to array[index] for lane 0. Each level adds its own terms to the pointer of the outer
 * levels, once for all indices with the same terms. Before the constant is added, the pointer may
 * lie outside the array. */
static kir_value_t *level_pointer(jit_emit_t *emit, kir_value_t *array, kir_type_t *element,
                                  const jit_expr_t *index) {
  jit_exprs_t *exprs = &emit->graph->exprs;
  int depth = jit_emit_depth(emit, index->vars);
  if (!index->count) return array;
  jit_entry_t *entry = find_entry(emit, array, index);
  if (entry && entry->epoch == emit->levels[depth].epoch) return entry->pointer;
  const jit_expr_t *outer = jit_emit_outer_part(emit, index, depth);
  const jit_expr_t *own = jit_expr_add(exprs, index, jit_expr_scale(exprs, outer, -1));
  kir_value_t *pointer = level_pointer(emit, array, element, outer),
              *offset = jit_emit_expr(emit, own);
  jit_emit_at(emit, depth);
  pointer = kir_gep(emit->code->builder, element, pointer, offset);
  entry = find_entry(emit, array, index);
  if (!entry) entry = &emit->pointers.entries[emit->pointers.count++ % JIT_ENTRIES];
  *entry = (jit_entry_t){array, pointer, index, emit->levels[depth].epoch};
  return pointer;
}

/* Is the address computed before all loops? */
static bool is_in_entry_block(const jit_emit_t *emit, kir_value_t *array) {
  return array->block == kir_entry_block(emit->function);
}

/* Address of lane 0's element, for use at level `depth`. The constant is added last, as an
 * instruction's displacement, so that elements at fixed distances share the rest. In a region the
 * address of an array may be computed after the entry block; it is then valid from level 0 on. */
static kir_value_t *first_pointer(jit_emit_t *emit, kir_value_t *array, kir_type_t *element,
                                  const jit_expr_t *index, int depth) {
  if (!is_in_entry_block(emit, array)) {
    kir_value_t *offset = jit_emit_expr(emit, index);
    jit_emit_at(emit, depth);
    return element_pointer(emit, array, element, offset);
  }
  const jit_expr_t *at_index = jit_expr_affine(&emit->graph->exprs, index, 1, -index->constant);
  kir_value_t *pointer = level_pointer(emit, array, element, at_index),
              *distance = jit_emit_i64(emit, index->constant);
  jit_emit_at(emit, jit_emit_depth(emit, index->vars));
  return index->constant ? kir_gep(emit->code->builder, element, pointer, distance) : pointer;
}

kir_value_t *jit_emit_address(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype,
                              const jit_expr_t *index) {
  return first_pointer(emit, array, jit_memory_type(emit->code, dtype), index, emit->level);
}

static kir_value_t *gather_pointers(jit_emit_t *emit, kir_value_t *array, kir_type_t *element,
                                    const jit_expr_t *index) {
  kir_value_t *offsets = jit_emit_lane_expr(emit, index);
  return element_pointer(emit, array, element, offsets);
}

kir_value_t *jit_emit_both(jit_emit_t *emit, kir_value_t *a, kir_value_t *b) {
  if (!a || !b) return a ? a : b;
  kir_type_t *type = kir_type_of(a);
  kir_value_t *always = kir_all_ones(type), *never = kir_null(type);
  if (a == always || b == always) return a == always ? b : a;
  if (a == never || b == never) return never;
  return kir_and(emit->code->builder, a, b);
}

static kir_value_t *all_lanes(jit_emit_t *emit) {
  return kir_all_ones(
      kir_vector_type(kir_int_type(emit->code->module, 1), (unsigned)emit->lane.count));
}

kir_value_t *jit_emit_alloca(jit_emit_t *emit, int64_t size_bytes) {
  kir_type_t *room = kir_array_type(kir_int_type(emit->code->module, 8), (unsigned)size_bytes);
  enter_first_block(emit);
  kir_value_t *at_index = kir_alloca(emit->code->builder, room);
  kir_set_align(at_index, 64);
  return at_index;
}

/* Memory that is read where a guard forbids a load. It holds zeros: the values are discarded, but
 * arithmetic on denormal garbage would take a hundred times as long. */
static kir_value_t *dummy_memory(jit_emit_t *emit) {
  kir_builder_t *b = emit->code->builder;
  kir_type_t *i32 = kir_int_type(emit->code->module, 32), *line = kir_vector_type(i32, 16);
  if (emit->arrays.dummy) return emit->arrays.dummy;
  emit->arrays.dummy = jit_emit_alloca(emit, JIT_DUMMY_BYTES);
  for (int at = 0; at < JIT_DUMMY_BYTES / 4; at += 16) {
    kir_value_t *to = kir_inbounds_gep(b, i32, emit->arrays.dummy, jit_emit_i64(emit, at));
    kir_set_align(kir_store(b, kir_null(line), to), 64);
  }
  return emit->arrays.dummy;
}

kir_value_t *jit_emit_readable(jit_emit_t *emit, kir_value_t *pointer, kir_value_t *guard,
                               int depth) {
  kir_value_t *instead = guard ? dummy_memory(emit) : NULL;
  jit_emit_at(emit, depth);
  return guard ? kir_select(emit->code->builder, guard, pointer, instead) : pointer;
}

static kir_value_t *plain_load(jit_emit_t *emit, kir_type_t *type, kir_value_t *pointer,
                               unsigned align) {
  kir_value_t *value = kir_load(emit->code->builder, type, pointer);
  kir_set_align(value, align);
  return value;
}

static kir_value_t *masked_load(jit_emit_t *emit, kir_op_t op, kir_type_t *type,
                                kir_value_t *pointer, kir_value_t *mask, unsigned align) {
  kir_value_t *alignment = kir_const_int(kir_int_type(emit->code->module, 32), align);
  kir_value_t *arguments[] = {pointer, alignment, mask, kir_null(type)};
  return jit_intrinsic(emit->code, op, type, arguments, 4);
}

/* Is the load needed in any lane? NULL: always allowed. Fully masked loads are slow at unmapped
 * addresses far from other loads, that is, in loops over many pages, and at those of another array
 * that the loop stores to, such as the next state of a loop, since they wait for the stores. */
static kir_value_t *any_lane_active(jit_emit_t *emit, kir_type_t *type, jit_guard_t guard) {
  if (!guard.lanes || kir_is_constant(guard.lanes)) return NULL;
  int64_t bytes = (int64_t)jit_element_bits(jit_scalar_type(type)) / 8;
  bool is_long = (emit->graph->exprs.symbols[emit->lane.var].high + 1) * bytes >= FAR_BYTES;
  return is_long || guard.is_outside
             ? jit_intrinsic(emit->code, KIR_REDUCE_OR, kir_type_of(guard.lanes), &guard.lanes, 1)
             : NULL;
}

static kir_value_t *load_contiguous(jit_emit_t *emit, kir_type_t *type, kir_value_t *pointer,
                                    jit_guard_t guard, unsigned align, int depth) {
  pointer = jit_emit_readable(emit, pointer, any_lane_active(emit, type, guard), depth);
  kir_value_t *mask = jit_emit_both(emit, emit->lane.mask, guard.lanes);
  return mask ? masked_load(emit, KIR_MASKED_LOAD, type, pointer, mask, align)
              : plain_load(emit, type, pointer, align);
}

/* Loads lanes that lie apart. */
static kir_value_t *load_gather(jit_emit_t *emit, kir_type_t *type, kir_value_t *pointers,
                                jit_guard_t guard, unsigned align) {
  kir_type_t *preds =
      kir_vector_type(kir_int_type(emit->code->module, 1), (unsigned)emit->lane.count);
  if (guard.all) guard.all = jit_splat(emit->code, preds, guard.all);
  kir_value_t *mask =
      jit_emit_both(emit, emit->lane.mask, jit_emit_both(emit, guard.all, guard.lanes));
  return masked_load(emit, KIR_GATHER, type, pointers, mask ? mask : all_lanes(emit), align);
}

/* Is the lane active under the loop's mask and the load's guard, both constant? */
static bool is_lane_wanted(jit_emit_t *emit, jit_guard_t guard, int lane) {
  kir_value_t *one = kir_all_ones(kir_int_type(emit->code->module, 1));
  kir_value_t *const masks[] = {emit->lane.mask, guard.lanes};
  for (int i = 0; i < 2; i++)
    if (masks[i] && kir_const_lane(masks[i], (unsigned)lane) != one) return false;
  return true;
}

/* Inactive lanes get the offset of an active one. */
static bool find_lane_offsets(jit_emit_t *emit, const jit_expr_t *index, jit_guard_t guard,
                              size_t bytes, int64_t offsets[JIT_MAX_LANES]) {
  int wanted = 0;
  bool is_known = (!emit->lane.mask || kir_is_constant(emit->lane.mask)) &&
                  (!guard.lanes || kir_is_constant(guard.lanes));
  if (!is_known || !jit_lane_offsets(emit, index, offsets)) return false;
  while (wanted < emit->lane.count && !is_lane_wanted(emit, guard, wanted)) wanted++;
  if (wanted == emit->lane.count) return false;
  for (int k = 0; k < emit->lane.count; k++)
    if (!is_lane_wanted(emit, guard, k)) offsets[k] = offsets[wanted];
  return jit_window_fits(emit->lane.count, offsets, bytes);
}

static kir_value_t *load_window(jit_emit_t *emit, kir_type_t *element, kir_value_t *pointer,
                                kir_value_t *guard, int64_t *offsets, int depth) {
  int64_t low = offsets[0];
  for (int k = 0; k < emit->lane.count; k++) low = offsets[k] < low ? offsets[k] : low;
  for (int k = 0; k < emit->lane.count; k++) offsets[k] -= low;
  pointer = element_pointer(emit, pointer, element, jit_emit_i64(emit, low));
  return jit_window_load(emit, element, jit_emit_readable(emit, pointer, guard, depth), offsets);
}

/* Is the load known to be inactive everywhere? */
static bool is_never(jit_guard_t guard) {
  return (guard.all && kir_is_constant(guard.all) && kir_is_null(guard.all)) ||
         (guard.lanes && kir_is_constant(guard.lanes) && kir_is_null(guard.lanes));
}

/* Loads one element for all lanes. It may be needed in some lanes only, so it is read if any active
 * lane needs it. */
static kir_value_t *load_uniform(jit_emit_t *emit, kir_type_t *element, kir_value_t *pointer,
                                 jit_guard_t guard, unsigned align, int depth) {
  kir_value_t *any = guard.lanes ? jit_emit_both(emit, emit->lane.mask, guard.lanes) : NULL;
  if (any) any = jit_intrinsic(emit->code, KIR_REDUCE_OR, kir_type_of(any), &any, 1);
  return plain_load(emit, element,
                    jit_emit_readable(emit, pointer, jit_emit_both(emit, guard.all, any), depth),
                    align);
}

/* Index of the real or the imaginary part of a complex number. */
static const jit_expr_t *part_index(jit_emit_t *emit, const jit_expr_t *index, int part) {
  return jit_expr_affine(&emit->graph->exprs, index, 2, part);
}

/* Vectors have no integers as wide as c128, so parts are loaded as f64 unless they are
 * contiguous. */
static kir_value_t *load_c128_parts(jit_emit_t *emit, kir_value_t *array, const jit_expr_t *index,
                                    jit_guard_t guard, int depth) {
  kir_value_t *re = jit_emit_load(emit, array, HR_F64, part_index(emit, index, 0), guard, depth);
  kir_value_t *im = jit_emit_load(emit, array, HR_F64, part_index(emit, index, 1), guard, depth);
  jit_emit_at(emit, depth);
  return jit_complex_join(emit->code, (jit_pair_t){re, im});
}

static void store_c128_parts(jit_emit_t *emit, kir_value_t *array, const jit_expr_t *index,
                             kir_value_t *value) {
  jit_emit_at(emit, emit->level);
  jit_pair_t parts = jit_complex_split(emit->code, value);
  jit_emit_store(emit, array, HR_F64, part_index(emit, index, 0), parts.re, false);
  jit_emit_store(emit, array, HR_F64, part_index(emit, index, 1), parts.im, false);
}

kir_value_t *jit_emit_load(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype,
                           const jit_expr_t *index, jit_guard_t guard, int depth) {
  bool is_line = access_pattern(emit, index) == ACCESS_CONTIGUOUS && !emit->lane.mask &&
                 !guard.lanes && emit->lane.count > 1;
  if (dtype == HR_C128 && !is_line) return load_c128_parts(emit, array, index, guard, depth);
  kir_type_t *element = jit_memory_type(emit->code, dtype);
  kir_type_t *vector =
      emit->lane.count > 1 ? kir_vector_type(element, (unsigned)emit->lane.count) : element;
  unsigned align = (unsigned)hr_dtype_bytes(hr_dtype_real(dtype));
  int64_t offsets[JIT_MAX_LANES];
  access_t access = access_pattern(emit, index);
  kir_value_t *value, *pointer;
  bool is_window = access == ACCESS_STRIDED &&
                   find_lane_offsets(emit, index, guard, hr_dtype_bytes(dtype), offsets);
  if (is_never(guard))
    return jit_from_memory(emit->code, dtype,
                           kir_null(access == ACCESS_UNIFORM ? element : vector));
  bool is_spread = access == ACCESS_STRIDED && !is_window;
  pointer = is_spread ? gather_pointers(emit, array, element, index)
                      : first_pointer(emit, array, element, index, depth);
  jit_emit_at(emit, depth);
  if (is_window)
    value = load_window(emit, element, pointer, guard.all, offsets, depth);
  else if (access == ACCESS_CONTIGUOUS)
    value = load_contiguous(emit, vector, jit_emit_readable(emit, pointer, guard.all, depth), guard,
                            align, depth);
  else if (access == ACCESS_STRIDED)
    value = load_gather(emit, vector, pointer, guard, align);
  else
    value = load_uniform(emit, element, pointer, guard, align, depth);
  return jit_from_memory(emit->code, dtype, value);
}

static void set_nontemporal(kir_value_t *store, size_t bytes) {
  kir_set_nontemporal(store);
  kir_set_align(store, (unsigned)bytes);
}

static void masked_store(jit_emit_t *emit, kir_op_t op, kir_value_t *value, kir_value_t *pointer,
                         unsigned align) {
  kir_value_t *alignment = kir_const_int(kir_int_type(emit->code->module, 32), align);
  kir_value_t *arguments[] = {value, pointer, alignment,
                              emit->lane.mask ? emit->lane.mask : all_lanes(emit)};
  jit_intrinsic(emit->code, op, kir_type_of(value), arguments, 4);
}

void jit_emit_store(jit_emit_t *emit, kir_value_t *array, hr_dtype_t dtype, const jit_expr_t *index,
                    kir_value_t *value, bool streams) {
  bool is_line =
      access_pattern(emit, index) == ACCESS_CONTIGUOUS && !emit->lane.mask && emit->lane.count > 1;
  if (dtype == HR_C128 && !is_line) {
    store_c128_parts(emit, array, index, value);
    return;
  }
  kir_type_t *element = jit_memory_type(emit->code, dtype);
  unsigned align = (unsigned)hr_dtype_bytes(hr_dtype_real(dtype));
  bool spread = access_pattern(emit, index) == ACCESS_STRIDED;
  kir_value_t *pointer = spread ? gather_pointers(emit, array, element, index)
                                : first_pointer(emit, array, element, index, emit->level);
  jit_emit_at(emit, emit->level);
  value = jit_to_memory(emit->code, dtype, value);
  if (spread) {
    masked_store(emit, KIR_SCATTER, value, pointer, align);
  } else if (emit->lane.mask) {
    masked_store(emit, KIR_MASKED_STORE, value, pointer, align);
  } else {
    kir_value_t *store = kir_store(emit->code->builder, value, pointer);
    kir_set_align(store, align);
    if (streams && emit->lane.count > 1)
      set_nontemporal(store, hr_dtype_bytes(dtype) * (size_t)emit->lane.count);
  }
}
