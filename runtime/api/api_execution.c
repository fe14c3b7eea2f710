/* Executions: arguments are validated and flattened, the client's fair lock is taken, and the
 * compiled engine, a specialization or the reference engine runs.
 *   hlorun_execute         check -> lock -> run -> end transfers -> unlock
 *   hlorun_execute_start   check -> take a ticket -> thread: wait for it -> run -> unlock
 *   hlorun_execution_await join the thread, move the results to the caller
 * Tickets are taken in the caller's thread, so that executions reach the transport in the order of
 * the calls. The compiled engine borrows its arguments; the others consume references. The program
 * owns a donated argument from the call on, whether it succeeds or not. */
#include <stdlib.h>
#include <string.h>

#include "api_check.h"
#include "api_program.h"
#include "base/mem.h"

/* An asynchronous execution: arguments and results are owned, and the thread holds the ticket. */
struct hlorun_execution {
  hlorun_program_t *program;
  hlorun_buffer_t **args;
  hlorun_buffer_t **results;
  uint64_t ticket;
  pthread_t thread;
  bool joined;
  atomic_bool done;
  hr_status_t status;
};

/* USAGE with the parameter's number, name and shape, and the argument's shape. */
static hr_status_t argument_error(const hlorun_program_t *program, int index,
                                  const hlo_value_t *arg) {
  char text[HLO_SHAPE_TEXT];
  hlo_shape_t found = {.dtype = arg ? arg->dtype : HR_TOKEN,
                       .rank = arg ? arg->rank : 0,
                       .dims = arg ? arg->dims : NULL};
  return hr_error(HR_USAGE, "argument %d (%s) is %s, the program wants %s", index,
                  program->param_names[index], arg ? hlo_shape_text(&found, text) : "missing",
                  program->param_shapes[index]);
}

/* Checks every leaf of the entry's parameters. Tokens may be NULL; dynamic sizes must be within
 * their bounds. */
static hr_status_t check_arguments(const hlorun_program_t *program, hlorun_buffer_t *const *args) {
  API_NOT_NULL_FOR(program->param_count, args);
  const hlo_module_t *module = program->compiled.module;
  for (int p = 0, leaf = 0; p < (int)module->entry->params.count; p++) {
    const hlo_shape_t *shape = hlo_entry_param_shape(module, p);
    for (int i = 0; i < hlo_shape_leaf_count(shape); i++, leaf++) {
      const hlo_shape_t *want = hlo_shape_leaf(shape, i);
      if (args[leaf] ? !hlo_value_fits(args[leaf], want) : hlo_shape_is_array(want))
        return argument_error(program, leaf, args[leaf]);
    }
  }
  return NULL;
}

/* Builds a value for each parameter of the entry from the leaves. Consumes their references, also
 * on errors. */
static hr_status_t assemble_parameters(const hlorun_program_t *program, hlorun_buffer_t **leaves,
                                       hlo_value_t **params) {
  const hlo_module_t *module = program->compiled.module;
  hr_status_t st = NULL;
  int leaf = 0;
  for (int k = 0; k < program->param_count && !st; k++)
    if (!leaves[k]) st = hlo_value_token(&leaves[k]);
  for (int p = 0; p < (int)module->entry->params.count && !st; p++) {
    const hlo_shape_t *shape = hlo_entry_param_shape(module, p);
    st = hlo_value_unflatten(shape, leaves + leaf, &params[p]);
    leaf += hlo_shape_leaf_count(shape);
  }
  for (int k = 0; k < program->param_count; k++) hlo_value_release(leaves[k]);
  for (int p = 0; st && p < (int)module->entry->params.count; p++) hlo_value_release(params[p]);
  return st;
}

/* Completes transfers that the program started but did not await; joins failures to `st`. */
static hr_status_t end_transfers(hlorun_program_t *program, hr_status_t st) {
  st = exec_verify_end(program->verify, st);
  st = exec_channels_end(program->channels, st);
  return exec_verify_match(program->verify, st);
}

/* With the lock held. Arguments that are not donated are borrowed. After a failure no result is
 * left. */
