#include "compiler/OnnxModel/ExternalData.h"

#include "compiler/OnnxModel/WireRewriter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

using namespace zc;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
namespace fs = std::filesystem;

using Visitor = std::function<void(proto::TensorProto &)>;

// --- Walking
// -------------------------------------------------------------------

static void visitGraph(proto::GraphProto &graph, const Visitor &visit);

static void visitNode(proto::NodeProto &node, const Visitor &visit) {
  for (proto::AttributeProto &attribute : *node.mutable_attribute()) {
    if (attribute.has_t())
      visit(*attribute.mutable_t());
    for (proto::TensorProto &tensor : *attribute.mutable_tensors())
      visit(tensor);
    if (attribute.has_g())
      visitGraph(*attribute.mutable_g(), visit);
    for (proto::GraphProto &graph : *attribute.mutable_graphs())
      visitGraph(graph, visit);
  }
}

static void visitGraph(proto::GraphProto &graph, const Visitor &visit) {
  for (proto::TensorProto &tensor : *graph.mutable_initializer())
    visit(tensor);
  for (proto::NodeProto &node : *graph.mutable_node())
    visitNode(node, visit);
}

void zc::forEachTensor(proto::ModelProto &model, const Visitor &visit) {
  visitGraph(*model.mutable_graph(), visit);
  for (proto::FunctionProto &function : *model.mutable_functions())
    for (proto::NodeProto &node : *function.mutable_node())
      visitNode(node, visit);
}

// --- Where the bytes are
// -----------------------------------------------------------

std::optional<uint64_t> zc::getTensorBytes(const proto::TensorProto &tensor) {
  uint64_t bytes = getElementBytes(tensor.data_type());
  if (bytes == 0)
    return std::nullopt;
  for (int64_t dim : tensor.dims())
    if (dim < 0 || __builtin_mul_overflow(bytes, uint64_t(dim), &bytes))
      return std::nullopt;
  if (unsigned bits = getPackedBits(tensor.data_type()))
    return llvm::divideCeil(bytes, 8 / bits);
  return bytes;
}

static std::string getEntry(const proto::TensorProto &tensor,
                            llvm::StringRef key) {
  for (const proto::StringStringEntryProto &entry : tensor.external_data())
    if (entry.key() == key)
      return entry.value();
  return "";
}

static bool isExternal(const proto::TensorProto &tensor) {
  return tensor.data_location() == proto::TensorProto::EXTERNAL;
}

// The `location` of tensors whose file does not exist. No file has this name.
static constexpr llvm::StringLiteral kAbsentFile = "\x01"
                                                   "absent";

// The key of zc's own entry.
static constexpr llvm::StringLiteral kTransposed = "zc.transposed";

bool zc::isAbsent(const proto::TensorProto &tensor) {
  return isExternal(tensor) && getEntry(tensor, "location") == kAbsentFile;
}

std::optional<TensorSource> zc::getSource(const ModelFile &file,
                                          const proto::TensorProto &tensor) {
  if (!isExternal(tensor) || isAbsent(tensor))
    return std::nullopt;
  TensorSource source;
  std::string location = getEntry(tensor, "location");
  source.file = location == kInsideModelFile ? file.name : location;
  llvm::StringRef(getEntry(tensor, "offset")).getAsInteger(10, source.offset);
  std::string length = getEntry(tensor, "length");
  if (length.empty())
    source.length = getTensorBytes(tensor).value_or(0);
  else
    llvm::StringRef(length).getAsInteger(10, source.length);
  source.transposed = !getEntry(tensor, kTransposed).empty();
  return source;
}

void zc::addExternalEntry(proto::TensorProto &tensor, llvm::StringRef key,
                          std::string value) {
  proto::StringStringEntryProto *entry = tensor.add_external_data();
  entry->set_key(key.str());
  entry->set_value(std::move(value));
}

void zc::clearTensorData(proto::TensorProto &tensor) {
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.clear_double_data();
  tensor.clear_string_data();
  tensor.clear_raw_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
}

void zc::markTransposed(proto::TensorProto &tensor) {
  addExternalEntry(tensor, kTransposed, "1");
}

// --- Checking
// ----------------------------------------------------------------------

// The fault in the spelling of `location`, or "".
static std::string checkPath(const std::string &location) {
  if (location.empty())
    return "names no file";
  fs::path path(location);
  if (path.is_absolute())
    return "is an absolute path, expected one inside the model's folder";
  for (const fs::path &part : path)
    if (part == "..")
      return "leads outside the model's folder";
  return "";
}

