/* Random sequences of calls of the plugin, right and wrong ones, by several threads at once.
 * argv: PLUGIN [FIRST_SEED [SEQUENCES [CALLS]]]. Prints "N passed, N failed".
 *
 * The threads share a table of buffers. Each buffer holds one number in all its elements, so that a
 * result is known from the numbers of its arguments, whatever the order of the calls. A slot of the
 * table may be used by several threads; who wants to destroy its buffer waits until it is alone, as
 * the interface asks of its callers. Deletions and donations, though, may come at any moment.
 * A sequence passes if no call crashes or hangs, and no value is wrong; refusals are expected.
 * Not tried: pointers to objects that were destroyed, which no plugin can tell from others. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pjrt/pjrt_abi_buffer.h"
#include "pjrt/pjrt_abi_client.h"
#include "pjrt/pjrt_abi_executable.h"
#include "pjrt/pjrt_abi_transfer.h"
#include "pjrt/pjrt_extensions.h"

enum { SLOTS = 12, THREADS = 3, COUNT = 6, PROGRAMS = 4, TIME_LIMIT_S = 120 };

/* A buffer that all threads use. */
typedef struct slot {
  pthread_rwlock_t lock; /* held for reading by users, for writing by who replaces the buffer */
  pjrt_buffer_t *buffer; /* NULL: none */
  float value;           /* value of every element, while there is a buffer */
} slot_t;

static const pjrt_api_t *api;
static pjrt_client_t *client;
static pjrt_device_t *devices[2];
static slot_t slots[SLOTS];
static pjrt_executable_t *programs[PROGRAMS];
static int wrong_values;

/* Programs of one device: what each makes of its arguments. The third one may overwrite its own;
 * the fourth is large enough for the thread of the device. */
static char *const texts[PROGRAMS] = {
    "module @add { func.func public @main(%a: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<6xf32> {"
    " %0 = stablehlo.add %a, %b : tensor<6xf32> return %0 : tensor<6xf32> } }",
    "module @copy { func.func public @main(%a: tensor<6xf32>) -> tensor<6xf32> {"
    " return %a : tensor<6xf32> } }",
    "module @negate { func.func public @main(%a: tensor<6xf32> {tf.aliasing_output = 0 : i32}) -> "
    "tensor<6xf32> { %0 = stablehlo.negate %a : tensor<6xf32> return %0 : tensor<6xf32> } }",
    "module @wide { func.func public @main(%a: tensor<6xf32>) -> tensor<6xf32> {"
    " %z = stablehlo.constant dense<0.0> : tensor<f32>"
    " %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<6xf32>) -> tensor<20000x6xf32>"
    " %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.maximum across dimensions = [0] :"
    " (tensor<20000x6xf32>, tensor<f32>) -> tensor<6xf32> return %1 : tensor<6xf32> } }"};
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

/* xorshift: each thread has a state of its own, from the seed of the sequence. */
static unsigned draw(uint64_t *state, unsigned limit) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (unsigned)(*state >> 33) % limit;
}

/* True if the function succeeds; an error is read and freed. */
static bool call_function(pjrt_function_t function, void *args) {
  pjrt_error_t *error = function(args);
  if (!error) return true;
  pjrt_error_message_args_t message = {.struct_size = sizeof message, .error = error};
  api->functions[PJRT_INDEX_Error_Message](&message);
  pjrt_error_args_t destroy = {.struct_size = sizeof destroy, .error = error};
  api->functions[PJRT_INDEX_Error_Destroy](&destroy);
  return false;
}
static bool call(int index, void *args) { return call_function(api->functions[index], args); }
#define CALL(name, args) call(PJRT_INDEX_##name, args)

static void drop(int index, void *object) {
  pjrt_object_args_t args = {.struct_size = sizeof args, .object = object};
  call(index, &args);
}

