#include "test/unit/runtime/Device/Cuda/PtxMachine.h"
#include "test/unit/runtime/Device/Cuda/PtxMatrices.h"
#include "test/unit/runtime/Device/Cuda/PtxText.h"
#include "test/unit/runtime/Device/Cuda/PtxThread.h"
#include "test/unit/runtime/Device/Cuda/PtxValues.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <type_traits>

namespace zc::test {

namespace {

using Work = std::function<void(PtxThread &)>;

/// An instruction's operand: a register, a number, or a place in memory.
struct Read {
  enum { Register, Number, Thread, Team, Threads, Shared, Local } kind;
  uint64_t value = 0; // the register, the number, or bytes from the beginning

  uint64_t operator()(PtxThread &t) const {
    switch (kind) {
    case Register:
      return t.registers[value];
    case Number:
      return value;
    case Thread:
      return t.thread;
    case Team:
      return t.team;
    case Threads:
      return t.threads;
    case Shared:
      return reinterpret_cast<uintptr_t>(t.shared + value);
    default:
      return reinterpret_cast<uintptr_t>(t.local.data() + value);
    }
  }
};

[[noreturn]] void unknown(const std::string &line) {
  std::fprintf(stderr, "PTX machine: cannot run '%s'\n", line.c_str());
  std::abort();
}

/// Makes a kernel of the lines of one entry.
class Parser {
public:
  explicit Parser(PtxKernel &kernel) : kernel(kernel) {}

  void parameter(const std::string &name) {
    parameters[name] = kernel.parameters.size();
    kernel.parameters.push_back(name);
  }

  void line(std::string text) {
    text = trim(text.substr(0, text.find("//")));
    // A half of a register, as LLVM writes it before PTX 7.1.
    for (const std::string move : {"mov.b32 {", "mov.b64 {"}) {
      const std::string half = move == "mov.b32 {" ? "b16" : "b32";
      const std::string upper = "{ .reg ." + half + " tmp; " + move + "tmp,";
      if (text.compare(0, upper.size(), upper) == 0)
        text = move + "_," + text.substr(upper.size());
      const std::string lower = "{ .reg ." + half + " tmp; " + move;
      if (size_t unread = text.find(", tmp}");
          text.compare(0, lower.size(), lower) == 0 &&
          unread != std::string::npos)
        text = move + text.substr(lower.size(), unread - lower.size()) +
               ", _}" + text.substr(unread + 6);
    }
    if (text.empty() || text == "{" || text == "}" || text == "(")
      return;
    if (text.back() == ':') {
      labels[text.substr(0, text.size() - 1)] = kernel.code.size();
    } else if (text.compare(0, 7, ".shared") == 0) {
      place(text, kernel.sharedBytes, sharedAt);
    } else if (text.compare(0, 6, ".local") == 0) {
      place(text, kernel.localBytes, localAt);
    } else if (text[0] != '.') {
      instruction(text.substr(0, text.find(';')));
    }
  }

  void finish() {
    for (auto &[at, label] : jumps)
      *at = labels.at(label);
    kernel.registers = registers.size();
  }

private:
  using Types = std::vector<std::string>;

  /// ".shared .align 4 .b8 name[2048];" or ".shared .align 4 .f32 name;"
  static void place(const std::string &text, uint64_t &size,
                    std::map<std::string, uint64_t> &where) {
    size_t end = text.find_first_of("[;");
    size_t begin = text.find_last_of(" \t", end) + 1;
    size = (size + 15) / 16 * 16;
    where[text.substr(begin, end - begin)] = size;
    size += text[end] == '[' ? uint64_t(std::atoll(text.c_str() + end + 1))
                             : sizeof(uint64_t);
  }

  size_t slot(const std::string &name) {
    return registers.try_emplace(name, registers.size()).first->second;
  }

  /// The value of a register, a literal, or the address of a variable.
  Read read(const std::string &text) {
    if (text == "%tid.x")
      return {Read::Thread};
    if (text == "%ctaid.x")
      return {Read::Team};
    if (text == "%ntid.x")
      return {Read::Threads};
    if (text[0] == '%')
      return {Read::Register, slot(text)};
    if (auto found = sharedAt.find(text); found != sharedAt.end())
      return {Read::Shared, found->second};
    if (auto found = localAt.find(text); found != localAt.end())
      return {Read::Local, found->second};
    return {Read::Number, literal(text)};
  }

