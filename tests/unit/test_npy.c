/* NPY and NPZ files: versions, orders of bytes and dimensions, damaged archives, atomic writing. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "io/crc32.h"
#include "ir/value_npy.h"
#include "tests/lib/unit.h"

static char *temporary(void) {
  char *path = strdup("/tmp/hlorun-unit-XXXXXX");
  close(mkstemp(path));
  return path;
}

/* An .npy file in memory: a header of the given version, then bytes. */
static hr_buffer_t *make_npy(int version, const char *dictionary, const void *data, size_t size) {
  size_t start = version == 1 ? 10 : 12, length = strlen(dictionary);
  hr_buffer_t *buffer;
  CHECK_OK(hr_buffer_create(start + length + size, &buffer));
  unsigned char *at = hr_buffer_data(buffer);
  memcpy(at, "\x93NUMPY", 6);
  at[6] = (unsigned char)version;
  at[7] = 0;
  at[8] = (unsigned char)length;
  at[9] = (unsigned char)(length >> 8);
  if (version > 1) at[10] = at[11] = 0;
  memcpy(at + start, dictionary, length);
  memcpy(at + start + length, data, size);
  return buffer;
}

static hr_status_t read_back(int version, const char *dictionary, const void *data, size_t size,
                             hr_dtype_t dtype, hlo_value_t **out_value) {
  hr_buffer_t *buffer = make_npy(version, dictionary, data, size);
  npy_t npy;
  hr_status_t st = npy_header("a", buffer, 0, hr_buffer_size(buffer), &npy);
  if (!st) {
    if (npy_is(&npy, dtype))
      st = hlo_value_from_npy(&npy, dtype, out_value);
    else
      st = hr_error(HR_USAGE, "type");
    npy_deinit(&npy);
  }
  hr_buffer_release(buffer);
  return st;
}

static void test_versions_and_orders(void) {
  size_t live = hr_mem_live_blocks();
  const float data[6] = {0, 1, 2, 3, 4, 5};
  hlo_value_t *value;
  CHECK_OK(read_back(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", data, 24,
                     HR_F32, &value));
  CU_ASSERT_EQUAL(value->rank, 2);
  CU_ASSERT_EQUAL(((float *)value->data)[5], 5);
  hlo_value_release(value);
  CHECK_OK(read_back(2, "{\"shape\":(2L,3L),'fortran_order':True,'descr':'<f4'}", data, 24, HR_F32,
                     &value));
  CU_ASSERT_EQUAL(((float *)value->data)[1], 2);
  CU_ASSERT_EQUAL(((float *)value->data)[3], 1);
  hlo_value_release(value);
  const unsigned char big[8] = {0, 0, 1, 2, 0xff, 0xff, 0xff, 0xfe};
  CHECK_OK(read_back(3, "{'descr': '>i4', 'fortran_order': False, 'shape': (2,)}", big, 8, HR_S32,
                     &value));
  CU_ASSERT_EQUAL(((int32_t *)value->data)[0], 258);
  CU_ASSERT_EQUAL(((int32_t *)value->data)[1], -2);
  hlo_value_release(value);
  CHECK_OK(read_back(1, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", data, 24, HR_F64,
                     &value));
  CU_ASSERT_EQUAL(value->rank, 0);
  hlo_value_release(value);
  CHECK_OK(read_back(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0)}", data, 0,
                     HR_F64, &value));
  CU_ASSERT_EQUAL(value->count, 0);
  hlo_value_release(value);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

