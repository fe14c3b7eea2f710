/* Expansion of operations on memory and lanes that the processor has no instructions for, while the
 * kernel IR is built: extract at a variable lane goes through memory, insert through a select,
 * gathers and scatters of 8- and 16-bit elements become gathers of 32 bits or one access per lane,
 * shuffles move within and across 128-bit lanes. */
#include "jit/x64/x64_code.h"
#include "jit/x64/x64_expand.h"

static bool is_power_of_two(unsigned lanes) { return (lanes & (lanes - 1)) == 0; }

/* --- lanes ------------------------------------------------------------------------------------ */

/* Extracts a variable lane: stores the vector and loads the lane. */
static kir_value_t *extract_at(kir_builder_t *b, kir_value_t *vector, kir_value_t *index) {
  kir_type_t *type = vector->type;
  kir_value_t *memory = kir_alloca(b, type);
  kir_value_t *lane = kir_int_cast(b, index, kir_int_type(type->module, 64), false);
  kir_store(b, vector, memory);
  return kir_load(b, type->element, kir_gep(b, type->element, memory, lane));
}

/* Inserts at a variable lane: selects the lane from a splat of the value. */
static kir_value_t *insert_at(kir_builder_t *b, kir_value_t *vector, kir_value_t *value,
                              kir_value_t *lane) {
  kir_type_t *type = vector->type, *lanes_type = kir_vector_type(lane->type, type->lanes);
  uint64_t numbers[KIR_LANES_MAX];
  hr_assert(type->lanes <= KIR_LANES_MAX);
  for (unsigned i = 0; i < type->lanes; i++) numbers[i] = i;
  kir_value_t *all = kir_splat(b, value, type), *at = kir_splat(b, lane, lanes_type);
  kir_value_t *is_lane = kir_icmp(b, KIR_ICMP_EQ, at, kir_constant(lanes_type, numbers));
  return kir_select(b, is_lane, all, vector);
}

static kir_value_t *expand_insert(kir_builder_t *b, kir_value_t *const *args) {
  bool is_first = kir_is_constant(args[2]) && !args[2]->lanes[0];
  if (is_first && kir_is_constant(args[0]) && args[0]->is_poison)
    return kir_append(b, KIR_INSERT, args[0]->type, args, 3);
  return insert_at(b, args[0], args[1], args[2]);
}

/* Shuffles 128-bit elements (f64 complex numbers) as pairs of 64-bit lanes. */
static kir_value_t *shuffle_pairs(kir_builder_t *b, kir_value_t *x, kir_value_t *y,
                                  const kir_value_t *mask) {
  kir_type_t *i64 = kir_int_type(mask->type->module, 64);
  kir_type_t *pairs = kir_vector_type(i64, 2 * x->type->lanes);
  kir_type_t *type = kir_vector_type(x->type->element, mask->type->lanes);
  uint64_t order[KIR_LANES_MAX];
  hr_assert(2 * mask->type->lanes <= KIR_LANES_MAX);
  for (unsigned i = 0; i < 2 * mask->type->lanes; i++) order[i] = 2 * mask->lanes[i / 2] + i % 2;
  kir_type_t *mask_type = kir_vector_type(mask->type->element, 2 * mask->type->lanes);
  kir_value_t *wide_mask = kir_constant(mask_type, order);
  y = y->is_poison ? kir_poison(pairs) : kir_bitcast(b, y, pairs);
  x = kir_shuffle(b, kir_bitcast(b, x, pairs), y, wide_mask);
  return kir_bitcast(b, x, type);
}

/* 16-bit words that contain the result's bytes at even (parity 0) or odd positions. Each byte is
 * shifted to its position; the other half of the word is zero. */
