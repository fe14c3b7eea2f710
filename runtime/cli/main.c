/* The command: finds the subcommand, parses its options, runs it and converts its status to the
 * exit code. Sets up standard streams, signals and HLORUN_* variables once. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/nearest_name.h"
#include "base/open.h"
#include "base/variables.h"
#include "cli/cli.h"
#include "cli/cli_agree.h"
#include "cli/cli_build.h"
#include "cli/cases/cli_case_runner.h"
#include "cli/launch/cli_exec.h"
#include "cli/launch/cli_exit_code.h"
#include "cli/launch/cli_launch.h"
#include "cli/launch/cli_start_guard.h"
#include "cli/run/cli_signals.h"
#include "cli/program/cli_tf.h"
#include "cli/cli_uses.h"
#include "hlorun.h"
#include "transport/core/transport.h"

#define EXIT_USAGE 2
#define EXIT_IO 5

static const struct command {
  const char *name, *usage, *help;
  hr_command_t command;
  hr_status_t (*run)(const cli_arguments_t *arguments);
} commands[] = {
    {"run", "[run] [options] PROGRAM", "run a program on the grid", HR_COMMAND_RUN, cli_run},
    {"check", "check [options] PROGRAM...",
     "verify programs and prove that their communication completes; runs nothing", HR_COMMAND_CHECK,
     cli_check},
    {"test", "test [options] DIR|FILE...", "run cases: programs with their arrays beside them",
     HR_COMMAND_TEST, cli_test},
    {"convert", "convert [options] PROGRAM", "write a program in another form", HR_COMMAND_CONVERT,
     cli_convert},
    {"schedule", "schedule gen|to-hlo|from-hlo ...",
     "write communication patterns as programs, and back", HR_COMMAND_SCHEDULE, cli_schedule},
};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

/* --- help --- */

/* Prints one line per command, as in the manual. */
static void print_commands(hr_strbuf_t *text) {
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    hr_strbuf_printf(text, "%s hlorun %-28s %s\n", i ? "      " : "Usage:", commands[i].usage,
                     commands[i].help);
  hr_strbuf_printf(text, "       hlorun %-28s %s\n", "[-n N] EXECUTABLE ...",
                   "start processes of an executable, such as python train.py for JAX");
  hr_strbuf_add_str(
      text,
      "       hlorun help [command] | --list-ops | --list-options | --print-topology\n"
      "       hlorun --version | --check-build | --tune\n"
      "PROGRAM: HLO, StableHLO or a graph of TensorFlow, as text or binary, in a file; - is "
      "standard "
      "input\n");
}

/* The help of `run` includes the list of all commands. */
static hr_status_t print_help(hr_command_t command) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  const struct command *found = &commands[__builtin_ctz(command)];
  if (command == HR_COMMAND_RUN)
    print_commands(&text);
  else
    hr_strbuf_printf(&text, "Usage: hlorun %s\n       %s\n", found->usage, found->help);
  if (command == HR_COMMAND_RUN) hr_strbuf_add_str(&text, "\nOptions of run:\n");
  hr_options_help(&text, command);
  if (command == HR_COMMAND_RUN)
    hr_strbuf_add_str(
        &text,
        "\nEach command explains its options: hlorun test --help. Variables: --list-options.\n"
        "Exit codes: 0 fine; 1 out of tolerance, or tests failed; 2 wrong usage; 3 invalid "
        "program;\n"
        "4 the schedule can deadlock, or processes disagree; 5 a peer or a file failed; 6 timed "
        "out.\n");
  hr_status_t st = cli_print(&text);
  hr_strbuf_deinit(&text);
  return st;
}

/* --- output --- */

/* A closed pipe is a failure without a message. */
hr_status_t cli_print(const hr_strbuf_t *text) {
  HR_TRY(hr_strbuf_finish(text));
  errno = 0;
  if (text->size == 0) return NULL;
  if (fwrite(text->data, 1, text->size, stdout) == text->size && fflush(stdout) == 0) return NULL;
  if (errno == EPIPE) return cli_reported(HR_UNAVAILABLE); /* nobody reads the output */
  return hr_error(HR_UNAVAILABLE, "cannot write standard output: %s", strerror(errno));
}

