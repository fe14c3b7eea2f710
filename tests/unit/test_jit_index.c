/* Generated code against the reference engine: ops on indices, rows and lines of all lengths around
 * those of vectors, and elements that are moved and not computed. */
#include "tests/lib/jit_driver.h"

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

/* What chooses and moves along rows. */
static void complex_rows(jit_driver_t *driver, const char *type, int rows, int columns) {
  char text[2048];
  snprintf(text, sizeof text,
           "HloModule t\nENTRY e { a = %s[%d,%d] parameter(0) b = %s[%d,%d] parameter(1) p = "
           "pred[%d,%d] parameter(2)\n"
           "k = %s[] constant((1.5, -2)) kb = %s[%d,%d] broadcast(k), dimensions={} m = %s[%d,%d] "
           "multiply(a, kb)\n"
           "q = %s[%d,%d] select(p, m, b) r = %s[%d,%d] reverse(b), dimensions={1} v = %s[%d,%d] "
           "subtract(q, r)\n"
           "w = %s[%d,%d] select(p, a, b) n = %s[%d,%d] maximum(w, v) ROOT t = tuple(v, w, n) }\n",
           type, rows, columns, type, rows, columns, rows, columns, type, type, rows, columns, type,
           rows, columns, type, rows, columns, type, rows, columns, type, rows, columns, type, rows,
           columns, type, rows, columns);
  JIT_CHECK(driver, text);
}

/* A sum along the rows or along the columns. */
static void complex_sums(jit_driver_t *driver, const char *type, int rows, int columns,
                         bool reduces_columns) {
  char text[2048];
  snprintf(
      text, sizeof text,
      "HloModule t\nf { x = %s[] parameter(0) y = %s[] parameter(1) ROOT z = %s[] add(x, y) }\n"
      "ENTRY e { a = %s[%d,%d] parameter(0) m = %s[%d,%d] multiply(a, a) k = %s[] constant((0, "
      "1))\n"
      "ROOT r = %s[%d] reduce(m, k), dimensions={%d}, to_apply=f }\n",
      type, type, type, type, rows, columns, type, rows, columns, type, type,
      reduces_columns ? rows : columns, reduces_columns);
  JIT_CHECK(driver, text);
}

static void complex_transpose(jit_driver_t *driver, const char *type, int rows, int columns) {
  char text[2048];
  snprintf(text, sizeof text,
           "HloModule t\nENTRY e { a = %s[%d,%d] parameter(0) b = %s[%d,%d] transpose(a), "
           "dimensions={1,0}\n"
           "c = %s[%d,%d] parameter(1) d = %s[%d,%d] add(b, c) ROOT n = %s[%d,%d] negate(d) }\n",
           type, rows, columns, type, columns, rows, type, columns, rows, type, columns, rows, type,
           columns, rows);
  JIT_CHECK(driver, text);
}