static kir_value_t *place_bytes(kir_builder_t *b, kir_value_t *x, kir_value_t *y,
                                const kir_value_t *mask, unsigned parity) {
  unsigned lanes = mask->type->lanes / 2;
  kir_type_t *type = kir_vector_type(x->type->element, lanes);
  uint64_t order[KIR_LANES_MAX], by[KIR_LANES_MAX];
  for (unsigned i = 0; i < lanes; i++) {
    uint64_t byte = mask->lanes[2 * i + parity];
    order[i] = byte / 2;
    by[i] = byte % 2 == parity ? 0 : 8;
  }
  kir_type_t *order_type = kir_vector_type(mask->type->element, lanes);
  kir_value_t *words = kir_shuffle(b, x, y, kir_constant(order_type, order));
  words = (parity ? kir_shl : kir_lshr)(b, words, kir_constant(type, by));
  return kir_and(b, words, kir_splat_constant(type, parity ? 0xff00 : 0xff));
}

/* Permutes bytes across 128 bits on processors that permute only words so. */
static kir_value_t *shuffle_bytes(kir_builder_t *b, kir_value_t *x, kir_value_t *y,
                                  const kir_value_t *mask) {
  unsigned from = x->type->lanes, to = mask->type->lanes;
  if (!x64_isa(b->module)->has_evex) return NULL; /* the selector permutes bytes */
  bool is_legal = is_power_of_two(from) && is_power_of_two(to) && from <= 64 && to <= 64;
  if (!is_legal || x64_has_shuffle(x, y, mask)) return NULL;
  kir_type_t *words = kir_vector_type(kir_int_type(mask->type->module, 16), from / 2);
  y = y->is_poison ? kir_poison(words) : kir_bitcast(b, y, words);
  x = kir_bitcast(b, x, words);
  kir_value_t *even = place_bytes(b, x, y, mask, 0), *odd = place_bytes(b, x, y, mask, 1);
  return kir_bitcast(b, kir_or(b, even, odd), kir_vector_type(kir_int_type(b->module, 8), to));
}

static kir_value_t *expand_shuffle(kir_builder_t *b, kir_type_t *type, kir_value_t *const *args) {
  if (type->bits == 128) return shuffle_pairs(b, args[0], args[1], args[2]);
  return type->bits == 8 ? shuffle_bytes(b, args[0], args[1], args[2]) : NULL;
}

/* --- gathers and scatters --------------------------------------------------------------------- */

/* Can the gather or scatter be selected without expansion, or is there no expansion? */
static bool has_instruction(const kir_type_t *type, const kir_value_t *pointers) {
  const kir_value_t *index = pointers->op == KIR_GEP ? pointers->args[1] : NULL;
  bool has_indices = index && index->type->lanes == type->lanes;
  return !has_indices || (is_power_of_two(type->lanes) && type->bits >= 32 &&
                          index->type->bits >= 32 && kir_width(type) >= 128);
}

static kir_value_t *element_pointer(kir_builder_t *b, const kir_type_t *element, kir_value_t *array,
                                    kir_value_t *index) {
  return kir_gep(b, kir_int_type(element->module, element->bits), array, index);
}

static kir_value_t *lane_number(const kir_type_t *type, unsigned lane) {
  return kir_const_int(kir_int_type(type->module, 64), lane);
}

static kir_value_t *load_element(kir_builder_t *b, const kir_type_t *element, kir_value_t *array,
                                 kir_value_t *index) {
  kir_type_t *bits = kir_int_type(element->module, element->bits);
  return kir_load(b, bits, element_pointer(b, element, array, index));
}

/* Stores the vector on the stack, from where lanes are read one by one. */
static kir_value_t *spill_lanes(kir_builder_t *b, kir_value_t *vector) {
  kir_value_t *memory = kir_alloca(b, vector->type);
  kir_store(b, vector, memory);
  return memory;
}

/* Element `lane` of spilled indices, as 64 bits. */
static kir_value_t *index_at(kir_builder_t *b, const kir_type_t *index, kir_value_t *spilled,
                             kir_value_t *lane) {
  return kir_sext(b, load_element(b, index, spilled, lane), kir_int_type(index->module, 64));
}

