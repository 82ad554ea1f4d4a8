#include "compiler/Driver/VerifyCompare.h"

#include "compiler/Import/HostTensor.h"
#include "compiler/Interpreter/Npy.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace zc;

static std::string printShape(llvm::ArrayRef<int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

static std::string print(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

// True if the pair is close; its errors count in any case. One that is no
// number stays the largest, for nothing compares greater.
static bool compareElement(double computed, double expected,
                           const VerifyOptions &options, Verdict &verdict) {
  if ((std::isnan(computed) && std::isnan(expected)) || computed == expected)
    return true;
  double error = std::abs(computed - expected);
  if (!std::isfinite(error)) {
    verdict.absolute = verdict.relative = error;
    return false;
  }
  verdict.absolute = std::max(verdict.absolute, error);
  if (expected != 0)
    verdict.relative = std::max(verdict.relative, error / std::abs(expected));
  return error <= options.absolute + options.relative * std::abs(expected);
}

void zc::compareOutput(const std::string &path, const TestTensor &expected,
                       const VerifyOptions &options, Verdict &verdict) {
  auto computed = interpreter::readNpy(path);
  if (!computed) {
    verdict.reason = llvm::toString(computed.takeError());
    return;
  }
  std::string output = "output '" + expected.name + "' ";
  if (llvm::ArrayRef(computed->shape) != llvm::ArrayRef(expected.dims)) {
    verdict.reason = output + "has the shape " + printShape(computed->shape) +
                     ", expected " + printShape(expected.dims);
    return;
  }
  HostTensor reference =
      HostTensor::fromBytes(expected.dataType, expected.dims, expected.bytes);
  if (reference.isFloat() != computed->isFloat()) {
    verdict.reason = output + "has another kind of elements than expected";
    return;
  }
  verdict.compared = true;
  for (int64_t i = 0, count = computed->size(); i < count; ++i) {
    double value = computed->isFloat() ? computed->floats[i]
                                       : double(computed->integers[i]);
    if (compareElement(value, reference.getFloat(i), options, verdict) ||
        !verdict.reason.empty())
      continue;
    verdict.reason = output + "element " + std::to_string(i) + " is " +
                     print(value) + ", expected " +
                     print(reference.getFloat(i));
  }
}
