/* XlaCompiler's contract: kinds of arguments, the order of parameters
 * and results, resource updates, options, cores, channels and the cache. Functions are written as
 * GraphDef text; what is compiled is checked by its shapes and by its HLO text. */
#include "ir/sharding.h"
#include "ops/rules/verify.h"
#include "tests/lib/xla_fixture.h"

/* The graph `mixed`, compiled for two vectors and two variables. */
static void set_up_compiled(xla_fixture_t *f, const xla_compile_options_t *options) {
  set_up(f, mixed);
  xla_argument_t arguments[] = {parameter(f, 3), variable(f, 3), parameter(f, 3), variable(f, 3)};
  CHECK_OK(compile(f, 4, arguments, options));
}

/* "Run-time parameters: the kParameter values, then the initial values of kResource arguments;
 * inside each block by _Arg index." "input_mapping: original argument of each parameter." */
static void test_parameters_come_in_two_blocks(void) {
  xla_fixture_t f;
  set_up_compiled(&f, &(xla_compile_options_t){.is_entry_computation = true});
  static const int want[] = {0, 2, 1, 3};
  CU_ASSERT_EQUAL_FATAL(f.result.parameter_count, 4);
  for (int p = 0; p < 4; p++) CU_ASSERT_EQUAL(f.result.input_mapping[p], want[p]);
  CU_ASSERT_EQUAL(f.module->entry->params.count, 4);
  CHECK_OK(hlo_verify(f.module));
  tear_down(&f);
}

/* "Results: the _Retval values by index, then the updated resources by _Arg position; a resource is
 * included iff it was modified." "Always a tuple." */
static void test_results_then_modified_resources(void) {
  xla_fixture_t f;
  set_up_compiled(&f, &(xla_compile_options_t){.is_entry_computation = true});
  CHECK_SHAPE(result_shape(&f), "(f32[3], f32[3], f32[3])");
  CU_ASSERT_EQUAL_FATAL(f.result.update_count, 1);
  CU_ASSERT_EQUAL(f.result.updates[0].input_index, 1);
  CU_ASSERT_TRUE(f.result.updates[0].modified);
  CU_ASSERT_EQUAL(f.result.output_count, 2);
  tear_down(&f);
}

/* "return_updated_values_for_all_resources: unmodified ones too, so that signatures match." */
static void test_all_resources_are_returned(void) {
  xla_fixture_t f;
  set_up_compiled(&f, &(xla_compile_options_t){.return_updated_values_for_all_resources = true});
  CHECK_SHAPE(result_shape(&f), "(f32[3], f32[3], f32[3], f32[3])");
  CU_ASSERT_EQUAL_FATAL(f.result.update_count, 2);
  CU_ASSERT_EQUAL(f.result.updates[1].input_index, 3);
  CU_ASSERT_FALSE(f.result.updates[1].modified);
  tear_down(&f);
}

/* "use_tuple_arg: one tuple parameter for all arguments." */
static void test_tuple_argument(void) {
  xla_fixture_t f;
  set_up_compiled(&f, &(xla_compile_options_t){.use_tuple_arg = true});
  CU_ASSERT_EQUAL_FATAL(f.module->entry->params.count, 1);
  CHECK_SHAPE(f.module->entry->params.data[0]->shape, "(f32[3], f32[3], f32[3], f32[3])");
  CU_ASSERT_EQUAL(f.result.parameter_count, 4);
  CHECK_OK(hlo_verify(f.module));
  tear_down(&f);
}

/* f(a): a constant, and a. */
static const char constant_result[] =
    "library { function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT }"
    "  output_arg { name: 'c' type: DT_INT32 } output_arg { name: 'same' type: DT_FLOAT } }"
    " node_def { name: 'shape' op: 'Shape' input: 'a'"
    "  attr { key: 'out_type' value { type: DT_INT32 } } }"
    " node_def { name: 'id' op: 'Neg' input: 'a' }"
    " ret { key: 'c' value: 'shape:output:0' } ret { key: 'same' value: 'id:y:0' } } }";

/* "resolve_compile_time_constants: constant outputs are returned as tensors, not computed; outputs
 * describes every _Retval, also of constant ones." */
