// The options of `zc compile`.
#ifndef ZC_COMPILER_DRIVER_OPTIONS_H
#define ZC_COMPILER_DRIVER_OPTIONS_H

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace zc {

/// After which phase to stop, in their order.
enum class Emit { Onnx, Train, Step, Sharded, Sched, Llvm, Ptx, Artifact };

/// One axis of the mesh.
struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

/// An output that no program computes: it has no elements.
struct WithoutElements {
  std::string name;
  int32_t dataType; // ONNX's
  std::vector<int64_t> dims;
};

struct CompileOptions {
  std::string model;
  std::string output; // empty: stdout, where text is emitted
  std::map<std::string, int64_t> dims;
  int64_t maxTrips = 0; // rounds of a loop that values end; 0: none is given
  std::map<std::string, int64_t> batchDims; // per input; -1: none
  int64_t batch = 0;                        // 0: as the model says
  /// Files of ONNX tensors with the values of inputs that are known.
  std::map<std::string, std::string> constantInputs;
  /// Numbers that inputs of one element have.
  std::map<std::string, double> inputValues;
  /// Told of each output without elements.
  std::function<void(WithoutElements)> takesEmpty;
  std::string mode = "train";

  std::string loss; // required in training mode
  std::string logits;
  std::string lossOutput; // with loss none; empty: the first output
  std::string labels = "labels";
  std::optional<int64_t> classAxis;
  int64_t ignoreIndex = -100;
  double labelSmoothing = 0;
  std::string classWeights; // a .npy file; empty: all 1
  double posWeight = 1;     // of bce-with-logits
  double huberDelta = 1;
  std::vector<std::string> addedLosses; // OUTPUT=WEIGHT, each of another output

  std::string optimizer = "adamw";
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  std::optional<double> weightDecay;  // PyTorch's: adamw 0.01, others 0
  std::string noWeightDecay;          // a regular expression
  std::vector<std::string> groups;    // REGEX:lr=0.1x,weight-decay=0
  double clipNorm = 0;                // 0: gradients are as they are
  double clipValue = 0;               // likewise, of every element
  std::optional<double> averageDecay; // of a moving average of weights
  int64_t accumulate = 1;             // micro-batches of a step
  int64_t freezeStep = 100000;        // the last of onebit-adam's warm-up

  std::string freeze;
  std::string train;
  std::string stopGradient; // a regular expression
  bool trainScales = false;
  std::string batchNorm = "train";
  std::string batchNormStats = "global"; // or local: per rank
  std::string dropout = "on";
  std::string weights = "copy"; // or by-reference
  std::string init; // initial weights are drawn; empty: they are stored

  std::vector<MeshAxis> mesh;      // slowest first; empty: one rank
  int64_t zero = 0;                // ZeRO stage
  int64_t zeroGroup = 0;           // ranks that divide units; 0: all of them
  std::string unit = "auto";       // auto, layer or a number of bytes
  std::optional<int64_t> prefetch; // gathers ahead; by default 1
  std::optional<double> bucketMib; // of gradients reduced together
  std::string collectiveAlgorithm = "auto";
  std::string gradientSums = "scattered"; // of --zero 2; or whole
  std::string aggregation = "all-reduce"; // or server: the first rank along dp
  bool reshardLast = false;
  bool noReshardAfterForward = false;
  /// Micro-batches for which units stay gathered: a number, or auto; empty:
  /// one, but for what a budget leaves room for.
  std::string reshardEvery;

  std::string moeCapacity = "none";   // room for experts' tokens, or a factor
  std::string moeGroup = "sample";    // or a number of tokens
  std::string spAttention = "auto";   // how attention works over sp
  std::vector<std::string> tokenDims; // "INPUT=K" or "INPUT=none"
  std::string sequenceParallel = "auto"; // tokens inside tp: on, on=kept, off

  std::string schedule = "1f1b"; // of a pipeline: a name, or a file
  int64_t chunks = 0;            // stages of a role; 0: as the schedule has it
  std::string stageReplicas = "off"; // one role a stage; auto; or a list
  bool verticalSync = false;         // all stages read equally old versions
  std::string stages = "auto";       // or a file: where a pipeline is cut
  std::string writeStages;           // a file for where it was cut; empty: none
  bool sharesRoles = true;           // equal roles are compiled once

  bool divideMessages = false;    // of a pipeline, over tp
  std::string tpRules = "auto";   // or a file of rules
  std::vector<std::string> shard; // NAME=AXES,...
  bool dividesOnlyGiven = false;  // over tp: what `shard` names

  std::vector<std::string> cpuArchs = {"native"};
  int64_t cpuThreads = 0;        // 0: this machine's cores
  std::string target = "cpu";    // or cuda
  std::string cudaArch;          // "sm_90", of cuda:sm_90; empty: any
  std::string cudaPath;          // the toolkit's folder; empty: the usual one
  std::string cubins = "auto";   // or none
  std::string libraries = "all"; // see passes/Target/Libraries.h
  std::string cluster;           // a file or preset; empty: none is described
  std::string matmulPrecision = "highest"; // or tf32, bf16x3, bf16x6

  std::string precision = "fp32"; // or bf16, fp16, fp8
  std::string float8Scaling =
      "current";              // or delayed:N, block: see Float8Options.h
  std::string float8Exclude;  // a regular expression of weights
  bool float8MayMiss = false; // of a part of the model it may name none
  std::string reducePrecision = "fp32"; // or bf16
  std::string momentPrecision = "fp32"; // or bf16: of first moments
  std::string weightCopies = "on";      // in 16 bits, from step to step; or off
  std::string gatherPrecision = "auto"; // or fp32: of units that are rounded
  bool gradientHistogram = false;       // told by each step
  std::string lossScale = "dynamic";    // or a number, with fp16

  /// Empty: none, but for what a budget asks for.
  std::string recompute;
  int64_t memoryBudget = 0; // bytes of a rank; 0: any
  /// A list of optimizer, parameters, activations, or none; empty: nothing, but
  /// for what a budget asks for.
  std::string offload;
  std::string compressActivations = "none"; // see parseEncodings
  bool partitionActivations = false;        // over tp

  /// How much of a divided program is proven before its artifact is written:
  /// on, deep or off.
  std::string verify = "on";
  /// Given what ranks divide, in a proof, too: tests seed mistakes into it. No
  /// option of the command line sets it.
  std::function<void(mlir::ModuleOp)> changesDivided;

  Emit emit = Emit::Artifact;
  std::string dumpIr;
  bool verbose = false;
  bool quiet = false; // no summary
  /// Nothing is executed or written: weights may be absent, code is not made.
  bool plansOnly = false;

  /// The size of an axis of the mesh; 1 if it has none of that name.
  int64_t getAxisSize(const std::string &name) const;
  int64_t getNumRanks() const;
};

} // namespace zc

#endif
