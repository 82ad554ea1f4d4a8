// Checks how states, units, inputs and outputs are sharded.
#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>
#include <set>

namespace zc {
namespace {

template <typename... Parts> Status bad(const Parts &...parts) {
  return makeError(StatusCode::Corrupt, parts...);
}

/// Axes that are in use already, and those of `axes`, each once.
Status claimAxes(const Mesh &mesh, const AxisNames &axes,
                 std::set<std::string> &used) {
  for (const std::string &axis : axes) {
    if (!mesh.has(axis))
      return bad("it is divided along '", axis,
                 "', which is no axis of the mesh");
    if (!used.insert(axis).second)
      return bad("it is divided along '", axis, "' twice");
  }
  return Status();
}

Status claimSharding(const Mesh &mesh, const plan::Sharding &sharding, int dims,
                     std::set<std::string> &used) {
  if (sharding.dims_size() > dims)
    return bad("its sharding has ", sharding.dims_size(), " dims, not ", dims);
  for (const plan::DimSharding &dim : sharding.dims())
    ZC_RETURN_IF_ERROR(claimAxes(mesh, dim.axes(), used));
  return Status();
}

/// The part that a rank has of a dim.
int64_t partOf(const Mesh &mesh, const plan::Sharding &sharding, int dim,
               int64_t whole) {
  int64_t parts = dim < sharding.dims_size()
                      ? mesh.groupSize(sharding.dims(dim).axes())
                      : 1;
  return whole / parts + (whole % parts != 0);
}

/// Blocks make up their dim, and divide evenly.
Status verifyBlocks(const plan::Sharding &sharding,
                    const plan::TensorType &whole, const Mesh &mesh) {
  for (int i = 0; i < sharding.dims_size(); ++i) {
    const plan::DimSharding &dim = sharding.dims(i);
    if (dim.blocks_size() == 0)
      continue;
    const int64_t parts = mesh.groupSize(dim.axes());
    int64_t left = whole.dims(i);
    for (int64_t block : dim.blocks()) {
      if (block < 1 || block > left || block % parts != 0)
        return bad("dim ", i, " of ", whole.dims(i), " has a block of ", block,
                   " for ", parts, " parts");
      left -= block;
    }
    if (left != 0)
      return bad("the blocks of dim ", i, " leave ", left, " of its ",
                 whole.dims(i), " elements");
  }
  return Status();
}

Status verifyWhole(const plan::State &state, const Mesh &mesh) {
  if (state.whole_dims_size() == 0 && state.sharding().dims_size() == 0)
    return Status();
  plan::TensorType whole = state.type();
  *whole.mutable_dims() = state.whole_dims();
  ZC_RETURN_IF_ERROR(byteCount(whole).status());
  bool agrees = state.whole_dims_size() == state.type().dims_size();
  for (int i = 0; agrees && i < whole.dims_size(); ++i)
    agrees = state.type().dims(i) ==
             partOf(mesh, state.sharding(), i, whole.dims(i));
  if (!agrees)
    return bad("a rank has ", printDims(state.type().dims()), " of ",
               printDims(whole.dims()), ", which is not its share");
  return verifyBlocks(state.sharding(), whole, mesh);
}

Status verifyMember(const plan::State &unit, const plan::UnitMember &member,
                    const Mesh &mesh, std::set<std::string> used,
                    uint64_t &end) {
  ZC_RETURN_IF_ERROR(byteCount(member.type()).status());
  if (member.type().dtype() != unit.type().dtype())
    return bad("it is ", printType(member.type()), " in ",
               printType(unit.type()));
  ZC_RETURN_IF_ERROR(
      claimSharding(mesh, member.sharding(), member.type().dims_size(), used));
  ZC_RETURN_IF_ERROR(verifyBlocks(member.sharding(), member.type(), mesh));
  uint64_t elements = 1;
  for (int i = 0; i < member.type().dims_size(); ++i)
    elements *=
        uint64_t(partOf(mesh, member.sharding(), i, member.type().dims(i)));
  const uint64_t length = uint64_t(
      unit.whole_dims_size() ? unit.whole_dims(0) : unit.type().dims(0));
  if (member.offset() < end || member.offset() > length ||
      elements > length - member.offset())
    return bad("elements ", member.offset(), " to ", member.offset(), " + ",
               elements, " overlap another member or the end of the unit's ",
               length);
  end = member.offset() + elements;
  if (member.has_source() && member.source().key().empty())
    return bad("it has a source without a key");
  ZC_RETURN_IF_ERROR(verifySourceType(member.source(), member.type()));
  if (member.has_source() && !member.source().file().empty() &&
      member.source().length() !=
          *byteCount(storedTypeOf(member.source(), member.type())))
    return bad("it does not take the ", member.source().length(), " bytes of '",
               member.source().file(), "' that are its own");
  if (member.onnx_names_size() > 0 && member.onnx_names(0) != member.name())
    return bad("it has another ONNX name, '", member.onnx_names(0), "'");
  if (unit.kind() == plan::OPTIMIZER && member.parameter().empty())
    return bad("it does not say whose optimizer state it is");
  return Status();
}

Status verifyUnit(const plan::State &unit, const Mesh &mesh,
                  const std::set<std::string> &used) {
  if (unit.members_size() == 0)
    return Status();
  if (unit.type().dims_size() != 1 || unit.has_source() ||
      unit.kind() == plan::SCALAR)
    return bad("a unit is a vector without a source of its own, not ",
               printType(unit.type()));
  for (const plan::DimSharding &dim : unit.sharding().dims())
    if (dim.blocks_size() > 0)
      return bad("a unit's members have blocks, not the unit");
  uint64_t end = 0;
  for (const plan::UnitMember &member : unit.members())
    if (Status status = verifyMember(unit, member, mesh, used, end);
        !status.ok())
      return status.withContext("member '" + member.name() + "'");
  return Status();
}

} // namespace

Status verifyStateSharding(const plan::State &state, const Mesh &mesh) {
  std::set<std::string> used;
  ZC_RETURN_IF_ERROR(
      claimSharding(mesh, state.sharding(), state.type().dims_size(), used));
  ZC_RETURN_IF_ERROR(verifyWhole(state, mesh));
  ZC_RETURN_IF_ERROR(verifyUnit(state, mesh, used));
  if (!isCoordinate(state))
    return Status();
  std::string axis =
      state.name().substr(std::char_traits<char>::length(kCoordinatePrefix));
  if (!mesh.has(axis) || state.type().dtype() != plan::I64 ||
      *elementCount(state.type()) != 1)
    return bad("it is ", printType(state.type()),
               ", not one int64 along an axis of the mesh");
  return Status();
}

/// Checks an input or output of which the host feeds or reads a part.
template <typename Message>
static Status verifyHostSharding(const Message &message,
                                 const plan::TensorType &type,
                                 const Mesh &mesh) {
  std::set<std::string> used;
  ZC_RETURN_IF_ERROR(claimAxes(mesh, message.batch_axes(), used));
  if (message.batch_axes_size() > 0 && message.batch_dim() < 0)
    return bad("its samples are divided, but it counts none");
  ZC_RETURN_IF_ERROR(
      claimSharding(mesh, message.sharding(), type.dims_size(), used));
  int divided = 0;
  for (int i = 0; i < message.sharding().dims_size(); ++i) {
    const plan::DimSharding &dim = message.sharding().dims(i);
    if (dim.axes_size() == 0 && dim.blocks_size() == 0)
      continue;
    // Tokens, behind the samples.
    if (++divided > 1 || i <= message.batch_dim() || dim.blocks_size() > 0)
      return makeError(StatusCode::Unsupported,
                       "dims of it beside the samples and one behind them are "
                       "divided among ranks; this version cannot feed that");
    if (message.whole_dims_size() != type.dims_size() ||
        message.whole_dims(i) != type.dims(i) * mesh.groupSize(dim.axes()))
      return bad("its part is ", printType(type), ", which is not one of ",
                 mesh.groupSize(dim.axes()), " of the whole");
  }
  return Status();
}

Status verifyInputSharding(const plan::Input &input,
                           const plan::TensorType &type, const Mesh &mesh) {
  return verifyHostSharding(input, type, mesh);
}

Status verifyOutputSharding(const plan::Output &output,
                            const plan::TensorType &type, const Mesh &mesh) {
  ZC_RETURN_IF_ERROR(verifyHostSharding(output, type, mesh));
  if (!output.zigzag())
    return Status();
  for (int i = 0; i < output.sharding().dims_size(); ++i)
    if (output.sharding().dims(i).axes_size() > 0 && type.dims(i) % 2 == 0)
      return Status();
  return bad("its tokens are in two chunks a rank, but no dim has them");
}

} // namespace zc