static void test_constant_outputs(void) {
  xla_fixture_t f;
  set_up(&f, constant_result);
  xla_argument_t arguments[] = {parameter(&f, 5)};
  xla_compile_options_t resolve = {.resolve_compile_time_constants = true}, compute = {0};
  CHECK_OK(compile(&f, 1, arguments, &resolve));
  CHECK_SHAPE(result_shape(&f), "(f32[5])");
  CU_ASSERT_EQUAL_FATAL(f.result.output_count, 2);
  CU_ASSERT_TRUE_FATAL(f.result.outputs[0].is_constant);
  CU_ASSERT_EQUAL(hlo_value_int_at(f.result.outputs[0].constant, 0), 5);
  CU_ASSERT_FALSE(f.result.outputs[1].is_constant);
  CHECK_OK(compile(&f, 1, arguments, &compute));
  CHECK_SHAPE(result_shape(&f), "(s32[1], f32[5])");
  tear_down(&f);
}

/* f(a, n): a reshaped to n. */
static const char reshape[] =
    "library { function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT }"
    "  input_arg { name: 'n' type: DT_INT32 } output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 'r' op: 'Reshape' input: 'a' input: 'n' }"
    " ret { key: 'y' value: 'r:output:0' } } }";

/* "kConstant takes no run-time parameter; its value is known when kernels ask for a compile-time
 * constant." */
static void test_constant_arguments(void) {
  xla_fixture_t f;
  int64_t two = 2;
  hlo_value_t *sizes;
  set_up(&f, reshape);
  CHECK_OK(hlo_value_array(HR_S32, 1, &two, &sizes));
  ((int32_t *)sizes->data)[0] = 2;
  ((int32_t *)sizes->data)[1] = 3;
  xla_argument_t arguments[] = {parameter(&f, 6),
                                {.kind = XLA_ARGUMENT_CONSTANT, .constant = sizes}};
  xla_compile_options_t options = {0};
  CHECK_OK(compile(&f, 2, arguments, &options));
  CU_ASSERT_EQUAL(f.result.parameter_count, 1);
  CHECK_SHAPE(result_shape(&f), "(f32[2,3])");
  arguments[1] = parameter(&f, 2);
  CHECK_FAILS(HR_INVALID, compile(&f, 2, arguments, &options));
  tear_down(&f);
  hlo_value_release(sizes);
}

/* f(v): v = 2, where v has no value before. */
static const char initialise[] =
    "library { function { signature { name: 'f' input_arg { name: 'v' type: DT_RESOURCE }"
    "  output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 'two' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }"
    "  attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2 } } } }"
    " node_def { name: 'set' op: 'AssignVariableOp' input: 'v' input: 'two:output:0' }"
    " node_def { name: 'get' op: 'ReadVariableOp' input: 'v' input: '^set' }"
    " ret { key: 'y' value: 'get:value:0' } } }";

/* "A resource is a run-time parameter iff it is initialised"; a new value is returned anyway. */
static void test_uninitialised_resource(void) {
  xla_fixture_t f;
  set_up(&f, initialise);
  xla_argument_t arguments[] = {{.kind = XLA_ARGUMENT_RESOURCE, .name = HR_STR("v")}};
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(compile(&f, 1, arguments, &options));
  CU_ASSERT_EQUAL(f.result.parameter_count, 0);
  CHECK_SHAPE(result_shape(&f), "(f32[], f32[])");
  CU_ASSERT_EQUAL(f.result.update_count, 1);
  tear_down(&f);
}

/* Turns a vector into a column. */
static hr_status_t as_column(void *context, hr_arena_t *arena, const hlo_shape_t *shape,
                             const hlo_shape_t **out_shape) {
  int64_t dims[] = {shape->dims[0], 1};
  ++*(int *)context;
  if (shape->rank != 1) return hr_error(HR_INVALID, "no vector");
  return hlo_shape_array(arena, shape->dtype, 2, dims, out_shape);
}

/* "shape_representation_fn: entry parameters and variables are reshaped on the way in and out";
 * "is_entry_computation": only there. */
static void test_shape_representation(void) {
  xla_fixture_t f;
  int calls = 0;
  set_up(&f, mixed);
  xla_argument_t arguments[] = {parameter(&f, 3), variable(&f, 3), parameter(&f, 3),
                                variable(&f, 3)};
  xla_compile_options_t options = {
      .is_entry_computation = true, .represent = as_column, .represent_context = &calls};
  CHECK_OK(compile(&f, 4, arguments, &options));
  CU_ASSERT(calls >= 4);
  for (int p = 0; p < 4; p++) CHECK_SHAPE(f.module->entry->params.data[p]->shape, "f32[3,1]");
  CHECK_SHAPE(result_shape(&f), "(f32[3], f32[3], f32[3,1])");
  CHECK_SHAPE(f.result.updates[0].shape, "f32[3]");
  CHECK_OK(hlo_verify(f.module));
  options.is_entry_computation = false;
  CHECK_OK(compile(&f, 4, arguments, &options));
  CHECK_SHAPE(f.module->entry->params.data[0]->shape, "f32[3]");
  tear_down(&f);
}