/* Loads the lanes of a gather one by one and joins them through the stack. */
static kir_value_t *gather_by_lane(kir_builder_t *b, kir_type_t *type, kir_value_t *array,
                                   kir_value_t *indices) {
  const kir_type_t *index = indices->type->element, *element = type->element;
  kir_value_t *from = spill_lanes(b, indices), *to = kir_alloca(b, type);
  for (unsigned i = 0; i < type->lanes; i++) {
    kir_value_t *lane = lane_number(element, i), *at = index_at(b, index, from, lane);
    kir_value_t *value = load_element(b, element, array, at);
    kir_store(b, value, element_pointer(b, element, to, lane));
  }
  return kir_load(b, type, to);
}

/* Masked-off lanes read the array's first element. */
static kir_value_t *expand_gather(kir_builder_t *b, kir_type_t *type, kir_value_t *const *args) {
  kir_value_t *pointers = args[0], *mask = args[2];
  if (has_instruction(type, pointers) || x64_gathers_by_lane(type, pointers, mask)) return NULL;
  kir_value_t *index = pointers->args[1];
  index = kir_select(b, mask, index, kir_null(index->type));
  kir_value_t *gathered = gather_by_lane(b, type, pointers->args[0], index);
  return kir_select(b, mask, gathered, args[3]);
}

/* Masked-off lanes are written to memory that is never read. */
static kir_value_t *expand_scatter(kir_builder_t *b, kir_value_t *const *args) {
  kir_value_t *values = args[0], *pointers = args[1], *mask = args[3], *store = NULL;
  bool has_scatter = x64_isa(b->module)->has_evex || pointers->op != KIR_GEP ||
                     pointers->args[1]->type->lanes != values->type->lanes;
  if (has_scatter && has_instruction(values->type, pointers)) return NULL;
  const kir_type_t *element = values->type->element, *index = pointers->args[1]->type->element;
  kir_value_t *from = spill_lanes(b, values), *indices = spill_lanes(b, pointers->args[1]);
  kir_value_t *unread = kir_alloca(b, values->type);
  for (unsigned i = 0; i < values->type->lanes; i++) {
    kir_value_t *lane = lane_number(element, i), *at = index_at(b, index, indices, lane);
    kir_value_t *to = element_pointer(b, element, pointers->args[0], at);
    to = kir_select(b, kir_extract(b, mask, lane), to, unread);
    store = kir_store(b, load_element(b, element, from, lane), to);
  }
  return store;
}

/* --- memmove ---------------------------------------------------------------------------------- */

/* Calls the C library's memmove. */
static kir_value_t *expand_memmove(kir_builder_t *b, kir_value_t *const *args) {
  kir_type_t *pointer = kir_pointer_type(b->module), *i64 = kir_int_type(b->module, 64);
  kir_type_t *params[] = {pointer, pointer, i64};
  kir_type_t *type = kir_function_type(kir_void_type(b->module), params, 3);
  kir_value_t *function = kir_find_function(b->module, "memmove");
  if (!function) function = kir_add_function(b->module, "memmove", type);
  return kir_call(b, type, function, args, 3);
}

kir_value_t *x64_expand_memory(kir_builder_t *b, kir_op_t op, kir_type_t *type,
                               kir_value_t *const *args) {
  switch (op) {
    case KIR_EXTRACT:
      return kir_is_constant(args[1]) ? NULL : extract_at(b, args[0], args[1]);
    case KIR_INSERT:
      return expand_insert(b, args);
    case KIR_SHUFFLE:
      return expand_shuffle(b, type, args);
    case KIR_GATHER:
      return expand_gather(b, type, args);
    case KIR_SCATTER:
      return expand_scatter(b, args);
    case KIR_MEMMOVE:
      return expand_memmove(b, args);
    default:
      return NULL;
  }
}
