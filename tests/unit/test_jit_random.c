/* Generated code against the reference engine: random fusions, and elements that come from many
 * positions, whose code must not grow by their square. */
#include <dirent.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/lib/jit_driver.h"

static void check_text(jit_driver_t *driver, hr_strbuf_t *text) {
  CHECK_OK(hr_strbuf_finish(text));
  JIT_CHECK(driver, text->data);
  hr_strbuf_deinit(text);
}

/* --- random fusions --------------------------------------------------------------------------- */

typedef struct maker {
  uint64_t seed;
  hr_strbuf_t text;
  int count; /* values so far: v0, v1, ... */
  int ranks[64], dims[64][3];
  bool is_pred[64];
} maker_t;

static int pick(maker_t *m, int count) { return (int)(jit_random(&m->seed) % (uint64_t)count); }

static void print_type(maker_t *m, int v) {
  hr_strbuf_printf(&m->text, "%s[", m->is_pred[v] ? "pred" : "f32");
  for (int d = 0; d < m->ranks[v]; d++)
    hr_strbuf_printf(&m->text, "%s%d", d ? "," : "", m->dims[v][d]);
  hr_strbuf_printf(&m->text, "]");
}

/* A new value like another one; its line up to the op. */
static int begin_value(maker_t *m, int like, bool is_pred) {
  int v = m->count++;
  m->ranks[v] = m->ranks[like];
  m->is_pred[v] = is_pred;
  memcpy(m->dims[v], m->dims[like], sizeof m->dims[v]);
  return v;
}

static void print_head(maker_t *m, int v) {
  hr_strbuf_printf(&m->text, "v%d = ", v);
  print_type(m, v);
}

static bool same_dims(const maker_t *m, int a, int b) {
  return m->ranks[a] == m->ranks[b] &&
         !memcmp(m->dims[a], m->dims[b], (size_t)m->ranks[a] * sizeof(int));
}

static int find_like(maker_t *m, int v, bool is_pred) {
  for (int tries = 0; tries < 20; tries++) {
    int other = pick(m, m->count);
    if (m->is_pred[other] == is_pred && same_dims(m, v, other)) return other;
  }
  return -1;
}

static void add_elementwise(maker_t *m, int x) {
  static const char *const unary[] = {"negate", "abs", "floor", "tanh", "sign"};
  static const char *const binary[] = {"add", "subtract", "multiply", "maximum", "minimum"};
  int y = find_like(m, x, false), p = find_like(m, x, true), kind = pick(m, 4);
  int v = begin_value(m, x, kind == 2);
  print_head(m, v);
  if (kind == 2)
    hr_strbuf_printf(&m->text, " compare(v%d, v%d), direction=LT\n", x, y < 0 ? x : y);
  else if (kind == 3 && p >= 0 && y >= 0)
    hr_strbuf_printf(&m->text, " select(v%d, v%d, v%d)\n", p, x, y);
  else if (kind && y >= 0)
    hr_strbuf_printf(&m->text, " %s(v%d, v%d)\n", binary[pick(m, 5)], x, y);
  else
    hr_strbuf_printf(&m->text, " %s(v%d)\n", unary[pick(m, 5)], x);
}

/* A new first dimension, or a copy if there are three already. */
static void add_broadcast(maker_t *m, int x, int v) {
  int rank = m->ranks[v], *dims = m->dims[v];
  if (rank == 3) {
    print_head(m, v);
    hr_strbuf_printf(&m->text, " copy(v%d)\n", x);
    return;
  }
  m->ranks[v]++;
  memmove(dims + 1, dims, sizeof(int) * (size_t)rank);
  dims[0] = 1 + pick(m, 5);
  print_head(m, v);
  hr_strbuf_printf(&m->text, " broadcast(v%d), dimensions={", x);
  for (int i = 0; i < rank; i++) hr_strbuf_printf(&m->text, "%s%d", i ? "," : "", i + 1);
  hr_strbuf_printf(&m->text, "}\n");
}

/* All dimensions in the reverse order. */
static void add_transpose(maker_t *m, int x, int v) {
  static const char *const orders[] = {"", "0", "1,0", "2,1,0"};
  int rank = m->ranks[v];
  for (int i = 0; i < rank; i++) m->dims[v][i] = m->dims[x][rank - 1 - i];
  print_head(m, v);
  hr_strbuf_printf(&m->text, " transpose(v%d), dimensions={%s}\n", x, orders[rank]);
}

