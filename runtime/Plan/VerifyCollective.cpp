#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Collective/Cost.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <functional>
#include <set>

namespace zc {
namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

struct Operands {
  const plan::Buffer *source, *destination;
  const plan::Buffer *workspace; // may be null
};

Result<Operands> operandsOf(const plan::Program &program,
                            const plan::CollectiveCall &call) {
  auto at = [&](uint32_t index) {
    return index < uint32_t(program.buffers_size())
               ? &program.buffers(int(index))
               : nullptr;
  };
  Operands operands{at(call.source()), at(call.destination()),
                    call.has_workspace() ? at(call.workspace()) : nullptr};
  if (!operands.source || !operands.destination ||
      (call.has_workspace() && !operands.workspace))
    return bad("one of its buffers does not exist");
  return operands;
}

Status verifyAxes(const plan::CollectiveCall &call, const Mesh &mesh) {
  if (call.axes_size() == 0)
    return bad("it is along no axis");
  std::set<std::string> seen;
  for (const std::string &axis : call.axes())
    if (!mesh.has(axis) || !seen.insert(axis).second)
      return bad("'", axis, "' is no axis of the mesh or is there twice");
  return Status();
}

bool sharesBytes(const plan::Buffer &a, const plan::Buffer &b) {
  // Offsets in flight are in a slot of a ring.
  return a.space() == b.space() &&
         (a.space() != plan::FLIGHT || a.ring() == b.ring()) &&
         a.offset() < b.offset() + *byteCount(b.type()) &&
         b.offset() < a.offset() + *byteCount(a.type());
}

Status verifyShapes(const plan::CollectiveCall &call, const Operands &operands,
                    uint64_t ranks) {
  const plan::TensorType &from = operands.source->type();
  const plan::TensorType &to = operands.destination->type();
  const uint64_t in = *elementCount(from), out = *elementCount(to);
  bool fits = from.dtype() == to.dtype();
  switch (call.kind()) {
  case plan::ALL_GATHER:
  case plan::GATHER:
    fits = fits && out == in * ranks;
    break;
  case plan::REDUCE_SCATTER:
  case plan::SCATTER:
    fits = fits && in == out * ranks;
    break;
  case plan::ALL_TO_ALL:
    fits = fits && in == out && in % ranks == 0;
    break;
  default:
    fits = fits && in == out;
    break;
  }
  if (!fits)
    return bad("it goes from ", printType(from), " to ", printType(to),
               " among ", ranks, " ranks");
  return Status();
}

bool reduces(plan::CollectiveKind kind) {
  return kind == plan::ALL_REDUCE || kind == plan::REDUCE_SCATTER ||
         kind == plan::REDUCE;
}

bool isReducible(plan::DataType type) {
  return type == plan::F32 || type == plan::F64 || type == plan::BF16 ||
         type == plan::F16 || type == plan::I32 || type == plan::I64;
}

Status verifyPlaces(const plan::CollectiveCall &call,
                    const Operands &operands) {
  const plan::Buffer &from = *operands.source, &to = *operands.destination;
  bool inPlace =
      call.kind() == plan::ALL_REDUCE || call.kind() == plan::BROADCAST;
  bool same = from.space() == to.space() && from.offset() == to.offset();
  if (sharesBytes(from, to) && !(inPlace && same))
    return bad("its source and its destination overlap");
  if (!operands.workspace)
    return Status();
  const plan::Buffer &workspace = *operands.workspace;
  if (workspace.type().dtype() != plan::U8 ||
      workspace.type().dims_size() != 1 ||
      workspace.offset() % elementBytes(from.type().dtype()) != 0)
    return bad("its workspace is ", printType(workspace.type()), " at ",
               workspace.offset());
  if (sharesBytes(workspace, from) || sharesBytes(workspace, to))
    return bad("its workspace overlaps what is sent or received");
  return Status();
}

} // namespace

/// Ranks of a collective's group.
static int64_t ranksOf(const plan::CollectiveCall &call, const Mesh &mesh) {
  return call.holders_size() ? call.holders_size()
                             : mesh.groupSize(call.axes());
}

static Status verifyHolders(const plan::CollectiveCall &call,
                            const Mesh &mesh) {
  if (call.holders_size() == 0)
    return Status();
  const auto &holders = call.holders();
  bool ascends = std::adjacent_find(holders.begin(), holders.end(),
                                    std::greater_equal<>()) == holders.end();
  if (call.axes_size() == 1 && call.axes(0) == axes::kRole && ascends &&
      int64_t(*holders.rbegin()) < mesh.groupSize(call.axes()))
    return Status();
  return bad("its holders are no ascending coordinates along pp");
}

CollectiveShape shapeOf(const plan::Program &program,
                        const plan::CollectiveCall &call, const Mesh &mesh) {
  const plan::TensorType &from = program.buffers(int(call.source())).type();
  const plan::TensorType &to = program.buffers(int(call.destination())).type();
  return {call.kind(),
          call.algorithm(),
          ranksOf(call, mesh),
          int64_t(std::max(*elementCount(from), *elementCount(to))),
          int64_t(elementBytes(from.dtype())),
          int64_t(call.root()),
          call.shift()};
}

Status verifyCollective(const plan::Program &program,
                        const plan::CollectiveCall &call, const Mesh &mesh) {
  if (!plan::CollectiveKind_IsValid(call.kind()) ||
      !plan::CollectiveReduction_IsValid(call.reduction()) ||
      !plan::CollectiveAlgorithm_IsValid(call.algorithm()) ||
      !plan::TrafficKind_IsValid(call.traffic()))
    return bad("its collective is of no known kind");
  ZC_RETURN_IF_ERROR(verifyAxes(call, mesh));
  ZC_ASSIGN_OR_RETURN(Operands operands, operandsOf(program, call));
  ZC_RETURN_IF_ERROR(verifyHolders(call, mesh));
  const uint64_t ranks = uint64_t(ranksOf(call, mesh));
  ZC_RETURN_IF_ERROR(verifyShapes(call, operands, ranks));
  ZC_RETURN_IF_ERROR(verifyPlaces(call, operands));
  if (reduces(call.kind()) && !isReducible(operands.source->type().dtype()))
    return bad("it reduces ", printType(operands.source->type()));
  if (call.root() >= ranks)
    return bad("its root is rank ", call.root(), " of ", ranks);
  const CollectiveCost cost = costOf(shapeOf(program, call, mesh));
  if (operands.workspace &&
      *byteCount(operands.workspace->type()) < cost.workspaceBytes)
    return bad("its workspace has ", *byteCount(operands.workspace->type()),
               " bytes, not ", cost.workspaceBytes);
  if (call.sent_bytes() != cost.sentBytes || call.steps() != cost.steps)
    return bad("it claims ", call.steps(), " steps and ", call.sent_bytes(),
               " bytes sent; it takes ", cost.steps, " and ", cost.sentBytes);
  return Status();
}

} // namespace zc
