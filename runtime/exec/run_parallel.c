/* interpreter.run_parallel (StableHLO reference interpreter): runs a grid of programs inside one
 * step. Each process of the grid is a thread with its own reference machine, connected by the
 * self transport and by local_channels.c. Operands and results are listed process by process.
 *
 * Failures: the first failure cancels the grid; the step reports a failure that is not CANCELLED,
 *           with the process it came from. The step's own machine polls for time-outs every
 *           POLL_MS.
 * Cost:    a thread and a machine per process and call; meant for tests, not for speed. */
#include "exec/run_parallel.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comm/peers/process_comm.h"
#include "exec/local_channels.h"
#include "transport/core/transport.h"

#define POLL_MS 50 /* period of polls for interruption of the whole step */

typedef struct parallel_grid parallel_grid_t;

typedef struct process { /* one process of the grid */
  parallel_grid_t *grid;
  int rank;
  const hlo_computation_t *program;
  tp_endpoint_t *endpoint;
  exec_comm_t comm;
  bool has_comm;
  exec_machine_t *machine;
  hlo_value_t **args; /* consumed by the program */
  hlo_value_t *result;
  hr_status_t status;
  pthread_t thread;
  bool started;
} grid_process_t;

struct parallel_grid {
  op_env_t *env; /* environment of the step that runs the grid */
  plan_grid_t size;
  int count;
  grid_process_t *processes;
  exec_cancel_t cancel;
  local_channels_t channels;
};

static void cancel_all(parallel_grid_t *grid, const char *reason) {
  const char *expected = NULL;
  atomic_compare_exchange_strong(&grid->cancel.reason, &expected, reason);
  local_channels_wake(&grid->channels);
}

/* --- one process --- */

static hr_status_t interrupt(void *context) { return exec_cancel_check(context); }

static hr_status_t attach(op_env_t *env, void *context) {
  grid_process_t *process = context;
  local_channels_attach(&process->grid->channels, env);
  return exec_comm_attach(env, &process->comm);
}

static void *run_process(void *context) {
  grid_process_t *process = context;
  process->status =
      exec_machine_call(process->machine, process->program, process->args, &process->result);
  process->args = NULL;
  if (process->status) cancel_all(process->grid, "another process of the grid failed");
  return NULL;
}

static hr_status_t open_process(parallel_grid_t *grid, grid_process_t *process) {
  const exec_machine_options_t *outer = exec_machine_options(grid->env->engine);
  process->endpoint->interrupted = interrupt;
  process->endpoint->interrupted_context = &grid->cancel;
  HR_TRY(exec_comm_init(&process->comm, process->endpoint));
  process->has_comm = true;
  exec_machine_options_t options = {.rank = process->rank,
                                    .grid = &grid->size,
                                    .rng_seed = outer->rng_seed,
                                    .cancel = &grid->cancel,
                                    .progress = outer->progress,
                                    .attach_comm = attach,
                                    .comm_context = process,
                                    .probe_files = outer->probe_files};
  return exec_machine_create(exec_machine_plan(grid->env->engine), &options, &process->machine);
}

static void close_process(grid_process_t *process) {
  exec_machine_destroy(process->machine);
  if (process->has_comm) exec_comm_deinit(&process->comm);
  hlo_value_release(process->result);
  hr_status_release(process->status);
}

/* --- the grid --- */

/* Splits the operands, listed process by process. */
static hr_status_t distribute_operands(parallel_grid_t *grid, const hlo_instr_t *instr,
                                       hlo_value_t *const *in) {
  int next = 0;
  for (int p = 0; p < grid->count; p++) {
    grid_process_t *process = &grid->processes[p];
    process->grid = grid;
    process->rank = p;
    process->program = instr->called[p];
    HR_TRY(HR_NEW_ARRAY(grid->env->scratch, process->program->params.count, &process->args));
    for (size_t k = 0; k < process->program->params.count; k++) process->args[k] = in[next++];
  }
  return NULL;
}

static hr_status_t fill_infeed(parallel_grid_t *grid, const hlo_instr_t *instr) {
  for (int c = grid->count; c < instr->called_count; c++) {
    hlo_value_t *value;
    HR_TRY(grid->env->engine_ops->call(grid->env, instr->called[c], NULL, 0, &value));
    HR_TRY(local_channels_feed(&grid->channels, value));
  }
  return NULL;
}