/* Waits for an event, and ends the caller's reference. */
static bool await(pjrt_event_t *event) {
  pjrt_event_args_t args = {.struct_size = sizeof args, .event = event};
  bool ok = CALL(Event_Await, &args);
  CALL(Event_Destroy, &args);
  return ok;
}

/* Puts a buffer into a slot, in place of another. */
static void replace(uint64_t *state, pjrt_buffer_t *buffer, float value) {
  slot_t *slot = &slots[draw(state, SLOTS)];
  pthread_rwlock_wrlock(&slot->lock);
  if (slot->buffer) drop(PJRT_INDEX_Buffer_Destroy, slot->buffer);
  slot->buffer = buffer;
  slot->value = value;
  pthread_rwlock_unlock(&slot->lock);
}

/* A slot for reading; its buffer may be NULL. */
static slot_t *borrow(uint64_t *state) {
  slot_t *slot = &slots[draw(state, SLOTS)];
  pthread_rwlock_rdlock(&slot->lock);
  return slot;
}
static void give_back(slot_t *slot) { pthread_rwlock_unlock(&slot->lock); }

/* Two slots, which may be one. All threads lock in the order of the table. */
static void borrow_two(uint64_t *state, slot_t **out_slots) {
  unsigned first = draw(state, SLOTS), second = draw(state, SLOTS);
  bool is_swapped = first > second;
  out_slots[0] = &slots[first];
  out_slots[1] = &slots[second];
  pthread_rwlock_rdlock(&out_slots[is_swapped]->lock);
  pthread_rwlock_rdlock(&out_slots[!is_swapped]->lock);
}

static void forget(pjrt_error_t *error, void *context) {
  pjrt_error_args_t destroy = {.struct_size = sizeof destroy, .error = error};
  if (error) api->functions[PJRT_INDEX_Error_Destroy](&destroy);
  (void)context;
}

/* --- calls --- */

