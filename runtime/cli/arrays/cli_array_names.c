/* Checks names of arrays before any is read, so that a slip of the pen is not taken for an array of
 * no importance. Cost: linear in the number of arrays. */
#include "cli/arrays/cli_array_names.h"

#include <stdlib.h>
#include <string.h>

#include "cli/arrays/cli_shards.h"

#define DIGITS_MAX 9 /* a longer number may not fit an int */

/* A number as a file has it: -1 if it is none, has leading zeros, or does not end at `end`. */
int cli_array_rank(const char *text, const char *end) {
  size_t digits = 0;
  while (text + digits < end && text[digits] >= '0' && text[digits] <= '9') digits++;
  bool is_padded = digits > 1 && text[0] == '0';
  if (!digits || digits > DIGITS_MAX || text + digits != end || is_padded) return -1;
  return (int)strtol(text, NULL, 10);
}

hr_status_t cli_array_error_rank(const cli_signature_t *signature, const char *what,
                                 hr_str_t name) {
  return hr_error(HR_USAGE, "%s has %.*s, want a process from 0 to %d after '@'", what,
                  HR_STR_ARGS(name), signature->world - 1);
}

/* Splits "in3@2" after the prefix. False: the name has another form, such as a parameter's. */
static bool split(hr_str_t name, const char *prefix, const char **out_number, const char **out_at) {
  size_t size = strlen(prefix);
  const char *end = name.data + name.size;
  if (name.size <= size || memcmp(name.data, prefix, size)) return false;
  const char *at = memchr(name.data, '@', name.size);
  *out_number = name.data + size;
  *out_at = at ? at : end;
  for (const char *c = *out_number; c < *out_at; c++)
    if (*c < '0' || *c > '9') return false;
  return *out_number < *out_at;
}

/* True if the file says where the part of another run's process lies. */
static hr_status_t has_place(const array_file_t *file, const char *prefix, int k, int rank,
                             bool *out_has) {
  char name[CLI_SHARD_NAME];
  npy_t npy;
  cli_shard_place_name(prefix, k, rank, name);
  HR_TRY(array_file_find(file, name, out_has, &npy));
  if (*out_has) npy_deinit(&npy);
  return NULL;
}

/* Checks that a name such as out3@2 is a result, or parameter, of the program and of this rank;
 * *named counts names of that form. */
static hr_status_t check_one(const array_file_t *file, const cli_array_names_t *names,
                             hr_str_t name, int *named) {
  const cli_signature_t *signature = names->signature;
  int count = names->is_result ? signature->result_count : signature->param_count;
  const char *number, *at, *end = name.data + name.size;
  const char *prefix = names->is_result ? "out" : "in";
  bool is_placed = false;
  if (!split(name, prefix, &number, &at)) return NULL;
  ++*named;
  int k = cli_array_rank(number, at), rank = at < end ? cli_array_rank(at + 1, end) : names->rank;
  bool is_other = signature->world && rank >= signature->world;
  if (is_other) HR_TRY(has_place(file, prefix, k, rank, &is_placed));
  if (rank < 0 || (is_other && !is_placed))
    return cli_array_error_rank(signature, file->path, name);
  if (rank != names->rank) return NULL;
  if (number[0] == '0' && at - number > 1)
    return hr_error(HR_USAGE, "%s has %.*s, want %.*s%ld", file->path, HR_STR_ARGS(name),
                    (int)(number - name.data), name.data, strtol(number, NULL, 10));
  const char *kind = names->is_result ? "result" : "parameter";
  if (k < 0 || k >= count)
    return hr_error(HR_USAGE, "%s has %.*s, the program has %d %s%s", file->path, HR_STR_ARGS(name),
                    count, kind, count == 1 ? "" : "s");
  return NULL;
}

hr_status_t cli_array_names_check(const array_file_t *file, const cli_array_names_t *names,
                                  int *out_named) {
  *out_named = 0;
  for (size_t i = 0; i < array_file_count(file); i++)
    HR_TRY(check_one(file, names, array_file_name(file, i), out_named));
  return NULL;
}
