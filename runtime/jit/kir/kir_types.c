/* Types and constants of the kernel IR, interned: equal ones are one object, so that pointers
 * compare.
 *
 * A constant stores the bits of each lane in a uint64_t, cut to the width of its type, with a bit
 * for each of the first 64 lanes that is poison. Types are few and kept in a list; constants are
 * in a hash table of the module. */
#include <string.h>

#include "jit/kir/kir.h"

const uint8_t kir_op_flags[KIR_OP_COUNT] = {
#define KIR_OP(id, name, flags) flags,
#include "jit/kir/kir_ops.def"
};

const char *const kir_op_names[KIR_OP_COUNT] = {
#define KIR_OP(id, name, flags) name,
#include "jit/kir/kir_ops.def"
};

void *kir_alloc(kir_module_t *module, size_t size_bytes) {
  void *memory = module->spare;
  if (!module->status)
    module->status = hr_arena_zeroed(&module->arena, size_bytes ? size_bytes : 1, &memory);
  if (!module->status) return memory;
  hr_assert(size_bytes <= sizeof module->spare);
  return memset(module->spare, 0, sizeof module->spare);
}

/* --- types ------------------------------------------------------------------------------------ */

/* Returns the type equal to `wanted`, created if new. Not for functions and the empty type. */
static kir_type_t *find_type(kir_module_t *module, kir_type_t wanted) {
  for (kir_type_t *type = module->types; type; type = type->next)
    if (type->kind == wanted.kind && type->bits == wanted.bits && type->lanes == wanted.lanes &&
        type->count == wanted.count && type->element == wanted.element)
      return type;
  kir_type_t *made = kir_alloc(module, sizeof *made);
  if (module->status) return &module->no_type;
  *made = wanted;
  made->module = module;
  made->id = module->type_count++;
  made->next = module->types;
  return module->types = made;
}

static kir_type_t *scalar_type(kir_module_t *module, kir_type_kind_t kind, unsigned bits) {
  return find_type(module, (kir_type_t){.kind = kind, .bits = bits, .lanes = 1});
}

kir_type_t *kir_void_type(kir_module_t *module) { return scalar_type(module, KIR_TYPE_VOID, 0); }
kir_type_t *kir_half_type(kir_module_t *module) { return scalar_type(module, KIR_TYPE_HALF, 16); }
kir_type_t *kir_float_type(kir_module_t *module) { return scalar_type(module, KIR_TYPE_FLOAT, 32); }

kir_type_t *kir_int_type(kir_module_t *module, unsigned bits) {
  return scalar_type(module, KIR_TYPE_INT, bits);
}

kir_type_t *kir_double_type(kir_module_t *module) {
  return scalar_type(module, KIR_TYPE_DOUBLE, 64);
}

kir_type_t *kir_pointer_type(kir_module_t *module) {
  return scalar_type(module, KIR_TYPE_POINTER, 64);
}

kir_type_t *kir_vector_type(kir_type_t *element, unsigned lanes) {
  return find_type(
      element->module,
      (kir_type_t){
          .kind = KIR_TYPE_VECTOR, .bits = element->bits, .lanes = lanes, .element = element});
}

kir_type_t *kir_array_type(kir_type_t *element, uint64_t count) {
  return find_type(element->module, (kir_type_t){.kind = KIR_TYPE_ARRAY,
                                                 .bits = element->bits,
                                                 .lanes = 1,
                                                 .count = count,
                                                 .element = element});
}

static bool is_signature(const kir_type_t *type, const kir_type_t *result,
                         kir_type_t *const *params, unsigned count) {
  if (type->kind != KIR_TYPE_FUNCTION || type->element != result || type->count != count)
    return false;
  for (unsigned k = 0; k < count; k++)
    if (type->params[k] != params[k]) return false;
  return true;
}

/* Function types are equal if results and all parameters are equal. */
kir_type_t *kir_function_type(kir_type_t *result, kir_type_t *const *params, unsigned count) {
  kir_module_t *module = result->module;
  for (kir_type_t *type = module->types; type; type = type->next)
    if (is_signature(type, result, params, count)) return type;
  kir_type_t *made = kir_alloc(module, sizeof *made);
  kir_type_t **copy = kir_alloc(module, count * sizeof *copy);
  if (module->status) return &module->no_type;
  *made = (kir_type_t){.module = module,
                       .kind = KIR_TYPE_FUNCTION,
                       .lanes = 1,
                       .count = count,
                       .element = result,
                       .params = copy};
  for (unsigned k = 0; k < count; k++) copy[k] = params[k];
  made->id = module->type_count++;
  made->next = module->types;
  return module->types = made;
}

kir_type_t *kir_type_like(const kir_type_t *like, kir_type_t *element) {
  return kir_is_vector(like) ? kir_vector_type(element, like->lanes) : element;
}

kir_type_t *kir_i1_like(const kir_type_t *like) {
  return kir_type_like(like, kir_int_type(like->module, 1));
}

uint64_t kir_type_bytes(const kir_type_t *type) {
  uint64_t count = type->count ? type->count : 1;
  return count * ((uint64_t)type->lanes * type->bits + 7) / 8;
}

/* --- constants -------------------------------------------------------------------------------- */

static uint64_t lane_mask(const kir_type_t *type) {
  return type->bits >= 64 ? ~0ull : (1ull << type->bits) - 1;
}

