/* Calls of the plugin, right and wrong ones, on the buffers of random_slots.h. A sequence is
 * wrong only if a value is. */
#include "tests/pjrt/random_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pjrt/abi/pjrt_abi_transfer.h"
#include "pjrt/abi/pjrt_extensions.h"
#include "tests/pjrt/random_slots.h"

static int wrong_values;

static const int argument_counts[PROGRAMS] = {2, 1, 1, 1};

static float expected(int program, const float *values) {
  switch (program) {
    case 0:
      return values[0] + values[1];
    case 1:
      return values[0];
    case 2:
      return -values[0];
    default:
      return values[0] > 0 ? values[0] : 0;
  }
}

static bool random_call(int index, void *args) {
  return random_call_function(api->functions[index], args);
}

#define CALL(name, args) random_call(PJRT_INDEX_##name, args)

/* --- calls --- */

/* Sends an array, reversed by its strides now and then; one of eight is described wrongly. */
static void send(uint64_t *state) {
  static const int64_t wrong_dims[] = {-6};
  int64_t dims[] = {COUNT}, strides[] = {random_draw(state, 2) ? 4 : -4};
  float values[COUNT], value = (float)random_draw(state, 50);
  for (int i = 0; i < COUNT; i++) values[i] = value;
  pjrt_from_host_args_t args = {.struct_size = sizeof args,
                                .client = client,
                                .data = strides[0] > 0 ? values : values + COUNT - 1,
                                .type = PJRT_TYPE_F32,
                                .dims = dims,
                                .num_dims = 1,
                                .byte_strides = strides,
                                .num_byte_strides = 1,
                                .semantics = (pjrt_semantics_t)random_draw(state, 4),
                                .device = devices[random_draw(state, 2)]};
  switch (random_draw(state, 32)) {
    case 0:
      args.dims = wrong_dims;
      break;
    case 1:
      args.type = 99;
      break;
    case 2:
      args.device = NULL;
      break;
    case 3:
      args.num_byte_strides = 2;
      break;
    default:
      break;
  }
  if (!CALL(Client_BufferFromHostBuffer, &args)) return;
  random_await(args.done_with_host_buffer);
  random_replace(state, args.buffer, value);
}

/* Fetches an array and looks at its numbers. A buffer of another size is refused. */
static void fetch(uint64_t *state) {
  float values[COUNT];
  random_slot_t *slot = random_borrow(state);
  pjrt_to_host_args_t args = {.struct_size = sizeof args, .buffer = slot->buffer, .dst = values};
  args.dst_size = sizeof values - random_draw(state, 8) / 7;
  float value = slot->value;
  bool ok = CALL(Buffer_ToHostBuffer, &args);
  random_give_back(slot);
  if (!ok || !random_await(args.event)) return;
  for (int i = 0; i < COUNT; i++)
    if (values[i] != value) __atomic_fetch_add(&wrong_values, 1, __ATOMIC_RELAXED);
}

/* Bytes from a place that may lie outside. */
static void fetch_raw(uint64_t *state) {
  char bytes[64];
  random_slot_t *slot = random_borrow(state);
  pjrt_raw_to_host_args_t args = {.struct_size = sizeof args,
                                  .buffer = slot->buffer,
                                  .dst = bytes,
                                  .offset = (int64_t)random_draw(state, 30) - 2,
                                  .size_bytes = (int64_t)random_draw(state, 30) - 2};
  bool ok = CALL(Buffer_CopyRawToHost, &args);
  random_give_back(slot);
  if (ok) random_await(args.event);
}

