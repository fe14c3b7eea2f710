/* `hlorun run`: one program on the grid, once or for many steps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/processors.h"
#include "cli/cli.h"
#include "cli/cli_agree.h"
#include "cli/program/cli_bundle.h"
#include "cli/cli_collective_options.h"
#include "cli/launch/cli_exit_code.h"
#include "cli/arrays/cli_inputs.h"
#include "cli/launch/cli_launch.h"
#include "cli/cli_limits.h"
#include "cli/program/cli_load.h"
#include "cli/launch/cli_log_dir.h"
#include "cli/arrays/cli_output.h"
#include "cli/picture/cli_plot.h"
#include "cli/program/cli_programs.h"
#include "cli/launch/cli_restart.h"
#include "cli/run/cli_run_parts.h"
#include "cli/cli_sandbox.h"
#include "cli/run/cli_signals.h"
#include "cli/launch/cli_start_guard.h"
#include "cli/launch/cli_start_watch.h"
#include "cli/cli_stop.h"
#include "cli/program/cli_tf.h"
#include "cli/run/cli_trace.h"
#include "cli/cli_uses.h"
#include "transport/core/transport.h"

/* --- preparation --- */

/* Checks early, before a possibly long run, that the file can be written. */
static hr_status_t check_writable(const hr_options_t *options, hr_option_id_t id) {
  const char *path = hr_option_text(options, id);
  if (!path || strcmp(path, "-") == 0) return NULL;
  const char *slash = strrchr(path, '/');
  char folder[4096] = ".";
  if (slash) snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
  bool exists = access(path, F_OK) == 0;
  if (exists ? access(path, W_OK) == 0 : access(folder, W_OK) == 0) return NULL;
  return hr_error(HR_UNAVAILABLE, "--%s: cannot write %s: %s", hr_option_name(id), path,
                  strerror(errno));
}

/* Checks for contradictions among options and for files that cannot be written. */
static hr_status_t check_usage(const hr_options_t *options) {
  HR_TRY(cli_programs_check(options));
  if (hr_option_is_given(options, HR_OPTION_STEPS) && hr_option_is_given(options, HR_OPTION_EPOCHS))
    return hr_error(HR_USAGE, "--steps and --epochs both say how long to run: give one");
  if (hr_option_is_given(options, HR_OPTION_EPOCHS) && !hr_option_is_given(options, HR_OPTION_FEED))
    return hr_error(HR_USAGE,
                    "--epochs counts passes through the data of --feed, and nothing is fed");
  HR_TRY(cli_trace_check(options));
  HR_TRY(cli_output_check(options));
  HR_TRY(cli_plot_check(options));
  HR_TRY(check_writable(options, HR_OPTION_OUTPUT));
  HR_TRY(check_writable(options, HR_OPTION_STATS));
  HR_TRY(check_writable(options, HR_OPTION_TRACE));
  return check_writable(options, HR_OPTION_CURVE);
}

/* Sets HLORUN_* variables from options, which have precedence. */
void cli_choose_variables(const hr_options_t *options) {
  const char *folder = hr_option_text(options, HR_OPTION_CACHE),
             *combine = hr_option_text(options, HR_OPTION_COMBINE);
  const char *dump = hr_option_text(options, HR_OPTION_DUMP);
  if (folder) setenv("HLORUN_CACHE", *folder ? folder : "none", 1);
  if (combine) setenv("HLORUN_COMBINE", combine, 1);
  if (dump && *dump) setenv("HLORUN_DUMP_TO", dump, 1);
}

