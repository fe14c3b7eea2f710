/* Shapes of a program's parameters and results, parsed from the API's text, and NumPy files that
 * are checked against these shapes. */
#include "cli/arrays/cli_signature.h"

#include <stdlib.h>
#include <string.h>

#include "cli/arrays/cli_extensions.h"
#include "cli/arrays/cli_input_text.h"
#include "cli/arrays/cli_part.h"
#include "cli/arrays/cli_shards.h"

/* Parses a size "3", "<=3" or "?"; *at moves to the "," or "]" after it. */
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

/* Shape of the global array that `local` is a part of; `local` if it is whole. */
static hr_status_t whole_shape(cli_signature_t *signature, bool is_result, int k,
                               const hlo_shape_t *local, const hlo_shape_t **out_whole) {
  cli_part_t part;
  *out_whole = local;
  if (!hlo_shape_is_array(local)) return NULL;
  cli_part_of(&(cli_arg_t){signature, is_result, k, false}, 0, &part);
  if (!part.is_cut) return NULL;
  return hlo_shape_array(&signature->arena, local->dtype, local->rank, part.whole, out_whole);
}

hr_status_t cli_signature_find_wholes(cli_signature_t *signature) {
  HR_TRY(HR_NEW_ARRAY(&signature->arena, signature->param_count, &signature->whole_params));
  HR_TRY(HR_NEW_ARRAY(&signature->arena, signature->result_count, &signature->whole_results));
  for (int k = 0; k < signature->param_count; k++)
    HR_TRY(whole_shape(signature, false, k, signature->params[k], &signature->whole_params[k]));
  for (int k = 0; k < signature->result_count; k++)
    HR_TRY(whole_shape(signature, true, k, signature->results[k], &signature->whole_results[k]));
  return NULL;
}

/* Shapes come as text from the API, so that the command needs no access to internals. */
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
  HR_TRY(HR_NEW(arena, &signature->took_whole));
  return cli_signature_find_wholes(signature);
}

void cli_signature_deinit(cli_signature_t *signature) { hr_arena_deinit(&signature->arena); }

/* --- names of parameters --- */

/* The name without a leading '%' and without a dot and number at its end. */
static hr_str_t bare_name(hr_str_t name) {
  size_t size = name.size;
  if (size && *name.data == '%') return bare_name((hr_str_t){name.data + 1, size - 1});
  while (size && name.data[size - 1] >= '0' && name.data[size - 1] <= '9') size--;
  bool has_number = size && size < name.size && name.data[size - 1] == '.';
  return (hr_str_t){name.data, has_number ? size - 1 : name.size};
}

/* Characters not allowed in HLO names are '_' in them. */
static char plain_char(char c) {
  bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_word ? c : '_';
}

/* Compares character by character; case is significant. */
static bool names_match(hr_str_t a, hr_str_t b) {
  if (a.size != b.size) return false;
  for (size_t i = 0; i < a.size; i++)
    if (plain_char(a.data[i]) != plain_char(b.data[i])) return false;
  return true;
}

bool cli_param_is_named(hr_str_t param, hr_str_t name) {
  return name.size && (names_match(name, param) || names_match(bare_name(name), bare_name(param)));
}

/* A name that matches two parameters matches none. */
int cli_param_find(const cli_signature_t *signature, hr_str_t name) {
  int found = -1, count = 0;
  for (int k = 0; k < signature->param_count; k++) {
    if (!cli_param_is_named(hr_str_from(signature->param_names[k]), name)) continue;
    found = k;
    count++;
  }
  return count == 1 ? found : -1;
}

/* --- arrays of files --- */

/* The end of the first ".npz" or ".safetensors", maybe with a compression suffix, before a colon;
 * NULL: none. */
static const char *archive_end(const char *text) {
  static const char *const endings[] = {".npz:", ".safetensors:", ".npz.gz:", ".safetensors.gz:"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const char *mark = strstr(text, endings[i]);
    if (mark) return mark + strlen(endings[i]) - 1;
  }
  return NULL;
}