static void test_nameless_types(void) {
  const unsigned char bytes[4] = {0x0f, 0xf7, 0x08, 0x01};
  hlo_value_t *value;
  CHECK_OK(read_back(1, "{'descr': '|V1', 'fortran_order': False, 'shape': (4,)}", bytes, 4, HR_S4,
                     &value));
  const int8_t want[4] = {-1, 7, -8, 1};
  CU_ASSERT_EQUAL(memcmp(value->data, want, 4), 0);
  hlo_value_release(value);
  CHECK_OK(read_back(1, "{'descr': '|V1', 'fortran_order': False, 'shape': (4,)}", bytes, 4,
                     HR_F8E4M3FN, &value));
  CU_ASSERT_EQUAL(memcmp(value->data, bytes, 4), 0);
  hlo_value_release(value);
  CHECK_OK(read_back(1, "{'descr': '<f1', 'fortran_order': False, 'shape': (4,)}", bytes, 4,
                     HR_F8E5M2, &value));
  CU_ASSERT_EQUAL(memcmp(value->data, bytes, 4), 0);
  hlo_value_release(value);
  CHECK_OK(read_back(1, "{'descr': '<V2', 'fortran_order': False, 'shape': (2,)}", bytes, 4,
                     HR_BF16, &value));
  hlo_value_release(value);
  CHECK_FAILS(HR_USAGE, read_back(1, "{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}",
                                  bytes, 4, HR_F16, &value));
  CHECK_FAILS(HR_USAGE, read_back(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2,)}",
                                  bytes, 4, HR_BF16, &value));
  CHECK_FAILS(HR_USAGE, read_back(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}",
                                  bytes, 4, HR_U32, &value));
  const unsigned char truths[3] = {0, 1, 7};
  CHECK_OK(read_back(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", truths, 3,
                     HR_PRED, &value));
  CU_ASSERT_EQUAL(((uint8_t *)value->data)[2], 1);
  hlo_value_release(value);
}

static void test_bad_headers(void) {
  static const char *const headers[] = {
      "",
      "[]",
      "{'descr': '<f4', 'shape': (2,)",
      "{'descr': '<U8', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999999999, 999999999999999999)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}",
      "{'descr': '<f3', 'fortran_order': False, 'shape': (1,)}",
      "{'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,"
      "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
  };
  const float data[4] = {0};
  hlo_value_t *value;
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
    CHECK_FAILS(HR_INVALID, read_back(1, headers[i], data, sizeof data, HR_F32, &value));
}

static void test_archives(void) {
  size_t live = hr_mem_live_blocks();
  char *path = temporary();
  zip_writer_t *writer;
  const double data[3] = {1, 2, 3};
  const int64_t dims[1] = {3};
  CHECK_OK(zip_create(path, &writer));
  CHECK_OK(npz_add(writer, "in0", HR_F64, 1, dims, data, 24));
  CHECK_OK(npz_add(writer, "in1@3", HR_F64, 0, NULL, data, 8));
  CHECK_OK(zip_finish(writer, NULL));
  npz_t npz;
  bool found;
  npy_t npy;
  hlo_value_t *value;
  CHECK_OK(npz_open(path, &npz));
  CU_ASSERT_EQUAL(npz_count(&npz), 2);
  CU_ASSERT_TRUE(hr_str_is(npz_name(&npz, 1), "in1@3"));
  CHECK_OK(npz_find(&npz, "in2", &found, &npy));
  CU_ASSERT_FALSE(found);
  CHECK_OK(npz_find(&npz, "in0", &found, &npy));
  CHECK_OK(hlo_value_from_npy(&npy, HR_F64, &value));
  CU_ASSERT_EQUAL(memcmp(value->data, data, 24), 0);
  CU_ASSERT_EQUAL((uintptr_t)value->data % HR_ALIGNMENT, 0);
  CU_ASSERT_PTR_EQUAL(value->buffer, npz.zip.file); /* no copy */
  npy_deinit(&npy);
  npz_deinit(&npz);
  CU_ASSERT_EQUAL(((double *)value->data)[2], 3); /* outlives the archive */
  hlo_value_release(value);
  unlink(path);
  free(path);
  CU_ASSERT_EQUAL(hr_mem_live_blocks(), live);
}

