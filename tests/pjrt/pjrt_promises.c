/* Values that come later, as a framework promises them: aliases, donations that wait, transfers in
 * pieces, copies to memory that is not there yet, launches that are poisoned. argv: PLUGIN. Prints
 * "N passed, N failed". */
#include "pjrt/abi/pjrt_abi_transfer.h"
#include "pjrt/abi/pjrt_extensions.h"
#include "tests/pjrt/plugin_calls.h"

enum { COUNT = 4 };

static const int64_t dims[] = {COUNT};
static const float ones[COUNT] = {1, 2, 3, 4};
static char add_text[] =
    "module @add { func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> "
    "tensor<4xf32> { %0 = stablehlo.add %a, %b : tensor<4xf32> return %0 : tensor<4xf32> } }";

static pjrt_client_t *client;
static pjrt_executable_t *add;

static pjrt_memory_t *memory_of(pjrt_device_t *device) {
  pjrt_pointer_args_t args = {.struct_size = sizeof args, .object = device};
  check(CALL(Device_DefaultMemory, &args), "memory");
  return args.value;
}

/* Awaits and ends an event; it fails with a text that holds `says`, or, with NULL, succeeds. */
static void await(pjrt_event_t *event, const char *says) {
  pjrt_event_args_t args = {.struct_size = sizeof args, .event = event};
  check(call(PJRT_INDEX_Event_Await, &args, says) == !says, "an event is as it should be");
  check(CALL(Event_Destroy, &args), "the event ends");
}

static void await_buffer(pjrt_buffer_t *buffer, const char *says) {
  pjrt_pointer_args_t args = {.struct_size = sizeof args, .object = buffer};
  check(CALL(Buffer_ReadyEvent, &args), "the event of a buffer");
  await(args.value, says);
}

static bool is_ready(pjrt_buffer_t *buffer) {
  pjrt_pointer_args_t event = {.struct_size = sizeof event, .object = buffer};
  check(CALL(Buffer_ReadyEvent, &event), "the event of a buffer");
  pjrt_event_ready_args_t args = {.struct_size = sizeof args, .event = event.value};
  check(CALL(Event_IsReady, &args), "is it ready");
  pjrt_event_args_t end = {.struct_size = sizeof end, .event = event.value};
  check(CALL(Event_Destroy, &end), "the event ends");
  return args.is_ready;
}

/* Launches the sum, and returns without waiting. */
static pjrt_buffer_t *launch(pjrt_buffer_t *a, pjrt_buffer_t *b, int launch_id) {
  pjrt_execute_options_t options = {.struct_size = sizeof options, .launch_id = launch_id};
  pjrt_buffer_t *arguments[] = {a, b}, *result = NULL, **results = &result;
  pjrt_buffer_t *const *lists[] = {arguments};
  pjrt_execute_args_t args = {.struct_size = sizeof args,
                              .executable = add,
                              .options = &options,
                              .arguments = lists,
                              .num_devices = 1,
                              .num_args = 2,
                              .results = &results};
  check(CALL(LoadedExecutable_Execute, &args), "a launch");
  return result;
}

static void check_values(pjrt_buffer_t *buffer, float first, float last, const char *what) {
  float values[COUNT] = {0};
  get(buffer, values, COUNT);
  check(values[0] == first && values[COUNT - 1] == last, what);
}

static pjrt_alias_args_t make_alias(void) {
  pjrt_alias_args_t args = {.struct_size = sizeof args,
                            .client = client,
                            .memory = memory_of(first_device(client)),
                            .dims = dims,
                            .num_dims = 1,
                            .type = PJRT_TYPE_F32};
  check(CALL(Client_CreateAliasBuffer, &args), "an alias");
  return args;
}