/* Sends an array, reversed by its strides now and then; one of eight is described wrongly. */
static void send(uint64_t *state) {
  static const int64_t wrong_dims[] = {-6};
  int64_t dims[] = {COUNT}, strides[] = {draw(state, 2) ? 4 : -4};
  float values[COUNT], value = (float)draw(state, 50);
  for (int i = 0; i < COUNT; i++) values[i] = value;
  pjrt_from_host_args_t args = {.struct_size = sizeof args,
                                .client = client,
                                .data = strides[0] > 0 ? values : values + COUNT - 1,
                                .type = PJRT_TYPE_F32,
                                .dims = dims,
                                .num_dims = 1,
                                .byte_strides = strides,
                                .num_byte_strides = 1,
                                .semantics = (pjrt_semantics_t)draw(state, 4),
                                .device = devices[draw(state, 2)]};
  switch (draw(state, 32)) {
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
  await(args.done_with_host_buffer);
  replace(state, args.buffer, value);
}

/* Fetches an array and looks at its numbers. A buffer of another size is refused. */
static void fetch(uint64_t *state) {
  float values[COUNT];
  slot_t *slot = borrow(state);
  pjrt_to_host_args_t args = {.struct_size = sizeof args, .buffer = slot->buffer, .dst = values};
  args.dst_size = sizeof values - draw(state, 8) / 7;
  float value = slot->value;
  bool ok = CALL(Buffer_ToHostBuffer, &args);
  give_back(slot);
  if (!ok || !await(args.event)) return;
  for (int i = 0; i < COUNT; i++)
    if (values[i] != value) __atomic_fetch_add(&wrong_values, 1, __ATOMIC_RELAXED);
}

/* Bytes from a place that may lie outside. */
static void fetch_raw(uint64_t *state) {
  char bytes[64];
  slot_t *slot = borrow(state);
  pjrt_raw_to_host_args_t args = {.struct_size = sizeof args,
                                  .buffer = slot->buffer,
                                  .dst = bytes,
                                  .offset = (int64_t)draw(state, 30) - 2,
                                  .size_bytes = (int64_t)draw(state, 30) - 2};
  bool ok = CALL(Buffer_CopyRawToHost, &args);
  give_back(slot);
  if (ok) await(args.event);
}

/* Runs a program. One buffer may be both arguments, or be donated while it is one elsewhere. */
static void execute(uint64_t *state) {
  int program = (int)draw(state, PROGRAMS), count = argument_counts[program];
  slot_t *used[2];
  borrow_two(state, used);
  pjrt_buffer_t *arguments[] = {used[0]->buffer, used[1]->buffer}, *result = NULL;
  float values[] = {used[0]->value, used[1]->value};
  pjrt_buffer_t *const *lists[] = {arguments};
  pjrt_buffer_t **results[] = {&result};
  pjrt_event_t *event = NULL;
  int64_t kept = 0;
  pjrt_execute_options_t options = {.struct_size = sizeof options, .kept_inputs = &kept};
  options.num_kept_inputs = draw(state, 4) == 0;
  pjrt_execute_args_t args = {.struct_size = sizeof args,
                              .executable = programs[program],
                              .options = &options,
                              .arguments = lists,
                              .num_devices = 1 + (draw(state, 32) == 0),
                              .num_args = (size_t)count + (draw(state, 32) == 0),
                              .results = results,
                              .complete = draw(state, 4) ? &event : NULL};
  bool ok = CALL(LoadedExecutable_Execute, &args);
  give_back(used[0]);
  give_back(used[1]);
  if (ok && event) await(event);
  if (ok) replace(state, result, expected(program, values));
}

static void delete_one(uint64_t *state) {
  slot_t *slot = borrow(state);
  drop(PJRT_INDEX_Buffer_Delete, slot->buffer);
  give_back(slot);
}

static void destroy_one(uint64_t *state) { replace(state, NULL, 0); }

/* A copy on the other device has the same numbers. */
static void copy(uint64_t *state) {
  slot_t *slot = borrow(state);
  pjrt_copy_args_t args = {
      .struct_size = sizeof args, .buffer = slot->buffer, .target = devices[draw(state, 2)]};
  float value = slot->value;
  bool ok = CALL(Buffer_CopyToDevice, &args);
  give_back(slot);
  if (ok) replace(state, args.dst_buffer, value);
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
  slot_t *slot = borrow(state);
  args.object = slot->buffer;
  call(questions[draw(state, sizeof questions / sizeof *questions)], &args);
  pjrt_object_args_t view = {.struct_size = sizeof view, .object = slot->buffer};
  if (draw(state, 2) && CALL(Buffer_IncreaseExternalReferenceCount, &view))
    CALL(Buffer_DecreaseExternalReferenceCount, &view);
  give_back(slot);
}

/* The event of a buffer outlives it. */
static void wait_for(uint64_t *state) {
  slot_t *slot = borrow(state);
  pjrt_pointer_args_t args = {.struct_size = sizeof args, .object = slot->buffer};
  bool ok = CALL(Buffer_ReadyEvent, &args);
  give_back(slot);
  if (!ok) return;
  pjrt_event_on_ready_args_t ready = {
      .struct_size = sizeof ready, .event = args.value, .callback = forget};
  CALL(Event_OnReady, &ready);
  await(args.value);
}

/* Bytes of an executable with one of them changed; the header or the options may be what breaks. */
static void load_bytes(uint64_t *state) {
  pjrt_serialized_args_t bytes = {.struct_size = sizeof bytes,
                                  .object = programs[draw(state, PROGRAMS)]};
  if (!CALL(Executable_Serialize, &bytes)) return;
  char *changed = malloc(bytes.size_bytes);
  memcpy(changed, bytes.bytes, bytes.size_bytes);
  changed[draw(state, (unsigned)bytes.size_bytes)] ^= (char)draw(state, 256);
  pjrt_deserialize_args_t args = {
      .struct_size = sizeof args,
      .client = client,
      .bytes = changed,
      .size_bytes = draw(state, 2) ? bytes.size_bytes : draw(state, (unsigned)bytes.size_bytes)};
  if (CALL(Executable_DeserializeAndLoad, &args))
    drop(PJRT_INDEX_LoadedExecutable_Destroy, args.executable);
  bytes.release(bytes.owner);
  free(changed);
}

/* Any function with a struct that is all zero, of any size that it may claim. */
static void call_wrongly(uint64_t *state) {
  union {
    size_t struct_size;
    char bytes[512];
  } args;
  int index = (int)draw(state, PJRT_FUNCTION_COUNT);
  if (index == PJRT_INDEX_Client_Create || index == PJRT_INDEX_Plugin_Initialize) return;
  if (index == PJRT_INDEX_Event_Create || index == PJRT_INDEX_ExecuteContext_Create) return;
  if (index == PJRT_INDEX_TopologyDescription_Create) return;
  memset(&args, 0, sizeof args);
  args.struct_size = draw(state, 2) ? sizeof args : draw(state, 160);
  call(index, draw(state, 8) ? &args : NULL);
}

/* An event of the caller's own: set, perhaps twice, perhaps never. */
static void use_event(uint64_t *state) {
  pjrt_event_args_t event = {.struct_size = sizeof event};
  if (!CALL(Event_Create, &event)) return;
  pjrt_event_on_ready_args_t ready = {
      .struct_size = sizeof ready, .event = event.event, .callback = forget};
  CALL(Event_OnReady, &ready);
  pjrt_event_set_args_t set = {.struct_size = sizeof set,
                               .event = event.event,
                               .code = draw(state, 2) ? PJRT_OK : PJRT_INTERNAL,
                               .message = "said",
                               .message_size = 4};
  for (unsigned times = draw(state, 3); times; times--) CALL(Event_Set, &set);
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
  if (CALL(Client_CreateErrorBuffer, &args)) replace(state, args.buffer, 0);
}

static pjrt_memory_t *draw_memory(uint64_t *state) {
  pjrt_pointer_args_t args = {.struct_size = sizeof args, .object = devices[draw(state, 2)]};
  return CALL(Device_DefaultMemory, &args) ? args.value : NULL;
}

/* An alias that the others may use before it has its value, or its error. Its source is a copy of
 * the caller's own, so that it does not wait for what waits for the alias. */
static void make_alias(uint64_t *state) {
  int64_t dims[] = {COUNT};
  slot_t *slot = borrow(state);
  pjrt_copy_args_t source = {
      .struct_size = sizeof source, .buffer = slot->buffer, .target = devices[draw(state, 2)]};
  float value = slot->value;
  bool ok = CALL(Buffer_CopyToDevice, &source);
  give_back(slot);
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
                               .code = draw(state, 4) ? PJRT_OK : PJRT_ABORTED};
  if (CALL(Client_CreateAliasBuffer, &alias)) {
    fulfil.fulfil = alias.fulfil;
    replace(state, alias.buffer, value);
    CALL(Client_FulfillAliasBuffer, &fulfil);
  }
  drop(PJRT_INDEX_Buffer_Destroy, source.dst_buffer);
}