/* A file cut off anywhere, or with any byte changed, is refused or read, never crashes. */
static void test_damaged_archives(void) {
  char *path = temporary();
  zip_writer_t *writer;
  const float data[4] = {1, 2, 3, 4};
  const int64_t dims[1] = {4};
  CHECK_OK(zip_create(path, &writer));
  CHECK_OK(npz_add(writer, "in0", HR_F32, 1, dims, data, 16));
  CHECK_OK(zip_finish(writer, NULL));
  hr_buffer_t *whole;
  CHECK_OK(hr_buffer_map_file(path, &whole));
  size_t size = hr_buffer_size(whole);
  char *copy = malloc(size);
  for (size_t i = 0; i < 2 * size; i++) {
    memcpy(copy, hr_buffer_data(whole), size);
    if (i < size) copy[i] ^= (char)0xa5;
    char *other = temporary();
    CHECK_OK(hr_file_write_all(other, copy, i < size ? size : i - size));
    npz_t npz;
    npy_t npy;
    bool found = false;
    hr_status_t st = npz_open(other, &npz);
    if (!st) st = npz_find(&npz, "in0", &found, &npy);
    if (!st && found) {
      hlo_value_t *value;
      if (npy_is(&npy, HR_F32)) {
        CHECK_OK(hlo_value_from_npy(&npy, HR_F32, &value));
        hlo_value_release(value);
      }
      npy_deinit(&npy);
    }
    hr_status_release(st);
    npz_deinit(&npz);
    unlink(other);
    free(other);
  }
  free(copy);
  hr_buffer_release(whole);
  unlink(path);
  free(path);
}

static void test_atomic_files(void) {
  char *path = temporary();
  CHECK_OK(hr_file_write_all(path, "old", 3));
  hr_file_writer_t *writer;
  CHECK_OK(hr_file_create(path, &writer));
  CHECK_OK(hr_file_write(writer, "new", 3));
  hr_buffer_t *bytes;
  CHECK_FAILS(HR_INVALID, hr_file_finish(writer, hr_error(HR_INVALID, "given up")));
  CHECK_OK(hr_buffer_map_file(path, &bytes));
  CU_ASSERT_EQUAL(memcmp(hr_buffer_data(bytes), "old", 3), 0);
  hr_buffer_release(bytes);
  unlink(path);
  free(path);
  hr_status_t st = hr_file_write_all("/dev/full", "x", 1);
  CU_ASSERT_EQUAL(hr_status_code(st), HR_UNAVAILABLE);
  CU_ASSERT_PTR_NOT_NULL(strstr(hr_status_message(st), "/dev/full: No space left"));
  hr_status_release(st);
  CHECK_FAILS(HR_UNAVAILABLE, hr_file_write_all("/nonexistent/x", "x", 1));
}

/* A bit at a time, as it is defined. */
static uint32_t plain_crc32(uint32_t crc, const unsigned char *bytes, size_t size) {
  crc = ~crc;
  for (size_t i = 0; i < size; i++) {
    crc ^= bytes[i];
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

static void test_check_sums(void) {
  unsigned char bytes[2100];
  uint32_t state = 1, wrong = 0;
  for (size_t i = 0; i < sizeof bytes; i++) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = (unsigned char)(state >> 24);
  }
  for (size_t size = 0; size + 7 < sizeof bytes; size += 1 + size / 37) {
    uint32_t start = (uint32_t)size * 40503u;
    const unsigned char *from = bytes + size % 7;
    wrong += hr_crc32(start, from, size) != plain_crc32(start, from, size);
  }
  CU_ASSERT_EQUAL(wrong, 0);
}

CU_TestInfo suite_npy[] = {{"versions and orders", test_versions_and_orders},
                           {"types that NumPy cannot name", test_nameless_types},
                           {"bad headers", test_bad_headers},
                           {"archives", test_archives},
                           {"damaged archives", test_damaged_archives},
                           {"atomic files", test_atomic_files},
                           {"check sums", test_check_sums},
                           CU_TEST_INFO_NULL};