/* Defaults, then the given options. */
hr_status_t cli_client_options(const hr_options_t *options,
                               struct hlorun_client_options *out_options) {
  static const hlorun_bind_t binds[] = {HLORUN_BIND_CORE, HLORUN_BIND_NUMA, HLORUN_BIND_NONE};
  static const hlorun_engine_t engines[] = {HLORUN_ENGINE_REFERENCE, HLORUN_ENGINE_COMPILED};
  hlorun_client_options_init(out_options);
  cli_choose_variables(options);
  out_options->threads = (int)hr_option_int(options, HR_OPTION_THREADS, 0);
  out_options->bind = binds[hr_option_int(options, HR_OPTION_BIND, 0)];
  out_options->timeout_s = hr_option_real(options, HR_OPTION_TIMEOUT, 0);
  if (hr_option_is_given(options, HR_OPTION_ENGINE))
    out_options->engine = engines[hr_option_int(options, HR_OPTION_ENGINE, 0)];
  out_options->seed = hr_option_int(options, HR_OPTION_SEED, 0);
  out_options->flush_denormals = hr_option_int(options, HR_OPTION_DENORMALS, 0) == 0;
  return NULL;
}

/* Warns of more threads than processors. */
static void note_threads(const hr_options_t *options) {
  int threads = (int)hr_option_int(options, HR_OPTION_THREADS, 0);
  int count = hr_processor_limit((int)sysconf(_SC_NPROCESSORS_ONLN));
  if (threads <= count || hr_option_is_given(options, HR_OPTION_QUIET)) return;
  fprintf(stderr, "warning: --threads %d: more than processors (%d), which the threads share\n",
          threads, count);
}

/* With -n 1 the client has no peers, even if a launcher started several processes. */
static hr_status_t open_client(cli_run_t *run) {
  hlorun_client_options_t options;
  HR_TRY(cli_client_options(run->options, &options));
  HR_TRY(cli_trace_options(run->options, &options));
  if (hr_option_int(run->options, HR_OPTION_PROCESSES, 0) == 1) options.world = HLORUN_WORLD_SINGLE;
  hr_status_t started = cli_start_watch_begin(run->options);
  if (!started) started = hlorun_client_create(&options, &run->client);
  cli_start_watch_end();
  HR_TRY(started);
  HR_TRY(cli_sandbox_close(run->options));
  run->rank = hlorun_client_rank(run->client);
  run->world = hlorun_client_world_size(run->client);
  hr_status_t st = cli_signals_watch(run->client);
  if (!st) st = tp_algorithms_check_environment();
  HR_TRY(cli_agree(run->client, st));
  return cli_agree(run->client, cli_collective_options_check(run->client, run->options));
}

/* Called before the program is loaded, which refers to the plugins' functions. */
static hr_status_t open_plugins(const hr_options_t *options) {
  size_t from = 0;
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_PLUGIN, &from));)
    HR_TRY(hlorun_plugin_open(given->text));
  return NULL;
}

/* Replaces a folder by the path of the program in it. */
static hr_status_t find_program(cli_run_t *run) {
  const char *program;
  HR_TRY(cli_bundle_program(&run->arena, run->path, &program));
  if (program) run->path = program;
  return NULL;
}

/* Processes that cannot read the program agree on one report. */
static hr_status_t load_program(cli_run_t *run) {
  hlorun_program_options_t options;
  hlorun_program_options_init(&options);
  options.num_replicas = (int)hr_option_int(run->options, HR_OPTION_NUM_REPLICAS, 0);
  options.num_partitions = (int)hr_option_int(run->options, HR_OPTION_NUM_PARTITIONS, 0);
  options.mpmd = cli_programs_are_several(run->options) && run->world > 1;
  options.unproved = hr_option_is_given(run->options, HR_OPTION_NO_PROOF);
  options.verify_comm = hr_option_is_given(run->options, HR_OPTION_VERIFY_COMM);
  options.probe = hr_option_text(run->options, HR_OPTION_PROBE);
  options.mesh = hr_option_text(run->options, HR_OPTION_MESH);
  options.sharding = hr_option_text(run->options, HR_OPTION_SHARDING);
  options.gather_limit = hr_option_int(run->options, HR_OPTION_GATHER_LIMIT, 0);
  options.carried = (const int(*)[2])run->carry.data;
  options.carried_count = (int)run->carry.count;
  options.probe_dir = hr_option_text(run->options, HR_OPTION_DUMP);
  options.infeed = hr_option_text(run->options, HR_OPTION_INFEED);
  options.outfeed = hr_option_text(run->options, HR_OPTION_OUTFEED);
  HR_TRY(
      cli_agree(run->client, cli_programs_choose(run->options, run->rank, run->world, &run->path)));
  HR_TRY(cli_agree(run->client, find_program(run)));
  HR_TRY(cli_agree(run->client, open_plugins(run->options)));
  double start = hr_clock_s();
  hr_status_t st =
      cli_load_program(run->client, run->path, &options, &run->program, &run->desynchronized);
  run->stats.compile_s = hr_clock_s() - start;
  if (!st) hlorun_program_get_figures(run->program, &run->stats.program);
  if (!st) hr_log(HR_LOG_CLI, HR_LOG_INFO, "loaded %s in %.3g s", run->path, run->stats.compile_s);
  return st;
}

