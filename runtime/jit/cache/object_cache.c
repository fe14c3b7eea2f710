/* On-disk cache of compiled objects, content-addressed by the key of a module.
 *
 * An entry is one file: header, key, object. Files are written under a temporary name and renamed,
 * so that readers see all or nothing; the checksum detects files damaged by a crash of the machine.
 * Processes that miss the same entries elect one compiler by flock on a file named by the digest of
 * the missing keys; the others wait, at most wait_ms, and read the result. Trimming by last use
 * keeps the folder within its limit. Every failure is a miss: the caller compiles. */
#include "jit/cache/object_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "jit/cache/cache_folder.h"

#define LIMIT_BYTES ((uint64_t)512 << 20)
/* Part of the limit that is stored on average from one trimming to the next, as a divisor. */
#define TRIM_PART 64
/* Longer than any compilation. A stopped process may hold a lock for ever. */
#define WAIT_MS 5000
#define OBJECT_BYTES_MAX ((uint64_t)1 << 30)
/* Uses within this time count as one, which saves updates of the file's time. */
#define TOUCH_SECONDS 600

/* Header of a file; the key and the object follow. */
typedef struct entry_header {
  char magic[8];
  uint64_t key_bytes, size_bytes;
  hr_digest_t checksum; /* digest of the object's bytes */
} entry_header_t;

static const char magic[8] = "HLORUN2";

struct jit_cache {
  int folder;
  char *path;
  uint64_t limit_bytes;
  uint32_t wait_ms;
  int lock;       /* descriptor of the lock's file while missing objects are compiled; -1: none */
  bool owns_lock; /* the lock on that file is held, or the file system has no locks */
  char lock_name[CACHE_NAME_BYTES];
  bool is_to_trim;
  jit_cache_counts_t counts;
};

static void name_entry(jit_key_t key, const char *ending, char name[CACHE_NAME_BYTES]) {
  char digest[HR_DIGEST_TEXT];
  jit_key_name(key, digest);
  snprintf(name, CACHE_NAME_BYTES, "%s%s", digest, ending);
}

hr_status_t jit_cache_open(const jit_cache_options_t *options, jit_cache_t **out_cache) {
  jit_cache_t *cache;
  char *path = NULL;
  *out_cache = NULL;
  int folder = cache_folder_open(options->folder, &path);
  if (folder < 0) return NULL;
  hr_status_t st = hr_alloc_zeroed(sizeof *cache, (void **)&cache);
  if (st) {
    close(folder);
    free(path);
    return st;
  }
  *cache = (jit_cache_t){.folder = folder, .path = path, .lock = -1};
  cache->limit_bytes = options->limit_bytes ? options->limit_bytes : LIMIT_BYTES;
  cache->wait_ms = options->wait_ms ? options->wait_ms : WAIT_MS;
  *out_cache = cache;
  return NULL;
}

void jit_cache_close(jit_cache_t *cache) {
  if (!cache) return;
  jit_cache_release(cache);
  close(cache->folder);
  free(cache->path);
  hr_free(cache);
}

bool jit_cache_is_empty(const jit_cache_t *cache) {
  return !cache || cache_folder_is_empty(cache->folder);
}

