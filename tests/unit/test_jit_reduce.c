/* Generated code against the reference engine: reductions of rows, columns and whole arrays, alone
 * and with what is computed before and after them. */
#include "tests/lib/jit_driver.h"

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

#define SUM(type)                                                                \
  "sum { a = " type "[] parameter(0) b = " type "[] parameter(1) ROOT c = " type \
  "[] add(a, b) "                                                                \
  "}\n"
#define MOST(type)                                                                \
  "most { a = " type "[] parameter(0) b = " type "[] parameter(1) ROOT c = " type \
  "[] maximum(a, b) }\n"

static const char *const softmax =
    "a = f32[%d,%d] parameter(0) m = f32[] constant(-inf) r = f32[%d] reduce(a, m), "
    "dimensions={1}, to_apply=most\n"
    "b = f32[%d,%d] broadcast(r), dimensions={0} s = f32[%d,%d] subtract(a, b) x = f32[%d,%d] "
    "exponential(s)\n"
    "z = f32[] constant(0) t = f32[%d] reduce(x, z), dimensions={1}, to_apply=sum\n"
    "u = f32[%d,%d] broadcast(t), dimensions={0} ROOT q = f32[%d,%d] divide(x, u) }\n";

static void check_softmax(jit_driver_t *driver, int n, int m) {
  char text[2048];
  size_t head =
      (size_t)snprintf(text, sizeof text, "HloModule t\n%s%sENTRY e {\n", SUM("f32"), MOST("f32"));
  snprintf(text + head, sizeof text - head, softmax, n, m, n, n, m, n, m, n, m, n, n, m, n, m);
  JIT_CHECK(driver, text);
}

