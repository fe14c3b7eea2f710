/* HLO protos: what the text says survives them, the forms they come in, what old files have, and
 * damaged ones. */
#include "proto/hlo_proto.h"

#include <stdlib.h>
#include <string.h>

#include "ir/print.h"
#include "ops/rules/verify.h"
#include "proto/proto_wire.h"
#include "tests/lib/faults.h"
#include "tests/lib/read_text.h"
#include "tests/lib/unit.h"

static hr_strbuf_t print(const hlo_module_t *module) {
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hlo_print_module(&text, module, HLO_PRINT_LONG);
  return text;
}

/* The module as a proto, as a module again, as text: that text. */
static void check_form(const hlo_module_t *module, hlo_proto_form_t form, const hr_strbuf_t *want) {
  hr_buffer_t *bytes = NULL;
  hlo_module_t *again = NULL;
  CHECK_OK(write_hlo_proto(module, form, &bytes));
  if (!bytes) return;
  CU_ASSERT_TRUE(hlo_proto_is((hr_str_t){hr_buffer_data(bytes), hr_buffer_size(bytes)}));
  CHECK_OK(read_bytes(hr_buffer_data(bytes), hr_buffer_size(bytes), &again));
  if (again) {
    hr_strbuf_t found = print(again);
    CU_ASSERT_STRING_EQUAL(found.data, want->data);
    if (strcmp(found.data, want->data))
      fprintf(stderr, "found:\n%s\nwant:\n%s\n", found.data, want->data);
    hr_strbuf_deinit(&found);
  }
  hlo_module_destroy(again);
  hr_buffer_release(bytes);
}