jit_cache_counts_t jit_cache_counts(const jit_cache_t *cache) {
  return cache ? cache->counts : (jit_cache_counts_t){0};
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_whole(int file, void *bytes, size_t size) {
  for (char *at = bytes; size;) {
    ssize_t done = read(file, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    size -= (size_t)done;
  }
  return true;
}

static bool is_plausible(const entry_header_t *header, uint64_t file_bytes) {
  uint64_t rest = file_bytes - sizeof *header;
  return memcmp(header->magic, magic, sizeof magic) == 0 &&
         header->size_bytes <= OBJECT_BYTES_MAX && header->key_bytes <= rest &&
         rest - header->key_bytes == header->size_bytes;
}

typedef enum entry_state { ENTRY_GOOD, ENTRY_DAMAGED, ENTRY_OF_ANOTHER_KEY } entry_state_t;

/* Does the file continue with this key? */
static bool has_key(int file, const entry_header_t *header, jit_key_t key) {
  char part[1024];
  if (header->key_bytes != key.size) return false;
  for (size_t at = 0, size; at < key.size; at += size) {
    size = key.size - at < sizeof part ? key.size - at : sizeof part;
    if (!read_whole(file, part, size) || memcmp(part, key.data + at, size) != 0) return false;
  }
  return true;
}

/* *out_object stays NULL unless the entry is valid. */
static hr_status_t read_entry(int file, jit_key_t key, uint64_t file_bytes,
                              entry_state_t *out_state, hr_buffer_t **out_object) {
  entry_header_t header;
  hr_buffer_t *object;
  *out_state = ENTRY_DAMAGED;
  if (!read_whole(file, &header, sizeof header) || !is_plausible(&header, file_bytes)) return NULL;
  *out_state = ENTRY_OF_ANOTHER_KEY;
  if (!has_key(file, &header, key)) return NULL;
  *out_state = ENTRY_DAMAGED;
  HR_TRY(hr_buffer_create(header.size_bytes, &object));
  if (read_whole(file, hr_buffer_data(object), header.size_bytes) &&
      hr_digest_equal(hr_digest_of(hr_buffer_data(object), header.size_bytes), header.checksum)) {
    *out_state = ENTRY_GOOD;
    *out_object = object;
  } else {
    hr_buffer_release(object);
  }
  return NULL;
}

static void note_use(int file, const struct stat *info) {
  if (time(NULL) - info->st_mtime > TOUCH_SECONDS) futimens(file, NULL);
}

static hr_status_t look_into(jit_cache_t *cache, int file, const char *name, jit_key_t key,
                             hr_buffer_t **out_object) {
  struct stat info;
  entry_state_t state;
  if (fstat(file, &info) || !S_ISREG(info.st_mode) || !cache_is_private(&info)) {
    hr_log(HR_LOG_JIT, HR_LOG_WARN,
           "%s/%s is not used: it belongs to another user, or others may write to it", cache->path,
           name);
    return NULL;
  }
  HR_TRY(read_entry(file, key, (uint64_t)info.st_size, &state, out_object));
  if (state == ENTRY_GOOD) {
    cache->counts.found++;
    note_use(file, &info);
  }
  if (state != ENTRY_DAMAGED)
    return NULL; /* the entry of another key is replaced when this key's is stored */
  cache->counts.damaged++;
  hr_log(HR_LOG_JIT, HR_LOG_INFO, "%s/%s is damaged and will be made again", cache->path, name);
  unlinkat(cache->folder, name, 0);
  return NULL;
}

static hr_status_t look_up(jit_cache_t *cache, jit_key_t key, hr_buffer_t **out_object) {
  char name[CACHE_NAME_BYTES];
  name_entry(key, ".o", name);
  int file = openat(cache->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  hr_status_t st = file < 0 ? NULL : look_into(cache, file, name, key, out_object);
  if (file >= 0) close(file);
  hr_log(HR_LOG_JIT, HR_LOG_DEBUG, "%s/%s: %s", cache->path, name,
         *out_object ? "taken from the cache" : "not in the cache, compiled");
  return st;
}

/* --- waiting for other processes -------------------------------------------------------------- */

/* Names the lock by all missing keys. A process holds no other lock, so there is no deadlock. */
static void name_lock(const jit_key_t *keys, int count, hr_buffer_t *const *objects,
                      char name[CACHE_NAME_BYTES]) {
  hr_digest_state_t state;
  char digest[HR_DIGEST_TEXT];
  hr_digest_start(&state);
  for (int i = 0; i < count; i++) {
    if (objects[i]) continue;
    hr_digest_t one = hr_digest_of(keys[i].data, keys[i].size);
    hr_digest_add(&state, &one, sizeof one);
  }
  hr_digest_text(hr_digest_end(&state), digest);
  snprintf(name, CACHE_NAME_BYTES, "%s.lock", digest);
}

static void sleep_ms(uint32_t ms) {
  nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* Waits for the lock, at most wait_ms; the caller compiles with and without the lock. The system
 * releases a lock when its process ends in any way. Without support for locks, nobody waits. */
static void take_lock(jit_cache_t *cache) {
  cache->lock =
      openat(cache->folder, cache->lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (cache->lock < 0) return;
  bool waited = false;
  for (uint32_t left = cache->wait_ms, pause = 1;; waited = true) {
    cache->owns_lock = flock(cache->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    if (cache->owns_lock) break;
    if (!left) {
      hr_log(HR_LOG_JIT, HR_LOG_WARN,
             "another process has held %s for %u s: its code is compiled here, too",
             cache->lock_name, cache->wait_ms / 1000);
      break;
    }
    pause = pause > left ? left : pause;
    sleep_ms(pause);
    left -= pause;
    if (pause < 16) pause *= 2;
  }
  cache->counts.waited += waited;
}

static hr_status_t look_up_missing(jit_cache_t *cache, const jit_key_t *keys, int count,
                                   hr_buffer_t **objects, int *out_missing) {
  int missing = 0;
  for (int i = 0; i < count; i++) {
    if (!objects[i]) HR_TRY(look_up(cache, keys[i], &objects[i]));
    missing += !objects[i];
  }
  *out_missing = missing;
  return NULL;
}

static hr_status_t find_all(jit_cache_t *cache, const jit_key_t *keys, int count,
                            hr_buffer_t **objects) {
  int missing = 0;
  HR_TRY(look_up_missing(cache, keys, count, objects, &missing));
  if (!missing) return NULL;
  name_lock(keys, count, objects, cache->lock_name);
  take_lock(cache);
  HR_TRY(look_up_missing(cache, keys, count, objects, &missing));
  cache->counts.missing += (uint64_t)missing;
  if (!missing) jit_cache_release(cache);
  return NULL;
}

hr_status_t jit_cache_find(jit_cache_t *cache, const jit_key_t *keys, int count,
                           hr_buffer_t **out_objects) {
  if (count > 0) memset(out_objects, 0, (size_t)count * sizeof *out_objects);
  if (!cache) return NULL;
  jit_cache_release(cache);
  hr_status_t st = find_all(cache, keys, count, out_objects);
  if (!st) return NULL;
  for (int i = 0; i < count; i++) hr_buffer_release(out_objects[i]);
  if (count > 0) memset(out_objects, 0, (size_t)count * sizeof *out_objects);
  jit_cache_release(cache);
  return st;
}

/* True if the lock's name is still that of this process's file. */
static bool owns_named_lock(const jit_cache_t *cache) {
  struct stat held, named;
  return cache->owns_lock && fstat(cache->lock, &held) == 0 &&
         fstatat(cache->folder, cache->lock_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* Only the holder of the lock removes its name. A process that has waited then holds the lock on a
 * file without a name, and a process that comes later makes a new file: both may compile the same
 * object if the first holder has stored none. */
static void release_lock(jit_cache_t *cache) {
  if (cache->lock < 0) return;
  if (owns_named_lock(cache)) unlinkat(cache->folder, cache->lock_name, 0);
  close(cache->lock);
  cache->lock = -1;
  cache->owns_lock = false;
}

void jit_cache_release(jit_cache_t *cache) {
  if (!cache) return;
  release_lock(cache);
  if (cache->is_to_trim)
    cache->counts.removed += cache_folder_trim(cache->folder, cache->limit_bytes);
  cache->is_to_trim = false;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool write_whole(int file, const void *bytes, size_t size) {
  for (const char *at = bytes; size;) {
    ssize_t done = write(file, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    size -= (size_t)done;
  }
  return true;
}

/* If a crash leaves a renamed file incomplete, the checksum detects it. */
static bool write_entry(int file, jit_key_t key, const void *bytes, size_t size) {
  entry_header_t header = {
      .key_bytes = key.size, .size_bytes = size, .checksum = hr_digest_of(bytes, size)};
  memcpy(header.magic, magic, sizeof magic);
  bool done = write_whole(file, &header, sizeof header) && write_whole(file, key.data, key.size) &&
              write_whole(file, bytes, size);
  return !close(file) && done;
}

/* Decides whether a store is followed by a trimming, which reads the state of every file: with
 * 100,000 files that takes longer than compiling. The name is a digest, and serves as the random
 * number; no state is shared by the processes. */
static bool draws_trimming(const jit_cache_t *cache, const char *name, size_t size_bytes) {
  unsigned drawn = 0;
  sscanf(name, "%8x", &drawn);
  return drawn / 4294967296.0 < (double)TRIM_PART * (double)size_bytes / (double)cache->limit_bytes;
}

void jit_cache_store(jit_cache_t *cache, jit_key_t key, const void *bytes, size_t size_bytes) {
  char name[CACHE_NAME_BYTES], temporary[CACHE_NAME_BYTES], ending[16];
  if (!cache || size_bytes > OBJECT_BYTES_MAX || size_bytes > cache->limit_bytes) return;
  snprintf(ending, sizeof ending, ".%x", (unsigned)getpid());
  name_entry(key, ".o", name);
  name_entry(key, ending, temporary);
  unlinkat(cache->folder, temporary, 0);
  int file =
      openat(cache->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file >= 0 && write_entry(file, key, bytes, size_bytes) &&
      renameat(cache->folder, temporary, cache->folder, name) == 0) {
    cache->counts.stored++;
    cache->is_to_trim |= draws_trimming(cache, name, key.size + size_bytes);
    return;
  }
  hr_log(HR_LOG_JIT, HR_LOG_INFO, "compiled code is not kept: %s/%s: %s", cache->path, name,
         strerror(errno));
  if (file >= 0) unlinkat(cache->folder, temporary, 0);
}
