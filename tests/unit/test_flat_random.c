/* Random programs of loops, branches and calls under the flat plan, against the reference
 * engine. */
#include <stdlib.h>

#include "tests/lib/flat_fixture.h"

#define LEAVES 3 /* arrays of a state */

#define VALUES 40
#define STATE "(s32[], s32[8], s32[8], s32[8])"

typedef struct writer {
  hr_strbuf_t done, *now; /* computations that are complete, and the one being written */
  int names;
} writer_t;

static int below(int count) { return rand() % count; }

/* A computation on a state; gives its number. Its name is comp<number>. */
static int write_computation(writer_t *writer, int depth, bool counts);

static int write_condition(writer_t *writer, int trips) {
  int number = writer->names++;
  hr_strbuf_printf(&writer->done,
                   "comp%d { s = " STATE
                   " parameter(0) i = s32[] get-tuple-element(s), index=0\n"
                   "n = s32[] constant(%d) ROOT r = pred[] compare(i, n), direction=LT }\n",
                   number, trips);
  return number;
}

static void write_elements(writer_t *writer, const char *of, int *values, int *count) {
  for (int leaf = 1; leaf <= LEAVES && *count < VALUES; leaf++) {
    values[(*count)++] = writer->names;
    hr_strbuf_printf(writer->now, "v%d = s32[8] get-tuple-element(%s), index=%d\n", writer->names++,
                     of, leaf);
  }
}

static int write_state(writer_t *writer, const char *counter, const int *values, int count) {
  hr_strbuf_printf(writer->now, "v%d = " STATE " tuple(%s", writer->names, counter);
  for (int leaf = 0; leaf < LEAVES; leaf++)
    hr_strbuf_printf(writer->now, ", v%d", values[below(count)]);
  hr_strbuf_add_str(writer->now, ")\n");
  return writer->names++;
}

/* A loop, a choice of two or three, or a call, on states made of random values. */
static void write_control(writer_t *writer, int depth, int *values, int *count) {
  char name[16];
  int kind = below(4), first = write_state(writer, "zero", values, *count);
  int second = write_state(writer, "i", values, *count), result;
  if (kind == 0) {
    int body = write_computation(writer, depth - 1, true),
        condition = write_condition(writer, below(4));
    result = writer->names++;
    hr_strbuf_printf(writer->now, "v%d = " STATE " while(v%d), condition=comp%d, body=comp%d\n",
                     result, first, condition, body);
  } else if (kind == 1) {
    int yes = write_computation(writer, depth - 1, false),
        no = write_computation(writer, depth - 1, false);
    result = writer->names++;
    hr_strbuf_printf(
        writer->now,
        "p%d = pred[] compare(i, one), direction=GT\nv%d = " STATE
        " conditional(p%d, v%d, v%d), true_computation=comp%d, false_computation=comp%d\n",
        result, result, result, first, below(2) ? first : second, yes, no);
  } else if (kind == 2) {
    int a = write_computation(writer, depth - 1, false),
        b = write_computation(writer, depth - 1, false);
    result = writer->names++;
    hr_strbuf_printf(writer->now,
                     "v%d = " STATE
                     " conditional(i, v%d, v%d, v%d),\n"
                     "  branch_computations={comp%d, comp%d, comp%d}\n",
                     result, first, second, first, a, b, a);
  } else {
    int callee = write_computation(writer, depth - 1, false);
    result = writer->names++;
    hr_strbuf_printf(writer->now, "v%d = " STATE " call(v%d), to_apply=comp%d\n", result, second,
                     callee);
  }
  snprintf(name, sizeof name, "v%d", result);
  write_elements(writer, name, values, count);
}

