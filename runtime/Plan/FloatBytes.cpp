#include "runtime/Plan/FloatBytes.h"

#include "runtime/Base/Bfloat16.h"
#include "runtime/Base/Float16.h"

#include <cassert>
#include <cstring>

namespace zc {
namespace {

bool isKnown(plan::DataType type) {
  return type == plan::F32 || type == plan::F16 || type == plan::BF16;
}

float readFloat(const char *bytes, plan::DataType type) {
  uint16_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  if (type == plan::F16)
    return halfToFloat(bits);
  if (type == plan::BF16)
    return bfloat16ToFloat(bits);
  float value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

void writeFloat(float value, plan::DataType type, char *bytes) {
  if (type == plan::F32) {
    std::memcpy(bytes, &value, sizeof(value));
    return;
  }
  uint16_t bits =
      type == plan::F16 ? floatToHalf(value) : floatToBfloat16(value);
  std::memcpy(bytes, &bits, sizeof(bits));
}

} // namespace

bool canConvertFloats(plan::DataType from, plan::DataType to) {
  return isKnown(from) && isKnown(to);
}

std::string convertFloats(std::string_view bytes, plan::DataType from,
                          plan::DataType to) {
  assert(canConvertFloats(from, to) && "expected floats of 16 or 32 bits");
  const uint64_t width = elementBytes(from), wanted = elementBytes(to);
  const uint64_t count = bytes.size() / width;
  std::string converted(count * wanted, '\0');
  for (uint64_t i = 0; i < count; ++i)
    writeFloat(readFloat(bytes.data() + i * width, from), to,
               converted.data() + i * wanted);
  return converted;
}

} // namespace zc