/* Runs a program. One buffer may be both arguments, or be donated while it is one elsewhere. */
static void execute(uint64_t *state) {
  int program = (int)random_draw(state, PROGRAMS), count = argument_counts[program];
  random_slot_t *used[2];
  random_borrow_two(state, used);
  pjrt_buffer_t *arguments[] = {used[0]->buffer, used[1]->buffer}, *result = NULL;
  float values[] = {used[0]->value, used[1]->value};
  pjrt_buffer_t *const *lists[] = {arguments};
  pjrt_buffer_t **results[] = {&result};
  pjrt_event_t *event = NULL;
  int64_t kept = 0;
  pjrt_execute_options_t options = {.struct_size = sizeof options, .kept_inputs = &kept};
  options.num_kept_inputs = random_draw(state, 4) == 0;
  pjrt_execute_args_t args = {.struct_size = sizeof args,
                              .executable = programs[program],
                              .options = &options,
                              .arguments = lists,
                              .num_devices = 1 + (random_draw(state, 32) == 0),
                              .num_args = (size_t)count + (random_draw(state, 32) == 0),
                              .results = results,
                              .complete = random_draw(state, 4) ? &event : NULL};
  bool ok = CALL(LoadedExecutable_Execute, &args);
  random_give_back(used[0]);
  random_give_back(used[1]);
  if (ok && event) random_await(event);
  if (ok) random_replace(state, result, expected(program, values));
}

static void delete_one(uint64_t *state) {
  random_slot_t *slot = random_borrow(state);
  random_drop(PJRT_INDEX_Buffer_Delete, slot->buffer);
  random_give_back(slot);
}

static void destroy_one(uint64_t *state) { random_replace(state, NULL, 0); }

/* A copy on the other device has the same numbers. */
static void copy(uint64_t *state) {
  random_slot_t *slot = random_borrow(state);
  pjrt_copy_args_t args = {
      .struct_size = sizeof args, .buffer = slot->buffer, .target = devices[random_draw(state, 2)]};
  float value = slot->value;
  bool ok = CALL(Buffer_CopyToDevice, &args);
  random_give_back(slot);
  if (ok) random_replace(state, args.dst_buffer, value);
}

/* Every question that takes a buffer, and the count of views outside. */
static void ask(uint64_t *state) {
  static const int questions[] = {PJRT_INDEX_Buffer_ElementType,
                                  PJRT_INDEX_Buffer_Dimensions,
                                  PJRT_INDEX_Buffer_IsDeleted,
                                  PJRT_INDEX_Buffer_OnDeviceSizeInBytes,
                                  PJRT_INDEX_Buffer_Device,
                                  PJRT_INDEX_Buffer_Memory,
                                  PJRT_INDEX_Buffer_IsOnCpu,
                                  PJRT_INDEX_Buffer_UnsafePointer,
                                  PJRT_INDEX_Buffer_UnpaddedDimensions};
  pjrt_list_args_t args = {.struct_size = sizeof args};
  random_slot_t *slot = random_borrow(state);
  args.object = slot->buffer;
  random_call(questions[random_draw(state, sizeof questions / sizeof *questions)], &args);
  pjrt_object_args_t view = {.struct_size = sizeof view, .object = slot->buffer};
  if (random_draw(state, 2) && CALL(Buffer_IncreaseExternalReferenceCount, &view))
    CALL(Buffer_DecreaseExternalReferenceCount, &view);
  random_give_back(slot);
}

/* The event of a buffer outlives it. */
static void wait_for(uint64_t *state) {
  random_slot_t *slot = random_borrow(state);
  pjrt_pointer_args_t args = {.struct_size = sizeof args, .object = slot->buffer};
  bool ok = CALL(Buffer_ReadyEvent, &args);
  random_give_back(slot);
  if (!ok) return;
  pjrt_event_on_ready_args_t ready = {
      .struct_size = sizeof ready, .event = args.value, .callback = random_forget};
  CALL(Event_OnReady, &ready);
  random_await(args.value);
}