static void write_operation(writer_t *writer, int *values, int *count) {
  int a = values[below(*count)], b = values[below(*count)], name = writer->names++;
  switch (below(6)) {
    case 0:
      hr_strbuf_printf(writer->now,
                       "w%d = s32[2] slice(v%d), slice={[3:5]}\n"
                       "v%d = s32[8] dynamic-update-slice(v%d, w%d, i)\n",
                       name, b, name, a, name);
      break;
    case 1:
      hr_strbuf_printf(writer->now, "v%d = s32[8] copy(v%d)\n", name, a);
      break;
    case 2:
      hr_strbuf_printf(writer->now, "w%d = s32[2,4] reshape(v%d)\nv%d = s32[8] reshape(w%d)\n",
                       name, a, name, name);
      break;
    case 3:
      hr_strbuf_printf(writer->now, "v%d = s32[8] multiply(v%d, v%d)\n", name, a, b);
      break;
    default:
      hr_strbuf_printf(writer->now, "v%d = s32[8] add(v%d, v%d)\n", name, a, b);
  }
  values[(*count)++] = name;
}

static int write_computation(writer_t *writer, int depth, bool counts) {
  int values[VALUES], count = 0, number = writer->names++, steps = 1 + below(7);
  hr_strbuf_t text, *outer = writer->now;
  hr_strbuf_init(&text);
  writer->now = &text;
  hr_strbuf_printf(&text,
                   "comp%d { s = " STATE
                   " parameter(0) i = s32[] get-tuple-element(s), index=0\n"
                   "zero = s32[] constant(0) one = s32[] constant(1)\n"
                   "k = s32[8] constant({1,2,3,4,5,6,7,8})\n",
                   number);
  if (counts) hr_strbuf_add_str(&text, "j = s32[] add(i, one)\n");
  write_elements(writer, "s", values, &count);
  for (int step = 0; step < steps && count < VALUES - LEAVES; step++) {
    if (depth > 0 && below(3) == 0)
      write_control(writer, depth, values, &count);
    else
      write_operation(writer, values, &count);
  }
  hr_strbuf_printf(&text, "v%d = s32[8] add(k, v%d)\n", writer->names, values[0]);
  if (below(2)) values[count++] = writer->names;
  writer->names++;
  hr_strbuf_printf(&text, "ROOT t = " STATE " tuple(%s", counts ? "j" : "i");
  for (int leaf = 0; leaf < LEAVES; leaf++) { /* mostly one of the four newest values */
    int newest = count < 4 ? count : 4;
    int chosen = below(3) ? count - 1 - below(newest) : below(LEAVES);
    hr_strbuf_printf(&text, ", v%d", values[chosen]);
  }
  hr_strbuf_add_str(&text, ") }\n");
  CHECK_OK(hr_strbuf_finish(&text));
  hr_strbuf_add_str(&writer->done, text.data);
  hr_strbuf_deinit(&text);
  writer->now = outer;
  return number;
}

/* Loops in branches in loops: both engines agree on whatever they do. */
static void test_random_programs(void) {
  for (unsigned seed = 1; seed <= 400; seed++) {
    writer_t writer = {0};
    srand(seed);
    hr_strbuf_init(&writer.done);
    hr_strbuf_add_str(&writer.done, "HloModule m\n");
    int main_number = write_computation(&writer, 3, false);
    hr_strbuf_printf(
        &writer.done,
        "ENTRY e { a = s32[] parameter(0) x = s32[8] parameter(1) y = s32[8] parameter(2)\n"
        "z = s32[8] parameter(3) s = " STATE
        " tuple(a, x, y, z)\n"
        "ROOT r = " STATE " call(s), to_apply=comp%d }\n",
        main_number);
    CHECK_OK(hr_strbuf_finish(&writer.done));
    unsigned failures = CU_get_number_of_failures();
    fixture_agree(writer.done.data);
    if (CU_get_number_of_failures() != failures) printf("seed %u:\n%s", seed, writer.done.data);
    hr_strbuf_deinit(&writer.done);
    if (CU_get_number_of_failures() != failures) return;
  }
}

CU_TestInfo suite_flat_random[] = {
    {"random programs", test_random_programs},
    CU_TEST_INFO_NULL,
};
