/* The transport over MPI: the only file that includes mpi.h, built as the module transport_mpi,
 * which links nothing of hlorun (see mpi_module.h). Messages are nonblocking sends and receives on
 * a communicator of the module's own. Waits poll MPI_Test, because an MPI call that blocks cannot
 * be interrupted by a signal, a time-out or a failing peer. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "transport/core/backoff.h"
#include "transport/mpi/mpi_module.h"
#include "transport/mpi/mpi_segments.h"

#define PIECE_BYTES \
  (1 << 30) /* bytes; MPI counts are ints, so larger messages are sent in pieces */
#define CANCEL_REST_NS 20000
#define CANCEL_POLLS 1000
#define ABORT_S 2 /* seconds for the first process that fails to end the job */
#define SEGMENT_BYTES (UINT64_C(5) << 20) /* bytes that Open MPI uses in /dev/shm per process */
#define PUSH_POLLS 64 /* failed polls of a wait between calls of drive_progress */

/* A send or receive as pieces of at most PIECE_BYTES; pieces before done_count are complete. */
struct tp_message {
  tp_message_t *next_free;
  int peer;
  bool is_send;
  size_t size_bytes;
  int piece_count, done_count;
  MPI_Request first;   /* the only piece of most messages */
  MPI_Request *pieces; /* &first, or an array of all pieces */
};

typedef struct mpi_endpoint {
  tp_endpoint_t endpoint; /* first member: a pointer to it is a pointer to mpi_endpoint_t */
  const tp_mpi_host_t *host;
  MPI_Comm comm;
  uint32_t tag_mask; /* bits of a tag that this MPI supports */
  bool must_finalize;
  char host_name[256];
  mpi_segments_t segments; /* segments whose names were removed; none if `own` is empty */
  tp_message_t *free_messages;
} mpi_endpoint_t;

#define mpi_error(self, code, ...) \
  (self)->host->error(__FILE__, __LINE__, (code), NULL, __VA_ARGS__)

static mpi_endpoint_t *self_of(tp_endpoint_t *endpoint) { return (mpi_endpoint_t *)endpoint; }

/* --- messages --- */

/* UNAVAILABLE with MPI's error text. */
static hr_status_t failed_call(mpi_endpoint_t *self, int error, const char *what, int peer) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int size = 0;
  MPI_Error_string(error, text, &size);
  return mpi_error(self, HR_UNAVAILABLE, "%s rank %d failed: %s", what, peer, text);
}

/* Messages are recycled; only those above PIECE_BYTES need memory for their requests. */
static hr_status_t message_new(mpi_endpoint_t *self, size_t size_bytes,
                               tp_message_t **out_message) {
  tp_message_t *message = self->free_messages;
  if (message) {
    self->free_messages = message->next_free;
  } else {
    void *memory;
    HR_TRY(self->host->alloc(sizeof *message, &memory));
    message = memory;
  }
  int pieces = size_bytes ? (int)((size_bytes - 1) / PIECE_BYTES) + 1 : 1;
  *message =
      (tp_message_t){.size_bytes = size_bytes, .piece_count = pieces, .first = MPI_REQUEST_NULL};
  message->pieces = &message->first;
  *out_message = message;
  if (pieces == 1) return NULL;
  void *memory;
  hr_status_t st = self->host->alloc((size_t)pieces * sizeof(MPI_Request), &memory);
  if (st) {
    message->next_free = self->free_messages;
    self->free_messages = message;
    return st;
  }
  message->pieces = memory;
  for (int i = 0; i < pieces; i++) message->pieces[i] = MPI_REQUEST_NULL;
  return NULL;
}

static void message_free(mpi_endpoint_t *self, tp_message_t *message) {
  if (message->pieces != &message->first) self->host->free(message->pieces);
  message->next_free = self->free_messages;
  self->free_messages = message;
}

