/* The binary interface of PJRT plugins, declared independently: sizes and offsets are those of
 * PJRT_MAJOR.PJRT_MINOR below. Functions whose arguments have the same layout share a struct;
 * pjrt_functions.def lists the struct of each function.
 *
 * Convention: the caller fills in struct_size; a plugin reads and writes no field beyond it. Fields
 *             marked "out" are written by the plugin. Sizes of text are in bytes, without a NUL.
 * Source:     the interface as published with XLA; tests/pjrt compares every struct with the
 *             header of a TensorFlow wheel where one is installed. */
#ifndef PJRT_ABI_H
#define PJRT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Version of the interface. A framework refuses another major number. The minor number decides
 * whether it uses newer functions: JAX uses shardings of results from 91 on, layouts of parameters
 * from 93 on. */
enum { PJRT_MAJOR = 0, PJRT_MINOR = 102 };

/* An optional group of functions; the list is searched by type. The framework ignores unknown
 * types.
 */
typedef struct pjrt_extension {
  size_t struct_size;          /* size of the whole extension, its functions included */
  int type;                    /* a PJRT_EXTENSION number */
  struct pjrt_extension *next; /* next in the list; NULL at its end */
} pjrt_extension_t;

/* Types of the extensions that this plugin has; the numbers are the interface's. */
enum {
  PJRT_EXTENSION_PROFILER = 1,
  PJRT_EXTENSION_CUSTOM_PARTITIONER = 2,
  PJRT_EXTENSION_LAYOUTS = 4,
  PJRT_EXTENSION_FFI = 5,
  PJRT_EXTENSION_MEMORY_DESCRIPTIONS = 6,
  PJRT_EXTENSION_RAW_BUFFER = 8,
  PJRT_EXTENSION_EXECUTABLE_METADATA = 13,
  PJRT_EXTENSION_HOST_ALLOCATOR = 15,
  PJRT_EXTENSION_SHARDINGS = 19,
  PJRT_EXTENSION_XLA_TRANSFORM = 24
};

/* First fields of every struct of arguments.
 * `extension_start` is a list of extensions of the arguments; this plugin reads none. */
#define PJRT_HEAD     \
  size_t struct_size; \
  pjrt_extension_t *extension_start

/* Objects of the interface. The framework sees their addresses only. */
typedef struct pjrt_error pjrt_error_t;
typedef struct pjrt_event pjrt_event_t;
typedef struct pjrt_client pjrt_client_t;
typedef struct pjrt_device pjrt_device_t; /* also its description */
typedef struct pjrt_memory pjrt_memory_t; /* also its description */
/* the devices of a client, for compilation ahead of time */
typedef struct pjrt_topology pjrt_topology_t;
typedef struct pjrt_executable pjrt_executable_t; /* loaded or not */
typedef struct pjrt_buffer pjrt_buffer_t;
/* data that the caller adds to executions */
typedef struct pjrt_context pjrt_context_t;
/* a transfer in pieces */
typedef struct pjrt_transfer pjrt_transfer_t;
/* data that a program receives from a callback of the caller */
typedef struct pjrt_copy_stream pjrt_copy_stream_t;
/* a value that the framework has promised */
typedef struct pjrt_promise pjrt_promise_t;
/* an activity on a device, for profiles */
typedef struct pjrt_tracking pjrt_tracking_t;

/* All functions of the table; the arguments are one of the structs below. NULL is success. */
typedef pjrt_error_t *(*pjrt_function_t)(void *args);

/* Position of each function in the table: the order of the rows is the order of the interface. */
enum {
#define PJRT_FUNCTION(name, fn, args, last) PJRT_INDEX_##name,
#define PJRT_DIRECT(name, fn, args, last) PJRT_INDEX_##name,
#include "pjrt/abi/pjrt_functions.def"
#undef PJRT_FUNCTION
#undef PJRT_DIRECT
  PJRT_FUNCTION_COUNT
};

/* The table that GetPjrtApi returns. New versions only append functions: an older framework reads
 * the first ones, a newer one checks struct_size. */
typedef struct pjrt_api {
  PJRT_HEAD;
  struct {
    PJRT_HEAD;
    int major, minor;
  } version;
  pjrt_function_t functions[PJRT_FUNCTION_COUNT];
} pjrt_api_t;

/* --- statuses --- */

/* Numbers of absl::StatusCode. */
typedef enum pjrt_code {
  PJRT_OK = 0,
  PJRT_CANCELLED = 1,
  PJRT_UNKNOWN = 2,
  PJRT_INVALID_ARGUMENT = 3,
  PJRT_DEADLINE_EXCEEDED = 4,
  PJRT_NOT_FOUND = 5,
  PJRT_RESOURCE_EXHAUSTED = 8,
  PJRT_FAILED_PRECONDITION = 9,
  PJRT_ABORTED = 10,
  PJRT_UNIMPLEMENTED = 12,
  PJRT_INTERNAL = 13,
  PJRT_UNAVAILABLE = 14,
  PJRT_CODE_LIMIT = 17
} pjrt_code_t;

/* Arguments of Error_Destroy, which ends the caller's ownership. */
typedef struct pjrt_error_args {
  PJRT_HEAD;
  pjrt_error_t *error;
} pjrt_error_args_t;

