/* Reads, interpolates and writes the table of measured costs. Rank 0 reads the file and broadcasts
 * its text; all ranks parse the same text. */
#include "transport/core/coll_tune_table.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/open.h"
#include "base/vec.h"

typedef struct row {
  tp_collective_t collective;
  char algorithm[24];
  int ranks;
  double bytes, us;
} row_t;

struct tp_tuning {
  HR_VEC(row_t) rows; /* rows of one algorithm are in the order of their sizes */
};

/* --- the table --- */

static bool find_collective(const char *name, tp_collective_t *out_collective) {
  for (int c = 0; c < TP_COLLECTIVE_COUNT; c++)
    if (!strcmp(name, tp_collective_name(c))) {
      *out_collective = c;
      return true;
    }
  return false;
}

static hr_status_t add_line(tp_tuning_t *tuning, const char *line, int number) {
  row_t row;
  char collective[24], rest;
  int found = sscanf(line, "%23s %23s %d %lf %lf %c", collective, row.algorithm, &row.ranks,
                     &row.bytes, &row.us, &rest);
  if (found <= 0 || collective[0] == '#') return NULL;
  if (found != 5 || row.us <= 0 || row.bytes <= 0 || !find_collective(collective, &row.collective))
    return hr_error(
        HR_INVALID,
        "tuning table, line %d: found \"%s\", want COLLECTIVE ALGORITHM RANKS BYTES MICROSECONDS",
        number, line);
  HR_VEC_PUSH(&tuning->rows, row);
  return NULL;
}

static int by_size(const void *a, const void *b) {
  const row_t *x = a, *y = b;
  return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Splits `text` into lines. */
static hr_status_t parse(tp_tuning_t *tuning, char *text) {
  int number = 1;
  for (char *end; text && *text; text = end, number++) {
    end = strchr(text, '\n');
    if (end) *end++ = 0;
    HR_TRY(add_line(tuning, text, number));
  }
  if (tuning->rows.count) qsort(tuning->rows.data, tuning->rows.count, sizeof(row_t), by_size);
  return NULL;
}

static double between(const row_t *low, const row_t *high, double bytes) {
  if (!low || !high || low == high) {
    const row_t *only = low ? low : high;
    return bytes > only->bytes ? only->us * bytes / only->bytes : only->us;
  }
  double part = (log2(bytes) - log2(low->bytes)) / (log2(high->bytes) - log2(low->bytes));
  return exp2(log2(low->us) + part * (log2(high->us) - log2(low->us)));
}

double tp_tuning_cost(const tp_tuning_t *tuning, tp_collective_t collective, const char *algorithm,
                      int ranks, size_t bytes) {
  const row_t *low = NULL, *high = NULL;
  for (size_t i = 0; tuning && i < tuning->rows.count; i++) {
    const row_t *row = &tuning->rows.data[i];
    if (row->collective != collective || row->ranks != ranks ||
        strcmp(row->algorithm, algorithm) != 0)
      continue;
    if (row->bytes <= (double)bytes) low = row;
    if (row->bytes >= (double)bytes && !high) high = row;
  }
  return low || high ? between(low, high, (double)bytes) : -1;
}

void tp_tuning_destroy(tp_tuning_t *tuning) {
  if (!tuning) return;
  HR_VEC_FREE(&tuning->rows);
  hr_free(tuning);
}

/* --- the file --- */

/* Path of the user's own table; "" without a folder for it. */
static void usual_path(char *path, size_t size, bool makes_folders) {
  const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
  path[0] = 0;
  if (config && *config == '/')
    snprintf(path, size, "%s", config);
  else if (home && *home == '/')
    snprintf(path, size, "%s/.config", home);
  if (!path[0]) return;
  if (makes_folders) mkdir(path, 0700);
  snprintf(path + strlen(path), size - strlen(path), "/hlorun");
  if (makes_folders) mkdir(path, 0700);
  snprintf(path + strlen(path), size - strlen(path), "/collectives.txt");
}

#define MOST_BYTES (16 << 20) /* largest size of a table, in bytes */

static hr_status_t read_text(const char *path, bool must_exist, hr_strbuf_t *text) {
  if (!must_exist && access(path, R_OK) != 0) return NULL;
  char piece[4096];
  int fd;
  HR_TRY(hr_status_note(hr_open(path, O_RDONLY, &fd), "while reading the tuning table"));
  FILE *file = fdopen(fd, "r");
  if (!file) {
    close(fd);
    return hr_error(HR_NO_MEMORY, "cannot read %s", path);
  }
  for (size_t size; text->size <= MOST_BYTES && (size = fread(piece, 1, sizeof piece, file)) > 0;)
    hr_strbuf_add(text, piece, size);
  fclose(file);
  if (text->size > MOST_BYTES)
    return hr_error(HR_USAGE, "%s is no tuning table: it has more than %d bytes", path, MOST_BYTES);
  return hr_strbuf_finish(text);
}

static hr_status_t read_table(hr_strbuf_t *text) {
  char usual[4096];
  const char *named = secure_getenv("HLORUN_TUNING");
  if (named && *named) return read_text(named, true, text);
  usual_path(usual, sizeof usual, false);
  return usual[0] ? read_text(usual, false, text) : NULL;
}

static hr_status_t share(tp_groups_t *groups, void *data, size_t size_bytes) {
  tp_request_t *request;
  HR_TRY(tp_broadcast(groups->world, 0, data, size_bytes, &request));
  return tp_request_wait(request);
}

/* Makes a table of a text of `size` bytes, which need not end with 0. */
static hr_status_t new_table(const char *text, size_t size, tp_tuning_t **out_tuning) {
  void *memory, *copy = NULL;
  HR_TRY(hr_alloc_zeroed(sizeof(tp_tuning_t), &memory));
  tp_tuning_t *tuning = memory;
  hr_status_t st = hr_alloc_zeroed(size + 1, &copy);
  if (!st && size) memcpy(copy, text, size);
  if (!st) st = parse(tuning, copy);
  hr_free(copy);
  if (st)
    tp_tuning_destroy(tuning);
  else
    *out_tuning = tuning;
  return st;
}

static hr_status_t share_table(tp_groups_t *groups, hr_strbuf_t *text) {
  uint64_t size = text->size;
  void *memory;
  HR_TRY(share(groups, &size, sizeof size));
  if (!size) return NULL;
  HR_TRY(hr_alloc_zeroed(size + 1, &memory));
  if (text->size) memcpy(memory, text->data, size);
  hr_status_t st = share(groups, memory, size);
  if (!st) st = new_table(memory, size, &groups->tuning);
  hr_free(memory);
  return st;
}

/* Checks that every rank can parse the table. */
static hr_status_t check_table(const hr_strbuf_t *text) {
  tp_tuning_t *tuning = NULL;
  hr_status_t st = new_table(text->data, text->size, &tuning);
  tp_tuning_destroy(tuning);
  return st;
}

/* An invalid table is only warned about; the job goes on. */
static void read_or_warn(hr_strbuf_t *text) {
  hr_status_t st = read_table(text);
  if (!st) st = check_table(text);
  if (!st) return;
  fprintf(stderr, "warning: collectives are chosen without measurements:\n");
  hr_status_print(stderr, st);
  hr_status_release(st);
  hr_strbuf_deinit(text);
  hr_strbuf_init(text);
}

hr_status_t tp_tuning_load(tp_groups_t *groups) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  if (groups->endpoint->rank == 0) read_or_warn(&text);
  hr_status_t st = share_table(groups, &text);
  hr_strbuf_deinit(&text);
  return st;
}

