// A small but whole artifact for tests, and folders to put things in.
#ifndef ZC_TEST_UNIT_RUNTIME_TINYARTIFACT_H
#define ZC_TEST_UNIT_RUNTIME_TINYARTIFACT_H

#include "runtime/Plan/Manifest.pb.h"

#include <string>
#include <vector>

namespace zc::test {

/// A folder that goes away at the end of the test.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(const std::string &name) const { return root + "/" + name; }
  const std::string &path() const { return root; }

private:
  std::string root;
};

/// The manifest of a linear model, pred = x * w, x [4, 3], w [3, 1], trained on
/// labels [4, 1] by SGD with momentum; ids [4] are int64 in [0, 10) and unused.
plan::Manifest tinyManifest();

/// The tests' architecture, by its name in artifacts: "x86-64" or "aarch64".
const char *thisArchitecture();

/// Where the code object of the tiny artifact lies.
std::string tinyKernelsPath();

/// Writes the artifact of a manifest, with the tests' code and w = 1, 2, 3.
void writeArtifact(const std::string &path, const plan::Manifest &manifest);
/// The same, but with any bytes for a manifest, and any file for the code.
void writeArtifact(const std::string &path, const std::string &manifestBytes,
                   const std::string &codePath = tinyKernelsPath());

/// Writes a .npy of float32, or of int64.
void writeNpy(const std::string &path, const std::vector<int64_t> &dims,
              const std::vector<float> &values);
void writeNpy(const std::string &path, const std::vector<int64_t> &dims,
              const std::vector<int64_t> &values);

/// Writes x, labels and ids of that many samples into a new folder; the labels
/// are x * (0.5, -1, 2).
void writeTinyData(const std::string &folder, int64_t samples);

std::string readWhole(const std::string &path);
void writeWhole(const std::string &path, const std::string &bytes);

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_TINYARTIFACT_H