/* All pieces but the last are full. */
static int piece_bytes(const tp_message_t *message, int piece) {
  size_t left = message->size_bytes - (size_t)piece * PIECE_BYTES;
  return (int)(left < PIECE_BYTES ? left : PIECE_BYTES);
}

/* Ends an abandoned request. A receive is cancelled, since its memory may be freed; if its message
 * is just arriving it gets some time. MPI completes a send on its own. */
static void abandon_piece(MPI_Request *piece, bool is_send) {
  if (*piece == MPI_REQUEST_NULL) return;
  int done = 0;
  if (!is_send) MPI_Cancel(piece);
  for (int polls = 0; !is_send && !done && polls < CANCEL_POLLS; polls++) {
    MPI_Test(piece, &done, MPI_STATUS_IGNORE);
    if (!done) nanosleep(&(struct timespec){.tv_nsec = CANCEL_REST_NS}, NULL);
  }
  if (!done) MPI_Request_free(piece);
}

/* After a cancel the peers may wait for messages that never come, so the endpoint counts as
 * desynchronized and ends without MPI_Finalize. */
static void mpi_cancel(tp_endpoint_t *endpoint, tp_message_t *message) {
  endpoint->desynchronized = true;
  for (int i = 0; i < message->piece_count; i++)
    abandon_piece(&message->pieces[i], message->is_send);
  message_free(self_of(endpoint), message);
}

typedef int (*start_fn)(void *data, int bytes, int peer, int tag, MPI_Comm comm,
                        MPI_Request *request);

static int start_send(void *data, int bytes, int peer, int tag, MPI_Comm comm,
                      MPI_Request *request) {
  return MPI_Isend(data, bytes, MPI_BYTE, peer, tag, comm, request);
}
static int start_ssend(void *data, int bytes, int peer, int tag, MPI_Comm comm,
                       MPI_Request *request) {
  return MPI_Issend(data, bytes, MPI_BYTE, peer, tag, comm, request);
}
static int start_recv(void *data, int bytes, int peer, int tag, MPI_Comm comm,
                      MPI_Request *request) {
  return MPI_Irecv(data, bytes, MPI_BYTE, peer, tag, comm, request);
}

/* Starts all pieces at once. Pieces of one message have one tag, and MPI keeps their order. */
static hr_status_t post(tp_endpoint_t *endpoint, start_fn start, int peer, uint32_t tag, void *data,
                        size_t size_bytes, tp_message_t **out_message) {
  mpi_endpoint_t *self = self_of(endpoint);
  tp_message_t *message;
  HR_TRY(message_new(self, size_bytes, &message));
  int mpi_tag = (int)(tag & self->tag_mask);
  message->peer = peer;
  message->is_send = start != start_recv;
  for (int i = 0; i < message->piece_count; i++) {
    char *at = (char *)data + (size_t)i * PIECE_BYTES;
    int bytes = piece_bytes(message, i);
    int error = start(at, bytes, peer, mpi_tag, self->comm, &message->pieces[i]);
    if (error != MPI_SUCCESS) {
      hr_status_t st =
          failed_call(self, error, message->is_send ? "sending to" : "receiving from", peer);
      mpi_cancel(endpoint, message);
      return st;
    }
  }
  *out_message = message;
  return NULL;
}

static hr_status_t mpi_send(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                            size_t size_bytes, tp_message_t **out_message) {
  return post(endpoint, start_send, to, tag, (void *)data, size_bytes, out_message);
}

static hr_status_t mpi_ssend(tp_endpoint_t *endpoint, int to, uint32_t tag, const void *data,
                             size_t size_bytes, tp_message_t **out_message) {
  return post(endpoint, start_ssend, to, tag, (void *)data, size_bytes, out_message);
}

static hr_status_t mpi_recv(tp_endpoint_t *endpoint, int from, uint32_t tag, void *data,
                            size_t size_bytes, tp_message_t **out_message) {
  return post(endpoint, start_recv, from, tag, data, size_bytes, out_message);
}

