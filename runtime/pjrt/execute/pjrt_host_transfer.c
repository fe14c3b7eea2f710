/* Transfers of a program with callbacks of the framework. Sent data go in one chunk, a copy. For
 * data to be received the callback gets a stream, which the framework fills in chunks, during the
 * callback or later, in any thread; the program waits for the last chunk. */
#include "pjrt/execute/pjrt_host_transfer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "pjrt/abi/pjrt_event.h"

struct pjrt_host_ends {
  size_t send_count, recv_count;
  pjrt_send_callback_t *sends;
  pjrt_recv_callback_t *recvs;
};

struct pjrt_copy_stream {
  atomic_int references; /* held by the framework and by the program */
  pthread_mutex_t mutex; /* guards `current`, and `data` while a chunk is copied */
  pjrt_event_t *done;    /* set when all bytes are there, or will never be */
  char *data;            /* memory of the program; NULL: it waits no longer */
  size_t total, current; /* in bytes */
};

/* --- the lists of a launch --- */

hr_status_t pjrt_host_ends_create(const pjrt_execute_options_t *options, int device,
                                  pjrt_host_ends_t **out_ends) {
  size_t sends = options->num_send_ops, recvs = options->num_recv_ops;
  void *memory;
  *out_ends = NULL;
  if (!sends && !recvs) return NULL;
  if ((sends && !options->send_callbacks) || (recvs && !options->recv_callbacks))
    return hr_error(HR_USAGE, "the lists of callbacks for transfers with the host are NULL");
  if (sends > UINT16_MAX || recvs > UINT16_MAX)
    return hr_error(HR_USAGE, "%zu sends and %zu receives of one program", sends, recvs);
  size_t send_bytes = sends * sizeof(pjrt_send_callback_t);
  size_t recv_bytes = recvs * sizeof(pjrt_recv_callback_t);
  HR_TRY(hr_alloc(sizeof(pjrt_host_ends_t) + send_bytes + recv_bytes, &memory));
  pjrt_host_ends_t *ends = memory;
  *ends = (pjrt_host_ends_t){.send_count = sends, .recv_count = recvs};
  ends->sends = (pjrt_send_callback_t *)(ends + 1);
  ends->recvs = (pjrt_recv_callback_t *)(ends->sends + sends);
  if (sends) memcpy(ends->sends, options->send_callbacks[device], send_bytes);
  if (recvs) memcpy(ends->recvs, options->recv_callbacks[device], recv_bytes);
  *out_ends = ends;
  return NULL;
}

void pjrt_host_ends_destroy(pjrt_host_ends_t *ends) { hr_free(ends); }

/* --- program to host --- */

/* The `release` of a chunk of ours. */
static void free_chunk(void *data, void *context) {
  (void)context;
  hr_free(data);
}

/* Signature of pjrt_callback_error_t. */
static pjrt_error_t *create_error(int code, const char *message, size_t size) {
  return pjrt_error_given((pjrt_code_t)code, message, size);
}

/* The callback releases the chunk. */
static hr_status_t send_to(const pjrt_send_callback_t *end, const void *data, size_t size_bytes) {
  static pjrt_callback_error_t make_error = create_error;
  void *copy;
  HR_TRY(hr_alloc(size_bytes, &copy));
  if (size_bytes) memcpy(copy, data, size_bytes);
  pjrt_chunk_t chunk = {.data = copy, .size_bytes = size_bytes, .release = free_chunk};
  pjrt_error_t *error = end->send(&chunk, &make_error, size_bytes, true, end->context);
  hr_status_t st = pjrt_error_status(error);
  pjrt_error_free(error);
  return hr_status_note(st, "in the callback of channel %ld", (long)end->channel);
}

/* Signature of host_transfers_t.send. */
static hr_status_t send_array(void *context, int64_t channel, void *data, size_t size_bytes) {
  const pjrt_host_ends_t *ends = context;
  for (size_t i = 0; i < ends->send_count; i++)
    if (ends->sends[i].channel == channel && ends->sends[i].send)
      return send_to(&ends->sends[i], data, size_bytes);
  return hr_error(HR_USAGE, "no callback takes what the program sends on channel %ld",
                  (long)channel);
}

/* --- host to program --- */

static hr_status_t create_stream(void *data, size_t size_bytes, pjrt_copy_stream_t **out_stream) {
  void *memory;
  pjrt_event_t *done;
  HR_TRY(pjrt_event_new(&done));
  hr_status_t st = hr_alloc_zeroed(sizeof(pjrt_copy_stream_t), &memory);
  if (st) {
    pjrt_event_release(done);
    return st;
  }
  pjrt_copy_stream_t *stream = memory;
  atomic_init(&stream->references, 2);
  pthread_mutex_init(&stream->mutex, NULL);
  stream->done = done;
  stream->data = data;
  stream->total = size_bytes;
  if (!size_bytes) pjrt_event_fire(done, NULL);
  *out_stream = stream;
  return NULL;
}

