/* Reads one list of the .meta file, which is JSON: "input_locations", with an object for each
 * parameter: {"type_": "parameter" | "constant" | "input_arg", "position": 0, "name":
 * "fc.weight"}. Names are file names within data/; names that lead out of it are refused. */
#include "cli/program/cli_bundle.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define META ".meta"

/* True for a regular file or a link to one. */
static bool is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* --- the program --- */

/* functions/forward.meta, or the only one. */
static hr_status_t find_meta(hr_arena_t *arena, const char *folder, const char **out_meta) {
  const char *pattern;
  glob_t found;
  *out_meta = NULL;
  HR_TRY(hr_arena_printf(arena, out_meta, "%s/functions/forward" META, folder));
  if (is_file(*out_meta)) return NULL;
  *out_meta = NULL;
  HR_TRY(hr_arena_printf(arena, &pattern, "%s/functions/*" META, folder));
  if (glob(pattern, 0, NULL, &found)) return NULL;
  hr_status_t st = NULL;
  if (found.gl_pathc > 1)
    st = hr_error(HR_USAGE, "%s has %zu functions: name the program of one, such as %s", folder,
                  found.gl_pathc, found.gl_pathv[0]);
  else
    st = hr_arena_cstr(arena, hr_str_from(found.gl_pathv[0]), out_meta);
  globfree(&found);
  return st;
}

/* A SavedModel of TensorFlow: *out_path is its file, or NULL if the folder is not one. */
static hr_status_t find_saved_model(hr_arena_t *arena, const char *folder, const char **out_path) {
  static const char *const names[] = {"saved_model.pb", "saved_model.pbtxt"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    HR_TRY(hr_arena_printf(arena, out_path, "%s/%s", folder, names[i]));
    if (is_file(*out_path)) return NULL;
  }
  *out_path = NULL;
  return NULL;
}

/* The error for a folder that is not a bundle; names a file that may be a program. */
static hr_status_t no_bundle(hr_arena_t *arena, const char *folder) {
  static const char *const endings[] = {"before_optimizations.txt", ".hlo", ".mlir", ".mlirbc",
                                        ".hlo.pb"};
  const char *pattern;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    glob_t found;
    HR_TRY(hr_arena_printf(arena, &pattern, "%s/*%s", folder, endings[i]));
    if (glob(pattern, 0, NULL, &found)) continue;
    hr_status_t st = hr_error(HR_UNAVAILABLE, "cannot read %s: it is a folder", folder);
    st = hr_status_note(st, "give a program in it, such as %s", found.gl_pathv[0]);
    globfree(&found);
    return st;
  }
  return hr_error(HR_UNAVAILABLE, "cannot read %s: it is a folder, and has no program", folder);
}

/* Bytecode is preferred: it is smaller and has no printed constants. */
hr_status_t cli_bundle_program(hr_arena_t *arena, const char *path, const char **out_path) {
  static const char *const endings[] = {".bytecode", ".mlirbc", ".mlir"};
  struct stat info;
  const char *meta;
  *out_path = NULL;
  if (stat(path, &info) || !S_ISDIR(info.st_mode)) return NULL;
  HR_TRY(find_saved_model(arena, path, out_path));
  if (*out_path) return NULL;
  HR_TRY(find_meta(arena, path, &meta));
  for (size_t i = 0; meta && i < sizeof endings / sizeof *endings; i++) {
    HR_TRY(hr_arena_printf(arena, out_path, "%.*s%s", (int)(strlen(meta) - strlen(META)), meta,
                           endings[i]));
    if (is_file(*out_path)) return NULL;
  }
  *out_path = NULL;
  return no_bundle(arena, path);
}

/* --- the list input_locations --- */

typedef struct place {
  char type[32], name[512];
  long position;
} place_t;

typedef struct scanner {
  const char *path, *at, *end;
} scanner_t;

