#include "compiler/OnnxModel/ModelFile.h"

#include "compiler/OnnxModel/ExternalData.h"
#include "compiler/OnnxModel/Float8Type.h"
#include "compiler/OnnxModel/LinearModels.h"
#include "compiler/OnnxModel/OptimizedExport.h"
#include "compiler/OnnxModel/SeparateTensors.h"
#include "compiler/OnnxModel/TidyModel.h"
#include "compiler/OnnxModel/WireRewriter.h"

#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "onnx/checker.h"
#include "onnx/defs/parser.h"
#include "onnx/defs/schema.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace zc;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

// --- Reading
// -------------------------------------------------------------------

static Expected<std::unique_ptr<llvm::MemoryBuffer>>
openModel(const std::string &path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    status = llvm::sys::fs::file_status(llvm::sys::fs::file_type::regular_file);
  if (llvm::sys::fs::is_directory(status))
    return createStringError("is a directory, expected an ONNX file");
  if (!llvm::sys::fs::is_regular_file(status))
    return createStringError("is no regular file, expected an ONNX file");
  // MemoryBuffer maps large files, so weights inside are not read.
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError("cannot be read: " + buffer.getError().message());
  if ((*buffer)->getBufferSize() == 0)
    return createStringError("is empty, expected an ONNX model");
  return std::move(*buffer);
}

static Error parseBinary(StringRef bytes, proto::ModelProto &model) {
  Expected<std::string> reduced =
      referenceLargeTensors({bytes.data(), bytes.size()});
  if (!reduced)
    return reduced.takeError();
  if (!model.ParseFromString(*reduced))
    return createStringError(
        "is not an ONNX model: it is truncated or no protobuf message");
  return Error::success();
}

// How deep brackets of all kinds lie in one another, outside of strings and
// comments; bounds how deep ONNX's parser calls itself.
static size_t getNesting(StringRef text) {
  size_t depth = 0, deepest = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        at += text[at] == '\\';
    } else if (StringRef("([{<").contains(c)) {
      deepest = std::max(deepest, ++depth);
    } else if (StringRef(")]}>").contains(c) && depth > 0) {
      depth -= c != '>' || text[at - 1] != '='; // "=>" closes nothing
    }
  }
  return deepest;
}

// The nesting limit of messages in a binary model.
constexpr int kMostNesting = 100;

static Error parseOnnxText(StringRef text, proto::ModelProto &model) {
  if (getNesting(text) > kMostNesting)
    return createStringError(
        "has brackets nested " + std::to_string(getNesting(text)) +
        " deep, expected at most " + std::to_string(kMostNesting));
  try {
    auto status = proto::OnnxParser::Parse(model, {text.data(), text.size()});
    if (status.IsOK())
      return Error::success();
    return createStringError("is not ONNX text: " + status.ErrorMessage());
  } catch (const std::exception &error) { // of a number, from the C++ library
    return createStringError(
        std::string("is not ONNX text: a number does not fit its type (") +
        error.what() + ")");
  }
}

namespace {
// Keeps protobuf's first complaint instead of letting it print.
class FirstError : public google::protobuf::io::ErrorCollector {
public:
  void AddError(int line, int column, const std::string &message) override {
    if (text.empty())
      text = "line " + std::to_string(line + 1) + ": " + message;
  }
  std::string text;
};
} // namespace

static Error parseProtoText(StringRef text, proto::ModelProto &model) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMostNesting);
  if (!parser.ParseFromString(text.str(), &model))
    return createStringError("is not a model in protobuf's text format: " +
                             error.text);
  return Error::success();
}

static Error parseModel(StringRef path, StringRef bytes,
                        proto::ModelProto &model) {
  StringRef extension = llvm::sys::path::extension(path);
  if (extension == ".onnxtext" || extension == ".onnxtxt")
    return parseOnnxText(bytes, model);
  if (extension == ".textproto" || extension == ".pbtxt" ||
      extension == ".prototxt")
    return parseProtoText(bytes, model);
  return parseBinary(bytes, model);
}

// --- Checking
// ------------------------------------------------------------------

// The checker's messages trail a context of several lines; the first says it.
static std::string firstLine(StringRef message) {
  return message.trim().split('\n').first.rtrim(". ").str();
}

// The checker opens external files, but takes locations that begin with '#' as
// given.
Error zc::checkModel(proto::ModelProto model) {
  forEachTensor(model, [](proto::TensorProto &tensor) {
    for (proto::StringStringEntryProto &entry : *tensor.mutable_external_data())
      if (entry.key() == "location")
        entry.set_value("#checked");
  });
  // The ops that compute outputs of unknown shape determine it.
  for (proto::ValueInfoProto &output : *model.mutable_graph()->mutable_output())
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->mutable_shape();
  try {
    proto::checker::check_model(model);
  } catch (const std::exception &error) {
    return createStringError("is refused by ONNX's checker: " +
                             firstLine(error.what()));
  }
  return Error::success();
}

