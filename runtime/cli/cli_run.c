/* `hlorun run`: one program on the grid, once or for many steps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/cli_agree.h"
#include "cli/cli_carry.h"
#include "cli/cli_checkpoint.h"
#include "cli/cli_exit_code.h"
#include "cli/cli_inputs.h"
#include "cli/cli_launch.h"
#include "cli/cli_load.h"
#include "cli/cli_plot.h"
#include "cli/cli_programs.h"
#include "cli/cli_progress.h"
#include "cli/cli_results.h"
#include "cli/cli_signals.h"
#include "cli/cli_stats.h"
#include "cli/cli_stop.h"
#include "cli/cli_trace.h"
#include "transport/core/transport.h"

typedef struct run {
  const hr_options_t *options;
  const char *path;
  int rank, world;
  hlorun_client_t *client;
  hlorun_program_t *program;
  cli_signature_t signature;
  hr_arena_t arena;      /* of the lists */
  hlo_value_t **values;  /* parameters at the start */
  hlo_value_t **args;    /* of the next execution; NULL once donated */
  hlo_value_t **results; /* of the last one */
  bool *donate;          /* parameters that the next step replaces */
  cli_carry_t carry;
  cli_feed_t *feed;
  uint64_t steps, repeats;
  uint64_t first_step; /* of this run: those before it are in the checkpoint */
  cli_checkpoint_t *checkpoint;
  cli_progress_t progress;
  cli_stats_t stats;
  bool desynchronized; /* the processes may not be at the same place: no more talking to each other
                        */
} run_t;

/* --- before anything runs --- */

/* Is there a place to write the file to? Better known before a long run than after it. */
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

static hr_status_t check_usage(const hr_options_t *options) {
  HR_TRY(cli_programs_check(options));
  if (hr_option_is_given(options, HR_OPTION_STEPS) && hr_option_is_given(options, HR_OPTION_EPOCHS))
    return hr_error(HR_USAGE, "--steps and --epochs both say how long to run: give one");
  if (hr_option_is_given(options, HR_OPTION_EPOCHS) && !hr_option_is_given(options, HR_OPTION_FEED))
    return hr_error(HR_USAGE,
                    "--epochs counts passes through the data of --feed, and nothing is fed");
  HR_TRY(check_writable(options, HR_OPTION_OUTPUT));
  HR_TRY(check_writable(options, HR_OPTION_STATS));
  HR_TRY(check_writable(options, HR_OPTION_TRACE));
  return check_writable(options, HR_OPTION_CURVE);
}

void cli_choose_variables(const hr_options_t *options) {
  const char *folder = hr_option_text(options, HR_OPTION_CACHE),
             *combine = hr_option_text(options, HR_OPTION_COMBINE);
  const char *dump = hr_option_text(options, HR_OPTION_DUMP);
  if (folder) setenv("HLORUN_CACHE", *folder ? folder : "none", 1);
  if (combine) setenv("HLORUN_COMBINE", combine, 1);
  if (dump && *dump) setenv("HLORUN_DUMP_TO", dump, 1);
}

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
  return NULL;
}

static hr_status_t open_client(run_t *run) {
  hlorun_client_options_t options;
  HR_TRY(cli_client_options(run->options, &options));
  HR_TRY(cli_trace_options(run->options, &options));
  if (hr_option_int(run->options, HR_OPTION_PROCESSES, 0) == 1) options.world = HLORUN_WORLD_SINGLE;
  HR_TRY(hlorun_client_create(&options, &run->client));
  run->rank = hlorun_client_rank(run->client);
  run->world = hlorun_client_world_size(run->client);
  hr_status_t st = cli_signals_watch(run->client);
  return cli_agree(run->client, st ? st : tp_algorithms_check_environment());
}

static hr_status_t open_plugins(const hr_options_t *options) {
  size_t from = 0;
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_PLUGIN, &from));)
    HR_TRY(hlorun_plugin_open(given->text));
  return NULL;
}

static hr_status_t load_program(run_t *run) {
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
  options.probe_dir = hr_option_text(run->options, HR_OPTION_DUMP);
  options.infeed = hr_option_text(run->options, HR_OPTION_INFEED);
  options.outfeed = hr_option_text(run->options, HR_OPTION_OUTFEED);
  HR_TRY(
      cli_agree(run->client, cli_programs_choose(run->options, run->rank, run->world, &run->path)));
  HR_TRY(cli_agree(run->client, open_plugins(run->options)));
  double start = hr_clock_s();
  hr_status_t st =
      cli_load_program(run->client, run->path, &options, &run->program, &run->desynchronized);
  run->stats.compile_s = hr_clock_s() - start;
  if (!st) hlorun_program_get_figures(run->program, &run->stats.program);
  if (!st) hr_log(HR_LOG_CLI, HR_LOG_INFO, "loaded %s in %.3g s", run->path, run->stats.compile_s);
  return st;
}