/* f(array, flow): reads element 0, writes it to element 1. */
static const char tensor_array[] =
    "library { function { signature { name: 'f' input_arg { name: 'h' type: DT_RESOURCE }"
    "  input_arg { name: 'flow' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 'i' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }"
    "  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }"
    " node_def { name: 'o' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }"
    "  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }"
    " node_def { name: 'read' op: 'TensorArrayReadV3' input: 'h' input: 'o:output:0' input: 'flow'"
    "  attr { key: 'dtype' value { type: DT_FLOAT } } }"
    " node_def { name: 'write' op: 'TensorArrayWriteV3' input: 'h' input: 'i:output:0'"
    "  input: 'read:value:0' input: 'flow' attr { key: 'T' value { type: DT_FLOAT } } }"
    " node_def { name: 'g' op: 'TensorArrayGradV3' input: 'h' input: 'write:flow_out:0'"
    "  attr { key: 'source' value { s: 'grads' } } }"
    " node_def { name: 'add' op: 'TensorArrayWriteV3' input: 'g:grad_handle:0' input: 'i:output:0'"
    "  input: 'read:value:0' input: 'g:flow_out:0' attr { key: 'T' value { type: DT_FLOAT } } }"
    " ret { key: 'y' value: 'read:value:0' } control_ret { key: 'w' value: 'WHAT' } } }";

/* The graph with another node as control result. */
static void set_up_array(xla_fixture_t *f, const char *what) {
  char text[sizeof tensor_array + 16];
  const char *at = strstr(tensor_array, "WHAT");
  int before = (int)(at - tensor_array);
  snprintf(text, sizeof text, "%.*s%s%s", before, tensor_array, what, at + 4);
  set_up(f, text);
}

/* "A TensorArray is [tensor_array_size, entry...]"; a negative size is an error. */
static void test_tensor_array_argument(void) {
  xla_fixture_t f;
  set_up_array(&f, "write");
  xla_argument_t arguments[] = {
      array_argument(&f, XLA_RESOURCE_TENSOR_ARRAY, 4),
      {.kind = XLA_ARGUMENT_PARAMETER, .shape = hlo_shape_scalar(HR_F32), .name = HR_STR("flow")}};
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(compile(&f, 2, arguments, &options));
  CHECK_SHAPE(f.module->entry->params.data[1]->shape, "f32[4,2]");
  CHECK_SHAPE(result_shape(&f), "(f32[2], f32[4,2])");
  CHECK_OK(hlo_verify(f.module));
  arguments[0].tensor_array_size = -1;
  CHECK_FAILS(HR_INVALID, compile(&f, 2, arguments, &options));
  tear_down(&f);
}

/* "With gradients: the tuple (array, grad0, ...), in set order"; a gradient that was newly created
 * makes the resource a modified one, and is listed as accessed. */
static void test_tensor_array_gradients(void) {
  xla_fixture_t f;
  static const hr_str_t names[] = {{"early", 5}};
  set_up_array(&f, "add");
  xla_argument_t arguments[] = {
      array_argument(&f, XLA_RESOURCE_TENSOR_ARRAY, 4),
      {.kind = XLA_ARGUMENT_PARAMETER, .shape = hlo_shape_scalar(HR_F32), .name = HR_STR("flow")}};
  arguments[0].gradients = names;
  arguments[0].gradient_count = 1;
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(compile(&f, 2, arguments, &options));
  CHECK_SHAPE(f.module->entry->params.data[1]->shape, "(f32[4,2], f32[4,2])");
  CHECK_SHAPE(result_shape(&f), "(f32[2], (f32[4,2], f32[4,2], f32[4,2]))");
  CU_ASSERT_EQUAL_FATAL(f.result.update_count, 1);
  CU_ASSERT_TRUE(f.result.updates[0].modified);
  CU_ASSERT_EQUAL_FATAL(f.result.updates[0].gradient_count, 2);
  CU_ASSERT_TRUE(hr_str_is(f.result.updates[0].gradients[0], "early"));
  CU_ASSERT_TRUE(hr_str_is(f.result.updates[0].gradients[1], "grads"));
  CHECK_OK(hlo_verify(f.module));
  tear_down(&f);
}

