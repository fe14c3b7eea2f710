/* `hlorun test`: finds cases, runs them, counts. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/open.h"
#include "cli/cli.h"
#include "cli/cli_agree.h"
#include "cli/cases/cli_batch.h"
#include "cli/launch/cli_launch.h"
#include "cli/cli_sandbox.h"
#include "cli/cli_uses.h"
#include "transport/core/transport.h"

#define TIMEOUT_S 60
#define JOBS 2
#define HANDED_ON_MAX 16
#define NAMED_MAX 3 /* most programs without a case that a message names */

typedef struct test {
  const hr_options_t *options;
  hr_arena_t arena;
  cli_cases_t cases;
  cli_passed_overs_t passed_over;
  bool verbose;
  size_t passed, failed, skipped;
} test_t;

/* --- selection --- */

/* Removes repetitions; a file may be named twice. */
static hr_status_t remove_doubles(cli_cases_t *cases) {
  hr_map_t seen;
  hr_map_init(&seen);
  hr_status_t st = NULL;
  size_t kept = 0;
  for (size_t i = 0; i < cases->count && !st; i++) {
    void *old = NULL;
    st = hr_map_put(&seen, hr_str_from(cases->data[i].program), &seen, &old);
    if (!st && !old) cases->data[kept++] = cases->data[i];
  }
  if (!st) cases->count = kept;
  hr_map_deinit(&seen);
  return st;
}

/* Keeps cases whose path matches an extended regular expression anywhere. */
static hr_status_t apply_filter(const char *pattern, cli_cases_t *cases) {
  regex_t regex;
  int error = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
  if (error) {
    char text[128];
    regerror(error, &regex, text, sizeof text);
    return hr_error(HR_USAGE, "--filter '%s': %s", pattern, text);
  }
  size_t kept = 0;
  for (size_t i = 0; i < cases->count; i++)
    if (regexec(&regex, cases->data[i].program, 0, NULL, 0) == 0)
      cases->data[kept++] = cases->data[i];
  cases->count = kept;
  regfree(&regex);
  return NULL;
}

/* Cases are in the order of the command line; repetitions count once. */
static hr_status_t find_cases(test_t *test) {
  const hr_options_t *options = test->options;
  if (!options->operands.count)
    return hr_error(HR_USAGE, "no folder or program given; see hlorun test --help");
  for (size_t i = 0; i < options->operands.count; i++)
    HR_TRY(
        cli_cases_find(&test->arena, options->operands.data[i], &test->cases, &test->passed_over));
  HR_TRY(remove_doubles(&test->cases));
  const char *filter = hr_option_text(options, HR_OPTION_FILTER);
  size_t all = test->cases.count;
  if (filter) HR_TRY(apply_filter(filter, &test->cases));
  if (test->cases.count) return NULL;
  if (all) return hr_error(HR_USAGE, "--filter %s leaves none of %zu cases", filter, all);
  hr_status_t st = hr_error(HR_USAGE, "no case was found in %s%s", options->operands.data[0],
                            options->operands.count > 1 ? " and the others" : "");
  for (size_t i = 0; i < test->passed_over.count && i < NAMED_MAX; i++)
    st = hr_status_note(st, "%s: %s", test->passed_over.data[i].path,
                        test->passed_over.data[i].reason);
  return hr_status_note(st,
                        "a case is X.hlo, X.mlir, X.mlirbc or X.pb with X.npz beside it, or "
                        "with io.npz in its folder");
}

/* --- reports --- */

/* Adds the first line and the number of further lines; all lines if `whole`. */
static void add_reason(hr_strbuf_t *line, const char *text, bool whole) {
  size_t size = strcspn(text, "\n"), rest = 0;
  for (const char *at = text + size; *at; at++) rest += *at == '\n' && at[1];
  if (whole) {
    hr_strbuf_add_str(line, text);
    while (line->size && line->data[line->size - 1] == '\n') line->data[--line->size] = 0;
    return;
  }
  hr_strbuf_add(line, text, size);
  if (rest) hr_strbuf_printf(line, " (and %zu more line%s)", rest, rest > 1 ? "s" : "");
}

/* Passed and skipped cases are printed with --verbose only. */
static hr_status_t report_case(void *context, size_t index, cli_case_result_t verdict,
                               const char *text) {
  test_t *test = context;
  size_t *const counters[] = {&test->passed, &test->failed, &test->skipped};
  static const char *const words[] = {"pass", "FAIL", "skip"};
  ++*counters[verdict];
  if (verdict != CLI_FAILED && !test->verbose) return NULL;
  hr_strbuf_t line;
  hr_strbuf_init(&line);
  hr_strbuf_printf(&line, "%s %s", words[verdict], test->cases.data[index].program);
  if (*text) {
    hr_strbuf_add_str(&line, ": ");
    add_reason(&line, text, test->verbose);
  }
  hr_strbuf_add_char(&line, '\n');
  hr_text_hide_controls(line.data);
  hr_status_t st = cli_print(&line);
  hr_strbuf_deinit(&line);
  return st;
}

