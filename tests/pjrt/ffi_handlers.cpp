// Handlers of the FFI by jaxlib's C++ header: errors of every code, exceptions, and the number of the execution.
#include <cstring>
#include <stdexcept>
#include <string>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using Array = ffi::Buffer<ffi::S64>;

struct Other {
  virtual ~Other() = default;
};
struct Both : Other, std::runtime_error {
  Both() : std::runtime_error("from the second base") {}
};

static ffi::Error fail(int64_t code, Array, ffi::Result<Array>) {
  return ffi::Error(static_cast<ffi::ErrorCode>(code), "no luck");
}

static ffi::Error copy(Array in, ffi::Result<Array> out) {
  std::memcpy(out->untyped_data(), in.untyped_data(), in.size_bytes());
  return ffi::Error::Success();
}

static ffi::Error raise(int64_t kind, Array in, ffi::Result<Array> out) {
  if (kind == 1) throw std::out_of_range("index 7");
  if (kind == 2) throw Both();
  if (kind == 3) throw 42;
  if (kind == 4) throw std::string("a text");
  return copy(in, out);
}

static ffi::Error number(ffi::RunId id, Array, ffi::Result<Array> out) {
  *out->typed_data() = id.run_id;
  return ffi::Error::Success();
}

// An exception in the stage before, which has neither arguments nor results.
static ffi::Error raise_early(ffi::AnyBuffer) { throw std::runtime_error("too early"); }

XLA_FFI_DEFINE_HANDLER_SYMBOL(Fail, fail, ffi::Ffi::Bind().Attr<int64_t>("code").Arg<Array>().Ret<Array>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Raise, raise, ffi::Ffi::Bind().Attr<int64_t>("kind").Arg<Array>().Ret<Array>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Copy, copy, ffi::Ffi::Bind().Arg<Array>().Ret<Array>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(RaiseEarly, raise_early,
                              ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>().Arg<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Number, number, ffi::Ffi::Bind().Ctx<ffi::RunId>().Arg<Array>().Ret<Array>());
