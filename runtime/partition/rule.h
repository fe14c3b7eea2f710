/* The sharding rule of an instruction: how the dimensions of its operands and results belong
 * together. Each dimension is a list of factors, the major first, whose sizes multiply to the
 * dimension. A factor that several tensors share is cut alike in all of them.
 * Source: Shardy's OpShardingRuleAttr. */
#ifndef HR_PARTITION_RULE_H
#define HR_PARTITION_RULE_H

#include "partition/program.h"

typedef enum spmd_factor_kind {
  SPMD_PASS_THROUGH,     /* parts are computed independently */
  SPMD_REDUCTION,        /* if cut, the result is partial and is reduced over the axes */
  SPMD_NEED_REPLICATION, /* never cut at the op */
  SPMD_PERMUTATION       /* if cut, parts need data of other parts */
} spmd_factor_kind_t;

typedef struct spmd_factor {
  int64_t size;
  spmd_factor_kind_t kind;
  bool blocked; /* never propagated */
  bool even;    /* cut into equal parts only, such as the groups of a convolution */
} spmd_factor_t;

typedef struct spmd_dim_factors {
  int count;
  const int *factors; /* the major first */
} spmd_dim_factors_t;

typedef struct spmd_tensor_factors {
  int rank;
  const spmd_dim_factors_t *dims;
} spmd_tensor_factors_t;

struct spmd_rule {
  int factor_count;
  const spmd_factor_t *factors;
  int operand_count, result_count;      /* results: leaves of the shape */
  const spmd_tensor_factors_t *tensors; /* operands, then results */
  bool custom;                          /* given by the program (sdy.sharding_rule) */
  const spmd_rule_t *alternative;       /* another rule of as many tensors; NULL: there is none */
};

/* The rule of an instruction; NULL in *out_rule: it has none (tuples, control flow, unknown custom
 * calls). Errors: NO_MEMORY; INVALID for a rule of the program that does not fit. */
hr_status_t spmd_rule_create(hr_arena_t *arena, const hlo_instr_t *instr,
                             const spmd_rule_t **out_rule);
/* "([i, k], [k, j])->([i, j]) {i=8, j=6, k=16} reduction={k}" */
void spmd_rule_print(hr_strbuf_t *text, const spmd_rule_t *rule);

#endif
