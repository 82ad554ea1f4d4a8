#include "runtime/Io/Scalars.h"
#include "runtime/Io/Convert.h"
#include "runtime/Plan/Types.h"

#include <cstring>

namespace zc::checkpoint {

using Json = nlohmann::ordered_json;

static Json readableValue(plan::DataType type, std::string_view bytes) {
  if (bytes.size() != elementBytes(type))
    return nullptr;
  if (isInteger(type))
    return integerAt(bytes.data(), type, 0);
  if (type == plan::F32) {
    float value;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  if (type == plan::F64) {
    double value;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  return nullptr;
}

Json scalarToJson(const plan::State &state, std::string_view bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string bits;
  for (unsigned char byte : bytes) {
    bits += digits[byte >> 4];
    bits += digits[byte & 15];
  }
  return {{"type", safetensorsTypeName(state.type().dtype())},
          {"value", readableValue(state.type().dtype(), bytes)},
          {"bits", bits}};
}

static int digitValue(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

Result<std::string> scalarFromJson(const plan::State &state, const Json &json) {
  const uint64_t bytes = *byteCount(state.type());
  std::string type, bits;
  if (json.is_object() && json.contains("type") && json["type"].is_string() &&
      json.contains("bits") && json["bits"].is_string()) {
    type = json["type"].get<std::string>();
    bits = json["bits"].get<std::string>();
  }
  bool sound = type == safetensorsTypeName(state.type().dtype()) &&
               bits.size() == 2 * bytes;
  std::string out;
  for (size_t i = 0; sound && i < bits.size(); i += 2) {
    int high = digitValue(bits[i]), low = digitValue(bits[i + 1]);
    sound = high >= 0 && low >= 0;
    out += static_cast<char>(high * 16 + low);
  }
  if (!sound)
    return makeError(StatusCode::Corrupt, "scalar '", state.name(),
                     "' is damaged or not ", printType(state.type()));
  return out;
}

} // namespace zc::checkpoint