static bool knowsAllOperators(const proto::ModelProto &model) {
  std::map<std::string, int> opsets;
  for (const proto::OperatorSetIdProto &opset : model.opset_import())
    opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
  for (const proto::NodeProto &node : model.graph().node())
    if ((node.domain().empty() || node.domain() == "ai.onnx") &&
        !proto::OpSchemaRegistry::Schema(node.op_type(), opsets[""], ""))
      return false;
  return true;
}

// Whatever keeps the checker away: a model with operators that ONNX does not
// have is walked all the same, to name them all.
static Error checkDims(proto::ModelProto &model) {
  std::string problem;
  forEachTensor(model, [&](const proto::TensorProto &tensor) {
    for (int64_t dim : tensor.dims())
      if (dim < 0)
        problem = "tensor '" + tensor.name() + "' has a dim of " +
                  std::to_string(dim) + ", expected at least 0";
  });
  return problem.empty() ? Error::success() : createStringError(problem);
}

static Error checkOpset(const proto::ModelProto &model) {
  int newest = proto::OpSchemaRegistry::DomainToVersionRange::Instance()
                   .Map()
                   .at("")
                   .second;
  for (const proto::OperatorSetIdProto &opset : model.opset_import())
    if ((opset.domain().empty() || opset.domain() == "ai.onnx") &&
        opset.version() > newest)
      return createStringError("is of opset " +
                               std::to_string(opset.version()) +
                               ", expected at most " + std::to_string(newest) +
                               "; export it with an older opset");
  return Error::success();
}

Expected<ModelFile> zc::readModelFile(const std::string &path,
                                      AbsentData absent) {
  ModelFile file;
  file.path = path;
  file.folder = llvm::sys::path::parent_path(path).str();
  if (file.folder.empty())
    file.folder = ".";
  file.name = llvm::sys::path::filename(path).str();
  auto buffer = openModel(path);
  if (!buffer)
    return buffer.takeError();
  if (Error error = parseModel(path, (*buffer)->getBuffer(), file.model))
    return error;
  if (!file.model.has_graph())
    return createStringError("is not an ONNX model: it has no graph");
  if (Error error = checkOpset(file.model))
    return error;
  if (Error error = checkDims(file.model))
    return error;
  if (Error error = checkExternalData(file, absent))
    return error;
  sortNodes(*file.model.mutable_graph());
  openLinearModels(*file.model.mutable_graph());
  if (Error error = makeDense(file))
    return error;
  if (Error error = restoreWeights(file))
    return error;
  if (Error error = partMergedWeights(file))
    return error;
  separateStatistics(file);
  inferOutputShapes(file.model);
  // The checker stops at the first operator that ONNX does not have; import
  // names them all.
  if (knowsAllOperators(file.model))
    if (Error error = checkModel(file.model))
      return error;
  return file;
}

// --- Element types
// ---------------------------------------------------------------

uint64_t zc::getElementBytes(int32_t dataType) {
  switch (dataType) {
  case proto::TensorProto::BOOL:
  case proto::TensorProto::INT8:
  case proto::TensorProto::UINT8:
  case proto::TensorProto::INT4:
  case proto::TensorProto::UINT4:
  case proto::TensorProto::INT2:
  case proto::TensorProto::UINT2:
    return 1;
  case proto::TensorProto::INT16:
  case proto::TensorProto::UINT16:
  case proto::TensorProto::FLOAT16:
  case proto::TensorProto::BFLOAT16:
    return 2;
  case proto::TensorProto::INT32:
  case proto::TensorProto::UINT32:
  case proto::TensorProto::FLOAT:
    return 4;
  case proto::TensorProto::INT64:
  case proto::TensorProto::UINT64:
  case proto::TensorProto::DOUBLE:
    return 8;
  default:
    return isFloat8Type(dataType) ? 1 : 0;
  }
}

unsigned zc::getPackedBits(int32_t dataType) {
  switch (dataType) {
  case proto::TensorProto::INT4:
  case proto::TensorProto::UINT4:
  case proto::TensorProto::FLOAT4E2M1:
    return 4;
  case proto::TensorProto::INT2:
  case proto::TensorProto::UINT2:
    return 2;
  default:
    return 0;
  }
}

std::string zc::getTypeName(int32_t dataType) {
  if (!proto::TensorProto::DataType_IsValid(dataType))
    return "type " + std::to_string(dataType);
  return StringRef(proto::TensorProto::DataType_Name(
                       proto::TensorProto::DataType(dataType)))
      .lower();
}

bool zc::isFloatType(int32_t dataType) {
  switch (dataType) {
  case proto::TensorProto::FLOAT:
  case proto::TensorProto::DOUBLE:
  case proto::TensorProto::FLOAT16:
  case proto::TensorProto::BFLOAT16:
    return true;
  default:
    return false;
  }
}
