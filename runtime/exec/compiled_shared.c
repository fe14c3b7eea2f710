/* Memory of gathered arrays that the processes of a machine read at one address
 * (plan/flat_shared.c): one array per group of processes, opened by all of them together in the
 * first run. Processes without shared memory gather into arrays of their own. */
#include "base/mem.h"
#include "exec/compiled_parts.h"
#include "ops/query/replica_groups.h"

/* The group of no stream: what is opened later by any program frees what was closed before. */
static hr_status_t open_array(exec_compiled_t *machine, const flat_shared_t *shared,
                              run_shared_t *array) {
  op_env_t *env = exec_machine_env(machine->reference);
  op_members_t members;
  const op_group_t *group;
  HR_TRY(op_group_members(env->scratch, shared->gather, env->num_replicas, env->num_partitions,
                          env->rank, &members));
  if (members.size < 2 || members.my_index < 0) return NULL;
  HR_TRY(env->comm_ops->group(env, members.size, members.ranks, 0, &group));
  return env->comm_ops->shared_array(env, group, 2 * shared->size_bytes, shared->key,
                                     &array->buffer);
}

static hr_status_t open_or_allocate(exec_compiled_t *machine, int number) {
  const flat_shared_t *shared = &machine->flat->shared[number];
  run_shared_t *array = &machine->arrays[number];
  if (machine->shares_arrays) HR_TRY(open_array(machine, shared, array));
  if (!array->buffer) return hr_alloc(shared->size_bytes, &array->memory);
  array->memory = hr_buffer_data(array->buffer);
  return NULL;
}

hr_status_t exec_shared_open(exec_compiled_t *machine) {
  int count = machine->flat->shared_count;
  if (!count || machine->arrays) return NULL;
  HR_TRY(HR_NEW_ARRAY(&machine->list_arena, count, &machine->arrays));
  for (int i = 0; i < count; i++) HR_TRY(open_or_allocate(machine, i));
  return NULL;
}

void exec_compiled_share_arrays(exec_compiled_t *machine, bool are_shared) {
  machine->shares_arrays = are_shared;
}

void *exec_shared_address(const exec_compiled_t *machine, int number) {
  const run_shared_t *array = &machine->arrays[number];
  bool second = array->buffer && machine->runs % 2;
  return (char *)array->memory + (second ? machine->flat->shared[number].size_bytes : 0);
}

uint64_t exec_shared_results(const exec_compiled_t *machine, const flat_step_t *step) {
  uint64_t results = 0;
  for (int i = 0; i < step->out_count && i < 64 && machine->arrays; i++) {
    if (step->out[i].buffer < 0) continue;
    const flat_buffer_t *buffer =
        &machine->flat->buffers[flat_root(machine->flat->buffers, step->out[i].buffer)];
    if (buffer->storage == FLAT_SHARED && machine->arrays[buffer->index].buffer)
      results |= UINT64_C(1) << i;
  }
  return results;
}

void exec_shared_close(exec_compiled_t *machine) {
  for (int i = 0; machine->arrays && i < machine->flat->shared_count; i++) {
    if (!machine->arrays[i].buffer) hr_free(machine->arrays[i].memory);
    hr_buffer_release(machine->arrays[i].buffer);
  }
}
