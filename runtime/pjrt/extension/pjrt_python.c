/* Handlers of custom calls out of JAX. JAX registers them with its own CPU client; jaxlib returns
 * them by name, as capsules:
 *
 *   jaxlib.xla_client.custom_call_targets("Host")  ->  {name: {stage: capsule}}
 *
 * An unknown target of a program is looked up there. The type of its states (register_ffi_type)
 * waits in a list for JAX's own CPU client. Python callbacks (pure_callback, io_callback,
 * debug.print) are a handler of our own: the framework gives an execution the list of its
 * callables, and the call names one by its index.
 *
 * The functions of Python are found among the symbols of the process, so that the plugin needs no
 * Python to be built or loaded. */
#include "pjrt/extension/pjrt_python.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/fp_mode.h"
#include "base/mem.h"
#include "ops/kernels/custom/ffi_abi.h"
#include "ops/query/custom_ffi.h"
#include "ops/query/custom_host.h"

typedef void object_t; /* PyObject */

/* The functions of Python's C interface that are used, with their types. */
#define PYTHON_FUNCTIONS(X)                                                \
  X(int, Py_IsInitialized, (void))                                         \
  X(int, PyGILState_Ensure, (void))                                        \
  X(void, PyGILState_Release, (int state))                                 \
  X(object_t *, PyObject_CallFunction, (object_t *, const char *, ...))    \
  X(object_t *, PyDict_New, (void))                                        \
  X(object_t *, PyDict_GetItemString, (object_t *, const char *))          \
  X(int, PyDict_SetItemString, (object_t *, const char *, object_t *))     \
  X(object_t *, PyEval_GetBuiltins, (void))                                \
  X(object_t *, PyRun_String, (const char *, int, object_t *, object_t *)) \
  X(object_t *, PyList_New, (ssize_t))                                     \
  X(int, PyList_Append, (object_t *, object_t *))                          \
  X(object_t *, Py_BuildValue, (const char *, ...))                        \
  X(object_t *, PyTuple_GetItem, (object_t *, ssize_t))                    \
  X(long, PyLong_AsLong, (object_t *))                                     \
  X(const char *, PyUnicode_AsUTF8, (object_t *))                          \
  X(const char *, PyCapsule_GetName, (object_t *))                         \
  X(void *, PyCapsule_GetPointer, (object_t *, const char *))              \
  X(void, PyErr_Clear, (void))                                             \
  X(void, Py_DecRef, (object_t *))

/* Their addresses; all are set, or none is used. */
static struct {
#define X(type, name, args) type(*name) args;
  PYTHON_FUNCTIONS(X)
#undef X
} python;

/* False if the process has no Python: then there are no handlers of JAX. */
static bool find_symbols(void) {
  const struct {
    const char *name;
    void *to;
  } symbols[] = {
#define X(type, name, args) {#name, &python.name},
      PYTHON_FUNCTIONS(X)
#undef X
  };
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *symbol = dlsym(RTLD_DEFAULT, symbols[i].name);
    if (!symbol) return false;
    memcpy(symbols[i].to, &symbol, sizeof symbol);
  }
  return true;
}

/* The address in a capsule; NULL if the object is something else. */
static void *pointer_of(object_t *capsule) {
  if (!capsule) return NULL;
  const char *name = python.PyCapsule_GetName(capsule);
  void *pointer = python.PyCapsule_GetPointer(capsule, name);
  python.PyErr_Clear();
  return pointer;
}

/* A dictionary has a capsule per stage; a capsule alone is the handler of the execution. */
static custom_ffi_bundle_t read_bundle(object_t *entry) {
  custom_ffi_bundle_t bundle = {.execute = pointer_of(entry)};
  if (bundle.execute) return bundle;
  bundle.instantiate = pointer_of(python.PyDict_GetItemString(entry, "instantiate"));
  bundle.prepare = pointer_of(python.PyDict_GetItemString(entry, "prepare"));
  bundle.initialize = pointer_of(python.PyDict_GetItemString(entry, "initialize"));
  bundle.execute = pointer_of(python.PyDict_GetItemString(entry, "execute"));
  python.PyErr_Clear();
  return bundle;
}