/* Bytes of an executable with one of them changed; the header or the options may be what breaks. */
static void load_bytes(uint64_t *state) {
  pjrt_serialized_args_t bytes = {.struct_size = sizeof bytes,
                                  .object = programs[random_draw(state, PROGRAMS)]};
  if (!CALL(Executable_Serialize, &bytes)) return;
  char *changed = malloc(bytes.size_bytes);
  memcpy(changed, bytes.bytes, bytes.size_bytes);
  changed[random_draw(state, (unsigned)bytes.size_bytes)] ^= (char)random_draw(state, 256);
  pjrt_deserialize_args_t args = {
      .struct_size = sizeof args,
      .client = client,
      .bytes = changed,
      .size_bytes = random_draw(state, 2) ? bytes.size_bytes
                                          : random_draw(state, (unsigned)bytes.size_bytes)};
  if (CALL(Executable_DeserializeAndLoad, &args))
    random_drop(PJRT_INDEX_LoadedExecutable_Destroy, args.executable);
  bytes.release(bytes.owner);
  free(changed);
}

/* Any function with a struct that is all zero, of any size that it may claim. */
static void call_wrongly(uint64_t *state) {
  union {
    size_t struct_size;
    char bytes[512];
  } args;
  int index = (int)random_draw(state, PJRT_FUNCTION_COUNT);
  if (index == PJRT_INDEX_Client_Create || index == PJRT_INDEX_Plugin_Initialize) return;
  if (index == PJRT_INDEX_Event_Create || index == PJRT_INDEX_ExecuteContext_Create) return;
  if (index == PJRT_INDEX_TopologyDescription_Create) return;
  memset(&args, 0, sizeof args);
  args.struct_size = random_draw(state, 2) ? sizeof args : random_draw(state, 160);
  random_call(index, random_draw(state, 8) ? &args : NULL);
}

/* An event of the caller's own: set, perhaps twice, perhaps never. */
static void use_event(uint64_t *state) {
  pjrt_event_args_t event = {.struct_size = sizeof event};
  if (!CALL(Event_Create, &event)) return;
  pjrt_event_on_ready_args_t ready = {
      .struct_size = sizeof ready, .event = event.event, .callback = random_forget};
  CALL(Event_OnReady, &ready);
  pjrt_event_set_args_t set = {.struct_size = sizeof set,
                               .event = event.event,
                               .code = random_draw(state, 2) ? PJRT_OK : PJRT_INTERNAL,
                               .message = "said",
                               .message_size = 4};
  for (unsigned times = random_draw(state, 3); times; times--) CALL(Event_Set, &set);
  CALL(Event_Destroy, &event);
}

/* A buffer whose value is an error: what uses it fails. */
static void make_error(uint64_t *state) {
  int64_t dims[] = {COUNT};
  pjrt_error_buffer_args_t args = {.struct_size = sizeof args,
                                   .client = client,
                                   .code = PJRT_INTERNAL,
                                   .message = "said",
                                   .message_size = 4,
                                   .dims = dims,
                                   .num_dims = 1,
                                   .type = PJRT_TYPE_F32};
  pjrt_pointer_args_t memory = {.struct_size = sizeof memory, .object = devices[0]};
  if (!CALL(Device_DefaultMemory, &memory)) return;
  args.memory = memory.value;
  if (CALL(Client_CreateErrorBuffer, &args)) random_replace(state, args.buffer, 0);
}

static pjrt_memory_t *draw_memory(uint64_t *state) {
  pjrt_pointer_args_t args = {.struct_size = sizeof args, .object = devices[random_draw(state, 2)]};
  return CALL(Device_DefaultMemory, &args) ? args.value : NULL;
}

/* An alias that the others may use before it has its value, or its error. Its source is a copy of
 * the caller's own, so that it does not wait for what waits for the alias. */
