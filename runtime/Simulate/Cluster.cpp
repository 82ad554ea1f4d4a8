#include "runtime/Simulate/Cluster.h"
#include "kernels/Calls/Calls.h"
#include "kernels/Calls/Matmul.h"
#include "runtime/Plan/Target.h"
#include "runtime/Simulate/JsonFields.h"

#include <algorithm>
#include <tuple>

namespace zc {
namespace {

using Json = nlohmann::json;

constexpr std::pair<const char *, CollectiveWay> kWays[] = {
    {"ring", CollectiveWay::Ring},
    {"tree", CollectiveWay::Tree},
    {"doubling", CollectiveWay::Doubling},
    {"rabenseifner", CollectiveWay::Rabenseifner},
    {"hierarchical", CollectiveWay::Hierarchical}};

constexpr ProductType kDtypes[] = {
    {"f32", plan::F32},
    {"f64", plan::F64},
    {"f16", plan::F16},
    {"bf16", plan::BF16},
    {"f8", plan::U8}}; // of either type (kernels/Calls/Matmul.h)

/// Any real machine stays far below these.
constexpr double kMostFlops = 1e21, kMostBytes = 1e18, kMostSeconds = 1e3;

plan::DataType dtypeOf(const std::string &name) {
  for (const auto &[known, type] : kDtypes)
    if (name == known)
      return type;
  return plan::DATA_TYPE_UNSPECIFIED;
}

/// "all_reduce, all_gather, reduce_scatter or message".
std::string listTimedCollectives() {
  std::string text;
  for (auto [known, kind] : kTimedCollectives)
    text += strCat(text.empty() ? "" : ", ", known);
  return text.replace(text.rfind(','), 1, " or");
}

class ClusterReader {
public:
  explicit ClusterReader(std::string where) : where(std::move(where)) {}

  Status read(const Json &json, Cluster &cluster) {
    JsonFields fields(json, where);
    cluster.name = fields.text("name");
    for (const Json &source : fields.list("sources"))
      if (!source.is_string())
        fields.fail("sources", "expected a list of texts");
    ZC_RETURN_IF_ERROR(
        readDevice(fields.any("device"), where + ": device", cluster.device));
    ZC_RETURN_IF_ERROR(readShares(fields.list("shares"), cluster));
    ZC_RETURN_IF_ERROR(readLevels(fields.list("levels"), cluster));
    if (fields.has("host")) {
      JsonFields host(fields.any("host"), fields.pathOf("host"));
      cluster.device.hostBytesPerSecond =
          host.number("bytes_per_s", 0, kMostBytes);
      cluster.device.hostLatencySeconds =
          host.number("latency_s", 0, kMostSeconds, 0);
      cluster.device.hostMemoryBytesPerSecond =
          host.number("memory_bytes_per_s", 0, kMostBytes, 0);
      cluster.hostMemoryBytes =
          uint64_t(host.number("memory_bytes", 0, kMostBytes, 0));
      for (auto &[ranks, share] : cluster.shares) {
        share.hostLatencySeconds = cluster.device.hostLatencySeconds;
        share.hostBytesPerSecond = cluster.device.hostBytesPerSecond;
        share.hostMemoryBytesPerSecond =
            cluster.device.hostMemoryBytesPerSecond;
      }
      ZC_RETURN_IF_ERROR(host.finish());
    }
    if (fields.has("collectives"))
      ZC_RETURN_IF_ERROR(readCollectives(fields.any("collectives"), cluster));
    return fields.finish();
  }

private:
  Status readDevice(const Json &json, const std::string &path,
                    SimulatedDevice &device) {
    if (json.is_null())
      return makeError(StatusCode::InvalidArgument, path, ": is missing");
    JsonFields fields(json, path);
    device.name = fields.text("name");
    device.target = fields.text("target", "cpu");
    if (!isDevice(device.target))
      fields.fail("target", "expected cpu or cuda");
    device.memoryBytes = uint64_t(fields.number("memory_bytes", 0, 1e18, 0));
    device.bytesPerSecond = fields.number("memory_bytes_per_s", 0, kMostBytes);
    device.launchSeconds = fields.number("launch_s", 0, kMostSeconds, 0);
    device.callSeconds = fields.number("call_s", 0, kMostSeconds, 0);
    device.stepSeconds = fields.number("step_s", 0, kMostSeconds, 0);
    JsonFields flops(fields.any("flops_per_s"), fields.pathOf("flops_per_s"));
    for (auto [name, type] : kDtypes)
      device.flopsPerSecond[type] = type == plan::F32
                                        ? flops.number(name, 1, kMostFlops)
                                        : flops.number(name, 1, kMostFlops, 0);
    device.tf32FlopsPerSecond = flops.number("tf32", 1, kMostFlops, 0);
    ZC_RETURN_IF_ERROR(flops.finish());
    readBlocks(fields, device);
    if (fields.has("efficiency"))
      ZC_RETURN_IF_ERROR(readEfficiency(fields.any("efficiency"),
                                        fields.pathOf("efficiency"),
                                        device.efficiency));
    ZC_RETURN_IF_ERROR(readMeasured(fields, device.measured));
    return fields.finish();
  }

