/* Copies the attributes as written: the rules check whether they fit the shapes
 * (infer_gather_scatter.c). */
#include "ops/query/gather_dims.h"

bool op_dims_contain(hr_ints_t list, int64_t dim) {
  for (int64_t i = 0; i < list.count; i++)
    if (list.data[i] == dim) return true;
  return false;
}

op_gather_dims_t op_gather_dims(const hlo_instr_t *gather) {
  return (op_gather_dims_t){
      .window = hlo_attr_ints(gather, HLO_ATTR_OFFSET_DIMS),
      .dropped = hlo_attr_ints(gather, HLO_ATTR_COLLAPSED_SLICE_DIMS),
      .start_map = hlo_attr_ints(gather, HLO_ATTR_START_INDEX_MAP),
      .batching = hlo_attr_ints(gather, HLO_ATTR_OPERAND_BATCHING_DIMS),
      .indices_batching = hlo_attr_ints(gather, HLO_ATTR_START_INDICES_BATCHING_DIMS),
      .vector_dim = hlo_attr_int(gather, HLO_ATTR_INDEX_VECTOR_DIM),
  };
}

op_gather_dims_t op_scatter_dims(const hlo_instr_t *scatter) {
  return (op_gather_dims_t){
      .window = hlo_attr_ints(scatter, HLO_ATTR_UPDATE_WINDOW_DIMS),
      .dropped = hlo_attr_ints(scatter, HLO_ATTR_INSERTED_WINDOW_DIMS),
      .start_map = hlo_attr_ints(scatter, HLO_ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
      .batching = hlo_attr_ints(scatter, HLO_ATTR_INPUT_BATCHING_DIMS),
      .indices_batching = hlo_attr_ints(scatter, HLO_ATTR_SCATTER_INDICES_BATCHING_DIMS),
      .vector_dim = hlo_attr_int(scatter, HLO_ATTR_INDEX_VECTOR_DIM),
  };
}