/* The result of a completed piece. */
static hr_status_t check_piece(mpi_endpoint_t *self, const tp_message_t *message, int error,
                               MPI_Status *status) {
  int class_ = MPI_SUCCESS, bytes = 0;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class_);
  int wanted = piece_bytes(message, message->done_count);
  if (class_ == MPI_ERR_TRUNCATE)
    return mpi_error(self, HR_DISAGREE, "rank %d sent more than the %zu bytes wanted from it",
                     message->peer, message->size_bytes);
  if (error != MPI_SUCCESS)
    return failed_call(self, error, message->is_send ? "sending to" : "receiving from",
                       message->peer);
  if (message->is_send) return NULL;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  if (bytes == wanted) return NULL;
  return mpi_error(self, HR_DISAGREE, "rank %d sent %d bytes, want %d", message->peer, bytes,
                   wanted);
}

/* Tests pieces in order; a failure cancels the remaining ones. Frees the message at its end. */
static hr_status_t mpi_test(tp_endpoint_t *endpoint, tp_message_t *message, bool *out_done) {
  mpi_endpoint_t *self = self_of(endpoint);
  while (message->done_count < message->piece_count) {
    MPI_Status status;
    int done = 0;
    int error = MPI_Test(&message->pieces[message->done_count], &done, &status);
    hr_status_t st =
        done || error != MPI_SUCCESS ? check_piece(self, message, error, &status) : NULL;
    if (st) {
      if (error != MPI_SUCCESS) message->pieces[message->done_count] = MPI_REQUEST_NULL;
      mpi_cancel(endpoint, message);
      *out_done = true;
      return st;
    }
    *out_done = done;
    if (!done) return NULL;
    message->done_count++;
  }
  *out_done = true;
  message_free(self, message);
  return NULL;
}

static hr_status_t mpi_probe(tp_endpoint_t *endpoint, int from, uint32_t tag, bool *out_come) {
  mpi_endpoint_t *self = self_of(endpoint);
  int come = 0;
  int error = MPI_Iprobe(from, (int)(tag & self->tag_mask), self->comm, &come, MPI_STATUS_IGNORE);
  *out_come = come;
  return error == MPI_SUCCESS ? NULL : failed_call(self, error, "looking for a message from", from);
}

/* Buffered messages advance only inside MPI calls, even after their sends have completed: a wait
 * for anything else, such as a counter in shared memory, must call MPI now and then. */
static void drive_progress(mpi_endpoint_t *self) {
  int come;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, self->comm, &come, MPI_STATUS_IGNORE);
}

/* Messages between machines advance only by MPI's progress engine, which every poll calls. */
static void mpi_backoff(tp_endpoint_t *endpoint, uint32_t polls) {
  bool is_far = endpoint->local_size < endpoint->world_size;
  if (is_far || polls % PUSH_POLLS == PUSH_POLLS - 1) drive_progress(self_of(endpoint));
  tp_backoff(endpoint->oversubscribed, endpoint->local_size, polls);
}

/* --- start and end --- */

/* True for the first process of this machine to end the job, decided by creating a file in the
 * launcher's folder for the job. */
static bool is_first_to_abort(void) {
  const char *folder = getenv("PMIX_SERVER_TMPDIR");
  char path[PATH_MAX];
  int size = folder ? snprintf(path, sizeof path, "%s/hlorun-aborts", folder) : -1;
  if (size < 0 || (size_t)size >= sizeof path) return true;
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return errno != EEXIST;
  close(fd);
  return true;
}

/* mpirun may crash when several processes end the job at the same moment: one process does, and
 * takes the others with it. */
static _Noreturn void abort_job(int code) {
  fflush(NULL);
  if (!is_first_to_abort()) sleep(ABORT_S);
  MPI_Abort(MPI_COMM_WORLD, code ? code : 1);
  _exit(code ? code : 1);
}

/* MPI_Finalize waits for all processes; a desynchronized process must not wait and aborts the job
 * at its exit, after the report of its error. */
static void abort_at_exit(int status, void *context) {
  (void)context;
  abort_job(status);
}

