// The collectives of a plan, made ready in the groups of ranks that they are
// among.
#ifndef ZC_RUNTIME_EXEC_COLLECTIVES_H
#define ZC_RUNTIME_EXEC_COLLECTIVES_H

#include "runtime/Comm/World.h"
#include "runtime/Exec/Instructions.h"
#include "runtime/Plan/Mesh.h"

#include <map>
#include <tuple>

namespace zc {

/// Host copies of a collective's buffers, for a device whose memory the host
/// cannot read: copied there and back around each run.
struct StagedBuffers {
  std::vector<char> source, destination, workspace;
  void *deviceSource = nullptr, *deviceDestination = nullptr;

  bool inPlace() const { return deviceSource == deviceDestination; }
  char *result() { return (inPlace() ? source : destination).data(); }
  uint64_t resultBytes() const {
    return (inPlace() ? source : destination).size();
  }
};

class Collectives {
public:
  Collectives(World &world, const Mesh &mesh, const plan::Manifest &manifest);

  /// All ranks, before they prepare collectives on memory that the host cannot
  /// read: the device's own library does them where every rank has a device of
  /// its own, which the library asks for; else they are staged.
  Status connect(Device &device);

  /// Behind connect(): makes the groups of these collectives of this rank's own
  /// role. A device's library has ranks wait for one another when they join a
  /// group, and ranks of other roles come to theirs by other programs: all join
  /// in the one order that all lines of the artifact have.
  Status join(const std::vector<const plan::Instruction *> &collectives);

  /// Whether the device's library puts them on its streams.
  bool areOnDevice() const { return !library.empty(); }
  /// The library's plugin ("nccl"); empty: they are not on the device.
  const std::string &deviceLibrary() const { return library; }

  /// All ranks prepare the same collectives in the same order. With `staged`,
  /// which must outlive the collective, it works on those buffers.
  Result<std::unique_ptr<Collective>>
  prepare(const plan::Program &program, const AddressMap &map,
          const plan::Instruction &instruction, StagedBuffers *staged);

  /// Bytes that this rank has sent through all groups so far; none are counted
  /// on a device.
  uint64_t sentBytes() const;

  /// Fails once a collective on the device cannot end.
  Status check();
  /// Ends those that are under way on the device.
  void abort();

private:
  /// A group of ranks and the stream of its collectives: each is a line of its
  /// own, in one order.
  struct Line {
    std::vector<std::string> axes;
    std::vector<uint32_t> holders;
    uint32_t stream;

    static Line of(const plan::Instruction &instruction);
    bool operator<(const Line &other) const {
      return std::tie(axes, holders, stream) <
             std::tie(other.axes, other.holders, other.stream);
    }
  };

  Result<Communicator *> groupOf(const Line &line);
  std::vector<int> membersOf(const Line &line) const;
  Result<std::unique_ptr<Communicator>>
  makeGroup(std::vector<int> members, uint32_t channel, uint32_t stream);

  World &world;
  const Mesh &mesh;
  Device *device = nullptr; // whose library does the collectives
  std::string library;
  /// The numbers of all lines of the artifact, of whichever role: all ranks
  /// have the same. They count from 1; channel 0 is the driver's.
  std::map<Line, uint32_t> channels;
  std::map<Line, std::unique_ptr<Communicator>> groups;
};

} // namespace zc

#endif // ZC_RUNTIME_EXEC_COLLECTIVES_H