/* An archive without the name of an array after it. */
static bool is_whole_archive(const char *text) {
  static const char *const endings[] = {".npz", ".safetensors", ".npz.gz", ".safetensors.gz"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (cli_ends_with(text, endings[i])) return true;
  return false;
}

/* By file name extension, since no file is open yet. */
bool cli_npy_is_named(const char *text) {
  return archive_end(text) || is_whole_archive(text) || cli_ends_with(text, ".npy") ||
         cli_ends_with(text, ".npy.gz");
}

/* The message lists the arrays of the file; `name` is NULL if none was given. */
static hr_status_t no_such_array(const array_file_t *file, const char *name) {
  hr_strbuf_t list;
  hr_strbuf_init(&list);
  array_file_list(file, &list);
  const char *names = list.data ? list.data : "others";
  hr_status_t st =
      name ? hr_error(HR_USAGE, "%s has no array %s; it has %s", file->path, name, names)
           : hr_error(HR_USAGE, "%s is an archive, want one array, as %s:NAME; it has %s",
                      file->path, file->path, names);
  hr_strbuf_deinit(&list);
  return st;
}

/* The array retains the file's bytes. */
hr_status_t cli_npy_open(const char *file, npy_t *out_npy) {
  const char *colon = archive_end(file);
  bool is_whole = !colon && is_whole_archive(file);
  if (!colon && !is_whole) return npy_open(file, out_npy);
  char path[4096];
  size_t size = is_whole ? strlen(file) : (size_t)(colon - file);
  if (size >= sizeof path) return hr_error(HR_USAGE, "the path %s is too long", file);
  snprintf(path, sizeof path, "%.*s", (int)size, file);
  array_file_t arrays;
  bool found = false;
  hr_status_t st = array_file_open(path, &arrays);
  if (!st && !is_whole) st = array_file_find(&arrays, colon + 1, &found, out_npy);
  if (!st && !found) st = no_such_array(&arrays, is_whole ? NULL : colon + 1);
  array_file_deinit(&arrays);
  return st;
}

/* A bounded size accepts all sizes up to the bound, an unbounded one any. */
static bool dims_fit(const npy_t *npy, const hlo_shape_t *want) {
  if (npy->rank != want->rank) return false;
  for (int d = 0; d < want->rank; d++) {
    bool dynamic = want->dynamic && want->dynamic[d];
    if (!dynamic && npy->dims[d] != want->dims[d]) return false;
    if (dynamic && want->dims[d] != HLO_UNBOUNDED && npy->dims[d] > want->dims[d]) return false;
  }
  return true;
}

/* Copies the part from the mapped whole array. */
static hr_status_t cut_npy(const npy_t *npy, const int64_t *starts, const hlo_shape_t *want,
                           hlo_value_t **out_value) {
  cli_part_t part = {.rank = want->rank};
  hlo_value_t *whole;
  size_t bytes = (size_t)want->rank * sizeof(int64_t);
  memcpy(part.whole, npy->dims, bytes);
  memcpy(part.starts, starts, bytes);
  memcpy(part.sizes, want->dims, bytes);
  HR_TRY(hlo_value_rows_from_npy(npy, want->dtype, &whole));
  hr_status_t st = cli_part_cut(&part, whole, out_value);
  hlo_value_release(whole);
  return st;
}

/* Guesses the axes of a mesh that cuts the array into parts of these sizes, such as "x=2,y=4" and
 * "x,-,y"; a remaining axis cuts nothing. False: no mesh of `partitions` devices has such parts. */
static bool guess_axes(const npy_t *npy, const hlo_shape_t *part, int64_t partitions,
                       hr_strbuf_t *mesh, hr_strbuf_t *axes) {
  int64_t left = partitions;
  char axis = 'x';
  bool is_part = npy->rank == part->rank;
  for (int d = 0; d < part->rank && is_part; d++) {
    int64_t parts = part->dims[d] > 0 ? npy->dims[d] / part->dims[d] : 0;
    is_part =
        parts > 0 && parts * part->dims[d] == npy->dims[d] && left % parts == 0 && axis <= 'z';
    if (d) hr_strbuf_add_str(axes, ",");
    if (parts <= 1) hr_strbuf_add_str(axes, "-");
    if (!is_part || parts == 1) continue;
    hr_strbuf_printf(axes, "%c", axis);
    hr_strbuf_printf(mesh, "%s%c=%ld", axis > 'x' ? "," : "", axis, (long)parts);
    left /= parts;
    axis++;
  }
  if (left > 1) hr_strbuf_printf(mesh, ",%c=%ld", axis, (long)left);
  return is_part && axis > 'x';
}

/* XLA's partitioned text has shardings of parameters only; the note says which options make
 * results comparable with whole arrays. */
static hr_status_t note_parts(hr_status_t st, const cli_arg_t *slot, const npy_t *npy,
                              const hlo_shape_t *part) {
  const cli_signature_t *signature = slot->interface;
  hlorun_program_figures_t figures;
  hr_strbuf_t mesh, axes, options;
  if (!slot->is_result || !signature->program) return st;
  hlorun_program_get_figures(signature->program, &figures);
  if (figures.cut_results) return st;
  hr_strbuf_init(&mesh);
  hr_strbuf_init(&axes);
  hr_strbuf_init(&options);
  int partitions = hlorun_program_num_partitions(signature->program);
  bool is_part = guess_axes(npy, part, partitions, &mesh, &axes);
  for (int k = 0; k < signature->result_count && is_part; k++) {
    if (k) hr_strbuf_add_char(&options, ';');
    hr_strbuf_printf(&options, "out%d=%s", k, k == slot->index ? axes.data : "-");
  }
  if (is_part && options.data)
    st = hr_status_note(st,
                        "the program does not say how its results are cut: --mesh %s --sharding "
                        "'%s' puts the parts together",
                        mesh.data, options.data);
  hr_strbuf_deinit(&mesh);
  hr_strbuf_deinit(&axes);
  hr_strbuf_deinit(&options);
  return st;
}

/* The message has NumPy's names of both types, and the conversion. */
static hr_status_t does_not_fit(const char *name, const npy_t *npy, const hlo_shape_t *want) {
  char found[HLO_SHAPE_TEXT], wanted[HLO_SHAPE_TEXT], type[32];
  npy_type_name(want->dtype, type);
  hr_status_t st = hr_error(HR_USAGE, "%s is %s, the program has %s (%s)", name,
                            npy_text(npy, found), hlo_shape_text(want, wanted), type);
  if (npy_is(npy, want->dtype)) return st;
  bool in_numpy = hr_dtype_table[want->dtype].npy_descr[1] != 'V';
  return hr_status_note(st, "save it with .astype(%s.%s)", in_numpy ? "np" : "ml_dtypes",
                        want->dtype == HR_PRED ? "bool_" : type);
}

static hr_status_t part_does_not_fit(const char *name, const npy_t *npy, const hlo_shape_t *part,
                                     const hlo_shape_t *whole) {
  char own[HLO_SHAPE_TEXT], all[HLO_SHAPE_TEXT];
  return hr_status_note(does_not_fit(name, npy, part), "%s is this process's part of %s",
                        hlo_shape_text(part, own), hlo_shape_text(whole, all));
}

static bool has_sizes(const npy_t *npy, const hlo_shape_t *shape) {
  size_t bytes = (size_t)shape->rank * sizeof(int64_t);
  return npy->rank == shape->rank && !memcmp(npy->dims, shape->dims, bytes);
}

/* Python numbers, which NumPy stores with 64 bits, are converted to the program's type as in JAX:
 * integers that fit, and floats to float types. *out_value stays NULL for other arrays. */
static hr_status_t take_number(const npy_t *npy, const hlo_shape_t *want, hlo_value_t **out_value) {
  bool is_float = npy_is(npy, HR_F64), into_float = hr_dtype_is_float(want->dtype);
  hlo_value_t *wide;
  char digits[40];
  *out_value = NULL;
  if (npy->rank || want->rank || want->dtype == HR_PRED || hr_dtype_is_complex(want->dtype))
    return NULL;
  if (is_float ? !into_float : !npy_is(npy, HR_S64)) return NULL;
  HR_TRY(hlo_value_from_npy(npy, is_float ? HR_F64 : HR_S64, &wide));
  if (is_float)
    snprintf(digits, sizeof digits, "%.17g", *(const double *)wide->data);
  else
    snprintf(digits, sizeof digits, "%lld", (long long)*(const int64_t *)wide->data);
  hlo_value_release(wide);
  hr_status_t st = cli_input_from_text("", digits, want, out_value);
  if (st) *out_value = NULL;
  hr_status_release(st);
  return NULL;
}

/* Equal sizes are tried first; a part is cut out only if sizes differ. In a global program the
 * sizes of the whole decide, since a part could be mistaken for the whole. */
hr_status_t cli_value_from_npy(const char *name, const npy_t *npy, const cli_arg_t *slot,
                               hlo_value_t **out_value) {
  const cli_signature_t *signature = slot->interface;
  const hlo_shape_t *want =
      slot->is_result ? signature->results[slot->index] : signature->params[slot->index];
  const hlo_shape_t *whole = slot->is_result ? signature->whole_results[slot->index]
                                             : signature->whole_params[slot->index];
  int64_t starts[HLO_MAX_RANK];
  if (whole != want && !slot->is_part && !has_sizes(npy, whole))
    return does_not_fit(name, npy, whole);
  if (npy_is(npy, want->dtype) && dims_fit(npy, want))
    return hlo_value_from_npy(npy, want->dtype, out_value);
  bool is_part = whole != want && slot->is_part;
  if (npy_is(npy, want->dtype) && signature->program && !is_part &&
      hlorun_program_shard(signature->program, slot->is_result, slot->index, npy->rank, npy->dims,
                           starts)) {
    *signature->took_whole |= !slot->is_result;
    return cut_npy(npy, starts, want, out_value);
  }
  if (!slot->is_result) HR_TRY(take_number(npy, want, out_value));
  if (!slot->is_result && *out_value) return NULL;
  if (is_part) return part_does_not_fit(name, npy, want, whole);
  return note_parts(does_not_fit(name, npy, whole), slot, npy, want);
}

/* True if the file has an array PREFIXk or PREFIXk@RANK. */
static bool has_number(const array_file_t *file, const char *prefix, int k) {
  char name[64];
  int size = snprintf(name, sizeof name, "%s%d", prefix, k);
  for (size_t i = 0; i < array_file_count(file); i++) {
    hr_str_t member = array_file_name(file, i);
    bool begins = member.size >= (size_t)size && !memcmp(member.data, name, (size_t)size);
    if (begins && (member.size == (size_t)size || member.data[size] == '@')) return true;
  }
  return false;
}

/* The slot's number in the file. Tokens are numbered too, except in files that have an array with
 * the number of a token: these number arrays only, like the leaves of JAX's trees. */
static int number_in(const array_file_t *file, const cli_arg_t *slot) {
  const cli_signature_t *signature = slot->interface;
  const char *prefix = slot->is_result ? "out" : "in";
  int count = slot->is_result ? signature->result_count : signature->param_count;
  const hlo_shape_t **shapes = slot->is_result ? signature->results : signature->params;
  int tokens_before = 0;
  bool counts_arrays = false;
  for (int k = 0; k < count; k++) {
    if (hlo_shape_is_array(shapes[k])) continue;
    tokens_before += k < slot->index;
    counts_arrays |= has_number(file, prefix, k);
  }
  return counts_arrays ? slot->index - tokens_before : slot->index;
}

/* Finds the slot's member of the file for this rank. The only array of a file has the name "",
 * which matches no slot. */
static hr_status_t find_member(const array_file_t *file, const cli_arg_t *slot, int rank,
                               char name[64], bool *out_found, npy_t *out_npy) {
  const char *prefix = slot->is_result ? "out" : "in";
  int number = number_in(file, slot);
  snprintf(name, 64, "%s%d@%d", prefix, number, rank);
  HR_TRY(array_file_find(file, name, out_found, out_npy));
  if (*out_found) return NULL;
  snprintf(name, 64, "%s%d", prefix, number);
  HR_TRY(array_file_find(file, name, out_found, out_npy));
  if (*out_found || slot->is_result) return NULL;
  for (size_t i = 0; i < array_file_count(file); i++) {
    hr_str_t member = array_file_name(file, i);
    if (member.size >= 64 || cli_param_find(slot->interface, member) != slot->index) continue;
    snprintf(name, 64, "%.*s", HR_STR_ARGS(member));
    return array_file_find(file, name, out_found, out_npy);
  }
  const int *positions = slot->interface->positions;
  snprintf(name, 64, "arr_%d", positions ? positions[slot->index] : slot->index);
  return array_file_find(file, name, out_found, out_npy);
}

/* The label in messages has the names of the member and of the file. */
hr_status_t cli_value_from_file(const array_file_t *file, const cli_arg_t *slot, int rank,
                                hlo_value_t **out_value) {
  char name[64], label[512];
  bool found;
  npy_t npy;
  const char *prefix = slot->is_result ? "out" : "in";
  HR_TRY(cli_shards_assemble(file, slot, prefix, number_in(file, slot), rank, out_value));
  if (*out_value) return NULL;
  HR_TRY(find_member(file, slot, rank, name, &found, &npy));
  if (!found) return NULL;
  snprintf(label, sizeof label, "%s of %s", name, file->path);
  cli_arg_t meant = *slot;
  meant.is_part |= strchr(name, '@') != NULL;
  hr_status_t st = cli_value_from_npy(label, &npy, &meant, out_value);
  npy_deinit(&npy);
  return st;
}