/* A failed endpoint aborts the job at once. If its error is not reported yet, the abort happens at
 * exit. */
static void mpi_close(tp_endpoint_t *endpoint, bool failed) {
  mpi_endpoint_t *self = self_of(endpoint);
  if (failed && !endpoint->defers_error_report) abort_job(endpoint->exit_code);
  for (tp_message_t *message; (message = self->free_messages);) {
    self->free_messages = message->next_free;
    self->host->free(message);
  }
  if (endpoint->desynchronized || failed) {
    on_exit(abort_at_exit, NULL);
  } else {
    MPI_Comm_free(&self->comm);
    if (self->must_finalize) {
      mpi_segments_restore(&self->segments);
      MPI_Finalize();
    }
  }
  self->host->free(self);
}

static const tp_vtable_t mpi_vtable = {.name = "mpi",
                                       .send = mpi_send,
                                       .recv = mpi_recv,
                                       .ssend = mpi_ssend,
                                       .test = mpi_test,
                                       .probe = mpi_probe,
                                       .cancel = mpi_cancel,
                                       .backoff = mpi_backoff,
                                       .close = mpi_close};

/* Number of processors of all ranks of this machine together: mpirun may have bound each rank to a
 * few. */
static int processor_count(const tp_mpi_host_t *host) {
  cpu_set_t own, launcher;
  if (sched_getaffinity(0, sizeof own, &own)) return 1;
  if (!sched_getaffinity(getppid(), sizeof launcher, &launcher)) CPU_OR(&own, &own, &launcher);
  return host->processor_limit(CPU_COUNT(&own));
}

/* -1: the variable is not set. */
static int environment_number(const char *name) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : -1;
}

/* True if process_vm_readv is permitted: containers often forbid it, and Open MPI then prints
 * warnings. */
