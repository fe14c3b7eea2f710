/* Registered handlers in one list under one lock, the latest first; entries are never freed, as
 * plans hold their addresses. Types are in another list of such entries. */
#include "ops/query/custom_ffi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
  struct entry *next;
  custom_ffi_bundle_t bundle;
  /* set for entries of types */
  int64_t number;
  custom_ffi_delete_fn destroy;
  size_t size;
  char name[];
} entry_t;

/* First number of types that get their number here; other libraries number types from 1. */
#define FIRST_TYPE ((int64_t)1 << 40)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry_t *handlers, *types;
static int64_t next_type = FIRST_TYPE;
static custom_ffi_resolver_fn resolve;
static _Thread_local const custom_ffi_context_t *current;

static entry_t *find_in(entry_t *list, hr_str_t name) {
  while (list && (list->size != name.size || memcmp(list->name, name.data, name.size) != 0))
    list = list->next;
  return list;
}

/* Called with the lock held. Not base/mem.h, as the entry is never freed. */
static hr_status_t add_to(entry_t **list, hr_str_t name, const custom_ffi_bundle_t *bundle) {
  entry_t *entry = malloc(sizeof *entry + name.size);
  if (!entry) return hr_error(HR_NO_MEMORY, "no memory for %.*s", HR_STR_ARGS(name));
  *entry = (entry_t){.next = *list, .size = name.size};
  if (bundle) entry->bundle = *bundle;
  memcpy(entry->name, name.data, name.size);
  *list = entry;
  return NULL;
}

hr_status_t custom_ffi_register(hr_str_t target, const custom_ffi_bundle_t *bundle) {
  if (!target.size) return hr_error(HR_USAGE, "a custom call's target is \"\", want a name");
  if (!bundle->execute)
    return hr_error(HR_USAGE, "custom call %.*s has no handler for its execution",
                    HR_STR_ARGS(target));
  pthread_mutex_lock(&lock);
  hr_status_t st = add_to(&handlers, target, bundle);
  pthread_mutex_unlock(&lock);
  return st;
}

void custom_ffi_set_resolver(custom_ffi_resolver_fn resolver) {
  pthread_mutex_lock(&lock);
  resolve = resolver;
  pthread_mutex_unlock(&lock);
}

const custom_ffi_bundle_t *custom_ffi_find(hr_str_t target) {
  pthread_mutex_lock(&lock);
  const entry_t *entry = find_in(handlers, target);
  custom_ffi_resolver_fn ask = resolve;
  pthread_mutex_unlock(&lock);
  if (entry || !ask) return entry ? &entry->bundle : NULL;
  ask(target);
  pthread_mutex_lock(&lock);
  entry = find_in(handlers, target);
  pthread_mutex_unlock(&lock);
  return entry ? &entry->bundle : NULL;
}

const custom_ffi_context_t *custom_ffi_enter(const custom_ffi_context_t *context) {
  const custom_ffi_context_t *before = current;
  current = context;
  return before;
}

const custom_ffi_context_t *custom_ffi_current(void) { return current; }

static entry_t *find_type(int64_t number) {
  entry_t *type = types;
  while (type && type->number != number) type = type->next;
  return type;
}

/* Called with the lock held. */
static hr_status_t add_type(hr_str_t name, int64_t number, entry_t **out_type) {
  HR_TRY(add_to(&types, name, NULL));
  types->number = number ? number : next_type++;
  *out_type = types;
  return NULL;
}

hr_status_t custom_ffi_type(hr_str_t name, custom_ffi_delete_fn destroy, int64_t *id) {
  hr_status_t st = NULL;
  pthread_mutex_lock(&lock);
  entry_t *type = *id ? find_type(*id) : find_in(types, name);
  if (!type) st = add_type(name, *id, &type);
  if (!st && destroy) type->destroy = destroy;
  if (!st) *id = type->number;
  pthread_mutex_unlock(&lock);
  return st;
}

custom_ffi_delete_fn custom_ffi_destroyer(int64_t id) {
  pthread_mutex_lock(&lock);
  const entry_t *type = find_type(id);
  custom_ffi_delete_fn destroy = type ? type->destroy : NULL;
  pthread_mutex_unlock(&lock);
  return destroy;
}