static unsigned bucket_of(const kir_type_t *type, const uint64_t *lanes, bool is_poison) {
  uint64_t hash = (uint64_t)(uintptr_t)type >> 4 ^ is_poison;
  for (unsigned i = 0; i < type->lanes; i++) {
    hash = (hash ^ lanes[i]) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash % KIR_CONSTANT_BUCKETS;
}

static bool is_equal(const kir_value_t *a, const kir_value_t *b) {
  return a->type == b->type && a->is_poison == b->is_poison && a->poison_lanes == b->poison_lanes &&
         memcmp(a->lanes, b->lanes, a->type->lanes * sizeof *a->lanes) == 0;
}

/* Returns the module's constant with these lanes, each first truncated to the element's width. */
static kir_value_t *intern(kir_type_t *type, const uint64_t *lanes, bool is_poison,
                           uint64_t poison_lanes) {
  kir_module_t *module = type->module;
  if (module->status) return &module->no_value;
  uint64_t *copy = kir_alloc(module, type->lanes * sizeof *lanes);
  for (unsigned i = 0; i < type->lanes; i++) copy[i] = lanes[i] & lane_mask(type);
  kir_value_t wanted = {.type = type,
                        .op = KIR_CONSTANT,
                        .lanes = copy,
                        .is_poison = is_poison,
                        .poison_lanes = poison_lanes};
  unsigned bucket = bucket_of(type, copy, is_poison);
  for (kir_value_t *value = module->constants[bucket]; value && !module->status;
       value = value->bucket_next)
    if (is_equal(value, &wanted)) return value;
  kir_value_t *made = kir_alloc(module, sizeof *made);
  if (module->status) return &module->no_value;
  *made = wanted;
  made->detail = module->constant_count++;
  made->bucket_next = module->constants[bucket];
  return module->constants[bucket] = made;
}

kir_value_t *kir_constant(kir_type_t *type, const uint64_t *lanes) {
  return intern(type, lanes, false, 0);
}

kir_value_t *kir_partly_poison(kir_type_t *type, const uint64_t *lanes, uint64_t poison_lanes) {
  uint64_t all = type->lanes >= 64 ? ~0ull : (1ull << type->lanes) - 1;
  bool is_poison = type->lanes <= 64 && poison_lanes == all;
  return intern(type, lanes, is_poison, poison_lanes);
}

kir_value_t *kir_splat_constant(kir_type_t *type, uint64_t lane) {
  uint64_t lanes[KIR_LANES_MAX];
  hr_assert(type->lanes <= KIR_LANES_MAX);
  for (unsigned i = 0; i < type->lanes; i++) lanes[i] = lane;
  return kir_constant(type, lanes);
}

kir_value_t *kir_const_int(kir_type_t *type, uint64_t value) { return kir_constant(type, &value); }

double kir_decode_float(uint64_t bits, unsigned width) {
  uint16_t low_16 = (uint16_t)bits;
  uint32_t low_32 = (uint32_t)bits;
  _Float16 half;
  float narrow;
  double wide;
  memcpy(&half, &low_16, sizeof half);
  memcpy(&narrow, &low_32, sizeof narrow);
  memcpy(&wide, &bits, sizeof wide);
  if (width == 16) return (double)half;
  return width == 32 ? narrow : wide;
}

uint64_t kir_encode_float(double value, unsigned width) {
  _Float16 half = (_Float16)value;
  float narrow = (float)value;
  uint16_t bits_16;
  uint32_t bits_32;
  uint64_t bits_64;
  memcpy(&bits_16, &half, sizeof half);
  memcpy(&bits_32, &narrow, sizeof narrow);
  memcpy(&bits_64, &value, sizeof value);
  if (width == 16) return bits_16;
  return width == 32 ? bits_32 : bits_64;
}

kir_value_t *kir_const_real(kir_type_t *type, double value) {
  uint64_t bits = kir_encode_float(value, type->bits);
  return kir_constant(type, &bits);
}

kir_value_t *kir_const_vector(kir_value_t *const *elements, unsigned count) {
  uint64_t lanes[KIR_LANES_MAX], poison_lanes = 0;
  bool is_poison = true;
  hr_assert(count <= KIR_LANES_MAX);
  for (unsigned i = 0; i < count; i++) {
    lanes[i] = elements[i]->lanes[0];
    is_poison &= elements[i]->is_poison;
    if (elements[i]->is_poison && i < 64) poison_lanes |= 1ull << i;
  }
  return intern(kir_vector_type(elements[0]->type, count), lanes, is_poison, poison_lanes);
}

kir_value_t *kir_null(kir_type_t *type) { return kir_splat_constant(type, 0); }
kir_value_t *kir_all_ones(kir_type_t *type) { return kir_splat_constant(type, ~0ull); }

kir_value_t *kir_poison(kir_type_t *type) {
  uint64_t zeros[KIR_LANES_MAX] = {0};
  uint64_t poison_lanes = type->lanes >= 64 ? ~0ull : (1ull << type->lanes) - 1;
  return intern(type, zeros, true, poison_lanes);
}

bool kir_is_null(const kir_value_t *value) {
  return kir_is_constant(value) && kir_is_splat(value) && value->lanes[0] == 0;
}

kir_value_t *kir_const_lane(const kir_value_t *value, unsigned i) {
  if (!kir_is_constant(value) || i >= value->type->lanes || !value->type->element) return NULL;
  if (i < 64 && value->poison_lanes >> i & 1) return kir_poison(value->type->element);
  return kir_constant(value->type->element, &value->lanes[i]);
}

double kir_const_as_double(const kir_value_t *value) {
  double wide;
  float narrow;
  memcpy(&wide, value->lanes, sizeof wide);
  memcpy(&narrow, value->lanes, sizeof narrow);
  return value->type->bits == 32 ? narrow : wide;
}