/* find: the handler of a target, and whether it is of the typed convention; JAX keeps those that
 * were registered before it has a CPU client of its own in a list. JAX before 0.6 calls Python by
 * a handler of the classic convention, which stands among the others.
 * state_type: the k-th type that was registered before JAX has a CPU client of its own: its name,
 * and the capsules of its number and of what ends its objects. jaxlib numbers the types, as it
 * would for that client.
 * share: where JAX has no CPU client of its own, what it asks of "cpu" (the place of a callback's
 * arguments) is asked of hlorun: one more row of the table of backends, if there is such a table.
 * device_count: of JAX before 0.5, which has no such configuration, 0.
 * begin: asks JAX to call `share` when it has made a backend.
 * call: makes arrays of addresses, calls, and copies the results; the text of a failure, else None.
 * The arrays are copies, as the callback may keep them. */
static const char helper_source[] =
    "import ctypes, sys, traceback\n"
    "import numpy as np, ml_dtypes\n"
    "def find(target):\n"
    "    import jaxlib.xla_client as client\n"
    "    for entry in reversed(getattr(client, '_custom_callback', {}).get('Host', [])):\n"
    "        name = entry[0]\n"
    "        if isinstance(name, bytes): name = name.decode()\n"
    "        if name == target: return entry[1], int(entry[2])\n"
    "    typed = target != 'xla_python_cpu_callback'\n"
    "    if not typed: share()\n"
    "    return client.custom_call_targets('Host')[target], int(typed)\n"
    "waiting = []\n"
    "def state_type(k):\n"
    "    if k >= len(waiting): return None\n"
    "    import jaxlib.xla_client as client\n"
    "    name, entry = waiting[k]\n"
    "    try: client._xla.register_custom_type(name, entry)\n"
    "    except Exception: pass\n"
    "    if not isinstance(entry, dict): return name, entry, None\n"
    "    return name, entry['type_id'], entry.get('type_info')\n"
    "def share(backend=None):\n"
    "    bridge = sys.modules.get('jax._src.xla_bridge')\n"
    "    table = getattr(bridge, '_backends', None)\n"
    "    if not isinstance(table, dict) or 'cpu' in table: return\n"
    "    for client in [backend] if backend else list(table.values()):\n"
    "        if str(getattr(client, 'platform_version', '')).find('hlorun ') >= 0:\n"
    "            table['cpu'] = client\n"
    "            return\n"
    "def begin():\n"
    "    global waiting\n"
    "    client = sys.modules.get('jaxlib.xla_client')\n"
    "    types = getattr(client, '_custom_type_id', None)\n"
    "    if isinstance(types, dict): waiting = types.setdefault('Host', waiting)\n"
    "    bridge = sys.modules.get('jax._src.xla_bridge')\n"
    "    hooks = getattr(bridge, '_backend_initialization_hooks', None)\n"
    "    if isinstance(hooks, list): hooks.append(share)\n"
    "def device_count():\n"
    "    config = getattr(sys.modules.get('jax'), 'config', None)\n"
    "    return max(getattr(config, 'jax_num_cpu_devices', 0), 0)\n"
    "def view(address, name, dims):\n"
    "    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)\n"
    "    size = int(np.prod(dims, dtype=np.int64)) * dtype.itemsize\n"
    "    if not size: return np.zeros(dims, dtype)\n"
    "    memory = (ctypes.c_char * size).from_address(address)\n"
    "    return np.frombuffer(memory, dtype=dtype).reshape(dims)\n"
    "def call(callback, args, rets):\n"
    "    try:\n"
    "        share()\n"
    "        arrays = [a if a is None else view(*a).copy() for a in args]\n"
    "        for a in arrays:\n"
    "            if a is not None: a.flags.writeable = False\n"
    "        results = callback(*arrays)\n"
    "        for r, value in zip(rets, results):\n"
    "            if r is not None: view(*r)[...] = np.asarray(value)\n"
    "    except BaseException:\n"
    "        return 'CpuCallback error calling callback: ' + traceback.format_exc()\n";

enum { FILE_INPUT = 257 }; /* Py_file_input */

/* A function of the source, which is run once. With the lock of the interpreter. */
static object_t *find_helper(const char *name) {
  static object_t *globals; /* live as long as the process */
  if (!globals) {
    object_t *made = python.PyDict_New();
    python.PyDict_SetItemString(made, "__builtins__", python.PyEval_GetBuiltins());
    object_t *done = python.PyRun_String(helper_source, FILE_INPUT, made, made);
    if (done) python.Py_DecRef(done);
    python.PyErr_Clear();
    globals = made;
  }
  return python.PyDict_GetItemString(globals, name);
}

