/* Rank-independent analysis of a module for the communication checker: which computations
 * communicate, which values decide control flow, planned order, and dependencies. */
#ifndef CHECK_COMM_ANALYSIS_H
#define CHECK_COMM_ANALYSIS_H

#include "ops/query/op_step.h"

typedef struct check_body {
  hlo_instr_t *const *order; /* planned order */
  int count;
  uint64_t *needs; /* per instruction: bit k: element k decides control flow; ~0: all */
  int *item;       /* per instruction: index among communicating ones; -1: not one */
  int item_count, row_words;
  uint64_t
      *before; /* per item, a bit row of the items that must precede it; NULL unless any_order */
} check_body_t;

typedef struct comm_analysis {
  const hlo_module_t *module;
  const bool *has_effect;
  bool *communicates;   /* per computation, including callees */
  check_body_t *bodies; /* per computation; empty if it is never run */
} comm_analysis_t;

#define CHECK_NEED_ALL UINT64_MAX
static inline uint64_t check_need_bit(int64_t element) {
  return element < 63 ? UINT64_C(1) << element : UINT64_C(1) << 63;
}

/* Analyses a module. `any_order`: computes dependencies, too.
 * Owner:   lists live in `arena`.
 * Errors:  NO_MEMORY. */
hr_status_t comm_analysis_init(hr_arena_t *arena, const hlo_module_t *module, bool any_order,
                               comm_analysis_t *analysis);
/* True for collectives, sends, recvs and their dones; false for transfers to the host. */
bool check_is_communication(const hlo_instr_t *instr);
/* True if the instruction, or one of a computation that it calls, communicates. */
bool check_communicates(const comm_analysis_t *analysis, const hlo_instr_t *instr);
/* True if `a` must precede `b` by dependencies, both communicating instructions of one
 * computation. */
bool check_is_before(const comm_analysis_t *analysis, const hlo_instr_t *a, const hlo_instr_t *b);

/* Hash of op, shape and attributes, equal across modules. Errors: NO_MEMORY. */
hr_status_t check_instr_hash(const hlo_instr_t *instr, uint64_t *out_hash);
/* Hash of the instructions of a computation, independent of names. Errors: NO_MEMORY. */
hr_status_t check_computation_hash(const hlo_computation_t *computation, uint64_t *out_hash);

#endif