/* An execution and a copy take the alias before it is fulfilled. */
static void test_alias(void) {
  pjrt_alias_args_t alias = make_alias();
  pjrt_buffer_t *source = put(client, ones, COUNT), *sum = launch(alias.buffer, source, 1);
  float copied[COUNT] = {0};
  pjrt_to_host_args_t copy = {
      .struct_size = sizeof copy, .buffer = alias.buffer, .dst = copied, .dst_size = sizeof copied};
  check(CALL(Buffer_ToHostBuffer, &copy), "a copy of an alias");
  check(!is_ready(alias.buffer) && !is_ready(sum),
        "nothing is ready before the alias is fulfilled");
  pjrt_fulfil_args_t fulfil = {.struct_size = sizeof fulfil,
                               .client = client,
                               .buffer = alias.buffer,
                               .fulfil = alias.fulfil};
  FAILS(Client_FulfillAliasBuffer, &fulfil, "a buffer is its own alias");
  fulfil.buffer = put(client, ones, COUNT - 1);
  FAILS(Client_FulfillAliasBuffer, &fulfil, "an alias of f32[4] is to be f32[3]");
  drop(PJRT_INDEX_Buffer_Destroy, fulfil.buffer);
  fulfil.buffer = source;
  check(CALL(Client_FulfillAliasBuffer, &fulfil), "the alias is fulfilled");
  await(copy.event, NULL);
  check(copied[3] == 4, "the copy is made");
  drop(PJRT_INDEX_Buffer_Destroy, source);
  check_values(alias.buffer, 1, 4, "the alias has the value");
  check_values(sum, 2, 8, "the execution has read it");
  drop(PJRT_INDEX_Buffer_Destroy, sum);
  drop(PJRT_INDEX_Buffer_Destroy, alias.buffer);
}

/* The source is a result that waits for another alias; an alias may fail, and be gone before. */
static void test_alias_of_later(void) {
  pjrt_alias_args_t first = make_alias(), second = make_alias(), broken = make_alias();
  pjrt_buffer_t *sum = launch(first.buffer, first.buffer, 2), *ready = put(client, ones, COUNT);
  pjrt_fulfil_args_t fulfil = {
      .struct_size = sizeof fulfil, .client = client, .buffer = sum, .fulfil = second.fulfil};
  check(CALL(Client_FulfillAliasBuffer, &fulfil), "fulfilled by what is not ready");
  fulfil.buffer = ready;
  fulfil.fulfil = first.fulfil;
  check(CALL(Client_FulfillAliasBuffer, &fulfil), "the first is fulfilled");
  check_values(second.buffer, 2, 8, "the second has the sum");
  pjrt_buffer_t *failed = launch(broken.buffer, ready, 3);
  fulfil = (pjrt_fulfil_args_t){.struct_size = sizeof fulfil,
                                .client = client,
                                .code = PJRT_ABORTED,
                                .message = "no such luck",
                                .message_size = 12,
                                .fulfil = broken.fulfil};
  check(CALL(Client_FulfillAliasBuffer, &fulfil), "an alias fails");
  await_buffer(broken.buffer, "no such luck");
  await_buffer(failed, "no such luck");
  pjrt_alias_args_t gone = make_alias();
  drop(PJRT_INDEX_Buffer_Destroy, gone.buffer);
  fulfil = (pjrt_fulfil_args_t){
      .struct_size = sizeof fulfil, .client = client, .buffer = ready, .fulfil = gone.fulfil};
  check(CALL(Client_FulfillAliasBuffer, &fulfil), "an alias that nobody has any more");
  pjrt_buffer_t *all[] = {first.buffer, second.buffer, broken.buffer, sum, ready, failed};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) drop(PJRT_INDEX_Buffer_Destroy, all[i]);
}

