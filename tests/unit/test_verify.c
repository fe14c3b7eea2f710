/* The verifier: every HLO program of tests/cases/invalid is refused where and as its first line
 * says, and structures that no text can say are refused too. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "ops/rules/builder.h"
#include "ops/rules/verify.h"
#include "read/read.h"
#include "tests/lib/source_files.h"
#include "tests/lib/unit.h"

/* "// EXPECT: LINE:COLUMN TEXT" of a program; column 0 if it says none. */
typedef struct expectation {
  unsigned line, column;
  char text[512];
} expectation_t;

/* Reads the first line of a program. */
static bool read_expectation(hr_str_t program, expectation_t *out) {
  char first[1024];
  const char *newline = memchr(program.data, '\n', program.size);
  int size = newline ? (int)(newline - program.data) : (int)program.size, used = 0;
  snprintf(first, sizeof first, "%.*s", size, program.data);
  memset(out, 0, sizeof *out);
  if (sscanf(first, "// EXPECT: %u%n", &out->line, &used) < 1) return false;
  char *rest = first + used;
  if (sscanf(rest, ":%u%n", &out->column, &used) == 1) rest += used;
  rest += *rest == ' ';
  snprintf(out->text, sizeof out->text, "%.500s", rest);
  return true;
}

static hr_status_t load(const char *name, hr_str_t program) {
  hlo_module_t *module = NULL;
  hr_buffer_t *bytes;
  HR_TRY(hr_buffer_create(program.size, &bytes));
  memcpy(hr_buffer_data(bytes), program.data, program.size);
  hr_status_t st = read_module(name, bytes, &module);
  if (!st) st = hlo_verify(module);
  /* The report quotes the program's text, so it is made before the module goes. */
  if (st) {
    char *report = hr_status_format(st);
    hr_code_t code = hr_status_code(st);
    hr_status_release(st);
    st = hr_error(code, "%s", report);
    free(report);
  }
  hlo_module_destroy(module);
  hr_buffer_release(bytes);
  return st;
}

static void check_program(const char *name, hr_str_t program) {
  expectation_t expected;
  char location[64];
  hr_status_t st = load(name, program);
  hr_code_t code = hr_status_code(st);
  bool has_line = read_expectation(program, &expected);
  if (expected.column)
    snprintf(location, sizeof location, ":%u:%u:", expected.line, expected.column);
  else
    snprintf(location, sizeof location, ":%u:", expected.line);
  bool as_expected = has_line && (code == HR_INVALID || code == HR_UNSUPPORTED) &&
                     strstr(hr_status_message(st), location) &&
                     strstr(hr_status_message(st), expected.text);
  if (!as_expected)
    fprintf(stderr, "%s: want %s %s\ngot: %s\n", name, location, expected.text,
            st ? hr_status_message(st) : "no failure");
  CU_ASSERT(as_expected);
  hr_status_release(st);
}

#define SEPARATOR "// ----- "
static int programs; /* checked so far */

/* Programs of a file, each after a line "// ----- NAME". */
static void check_file(const char *path, const char *name) {
  hr_buffer_t *bytes;
  (void)name;
  CHECK_OK(hr_buffer_map_file(path, &bytes));
  const char *at = hr_buffer_data(bytes), *end = at + hr_buffer_size(bytes);
  CU_ASSERT_TRUE_FATAL(hr_buffer_size(bytes) > strlen(SEPARATOR));
  CU_ASSERT_FALSE(strncmp(at, SEPARATOR, strlen(SEPARATOR)));
  while (at < end) {
    char label[128];
    const char *begin = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    const char *next = memmem(begin, (size_t)(end - begin), SEPARATOR, strlen(SEPARATOR));
    if (!next) next = end;
    sscanf(at, SEPARATOR "%120[^\n]", label);
    check_program(label, (hr_str_t){begin, (size_t)(next - begin)});
    programs++;
    at = next;
  }
  hr_buffer_release(bytes);
}