/* Every second element of dimension d, from 1 on. */
static void add_slice(maker_t *m, int x, int v, int d) {
  int rank = m->ranks[v], *dims = m->dims[v], old = dims[d];
  dims[d] = old / 2;
  print_head(m, v);
  hr_strbuf_printf(&m->text, " slice(v%d), slice={", x);
  for (int i = 0; i < rank; i++) {
    if (i) hr_strbuf_add_str(&m->text, ", ");
    if (i == d)
      hr_strbuf_printf(&m->text, "[1:%d:2]", old);
    else
      hr_strbuf_printf(&m->text, "[0:%d]", dims[i]);
  }
  hr_strbuf_printf(&m->text, "}\n");
}

static void add_pad(maker_t *m, int x, int v, int d) {
  m->dims[v][d] += 3;
  print_head(m, v);
  hr_strbuf_printf(&m->text, " pad(v%d, v0), padding=", x);
  for (int i = 0; i < m->ranks[v]; i++) {
    if (i) hr_strbuf_add_char(&m->text, 'x');
    hr_strbuf_add_str(&m->text, i == d ? "1_2" : "0_0");
  }
  hr_strbuf_printf(&m->text, "\n");
}

/* An operation that moves elements of value x. */
static void add_moved(maker_t *m, int x) {
  int kind = pick(m, 6), v = begin_value(m, x, false), rank = m->ranks[v];
  int d = rank ? pick(m, rank) : 0;
  if (!rank || kind == 0) {
    add_broadcast(m, x, v);
  } else if (kind == 1) {
    add_transpose(m, x, v);
  } else if (kind == 2) {
    print_head(m, v);
    hr_strbuf_printf(&m->text, " reverse(v%d), dimensions={%d}\n", x, d);
  } else if (kind == 3 && m->dims[v][d] > 2) {
    add_slice(m, x, v, d);
  } else if (kind == 4) {
    m->dims[v][d] *= 2;
    print_head(m, v);
    hr_strbuf_printf(&m->text, " concatenate(v%d, v%d), dimensions={%d}\n", x, x, d);
  } else {
    add_pad(m, x, v, d);
  }
}

static int64_t size_of(const maker_t *m, int v) {
  int64_t size = 1;
  for (int d = 0; d < m->ranks[v]; d++) size *= m->dims[v][d];
  return size;
}

static void add_parameter(maker_t *m, int number, int rank) {
  int v = m->count++;
  m->ranks[v] = rank;
  for (int d = 0; d < rank; d++) m->dims[v][d] = 1 + pick(m, d == rank - 1 ? 40 : 6);
  print_head(m, v);
  hr_strbuf_printf(&m->text, " parameter(%d)\n", number);
}

static void random_fusions(void) {
  jit_driver_t driver = {.workers = 2, .ulp = 4, .small_numbers = true, .tolerance = 1e-6};
  for (int round = 0; round < 150; round++) {
    maker_t m = {.seed = (uint64_t)round};
    hr_strbuf_init(&m.text);
    hr_strbuf_printf(&m.text, "HloModule t\nENTRY e {\n");
    for (int k = 0; k < 4; k++) add_parameter(&m, k, k);
    for (int i = 0; i < 12; i++) {
      int x = pick(&m, 3) ? m.count - 1 : pick(&m, m.count);
      if (m.is_pred[x]) x = pick(&m, 4);
      if (pick(&m, 5) < 2 && size_of(&m, x) < 3000)
        add_moved(&m, x);
      else
        add_elementwise(&m, x);
    }
    hr_strbuf_printf(&m.text, "ROOT r = ");
    int last = m.count - 1;
    print_type(&m, last);
    hr_strbuf_printf(&m.text, " copy(v%d) }\n", last);
    driver.seed = m.seed;
    driver.in_place = round % 2;
    check_text(&driver, &m.text);
  }
  CU_ASSERT_EQUAL(driver.declined, 0);
}

/* --- many positions --------------------------------------------------------------------------- */

/* A scan of `size` elements as jax.lax.associative_scan writes it, whose elements come from ever
 * more places, one for each of its shorter arrays; returns the number of its value. */
