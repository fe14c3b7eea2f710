/* Compiled objects on disk, so that the second start of a program generates no code.
 *
 * Folder:   `--cache DIR`, else HLORUN_CACHE, else $XDG_CACHE_HOME/hlorun, else ~/.cache/hlorun;
 * "none": no cache. It must belong to this user and be writable by nobody else; else there is no
 * cache, and a warning in the log. The same goes for each file. Entries:  one file each, named by a
 * digest of its key, with the key itself and a checksum; written under a temporary name and
 * renamed, so that half a file is never read; a damaged one is removed and compiled again. Bound:
 * the files together hold at most `limit_bytes`; those whose last use is longest ago go first.
 * Ranks:    of several processes that want the same missing entry one compiles while the others
 * wait for it. A cache never fails a program: what goes wrong (disk full, no permission) is logged,
 * and the code is compiled. */
#ifndef JIT_OBJECT_CACHE_H
#define JIT_OBJECT_CACHE_H

#include "base/buffer.h"
#include "base/digest.h"
#include "base/text.h"

/* Everything that decides the code of an entry, as bytes. Keys are compared whole: a digest of them
 * only names files. */
typedef hr_str_t jit_key_t;

/* A key under construction: jit_key_start, then jit_key_add for each piece (where one ends and the
 * next begins counts), then jit_key_end, always. The host as jit_target_t has it and this build of
 * hlorun are in it from the start. */
typedef struct jit_key_state {
  hr_strbuf_t bytes;
} jit_key_state_t;
void jit_key_start(jit_key_state_t *state, const char *host);
void jit_key_add(jit_key_state_t *state, const void *bytes, size_t size_bytes);
/* The key, in `arena`. Errors: NO_MEMORY. */
hr_status_t jit_key_end(jit_key_state_t *state, hr_arena_t *arena, jit_key_t *out_key);
/* What its files are called. */
void jit_key_name(jit_key_t key, char name[HR_DIGEST_TEXT]);

typedef struct jit_cache jit_cache_t;

typedef struct jit_cache_options {
  const char *folder;   /* as given to --cache; NULL: as above */
  uint64_t limit_bytes; /* 0: 512 MiB */
  uint32_t wait_ms;     /* time to wait for another process that compiles the same entry; 0: 5 s */
} jit_cache_options_t;

/* *out_cache is NULL if there is no cache to use: all functions accept that. Errors: NO_MEMORY. */
hr_status_t jit_cache_open(const jit_cache_options_t *options, jit_cache_t **out_cache);
void jit_cache_close(jit_cache_t *cache);
bool jit_cache_is_empty(const jit_cache_t *cache); /* also if there is none */

/* The objects of `count` keys: all that one program wants. out_objects[i] is NULL for what has to
 * be compiled; the caller releases the others. If any is, the caller compiles them, stores them,
 * and calls jit_cache_release: other processes that want the same wait for that. Errors: NO_MEMORY.
 * Thread: one at a time for each cache, for all functions. */
hr_status_t jit_cache_find(jit_cache_t *cache, const jit_key_t *keys, int count,
                           hr_buffer_t **out_objects);
void jit_cache_store(jit_cache_t *cache, jit_key_t key, const void *bytes, size_t size_bytes);
/* Lets the others go on, whatever was stored, and keeps the folder within its bound. */
void jit_cache_release(jit_cache_t *cache);

typedef struct jit_cache_counts {
  uint64_t found, missing, stored, waited, removed, damaged;
} jit_cache_counts_t;
jit_cache_counts_t jit_cache_counts(const jit_cache_t *cache);

#endif
