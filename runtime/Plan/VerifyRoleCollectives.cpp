// Collectives along "pp" are issued by several roles, each in programs of its
// own. One that a role issues before another and a second role behind it never
// ends, or mixes two values up.
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace zc {
namespace {

constexpr const char kRoleAxis[] = "pp";

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

/// Who issues collectives together, one after another.
struct Line {
  std::string program;
  std::vector<std::string> axes;
  std::vector<uint32_t> holders; // empty: all roles
  uint32_t stream;

  bool operator<(const Line &other) const {
    return std::tie(program, axes, holders, stream) <
           std::tie(other.program, other.axes, other.holders, other.stream);
  }
};

/// What the ends of a collective must agree upon.
struct Issued {
  plan::CollectiveKind kind;
  plan::CollectiveReduction reduction;
  plan::DataType dtype;
  uint64_t source, destination; // elements
  uint32_t root;
  int64_t shift;

  bool operator==(const Issued &other) const {
    return std::tie(kind, reduction, dtype, source, destination, root, shift) ==
           std::tie(other.kind, other.reduction, other.dtype, other.source,
                    other.destination, other.root, other.shift);
  }
};

using Lines = std::map<Line, std::vector<Issued>>;

/// Programs that every role runs once, at the same point of its order.
bool isCommon(const std::string &program) {
  return program == "apply" || program == kCompressedProgram ||
         program == "eval";
}

Status addProgram(const plan::Program &program, uint32_t role, Lines &lines) {
  for (const plan::Instruction &instruction : program.instructions()) {
    if (!instruction.has_collective())
      continue;
    const plan::CollectiveCall &call = instruction.collective();
    if (std::count(call.axes().begin(), call.axes().end(), kRoleAxis) == 0)
      continue;
    if (!isCommon(program.name()))
      return bad("program '", program.name(),
                 "' has a collective among roles, which only programs that all "
                 "roles run together may have");
    if (call.holders_size() > 0 &&
        std::count(call.holders().begin(), call.holders().end(), role) == 0)
      return bad("program '", program.name(),
                 "' has a collective of other roles");
    const auto &from = program.buffers(int(call.source())).type();
    const auto &to = program.buffers(int(call.destination())).type();
    lines[{program.name(),
           {call.axes().begin(), call.axes().end()},
           {call.holders().begin(), call.holders().end()},
           instruction.stream()}]
        .push_back({call.kind(), call.reduction(), from.dtype(),
                    *elementCount(from), *elementCount(to), call.root(),
                    call.shift()});
  }
  return Status();
}

} // namespace

Status verifyRoleCollectives(const plan::Manifest &manifest) {
  const uint32_t count = uint32_t(manifest.roles_size());
  std::map<Line, std::map<uint32_t, std::vector<Issued>>> all;
  for (uint32_t role = 0; role < count; ++role) {
    Lines lines;
    for (const plan::Program &program : manifest.roles(int(role)).programs())
      if (Status status = addProgram(program, role, lines); !status.ok())
        return status.withContext(strCat("role ", role));
    for (auto &[line, issued] : lines)
      all[line][role] = std::move(issued);
  }
  for (const auto &[line, roles] : all) {
    const size_t expected = line.holders.empty() ? count : line.holders.size();
    const auto &[first, issued] = *roles.begin();
    for (const auto &[role, found] : roles)
      if (!(found == issued))
        return bad("program '", line.program, "' of role ", role,
                   " issues other collectives among roles than that of role ",
                   first);
    if (roles.size() != expected)
      return bad("program '", line.program, "' has collectives among ",
                 expected, " roles, which ", roles.size(), " issue");
  }
  return Status();
}

} // namespace zc
