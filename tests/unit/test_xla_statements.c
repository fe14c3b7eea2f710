/* The statements of XlaCompiler's documentation on whole graphs, control flow, resources without a
 * value, cores of variables, construction and the cache. tests/unit/xla_statements.list names the
 * test of every statement. */
#include "ops/rules/verify.h"
#include "tests/lib/faults.h"
#include "tests/lib/xla_fixture.h"

/* --- graphs of _Arg and _Retval nodes --- */

/* Adds a to v and returns 2a and the old v. The nodes are not in the order of their indices. */
static const char graph[] =
    "node { name: 'second' op: '_Retval' input: 'read' attr { key: 'T' value { type: DT_FLOAT } }"
    "  attr { key: 'index' value { i: 1 } } }"
    " node { name: 'v' op: '_Arg' attr { key: 'T' value { type: DT_RESOURCE } }"
    "  attr { key: 'index' value { i: 0 } }"
    "  device: '/replica:0/device:TPU_REPLICATED_CORE:2' }"
    " node { name: 'a' op: '_Arg' attr { key: 'T' value { type: DT_FLOAT } }"
    "  attr { key: 'index' value { i: A } } }"
    " node { name: 'twice' op: 'AddV2' input: 'a' input: 'a' }"
    " node { name: 'read' op: 'ReadVariableOp' input: 'v'"
    "  attr { key: 'dtype' value { type: DT_FLOAT } } }"
    " node { name: 'step' op: 'AssignAddVariableOp' input: 'v' input: 'a' input: '^read' }"
    " node { name: 'first' op: '_Retval' input: 'twice' input: '^step'"
    "  attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'index' value { i: 0 } } }";

/* The graph with another index of its argument a. */
static void set_up_graph(xla_fixture_t *f, char index) {
  char text[sizeof graph];
  memcpy(text, graph, sizeof graph);
  *strstr(text, "i: A") = 'i';
  strstr(text, "i: A")[3] = index;
  set_up(f, text);
}

/* CompileGraph of the main graph. */
static hr_status_t compile_graph(xla_fixture_t *f, int count, const xla_argument_t *arguments) {
  xla_graph_signature_t signature;
  xla_compile_options_t options = {.is_entry_computation = true};
  HR_TRY(hlo_module_create(HR_STR("test"), &f->module));
  HR_TRY(xla_graph_signature(&f->arena, &f->graph, &signature));
  HR_TRY(
      xla_compile_graph(&f->graph, &signature, count, arguments, &options, f->module, &f->result));
  hlo_print_module(&f->text, f->module, HLO_PRINT_LONG);
  return hr_strbuf_finish(&f->text);
}

/* "Graphs receive inputs via _Arg nodes and return outputs via _Retval nodes": both by index, with
 * the core of an _Arg's device. */
static void test_graph_of_args_and_retvals(void) {
  xla_fixture_t f;
  set_up_graph(&f, '1');
  xla_argument_t arguments[] = {variable(&f, 3), parameter(&f, 3)};
  CHECK_OK(compile_graph(&f, 2, arguments));
  CU_ASSERT_EQUAL_FATAL(f.result.parameter_count, 2);
  CU_ASSERT_EQUAL(f.result.input_mapping[0], 1);
  CU_ASSERT_EQUAL(f.result.input_mapping[1], 0);
  const hlo_instr_t *root = f.module->entry->root;
  CU_ASSERT_EQUAL_FATAL(root->operand_count, 3);
  CU_ASSERT_EQUAL(root->operands[0]->op, HLO_ADD);
  CU_ASSERT_EQUAL(root->operands[1]->op, HLO_PARAMETER);
  CU_ASSERT_EQUAL(f.result.update_count, 1);
  CU_ASSERT_EQUAL(f.module->num_partitions, 3);
  CU_ASSERT_TRUE(has(&f, "sharding={maximal device=2}"));
  CHECK_OK(hlo_verify(f.module));
  tear_down(&f);
}

