/* Guarded blocks: each has pages of its own between two PROT_NONE pages. An access beyond a block
 * faults; the signal handler finds the block by its address and names the instruction that runs.
 * The part of a page that alignment leaves over holds a pattern, compared by hr_fence_check. Freed
 * blocks are kept for reuse in lists by number of pages, because mmap is slow. */
#include "base/fence.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/mem.h"

#define PAGE ((size_t)4096)
#define FAULT_EXIT_CODE 5           /* exit code of INTERNAL */
#define PATTERN_BYTES ((size_t)256) /* on each side, at most */
#define CLASSES 17                  /* freed blocks of fewer pages than this are used again */
#define FILLED_BYTES ((size_t)4096) /* undefined contents that are filled with the pattern */

struct hr_fence {
  struct hr_fence *next, *prev; /* among live blocks; next: among free ones of as many pages */
  unsigned char *pages;         /* the first one that may be touched */
  size_t page_count;
  unsigned char *data;
  size_t size_bytes;
  unsigned char pattern;
  bool is_sealed;
};

typedef struct fence_location {
  const char *op, *instruction, *computation;
  hr_pos_t pos;
} fence_location_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic hr_fence_mode_t current_mode;
static hr_fence_t *live, *unused[CLASSES];
static char damage[256]; /* first damage found and not yet reported */
static unsigned char current_pattern = 0xa5;
static fence_location_t location; /* description of the step that runs; steps of several engines in
                                     one process share it */

/* --- reports of out-of-bounds accesses --- */

/* The live block that an address is in or beside. */
static const hr_fence_t *find_block(uintptr_t address) {
  for (const hr_fence_t *fence = live; fence; fence = fence->next) {
    uintptr_t first = (uintptr_t)fence->pages - PAGE,
              end = (uintptr_t)fence->pages + (fence->page_count + 1) * PAGE;
    if (address >= first && address < end) return fence;
  }
  return NULL;
}

static int print_source_loc(char *text, size_t size) {
  if (!location.instruction) return snprintf(text, size, "no instruction");
  int length = snprintf(text, size, "%s of %%%s of computation %s", location.op,
                        location.instruction, location.computation ? location.computation : "?");
  if (location.pos.source && location.pos.line && length < (int)size)
    length += snprintf(text + length, size - (size_t)length, " (%s:%u)", location.pos.source->path,
                       location.pos.line);
  return length;
}

/* Called in the signal handler: snprintf of integers only. */
static int print_distance(char *text, size_t size, const hr_fence_t *fence, uintptr_t address) {
  uintptr_t data = (uintptr_t)fence->data, end = data + fence->size_bytes;
  if (address >= data && address < end)
    return snprintf(text, size, "an array of %zu bytes that is only to be read", fence->size_bytes);
  if (address < data)
    return snprintf(text, size, "%zu bytes before an array of %zu", data - address,
                    fence->size_bytes);
  return snprintf(text, size, "%zu bytes after an array of %zu", address - end, fence->size_bytes);
}

/* Bit 1 of x86's page fault error code. */
static bool is_write(const void *context) {
#if defined __x86_64__
  return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
  (void)context;
  return false;
#endif
}

