//===- Npy.cpp - NumPy's files of one array -------------------------------===//
#include "compiler/Interpreter/Npy.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using namespace llvm::support;

namespace zc::interpreter {

static constexpr StringRef kMagic = "\x93NUMPY";

static Error npyError(StringRef path, const llvm::Twine &what) {
  return llvm::createStringError(path + ": " + what);
}

namespace {
/// A parsed header; `data` are the bytes after it.
struct Header {
  StringRef type;
  llvm::SmallVector<int64_t> shape;
  StringRef data;
};
} // namespace

/// The text of a Python dictionary's entry up to `end`.
static StringRef entryOf(StringRef dictionary, StringRef key, char end) {
  StringRef rest = dictionary.split(("'" + key + "':").str()).second;
  return rest.take_until([end](char c) { return c == end; }).trim();
}

static Expected<Header> parseHeader(StringRef path, StringRef bytes) {
  StringRef all = bytes;
  if (!bytes.consume_front(kMagic) || bytes.size() < 6)
    return npyError(path, "is not a .npy file");
  unsigned version = static_cast<unsigned char>(bytes[0]);
  size_t sizeBytes = version == 1 ? 2 : 4;
  size_t size = version == 1 ? endian::read16le(bytes.data() + 2)
                             : endian::read32le(bytes.data() + 2);
  size_t start = kMagic.size() + 2 + sizeBytes;
  if (version < 1 || version > 3 || all.size() < start + size)
    return npyError(path, "has a damaged header");
  StringRef dictionary = all.substr(start, size);
  Header header;
  header.data = all.drop_front(start + size);
  header.type = entryOf(dictionary, "descr", ',').trim("'");
  if (entryOf(dictionary, "fortran_order", ',') != "False")
    return npyError(path, "is not in C order");
  StringRef sizes = entryOf(dictionary, "shape", ')');
  if (!sizes.consume_front("("))
    return npyError(path, "has a damaged header");
  llvm::SmallVector<StringRef> parts;
  sizes.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (int64_t size; part.trim().getAsInteger(10, size) || size < 0)
      return npyError(path, "has a damaged shape");
    else
      header.shape.push_back(size);
  return header;
}

static double readHalf(const char *bytes) {
  llvm::APFloat value(llvm::APFloat::IEEEhalf(),
                      llvm::APInt(16, endian::read16le(bytes)));
  bool losesDigits;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesDigits);
  return value.convertToDouble();
}

static double readFloat(const char *bytes, unsigned width) {
  if (width == 2)
    return readHalf(bytes);
  if (width == 4)
    return llvm::bit_cast<float>(endian::read32le(bytes));
  return llvm::bit_cast<double>(endian::read64le(bytes));
}

static int64_t readInteger(const char *bytes, unsigned width, bool isSigned) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < width; ++i)
    bits |= uint64_t(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return isSigned ? llvm::SignExtend64(bits, 8 * width)
                  : static_cast<int64_t>(bits);
}

Expected<Tensor> readNpy(StringRef path) {
  // A pipe would keep us waiting.
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return npyError(path, "is not a regular file");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return npyError(path, file.getError().message());
  Expected<Header> header = parseHeader(path, (*file)->getBuffer());
  if (!header)
    return header.takeError();
  unsigned width = 0;
  StringRef type = header->type;
  bool known = type.size() == 3 && StringRef("<|=").contains(type[0]) &&
               StringRef("fiub").contains(type[1]) &&
               !type.drop_front(2).getAsInteger(10, width);
  bool isFloat = known && type[1] == 'f';
  if (!known || !llvm::isPowerOf2_32(width) || width > 8 ||
      (isFloat && width < 2))
    return npyError(path,
                    "has elements of type '" + type +
                        "', expected floats of 2, 4 or 8 bytes, integers or "
                        "booleans");
  uint64_t count = 1;
  for (int64_t size : header->shape)
    count = llvm::SaturatingMultiply<uint64_t>(count, size);
  if (count > header->data.size() / width ||
      count * width != header->data.size())
    return npyError(path, "has " + llvm::Twine(header->data.size()) +
                              " bytes of data, expected " + llvm::Twine(count) +
                              " elements of " + llvm::Twine(width));
  Tensor tensor{isFloat ? Tensor::Kind::Float : Tensor::Kind::Integer,
                header->shape,
                {},
                {}};
  for (uint64_t i = 0; i < count; ++i) {
    const char *bytes = header->data.data() + i * width;
    if (isFloat)
      tensor.floats.push_back(readFloat(bytes, width));
    else
      tensor.integers.push_back(readInteger(bytes, width, type[1] == 'i'));
  }
  return tensor;
}

static std::string makeHeader(StringRef type, llvm::ArrayRef<int64_t> shape) {
  std::string text = "{'descr': '" + type.str();
  text += "', 'fortran_order': False, 'shape': (";
  for (int64_t size : shape)
    text += std::to_string(size) + ", ";
  text += "), }";
  // The data begins at a multiple of 64 bytes, after a newline.
  size_t before = kMagic.size() + 4;
  text.append(llvm::alignTo(before + text.size() + 1, 64) - before -
                  text.size() - 1,
              ' ');
  return text + "\n";
}

Error writeNpy(StringRef path, StringRef type, llvm::ArrayRef<int64_t> shape,
               StringRef bytes) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code)
    return npyError(path, code.message());
  std::string header = makeHeader(type, shape);
  char size[2];
  endian::write16le(size, header.size());
  os << kMagic << '\x01' << '\0' << StringRef(size, 2) << header << bytes;
  os.close();
  if (!os.has_error())
    return Error::success();
  std::string message = os.error().message();
  os.clear_error();
  return npyError(path, message);
}

Error writeNpy(StringRef path, const Tensor &tensor) {
  std::string bytes(8 * tensor.size(), '\0');
  for (size_t i = 0; i < tensor.size(); ++i)
    endian::write64le(&bytes[8 * i],
                      tensor.isFloat()
                          ? llvm::bit_cast<uint64_t>(tensor.floats[i])
                          : uint64_t(tensor.integers[i]));
  return writeNpy(path, tensor.isFloat() ? "<f8" : "<i8", tensor.shape, bytes);
}

} // namespace zc::interpreter