/* Errors of the scanner name the .meta file, which is not the program. */
static hr_status_t damaged(const scanner_t *s, const char *want) {
  return hr_error(HR_INVALID, "%s: its input_locations are damaged, want %s", s->path, want);
}

/* Skips blanks, and takes the character if it is there. */
static bool accept(scanner_t *s, char wanted) {
  while (s->at < s->end && *s->at && strchr(" \t\r\n", *s->at)) s->at++;
  if (s->at == s->end || *s->at != wanted) return false;
  s->at++;
  return true;
}

/* A string without escapes, which names of weights do not have. */
static hr_status_t scan_string(scanner_t *s, char *into, size_t size) {
  if (!accept(s, '"')) return damaged(s, "a string");
  const char *stop = memchr(s->at, '"', (size_t)(s->end - s->at));
  size_t length = stop ? (size_t)(stop - s->at) : size;
  if (length >= size || memchr(s->at, '\\', length)) return damaged(s, "a shorter string");
  memcpy(into, s->at, length);
  into[length] = 0;
  s->at = stop + 1;
  return NULL;
}

/* Other fields have strings as values; these are skipped. */
static hr_status_t scan_field(scanner_t *s, place_t *place) {
  char key[64], ignored[512];
  HR_TRY(scan_string(s, key, sizeof key));
  if (!accept(s, ':')) return damaged(s, "':'");
  if (strcmp(key, "type_") == 0) return scan_string(s, place->type, sizeof place->type);
  if (strcmp(key, "name") == 0) return scan_string(s, place->name, sizeof place->name);
  if (strcmp(key, "position") != 0) return scan_string(s, ignored, sizeof ignored);
  char *end;
  char digits[24];
  while (s->at < s->end && *s->at == ' ') s->at++;
  snprintf(digits, sizeof digits, "%.*s", (int)(s->end - s->at < 20 ? s->end - s->at : 20), s->at);
  place->position = strtol(digits, &end, 10);
  if (end == digits) return damaged(s, "a number");
  s->at += end - digits;
  return NULL;
}

/* Fields may come in any order; position is -1 if absent. */
static hr_status_t scan_place(scanner_t *s, place_t *out_place) {
  *out_place = (place_t){.position = -1};
  if (!accept(s, '{')) return damaged(s, "'{'");
  for (bool first = true; !accept(s, '}'); first = false) {
    if (!first && !accept(s, ',')) return damaged(s, "','");
    HR_TRY(scan_field(s, out_place));
  }
  return NULL;
}

/* --- arrays --- */

/* The file of a place; empty for an input of the caller. */
static hr_status_t file_of(const scanner_t *s, const char *folder, const place_t *place,
                           char into[4096]) {
  int used = 0;
  into[0] = 0;
  if (strstr(place->type, "arameter") || strstr(place->type, "PARAMETER")) {
    if (!*place->name || strchr(place->name, '/')) return damaged(s, "the name of a weight");
    used = snprintf(into, 4096, "%s/data/%s", folder, place->name);
  } else if (strstr(place->type, "onstant") || strstr(place->type, "CONSTANT")) {
    used = snprintf(into, 4096, "%s/constants/%ld", folder, place->position);
  }
  return used < 4096 ? NULL : damaged(s, "a shorter path");
}

/* Files of arrays have no file name extension there. */
static hr_status_t take_array(const char *path, const cli_signature_t *signature, int k,
                              hlo_value_t **slot) {
  npy_t npy;
  HR_TRY(npy_open(path, &npy));
  hr_status_t st = cli_value_from_npy(path, &npy, &(cli_arg_t){signature, false, k, false}, slot);
  npy_deinit(&npy);
  return st;
}

/* Callback for the place of parameter `k`; `folder` contains data/ and constants/. */
typedef struct visitor visitor_t;
struct visitor {
  const char *folder;
  cli_signature_t *signature; /* NULL, or signature whose names are set */
  const cli_signature_t *given;
  hlo_value_t **values; /* values that are set */
  int *positions;
  hr_status_t (*visit)(const visitor_t *visitor, const scanner_t *s, int k, const place_t *place);
};