/* Prints a list that is built in memory. */
static hr_status_t print_list(void (*list)(hr_strbuf_t *text)) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  list(&text);
  hr_status_t st = cli_print(&text);
  hr_strbuf_deinit(&text);
  return st;
}

/* Opens closed standard streams, so that files opened later do not get their descriptors; the mode
 * makes reads and writes on them fail. */
static void fill_standard_streams(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0) _exit(EXIT_IO);
}

/* --- the environment --- */

#define MAX_DELAY_MS 10000

static size_t failing_allocation; /* number among all allocations of this process; 0: none */

/* For tests that let one allocation after the other fail: tells them that none is left. */
static void tell_untouched_fault(void) {
  size_t total = hr_mem_total_allocations();
  if (failing_allocation > total)
    fprintf(stderr, "hlorun: HLORUN_FAULT: no allocation failed, there were %zu\n", total);
}

/* Injects a failure for tests; see options.def. */
static hr_status_t apply_fault(const char *text) {
  uint64_t n;
  if (!text) return NULL;
  if (strncmp(text, "alloc:", 6) == 0 && hr_parse_u64(text + 6, &n)) {
    failing_allocation = n ? hr_mem_total_allocations() + n : 0;
    hr_mem_fail_at(n);
  } else if (strncmp(text, "delay:", 6) == 0 && hr_parse_u64(text + 6, &n) && n <= MAX_DELAY_MS)
    tp_delay_starts((uint32_t)n);
  else if (strncmp(text, "flip:", 5) == 0 && hr_parse_u64(text + 5, &n))
    tp_flip_message(n);
  else
    return hr_error(HR_USAGE,
                    "HLORUN_FAULT: found '%s', want alloc:N, delay:MS of at most %d, or flip:N",
                    text, MAX_DELAY_MS);
  return NULL;
}

/* Rank 0 warns about variables, unless the process that started the ranks has done so. */
static hr_status_t read_environment(void) {
  int world = tp_launcher_world_size(), rank = world > 0 ? tp_launcher_rank() : 0;
  bool has_warned = getenv("HLORUN_LAUNCHED") || getenv("HLORUN_VERDICT");
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  hr_variables_apply_aliases();
  if (rank <= 0 && !has_warned) hr_variables_check(stderr);
  HR_TRY(hr_log_configure(getenv("HLORUN_LOG")));
  HR_TRY(hr_log_open(secure_getenv("HLORUN_LOG_FILE"), rank, world, host));
  return apply_fault(getenv("HLORUN_FAULT"));
}

/* --- dispatch --- */

/* Compares whole names. */
static const struct command *find_command(const char *word) {
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(commands[i].name, word) == 0) return &commands[i];
  return NULL;
}

bool cli_is_command(const char *word) { return find_command(word) || strcmp(word, "help") == 0; }

/* Options that print something and exit have precedence. */
static hr_status_t run_command(const struct command *command, const cli_arguments_t *arguments) {
  const hr_options_t *options = &arguments->options;
  if (hr_option_is_given(options, HR_OPTION_HELP)) return print_help(command->command);
  if (hr_option_is_given(options, HR_OPTION_VERSION)) return cli_print_version();
  if (hr_option_is_given(options, HR_OPTION_CHECK_BUILD)) return cli_check_build();
  if (hr_option_is_given(options, HR_OPTION_LIST_OPTIONS)) return print_list(hr_options_list);
  if (hr_option_is_given(options, HR_OPTION_LIST_OPS)) return cli_list_ops();
  if (hr_option_is_given(options, HR_OPTION_TUNE)) return cli_tune(arguments);
  if (hr_option_is_given(options, HR_OPTION_PRINT_TOPOLOGY)) return cli_print_topology(options);
  return command->run(arguments);
}

/* Refuses a word that may be a misspelt command: not an option, a path or an existing file. */
static hr_status_t check_first_word(const char *word) {
  const char *names[COMMAND_COUNT];
  if (word[0] == '-' || strpbrk(word, "./") || access(word, F_OK) == 0) return NULL;
  for (size_t i = 0; i < COMMAND_COUNT; i++) names[i] = commands[i].name;
  const char *nearest = hr_nearest_name(word, names, COMMAND_COUNT);
  if (nearest)
    return hr_error(HR_USAGE, "there is no command or file '%s'; nearest: %s", word, nearest);
  return hr_error(HR_USAGE, "there is no command or file '%s'; see hlorun --help", word);
}

