/* Finds cases in folders and reads their directives and grids. Whole programs are parsed only where
 * their text has no header line with the grid (bytecode, protos, meshes). */
#include "cli/cases/cli_case.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program/cli_grid.h"
#include "io/array_file.h"
#include "io/gzip.h"

#define DEPTH_MAX 32
#define SHARED_ARRAYS "io.npz"
#define PREFERRED "prog."

/* --- program file names --- */

static const struct form {
  const char *ending;
} forms[] = {{".hlo"}, {".mlir"}, {".mlirbc"}, {".pb"}};

/* By the ending; .hlo.pb ends in .pb. */
static const struct form *find_form(const char *path) {
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < sizeof forms / sizeof *forms; i++)
    if (strcmp(dot, forms[i].ending) == 0) return &forms[i];
  return NULL;
}

/* A regular file, or a link to one. */
static bool is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* X.npz for X.hlo, else io.npz of the folder; NULL if there is neither. */
static hr_status_t find_arrays(hr_arena_t *arena, const char *program, bool shared,
                               const char **out_arrays) {
  const char *dot = strrchr(program, '.'), *slash = strrchr(program, '/');
  *out_arrays = NULL;
  const char *path;
  HR_TRY(hr_arena_printf(arena, &path, "%.*s.npz", (int)(dot - program), program));
  if (is_file(path)) *out_arrays = path;
  if (*out_arrays || !shared) return NULL;
  HR_TRY(hr_arena_printf(arena, &path, "%.*s%s", slash ? (int)(slash - program) + 1 : 0, program,
                         SHARED_ARRAYS));
  if (is_file(path)) *out_arrays = path;
  return NULL;
}

/* --- directives and header, without parsing the program --- */

/* Refuses tolerances that every, or no, value would pass. */
static void set_tolerance(double value, double *out_tolerance, cli_case_t *one) {
  *out_tolerance = value;
  if (!(value >= 0 && value <= 1e300)) one->wrong = "a tolerance is no number of 0 or more";
}

/* Ignores comments that are no directives. */
static void read_directive(const char *line, size_t size, cli_case_t *one) {
  char text[160];
  snprintf(text, sizeof text, "%.*s", (int)size, line);
  const char *at = text + strspn(text, "/ \t");
  long long ulp;
  double tolerance;
  if (sscanf(at, "RANKS: %d", &one->world) == 1) return;
  if (sscanf(at, "GRID: %dx%d", &one->replicas, &one->partitions) == 2) return;
  if (sscanf(at, "RTOL: %lf", &tolerance) == 1)
    return set_tolerance(tolerance, &one->tolerance.rtol, one);
  if (sscanf(at, "ATOL: %lf", &tolerance) == 1)
    return set_tolerance(tolerance, &one->tolerance.atol, one);
  if (sscanf(at, "ULP: %lld", &ulp) == 1) one->tolerance.ulp = ulp;
}

/* Comments before the header line may hold directives. */
static void read_header(hr_str_t text, cli_case_t *one) {
  cli_grid_t grid;
  const char *header, *at = text.data;
  bool found = cli_grid_of_text(text, &grid, &header);
  const char *end = header ? header : at + text.size;
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t size = (size_t)((stop ? stop : end) - at);
    if (size >= 2 && memcmp(at, "//", 2) == 0) read_directive(at, size, one);
    at += size + 1;
  }
  int64_t processes = one->world;
  if (one->replicas > 0 && one->partitions > 0)
    processes = (int64_t)one->replicas * one->partitions;
  if (processes < 0 || processes > CLI_CASE_MOST_PROCESSES) {
    one->wrong = "RANKS and GRID name 1 to 4096 processes";
    processes = 1;
  }
  one->world = (int)processes;
  if (one->world) return;
  bool is_one = grid.replicas == 1 && grid.partitions == 1; /* annotations may name more */
  if (!found || is_one) grid = cli_grid_of_file(one->program);
  one->world = grid.replicas * grid.partitions;
}

/* A program that names no grid may have arrays for several processes: the largest RANK in names
 * such as out0@RANK. */
static hr_status_t read_ranks(const char *arrays, int *world) {
  array_file_t file;
  hr_status_t st = array_file_open(arrays, &file);
  for (size_t i = 0; !st && i < array_file_count(&file); i++) {
    hr_str_t name = array_file_name(&file, i);
    const char *at = memchr(name.data, '@', name.size);
    int rank = at ? atoi(at + 1) : -1;
    if (rank >= *world && rank < INT16_MAX) *world = rank + 1;
  }
  array_file_deinit(&file);
  return st;
}

/* The world size comes from directives, the grid, and ranks in names of arrays, in this order. */
static hr_status_t inspect(cli_case_t *one) {
  hr_buffer_t *bytes;
  HR_TRY(gzip_map_file(one->program, &bytes));
  read_header((hr_str_t){hr_buffer_data(bytes), hr_buffer_size(bytes)}, one);
  hr_buffer_release(bytes);
  if (one->world > 1) return NULL;
  one->world = 1;
  if (!one->arrays) return NULL;
  /* Damaged archives are reported when the case runs. */
  hr_status_release(read_ranks(one->arrays, &one->world));
  return NULL;
}