/* "One Argument for each _Arg index": an index that is missing or occurs twice is refused. */
static void test_one_argument_per_index(void) {
  static const char *const said[] = {"Multiple _Arg nodes with index 0",
                                     "Expected _Arg node with index 1", "the index of _Arg node a"};
  static const char indices[] = {'0', '5', '9'};
  for (int i = 0; i < 3; i++) {
    xla_fixture_t f;
    set_up_graph(&f, indices[i]);
    xla_argument_t arguments[] = {variable(&f, 3), parameter(&f, 3)};
    hr_status_t st = compile_graph(&f, 2, arguments);
    CU_ASSERT_EQUAL(hr_status_code(st), HR_INVALID);
    CU_ASSERT_PTR_NOT_NULL_FATAL(st);
    CU_ASSERT_PTR_NOT_NULL(strstr(hr_status_message(st), said[i]));
    hr_status_release(st);
    tear_down(&f);
  }
  xla_fixture_t f;
  set_up(&f, mixed);
  xla_argument_t one = parameter(&f, 3);
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_FAILS(HR_INVALID, compile(&f, 1, &one, &options));
  tear_down(&f);
}

/* --- control flow --- */

/* f(n, x): a loop of TensorFlow 1 that adds x n times to 0, where x is an invariant. */
static const char frames[] =
    "library { function { signature { name: 'f' input_arg { name: 'n' type: DT_INT32 }"
    "  input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }"
    "  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }"
    " node_def { name: 'start' op: 'Sub' input: 'x' input: 'x' }"
    " node_def { name: 'en' op: 'Enter' input: 'n' attr { key: 'frame_name' value { s: 'l' } } }"
    " node_def { name: 'es' op: 'Enter' input: 'start:z:0'"
    "  attr { key: 'frame_name' value { s: 'l' } } }"
    " node_def { name: 'ex' op: 'Enter' input: 'x' attr { key: 'frame_name' value { s: 'l' } }"
    "  attr { key: 'is_constant' value { b: true } } }"
    " node_def { name: 'e1' op: 'Enter' input: 'one:output:0'"
    "  attr { key: 'frame_name' value { s: 'l' } } attr { key: 'is_constant' value { b: true } } }"
    " node_def { name: 'mn' op: 'Merge' input: 'en:output:0' input: 'nn:output:0' }"
    " node_def { name: 'ms' op: 'Merge' input: 'es:output:0' input: 'ns:output:0' }"
    " node_def { name: 'more' op: 'GreaterEqual' input: 'mn:output:0' input: 'e1:output:0' }"
    " node_def { name: 'cond' op: 'LoopCond' input: 'more:z:0' }"
    " node_def { name: 'sn' op: 'Switch' input: 'mn:output:0' input: 'cond:output:0' }"
    " node_def { name: 'ss' op: 'Switch' input: 'ms:output:0' input: 'cond:output:0' }"
    " node_def { name: 'dn' op: 'Sub' input: 'sn:output_true:0' input: 'e1:output:0' }"
    " node_def { name: 'add' op: 'AddV2' input: 'ss:output_true:0' input: 'ex:output:0' }"
    " node_def { name: 'nn' op: 'NextIteration' input: 'dn:z:0' }"
    " node_def { name: 'ns' op: 'NextIteration' input: 'add:z:0' }"
    " node_def { name: 'exit' op: 'Exit' input: 'ss:output_false:0' }"
    " ret { key: 'y' value: 'exit:output:0' } } }";

/* "Functionalize control flow": frames become one while instruction. */
static void test_control_flow_is_functionalised(void) {
  xla_fixture_t f;
  set_up(&f, frames);
  xla_argument_t arguments[] = {
      {.kind = XLA_ARGUMENT_PARAMETER, .shape = hlo_shape_scalar(HR_S32), .name = HR_STR("n")},
      parameter(&f, 3)};
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(compile(&f, 2, arguments, &options));
  CHECK_SHAPE(result_shape(&f), "(f32[3])");
  CU_ASSERT_TRUE(has(&f, " while("));
  CHECK_OK(hlo_verify(f.module));
  tear_down(&f);
}

