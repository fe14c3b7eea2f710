/* Programs that the reader of HLO text refuses, and where its messages point. */
#include <stdlib.h>

#include "ir/print.h"
#include "ir/sharding.h"
#include "ops/rules/verify.h"
#include "tests/lib/faults.h"
#include "tests/lib/hlo_text_checks.h"
#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

static void refuses_names(void) {
  refuse(IN_ENTRY("x = f32[2] parameter(0)\ny = f32[2] reverse(x), dimensions = {0}"),
         "t.hlo:4:24: error: found 'dimensions'");
  refuse(IN_ENTRY("x=f32[4] parameter(0)"), "a blank between");
  refuse(IN_ENTRY("%1 = f32[4] parameter(0)"), "a name that starts with a letter");
  refuse(IN_ENTRY("%f32 = f32[4] parameter(0)"), "f32_ would do");
  refuse(IN_ENTRY("s2 = f32[4] parameter(0)"), "reserved");
  refuse(IN_ENTRY("manual = f32[4] parameter(0)"), "reserved");
  refuse(IN_ENTRY("inf = f32[4] parameter(0)"), "reserved");
  refuse("HloModule m\nENTRY e (%p: f32[]) -> f32[] { p = f32[] parameter(0) }", "want a shape");
  refuse(IN_ENTRY("# comment\nx = f32[4] parameter(0)"), "found '#'");
  refuse(IN_ENTRY("x = f32[4] parameter(0); y = f32[4] parameter(1)"), "found ';'");
  refuse(IN_ENTRY("x = f32[4] parameter(0), y = f32[4] parameter(1)"), "found 'y'");
}

static void refuses_shapes(void) {
  refuse(IN_ENTRY("x = f32[4] parameter(0)\ny = f32[4]{} negate(x)"), "found '{'");
  refuse(IN_ENTRY("x = f32[4]{:S(5)} parameter(0)"), "orders 0 dimensions, want all 1");
  refuse(IN_ENTRY("x = f32[2x3] parameter(0)"), "found '2x3'");
  refuse(IN_ENTRY("x = f32[-1] parameter(0)"), "a size of 0 or more");
}

static void refuses_literals(void) {
  refuse(IN_ENTRY("x = f32[2,1] constant({{...},{...}})"), "2 braces deep");
  refuse(IN_ENTRY("x = f32[] constant(...)"), "found '...'");
  refuse(IN_ENTRY("x = f32[] constant({...})"), "found '{'");
  refuse(IN_ENTRY("x = (f32[2], f32[2]) constant({...})"), "want '('");
  refuse(IN_ENTRY("x = f32[2] constant({{1,2}})"), "found '{' 2 deep");
  refuse(IN_ENTRY("x = f32[2,2] constant({1,2})"), "more dimensions");
  refuse(IN_ENTRY("x = f32[2] constant({1})"), "found 1 elements in dimension 0, want 2");
  refuse(IN_ENTRY("x = f32[2] constant({1,2,3})"), "found 3 elements");
  refuse(IN_ENTRY("x = f32[99999999] constant({1})"), "found 1 elements");
  refuse(IN_ENTRY("x = f32[1000000000000] constant({1})"), "found 1 elements");
  refuse(IN_ENTRY("x = s32[] constant(1.0)"), "an integer");
  refuse(IN_ENTRY("x = u8[] constant(-1)"), "out of range for u8");
  refuse(IN_ENTRY("x = s8[] constant(200)"), "out of range for s8");
  refuse(IN_ENTRY("x = f32[] constant(1e39)"), "out of range for f32");
  refuse(IN_ENTRY("x = bf16[] constant(3.4e38)"), "out of range for bf16");
  refuse(IN_ENTRY("x = f8e4m3fn[] constant(500)"), "out of range");
  refuse(IN_ENTRY("x = f32[] constant(true)"), "a number");
  refuse(IN_ENTRY("x = f32[] constant(nan(0x0))"), "payload");
  refuse(IN_ENTRY("x = f32[] constant(nan())"), "payload");
  refuse(IN_ENTRY("x = f16[] constant(nan(0x400))"), "payload 0x400");
  refuse(IN_ENTRY("x = f8e4m3fn[] constant(nan(0x1))"), "only one NaN");
  refuse(IN_ENTRY("x = c64[] constant(1)"), "(re, im)");
  refuse(IN_ENTRY("x = f32[2] constant(f32[2] {1,2})"), "found 'f32'");
}