static void make_alias(uint64_t *state) {
  int64_t dims[] = {COUNT};
  random_slot_t *slot = random_borrow(state);
  pjrt_copy_args_t source = {.struct_size = sizeof source,
                             .buffer = slot->buffer,
                             .target = devices[random_draw(state, 2)]};
  float value = slot->value;
  bool ok = CALL(Buffer_CopyToDevice, &source);
  random_give_back(slot);
  if (!ok) return;
  pjrt_alias_args_t alias = {.struct_size = sizeof alias,
                             .client = client,
                             .memory = draw_memory(state),
                             .dims = dims,
                             .num_dims = 1,
                             .type = PJRT_TYPE_F32};
  pjrt_fulfil_args_t fulfil = {.struct_size = sizeof fulfil,
                               .client = client,
                               .buffer = source.dst_buffer,
                               .code = random_draw(state, 4) ? PJRT_OK : PJRT_ABORTED};
  if (CALL(Client_CreateAliasBuffer, &alias)) {
    fulfil.fulfil = alias.fulfil;
    random_replace(state, alias.buffer, value);
    CALL(Client_FulfillAliasBuffer, &fulfil);
  }
  random_drop(PJRT_INDEX_Buffer_Destroy, source.dst_buffer);
}

/* A donation whose value the others may wait for; it may fail. */
static void donate_later(uint64_t *state) {
  random_slot_t *slot = random_borrow(state);
  pjrt_donate_args_t args = {.struct_size = sizeof args, .buffer = slot->buffer};
  float value = slot->value;
  bool ok = CALL(Buffer_DonateWithControlDependency, &args);
  random_give_back(slot);
  if (!ok) return;
  pjrt_ready_args_t ready = {.struct_size = sizeof ready,
                             .promise = args.promise,
                             .code = random_draw(state, 4) ? PJRT_OK : PJRT_ABORTED};
  random_replace(state, args.out_buffer, value);
  args.ready(&ready);
}

/* Two pieces, of which the second one may be wrong, or missing. */
static void send_pieces(uint64_t *state) {
  int64_t dims[] = {COUNT};
  float values[COUNT], value = (float)random_draw(state, 50);
  for (int i = 0; i < COUNT; i++) values[i] = value;
  pjrt_shape_spec_t shape = {
      .struct_size = sizeof shape, .dims = dims, .num_dims = 1, .type = PJRT_TYPE_F32};
  pjrt_transfer_create_args_t create = {.struct_size = sizeof create,
                                        .client = client,
                                        .shapes = &shape,
                                        .shape_count = 1,
                                        .memory = draw_memory(state)};
  if (!CALL(Client_CreateBuffersForAsyncHostToDevice, &create)) return;
  pjrt_transfer_buffer_args_t retrieve = {.struct_size = sizeof retrieve,
                                          .transfer = create.transfer};
  if (CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, &retrieve))
    random_replace(state, retrieve.buffer, value);
  pjrt_transfer_data_args_t piece = {.struct_size = sizeof piece,
                                     .transfer = create.transfer,
                                     .data = values,
                                     .size_bytes = (int64_t)random_draw(state, sizeof values)};
  for (int i = random_draw(state, 8) == 0; i < 2; i++) {
    if (CALL(AsyncHostToDeviceTransferManager_TransferData, &piece)) random_await(piece.event);
    piece.data = (const char *)values + piece.size_bytes;
    piece.offset = piece.size_bytes;
    piece.size_bytes = (int64_t)sizeof values - piece.offset + (random_draw(state, 8) == 0);
    piece.is_last = true;
  }
  random_drop(PJRT_INDEX_AsyncHostToDeviceTransferManager_Destroy, create.transfer);
}

/* Bytes for which the memory comes later, or never. */
static void fetch_later(uint64_t *state) {
  char bytes[64];
  random_slot_t *slot = random_borrow(state);
  pjrt_raw_later_args_t args = {.struct_size = sizeof args,
                                .buffer = slot->buffer,
                                .offset = (int64_t)random_draw(state, 30) - 2,
                                .size_bytes = (int64_t)random_draw(state, 30) - 2};
  bool ok = CALL(Buffer_CopyRawToHostFuture, &args);
  random_give_back(slot);
  if (!ok) return;
  pjrt_ready_args_t ready = {.struct_size = sizeof ready,
                             .promise = args.promise,
                             .code = random_draw(state, 4) ? PJRT_OK : PJRT_ABORTED,
                             .dst = random_draw(state, 8) ? bytes : NULL};
  args.ready(&ready);
  random_await(args.event);
}