static hr_status_t run_compiled(hlorun_program_t *program, exec_compiled_t *fast,
                                hlorun_buffer_t *const *args, const bool *donate,
                                hlorun_buffer_t **results) {
  hr_status_t st = exec_compiled_run(fast, args, donate, results);
  bool has_results = !st;
  st = end_transfers(program, st);
  for (int r = 0; st && has_results && r < program->result_count; r++) {
    hlo_value_release(results[r]);
    results[r] = NULL; /* no dangling reference after a failure */
  }
  return st;
}

/* With the lock held. Consumes the references in `leaves`. */
static hr_status_t run_reference(hlorun_program_t *program, hlorun_buffer_t **leaves,
                                 hlorun_buffer_t **results) {
  void *memory;
  hlo_value_t *root;
  hr_status_t st = hr_alloc_zeroed(
      (program->compiled.module->entry->params.count + 1) * sizeof(hlo_value_t *), &memory);
  if (st) {
    for (int k = 0; k < program->param_count; k++) hlo_value_release(leaves[k]);
    return st;
  }
  hlo_value_t **params = memory;
  st = assemble_parameters(program, leaves, params);
  if (!st) {
    st = exec_machine_run(program->machine, params, &root);
    bool has_root = !st;
    st = end_transfers(program, st);
    if (st && has_root) hlo_value_release(root);
  }
  hr_free(params);
  if (st) return st;
  for (int r = 0; r < program->result_count; r++)
    results[r] = hlo_value_retain(hlo_value_leaf(root, r));
  hlo_value_release(root);
  return NULL;
}

/* Adds a span for the whole execution to the trace. */
static void note_execution(const hlorun_client_t *client, uint64_t begin_ns) {
  if (client->trace) hr_trace_add(client->trace, client->executions, begin_ns);
}

/* Called with the lock held; leave() ends it. A program has one set of intermediate values: a
 * function that it calls may run other programs, but not this one. */
static hr_status_t enter(hlorun_program_t *program) {
  if (program->is_running)
    return hr_error(HR_UNSUPPORTED, "program %.*s runs itself, in a function that it calls",
                    HR_STR_ARGS(program->compiled.module->name));
  program->is_running = true;
  program->callers_mode = hr_fp_mode();
  if (program->client->options.flush_denormals) hr_fp_mode_set(program->callers_mode | HR_FP_FLUSH);
  return NULL;
}

static void leave(hlorun_program_t *program) {
  hr_fp_mode_set(program->callers_mode);
  program->is_running = false;
}

/* With the lock held, after enter(). The engine is chosen by the sizes of the arguments if there
 * are specializations. */
static hr_status_t run_entered(hlorun_program_t *program, hlorun_buffer_t **leaves,
                               hlorun_buffer_t **results) {
  uint64_t begin_ns = hr_clock_ns();
  exec_compiled_t *fast = program->specializations
                              ? specializations_find(program->specializations, leaves)
                              : program->fast;
  hr_status_t st = fast ? run_compiled(program, fast, leaves, program->all_params, results)
                        : run_reference(program, leaves, results);
  leave(program);
  note_execution(program->client, begin_ns);
  return st;
}

/* enter() and run_entered(). Consumes the references in `leaves` in any case. */
static hr_status_t run_program(hlorun_program_t *program, hlorun_buffer_t **leaves,
                               hlorun_buffer_t **results) {
  hr_status_t st = enter(program);
  if (!st) return run_entered(program, leaves, results);
  for (int k = 0; k < program->param_count; k++) hlo_value_release(leaves[k]);
  return st;
}

/* A list of references for one execution: the caller's where donated, else new ones. */
static hr_status_t retain_arguments(hlorun_program_t *program, hlorun_buffer_t *const *args,
                                    const bool *donate, hlorun_buffer_t ***out_leaves) {
  HR_TRY(check_arguments(program, args));
  void *memory;
  hr_status_t st =
      hr_alloc((size_t)(program->param_count + 1) * sizeof(hlorun_buffer_t *), &memory);
  if (st) {
    for (int k = 0; donate && k < program->param_count; k++)
      if (donate[k]) hlo_value_release(args[k]);
    return st;
  }
  hlorun_buffer_t **leaves = memory;
  for (int k = 0; k < program->param_count; k++)
    leaves[k] = donate && donate[k] ? args[k] : hlo_value_retain(args[k]);
  *out_leaves = leaves;
  return NULL;
}

