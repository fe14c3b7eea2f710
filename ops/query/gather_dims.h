/* Dimension numbers of gather and scatter. A scatter writes the elements that a gather of the same
 * numbers reads, so both are read into one record. Source: StableHLO specification, gather and
 * scatter. */
#ifndef HLO_OPS_GATHER_DIMS_H
#define HLO_OPS_GATHER_DIMS_H

#include "ir/module.h"

/* The attributes of the two ops under common names; lists are borrowed from the instruction. The
 * other array is gather's result or scatter's updates. */
typedef struct op_gather_dims {
  hr_ints_t window;    /* window dimensions of the other array */
  hr_ints_t dropped;   /* operand dimensions of window size 1 that the other array lacks */
  hr_ints_t start_map; /* component i of an index vector is the start in this operand dimension */
  hr_ints_t batching;  /* operand dimensions, each paired with one of indices_batching */
  hr_ints_t indices_batching; /* dimensions of the index array */
  int64_t vector_dim; /* dimension of the index array that holds its vectors; its rank: each index
                         is a vector of its own */
} op_gather_dims_t;

op_gather_dims_t op_gather_dims(const hlo_instr_t *gather);
op_gather_dims_t op_scatter_dims(const hlo_instr_t *scatter);
/* True if a list of dimensions holds `dim`. */
bool op_dims_contain(hr_ints_t list, int64_t dim);

#endif