static void test_invalid_programs(void) {
  size_t live = hr_mem_live_blocks();
  programs = 0;
  CU_ASSERT(source_files_visit("tests/cases/invalid", check_file) >= 30);
  CU_ASSERT(programs >= 550);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* ---- forms that are fine ---- */

#define ADD "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) } "
#define NEGATE "negate4 { a = f32[4] parameter(0) ROOT b = f32[4] negate(a) } "
#define LESS                                                                             \
  "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), " \
  "direction=LT } "
#define STEP                                                                     \
  "step { x = f32[3] parameter(0) c = f32[3] parameter(1) s = f32[3] add(x, c) " \
  "ROOT r = (f32[3], f32[3]) tuple(s, s) } "
#define ENTRY \
  "ENTRY main { x = f32[4] parameter(0) y = s32[2,3] parameter(1) t = token[] after-all() "

/* What real programs contain beside the plain forms of the corpora. */
static const char *const sound_programs[] = {
    ADD ENTRY
    "ROOT r = (f32[4], f32[4]) all-reduce(x, x), replica_groups={{0,1,2},{3}}, to_apply=add }",
    ADD ENTRY
    "b = bf16[4] convert(x) z = bf16[] constant(0) "
    "ROOT r = f32[] reduce(b, z), dimensions={0}, to_apply=add }",
    ADD ENTRY
    "s = f32[4] all-reduce-start(x), replica_groups={}, to_apply=add ROOT r = f32[4] "
    "all-reduce-done(s) }",
    ADD ENTRY
    "ROOT r = (f32[2], f32[2]) reduce-scatter(x, x), replica_groups={{0,1}}, dimensions={0}, "
    "to_apply=add }",
    ENTRY
    "s = ((f32[4], s32[2,3]), (f32[8], s32[4,3])) all-gather-start(x, y), replica_groups={{0,1}}, "
    "dimensions={0} "
    "ROOT r = (f32[8], s32[4,3]) all-gather-done(s) }",
    ENTRY "ROOT r = f32[16] all-gather(x), channel_id=1, replica_groups={{0,1}}, dimensions={0} }",
    ENTRY "ROOT r = (f32[4], f32[4]) all-to-all(x, x), replica_groups={{0,1},{2,3}} }",
    ENTRY
    "s = (f32[4], f32[4], u32[], u32[]) collective-permute-start(x), "
    "source_target_pairs={{0,1},{1,0}} "
    "ROOT r = f32[4] collective-permute-done(s) }",
    ENTRY "ROOT r = (f32[4], s32[2,3]) collective-permute(x, y), source_target_pairs={} }",
    ENTRY
    "c = s32[] constant(0) o = (s32[]) tuple(c) ROOT r = f32[4] collective-permute(x, x, o, o), "
    "source_target_pairs={{0,1}}, slice_sizes={{2}} }",
    NEGATE ENTRY
    "s = ((f32[4]), f32[4], u32[]) async-start(x), calls=negate4 "
    "u = ((f32[4]), f32[4], u32[]) async-update(s) ROOT r = f32[4] async-done(u) }",
    ENTRY
    "s = (f32[4], u32[], token[]) send(x, t), channel_id=1 ROOT r = token[] send-done(s), "
    "channel_id=1 }",
    ENTRY
    "s = (f32[4], u32[], token[]) recv(t), channel_id=1 ROOT r = (f32[4], token[]) recv-done(s), "
    "channel_id=1 }",
    ENTRY "ROOT r = ((f32[4], s32[]), token[]) infeed(t) }",
    ENTRY "ROOT r = token[] outfeed(x, t), outfeed_shape=f32[4]{0} }",
    ENTRY "s = (f32[4], f32[4], u32[]) copy-start(x) ROOT r = f32[4] copy-done(s) }",
    ENTRY
    "n = s32[] constant(2) d = f32[<=4] set-dimension-size(x, n), dimensions={0} "
    "e = f32[<=4] add(d, d) ROOT r = f32[<=4] slice(e), slice={[0:4]} }",
    ENTRY "n = s32[] constant(2) ROOT r = f32[<=2,<=2] dynamic-reshape(x, n, n) }",
    ENTRY
    "i = s32[2] constant({0, 1}) ROOT r = s32[1,2] dynamic-slice(y, i), dynamic_slice_sizes={1,2} "
    "}",
    ENTRY "ROOT r = (f32[2], s32[2]) topk(x), k=2, largest=true }",
    ENTRY "ROOT r = f32[2,4] broadcast(x), dimensions={1} }",
    ENTRY "ROOT r = s32[3,2] bitcast(y) }",
    ENTRY "ROOT r = u8[4,4] bitcast-convert(x) }",
    STEP
    "ENTRY main { x = f32[5,3] parameter(0) c = f32[3] parameter(1) ROOT r = (f32[5,3], f32[3]) "
    "scan(x, c), "
    "dimensions={0}, num_carries=1, to_apply=step }",
    ADD LESS ENTRY
    "z = f32[] constant(0) u = f32[2] constant({1, 2}) ROOT r = f32[4] select-and-scatter(x, u, "
    "z), "
    "window={size=2 stride=2}, select=less, scatter=add }",
    "ENTRY main { a = f32[6,4] parameter(0) b = f32[3,4,5] parameter(1) g = s32[3] parameter(2) "
    "ROOT r = f32[6,5] "
    "ragged-dot(a, b, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
    "rhs_group_dims={0} }",
    "ENTRY main { a = u8[2,8,4] parameter(0) b = s8[3,4,6] parameter(1) ROOT r = f32[2,6,6] "
    "convolution(a, b), "
    "window={size=3}, dim_labels=b0f_0io->b0f }",
    "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (1, {}) } ENTRY "
    "main { "
    "a = f32[4] parameter(0) b = f32[] parameter(1) ROOT r = (f32[4], f32[]) tuple(a, b) }",
};

static hr_status_t verify_text(const char *text) {
  hr_buffer_t *bytes = NULL;
  hlo_module_t *module = NULL;
  hr_status_t st = hr_buffer_create(strlen(text), &bytes);
  if (!st) {
    memcpy(hr_buffer_data(bytes), text, strlen(text));
    st = read_module("sound.hlo", bytes, &module);
  }
  if (!st) st = hlo_verify(module);
  if (st) hr_status_print(stderr, st);
  hlo_module_destroy(module);
  hr_buffer_release(bytes);
  return st;
}

static void test_sound_programs(void) {
  char text[4096];
  for (size_t i = 0; i < sizeof sound_programs / sizeof *sound_programs; i++) {
    bool has_header = !strncmp(sound_programs[i], "HloModule", 9);
    snprintf(text, sizeof text, "%s%s", has_header ? "" : "HloModule m ", sound_programs[i]);
    CHECK_OK(verify_text(text));
  }
}

/* ---- structures ---- */

/* main { a = f32[] parameter(0); ROOT b = f32[] negate(a) }, after an empty computation if asked.
 */
typedef struct program {
  hlo_module_t *module;
  hlo_computation_t *callee, *main;
  hlo_instr_t *a, *b;
} program_t;

static hr_status_t add_parameter(hlo_computation_t *computation, int64_t number,
                                 hlo_instr_t **out_instr) {
  hlo_attr_t attr = {.key = HLO_ATTR_PARAMETER_NUMBER, .integer = number};
  hlo_instr_def_t def = {.op = HLO_PARAMETER,
                         .name = HR_STR("a"),
                         .shape = hlo_shape_scalar(HR_F32),
                         .attr_count = 1,
                         .attrs = &attr};
  return hlo_instr_add(computation, &def, out_instr);
}

static hr_status_t add_negate(hlo_computation_t *computation, hlo_instr_t *operand,
                              hlo_instr_t **out_instr) {
  hlo_instr_def_t def = {
      .op = HLO_NEGATE, .name = HR_STR("b"), .operand_count = 1, .operands = &operand};
  return hlo_instr_add(computation, &def, out_instr);
}

static void make_program(program_t *p) {
  CHECK_OK(hlo_module_create(HR_STR("m"), &p->module));
  CHECK_OK(hlo_computation_add(p->module, HR_STR("callee"), &p->callee));
  CHECK_OK(add_parameter(p->callee, 0, &p->a));
  p->callee->root = p->a;
  CHECK_OK(hlo_computation_add(p->module, HR_STR("main"), &p->main));
  CHECK_OK(add_parameter(p->main, 0, &p->a));
  CHECK_OK(add_negate(p->main, p->a, &p->b));
  p->main->root = p->b;
  p->module->entry = p->main;
}

static void test_sound_structure(void) {
  program_t p;
  make_program(&p);
  CHECK_OK(hlo_verify(p.module));
  hlo_module_destroy(p.module);
}

static void test_no_entry(void) {
  program_t p;
  make_program(&p);
  p.module->entry = NULL;
  CHECK_FAILS(HR_INVALID, hlo_verify(p.module));
  hlo_module_destroy(p.module);
}

static void test_root_elsewhere(void) {
  program_t p;
  make_program(&p);
  p.callee->root = p.b;
  CHECK_FAILS(HR_INVALID, hlo_verify(p.module));
  p.callee->root = NULL;
  CHECK_FAILS(HR_INVALID, hlo_verify(p.module));
  hlo_module_destroy(p.module);
}

static void test_operand_elsewhere(void) {
  program_t p;
  make_program(&p);
  p.b->operands[0] = p.callee->root;
  CHECK_FAILS(HR_INVALID, hlo_verify(p.module));
  p.b->operands[0] = p.b;
  CHECK_FAILS(HR_INVALID, hlo_verify(p.module));
  hlo_module_destroy(p.module);
}

static void test_parameter_gap(void) {
  program_t p;
  hlo_instr_t *far;
  make_program(&p);
  CHECK_OK(add_parameter(p.main, 3, &far));
  CHECK_FAILS(HR_INVALID, hlo_verify(p.module));
  hlo_module_destroy(p.module);
}

static hr_status_t add_call(hlo_computation_t *from, hlo_computation_t *to) {
  hlo_attr_t attr = {.key = HLO_ATTR_TO_APPLY, .called_count = 1};
  hlo_instr_t *instr, *argument = from->params.data[0];
  hlo_instr_def_t def = {.op = HLO_CALL,
                         .name = HR_STR("c"),
                         .shape = hlo_shape_scalar(HR_F32),
                         .operand_count = 1,
                         .operands = &argument,
                         .attr_count = 1,
                         .attrs = &attr,
                         .called_count = 1,
                         .called = &to};
  return hlo_instr_add(from, &def, &instr);
}

static void test_recursion(void) {
  program_t p;
  make_program(&p);
  CHECK_OK(add_call(p.main, p.callee));
  CHECK_OK(hlo_verify(p.module));
  CHECK_OK(add_call(p.callee, p.main));
  CHECK_FAILS(HR_INVALID, hlo_verify(p.module));
  hlo_module_destroy(p.module);
}

static void test_missing_pieces(void) {
  program_t p;
  make_program(&p);
  hlo_instr_def_t def = {
      .op = HLO_TRANSPOSE, .name = HR_STR("t"), .operand_count = 1, .operands = &p.a};
  hlo_instr_t *instr;
  CHECK_FAILS(HR_INVALID, hlo_instr_add(p.main, &def, &instr));
  def.op = HLO_ADD;
  CHECK_FAILS(HR_INVALID, hlo_instr_add(p.main, &def, &instr));
  def.op = HLO_RESHAPE;
  CHECK_FAILS(HR_INVALID, hlo_instr_add(p.main, &def, &instr));
  def.op = HLO_NEGATE;
  def.called = &p.callee;
  def.called_count = 1;
  CHECK_FAILS(HR_INVALID, hlo_instr_add(p.main, &def, &instr));
  hlo_module_destroy(p.module);
}

CU_TestInfo suite_verify[] = {
    {"invalid programs", test_invalid_programs}, {"sound programs", test_sound_programs},
    {"sound structure", test_sound_structure},   {"no entry", test_no_entry},
    {"root elsewhere", test_root_elsewhere},     {"operand elsewhere", test_operand_elsewhere},
    {"parameter gap", test_parameter_gap},       {"recursion", test_recursion},
    {"missing pieces", test_missing_pieces},     CU_TEST_INFO_NULL,
};