/* Registers the k-th type of JAX's list; false: it has no more. */
static bool look_up_type(int k) {
  object_t *state_type = find_helper("state_type");
  object_t *found = state_type ? python.PyObject_CallFunction(state_type, "i", k) : NULL;
  object_t *name = found ? python.PyTuple_GetItem(found, 0) : NULL; /* NULL of None, too */
  if (name) {
    int64_t *id = pointer_of(python.PyTuple_GetItem(found, 1));
    const ffi_type_info_t *info = pointer_of(python.PyTuple_GetItem(found, 2));
    hr_str_t text = hr_str_from(python.PyUnicode_AsUTF8(name));
    if (id) hr_status_release(custom_ffi_type(text, info ? info->destroy : NULL, id));
  }
  python.PyErr_Clear();
  if (found) python.Py_DecRef(found);
  return name;
}

/* The types that came since. With the lock of the interpreter. */
static void look_up_types(void) {
  static int count; /* number of types that were looked up */
  while (look_up_type(count)) count++;
}

/* With the lock of the interpreter. An untyped function is one of ops/query/custom_host.h. */
static void look_up(hr_str_t target) {
  char name[256];
  if (target.size >= sizeof name) return;
  memcpy(name, target.data, target.size);
  name[target.size] = '\0';
  look_up_types();
  object_t *find = find_helper("find");
  object_t *found = find ? python.PyObject_CallFunction(find, "s", name) : NULL;
  python.PyErr_Clear();
  if (!found) return;
  long typed = python.PyLong_AsLong(python.PyTuple_GetItem(found, 1));
  custom_ffi_bundle_t bundle = read_bundle(python.PyTuple_GetItem(found, 0));
  if (bundle.execute && typed)
    hr_status_release(custom_ffi_register(target, &bundle));
  else if (bundle.execute)
    hr_status_release(custom_host_register(name, (custom_host_fn)bundle.execute));
  python.Py_DecRef(found);
}

/* Signature of custom_ffi_resolver_fn. */
static void resolve(hr_str_t target) {
  if (!python.Py_IsInitialized()) return;
  int state = python.PyGILState_Ensure();
  look_up(target);
  python.PyGILState_Release(state);
}

/* --- Python callbacks --- */

/* What the framework adds to an execution that has callbacks. */
typedef struct callback_list {
  object_t **callbacks;
  size_t count;
} callback_list_t;

