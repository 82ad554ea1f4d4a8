#include "runtime/Plan/Safetensors.h"
#include "runtime/Base/Hash.h"
#include "runtime/Plan/ZipFormat.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace zc {

namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000; // the format's own limit
constexpr uint64_t kAlignment = 64;
const char *const kMetadata = "__metadata__";
const std::string kChecksum = "xxh64.";

Status corrupt(const std::string &why) {
  return makeError(StatusCode::Corrupt, "not a sound safetensors file: ", why);
}

/// A list of non-negative integers.
Result<std::vector<int64_t>> readIntegers(const Json &json, const char *what) {
  std::vector<int64_t> values;
  if (!json.is_array())
    return corrupt(strCat("a tensor's ", what, " is not a list"));
  for (const Json &value : json) {
    if (!value.is_number_unsigned() ||
        value.get<uint64_t>() > uint64_t(INT64_MAX))
      return corrupt(strCat("a tensor's ", what, " has a bad number"));
    values.push_back(value.get<int64_t>());
  }
  return values;
}

Result<SafetensorsTensor> readTensor(const std::string &name, const Json &json,
                                     std::string_view data) {
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets") || !json["dtype"].is_string())
    return corrupt(strCat("tensor '", name, "' lacks a field"));
  SafetensorsTensor tensor;
  tensor.name = name;
  tensor.dtype = json["dtype"].get<std::string>();
  ZC_ASSIGN_OR_RETURN(tensor.dims, readIntegers(json["shape"], "shape"));
  ZC_ASSIGN_OR_RETURN(std::vector<int64_t> offsets,
                      readIntegers(json["data_offsets"], "data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      uint64_t(offsets[1]) > data.size())
    return corrupt(strCat("tensor '", name, "' lies outside of the data"));
  ZC_ASSIGN_OR_RETURN(uint64_t bytes, safetensorsTensorBytes(tensor));
  if (uint64_t(offsets[1] - offsets[0]) != bytes)
    return corrupt(strCat("tensor '", name, "' has ", offsets[1] - offsets[0],
                          " bytes of data; its type needs ", bytes));
  tensor.data = data.substr(offsets[0], bytes);
  return tensor;
}

std::string printChecksum(uint64_t checksum) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", (unsigned long long)checksum);
  return text;
}

Status readChecksum(const Json &metadata, SafetensorsTensor &tensor) {
  auto found = metadata.find(kChecksum + tensor.name);
  if (found == metadata.end())
    return Status();
  std::string text = found->is_string() ? found->get<std::string>() : "";
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 16 || error != std::errc() ||
      end != text.data() + text.size())
    return corrupt(
        strCat("the checksum of tensor '", tensor.name, "' is no number"));
  tensor.xxh64 = value;
  return Status();
}

} // namespace

Status checkSum(const SafetensorsTensor &tensor) {
  if (!tensor.xxh64 || hashBytes(tensor.data) == *tensor.xxh64)
    return Status();
  return makeError(StatusCode::Corrupt, "tensor '", tensor.name,
                   "' is damaged: its checksum does not match");
}

uint64_t safetensorsElementBytes(std::string_view dtype) {
  static const std::map<std::string_view, uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"I16", 2}, {"U16", 2},
      {"F16", 2},  {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},
      {"F64", 8},  {"I64", 8},  {"U64", 8}};
  auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

Result<uint64_t> safetensorsTensorBytes(const SafetensorsTensor &tensor) {
  uint64_t bytes = safetensorsElementBytes(tensor.dtype);
  if (bytes == 0)
    return makeError(StatusCode::Unsupported, "tensor '", tensor.name,
                     "' has the unknown type '", tensor.dtype, "'");
  for (int64_t dim : tensor.dims)
    if (dim < 0 || __builtin_mul_overflow(bytes, uint64_t(dim), &bytes))
      return corrupt(strCat("tensor '", tensor.name, "' is impossibly large"));
  return bytes;
}

std::string
makeSafetensorsHeader(const std::vector<SafetensorsTensor> &tensors,
                      const std::map<std::string, std::string> &metadata) {
  Json json = Json::object();
  for (const auto &[key, value] : metadata)
    json[kMetadata][key] = value;
  for (const SafetensorsTensor &tensor : tensors)
    if (tensor.xxh64)
      json[kMetadata][kChecksum + tensor.name] = printChecksum(*tensor.xxh64);
  uint64_t offset = 0;
  for (const SafetensorsTensor &tensor : tensors) {
    Result<uint64_t> bytes = safetensorsTensorBytes(tensor);
    assert(bytes.ok() && "the writer's tensors must be sound");
    json[tensor.name] = {{"dtype", tensor.dtype},
                         {"shape", tensor.dims},
                         {"data_offsets", {offset, offset + *bytes}}};
    offset += *bytes;
  }
  // Names come from models and may be any bytes: never throw over them.
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  uint64_t total = kLengthBytes + text.size();
  text.append((kAlignment - total % kAlignment) % kAlignment, ' ');
  std::string header;
  zip::append<uint64_t>(header, text.size());
  return header + text;
}

Result<std::vector<SafetensorsTensor>> parseSafetensors(std::string_view file) {
  if (file.size() < kLengthBytes)
    return corrupt("it is too short");
  uint64_t length = zip::load<uint64_t>(file.data());
  if (length > kMaxHeader || length > file.size() - kLengthBytes)
    return corrupt("its header is longer than the file");
  std::string_view text = file.substr(kLengthBytes, length);
  std::string_view data = file.substr(kLengthBytes + length);
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object())
    return corrupt("its header is not a JSON object");
  std::vector<SafetensorsTensor> tensors;
  for (const auto &[name, value] : json.items()) {
    if (name == kMetadata)
      continue;
    ZC_ASSIGN_OR_RETURN(SafetensorsTensor tensor,
                        readTensor(name, value, data));
    if (json.contains(kMetadata))
      ZC_RETURN_IF_ERROR(readChecksum(json[kMetadata], tensor));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

} // namespace zc
