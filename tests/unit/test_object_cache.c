/* The object cache: what is kept comes back, what is damaged or not ours does not, the bound holds,
 * one of several processes compiles. */
#include "jit/cache/object_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static char folder[64];
static hr_arena_t keys; /* keys of a test: make_folder begins it, remove_folder ends it */

static void make_folder(void) {
  hr_arena_init(&keys);
  strcpy(folder, "/tmp/hlorun-cache-XXXXXX");
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

/* Calls `fn` with the path of each file in the folder; returns how many there are. */
static int each_file(void (*fn)(const char *path)) {
  int count = 0;
  char path[512];
  DIR *names = opendir(folder);
  CU_ASSERT_PTR_NOT_NULL_FATAL(names);
  for (struct dirent *entry = readdir(names); entry; entry = readdir(names)) {
    if (*entry->d_name == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (fn) fn(path);
    count++;
  }
  closedir(names);
  return count;
}

static void remove_file(const char *path) { CU_ASSERT_EQUAL(unlink(path), 0); }

static void remove_folder(void) {
  each_file(remove_file);
  CU_ASSERT_EQUAL(rmdir(folder), 0);
  hr_arena_deinit(&keys);
}

static jit_cache_t *open_cache(uint64_t limit_bytes) {
  jit_cache_t *cache = NULL;
  CHECK_OK(
      jit_cache_open(&(jit_cache_options_t){.folder = folder, .limit_bytes = limit_bytes}, &cache));
  return cache;
}

static jit_key_t end_key(jit_key_state_t *state) {
  jit_key_t key = {0};
  CHECK_OK(jit_key_end(state, &keys, &key));
  return key;
}

static jit_key_t key_of(int number) {
  jit_key_state_t state;
  jit_key_start(&state, "host");
  jit_key_add(&state, &number, sizeof number);
  return end_key(&state);
}

static void store(jit_cache_t *cache, int number, const char *text) {
  jit_cache_store(cache, key_of(number), text, strlen(text) + 1);
}

/* Is this what the cache has under the number? NULL: nothing. */
static bool finds(jit_cache_t *cache, int number, const char *text) {
  hr_buffer_t *object;
  jit_key_t key = key_of(number);
  CHECK_OK(jit_cache_find(cache, &key, 1, &object));
  bool equal = object && text ? strcmp(hr_buffer_data(object), text) == 0 : !object && !text;
  hr_buffer_release(object);
  jit_cache_release(cache);
  return equal;
}

static void test_keys(void) {
  jit_key_state_t a, b, c;
  char names[2][HR_DIGEST_TEXT];
  hr_arena_init(&keys);
  jit_key_start(&a, "host");
  jit_key_start(&b, "host");
  jit_key_start(&c, "other host");
  jit_key_add(&a, "ab", 2);
  jit_key_add(&a, "c", 1);
  jit_key_add(&b, "a", 1);
  jit_key_add(&b, "bc", 2);
  jit_key_add(&c, "ab", 2);
  jit_key_add(&c, "c", 1);
  jit_key_t first = end_key(&a), second = end_key(&b), third = end_key(&c);
  CU_ASSERT_FALSE(hr_str_equal(first, second));
  CU_ASSERT_FALSE(hr_str_equal(first, third));
  CU_ASSERT_TRUE(hr_str_equal(key_of(7), key_of(7)));
  jit_key_name(first, names[0]);
  jit_key_name(second, names[1]);
  CU_ASSERT_STRING_NOT_EQUAL(names[0], names[1]);
  hr_arena_deinit(&keys);
}

/* Names are digests; should two keys ever have one name, neither gets the other's code. */
static void test_names_are_no_keys(void) {
  char name[HR_DIGEST_TEXT], from[256], to[256];
  make_folder();
  jit_cache_t *cache = open_cache(0);
  store(cache, 1, "one");
  jit_key_name(key_of(1), name);
  snprintf(from, sizeof from, "%s/%s.o", folder, name);
  jit_key_name(key_of(2), name);
  snprintf(to, sizeof to, "%s/%s.o", folder, name);
  CU_ASSERT_EQUAL(rename(from, to), 0);
  CU_ASSERT_TRUE(finds(cache, 2, NULL));
  CU_ASSERT_EQUAL(jit_cache_counts(cache).damaged, 0);
  store(cache, 2, "two");
  CU_ASSERT_TRUE(finds(cache, 2, "two"));
  jit_cache_close(cache);
  remove_folder();
}

static void test_stored_comes_back(void) {
  make_folder();
  jit_cache_t *cache = open_cache(0);
  CU_ASSERT_TRUE(finds(cache, 1, NULL));
  store(cache, 1, "one");
  store(cache, 2, "two");
  CU_ASSERT_TRUE(finds(cache, 1, "one"));
  jit_cache_close(cache);
  cache = open_cache(0);
  jit_key_t keys[3] = {key_of(2), key_of(3), key_of(1)};
  hr_buffer_t *objects[3];
  CHECK_OK(jit_cache_find(cache, keys, 3, objects));
  CU_ASSERT_STRING_EQUAL(hr_buffer_data(objects[0]), "two");
  CU_ASSERT_PTR_NULL(objects[1]);
  CU_ASSERT_STRING_EQUAL(hr_buffer_data(objects[2]), "one");
  hr_buffer_release(objects[0]);
  hr_buffer_release(objects[2]);
  CU_ASSERT_EQUAL(jit_cache_counts(cache).found, 2);
  CU_ASSERT_EQUAL(jit_cache_counts(cache).missing, 1);
  jit_cache_close(cache);
  CU_ASSERT_EQUAL(each_file(NULL), 2); /* no lock is left */
  remove_folder();
}

static void cut_file(const char *path) {
  struct stat info;
  CU_ASSERT_EQUAL(stat(path, &info), 0);
  CU_ASSERT_EQUAL(truncate(path, info.st_size - 1), 0);
}

static void flip_a_bit(const char *path) {
  int file = open(path, O_RDWR);
  struct stat info;
  char last;
  CU_ASSERT_EQUAL(fstat(file, &info), 0);
  CU_ASSERT_EQUAL(pread(file, &last, 1, info.st_size - 2), 1);
  last ^= 4;
  CU_ASSERT_EQUAL(pwrite(file, &last, 1, info.st_size - 2), 1);
  close(file);
}

static void empty_file(const char *path) { CU_ASSERT_EQUAL(truncate(path, 0), 0); }
static void open_to_all(const char *path) { CU_ASSERT_EQUAL(chmod(path, 0666), 0); }
static void give_away(const char *path) { CU_ASSERT_EQUAL(chown(path, 12345, 12345), 0); }

static void try_damage(void (*damage)(const char *path), bool is_made_again) {
  make_folder();
  jit_cache_t *cache = open_cache(0);
  store(cache, 1, "some object");
  each_file(damage);
  CU_ASSERT_TRUE(finds(cache, 1, NULL));
  if (is_made_again) {
    CU_ASSERT_EQUAL(jit_cache_counts(cache).damaged, 1);
    CU_ASSERT_EQUAL(each_file(NULL), 0);
  }
  store(cache, 1, "again");
  CU_ASSERT_TRUE(finds(cache, 1, "again"));
  jit_cache_close(cache);
  remove_folder();
}

static void test_damaged_entries_are_not_used(void) {
  try_damage(cut_file, true);
  try_damage(flip_a_bit, true);
  try_damage(empty_file, true);
  try_damage(open_to_all, false);
  if (geteuid() == 0) try_damage(give_away, false);
}

static void test_folders_of_others_are_not_used(void) {
  make_folder();
  CU_ASSERT_EQUAL(chmod(folder, 0777), 0);
  CU_ASSERT_PTR_NULL(open_cache(0));
  CU_ASSERT_EQUAL(chmod(folder, 0700), 0);
  if (geteuid() == 0) {
    CU_ASSERT_EQUAL(chown(folder, 12345, 12345), 0);
    CU_ASSERT_PTR_NULL(open_cache(0));
  }
  jit_cache_t *cache = NULL;
  CHECK_OK(jit_cache_open(&(jit_cache_options_t){.folder = "none"}, &cache));
  CU_ASSERT_PTR_NULL(cache);
  CHECK_OK(jit_cache_open(&(jit_cache_options_t){.folder = "/dev/null/there"}, &cache));
  CU_ASSERT_PTR_NULL(cache);
  CU_ASSERT_TRUE(finds(NULL, 1, NULL));
  store(NULL, 1, "nowhere");
  remove_folder();
}

static void test_default_folder(void) {
  make_folder();
  setenv("XDG_CACHE_HOME", folder, 1);
  unsetenv("HLORUN_CACHE");
  jit_cache_t *cache = NULL;
  CHECK_OK(jit_cache_open(&(jit_cache_options_t){.folder = NULL}, &cache));
  CU_ASSERT_PTR_NOT_NULL(cache);
  jit_cache_close(cache);
  char path[128];
  snprintf(path, sizeof path, "%s/hlorun", folder);
  CU_ASSERT_EQUAL(rmdir(path), 0);
  setenv("HLORUN_CACHE", "none", 1);
  CHECK_OK(jit_cache_open(&(jit_cache_options_t){.folder = NULL}, &cache));
  CU_ASSERT_PTR_NULL(cache);
  unsetenv("HLORUN_CACHE");
  remove_folder();
}

static uint64_t folder_bytes;
static void add_size(const char *path) {
  struct stat info;
  CU_ASSERT_EQUAL(stat(path, &info), 0);
  folder_bytes += (uint64_t)info.st_size;
}

/* Each entry is made to look a minute older than the next, and the first ones are used again. */
static void test_bound(void) {
  static char object[1000];
  make_folder();
  jit_cache_t *cache = open_cache(26000);
  for (int i = 0; i < 15; i++) {
    jit_cache_store(cache, key_of(i), object, sizeof object);
    char path[256];
    char name[HR_DIGEST_TEXT];
    jit_key_name(key_of(i), name);
    snprintf(path, sizeof path, "%s/%s.o", folder, name);
    struct timespec past[2] = {{.tv_sec = time(NULL) - 100000 + 60 * i},
                               {.tv_sec = time(NULL) - 100000 + 60 * i}};
    CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, past, 0), 0);
  }
  CU_ASSERT_FALSE(finds(cache, 0, NULL));
  for (int i = 15; i < 30; i++) jit_cache_store(cache, key_of(i), object, sizeof object);
  jit_cache_release(cache);
  folder_bytes = 0;
  each_file(add_size);
  CU_ASSERT_TRUE(folder_bytes <= 26000 && folder_bytes > 19000);
  CU_ASSERT_TRUE(jit_cache_counts(cache).removed > 0);
  CU_ASSERT_FALSE(finds(cache, 0, NULL));
  CU_ASSERT_TRUE(finds(cache, 1, NULL));
  CU_ASSERT_FALSE(finds(cache, 29, NULL));
  jit_cache_close(cache);
  remove_folder();
}

