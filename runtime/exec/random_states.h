/* Persistent state of random generators: the reference engine keeps it per operation between runs,
 * and saves and restores it by name. Owner: the caller's storage. Thread: one at a time. */
#ifndef EXEC_RANDOM_STATES_H
#define EXEC_RANDOM_STATES_H

#include "base/arena.h"
#include "ir/module.h"
#include "ir/value.h"

/* All states of one program. */
typedef struct exec_random_states {
  hr_arena_t arena; /* memory of the states */
  struct op_state *first;
  hlo_value_t *loaded; /* saved states to restore; NULL: none */
} exec_random_states_t;

void exec_random_states_init(exec_random_states_t *states);
void exec_random_states_deinit(exec_random_states_t *states);
/* The state of an instruction, `size_bytes` long: restored, or zeros if it is new. Instructions
 * that share a generator share the state. Errors: NO_MEMORY. */
hr_status_t exec_random_states_find(exec_random_states_t *states, const hlo_instr_t *instr,
                                    size_t size_bytes, void **out_state);
/* All states as one array u8[n], in host byte order (little-endian). *out_bytes is a new reference.
 * Errors: NO_MEMORY. */
hr_status_t exec_random_states_save(const exec_random_states_t *states, hlo_value_t **out_bytes);
/* Copies saved states, which exec_random_states_find restores from. Errors: NO_MEMORY. */
hr_status_t exec_random_states_load(exec_random_states_t *states, const hlo_value_t *bytes);

#endif
