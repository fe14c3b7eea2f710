/* Transfers of a program with callbacks of the framework: what it sends, what it receives, at once
 * and later, and how both fail. argv: PLUGIN. Prints "N passed, N failed". */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "pjrt/abi/pjrt_abi_transfer.h"
#include "tests/pjrt/plugin_calls.h"

enum { COUNT = 3, SEND_CHANNEL = 5, RECV_CHANNEL = 6 };

/* Sends its argument, receives another array, and adds both. */
static char text[] =
    "module @host { func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> { "
    "%t = stablehlo.create_token : !stablehlo.token "
    "%s = \"stablehlo.send\"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, "
    "type = 2>, is_host_transfer = true} : (tensor<3xf32>, !stablehlo.token) -> !stablehlo.token "
    "%r:2 = \"stablehlo.recv\"(%s) {channel_handle = #stablehlo.channel_handle<handle = 6, "
    "type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<3xf32>, "
    "!stablehlo.token) "
    "%b = stablehlo.add %r#0, %a : tensor<3xf32> return %b : tensor<3xf32> } }";

static const float sent_values[COUNT] = {1, 2, 3}, given_values[COUNT] = {10, 20, 30};

/* What the callbacks do, and what they have seen. */
typedef struct host {
  float sent[COUNT];
  bool send_fails, recv_gives_up, recv_is_late;
  int released; /* chunks that the plugin has released */
  pjrt_copy_stream_t *stream;
  pthread_t thread;
} host_t;

static pjrt_client_t *client;
static pjrt_executable_t *program;

static pjrt_error_t *take(pjrt_chunk_t *chunk, pjrt_callback_error_t *make_error,
                          size_t total_bytes, bool is_last, void *context) {
  host_t *host = context;
  check(is_last && total_bytes == sizeof host->sent && chunk->size_bytes == total_bytes, "a chunk");
  memcpy(host->sent, chunk->data, sizeof host->sent);
  chunk->release(chunk->data, chunk->context);
  return host->send_fails ? (*make_error)(PJRT_ABORTED, "nobody listens", 14) : NULL;
}

static void count_release(void *data, void *context) {
  (void)data;
  ((host_t *)context)->released++;
}

/* Adds a chunk; its event has the error `says`, or none if that is NULL. */
static void add(host_t *host, const void *data, size_t size_bytes, const char *says) {
  pjrt_chunk_t chunk = {(void *)data, size_bytes, count_release, host};
  pjrt_add_chunk_args_t args = {
      .struct_size = sizeof args, .stream = host->stream, .chunk = &chunk};
  check(CALL(CopyToDeviceStream_AddChunk, &args), "adds a chunk");
  pjrt_event_args_t event = {.struct_size = sizeof event, .event = args.complete};
  check(call(PJRT_INDEX_Event_Await, &event, says) == !says, "the event of a chunk");
  CALL(Event_Destroy, &event);
}

static size_t ask(int index, pjrt_copy_stream_t *stream) {
  pjrt_size_args_t args = {.struct_size = sizeof args, .object = stream};
  check(call(index, &args, NULL), "asks a stream");
  return args.value;
}

/* Two chunks, with one between them that is too large, and one after the end. */
static void give_all(host_t *host) {
  pjrt_copy_stream_t *stream = host->stream;
  check(ask(PJRT_INDEX_CopyToDeviceStream_TotalBytes, stream) == sizeof given_values, "all bytes");
  check(ask(PJRT_INDEX_CopyToDeviceStream_GranuleSize, stream) == 1, "any size");
  add(host, given_values, sizeof *given_values, NULL);
  check(ask(PJRT_INDEX_CopyToDeviceStream_CurrentBytes, stream) == sizeof(float), "some bytes");
  add(host, given_values, sizeof given_values, "for a stream that takes 8 more of 12");
  add(host, given_values + 1, 2 * sizeof *given_values, NULL);
  add(host, given_values, 1, "the stream is complete");
  drop(PJRT_INDEX_CopyToDeviceStream_Destroy, stream);
}

static void *give_later(void *context) {
  usleep(20000);
  give_all(context);
  return NULL;
}

