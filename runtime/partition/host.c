/* The host of each thread. A caller with a host sets the pointer only around the loading of its
 * program. */
#include "partition/host.h"

static _Thread_local const spmd_host_t *current;

const spmd_host_t *spmd_host_enter(const spmd_host_t *host) {
  const spmd_host_t *before = current;
  current = host;
  return before;
}

const spmd_host_t *spmd_host_current(void) { return current; }

bool spmd_is_hosted(const hlo_instr_t *instr) {
  return instr->op == HLO_CUSTOM_CALL && current && current->divides &&
         current->divides(current->context, hlo_attr_str(instr, HLO_ATTR_CUSTOM_CALL_TARGET));
}