/* Reports programs without a case on standard error: all with reasons if `whole`, else their
 * number. */
static void report_passed_over(const test_t *test, bool whole) {
  size_t count = test->passed_over.count;
  const cli_passed_over_t *list = test->passed_over.data;
  if (!count || hr_option_is_given(test->options, HR_OPTION_QUIET)) return;
  for (size_t i = 0; i < count && whole; i++)
    fprintf(stderr, "no case: %s: %s\n", list[i].path, list[i].reason);
  if (whole) return;
  const char *are_no_cases = count > 1 ? "programs are no cases" : "program is no case";
  fprintf(stderr, "%zu %s, such as %s: %s; --list names all\n", count, are_no_cases, list[0].path,
          list[0].reason);
}

/* Prints path and number of processes, separated by a tab, for scripts. */
static hr_status_t list_cases(const test_t *test) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  report_passed_over(test, true);
  for (size_t i = 0; i < test->cases.count; i++) {
    const cli_case_t *one = &test->cases.data[i];
    hr_strbuf_printf(&text, "%s\t%d\n", one->program, one->world);
  }
  hr_status_t st = cli_print(&text);
  hr_strbuf_deinit(&text);
  return st;
}

/* --- running --- */

/* Seconds; --timeout 0 means no limit. */
static double timeout_s(const hr_options_t *options) {
  double seconds = hr_option_real(options, HR_OPTION_TIMEOUT, TIMEOUT_S);
  return seconds > 0 ? seconds : 1e9; /* 0: no limit */
}

/* Cases for several processes are skipped if this is true. */
static bool is_wild(const test_t *test) {
  return hr_option_is_given(test->options, HR_OPTION_WILD_INPUTS);
}

/* Indices of the cases of one world size, in order. */
static hr_status_t choose(test_t *test, int world, size_t **out_chosen, size_t *out_count) {
  HR_TRY(HR_NEW_ARRAY(&test->arena, test->cases.count, out_chosen));
  *out_count = 0;
  for (size_t i = 0; i < test->cases.count; i++) {
    bool is_one = test->cases.data[i].world == world && !test->cases.data[i].wrong;
    if (is_one) (*out_chosen)[(*out_count)++] = i;
  }
  return NULL;
}

/* Runs each case in a child process, several at a time. */
static hr_status_t run_alone(test_t *test, const size_t *chosen, size_t count) {
  cli_case_runner_options_t pool = {
      .command_options = test->options,
      .jobs = (int)hr_option_int(test->options, HR_OPTION_JOBS, JOBS),
      .timeout_s = timeout_s(test->options),
      .tolerance = cli_tolerance_from_options(test->options),
      .is_wild = is_wild(test),
      .wild_seed = hr_option_int(test->options, HR_OPTION_WILD_INPUTS, 0)};
  HR_TRY(cli_client_options(test->options, &pool.client));
  pool.client.timeout_s = 0; /* the parent enforces the timeout */
  return cli_case_runner_run(&pool, test->cases.data, chosen, count, report_case, test);
}

/* Options that are passed on to workers, as words of their command line. */
static hr_status_t handed_on(test_t *test, const char *words[HANDED_ON_MAX], int *out_count) {
  static const hr_option_id_t ids[] = {HR_OPTION_RTOL,    HR_OPTION_ATOL,    HR_OPTION_ULP,
                                       HR_OPTION_ENGINE,  HR_OPTION_THREADS, HR_OPTION_BIND,
                                       HR_OPTION_TIMEOUT, HR_OPTION_CACHE};
  int count = 0;
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    const char *text = hr_option_text(test->options, ids[i]);
    if (text)
      HR_TRY(
          hr_arena_printf(&test->arena, &words[count++], "--%s=%s", hr_option_name(ids[i]), text));
  }
  if (hr_option_is_given(test->options, HR_OPTION_SANDBOX)) words[count++] = "--sandbox";
  *out_count = count;
  return NULL;
}

/* Reports cases as skipped for a reason. */
static hr_status_t skip(test_t *test, const size_t *chosen, size_t count, const char *reason) {
  for (size_t i = 0; i < count; i++) HR_TRY(report_case(test, chosen[i], CLI_SKIPPED, reason));
  return NULL;
}

