/* Compiled objects on disk, so that the second start of a program generates no code.
 *
 * Folder:   `--cache DIR`, else HLORUN_CACHE, else $XDG_CACHE_HOME/hlorun, else ~/.cache/hlorun;
 * "none": no cache. It must belong to this user and be writable by nobody else; otherwise there is
 * no cache, and a warning in the log. The same applies to each file.
 * Entries: one file each, named by a digest of its key, with the key itself and a checksum; written
 * under a temporary name and renamed, so that half a file is never read; a damaged one is removed
 * and compiled again.
 * Bound: the files together hold at most `limit_bytes`; the least recently used ones are removed
 * first.
 * Ranks: if several processes miss the same entries, one compiles and the others wait for it.
 * A cache never fails a program: failures (disk full, no permission) are logged, and the code is
 * compiled. */
#ifndef JIT_OBJECT_CACHE_H
#define JIT_OBJECT_CACHE_H

#include "base/buffer.h"
#include "base/digest.h"
#include "base/text.h"

/* Everything that decides the code of an entry, as bytes. Keys are compared whole; their digests
 * only name files. */
typedef hr_str_t jit_key_t;

/* A key under construction: jit_key_start, then jit_key_add for each piece (boundaries between
 * pieces count), and always jit_key_end. The key starts with the host, as in jit_target_t, and this
 * build of hlorun. */
typedef struct jit_key_state {
  hr_strbuf_t bytes;
} jit_key_state_t;
void jit_key_start(jit_key_state_t *state, const char *host);
void jit_key_add(jit_key_state_t *state, const void *bytes, size_t size_bytes);
/* Returns the key, in `arena`. Errors: NO_MEMORY. */
hr_status_t jit_key_end(jit_key_state_t *state, hr_arena_t *arena, jit_key_t *out_key);
/* Name of the key's file, without the ending. */
void jit_key_name(jit_key_t key, char name[HR_DIGEST_TEXT]);

typedef struct jit_cache jit_cache_t;

typedef struct jit_cache_options {
  const char *folder;   /* as given to --cache; NULL: the default above */
  uint64_t limit_bytes; /* 0: 512 MiB */
  uint32_t wait_ms; /* time to wait for another process that compiles the same entries; 0: 5 s */
} jit_cache_options_t;

/* *out_cache is NULL if there is no usable cache, which all functions accept. Errors: NO_MEMORY. */
hr_status_t jit_cache_open(const jit_cache_options_t *options, jit_cache_t **out_cache);
void jit_cache_close(jit_cache_t *cache);
bool jit_cache_is_empty(const jit_cache_t *cache); /* true also without a cache */

/* Looks up `count` keys, all those of a program. out_objects[i]: NULL if the object must be
 * compiled; the caller releases the others. If any object is missing, the caller compiles and
 * stores it and calls jit_cache_release: other processes that miss the same objects wait for
 * that.
 * Errors:  NO_MEMORY.
 * Thread:  one at a time per cache, for all functions. */
hr_status_t jit_cache_find(jit_cache_t *cache, const jit_key_t *keys, int count,
                           hr_buffer_t **out_objects);
void jit_cache_store(jit_cache_t *cache, jit_key_t key, const void *bytes, size_t size_bytes);
/* Lets waiting processes continue, whatever was stored, and trims the folder to its limit. */
void jit_cache_release(jit_cache_t *cache);

typedef struct jit_cache_counts {
  uint64_t found, missing, stored, waited, removed, damaged;
} jit_cache_counts_t;
jit_cache_counts_t jit_cache_counts(const jit_cache_t *cache);

#endif