/* The buffer is gone at once; its value is there when the dependency is. */
static void test_donation_later(void) {
  for (int fails = 0; fails < 2; fails++) {
    pjrt_donate_args_t args = {.struct_size = sizeof args, .buffer = put(client, ones, COUNT)};
    check(CALL(Buffer_DonateWithControlDependency, &args), "donated");
    check(is_deleted(args.buffer) && !is_ready(args.out_buffer), "gone, and not yet there");
    pjrt_donate_args_t again = {.struct_size = sizeof again, .buffer = args.buffer};
    FAILS(Buffer_DonateWithControlDependency, &again, "deleted or donated");
    pjrt_ready_args_t ready = {.struct_size = offsetof(pjrt_ready_args_t, dst),
                               .promise = args.promise,
                               .code = fails ? PJRT_INTERNAL : PJRT_OK,
                               .message = "lost",
                               .message_size = 4};
    args.ready(&ready);
    if (fails)
      await_buffer(args.out_buffer, "lost");
    else
      check_values(args.out_buffer, 1, 4, "the value is in the new buffer");
    drop(PJRT_INDEX_Buffer_Destroy, args.buffer);
    drop(PJRT_INDEX_Buffer_Destroy, args.out_buffer);
  }
}

/* Two elements, to memory that comes after the call; and one that does not come. */
static void test_copy_later(void) {
  float there[2] = {0};
  pjrt_buffer_t *buffer = put(client, ones, COUNT);
  pjrt_raw_later_args_t args = {
      .struct_size = sizeof args, .buffer = buffer, .offset = 4, .size_bytes = sizeof there};
  check(CALL(Buffer_CopyRawToHostFuture, &args), "a copy to what comes later");
  pjrt_ready_args_t ready = {.struct_size = sizeof ready, .promise = args.promise, .dst = there};
  args.ready(&ready);
  await(args.event, NULL);
  check(there[0] == 2 && there[1] == 3, "the elements are there");
  check(CALL(Buffer_CopyRawToHostFuture, &args), "another");
  ready = (pjrt_ready_args_t){.struct_size = sizeof ready,
                              .promise = args.promise,
                              .code = PJRT_RESOURCE_EXHAUSTED,
                              .message = "no memory there",
                              .message_size = 15};
  args.ready(&ready);
  await(args.event, "no memory there");
  args.size_bytes = 16;
  FAILS(Buffer_CopyRawToHostFuture, &args, "16 bytes from byte 4 on, of an array of 16");
  drop(PJRT_INDEX_Buffer_Destroy, buffer);
}

static pjrt_transfer_t *make_transfer(pjrt_layout_t *const *layouts) {
  static const int64_t matrix[] = {2, 3};
  const pjrt_shape_spec_t shapes[] = {
      {.struct_size = sizeof shapes[0], .dims = dims, .num_dims = 1, .type = PJRT_TYPE_F32},
      {.struct_size = sizeof shapes[0], .dims = matrix, .num_dims = 2, .type = PJRT_TYPE_F32}};
  pjrt_transfer_create_args_t args = {.struct_size = sizeof args,
                                      .client = client,
                                      .shapes = shapes,
                                      .shape_count = 2,
                                      .layouts = layouts,
                                      .layout_count = layouts ? 2 : 0,
                                      .memory = memory_of(first_device(client))};
  check(CALL(Client_CreateBuffersForAsyncHostToDevice, &args), "a transfer of two buffers");
  return args.transfer;
}

static pjrt_buffer_t *retrieve(pjrt_transfer_t *transfer, int index) {
  pjrt_transfer_buffer_args_t args = {
      .struct_size = sizeof args, .transfer = transfer, .index = index};
  check(CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, &args), "a buffer of a transfer");
  return args.buffer;
}

static void send_piece(pjrt_transfer_t *transfer, int first, int count, bool is_last) {
  pjrt_transfer_data_args_t args = {.struct_size = sizeof args,
                                    .transfer = transfer,
                                    .data = ones + first,
                                    .offset = first * (int64_t)sizeof *ones,
                                    .size_bytes = count * (int64_t)sizeof *ones,
                                    .is_last = is_last};
  check(CALL(AsyncHostToDeviceTransferManager_TransferData, &args), "a piece");
  await(args.event, NULL);
}