/* All cases of a world size run in the same processes. */
static hr_status_t run_together(test_t *test, int world, const size_t *chosen, size_t count) {
  if (is_wild(test)) return skip(test, chosen, count, "it is for several processes");
  const char *words[HANDED_ON_MAX];
  cli_batch_options_t batch = {.world = world,
                               .timeout_s = timeout_s(test->options),
                               .quiet = !test->verbose,
                               .words = words};
  HR_TRY(handed_on(test, words, &batch.option_count));
  return cli_batch_run(&batch, test->cases.data, chosen, count, report_case, test);
}

/* The smallest world size above `world` among the cases; 0: none. */
static int next_world(const test_t *test, int world) {
  int next = 0;
  for (size_t i = 0; i < test->cases.count; i++) {
    int one = test->cases.data[i].world;
    if (one > world && (!next || one < next)) next = one;
  }
  return next;
}

static hr_status_t report_wrong(test_t *test) {
  for (size_t i = 0; i < test->cases.count; i++)
    if (test->cases.data[i].wrong)
      HR_TRY(report_case(test, i, CLI_FAILED, test->cases.data[i].wrong));
  return NULL;
}

/* Cases of one number of processes are run by one launch. */
static hr_status_t run_cases(test_t *test) {
  HR_TRY(report_wrong(test));
  for (int world = next_world(test, 0); world; world = next_world(test, world)) {
    size_t *chosen, count;
    HR_TRY(choose(test, world, &chosen, &count));
    if (!count) continue;
    if (world == 1) HR_TRY(run_alone(test, chosen, count));
    if (world > 1) HR_TRY(run_together(test, world, chosen, count));
  }
  return NULL;
}

/* The format of the last line is stable: scripts parse it. */
static hr_status_t print_counts(const test_t *test) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_printf(&text, "%zu passed, %zu failed", test->passed, test->failed);
  if (test->skipped) hr_strbuf_printf(&text, ", %zu skipped", test->skipped);
  hr_strbuf_add_char(&text, '\n');
  hr_status_t st = cli_print(&text);
  hr_strbuf_deinit(&text);
  return st;
}

/* Called in a worker, whose processes run all cases: allows the files of every case. */
static hr_status_t open_sandbox(test_t *test) {
  const char **files;
  size_t count = 0;
  HR_TRY(HR_NEW_ARRAY(&test->arena, 2 * test->cases.count + 1, &files));
  for (size_t i = 0; i < test->cases.count; i++) {
    files[count++] = test->cases.data[i].program;
    if (test->cases.data[i].arrays) files[count++] = test->cases.data[i].arrays;
  }
  return cli_sandbox_open(test->options, files);
}

/* Called in a worker, which has the parent's list of cases. */
static hr_status_t work(test_t *test, const char *report) {
  hlorun_client_options_t client;
  hlo_tolerance_t tolerance = cli_tolerance_from_options(test->options);
  HR_TRY(cli_client_options(test->options, &client));
  HR_TRY(open_sandbox(test));
  return cli_batch_work(report, test->options, &client, &tolerance, test->cases.data,
                        test->cases.count);
}

/* Workers are started with the same command line, and find the same cases. */
static hr_status_t test_all(test_t *test, const cli_arguments_t *arguments) {
  const char *report = hr_option_text(test->options, HR_OPTION_WORKER);
  if (!report && tp_launcher_world_size() > 1)
    return hr_error(HR_USAGE,
                    "test starts the processes of its cases itself: run it without mpirun or srun");
  if (report && tp_launcher_world_size() == 0 && atoi(report) > 1)
    return cli_launch_run(atoi(report), NULL, arguments->all_argc, arguments->all_argv);
  HR_TRY(cli_sandbox_forbid_cache(test->options));
  HR_TRY(find_cases(test));
  if (!report) cli_uses_warn(HR_COMMAND_TEST, test->options);
  if (report) return work(test, report + strcspn(report, ":") + 1);
  if (hr_option_is_given(test->options, HR_OPTION_LIST)) return list_cases(test);
  report_passed_over(test, test->verbose);
  cli_case_runner_catch_signals();
  HR_TRY(run_cases(test));
  HR_TRY(print_counts(test));
  return test->failed ? cli_reported(HR_MISMATCH) : NULL;
}

/* Lists are freed after a failure, too. */
hr_status_t cli_test(const cli_arguments_t *arguments) {
  test_t test = {.options = &arguments->options,
                 .verbose = hr_option_is_given(&arguments->options, HR_OPTION_VERBOSE)};
  hr_arena_init(&test.arena);
  hr_open_limit(timeout_s(test.options));
  hr_status_t st = test_all(&test, arguments);
  HR_VEC_FREE(&test.cases);
  HR_VEC_FREE(&test.passed_over);
  hr_arena_deinit(&test.arena);
  return st;
}
