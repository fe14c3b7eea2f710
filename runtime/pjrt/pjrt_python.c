/* Handlers of custom calls out of JAX. JAX registers them with its own CPU client; jaxlib tells
 * them by name, as capsules:
 *
 *   jaxlib.xla_client.custom_call_targets("Host")  ->  {name: capsule, or {stage: capsule}}
 *
 * A target that a program calls and that nobody knows is looked up there. The functions of Python
 * are found among the symbols of the process, so that the plugin needs no Python to be built or
 * loaded. Nothing of Python is kept. */
#include "pjrt/pjrt_python.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "ops/query/custom_ffi.h"
#include "ops/query/custom_host.h"

typedef void object_t; /* PyObject */

static struct {
  int (*is_initialized)(void);
  int (*ensure)(void);
  void (*release)(int state);
  object_t *(*import)(const char *name);
  object_t *(*call_method)(object_t *object, const char *name, const char *format, ...);
  object_t *(*dict_get)(object_t *dict, const char *key);
  const char *(*capsule_name)(object_t *capsule);
  void *(*capsule_pointer)(object_t *capsule, const char *name);
  void (*clear)(void);
  void (*decref)(object_t *object);
} python;

static bool find_symbols(void) {
  const struct {
    const char *name;
    void *to;
  } symbols[] = {{"Py_IsInitialized", &python.is_initialized},
                 {"PyGILState_Ensure", &python.ensure},
                 {"PyGILState_Release", &python.release},
                 {"PyImport_ImportModule", &python.import},
                 {"PyObject_CallMethod", &python.call_method},
                 {"PyDict_GetItemString", &python.dict_get},
                 {"PyCapsule_GetName", &python.capsule_name},
                 {"PyCapsule_GetPointer", &python.capsule_pointer},
                 {"PyErr_Clear", &python.clear},
                 {"Py_DecRef", &python.decref}};
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
  const char *name = python.capsule_name(capsule);
  void *pointer = python.capsule_pointer(capsule, name);
  python.clear();
  return pointer;
}

/* A dictionary has a capsule per stage; a capsule alone is the handler of the execution. */
static custom_ffi_bundle_t read_bundle(object_t *entry) {
  custom_ffi_bundle_t bundle = {.execute = pointer_of(entry)};
  if (bundle.execute) return bundle;
  bundle.instantiate = pointer_of(python.dict_get(entry, "instantiate"));
  bundle.prepare = pointer_of(python.dict_get(entry, "prepare"));
  bundle.initialize = pointer_of(python.dict_get(entry, "initialize"));
  bundle.execute = pointer_of(python.dict_get(entry, "execute"));
  python.clear();
  return bundle;
}

static void look_up(hr_str_t target) {
  char name[256];
  if (target.size >= sizeof name) return;
  memcpy(name, target.data, target.size);
  name[target.size] = '\0';
  object_t *module = python.import("jaxlib.xla_client");
  object_t *targets =
      module ? python.call_method(module, "custom_call_targets", "s", "Host") : NULL;
  object_t *entry = targets ? python.dict_get(targets, name) : NULL;
  if (entry) {
    custom_ffi_bundle_t bundle = read_bundle(entry);
    if (bundle.execute) hr_status_release(custom_ffi_register(target, &bundle));
  }
  python.clear();
  if (targets) python.decref(targets);
  if (module) python.decref(module);
}

/* Signature of custom_ffi_resolver_fn. */
static void resolve(hr_str_t target) {
  if (!python.is_initialized()) return;
  int state = python.ensure();
  look_up(target);
  python.release(state);
}

void pjrt_python_begin(void) {
  if (find_symbols() && python.is_initialized()) custom_ffi_set_resolver(resolve);
}
