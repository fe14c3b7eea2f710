#include "exec/run_parallel.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comm/peers/process_comm.h"
#include "exec/local_channels.h"
#include "transport/core/transport.h"

#define LOOK_MS 50 /* how soon an interruption of the whole is passed on */

typedef struct parallel_grid parallel_grid_t;

typedef struct cell { /* one process */
  parallel_grid_t *grid;
  int rank;
  const hlo_computation_t *program;
  tp_endpoint_t *endpoint;
  exec_comm_t comm;
  bool has_comm;
  exec_machine_t *machine;
  hlo_value_t **args; /* references that the program takes over */
  hlo_value_t *result;
  hr_status_t status;
  pthread_t thread;
  bool started;
} cell_t;

struct parallel_grid {
  op_env_t *env; /* of the step */
  plan_grid_t size;
  int count;
  cell_t *cells;
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
  cell_t *cell = context;
  local_channels_attach(&cell->grid->channels, env);
  return exec_comm_attach(env, &cell->comm);
}

static void *run_cell(void *context) {
  cell_t *cell = context;
  cell->status = exec_machine_call(cell->machine, cell->program, cell->args, &cell->result);
  cell->args = NULL;
  if (cell->status) cancel_all(cell->grid, "another process of the grid failed");
  return NULL;
}

static hr_status_t open_cell(parallel_grid_t *grid, cell_t *cell) {
  const exec_machine_options_t *outer = exec_machine_options(grid->env->engine);
  cell->endpoint->interrupted = interrupt;
  cell->endpoint->interrupted_context = &grid->cancel;
  HR_TRY(exec_comm_init(&cell->comm, cell->endpoint));
  cell->has_comm = true;
  exec_machine_options_t options = {.rank = cell->rank,
                                    .grid = &grid->size,
                                    .rng_seed = outer->rng_seed,
                                    .cancel = &grid->cancel,
                                    .progress = outer->progress,
                                    .attach_comm = attach,
                                    .comm_context = cell,
                                    .probe_files = outer->probe_files};
  return exec_machine_create(exec_machine_plan(grid->env->engine), &options, &cell->machine);
}

static void close_cell(cell_t *cell) {
  exec_machine_destroy(cell->machine);
  if (cell->has_comm) exec_comm_deinit(&cell->comm);
  hlo_value_release(cell->result);
  hr_status_release(cell->status);
}

/* --- the grid --- */

/* Operands are listed process by process. */
static hr_status_t hand_out(parallel_grid_t *grid, const hlo_instr_t *instr,
                            hlo_value_t *const *in) {
  int next = 0;
  for (int p = 0; p < grid->count; p++) {
    cell_t *cell = &grid->cells[p];
    cell->grid = grid;
    cell->rank = p;
    cell->program = instr->called[p];
    HR_TRY(HR_NEW_ARRAY(grid->env->scratch, cell->program->params.count, &cell->args));
    for (size_t k = 0; k < cell->program->params.count; k++) cell->args[k] = in[next++];
  }
  return NULL;
}

static hr_status_t fill_infeed(parallel_grid_t *grid, const hlo_instr_t *instr) {
  for (int c = grid->count; c < instr->called_count; c++) {
    hlo_value_t *value;
    HR_TRY(grid->env->call(grid->env, instr->called[c], NULL, 0, &value));
    HR_TRY(local_channels_feed(&grid->channels, value));
  }
  return NULL;
}

static hr_status_t start_cells(parallel_grid_t *grid) {
  for (int p = 0; p < grid->count; p++) {
    cell_t *cell = &grid->cells[p];
    for (size_t k = 0; k < cell->program->params.count; k++) hlo_value_retain(cell->args[k]);
    cell->started = !pthread_create(&cell->thread, NULL, run_cell, cell);
    if (cell->started) continue;
    for (size_t k = 0; k < cell->program->params.count; k++) hlo_value_release(cell->args[k]);
    return hr_error(HR_UNAVAILABLE, "cannot start a thread for process %d of %d", p, grid->count);
  }
  return NULL;
}

/* Waits for a process; what ends this step's machine ends the grid. */
static hr_status_t join_cell(parallel_grid_t *grid, cell_t *cell, hr_status_t st) {
  const exec_machine_options_t *outer = exec_machine_options(grid->env->engine);
  struct timespec until;
  for (;;) {
    until = hr_clock_deadline(CLOCK_REALTIME, LOOK_MS);
    if (!pthread_timedjoin_np(cell->thread, NULL, &until)) return st;
    if (!st)
      st = outer->interrupted ? outer->interrupted(outer->interrupted_context)
                              : exec_cancel_check(outer->cancel);
    if (st) cancel_all(grid, "the grid was interrupted");
  }
}

/* The failure that came first is not CANCELLED; the others follow from it. */
static hr_status_t join_cells(parallel_grid_t *grid, hr_status_t st) {
  if (st) cancel_all(grid, "the grid could not be started");
  for (int p = 0; p < grid->count; p++)
    if (grid->cells[p].started) st = join_cell(grid, &grid->cells[p], st);
  for (int pass = 0; pass < 2; pass++)
    for (int p = 0; p < grid->count && !st; p++) {
      if (!grid->cells[p].status ||
          (!pass && hr_status_code(grid->cells[p].status) == HR_CANCELLED))
        continue;
      st = hr_status_note(grid->cells[p].status, "in process %d (replica %d, partition %d)", p,
                          p / grid->size.num_partitions, p % grid->size.num_partitions);
      grid->cells[p].status = NULL;
    }
  return st;
}

static hr_status_t collect(const parallel_grid_t *grid, const hlo_instr_t *instr,
                           hlo_value_t **out_value) {
  int count = hlo_shape_leaf_count(instr->shape), next = 0;
  hlo_value_t **leaves;
  HR_TRY(HR_NEW_ARRAY(grid->env->scratch, count, &leaves));
  for (int p = 0; p < grid->count; p++)
    for (int leaf = 0; leaf < hlo_value_leaf_count(grid->cells[p].result); leaf++)
      leaves[next++] = hlo_value_leaf(grid->cells[p].result, leaf);
  return hlo_value_unflatten(instr->shape, leaves, out_value);
}

static hr_status_t run_grid(parallel_grid_t *grid, const hlo_instr_t *instr, hlo_value_t *const *in,
                            hlo_value_t **out_value) {
  HR_TRY(hand_out(grid, instr, in));
  HR_TRY(fill_infeed(grid, instr));
  for (int p = 0; p < grid->count; p++) HR_TRY(open_cell(grid, &grid->cells[p]));
  HR_TRY(join_cells(grid, start_cells(grid)));
  return collect(grid, instr, out_value);
}

static hr_status_t open_endpoints(parallel_grid_t *grid) {
  tp_endpoint_t **endpoints;
  HR_TRY(HR_NEW_ARRAY(grid->env->scratch, grid->count, &grid->cells));
  HR_TRY(HR_NEW_ARRAY(grid->env->scratch, grid->count, &endpoints));
  HR_TRY(tp_self_open(grid->count, endpoints));
  for (int p = 0; p < grid->count; p++) grid->cells[p].endpoint = endpoints[p];
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
  for (int p = 0; opened && p < grid.count; p++) close_cell(&grid.cells[p]);
  for (int p = 0; opened && p < grid.count; p++)
    tp_close(grid.cells[p].endpoint, st != NULL, hr_status_exit_code(st));
  local_channels_deinit(&grid.channels);
  return st;
}
