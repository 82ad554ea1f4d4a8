#include "compiler/Driver/TensorNames.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace llvm;

/// "float32" of "f32"; another type as it is.
static std::string nameElements(StringRef type) {
  if (type == "i1")
    return "bool";
  if (type == "index")
    return "index";
  std::string bits = type.ltrim("bfiu").str();
  return type.starts_with("bf")   ? "bfloat" + bits
         : type.starts_with("f")  ? "float" + bits
         : type.starts_with("ui") ? "uint" + bits
         : type.starts_with("i")  ? "int" + bits
                                  : type.str();
}

std::string zc::nameTensor(StringRef type) {
  const size_t dimsEnd =
      std::min(type.find_first_not_of("0123456789?x"), type.size());
  SmallVector<StringRef> dims;
  type.take_front(dimsEnd).rtrim('x').split(dims, 'x', -1, /*KeepEmpty=*/false);
  return nameElements(type.drop_front(dimsEnd)) + " [" +
         llvm::join(dims, ", ") + "]";
}