/* Allocates the lists in the run's arena. */
static hr_status_t make_lists(cli_run_t *run) {
  hr_arena_t *arena = &run->arena;
  int params = run->signature.param_count;
  HR_TRY(HR_NEW_ARRAY(arena, params, &run->values));
  HR_TRY(HR_NEW_ARRAY(arena, params, &run->args));
  HR_TRY(HR_NEW_ARRAY(arena, params, &run->donate));
  return HR_NEW_ARRAY(arena, run->signature.result_count, &run->results);
}

/* Arguments that are fed or carried are donated: the execution may overwrite them. */
static hr_status_t decide_steps(cli_run_t *run) {
  run->repeats = hr_option_int(run->options, HR_OPTION_REPEAT, 1);
  run->steps = hr_option_int(run->options, HR_OPTION_STEPS, 1);
  if (hr_option_is_given(run->options, HR_OPTION_EPOCHS))
    run->steps =
        hr_option_int(run->options, HR_OPTION_EPOCHS, 1) * cli_feed_steps_per_epoch(run->feed);
  for (size_t i = 0; i < run->carry.count; i++) run->donate[run->carry.data[i].in] = true;
  for (int k = 0; k < run->signature.param_count; k++) run->donate[k] |= cli_feed_has(run->feed, k);
  for (size_t i = 0; i < run->carry.count; i++)
    if (cli_feed_has(run->feed, run->carry.data[i].in))
      return hr_error(HR_USAGE, "parameter %d is both fed and carried", run->carry.data[i].in);
  return NULL;
}

/* Skipped for several programs: an option may have an effect in one of them only. */
static hr_status_t check_uses(const cli_run_t *run) {
  if (cli_programs_are_several(run->options)) return NULL;
  HR_TRY(cli_uses_check_read(run->options, run->path));
  if (run->rank == 0) cli_uses_warn_of_program(run->options, run->program, run->world);
  return NULL;
}

/* True for options that keep parts of arrays in files or feed them; for these, results stay
 * parts. */
static bool keeps_parts(const hr_options_t *options) {
  static const hr_option_id_t ids[] = {HR_OPTION_FEED, HR_OPTION_CHECKPOINT, HR_OPTION_RESUME};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (hr_option_is_given(options, ids[i])) return true;
  return false;
}

/* Results of a program partitioned by XLA are whole arrays if all processes were given whole
 * arrays. */
static hr_status_t choose_whole_results(cli_run_t *run) {
  bool is_same = false;
  bool is_cut = run->stats.program.cut_params || run->stats.program.unknown_results;
  if (!is_cut || run->world == 1 || cli_programs_are_several(run->options)) return NULL;
  if (!keeps_parts(run->options))
    HR_TRY(cli_agree_same(run->client, *run->signature.took_whole, &is_same));
  if (is_same && *run->signature.took_whole && hlorun_program_make_global(run->program))
    HR_TRY(cli_signature_find_wholes(&run->signature));
  if (run->rank == 0) cli_uses_warn_of_parts(run->options, run->program);
  return NULL;
}

