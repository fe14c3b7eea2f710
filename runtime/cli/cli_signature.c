/* Shapes of a program's parameters and results, parsed from the API's text, and NumPy files that
 * are checked against them. */
#include "cli/cli_signature.h"

#include <stdlib.h>
#include <string.h>

/* One size: "3", "<=3" or "?"; ends at "," or "]". */
static bool parse_size(const char **at, int64_t *out_size, bool *out_dynamic) {
  *out_dynamic = **at == '<' || **at == '?';
  if (**at == '?') {
    *out_size = HLO_UNBOUNDED;
    ++*at;
    return true;
  }
  if (*out_dynamic) *at += 2;
  char *end;
  *out_size = strtoll(*at, &end, 10);
  bool fine = end != *at && *out_size >= 0;
  *at = end;
  return fine;
}

hr_status_t cli_shape_parse(hr_arena_t *arena, const char *text, const hlo_shape_t **out_shape) {
  const char *at = strchrnul(text, '[');
  hr_dtype_t dtype;
  if (!hr_dtype_from_name((hr_str_t){text, (size_t)(at - text)}, &dtype))
    return hr_error(HR_INTERNAL, "'%s' is no shape", text);
  if (!hr_dtype_is_array(dtype)) {
    *out_shape = hlo_shape_scalar(HR_TOKEN);
    return NULL;
  }
  int rank = 0;
  int64_t dims[HLO_MAX_RANK];
  bool dynamic[HLO_MAX_RANK];
  bool fine = *at == '[';
  for (at++; fine && *at != ']'; rank++) {
    fine = rank < HLO_MAX_RANK && parse_size(&at, &dims[rank], &dynamic[rank]);
    if (*at == ',') at++;
  }
  if (!fine) return hr_error(HR_INTERNAL, "'%s' is no shape", text);
  return hlo_shape_array_dynamic(arena, dtype, rank, dims, dynamic, out_shape);
}

hr_status_t cli_signature_init(cli_signature_t *signature, const hlorun_program_t *program) {
  *signature = (cli_signature_t){.param_count = hlorun_program_param_count(program),
                                 .result_count = hlorun_program_result_count(program),
                                 .program = program};
  hr_arena_t *arena = &signature->arena;
  hr_arena_init(arena);
  HR_TRY(HR_NEW_ARRAY(arena, signature->param_count, &signature->params));
  HR_TRY(HR_NEW_ARRAY(arena, signature->param_count, &signature->param_names));
  HR_TRY(HR_NEW_ARRAY(arena, signature->result_count, &signature->results));
  for (int k = 0; k < signature->param_count; k++) {
    HR_TRY(cli_shape_parse(arena, hlorun_program_param_shape(program, k), &signature->params[k]));
    signature->param_names[k] = hlorun_program_param_name(program, k);
  }
  for (int k = 0; k < signature->result_count; k++)
    HR_TRY(cli_shape_parse(arena, hlorun_program_result_shape(program, k), &signature->results[k]));
  return NULL;
}

void cli_signature_deinit(cli_signature_t *signature) { hr_arena_deinit(&signature->arena); }

bool cli_npy_is_named(const char *text) {
  size_t size = strlen(text);
  return strstr(text, ".npz:") || (size >= 4 && strcmp(text + size - 4, ".npy") == 0);
}

hr_status_t cli_npy_open(const char *file, npy_t *out_npy) {
  const char *mark = strstr(file, ".npz:");
  if (!mark) return npy_open(file, out_npy);
  char path[4096];
  if (mark + 4 - file >= (ptrdiff_t)sizeof path)
    return hr_error(HR_USAGE, "the path %s is too long", file);
  snprintf(path, sizeof path, "%.*s", (int)(mark + 4 - file), file);
  npz_t npz;
  bool found = false;
  hr_status_t st = npz_open(path, &npz);
  if (!st) st = npz_find(&npz, mark + 5, &found, out_npy);
  if (!st && !found) st = hr_error(HR_USAGE, "%s has no array %s", path, mark + 5);
  npz_deinit(&npz);
  return st;
}