/* f(v, n, w): v += w, returns -n. loop: the same while n < n. */
static const char loop[] =
    "library { function { signature { name: 'f' input_arg { name: 'v' type: DT_RESOURCE }"
    "  input_arg { name: 'n' type: DT_FLOAT } input_arg { name: 'w' type: DT_RESOURCE }"
    "  output_arg { name: 'more' type: DT_FLOAT } }"
    " node_def { name: 'x' op: 'ReadVariableOp' input: 'w'"
    "  attr { key: 'dtype' value { type: DT_FLOAT } } }"
    " node_def { name: 'step' op: 'AssignAddVariableOp' input: 'v' input: 'x:value:0' }"
    " node_def { name: 'next' op: 'Neg' input: 'n' input: '^step' }"
    " ret { key: 'more' value: 'next:y:0' } control_ret { key: 's' value: 'step' } }"
    " function { signature { name: 'cond' input_arg { name: 'v' type: DT_RESOURCE }"
    "  input_arg { name: 'n' type: DT_FLOAT } input_arg { name: 'w' type: DT_RESOURCE }"
    "  output_arg { name: 'go' type: DT_BOOL } }"
    " node_def { name: 'less' op: 'Less' input: 'n' input: 'n' }"
    " ret { key: 'go' value: 'less:z:0' } }"
    " function { signature { name: 'body' input_arg { name: 'v' type: DT_RESOURCE }"
    "  input_arg { name: 'n' type: DT_FLOAT } input_arg { name: 'w' type: DT_RESOURCE }"
    "  output_arg { name: 'a' type: DT_RESOURCE } output_arg { name: 'b' type: DT_FLOAT }"
    "  output_arg { name: 'c' type: DT_RESOURCE } }"
    " node_def { name: 'call' op: 'f' input: 'v' input: 'n' input: 'w' }"
    " ret { key: 'a' value: 'v' } ret { key: 'b' value: 'call:more:0' }"
    " ret { key: 'c' value: 'w' } }"
    " function { signature { name: 'loop' input_arg { name: 'v' type: DT_RESOURCE }"
    "  input_arg { name: 'n' type: DT_FLOAT } input_arg { name: 'w' type: DT_RESOURCE }"
    "  output_arg { name: 'left' type: DT_FLOAT } }"
    " node_def { name: 'while' op: 'While' input: 'v' input: 'n' input: 'w'"
    "  attr { key: 'T' value { list { type: DT_RESOURCE type: DT_FLOAT type: DT_RESOURCE } } }"
    "  attr { key: 'cond' value { func { name: 'cond' } } }"
    "  attr { key: 'body' value { func { name: 'body' } } } }"
    " ret { key: 'left' value: 'while:output:1' } control_ret { key: 'w' value: 'while' } } }";

/* "The loop body has identical input and output signatures: resources are at the end of both, at
 * the same positions", with return_updated_values_for_all_resources. */
static void test_loop_bodies_have_equal_signatures(void) {
  xla_fixture_t f;
  set_up(&f, loop);
  xla_argument_t arguments[] = {variable(&f, 5), parameter(&f, 3), variable(&f, 5)};
  xla_compile_options_t options = {.return_updated_values_for_all_resources = true};
  CHECK_OK(compile(&f, 3, arguments, &options));
  const hlo_computation_t *body = f.module->entry;
  CU_ASSERT_EQUAL_FATAL(body->params.count, 3);
  CU_ASSERT_EQUAL_FATAL(body->root->operand_count, 3);
  for (int p = 0; p < 3; p++)
    CU_ASSERT_TRUE(hlo_shape_equal(body->params.data[p]->shape, body->root->operands[p]->shape));
  CHECK_SHAPE(body->params.data[0]->shape, "f32[3]");
  CU_ASSERT_EQUAL(f.result.input_mapping[1], f.result.updates[0].input_index);
  CU_ASSERT_EQUAL(f.result.input_mapping[2], f.result.updates[1].input_index);
  tear_down(&f);
}

/* A loop over resources: their values are carried, and what it wrote is returned. */
static void test_loops_carry_resources(void) {
  xla_fixture_t f;
  const xla_compiled_t *compiled;
  xla_compiler_t *compiler;
  set_up(&f, loop);
  xla_argument_t arguments[] = {variable(&f, 3), parameter(&f, 1), variable(&f, 3)};
  arguments[1].shape = hlo_shape_scalar(HR_F32);
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(xla_compiler_create(&f.graph, &compiler));
  CHECK_OK(xla_compiler_function(compiler, HR_STR("loop"), 3, arguments, &options, &compiled));
  CU_ASSERT_EQUAL_FATAL(compiled->result.update_count, 1);
  CU_ASSERT_EQUAL(compiled->result.updates[0].input_index, 0);
  CHECK_SHAPE(compiled->module->entry->root->shape, "(f32[], f32[3])");
  CHECK_OK(hlo_verify(compiled->module));
  xla_compiler_destroy(compiler);
  tear_down(&f);
}

/* --- shapes, kinds and resources --- */

/* f(a): as many 2s as a has elements. */
static const char sizes[] =
    "library { function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT }"
    "  output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 'shape' op: 'Shape' input: 'a'"
    "  attr { key: 'out_type' value { type: DT_INT32 } } }"
    " node_def { name: 'fill' op: 'Fill' input: 'shape:output:0' input: 'two:output:0' }"
    " node_def { name: 'two' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }"
    "  attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2 } } } }"
    " ret { key: 'y' value: 'fill:output:0' } } }";