static hr_status_t start_processes(parallel_grid_t *grid) {
  for (int p = 0; p < grid->count; p++) {
    grid_process_t *process = &grid->processes[p];
    for (size_t k = 0; k < process->program->params.count; k++) hlo_value_retain(process->args[k]);
    process->started = !pthread_create(&process->thread, NULL, run_process, process);
    if (process->started) continue;
    for (size_t k = 0; k < process->program->params.count; k++) hlo_value_release(process->args[k]);
    return hr_error(HR_UNAVAILABLE, "cannot start a thread for process %d of %d", p, grid->count);
  }
  return NULL;
}

/* Joins a process; cancellation of the step's machine cancels the grid. */
static hr_status_t join_process(parallel_grid_t *grid, grid_process_t *process, hr_status_t st) {
  const exec_machine_options_t *outer = exec_machine_options(grid->env->engine);
  struct timespec until;
  for (;;) {
    until = hr_clock_deadline(CLOCK_MONOTONIC, POLL_MS);
    if (!pthread_clockjoin_np(process->thread, NULL, CLOCK_MONOTONIC, &until)) return st;
    if (!st)
      st = outer->interrupted ? outer->interrupted(outer->interrupted_context)
                              : exec_cancel_check(outer->cancel);
    if (st) cancel_all(grid, "the grid was interrupted");
  }
}

/* Joins all processes. The original failure is the one that is not CANCELLED; others are its
 * consequences. */
static hr_status_t join_processes(parallel_grid_t *grid, hr_status_t st) {
  if (st) cancel_all(grid, "the grid could not be started");
  for (int p = 0; p < grid->count; p++)
    if (grid->processes[p].started) st = join_process(grid, &grid->processes[p], st);
  for (int pass = 0; pass < 2; pass++)
    for (int p = 0; p < grid->count && !st; p++) {
      if (!grid->processes[p].status ||
          (!pass && hr_status_code(grid->processes[p].status) == HR_CANCELLED))
        continue;
      st = hr_status_note(grid->processes[p].status, "in process %d (replica %d, partition %d)", p,
                          p / grid->size.num_partitions, p % grid->size.num_partitions);
      grid->processes[p].status = NULL;
    }
  return st;
}

static hr_status_t collect_results(const parallel_grid_t *grid, const hlo_instr_t *instr,
                                   hlo_value_t **out_value) {
  int count = hlo_shape_leaf_count(instr->shape), next = 0;
  hlo_value_t **leaves;
  HR_TRY(HR_NEW_ARRAY(grid->env->scratch, count, &leaves));
  for (int p = 0; p < grid->count; p++)
    for (int leaf = 0; leaf < hlo_value_leaf_count(grid->processes[p].result); leaf++)
      leaves[next++] = hlo_value_leaf(grid->processes[p].result, leaf);
  return hlo_value_unflatten(instr->shape, leaves, out_value);
}

static hr_status_t run_grid(parallel_grid_t *grid, const hlo_instr_t *instr, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  HR_TRY(distribute_operands(grid, instr, in));
  HR_TRY(fill_infeed(grid, instr));
  for (int p = 0; p < grid->count; p++) HR_TRY(open_process(grid, &grid->processes[p]));
  HR_TRY(join_processes(grid, start_processes(grid)));
  return collect_results(grid, instr, out_value);
}

static hr_status_t open_endpoints(parallel_grid_t *grid) {
  tp_endpoint_t **endpoints;
  HR_TRY(HR_NEW_ARRAY(grid->env->scratch, grid->count, &grid->processes));
  HR_TRY(HR_NEW_ARRAY(grid->env->scratch, grid->count, &endpoints));
  HR_TRY(tp_self_open(grid->count, endpoints));
  for (int p = 0; p < grid->count; p++) grid->processes[p].endpoint = endpoints[p];
  return NULL;
}

hr_status_t exec_run_parallel(op_env_t *env, const hlo_instr_t *instr, int num_replicas,
                              int num_partitions, hlo_value_t *const *in, hlo_value_t **out_value) {
  parallel_grid_t grid = {
      .env = env, .size = {num_replicas, num_partitions}, .count = num_replicas * num_partitions};
  local_channels_init(&grid.channels, &grid.cancel);
  hr_status_t st = open_endpoints(&grid);
  bool opened = !st;
  if (!st) st = run_grid(&grid, instr, in, out_value);
  for (int p = 0; opened && p < grid.count; p++) close_process(&grid.processes[p]);
  for (int p = 0; opened && p < grid.count; p++)
    tp_close(grid.processes[p].endpoint, st != NULL, hr_status_exit_code(st));
  local_channels_deinit(&grid.channels);
  return st;
}
