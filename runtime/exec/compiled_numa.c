/* Steps under a trace of NUMA accesses (observe/numa_trace.h): the arrays of a step are watched
 * while its kernel runs. Loops are not watched, but the steps in them are. Nothing is counted while
 * transfers are in flight: system calls that read or write watched pages would fail. */
#include "exec/compiled_parts.h"

bool exec_numa_counts(const exec_compiled_t *machine, const run_step_t *step) {
  bool is_leaf = (step->kind == FLAT_NATIVE && !step->is_loop) || step->kind == FLAT_COPY;
  return machine->options.numa && is_leaf && !machine->native.env->transfers.in_flight;
}

/* Adds an array to the watched ones; `address`: its address in this run. */
static hr_status_t add_array(const exec_compiled_t *machine, flat_ref_t ref, const void *address) {
  if (ref.buffer < 0 || !address) return NULL;
  const flat_buffer_t *buffers = machine->flat->buffers;
  size_t size_bytes = buffers[flat_root(buffers, ref.buffer)].size_bytes;
  return numa_trace_add(machine->options.numa, address, size_bytes - ref.offset_bytes);
}

static hr_status_t add_arrays(const exec_compiled_t *machine, const run_step_t *step) {
  const flat_step_t *flat = step->flat;
  for (int i = 0; i < flat->in_count; i++) HR_TRY(add_array(machine, flat->in[i], step->in[i]));
  for (int i = 0; i < flat->out_count; i++) HR_TRY(add_array(machine, flat->out[i], step->out[i]));
  return add_array(machine, flat->scratch, step->scratch);
}

hr_status_t exec_numa_run(exec_compiled_t *machine, run_step_t *step) {
  numa_trace_t *numa = machine->options.numa;
  numa_trace_begin(numa);
  HR_TRY(add_arrays(machine, step));
  numa_trace_run(numa, &machine->spans[step - machine->steps]);
  hr_status_t st = exec_compiled_run_leaf(machine, step);
  return hr_status_join(st, numa_trace_end(numa));
}