/* All checks before the first step. */
static hr_status_t prepare(cli_run_t *run) {
  const hr_options_t *options = run->options;
  HR_TRY(check_uses(run));
  HR_TRY(cli_signature_init(&run->signature, run->program));
  run->signature.world = hlorun_client_world_size(run->client);
  HR_TRY(cli_bundle_name_params(run->path, &run->signature));
  HR_TRY(make_lists(run));
  HR_TRY(cli_tf_carry(options, run->path, &run->carry));
  HR_TRY(cli_carry_check(&run->carry, &run->signature));
  HR_TRY(cli_feed_create(options, &run->signature, run->rank,
                         hlorun_program_num_replicas(run->program),
                         hlorun_program_num_partitions(run->program), &run->feed));
  HR_TRY(decide_steps(run));
  HR_TRY(cli_progress_init(&run->progress, options, &run->signature, run->steps * run->repeats,
                           run->rank == 0));
  cli_checkpoint_options_t checkpoint = {options,     &run->signature, &run->carry,
                                         run->client, run->program,    run->path};
  HR_TRY(cli_checkpoint_create(&checkpoint, &run->checkpoint));
  HR_TRY(cli_inputs_load(options, run->path, &run->signature, run->feed, run->rank, run->values));
  for (int k = 0; k < run->signature.param_count; k++)
    if (run->values[k]) HR_TRY(hlorun_buffer_share(run->client, &run->values[k]));
  return NULL;
}

/* Error if no steps are left, since the checkpoint does not contain the last results. No error
 * after a restart: the results were written before the checkpoint. */
static hr_status_t resume(cli_run_t *run) {
  HR_TRY(cli_checkpoint_resume(run->checkpoint, run->values, &run->first_step));
  bool is_told = run->rank == 0 && !hr_option_is_given(run->options, HR_OPTION_QUIET);
  if (run->first_step && is_told)
    fprintf(cli_log_dir_terminal(), "going on after step %llu\n",
            (unsigned long long)run->first_step);
  if (run->first_step < run->steps) return NULL;
  run->was_complete = run->first_step == run->steps && cli_restart_number() > 0;
  if (run->was_complete) return NULL;
  return hr_error(HR_USAGE, "the checkpoint is of step %llu: --steps %llu leaves nothing to do",
                  (unsigned long long)run->first_step, (unsigned long long)run->steps);
}

/* --- steps --- */

/* The measured time excludes feeding and metrics. */
static hr_status_t execute(cli_run_t *run, uint64_t step) {
  if (run->feed) HR_TRY(cli_feed_step(run->feed, step, run->args));
  cli_values_release(run->results, run->signature.result_count);
  double start = hr_clock_s();
  hr_status_t st = hlorun_execute(run->program, run->args, run->donate, run->results);
  double took = hr_clock_s() - start;
  for (int k = 0; k < run->signature.param_count; k++)
    if (run->donate[k]) run->args[k] = NULL; /* consumed by the execution, even if it failed */
  HR_TRY(st);
  hr_log(HR_LOG_CLI, HR_LOG_DEBUG, "step %llu took %.3g s", (unsigned long long)step + 1, took);
  HR_TRY(cli_times_add(&run->stats.executions, took));
  return cli_progress_step(&run->progress, run->stats.executions.count, run->results);
}

/* Retains the results as arguments; nothing is copied. */
static void carry_results(cli_run_t *run) {
  for (size_t i = 0; i < run->carry.count; i++)
    run->args[run->carry.data[i].in] = hlo_value_retain(run->results[run->carry.data[i].out]);
}

/* The last repeat gives up the references to the parameters, so that the program may overwrite
 * them. */
static hr_status_t run_steps(cli_run_t *run, bool last_repeat) {
  for (int k = 0; k < run->signature.param_count; k++) {
    run->args[k] = last_repeat ? run->values[k] : hlo_value_retain(run->values[k]);
    if (last_repeat) run->values[k] = NULL;
  }
  hr_status_t st = NULL;
  for (uint64_t step = run->first_step; step < run->steps && !st; step++) {
    st = execute(run, step);
    bool is_last = last_repeat && step + 1 == run->steps; /* kept by cli_run_finish */
    if (!st && !is_last) st = cli_checkpoint_step(run->checkpoint, step + 1, run->results);
    if (!st && step + 1 < run->steps) carry_results(run);
  }
  cli_values_release(run->args, run->signature.param_count);
  return st;
}