static bool dims_fit(const npy_t *npy, const hlo_shape_t *want) {
  if (npy->rank != want->rank) return false;
  for (int d = 0; d < want->rank; d++) {
    bool dynamic = want->dynamic && want->dynamic[d];
    if (!dynamic && npy->dims[d] != want->dims[d]) return false;
    if (dynamic && want->dims[d] != HLO_UNBOUNDED && npy->dims[d] > want->dims[d]) return false;
  }
  return true;
}

/* Copies the part of `whole` that starts at `starts` and has the slot's sizes. */
static hr_status_t cut_value(const hlo_value_t *whole, const int64_t *starts,
                             const hlo_shape_t *want, hlo_value_t **out_value) {
  int64_t index[HLO_MAX_RANK] = {0}, each = (int64_t)hr_dtype_bytes(want->dtype);
  HR_TRY(hlo_value_array(want->dtype, want->rank, want->dims, out_value));
  int64_t row = want->rank ? want->dims[want->rank - 1] : 1;
  char *to = (*out_value)->data;
  for (int64_t done = 0; done < (*out_value)->count; done += row) {
    int64_t at = 0;
    for (int d = 0; d < want->rank; d++) at = at * whole->dims[d] + starts[d] + index[d];
    memcpy(to + done * each, (const char *)whole->data + at * each, (size_t)(row * each));
    for (int d = want->rank - 2; d >= 0 && ++index[d] == want->dims[d]; d--) index[d] = 0;
  }
  return NULL;
}

static hr_status_t cut_npy(const npy_t *npy, const int64_t *starts, const hlo_shape_t *want,
                           hlo_value_t **out_value) {
  hlo_value_t *whole;
  HR_TRY(hlo_value_from_npy(npy, want->dtype, &whole));
  hr_status_t st = cut_value(whole, starts, want, out_value);
  hlo_value_release(whole);
  return st;
}

hr_status_t cli_value_from_npy(const char *name, const npy_t *npy, const cli_arg_t *slot,
                               hlo_value_t **out_value) {
  const cli_signature_t *signature = slot->interface;
  const hlo_shape_t *want =
      slot->is_result ? signature->results[slot->index] : signature->params[slot->index];
  int64_t starts[HLO_MAX_RANK];
  if (npy_is(npy, want->dtype) && dims_fit(npy, want))
    return hlo_value_from_npy(npy, want->dtype, out_value);
  if (npy_is(npy, want->dtype) && signature->program &&
      hlorun_program_shard(signature->program, slot->is_result, slot->index, npy->rank, npy->dims,
                           starts))
    return cut_npy(npy, starts, want, out_value);
  char found[HLO_SHAPE_TEXT], wanted[HLO_SHAPE_TEXT];
  const char *descr = hr_dtype_table[want->dtype].npy_descr;
  return hr_error(HR_USAGE, "%s is %s, the program has %s (%s in files)", name,
                  npy_text(npy, found), hlo_shape_text(want, wanted), descr);
}

hr_status_t cli_value_from_npz(const npz_t *npz, const cli_arg_t *slot, int rank,
                               hlo_value_t **out_value) {
  const char *prefix = slot->is_result ? "out" : "in";
  int k = slot->index;
  char name[64], label[512];
  bool found;
  npy_t npy;
  snprintf(name, sizeof name, "%s%d@%d", prefix, k, rank);
  HR_TRY(npz_find(npz, name, &found, &npy));
  if (!found) {
    snprintf(name, sizeof name, "%s%d", prefix, k);
    HR_TRY(npz_find(npz, name, &found, &npy));
  }
  *out_value = NULL;
  if (!found) return NULL;
  snprintf(label, sizeof label, "%s of %s", name, npz->zip.path);
  hr_status_t st = cli_value_from_npy(label, &npy, slot, out_value);
  npy_deinit(&npy);
  return st;
}