/* --- raw buffers --- */

/* The function of the extension: create, destroy, size, memory, from the host, to the host. */
static pjrt_function_t raw_function(int index) {
  const pjrt_extension_t *found = api->extension_start;
  while (found->type != PJRT_EXTENSION_RAW_BUFFER) found = found->next;
  return ((const pjrt_raw_buffer_extension_t *)(const void *)found)->functions[index];
}

/* NULL if there is no buffer, or it is deleted. */
static pjrt_buffer_t *make_raw(pjrt_buffer_t *buffer) {
  pjrt_pointer_args_t args = {.struct_size = sizeof args, .object = buffer};
  return random_call_function(raw_function(0), &args) ? args.value : NULL;
}

static void drop_raw(pjrt_buffer_t *raw) {
  pjrt_object_args_t args = {.struct_size = sizeof args, .object = raw};
  random_call_function(raw_function(1), &args);
}

/* Bytes from a place that may lie outside, of a buffer that others may delete meanwhile. */
static void read_raw(uint64_t *state) {
  char bytes[64];
  random_slot_t *slot = random_borrow(state);
  pjrt_buffer_t *raw = make_raw(slot->buffer);
  random_give_back(slot);
  pjrt_raw_copy_args_t args = {.struct_size = sizeof args,
                               .buffer = raw,
                               .host = bytes,
                               .offset = (int64_t)random_draw(state, 30) - 2,
                               .size_bytes = (int64_t)random_draw(state, 30) - 2};
  if (random_call_function(raw_function(5), &args)) random_await(args.event);
  drop_raw(raw);
}

/* A new buffer whose bytes are written in two pieces. */
static void send_raw(uint64_t *state) {
  int64_t dims[] = {COUNT};
  float values[COUNT], value = (float)random_draw(state, 50);
  for (int i = 0; i < COUNT; i++) values[i] = value;
  pjrt_uninitialized_args_t create = {.struct_size = sizeof create,
                                      .client = client,
                                      .dims = dims,
                                      .num_dims = 1,
                                      .type = PJRT_TYPE_F32,
                                      .device = devices[random_draw(state, 2)]};
  if (!CALL(Client_CreateUninitializedBuffer, &create)) return;
  pjrt_raw_copy_args_t piece = {.struct_size = sizeof piece,
                                .buffer = make_raw(create.buffer),
                                .host = values,
                                .size_bytes = (int64_t)random_draw(state, sizeof values)};
  for (int i = 0; i < 2; i++) {
    if (random_call_function(raw_function(4), &piece)) random_await(piece.event);
    piece.host = (char *)values + piece.size_bytes;
    piece.offset = piece.size_bytes;
    piece.size_bytes = (int64_t)sizeof values - piece.offset;
  }
  random_replace(state, create.buffer, value);
  drop_raw(piece.buffer);
}

/* All launches have the number 0: one that waits fails. */
static void poison(uint64_t *state) {
  pjrt_poison_args_t args = {.struct_size = sizeof args,
                             .device = devices[random_draw(state, 2)],
                             .launch_id = (int)random_draw(state, 2),
                             .code = random_draw(state, 4) ? PJRT_ABORTED : PJRT_OK};
  CALL(Device_PoisonExecution, &args);
}

typedef void (*step_fn)(uint64_t *state);

/* Those that come often stand several times. */
static const step_fn steps[] = {
    send,         send,      send,         execute,    execute,     execute,      execute,
    execute,      fetch,     fetch,        fetch,      fetch_raw,   copy,         copy,
    ask,          ask,       delete_one,   wait_for,   destroy_one, make_error,   load_bytes,
    call_wrongly, use_event, call_wrongly, make_alias, make_alias,  donate_later, send_pieces,
    fetch_later,  poison,    read_raw,     send_raw};

void random_make_call(uint64_t *state) {
  steps[random_draw(state, sizeof steps / sizeof *steps)](state);
}

int random_wrong_values(void) { return wrong_values; }