// The fault of `location` as a path inside `folder`, or "".
static std::string checkLocation(const std::string &folder,
                                 const std::string &location) {
  if (std::string problem = checkPath(location); !problem.empty())
    return problem;
  fs::path path(location);
  std::error_code error;
  fs::path whole = fs::path(folder) / path;
  fs::path real = fs::canonical(whole, error);
  if (error)
    return "cannot be read: " + error.message();
  fs::path root = fs::canonical(folder, error);
  auto inside = real.lexically_relative(root);
  if (error || inside.empty() || *inside.begin() == "..")
    return "leads outside the model's folder by a symbolic link";
  if (!fs::is_regular_file(real, error))
    return "is not a regular file";
  return "";
}

static std::string checkNumber(const proto::TensorProto &tensor,
                               llvm::StringRef key) {
  std::string text = getEntry(tensor, key);
  uint64_t value;
  if (!text.empty() && llvm::StringRef(text).getAsInteger(10, value))
    return "has the " + key.str() + " '" + text +
           "', expected a number of bytes";
  return "";
}

// The fault of one external tensor, or "".
static std::string checkTensor(const ModelFile &file,
                               const proto::TensorProto &tensor) {
  std::string location = getEntry(tensor, "location");
  if (location != kInsideModelFile) {
    std::string problem = checkLocation(file.folder, location);
    if (!problem.empty())
      return "external data '" + location + "' " + problem;
  }
  for (llvm::StringRef key : {"offset", "length"}) {
    std::string problem = checkNumber(tensor, key);
    if (!problem.empty())
      return "external data '" + location + "' " + problem;
  }
  std::optional<uint64_t> expected = getTensorBytes(tensor);
  if (!expected)
    return "has the type " + getTypeName(tensor.data_type()) +
           " or dims that external data cannot have";
  TensorSource source = *getSource(file, tensor);
  if (source.length != *expected)
    return "has " + std::to_string(source.length) +
           " bytes of data, but its type and dims say " +
           std::to_string(*expected);
  std::error_code error;
  uint64_t size = fs::file_size(fs::path(file.folder) / source.file, error);
  if (error || source.offset > size || source.length > size - source.offset)
    return "needs bytes " + std::to_string(source.offset) + " to " +
           std::to_string(source.offset + source.length) + " of '" +
           source.file + "', which has " + std::to_string(size) +
           "; it is truncated or another model's";
  return "";
}

static bool isMissing(const ModelFile &file, const proto::TensorProto &tensor) {
  std::string location = getEntry(tensor, "location");
  std::error_code error;
  return location != kInsideModelFile && checkPath(location).empty() &&
         !fs::exists(fs::path(file.folder) / location, error) &&
         (!error || error == std::errc::no_such_file_or_directory);
}

// A model of the shape that its type and dims say needs no data to be drawn.
static std::string markAbsent(proto::TensorProto &tensor) {
  if (!getTensorBytes(tensor))
    return "has the type " + getTypeName(tensor.data_type()) +
           " or dims that external data cannot have";
  tensor.clear_external_data();
  addExternalEntry(tensor, "location", kAbsentFile.str());
  return "";
}

// Hundreds of tensors may lie in one file: it is named once.
static std::vector<std::string>
describeMissing(const std::map<std::string, std::vector<std::string>> &files) {
  std::vector<std::string> lines;
  for (const auto &[file, tensors] : files) {
    std::string rest = tensors.size() == 1
                           ? ""
                           : " and " + std::to_string(tensors.size() - 1) +
                                 (tensors.size() == 2 ? " other" : " others");
    lines.push_back("'" + file + "', with tensor '" + tensors.front() + "'" +
                    rest + ", does not exist");
  }
  if (!files.empty())
    lines.push_back("put it beside the model, or train without it: zc compile "
                    "--init torch-default draws initial weights");
  return lines;
}

Error zc::checkExternalData(ModelFile &file, AbsentData absent) {
  std::vector<std::string> problems;
  auto note = [&](const proto::TensorProto &tensor, std::string problem) {
    if (!problem.empty())
      problems.push_back("tensor '" + tensor.name() + "': " + problem);
  };
  if (absent == AbsentData::Allowed)
    for (proto::TensorProto &tensor :
         *file.model.mutable_graph()->mutable_initializer())
      if (isExternal(tensor) && isMissing(file, tensor))
        note(tensor, markAbsent(tensor));
  std::map<std::string, std::vector<std::string>> missing;
  forEachTensor(file.model, [&](proto::TensorProto &tensor) {
    if (!isExternal(tensor) || isAbsent(tensor))
      return;
    if (isMissing(file, tensor))
      missing[getEntry(tensor, "location")].push_back(tensor.name());
    else
      note(tensor, checkTensor(file, tensor));
  });
  llvm::append_range(problems, describeMissing(missing));
  if (problems.empty())
    return Error::success();
  return createStringError(
      "stores weights outside itself that zc cannot use:\n  " +
      llvm::join(problems, "\n  "));
}