  static void readBlocks(JsonFields &fields, SimulatedDevice &device) {
    if (!fields.has("f8_block"))
      return;
    const int64_t size = fields.integer("f8_block", 0);
    device.scalesFloat8Blocks = size == kernels::kScaleBlock;
    if (!device.scalesFloat8Blocks)
      fields.fail("f8_block",
                  strCat("expected ", kernels::kScaleBlock, ", found ", size,
                         "; leave it out where the device has no "
                         "products of blocks of 8-bit floats"));
  }

  Status readMeasured(JsonFields &fields, MeasuredTimes &measured) {
    std::map<std::string, size_t> lengths; // of forms, by kind
    for (const Json &json : fields.list("measured")) {
      JsonFields row(json, fields.pathOf("measured"));
      MeasuredInstruction each;
      each.kind = row.text("kind");
      each.operators = row.text("operators");
      each.flops = row.number("flops", 0, kMostFlops);
      each.bytes = row.number("bytes", 0, kMostBytes);
      each.seconds = row.number("seconds", 1e-12, kMostSeconds);
      readForm(row, each.form);
      if (!each.form.empty())
        checkLength(row, each.form.size(),
                    each.kind == kKernelKind
                        ? 1
                        : lengths.try_emplace(each.kind, each.form.size())
                              .first->second);
      ZC_RETURN_IF_ERROR(row.finish());
      measured.add(each);
    }
    return Status();
  }

  static void readForm(JsonFields &row, std::vector<int64_t> &form) {
    for (const Json &size : row.list("form")) {
      if (!size.is_number_integer() || size.get<int64_t>() < 1)
        return row.fail("form", "expected a list of integers from 1 on");
      form.push_back(size.get<int64_t>());
    }
  }

  /// Forms of one kind of instruction have equally many sizes.
  static void checkLength(JsonFields &row, size_t found, size_t expected) {
    if (found != expected)
      row.fail("form", strCat("expected ", expected,
                              " sizes, as instructions of its kind have, "
                              "found ",
                              found));
  }

  Status readShares(const Json &list, Cluster &cluster) {
    int64_t before = 1;
    for (const Json &json : list) {
      JsonFields fields(json,
                        strCat(where, ": shares[", cluster.shares.size(), "]"));
      const int64_t ranks = fields.integer("ranks", before + 1, 1 << 20);
      SimulatedDevice share;
      ZC_RETURN_IF_ERROR(
          readDevice(fields.any("device"), fields.pathOf("device"), share));
      ZC_RETURN_IF_ERROR(fields.finish());
      before = ranks;
      cluster.shares.push_back({ranks, std::move(share)});
    }
    return Status();
  }

  Status readEfficiency(const Json &json, const std::string &path,
                        Efficiency &efficiency) {
    JsonFields fields(json, path);
    auto share = [&](const char *key, double otherwise) {
      return fields.number(key, 1e-6, 1, otherwise);
    };
    for (const kernels::CallKind &kind : kernels::getCallKinds())
      for (const kernels::CallRate &rate : kind.rates) {
        const auto other = efficiency.calls.find(rate.otherwise);
        const std::string key(rate.name);
        efficiency.calls[key] = share(
            key.c_str(), other == efficiency.calls.end() ? 1 : other->second);
      }
    efficiency.kernelFlops = share("kernel_flops", 1);
    efficiency.bytes = share("bytes", 1);
    if (fields.has("matmul"))
      ZC_RETURN_IF_ERROR(readMatmul(
          fields.any("matmul"), fields.pathOf("matmul"), efficiency.matmul));
    efficiency.calls[kMatmulRate] = efficiency.matmul.fraction;
    return fields.finish();
  }