static void survives(const char *text) {
  size_t live = hr_mem_live_blocks();
  hlo_module_t *module = NULL;
  CU_ASSERT_FALSE(hlo_proto_is(hr_str_from(text)));
  CHECK_OK(read_bytes(text, strlen(text), &module));
  if (!module) return;
  hr_strbuf_t want = print(module);
  check_form(module, HLO_PROTO_MODULE, &want);
  check_form(module, HLO_PROTO_HLO, &want);
  hr_strbuf_deinit(&want);
  hlo_module_destroy(module);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

#define ADD                                                                                  \
  "%add (x: f32[], y: f32[]) -> f32[] {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n" \
  " ROOT s = f32[] add(x, y)\n}\n"

static void test_header(void) {
  survives(
      "HloModule h, is_scheduled=true, input_output_alias={ {0}: (1, {}, must-alias), {1}: (0, {}, "
      "may-alias) }, "
      "alias_passthrough_params=true, allow_spmd_sharding_propagation_to_parameters={true,false}, "
      "allow_spmd_sharding_propagation_to_output={true}, replica_count=2, num_partitions=4, "
      "frontend_attributes={a=\"b\",m={x = 1}}\n\n"
      "FileNames\n1 \"a.py\"\n2 \"\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n"
      "1 {file_name_id=1 function_name_id=1 line=10 end_line=11 column=3 end_column=62}\n\n"
      "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=1 "
      "parent_frame_id=2}\n\n\n"
      "ENTRY e {\n q = f32[2] parameter(1)\n p = f32[2] parameter(0)\n"
      " ROOT t = (f32[2], f32[2]) tuple(q, p), metadata={op_name=\"t\" stack_frame_id=2}\n}");
  survives(
      "HloModule h, buffer_donor={ (0, {}) }, "
      "entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{1,0:S(5)}}, "
      "debug_attributes={ {\"n\"}:({log_mode=1}) }\nENTRY e {\n ROOT p = f32[2,3] parameter(0)\n}");
}

static void test_shapes_and_literals(void) {
  survives(
      "HloModule s\nENTRY e {\n a = f32[<=4,?]{0,1:T(8,128)(2,1)L(4)S(1)} parameter(0)\n"
      " b = s4[8]{0:E(4)} parameter(1)\n c = (f32[], (token[], opaque[])) parameter(2)\n"
      " d = f32[16]{0:S(5)SC(0:4,8)M(8)} parameter(3)\n f = b(f32[4]) parameter(4)\n"
      " g = f32[4,4]{1,0:D(D,C+~)#(u32)*(u64)} parameter(5)\n ROOT t = () tuple()\n}");
  survives(
      "HloModule l\nENTRY e {\n a = s32[2,3]{0,1} constant({{1,2,3},{4,5,-6}})\n"
      " b = (s4[3], u4[2], s2[4], u2[2], pred[2]) "
      "constant(({-8,7,1},{15,0},{-2,-1,0,1},{3,0},{1,0}))\n"
      " c = (f16[2], bf16[2], f8e4m3fn[2], f8e5m2[2], f4e2m1fn[2]) "
      "constant(({1.5,-inf},{nan,2},{1,-2},{3,nan},"
      "{-6,0.5}))\n d = (c64[2], c128[1]) constant(({(1,-2),(0,3)},{(1e300,-1)}))\n"
      " f = (s8[2], s16[2], s64[2], u8[1], u16[1], u32[1], u64[1]) constant(({-128,1},{-32768,2},"
      "{-9223372036854775808,3},{255},{65535},{4294967295},{18446744073709551615}))\n"
      " g = f64[2,0,3] constant({{},{}})\n h = f32[2,2,2]{0,2,1} "
      "constant({{{1,2},{3,4}},{{5,6},{7,8}}})\n"
      " i = f32[3] constant({...})\n j = f32[] constant(-nan)\n ROOT t = () tuple()\n}");
}

/* Attributes of ops that call nothing, or a sum alone. */
static void test_plain_attributes(void) {
  survives(
      "HloModule a\n" ADD
      "ENTRY e {\n p = f32[8,8] parameter(0), parameter_replication={true}\n"
      " z = f32[] constant(0)\n"
      " w = f32[8,4] reduce-window(p, z), window={size=1x3 stride=1x2 pad=0_0x1_0 "
      "rhs_reversal=0x0}, "
      "to_apply=add\n"
      " r = f32[8] reduce(p, z), dimensions={1}, to_apply=add\n i = s32[3,4] iota(), "
      "iota_dimension=1\n"
      " d = f32[8,8] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
      "operand_precision={highest,default}, algorithm=dot_tf32_tf32_f32\n"
      " t = f32[8,8] transpose(p), dimensions={1,0}\n s = f32[4,8] slice(p), slice={[0:8:2], "
      "[0:8:1]}\n"
      " q = f32[10,9] pad(p, z), padding=1_1x0_1\n c = pred[8,8] compare(p, t), direction=GE, "
      "type=TOTALORDER\n"
      " f = c64[8,5] fft(p), fft_type=RFFT, fft_length={8}\n"
      " x = f32[8,8] exponential(p), result_accuracy={tolerance={atol=0,rtol=0.25,ulps=2}}\n"
      " y = f32[8,8] tanh(p), result_accuracy={mode=highest}\n"
      " ts = f32[8,8] triangular-solve(p, p), left_side=true, lower=true, transpose_a=ADJOINT\n"
      " ch = f32[8,8] cholesky(p), lower=true\n rp = f32[8,8] reduce-precision(p), "
      "exponent_bits=5, "
      "mantissa_bits=10\n"
      " bn = (f32[8,8], f32[8], f32[8]) batch-norm-training(p, r, r), epsilon=0.001, "
      "feature_index=1\n"
      " ROOT o = () tuple()\n}");
}

/* Attributes of control flow, sorts, gathers, fusions and custom calls. */
static void test_calling_attributes(void) {
  survives(
      "HloModule b\n" ADD
      "lt {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
      " ROOT c = pred[] compare(x, y), direction=LT\n}\nbody {\n ROOT p = f32[] parameter(0)\n}\n"
      "cond {\n p = f32[] parameter(0)\n ROOT t = pred[] constant(true)\n}\nENTRY e {\n p = "
      "f32[8,8] "
      "parameter(0)\n"
      " k = s32[2] parameter(1)\n z = f32[] constant(0)\n wh = f32[] while(z), condition=cond, "
      "body=body, "
      "backend_config={\"known_trip_count\":{\"n\":\"10\"}}\n b = pred[] constant(false)\n j = "
      "s32[] constant(1)\n"
      " c1 = f32[] conditional(b, z, z), true_computation=body, false_computation=body\n"
      " c2 = f32[] conditional(j, z, z), branch_computations={body, body}\n"
      " so = f32[8,8] sort(p), dimensions={0}, is_stable=true, to_apply=lt\n"
      " ss = f32[8,8] select-and-scatter(p, p, z), window={size=1x1}, select=lt, scatter=add\n"
      " g = f32[1,8] gather(p, k), offset_dims={0,1}, collapsed_slice_dims={}, "
      "start_index_map={0,1}, "
      "index_vector_dim=0, slice_sizes={1,8}, indices_are_sorted=true\n"
      " sc = f32[8,8] scatter(p, k, g), update_window_dims={0,1}, inserted_window_dims={}, "
      "scatter_dims_to_operand_dims={0,1}, index_vector_dim=0, unique_indices=true, to_apply=add\n"
      " fu = f32[] fusion(z), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, calls=body\n"
      " ca = f32[] call(z), to_apply=body, is_composite=true\n"
      " cc = (f32[8], s32[]) custom-call(p), window={size=3x1}, custom_call_target=\"t\", "
      "operand_layout_constraints={f32[8,8]{0,1}}, custom_call_has_side_effect=true, "
      "literal=s32[2]{0} {1, 2}, schedule=SCHEDULE_LATEST, api_version=API_VERSION_TYPED_FFI, "
      "called_computations={add, lt}, backend_config=\"x\\ny\"\n"
      " tk = (f32[8,3], s32[8,3]) topk(p), k=3, largest=false\n ROOT o = () tuple()\n}");
}

static void test_collectives(void) {
  survives(
      "HloModule c, num_partitions=8\n" ADD
      "ENTRY e {\n p = f32[8,8] parameter(0)\n"
      " a = f32[8,8] all-reduce(p), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, "
      "use_global_device_ids=true, to_apply=add\n b = f32[8,8] all-reduce(a), replica_groups={}, "
      "to_apply=add\n"
      " c = f32[8,8] all-reduce(b), channel_id=2, replica_groups=[2,4]<=[4,2]T(1,0), to_apply=add\n"
      " d = f32[8,8] all-reduce(c), channel_id=3, replica_groups=[1,8]<=[8], to_apply=add\n"
      " f = f32[8,8] all-reduce(d), channel_id=4, replica_groups=mesh['a'=2,'b'=4], "
      "device_ids=([4,2]T(1,0)) "
      "{'b':(2)2}, to_apply=add\n g = f32[8,8] collective-permute(f), channel_id=5, "
      "source_target_pairs={{0,1},{1,0}}\n h = f32[8,8] all-to-all(g), replica_groups={{0,1}}, "
      "dimensions={0}\n"
      " i = u32[] constant(0)\n j = token[] after-all()\n"
      " k = (f32[8,8], u32[], token[]) send(h, j), channel_id=9, is_host_transfer=true, "
      "control-predecessors={g, h}\n"
      " l = token[] send-done(k), channel_id=9, is_host_transfer=true\n"
      " m = ((f32[8,8]), f32[16,8]) all-gather-start(h), replica_groups={{0,1}}, dimensions={0}\n"
      " ROOT n = f32[16,8] all-gather-done(m)\n}");
}

static void test_shardings(void) {
  survives(
      "HloModule s\nENTRY e {\n p = f32[8,8] parameter(0), sharding={replicated shard_as 5}\n"
      " a = f32[8,8] copy(p), sharding={maximal device=3}\n b = f32[8,8] copy(a), "
      "sharding={manual}\n"
      " c = f32[8,8] copy(b), sharding={devices=[2,2]0,2,1,3}\n"
      " d = f32[8,8] copy(c), sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate "
      "metadata={{op_name=\"x\"}, {op_name=\"y\"}}}\n"
      " f = f32[8,8] copy(d), sharding={devices=[1,1,2,2]<=[4] last_tile_dims={manual, replicated} "
      "shard_like 2}\n"
      " g = f32[8,8] copy(f), sharding={mesh['a'=2,'b'=4], [{'a', ?}, {'b':(1)2}], "
      "replicated={'b':(2)2}}\n"
      " h = f32[8,8] copy(g), sharding={mesh['a'=2], replicated}\n"
      " i = f32[8,8] copy(h), sharding={mesh['a'=2,'b'=2], device_ids=(0,2,1,3), manual}\n"
      " j = f32[8,8] copy(i), sharding={mesh['a'=2,'b'=2], unreduced}\n"
      " k = f32[8,8] copy(j), sharding={maximal_mesh[device_id=3]}\n"
      " l = f32[8,8] copy(k), sharding={mesh['a'=2,'b'=2], [{'a'}, {}], unreduced=max{'b'}, "
      "metadata={{op_name=\"x\"}}}\n"
      " m = f32[8,8] domain(l), domain={kind=\"sharding\", entry={replicated}, exit={maximal "
      "device=1}}\n"
      " ROOT t = (f32[8,8], f32[8,8]) tuple(l, m), sharding={{replicated}, "
      "{devices=[4,1]<=[4]}}\n}");
}

static void test_extras(void) {
  survives(
      "HloModule x\nENTRY e {\n p = f32[8] parameter(0), origin={{\"p\"}}\n"
      " q = f32[8] negate(p), frontend_attributes={_a=\"1\",b={c = 1}}, "
      "statistics={visualizing_index=1,"
      "nan=2,inf=0.5}, metadata={op_type=\"neg\" op_name=\"n\" source_file=\"f\" source_line=1 "
      "source_end_line=2 source_column=3 source_end_column=4 stack_frame_id=5 profile_type={1} "
      "deduplicated_name=\"d\" scheduling_name=\"s\"}, backend_config={\"a\":1}\n"
      " r = f32[8] call(q), to_apply={ ROOT y = f32[8] parameter(0) }, origin={[synthetic_call]}\n"
      " ROOT t = (f32[8], (f32[8], f32[8])) tuple(p, (f32[8], f32[8]) tuple(q, r)), "
      "origin={({\"p\" {0,1}}, ({}, "
      "{\"q\"}))}\n}");
}

static void test_async(void) {
  survives(
      "HloModule a\nw {\n a = f32[4] parameter(0)\n n = f32[4] negate(a)\n ROOT s = f32[4] "
      "abs(n)\n}, "
      "execution_thread=\"side\"\nENTRY e {\n p = f32[4] parameter(0)\n"
      " s = ((f32[4]), f32[4], u32[]) async-start(p), async_execution_thread=\"side\", calls=w\n"
      " u = ((f32[4]), f32[4], u32[]) async-update(s)\n d = f32[4] async-done(u)\n"
      " s.1 = ((f32[4]), f32[4]) custom-call-start(d), async_execution_thread=\"x\", "
      "custom_call_target=\"f\"\n"
      " u.1 = ((f32[4]), f32[4]) custom-call-update(s.1)\n d.1 = f32[4] custom-call-done(u.1)\n"
      " c = (f32[4], f32[4], u32[]) copy-start(d.1), cross_program_prefetch_index=0\n"
      " ROOT o = f32[4] copy-done(c)\n}");
}

/* Protos as other writers make them ------------------------------------------------------------ */

static void put_text(hr_strbuf_t *out, uint32_t number, const char *text) {
  proto_put_bytes(out, number, hr_str_from(text));
}

static void put_scalar_shape(hr_strbuf_t *out, uint32_t number, hr_dtype_t dtype) {
  size_t opened = proto_open(out, number);
  proto_put_int(out, PROTO_shape_element_type, hr_dtype_table[dtype].proto);
  proto_close(out, opened);
}

static size_t open_instr(hr_strbuf_t *out, const char *name, const char *opcode, hr_dtype_t dtype,
                         int64_t id) {
  size_t opened = proto_open(out, PROTO_computation_instructions);
  put_text(out, PROTO_instr_name, name);
  put_text(out, PROTO_instr_opcode, opcode);
  put_scalar_shape(out, PROTO_instr_shape, dtype);
  proto_put_int(out, PROTO_instr_id, id);
  return opened;
}

/* p, q = parameters; ROOT of the given opcode on both, with whatever `more` puts into it. */
static hr_strbuf_t small_module(const char *opcode, hr_dtype_t result,
                                void (*more)(hr_strbuf_t *out)) {
  hr_strbuf_t out;
  hr_strbuf_init(&out);
  put_text(&out, PROTO_module_name, "m");
  put_text(&out, PROTO_module_entry_computation_name, "e");
  size_t computation = proto_open(&out, PROTO_module_computations);
  put_text(&out, PROTO_computation_name, "e");
  proto_put_int(&out, PROTO_computation_id, 20);
  proto_put_int(&out, PROTO_computation_root_id, 7);
  proto_close(&out, open_instr(&out, "p", "parameter", HR_F32, 5));
  size_t second = open_instr(&out, "p", "parameter", HR_F32, 6);
  proto_put_int(&out, PROTO_instr_parameter_number, 1);
  proto_close(&out, second);
  size_t root = open_instr(&out, "f32", opcode, result, 7);
  proto_put_present_int(&out, PROTO_instr_operand_ids, 5); /* not packed */
  proto_put_present_int(&out, PROTO_instr_operand_ids, 6);
  if (more) more(&out);
  proto_close(&out, root);
  proto_close(&out, computation);
  return out;
}

static void reads_as(hr_strbuf_t *bytes, const char *want) {
  size_t live = hr_mem_live_blocks();
  hlo_module_t *module = NULL;
  CHECK_OK(read_bytes(bytes->data, bytes->size, &module));
  if (module) {
    CHECK_OK(hlo_verify(module));
    hr_strbuf_t text = print(module);
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, want));
    if (!strstr(text.data, want)) fprintf(stderr, "%s\nwant: %s\n", text.data, want);
    hr_strbuf_deinit(&text);
  }
  hlo_module_destroy(module);
  hr_strbuf_deinit(bytes);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