/* --- the whole run --- */

/* Failures before the steps are agreed upon; failures in the steps cannot be. */
static hr_status_t run_all(cli_run_t *run) {
  HR_TRY(open_client(run));
  if (run->rank == 0) {
    cli_uses_warn(HR_COMMAND_RUN, run->options);
    note_threads(run->options);
  }
  HR_TRY(cli_agree(run->client, cli_carry_from_options(run->options, &run->carry)));
  HR_TRY(load_program(run));
  HR_TRY(cli_agree(run->client, prepare(run)));
  HR_TRY(choose_whole_results(run));
  HR_TRY(cli_agree(run->client, resume(run)));
  if (run->was_complete) return NULL;
  hr_status_t st = NULL;
  for (uint64_t repeat = 0; repeat < run->repeats && !st; repeat++)
    st = run_steps(run, repeat + 1 == run->repeats);
  cli_progress_end(&run->progress);
  run->desynchronized = st != NULL;
  HR_TRY(st);
  return cli_run_finish(run);
}

/* Releases in the reverse order of creation. */
static void release_run(cli_run_t *run, int exit_code) {
  cli_checkpoint_destroy(run->checkpoint);
  cli_feed_destroy(run->feed);
  cli_values_release(run->values, run->signature.param_count);
  cli_values_release(run->args, run->signature.param_count);
  cli_values_release(run->results, run->signature.result_count);
  cli_progress_deinit(&run->progress);
  cli_stats_deinit(&run->stats);
  HR_VEC_FREE(&run->carry);
  cli_signature_deinit(&run->signature);
  hr_arena_deinit(&run->arena);
  hlorun_program_release(run->program);
  cli_signals_unwatch();
  hlorun_client_release(run->client, exit_code);
}

/* May read the program. */
static hr_status_t count_processes(const hr_options_t *options, int *out_processes) {
  hr_status_t st = cli_limits_apply_for_now(options);
  if (!st) st = cli_launch_needed(options, out_processes);
  cli_limits_lift();
  return st;
}

/* A process that starts others returns after they have ended; the part from cli_log_dir_open() on
 * is for the started processes. */
hr_status_t cli_run(const cli_arguments_t *arguments) {
  const hr_options_t *options = &arguments->options;
  int processes;
  if (hr_option_is_given(options, HR_OPTION_STOP_AFTER) ||
      hr_option_is_given(options, HR_OPTION_EXPLAIN_SHARDING))
    return cli_stop(options);
  HR_TRY(check_usage(options));
  bool restarts;
  HR_TRY(cli_limits_begin(options));
  HR_TRY(count_processes(options, &processes));
  HR_TRY(cli_restart_is_wanted(options, &restarts));
  if (restarts) return cli_restart_run(arguments, processes);
  if (processes)
    return cli_launch_run(processes, hr_option_text(options, HR_OPTION_HOSTS), arguments->all_argc,
                          arguments->all_argv);
  HR_TRY(cli_log_dir_open(options, tp_launcher_world_size() > 0 ? tp_launcher_rank() : 0));
  cli_start_guard_open();
  HR_TRY(cli_sandbox_open(options, NULL));
  HR_TRY(cli_limits_apply(options));
  cli_run_t run = {.options = options};
  hr_status_t st = run_all(&run);
  if (run.desynchronized) {
    cli_trace_of_failure(run.client, options);
    st = cli_fail_local(run.client, st);
  } else if (st) {
    cli_tell_interruption(run.client);
  }
  /* reported first, since the end of this process may make the launcher end all others */
  if (hr_status_code(st) != HR_CANCELLED && !cli_is_reported(st)) st = cli_report_now(st);
  run.desynchronized |= cli_agree_failed();
  if (run.desynchronized && hr_status_code(st) != HR_CANCELLED)
    cli_exit_code_report(hr_status_exit_code(st));
  int code = cli_signals_exit_code(hr_status_exit_code(st));
  release_run(&run, run.desynchronized ? code : 0);
  return st;
}
