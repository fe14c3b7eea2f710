/* What the tests of XlaCompiler share: a graph written as text, arguments for its functions, and
 * what was compiled last as a module and as HLO text. */
#ifndef TESTS_UNIT_XLA_FIXTURE_H
#define TESTS_UNIT_XLA_FIXTURE_H

#include <string.h>

#include "base/mem.h"
#include "ir/print.h"
#include "tests/lib/unit.h"
#include "tf/compile/xla_compiler.h"

/* A graph from text, and what was compiled last. */
typedef struct xla_fixture {
  hr_arena_t arena;
  hr_strbuf_t bytes;
  tf_graph_t graph;
  hlo_module_t *module;
  xla_compilation_result_t result;
  hr_strbuf_t text; /* HLO of the module */
} xla_fixture_t;

static inline void set_up(xla_fixture_t *f, const char *graph) {
  memset(f, 0, sizeof *f);
  hr_arena_init(&f->arena);
  hr_strbuf_init(&f->bytes);
  hr_strbuf_init(&f->text);
  CHECK_OK(tf_text_to_bytes("test", hr_str_from(graph), TF_MESSAGE_graph, &f->bytes));
  hr_str_t *piece;
  CHECK_OK(HR_NEW(&f->arena, &piece));
  *piece = (hr_str_t){f->bytes.data, f->bytes.size};
  CHECK_OK(tf_graph_read(&f->arena, proto_piece(piece), &f->graph));
}

static inline void tear_down(xla_fixture_t *f) {
  hlo_module_destroy(f->module);
  tf_graph_deinit(&f->graph);
  hr_strbuf_deinit(&f->bytes);
  hr_strbuf_deinit(&f->text);
  hr_arena_deinit(&f->arena);
}

static inline const hlo_shape_t *vector(xla_fixture_t *f, int64_t size) {
  const hlo_shape_t *shape = NULL;
  CHECK_OK(hlo_shape_array(&f->arena, HR_F32, 1, &size, &shape));
  return shape;
}

static inline xla_argument_t parameter(xla_fixture_t *f, int64_t size) {
  return (xla_argument_t){
      .kind = XLA_ARGUMENT_PARAMETER, .shape = vector(f, size), .name = HR_STR("p")};
}

static inline xla_argument_t variable(xla_fixture_t *f, int64_t size) {
  return (xla_argument_t){.kind = XLA_ARGUMENT_RESOURCE,
                          .shape = vector(f, size),
                          .name = HR_STR("v"),
                          .initialized = true};
}

/* Compiles function "f" into a new module and keeps its text. */
static inline hr_status_t compile(xla_fixture_t *f, int count, const xla_argument_t *arguments,
                                  const xla_compile_options_t *options) {
  const tf_body_t *body = tf_graph_function(&f->graph, HR_STR("f"));
  hlo_module_destroy(f->module);
  f->module = NULL;
  HR_TRY(hlo_module_create(HR_STR("test"), &f->module));
  HR_TRY(xla_compile_function(&f->graph, body, count, arguments, options, f->module, &f->result));
  hr_strbuf_deinit(&f->text);
  hr_strbuf_init(&f->text);
  hlo_print_module(&f->text, f->module, HLO_PRINT_LONG);
  return hr_strbuf_finish(&f->text);
}

static inline bool has(const xla_fixture_t *f, const char *text) {
  return strstr(f->text.data, text) != NULL;
}

static inline const hlo_shape_t *result_shape(const xla_fixture_t *f) {
  return f->module->entry->root->shape;
}

/* A shape as text. */
#define CHECK_SHAPE(shape, wanted)                                         \
  do {                                                                     \
    char shape_text[HLO_SHAPE_TEXT];                                       \
    CU_ASSERT_STRING_EQUAL(hlo_shape_text((shape), shape_text), (wanted)); \
  } while (0)

static inline xla_argument_t array_argument(xla_fixture_t *f, xla_resource_kind_t kind,
                                            int64_t size) {
  return (xla_argument_t){.kind = XLA_ARGUMENT_RESOURCE,
                          .resource_kind = kind,
                          .shape = vector(f, 2),
                          .name = HR_STR("h"),
                          .initialized = true,
                          .tensor_array_size = size};
}

/* f(a, v, b, w): returns a + b and v's value; adds a to v. w is only read. */
static const char mixed[] =
    "library { function { signature { name: 'f'"
    "  input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'v' type: DT_RESOURCE }"
    "  input_arg { name: 'b' type: DT_FLOAT } input_arg { name: 'w' type: DT_RESOURCE }"
    "  output_arg { name: 'sum' type: DT_FLOAT } output_arg { name: 'old' type: DT_FLOAT } }"
    " node_def { name: 'read' op: 'ReadVariableOp' input: 'v' input: '^one'"
    "  attr { key: 'dtype' value { type: DT_FLOAT } } }"
    " node_def { name: 'other' op: 'ReadVariableOp' input: 'w'"
    "  attr { key: 'dtype' value { type: DT_FLOAT } } }"
    " node_def { name: 'one' op: 'AddV2' input: 'a' input: 'b' }"
    " node_def { name: 'both' op: 'AddV2' input: 'one:z:0' input: 'other:value:0' }"
    " node_def { name: 'step' op: 'AssignAddVariableOp' input: 'v' input: 'a' input: '^read' }"
    " ret { key: 'sum' value: 'both:z:0' } ret { key: 'old' value: 'read:value:0' }"
    " control_ret { key: 'step' value: 'step' } } }";

#endif
