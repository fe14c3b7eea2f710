/* A table of mapped files of fixed size, so that a signal handler can read it: an entry is valid
 * while its address is set, which is written last and cleared first. Adding and removing take a
 * lock; looking up does not. Beyond ENTRIES mappings nothing is noted. */
#include "base/mapped_files.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define ENTRIES 64
#define PATH_SIZE 256

static struct entry {
  atomic_uintptr_t start; /* 0: free */
  size_t size_bytes;
  char path[PATH_SIZE];
} entries[ENTRIES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry *find(uintptr_t start) {
  for (int i = 0; i < ENTRIES; i++)
    if (atomic_load(&entries[i].start) == start) return &entries[i];
  return NULL;
}

void hr_mapped_file_add(const void *data, size_t size_bytes, const char *path) {
  pthread_mutex_lock(&lock);
  struct entry *entry = find(0);
  if (entry) {
    entry->size_bytes = size_bytes;
    snprintf(entry->path, sizeof entry->path, "%s", path);
    atomic_store(&entry->start, (uintptr_t)data);
  }
  pthread_mutex_unlock(&lock);
}

void hr_mapped_file_remove(const void *data) {
  pthread_mutex_lock(&lock);
  struct entry *entry = find((uintptr_t)data);
  if (entry) atomic_store(&entry->start, 0);
  pthread_mutex_unlock(&lock);
}

const char *hr_mapped_file_at(const void *address) {
  for (int i = 0; i < ENTRIES; i++) {
    uintptr_t start = atomic_load(&entries[i].start);
    if (start && (uintptr_t)address - start < entries[i].size_bytes) return entries[i].path;
  }
  return NULL;
}
