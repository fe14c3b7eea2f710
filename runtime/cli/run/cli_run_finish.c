/* The end of a run: printing, writing and comparing results. */
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/cli_agree.h"
#include "cli/run/cli_figures.h"
#include "cli/arrays/cli_global.h"
#include "cli/launch/cli_log_dir.h"
#include "cli/arrays/cli_output.h"
#include "cli/picture/cli_plot.h"
#include "cli/arrays/cli_results.h"
#include "cli/run/cli_run_parts.h"
#include "cli/run/cli_trace.h"

/* Errors are printed even if this is true. */
static bool is_quiet(const cli_run_t *run) {
  return hr_option_is_given(run->options, HR_OPTION_QUIET);
}

/* Prints the metrics, and with `all` the results. Prints nothing with --explain=json, which uses
 * standard output. */
static hr_status_t print_results(cli_run_t *run, hlo_value_t *const *results, bool all) {
  if (run->rank || is_quiet(run) || cli_trace_wants_json(run->options)) return NULL;
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  for (size_t i = 0; i < run->progress.metrics.count; i++)
    cli_metric_print(&text, &run->progress.metrics.data[i], 6);
  for (int k = 0; k < run->signature.result_count && all; k++) {
    hr_strbuf_printf(&text, "out%d = ", k);
    cli_value_print(&text, results[k]);
    hr_strbuf_add_char(&text, '\n');
  }
  hr_status_t st = cli_print(&text);
  hr_strbuf_deinit(&text);
  return st;
}

/* Compares the results with one --expect: a value of one result, or a file of arrays. */
static hr_status_t compare_with(const cli_run_t *run, const char *text,
                                cli_expectation_t *expectation, hr_strbuf_t *lines, int *out_bad) {
  array_file_t file;
  expectation->single = NULL;
  if (cli_expectation_is_single(text, &expectation->index, &expectation->single))
    return cli_results_compare(expectation, &run->signature, run->results, lines, out_bad);
  expectation->file = &file;
  hr_status_t st = array_file_open(text, &file);
  if (!st) st = cli_results_compare(expectation, &run->signature, run->results, lines, out_bad);
  array_file_deinit(&file);
  return st;
}

/* Compares with all arguments of --expect. Rank 0 prints the lines of all ranks, even if one of
 * them could not compare. */
static hr_status_t compare_results(cli_run_t *run) {
  cli_expectation_t expectation = {.rank = run->rank,
                                   .mark_rank = run->world > 1,
                                   .all_lines = !is_quiet(run),
                                   .tolerance = cli_tolerance_from_options(run->options)};
  hr_strbuf_t mine, all;
  hr_strbuf_init(&mine);
  hr_strbuf_init(&all);
  int bad = 0, more;
  size_t from = 0;
  hr_status_t st = NULL;
  const hr_option_given_t *given;
  while (!st && (given = hr_option_next(run->options, HR_OPTION_EXPECT, &from))) {
    st = compare_with(run, given->text, &expectation, &mine, &more);
    bad += st ? 0 : more;
  }
  if (!st && bad)
    st = hr_error(HR_MISMATCH, "%d of %d results out of tolerance", bad,
                  run->signature.result_count);
  hr_status_t reported = cli_gather_text(run->client, &mine, &all);
  if (!reported && run->rank == 0) reported = cli_print(&all);
  hr_strbuf_deinit(&mine);
  hr_strbuf_deinit(&all);
  return cli_agree(run->client, hr_status_join(st, reported));
}

/* Draws only the first metric, since others may have other units. */
static hr_status_t draw_curve(const cli_run_t *run, const char *path) {
  const cli_metric_t *metric = &run->progress.metrics.data[0];
  return cli_plot_write(path, metric->name, &metric->history);
}