/* The path is copied, as lists of folders are freed. */
static hr_status_t add_case(hr_arena_t *arena, const char *program, const char *arrays,
                            cli_cases_t *cases) {
  cli_case_t one = {.arrays = arrays, .tolerance = hlo_tolerance_default()};
  HR_TRY(hr_arena_cstr(arena, hr_str_from(program), &one.program));
  HR_TRY(inspect(&one));
  HR_VEC_PUSH(cases, one);
  return NULL;
}

/* True for text that checks itself and needs no arrays. Unreadable files are reported when they are
 * run. */
static bool checks_itself(const char *path) {
  const char *dot = strrchr(path, '.');
  hr_buffer_t *bytes;
  if (!dot || strcmp(dot, ".mlir") != 0) return false;
  hr_status_t st = gzip_map_file(path, &bytes);
  if (st) {
    hr_status_release(st);
    return false;
  }
  bool checks = cli_case_checks_itself((hr_str_t){hr_buffer_data(bytes), hr_buffer_size(bytes)});
  hr_buffer_release(bytes);
  return checks;
}

/* --- folders --- */

static int not_hidden(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* A directory, or a link to one. */
static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* The only program of a folder that uses io.npz: prog.hlo (or prog.mlir, ..., in the order of the
 * table). NULL: all programs use it. */
static const char *choose_program(struct dirent *const *entries, int count) {
  const char *preferred = NULL;
  const struct form *preferred_form = NULL;
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    const struct form *form = find_form(name);
    if (!form || strncmp(name, PREFERRED, strlen(PREFERRED)) != 0) continue;
    if (preferred && form >= preferred_form) continue;
    preferred = name;
    preferred_form = form;
  }
  return preferred;
}

/* State of a search for cases. */
typedef struct search {
  hr_arena_t *arena;
  cli_cases_t *cases;
  cli_passed_overs_t *passed_over;
  int depth;
} search_t;

static hr_status_t find_in_folder(search_t *search, const char *folder);

/* Records the reason: the folder's arrays belong to another program, or there are none. */
static hr_status_t pass_over(search_t *search, const char *path, const char *chosen) {
  const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  cli_passed_over_t one;
  HR_TRY(hr_arena_cstr(search->arena, hr_str_from(path), &one.path));
  if (chosen)
    HR_TRY(hr_arena_printf(search->arena, &one.reason, "%s is of %s", SHARED_ARRAYS, chosen));
  else
    HR_TRY(hr_arena_printf(search->arena, &one.reason, "neither %.*s.npz nor %s beside it",
                           (int)(dot - name), name, SHARED_ARRAYS));
  HR_VEC_PUSH(search->passed_over, one);
  return NULL;
}

/* Searches a folder; adds a program as a case, or to the files passed over; ignores other files. */
static hr_status_t visit_entry(search_t *search, const char *folder, const char *name,
                               const char *chosen) {
  const char *path, *arrays;
  bool bare = folder[strlen(folder) - 1] == '/';
  HR_TRY(hr_arena_printf(search->arena, &path, "%s%s%s", folder, bare ? "" : "/", name));
  if (is_folder(path)) return find_in_folder(search, path);
  if (!find_form(name) || !is_file(path)) return NULL;
  bool shares = !chosen || strcmp(name, chosen) == 0;
  HR_TRY(find_arrays(search->arena, path, shares, &arrays));
  if (arrays || checks_itself(path)) return add_case(search->arena, path, arrays, search->cases);
  return pass_over(search, path, shares ? NULL : chosen);
}

/* Visits entries in the order of names, so that runs are repeatable. */
static hr_status_t find_in_folder(search_t *search, const char *folder) {
  struct dirent **entries;
  if (++search->depth > DEPTH_MAX)
    return hr_error(HR_UNAVAILABLE, "%s: folders are nested too deeply", folder);
  int count = scandir(folder, &entries, not_hidden, alphasort);
  if (count < 0)
    return hr_error(HR_UNAVAILABLE, "cannot read the folder %s: %s", folder, strerror(errno));
  const char *chosen = choose_program(entries, count);
  hr_status_t st = NULL;
  for (int i = 0; i < count && !st; i++)
    st = visit_entry(search, folder, entries[i]->d_name, chosen);
  for (int i = 0; i < count; i++) free(entries[i]);
  free(entries);
  search->depth--;
  return st;
}

/* A file that was named must be a case; files of a folder need not be. */
hr_status_t cli_cases_find(hr_arena_t *arena, const char *path, cli_cases_t *cases,
                           cli_passed_overs_t *passed_over) {
  search_t search = {arena, cases, passed_over, 0};
  if (is_folder(path)) return find_in_folder(&search, path);
  if (access(path, R_OK))
    return hr_error(HR_UNAVAILABLE, "cannot open %s: %s", path, strerror(errno));
  if (!find_form(path))
    return hr_error(HR_USAGE, "%s is no program: want .hlo, .mlir, .mlirbc or .pb", path);
  const char *arrays;
  HR_TRY(find_arrays(arena, path, true, &arrays));
  if (!arrays && !checks_itself(path))
    return hr_error(HR_USAGE, "%s has no arrays: neither %.*s.npz nor %s beside it", path,
                    (int)(strrchr(path, '.') - path), path, SHARED_ARRAYS);
  return add_case(arena, path, arrays, cases);
}