static bool direct_copies_work(void) {
  char from = 1, to = 0;
  struct iovec local = {&to, 1}, remote = {&from, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 || errno != EPERM;
}

/* Makes Open MPI use another folder if /dev/shm is too small for its segments. */
static void move_segments_from_shm(int local_size) {
  struct statvfs shared;
  const char *temporary = getenv("TMPDIR");
  if (statvfs("/dev/shm", &shared) ||
      shared.f_bavail * shared.f_frsize > (uint64_t)local_size * SEGMENT_BYTES)
    return;
  setenv("OMPI_MCA_btl_vader_backing_directory", temporary && *temporary ? temporary : "/tmp", 0);
}

/* Sets parameters of Open MPI that it cannot determine in time. Settings of the user have
 * precedence. */
static void set_openmpi_hints(const tp_mpi_host_t *host) {
  int local_size = environment_number("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (local_size > processor_count(host)) setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  if (local_size > 1) move_segments_from_shm(local_size);
  if (!direct_copies_work()) setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  /* All ranks are on one machine and use shared memory: the search for networks would only take
   * time. */
  if (local_size > 0 && local_size == environment_number("OMPI_COMM_WORLD_SIZE"))
    setenv("OMPI_MCA_pml", "ob1", 0);
}

/* The embedding program may have started MPI: MPI is not finalized here then. */
static hr_status_t start_mpi(const tp_mpi_host_t *host, bool *out_started) {
  int done = 0, provided;
  MPI_Finalized(&done);
  if (done)
    return host->error(__FILE__, __LINE__, HR_UNAVAILABLE, NULL,
                       "MPI has been ended in this process already");
  MPI_Initialized(&done);
  *out_started = !done;
  if (done) return NULL;
  set_openmpi_hints(host);
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
    return host->error(__FILE__, __LINE__, HR_UNAVAILABLE, NULL, "MPI cannot start");
  return NULL;
}

/* Ranks within the machine: from mpirun's variables, or else by a split of the communicator. */
static void find_rank_and_host(mpi_endpoint_t *self) {
  tp_endpoint_t *endpoint = &self->endpoint;
  MPI_Comm_rank(self->comm, &endpoint->rank);
  MPI_Comm_size(self->comm, &endpoint->world_size);
  endpoint->local_rank = environment_number("OMPI_COMM_WORLD_LOCAL_RANK");
  endpoint->local_size = environment_number("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (endpoint->local_rank < 0 || endpoint->local_size <= endpoint->local_rank) {
    MPI_Comm here;
    MPI_Comm_split_type(self->comm, MPI_COMM_TYPE_SHARED, endpoint->rank, MPI_INFO_NULL, &here);
    MPI_Comm_rank(here, &endpoint->local_rank);
    MPI_Comm_size(here, &endpoint->local_size);
    MPI_Comm_free(&here);
  }
  if (gethostname(self->host_name, sizeof self->host_name - 1)) strcpy(self->host_name, "?");
  endpoint->host = self->host_name;
  endpoint->oversubscribed = endpoint->local_size > processor_count(self->host);
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  endpoint->single_threaded = provided < MPI_THREAD_SERIALIZED;
  endpoint->shares_memory = true;
}

/* Tags that lose upper bits may coincide; messages then match in the order of their sends, in which
 * programs must receive them anyway. */
static void find_tags(mpi_endpoint_t *self) {
  int *largest = NULL, found = 0;
  MPI_Comm_get_attr(self->comm, MPI_TAG_UB, &largest, &found);
  uint32_t limit = found ? (uint32_t)*largest : 32767;
  self->endpoint.tag_bits = 31;
  while ((1u << self->endpoint.tag_bits) - 1 > limit) self->endpoint.tag_bits--;
  self->tag_mask = (1u << self->endpoint.tag_bits) - 1;
}

/* Unlinks Open MPI's segments, so that nothing stays in /dev/shm however the job ends. Every
 * process of the job must have mapped those of its machine before. Not done in a program that has
 * started MPI itself, as it may still need the names. Collective. */
static void hide_segments(mpi_endpoint_t *self) {
  mpi_segments_find(self->endpoint.rank, &self->segments);
  int is_whole = self->must_finalize && self->segments.count == self->endpoint.local_size, all = 0;
  MPI_Allreduce(&is_whole, &all, 1, MPI_INT, MPI_MIN, self->comm);
  if (!all) self->segments = (mpi_segments_t){0};
  mpi_segments_unlink(&self->segments);
}

/* The launcher of another MPI starts N processes, each of which is a world of one. */
static hr_status_t check_world(mpi_endpoint_t *self) {
  int launched = self->host->launcher_world_size, found = self->endpoint.world_size;
  if (!launched || launched == found) return NULL;
  return mpi_error(self, HR_UNAVAILABLE,
                   "the launcher started %d processes, but Open MPI sees %d: is mpirun from "
                   "another MPI?",
                   launched, found);
}

/* Uses a duplicate of the world, so that messages cannot match those of the embedding program. */
hr_status_t tp_mpi_module_open(const tp_mpi_host_t *host, tp_endpoint_t **out_endpoint) {
  if (host->version != TP_MPI_MODULE_VERSION)
    return host->error(__FILE__, __LINE__, HR_UNAVAILABLE, NULL,
                       "transport_mpi.so is of another version of hlorun");
  void *memory;
  HR_TRY(host->alloc(sizeof(mpi_endpoint_t), &memory));
  mpi_endpoint_t *self = memory;
  *self = (mpi_endpoint_t){.endpoint.vtable = &mpi_vtable, .host = host};
  hr_status_t st = start_mpi(host, &self->must_finalize);
  if (st) {
    host->free(self);
    return st;
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &self->comm);
  MPI_Comm_set_errhandler(self->comm, MPI_ERRORS_RETURN);
  find_rank_and_host(self);
  find_tags(self);
  st = check_world(self);
  if (!st) hide_segments(self);
  if (st)
    mpi_close(&self->endpoint, false);
  else
    *out_endpoint = &self->endpoint;
  return st;
}