/* f(stack, x): pushes x. */
static const char stack[] =
    "library { function { signature { name: 'f' input_arg { name: 's' type: DT_RESOURCE }"
    "  input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 'push' op: 'StackPushV2' input: 's' input: 'x' }"
    " ret { key: 'y' value: 'push:output:0' } } }";

/* "A stack is the tuple ([size, entry...], s32[] count)." */
static void test_stack_argument(void) {
  xla_fixture_t f;
  set_up(&f, stack);
  xla_argument_t arguments[] = {array_argument(&f, XLA_RESOURCE_STACK, 7), parameter(&f, 2)};
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(compile(&f, 2, arguments, &options));
  CHECK_SHAPE(f.module->entry->params.data[1]->shape, "(f32[7,2], s32[])");
  CHECK_SHAPE(result_shape(&f), "(f32[2], (f32[7,2], s32[]))");
  CHECK_OK(hlo_verify(f.module));
  tear_down(&f);
}

/* "Names and metadata: XLA_Args on parameters, XLA_Retvals on the result." */
static void test_metadata(void) {
  xla_fixture_t f;
  set_up_compiled(&f, &(xla_compile_options_t){.is_entry_computation = true});
  CU_ASSERT_TRUE(has(&f, "op_name=\"XLA_Args\""));
  CU_ASSERT_TRUE(has(&f, "op_name=\"XLA_Retvals\""));
  CU_ASSERT_TRUE(has(&f, "op_type=\"AddV2\" op_name=\"one\""));
  tear_down(&f);
}

/* "Core assignment: the device of an _Arg becomes a MAXIMAL sharding on that core; of a tuple
 * argument a tuple sharding." */
static void test_core_assignment(void) {
  xla_fixture_t f;
  set_up(&f, mixed);
  xla_argument_t arguments[] = {parameter(&f, 3), variable(&f, 3), parameter(&f, 3),
                                variable(&f, 3)};
  arguments[2].has_core = true;
  arguments[2].core = 1;
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(compile(&f, 4, arguments, &options));
  const hlo_extra_t *extra = f.module->entry->params.data[1]->extra;
  CU_ASSERT_PTR_NOT_NULL_FATAL(extra->sharding);
  CU_ASSERT_EQUAL(extra->sharding->kind, HLO_TILE_KIND_MAXIMAL);
  CU_ASSERT_EQUAL(extra->sharding->device, 1);
  CU_ASSERT_EQUAL(f.module->num_partitions, 2);
  CU_ASSERT_PTR_NULL(f.module->entry->params.data[0]->extra->sharding);
  options.use_tuple_arg = true;
  CHECK_OK(compile(&f, 4, arguments, &options));
  extra = f.module->entry->params.data[0]->extra;
  CU_ASSERT_PTR_NOT_NULL_FATAL(extra->sharding);
  CU_ASSERT_EQUAL_FATAL(extra->sharding->element_count, 4);
  CU_ASSERT_EQUAL(extra->sharding->elements[1]->device, 1);
  CU_ASSERT_EQUAL(extra->sharding->elements[0]->device, 0);
  tear_down(&f);
}

/* f(x): sends x, then receives; g sends on the second key. */
static const char talk[] =
    "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT }"
    "  output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 's' op: 'XlaSend' input: 'x' attr { key: 'tensor_name' value { s: 'k1' } } }"
    " node_def { name: 'r' op: 'XlaRecv' input: '^s' attr { key: 'tensor_name' value { s: 'k2' } }"
    "  attr { key: 'dtype' value { type: DT_FLOAT } }"
    "  attr { key: 'shape' value { shape { dim { size: 3 } } } } }"
    " ret { key: 'y' value: 'r:tensor:0' } }"
    " function { signature { name: 'g' input_arg { name: 'x' type: DT_FLOAT }"
    "  output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 's' op: 'XlaSend' input: 'x' attr { key: 'tensor_name' value { s: 'k2' } } }"
    " node_def { name: 'i' op: 'Neg' input: 'x' input: '^s' }"
    " ret { key: 'y' value: 'i:y:0' } } }";

/* "GetChannelHandle: one channel per key, shared within one compiler." "The cache is keyed by
 * function and arguments." */
