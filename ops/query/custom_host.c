/* One list under one lock holds registered functions and opened libraries, the latest first, so
 * that a later registration hides an earlier one. Entries are never freed, as a plan may hold their
 * addresses. Names that the loader calls (_init, _fini) are never looked up. */
#include "ops/query/custom_host.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dl.h"
#include "base/mem.h"

#define LONGEST_NAME 256

typedef struct entry { /* a function or a library */
  struct entry *next;
  custom_host_fn fn;
  void *library;
  char name[];
} entry_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry_t *entries; /* latest first; live as long as the process */

static hr_status_t add_entry(const char *name, custom_host_fn fn, void *library) {
  size_t size = strlen(name) + 1;
  entry_t *entry = malloc(sizeof *entry + size); /* not base/mem.h, as it is never freed */
  if (!entry) return hr_error(HR_NO_MEMORY, "no memory for the custom call %s", name);
  *entry = (entry_t){.fn = fn, .library = library};
  memcpy(entry->name, name, size);
  pthread_mutex_lock(&lock);
  entry->next = entries;
  entries = entry;
  pthread_mutex_unlock(&lock);
  return NULL;
}

hr_status_t custom_host_register(const char *name, custom_host_fn fn) {
  return add_entry(name, fn, NULL);
}

static hr_status_t register_for_plugin(const char *name, custom_host_fn fn) {
  return custom_host_register(name, fn);
}

hr_status_t custom_host_open(const char *path) {
  char here[PATH_MAX]; /* a name without a folder is a file here, not a library of the system's
                          search path */
  snprintf(here, sizeof here, "%s%s", strchr(path, '/') ? "" : "./", path);
  const char *reason;
  void *library = hr_dl_open(here, RTLD_NOW | RTLD_LOCAL, &reason);
  if (!library) return hr_error(HR_UNAVAILABLE, "cannot load the plugin %s: %s", path, reason);
  typedef hr_status_t (*register_fn)(const char *name, custom_host_fn fn);
  void (*init)(register_fn) = (void (*)(register_fn))dlsym(library, "hlorun_plugin_init");
  HR_TRY(add_entry("", NULL, library));
  if (init) init(register_for_plugin);
  return NULL;
}

/* True for names that the loader or hlorun calls and no program may. */
static bool is_reserved(const char *name) {
  static const char *const names[] = {"_init", "_fini", "hlorun_plugin_init"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i])) return true;
  return false;
}

typedef struct search {
  char name[LONGEST_NAME];
  custom_host_fn found;
  bool has_libraries, is_foreign, is_data; /* reasons why nothing was found */
} search_t;

static bool search_library(search_t *search, void *library) {
  void *address = NULL;
  hr_dl_found_t found = hr_dl_find_function(library, search->name, &address);
  search->has_libraries = true;
  search->is_foreign |= found == HR_DL_FOREIGN;
  search->is_data |= found == HR_DL_DATA;
  search->found = (custom_host_fn)address;
  return found == HR_DL_FUNCTION;
}

static void search_entries(hr_str_t target, search_t *search) {
  *search = (search_t){.found = NULL};
  if (target.size >= sizeof search->name || !target.size || memchr(target.data, 0, target.size))
    return;
  memcpy(search->name, target.data, target.size);
  bool reserved = is_reserved(search->name);
  bool over = false;
  pthread_mutex_lock(&lock);
  for (entry_t *entry = entries; entry && !over; entry = entry->next) {
    if (entry->library) {
      over = !reserved && search_library(search, entry->library);
    } else if (!strcmp(entry->name, search->name)) {
      search->found = entry->fn;
      over = true;
    }
  }
  pthread_mutex_unlock(&lock);
}

custom_host_fn custom_host_find(hr_str_t target) {
  search_t search;
  search_entries(target, &search);
  return search.found;
}

const char *custom_host_refusal(hr_str_t target) {
  search_t search;
  search_entries(target, &search);
  if (search.is_data) return "; a plugin has data of this name, want a function";
  if (search.is_foreign)
    return "; a library that a plugin needs has it, but programs may only call functions that a "
           "plugin itself "
           "defines or registers";
  return search.has_libraries ? "; no plugin defines or registers a function of this name"
                              : "; --plugin LIBRARY.so gives functions of yours";
}
