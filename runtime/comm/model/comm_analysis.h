/* What the checker needs to know of a module, whoever runs it: which computations communicate,
 * which values decide what they do, in which order instructions run and which must come before
 * which. */
#ifndef CHECK_COMM_ANALYSIS_H
#define CHECK_COMM_ANALYSIS_H

#include "ops/kernels/kernel.h"

typedef struct check_body {
  hlo_instr_t *const *order; /* as planned */
  int count;
  uint64_t
      *needs; /* per instruction: bit k: element k of it decides about control; ~0: all of it */
  int *item;  /* per instruction: its number among those that communicate; -1: it does not */
  int item_count, row_words;
  uint64_t
      *before; /* per item a row of bits: the items that must come before it; only for any order */
} check_body_t;

typedef struct comm_analysis {
  const hlo_module_t *module;
  const bool *has_effect;
  bool *communicates;   /* per computation: it or what it calls does */
  check_body_t *bodies; /* per computation; those that nothing runs are empty */
} comm_analysis_t;

#define CHECK_NEED_ALL UINT64_MAX
static inline uint64_t check_need_bit(int64_t element) {
  return element < 63 ? UINT64_C(1) << element : UINT64_C(1) << 63;
}

hr_status_t comm_analysis_init(hr_arena_t *arena, const hlo_module_t *module, bool any_order,
                               comm_analysis_t *analysis);
/* A transfer or a collective that other processes take part in, or the second half of one. */
bool check_is_communication(const hlo_instr_t *instr);
/* It, or what it calls. */
bool check_communicates(const comm_analysis_t *analysis, const hlo_instr_t *instr);
/* Must `a` come before `b`, both communicating instructions of one computation? */
bool check_is_before(const comm_analysis_t *analysis, const hlo_instr_t *a, const hlo_instr_t *b);

/* Equal for instructions that compute the same of the same operands, also in different modules. */
hr_status_t check_instr_hash(const hlo_instr_t *instr, uint64_t *out_hash);
/* As above for a computation, whatever its instructions are called. */
hr_status_t check_computation_hash(const hlo_computation_t *computation, uint64_t *out_hash);

#endif
