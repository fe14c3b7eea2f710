/* The extensions for raw buffers and for memory of the host. argv: PLUGIN. Prints "N passed, N
 * failed". */
#include "pjrt/abi/pjrt_extensions.h"
#include "tests/pjrt/plugin_calls.h"

enum { COUNT = 4, RAW_CREATE = 0, RAW_DESTROY, RAW_SIZE, RAW_MEMORY, RAW_WRITE, RAW_READ };
enum { HOST_ALIGNMENT = 0, HOST_ALLOCATE, HOST_FREE };

static const float ones[COUNT] = {1, 2, 3, 4};
static pjrt_client_t *client;
static const pjrt_raw_buffer_extension_t *raws;
static const pjrt_host_allocator_extension_t *allocator;

/* Calls a function of an extension. A failure's text must hold `says`; NULL: it is to succeed. */
static void call_extension(pjrt_function_t function, void *args, const char *says) {
  check(call_function(function, args, says) == !says, says ? says : "an extension's function");
}

static void *raw_of(pjrt_buffer_t *buffer) {
  pjrt_pointer_args_t args = {.struct_size = sizeof args, .object = buffer};
  call_extension(raws->functions[RAW_CREATE], &args, NULL);
  return args.value;
}

static void drop_raw(void *raw) {
  pjrt_object_args_t args = {.struct_size = sizeof args, .object = raw};
  call_extension(raws->functions[RAW_DESTROY], &args, NULL);
}

/* Copies bytes in one direction; the event's failure must hold `says`; NULL: success. */
static void copy(int function, void *raw, void *host, int64_t offset, int64_t size_bytes,
                 const char *says) {
  pjrt_raw_copy_args_t args = {.struct_size = sizeof args,
                               .buffer = raw,
                               .host = host,
                               .offset = offset,
                               .size_bytes = size_bytes};
  call_extension(raws->functions[function], &args, NULL);
  pjrt_event_args_t event = {.struct_size = sizeof event, .event = args.event};
  check(call(PJRT_INDEX_Event_Await, &event, says) == !says, "the copy ends");
  check(CALL(Event_Destroy, &event), "the event goes");
}

/* A part of the bytes, also when the buffer is deleted. */
static void test_read(void) {
  float part[2] = {0, 0};
  pjrt_buffer_t *buffer = put(client, ones, COUNT);
  void *raw = raw_of(buffer);
  pjrt_size_args_t size = {.struct_size = sizeof size, .object = raw};
  call_extension(raws->functions[RAW_SIZE], &size, NULL);
  check(size.value == sizeof ones, "its size");
  pjrt_pointer_args_t memory = {.struct_size = sizeof memory, .object = raw};
  call_extension(raws->functions[RAW_MEMORY], &memory, NULL);
  pjrt_pointer_args_t of_buffer = {.struct_size = sizeof of_buffer, .object = buffer};
  check(CALL(Buffer_Memory, &of_buffer) && of_buffer.value == memory.value, "its memory");
  drop(PJRT_INDEX_Buffer_Delete, buffer);
  check(is_deleted(buffer), "the buffer is deleted");
  copy(RAW_READ, raw, part, 4, sizeof part, NULL);
  check(part[0] == 2 && part[1] == 3, "the bytes outlive it");
  drop(PJRT_INDEX_Buffer_Destroy, buffer);
  copy(RAW_READ, raw, part, 8, sizeof part, NULL);
  check(part[0] == 3 && part[1] == 4, "and its destruction");
  drop_raw(raw);
}