static void put_bare_groups(hr_strbuf_t *out) { proto_put_int(out, PROTO_instr_channel_id, -1); }

static void put_unknown(hr_strbuf_t *out) {
  proto_put_int(out, 4242, 1);
  put_text(out, 4243, "unknown");
  proto_put_f64(out, 4244, 1);
  proto_put_f32(out, 4245, 1);
}

static void test_old_files(void) {
  hr_strbuf_t out = small_module("greater-than", HR_PRED, NULL);
  reads_as(&out, "ROOT %f32_ = pred[] compare(%p, %p.1), direction=GT");
  out = small_module("add", HR_F32, put_unknown);
  reads_as(&out, "ROOT %f32_ = f32[] add(%p, %p.1)\n");
  out = small_module("multiply", HR_F32, put_bare_groups);
  reads_as(&out, "ROOT %f32_ = f32[] multiply(%p, %p.1)\n");
}

/* A module in an HloProto in an HloSnapshot, and in an HloModuleProtoWithConfig. */
static void test_wrappers(void) {
  hr_strbuf_t module = small_module("add", HR_F32, NULL), out;
  hr_strbuf_init(&out);
  size_t snapshot = proto_open(&out, PROTO_snapshot_hlo);
  proto_put_item(&out, PROTO_wrapper_hlo_module, (hr_str_t){module.data, module.size});
  proto_close(&out, snapshot);
  put_text(&out, 4, "Host");
  reads_as(&out, "ROOT %f32_ = f32[] add(%p, %p.1)\n");
  hr_strbuf_init(&out);
  proto_put_item(&out, PROTO_wrapper_hlo_module, (hr_str_t){module.data, module.size});
  size_t config = proto_open(&out, PROTO_wrapper_config);
  proto_put_int(&out, PROTO_config_replica_count, 2);
  proto_put_int(&out, PROTO_config_num_partitions, 3);
  proto_close(&out, config);
  reads_as(&out, "replica_count=2, num_partitions=3\n");
  hr_strbuf_deinit(&module);
}