/* "Symbolic execution starting from specific input shapes": all shapes follow those of the
 * arguments. */
static void test_shapes_follow_the_arguments(void) {
  xla_fixture_t f;
  set_up(&f, sizes);
  xla_compile_options_t options = {.is_entry_computation = true};
  for (int size = 2; size < 5; size++) {
    char wanted[32];
    xla_argument_t a = parameter(&f, size);
    CHECK_OK(compile(&f, 1, &a, &options));
    snprintf(wanted, sizeof wanted, "(f32[%d])", size);
    CHECK_SHAPE(result_shape(&f), wanted);
  }
  tear_down(&f);
}

/* "Only kParameter and initialized kResource arguments become run-time parameters": of all kinds in
 * one list. */
static void test_kinds_of_arguments(void) {
  xla_fixture_t f;
  hlo_value_t *constant;
  int64_t three = 3;
  set_up(&f, mixed);
  CHECK_OK(hlo_value_array(HR_F32, 1, &three, &constant));
  xla_argument_t arguments[] = {{.kind = XLA_ARGUMENT_CONSTANT, .constant = constant},
                                variable(&f, 3),
                                parameter(&f, 3),
                                variable(&f, 3)};
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(compile(&f, 4, arguments, &options));
  CU_ASSERT_EQUAL_FATAL(f.result.parameter_count, 3);
  CU_ASSERT_EQUAL(f.result.input_mapping[0], 2);
  CU_ASSERT_EQUAL(f.result.input_mapping[1], 1);
  CU_ASSERT_EQUAL(f.result.input_mapping[2], 3);
  arguments[3].initialized = false;
  hr_status_t st = compile(&f, 4, arguments, &options);
  CU_ASSERT_EQUAL(hr_status_code(st), HR_INVALID);
  CU_ASSERT_PTR_NOT_NULL_FATAL(st);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_status_message(st), "is read before it has a value"));
  hr_status_release(st);
  tear_down(&f);
  hlo_value_release(constant);
}

/* f(v): reads v, returns nothing. */
static const char nothing[] =
    "library { function { signature { name: 'f' input_arg { name: 'v' type: DT_RESOURCE } }"
    " node_def { name: 'read' op: 'ReadVariableOp' input: 'v'"
    "  attr { key: 'dtype' value { type: DT_FLOAT } } }"
    " control_ret { key: 'r' value: 'read' } } }";

/* The result is a tuple even of no element. */
static void test_empty_result(void) {
  xla_fixture_t f;
  set_up(&f, nothing);
  xla_argument_t v = variable(&f, 3);
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(compile(&f, 1, &v, &options));
  CHECK_SHAPE(result_shape(&f), "()");
  CU_ASSERT_EQUAL(f.result.update_count, 0);
  tear_down(&f);
}

/* f(h, x): pushes x on stack h, or writes it to array h. */
static const char first_value[] =
    "library { function { signature { name: 'f' input_arg { name: 'h' type: DT_RESOURCE }"
    "  input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 'zero' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }"
    "  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }"
    " node_def { name: 'flow' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }"
    "  attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 } } } }"
    " node_def { name: 'push' op: 'StackPushV2' input: 'h' input: 'x' }"
    " node_def { name: 'write' op: 'TensorArrayWriteV3' input: 'h' input: 'zero:output:0'"
    "  input: 'x' input: 'flow:output:0' attr { key: 'T' value { type: DT_FLOAT } } }"
    " node_def { name: 'same' op: 'Identity' input: 'x' input: '^%s' }"
    " ret { key: 'y' value: 'same:output:0' } } }";

/* A TensorArray or stack that is not initialised is no parameter; its first value is returned in
 * packed form, with the size of the argument. */
