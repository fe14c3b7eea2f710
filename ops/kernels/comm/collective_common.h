/* Shared parts of the collectives: groups, transfers without peers, blocks of arrays, results. */
#ifndef HLO_OPS_COLLECTIVE_COMMON_H
#define HLO_OPS_COLLECTIVE_COMMON_H

#include "ops/kernels/common/transfer_list.h"
#include "ops/kernels/common/strided_loops.h"
#include "ops/query/replica_groups.h"

/* This process's group for the instruction; NULL if it is in none. */
hr_status_t coll_group(op_env_t *env, const op_step_t *step, const op_group_t **out_group);
/* Like the environment's functions of the same names, but a group of one is a copy and needs no
 * peers. */
hr_status_t coll_all_gather(op_env_t *env, const op_group_t *group, const void *in,
                            size_t size_bytes, void *out, op_request_t **out_request);
hr_status_t coll_all_to_all(op_env_t *env, const op_group_t *group, const hr_block_t *sends,
                            const hr_block_t *recvs, size_t equal_bytes,
                            op_request_t **out_request);
hr_status_t coll_permute(op_env_t *env, int64_t stream, int to, const hr_block_t *send, int from,
                         const hr_block_t *recv, op_request_t **out_request);
/* Adds an all-to-all to the requests of the transfer. */
hr_status_t coll_exchange(op_env_t *env, op_transfer_t *transfer, const op_group_t *group,
                          const hr_block_t *sends, const hr_block_t *recvs, size_t equal_bytes);

/* An array seen as [outer, parts, inner]: dimension `dimension` cut into parts. */
typedef struct coll_cut {
  int64_t outer, parts, inner; /* inner: elements */
  int element_bytes;
} coll_cut_t;
coll_cut_t coll_cut_of(hr_dtype_t dtype, int rank, const int64_t *dims, int64_t dimension,
                       int64_t parts);
static inline size_t coll_part_bytes(const coll_cut_t *cut) {
  return (size_t)(cut->outer * cut->inner) * (size_t)cut->element_bytes;
}
/* Copies [outer, parts, inner] to [parts, outer, inner] and back. */
void coll_pack(const coll_cut_t *cut, const void *array, void *parts);
void coll_unpack(const coll_cut_t *cut, const void *parts, void *array);

/* Operands that carry data: a single tuple operand counts as its elements. */
typedef struct coll_operands {
  int count;
  hlo_value_t *const *values;
} coll_operands_t;
coll_operands_t coll_operands_of(const op_step_t *step, hlo_value_t *const *in);

/* The member (index in the group) that operand k comes from or goes to. This is the first member,
 * or with has_dynamic_root the one that the last operand names: in its element k, or as a scalar
 * for all. Errors: INVALID if there is no such member. */
hr_status_t coll_root(const op_step_t *step, const op_group_t *group, hlo_value_t *const *in, int k,
                      int *out_root);

/* Result k of a transfer, an array of `shape`: the preallocated one, else one in memory that peers
 * can access. */
hr_status_t coll_result(op_env_t *env, const op_transfer_t *transfer, const hlo_shape_t *shape,
                        int k, hlo_value_t **out_value);
/* All results; `shape` is that of one array or of a tuple of `count` arrays. The list lives in the
 * transfer's arena. */
hr_status_t coll_create(op_env_t *env, op_transfer_t *transfer, const hlo_shape_t *shape, int count,
                        hlo_value_t ***out_values);
/* Memory that peers can access, until the end of the transfer. */
hr_status_t coll_scratch(op_env_t *env, op_transfer_t *transfer, size_t size_bytes,
                         void **out_memory);
/* Makes transfer->value of `values`: one array or a tuple, as `shape` says. Retains them. */
hr_status_t coll_set_value(op_transfer_t *transfer, const hlo_shape_t *shape, int count,
                           hlo_value_t *const *values);
/* Runs a -start whose value is (operands, results, contexts...). */
hr_status_t coll_start(op_env_t *env, const op_step_t *step, op_start_fn begin,
                       hlo_value_t *const *in, hlo_value_t **out_value);

#endif
