/* Maps the dimension numbers of gather and scatter to strides. Dimensions of the index array,
 * without index_vector_dim, are the batch; they correspond in order to the dimensions of the other
 * array that are not window dimensions. Source: StableHLO specification, gather and scatter. */
#include "ops/kernels/common/window_starts.h"

void window_starts_init(window_starts_t *starts, const op_gather_dims_t *dims,
                        const hlo_shape_t *operand, const hlo_shape_t *indices,
                        const hlo_shape_t *other, const int64_t *sizes) {
  int64_t operand_strides[HLO_MAX_RANK], index_strides[HLO_MAX_RANK], other_strides[HLO_MAX_RANK];
  loop_dense_strides(operand->rank, operand->dims, 1, operand_strides);
  loop_dense_strides(indices->rank, indices->dims, 1, index_strides);
  loop_dense_strides(other->rank, other->dims, 1, other_strides);
  int64_t batch_dims[HLO_MAX_RANK], strides[3][HLO_MAX_RANK] = {{0}};
  int rank = 0, other_dim = 0;
  for (int d = 0; d < indices->rank; d++) {
    if (d == dims->vector_dim) continue;
    while (op_dims_contain(dims->window, other_dim)) other_dim++;
    batch_dims[rank] = indices->dims[d];
    strides[0][rank] = other_strides[other_dim++];
    strides[1][rank] = index_strides[d];
    for (int64_t i = 0; i < dims->batching.count; i++)
      if (dims->indices_batching.data[i] == d)
        strides[2][rank] = operand_strides[dims->batching.data[i]];
    rank++;
  }
  loop_nest_init(&starts->batch, rank, batch_dims, 3,
                 (const int64_t *[]){strides[0], strides[1], strides[2]}, LOOP_PROGRAM_ORDER);
  starts->vector_size = (int)dims->start_map.count;
  starts->vector_stride = dims->vector_dim < indices->rank ? index_strides[dims->vector_dim] : 0;
  for (int i = 0; i < starts->vector_size; i++) {
    int64_t d = dims->start_map.data[i];
    starts->operand_dim[i] = d;
    starts->operand_limit[i] = operand->dims[d] - sizes[d];
    starts->operand_stride[i] = operand_strides[d];
  }
}

int window_strides(const op_gather_dims_t *dims, const hlo_shape_t *operand,
                   const hlo_shape_t *other, int64_t *out_dims, int64_t *out_operand_strides,
                   int64_t *out_other_strides) {
  int64_t operand_strides[HLO_MAX_RANK], other_strides[HLO_MAX_RANK];
  loop_dense_strides(operand->rank, operand->dims, 1, operand_strides);
  loop_dense_strides(other->rank, other->dims, 1, other_strides);
  int count = 0;
  for (int d = 0; d < operand->rank; d++) {
    if (op_dims_contain(dims->dropped, d) || op_dims_contain(dims->batching, d)) continue;
    int64_t other_dim = dims->window.data[count];
    out_dims[count] = other->dims[other_dim];
    out_operand_strides[count] = operand_strides[d];
    out_other_strides[count++] = other_strides[other_dim];
  }
  return count;
}