/* Bytes are written into the buffer itself, but not into one that another one shares. */
static void test_write(void) {
  float halves[2] = {7, 8}, values[COUNT];
  pjrt_buffer_t *buffer = put(client, ones, COUNT);
  void *raw = raw_of(buffer);
  copy(RAW_WRITE, raw, halves, 4, sizeof halves, NULL);
  copy(RAW_WRITE, raw, NULL, 16, 0, NULL);
  get(buffer, values, COUNT);
  check(values[0] == 1 && values[1] == 7 && values[2] == 8 && values[3] == 4, "are written");
  pjrt_copy_args_t shared = {
      .struct_size = sizeof shared, .buffer = buffer, .target = first_device(client)};
  check(CALL(Buffer_CopyToDevice, &shared), "a copy that shares the memory");
  copy(RAW_WRITE, raw, halves, 0, sizeof halves, "shares its memory");
  get(shared.dst_buffer, values, COUNT);
  check(values[0] == 1, "the copy is as before");
  drop(PJRT_INDEX_Buffer_Destroy, shared.dst_buffer);
  copy(RAW_WRITE, raw, halves, 0, sizeof halves, NULL);
  drop_raw(raw);
  drop(PJRT_INDEX_Buffer_Destroy, buffer);
}

static void test_wrong_copies(void) {
  float values[COUNT] = {0};
  pjrt_buffer_t *buffer = put(client, ones, COUNT);
  pjrt_raw_copy_args_t args = {.struct_size = sizeof args,
                               .buffer = raw_of(buffer),
                               .host = values,
                               .offset = 4,
                               .size_bytes = sizeof values};
  for (int function = RAW_WRITE; function <= RAW_READ; function++)
    call_extension(raws->functions[function], &args, "16 bytes from byte 4 on, of an array of 16");
  args.offset = 0;
  args.host = NULL;
  call_extension(raws->functions[RAW_WRITE], &args, "16 bytes from byte 0 on");
  drop_raw(args.buffer);
  args.buffer = NULL;
  call_extension(raws->functions[RAW_READ], &args, "buffer is NULL");
  drop(PJRT_INDEX_Buffer_Delete, buffer);
  pjrt_pointer_args_t deleted = {.struct_size = sizeof deleted, .object = buffer};
  call_extension(raws->functions[RAW_CREATE], &deleted, "deleted or donated");
  drop(PJRT_INDEX_Buffer_Destroy, buffer);
  drop_raw(NULL);
}

static void allocate(size_t size_bytes, size_t alignment, const char *says) {
  pjrt_host_allocate_args_t args = {.struct_size = sizeof args,
                                    .client = client,
                                    .size_bytes = size_bytes,
                                    .alignment = alignment};
  call_extension(allocator->functions[HOST_ALLOCATE], &args, says);
  if (says) return;
  check(args.memory && (uintptr_t)args.memory % (alignment ? alignment : 64) == 0, "is aligned");
  memset(args.memory, 1, size_bytes);
  pjrt_pointer_args_t release = {
      .struct_size = sizeof release, .object = client, .value = args.memory};
  call_extension(allocator->functions[HOST_FREE], &release, NULL);
}

static void test_allocator(void) {
  pjrt_size_args_t alignment = {.struct_size = sizeof alignment, .object = client};
  call_extension(allocator->functions[HOST_ALIGNMENT], &alignment, NULL);
  check(alignment.value == 64, "the preferred alignment");
  allocate(100, 0, NULL);
  allocate(0, 8, NULL);
  allocate(5000, 4096, NULL);
  allocate(100, 48, "want a power of 2");
  allocate(SIZE_MAX, 64, "aligned to 64");
  pjrt_pointer_args_t nothing = {.struct_size = sizeof nothing, .object = client};
  call_extension(allocator->functions[HOST_FREE], &nothing, NULL);
}

/* Status 99: the plugin cannot be loaded. */
int main(int argc, char **argv) {
  if (!open_plugin(argc > 1 ? argv[1] : NULL)) return 99;
  raws = find_extension(PJRT_EXTENSION_RAW_BUFFER);
  allocator = find_extension(PJRT_EXTENSION_HOST_ALLOCATOR);
  check(raws && allocator, "both extensions are there");
  client = create_client();
  test_read();
  test_write();
  test_wrong_copies();
  test_allocator();
  drop(PJRT_INDEX_Client_Destroy, client);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
