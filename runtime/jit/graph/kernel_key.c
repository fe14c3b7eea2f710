/* Key of a part of a fusion: a serialisation of everything that decides its code.
 *
 * Instructions are visited in the order in which the roots reach them and numbered by that order,
 * so that names and the numbering of parameters do not matter: equal parts of different fusions
 * share a kernel. The text has opcodes, shapes, attributes, constants that become part of the
 * code, and the grid of the producer. Every list begins with its length, so that different parts
 * never have one key; keys are compared whole, never by a hash alone. */
#include <string.h>

#include "base/vec.h"
#include "jit/jit_parts.h"
#include "ops/query/codegen_support.h"

typedef struct key_text {
  HR_VEC(int64_t) words;
  int *numbers; /* 1 + position, by instruction id of the fusion's body; 0: not visited */
  int count;
  jit_buffer_list_t *buffers; /* parameters and constant arrays, in order of visit */
} key_text_t;

static hr_status_t add(key_text_t *key, int64_t word) {
  HR_VEC_PUSH(&key->words, word);
  return NULL;
}

static hr_status_t add_shape(key_text_t *key, const hlo_shape_t *shape) {
  HR_TRY(add(key, shape->dtype));
  HR_TRY(add(key, shape->rank));
  for (int d = 0; d < shape->rank; d++) HR_TRY(add(key, shape->dims[d]));
  HR_TRY(add(key, shape->element_count));
  for (int k = 0; k < shape->element_count; k++) HR_TRY(add_shape(key, shape->elements[k]));
  return NULL;
}

/* A constant of one value is part of the code. Other constants are read like parameters, so only
 * their shape is added. */
static hr_status_t add_literal(key_text_t *key, const hlo_value_t *literal) {
  int64_t words[2] = {0};
  bool one = jit_is_one_value(literal);
  HR_TRY(add(key, one));
  if (one)
    memcpy(words, literal->data, hr_dtype_bytes(literal->dtype));
  else if (key->buffers)
    key->buffers->items[key->buffers->count++] = (jit_buffer_t){-1, literal};
  HR_TRY(add(key, words[0]));
  return add(key, words[1]);
}

/* Adds the attributes that decide code; sizes that follow from shapes are omitted. */
static hr_status_t add_attr(key_text_t *key, const hlo_attr_t *attr) {
  if (attr->key == HLO_ATTR_PARAMETER_NUMBER) return NULL;
  HR_TRY(add(key, attr->key));
  switch (attr->key) {
    case HLO_ATTR_DIMENSIONS:
    case HLO_ATTR_DYNAMIC_SLICE_SIZES:
    case HLO_ATTR_SLICE_SIZES:
    case HLO_ATTR_OFFSET_DIMS:
    case HLO_ATTR_COLLAPSED_SLICE_DIMS:
    case HLO_ATTR_START_INDEX_MAP:
    case HLO_ATTR_OPERAND_BATCHING_DIMS:
    case HLO_ATTR_START_INDICES_BATCHING_DIMS:
      HR_TRY(add(key, attr->ints.count));
      for (int64_t i = 0; i < attr->ints.count; i++) HR_TRY(add(key, attr->ints.data[i]));
      return NULL;
    case HLO_ATTR_SLICE:
      HR_TRY(add(key, attr->slice->rank));
      for (int d = 0; d < attr->slice->rank; d++) {
        HR_TRY(add(key, attr->slice->dims[d].start));
        HR_TRY(add(key, attr->slice->dims[d].stride));
      }
      return NULL;
    case HLO_ATTR_PADDING:
      HR_TRY(add(key, attr->padding->rank));
      for (int d = 0; d < attr->padding->rank; d++) {
        HR_TRY(add(key, attr->padding->dims[d].low));
        HR_TRY(add(key, attr->padding->dims[d].interior));
      }
      return NULL;
    case HLO_ATTR_DIRECTION:
    case HLO_ATTR_TYPE:
    case HLO_ATTR_IOTA_DIMENSION:
    case HLO_ATTR_INDEX:
    case HLO_ATTR_INDEX_VECTOR_DIM:
    case HLO_ATTR_EXPONENT_BITS:
    case HLO_ATTR_MANTISSA_BITS:
      return add(key, attr->integer);
    default:
      return NULL;
  }
}

static hr_status_t add_plain(key_text_t *key, const hlo_instr_t *instr) {
  HR_TRY(add(key, instr->op));
  HR_TRY(add_shape(key, instr->shape));
  HR_TRY(add(key, instr->operand_count));
  HR_TRY(add(key, instr->called_count));
  HR_TRY(add(key, instr->attr_count));
  for (int k = 0; k < instr->attr_count; k++) HR_TRY(add_attr(key, &instr->attrs[k]));
  return instr->op == HLO_CONSTANT ? add_literal(key, instr->literal) : NULL;
}