static void test_channels_and_cache(void) {
  xla_fixture_t f;
  xla_compiler_t *compiler;
  const xla_compiled_t *first, *again, *other, *wide;
  set_up(&f, talk);
  xla_argument_t x = parameter(&f, 3), y = parameter(&f, 4);
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(xla_compiler_create(&f.graph, &compiler));
  CHECK_OK(xla_compiler_function(compiler, HR_STR("f"), 1, &x, &options, &first));
  CHECK_OK(xla_compiler_function(compiler, HR_STR("f"), 1, &x, &options, &again));
  CHECK_OK(xla_compiler_function(compiler, HR_STR("f"), 1, &y, &options, &wide));
  CHECK_OK(xla_compiler_function(compiler, HR_STR("g"), 1, &x, &options, &other));
  CU_ASSERT_PTR_EQUAL(first, again);
  CU_ASSERT_PTR_NOT_EQUAL(first, wide);
  CU_ASSERT_EQUAL(xla_compiler_channels(compiler)->count, 2);
  hlo_print_module(&f.text, other->module, HLO_PRINT_LONG);
  CHECK_OK(hr_strbuf_finish(&f.text));
  CU_ASSERT_TRUE(has(&f, "channel_id=2"));
  CHECK_FAILS(HR_INVALID, xla_compiler_function(compiler, HR_STR("none"), 1, &x, &options, &other));
  xla_compiler_destroy(compiler);
  tear_down(&f);
}

/* "An explicit partial order": the receive waits for the send that its control input names. */
static void test_order_of_transfers(void) {
  xla_fixture_t f;
  set_up(&f, talk);
  xla_argument_t x = parameter(&f, 3);
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(compile(&f, 1, &x, &options));
  const hlo_computation_t *entry = f.module->entry;
  const hlo_instr_t *recv = NULL;
  for (size_t i = 0; i < entry->instrs.count; i++)
    if (entry->instrs.data[i]->op == HLO_RECV) recv = entry->instrs.data[i];
  CU_ASSERT_PTR_NOT_NULL_FATAL(recv);
  CU_ASSERT_EQUAL(recv->operands[0]->op, HLO_SEND_DONE);
  tear_down(&f);
}

/* f(x): a host computation. */
static const char host[] =
    "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT }"
    "  output_arg { name: 'y' type: DT_FLOAT } }"
    " node_def { name: 'h' op: 'XlaHostCompute' input: 'x'"
    "  attr { key: 'Tinputs' value { list { type: DT_FLOAT } } }"
    "  attr { key: 'Toutputs' value { list { type: DT_FLOAT } } }"
    "  attr { key: 'shapes' value { list { shape { dim { size: 2 } } } } }"
    "  attr { key: 'send_key' value { s: 'out' } } attr { key: 'recv_key' value { s: 'in' } } }"
    " ret { key: 'y' value: 'h:outputs:0' } } }";

/* "HostCompute sends and receives keep key, types and shapes; duplicates are refused." */
static void test_host_compute(void) {
  xla_fixture_t f;
  xla_channels_t channels;
  set_up(&f, host);
  xla_channels_init(&channels);
  xla_argument_t x = parameter(&f, 3);
  xla_compile_options_t options = {.is_entry_computation = true, .channels = &channels};
  CHECK_OK(compile(&f, 1, &x, &options));
  CU_ASSERT_EQUAL_FATAL(channels.host.count, 2);
  CU_ASSERT_TRUE(channels.host.data[0].to_host);
  CU_ASSERT_TRUE(hr_str_is(channels.host.data[0].key, "out"));
  CU_ASSERT_EQUAL(channels.host.data[0].dims[0], 3);
  CU_ASSERT_EQUAL(channels.host.data[1].dims[0], 2);
  CU_ASSERT_TRUE(has(&f, "is_host_transfer=true"));
  CHECK_FAILS(HR_INVALID, compile(&f, 1, &x, &options));
  xla_channels_deinit(&channels);
  tear_down(&f);
}

#define HOST_COMPUTE(name, send, receive, more)                           \
  " node_def { name: '" name                                              \
  "' op: 'XlaHostCompute' input: 'x'"                                     \
  "  attr { key: 'Tinputs' value { list { type: DT_FLOAT } } }"           \
  "  attr { key: 'Toutputs' value { list { type: DT_FLOAT } } }"          \
  "  attr { key: 'shapes' value { list { shape { dim { size: 3 } } } } }" \
  "  attr { key: 'send_key' value { s: '" send                            \
  "' } }"                                                                 \
  "  attr { key: 'recv_key' value { s: '" receive "' } }" more " }"

