// States as files know them: whole tensors under their own names, however the
// ranks share them. Weights, checkpoints and exported models go through here.
#ifndef ZC_RUNTIME_PLAN_FILETENSOR_H
#define ZC_RUNTIME_PLAN_FILETENSOR_H

#include "runtime/Plan/Mesh.h"

#include <vector>

namespace zc {

/// Elements that lie in one stretch both in the whole tensor and in the state
/// of a rank.
struct TensorRun {
  uint64_t whole; // the first one's place in the whole tensor
  uint64_t state; // and in the rank's state
  uint64_t count;
};

/// A state, or one member of a ZeRO unit. The manifest has been verified.
struct FileTensor {
  const plan::State *state = nullptr;
  const plan::UnitMember *member = nullptr; // null: the state itself
  plan::TensorType type;                    // of the whole tensor
  uint32_t age = 0; // of a version: how many steps older than the newest

  /// "w", or of an older version "version.1.w".
  std::string name() const;
  /// Null: the init program draws it.
  const plan::WeightSource *source() const;
  /// The type of the initial bytes: `type`, or that in 16 bits.
  plan::TensorType storedType() const;

  /// The runs that a rank holds, ascending on both sides; none is empty.
  std::vector<TensorRun> runs(const Mesh &mesh, int64_t rank) const;

  /// Whether the rank is the first of those that hold the same elements.
  bool isOwner(const Mesh &mesh, int64_t rank) const;
};

/// The tensors of a state in files: itself, or its members.
std::vector<FileTensor> fileTensorsOf(const plan::State &state);

/// The versions of a state that are older than the newest, as far as steps will
/// read them.
std::vector<FileTensor> olderVersionsOf(const plan::State &state);

/// The name of the version that is `age` steps older than the newest of a
/// tensor, in files.
std::string versionName(const std::string &name, uint32_t age);

/// "state.<parameter>.<slot>": what an optimizer keeps for a parameter.
std::string slotName(const std::string &parameter, const std::string &slot);

/// The slot of the moving averages of `zc compile --ema`.
constexpr const char *kAverageSlot = "ema";

/// "coordinate.<axis>": written by the runtime, never in a file.
constexpr const char *kCoordinatePrefix = "coordinate.";
bool isCoordinate(const plan::State &state);

/// "setting.<option>": a number of the update, float64, that begins as it was
/// compiled and that the run writes where it is given another; not in a
/// checkpoint, whose options say it.
constexpr const char *kSettingPrefix = "setting.";
bool isSetting(const plan::State &state);

} // namespace zc

#endif // ZC_RUNTIME_PLAN_FILETENSOR_H