static hr_status_t make_lists(run_t *run) {
  hr_arena_t *arena = &run->arena;
  int params = run->signature.param_count;
  HR_TRY(HR_NEW_ARRAY(arena, params, &run->values));
  HR_TRY(HR_NEW_ARRAY(arena, params, &run->args));
  HR_TRY(HR_NEW_ARRAY(arena, params, &run->donate));
  return HR_NEW_ARRAY(arena, run->signature.result_count, &run->results);
}

static hr_status_t decide_steps(run_t *run) {
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

static hr_status_t prepare(run_t *run) {
  const hr_options_t *options = run->options;
  HR_TRY(cli_signature_init(&run->signature, run->program));
  HR_TRY(make_lists(run));
  HR_TRY(cli_carry_from_options(options, &run->signature, &run->carry));
  int partitions = hlorun_program_num_partitions(run->program);
  HR_TRY(cli_feed_create(options, &run->signature, run->rank / partitions,
                         hlorun_program_num_replicas(run->program), &run->feed));
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

/* A run that has all its steps behind it has nothing to show: its last results are not in the
 * checkpoint. */
static hr_status_t resume(run_t *run) {
  HR_TRY(cli_checkpoint_resume(run->checkpoint, run->values, &run->first_step));
  if (run->first_step && run->rank == 0)
    fprintf(stderr, "going on after step %llu\n", (unsigned long long)run->first_step);
  if (run->first_step < run->steps) return NULL;
  return hr_error(HR_USAGE, "the checkpoint is of step %llu: --steps %llu leaves nothing to do",
                  (unsigned long long)run->first_step, (unsigned long long)run->steps);
}

/* --- steps --- */

static hr_status_t execute(run_t *run, uint64_t step) {
  if (run->feed) HR_TRY(cli_feed_step(run->feed, step, run->args));
  cli_values_release(run->results, run->signature.result_count);
  double start = hr_clock_s();
  hr_status_t st = hlorun_execute(run->program, run->args, run->donate, run->results);
  double took = hr_clock_s() - start;
  for (int k = 0; k < run->signature.param_count; k++)
    if (run->donate[k]) run->args[k] = NULL; /* the execution has them, failed or not */
  HR_TRY(st);
  hr_log(HR_LOG_CLI, HR_LOG_DEBUG, "step %llu took %.3g s", (unsigned long long)step + 1, took);
  HR_TRY(cli_times_add(&run->stats.executions, took));
  return cli_progress_step(&run->progress, run->stats.executions.count, run->results);
}

static void carry_results(run_t *run) {
  for (size_t i = 0; i < run->carry.count; i++)
    run->args[run->carry.data[i].in] = hlo_value_retain(run->results[run->carry.data[i].out]);
}

/* The last repeat takes the parameters away, so that the program may write over them. */
static hr_status_t run_steps(run_t *run, bool last_repeat) {
  for (int k = 0; k < run->signature.param_count; k++) {
    run->args[k] = last_repeat ? run->values[k] : hlo_value_retain(run->values[k]);
    if (last_repeat) run->values[k] = NULL;
  }
  hr_status_t st = NULL;
  for (uint64_t step = run->first_step; step < run->steps && !st; step++) {
    st = execute(run, step);
    if (!st) st = cli_checkpoint_step(run->checkpoint, step + 1, run->results);
    if (!st && step + 1 < run->steps) carry_results(run);
  }
  cli_values_release(run->args, run->signature.param_count);
  return st;
}

/* --- afterwards --- */

/* The metrics at the end, and the results unless they go elsewhere. */
static hr_status_t print_results(run_t *run, bool all) {
  if (run->rank) return NULL;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (size_t i = 0; i < run->progress.metrics.count; i++)
    hr_strbuf_printf(&text, "%s %.6g\n", run->progress.metrics.data[i].name,
                     run->progress.metrics.data[i].now);
  for (int k = 0; k < run->signature.result_count && all; k++) {
    hr_strbuf_printf(&text, "out%d = ", k);
    cli_value_print(&text, run->results[k]);
    hr_strbuf_add_char(&text, '\n');
  }
  hr_status_t st = cli_print(&text);
  hr_strbuf_deinit(&text);
  return st;
}

/* Rank 0 prints the lines of all ranks, also when one of them could not compare. */
static hr_status_t compare_results(run_t *run, const char *path) {
  cli_expectation_t expectation = {.rank = run->rank,
                                   .mark_rank = run->world > 1,
                                   .all_lines = true,
                                   .tolerance = cli_tolerance_from_options(run->options)};
  npz_t npz;
  hr_strbuf_t mine, all;
  hr_strbuf_init(&mine);
  hr_strbuf_init(&all);
  int bad = 0;
  expectation.npz = &npz;
  hr_status_t st = npz_open(path, &npz);
  if (!st) st = cli_results_compare(&expectation, &run->signature, run->results, &mine, &bad);
  if (!st && bad)
    st = hr_error(HR_MISMATCH, "%d of %d results out of tolerance", bad,
                  run->signature.result_count);
  npz_deinit(&npz);
  hr_status_t reported = cli_gather_text(run->client, &mine, &all);
  if (!reported && run->rank == 0) reported = cli_print(&all);
  hr_strbuf_deinit(&mine);
  hr_strbuf_deinit(&all);
  return cli_agree(run->client, hr_status_join(st, reported));
}

static hr_status_t draw_curve(run_t *run, const char *path) {
  const cli_metric_t *metric = &run->progress.metrics.data[0];
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  cli_plot_print(&text, metric->name, &metric->history);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) st = hr_file_write_all(path, text.data, text.size);
  hr_strbuf_deinit(&text);
  return st;
}

static void print_summary(const run_t *run) {
  if (run->rank || !hr_option_is_given(run->options, HR_OPTION_VERBOSE)) return;
  cli_figures_t f = cli_stats_figures(&run->stats);
  fprintf(stderr, "%d process%s as %d replicas of %d partitions; loaded in %.3g s\n", run->world,
          run->world == 1 ? "" : "es", hlorun_program_num_replicas(run->program),
          hlorun_program_num_partitions(run->program), f.compile_s);
  fprintf(stderr,
          "%llu execution%s: first %.3g s, best %.3g s, median %.3g s; %.3g a second; %.1f MiB at "
          "most\n",
          (unsigned long long)f.executions, f.executions == 1 ? "" : "s", f.first_s, f.best_s,
          f.median_s, f.steps_per_s, (double)f.peak_rss_bytes / (1 << 20));
}

/* Each part is agreed upon, so that a failure in one process ends all of them. */
static hr_status_t finish(run_t *run) {
  const hr_options_t *options = run->options;
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT),
             *expect = hr_option_text(options, HR_OPTION_EXPECT);
  const char *stats = hr_option_text(options, HR_OPTION_STATS),
             *curve = hr_option_text(options, HR_OPTION_CURVE);
  print_summary(run);
  HR_TRY(cli_agree(run->client, cli_checkpoint_finish(run->checkpoint)));
  HR_TRY(cli_agree(run->client, hlorun_program_finish_feeds(run->program)));
  hlorun_program_get_figures(run->program,
                             &run->stats.program); /* with its copies for the sizes that came */
  if (stats) HR_TRY(cli_agree(run->client, cli_stats_write(run->client, &run->stats, stats)));
  if (curve) HR_TRY(cli_agree(run->client, run->rank ? NULL : draw_curve(run, curve)));
  if (output)
    HR_TRY(cli_agree(run->client, cli_results_write(run->client, output,
                                                    run->signature.result_count, run->results)));
  HR_TRY(cli_agree(run->client, print_results(run, !output && !expect)));
  HR_TRY(cli_trace_finish(run->client, options));
  return expect ? compare_results(run, expect) : NULL;
}