static int add_scan(hr_strbuf_t *text, const char *type, int size, int of, int *count) {
  int half = size / 2, rest = (size - 1) / 2, first = (*count += 12) - 11;
  if (size < 2) return of;
  hr_strbuf_printf(text, "v%d = %s[%d] slice(v%d), slice={[0:%d:2]}\n", first, type, half, of,
                   2 * half - 1);
  hr_strbuf_printf(text, "v%d = %s[%d] slice(v%d), slice={[1:%d:2]}\n", first + 1, type, half, of,
                   2 * half);
  hr_strbuf_printf(text, "v%d = %s[%d] add(v%d, v%d)\n", first + 2, type, half, first, first + 1);
  int odd = add_scan(text, type, half, first + 2, count);
  hr_strbuf_printf(text, "v%d = %s[%d] slice(v%d), slice={[0:%d]}\n", first + 3, type, rest, odd,
                   rest);
  hr_strbuf_printf(text, "v%d = %s[%d] slice(v%d), slice={[2:%d:2]}\n", first + 4, type, rest, of,
                   size);
  hr_strbuf_printf(text, "v%d = %s[%d] add(v%d, v%d)\n", first + 5, type, rest, first + 3,
                   first + 4);
  hr_strbuf_printf(text, "v%d = %s[1] slice(v%d), slice={[0:1]}\n", first + 6, type, of);
  hr_strbuf_printf(text, "v%d = %s[%d] concatenate(v%d, v%d), dimensions={0}\n", first + 7, type,
                   rest + 1, first + 6, first + 5);
  hr_strbuf_printf(text, "v%d = %s[] constant(0)\n", first + 8, type);
  hr_strbuf_printf(text, "v%d = %s[%d] pad(v%d, v%d), padding=0_%d_1\n", first + 9, type, size,
                   first + 7, first + 8, size % 2 ? 0 : 1);
  hr_strbuf_printf(text, "v%d = %s[%d] pad(v%d, v%d), padding=1_%d_1\n", first + 10, type, size,
                   odd, first + 8, size % 2 ? 1 : 0);
  hr_strbuf_printf(text, "v%d = %s[%d] add(v%d, v%d)\n", first + 11, type, size, first + 9,
                   first + 10);
  return first + 11;
}

static size_t lines_of(const char *path) {
  size_t lines = 0;
  FILE *file = fopen(path, "r");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  for (int c; (c = getc(file)) != EOF;) lines += c == '\n';
  fclose(file);
  return lines;
}

static bool ends_in(const char *name, const char *ending) {
  const char *dot = strrchr(name, '.');
  return dot && strcmp(dot, ending) == 0;
}

/* Lines of the folder's files of LLVM's text. All files are removed with the folder. */
static size_t lines_in(const char *folder) {
  size_t lines = 0;
  char path[512];
  DIR *list = opendir(folder);
  CU_ASSERT_PTR_NOT_NULL_FATAL(list);
  for (struct dirent *entry; (entry = readdir(list));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (ends_in(entry->d_name, ".ll")) lines += lines_of(path);
    unlink(path);
  }
  closedir(list);
  rmdir(folder);
  return lines;
}

/* Elements that come from many places, each under conditions: code grows by the places, and not by
 * their square or by the lanes. */
static void many_positions(void) {
  static const char *const types[] = {"u8", "s32", "f64"};
  jit_driver_t driver = {.workers = 1, .small_numbers = true, .tolerance = 1e-9};
  for (int t = 0; t < 3; t++) {
    char folder[] = "/tmp/hlorun_jit_XXXXXX";
    hr_strbuf_t text;
    int count = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    setenv("JIT_DUMP", folder, 1);
    hr_strbuf_init(&text);
    hr_strbuf_printf(&text, "HloModule t\nENTRY e {\nv0 = %s[66] parameter(0)\n", types[t]);
    int scan = add_scan(&text, types[t], 66, 0, &count);
    hr_strbuf_printf(&text, "ROOT r = %s[66] copy(v%d) }\n", types[t], scan);
    check_text(&driver, &text);
    unsetenv("JIT_DUMP");
    CU_ASSERT_TRUE(lines_in(folder) < 16000);
  }
  CU_ASSERT_EQUAL(driver.declined, 0);
}

CU_TestInfo suite_jit_random[] = {{"random fusions", random_fusions},
                                  {"elements from many positions", many_positions},
                                  CU_TEST_INFO_NULL};
