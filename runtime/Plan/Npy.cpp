#include "runtime/Plan/Npy.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/ZipFormat.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

namespace zc {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kAlignment = 64;
constexpr size_t kMaxRank = 64;

Status corrupt(const std::string &why) {
  return makeError(StatusCode::Corrupt, "not a sound .npy file: ", why);
}

/// A parsed header.
struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> dims;
};

/// Reads the Python dictionary of a header: three known keys, whose values are
/// a string, True or False, and a tuple of integers.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : rest(text) {}

  Result<Header> parse() {
    bool hasDescr = false, hasOrder = false, hasShape = false;
    if (!take('{'))
      return damaged();
    while (!take('}')) {
      std::optional<std::string> key = quoted();
      if (!key || !take(':'))
        return damaged();
      bool sound = false;
      if (*key == "descr")
        sound = hasDescr = parseDescr();
      else if (*key == "fortran_order")
        sound = hasOrder = parseOrder();
      else if (*key == "shape")
        sound = hasShape = parseShape();
      if (!sound)
        return damaged();
      take(',');
    }
    if (!hasDescr || !hasOrder || !hasShape)
      return damaged();
    return header;
  }

private:
  static Status damaged() {
    return corrupt("its header is damaged or describes a structured array");
  }
  void skipSpace() {
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\n'))
      rest.remove_prefix(1);
  }
  bool take(char c) {
    skipSpace();
    if (rest.empty() || rest[0] != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (rest.substr(0, word.size()) != word)
      return false;
    rest.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> quoted() {
    skipSpace();
    char quote = rest.empty() ? 0 : rest[0];
    if (quote != '\'' && quote != '"')
      return std::nullopt;
    size_t end = rest.find(quote, 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string text(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
    return text;
  }
  bool parseDescr() {
    std::optional<std::string> text = quoted();
    if (text)
      header.descr = *text;
    return text.has_value();
  }
  bool parseOrder() {
    header.fortran = takeWord("True");
    return header.fortran || takeWord("False");
  }
  bool parseShape() {
    if (!take('('))
      return false;
    while (!take(')')) {
      int64_t value = 0;
      size_t digits = 0;
      skipSpace();
      for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9';
           ++digits)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, rest[digits] - '0', &value))
          return false;
      if (digits == 0 || header.dims.size() == kMaxRank)
        return false;
      rest.remove_prefix(digits);
      header.dims.push_back(value);
      take(',');
    }
    return true;
  }

  std::string_view rest;
  Header header;
};

/// Copies a column-major array into row-major order.
std::shared_ptr<std::string> toRowMajor(std::string_view data,
                                        const std::vector<int64_t> &dims,
                                        size_t itemSize) {
  auto out = std::make_shared<std::string>(data.size(), '\0');
  std::vector<int64_t> index(dims.size(), 0);
  std::vector<uint64_t> strides(dims.size(), 1);
  for (size_t i = 1; i < dims.size(); ++i)
    strides[i] = strides[i - 1] * dims[i - 1];
  for (size_t at = 0; at < data.size(); at += itemSize) {
    uint64_t from = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      from += index[i] * strides[i];
    std::memcpy(out->data() + at, data.data() + from * itemSize, itemSize);
    for (size_t i = dims.size(); i-- > 0;) {
      if (++index[i] < dims[i])
        break;
      index[i] = 0;
    }
  }
  return out;
}

/// The element type, from a description such as "<f4".
Status readDescr(const std::string &descr, NpyArray &array) {
  bool sound = descr.size() == 3 && descr[2] >= '1' && descr[2] <= '8';
  char order = sound ? descr[0] : '?';
  array.kind = sound ? descr[1] : '?';
  array.itemSize = sound ? descr[2] - '0' : 1;
  bool power = (array.itemSize & (array.itemSize - 1)) == 0;
  bool known = (array.kind == 'b' && array.itemSize == 1) ||
               ((array.kind == 'i' || array.kind == 'u') && power) ||
               (array.kind == 'f' && power && array.itemSize > 1);
  bool native = order == '<' || order == '|' || order == '=';
  if (known && native)
    return Status();
  return makeError(StatusCode::Unsupported, "elements of type '", descr,
                   "' cannot be read; convert the array to a little-endian "
                   "number type");
}