// --- Reading
// -----------------------------------------------------------------------

Expected<std::string> zc::readSource(const std::string &folder,
                                     const TensorSource &source) {
  std::ifstream stream(fs::path(folder) / source.file, std::ios::binary);
  std::string bytes(source.length, '\0');
  if (!stream.seekg(source.offset) ||
      !stream.read(bytes.data(), std::streamsize(bytes.size())))
    return createStringError("cannot read " + std::to_string(source.length) +
                             " bytes at " + std::to_string(source.offset) +
                             " of '" + source.file + "'");
  return bytes;
}

std::string zc::transposeBytes(llvm::StringRef bytes, uint64_t rows,
                               uint64_t width) {
  std::string result(bytes.size(), '\0');
  uint64_t columns = rows ? bytes.size() / width / rows : 0;
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t column = 0; column < columns; ++column)
      std::memcpy(&result[(column * rows + row) * width],
                  bytes.data() + (row * columns + column) * width, width);
  return result;
}

template <typename Element, typename Values>
static std::string packAs(const Values &values) {
  std::string bytes;
  bytes.reserve(values.size() * sizeof(Element));
  for (auto value : values) {
    Element element = static_cast<Element>(value);
    bytes.append(reinterpret_cast<const char *>(&element), sizeof element);
  }
  return bytes;
}

// The typed fields of an inline tensor, packed as raw_data would be.
static std::string packTyped(const proto::TensorProto &tensor) {
  switch (tensor.data_type()) {
  case proto::TensorProto::FLOAT:
    return packAs<float>(tensor.float_data());
  case proto::TensorProto::DOUBLE:
    return packAs<double>(tensor.double_data());
  case proto::TensorProto::INT64:
    return packAs<int64_t>(tensor.int64_data());
  case proto::TensorProto::UINT64:
    return packAs<uint64_t>(tensor.uint64_data());
  case proto::TensorProto::UINT32:
    return packAs<uint32_t>(tensor.uint64_data());
  case proto::TensorProto::INT32:
    return packAs<int32_t>(tensor.int32_data());
  case proto::TensorProto::INT16:
  case proto::TensorProto::UINT16:
  case proto::TensorProto::FLOAT16: // bits, as ONNX stores them
  case proto::TensorProto::BFLOAT16:
    return packAs<uint16_t>(tensor.int32_data());
  default: // bool, int8, uint8
    return packAs<uint8_t>(tensor.int32_data());
  }
}

// One element a byte, of its value.
static std::string unpack(llvm::StringRef packed,
                          const proto::TensorProto &tensor) {
  const unsigned bits = getPackedBits(tensor.data_type()), each = 8 / bits;
  const bool isSigned = tensor.data_type() == proto::TensorProto::INT4 ||
                        tensor.data_type() == proto::TensorProto::INT2;
  uint64_t count = 1;
  for (int64_t dim : tensor.dims())
    count *= dim;
  std::string bytes(count, '\0');
  for (uint64_t i = 0; i < count; ++i) {
    unsigned value = uint8_t(packed[i / each]) >> (i % each * bits);
    value &= (1u << bits) - 1;
    bytes[i] = char(isSigned ? llvm::SignExtend32(value, bits) : value);
  }
  return bytes;
}

// The tensor's bytes as the file stores them.
static Expected<std::string> readStored(const ModelFile &file,
                                        const proto::TensorProto &tensor) {
  std::optional<uint64_t> expected = getTensorBytes(tensor);
  if (!expected)
    return createStringError("tensor '" + tensor.name() + "' has the type " +
                             getTypeName(tensor.data_type()) +
                             ", which zc does not hold");
  if (isAbsent(tensor))
    return createStringError("tensor '" + tensor.name() + "' has no data");
  if (std::optional<TensorSource> source = getSource(file, tensor)) {
    Expected<std::string> stored = readSource(file.folder, *source);
    if (stored && source->transposed) // of dims(1) rows there
      return transposeBytes(*stored, tensor.dims(1),
                            getElementBytes(tensor.data_type()));
    return stored;
  }
  std::string bytes =
      tensor.has_raw_data() ? tensor.raw_data() : packTyped(tensor);
  if (bytes.size() != *expected)
    return createStringError("tensor '" + tensor.name() + "' has " +
                             std::to_string(bytes.size()) +
                             " bytes of data, but its type and dims say " +
                             std::to_string(*expected));
  return bytes;
}

Expected<std::string> zc::readTensorBytes(const ModelFile &file,
                                          const proto::TensorProto &tensor) {
  Expected<std::string> stored = readStored(file, tensor);
  if (!stored || !getPackedBits(tensor.data_type()))
    return stored;
  return unpack(*stored, tensor);
}
