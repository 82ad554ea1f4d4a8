// Collectives along the axis of roles are issued by several of them, each in
// programs of its own. One that a role issues before another and a second role
// behind it never ends, or mixes two values up.
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Channels.h"
#include "runtime/Plan/Mesh.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace zc {
namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

/// A collective as the roles that take part in it must agree upon.
struct Issued {
  std::vector<std::string> axes;
  std::vector<uint32_t> holders; // empty: all roles
  uint32_t stream;
  plan::CollectiveKind kind;
  plan::CollectiveReduction reduction;
  plan::DataType dtype;
  uint64_t source, destination; // elements
  uint32_t root;
  int64_t shift;

  bool involves(uint32_t role) const {
    return holders.empty() ||
           std::find(holders.begin(), holders.end(), role) != holders.end();
  }
  bool operator==(const Issued &other) const {
    return std::tie(axes, holders, stream, kind, reduction, dtype, source,
                    destination, root, shift) ==
           std::tie(other.axes, other.holders, other.stream, other.kind,
                    other.reduction, other.dtype, other.source,
                    other.destination, other.root, other.shift);
  }
};

/// By program, in the order in which a role issues them.
using Sequences = std::map<std::string, std::vector<Issued>>;

/// Programs that every role runs once, when all its messages have ended: in
/// others a role would wait for one that waits for its message.
bool isCommon(const std::string &program) {
  return program == programs::kApply || program == programs::kCompressedApply;
}

Status addProgram(const plan::Program &program, uint32_t role, bool hasServer,
                  Sequences &sequences) {
  // A server and its workers run the same programs in the same order.
  const std::string roleAxis = hasServer ? axes::kSample : axes::kRole;
  for (const plan::Instruction &instruction : program.instructions()) {
    if (!instruction.has_collective())
      continue;
    const plan::CollectiveCall &call = instruction.collective();
    if (std::count(call.axes().begin(), call.axes().end(), roleAxis) == 0)
      continue;
    if (!hasServer && !isCommon(program.name()))
      return bad(
          "program '", program.name(),
          "' has a collective among roles, which only programs that end a "
          "step may have");
    if (call.holders_size() > 0 &&
        std::count(call.holders().begin(), call.holders().end(), role) == 0)
      return bad("program '", program.name(),
                 "' has a collective of other roles");
    const auto &from = program.buffers(int(call.source())).type();
    const auto &to = program.buffers(int(call.destination())).type();
    sequences[program.name()].push_back(
        {{call.axes().begin(), call.axes().end()},
         {call.holders().begin(), call.holders().end()},
         instruction.stream(),
         call.kind(),
         call.reduction(),
         from.dtype(),
         *elementCount(from),
         *elementCount(to),
         call.root(),
         call.shift()});
  }
  return Status();
}

/// Each set of ranks and each stream of collectives has a channel of its own.
Status verifyChannels(const plan::Manifest &manifest) {
  std::set<
      std::tuple<std::vector<std::string>, std::vector<uint32_t>, uint32_t>>
      groups;
  for (const plan::Role &role : manifest.roles())
    for (const plan::Program &program : role.programs())
      for (const plan::Instruction &instruction : program.instructions()) {
        if (!instruction.has_collective())
          continue;
        const plan::CollectiveCall &call = instruction.collective();
        groups.insert({{call.axes().begin(), call.axes().end()},
                       {call.holders().begin(), call.holders().end()},
                       instruction.stream()});
      }
  if (groups.size() < kGroupChannels) // the driver has one more
    return Status();
  return bad("its collectives are among ", groups.size(),
             " groups of ranks, more than ", kGroupChannels - 1);
}

/// The collectives that both roles take part in.
std::vector<Issued> shared(const std::vector<Issued> &all, uint32_t a,
                           uint32_t b) {
  std::vector<Issued> both;
  std::copy_if(
      all.begin(), all.end(), std::back_inserter(both),
      [&](const Issued &each) { return each.involves(a) && each.involves(b); });
  return both;
}

} // namespace

Status verifyRoleCollectives(const plan::Manifest &manifest) {
  ZC_RETURN_IF_ERROR(verifyChannels(manifest));
  const uint32_t count = uint32_t(manifest.roles_size());
  std::vector<Sequences> roles(count);
  std::set<std::string> names;
  for (uint32_t role = 0; role < count; ++role) {
    for (const plan::Program &program : manifest.roles(int(role)).programs())
      if (Status status = addProgram(program, role,
                                     hasParameterServer(manifest), roles[role]);
          !status.ok())
        return status.withContext(strCat("role ", role));
    for (const auto &[name, issued] : roles[role])
      names.insert(name);
  }
  for (const std::string &name : names)
    for (uint32_t a = 0; a < count; ++a)
      for (uint32_t b = a + 1; b < count; ++b)
        if (!(shared(roles[a][name], a, b) == shared(roles[b][name], a, b)))
          return bad("program '", name, "': the collectives that roles ", a,
                     " and ", b,
                     " both take part in differ between them, or come in "
                     "another order");
  return Status();
}

} // namespace zc