/* Two host computations on the same input. */
#define TWO_HOST_COMPUTES(more) \
  "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT }" \
  "  output_arg { name: 'y' type: DT_FLOAT } output_arg { name: 'z' type: DT_FLOAT } }" \
  HOST_COMPUTE("first", "a", "b", "") HOST_COMPUTE("second", "c", "d", more)           \
  " ret { key: 'y' value: 'first:outputs:0' } ret { key: 'z' value: 'second:outputs:0' } } }"

/* "ancestors": host computations are sequenced by the names of those that come before, and only by
 * these: without the attribute both begin with tokens of their own. */
static void test_host_compute_ancestors(void) {
  static const char *const graphs[] = {
      TWO_HOST_COMPUTES(""),
      TWO_HOST_COMPUTES(" attr { key: 'ancestors' value { list { s: 'first' } } }")};
  for (int i = 0; i < 2; i++) {
    xla_fixture_t f;
    int starts = 0;
    set_up(&f, graphs[i]);
    xla_argument_t x = parameter(&f, 3);
    xla_compile_options_t options = {.is_entry_computation = true};
    CHECK_OK(compile(&f, 1, &x, &options));
    for (const char *at = f.text.data; (at = strstr(at, " after-all()")); at++) starts++;
    CU_ASSERT_EQUAL(starts, i ? 1 : 2);
    CHECK_OK(hlo_verify(f.module));
    tear_down(&f);
  }
  xla_fixture_t f;
  set_up(&f, TWO_HOST_COMPUTES(" attr { key: 'ancestors' value { list { s: 'nobody' } } }"));
  xla_argument_t x = parameter(&f, 3);
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_FAILS(HR_INVALID, compile(&f, 1, &x, &options));
  tear_down(&f);
}

/* "CompileSingleOp": inputs and outputs of the node are arguments and results. */
static void test_single_op(void) {
  xla_fixture_t f;
  set_up(&f, mixed);
  tf_node_t node = {.name = HR_STR("sum"), .op = HR_STR("AddV2")};
  xla_argument_t arguments[] = {parameter(&f, 3), parameter(&f, 3)};
  xla_compile_options_t options = {.is_entry_computation = true};
  CHECK_OK(hlo_module_create(HR_STR("test"), &f.module));
  CHECK_OK(xla_compile_single_op(&f.graph, &node, 2, arguments, 1, &options, f.module, &f.result));
  CHECK_SHAPE(result_shape(&f), "(f32[3])");
  tear_down(&f);
}

/* "Detected unsupported operations when trying to compile graph": all of them in one message. */
static void test_unsupported_operations(void) {
  xla_fixture_t f;
  set_up(&f,
         "library { function { signature { name: 'f' output_arg { name: 'y' type: DT_FLOAT } }"
         " node_def { name: 'a' op: 'NoSuchOp' } node_def { name: 'b' op: 'NeitherThis'"
         "  input: 'a:x:0' } ret { key: 'y' value: 'b:x:0' } } }");
  xla_compile_options_t options = {.is_entry_computation = true};
  hr_status_t st = compile(&f, 0, NULL, &options);
  CU_ASSERT_PTR_NOT_NULL_FATAL(st);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_status_message(st), "NeitherThis (b), NoSuchOp (a)"));
  hr_status_release(st);
  tear_down(&f);
}

CU_TestInfo suite_xla_compiler[] = {
    {"parameters come in two blocks", test_parameters_come_in_two_blocks},
    {"results, then modified resources", test_results_then_modified_resources},
    {"all resources are returned", test_all_resources_are_returned},
    {"tuple argument", test_tuple_argument},
    {"constant outputs", test_constant_outputs},
    {"constant arguments", test_constant_arguments},
    {"uninitialised resource", test_uninitialised_resource},
    {"shape representation", test_shape_representation},
    {"TensorArray argument", test_tensor_array_argument},
    {"TensorArray gradients", test_tensor_array_gradients},
    {"stack argument", test_stack_argument},
    {"metadata", test_metadata},
    {"core assignment", test_core_assignment},
    {"channels and cache", test_channels_and_cache},
    {"order of transfers", test_order_of_transfers},
    {"host compute", test_host_compute},
    {"host compute, ancestors", test_host_compute_ancestors},
    {"single operation", test_single_op},
    {"unsupported operations", test_unsupported_operations},
    CU_TEST_INFO_NULL};
