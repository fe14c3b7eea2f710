/* Programs with dynamic sizes that are compiled again for the sizes of the arguments. */
#include "base/mem.h"
#include "tests/lib/api_driver.h"

enum { MAX_ROWS = 8, COLUMNS = 2 };

static hlorun_buffer_t *rows_of(int64_t rows) {
  float ones[MAX_ROWS * COLUMNS];
  hlorun_buffer_t *buffer = NULL;
  for (int i = 0; i < MAX_ROWS * COLUMNS; i++) ones[i] = 1;
  CHECK_OK(hlorun_buffer_create("f32", 2, (int64_t[]){rows, COLUMNS}, ones, NULL, NULL, &buffer));
  return buffer;
}

/* Three times doubled in a loop, and once more if there are many rows. */
static const char *const doubling =
    "HloModule m\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
    "body { s = (s32[], f32[<=8,2]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
    "  x = f32[<=8,2] get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, one)\n"
    "  y = f32[<=8,2] add(x, x) ROOT t = (s32[], f32[<=8,2]) tuple(j, y) }\n"
    "cond { s = (s32[], f32[<=8,2]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
    "  three = s32[] constant(3) ROOT c = pred[] compare(i, three), direction=LT }\n"
    "double { x = f32[<=8,2] parameter(0) ROOT y = f32[<=8,2] add(x, x) }\n"
    "same { ROOT x = f32[<=8,2] parameter(0) }\n"
    "ENTRY e { p = f32[<=8,2] parameter(0) size = s32[] get-dimension-size(p), dimensions={0}\n"
    "  zero = s32[] constant(0) t = (s32[], f32[<=8,2]) tuple(zero, p)\n"
    "  w = (s32[], f32[<=8,2]) while(t), condition=cond, body=body\n"
    "  y = f32[<=8,2] get-tuple-element(w), index=1 four = s32[] constant(4)\n"
    "  many = pred[] compare(size, four), direction=GT\n"
    "  c = f32[<=8,2] conditional(many, y, y), true_computation=double, false_computation=same\n"
    "  none = f32[] constant(0) sums = f32[2] reduce(c, none), dimensions={0}, to_apply=sum\n"
    "  flat = f32[<=16] reshape(c) ROOT r = (s32[], f32[2], f32[<=16]) tuple(size, sums, flat) }\n";

static void check_doubling(hlorun_program_t *program, int64_t rows) {
  hlorun_buffer_t *arg = rows_of(rows), *results[3];
  float each = rows > 4 ? 16 : 8;
  CHECK_OK(hlorun_execute(program, &arg, NULL, results));
  CU_ASSERT_EQUAL(*(const int32_t *)hlorun_buffer_data(results[0]), rows);
  CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(results[1]))[1], each * (float)rows);
  CU_ASSERT_EQUAL(hlorun_buffer_dims(results[2])[0], rows * COLUMNS);
  for (int64_t i = 0; i < rows * COLUMNS; i++)
    CU_ASSERT_EQUAL(((const float *)hlorun_buffer_data(results[2]))[i], each);
  for (int r = 0; r < 3; r++) hlorun_buffer_release(results[r]);
  hlorun_buffer_release(arg);
}

/* More sizes than are kept, and in the end more copies than are made. */
static void test_many_sizes(void) {
  size_t live = hr_mem_live_blocks();
  hlorun_client_options_t options;
  hlorun_client_options_init(&options);
  options.world = HLORUN_WORLD_SINGLE;
  hlorun_client_t *client = NULL;
  CHECK_OK(hlorun_client_create(&options, &client));
  hlorun_program_t *program = api_load(client, doubling);
  for (int iteration = 0; iteration < 4; iteration++)
    for (int64_t rows = 0; rows <= MAX_ROWS; rows++) check_doubling(program, rows);
  hlorun_program_release(program);
  hlorun_client_release(client, 0);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* Takes the rows two by two. For a single row there is no static form, as a part of two rows would
 * not fit in it. */
static const char *const by_pairs =
    "HloModule m\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n"
    "body { s = (s32[], s32[], f32[], f32[<=8,2]) parameter(0) i = s32[] get-tuple-element(s), "
    "index=0\n"
    "  n = s32[] get-tuple-element(s), index=1 total = f32[] get-tuple-element(s), index=2\n"
    "  x = f32[<=8,2] get-tuple-element(s), index=3 two = s32[] constant(2) zero = s32[] "
    "constant(0)\n"
    "  pair = f32[2,2] dynamic-slice(x, i, zero), dynamic_slice_sizes={2,2} none = f32[] "
    "constant(0)\n"
    "  part = f32[] reduce(pair, none), dimensions={0,1}, to_apply=sum more = f32[] add(total, "
    "part)\n"
    "  j = s32[] add(i, two) ROOT t = (s32[], s32[], f32[], f32[<=8,2]) tuple(j, n, more, x) }\n"
    "cond { s = (s32[], s32[], f32[], f32[<=8,2]) parameter(0) i = s32[] get-tuple-element(s), "
    "index=0\n"
    "  n = s32[] get-tuple-element(s), index=1 one = s32[] constant(1) last = s32[] subtract(n, "
    "one)\n"
    "  ROOT c = pred[] compare(i, last), direction=LT }\n"
    "ENTRY e { p = f32[<=8,2] parameter(0) size = s32[] get-dimension-size(p), dimensions={0}\n"
    "  zero = s32[] constant(0) none = f32[] constant(0)\n"
    "  t = (s32[], s32[], f32[], f32[<=8,2]) tuple(zero, size, none, p)\n"
    "  w = (s32[], s32[], f32[], f32[<=8,2]) while(t), condition=cond, body=body\n"
    "  total = f32[] get-tuple-element(w), index=2\n"
    "  ROOT all = f32[] all-reduce(total), replica_groups={}, to_apply=sum }\n";

/* One to four rows: 0, 4, 4 and 8 of the ones are in pairs. The first process runs the program
 * itself. */
static void test_sizes_differ_between_peers(void) {
  enum { MEMBERS = 4 };
  api_member_t members[MEMBERS];
  for (int i = 0; i < MEMBERS; i++)
    members[i] = (api_member_t){.program = by_pairs, .arg = rows_of(i + 1)};
  api_grid_run(MEMBERS, members);
  for (int i = 0; i < MEMBERS; i++) CU_ASSERT_EQUAL(members[i].got, 16);
}

CU_TestInfo suite_shape_specializations[] = {
    {"results have the sizes of the arguments", test_many_sizes},
    {"peers have arguments of other sizes", test_sizes_differ_between_peers},
    CU_TEST_INFO_NULL};