/* --verbose: two lines about the grid and the times. */
static void print_summary(const cli_run_t *run) {
  cli_figure_t load, executions, first, best, median, rate;
  FILE *stream = cli_log_dir_terminal();
  if (run->rank || !hr_option_is_given(run->options, HR_OPTION_VERBOSE)) return;
  cli_figures_t f = cli_stats_figures(&run->stats);
  int replicas = hlorun_program_num_replicas(run->program);
  int partitions = hlorun_program_num_partitions(run->program);
  const char *processes = run->world == 1 ? "process" : "processes";
  const char *of_replicas = replicas == 1 ? "replica" : "replicas";
  const char *of_partitions = partitions == 1 ? "partition" : "partitions";
  fprintf(stream, "%d %s as %d %s of %d %s; loaded in %s\n", run->world, processes, replicas,
          of_replicas, partitions, of_partitions, cli_figure_time(f.compile_s, load));
  fprintf(stream, "%s execution%s: first %s, best %s, median %s; %s a second; %.1f MiB at most\n",
          cli_figure_count(f.executions, executions), f.executions == 1 ? "" : "s",
          cli_figure_time(f.first_s, first), cli_figure_time(f.best_s, best),
          cli_figure_time(f.median_s, median), cli_figure(f.steps_per_s, rate),
          (double)f.peak_rss_bytes / (1 << 20));
}

/* Results of global programs are written and printed whole, except with --output-shards. */
static hr_status_t write_results(cli_run_t *run, const char *output, bool prints) {
  int count = run->signature.result_count;
  bool shards = hr_option_is_given(run->options, HR_OPTION_OUTPUT_SHARDS);
  bool whole = !shards && (output || prints) && cli_global_has(run->program, count);
  hlo_value_t **wholes = run->results, **gathered;
  HR_TRY(HR_NEW_ARRAY(&run->arena, count, &gathered));
  hr_status_t st = NULL;
  if (whole)
    st = cli_agree(run->client,
                   cli_global_gather(run->client, run->program, count, run->results, gathered));
  if (whole && !run->rank) wholes = gathered;
  if (!st && output && whole)
    st = cli_agree(run->client, run->rank ? NULL : cli_output_write_alone(output, count, wholes));
  else if (!st && output)
    st = cli_agree(run->client,
                   cli_output_write(run->client, run->program, output, count, run->results));
  if (!st) st = cli_agree(run->client, print_results(run, wholes, prints));
  if (whole) cli_global_release(count, gathered);
  return st;
}

/* The checkpoint of the last step is written after the results. A run that dies before is resumed
 * from an earlier checkpoint, and writes the results again. */
static hr_status_t keep_last_step(cli_run_t *run) {
  HR_TRY(cli_checkpoint_step(run->checkpoint, run->steps, run->results));
  return cli_checkpoint_finish(run->checkpoint);
}

/* All processes agree after each part, so that a failure in one process ends all of them. */
hr_status_t cli_run_finish(cli_run_t *run) {
  const hr_options_t *options = run->options;
  const char *output = hr_option_text(options, HR_OPTION_OUTPUT);
  const char *expect = hr_option_text(options, HR_OPTION_EXPECT);
  const char *stats = hr_option_text(options, HR_OPTION_STATS);
  const char *curve = hr_option_text(options, HR_OPTION_CURVE);
  print_summary(run);
  HR_TRY(cli_agree(run->client, hlorun_program_finish_feeds(run->program)));
  hlorun_program_get_figures(run->program,
                             &run->stats.program); /* includes copies specialised for sizes */
  if (stats) HR_TRY(cli_agree(run->client, cli_stats_write(run->client, &run->stats, stats)));
  if (curve) HR_TRY(cli_agree(run->client, run->rank ? NULL : draw_curve(run, curve)));
  HR_TRY(write_results(run, output, !output && !expect));
  HR_TRY(cli_trace_finish(run->client, options));
  HR_TRY(cli_agree(run->client, keep_last_step(run)));
  return expect ? compare_results(run) : NULL;
}