static void rows(void) {
  static const int sizes[] = {2, 3, 15, 16, 17, 33, 64, 100, 257, 1000};
  for (int i = 0; i < COUNT(sizes); i++) {
    jit_driver_t driver = {
        .seed = (uint64_t)i, .workers = 1 + i % 3, .small_numbers = true, .tolerance = 1e-5};
    check_softmax(&driver, 12, sizes[i]);
    check_softmax(&driver, 1, sizes[i]);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
  jit_driver_t driver = {.seed = 5, .workers = 2, .small_numbers = true, .tolerance = 1e-5};
  check_softmax(&driver, 2, 100000);
  CU_ASSERT_EQUAL(driver.declined, 0);
}

static const char *const reduce_programs[] = {
    SUM("f32") "ENTRY e { a = f32[70,40] parameter(0) z = f32[] parameter(1)\n"
    "ROOT r = f32[40] reduce(a, z), dimensions={0}, to_apply=sum }\n",
    SUM("f32") "ENTRY e { a = f32[700,1999] parameter(0) z = f32[] constant(2)\n"
    "ROOT r = f32[1999] reduce(a, z), dimensions={0}, to_apply=sum }\n",
    SUM("f32") "ENTRY e { a = f32[3000,20] parameter(0) z = f32[] constant(0)\n"
    "b = f32[3000,20] multiply(a, a) r = f32[20] reduce(b, z), dimensions={0}, to_apply=sum s = "
    "f32[20] sqrt(r)\n"
    "ROOT t = (f32[20], f32[3000,20]) tuple(s, b) }\n",
    SUM("s32") "ENTRY e { a = s32[7,6,5,4] parameter(0) z = s32[] parameter(1)\n"
    "ROOT r = s32[7,5] reduce(a, z), dimensions={1,3}, to_apply=sum }\n",
    SUM("s32") "ENTRY e { a = s32[7,6,5,40] parameter(0) z = s32[] parameter(1)\n"
    "ROOT r = s32[6,40] reduce(a, z), dimensions={0,2}, to_apply=sum }\n",
    SUM("f64") "ENTRY e { a = f64[100003] parameter(0) z = f64[] constant(1)\n"
    "b = f64[100003] negate(a) ROOT r = f64[] reduce(b, z), dimensions={0}, to_apply=sum }\n",
    MOST("u8") "ENTRY e { a = u8[100,77] parameter(0) z = u8[] constant(0)\n"
    "ROOT r = u8[100] reduce(a, z), dimensions={1}, to_apply=most }\n",
    MOST("s16") "ENTRY e { a = s16[100,77] parameter(0) z = s16[] constant(-32768)\n"
    "ROOT r = s16[77] reduce(a, z), dimensions={0}, to_apply=most }\n",
    MOST("bf16") "ENTRY e { a = bf16[10,77] parameter(0) z = bf16[] constant(-inf)\n"
    "ROOT r = bf16[10] reduce(a, z), dimensions={1}, to_apply=most }\n",
    MOST("bf16") "ENTRY e { a = bf16[301,3] parameter(0) z = bf16[] constant(-inf)\n"
    "ROOT r = bf16[301] reduce(a, z), dimensions={1}, to_apply=most }\n",
    SUM("f16") "ENTRY e { a = f16[20,2,25,2] parameter(0) z = f16[] constant(1)\n"
    "ROOT r = f16[20,25] reduce(a, z), dimensions={1,3}, to_apply=sum }\n",
    "arg { a = bf16[] parameter(0) i = s32[] parameter(1) b = bf16[] parameter(2) j = s32[] "
    "parameter(3)\n"
    "g = pred[] compare(a, b), direction=GT v = bf16[] select(g, a, b) k = s32[] select(g, i, j)\n"
    "ROOT t = (bf16[], s32[]) tuple(v, k) }\n"
    "ENTRY e { a = bf16[200,3] parameter(0) i = s32[200,3] iota(), iota_dimension=1 m = bf16[] "
    "constant(-inf)\n"
    "z = s32[] constant(0) ROOT r = (bf16[200], s32[200]) reduce(a, i, m, z), dimensions={1}, "
    "to_apply=arg }\n",
    "all { a = pred[] parameter(0) b = pred[] parameter(1) ROOT c = pred[] and(a, b) }\n"
    "ENTRY e { a = f32[10,77] parameter(0) c = f32[] constant(7) d = f32[10,77] broadcast(c), "
    "dimensions={}\n"
    "f = pred[10,77] compare(a, d), direction=LT z = pred[] constant(true)\n"
    "ROOT r = pred[10] reduce(f, z), dimensions={1}, to_apply=all }\n",
    SUM("f32") "ENTRY e { a = f32[8,64,100] parameter(0) z = f32[] constant(0)\n"
    "r = f32[8,64] reduce(a, z), dimensions={2}, to_apply=sum n = f32[] constant(100)\n"
    "nb = f32[8,64] broadcast(n), dimensions={} m = f32[8,64] divide(r, nb) mb = f32[8,64,100] "
    "broadcast(m),\n"
    "dimensions={0,1}\n"
    "d = f32[8,64,100] subtract(a, mb) q = f32[8,64,100] multiply(d, d)\n"
    "v = f32[8,64] reduce(q, z), dimensions={2}, to_apply=sum w = f32[8,64] divide(v, nb) x = "
    "f32[8,64] rsqrt(w)\n"
    "xb = f32[8,64,100] broadcast(x), dimensions={0,1} y = f32[8,64,100] multiply(d, xb) g = "
    "f32[100] parameter(1)\n"
    "gb = f32[8,64,100] broadcast(g), dimensions={2} o = f32[8,64,100] multiply(y, gb)\n"
    "ROOT t = (f32[8,64,100], f32[8,64]) tuple(o, m) }\n",
    "arg { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] "
    "parameter(3)\n"
    "g = pred[] compare(a, b), direction=GT e = pred[] compare(a, b), direction=EQ l = pred[] "
    "compare(i, j),\n"
    "direction=LT\n"
    "f = pred[] and(e, l) h = pred[] or(g, f) v = f32[] select(h, a, b) k = s32[] select(h, i, j)\n"
    "ROOT t = (f32[], s32[]) tuple(v, k) }\n"
    "ENTRY e { a = f32[20,301] parameter(0) i = s32[20,301] iota(), iota_dimension=1 m = f32[] "
    "constant(-inf)\n"
    "z = s32[] constant(0) ROOT r = (f32[20], s32[20]) reduce(a, i, m, z), dimensions={1}, "
    "to_apply=arg }\n",
    "arg { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] "
    "parameter(3)\n"
    "g = pred[] compare(a, b), direction=GT e = pred[] compare(a, b), direction=EQ l = pred[] "
    "compare(i, j),\n"
    "direction=LT\n"
    "f = pred[] and(e, l) h = pred[] or(g, f) v = f32[] select(h, a, b) k = s32[] select(h, i, j)\n"
    "ROOT t = (f32[], s32[]) tuple(v, k) }\n"
    "ENTRY e { a = f32[20,301] parameter(0) i = s32[20,301] iota(), iota_dimension=0 m = f32[] "
    "constant(-inf)\n"
    "z = s32[] constant(0) r = (f32[301], s32[301]) reduce(a, i, m, z), dimensions={0}, "
    "to_apply=arg\n"
    "ROOT k = s32[301] get-tuple-element(r), index=1 }\n",
    SUM("f32") "ENTRY e { a = f32[128,10] parameter(0) b = s32[128] parameter(1) c = f32[128] "
    "parameter(2) z =\n"
    "f32[] constant(0)\n"
    "d = s32[128] negate(b) r = f32[128] reduce(a, z), dimensions={1}, to_apply=sum q = f32[128] "
    "multiply(r, c)\n"
    "ROOT t = (s32[128], f32[128]) tuple(d, q) }\n",
    /* rows of few elements: one result each, several that depend on each other, an arg-max, and all
     * elements */
    SUM("f32") "ENTRY e { a = u8[70,10,3] parameter(0) z = f32[] constant(1) b = f32[70,10,3] "
    "convert(a)\n"
    "r = f32[70,10] reduce(b, z), dimensions={2}, to_apply=sum ROOT c = s8[70,10] convert(r) }\n",
    SUM("f64") "ENTRY e { a = f64[700,16] parameter(0) z = f64[] constant(0)\n"
    "r = f64[700] reduce(a, z), dimensions={1}, to_apply=sum b = f64[700,16] broadcast(r), "
    "dimensions={0}\n"
    "d = f64[700,16] subtract(a, b) q = f64[700,16] multiply(d, d)\n"
    "ROOT v = f64[700] reduce(q, z), dimensions={1}, to_apply=sum }\n",
    SUM("f32") MOST("f32") "ENTRY e { a = f32[301,5] parameter(0) m = f32[] constant(-inf) z = "
    "f32[] constant(0)\n"
    "r = f32[301] reduce(a, m), dimensions={1}, to_apply=most b = f32[301,5] broadcast(r), "
    "dimensions={0}\n"
    "d = f32[301,5] subtract(a, b) x = f32[301,5] exponential(d) s = f32[301] reduce(x, z), "
    "dimensions={1},\n"
    "to_apply=sum c = f32[301,5] broadcast(s), dimensions={0} p = f32[301,5] divide(x, c)\n"
    "ROOT t = (f32[301,5], f32[301]) tuple(p, s) }\n",
    "arg { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] "
    "parameter(3)\n"
    "g = pred[] compare(a, b), direction=GT v = f32[] select(g, a, b) k = s32[] select(g, i, j)\n"
    "ROOT t = (f32[], s32[]) tuple(v, k) }\n"
    "ENTRY e { a = f32[200,7] parameter(0) i = s32[200,7] iota(), iota_dimension=1 m = f32[] "
    "constant(-inf)\n"
    "z = s32[] constant(0) ROOT r = (f32[200], s32[200]) reduce(a, i, m, z), dimensions={1}, "
    "to_apply=arg }\n",
    SUM("f32") "ENTRY e { a = f32[30,1,50] parameter(0) z = f32[] constant(3)\n"
    "ROOT r = f32[30,50] reduce(a, z), dimensions={1}, to_apply=sum }\n",
    SUM("f32") "ENTRY e { a = f32[40,30] parameter(0) b = f32[30,40] parameter(1) c = f32[40,30] "
    "transpose(b),\n"
    "dimensions={1,0}\n"
    "d = f32[40,30] multiply(a, c) z = f32[] constant(0) ROOT r = f32[40] reduce(d, z), "
    "dimensions={1},\n"
    "to_apply=sum }\n",
};

static void reductions(void) {
  for (int i = 0; i < COUNT(reduce_programs); i++)
    for (int round = 0; round < 3; round++) {
      char text[3072];
      jit_driver_t driver = {.seed = (uint64_t)i,
                             .workers = 1 + round,
                             .in_place = round == 1,
                             .small_numbers = true,
                             .tolerance = 1e-5};
      snprintf(text, sizeof text, "HloModule t\n%s", reduce_programs[i]);
      JIT_CHECK(&driver, text);
      CU_ASSERT_EQUAL(driver.declined, 0);
    }
}

/* Rows of stacked columns: their innermost loop is shorter than a vector, and lanes run over
 * several of them. Few rows, remainders, rows in blocks, and counts that no vector is a multiple
 * of. */
static void stacked_columns(void) {
  static const struct {
    int kept, rows, columns;
  } shapes[] = {{1, 32, 2}, {1, 33, 2}, {1, 7, 2}, {5, 24, 2},  {40, 9, 2},    {3, 21, 4},
                {1, 16, 8}, {2, 30, 3}, {1, 5, 7}, {1, 64, 16}, {1, 50001, 2}, {2, 9001, 4}};
  for (int i = 0; i < COUNT(shapes); i++) {
    int n = shapes[i].kept, m = shapes[i].rows, c = shapes[i].columns;
    jit_driver_t driver = {
        .seed = (uint64_t)i, .workers = 1 + i % 3, .small_numbers = true, .tolerance = 1e-5};
    char text[2048];
    snprintf(text, sizeof text,
             "HloModule t\n" SUM("f32") MOST(
                 "f32") "ENTRY e { a = f32[%d,%d,%d] parameter(0) z = f32[] parameter(1)\n"
                        "l = f32[%d,%d,1] slice(a), slice={[0:%d], [0:%d], [%d:%d]}\n"
                        "k = f32[%d,%d,%d] slice(a), slice={[0:%d], [0:%d], [0:%d]}\n"
                        "q = f32[%d,%d,%d] multiply(k, k)\n"
                        "x = f32[%d,%d,%d] concatenate(l, q), dimensions={2}\n"
                        "y = f32[%d,%d,%d] multiply(x, a)\n"
                        "m = f32[%d] reduce(y, z), dimensions={1,2}, to_apply=most\n"
                        "b = f32[%d,%d,%d] broadcast(m), dimensions={0}\n"
                        "d = f32[%d,%d,%d] subtract(x, b)\n"
                        "s = f32[%d] reduce(d, z), dimensions={1,2}, to_apply=sum\n"
                        "ROOT r = (f32[%d], f32[%d], f32[%d,%d,%d]) tuple(m, s, d) }\n",
             n, m, c, n, m, n, m, c - 1, c, n, m, c - 1, n, m, c - 1, n, m, c - 1, n, m, c, n, m, c,
             n, n, m, c, n, m, c, n, n, n, n, m, c);
    JIT_CHECK(&driver, text);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
}

/* Rows of a few narrow numbers, which lanes take apart: every type and count of terms, and with an
 * odd number of rows, so that the last ones are fewer than lanes. */
static void narrow_rows(void) {
  static const char *const types[] = {"u8", "s8", "u16", "s16", "f16", "bf16", "f32"};
  static const int terms[] = {2, 3, 4, 5, 7, 8, 10, 12, 16, 17, 24, 31, 32, 33, 40, 48, 64, 65};
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < COUNT(terms); i++) {
      jit_driver_t driver = {.seed = (uint64_t)(t + i),
                             .workers = 1 + i % 3,
                             .small_numbers = true,
                             .tolerance = 1e-5};
      char text[1024];
      snprintf(text, sizeof text,
               "HloModule t\n"
               "most { a = %s[] parameter(0) b = %s[] parameter(1) ROOT c = %s[] maximum(a, b) }\n"
               "sum { a = %s[] parameter(0) b = %s[] parameter(1) ROOT c = %s[] add(a, b) }\n"
               "ENTRY e { a = %s[413,%d] parameter(0) z = %s[] parameter(1)\n"
               "m = %s[413] reduce(a, z), dimensions={1}, to_apply=most\n"
               "s = %s[413] reduce(a, z), dimensions={1}, to_apply=sum\n"
               "ROOT r = (%s[413], %s[413]) tuple(m, s) }\n",
               types[t], types[t], types[t], types[t], types[t], types[t], types[t], terms[i],
               types[t], types[t], types[t], types[t], types[t]);
      JIT_CHECK(&driver, text);
      CU_ASSERT_EQUAL(driver.declined, 0);
    }
}

CU_TestInfo suite_jit_reduce[] = {{"rows", rows},
                                  {"reductions", reductions},
                                  {"narrow rows", narrow_rows},
                                  {"stacked columns", stacked_columns},
                                  CU_TEST_INFO_NULL};