  static uint64_t literal(const std::string &text) {
    if (text.compare(0, 2, "0f") == 0 || text.compare(0, 2, "0d") == 0)
      return std::strtoull(text.c_str() + 2, nullptr, 16);
    bool number = !text.empty() && (std::isdigit(text[0]) || text[0] == '-');
    if (!number)
      unknown(text);
    return text[0] == '-' ? uint64_t(std::strtoll(text.c_str(), nullptr, 0))
                          : std::strtoull(text.c_str(), nullptr, 0);
  }

  /// "[%rd1+4]" or "[name]".
  auto address(const std::string &text) {
    std::string inner = text.substr(1, text.size() - 2);
    size_t plus = inner.find('+');
    Read base = read(trim(inner.substr(0, plus)));
    int64_t offset = plus == std::string::npos
                         ? 0
                         : std::strtoll(inner.c_str() + plus + 1, nullptr, 0);
    return [=](PtxThread &t) { return base(t) + uint64_t(offset); };
  }

  static std::vector<std::string> elements(const std::string &text) {
    if (text[0] != '{')
      return {text};
    return operandsOf(text.substr(1, text.size() - 2));
  }

  void emit(Work work) { kernel.code.push_back(std::move(work)); }

  template <typename Value> void set(const std::string &target, Value value) {
    size_t index = slot(target);
    emit([=](PtxThread &t) { t.registers[index] = value(t); });
  }

  void instruction(const std::string &text) {
    current = text;
    std::string rest = text, guard;
    if (rest[0] == '@') {
      size_t space = rest.find_first_of(" \t");
      guard = rest.substr(1, space - 1);
      rest = trim(rest.substr(space));
    }
    size_t space = rest.find_first_of(" \t");
    std::string name = rest.substr(0, space);
    Types parts = split(name, '.');
    auto operands =
        operandsOf(space == std::string::npos ? "" : rest.substr(space));
    if (parts[0] == "bra")
      return branch(guard, operands[0]);
    if (!guard.empty())
      unknown(text);
    if (!control(parts, operands) && !matrices(parts, operands) &&
        !memory(parts, operands) && !move(parts, operands) &&
        !arithmetic(parts, operands))
      unknown(text);
  }

  void branch(const std::string &guard, const std::string &label) {
    auto target = std::make_shared<size_t>(0);
    jumps.push_back({target, label});
    if (guard.empty())
      return emit([=](PtxThread &t) { t.pc = *target; });
    bool negated = guard[0] == '!';
    Read condition = read(guard.substr(negated ? 1 : 0));
    emit([=](PtxThread &t) {
      if ((condition(t) != 0) != negated)
        t.pc = *target;
    });
  }

  bool control(const Types &parts, const std::vector<std::string> &operands) {
    if (parts[0] == "ret") {
      emit([](PtxThread &t) { t.stop = Stop::Done; });
    } else if (parts[0] == "bar") {
      Read count = read(operands.size() > 1 ? operands[1] : "0");
      emit([=](PtxThread &t) {
        t.expected = unsigned(count(t));
        t.stop = Stop::Barrier;
      });
    } else if (parts[0] == "shfl" && parts[2] == "bfly") {
      size_t target = slot(operands[0].substr(0, operands[0].find('|')));
      Read value = read(operands[1]), mask = read(operands[2]);
      emit([=](PtxThread &t) {
        t.sent = uint32_t(value(t));
        t.mask = uint32_t(mask(t));
        t.received = target;
        t.stop = Stop::Shuffle;
      });
    } else {
      return false;
    }
    return true;
  }

  bool matrices(const Types &parts, const std::vector<std::string> &operands) {
    if (parts[0] != "ldmatrix" && parts[0] != "mma")
      return false;
    PtxOperands all;
    for (const std::string &target : elements(operands[0]))
      all.written.push_back(slot(target));
    for (size_t i = 1; i < operands.size(); ++i) {
      auto &words = all.read.emplace_back();
      if (operands[i][0] == '[')
        words.push_back(address(operands[i]));
      else
        for (const std::string &word : elements(operands[i]))
          words.push_back(read(word));
    }
    auto work = std::make_shared<PtxWarpWork>(makeMatrixWork(parts, all));
    if (!*work)
      return false;
    emit([work](PtxThread &t) {
      t.work = work.get();
      t.stop = Stop::Matrices;
    });
    return true;
  }