static void refuses_attributes(void) {
  refuse(IN_ENTRY(
             "x = f32[4] parameter(0)\nz = f32[] constant(0)\nw = f32[2] reduce-window(x, z), "
             "window={size=3, pad=1_0}, "
             "to_apply={ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a,b) }"),
         "found ','");
  refuse(IN_ENTRY("x = f32[2,2] parameter(0)\ny = f32[2,2] cholesky(x), lower=1"), "true or false");
  refuse(IN_ENTRY("x = f32[2] parameter(0)\ny = pred[2] compare(x, x), direction=lt"),
         "one of EQ, NE, GE, GT, LE, LT");
  refuse(IN_ENTRY("x = c64[2] parameter(0)\ny = c64[2] fft(x), fft_type=fft, fft_length={2}"),
         "one of FFT");
  refuse(IN_ENTRY("x = f32[] parameter(0), control-predecessors={}"), "the name of an instruction");
  refuse(IN_ENTRY("x = f32[] parameter(0), frontend_attributes={a=b}"), "a string in quotes");
  refuse(IN_ENTRY("x = f32[] parameter(0), frontend_attributes={\"a b\"=\"c\"}"),
         "directly followed by '='");
  refuse(IN_ENTRY("x = f32[2] parameter(0)\ny = f32[2] negate(x), sharding={replicated}, "
                  "sharding={replicated}"),
         "once");
  refuse(IN_ENTRY("x = f32[2] parameter(0)\ny = f32[2] reverse(x), dimensions={0}, dimensions={0}"),
         "once");
  refuse(IN_ENTRY("x = f32[2] parameter(0)\ny = f32[2] negate(x), foo=1"),
         "t.hlo:4:23: error: negate has no attribute 'foo'");
  refuse(IN_ENTRY("x = f32[2] parameter(0)\ny = f32[2] reverse(x)"),
         "lacks its attribute dimensions=");
  refuse("HloModule m, foo=1\nENTRY e { x = f32[] parameter(0) }",
         "t.hlo:1:14: error: found 'foo='");
}

static void refuse_collective(const char *rest, const char *message) {
  char text[512];
  snprintf(text, sizeof text,
           "HloModule m, replica_count=8\n" ADDER "ENTRY e { x = f32[8] parameter(0)\n%s }", rest);
  refuse(text, message);
}

static void refuses_collectives(void) {
  refuse_collective("r = f32[8] all-reduce(x), to_apply=add, replica_groups=[2,2,2]<=[8]",
                    "want [groups,members]");
  refuse_collective("r = f32[8] all-reduce(x), to_apply=add, replica_groups=[4,2]<=[4,2]",
                    "T(...)");
  refuse_collective("r = f32[8] all-reduce(x), to_apply=add, replica_groups=[4,2]<=[8]T(0)",
                    "T(...) of one dimension");
  refuse_collective(
      "r = f32[8] all-reduce(x), to_apply=add, replica_groups=[1000000,1000000]<=[1000000000000]",
      "too many devices");
  refuse_collective("r = f32[8] all-reduce(x), to_apply=add, replica_groups=[4,4]<=[8]",
                    "of that product");
  refuse_collective("r = f32[8] all-reduce(x), to_apply=add, replica_groups=mesh['a'=8] {'b'}",
                    "an axis of the mesh");
  refuse_collective(
      "r = f32[8] all-reduce(x), to_apply=add, replica_groups=mesh['a'=8,'b'=1] {'b'}",
      "one device per group");
  refuse_collective("r = f32[8] all-reduce(x), to_apply=add, replica_groups=mesh['a'=8] {'a','a'}",
                    "is used twice");
  refuse_collective("r = f32[8] all-reduce(x), to_apply=add, use_global_device_ids=true",
                    "channel_id");
  refuse_collective(
      "r = f32[8] all-to-all(x), dimensions={0}, use_global_device_ids=true, channel_id=1",
      "has no attribute");
  refuse_collective("r = f32[64] all-gather(x)", "lacks its attribute dimensions=");
}