/* Far below the limit, few stores look at the other files: what a dead process has left stays. */
static void test_trimming_is_rare(void) {
  char path[256];
  make_folder();
  snprintf(path, sizeof path, "%s/%032d.1", folder, 0);
  FILE *left = fopen(path, "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(left);
  fclose(left);
  CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}, 0),
                  0);
  jit_cache_t *cache = open_cache(0);
  for (int i = 0; i < 20; i++) {
    store(cache, i, "few bytes");
    jit_cache_release(cache);
  }
  CU_ASSERT_EQUAL(access(path, F_OK), 0);
  jit_cache_close(cache);
  cache = open_cache(1000); /* where all do */
  store(cache, 20, "few bytes");
  jit_cache_close(cache);
  CU_ASSERT_EQUAL(access(path, F_OK), -1);
  remove_folder();
}

/* Finds number 1 or makes it, slowly; exit code 1: made, 2: found, 3: wrong. */
static void be_a_rank(void) {
  jit_cache_t *cache = open_cache(0);
  jit_key_t key = key_of(1);
  hr_buffer_t *object;
  hr_status_t st = jit_cache_find(cache, &key, 1, &object);
  if (st) _exit(3);
  if (object) _exit(strcmp(hr_buffer_data(object), "made") == 0 ? 2 : 3);
  usleep(200000);
  store(cache, 1, "made");
  jit_cache_release(cache);
  _exit(1);
}

