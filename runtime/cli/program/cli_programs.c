/* Maps ranks to programs from --program RANKS=FILE, or from the order of operands. */
#include "cli/program/cli_programs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a part "3" or "0-3" of "0-3,6=a.hlo" and moves *at after it. */
static bool read_range(const char **at, long *out_first, long *out_last) {
  char *end;
  if (**at < '0' || **at > '9') return false;
  *out_first = strtol(*at, &end, 10);
  *out_last = *out_first;
  if (*end == '-') {
    if (end[1] < '0' || end[1] > '9') return false;
    *out_last = strtol(end + 1, &end, 10);
  }
  *at = end;
  return *out_first <= *out_last && *out_last < INT32_MAX && (*end == ',' || *end == '=');
}

/* *out_meant: `rank` is one of the ranks of "0-3,6=a.hlo"; then *out_path is the file. *out_last:
 * largest rank in the list. */
static hr_status_t read_program(const char *text, int rank, bool *out_meant, const char **out_path,
                                long *out_last) {
  const char *at = text;
  long first, last;
  *out_meant = false;
  *out_last = -1;
  do {
    if (!read_range(&at, &first, &last))
      return hr_error(HR_USAGE, "--program %s: want RANK=FILE, or ranks such as 0-3,6=FILE", text);
    *out_meant |= rank >= first && rank <= last;
    if (last > *out_last) *out_last = last;
  } while (*at++ == ',');
  if (!*at) return hr_error(HR_USAGE, "--program %s: no file after '='", text);
  *out_path = at;
  return NULL;
}

/* Checks syntax and contradictions; the world size is not known yet. */
hr_status_t cli_programs_check(const hr_options_t *options) {
  size_t from = 0;
  const char *path;
  bool meant;
  long last;
  if (!hr_option_is_given(options, HR_OPTION_PROGRAM))
    return options->operands.count ? NULL
                                   : hr_error(HR_USAGE, "no program given; see hlorun --help");
  if (options->operands.count)
    return hr_error(HR_USAGE,
                    "--program says who runs what, and %s is given for everybody: choose one",
                    options->operands.data[0]);
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_PROGRAM, &from));)
    HR_TRY(read_program(given->text, 0, &meant, &path, &last));
  return NULL;
}

/* Malformed lists are skipped: cli_programs_check() reports them. */
int cli_programs_last_rank(const hr_options_t *options) {
  size_t from = 0;
  long largest = -1;
  for (const hr_option_given_t *given;
       (given = hr_option_next(options, HR_OPTION_PROGRAM, &from));) {
    const char *path;
    bool meant;
    long last = -1;
    hr_status_release(read_program(given->text, 0, &meant, &path, &last));
    if (last > largest) largest = last;
  }
  return (int)largest;
}

bool cli_programs_are_several(const hr_options_t *options) {
  return options->operands.count > 1 || hr_option_is_given(options, HR_OPTION_PROGRAM);
}

/* The error for a rank outside of the world. */
static hr_status_t rank_error(const char *given, long rank, int world) {
  if (world == 1)
    return hr_error(HR_USAGE,
                    "--program %s names rank %ld, but there is 1 process: start them with -n",
                    given, rank);
  return hr_error(HR_USAGE,
                  "--program %s names rank %ld, but there are %d processes: start them with -n",
                  given, rank, world);
}

/* The program of --program for this rank; every rank must have exactly one. */
static hr_status_t choose_by_option(const hr_options_t *options, int rank, int world,
                                    const char **out_path) {
  size_t from = 0;
  *out_path = NULL;
  for (const hr_option_given_t *given;
       (given = hr_option_next(options, HR_OPTION_PROGRAM, &from));) {
    const char *path;
    bool meant;
    long last;
    HR_TRY(read_program(given->text, rank, &meant, &path, &last));
    if (last >= world) return rank_error(given->text, last, world);
    if (meant && *out_path)
      return hr_error(HR_USAGE, "rank %d has two programs, %s and %s", rank, *out_path, path);
    if (meant) *out_path = path;
  }
  return *out_path
             ? NULL
             : hr_error(HR_USAGE, "rank %d has no program; there are %d processes", rank, world);
}

/* Every process chooses for all ranks, so that all processes find the same failure. */
static hr_status_t choose_for_all(const hr_options_t *options, int rank, int world,
                                  const char **out_path) {
  const char *path;
  for (int other = 0; other < world; other++) {
    HR_TRY(choose_by_option(options, other, world, &path));
    if (other == rank) *out_path = path;
  }
  return NULL;
}

/* A shell expands an unquoted {1,2}: 0=f32[2]{1,2} becomes two words, and the second is parsed as
 * an operand. */
static hr_status_t check_braces(const hr_options_t *options) {
  for (size_t i = 0; i < options->operands.count; i++) {
    const char *word = options->operands.data[i];
    size_t digits = strspn(word, "0123456789");
    if (digits && word[digits] == '=' && strchr(word, '[') && access(word, F_OK))
      return hr_error(HR_USAGE,
                      "%s is no program: quote the value of --input, as '0=f32[2]{1,2}', for the "
                      "shell has expanded its braces",
                      word);
  }
  return NULL;
}

/* The number of programs must be the number of processes. */
hr_status_t cli_programs_choose(const hr_options_t *options, int rank, int world,
                                const char **out_path) {
  int programs = (int)options->operands.count;
  if (hr_option_is_given(options, HR_OPTION_PROGRAM))
    return choose_for_all(options, rank, world, out_path);
  HR_TRY(check_braces(options));
  if (programs > 1 && programs != world)
    return hr_error(
        HR_USAGE,
        "found %d programs (%s, %s%s) for %d process%s: want one for all, or one for each",
        programs, options->operands.data[0], options->operands.data[1], programs > 2 ? ", ..." : "",
        world, world > 1 ? "es" : "");
  *out_path = options->operands.data[programs > 1 ? rank : 0];
  if (world > 1 && strcmp(*out_path, "-") == 0)
    return hr_error(
        HR_USAGE,
        "only one process has a standard input: %d processes want their program in a file", world);
  return NULL;
}