  Status readMatmul(const Json &json, const std::string &path,
                    MatmulEfficiency &matmul) {
    JsonFields fields(json, path);
    matmul.fraction = fields.number("fraction", 1e-6, 1, 1);
    if (fields.has("tile")) {
      JsonFields tile(fields.any("tile"), fields.pathOf("tile"));
      matmul.tileRows = tile.integer("rows", 1, 1 << 20);
      matmul.tileColumns = tile.integer("columns", 1, 1 << 20);
      matmul.multiprocessors = tile.integer("multiprocessors", 1, 1 << 20);
      ZC_RETURN_IF_ERROR(tile.finish());
    }
    std::vector<MeasuredMatmul> rows;
    for (const Json &row : fields.list("measured")) {
      JsonFields product(row, fields.pathOf("measured"));
      MeasuredMatmul &each = rows.emplace_back();
      each.m = product.integer("m", 1);
      each.n = product.integer("n", 1);
      each.k = product.integer("k", 1);
      each.batch = product.integer("batch", 1, INT64_MAX, 1);
      const std::string transposed = product.text("transposed", "none");
      if (transposed != "none" && transposed != "a" && transposed != "b" &&
          transposed != "ab")
        product.fail("transposed", "expected none, a, b or ab");
      each.transposesA = transposed == "a" || transposed == "ab";
      each.transposesB = transposed == "b" || transposed == "ab";
      each.dtype = dtypeOf(product.text("dtype"));
      if (each.dtype == plan::DATA_TYPE_UNSPECIFIED)
        product.fail("dtype", "expected f32, f64, f16, bf16 or f8");
      each.flopsPerSecond = product.number("flops_per_s", 1, kMostFlops);
      ZC_RETURN_IF_ERROR(product.finish());
    }
    matmul.measured = MeasuredProducts(std::move(rows));
    return fields.finish();
  }

  Status readLevels(const Json &list, Cluster &cluster) {
    int64_t below = 1;
    for (const Json &json : list) {
      JsonFields fields(json, where + ": levels[" +
                                  std::to_string(cluster.levels.size()) + "]");
      LinkLevel &level = cluster.levels.emplace_back();
      level.name = fields.text("name");
      level.size = fields.integer("size", 1, int64_t(1) << 32);
      level.bytesPerSecond = fields.number("bytes_per_s", 0, kMostBytes);
      level.latencySeconds = fields.number("latency_s", 0, kMostSeconds);
      const double ofLink = level.bytesPerSecond;
      // Links that the devices of a block of the level below share.
      const bool isShared = fields.has("links_per_block");
      if (isShared)
        level.bytesPerSecond *=
            double(fields.integer("links_per_block", 1, 1 << 20)) /
            double(below);
      level.bytesPerSecond /= fields.number("oversubscription", 1, 1e6, 1);
      if (isShared && below > 1)
        level.aloneBytesPerSecond =
            std::max(level.bytesPerSecond,
                     std::min(ofLink, level.bytesPerSecond * double(below)));
      if (level.size % below != 0)
        fields.fail("size",
                    strCat("is no multiple of the level's below, ", below));
      ZC_RETURN_IF_ERROR(fields.finish());
      below = level.size;
    }
    return cluster.levels.empty()
               ? makeError(StatusCode::InvalidArgument, where,
                           ": levels: expected at least one")
               : Status();
  }

  Status readCollectives(const Json &json, Cluster &cluster) {
    JsonFields fields(json, where + ": collectives");
    cluster.computeWhileSending =
        fields.number("compute_while_sending", 1e-3, 1, 1);
    if (fields.has("algorithms"))
      cluster.ways.clear();
    for (const Json &name : fields.list("algorithms")) {
      const std::optional<CollectiveWay> found =
          name.is_string() ? findWay(name.get<std::string>()) : std::nullopt;
      if (!found)
        fields.fail("algorithms", "expected ring, tree, doubling, "
                                  "rabenseifner or hierarchical, found " +
                                      name.dump());
      else
        cluster.ways.push_back(*found);
    }
    if (cluster.ways.empty())
      fields.fail("algorithms", "expected at least one");
    for (const Json &protocol : fields.list("protocols"))
      ZC_RETURN_IF_ERROR(
          readProtocol(protocol, fields.pathOf("protocols"), cluster));
    for (const Json &row : fields.list("measured"))
      ZC_RETURN_IF_ERROR(
          readMeasuredCollective(row, fields.pathOf("measured"),
                                 cluster.measuredCollectives.emplace_back()));
    mendCollectives(cluster.measuredCollectives);
    return fields.finish();
  }