  bool memory(const Types &parts, const std::vector<std::string> &operands) {
    bool load = parts[0] == "ld";
    if (!load && parts[0] != "st")
      return false;
    if (load && parts[1] == "param") {
      std::string name = operands[1].substr(1, operands[1].size() - 2);
      size_t index = parameters.at(name);
      set(operands[0], [=](PtxThread &t) { return (*t.arguments)[index]; });
      return true;
    }
    auto base = address(operands[load ? 1 : 0]);
    auto values = elements(operands[load ? 0 : 1]);
    return withType(parts.back(), [&](auto type) {
      using T = decltype(type);
      for (size_t i = 0; i < values.size(); ++i) {
        if (load)
          set(values[i], [=](PtxThread &t) {
            return bitsOf(reinterpret_cast<const T *>(base(t))[i]);
          });
        else
          emit([=, value = read(values[i])](PtxThread &t) {
            reinterpret_cast<T *>(base(t))[i] = as<T>(value(t));
          });
      }
    });
  }

  bool move(const Types &parts, const std::vector<std::string> &operands) {
    if (parts[0] == "cvta") {
      set(operands[0], read(operands[1]));
    } else if (parts[0] == "mov" && operands[0][0] == '{') {
      auto targets = elements(operands[0]);
      unsigned width = 64 / unsigned(targets.size());
      if (parts.back() == "b32")
        width /= 2;
      for (size_t i = 0; i < targets.size(); ++i)
        if (targets[i] != "_")
          set(targets[i], [=, from = read(operands[1])](PtxThread &t) {
            return from(t) >> (i * width) & ((uint64_t(1) << width) - 1);
          });
    } else if (parts[0] == "mov" && operands[1][0] == '{') {
      auto sources = elements(operands[1]);
      unsigned width =
          (parts.back() == "b32" ? 32 : 64) / unsigned(sources.size());
      std::vector<Read> reads;
      for (const std::string &source : sources)
        reads.push_back(read(source));
      set(operands[0], [=](PtxThread &t) {
        uint64_t bits = 0;
        for (size_t i = 0; i < reads.size(); ++i)
          bits |= (reads[i](t) & ((uint64_t(1) << width) - 1)) << (i * width);
        return bits;
      });
    } else if (parts[0] == "mov" && parts.back() == "pred") {
      // True is written as -1, and is one bit all the same.
      set(operands[0], [from = read(operands[1])](PtxThread &t) {
        return uint64_t(from(t) != 0);
      });
    } else if (parts[0] == "mov") {
      set(operands[0], read(operands[1]));
    } else if (parts[0] == "selp") {
      set(operands[0],
          [a = read(operands[1]), b = read(operands[2]),
           p = read(operands[3])](PtxThread &t) { return p(t) ? a(t) : b(t); });
    } else if (parts[0] == "prmt" && parts.size() == 2) {
      set(operands[0], [a = read(operands[1]), b = read(operands[2]),
                        c = read(operands[3])](PtxThread &t) {
        return pickBytes(uint32_t(a(t)) | b(t) << 32, uint32_t(c(t)));
      });
    } else if (parts[0] == "cvt") {
      return conversion(parts, operands);
    } else {
      return false;
    }
    return true;
  }

  /// Two float32 into the halves of a register, the first into the upper one.
  template <typename T> bool pack(const std::vector<std::string> &operands) {
    set(operands[0], [high = read(operands[1]),
                      low = read(operands[2])](PtxThread &t) {
      return bitsOf(T(as<float>(high(t)))) << 16 | bitsOf(T(as<float>(low(t))));
    });
    return true;
  }

  bool conversion(const Types &parts,
                  const std::vector<std::string> &operands) {
    if (parts[parts.size() - 2] == "bf16x2")
      return pack<BFloat16>(operands);
    if (parts[parts.size() - 2] == "f16x2")
      return pack<Half>(operands);
    Rounding how = roundingNamed(parts.size() > 3 ? parts[1] : "");
    bool known = false;
    withType(parts[parts.size() - 2], [&](auto to) {
      withType(parts.back(), [&](auto from) {
        using To = decltype(to);
        using From = decltype(from);
        known = true;
        set(operands[0], [=, value = read(operands[1])](PtxThread &t) {
          return bitsOf(convert<To, From>(how, as<From>(value(t))));
        });
      });
    });
    return known;
  }