/// Where the header's text begins, by the file's version.
Result<size_t> textBegin(std::string_view bytes) {
  if (bytes.size() < 10 || bytes.substr(0, kMagic.size()) != kMagic)
    return corrupt("it does not begin as one");
  int version = static_cast<uint8_t>(bytes[6]);
  if (version < 1 || version > 3)
    return makeError(StatusCode::Unsupported, ".npy format version ", version,
                     " is not known");
  const size_t begin = version == 1 ? 10 : kNpyHeaderStart;
  return bytes.size() < begin ? Result<size_t>(corrupt("it is too short"))
                              : Result<size_t>(begin);
}

} // namespace

std::string NpyArray::print() const {
  std::string type = kind == 'b'   ? "bool"
                     : kind == 'i' ? "int"
                     : kind == 'u' ? "uint"
                                   : "float";
  if (kind != 'b')
    type += std::to_string(itemSize * 8);
  return type + " " + printDims(dims);
}

Result<size_t> npyHeaderSize(std::string_view start) {
  ZC_ASSIGN_OR_RETURN(size_t begin, textBegin(start));
  const char *at = start.data() + 8;
  return begin + (begin == kNpyHeaderStart ? zip::load<uint32_t>(at)
                                           : zip::load<uint16_t>(at));
}

Result<NpyHeader> parseNpyHeader(std::string_view bytes) {
  ZC_ASSIGN_OR_RETURN(size_t begin, textBegin(bytes));
  ZC_ASSIGN_OR_RETURN(size_t end, npyHeaderSize(bytes));
  if (end > bytes.size())
    return corrupt("its header is longer than the file");
  ZC_ASSIGN_OR_RETURN(Header header,
                      HeaderParser(bytes.substr(begin, end - begin)).parse());
  NpyHeader result;
  NpyArray &array = result.array;
  ZC_RETURN_IF_ERROR(readDescr(header.descr, array));
  array.dims = header.dims;
  result.isFortran = header.fortran && header.dims.size() > 1;
  result.bytes = array.itemSize;
  for (int64_t dim : array.dims)
    if (__builtin_mul_overflow(result.bytes, uint64_t(dim), &result.bytes))
      return corrupt("its shape is impossibly large");
  return result;
}

Result<NpyArray> parseNpy(std::string_view bytes,
                          std::shared_ptr<const void> owner) {
  ZC_ASSIGN_OR_RETURN(NpyHeader header, parseNpyHeader(bytes));
  ZC_ASSIGN_OR_RETURN(size_t begin, npyHeaderSize(bytes));
  NpyArray &array = header.array;
  array.owner = std::move(owner);
  if (header.bytes > bytes.size() - begin)
    return corrupt(strCat("it has ", bytes.size() - begin, " bytes of data; ",
                          array.print(), " needs ", header.bytes));
  array.data = bytes.substr(begin, header.bytes);
  if (header.isFortran) {
    auto copy = toRowMajor(array.data, array.dims, array.itemSize);
    array.data = *copy;
    array.owner = std::move(copy);
  }
  return std::move(array);
}

std::string makeNpyHeader(plan::DataType type,
                          const std::vector<int64_t> &dims) {
  assert(type != plan::BF16 && "NumPy has no bfloat16");
  std::string name = typeName(type);
  char kind = name[0] == 'b' ? 'b' : name[0];
  std::string descr = (elementBytes(type) == 1 ? "|" : "<") +
                      std::string(1, kind) + std::to_string(elementBytes(type));
  std::string shape = "(";
  for (size_t i = 0; i < dims.size(); ++i)
    shape += (i ? ", " : "") + std::to_string(dims[i]);
  if (dims.size() == 1)
    shape += ","; // Python's tuple of one
  std::string text = "{'descr': '" + descr +
                     "', 'fortran_order': False, 'shape': " + shape + "), }";
  uint64_t total = 10 + text.size() + 1;
  text.append((kAlignment - total % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  zip::append<uint16_t>(header, static_cast<uint16_t>(text.size()));
  return header + text;
}

} // namespace zc
