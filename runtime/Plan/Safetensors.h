// The safetensors format: eight bytes of length, a JSON header, the data.
#ifndef ZC_RUNTIME_PLAN_SAFETENSORS_H
#define ZC_RUNTIME_PLAN_SAFETENSORS_H

#include "runtime/Base/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zc {

/// One tensor of a file; `data` is empty in a header still to be written.
struct SafetensorsTensor {
  std::string name;
  std::string dtype; // as the format spells it: "F32", "BF16", "I64", ...
  std::vector<int64_t> dims;
  std::string_view data;
  /// hashBytes() of the data, where the file says it: in its metadata, under
  /// "xxh64." and the name, in 16 hexadecimal digits.
  std::optional<uint64_t> xxh64 = std::nullopt;
};

/// Bytes of one element, 0 for a dtype that the format does not have.
uint64_t safetensorsElementBytes(std::string_view dtype);

/// Bytes of a tensor, or a failure when its dims or dtype make no sense.
Result<uint64_t> safetensorsTensorBytes(const SafetensorsTensor &tensor);

/// The length and the header of a file that holds the tensors' data one after
/// another in this order, padded so that the data begin 64-byte aligned in the
/// file. The tensors must be sound.
std::string
makeSafetensorsHeader(const std::vector<SafetensorsTensor> &tensors,
                      const std::map<std::string, std::string> &metadata = {});

/// Reads a file's header and locates every tensor in `file`.
Result<std::vector<SafetensorsTensor>> parseSafetensors(std::string_view file);

/// Fails when the tensor's data are not what its checksum is of; one without a
/// checksum passes.
Status checkSum(const SafetensorsTensor &tensor);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_SAFETENSORS_H