  bool arithmetic(const Types &parts,
                  const std::vector<std::string> &operands) {
    const std::string &op = parts[0];
    std::vector<Read> in;
    for (size_t i = 1; i < operands.size(); ++i)
      in.push_back(read(operands[i]));
    if (parts.back() == "f16x2" || parts.back() == "bf16x2")
      return twice(parts, operands);
    bool known = true;
    bool typed = withType(parts.back(), [&](auto type) {
      known = typedArithmetic<decltype(type)>(op, parts, operands[0], in);
    });
    return typed && known;
  }

  /// An instruction on both halves of registers: on each, and put together.
  bool twice(Types parts, const std::vector<std::string> &operands) {
    parts.back().resize(parts.back().size() - 2);
    auto half = [](const std::string &name, int which) {
      return "%" + name + (which ? ".high" : ".low");
    };
    for (int which : {0, 1}) {
      for (size_t i = 1; i < operands.size(); ++i)
        set(half(operands[i], which),
            [which, whole = read(operands[i])](PtxThread &t) {
              return whole(t) >> (16 * which) & 0xffff;
            });
      std::vector<std::string> halves = {half(operands[0], which)};
      for (size_t i = 1; i < operands.size(); ++i)
        halves.push_back(half(operands[i], which));
      if (!arithmetic(parts, halves))
        return false;
    }
    set(operands[0], [low = read(half(operands[0], 0)),
                      high = read(half(operands[0], 1))](PtxThread &t) {
      return (low(t) & 0xffff) | (high(t) & 0xffff) << 16;
    });
    return true;
  }

  template <typename T>
  bool typedArithmetic(const std::string &op, const Types &parts,
                       const std::string &target, const std::vector<Read> &in) {
    auto unary = [&](auto function) {
      set(target, [=, a = in[0]](PtxThread &t) {
        return bitsOf(T(function(as<T>(a(t)))));
      });
      return true;
    };
    if (op == "setp") {
      set(target,
          [by = comparisonNamed(parts[1]), a = in[0], b = in[1]](PtxThread &t) {
            return uint64_t(compare<T>(by, as<T>(a(t)), as<T>(b(t))));
          });
      return true;
    }
    if (op == "neg")
      return unary([](T a) { return T(-a); });
    if constexpr (std::is_floating_point_v<T> || isNarrow<T>)
      return floating<T>(op, parts, target, in, unary);
    else if constexpr (std::is_same_v<T, bool>)
      return op == "not" ? unary([](T a) { return !a; })
                         : binary<T>(op, target, in);
    else
      return integral<T>(op, parts, target, in, unary);
  }

  template <typename T, typename Unary>
  bool floating(const std::string &op, const Types &parts,
                const std::string &target, const std::vector<Read> &in,
                Unary unary) {
    if (op == "abs")
      return unary([](T a) { return T(std::fabs(a)); });
    if (op == "sqrt")
      return unary([](T a) { return T(std::sqrt(a)); });
    if (op == "rcp")
      return unary([](T a) { return T(1 / a); });
    bool keepsNan = std::find(parts.begin(), parts.end(), "NaN") != parts.end();
    if (op == "fma") {
      set(target, [a = in[0], b = in[1], c = in[2]](PtxThread &t) {
        using Wide = std::conditional_t<isNarrow<T>, float, T>;
        return bitsOf(T(
            std::fma(Wide(as<T>(a(t))), Wide(as<T>(b(t))), Wide(as<T>(c(t))))));
      });
      return true;
    }
    if (op == "copysign") { // the first one's sign
      set(target, [from = in[0], to = in[1]](PtxThread &t) {
        using Wide = std::conditional_t<isNarrow<T>, float, T>;
        return bitsOf(
            T(std::copysign(Wide(as<T>(to(t))), Wide(as<T>(from(t))))));
      });
      return true;
    }
    if (keepsNan) {
      set(target,
          [by = binaryNamed(op), left = in[0], right = in[1]](PtxThread &t) {
            T a = as<T>(left(t)), b = as<T>(right(t));
            bool isNan = a != a || b != b;
            return bitsOf(isNan ? T(NAN) : compute<T>(by, a, b));
          });
      return true;
    }
    return binary<T>(op, target, in);
  }