/* What moves, chooses and sums complex numbers, by whole vectors and less. */
static void complex_arrays(void) {
  static const char *const types[] = {"c64", "c128"};
  for (int i = 0; i < 24; i++) {
    jit_driver_t driver = {.seed = (uint64_t)i,
                           .workers = 1 + i % 2,
                           .small_numbers = true,
                           .ulp = 1,
                           .tolerance = 1e-5,
                           .in_place = i % 3 == 0};
    const char *type = types[i % 2];
    int rows = 1 + i * 5 % 23, columns = 1 + i * 7 % 61;
    complex_rows(&driver, type, rows, columns);
    complex_sums(&driver, type, rows, columns, i % 3);
    complex_transpose(&driver, type, rows, columns);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
}

/* Planes of two dimensions that are smaller than vectors or no multiple of them. */
static void transposes_of_small_planes(void) {
  static const char *const types[] = {"u8", "bf16", "f32", "f64", "c128"};
  for (int i = 0; i < 40; i++) {
    jit_driver_t driver = {.seed = (uint64_t)i, .workers = 1 + i % 2, .small_numbers = true};
    const char *type = types[i % 5];
    int rows = 2 + i * 5 % 17, columns = 2 + i * 7 % 19, run = 1 + i % 3;
    char text[512];
    snprintf(text, sizeof text,
             "HloModule t\nENTRY e { a = %s[37,%d,%d,%d] parameter(0)\n"
             "ROOT t = %s[37,%d,%d,%d] transpose(a), dimensions={0,2,1,3} }\n",
             type, rows, columns, run, type, columns, rows, run);
    JIT_CHECK(&driver, text);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
}

/* Lines of fewer elements than a vector has, each with a row of its own from another array; and
 * sums over rows for which such lines have factors. */
static void short_lines(void) {
  for (int i = 0; i < 20; i++) {
    jit_driver_t driver = {.seed = (uint64_t)i,
                           .workers = 1 + i % 2,
                           .small_numbers = true,
                           .ulp = 3,
                           .tolerance = 1e-5,
                           .in_place = i % 3 == 0};
    int line = 1 + i, terms = 17 - i % 5;
    char text[1024];
    snprintf(text, sizeof text,
             "HloModule t\nENTRY e { a = f32[90,%d] parameter(0) i = s32[70,1] parameter(1) b = "
             "f32[70,%d] parameter(2)\n"
             "g = f32[70,%d] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, "
             "start_index_map={0}, "
             "index_vector_dim=1, slice_sizes={1,%d}\n"
             "s = f32[70,%d] subtract(b, g) ROOT r = f32[70,%d] exponential(s) }\n",
             line, line, line, line, line, line);
    JIT_CHECK(&driver, text);
    snprintf(text, sizeof text,
             "HloModule t\nf { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, "
             "y) }\n"
             "ENTRY e { a = f32[70,%d,%d] parameter(0) w = f32[%d,%d] parameter(1) z = f32[] "
             "constant(0)\n"
             "b = f32[70,%d,%d] broadcast(w), dimensions={1,2} m = f32[70,%d,%d] multiply(a, b)\n"
             "ROOT r = f32[70,%d] reduce(m, z), dimensions={2}, to_apply=f }\n",
             line, terms, line, terms, line, terms, line, terms, line);
    JIT_CHECK(&driver, text);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
}

/* Rows of which a register has several: sums over them, and elements that are computed from all of
 * their row. */
static void packed_rows(void) {
  static const char *const types[] = {"pred", "s8", "s16", "f32", "f64"};
  for (int i = 0; i < 60; i++) {
    jit_driver_t driver = {.seed = (uint64_t)i, .workers = 1 + i % 2, .small_numbers = true};
    int columns = 2 << i % 4, rows = 5 + 13 * (i % 12);
    const char *type = types[i % 5];
    char text[1024];
    snprintf(text, sizeof text,
             "HloModule t\nf { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, "
             "y) }\n"
             "ENTRY e { a = %s[%d,%d] parameter(0) b = s32[%d,%d] convert(a) n = s32[%d,%d] "
             "iota(), iota_dimension=1\n"
             "c = s32[%d,%d] shift-left(b, n) z = s32[] constant(0)\n"
             "ROOT r = s32[%d] reduce(c, z), dimensions={1}, to_apply=f }\n",
             type, rows, columns, rows, columns, rows, columns, rows, columns, rows);
    JIT_CHECK(&driver, text);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
}

/* Narrow floats of which some are only moved, others are computed with, and some are both. */
static void moved_floats(void) {
  static const char *const types[] = {"bf16", "f16", "f8e5m2", "f8e4m3fn"};
  for (int i = 0; i < 24; i++) {
    jit_driver_t driver = {
        .seed = (uint64_t)i, .workers = 1 + i % 2, .small_numbers = true, .in_place = i % 3 == 0};
    const char *t = types[i % 4];
    int rows = 3 + 11 * (i % 7), columns = 5 + 9 * i;
    char text[1536];
    snprintf(
        text, sizeof text,
        "HloModule t\nENTRY e { a = %s[%d,%d] parameter(0) b = %s[%d,%d] parameter(1) p = "
        "pred[%d,%d] parameter(2)\n"
        "r = %s[%d,%d] reverse(a), dimensions={1} s = %s[%d,%d] select(p, r, b) z = %s[] "
        "constant(1)\n"
        "d = %s[%d,%d] pad(s, z), padding=2_1x1_3 c = %s[%d,%d] concatenate(d, d), dimensions={0}\n"
        "n = %s[%d,%d] negate(b) m = %s[%d,%d] select(p, n, r) ROOT t = tuple(c%s) }\n",
        t, rows, columns, t, rows, columns, rows, columns, t, rows, columns, t, rows, columns, t, t,
        rows + 3, columns + 4, t, 2 * rows + 6, columns + 4, t, rows, columns, t, rows, columns,
        i % 2 ? "" : ", m");
    JIT_CHECK(&driver, text);
    CU_ASSERT_EQUAL(driver.declined, 0);
  }
}

/* Sizes around the width of vectors, and several workers. */
static void tails(void) {
  for (int size = 1; size <= 70; size += size < 20 ? 1 : 7) {
    jit_driver_t driver = {
        .seed = (uint64_t)size, .workers = 1 + size % 2, .in_place = size % 3 == 0};
    char text[512];
    snprintf(text, sizeof text,
             "HloModule t\nENTRY e { a = f32[%d] parameter(0) b = s8[%d] parameter(1) c = f32[%d] "
             "convert(b)\n"
             "d = f32[%d] multiply(a, c) g = pred[%d] compare(d, a), direction=GT\n"
             "ROOT t = (f32[%d], pred[%d]) tuple(d, g) }\n",
             size, size, size, size, size, size, size);
    JIT_CHECK(&driver, text);
    snprintf(text, sizeof text,
             "HloModule t\nENTRY e { a = f32[5,%d] parameter(0) b = f32[%d] parameter(1)\n"
             "c = f32[5,%d] broadcast(b), dimensions={1} ROOT d = f32[5,%d] add(a, c) }\n",
             size, size, size, size);
    JIT_CHECK(&driver, text);
  }
}

static const char *const index_programs[] = {
    "a = f32[6,40] parameter(0) r = f32[40,6] transpose(a), dimensions={1,0} ROOT s = f32[40,6] "
    "negate(r)",
    "a = f32[6,40,3] parameter(0) ROOT r = f32[3,6,40] transpose(a), dimensions={2,0,1}",
    "a = f32[40] parameter(0) b = f32[3,40,5] broadcast(a), dimensions={1} c = f32[3,40,5] "
    "parameter(1)\n"
    "ROOT r = f32[3,40,5] add(b, c)",
    "a = f32[] parameter(0) b = f32[33] broadcast(a), dimensions={} c = f32[33] parameter(1) ROOT "
    "r = f32[33] "
    "multiply(b, c)",
    "a = f32[12,10] parameter(0) b = f32[8,15] reshape(a) c = f32[15] parameter(1)\n"
    "d = f32[8,15] broadcast(c), dimensions={1} ROOT r = f32[8,15] add(b, d)",
    "a = f32[8,64] parameter(0) b = f32[8,8,8] reshape(a) c = f32[8,8,8] transpose(b), "
    "dimensions={1,0,2}\n"
    "ROOT d = f32[8,64] reshape(c)",
    "a = f32[512,32] parameter(0) b = f32[64,32] parameter(1) c = f32[8,64,32] broadcast(b), "
    "dimensions={1,2}\n"
    "d = f32[512,32] reshape(c) ROOT r = f32[512,32] add(a, d)",
    "a = s32[10,37] parameter(0) ROOT r = s32[10,37] reverse(a), dimensions={1}",
    "a = u8[1500000,3] parameter(0) ROOT r = u8[1500000,3] reverse(a), dimensions={1}",
    "a = s32[10,37] parameter(0) b = s32[10,37] reverse(a), dimensions={0,1} ROOT r = s32[10,37] "
    "negate(b)",
    "a = f64[20,37] parameter(0) ROOT r = f64[6,12] slice(a), slice={[2:20:3], [1:37:3]}",
    "a = f32[20,37] parameter(0) ROOT r = f32[6,35] slice(a), slice={[2:20:3], [1:36]}",
    "a = f32[3,20] parameter(0) b = f32[4,20] parameter(1) c = f32[2,20] parameter(2)\n"
    "d = f32[9,20] concatenate(a, b, c), dimensions={0} ROOT r = f32[9,20] negate(d)",
    "a = f32[7,3] parameter(0) b = f32[7,33] parameter(1) c = f32[7,2] parameter(2)\n"
    "d = f32[7,38] concatenate(a, b, c), dimensions={1} ROOT r = f32[7,38] negate(d)",
    "a = pred[7,3] parameter(0) b = pred[7,33] parameter(1) ROOT d = pred[7,36] concatenate(a, b), "
    "dimensions={1}",
    "a = f32[7,30] parameter(0) z = f32[] parameter(1) ROOT d = f32[9,47] pad(a, z), "
    "padding=1_1x10_7",
    "a = f32[7,30] parameter(0) z = f32[] parameter(1) ROOT d = f32[5,26] pad(a, z), "
    "padding=-1_-1x-4_0",
    "a = f32[7,30] parameter(0) z = f32[] parameter(1) ROOT d = f32[15,92] pad(a, z), "
    "padding=1_1_1x3_1_2",
    "a = bf16[70] parameter(0) z = bf16[] parameter(1) ROOT d = bf16[75] pad(a, z), padding=4_1",
    "i = s32[5,40] iota(), iota_dimension=1 j = s32[5,40] iota(), iota_dimension=0 ROOT r = "
    "s32[5,40] multiply(i, j)",
    "i = f32[100] iota(), iota_dimension=0 j = f32[100] sqrt(i) k = bf16[100] iota(), "
    "iota_dimension=0\n"
    "l = f32[100] convert(k) ROOT r = f32[100] add(j, l)",
    "a = f32[20,37] parameter(0) s = s32[] parameter(1) t = s32[] parameter(2)\n"
    "ROOT r = f32[5,30] dynamic-slice(a, s, t), dynamic_slice_sizes={5,30}",
    "a = f32[20,37] parameter(0) s = u32[] parameter(1) t = u32[] constant(3)\n"
    "b = f32[5,37] dynamic-slice(a, s, t), dynamic_slice_sizes={5,37} ROOT r = f32[5,37] negate(b)",
    "a = f32[20,37] parameter(0) u = f32[3,37] parameter(1) s = s32[] parameter(2) z = s32[] "
    "constant(0)\n"
    "v = f32[3,37] negate(u) ROOT r = f32[20,37] dynamic-update-slice(a, v, s, z)",
    "a = f32[20,37] parameter(0) u = f32[20,1] parameter(1) s = s32[] parameter(2) z = s32[] "
    "constant(0)\n"
    "ROOT r = f32[20,37] dynamic-update-slice(a, u, z, s)",
    "a = f32[4,8,9] parameter(0) b = f32[4,8,1] slice(a), slice={[0:4], [0:8], [8:9]}\n"
    "c = f32[4,8,8] slice(a), slice={[0:4], [0:8], [0:8]} ROOT d = f32[4,8,9] concatenate(b, c), "
    "dimensions={2}",
    "a = f32[6,4,10] parameter(0) b = f32[10,24] parameter(1) c = f32[10,6,4] reshape(b)\n"
    "d = f32[6,4,10] transpose(c), dimensions={1,2,0} ROOT r = f32[6,4,10] add(a, d)",
    "a = f32[30] parameter(0) c = f32[3] constant({1,2,3}) d = f32[10,3] broadcast(c), "
    "dimensions={1} e1 = f32[30] "
    "reshape(d)\n"
    "ROOT r = f32[30] multiply(a, e1)",
    "a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] convert(b) d = f32[] add(a, c) m = "
    "s32[] negate(b)\n"
    "ROOT t = (f32[], s32[]) tuple(d, m)",
    "a = f32[50] parameter(0) b = f32[20,3] parameter(1) c = f32[50] negate(a) d = f32[20,3] "
    "abs(b)\n"
    "ROOT t = (f32[50], f32[20,3]) tuple(c, d)",
    "a = f32[48,32] parameter(0) b = f32[32,48] transpose(a), dimensions={1,0} c = f32[32,48] "
    "parameter(1)\n"
    "ROOT r = f32[32,48] subtract(b, c)",
    "a = f64[3,64,32] parameter(0) b = f64[3,32,64] transpose(a), dimensions={0,2,1} ROOT r = "
    "f64[3,32,64] negate(b)",
    "a = bf16[2,32,5,64] parameter(0) b = bf16[2,5,64,32] transpose(a), dimensions={0,2,3,1} ROOT "
    "r = bf16[2,5,64,32] "
    "negate(b)",
    "a = s8[64,128] parameter(0) b = s8[128,64] transpose(a), dimensions={1,0} ROOT r = s8[128,64] "
    "negate(b)",
    "a = pred[64,64] parameter(0) b = pred[64,64] transpose(a), dimensions={1,0} c = pred[64,64] "
    "parameter(1)\n"
    "d = s32[64,64] parameter(2) f = s32[64,64] transpose(d), dimensions={1,0} g = pred[64,64] "
    "xor(b, c)\n"
    "ROOT t = (pred[64,64], s32[64,64]) tuple(g, f)",
    "a = f32[6,5,4,3,7] parameter(0) b = f32[7,5,3,6,4] transpose(a), dimensions={4,1,3,0,2}\n"
    "ROOT r = f32[35,72] reshape(b)",
    "a = u8[200] parameter(0) i = s64[150,8] iota(), iota_dimension=0 j = s64[150,8] iota(), "
    "iota_dimension=1\n"
    "k = s64[150,8] add(i, j) l = s32[150,8] convert(k) m = s32[150,8,1] reshape(l)\n"
    "ROOT r = u8[150,8] gather(a, m), offset_dims={}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=2, slice_sizes={1}",
    "a = f32[200] parameter(0) i = s32[90,5] iota(), iota_dimension=0 j = s32[90,5] iota(), "
    "iota_dimension=1\n"
    "c = s32[] constant(3) b = s32[90,5] broadcast(c), dimensions={} n = s32[90,5] multiply(b, i)\n"
    "k = s32[90,5] subtract(n, j) m = s32[90,5,1] reshape(k)\n"
    "ROOT r = f32[90,5] gather(a, m), offset_dims={}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=2, slice_sizes={1}",
    "i = u8[60] iota(), iota_dimension=0 c = u8[] constant(7) b = u8[60] broadcast(c), "
    "dimensions={}\n"
    "m = u8[60] multiply(i, b) j = s32[300] iota(), iota_dimension=0 n = s8[300] convert(j)\n"
    "o = u8[300] convert(j) p = f32[300] convert(j) q = u16[300] convert(j)\n"
    "ROOT t = (u8[60], s8[300], u8[300], f32[300], u16[300]) tuple(m, n, o, p, q)",
};

static void indices(void) {
  for (int i = 0; i < COUNT(index_programs); i++)
    for (int round = 0; round < 3; round++) {
      char text[1024];
      jit_driver_t driver = {.seed = (uint64_t)i,
                             .workers = 1 + round,
                             .in_place = round == 1,
                             .small_numbers = round < 2};
      snprintf(text, sizeof text, "HloModule t\nENTRY e {\n%s }\n", index_programs[i]);
      JIT_CHECK(&driver, text);
      CU_ASSERT_EQUAL(driver.declined, 0);
    }
}

CU_TestInfo suite_jit_index[] = {{"arrays of complex numbers", complex_arrays},
                                 {"transposes of small planes", transposes_of_small_planes},
                                 {"lines shorter than a vector", short_lines},
                                 {"rows in one register", packed_rows},
                                 {"floats that are moved", moved_floats},
                                 {"tails", tails},
                                 {"indices", indices},
                                 CU_TEST_INFO_NULL};