/* The compiled engine needs no list of references, which saves time for small programs. */
hlorun_status_t hlorun_execute(hlorun_program_t *program, hlorun_buffer_t *const *args,
                               const bool *donate, hlorun_buffer_t **results) {
  hlorun_buffer_t **leaves;
  hr_status_t st;
  API_NOT_NULL(program);
  API_NOT_NULL_FOR(program->result_count, results);
  if (program->fast) {
    HR_TRY(check_arguments(program, args));
    api_client_lock_fair(program->client);
    uint64_t begin_ns = hr_clock_ns();
    st = enter(program);
    if (st) {
      for (int k = 0; donate && k < program->param_count; k++)
        if (donate[k]) hlo_value_release(args[k]);
    } else {
      st = run_compiled(program, program->fast, args, donate, results);
      leave(program);
    }
    note_execution(program->client, begin_ns);
    api_client_unlock_fair(program->client);
    return st;
  }
  HR_TRY(retain_arguments(program, args, donate, &leaves));
  api_client_lock_fair(program->client);
  st = run_program(program, leaves, results);
  api_client_unlock_fair(program->client);
  hr_free(leaves);
  return st;
}

/* Runs when the ticket is served, so that executions keep the order of their starts. */
static void *execution_thread(void *context) {
  hlorun_execution_t *execution = context;
  api_client_await_ticket(execution->program->client, execution->ticket);
  execution->status = run_program(execution->program, execution->args, execution->results);
  api_client_unlock_fair(execution->program->client);
  atomic_store(&execution->done, true);
  return NULL;
}

/* If no thread starts, serves the ticket at once, as later callers would wait for ever. */
static hr_status_t start_thread(hlorun_execution_t *execution) {
  execution->ticket = api_client_take_ticket(execution->program->client);
  if (!pthread_create(&execution->thread, NULL, execution_thread, execution)) return NULL;
  api_client_await_ticket(execution->program->client, execution->ticket);
  api_client_unlock_fair(execution->program->client);
  for (int k = 0; k < execution->program->param_count; k++) hlo_value_release(execution->args[k]);
  return hr_error(HR_UNAVAILABLE, "cannot start a thread for the execution");
}

hlorun_status_t hlorun_execute_start(hlorun_program_t *program, hlorun_buffer_t *const *args,
                                     const bool *donate, hlorun_execution_t **out_execution) {
  void *memory, *results;
  API_NOT_NULL(program);
  API_NOT_NULL(out_execution);
  HR_TRY(hr_alloc_zeroed(sizeof(hlorun_execution_t), &memory));
  hlorun_execution_t *execution = memory;
  hr_status_t st =
      hr_alloc_zeroed((size_t)(program->result_count + 1) * sizeof(hlorun_buffer_t *), &results);
  if (!st) {
    execution->program = program;
    execution->results = results;
    st = retain_arguments(program, args, donate, &execution->args);
    if (!st) st = start_thread(execution);
    if (!st) {
      __atomic_fetch_add(&program->references, 1, __ATOMIC_RELAXED);
      *out_execution = execution;
      return NULL;
    }
    hr_free(execution->args);
    hr_free(results);
  }
  hr_free(execution);
  return st;
}

bool hlorun_execution_is_done(hlorun_execution_t *execution) {
  return !execution || atomic_load(&execution->done);
}

/* Results of a failed execution are not moved; they are released with it. */
hlorun_status_t hlorun_execution_await(hlorun_execution_t *execution, hlorun_buffer_t **results) {
  API_NOT_NULL(execution);
  API_NOT_NULL_FOR(execution->program->result_count, results);
  if (execution->joined) return hr_error(HR_USAGE, "this execution has already been awaited");
  pthread_join(execution->thread, NULL);
  execution->joined = true;
  hr_status_t st = execution->status;
  execution->status = NULL;
  for (int r = 0; r < execution->program->result_count && !st; r++) {
    results[r] = execution->results[r];
    execution->results[r] = NULL;
  }
  return st;
}

/* Waits for the thread, which uses the execution's buffers. */
void hlorun_execution_release(hlorun_execution_t *execution) {
  if (!execution) return;
  if (!execution->joined) pthread_join(execution->thread, NULL);
  for (int r = 0; r < execution->program->result_count; r++)
    hlo_value_release(execution->results[r]);
  hr_status_release(execution->status);
  hr_free(execution->results);
  hr_free(execution->args);
  hlorun_program_release(execution->program);
  hr_free(execution);
}