  template <typename T, typename Unary>
  bool integral(const std::string &op, const Types &parts,
                const std::string &target, const std::vector<Read> &in,
                Unary unary) {
    const std::string form = parts.size() > 2 ? parts[1] : "";
    constexpr unsigned width = sizeof(T) * 8;
    using Wide =
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    if (op == "not")
      return unary([](T a) { return T(~a); });
    if (op == "abs")
      return unary([](T a) { return a < 0 ? T(-a) : a; });
    if (op == "shl" || op == "shr") {
      set(target,
          [left = op == "shl", value = in[0], by = in[1]](PtxThread &t) {
            uint32_t places = uint32_t(by(t));
            T a = as<T>(value(t));
            if (places >= width)
              return bitsOf(T(!left && a < 0 ? -1 : 0));
            using U = std::make_unsigned_t<T>;
            return bitsOf(left ? T(U(a) << places) : T(a >> places));
          });
    } else if (op == "mul" && form != "lo") {
      unsigned down = form == "hi" ? width : 0;
      uint64_t kept = form == "wide" && width < 32 ? 0xffffffff : ~uint64_t(0);
      set(target, [a = in[0], b = in[1], down, kept](PtxThread &t) {
        return uint64_t((Wide(as<T>(a(t))) * Wide(as<T>(b(t)))) >> down) & kept;
      });
    } else if (op == "mad") {
      set(target, [wide = form == "wide", a = in[0], b = in[1],
                   c = in[2]](PtxThread &t) {
        Wide product = Wide(as<T>(a(t))) * Wide(as<T>(b(t)));
        if (wide)
          return uint64_t(product + Wide(int64_t(c(t))));
        return bitsOf(T(product + Wide(as<T>(c(t)))));
      });
    } else if (op == "bfe") {
      set(target, [value = in[0], first = in[1], count = in[2]](PtxThread &t) {
        uint32_t from = uint32_t(first(t)), length = uint32_t(count(t));
        T a = T(as<T>(value(t)) >> from);
        unsigned unused = length < width ? width - length : 0;
        using U = std::make_unsigned_t<T>;
        return bitsOf(T(T(U(a) << unused) >> unused));
      });
    } else {
      return binary<T>(op, target, in);
    }
    return true;
  }

  template <typename T>
  bool binary(const std::string &op, const std::string &target,
              const std::vector<Read> &in) {
    Binary by = binaryNamed(op);
    if (in.size() != 2 || by == Binary::None)
      return false;
    set(target, [by, a = in[0], b = in[1]](PtxThread &t) {
      return bitsOf(compute<T>(by, as<T>(a(t)), as<T>(b(t))));
    });
    return true;
  }

  PtxKernel &kernel;
  std::string current;
  std::map<std::string, size_t> registers, labels, parameters;
  std::map<std::string, uint64_t> sharedAt, localAt;
  std::vector<std::pair<std::shared_ptr<size_t>, std::string>> jumps;
};

} // namespace

std::map<std::string, std::shared_ptr<PtxKernel>>
parsePtxKernels(const std::string &text) {
  std::map<std::string, std::shared_ptr<PtxKernel>> kernels;
  std::istringstream lines(text);
  const std::string entry = ".visible .entry ";
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, entry.size(), entry) != 0)
      continue;
    std::string name = line.substr(entry.size(), line.find('(') - entry.size());
    auto kernel = std::make_shared<PtxKernel>();
    Parser parser(*kernel);
    while (std::getline(lines, line) && line != "{")
      if (size_t at = line.find(".param"); at != std::string::npos) {
        std::string parameter = line.substr(line.find_last_of(" \t") + 1);
        if (parameter.back() == ',')
          parameter.pop_back();
        parser.parameter(parameter);
      }
    while (std::getline(lines, line) && line != "}") {
      // Its operands stand on lines of their own.
      if (trim(line).compare(0, 4, "mma.") == 0)
        for (std::string more;
             line.find(';') == std::string::npos && std::getline(lines, more);)
          line += " " + trim(more);
      parser.line(line);
    }
    parser.finish();
    kernels[name] = kernel;
  }
  return kernels;
}

} // namespace zc::test