  static Status readProtocol(const Json &json, const std::string &path,
                             Cluster &cluster) {
    JsonFields fields(json, path);
    CollectiveProtocol protocol;
    protocol.name = fields.text("name");
    const std::string algorithm = fields.text("algorithm");
    const std::optional<CollectiveWay> way = findWay(algorithm);
    protocol.way = way.value_or(CollectiveWay::Ring);
    if (!way || std::count(cluster.ways.begin(), cluster.ways.end(), *way) == 0)
      fields.fail("algorithm",
                  "expected one of collectives.algorithms, found '" +
                      algorithm + "'");
    for (const CollectiveProtocol &other : cluster.protocols)
      if (other.way == protocol.way && other.name == protocol.name)
        fields.fail("name", strCat("'", protocol.name, "' of ", algorithm,
                                   " is there twice"));
    protocol.startSeconds = fields.number("start_s", 0, kMostSeconds, 0);
    const size_t levels = cluster.levels.size();
    protocol.latencySeconds =
        fields.numbers("latency_s", 0, kMostSeconds, levels);
    protocol.bandwidthShare =
        fields.numbers("bandwidth_share", 1e-6, 1, levels);
    cluster.protocols.push_back(std::move(protocol));
    return fields.finish();
  }

  static Status readMeasuredCollective(const Json &json,
                                       const std::string &path,
                                       MeasuredCollective &row) {
    JsonFields fields(json, path);
    if (const auto kind = findTimedCollective(fields.text("kind")))
      row.kind = *kind;
    else
      fields.fail("kind", "expected " + listTimedCollectives());
    row.ranks = fields.integer("ranks", 2, 1 << 20);
    row.bytes = fields.number("bytes", 1, kMostBytes);
    row.seconds = fields.number("seconds", 1e-12, kMostSeconds);
    return fields.finish();
  }

  const std::string where;
};

} // namespace

std::vector<ProductType> listProductTypes() {
  return {std::begin(kDtypes), std::end(kDtypes)};
}

const char *nameOfProductType(plan::DataType type) {
  for (const auto &[name, known] : kDtypes)
    if (known == type)
      return name;
  return "f32";
}

double shareOf(const Efficiency &efficiency, std::string_view rate) {
  const auto found = efficiency.calls.find(rate);
  return found == efficiency.calls.end() ? 1 : found->second;
}

std::vector<CollectiveWay> listWays() {
  std::vector<CollectiveWay> ways;
  for (auto [name, way] : kWays)
    ways.push_back(way);
  return ways;
}

std::optional<CollectiveWay> findWay(std::string_view name) {
  for (auto [known, way] : kWays)
    if (name == known)
      return way;
  return std::nullopt;
}

const char *nameOf(CollectiveWay way) {
  for (auto [name, each] : kWays)
    if (each == way)
      return name;
  return "";
}

std::optional<plan::CollectiveKind> findTimedCollective(std::string_view name) {
  for (auto [known, kind] : kTimedCollectives)
    if (name == known)
      return kind;
  return std::nullopt;
}

void mendCollectives(std::vector<MeasuredCollective> &rows) {
  std::sort(rows.begin(), rows.end(),
            [](const MeasuredCollective &a, const MeasuredCollective &b) {
              return std::tie(a.kind, a.ranks, a.bytes) <
                     std::tie(b.kind, b.ranks, b.bytes);
            });
  for (size_t i = rows.size(); i-- > 1;)
    if (rows[i - 1].kind == rows[i].kind && rows[i - 1].ranks == rows[i].ranks)
      rows[i - 1].seconds = std::min(rows[i - 1].seconds, rows[i].seconds);
}

Cluster Cluster::sharedBy(int64_t ranks) const {
  Cluster shared = *this;
  for (const auto &[fewest, device] : shares)
    if (fewest <= ranks)
      shared.device = device;
  shared.shares.clear();
  return shared;
}

Status Cluster::checkDevices(std::string_view kind) const {
  return kind == device.target
             ? Status()
             : makeError(StatusCode::InvalidArgument, "cluster '", name,
                         "' has devices of kind '", device.target, "', not '",
                         kind, "'");
}

Status Cluster::checkRoom(int64_t ranks) const {
  return ranks <= size() ? Status()
                         : makeError(StatusCode::InvalidArgument, "cluster '",
                                     name, "' has room for ", size(),
                                     " ranks, fewer than ", ranks);
}

Result<Cluster> Cluster::parse(std::string_view text,
                               const std::string &where) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false,
                                /*ignore_comments=*/true);
  if (json.is_discarded())
    return makeError(StatusCode::InvalidArgument, where, ": is no JSON");
  Cluster cluster;
  ZC_RETURN_IF_ERROR(ClusterReader(where).read(json, cluster));
  return cluster;
}

} // namespace zc