static void test_one_process_compiles(void) {
  int made = 0, found = 0;
  make_folder();
  for (int i = 0; i < 4; i++)
    if (fork() == 0) be_a_rank();
  for (int i = 0; i < 4; i++) {
    int how;
    CU_ASSERT_TRUE(wait(&how) > 0);
    made += WIFEXITED(how) && WEXITSTATUS(how) == 1;
    found += WIFEXITED(how) && WEXITSTATUS(how) == 2;
  }
  CU_ASSERT_EQUAL(made, 1);
  CU_ASSERT_EQUAL(found, 3);
  remove_folder();
}

static jit_cache_t *open_impatient_cache(void) {
  jit_cache_t *cache = NULL;
  CHECK_OK(jit_cache_open(&(jit_cache_options_t){.folder = folder, .wait_ms = 1}, &cache));
  return cache;
}

/* A process that has waited in vain leaves the holder's lock, for which a third process waits. */
static void test_a_lock_is_its_holders(void) {
  make_folder();
  jit_cache_t *holder = open_cache(0), *second = open_impatient_cache();
  jit_cache_t *third = open_impatient_cache();
  jit_key_t key = key_of(1);
  hr_buffer_t *object;
  CHECK_OK(jit_cache_find(holder, &key, 1, &object));
  CU_ASSERT_TRUE(finds(second, 1, NULL));
  CU_ASSERT_EQUAL(jit_cache_counts(second).waited, 1);
  CU_ASSERT_TRUE(finds(third, 1, NULL));
  CU_ASSERT_EQUAL(jit_cache_counts(third).waited, 1);
  jit_cache_release(holder);
  CU_ASSERT_EQUAL(each_file(NULL), 0);
  jit_cache_close(holder);
  jit_cache_close(second);
  jit_cache_close(third);
  remove_folder();
}

