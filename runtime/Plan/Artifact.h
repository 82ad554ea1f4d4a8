// A loaded artifact: the checked manifest, and where code and weights lie in
// the mapped file. An artifact is seen as one of its roles; copies, and views
// as other roles, share everything.
#ifndef ZC_RUNTIME_PLAN_ARTIFACT_H
#define ZC_RUNTIME_PLAN_ARTIFACT_H

#include "runtime/Base/InputFiles.h"
#include "runtime/Base/Status.h"
#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/WeightFiles.h"
#include "runtime/Plan/ZipReader.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zc {

constexpr const char *kManifestEntry = "manifest.pb";
constexpr const char *kWeightsEntry = "weights.safetensors";
constexpr const char *kModelEntry = "model.onnx";

class Artifact {
public:
  /// Opens and checks an artifact. Reading all weights to check them takes
  /// time; a caller that does not use them may leave it out. `reading` is of
  /// the artifact and of the files it refers to.
  static Result<Artifact> load(const std::string &path,
                               bool checkWeights = true,
                               Reading reading = Reading::InPlace);

  /// An artifact that lies inside of `outer`, in the file `path`: weights that
  /// it has not are the outer's.
  static Result<Artifact> loadInside(const std::string &path,
                                     const Artifact &outer);

  const std::string &path() const { return contents->zip.path(); }
  const plan::Manifest &manifest() const { return contents->manifest; }
  const ZipReader &archive() const { return contents->zip; }

  /// The role that the ranks of this view run; the first one where none was
  /// chosen.
  const plan::Role &role() const { return manifest().roles(theRole); }
  /// The same artifact, seen as another role of it.
  Artifact forRole(int role) const;

  /// The role's program of that name, or null.
  const plan::Program *program(std::string_view name) const;

  /// The initial bytes of a whole tensor; empty when the init program writes
  /// it.
  std::string_view initialBytes(const FileTensor &tensor) const;
  /// The same for a state that is no unit.
  std::string_view initialBytes(const plan::State &state) const;

  /// Tells artifacts apart, by the names, sizes and checksums of all they hold.
  uint64_t fingerprint() const;

  /// The bytes of a tensor that lies in another file, by its key; nothing when
  /// the artifact refers to none of that name.
  Result<std::optional<std::string_view>> referred(std::string_view key) const;

  /// The files that it is read from: its own and those it refers to.
  InputFiles files() const;

  /// The bytes of a code object.
  Result<std::string_view> code(const plan::CodeObject &object) const;

private:
  struct Contents {
    Contents(ZipReader zip, Reading reading)
        : zip(std::move(zip)),
          weightFiles(parentPath(this->zip.path()), reading) {}
    Status readManifest();
    Status checkEntries() const;
    Status locateWeights(bool check);
    /// Tensors of all roles; one that several roles hold comes several times.
    std::vector<FileTensor> tensorsWithSource() const;

    ZipReader zip;
    plan::Manifest manifest;
    WeightFiles weightFiles;
    std::map<std::string, std::string_view, std::less<>> weights; // by key
    std::shared_ptr<const Contents> outer; // it lies in that one; or null
  };
  static Result<Artifact> check(std::shared_ptr<Contents> contents,
                                bool checkWeights);
  explicit Artifact(std::shared_ptr<Contents> contents)
      : contents(std::move(contents)) {}

  std::shared_ptr<Contents> contents;
  int theRole = 0;
};

} // namespace zc

#endif // ZC_RUNTIME_PLAN_ARTIFACT_H
