#include "compiler/OnnxModel/WireRewriter.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/FormatVariadic.h"

using namespace zc;

namespace {

// The messages that lead to tensors, and the fields that lead on.
enum class Message { Model, Graph, Node, Attribute, Function, Tensor };

struct Link {
  Message parent;
  uint32_t field;
  Message child;
};

constexpr Link kLinks[] = {
    {Message::Model, 7, Message::Graph},
    {Message::Model, 25, Message::Function},
    {Message::Graph, 1, Message::Node},
    {Message::Graph, 5, Message::Tensor},
    {Message::Node, 5, Message::Attribute},
    {Message::Attribute, 5, Message::Tensor},
    {Message::Attribute, 6, Message::Graph},
    {Message::Attribute, 10, Message::Tensor},
    {Message::Attribute, 11, Message::Graph},
    {Message::Function, 7, Message::Node},
};

constexpr uint32_t kRawData = 9;       // TensorProto.raw_data
constexpr uint32_t kExternalData = 13; // TensorProto.external_data
constexpr uint32_t kDataLocation = 14; // TensorProto.data_location
constexpr unsigned kMaxDepth = 100;    // as protobuf's own parser

enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

// One field: `all` with its tag, `payload` the content of a Bytes field.
struct Field {
  uint32_t number;
  uint32_t wireType;
  std::string_view all;
  std::string_view payload;
};

class Rewriter {
public:
  Rewriter(std::string_view file, uint64_t threshold)
      : file(file), threshold(threshold) {}

  // Appends the rewritten `bytes` to `out`; false when they are malformed.
  bool rewrite(Message message, std::string_view bytes, std::string &out,
               unsigned depth = 0);

private:
  bool rewriteField(Message message, const Field &field, std::string &out,
                    unsigned depth);
  void appendReference(std::string_view payload, std::string &out);

  std::string_view file;
  uint64_t threshold;
};

} // namespace

static bool readVarint(std::string_view &bytes, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes.empty())
      return false;
    uint8_t byte = bytes.front();
    bytes.remove_prefix(1);
    value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

static void appendVarint(uint64_t value, std::string &out) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(char(value | 0x80));
  out.push_back(char(value));
}

static void appendBytes(uint32_t field, std::string_view payload,
                        std::string &out) {
  appendVarint(uint64_t(field) << 3 | Bytes, out);
  appendVarint(payload.size(), out);
  out.append(payload);
}

static bool readField(std::string_view &bytes, Field &field) {
  std::string_view start = bytes;
  uint64_t tag, length = 0;
  if (!readVarint(bytes, tag))
    return false;
  field.number = tag >> 3;
  field.wireType = tag & 7;
  field.payload = {};
  if (field.number == 0)
    return false;
  switch (field.wireType) {
  case Varint:
    if (!readVarint(bytes, length))
      return false;
    length = 0;
    break;
  case Fixed64:
    length = 8;
    break;
  case Fixed32:
    length = 4;
    break;
  case Bytes:
    if (!readVarint(bytes, length))
      return false;
    break;
  default: // groups: ONNX has none
    return false;
  }
  if (length > bytes.size())
    return false;
  field.payload = bytes.substr(0, length);
  bytes.remove_prefix(length);
  field.all = start.substr(0, start.size() - bytes.size());
  return true;
}

bool Rewriter::rewrite(Message message, std::string_view bytes,
                       std::string &out, unsigned depth) {
  if (depth > kMaxDepth)
    return false;
  while (!bytes.empty()) {
    Field field;
    if (!readField(bytes, field) || !rewriteField(message, field, out, depth))
      return false;
  }
  return true;
}

bool Rewriter::rewriteField(Message message, const Field &field,
                            std::string &out, unsigned depth) {
  if (field.wireType == Bytes) {
    if (message == Message::Tensor && field.number == kRawData &&
        field.payload.size() > threshold) {
      appendReference(field.payload, out);
      return true;
    }
    for (const Link &link : kLinks) {
      if (link.parent != message || link.field != field.number)
        continue;
      std::string child;
      if (!rewrite(link.child, field.payload, child, depth + 1))
        return false;
      appendBytes(field.number, child, out);
      return true;
    }
  }
  out.append(field.all);
  return true;
}

// A StringStringEntryProto: key is field 1, value field 2.
static void appendEntry(std::string_view key, std::string_view value,
                        std::string &out) {
  std::string entry;
  appendBytes(1, key, entry);
  appendBytes(2, value, entry);
  appendBytes(kExternalData, entry, out);
}

void Rewriter::appendReference(std::string_view payload, std::string &out) {
  appendVarint(uint64_t(kDataLocation) << 3 | Varint, out);
  appendVarint(1, out); // EXTERNAL
  appendEntry("location", kInsideModelFile, out);
  appendEntry("offset", std::to_string(payload.data() - file.data()), out);
  appendEntry("length", std::to_string(payload.size()), out);
}

llvm::Expected<std::string> zc::referenceLargeTensors(std::string_view model,
                                                      uint64_t threshold) {
  std::string out;
  if (!Rewriter(model, threshold).rewrite(Message::Model, model, out))
    return llvm::createStringError(
        "is not an ONNX model: it is truncated or no protobuf message");
  return out;
}