/* Adds a computation in program order. */
static hr_status_t add_computation(key_text_t *key, const hlo_computation_t *computation) {
  HR_TRY(add(key, (int64_t)computation->instrs.count));
  for (size_t i = 0; i < computation->instrs.count; i++) {
    const hlo_instr_t *instr = computation->instrs.data[i];
    HR_TRY(add_plain(key, instr));
    if (instr->op == HLO_PARAMETER) HR_TRY(add(key, hlo_parameter_number(instr)));
    for (int k = 0; k < instr->operand_count; k++) HR_TRY(add(key, instr->operands[k]->id));
    for (int c = 0; c < instr->called_count; c++) HR_TRY(add_computation(key, instr->called[c]));
  }
  return add(key, computation->root->id);
}

/* Post-order; an instruction's number is the position at which it was finished. */
static hr_status_t add_instr(key_text_t *key, const hlo_instr_t *instr) {
  if (key->numbers[instr->id]) return NULL;
  for (int k = 0; k < instr->operand_count; k++) HR_TRY(add_instr(key, instr->operands[k]));
  HR_TRY(add_plain(key, instr));
  if (instr->op == HLO_PARAMETER)
    key->buffers->items[key->buffers->count++] =
        (jit_buffer_t){(int)hlo_parameter_number(instr), NULL};
  for (int k = 0; k < instr->operand_count; k++)
    HR_TRY(add(key, key->numbers[instr->operands[k]->id]));
  for (int c = 0; c < instr->called_count; c++) HR_TRY(add_computation(key, instr->called[c]));
  key->numbers[instr->id] = ++key->count;
  return NULL;
}

/* Roots are marked by their negated numbers. */
static hr_status_t add_part(key_text_t *key, const fusion_form_t *form, int part) {
  HR_TRY(add(key, form->space.kind));
  for (int r = 0; r < form->root_count; r++) {
    if (form->part_of_root[r] != part) continue;
    HR_TRY(add_instr(key, form->roots[r]));
    HR_TRY(add(key, -key->numbers[form->roots[r]->id]));
  }
  return NULL;
}

static hr_status_t add_grid(key_text_t *key, const op_native_grid_t *grid) {
  HR_TRY(add(key, grid->rows));
  HR_TRY(add(key, grid->columns));
  HR_TRY(add(key, grid->in_cache));
  return add(key, grid->unit);
}

/* Encodes a word in a key: seven bits per byte, lowest first, after a zigzag that moves the sign to
 * bit 0. Most words are small. */
static size_t write_word(int64_t word, char to[10]) {
  uint64_t left = (uint64_t)word << 1 ^ (uint64_t)(word >> 63);
  size_t size = 0;
  for (; left >= 128; left >>= 7) to[size++] = (char)(left | 128);
  to[size++] = (char)left;
  return size;
}

/* Words as variable-length bytes. */
static hr_status_t finish(const key_text_t *key, hr_arena_t *arena, jit_key_t *out_key) {
  hr_strbuf_t text;
  char bytes[10];
  hr_strbuf_init(&text);
  for (size_t i = 0; i < key->words.count; i++)
    hr_strbuf_add(&text, bytes, write_word(key->words.data[i], bytes));
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_arena_str(arena, (hr_str_t){text.data, text.size}, out_key);
  hr_strbuf_deinit(&text);
  return st;
}

hr_status_t jit_kernel_key(hr_arena_t *arena, hr_arena_t *key_arena, const jit_target_t *target,
                           const jit_fusion_t *fusion, int part, jit_key_t *out_key,
                           jit_buffer_list_t *out_buffers) {
  key_text_t key = {.buffers = out_buffers};
  const jit_place_t *place = &fusion->place;
  size_t count = fusion->body->instrs.count;
  void *memory = NULL;
  out_buffers->count = 0;
  HR_TRY(HR_NEW_ARRAY(arena, count, &out_buffers->items));
  hr_status_t st = hr_alloc_zeroed(count * sizeof *key.numbers + 1, &memory);
  key.numbers = memory;
  if (!st) st = add(&key, target->vector_bytes);
  if (!st) st = add_part(&key, fusion->form, part);
  if (!st) st = add(&key, place->leaves_caches);
  if (!st) st = add(&key, place->producer_grid != NULL);
  if (!st && place->producer_grid) st = add_grid(&key, place->producer_grid);
  if (!st) st = finish(&key, key_arena, out_key);
  HR_VEC_FREE(&key.words);
  hr_free(memory);
  return st;
}