static void give(pjrt_copy_stream_t *stream, void *context) {
  host_t *host = context;
  host->stream = stream;
  if (host->recv_gives_up) {
    add(host, given_values, sizeof *given_values, NULL);
    drop(PJRT_INDEX_CopyToDeviceStream_Destroy, stream);
  } else if (host->recv_is_late) {
    check(!pthread_create(&host->thread, NULL, give_later, host), "a thread");
  } else {
    give_all(host);
  }
}

/* Launches with these lists; the results are for the caller to destroy. `says`: as in call(). */
static bool launch(const pjrt_send_callback_t *send, const pjrt_recv_callback_t *recv,
                   const char *says, float values[COUNT]) {
  pjrt_buffer_t *argument = put(client, sent_values, COUNT), *result = NULL;
  pjrt_buffer_t *const arguments[] = {argument}, *const *const lists[] = {arguments};
  pjrt_buffer_t **const results[] = {&result};
  const pjrt_send_callback_t *const sends[] = {send};
  const pjrt_recv_callback_t *const recvs[] = {recv};
  pjrt_event_t *complete = NULL;
  pjrt_execute_options_t options = {.struct_size = sizeof options,
                                    .send_callbacks = sends,
                                    .recv_callbacks = recvs,
                                    .num_send_ops = send != NULL,
                                    .num_recv_ops = recv != NULL};
  pjrt_execute_args_t args = {.struct_size = sizeof args,
                              .executable = program,
                              .options = &options,
                              .arguments = lists,
                              .num_devices = 1,
                              .num_args = 1,
                              .results = results,
                              .complete = &complete};
  bool ok = call(PJRT_INDEX_LoadedExecutable_Execute, &args, send || recv ? NULL : says);
  if (complete) {
    pjrt_event_args_t event = {.struct_size = sizeof event, .event = complete};
    ok = call(PJRT_INDEX_Event_Await, &event, says);
    CALL(Event_Destroy, &event);
  }
  check(!is_deleted(argument), "the argument stays");
  if (ok) get(result, values, COUNT);
  if (result) drop(PJRT_INDEX_Buffer_Destroy, result);
  drop(PJRT_INDEX_Buffer_Destroy, argument);
  return ok;
}

static bool run(host_t *host, const char *says, float values[COUNT]) {
  pjrt_send_callback_t send = {SEND_CHANNEL, host, take};
  pjrt_recv_callback_t recv = {RECV_CHANNEL, host, give};
  return launch(&send, &recv, says, values);
}

static void test_values(bool is_late) {
  host_t host = {.recv_is_late = is_late};
  float values[COUNT] = {0};
  check(run(&host, NULL, values), "runs");
  if (is_late) pthread_join(host.thread, NULL);
  check(!memcmp(host.sent, sent_values, sizeof host.sent), "what was sent");
  check(values[0] == 11 && values[1] == 22 && values[2] == 33, "what was received, and a sum");
  check(host.released == 4, "all chunks are released");
}

static void test_failures(void) {
  float values[COUNT];
  host_t deaf = {.send_fails = true}, short_of_bytes = {.recv_gives_up = true},
         host = {.stream = NULL};
  pjrt_send_callback_t other = {SEND_CHANNEL + 1, &host, take};
  pjrt_recv_callback_t recv = {RECV_CHANNEL, &host, give};
  check(!run(&deaf, "nobody listens", values), "a send that fails");
  check(!run(&short_of_bytes, "destroyed before all bytes", values), "a stream that ends too soon");
  check(!launch(&other, &recv, "no callback takes what the program sends on channel 5", values),
        "no callback for a channel");
  check(!launch(NULL, NULL, "not connected to anything", values), "no callbacks");
  test_values(false);
}

int main(int argc, char **argv) {
  if (!open_plugin(argc > 1 ? argv[1] : NULL)) return 1;
  client = create_client();
  check(compile(client, text, NULL, &program), "compiles");
  test_values(false);
  test_values(true);
  test_failures();
  drop(PJRT_INDEX_LoadedExecutable_Destroy, program);
  drop(PJRT_INDEX_Client_Destroy, client);
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0;
}
