/* Dictionaries of MLIR attributes, as custom calls carry them: values by name, and texts that
 * are refused. */
#include <string.h>

#include "mlir/mlir_dict.h"
#include "tests/lib/unit.h"

static hr_status_t parse(hr_arena_t *arena, const char *text, const dict_value_t **out_dict) {
  return mlir_dict_parse(arena, hr_str_from(text), out_dict);
}

/* A name may be a quoted text. A float is no integer: the caller's default comes back. */
static void scalars(void) {
  hr_arena_t arena;
  const dict_value_t *dict = NULL;
  hr_arena_init(&arena);
  CHECK_OK(
      parse(&arena,
            "{uplo = 76 : ui8, a = -3 : i32, b = true, f = 1.500000e+00 : f32, flag, \"q n\" = 2}",
            &dict));
  CU_ASSERT_EQUAL(mlir_dict_int(dict, "uplo", 0), 76);
  CU_ASSERT_EQUAL(mlir_dict_int(dict, "a", 0), -3);
  CU_ASSERT_EQUAL(mlir_dict_int(dict, "b", 0), 1);
  CU_ASSERT_EQUAL(mlir_dict_int(dict, "q n", 0), 2);
  CU_ASSERT_EQUAL(mlir_dict_int(dict, "f", 9), 9);
  CU_ASSERT_EQUAL(mlir_dict_int(dict, "absent", 7), 7);
  CU_ASSERT_EQUAL(mlir_dict_find(dict, "f")->number, 1.5);
  CU_ASSERT_TRUE(hr_str_is(mlir_dict_find(dict, "uplo")->type, "ui8"));
  CU_ASSERT_EQUAL(mlir_dict_find(dict, "flag")->kind, DICT_UNIT);
  hr_arena_deinit(&arena);
}

/* Hexadecimal digits of a float are its bits, of an integer its value. */
static void hexadecimal_is_bits(void) {
  hr_arena_t arena;
  const dict_value_t *dict = NULL;
  hr_arena_init(&arena);
  CHECK_OK(parse(
      &arena,
      "{nan = 0x7FF8000000000000 : f64, one = 0x3F800000 : f32, n = 0xFFFFFFFFFFFFFFFF : ui64}",
      &dict));
  CU_ASSERT_TRUE(mlir_dict_find(dict, "nan")->number != mlir_dict_find(dict, "nan")->number);
  CU_ASSERT_EQUAL(mlir_dict_find(dict, "one")->number, 1);
  CU_ASSERT_EQUAL(mlir_dict_int(dict, "n", 0), -1);
  hr_arena_deinit(&arena);
}

static void strings(void) {
  hr_arena_t arena;
  const dict_value_t *dict = NULL;
  hr_arena_init(&arena);
  CHECK_OK(parse(&arena, "{s = \"he\\22llo\\\\x\\0A\", t = \"\"}", &dict));
  hr_str_t s = mlir_dict_find(dict, "s")->text;
  CU_ASSERT_EQUAL(s.size, 9);
  CU_ASSERT_EQUAL(memcmp(s.data, "he\"llo\\x\n", 9), 0);
  CU_ASSERT_EQUAL(mlir_dict_find(dict, "t")->text.size, 0);
  hr_arena_deinit(&arena);
}