/* NumPy's name of an element type. */
static const char *numpy_name(int proto) {
  static const struct {
    hr_dtype_t dtype;
    const char *name;
  } names[] = {{HR_PRED, "bool"},
               {HR_S1, "int1"},
               {HR_U1, "uint1"},
               {HR_S2, "int2"},
               {HR_U2, "uint2"},
               {HR_S4, "int4"},
               {HR_U4, "uint4"},
               {HR_S8, "int8"},
               {HR_S16, "int16"},
               {HR_S32, "int32"},
               {HR_S64, "int64"},
               {HR_U8, "uint8"},
               {HR_U16, "uint16"},
               {HR_U32, "uint32"},
               {HR_U64, "uint64"},
               {HR_F16, "float16"},
               {HR_BF16, "bfloat16"},
               {HR_F32, "float32"},
               {HR_F64, "float64"},
               {HR_C64, "complex64"},
               {HR_C128, "complex128"},
               {HR_F8E5M2, "float8_e5m2"},
               {HR_F8E4M3FN, "float8_e4m3fn"},
               {HR_F8E4M3B11FNUZ, "float8_e4m3b11fnuz"},
               {HR_F8E5M2FNUZ, "float8_e5m2fnuz"},
               {HR_F8E4M3FNUZ, "float8_e4m3fnuz"},
               {HR_F8E4M3, "float8_e4m3"},
               {HR_F8E3M4, "float8_e3m4"},
               {HR_F8E8M0FNU, "float8_e8m0fnu"},
               {HR_F4E2M1FN, "float4_e2m1fn"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (hr_dtype_table[names[i].dtype].proto == proto) return names[i].name;
  return NULL;
}

/* (address, name, dims) of a buffer; None for a token. */
static object_t *describe_buffer(const ffi_buffer_t *buffer) {
  const char *name = numpy_name(buffer->dtype);
  if (!name) return python.Py_BuildValue("");
  object_t *dims = python.PyList_New(0);
  for (int64_t d = 0; d < buffer->rank; d++) {
    object_t *size = python.Py_BuildValue("L", (long long)buffer->dims[d]);
    python.PyList_Append(dims, size);
    python.Py_DecRef(size);
  }
  return python.Py_BuildValue("(KsN)", (unsigned long long)(uintptr_t)buffer->data, name, dims);
}

static object_t *describe_buffers(const ffi_buffers_t *buffers) {
  object_t *list = python.PyList_New(0);
  for (int64_t k = 0; k < buffers->count; k++) {
    object_t *item = describe_buffer(buffers->buffers[k]);
    python.PyList_Append(list, item);
    python.Py_DecRef(item);
  }
  return list;
}

static ffi_error_t *fail(const ffi_frame_t *frame, int code, const char *message) {
  ffi_error_create_args_t args = {.struct_size = sizeof args, .message = message, .code = code};
  return frame->api->error_create(&args);
}

enum { CODE_INTERNAL = 13 };

static ffi_error_t *call_python(const ffi_frame_t *frame, object_t *callback) {
  object_t *helper = find_helper("call");
  if (!helper) return fail(frame, CODE_INTERNAL, "NumPy and ml_dtypes are needed for callbacks");
  object_t *args = describe_buffers(&frame->args), *rets = describe_buffers(&frame->rets);
  object_t *answer = python.PyObject_CallFunction(helper, "OOO", callback, args, rets);
  const char *text = answer ? python.PyUnicode_AsUTF8(answer) : "a callback was interrupted";
  python.PyErr_Clear(); /* None is no text */
  ffi_error_t *error = text ? fail(frame, CODE_INTERNAL, text) : NULL;
  python.Py_DecRef(args);
  python.Py_DecRef(rets);
  if (answer) python.Py_DecRef(answer);
  return error;
}

static bool read_index(const ffi_attrs_t *attrs, uint64_t *out_index) {
  for (int64_t i = 0; i < attrs->count; i++) {
    const ffi_scalar_t *scalar = attrs->values[i];
    if (attrs->types[i] != FFI_ATTR_SCALAR || attrs->names[i]->size != 5 ||
        memcmp(attrs->names[i]->data, "index", 5) != 0)
      continue;
    *out_index = 0;
    memcpy(out_index, scalar->value, sizeof *out_index);
    return true;
  }
  return false;
}

/* The FFI handler of Python callbacks. */
static ffi_error_t *handle_callback(ffi_frame_t *frame) {
  const custom_ffi_context_t *context = custom_ffi_current();
  uint64_t index;
  const callback_list_t *list =
      context && context->find ? context->find(context->context, CUSTOM_FFI_ANY_TYPE) : NULL;
  if (!list || !read_index(&frame->attrs, &index) || index >= list->count)
    return fail(frame, CODE_INTERNAL, "the execution did not bring its Python callbacks");
  hr_fp_mode_t mode = hr_fp_mode();
  hr_fp_mode_set(mode & ~(hr_fp_mode_t)HR_FP_FLUSH); /* NumPy warns where denormal numbers are 0 */
  int state = python.PyGILState_Ensure();
  ffi_error_t *error = call_python(frame, list->callbacks[index]);
  python.PyGILState_Release(state);
  hr_fp_mode_set(mode);
  return error;
}

/* JAX calls `share` for each backend that it makes, where it has hooks; else the first callback
 * does. */
static void add_hook(void) {
  int state = python.PyGILState_Ensure();
  object_t *begin = find_helper("begin");
  object_t *done = begin ? python.PyObject_CallFunction(begin, "") : NULL;
  if (done) python.Py_DecRef(done);
  python.PyErr_Clear();
  python.PyGILState_Release(state);
}

static const char *const targets[] = {"xla_ffi_python_cpu_callback",
                                      "xla_ffi_partitioned_python_cpu_callback"};

bool pjrt_python_is_callback(hr_str_t target) {
  bool is_one = hr_str_is(target, "xla_python_cpu_callback"); /* JAX before 0.6 */
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    is_one |= hr_str_is(target, targets[i]);
  return is_one;
}

void pjrt_python_begin(void) {
  const custom_ffi_bundle_t bundle = {.execute = (void *)handle_callback, .takes_bytes = true};
  if (!find_symbols() || !python.Py_IsInitialized()) return;
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    hr_status_release(custom_ffi_register(hr_str_from(targets[i]), &bundle));
  custom_ffi_set_resolver(resolve);
  add_hook();
}

long pjrt_python_device_count(void) {
  if (!python.Py_IsInitialized || !python.Py_IsInitialized()) return 0;
  int state = python.PyGILState_Ensure();
  object_t *device_count = find_helper("device_count");
  object_t *found = device_count ? python.PyObject_CallFunction(device_count, "") : NULL;
  long count = found ? python.PyLong_AsLong(found) : 0;
  if (found) python.Py_DecRef(found);
  python.PyErr_Clear();
  python.PyGILState_Release(state);
  return count;
}