/* A process that dies while others wait for it gives its lock free. */
static void test_a_process_that_dies(void) {
  make_folder();
  jit_key_t key = key_of(1);
  hr_buffer_t *object;
  pid_t child = fork();
  if (child == 0) {
    jit_cache_t *cache = open_cache(0);
    hr_status_release(jit_cache_find(cache, &key, 1, &object));
    kill(getpid(), SIGKILL);
  }
  CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
  jit_cache_t *cache = open_cache(0);
  CU_ASSERT_TRUE(finds(cache, 1, NULL));
  CU_ASSERT_EQUAL(jit_cache_counts(cache).waited, 0);
  jit_cache_close(cache);
  remove_folder();
}

/* A file system of 64 KiB, where the test may make one. */
static void test_full_disk(void) {
  static char object[40000];
  make_folder();
  if (mount("none", folder, "tmpfs", 0, "size=64k,mode=700") == 0) {
    jit_cache_t *cache = open_cache(0);
    for (int i = 0; i < 4; i++) jit_cache_store(cache, key_of(i), object, sizeof object);
    CU_ASSERT_EQUAL(jit_cache_counts(cache).stored, 1);
    CU_ASSERT_TRUE(finds(cache, 3, NULL));
    CU_ASSERT_EQUAL(each_file(NULL), 1);
    jit_cache_close(cache);
    CU_ASSERT_EQUAL(umount(folder), 0);
  }
  remove_folder();
}

CU_TestInfo suite_object_cache[] = {
    {"keys", test_keys},
    {"names are no keys", test_names_are_no_keys},
    {"stored comes back", test_stored_comes_back},
    {"damaged entries are not used", test_damaged_entries_are_not_used},
    {"folders of others are not used", test_folders_of_others_are_not_used},
    {"default folder", test_default_folder},
    {"bound", test_bound},
    {"trimming is rare", test_trimming_is_rare},
    {"one process compiles", test_one_process_compiles},
    {"a lock is its holder's", test_a_lock_is_its_holders},
    {"a process that dies", test_a_process_that_dies},
    {"full disk", test_full_disk},
    CU_TEST_INFO_NULL,
};
