// A described cluster: how fast its devices are and how they are linked. Read
// from a JSON file whose keys carry their units (tools/clusters/README.md).
#ifndef ZC_RUNTIME_SIMULATE_CLUSTER_H
#define ZC_RUNTIME_SIMULATE_CLUSTER_H

#include "runtime/Base/Status.h"
#include "runtime/Plan/Collective/TimedKinds.h"
#include "runtime/Plan/Manifest.pb.h"
#include "runtime/Simulate/MeasuredTimes.h"
#include "runtime/Simulate/ProductLaw.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zc {

/// The types of products that files list rates of, by their names there.
struct ProductType {
  const char *name;
  plan::DataType type;
};
std::vector<ProductType> listProductTypes();
/// The name of one of them; "f32" for any other type.
const char *nameOfProductType(plan::DataType type);

/// The name of the share of the peak that products reach, beside those of
/// library calls.
inline constexpr char kMatmulRate[] = "matmul";

/// The share of the peak that products reach. With a tile and a number of
/// multiprocessors, whole waves of tiles are computed, of which the last may be
/// partly empty. Measured products take the place of all that.
struct MatmulEfficiency {
  double fraction = 1;
  int64_t tileRows = 0, tileColumns = 0; // 0: no waves
  int64_t multiprocessors = 0;
  MeasuredProducts measured;
};

/// Shares of the peak arithmetic rate, and of the memory's bandwidth.
struct Efficiency {
  MatmulEfficiency matmul;
  /// Shares of library calls by kernels::CallRate::name, and "matmul".
  std::map<std::string, double, std::less<>> calls;
  double kernelFlops = 1, bytes = 1; // generated kernels; any instruction
};

/// The share of the peak at which calls of a rate work.
double shareOf(const Efficiency &efficiency, std::string_view rate);

struct SimulatedDevice {
  std::string name;
  std::string target = "cpu"; // that models are compiled for, or cuda
  uint64_t memoryBytes = 0;   // 0: any
  double bytesPerSecond = 0;
  // By plan::DataType of a product's operands, in FLOP/s; 0: as float32.
  std::array<double, plan::DataType_ARRAYSIZE> flopsPerSecond{};
  double tf32FlopsPerSecond = 0; // products that may be rounded to tf32
  // Whether factors of 8-bit floats may have a scale for each block.
  bool scalesFloat8Blocks = false;
  Efficiency efficiency;
  double launchSeconds = 0;      // of each instruction
  double callSeconds = 0;        // of each program that an order calls
  double stepSeconds = 0;        // of each step, beside its programs
  double hostBytesPerSecond = 0; // to and from the second memory; 0: at once
  double hostLatencySeconds = 0; // of such a copy
  double hostMemoryBytesPerSecond = 0; // of its own kernels; 0: at once
  /// Instructions that were timed here: they take the place of shares of the
  /// peak for all of their kinds.
  MeasuredTimes measured;

  /// Whether stores to the second memory and fetches from it go one behind the
  /// other: a CPU's is a disk.
  bool copiesOneWayAtATime() const { return target == "cpu"; }
};

/// Blocks of `size` neighbouring ranks, joined by links. A device sends
/// bytesPerSecond and receives as much at once; where the devices of a block of
/// the level below share a number of links, that is its share of them.
struct LinkLevel {
  std::string name;
  int64_t size = 1;
  double bytesPerSecond = 0; // of one device; 0: at once
  double latencySeconds = 0; // of one message
  /// Of one device while no other of its block sends: what one link carries, or
  /// its share of more links than devices. 0: a device has its own links.
  double aloneBytesPerSecond = 0;

  bool isShared() const { return aloneBytesPerSecond > 0; }
};

/// How a collective may be computed where its plan leaves that open.
enum class CollectiveWay { Ring, Tree, Doubling, Rabenseifner, Hierarchical };
const char *nameOf(CollectiveWay way);
std::vector<CollectiveWay> listWays();
/// The way of that name, or nothing.
std::optional<CollectiveWay> findWay(std::string_view name);

/// How the messages of a collective are written, as NCCL's Simple, LL and LL128
/// are: the sooner the other side may read one, the smaller the share of a
/// link's rate that its bytes reach. Each way has its own.
struct CollectiveProtocol {
  std::string name;
  CollectiveWay way = CollectiveWay::Ring;
  double startSeconds = 0;            // of a collective, beside its messages
  std::vector<double> latencySeconds; // of a message, by level
  std::vector<double> bandwidthShare; // of the levels' rates, by level
};

/// The timed kind of that name (runtime/Plan/Collective/TimedKinds.h), or
/// nothing.
std::optional<plan::CollectiveKind> findTimedCollective(std::string_view name);

/// A collective that was timed among neighbours of the innermost level, or a
/// message from one rank to another.
struct MeasuredCollective {
  plan::CollectiveKind kind = plan::ALL_REDUCE;
  int64_t ranks = 2;
  double bytes = 0; // the larger of a rank's source and destination
  double seconds = 0;
};

/// Sorts rows by kind, ranks and bytes. A row that takes longer than one of its
/// kind and ranks with more bytes was disturbed: it gets the seconds of that.
void mendCollectives(std::vector<MeasuredCollective> &rows);

struct Cluster {
  std::string name;
  SimulatedDevice device;
  uint64_t hostMemoryBytes = 0;  // of a node, an innermost block; 0: any
  std::vector<LinkLevel> levels; // innermost first; at least one
  std::vector<CollectiveWay> ways = {CollectiveWay::Ring};
  /// The quickest of a way's counts. A way without any has the levels'
  /// latencies and their whole rates.
  std::vector<CollectiveProtocol> protocols;
  /// They take the place of the innermost level's latency and bandwidth.
  /// Ascending by kind, ranks, bytes, and in these by seconds.
  std::vector<MeasuredCollective> measuredCollectives;
  /// The share of its rate at which a device computes while it sends.
  double computeWhileSending = 1;

  /// A rank's share of a host, where `ranks` ranks share its cores and memory:
  /// ascending by ranks. Empty: every rank has `device`, however many there
  /// are.
  std::vector<std::pair<int64_t, SimulatedDevice>> shares;

  /// This cluster as that many ranks have it: with the share of as many, or of
  /// the next fewer.
  Cluster sharedBy(int64_t ranks) const;

  /// How many devices it has room for.
  int64_t size() const { return levels.back().size; }

  /// How many nodes so many ranks take.
  int64_t nodesOf(int64_t ranks) const {
    const int64_t node = levels.front().size;
    return (ranks + node - 1) / node;
  }

  /// Whether its devices are of that kind, "cuda", and whether it has room for
  /// so many ranks; else InvalidArgument.
  Status checkDevices(std::string_view kind) const;
  Status checkRoom(int64_t ranks) const;

  /// Reads a description; `where` names it in messages. Unknown keys, missing
  /// ones and numbers out of range fail with InvalidArgument and the key's
  /// path.
  static Result<Cluster> parse(std::string_view text, const std::string &where);
};

/// The text of a cluster that comes with zc ("h100-dgx"), or nothing.
const char *findPreset(std::string_view name);
/// Their names, in alphabetical order.
std::vector<std::string> listPresets();

} // namespace zc

#endif // ZC_RUNTIME_SIMULATE_CLUSTER_H