/* The default action, which ends the process when the handler returns. */
static void end_by(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

/* Signals of other processes are no faults. */
static void report_fault(int number, siginfo_t *info, void *context) {
  char what[256], where[1024], line[2048];
  if (info->si_code <= 0) {
    end_by(number);
    return;
  }
  const hr_fence_t *fence = find_block((uintptr_t)info->si_addr);
  print_source_loc(where, sizeof where);
  if (fence)
    print_distance(what, sizeof what, fence, (uintptr_t)info->si_addr);
  else
    snprintf(what, sizeof what, "address %p, where there is no array", info->si_addr);
  int size = snprintf(line, sizeof line, "error: memory: %s %s %s\n", where,
                      is_write(context) ? "writes" : "reads", what);
  if (size > 0)
    size = (int)write(STDERR_FILENO, line,
                      (size_t)size < sizeof line ? (size_t)size : sizeof line - 1);
  if (fence) _exit(FAULT_EXIT_CODE);
  end_by(number);
}

/* Uses an alternate stack, as a fault may be a stack overflow. */
static void install(void) {
  static char stack[65536];
  struct sigaction action = {.sa_sigaction = report_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
}

/* --- modes --- */

/* Runs once per process. */
static void read_mode(void) {
  const char *text = getenv("HLORUN_CHECK");
  hr_fence_mode_t mode = HR_FENCE_NONE;
  if (text && strcmp(text, "memory") == 0) mode = HR_FENCE_END;
  if (text && strcmp(text, "memory:start") == 0) mode = HR_FENCE_START;
  if (mode != HR_FENCE_NONE) install();
  atomic_store_explicit(&current_mode, mode, memory_order_relaxed);
}

hr_fence_mode_t hr_fence_mode(void) {
  pthread_once(&once, read_mode);
  return atomic_load_explicit(&current_mode, memory_order_relaxed);
}

void hr_fence_set_mode(hr_fence_mode_t mode) {
  if (hr_fence_mode() == HR_FENCE_NONE && mode != HR_FENCE_NONE) install();
  atomic_store_explicit(&current_mode, mode, memory_order_relaxed);
}

/* --- blocks --- */

/* One PROT_NONE page before and one after. */
static hr_status_t map_pages(size_t count, unsigned char **out_pages) {
  size_t bytes = (count + 2) * PAGE;
  unsigned char *all =
      mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED)
    return hr_error(HR_NO_MEMORY, "cannot map %zu bytes: %s", bytes, strerror(errno));
  if (mprotect(all + PAGE, count * PAGE, PROT_READ | PROT_WRITE)) {
    munmap(all, bytes);
    return hr_error(HR_NO_MEMORY, "cannot map %zu bytes: %s", bytes, strerror(errno));
  }
  *out_pages = all + PAGE;
  return NULL;
}

/* Not allocated by base/mem.h, which counts live blocks: unused blocks are kept for ever. */
static hr_status_t new_block(size_t count, hr_fence_t **out_fence) {
  hr_fence_t *fence = calloc(1, sizeof *fence);
  if (!fence) return hr_error(HR_NO_MEMORY, "cannot allocate %zu bytes", sizeof *fence);
  hr_status_t st = map_pages(count, &fence->pages);
  if (st) {
    free(fence);
    return st;
  }
  fence->page_count = count;
  *out_fence = fence;
  return NULL;
}

/* A freed block of the same number of pages, or NULL. */
static hr_fence_t *take_unused(size_t count) {
  if (count >= CLASSES) return NULL;
  hr_fence_t *fence = unused[count];
  if (fence) unused[count] = fence->next;
  return fence;
}

static size_t bytes_before(const hr_fence_t *fence) {
  size_t bytes = (size_t)(fence->data - fence->pages);
  return bytes < PATTERN_BYTES ? bytes : PATTERN_BYTES;
}

static size_t bytes_behind(const hr_fence_t *fence) {
  size_t bytes =
      (size_t)(fence->pages + fence->page_count * PAGE - fence->data) - fence->size_bytes;
  return bytes < PATTERN_BYTES ? bytes : PATTERN_BYTES;
}

static void write_pattern(hr_fence_t *fence) {
  memset(fence->data - bytes_before(fence), fence->pattern, bytes_before(fence));
  memset(fence->data + fence->size_bytes, fence->pattern, bytes_behind(fence));
}

/* The array ends (or starts) at a guard page; the rest of the pages gets the pattern. The first
 * bytes of the contents get it, too, so that reading undefined contents shows. */
static void lay_out(hr_fence_t *fence, size_t size_bytes, hr_fence_mode_t mode) {
  size_t rounded = (size_bytes + HR_ALIGNMENT - 1) / HR_ALIGNMENT * HR_ALIGNMENT;
  bool at_start = mode == HR_FENCE_START;
  fence->data = at_start ? fence->pages : fence->pages + fence->page_count * PAGE - rounded;
  fence->size_bytes = size_bytes;
  fence->pattern = current_pattern;
  write_pattern(fence);
  memset(fence->data, fence->pattern, size_bytes < FILLED_BYTES ? size_bytes : FILLED_BYTES);
}

/* A doubly linked list of live blocks, under the lock. */
static void link_block(hr_fence_t *fence) {
  fence->prev = NULL;
  fence->next = live;
  if (live) live->prev = fence;
  live = fence;
}

static void unlink_block(hr_fence_t *fence) {
  if (fence->prev)
    fence->prev->next = fence->next;
  else
    live = fence->next;
  if (fence->next) fence->next->prev = fence->prev;
}

/* Rounds up to pages; a block of no bytes has a page as well. */
hr_status_t hr_fence_create(size_t size_bytes, hr_fence_t **out_fence) {
  if (size_bytes > SIZE_MAX / 2)
    return hr_error(HR_NO_MEMORY, "cannot allocate %zu bytes", size_bytes);
  size_t count = (size_bytes + PAGE - 1) / PAGE;
  if (!count) count = 1;
  pthread_mutex_lock(&lock);
  hr_fence_t *fence = take_unused(count);
  hr_status_t st = fence ? NULL : new_block(count, &fence);
  if (!st) {
    lay_out(fence, size_bytes, hr_fence_mode());
    link_block(fence);
    *out_fence = fence;
  }
  pthread_mutex_unlock(&lock);
  return st;
}

static void set_sealed(hr_fence_t *fence, bool is_sealed) {
  if (fence->is_sealed == is_sealed) return;
  mprotect(fence->pages, fence->page_count * PAGE, is_sealed ? PROT_READ : PROT_READ | PROT_WRITE);
  fence->is_sealed = is_sealed;
}

void hr_fence_seal(hr_fence_t *fence, bool is_sealed) {
  pthread_mutex_lock(&lock);
  set_sealed(fence, is_sealed);
  pthread_mutex_unlock(&lock);
}

/* memcmp with itself shifted by one compares at full speed. */
static const unsigned char *first_change(const unsigned char *at, size_t size,
                                         unsigned char pattern) {
  if (!size || (*at == pattern && !memcmp(at, at + 1, size - 1))) return NULL;
  while (*at == pattern) at++;
  return at;
}

/* The first byte of the pattern that was written; NULL: none. */
static const unsigned char *find_change(const hr_fence_t *fence) {
  size_t before = bytes_before(fence);
  const unsigned char *change = first_change(fence->data - before, before, fence->pattern);
  return change
             ? change
             : first_change(fence->data + fence->size_bytes, bytes_behind(fence), fence->pattern);
}

/* Records damage beside a block that is freed, for the report after the step. */
static bool note_damage(const hr_fence_t *fence) {
  const unsigned char *change = find_change(fence);
  if (change && !*damage) print_distance(damage, sizeof damage, fence, (uintptr_t)change);
  return change != NULL;
}

/* Damage is noted before the block goes. */
void hr_fence_destroy(hr_fence_t *fence) {
  if (!fence) return;
  pthread_mutex_lock(&lock);
  note_damage(fence);
  unlink_block(fence);
  set_sealed(fence, false);
  bool is_kept = fence->page_count < CLASSES;
  if (is_kept) {
    fence->next = unused[fence->page_count];
    unused[fence->page_count] = fence;
  }
  pthread_mutex_unlock(&lock);
  if (is_kept) return;
  munmap(fence->pages - PAGE, (fence->page_count + 2) * PAGE);
  free(fence);
}

void *hr_fence_data(const hr_fence_t *fence) { return fence->data; }

bool hr_fence_owns(const void *address) {
  pthread_mutex_lock(&lock);
  const hr_fence_t *fence = find_block((uintptr_t)address);
  pthread_mutex_unlock(&lock);
  return fence && (const unsigned char *)address >= fence->data &&
         (const unsigned char *)address <= fence->data + fence->size_bytes;
}

/* The pattern is inverted between steps, so that a write of the pattern's own value shows once. */
void hr_fence_repaint(void) {
  pthread_mutex_lock(&lock);
  current_pattern = (unsigned char)~current_pattern;
  for (hr_fence_t *fence = live; fence; fence = fence->next) {
    bool is_sealed = fence->is_sealed;
    set_sealed(fence, false);
    fence->pattern = current_pattern;
    write_pattern(fence);
    set_sealed(fence, is_sealed);
  }
  pthread_mutex_unlock(&lock);
}

/* --- after steps --- */

void hr_fence_note(const char *op, const char *instruction, const char *computation,
                   const hr_pos_t *pos) {
  location = (fence_location_t){op, instruction, computation, *pos};
}

/* The step that ran last is the one that wrote. */
hr_status_t hr_fence_check(void) {
  char what[sizeof damage], where[1024];
  pthread_mutex_lock(&lock);
  for (hr_fence_t *fence = live; fence; fence = fence->next)
    if (note_damage(fence)) write_pattern(fence);
  memcpy(what, damage, sizeof what);
  *damage = 0;
  pthread_mutex_unlock(&lock);
  if (!*what) return NULL;
  print_source_loc(where, sizeof where);
  return hr_error(HR_INTERNAL, "memory: %s writes %s", where, what);
}
