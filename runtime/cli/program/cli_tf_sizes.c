/* An option --input names a feed as cli_inputs.c does: by the number of its parameter or its name,
 * or by the name of an array in a file. The last option that has an array for the feed counts. */
#include "cli/program/cli_tf_sizes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/arrays/cli_inputs.h"
#include "cli/arrays/cli_signature.h"
#include "io/array_file.h"

/* The feed whose sizes are wanted, and the sizes found so far. */
typedef struct search {
  int number; /* position of the parameter */
  hr_str_t name;
  int *rank;
  int64_t *dims;
} search_t;

static void take_npy(const search_t *search, const npy_t *npy) {
  if (npy->rank > HLO_MAX_RANK) return;
  *search->rank = npy->rank;
  memcpy(search->dims, npy->dims, (size_t)npy->rank * sizeof *search->dims);
}

/* The member of this name, if the file has it. */
static hr_status_t take_member(const search_t *search, const array_file_t *file, const char *name,
                               bool *out_found) {
  npy_t npy;
  HR_TRY(array_file_find(file, name, out_found, &npy));
  if (!*out_found) return NULL;
  take_npy(search, &npy);
  npy_deinit(&npy);
  return NULL;
}

/* The member in<k>, that of the feed's name, or arr_<k>: the order of cli_value_from_file, which
 * needs a compiled program's signature. */
static hr_status_t search_archive(const search_t *search, const array_file_t *file) {
  char name[64];
  bool found;
  snprintf(name, sizeof name, "in%d", search->number);
  HR_TRY(take_member(search, file, name, &found));
  for (size_t i = 0; !found && i < array_file_count(file); i++) {
    hr_str_t member = array_file_name(file, i);
    if (member.size >= sizeof name || !cli_param_is_named(search->name, member)) continue;
    snprintf(name, sizeof name, "%.*s", HR_STR_ARGS(member));
    HR_TRY(take_member(search, file, name, &found));
  }
  if (found) return NULL;
  snprintf(name, sizeof name, "arr_%d", search->number);
  return take_member(search, file, name, &found);
}

/* The array of an .npy file names no feed: it is for any that no other option names. */
static hr_status_t search_file(const search_t *search, const char *path) {
  array_file_t file;
  hr_status_t st = array_file_open(path, &file);
  if (!st && file.form != ARRAY_FILE_NPY)
    st = search_archive(search, &file);
  else if (!st && *search->rank < 0)
    take_npy(search, &file.single);
  array_file_deinit(&file);
  return st;
}

/* The sizes in front of a literal, as in "f32[2]{1,2}"; a literal may have none. */
static hr_status_t take_literal(const search_t *search, const char *text) {
  const char *open = strchr(text, '['), *close = strchr(text, ']');
  const hlo_shape_t *shape;
  hr_arena_t arena;
  const char *type;
  hr_dtype_t dtype;
  if (!open || !close || !hr_dtype_from_name((hr_str_t){text, (size_t)(open - text)}, &dtype))
    return NULL;
  hr_arena_init(&arena);
  hr_status_t st = hr_arena_printf(&arena, &type, "%.*s", (int)(close + 1 - text), text);
  if (!st) st = cli_shape_parse(&arena, type, &shape);
  if (!st) {
    *search->rank = shape->rank;
    memcpy(search->dims, shape->dims, (size_t)shape->rank * sizeof *search->dims);
  }
  hr_arena_deinit(&arena);
  return st;
}

/* `text` follows the '=' after the feed's name or number. */
static hr_status_t take_value(const search_t *search, const char *text) {
  npy_t npy;
  if (*text == '@') text++;
  if (!cli_npy_is_named(text)) return take_literal(search, text);
  HR_TRY(cli_npy_open(text, &npy));
  take_npy(search, &npy);
  npy_deinit(&npy);
  return NULL;
}

/* Names may contain '=': each '=' is tried as the end. */
static hr_status_t search_option(const search_t *search, const char *text) {
  cli_given_t given;
  if (access(text, F_OK) == 0) return search_file(search, text);
  for (const char *end = strchr(text, '='); end; end = strchr(end + 1, '='))
    if (cli_param_is_named(search->name, (hr_str_t){text, (size_t)(end - text)}))
      return take_value(search, end + 1);
  if (!cli_given_number(text, &given) || given.param != search->number) return NULL;
  return take_value(search, given.rest);
}

hr_status_t cli_tf_find_sizes(const void *options, int number, hr_str_t name, int *out_rank,
                              int64_t dims[HLO_MAX_RANK]) {
  search_t search = {number, name, out_rank, dims};
  size_t from = 0;
  *out_rank = -1;
  for (const hr_option_given_t *given; (given = hr_option_next(options, HR_OPTION_INPUT, &from));)
    HR_TRY(search_option(&search, given->text));
  return NULL;
}