static void check_transfer(pjrt_transfer_t *transfer) {
  pjrt_size_args_t count = {.struct_size = sizeof count, .object = transfer};
  check(CALL(AsyncHostToDeviceTransferManager_BufferCount, &count) && count.value == 2, "two");
  pjrt_transfer_size_args_t size = {.struct_size = sizeof size, .transfer = transfer, .index = 1};
  check(CALL(AsyncHostToDeviceTransferManager_BufferSize, &size) && size.size_bytes == 24, "bytes");
  pjrt_pointer_args_t device = {.struct_size = sizeof device, .object = transfer};
  check(CALL(AsyncHostToDeviceTransferManager_Device, &device) &&
            device.value == first_device(client),
        "device of a transfer");
  pjrt_transfer_metadata_args_t metadata = {.struct_size = sizeof metadata, .transfer = transfer};
  check(CALL(AsyncHostToDeviceTransferManager_AddMetadata, &metadata), "metadata");
  size.index = 2;
  FAILS(AsyncHostToDeviceTransferManager_BufferSize, &size, "buffer 2 of a transfer of 2");
}

/* Pieces in any order; the second buffer, which lies by columns, is given whole. */
static void test_transfer(void) {
  static const int64_t minor_to_major[] = {0, 1}, matrix[] = {2, 3};
  const float rows[] = {1, 2, 3, 4, 5, 6};
  float raw[6] = {0};
  pjrt_layout_t columns = {.struct_size = sizeof columns,
                           .tiled = {.minor_to_major = minor_to_major, .minor_to_major_size = 2}};
  pjrt_layout_t *const layouts[] = {NULL, &columns};
  pjrt_transfer_t *transfer = make_transfer(layouts);
  pjrt_buffer_t *first = retrieve(transfer, 0), *second = retrieve(transfer, 1);
  check_transfer(transfer);
  pjrt_buffer_t *sum = launch(first, first, 4);
  send_piece(transfer, 2, 2, false);
  check(!is_ready(first), "not complete");
  send_piece(transfer, 0, 2, true);
  check_values(first, 1, 4, "all pieces are there");
  check_values(sum, 2, 8, "an execution waited for them");
  pjrt_transfer_literal_args_t literal = {.struct_size = sizeof literal,
                                          .transfer = transfer,
                                          .index = 1,
                                          .data = rows,
                                          .dims = dims,
                                          .num_dims = 1,
                                          .type = PJRT_TYPE_F32};
  FAILS(AsyncHostToDeviceTransferManager_TransferLiteral, &literal,
        "buffer 1 is f32[2,3], the array is f32[4]");
  literal.dims = matrix;
  literal.num_dims = 2;
  check(CALL(AsyncHostToDeviceTransferManager_TransferLiteral, &literal), "a whole array");
  await(literal.event, NULL);
  pjrt_raw_to_host_args_t bytes = {
      .struct_size = sizeof bytes, .buffer = second, .dst = raw, .size_bytes = sizeof raw};
  check(CALL(Buffer_CopyRawToHost, &bytes), "its bytes");
  await(bytes.event, NULL);
  check(raw[1] == 4 && raw[2] == 2, "it lies by columns");
  FAILS(AsyncHostToDeviceTransferManager_TransferLiteral, &literal, "buffer 1 is complete");
  drop(PJRT_INDEX_AsyncHostToDeviceTransferManager_Destroy, transfer);
  pjrt_buffer_t *all[] = {first, second, sum};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) drop(PJRT_INDEX_Buffer_Destroy, all[i]);
}

/* One buffer fails by its error, the other one because the transfer ends without it. */
static void test_failed_transfer(void) {
  pjrt_transfer_t *transfer = make_transfer(NULL);
  pjrt_buffer_t *first = retrieve(transfer, 0), *second = retrieve(transfer, 1);
  pjrt_transfer_error_args_t error = {.struct_size = sizeof error,
                                      .transfer = transfer,
                                      .code = PJRT_UNAVAILABLE,
                                      .message = "the sender is gone",
                                      .message_size = 18};
  check(CALL(AsyncHostToDeviceTransferManager_SetBufferError, &error), "a buffer fails");
  await_buffer(first, "the sender is gone");
  drop(PJRT_INDEX_AsyncHostToDeviceTransferManager_Destroy, transfer);
  await_buffer(second, "destroyed before the last piece");
  drop(PJRT_INDEX_Buffer_Destroy, first);
  drop(PJRT_INDEX_Buffer_Destroy, second);
}