static void put_payload(hr_strbuf_t *out) {
  size_t opened = proto_open(out, PROTO_instr_backend_config_payload);
  proto_put_present_int(out, PROTO_payload_id, 0);
  proto_close(out, opened);
}

static void test_payloads(void) {
  hr_strbuf_t out = small_module("add", HR_F32, put_payload);
  CHECK_FAILS(HR_INVALID, read_bytes(out.data, out.size, &(hlo_module_t *){NULL}));
  put_text(&out, PROTO_module_payloads, "{\"a\":1}");
  reads_as(&out, "add(%p, %p.1), backend_config={\"a\":1}\n");
}

static void refused(hr_strbuf_t out) {
  CHECK_FAILS(HR_INVALID, read_bytes(out.data, out.size, &(hlo_module_t *){NULL}));
  hr_strbuf_deinit(&out);
}

static void put_third_operand(hr_strbuf_t *out) {
  proto_put_present_int(out, PROTO_instr_operand_ids, 5);
}
static void put_later_operand(hr_strbuf_t *out) {
  proto_put_present_int(out, PROTO_instr_operand_ids, 7);
}
static void put_call(hr_strbuf_t *out) {
  proto_put_present_int(out, PROTO_instr_called_computation_ids, 20);
}

static void test_damage(void) {
  refused(small_module("no-such-op", HR_F32, NULL));
  refused(small_module("add", HR_F32, put_third_operand));
  refused(small_module("tuple", HR_F32, put_later_operand));
  refused(small_module("add", HR_F32, put_call));
  hr_strbuf_t out = small_module("add", HR_F32, NULL);
  for (size_t size = 0; size < out.size; size++) {
    char *exact = malloc(size + 1);
    hlo_module_t *module = NULL;
    memcpy(exact, out.data, size);
    hr_status_t st = read_bytes(exact, size, &module);
    hlo_module_destroy(module);
    CU_ASSERT_PTR_NOT_NULL(st);
    hr_status_release(st);
    free(exact);
  }
  hr_strbuf_deinit(&out);
}