/* Nested lists of a dense value become one; a splat of any size has one item. */
static void lists(void) {
  hr_arena_t arena;
  const dict_value_t *dict = NULL;
  hr_arena_init(&arena);
  CHECK_OK(parse(&arena,
                 "{d = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, s = dense<5> : tensor<4xi32>, a "
                 "= array<i64: 7, 8>, "
                 "e = array<i64>, l = [1, \"x\", {k = 1}], g = {k = {k = 1 : i64}}, z = dense<> : "
                 "tensor<0xi1>, "
                 "b = dense<[true, false]> : tensor<2xi1>}",
                 &dict));
  const dict_value_t *d = mlir_dict_find(dict, "d");
  CU_ASSERT_EQUAL(d->count, 4);
  CU_ASSERT_EQUAL(d->items[3].integer, 3);
  CU_ASSERT_TRUE(hr_str_is(d->type, "tensor<2x2xi64>"));
  CU_ASSERT_EQUAL(mlir_dict_find(dict, "s")->items[0].integer, 5);
  CU_ASSERT_EQUAL(mlir_dict_find(dict, "a")->items[1].integer, 8);
  CU_ASSERT_TRUE(hr_str_is(mlir_dict_find(dict, "a")->type, "i64"));
  CU_ASSERT_EQUAL(mlir_dict_find(dict, "e")->count, 0);
  CU_ASSERT_EQUAL(mlir_dict_find(dict, "z")->count, 0);
  CU_ASSERT_EQUAL(mlir_dict_find(dict, "l")->count, 3);
  CU_ASSERT_EQUAL(mlir_dict_find(dict, "b")->items[0].kind, DICT_BOOL);
  CU_ASSERT_EQUAL(mlir_dict_int(mlir_dict_find(mlir_dict_find(dict, "g"), "k"), "k", 0), 1);
  hr_arena_deinit(&arena);
}

/* The text ends where the attribute does, also with brackets and quotes inside. */
static void other_attributes_are_kept_as_text(void) {
  hr_arena_t arena;
  const dict_value_t *dict = NULL;
  hr_arena_init(&arena);
  CHECK_OK(parse(
      &arena,
      "{t = tensor<2x3xf32>, f = @fun, o = #sdy.x<[<@m, {\"a>\"}>]>, h = (i1, i2) -> i3, last = 1}",
      &dict));
  CU_ASSERT_TRUE(hr_str_is(mlir_dict_find(dict, "t")->text, "tensor<2x3xf32>"));
  CU_ASSERT_TRUE(hr_str_is(mlir_dict_find(dict, "o")->text, "#sdy.x<[<@m, {\"a>\"}>]>"));
  CU_ASSERT_TRUE(hr_str_is(mlir_dict_find(dict, "h")->text, "(i1, i2) -> i3"));
  CU_ASSERT_EQUAL(mlir_dict_int(dict, "last", 0), 1);
  hr_arena_deinit(&arena);
}

static void empty_text_is_an_empty_dictionary(void) {
  hr_arena_t arena;
  const dict_value_t *dict = NULL;
  hr_arena_init(&arena);
  CHECK_OK(parse(&arena, "", &dict));
  CU_ASSERT_EQUAL(dict->count, 0);
  CHECK_OK(parse(&arena, " { } ", &dict));
  CU_ASSERT_EQUAL(dict->count, 0);
  hr_arena_deinit(&arena);
}

/* Nesting of any depth is an error too: it must not use up the stack. */
static void bad_text_is_refused(void) {
  static const char *const texts[] = {
      "{",         "}",          "{a = }", "{a = 1",       "{a = 1 b = 2}",
      "{a = \"x}", "{a = \"x\\", "{= 1}",  "{a = [1}",     "{a = dense<[1>}",
      "{a = 12x}", "{} x",       "opaque", "{a = array<}", "{a = \"",
      "{,}"};
  hr_arena_t arena;
  const dict_value_t *dict = NULL;
  hr_arena_init(&arena);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    CHECK_FAILS(HR_INVALID, parse(&arena, texts[i], &dict));
  char deep[4000];
  memset(deep, '[', sizeof deep - 1);
  memcpy(deep, "{a = dense<", 11);
  deep[sizeof deep - 1] = 0;
  CHECK_FAILS(HR_INVALID, parse(&arena, deep, &dict));
  memcpy(deep, "{a = [[[[[[", 11);
  CHECK_FAILS(HR_INVALID, parse(&arena, deep, &dict));
  hr_arena_deinit(&arena);
}

CU_TestInfo suite_mlir_dict[] = {
    {"scalars", scalars},
    {"hexadecimal is bits", hexadecimal_is_bits},
    {"strings", strings},
    {"lists", lists},
    {"other attributes are kept as text", other_attributes_are_kept_as_text},
    {"empty text is an empty dictionary", empty_text_is_an_empty_dictionary},
    {"bad text is refused", bad_text_is_refused},
    CU_TEST_INFO_NULL};
