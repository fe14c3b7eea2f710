/* What the programs share that call the plugin from C: its table, counted checks, and the calls
 * that every test needs. Included once by each program. */
#ifndef TESTS_PJRT_PLUGIN_CALLS_H
#define TESTS_PJRT_PLUGIN_CALLS_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "pjrt/abi/pjrt_abi_buffer.h"
#include "pjrt/abi/pjrt_abi_client.h"
#include "pjrt/abi/pjrt_abi_executable.h"

/* The plugin's table, as GetPjrtApi has returned it. */
static const pjrt_api_t *api;
/* Counts of all threads, changed by atomic additions. */
static int passed, failed;

/* Counts a check; one that fails is printed. */
static void check(bool ok, const char *what) {
  __atomic_fetch_add(ok ? &passed : &failed, 1, __ATOMIC_RELAXED);
  if (!ok) printf("FAILED: %s\n", what);
}

/* Calls a function; true if it succeeds. A failure's text must hold `says`, if that is given. */
static bool call_function(pjrt_function_t function, void *args, const char *says) {
  pjrt_error_t *error = function(args);
  if (!error) {
    if (says) printf("no failure, want: %s\n", says);
    return true;
  }
  pjrt_error_message_args_t message = {.struct_size = sizeof message, .error = error};
  api->functions[PJRT_INDEX_Error_Message](&message);
  if (!says || !strstr(message.message, says)) printf("failure: %s\n", message.message);
  bool is_expected = says && strstr(message.message, says);
  pjrt_error_args_t destroy = {.struct_size = sizeof destroy, .error = error};
  api->functions[PJRT_INDEX_Error_Destroy](&destroy);
  if (says) check(is_expected, says);
  return false;
}
/* call_function with a function of the table. */
static bool call(int index, void *args, const char *says) {
  return call_function(api->functions[index], args, says);
}
/* A function that is to succeed; a failure is printed. */
#define CALL(name, args) call(PJRT_INDEX_##name, args, NULL)
/* A function that is to fail with a text that holds `says`. */
#define FAILS(name, args, says) check(!call(PJRT_INDEX_##name, args, says), #name " fails")

/* Calls a function that takes one object: those that destroy or delete. */
static void drop(int index, void *object) {
  pjrt_object_args_t args = {.struct_size = sizeof args, .object = object};
  check(call(index, &args, NULL), "an object is dropped");
}

/* A client without options: one device, unless the environment says otherwise. */
static pjrt_client_t *create_client(void) {
  pjrt_client_create_args_t args = {.struct_size = sizeof args};
  check(CALL(Client_Create, &args), "client");
  return args.client;
}

/* Device 0, on which all tests work. */
static pjrt_device_t *first_device(pjrt_client_t *client) {
  pjrt_lookup_args_t args = {.struct_size = sizeof args, .client = client};
  check(CALL(Client_LookupDevice, &args), "device 0");
  return args.device;
}

/* Sends an array to the device. It is free when this returns: the event is awaited. */
static pjrt_buffer_t *put(pjrt_client_t *client, const float *values, int64_t count) {
  pjrt_from_host_args_t args = {.struct_size = sizeof args,
                                .client = client,
                                .data = values,
                                .type = PJRT_TYPE_F32,
                                .dims = &count,
                                .num_dims = 1,
                                .device = first_device(client)};
  check(CALL(Client_BufferFromHostBuffer, &args), "buffer");
  pjrt_event_args_t event = {.struct_size = sizeof event, .event = args.done_with_host_buffer};
  check(CALL(Event_Await, &event) && CALL(Event_Destroy, &event), "host buffer is free");
  return args.buffer;
}

/* Fetches an array, and waits until it is there. */
static void get(pjrt_buffer_t *buffer, float *values, int64_t count) {
  pjrt_to_host_args_t args = {.struct_size = sizeof args,
                              .buffer = buffer,
                              .dst = values,
                              .dst_size = (size_t)count * sizeof *values};
  check(CALL(Buffer_ToHostBuffer, &args), "to host");
  pjrt_event_args_t event = {.struct_size = sizeof event, .event = args.event};
  check(CALL(Event_Await, &event) && CALL(Event_Destroy, &event), "copied");
}

/* Without options, which means one device. `says` is for failures, as in call(). */
static inline bool compile(pjrt_client_t *client, char *text, const char *says,
                           pjrt_executable_t **out_executable) {
  pjrt_program_t program = {.struct_size = sizeof program,
                            .code = text,
                            .code_size = strlen(text),
                            .format = "mlir",
                            .format_size = 4};
  pjrt_client_compile_args_t args = {
      .struct_size = sizeof args, .client = client, .program = &program};
  bool ok = call(PJRT_INDEX_Client_Compile, &args, says);
  if (ok) *out_executable = args.executable;
  return ok;
}

/* Buffer_IsDeleted is true for deleted and for donated buffers. */
static bool is_deleted(pjrt_buffer_t *buffer) {
  pjrt_flag_args_t args = {.struct_size = sizeof args, .object = buffer};
  return CALL(Buffer_IsDeleted, &args) && args.value;
}

/* The extension of a type; NULL: the plugin has none. */
static inline const void *find_extension(int type) {
  const pjrt_extension_t *found = api->extension_start;
  while (found && found->type != type) found = found->next;
  return found;
}

/* Opens the plugin and finds its table; false after a message if it cannot be loaded. */
static bool open_plugin(const char *path) {
  void *plugin = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!plugin) {
    printf("cannot load the plugin: %s\n", path ? dlerror() : "no path");
    return false;
  }
  const pjrt_api_t *(*find)(void) = (const pjrt_api_t *(*)(void))dlsym(plugin, "GetPjrtApi");
  api = find();
  return true;
}

#endif