/* Arguments of Error_Message: the text of the Python exception. */
typedef struct pjrt_error_message_args {
  PJRT_HEAD;
  const pjrt_error_t *error;
  const char *message; /* out; lives as long as the error */
  size_t message_size;
} pjrt_error_message_args_t;

/* Arguments of Error_GetCode: the code chooses the class of the Python exception. */
typedef struct pjrt_error_code_args {
  PJRT_HEAD;
  const pjrt_error_t *error;
  pjrt_code_t code; /* out */
} pjrt_error_code_args_t;

/* --- values with a name --- */

/* Which member of the union of pjrt_named_t is set; the numbers are the interface's. */
typedef enum pjrt_named_kind {
  PJRT_NAMED_STRING,
  PJRT_NAMED_INT64,
  PJRT_NAMED_INT64_LIST,
  PJRT_NAMED_FLOAT,
  PJRT_NAMED_BOOL
} pjrt_named_kind_t;

/* An option or an attribute. The creator of the value owns text and list. */
typedef struct pjrt_named {
  PJRT_HEAD;
  const char *name;
  size_t name_size;
  pjrt_named_kind_t kind;
  union {
    const char *string;
    int64_t int64;
    const int64_t *int64s;
    float real;
    bool boolean;
  };
  size_t value_size; /* bytes of a string, elements of a list; else 1 */
} pjrt_named_t;

/* --- the plugin --- */

/* Arguments of Plugin_Initialize: nothing but the head. */
typedef struct pjrt_plugin_args {
  PJRT_HEAD;
} pjrt_plugin_args_t;

/* Arguments of Plugin_Attributes: the versions of StableHLO and XLA that the plugin reads. */
typedef struct pjrt_plugin_attributes_args {
  PJRT_HEAD;
  const pjrt_named_t *attributes; /* out; static */
  size_t count;
} pjrt_plugin_attributes_args_t;

/* --- events --- */

/* Arguments of Event_Create, Event_Destroy, Event_Error and Event_Await. */
typedef struct pjrt_event_args {
  PJRT_HEAD;
  pjrt_event_t *event; /* out of Event_Create */
} pjrt_event_args_t;

typedef struct pjrt_event_ready_args {
  PJRT_HEAD;
  pjrt_event_t *event;
  bool is_ready; /* out */
} pjrt_event_ready_args_t;

/* Takes over the error, which is NULL for success. */
typedef void (*pjrt_event_fn)(pjrt_error_t *error, void *context);

/* Arguments of Event_OnReady. The callback is called exactly once, in any thread, also from
 * within this call. */
typedef struct pjrt_event_on_ready_args {
  PJRT_HEAD;
  pjrt_event_t *event;
  pjrt_event_fn callback;
  void *context;
} pjrt_event_on_ready_args_t;

/* Arguments of Event_Set, which sets an event that the framework has created. */
typedef struct pjrt_event_set_args {
  PJRT_HEAD;
  pjrt_event_t *event;
  /* PJRT_OK for success; the message is then not read */
  pjrt_code_t code;
  const char *message;
  size_t message_size;
} pjrt_event_set_args_t;

/* --- any object --- */

/* A text, or an array, that lives as long as the object. */
typedef struct pjrt_text_args {
  PJRT_HEAD;
  void *object;
  const char *text; /* out */
  size_t size;
} pjrt_text_args_t;

typedef struct pjrt_int_args {
  PJRT_HEAD;
  void *object;
  int value; /* out */
} pjrt_int_args_t;

typedef struct pjrt_size_args {
  PJRT_HEAD;
  void *object;
  size_t value; /* out */
} pjrt_size_args_t;

typedef struct pjrt_flag_args {
  PJRT_HEAD;
  void *object;
  bool value; /* out */
} pjrt_flag_args_t;

typedef struct pjrt_object_args {
  PJRT_HEAD;
  void *object;
} pjrt_object_args_t;

/* Another object that belongs to the first, or a new reference, as the function says. */
typedef struct pjrt_pointer_args {
  PJRT_HEAD;
  void *object;
  void *value; /* out */
} pjrt_pointer_args_t;

typedef struct pjrt_list_args {
  PJRT_HEAD;
  void *object;
  const void *items; /* out; live as long as the object */
  size_t count;
} pjrt_list_args_t;

/* pjrt_list_args_t with the count in front. */
typedef struct pjrt_counted_args {
  PJRT_HEAD;
  void *object;
  size_t count; /* out */
  const void *items;
} pjrt_counted_args_t;

/* Texts by index, with their sizes. */
typedef struct pjrt_texts_args {
  PJRT_HEAD;
  void *object;
  size_t count; /* out */
  const void *items;
  const size_t *sizes;
} pjrt_texts_args_t;

/* Arguments of Error_ForEachPayload. */
typedef struct pjrt_error_payloads_args {
  PJRT_HEAD;
  const pjrt_error_t *error;
  void (*visit)(const char *key, size_t key_size, const char *value, size_t value_size,
                void *context);
  void *context;
} pjrt_error_payloads_args_t;

/* Bytes and their owner, which the caller releases. */
typedef struct pjrt_serialized_args {
  PJRT_HEAD;
  const void *object;
  const char *bytes; /* out */
  size_t size_bytes;
  void *owner;
  void (*release)(void *owner);
} pjrt_serialized_args_t;

#endif
