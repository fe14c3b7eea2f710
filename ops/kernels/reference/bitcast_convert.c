/* bitcast-convert: the bits of an array as another type. Between types of different width the
 * narrower side has one more dimension, the last one, whose element 0 is the low-order bits. In
 * memory that is the same bytes (a view), except for types of fewer than 8 bits, which occupy a
 * byte each and are packed and unpacked here. Source: StableHLO spec, bitcast_convert. */
#include <string.h>

#include "ops/kernels/kernel.h"
#include "ops/rules/constraint.h"

/* The low `bits` bits of a byte, extended to the stored form of an element of that width. */
static uint8_t extend(const hr_dtype_info_t *info, uint8_t byte) {
  uint8_t low = (uint8_t)(byte & (0xffu >> (8 - info->bits)));
  bool negative = info->class_ == HR_CLASS_SIGNED && low >> (info->bits - 1);
  return negative ? (uint8_t)(low | 0xffu << (info->bits - 1)) : low;
}

/* One element of `wide_bytes` bytes is `ratio` elements of `bits` bits, low-order first. None
 * crosses a byte: their width divides 8, or the wide element fits into a byte. */
static void unpack(const hr_dtype_info_t *narrow, int64_t ratio, const uint8_t *wide,
                   int64_t wide_bytes, int64_t count, uint8_t *out) {
  for (int64_t i = 0; i < count; i++, wide += wide_bytes)
    for (int64_t j = 0; j < ratio; j++) {
      int64_t bit = j * narrow->bits;
      *out++ = extend(narrow, (uint8_t)(wide[bit / 8] >> bit % 8));
    }
}

/* `ratio` narrow elements, a byte each, become one wide one; element 0 has the low bits. */
static void pack(const hr_dtype_info_t *narrow, int64_t ratio, const uint8_t *in,
                 const hr_dtype_info_t *wide, int64_t count, uint8_t *out) {
  memset(out, 0, (size_t)(count * wide->bytes));
  for (int64_t i = 0; i < count; i++, out += wide->bytes) {
    for (int64_t j = 0; j < ratio; j++) {
      int64_t bit = j * narrow->bits;
      unsigned low = *in++ & (0xffu >> (8 - narrow->bits));
      out[bit / 8] = (uint8_t)(out[bit / 8] | low << bit % 8);
    }
    if (wide->bits < 8) *out = extend(wide, *out);
  }
}

/* A byte used as pred may have any bits: nonzero is true. */
static hr_status_t bytes_as_preds(op_env_t *env, const op_step_t *step, const hlo_value_t *in,
                                  hlo_value_t **out_value) {
  HR_TRY(op_output(env, step, out_value));
  const uint8_t *from = in->data;
  uint8_t *to = (*out_value)->data;
  for (int64_t i = 0; i < (*out_value)->count; i++) to[i] = from[i] != 0;
  return NULL;
}

/* Types of whole bytes are a view of the same memory. */
static hr_status_t bitcast_convert_run(op_env_t *env, const op_step_t *step, hlo_value_t *const *in,
                                       hlo_value_t **out_value) {
  const hlo_shape_t *shape = step->out_shape;
  const hr_dtype_info_t *from = &hr_dtype_table[in[0]->dtype], *to = &hr_dtype_table[shape->dtype];
  int from_bits = op_bits_beside(in[0]->dtype, shape->dtype),
      to_bits = op_bits_beside(shape->dtype, in[0]->dtype);
  int64_t count;
  HR_TRY(hlo_shape_count(shape, &count));
  bool widens = to_bits > from_bits;
  int ratio = widens ? to_bits / from_bits : from_bits / to_bits;
  bool fits = widens ? to_bits % from_bits == 0 && in[0]->count == count * ratio
                     : from_bits % to_bits == 0 && count == in[0]->count * ratio;
  if (!fits)
    return hlo_error(step->instr, "bitcast_convert C1",
                     "%lld elements of %s do not make %lld of %s", (long long)in[0]->count,
                     from->name, (long long)count, to->name);
  if (shape->dtype == HR_PRED && from_bits >= 8) return bytes_as_preds(env, step, in[0], out_value);
  if (from_bits >= 8 && to_bits >= 8)
    return hlo_value_view(in[0], shape->dtype, shape->rank, shape->dims, out_value);
  HR_TRY(op_output(env, step, out_value));
  if (widens)
    pack(from, ratio, in[0]->data, to, count, (*out_value)->data);
  else
    unpack(to, ratio, in[0]->data, from->bytes, in[0]->count, (*out_value)->data);
  return NULL;
}

const op_kernel_t kernel_bitcast_convert = {NULL, bitcast_convert_run};
