/* Programs that check themselves: StableHLO text with check ops, or with comments that mark wrong
 * lines (expected-error). A file may have several modules, separated by "// -----": a module with
 * check ops is executed from its entry; otherwise all functions are verified. The StableHLO
 * project's other tests, which describe rewrites by its tools, are only read. */
#include <string.h>

#include "base/buffer.h"
#include "cli/cases/cli_case.h"
#include "io/gzip.h"
#include "read/read.h"

#define SEPARATOR "// -----"

static bool has_word(hr_str_t text, const char *word) {
  return memmem(text.data, text.size, word, strlen(word));
}

/* Checks of the StableHLO test suite, in both spellings of the dialect. */
static bool has_checks(hr_str_t text) {
  return has_word(text, "check.expect_") || has_word(text, "@check.eq");
}

static bool is_refused(hr_str_t text) { return has_word(text, "expected-error"); }

/* True for a file that needs no arrays beside it: it checks its results, must be refused, or is a
 * test of the StableHLO tools. */
bool cli_case_checks_itself(hr_str_t text) {
  return has_checks(text) || is_refused(text) ||
         (has_word(text, "// RUN:") && has_word(text, "stablehlo-"));
}

/* The text up to the next separator; moves *at to the line after it. */
static hr_str_t next_piece(const char **at, const char *end) {
  hr_str_t piece = {*at, (size_t)(end - *at)};
  const char *stop = memmem(piece.data, piece.size, SEPARATOR, strlen(SEPARATOR));
  const char *newline = stop ? memchr(stop, '\n', (size_t)(end - stop)) : NULL;
  if (stop) piece.size = (size_t)(stop - piece.data);
  *at = newline ? newline + 1 : end;
  return piece;
}

/* True if there is a function or a module outside of comments. */
static bool has_program(hr_str_t piece) {
  const char *at = piece.data, *end = at + piece.size;
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
    const char *comment = memmem(at, (size_t)(stop - at), "//", 2);
    hr_str_t code = {at, (size_t)((comment ? comment : stop) - at)};
    if (has_word(code, "func.func") || has_word(code, "module")) return true;
    at = newline ? newline + 1 : end;
  }
  return false;
}

/* The piece with preceding empty lines as in the file, so that messages have the file's line
 * numbers. */
static hr_status_t in_its_place(hr_str_t file, hr_str_t piece, hr_buffer_t **out_buffer) {
  size_t lines = 0, before = (size_t)(piece.data - file.data);
  for (size_t i = 0; i < before; i++) lines += file.data[i] == '\n';
  HR_TRY(hr_buffer_create(lines + piece.size, out_buffer));
  char *into = hr_buffer_data(*out_buffer);
  memset(into, '\n', lines);
  memcpy(into + lines, piece.data, piece.size);
  return NULL;
}

/* Runs a program without parameters; its checks fail as MISMATCH, its results are dropped. */
static hr_status_t execute(hlorun_program_t *program) {
  int params = hlorun_program_param_count(program), count = hlorun_program_result_count(program);
  if (params)
    return hr_error(HR_USAGE, "its entry takes %d parameters, and there are no arrays beside it",
                    params);
  hlo_value_t **results;
  hr_arena_t arena;
  hr_arena_init(&arena);
  hr_status_t st = HR_NEW_ARRAY(&arena, count, &results);
  if (!st) st = hlorun_execute(program, NULL, NULL, results);
  for (int r = 0; !st && r < count; r++) hlo_value_release(results[r]);
  hr_arena_deinit(&arena);
  return st;
}

/* *out_of_step: this rank failed where others may go on, so that they cannot run another case
 * together. A mismatch leaves all ranks in step. */
static hr_status_t run_bytes(hlorun_client_t *client, const cli_case_t *one, hr_buffer_t *bytes,
                             bool *out_of_step) {
  hlorun_program_t *program;
  hlorun_program_options_t options;
  hlorun_program_options_init(&options);
  options.num_replicas = one->replicas;
  options.num_partitions = one->partitions;
  hr_status_t st = hlorun_program_load_bytes(client, one->program, hr_buffer_data(bytes),
                                             hr_buffer_size(bytes), &options, &program);
  *out_of_step = st != NULL;
  if (st) return st;
  st = execute(program);
  *out_of_step = st && hr_status_code(st) != HR_MISMATCH;
  hlorun_program_release(program);
  return st;
}

/* Expects that a program is refused, at a marked line or elsewhere in the piece. */
static hr_status_t want_refused(const cli_case_t *one, hr_str_t piece, hr_status_t st) {
  hr_code_t code = hr_status_code(st);
  if (st && code != HR_INVALID && code != HR_UNSUPPORTED) return st;
  hr_status_release(st);
  if (st) return NULL;
  hr_str_t text = piece;
  const char *found = memmem(piece.data, piece.size, "expected-error", strlen("expected-error"));
  text.data = found;
  text.size = (size_t)(piece.data + piece.size - found);
  const char *newline = memchr(text.data, '\n', text.size);
  if (newline) text.size = (size_t)(newline - text.data);
  return hr_error(HR_MISMATCH, "%s: a program passes that should not: %.*s", one->program,
                  HR_STR_ARGS(text));
}

/* Tests of the StableHLO tools contain anything the tools accept, which may be invalid programs. */
static hr_status_t read_or_verify(const cli_case_t *one, hr_str_t file, hr_buffer_t *bytes) {
  mlir_module_t *tree;
  if (has_checks(file) || is_refused(file)) return read_verify_functions(one->program, bytes, NULL);
  HR_TRY(read_tree(one->program, bytes, &tree));
  mlir_module_destroy(tree);
  return NULL;
}

/* One program of a file that holds several. The piece keeps its place in the file, so that
 * messages give the lines of the file. */
static hr_status_t run_piece(hlorun_client_t *client, const cli_case_t *one, hr_str_t file,
                             hr_str_t piece, bool *out_of_step) {
  hr_buffer_t *bytes;
  HR_TRY(in_its_place(file, piece, &bytes));
  hr_status_t st = has_checks(piece) ? run_bytes(client, one, bytes, out_of_step)
                                     : read_or_verify(one, file, bytes);
  hr_buffer_release(bytes);
  return is_refused(piece) ? want_refused(one, piece, st) : st;
}

/* Pieces in order up to the first failure. */
hr_status_t cli_case_run_checks(hlorun_client_t *client, const cli_case_t *one, bool *out_of_step) {
  hr_buffer_t *bytes;
  HR_TRY(gzip_map_file(one->program, &bytes));
  hr_str_t file = {hr_buffer_data(bytes), hr_buffer_size(bytes)};
  const char *at = file.data, *end = at + file.size;
  hr_status_t st = NULL;
  while (at < end && !st) {
    hr_str_t piece = next_piece(&at, end);
    if (has_program(piece)) st = run_piece(client, one, file, piece, out_of_step);
  }
  hr_buffer_release(bytes);
  return st;
}