static void test_arrays_without_a_value(void) {
  static const char *const ops[] = {"write", "push"};
  static const char *const wanted[] = {"(f32[2], f32[4,2])", "(f32[2], (f32[4,2], s32[]))"};
  static const xla_resource_kind_t kinds[] = {XLA_RESOURCE_TENSOR_ARRAY, XLA_RESOURCE_STACK};
  for (int i = 0; i < 2; i++) {
    xla_fixture_t f;
    char text[sizeof first_value + 16];
    snprintf(text, sizeof text, first_value, ops[i]);
    set_up(&f, text);
    xla_argument_t arguments[] = {array_argument(&f, kinds[i], 4), parameter(&f, 2)};
    arguments[0].initialized = false;
    xla_compile_options_t options = {.is_entry_computation = true};
    CHECK_OK(compile(&f, 2, arguments, &options));
    CU_ASSERT_EQUAL(f.result.parameter_count, 1);
    CHECK_SHAPE(result_shape(&f), wanted[i]);
    CHECK_OK(hlo_verify(f.module));
    tear_down(&f);
  }
}

/* f(h, x): adds x to gradient 'a' of array h. */
static const char gradient[] =
    "library { function { signature { name: 'f' input_arg { name: 'h' type: DT_RESOURCE }"
    "  input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 'zero' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }"
    "  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }"
    " node_def { name: 'flow' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }"
    "  attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 } } } }"
    " node_def { name: 'g' op: 'TensorArrayGradV3' input: 'h' input: 'flow:output:0'"
    "  attr { key: 'source' value { s: 'a' } } }"
    " node_def { name: 'add' op: 'TensorArrayWriteV3' input: 'g:grad_handle:0'"
    "  input: 'zero:output:0' input: 'x' input: 'g:flow_out:0'"
    "  attr { key: 'T' value { type: DT_FLOAT } } }"
    " node_def { name: 'same' op: 'Identity' input: 'x' input: '^add' }"
    " ret { key: 'y' value: 'same:output:0' } } }";

/* "gradient_k is the value of the k-th gradient in the ordered set": a new one goes where its name
 * sorts, whatever was there before. */
static void test_gradients_are_an_ordered_set(void) {
  static const hr_str_t names[] = {{"b", 1}, {"c", 1}};
  xla_fixture_t f;
  set_up(&f, gradient);
  xla_argument_t arguments[] = {array_argument(&f, XLA_RESOURCE_TENSOR_ARRAY, 4), parameter(&f, 2)};
  arguments[0].gradients = names;
  arguments[0].gradient_count = 2;
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(compile(&f, 2, arguments, &options));
  CU_ASSERT_EQUAL_FATAL(f.result.update_count, 1);
  CU_ASSERT_EQUAL_FATAL(f.result.updates[0].gradient_count, 3);
  CU_ASSERT_TRUE(hr_str_is(f.result.updates[0].gradients[0], "a"));
  CU_ASSERT_TRUE(hr_str_is(f.result.updates[0].gradients[2], "c"));
  const hlo_instr_t *packed = f.module->entry->root->operands[1];
  CU_ASSERT_EQUAL_FATAL(packed->operand_count, 4);
  CU_ASSERT_EQUAL(packed->operands[1]->op, HLO_DYNAMIC_UPDATE_SLICE);
  CU_ASSERT_EQUAL(packed->operands[2]->op, HLO_GET_TUPLE_ELEMENT);
  tear_down(&f);
}

/* --- cores, construction, cache --- */

/* Two handles of one variable on two cores. */
static const char handles[] =
    "node { name: 'h1' op: 'VarHandleOp' device: '/device:TPU_REPLICATED_CORE:3'"
    "  attr { key: 'shared_name' value { s: 'w' } } attr { key: 'dtype' value { type: DT_FLOAT } } "
    "}"
    " node { name: 'h2' op: 'VarHandleOp' device: '/device:TPU_REPLICATED_CORE:1'"
    "  attr { key: 'shared_name' value { s: 'w' } } attr { key: 'dtype' value { type: DT_FLOAT } } "
    "}"
    " node { name: 'r1' op: 'ReadVariableOp' input: 'h1' }"
    " node { name: 'r2' op: 'ReadVariableOp' input: 'h2' }"
    " node { name: 'sum' op: 'AddV2' input: 'r1' input: 'r2' }"
    " node { name: 'y' op: '_Retval' input: 'sum' attr { key: 'index' value { i: 0 } } }";

/* "Core assignment": of several cores for one argument the lowest wins. */
static void test_lowest_core(void) {
  static const hr_str_t name = {"w", 1};
  xla_fixture_t f;
  xla_graph_signature_t signature;
  set_up(&f, handles);
  xla_argument_t w = variable(&f, 3);
  w.name = name;
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(hlo_module_create(HR_STR("test"), &f.module));
  CHECK_OK(xla_graph_signature(&f.arena, &f.graph, &signature));
  signature.variable_count = 1;
  signature.variables = &name;
  CHECK_OK(xla_compile_graph(&f.graph, &signature, 1, &w, &options, f.module, &f.result));
  hlo_print_module(&f.text, f.module, HLO_PRINT_LONG);
  CHECK_OK(hr_strbuf_finish(&f.text));
  CU_ASSERT_TRUE(has(&f, "parameter(0), sharding={maximal device=1}"));
  CU_ASSERT_EQUAL(f.module->num_partitions, 2);
  tear_down(&f);
}

