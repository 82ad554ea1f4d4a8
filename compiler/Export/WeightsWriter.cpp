//===- WeightsWriter.cpp - initial values into the artifact ---------------===//
#include "compiler/Export/WeightsWriter.h"

#include "compiler/Export/ExportTypes.h"
#include "compiler/OnnxModel/TensorSource.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "runtime/Plan/Artifact.h"
#include "runtime/Plan/Types.h"

#include <algorithm>

using namespace mlir;

namespace zc {

// Pages that were written may be dropped from memory at this pace.
static constexpr size_t kChunk = size_t(16) << 20;

static std::string repeat(StringRef element, int64_t count) {
  std::string bytes;
  bytes.reserve(element.size() * count);
  for (int64_t i = 0; i < count; ++i)
    bytes.append(element.data(), element.size());
  return bytes;
}

// One byte per element for i1, whatever MLIR stores.
static std::string booleanBytes(DenseElementsAttr value) {
  std::string bytes;
  for (bool element : value.getValues<bool>())
    bytes.push_back(element ? 1 : 0);
  return bytes;
}

static Result<std::string> elementBytes(ElementsAttr value) {
  auto asString = [](ArrayRef<char> raw) {
    return std::string(raw.data(), raw.size());
  };
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (dense.getElementType().isInteger(1))
      return booleanBytes(dense);
    ArrayRef<char> raw = dense.getRawData();
    return dense.isSplat() ? repeat(StringRef(raw.data(), raw.size()),
                                    dense.getNumElements())
                           : asString(raw);
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return asString(blob->getData());
  return makeError(StatusCode::Internal, "it has a value of an unknown form");
}

Result<WeightsWriter::Bytes> WeightsWriter::locate(const std::string &file,
                                                   uint64_t offset,
                                                   uint64_t length) {
  std::string path =
      !file.empty() && file[0] == '/' ? file : folder + "/" + file;
  std::shared_ptr<MappedFile> &mapped = files[path];
  if (!mapped) {
    ZC_ASSIGN_OR_RETURN(mapped, MappedFile::open(path));
  }
  std::string_view whole = mapped->bytes();
  if (offset > whole.size() || length > whole.size() - offset)
    return makeError(StatusCode::Corrupt, "'", path, "' has ", whole.size(),
                     " bytes, but bytes ", offset, " to ", offset, " + ",
                     length, " are needed");
  return Bytes{"", mapped, whole.substr(offset, length), 0, 0};
}

Status WeightsWriter::addTensor(const std::string &name,
                                const plan::TensorType &type, Bytes bytes) {
  ZC_ASSIGN_OR_RETURN(uint64_t expected, byteCount(type));
  if (bytes.view().size() != expected)
    return makeError(StatusCode::Corrupt, "'", name, "' is ", printType(type),
                     ", which takes ", expected, " bytes, but ",
                     bytes.view().size(), " are stored");
  SafetensorsTensor tensor;
  tensor.name = name;
  tensor.dtype = safetensorsTypeName(type.dtype());
  tensor.dims.assign(type.dims().begin(), type.dims().end());
  header.push_back(std::move(tensor));
  data.push_back(std::move(bytes));
  return Status();
}

Status WeightsWriter::add(train::StateOp state) {
  std::string name = state.getSymName().str();
  Bytes bytes;
  if (state.getValue()) {
    Result<std::string> own = elementBytes(*state.getValue());
    if (!own.ok())
      return own.status().withContext("state '" + name + "'");
    bytes.own = std::move(*own);
  } else {
    DictionaryAttr source = *state.getSource();
    auto number = [&](StringRef key) {
      return static_cast<uint64_t>(source.getAs<IntegerAttr>(key).getInt());
    };
    Result<Bytes> part = locate(source.getAs<StringAttr>("file").str(),
                                number("offset"), number("length"));
    if (!part.ok())
      return part.status().withContext("initializer '" + name + "'");
    bytes = std::move(*part);
  }
  plan::TensorType type = getStoredType(state);
  if (state.getSource() && state.getSource()->contains("transposed"))
    markTransposed(bytes, type);
  return addTensor(name, type, std::move(bytes));
}

void WeightsWriter::markTransposed(Bytes &bytes, const plan::TensorType &type) {
  bytes.transposedRows = type.dims(1);
  bytes.width = elementBytes(type.dtype());
}

Status WeightsWriter::add(const StoredTensor &tensor) {
  if (tensor.file.empty())
    return addTensor(tensor.name, tensor.type,
                     {tensor.bytes, nullptr, {}, 0, 0});
  Result<Bytes> part = locate(tensor.file, tensor.offset, tensor.length);
  if (!part.ok())
    return part.status().withContext("initializer '" + tensor.name + "'");
  if (tensor.transposed)
    markTransposed(*part, tensor.type);
  return addTensor(tensor.name, tensor.type, std::move(*part));
}

static Status writeChunks(ZipWriter &zip, std::string_view bytes,
                          const MappedFile *file) {
  for (size_t begin = 0; begin < bytes.size(); begin += kChunk) {
    std::string_view chunk = bytes.substr(begin, kChunk);
    ZC_RETURN_IF_ERROR(zip.write(chunk.data(), chunk.size()));
    if (file)
      file->release(chunk);
  }
  return Status();
}

Status WeightsWriter::write(ZipWriter &zip) {
  std::string head = makeSafetensorsHeader(header);
  uint64_t total = head.size();
  for (const Bytes &bytes : data)
    total += bytes.view().size();
  ZC_RETURN_IF_ERROR(zip.beginEntry(kWeightsEntry, total));
  ZC_RETURN_IF_ERROR(zip.write(head.data(), head.size()));
  for (const Bytes &bytes : data) {
    std::string_view view = bytes.view();
    if (bytes.transposedRows) {
      // One tensor's copy at a time.
      std::string turned = transposeBytes({view.data(), view.size()},
                                          bytes.transposedRows, bytes.width);
      bytes.file->release(view);
      ZC_RETURN_IF_ERROR(writeChunks(zip, turned, nullptr));
    } else {
      ZC_RETURN_IF_ERROR(writeChunks(zip, view, bytes.file.get()));
    }
  }
  return zip.endEntry();
}

} // namespace zc