static hr_status_t attempt_read(size_t n, void *bytes) {
  hlo_module_t *again = NULL;
  faults_begin(n);
  hr_status_t st = read_bytes(hr_buffer_data(bytes), hr_buffer_size(bytes), &again);
  faults_end();
  hlo_module_destroy(again);
  return st;
}

static void test_no_memory(void) {
  const char *text =
      "HloModule l\nENTRY e {\n a = s32[2,3]{0,1} constant({{1,2,3},{4,5,6}})\n"
      " ROOT t = (s32[2,3]{0,1}) tuple(a), sharding={{replicated}}\n}";
  hlo_module_t *module = NULL;
  hr_buffer_t *bytes = NULL;
  CHECK_OK(read_bytes(text, strlen(text), &module));
  CHECK_OK(write_hlo_proto(module, HLO_PROTO_MODULE, &bytes));
  CU_ASSERT(faults_try(attempt_read, bytes) > 1);
  hr_buffer_release(bytes);
  hlo_module_destroy(module);
}

CU_TestInfo suite_hlo_proto[] = {{"header", test_header},
                                 {"shapes and literals", test_shapes_and_literals},
                                 {"plain attributes", test_plain_attributes},
                                 {"calling attributes", test_calling_attributes},
                                 {"collectives", test_collectives},
                                 {"shardings", test_shardings},
                                 {"extras", test_extras},
                                 {"async", test_async},
                                 {"old files", test_old_files},
                                 {"wrappers", test_wrappers},
                                 {"payloads", test_payloads},
                                 {"damage", test_damage},
                                 {"no memory", test_no_memory},
                                 CU_TEST_INFO_NULL};
