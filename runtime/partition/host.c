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
