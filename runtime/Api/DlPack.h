// Tensors of other libraries by DLPack (https://dmlc.github.io/dlpack), in the
// host's memory. The layouts are those of dlpack.h, which programs include for
// themselves.
#ifndef ZC_RUNTIME_API_DLPACK_H
#define ZC_RUNTIME_API_DLPACK_H

#include "runtime/Api/SessionInputs.h"

// Pointers of zc.h point to these, which have the names that C knows.
extern "C" {

struct DLDevice {
  int32_t device_type; // 1: the host, 3 and 13: its memory, pinned or managed
  int32_t device_id;
};

struct DLDataType {
  uint8_t code; // 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 bool
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; // in elements; null: row-major
  uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void *manager_ctx;
  void (*deleter)(DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
};
}

namespace zc {

/// The tensor as the caller's, without an owner. Fails where it is in a
/// device's memory, not row-major, or of a type that inputs never have.
Result<GivenTensor> fromDlPack(const DLTensor &tensor);

} // namespace zc

#endif // ZC_RUNTIME_API_DLPACK_H