static hr_status_t take_place(const visitor_t *visitor, const scanner_t *s, int k,
                              const place_t *place) {
  char path[4096];
  HR_TRY(file_of(s, visitor->folder, place, path));
  if (!*path || visitor->values[k]) return NULL;
  return take_array(path, visitor->given, k, &visitor->values[k]);
}

/* Weights have names; inputs of the caller are named input0, input1, ... */
static hr_status_t name_place(const visitor_t *visitor, const scanner_t *s, int k,
                              const place_t *place) {
  cli_signature_t *signature = visitor->signature;
  char path[4096];
  HR_TRY(file_of(s, visitor->folder, place, path));
  visitor->positions[k] = *path ? -1 : (int)place->position;
  if (*place->name)
    return hr_arena_cstr(&signature->arena, hr_str_from(place->name), &signature->param_names[k]);
  if (*path) return NULL;
  return hr_arena_printf(&signature->arena, &signature->param_names[k], "input%ld",
                         place->position);
}

/* Places are listed in the order of the program's parameters. */
static hr_status_t visit_all(scanner_t *s, const visitor_t *visitor, int param_count) {
  if (!accept(s, ':') || !accept(s, '[')) return damaged(s, "a list");
  for (int k = 0; !accept(s, ']'); k++) {
    place_t place;
    if (k && !accept(s, ',')) return damaged(s, "','");
    HR_TRY(scan_place(s, &place));
    if (k >= param_count) return damaged(s, "as many as the program has parameters");
    HR_TRY(visitor->visit(visitor, s, k, &place));
  }
  return NULL;
}

/* Without the list, a .meta file does not describe arguments. */
static hr_status_t visit_file(const char *meta, hr_buffer_t *bytes, const visitor_t *visitor,
                              int param_count) {
  static const char key[] = "\"input_locations\"";
  const char *text = hr_buffer_data(bytes);
  size_t size = hr_buffer_size(bytes);
  const char *found = memmem(text, size, key, sizeof key - 1);
  scanner_t s = {meta, found ? found + sizeof key - 1 : text, text + size};
  return found ? visit_all(&s, visitor, param_count) : NULL;
}

/* Does nothing for a program without a .meta file. */
static hr_status_t visit_bundle(const char *program_path, visitor_t *visitor, int param_count) {
  char meta[4096], folder[4096];
  hr_buffer_t *bytes;
  const char *dot = strrchr(program_path, '.'), *slash = strrchr(program_path, '/');
  if (!dot || (slash && dot < slash)) return NULL;
  if (snprintf(meta, sizeof meta, "%.*s" META, (int)(dot - program_path), program_path) >=
      (int)sizeof meta)
    return NULL;
  if (!is_file(meta)) return NULL;
  snprintf(folder, sizeof folder, "%.*s/..", slash ? (int)(slash - program_path) : 1,
           slash ? program_path : ".");
  visitor->folder = folder;
  HR_TRY(hr_buffer_map_file(meta, &bytes));
  hr_status_t st = visit_file(meta, bytes, visitor, param_count);
  hr_buffer_release(bytes);
  return st;
}

/* Values that are already set stay: an option overrides a weight. */
hr_status_t cli_bundle_inputs(const char *program_path, const cli_signature_t *signature,
                              hlo_value_t **values) {
  visitor_t visitor = {.given = signature, .values = values, .visit = take_place};
  return visit_bundle(program_path, &visitor, signature->param_count);
}

hr_status_t cli_bundle_name_params(const char *program_path, cli_signature_t *signature) {
  visitor_t visitor = {.signature = signature, .visit = name_place};
  HR_TRY(HR_NEW_ARRAY(&signature->arena, signature->param_count, &visitor.positions));
  for (int k = 0; k < signature->param_count; k++) visitor.positions[k] = k;
  HR_TRY(visit_bundle(program_path, &visitor, signature->param_count));
  signature->positions = visitor.positions;
  return NULL;
}