static hr_status_t run_all(run_t *run) {
  HR_TRY(open_client(run));
  HR_TRY(load_program(run));
  HR_TRY(cli_agree(run->client, prepare(run)));
  HR_TRY(cli_agree(run->client, resume(run)));
  hr_status_t st = NULL;
  for (uint64_t repeat = 0; repeat < run->repeats && !st; repeat++)
    st = run_steps(run, repeat + 1 == run->repeats);
  cli_progress_end(&run->progress);
  run->desynchronized = st != NULL;
  HR_TRY(st);
  return finish(run);
}

static void release_run(run_t *run, int exit_code) {
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

hr_status_t cli_run(const cli_arguments_t *arguments) {
  const hr_options_t *options = &arguments->options;
  int processes;
  if (hr_option_is_given(options, HR_OPTION_STOP_AFTER)) return cli_stop(options);
  HR_TRY(check_usage(options));
  HR_TRY(cli_launch_needed(options, &processes));
  if (processes) return cli_launch_run(processes, arguments->all_argc, arguments->all_argv);
  run_t run = {.options = options};
  hr_status_t st = run_all(&run);
  if (run.desynchronized) {
    cli_trace_of_failure(run.client, options);
    st = cli_fail_local(run.client, st);
  }
  /* Said before this process leaves the others: the first to end with a failure may end them all.
   */
  if (hr_status_code(st) != HR_CANCELLED && !cli_is_reported(st)) st = cli_report_now(st);
  run.desynchronized |= cli_agree_failed();
  if (run.desynchronized && hr_status_code(st) != HR_CANCELLED)
    cli_exit_code_report(hr_status_exit_code(st));
  release_run(&run, run.desynchronized ? hr_status_exit_code(st) : 0);
  return st;
}
