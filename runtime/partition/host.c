/* The host of each thread: a pointer that whoever loads programs sets around the call, so that
 * programs of a file, which no such process has made, meet none. */
#include "partition/host.h"

static _Thread_local const spmd_host_t *current;

const spmd_host_t *spmd_host_enter(const spmd_host_t *host) {
  const spmd_host_t *before = current;
  current = host;
  return before;
}

const spmd_host_t *spmd_host_current(void) { return current; }
