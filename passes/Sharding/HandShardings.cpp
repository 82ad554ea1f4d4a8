//===- HandShardings.cpp - how a user wants tensors divided ---------------===//
#include "passes/Sharding/HandShardings.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace zc {

bool HandSharding::matches(StringRef tensor) const {
  return pattern ? pattern->isIn(tensor) : name == tensor;
}

/// The axes that a name stands for: hybrid groups make two of dp.
static SmallVector<int> findAxes(StringRef name, dist::MeshAttr mesh) {
  SmallVector<int> axes;
  for (const char *part : {"", "_outer", "_inner"})
    if (int axis = mesh.findAxis((name + part).str()); axis >= 0)
      axes.push_back(axis);
  return axes;
}

/// "dp+ep" or "-".
static LogicalResult parseAxes(StringRef text, dist::MeshAttr mesh, Axes &all,
                               Axes &axes, std::string &wrong) {
  if (text == "-")
    return success();
  SmallVector<StringRef> names;
  text.split(names, '+');
  for (StringRef name : names) {
    SmallVector<int> found = findAxes(name.trim(), mesh);
    if (found.empty()) {
      wrong = ("'" + name + "' is no axis of the mesh").str();
      return failure();
    }
    for (int axis : found) {
      if (llvm::is_contained(all, axis)) {
        wrong = ("'" + name + "' divides two dims").str();
        return failure();
      }
      all.push_back(axis);
      axes.push_back(axis);
    }
  }
  return success();
}

static LogicalResult parsePattern(HandSharding &sharding, std::string &wrong) {
  llvm::Expected<NamePattern> pattern = NamePattern::parse(sharding.name);
  if (!pattern) {
    wrong = llvm::toString(pattern.takeError());
    return failure();
  }
  sharding.pattern = std::move(*pattern);
  return success();
}

static LogicalResult parseOne(StringRef text, bool isPattern,
                              dist::MeshAttr mesh, HandSharding &sharding,
                              std::string &wrong) {
  auto [name, dims] = text.rsplit('=');
  if (name.empty() || dims.empty()) {
    wrong = "expected a name, '=' and for each dim its axis or '-'";
    return failure();
  }
  sharding.name = name.trim().str();
  if (isPattern && failed(parsePattern(sharding, wrong)))
    return failure();
  SmallVector<StringRef> parts;
  dims.split(parts, ',');
  Axes all;
  for (StringRef part : parts)
    if (failed(parseAxes(part.trim(), mesh, all, sharding.dims.emplace_back(),
                         wrong)))
      return failure();
  return success();
}

LogicalResult parseHandShardings(StringRef text, bool arePatterns,
                                 StringRef source, dist::MeshAttr mesh,
                                 Operation *at,
                                 SmallVectorImpl<HandSharding> &shardings) {
  SmallVector<StringRef> lines;
  llvm::SplitString(text, lines, "\n;");
  for (StringRef line : lines) {
    line = line.trim();
    if (line.empty())
      continue;
    HandSharding sharding;
    sharding.why = (source + " " + line).str();
    std::string wrong;
    if (failed(parseOne(line, arePatterns, mesh, sharding, wrong)))
      return at->emitError()
             << source << " " << quoteExpression(line) << ": " << wrong;
    shardings.push_back(std::move(sharding));
  }
  return success();
}

} // namespace zc