/* A donation whose value the others may wait for; it may fail. */
static void donate_later(uint64_t *state) {
  slot_t *slot = borrow(state);
  pjrt_donate_args_t args = {.struct_size = sizeof args, .buffer = slot->buffer};
  float value = slot->value;
  bool ok = CALL(Buffer_DonateWithControlDependency, &args);
  give_back(slot);
  if (!ok) return;
  pjrt_ready_args_t ready = {.struct_size = sizeof ready,
                             .promise = args.promise,
                             .code = draw(state, 4) ? PJRT_OK : PJRT_ABORTED};
  replace(state, args.out_buffer, value);
  args.ready(&ready);
}

/* Two pieces, of which the second one may be wrong, or missing. */
static void send_pieces(uint64_t *state) {
  int64_t dims[] = {COUNT};
  float values[COUNT], value = (float)draw(state, 50);
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
    replace(state, retrieve.buffer, value);
  pjrt_transfer_data_args_t piece = {.struct_size = sizeof piece,
                                     .transfer = create.transfer,
                                     .data = values,
                                     .size_bytes = (int64_t)draw(state, sizeof values)};
  for (int i = draw(state, 8) == 0; i < 2; i++) {
    if (CALL(AsyncHostToDeviceTransferManager_TransferData, &piece)) await(piece.event);
    piece.data = (const char *)values + piece.size_bytes;
    piece.offset = piece.size_bytes;
    piece.size_bytes = (int64_t)sizeof values - piece.offset + (draw(state, 8) == 0);
    piece.is_last = true;
  }
  drop(PJRT_INDEX_AsyncHostToDeviceTransferManager_Destroy, create.transfer);
}

