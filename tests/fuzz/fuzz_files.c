/* Whatever bytes stand in the files that a run reads beside its program: they are read or refused,
 * without a crash, a leak or an internal error. The first byte of an input chooses the kind of
 * file; where check sums would stop nearly every change, a kind puts right ones around the bytes.
 * With -DHR_FUZZING -fsanitize=fuzzer it is a target of libFuzzer; else a program, see
 * fuzz_driver.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/checkpoint/cli_manifest.h"
#include "cli/arrays/cli_signature.h"
#include "feed/feed_wire.h"
#include "fuzz_driver.h"
#include "fuzz_reader.h"
#include "io/array_file.h"
#include "io/crc32.h"
#include "ir/value_npy.h"
#include "jit/cache/object_cache.h"
#include "proto/proto_wire.h"
#include "tf/file/crc32c.h"
#include "tf/file/tensor_bundle.h"

#define MANIFEST_STEP 20
#define MOST_ARRAYS 8                     /* most arrays of a file that are looked at */
#define MOST_CONVERTED ((int64_t)1 << 16) /* most elements that are converted */

static char folder[] = "/dev/shm/hlorun-fuzz-XXXXXX"; /* made at the first use */

static void remove_folder(void) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  if (system(command)) fuzz_fail("cannot remove the folder");
}

static void need_folder(void) {
  static bool is_made;
  if (is_made) return;
  if (!mkdtemp(folder)) fuzz_fail("cannot make a folder");
  atexit(remove_folder);
  is_made = true;
}

static void write_file(const char *name, hr_str_t bytes) {
  char path[PATH_MAX];
  need_folder();
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || write(fd, bytes.data, bytes.size) != (ssize_t)bytes.size) fuzz_fail("cannot write");
  close(fd);
}

static void add_u16(hr_strbuf_t *out, uint16_t n) { hr_strbuf_add(out, (char *)&n, sizeof n); }
static void add_u32(hr_strbuf_t *out, uint32_t n) { hr_strbuf_add(out, (char *)&n, sizeof n); }

static hr_str_t bytes_of(const hr_strbuf_t *text) { return (hr_str_t){text->data, text->size}; }

/* --- arrays --- */

static void use_array(const npy_t *npy) {
  static const hr_dtype_t types[] = {HR_F32, HR_S64, HR_PRED, HR_BF16, HR_S4, HR_C64, HR_U8};
  char text[NPY_TEXT];
  npy_text(npy, text);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    hlo_value_t *value = NULL;
    if (npy->count > MOST_CONVERTED || !npy_is(npy, types[i])) continue;
    fuzz_drop_status(hlo_value_from_npy(npy, types[i], &value));
    hlo_value_release(value);
  }
}

static void use_npz(hr_buffer_t *bytes) {
  npz_t npz = {0};
  hr_status_t st = npz_open_bytes("fuzz", bytes, &npz);
  for (size_t i = 0; !st && i < npz_count(&npz) && i < MOST_ARRAYS; i++) {
    char name[256];
    bool found;
    npy_t npy;
    snprintf(name, sizeof name, "%.*s", HR_STR_ARGS(npz_name(&npz, i)));
    st = npz_find(&npz, name, &found, &npy);
    if (st || !found) continue;
    use_array(&npy);
    npy_deinit(&npy);
  }
  npz_deinit(&npz);
  fuzz_drop_status(st);
}

static void run_npz(hr_str_t data) {
  hr_buffer_t *bytes;
  if (hr_buffer_wrap((void *)data.data, data.size, false, NULL, NULL, &bytes))
    fuzz_fail("no memory");
  use_npz(bytes);
  hr_buffer_release(bytes);
}

