/* Persistent state of random generators. Saved bytes are a list of headers and states; a state is
 * found by the hash of its operation's name. */
#include "exec/random_states.h"

#include <string.h>

#include "ops/query/random_part.h"

/* Persistent bytes of one generator. */
typedef struct op_state {
  const hlo_instr_t *instr;
  struct op_state *next;
  size_t size_bytes;
  _Alignas(16) unsigned char bytes[];
} op_state_t;

/* Header of a saved state; its bytes follow. */
typedef struct saved_state {
  uint64_t name; /* hash of the names of the operation and its stream */
  uint64_t size_bytes;
} saved_state_t;

void exec_random_states_init(exec_random_states_t *states) {
  *states = (exec_random_states_t){.first = NULL};
  hr_arena_init(&states->arena);
}

void exec_random_states_deinit(exec_random_states_t *states) {
  hlo_value_release(states->loaded);
  hr_arena_deinit(&states->arena);
}

/* rng-get-and-update-state has one state in a program, as in XLA, and rng one for each stream: an
 * instruction that was cloned, as in an unrolled loop, continues the other clone's state. */
static bool shares_state(const hlo_instr_t *a, const hlo_instr_t *b) {
  if (a->op != b->op) return false;
  return a->op != HLO_RNG || op_random_stream(a) == op_random_stream(b);
}

/* The name under which earlier versions saved a state: computation and instruction. */
static uint64_t instruction_state_name(const hlo_instr_t *instr) {
  const hr_str_t *names[] = {&instr->parent->name, &instr->name};
  return hr_hash_bytes(names[1]->data, names[1]->size,
                       hr_hash_bytes(names[0]->data, names[0]->size, 5));
}

/* The name under which a state is saved: the operation's, with the stream of rng. */
static uint64_t state_name(const hlo_instr_t *instr) {
  const char *shared = hlo_op_table[instr->op].name;
  uint64_t stream = instr->op == HLO_RNG ? op_random_stream(instr) : 0;
  return hr_hash_bytes(shared, strlen(shared), 5 + stream);
}

/* Whether it is this state, saved by this version or by one in which every instruction had its
 * own. */
static bool is_saved_state(const saved_state_t *saved, const op_state_t *state) {
  return saved->size_bytes == state->size_bytes &&
         (saved->name == state_name(state->instr) ||
          saved->name == instruction_state_name(state->instr));
}

/* Searches the loaded bytes, a list of headers and states, for this state. States that the program
 * lacks are skipped; a missing state starts as zeros. A truncated list ends the search. */
static void restore_state(const exec_random_states_t *states, op_state_t *state) {
  const char *at = states->loaded ? states->loaded->data : NULL;
  const char *end = at ? at + states->loaded->count : NULL;
  saved_state_t saved;
  for (; at && (size_t)(end - at) >= sizeof saved; at += saved.size_bytes) {
    memcpy(&saved, at, sizeof saved);
    at += sizeof saved;
    if (saved.size_bytes > (size_t)(end - at)) return;
    if (is_saved_state(&saved, state)) memcpy(state->bytes, at, state->size_bytes);
  }
}

hr_status_t exec_random_states_save(const exec_random_states_t *states, hlo_value_t **out_bytes) {
  int64_t size = 0;
  for (const op_state_t *state = states->first; state; state = state->next)
    size += (int64_t)(sizeof(saved_state_t) + state->size_bytes);
  HR_TRY(hlo_value_array(HR_U8, 1, &size, out_bytes));
  char *to = (*out_bytes)->data;
  for (const op_state_t *state = states->first; state; state = state->next) {
    saved_state_t saved = {state_name(state->instr), state->size_bytes};
    memcpy(to, &saved, sizeof saved);
    memcpy(to + sizeof saved, state->bytes, state->size_bytes);
    to += sizeof saved + state->size_bytes;
  }
  return NULL;
}

hr_status_t exec_random_states_load(exec_random_states_t *states, const hlo_value_t *bytes) {
  hlo_value_release(states->loaded);
  states->loaded = NULL;
  return hlo_value_copy(bytes, &states->loaded);
}

/* The list is short: the program's random generators. */
hr_status_t exec_random_states_find(exec_random_states_t *states, const hlo_instr_t *instr,
                                    size_t size_bytes, void **out_state) {
  op_state_t *state = states->first;
  while (state && !shares_state(state->instr, instr)) state = state->next;
  if (!state) {
    void *memory;
    HR_TRY(hr_arena_zeroed(&states->arena, sizeof *state + size_bytes, &memory));
    state = memory;
    state->instr = instr;
    state->size_bytes = size_bytes;
    restore_state(states, state);
    state->next = states->first;
    states->first = state;
  }
  *out_state = state->bytes;
  return NULL;
}
