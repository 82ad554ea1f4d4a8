#include "runtime/Api/DlPack.h"

namespace zc {

static plan::DataType typeOf(const DLDataType &type) {
  enum Code { Signed = 0, Unsigned = 1, Float = 2, Bfloat = 4, Bool = 6 };
  if (type.lanes != 1)
    return plan::DATA_TYPE_UNSPECIFIED;
  switch (type.code * 1000 + type.bits) {
  case Signed * 1000 + 8:
    return plan::I8;
  case Signed * 1000 + 16:
    return plan::I16;
  case Signed * 1000 + 32:
    return plan::I32;
  case Signed * 1000 + 64:
    return plan::I64;
  case Unsigned * 1000 + 8:
    return plan::U8;
  case Unsigned * 1000 + 16:
    return plan::U16;
  case Unsigned * 1000 + 32:
    return plan::U32;
  case Unsigned * 1000 + 64:
    return plan::U64;
  case Float * 1000 + 16:
    return plan::F16;
  case Float * 1000 + 32:
    return plan::F32;
  case Float * 1000 + 64:
    return plan::F64;
  case Bfloat * 1000 + 16:
    return plan::BF16;
  case Bool * 1000 + 8:
    return plan::BOOL;
  default:
    return plan::DATA_TYPE_UNSPECIFIED;
  }
}

/// Strides of dims of 1 mean nothing.
static bool isRowMajor(const DLTensor &tensor) {
  int64_t expected = 1;
  for (int32_t i = tensor.ndim; tensor.strides && i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return false;
    expected *= tensor.shape[i];
  }
  return true;
}

Result<GivenTensor> fromDlPack(const DLTensor &tensor) {
  const int32_t device = tensor.device.device_type;
  if (device != 1 && device != 3 && device != 13)
    return makeError(StatusCode::Unsupported,
                     "the tensor is in the memory of a device (DLPack's type ",
                     device, "); bring it to the host");
  GivenTensor given;
  given.type = typeOf(tensor.dtype);
  if (given.type == plan::DATA_TYPE_UNSPECIFIED)
    return makeError(StatusCode::Unsupported, "the tensor is of a type (",
                     int(tensor.dtype.code), ", ", int(tensor.dtype.bits),
                     " bits) that no input has");
  if (tensor.ndim < 0 || (tensor.ndim > 0 && !tensor.shape))
    return makeError(StatusCode::InvalidArgument,
                     "the tensor has no sound shape");
  if (!isRowMajor(tensor))
    return makeError(StatusCode::InvalidArgument,
                     "the tensor is not in row-major order; make it "
                     "contiguous first");
  given.dims.assign(tensor.shape, tensor.shape + tensor.ndim);
  given.data = static_cast<const char *>(tensor.data);
  if (given.data)
    given.data += tensor.byte_offset;
  return given;
}

} // namespace zc