/* A launch waits after one whose argument is not there; only one that has not begun can fail. */
static void test_poison(void) {
  pjrt_alias_args_t alias = make_alias();
  pjrt_buffer_t *ready = put(client, ones, COUNT), *before = launch(alias.buffer, ready, 5);
  pjrt_buffer_t *poisoned = launch(before, ready, 6), *behind = launch(poisoned, ready, 7);
  pjrt_poison_args_t args = {.struct_size = sizeof args,
                             .device = first_device(client),
                             .launch_id = 6,
                             .code = PJRT_ABORTED,
                             .message = "a peer is gone",
                             .message_size = 14};
  check(CALL(Device_PoisonExecution, &args) && args.is_poisoned, "a launch is poisoned");
  args.launch_id = 8;
  check(CALL(Device_PoisonExecution, &args) && !args.is_poisoned, "there is no such launch");
  args.code = PJRT_OK;
  FAILS(Device_PoisonExecution, &args, "poisoned without an error");
  pjrt_fulfil_args_t fulfil = {
      .struct_size = sizeof fulfil, .client = client, .buffer = ready, .fulfil = alias.fulfil};
  check(CALL(Client_FulfillAliasBuffer, &fulfil), "the alias is fulfilled");
  check_values(before, 2, 8, "the launch before it is as ever");
  await_buffer(poisoned, "a peer is gone");
  await_buffer(behind, "a peer is gone");
  pjrt_buffer_t *all[] = {alias.buffer, ready, before, poisoned, behind};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) drop(PJRT_INDEX_Buffer_Destroy, all[i]);
}

/* What goes on on a device is shown by a profile under the text that it was given. */
static void test_tracking(void) {
  const pjrt_profiler_extension_t *extension = find_extension(PJRT_EXTENSION_PROFILER);
  check(extension != NULL, "there is a profiler");
  if (!extension) return;
  const pjrt_profiler_api_t *profiler = extension->api;
  pjrt_profiler_create_args_t create = {.struct_size = sizeof create};
  check(!profiler->create(&create), "a profile");
  pjrt_profiler_args_t profile = {.struct_size = sizeof profile, .profiler = create.profiler};
  check(!profiler->start(&profile), "it starts");
  pjrt_tracking_args_t args = {.struct_size = sizeof args,
                               .device = first_device(client),
                               .text = "a send underway",
                               .text_size = 15};
  check(CALL(Device_CreateAsyncTrackingEvent, &args), "something goes on");
  drop(PJRT_INDEX_AsyncTrackingEvent_Destroy, args.tracking);
  check(!profiler->stop(&profile), "it stops");
  pjrt_profiler_collect_args_t collect = {.struct_size = sizeof collect,
                                          .profiler = create.profiler};
  check(!profiler->collect(&collect), "it is written");
  check(memmem(collect.buffer, collect.size, args.text, args.text_size) != NULL, "it is shown");
  check(!profiler->destroy(&profile), "it ends");
}

/* Status 99: the plugin cannot be loaded. */
int main(int argc, char **argv) {
  if (!open_plugin(argc > 1 ? argv[1] : NULL)) return 99;
  client = create_client();
  check(compile(client, add_text, NULL, &add), "compiles");
  test_alias();
  test_alias_of_later();
  test_donation_later();
  test_copy_later();
  test_transfer();
  test_failed_transfer();
  test_poison();
  test_tracking();
  drop(PJRT_INDEX_LoadedExecutable_Destroy, add);
  drop(PJRT_INDEX_Client_Destroy, client);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