static hr_status_t attempt_compiler(size_t n, void *context) {
  xla_compiler_t *compiler = NULL;
  const xla_compiled_t *compiled;
  xla_fixture_t *f = context;
  xla_argument_t a = parameter(f, 3);
  xla_compile_options_t options = {.is_entry_computation = true};
  faults_begin(n);
  hr_status_t st = xla_compiler_create(&f->graph, &compiler);
  CU_ASSERT_EQUAL(!st, compiler != NULL);
  if (!st) st = xla_compiler_function(compiler, HR_STR("f"), 1, &a, &options, &compiled);
  faults_end();
  xla_compiler_destroy(compiler);
  return st;
}

/* "Check status of initialization (set during construction)": construction returns it, and without
 * success there is no compiler. Compilation that lacks memory says so and leaves nothing. */
static void test_construction(void) {
  xla_fixture_t f;
  set_up(&f, sizes);
  parameter(&f, 3); /* the arena has a block */
  CU_ASSERT(faults_try(attempt_compiler, &f) > 2);
  tear_down(&f);
}

/* "The cache is keyed by function and arguments": by everything that they and the options say. */
static void test_key_of_the_cache(void) {
  xla_fixture_t f;
  xla_compiler_t *compiler;
  const xla_compiled_t *first, *again;
  set_up(&f, mixed);
  xla_compile_options_t options = {.is_entry_computation = true}, tuple = options, all = options;
  tuple.use_tuple_arg = true;
  all.return_updated_values_for_all_resources = true;
  const xla_compile_options_t *const others[] = {&tuple, &all};
  xla_argument_t arguments[] = {parameter(&f, 3), variable(&f, 3), parameter(&f, 3),
                                variable(&f, 3)};
  hlo_value_t *constants[2];
  for (int i = 0; i < 2; i++) CHECK_OK(hlo_value_zeros(arguments[0].shape, &constants[i]));
  CHECK_OK(xla_compiler_create(&f.graph, &compiler));
  CHECK_OK(xla_compiler_function(compiler, HR_STR("f"), 4, arguments, &options, &first));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(xla_compiler_function(compiler, HR_STR("f"), 4, arguments, others[i], &again));
    CU_ASSERT_PTR_NOT_EQUAL(first, again);
  }
  arguments[0] = (xla_argument_t){.kind = XLA_ARGUMENT_CONSTANT, .constant = constants[0]};
  CHECK_OK(xla_compiler_function(compiler, HR_STR("f"), 4, arguments, &options, &first));
  arguments[0].constant = constants[1];
  CHECK_OK(xla_compiler_function(compiler, HR_STR("f"), 4, arguments, &options, &again));
  CU_ASSERT_PTR_EQUAL(first, again);
  ((float *)constants[1]->data)[2] = 7;
  CHECK_OK(xla_compiler_function(compiler, HR_STR("f"), 4, arguments, &options, &again));
  CU_ASSERT_PTR_NOT_EQUAL(first, again);
  xla_compiler_destroy(compiler);
  for (int i = 0; i < 2; i++) hlo_value_release(constants[i]);
  tear_down(&f);
}

CU_TestInfo suite_xla_statements[] = {
    {"graph of _Arg and _Retval nodes", test_graph_of_args_and_retvals},
    {"one argument per index", test_one_argument_per_index},
    {"control flow is functionalised", test_control_flow_is_functionalised},
    {"loop bodies have equal signatures", test_loop_bodies_have_equal_signatures},
    {"loops carry resources", test_loops_carry_resources},
    {"shapes follow the arguments", test_shapes_follow_the_arguments},
    {"kinds of arguments", test_kinds_of_arguments},
    {"empty result", test_empty_result},
    {"arrays without a value", test_arrays_without_a_value},
    {"gradients are an ordered set", test_gradients_are_an_ordered_set},
    {"lowest core", test_lowest_core},
    {"construction", test_construction},
    {"key of the cache", test_key_of_the_cache},
    CU_TEST_INFO_NULL};