/* Handles `hlorun help` and `hlorun help test`. */
static hr_status_t help_of(const char *word) {
  const struct command *command = word ? find_command(word) : &commands[0];
  if (!command) HR_TRY(check_first_word(word));
  if (command) return print_help(command->command);
  return hr_error(HR_USAGE, "there is no command '%s'; see hlorun help", word);
}

/* Handles `hlorun -n 8 test DIR`: a command after options of `run`, unless a file has its name,
 * is moved before them. */
static void move_command_first(int argc, char **argv) {
  hr_options_t options;
  hr_status_t st = hr_options_parse(HR_COMMAND_RUN, argc - 1, argv + 1, &options);
  const char *word = !st && options.operands.count ? options.operands.data[0] : "";
  bool is_command = find_command(word) && access(word, F_OK) != 0;
  for (int i = 2; is_command && i < argc; i++) {
    if (argv[i] != word) continue;
    memmove(&argv[2], &argv[1], (size_t)(i - 1) * sizeof *argv);
    argv[1] = (char *)word;
    break;
  }
  hr_status_release(st); /* the real parse reports it again */
  hr_options_deinit(&options);
}

/* Options are checked in this order before the command runs. */
static hr_status_t run_with(const struct command *command, const cli_arguments_t *given) {
  cli_arguments_t arguments = *given;
  hr_status_t st =
      hr_options_parse(command->command, arguments.argc, arguments.argv, &arguments.options);
  if (!st) st = cli_uses_check(command->command, &arguments.options);
  if (!st) st = cli_uses_choose_platform(&arguments.options);
  if (!st) st = cli_tf_choose(&arguments.options);
  if (!st && command->command == HR_COMMAND_RUN)
    hr_open_limit(hr_option_real(&arguments.options, HR_OPTION_TIMEOUT, 0));
  if (!st) st = run_command(command, &arguments);
  hr_options_deinit(&arguments.options);
  return st;
}

/* A first word that is not a command is a program for `run`. */
static hr_status_t dispatch(int argc, char **argv) {
  bool is_done = false;
  HR_TRY(cli_exec(argc, argv, &is_done));
  if (is_done) return NULL;
  HR_TRY(read_environment());
  bool asks_help = argc > 1 && strcmp(argv[1], "help") == 0 && access("help", F_OK) != 0;
  if (asks_help) return help_of(argc > 2 ? argv[2] : NULL);
  if (argc > 1 && argv[1][0] == '-') move_command_first(argc, argv);
  const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;
  if (argc > 1 && !command) HR_TRY(check_first_word(argv[1]));
  int skip = command ? 2 : 1;
  if (!command) command = &commands[0];
  return run_with(command, &(cli_arguments_t){.command = command->command,
                                              .argc = argc - skip,
                                              .argv = argv + skip,
                                              .all_argc = argc - 1,
                                              .all_argv = argv + 1});
}

/* mpirun hands SIGUSR1 on to processes that are not in main() yet, and to which it has given the
 * default action: it is ignored before the initialisers of libraries run. */
static void ignore_early(void) { signal(SIGUSR1, SIG_IGN); }
__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = ignore_early;

/* If a signal interrupted the command, the process ends by this signal. */
int main(int argc, char **argv) {
  fill_standard_streams();
  cli_start_guard_linger();
  cli_signals_catch_cut_files();
  signal(SIGCHLD, SIG_DFL); /* a parent that ignores it would leave nothing to wait for */
  cli_signals_ignore();
  int code = cli_report(argc ? dispatch(argc, argv) : hr_error(HR_USAGE, "started without a name"));
  cli_start_guard_close();
  tell_untouched_fault();
  hr_log_close();
  int launched = cli_launch_interrupted(), tested = cli_case_runner_caught();
  cli_signals_end_by(launched ? launched : cli_signals_caught());
  cli_signals_end_by(tested);
  return cli_exit_code_for_mpirun(cli_signals_exit_code(code));
}