static void release_stream(pjrt_copy_stream_t *stream) {
  if (atomic_fetch_sub(&stream->references, 1) != 1) return;
  pjrt_event_release(stream->done);
  pthread_mutex_destroy(&stream->mutex);
  hr_free(stream);
}

static hr_status_t await_stream(pjrt_copy_stream_t *stream, int64_t channel) {
  hr_status_t st = pjrt_event_wait(stream->done);
  pthread_mutex_lock(&stream->mutex);
  stream->data = NULL;
  pthread_mutex_unlock(&stream->mutex);
  if (!st) st = pjrt_error_status(pjrt_event_failure(stream->done));
  return hr_status_note(st, "while the program receives on channel %ld", (long)channel);
}

static hr_status_t recv_from(const pjrt_recv_callback_t *end, void *data, size_t size_bytes) {
  pjrt_copy_stream_t *stream;
  HR_TRY(create_stream(data, size_bytes, &stream));
  end->recv(stream, end->context);
  hr_status_t st = await_stream(stream, end->channel);
  release_stream(stream);
  return st;
}

/* Signature of host_transfers_t.recv. */
static hr_status_t recv_array(void *context, int64_t channel, void *data, size_t size_bytes) {
  const pjrt_host_ends_t *ends = context;
  for (size_t i = 0; i < ends->recv_count; i++)
    if (ends->recvs[i].channel == channel && ends->recvs[i].recv)
      return recv_from(&ends->recvs[i], data, size_bytes);
  return hr_error(HR_USAGE, "no callback gives what the program receives on channel %ld",
                  (long)channel);
}

host_transfers_t pjrt_host_ends_transfers(pjrt_host_ends_t *ends) {
  return (host_transfers_t){.send = send_array, .recv = recv_array, .context = ends};
}

/* --- functions of the interface --- */

/* CopyToDeviceStream_Destroy. A program that still waits fails. */
hr_status_t pjrt_copy_stream_destroy(pjrt_object_args_t *args) {
  static const char text[] = "the stream was destroyed before all bytes were given";
  pjrt_copy_stream_t *stream = args->object;
  if (!stream) return NULL;
  if (!pjrt_event_is_set(stream->done))
    pjrt_event_fire(stream->done, pjrt_error_create(PJRT_ABORTED, text, sizeof text - 1));
  release_stream(stream);
  return NULL;
}

/* With the mutex held. */
static hr_status_t append(pjrt_copy_stream_t *stream, const pjrt_chunk_t *chunk) {
  size_t room = stream->total - stream->current;
  if (chunk->size_bytes && !chunk->data) return hr_error(HR_USAGE, "a chunk without data");
  if (pjrt_event_is_set(stream->done) || !stream->data)
    return hr_error(HR_USAGE, "the stream is complete");
  if (chunk->size_bytes > room)
    return hr_error(HR_USAGE, "a chunk of %zu bytes for a stream that takes %zu more of %zu",
                    chunk->size_bytes, room, stream->total);
  if (chunk->size_bytes) memcpy(stream->data + stream->current, chunk->data, chunk->size_bytes);
  stream->current += chunk->size_bytes;
  return NULL;
}

/* CopyToDeviceStream_AddChunk: the chunk is copied at once. The event reports an invalid chunk. */
hr_status_t pjrt_copy_stream_add(pjrt_add_chunk_args_t *args) {
  pjrt_copy_stream_t *stream = args->stream;
  PJRT_NOT_NULL(stream);
  PJRT_NOT_NULL(args->chunk);
  HR_TRY(pjrt_event_new(&args->complete));
  pthread_mutex_lock(&stream->mutex);
  hr_status_t st = append(stream, args->chunk);
  bool is_last = !st && stream->current == stream->total;
  pthread_mutex_unlock(&stream->mutex);
  if (args->chunk->release) args->chunk->release(args->chunk->data, args->chunk->context);
  if (is_last) pjrt_event_fire(stream->done, NULL);
  pjrt_event_fire(args->complete, pjrt_error_from_status(st));
  return NULL;
}

hr_status_t pjrt_copy_stream_total(pjrt_size_args_t *args) {
  const pjrt_copy_stream_t *stream = args->object;
  PJRT_NOT_NULL(stream);
  args->value = stream->total;
  return NULL;
}

/* CopyToDeviceStream_GranuleSize: chunks may have any size. */
hr_status_t pjrt_copy_stream_granule(pjrt_size_args_t *args) {
  PJRT_NOT_NULL(args->object);
  args->value = 1;
  return NULL;
}

hr_status_t pjrt_copy_stream_current(pjrt_size_args_t *args) {
  pjrt_copy_stream_t *stream = args->object;
  PJRT_NOT_NULL(stream);
  pthread_mutex_lock(&stream->mutex);
  args->value = stream->current;
  pthread_mutex_unlock(&stream->mutex);
  return NULL;
}