hr_status_t tp_tuning_read(tp_tuning_t **out_tuning) {
  hr_strbuf_t text;
  *out_tuning = NULL;
  hr_strbuf_init(&text);
  hr_status_t st = read_table(&text);
  if (!st && text.size) st = new_table(text.data, text.size, out_tuning);
  hr_strbuf_deinit(&text);
  return st;
}

/* Keeps comments and the lines of other numbers of ranks. */
static void keep_lines(hr_strbuf_t *text, const hr_strbuf_t *old, int ranks) {
  const char *line = old->data, *stop = old->data + old->size;
  for (const char *end; line && line < stop; line = end) {
    int found = 0;
    end = memchr(line, '\n', (size_t)(stop - line));
    end = end ? end + 1 : stop;
    if (sscanf(line, "%*s %*s %d", &found) == 1 && found != ranks)
      hr_strbuf_add(text, line, (size_t)(end - line));
  }
}

static hr_status_t save(const char *path, int ranks, const hr_strbuf_t *text, hr_strbuf_t *old,
                        hr_strbuf_t *whole) {
  HR_TRY(read_text(path, false, old));
  hr_strbuf_add_str(whole,
                    "# collective algorithm ranks bytes microseconds: measured by hlorun --tune\n");
  keep_lines(whole, old, ranks);
  hr_strbuf_add(whole, text->data, text->size);
  HR_TRY(hr_strbuf_finish(whole));
  return hr_status_note(hr_file_write_all(path, whole->data, whole->size),
                        "while writing the tuning table");
}

hr_status_t tp_tuning_save(hr_arena_t *arena, const char *path, int ranks, const hr_strbuf_t *text,
                           const char **out_path) {
  char usual[4096];
  void *copy;
  hr_strbuf_t old, whole;
  if (!path) usual_path(usual, sizeof usual, true), path = usual;
  HR_TRY(hr_arena_copy(arena, path, strlen(path) + 1, &copy));
  *out_path = copy;
  hr_strbuf_init(&old);
  hr_strbuf_init(&whole);
  hr_status_t st = save(path, ranks, text, &old, &whole);
  hr_strbuf_deinit(&old);
  hr_strbuf_deinit(&whole);
  return st;
}