/* Bytes for which the memory comes later, or never. */
static void fetch_later(uint64_t *state) {
  char bytes[64];
  slot_t *slot = borrow(state);
  pjrt_raw_later_args_t args = {.struct_size = sizeof args,
                                .buffer = slot->buffer,
                                .offset = (int64_t)draw(state, 30) - 2,
                                .size_bytes = (int64_t)draw(state, 30) - 2};
  bool ok = CALL(Buffer_CopyRawToHostFuture, &args);
  give_back(slot);
  if (!ok) return;
  pjrt_ready_args_t ready = {.struct_size = sizeof ready,
                             .promise = args.promise,
                             .code = draw(state, 4) ? PJRT_OK : PJRT_ABORTED,
                             .dst = draw(state, 8) ? bytes : NULL};
  args.ready(&ready);
  await(args.event);
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
  return call_function(raw_function(0), &args) ? args.value : NULL;
}

static void drop_raw(pjrt_buffer_t *raw) {
  pjrt_object_args_t args = {.struct_size = sizeof args, .object = raw};
  call_function(raw_function(1), &args);
}

/* Bytes from a place that may lie outside, of a buffer that others may delete meanwhile. */
static void read_raw(uint64_t *state) {
  char bytes[64];
  slot_t *slot = borrow(state);
  pjrt_buffer_t *raw = make_raw(slot->buffer);
  give_back(slot);
  pjrt_raw_copy_args_t args = {.struct_size = sizeof args,
                               .buffer = raw,
                               .host = bytes,
                               .offset = (int64_t)draw(state, 30) - 2,
                               .size_bytes = (int64_t)draw(state, 30) - 2};
  if (call_function(raw_function(5), &args)) await(args.event);
  drop_raw(raw);
}

/* A new buffer whose bytes are written in two pieces. */
static void send_raw(uint64_t *state) {
  int64_t dims[] = {COUNT};
  float values[COUNT], value = (float)draw(state, 50);
  for (int i = 0; i < COUNT; i++) values[i] = value;
  pjrt_uninitialized_args_t create = {.struct_size = sizeof create,
                                      .client = client,
                                      .dims = dims,
                                      .num_dims = 1,
                                      .type = PJRT_TYPE_F32,
                                      .device = devices[draw(state, 2)]};
  if (!CALL(Client_CreateUninitializedBuffer, &create)) return;
  pjrt_raw_copy_args_t piece = {.struct_size = sizeof piece,
                                .buffer = make_raw(create.buffer),
                                .host = values,
                                .size_bytes = (int64_t)draw(state, sizeof values)};
  for (int i = 0; i < 2; i++) {
    if (call_function(raw_function(4), &piece)) await(piece.event);
    piece.host = (char *)values + piece.size_bytes;
    piece.offset = piece.size_bytes;
    piece.size_bytes = (int64_t)sizeof values - piece.offset;
  }
  replace(state, create.buffer, value);
  drop_raw(piece.buffer);
}