/* The bytes as the one stored member of a sound archive. */
static void run_npy_in_npz(hr_str_t data) {
  static const char name[] = "in0.npy";
  hr_strbuf_t zip;
  uint32_t crc = hr_crc32(0, data.data, data.size), size = (uint32_t)data.size;
  hr_strbuf_init(&zip);
  for (int central = 0; central < 2; central++) {
    size_t start = zip.size;
    if (central)
      hr_strbuf_add(&zip, "PK\1\2\24\0\24\0", 8);
    else
      hr_strbuf_add(&zip, "PK\3\4\24\0", 6);
    hr_strbuf_add(&zip, "\0\0\0\0\0\0\41\0", 8);
    add_u32(&zip, crc);
    add_u32(&zip, size);
    add_u32(&zip, size);
    add_u16(&zip, sizeof name - 1);
    hr_strbuf_add(&zip, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", central ? 16 : 2);
    hr_strbuf_add(&zip, name, sizeof name - 1);
    if (!central) hr_strbuf_add(&zip, data.data, data.size);
    if (!central) continue;
    uint32_t directory = (uint32_t)(zip.size - start);
    hr_strbuf_add(&zip, "PK\5\6\0\0\0\0\1\0\1\0", 12);
    add_u32(&zip, directory);
    add_u32(&zip, (uint32_t)start);
    add_u16(&zip, 0);
  }
  run_npz(bytes_of(&zip));
  hr_strbuf_deinit(&zip);
}

static void run_npy(hr_str_t data) {
  hr_buffer_t *bytes;
  npy_t npy;
  if (hr_buffer_wrap((void *)data.data, data.size, false, NULL, NULL, &bytes))
    fuzz_fail("no memory");
  hr_status_t st = npy_header("fuzz", bytes, 0, data.size, &npy);
  if (!st) {
    use_array(&npy);
    npy_deinit(&npy);
  }
  fuzz_drop_status(st);
  hr_buffer_release(bytes);
}

static void run_safetensors(hr_str_t data) {
  hr_buffer_t *bytes;
  safetensors_t file = {0};
  safetensors_is(data);
  if (hr_buffer_wrap((void *)data.data, data.size, false, NULL, NULL, &bytes))
    fuzz_fail("no memory");
  hr_status_t st = safetensors_open("fuzz", bytes, &file);
  for (size_t i = 0; !st && i < file.count && i < MOST_ARRAYS; i++) {
    char name[256];
    bool found;
    npy_t npy;
    snprintf(name, sizeof name, "%.*s", HR_STR_ARGS(safetensors_name(&file, i)));
    st = safetensors_find(&file, name, &found, &npy);
    if (st || !found) continue;
    use_array(&npy);
    npy_deinit(&npy);
  }
  safetensors_deinit(&file);
  hr_buffer_release(bytes);
  fuzz_drop_status(st);
}

/* --- feeds --- */

/* Two infeeds: f32[2,3], and s4[4] with pred[2]. */
static void run_feed(hr_str_t data) {
  static int fd = -1, stop_fd = -1;
  hr_arena_t arena;
  const hlo_shape_t *leaves[3];
  static const char *const texts[] = {"f32[2,3]", "s4[4]", "pred[2]"};
  if (fd < 0) fd = memfd_create("feed", 0);
  if (stop_fd < 0) stop_fd = eventfd(0, 0);
  if (ftruncate(fd, 0) || pwrite(fd, data.data, data.size, 0) != (ssize_t)data.size)
    fuzz_fail("cannot write the feed");
  lseek(fd, 0, SEEK_SET);
  hr_arena_init(&arena);
  for (int i = 0; i < 3; i++)
    if (cli_shape_parse(&arena, texts[i], &leaves[i])) fuzz_fail("cannot parse a shape");
  feed_shape_t list[] = {{1, leaves}, {2, leaves + 1}};
  feed_shapes_t shapes = {2, list};
  feed_io_t io = {.fd = fd, .stop_fd = stop_fd, .name = "fuzz"};
  hr_status_t st = NULL;
  for (hlo_value_t **values = (hlo_value_t **)list; !st && values;) {
    int count = 0;
    values = NULL;
    st = feed_read_value(&io, &shapes, &values, &count);
    for (int i = 0; i < count && !st && values; i++) hlo_value_release(values[i]);
    if (!st) hr_free(values);
  }
  fuzz_drop_status(st);
  hr_arena_deinit(&arena);
}

/* --- checkpoints --- */

static void use_manifest(hr_str_t data) {
  cli_folder_t open_folder;
  cli_manifest_t manifest;
  hr_arena_t arena;
  write_file("manifest", data);
  hr_arena_init(&arena);
  hr_status_t st = cli_folder_open(folder, &open_folder);
  if (st) fuzz_fail("cannot open the folder");
  st = cli_manifest_read(&arena, &open_folder, MANIFEST_STEP, &manifest);
  if (!st) st = cli_manifest_check(&open_folder, &manifest, 0, NULL);
  fuzz_drop_status(st);
  cli_folder_close(&open_folder);
  hr_arena_deinit(&arena);
}

static void run_manifest(hr_str_t data) { use_manifest(data); }

/* With the line of the digest that it should have. */
static void run_signed_manifest(hr_str_t data) {
  char digest[HR_DIGEST_TEXT];
  hr_strbuf_t text;
  hr_strbuf_init(&text);
  hr_strbuf_add(&text, data.data, data.size);
  hr_digest_text(hr_digest_of(data.data, data.size), digest);
  hr_strbuf_printf(&text, "blake2b %s\n", digest);
  use_manifest(bytes_of(&text));
  hr_strbuf_deinit(&text);
}

/* --- TensorFlow's checkpoints --- */

static void use_bundle(hr_str_t index) {
  static const char *const names[] = {"a", "b", ""};
  char prefix[64];
  hr_arena_t arena;
  tensor_bundle_t bundle = {0};
  write_file("v.index", index);
  write_file("v.data-00000-of-00001", HR_STR("0123456789abcdef0123456789abcdef"));
  snprintf(prefix, sizeof prefix, "%s/v", folder);
  hr_arena_init(&arena);
  hr_status_t st = tensor_bundle_open(&arena, prefix, &bundle);
  for (int i = 0; !st && i < 3; i++) {
    hlo_value_t *value = NULL;
    fuzz_drop_status(tensor_bundle_read(&bundle, hr_str_from(names[i]), &value));
    hlo_value_release(value);
  }
  fuzz_drop_status(st);
  tensor_bundle_close(&bundle);
  hr_arena_deinit(&arena);
}

static void run_bundle(hr_str_t data) { use_bundle(data); }

/* A block of a table: entries, one restart, no compression, check sum. Returns where it begins. */
static size_t add_block(hr_strbuf_t *out, hr_str_t entries) {
  size_t start = out->size;
  hr_strbuf_add(out, entries.data, entries.size);
  add_u32(out, 0);
  add_u32(out, 1);
  hr_strbuf_add_char(out, 0);
  if (!out->failed) add_u32(out, crc32c_masked(crc32c(out->data + start, out->size - start)));
  return start;
}

static void add_handle(hr_strbuf_t *out, size_t offset, size_t size) {
  proto_put_varint(out, offset);
  proto_put_varint(out, size);
}

/* The bytes as the entries of a sound table. */
static void run_bundle_entries(hr_str_t data) {
  hr_strbuf_t file, handle, entry;
  hr_strbuf_init(&file);
  hr_strbuf_init(&handle);
  hr_strbuf_init(&entry);
  size_t block = add_block(&file, data);
  add_handle(&handle, block, file.size - block - 5);
  proto_put_varint(&entry, 0);
  proto_put_varint(&entry, 1);
  proto_put_varint(&entry, handle.size);
  hr_strbuf_add_char(&entry, 'z');
  hr_strbuf_add(&entry, handle.data, handle.size);
  size_t index = add_block(&file, bytes_of(&entry)), index_size = file.size - index - 5;
  size_t footer = file.size;
  add_handle(&file, 0, 0);
  add_handle(&file, index, index_size);
  while (file.size < footer + 40) hr_strbuf_add_char(&file, 0);
  hr_strbuf_add(&file, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
  use_bundle(bytes_of(&file));
  hr_strbuf_deinit(&file);
  hr_strbuf_deinit(&handle);
  hr_strbuf_deinit(&entry);
}

/* --- entries of the cache --- */

static void run_cache(hr_str_t data) {
  static const char key_text[] = "key of an entry";
  char name[HR_DIGEST_TEXT + 8];
  jit_key_t key = {key_text, sizeof key_text - 1};
  jit_cache_t *cache = NULL;
  hr_buffer_t *object = NULL;
  jit_key_name(key, name);
  strcat(name, ".o");
  write_file(name, data);
  fuzz_drop_status(jit_cache_open(&(jit_cache_options_t){.folder = folder, .wait_ms = 1}, &cache));
  fuzz_drop_status(jit_cache_find(cache, &key, 1, &object));
  hr_buffer_release(object);
  jit_cache_close(cache);
}

/* --- the target --- */

static void (*const kinds[])(hr_str_t data) = {
    run_npz,      run_npy_in_npz,      run_npy,    run_safetensors,    run_feed,
    run_manifest, run_signed_manifest, run_bundle, run_bundle_entries, run_cache};
#define KIND_COUNT (sizeof kinds / sizeof *kinds)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  size_t live = hr_mem_live_blocks();
  kinds[data[0] % KIND_COUNT]((hr_str_t){(const char *)data + 1, size - 1});
  if (hr_mem_live_blocks() != live) fuzz_fail("leak");
  return 0;
}

#ifndef HR_FUZZING

#define NPY_HEAD(shape) \
  "\x93NUMPY\1\0\x46\0{'descr': '<f4', 'fortran_order': False, 'shape': " shape ", }     \n"

static const struct own {
  const char *bytes;
  size_t size;
} own[] = {
#define OWN(text) \
  { text, sizeof text - 1 }
    OWN("\0PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
    OWN("\1" NPY_HEAD("(2, 3)") "0123456789abcdef01234567"),
    OWN("\1" NPY_HEAD("(2,)  ") "01234567"),
    OWN("\2" NPY_HEAD("(2, 3)") "0123456789abcdef01234567"),
    OWN("\2\x93NUMPY\2\0\x4e\0\0\0{'descr': '|V2', 'fortran_order': True, 'shape': (1, 2), }       "
        " "
        "                \n0123"),
    OWN("\3\x60\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
        "\"__metadata__\":{\"k\":\"v\"}}            01234567"),
    OWN("\4HLF1\1\0\0\0f32\0\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0"
        "\0"
        "0123456789abcdef01234567HLF1\2\0\0\0s4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\4\0\0\0"
        "\0"
        "\0\0\0\1\2\3\4\0\0\0\0pred\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0"
        "\0"
        "\0\0\0"),
    OWN("\5hlorun checkpoint 1\nstep 20\ngrid 1 2\nrank0.npz 10 00000000000000aa 00000000000000bb\n"
        "rank1.npz 10 00000000000000aa 00000000000000bb\nend\n"),
    OWN("\6hlorun checkpoint 2\nstep 20\nbegan 17\ngrid 1 1\nrank0.npz 10 00000000000000aa "
        "00000000000000bb 00112233445566778899aabbccddeeff m\n"),
    OWN("\7\0\0\0\0\1\0\0\0\0\x5c\x1c\x6f\x3b\x57\xfb\x80\x8b\x24\x75\x47\xdb"),
    /* header: one shard; a: f32[2] at 0; b: f32[2,1] at 8 */
    OWN("\x8\0\0\2\x8\1\0\1\x16\x8\1\x12\4\x12\2\x8\2\x28\x8\x35\0\0\0\0\0\1\x12\x8\1\x12\x8\x12\2"
        "\x8\2\x12\2\x8\1\x20\x8\x28\x8"),
    OWN("\x9HLORUN2\0\xf\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0"
        "0123456789abcdefkey of an entrycode"),
};
#define OWN_COUNT (sizeof own / sizeof *own)

static fuzz_bytes_t builtin_file(int index) { return fuzz_copy(own[index].bytes, own[index].size); }

static void put_number(fuzz_bytes_t *file, size_t at) {
  static const uint64_t numbers[] = {0,          1,         2,          127,
                                     255,        65535,     INT32_MAX,  UINT32_MAX,
                                     1ull << 62, INT64_MAX, 1ull << 63, UINT64_MAX};
  uint64_t number = numbers[fuzz_random_below(sizeof numbers / sizeof *numbers)];
  size_t size = (size_t)1 << fuzz_random_below(4), left = file->size - at;
  memcpy(file->data + at, &number, size < left ? size : left);
}

/* Inserts some of its own bytes, or takes some away. */
static void shift(fuzz_bytes_t *file, size_t at) {
  size_t size = fuzz_random_below(20), left = file->size - at;
  if (fuzz_random_below(2)) {
    if (size > left) size = left;
    memmove(file->data + at, file->data + at + size, left - size);
    file->size -= size;
  } else if (file->size + size <= FUZZ_BYTES_MAX) {
    memmove(file->data + at + size, file->data + at, left);
    file->size += size;
  }
}

/* The first byte stays: it says what the file is. */
static void mutate(fuzz_bytes_t *file, const fuzz_bytes_t *other) {
  (void)other;
  if (file->size < 2) return;
  size_t at = 1 + fuzz_random_below(file->size - 1);
  switch (fuzz_random_below(7)) {
    case 0:
      file->data[at] ^= (char)(1u << fuzz_random_below(8));
      break;
    case 1:
      file->data[at] = (char)fuzz_random_below(256);
      break;
    case 2:
      file->data[at] = "0123456789-+{}[](),:'\" \n"[fuzz_random_below(24)];
      break;
    case 3:
      put_number(file, at);
      break;
    case 4:
      file->data[at] = (char)(file->data[at] + (fuzz_random_below(2) ? 1 : -1));
      break;
    case 5:
      shift(file, at);
      break;
    default:
      if (!fuzz_random_below(10)) file->size = at;
  }
}

int main(int argc, char **argv) {
  const fuzz_material_t material = {.own = builtin_file, .own_count = OWN_COUNT, .mutate = mutate};
  return fuzz_main(argc, argv, &material);
}

#endif
