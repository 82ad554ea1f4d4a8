#include "compiler/Driver/SmallOptions.h"

#include "compiler/Driver/Float8Options.h"
#include "compiler/Driver/MeshOptions.h"
#include "passes/Target/Devices.h"
#include "runtime/Plan/Axes.h"

#include "llvm/ADT/STLExtras.h"

using namespace zc;

/// Ranks that take turns in the interpreter.
static constexpr int64_t kMostRanks = 16;

/// All axes of the user's mesh, of at most kMostRanks ranks; stages stay.
static std::vector<MeshAxis> shrinkMesh(std::vector<MeshAxis> mesh) {
  while (countRanks(mesh) > kMostRanks) {
    MeshAxis *largest = nullptr;
    for (MeshAxis &axis : mesh)
      if (axis.name != axes::kRole && axis.size > 2 &&
          (!largest || axis.size > largest->size))
        largest = &axis;
    if (!largest)
      return mesh;
    largest->size = largest->size % 2 ? 2 : largest->size / 2;
  }
  return mesh;
}

CompileOptions zc::makeSmallOptions(CompileOptions options) {
  options.mesh = shrinkMesh(options.mesh);
  if (options.zeroGroup > 0)
    options.zeroGroup = std::min<int64_t>(options.zeroGroup, 2);
  options.batch = 0;
  options.writeStages.clear();
  options.memoryBudget = 0;
  options.dumpIr.clear();
  options.verbose = false;
  // Counts at an edge of a class differ by rounding, and count what is padded.
  options.gradientHistogram = false;
  options.target =
      getDeviceKinds().front().name.str(); // nothing is made for it
  options.cluster.clear();
  options.sharesRoles = false; // each is run
  options.float8MayMiss = true;
  // Few tokens find room for an even share and more; half of one leaves some
  // out on small dims, too.
  if (options.moeCapacity != "none")
    options.moeCapacity = "0.5";
  // One rank has the statistics of as many shares of the batch.
  if (options.batchNormStats == "local")
    options.batchNormStats += "=" + std::to_string(countSampleShares(options));
  // A gradient that is 0 but for rounding makes a step as small.
  options.eps = std::max(options.eps, 1e-3);
  return options;
}

CompileOptions zc::makeWholeOptions(CompileOptions options) {
  const CompileOptions plain;
  options.mesh = plain.mesh;
  options.zero = plain.zero;
  options.zeroGroup = plain.zeroGroup;
  options.unit = plain.unit;
  options.bucketMib = plain.bucketMib;
  options.collectiveAlgorithm = plain.collectiveAlgorithm;
  options.aggregation = plain.aggregation;
  options.reshardLast = plain.reshardLast;
  options.noReshardAfterForward = plain.noReshardAfterForward;
  options.reshardEvery = plain.reshardEvery;
  options.spAttention = plain.spAttention;
  options.tokenDims = plain.tokenDims;
  options.sequenceParallel = plain.sequenceParallel;
  options.schedule = plain.schedule;
  options.chunks = plain.chunks;
  options.stageReplicas = plain.stageReplicas;
  options.verticalSync = plain.verticalSync;
  options.stages = plain.stages;
  options.divideMessages = plain.divideMessages;
  options.tpRules = plain.tpRules;
  options.shard = plain.shard;
  return options;
}

std::vector<int64_t> zc::listDivisors(const CompileOptions &options) {
  auto size = [&](const char *axis) { return options.getAxisSize(axis); };
  const int64_t samples = countSampleShares(options);
  const int64_t tensors = size(axes::kTensor), tokens = size(axes::kToken);
  std::vector<int64_t> divisors;
  for (int64_t each : {samples, tensors, tokens, size(axes::kExpert),
                       size(axes::kSample), samples * tokens, 2 * tokens})
    if (each > 1 && !llvm::is_contained(divisors, each))
      divisors.push_back(each);
  // Products of other sizes are not rounded; a rank has whole blocks.
  if (options.precision == "fp8")
    divisors.push_back(getFloat8Divisor(options) *
                       (options.float8Scaling == "block" ? tensors : 1));
  return divisors;
}