/* All launches have the number 0: one that waits fails. */
static void poison(uint64_t *state) {
  pjrt_poison_args_t args = {.struct_size = sizeof args,
                             .device = devices[draw(state, 2)],
                             .launch_id = (int)draw(state, 2),
                             .code = draw(state, 4) ? PJRT_ABORTED : PJRT_OK};
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

/* What one thread does in a sequence. */
typedef struct caller {
  pthread_t thread;
  uint64_t state;
  int calls;
} caller_t;

static void *run_calls(void *context) {
  caller_t *caller = context;
  for (int i = 0; i < caller->calls; i++)
    steps[draw(&caller->state, sizeof steps / sizeof *steps)](&caller->state);
  return NULL;
}

/* A failure leaves the seed, with which it can be had again, as far as threads allow. */
static bool run_sequence(uint64_t seed, int calls) {
  caller_t callers[THREADS];
  int before = wrong_values;
  alarm(TIME_LIMIT_S);
  for (int i = 0; i < THREADS; i++) {
    callers[i] =
        (caller_t){.state = seed * 0x9e3779b97f4a7c15ull + (uint64_t)i + 1, .calls = calls};
    pthread_create(&callers[i].thread, NULL, run_calls, &callers[i]);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(callers[i].thread, NULL);
  for (int i = 0; i < SLOTS; i++) {
    if (slots[i].buffer) drop(PJRT_INDEX_Buffer_Destroy, slots[i].buffer);
    slots[i].buffer = NULL;
  }
  if (wrong_values != before) printf("FAILED: seed %llu: wrong values\n", (unsigned long long)seed);
  return wrong_values == before;
}

/* --- beginning and end --- */

static bool begin(void) {
  const pjrt_named_t option = {.struct_size = sizeof option,
                               .name = "devices",
                               .name_size = 7,
                               .kind = PJRT_NAMED_INT64,
                               .int64 = 2,
                               .value_size = 1};
  pjrt_client_create_args_t create = {
      .struct_size = sizeof create, .options = &option, .option_count = 1};
  if (!CALL(Client_Create, &create)) return false;
  client = create.client;
  for (int i = 0; i < 2; i++) {
    pjrt_lookup_args_t lookup = {.struct_size = sizeof lookup, .client = client, .id = i};
    if (!CALL(Client_LookupDevice, &lookup)) return false;
    devices[i] = lookup.device;
  }
  for (int i = 0; i < SLOTS; i++) pthread_rwlock_init(&slots[i].lock, NULL);
  for (int p = 0; p < PROGRAMS; p++) {
    pjrt_program_t program = {.struct_size = sizeof program,
                              .code = texts[p],
                              .code_size = strlen(texts[p]),
                              .format = "mlir",
                              .format_size = 4};
    pjrt_client_compile_args_t compile = {
        .struct_size = sizeof compile, .client = client, .program = &program};
    if (!CALL(Client_Compile, &compile)) return false;
    programs[p] = compile.executable;
  }
  return true;
}

int main(int argc, char **argv) {
  void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!plugin) {
    printf("cannot load the plugin: %s\n", argc > 1 ? dlerror() : "no path");
    return 99;
  }
  api = ((const pjrt_api_t *(*)(void))dlsym(plugin, "GetPjrtApi"))();
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int sequences = argc > 3 ? atoi(argv[3]) : 200, calls = argc > 4 ? atoi(argv[4]) : 60;
  int failed = 0;
  if (!begin()) {
    printf("the client cannot be made\n");
    return 99;
  }
  for (int i = 0; i < sequences; i++) failed += !run_sequence(first + (uint64_t)i, calls);
  for (int p = 0; p < PROGRAMS; p++) drop(PJRT_INDEX_LoadedExecutable_Destroy, programs[p]);
  drop(PJRT_INDEX_Client_Destroy, client);
  printf("%d passed, %d failed\n", sequences - failed, failed);
  return failed != 0;
}
