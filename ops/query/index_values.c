/* One loop per element size and signedness, as scatters convert millions of indices. u64 and narrow
 * types below a byte take the general path. */
#include "ops/query/index_values.h"

#define LOAD(T) \
  for (int64_t i = 0; i < value->count; i++) indices[i] = (int64_t)((const T *)value->data)[i]

static void convert_indices(const hlo_value_t *value, int64_t *indices) {
  bool is_signed = hr_dtype_class(value->dtype) == HR_CLASS_SIGNED;
  switch (hr_dtype_bytes(value->dtype) + (is_signed ? 16 : 0)) {
    case 1:
      LOAD(uint8_t);
      break;
    case 2:
      LOAD(uint16_t);
      break;
    case 4:
      LOAD(uint32_t);
      break;
    case 17:
      LOAD(int8_t);
      break;
    case 18:
      LOAD(int16_t);
      break;
    case 20:
      LOAD(int32_t);
      break;
    default:
      for (int64_t i = 0; i < value->count; i++) indices[i] = op_index_at(value, i);
  }
}

hr_status_t op_indices_load(hr_arena_t *scratch, const hlo_value_t *value,
                            const int64_t **out_indices) {
  if (value->dtype == HR_S64) {
    *out_indices = value->data;
    return NULL;
  }
  int64_t *indices;
  void *memory;
  HR_TRY(hr_arena_array(scratch, (size_t)value->count, sizeof *indices, &memory));
  indices = memory;
  convert_indices(value, indices);
  *out_indices = indices;
  return NULL;
}
