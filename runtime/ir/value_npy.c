/* A mapped file is used in place if its bytes have the form that kernels read, so that a large data
 * set is neither copied nor in memory twice. Otherwise a conversion costs one pass. */
#include "ir/value_npy.h"

/* Uses the bytes of the file in place if possible, else converts them. */
static hr_status_t make_value(const npy_t *npy, hr_dtype_t dtype, bool any_alignment,
                              hlo_value_t **out_value) {
  if (npy_is_direct(npy, dtype, any_alignment))
    return hlo_value_over(dtype, npy->rank, npy->dims, npy->buffer, npy->offset_bytes, out_value);
  HR_TRY(hlo_value_array(dtype, npy->rank, npy->dims, out_value));
  npy_convert(npy, dtype, (*out_value)->data);
  return NULL;
}

hr_status_t hlo_value_from_npy(const npy_t *npy, hr_dtype_t dtype, hlo_value_t **out_value) {
  return make_value(npy, dtype, false, out_value);
}

hr_status_t hlo_value_rows_from_npy(const npy_t *npy, hr_dtype_t dtype, hlo_value_t **out_value) {
  return make_value(npy, dtype, true, out_value);
}