static void refuses_structure(void) {
  refuse(
      IN_ENTRY("p = pred[] parameter(0)\nx = f32[] parameter(1)\ny = f32[] conditional(p, x, x), "
               "branch_computations={{a = f32[] parameter(0)},{a = f32[] parameter(0)}}"),
      "true_computation=");
  refuse(
      "HloModule m\nc { ROOT x = f32[4] parameter(0) }\nENTRY e { x = f32[4] parameter(0)\n"
      "s = (f32[4], f32[4]) async-start(x), calls=c\nd = f32[4] async-done(s) }",
      "async-start");
  refuse(IN_ENTRY("ROOT x = f32[] parameter(0)\nROOT y = f32[] negate(x)"), "second ROOT");
  refuse("HloModule m\nENTRY a { x = f32[] parameter(0) }\nENTRY b { x = f32[] parameter(0) }",
         "one ENTRY only");
  refuse(IN_ENTRY("y = f32[] negate(x)\nx = f32[] parameter(0)"),
         "t.hlo:3:18: error: operand 'x' is not defined");
  refuse(IN_ENTRY("x = f32[] parameter(0)\nx = f32[] negate(x)"), "defined twice");
  refuse("HloModule m\na { x = f32[] parameter(0) }\na { x = f32[] parameter(0) }",
         "defined twice");
  refuse(IN_ENTRY("x = f32[] parameter(0)\ny = f32[] parameter(0)"), "parameter number 0 is taken");
  refuse(IN_ENTRY("x = f32[] parameter(0)\ny = f32[] parameter(2)"), "no parameter(1)");
  refuse(IN_ENTRY("x = f32[] parameter(1000000)"), "without gaps");
  refuse(IN_ENTRY("x = f32[4] parameter(0)\ny = f32[4] negate(f32[5] x)"),
         "found shape f32[5], want f32[4]");
  refuse(IN_ENTRY("x = f32[4] parameter(0)\ny = f32[4] add(x)"), "add has 1 operand, want 2");
  refuse(IN_ENTRY("x = f32[4] parameter(0)\ny = f32[4] multipli(x, x)"), "did you mean 'multiply'");
  refuse(IN_ENTRY("x = f32[4] parameter(0)\ny = convert(x)"), "want it written");
  refuse("HloModule m\nENTRY e (x: f32[4]) -> f32[5] { x = f32[4] parameter(0) }",
         "the signature says result f32[5]");
  refuse("", "an HLO module");
  refuse("HloModule m", "a computation");
  refuse("HloModule m\nENTRY e { }", "at least one instruction");
  refuse("HloModule m\nENTRY e { x = f32[] parameter(0), backend_config=\"a", "has no end");
  refuse("HloModule m /* ", "has no end");
}

/* Sizes that a few bytes can ask for must not cost memory or stack. */
static void refuses_depth(void) {
  enum { DEPTH = 20000 };
  char *text = malloc(DEPTH * 8 + 100);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  char *to = text + sprintf(text, "HloModule m ENTRY e { x = f32[] parameter(0) y = f32[] ");
  for (int i = 0; i < DEPTH; i++) to += sprintf(to, "negate(");
  refuse(text, "operands nested more than 1500 deep");
  to = text + sprintf(text, "HloModule m ENTRY e { x = ");
  for (int i = 0; i < DEPTH; i++) *to++ = '(';
  *to = 0;
  refuse(text, "tuples nested more than 1500 deep");
  to = text + sprintf(text, "HloModule m ENTRY e { x = f32[] call(), to_apply={");
  for (int i = 0; i < DEPTH / 4; i++) to += sprintf(to, "x = f32[] call(), to_apply={");
  refuse(text, "computations nested more than 1500 deep");
  to = text + sprintf(text, "HloModule m ENTRY e { t0 = f32[] parameter(0)\n");
  for (int i = 0; i < 60; i++) to += sprintf(to, "t%d = tuple(t%d, t%d)\n", i + 1, i, i);
  sprintf(to, "}");
  refuse(text, "far larger than the program");
  free(text);
}

CU_TestInfo suite_hlo_text_errors[] = {
    {"refuses names", refuses_names},
    {"refuses shapes", refuses_shapes},
    {"refuses literals", refuses_literals},
    {"refuses attributes", refuses_attributes},
    {"refuses collectives", refuses_collectives},
    {"refuses structure", refuses_structure},
    {"refuses depth", refuses_depth},
    CU_TEST_INFO_NULL,
};
